//! What speaks for a passage, in numbers that compare across files.
//!
//! Owns the fields of a passage and how much of a question stands in each. Never weighs one number against another: `rerank` does.

use super::file_worth::FileWorth;
use super::kinds::{asked_of_name, terms_of_name};
use super::line_kind::is_comment;
use super::meaning::NearPiece;
use super::passages::Passage;
use super::question::SearchQuestion;
use super::windows::Scorer;
use super::{Symbol, SymbolKind};

/// Occurrences of a term after which further ones say little, in a passage of no lines and for each line of it: what is long has more of
/// everything.
const ENOUGH: f64 = 0.5;
const ENOUGH_PER_LINE: f64 = 0.03;

/// Numbers from 0 to 1 where nothing else is said. A share is that of the weights of the question's terms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Features {
    /// Share in the name of the definition.
    pub name: f64,
    /// How much of that name is asked for.
    pub whole_name: f64,
    /// Whether the question names the definition as it is written.
    pub is_named: bool,
    /// Share in the name of the type around it.
    pub container: f64,
    /// Share in the path of the file.
    pub path: f64,
    /// Whether the question names the file.
    pub is_named_file: bool,
    /// Share in comments.
    pub comments: f64,
    /// Share in the lines that are shown.
    pub shown: f64,
    /// Share in any of them.
    pub any: f64,
    /// The same where rare terms count once more.
    pub rare: f64,
    /// How often terms stand there, against its length.
    pub often: f64,
    /// Share of the pairs of terms that stand side by side in the question.
    pub pairs: f64,
    /// Score of the file as a whole; against the best file once all are known.
    pub file: f64,
    /// Share in the whole file.
    pub in_file: f64,
    /// Logarithm of what its kind of file counts against code.
    pub kind: f64,
    /// Whether it stands in the tests at the end of a file.
    pub is_test: bool,
    /// Whether it is a function.
    pub is_function: bool,
    /// Whether it is a type.
    pub is_type: bool,
    /// Logarithm of its lines.
    pub length: f64,
    /// Whether it is shown from its beginning.
    pub is_head: bool,
    /// How near it is in meaning.
    pub near: f64,
}

/// What all passages of a file have in common.
pub(super) struct FileContext<'a> {
    /// What the file is worth.
    pub worth: &'a FileWorth,
    /// Per term the sum of its weights in the file.
    pub sums: &'a [f32],
    /// First line of its tests, from 0, where the question is not about tests.
    pub tests_from: Option<u32>,
    /// Its lines.
    pub lines: &'a [&'a str],
    /// Its definitions.
    pub symbols: &'a [Symbol],
    /// What of it is near in meaning.
    pub near: &'a [NearPiece],
}

/// How much each term counts in each field of a passage.
struct Fields {
    name: Vec<f64>,
    container: Vec<f64>,
    comments: Vec<f64>,
    code: Vec<f64>,
    shown: Vec<f64>,
    pairs: Vec<f64>,
    sums: Vec<f64>,
}

impl Features {
    /// Of a passage.
    pub(super) fn of(
        passage: &Passage,
        file: &FileContext<'_>,
        question: &SearchQuestion,
        scorer: &Scorer,
    ) -> Self {
        let symbol = passage.stretch.symbol.map(|at| &file.symbols[at]);
        let fields = Fields::of(passage, symbol, file, question, scorer);
        let (weights, pair_weights) = scorer.weights.split_at(scorer.terms);
        let share = |said: &[f64]| share(said, weights.iter().copied());
        let path: Vec<f64> = file.worth.around.iter().map(|one| f64::from(*one)).collect();
        let whole_file: Vec<f64> = file.sums[..scorer.terms].iter().map(|sum| f64::from(*sum)).collect();
        let any: Vec<f64> = (0..scorer.terms)
            .map(|term| {
                let own = fields.name[term].max(fields.comments[term]).max(fields.code[term]);
                own.max(fields.container[term]).max(path[term])
            })
            .collect();
        let enough = ENOUGH + ENOUGH_PER_LINE * passage.lines as f64;
        let often: Vec<f64> = fields.sums.iter().map(|sum| sum / (sum + enough)).collect();
        let kind = symbol.map(|symbol| symbol.kind);
        let near = file.near.iter().filter(|piece| piece.meets(&passage.stretch));
        Self {
            name: share(&fields.name),
            whole_name: symbol.map_or(0.0, |symbol| asked_of_name(&symbol.name, question)),
            is_named: symbol.is_some_and(|symbol| scorer.named.contains(&symbol.name.to_lowercase())),
            container: share(&fields.container),
            path: share(&path),
            is_named_file: file.worth.is_named,
            comments: share(&fields.comments),
            shown: share(&fields.shown),
            any: share(&any),
            rare: self::share(&any, weights.iter().map(|weight| weight * weight)),
            often: share(&often),
            pairs: self::share(&fields.pairs, pair_weights.iter().copied()),
            file: file.worth.whole,
            in_file: share(&whole_file),
            kind: file.worth.damp.max(0.01).ln(),
            is_test: file.tests_from.is_some_and(|from| passage.stretch.end > u64::from(from)),
            is_function: matches!(kind, Some(SymbolKind::Function | SymbolKind::Method)),
            is_type: kind.is_some_and(is_type),
            length: (passage.lines.max(1) as f64).ln(),
            is_head: passage.is_head,
            near: near.map(|piece| piece.near).fold(0.0, f64::max),
        }
    }
}

impl Fields {
    fn of(
        passage: &Passage,
        symbol: Option<&Symbol>,
        file: &FileContext<'_>,
        question: &SearchQuestion,
        scorer: &Scorer,
    ) -> Self {
        let none = || vec![0.0; scorer.terms];
        let mut fields = Self {
            name: none(),
            container: none(),
            comments: none(),
            code: none(),
            shown: none(),
            pairs: vec![0.0; scorer.weights.len() - scorer.terms],
            sums: none(),
        };
        if let Some(symbol) = symbol {
            for (term, weight) in terms_of_name(&symbol.name, question) {
                raise(&mut fields.name, term, weight);
            }
            for (term, weight) in symbol.container.iter().flat_map(|name| terms_of_name(name, question)) {
                raise(&mut fields.container, term, weight);
            }
        }
        let shown = passage.stretch.start..=passage.stretch.end;
        for hit in &passage.hits {
            let term = hit.term as usize;
            if term >= scorer.terms {
                raise(&mut fields.pairs, term - scorer.terms, hit.weight);
                continue;
            }
            fields.sums[term] += f64::from(hit.weight);
            let line = file.lines.get(hit.line as usize).map_or("", |line| line.trim_start());
            let field = if is_comment(line) { &mut fields.comments } else { &mut fields.code };
            raise(field, term, hit.weight);
            if shown.contains(&(u64::from(hit.line) + 1)) {
                raise(&mut fields.shown, term, hit.weight);
            }
        }
        fields
    }
}

fn raise(field: &mut [f64], term: usize, weight: f32) {
    if let Some(most) = field.get_mut(term) {
        *most = most.max(f64::from(weight));
    }
}

/// What part of the weights is said, each at most once.
fn share(said: &[f64], weights: impl Iterator<Item = f64>) -> f64 {
    let (mut part, mut all) = (0.0, f64::MIN_POSITIVE);
    for (said, weight) in said.iter().zip(weights) {
        part += weight * said.min(1.0);
        all += weight;
    }
    part / all
}

fn is_type(kind: SymbolKind) -> bool {
    use SymbolKind::{Class, Enum, Interface, Module, Struct, Trait, Type};
    matches!(kind, Class | Enum | Interface | Module | Struct | Trait | Type)
}
