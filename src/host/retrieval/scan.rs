//! One pass over one text: where which terms of a question stand.
//!
//! Owns what a line is (definition, import, test); never compares files.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::line_kind::{IN_TESTS, LineKinds, is_generated};
use super::question::SearchQuestion;
use super::terms::{stem_into, words};

/// Most hits kept of one file, and of all files together: far more than a ranking can tell apart. With its line a hit takes 20
/// bytes, so a hostile tree that repeats a word takes some 80 MiB. Beyond it the rest of a file is not looked at.
const MOST_HITS: usize = 4_000;
const MOST_HITS_TOGETHER: usize = 4_000_000;

/// How many hits of one file are kept when so many files are searched.
pub(super) fn most_hits(files: usize) -> usize {
    (MOST_HITS_TOGETHER / files.max(1)).min(MOST_HITS)
}

/// A term on a line. Pairs of terms follow the terms in numbering.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hit {
    /// Line, from 0.
    pub line: u32,
    /// Which term, or `terms.len()` plus which pair.
    pub term: u16,
    /// How much it counts there.
    pub weight: f32,
    /// Whether it is in the name of a definition.
    pub in_name: bool,
}

/// What one pass found.
#[derive(Debug, Clone, Default)]
pub(super) struct Scan {
    /// Hits in order of line.
    pub hits: Vec<Hit>,
    /// Per term (and pair): the sum of its weights.
    pub sums: Vec<f32>,
    /// Bytes of the text.
    pub bytes: usize,
    /// Lines of the text.
    pub lines: u32,
    /// First line of the tests at the end of a file, from 0.
    pub tests_from: Option<u32>,
    /// Per line with hits: a hash of its text, to know what many files repeat.
    pub texts: Vec<(u32, u32)>,
    /// Whether the start says that a program wrote the file.
    pub generated: bool,
}

impl Scan {
    /// Of a text in which nothing of the question stands.
    pub(super) fn of_nothing(question: &SearchQuestion, text: &str) -> Self {
        let sums = vec![0.0; question.terms.len() + question.pairs.len()];
        Self { sums, bytes: text.len(), lines: text.lines().count() as u32, ..Self::default() }
    }
}

/// Passes over a text; `None` when nothing of the question is in it.
pub(super) fn scan(text: &str, question: &SearchQuestion, most_hits: usize) -> Option<Scan> {
    let mut pass = Pass::begin(text, question);
    for line in text.split_inclusive('\n') {
        let (row, factor) = pass.kinds.next(line);
        if pass.scan.hits.len() < most_hits {
            pass.take_line(row, line, factor);
        }
    }
    let Pass { kinds, mut scan, .. } = pass;
    scan.lines = kinds.lines;
    scan.tests_from = kinds.tests_from;
    if !question.phrases.is_empty() {
        phrases(text, question, most_hits, &mut scan);
    }
    if scan.hits.is_empty() {
        return None;
    }
    scan.hits.shrink_to_fit();
    scan.texts.shrink_to_fit();
    scan.generated = is_generated(text);
    Some(scan)
}

/// Where a pass stands.
struct Pass<'a> {
    question: &'a SearchQuestion,
    first_bytes: [bool; 256],
    scan: Scan,
    /// The stem of the word that is looked at.
    stem: String,
    kinds: LineKinds,
}

impl<'a> Pass<'a> {
    fn begin(text: &str, question: &'a SearchQuestion) -> Self {
        let count = question.terms.len() + question.pairs.len();
        Self {
            question,
            first_bytes: first_bytes(question),
            scan: Scan { sums: vec![0.0; count], bytes: text.len(), ..Scan::default() },
            stem: String::new(),
            kinds: LineKinds::new(),
        }
    }

    fn take_line(&mut self, row: u32, line: &str, factor: f32) {
        let in_tests = self.kinds.tests_from.is_some() && !self.question.about_tests;
        let factor = if in_tests { factor * IN_TESTS } else { factor };
        let hits_before = self.scan.hits.len();
        self.take_terms(row, line, factor);
        if !self.question.identifiers.is_empty() {
            self.take_identifiers(row, line, factor);
        }
        for hit in &self.scan.hits[hits_before..] {
            self.scan.sums[hit.term as usize] += hit.weight;
        }
        let trimmed = line.trim();
        if self.scan.hits.len() > hits_before && trimmed.len() > 24 {
            let mut hasher = DefaultHasher::new();
            trimmed.hash(&mut hasher);
            self.scan.texts.push((row, hasher.finish() as u32));
        }
    }

    /// Terms, and pairs of terms that stand side by side.
    fn take_terms(&mut self, row: u32, line: &str, factor: f32) {
        let Self { question, first_bytes, scan, stem, .. } = self;
        // Found at the first hit only: most lines have none.
        let mut name: Option<(usize, usize)> = None;
        let mut last: Option<(usize, usize)> = None;
        let mut at_word = 0;
        words(line, |at, word| {
            at_word += 1;
            let first = word.as_bytes()[0].to_ascii_lowercase();
            if word.len() < 2 || !first_bytes[first as usize] {
                return;
            }
            stem_into(word, stem);
            let Some(terms) = question.stems.get(stem.as_str()) else { return };
            let (from, to) = *name.get_or_insert_with(|| name_range(line));
            let in_name = at >= from && at < to;
            for (term, weight) in terms {
                scan.hits.push(Hit { line: row, term: *term as u16, weight: weight * factor, in_name });
                if let Some((before, word_before)) = last
                    && before + 1 == *term
                    && at_word - word_before <= 2
                    && let Some((_, pair)) = question.pairs.iter().find(|(first, _)| *first == before)
                {
                    let term = (question.terms.len() + pair) as u16;
                    scan.hits.push(Hit { line: row, term, weight: weight * factor, in_name });
                }
            }
            // The word itself, not a synonym, leads a pair.
            last = terms.iter().find(|(_, weight)| *weight == 1.0).map(|(term, _)| (*term, at_word)).or(last);
        });
    }

    fn take_identifiers(&mut self, row: u32, line: &str, weight: f32) {
        identifiers(line, self.question, |at, term| {
            let (from, to) = name_range(line);
            let in_name = at >= from && at < to;
            self.scan.hits.push(Hit { line: row, term: term as u16, weight, in_name });
        });
    }
}

/// How often a line stands in the workspace, of those that stand there more than once.
pub(super) struct Repeated(Vec<(u32, u32)>);

impl Repeated {
    /// Counts the lines of all scans.
    pub(super) fn of<'a>(scans: impl Iterator<Item = &'a Scan> + Clone) -> Self {
        let mut all = Vec::with_capacity(scans.clone().map(|scan| scan.texts.len()).sum());
        all.extend(scans.flat_map(|scan| scan.texts.iter().map(|(_, text)| *text)));
        all.sort_unstable();
        let runs = all.chunk_by(|a, b| a == b).filter(|run| run.len() > 1);
        Self(runs.map(|run| (run[0], run.len() as u32)).collect())
    }

    fn count(&self, text: u32) -> Option<u32> {
        let at = self.0.binary_search_by_key(&text, |(text, _)| *text).ok()?;
        self.0.get(at).map(|(_, count)| *count)
    }
}

/// Lets lines that many files repeat (a sentence in every doc comment, a licence) count less: what is said everywhere
/// answers nothing.
pub(super) fn fade_repeated(scan: &mut Scan, repeated: &Repeated) {
    let mut texts = scan.texts.iter().peekable();
    for hit in &mut scan.hits {
        while texts.next_if(|(row, _)| *row < hit.line).is_some() {}
        if let Some((row, text)) = texts.peek()
            && *row == hit.line
            && let Some(count) = repeated.count(*text)
        {
            let before = hit.weight;
            hit.weight /= (count as f32).sqrt();
            scan.sums[hit.term as usize] -= before - hit.weight;
        }
    }
}

/// First bytes of the stems, to pass over most words without stemming them.
fn first_bytes(question: &SearchQuestion) -> [bool; 256] {
    let mut first = [false; 256];
    for byte in question.stems.keys().filter_map(|stem| stem.bytes().next()) {
        first[byte as usize] = true;
    }
    first
}

fn identifiers(line: &str, question: &SearchQuestion, mut take: impl FnMut(usize, usize)) {
    let mut at = 0;
    for run in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if run.len() > 2
            && let Some(term) = question.identifiers.get(&run.to_ascii_lowercase())
        {
            take(at, *term);
        }
        let next = at + run.len();
        at = next + line[next..].chars().next().map_or(0, char::len_utf8);
    }
}

fn phrases(text: &str, question: &SearchQuestion, most_hits: usize, scan: &mut Scan) {
    for (row, line) in text.split('\n').enumerate() {
        let line = line.to_ascii_lowercase();
        for (phrase, term) in &question.phrases {
            if line.contains(phrase.as_str()) && scan.hits.len() < most_hits {
                scan.hits.push(Hit { line: row as u32, term: *term as u16, weight: 1.0, in_name: false });
                scan.sums[*term] += 1.0;
            }
        }
    }
    scan.hits.sort_by_key(|hit| hit.line);
}

/// Byte range of the name that a line defines, whatever the language; empty when it defines none.
fn name_range(line: &str) -> (usize, usize) {
    let mut at = line.len() - line.trim_start().len();
    loop {
        let rest = &line[at..];
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        match word {
            "pub" | "export" | "default" | "async" | "static" | "abstract" | "unsafe" | "extern"
            | "public" | "private" | "protected" | "final" | "declare" | "inline" => {
                let mut next = at + length;
                if after.starts_with('(') {
                    next += after.find(')').map_or(0, |end| end + 1);
                }
                let skipped =
                    line[next..].len() - line[next..].trim_start_matches([' ', '\t', '"', 'C']).len();
                if next + skipped == at {
                    return (0, 0);
                }
                at = next + skipped;
            }
            "fn" | "struct" | "enum" | "trait" | "type" | "union" | "def" | "class" | "func" | "function"
            | "interface" | "const" | "impl" | "macro_rules" => {
                let mut from = at + length;
                // `func (s *Server) Run`, `impl<T> Guard`, `function* walk`.
                let rest = line[from..].trim_start();
                if word == "func" && rest.starts_with('(') {
                    from = line.len() - rest.len() + rest.find(')').map_or(0, |end| end + 1);
                } else if word == "const" && rest.starts_with("fn ") {
                    from = line.len() - rest.len() + 3;
                }
                let name = line[from..].trim_start_matches([' ', '!', '*', '\t']);
                let start = line.len() - name.len();
                let length = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
                return (start, start + length);
            }
            _ => return (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_definition_is_known_in_every_language() {
        for (line, name) in [
            ("pub(crate) async fn frame_guard<T>(x: T) {", "frame_guard"),
            ("    pub struct Guard {", "Guard"),
            ("export default class Box extends A {", "Box"),
            ("func (s *Server) Run(x int) {", "Run"),
            ("export const LIMIT = 3;", "LIMIT"),
            ("pub const fn f() {}", "f"),
            ("    async def push(self):", "push"),
            ("macro_rules! m {", "m"),
            ("let guard = 3;", ""),
            ("static", ""),
            ("", ""),
        ] {
            let (from, to) = name_range(line);
            assert_eq!(&line[from..to], name, "{line}");
        }
    }

    #[test]
    fn hits_know_their_line_and_their_weight() {
        let question = SearchQuestion::read("frame guard");
        let text = "use a::frame;\nfn frame_guard() {}\n\n#[cfg(test)]\nmod t {\n    let guards = 1;\n";
        let found = scan(text, &question, 99).unwrap();
        let hit = |line, term, weight, in_name| Hit { line, term, weight, in_name };
        assert_eq!(
            found.hits,
            [
                hit(0, 0, 0.35, false),
                hit(1, 0, 1.0, true),
                hit(1, 1, 1.0, true),
                hit(1, 2, 1.0, true),
                hit(5, 1, 0.3, false)
            ]
        );
        assert_eq!(found.sums, [1.35, 1.3, 1.0]);
        assert!(scan("nothing here", &question, 99).is_none());
    }

    #[test]
    fn an_import_for_tests_does_not_make_the_rest_tests() {
        let question = SearchQuestion::read("guard");
        let found = scan("#[cfg(test)]\nuse a::b;\nfn guard() {}\n", &question, 99).unwrap();
        assert_eq!((found.tests_from, found.hits[0].weight), (None, 1.0));
        let bounded = scan(&"guard\n".repeat(50), &question, 10).unwrap();
        assert_eq!((bounded.hits.len(), bounded.lines), (10, 50));
        assert_eq!((most_hits(10), most_hits(40_000)), (MOST_HITS, 100));
    }

    #[test]
    fn a_sentence_that_many_files_repeat_fades() {
        let question = SearchQuestion::read("guard");
        let text = "start();\n// This sentence is about every guard there is.\nfn guard() {}\n";
        let mut found = scan(text, &question, 99).unwrap();
        let row = found.texts[0].0;
        let repeated = Repeated::of([&found, &found, &found, &found].into_iter());
        fade_repeated(&mut found, &repeated);
        assert_eq!((row, found.hits[0].weight, found.hits[1].weight, found.sums[0]), (1, 0.5, 1.0, 1.5));
    }

    #[test]
    fn quoted_texts_and_identifiers_are_found_whole() {
        let question = SearchQuestion::read("\"no such place\" OpenDocument");
        let found =
            scan("// There is No Such Place\nlet x: OpenDocument;\nOpen Document\n", &question, 99).unwrap();
        let phrase = question.phrases[0].1;
        let name = question.identifiers["opendocument"];
        assert_eq!((found.sums[phrase], found.sums[name]), (1.0, 1.0));
    }
}
