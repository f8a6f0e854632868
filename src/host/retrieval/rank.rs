//! The ranked answer to a question in natural language.
//!
//! Owns the order of the stages and how files compare: rare terms count more, and of the rest what `windows` and `candidate` say.
//! Their passages are compared by `rerank`, and read by the user's reranker where there is one. Without one the same
//! tree and the same question give the same answer.

use std::sync::atomic::AtomicBool;

use super::candidate::{Candidate, CloserLook};
use super::evidence::Evidence;
use super::known_files::KnownFiles;
use super::meaning::Meaning;
use super::paths::label;
use super::question::SearchQuestion;
use super::ranking::Ranking;
use super::reading::Reading;
use super::scan::{Repeated, Scan, fade_repeated};
use super::walk::WalkedTree;
use super::windows::Scorer;
use super::workers::spread;
use super::{Found, RetrievalError, Stage};
use crate::host::ports::WorkspaceView;

/// Files whose definitions are read before the last ranking.
const CLOSER_LOOK: usize = 40;

/// The power to which rarity counts: words of everyday language are rarer in code than what a question is about.
const RARITY: f64 = 0.6;

/// The best `limit` places for a question. `progress` hears, in this order, `TextSearch` with the lines that match, `VectorSearch` with
/// the pieces that are near in meaning where the user has a model that says so, `SymbolSearch` with the definitions that match,
/// `Reading` with the passages that the user's reranker is given where there is one, and `Reranking` with the places.
pub fn find_places(
    view: &WorkspaceView,
    question: &str,
    limit: usize,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Stage, u64),
) -> Result<Found, RetrievalError> {
    let asked = question;
    let question = SearchQuestion::read(asked);
    let tree = WalkedTree::walk(view, cancel)?;
    let mut found =
        Found { files_searched: tree.files.len() as u64, truncated: tree.truncated, ..Found::default() };
    if question.terms.is_empty() {
        return Ok(found);
    }
    let known = KnownFiles::of(view, &tree);
    let search = TreeSearch { view, tree: &tree, known: &known, limit, cancel };
    let (evidence, scorer) = search.evidence(&question)?;
    let meaning = Meaning::of(view, &tree, (asked, &question), cancel);
    let near = meaning.as_ref();
    let ranking = search.ranking((&question, &scorer), evidence, near, &mut |stage, count| {
        match stage {
            Stage::TextSearch => found.text_found = count,
            Stage::SymbolSearch => found.symbols_found = count,
            Stage::VectorSearch => found.near_found = count,
            Stage::Reading | Stage::Reranking => {}
        }
        progress(stage, count);
    })?;
    let again = |words: &str| search.ranking_with(&format!("{asked} {words}"), near);
    let (ranking, reading) = Reading::of(view, ranking, (asked, limit), (cancel, progress), again)?;
    found.places = match reading.as_ref().and_then(|reading| reading.chosen.as_deref()) {
        Some(chosen) => ranking.in_order(chosen),
        None => ranking.best(limit),
    };
    progress(Stage::Reranking, found.places.len() as u64);
    known.ask_for_the_rest();
    let mut told = Vec::new();
    if let Some(meaning) = meaning {
        told.extend(meaning.told.clone());
        meaning.ask_for_the_rest();
    }
    if let Some(Reading { told: news, read, .. }) = reading {
        told.extend(news);
        found.read = Some(read);
    }
    found.told = (!told.is_empty()).then(|| told.join(" "));
    Ok(found)
}

/// What every look at the tree has in common that one question takes.
struct TreeSearch<'a> {
    view: &'a WorkspaceView,
    tree: &'a WalkedTree,
    known: &'a KnownFiles,
    limit: usize,
    cancel: &'a AtomicBool,
}

impl<'a> TreeSearch<'a> {
    /// What of a question stands in which file.
    fn evidence(&self, question: &SearchQuestion) -> Result<(Evidence, Scorer), RetrievalError> {
        let Self { tree, known, cancel, .. } = *self;
        let mut evidence = Evidence::gather(tree, question, known, cancel)?;
        let scorer = scorer(&evidence, question, tree.files.len());
        evidence.read_best(tree, question, &scorer, known, cancel)?;
        Ok((evidence, scorer))
    }

    /// The passages of the best files for it.
    fn ranking(
        &self,
        (question, scorer): (&SearchQuestion, &Scorer),
        mut evidence: Evidence,
        meaning: Option<&Meaning>,
        progress: &mut dyn FnMut(Stage, u64),
    ) -> Result<Ranking<'a>, RetrievalError> {
        let Self { view, tree, known, limit, cancel } = *self;
        if let Some(meaning) = meaning {
            evidence.read_also(tree, question, meaning.files(), cancel)?;
        }
        let Evidence { mut scans, mean_bytes, .. } = evidence;
        progress(Stage::TextSearch, scans.iter().map(|(_, scan)| lines_with(scan, false)).sum());
        if let Some(meaning) = meaning {
            progress(Stage::VectorSearch, meaning.count());
        }

        let repeated = Repeated::of(scans.iter().map(|(_, scan)| scan));
        scans.iter_mut().for_each(|(_, scan)| fade_repeated(scan, &repeated));
        let near = |at: usize| meaning.map_or(&[][..], |meaning| meaning.near(at));
        let mut files = all_files(&scans, tree, question, scorer, mean_bytes);
        let mut better = CLOSER_LOOK.max(limit);
        files.retain(|file| {
            better = better.saturating_sub(1);
            better > 0 || !near(file.at).is_empty()
        });
        progress(Stage::SymbolSearch, scans.iter().map(|(_, scan)| lines_with(scan, true)).sum());

        let looked = spread(files.len(), cancel, |at| {
            let file = &tree.files[files[at].at];
            let text = tree.text(file, cancel)?;
            match known.symbols(files[at].at, file) {
                Some(symbols) => Some(CloserLook::with(file, text, symbols)),
                None => CloserLook::at(file, text, cancel),
            }
        })?;
        let root = |at: usize| label(view, tree.files[at].root);
        Ok(Ranking::of(&files, looked, (question, scorer), near, root))
    }

    /// The same for a question in other words.
    fn ranking_with(&self, asked: &str, meaning: Option<&Meaning>) -> Result<Ranking<'a>, RetrievalError> {
        let question = SearchQuestion::read(asked);
        let (evidence, scorer) = self.evidence(&question)?;
        self.ranking((&question, &scorer), evidence, meaning, &mut |_, _| {})
    }
}

/// The files in which something of the question stands, best first.
fn all_files<'a>(
    scans: &'a [(usize, Scan)],
    tree: &WalkedTree,
    question: &SearchQuestion,
    scorer: &Scorer,
    mean: f64,
) -> Vec<Candidate<'a>> {
    let mut files: Vec<Candidate<'a>> = scans
        .iter()
        .map(|(at, scan)| Candidate::new(*at, scan, &tree.files[*at].rel, question, scorer, mean))
        .collect();
    files.sort_by(|a, b| b.score().total_cmp(&a.score()).then(a.at.cmp(&b.at)));
    files
}

fn lines_with(scan: &Scan, in_name: bool) -> u64 {
    let mut last = None;
    let hits = scan.hits.iter().filter(|hit| hit.in_name || !in_name);
    hits.filter(|hit| last.replace(hit.line) != Some(hit.line)).count() as u64
}

/// Rare terms count more; the rarity comes from the same pass.
fn scorer(evidence: &Evidence, question: &SearchQuestion, files: usize) -> Scorer {
    let terms = question.terms.len();
    let rarity = |term: usize| {
        // A synonym alone counts as less than a file.
        let seen: f64 = evidence.sums().map(|sums| f64::from(sums[term]).min(1.0)).sum();
        (1.0 + (files as f64 - seen + 0.5).max(0.5) / (seen + 0.5)).ln()
    };
    let mut weights: Vec<f64> =
        (0..terms).map(|term| f64::from(question.terms[term].weight) * rarity(term).powf(RARITY)).collect();
    for (first, _) in &question.pairs {
        let both = weights[*first] + weights.get(first + 1).copied().unwrap_or(0.0);
        weights.push(0.3 * both);
    }
    Scorer { weights, terms, named: question.identifiers.keys().cloned().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::retrieval::Symbol;
    use crate::host::retrieval::walk::tests::{Fixture, GO_ON};

    fn ask(view: &WorkspaceView, question: &str) -> Found {
        find_places(view, question, 5, &GO_ON, &mut |_, _| {}).unwrap()
    }

    fn tree() -> Fixture {
        Fixture::new(&[
            (
                "src/frame.rs",
                "//! Frames.\n\n/// Refuses a frame that is too large.\npub fn frame_guard(n: usize) -> bool {\n    n < MAX\n}\n",
            ),
            ("src/server.rs", "use crate::frame::frame_guard;\n\nfn run() {\n    frame_guard(3);\n}\n"),
            (
                "tests/frame.rs",
                "// frame guard oversized frames refused\nfn frame_guard_refuses_oversized_frames() {}\n",
            ),
            ("CHANGELOG.md", "- the frame guard refuses oversized frames\n"),
            ("src/other.py", "def unrelated():\n    pass\n"),
        ])
    }

    #[test]
    fn the_definition_comes_first_with_its_doc_comment() {
        let fixture = tree();
        let found = ask(&fixture.view(), "where is the frame guard that refuses oversized frames?");
        let first = &found.places[0];
        assert_eq!((first.path.as_str(), first.start_line, first.end_line), ("src/frame.rs", 3, 6));
        assert_eq!(first.line, 4);
        assert!(
            first.snippet.contains("/// Refuses a frame") && first.snippet.contains("pub fn frame_guard")
        );
        assert_eq!(first.symbol.as_ref().map(|symbol| symbol.name.as_str()), Some("frame_guard"));
        assert_eq!((found.files_searched, found.truncated, found.root_names()), (5, false, 0));
    }

    impl Found {
        fn root_names(&self) -> usize {
            self.places.iter().filter(|place| place.root.is_some()).count()
        }
    }

    #[test]
    fn the_same_question_gives_the_same_answer_and_stages_come_in_order() {
        let fixture = tree();
        let mut stages = Vec::new();
        let asked = "how does the frame guard work";
        let first =
            find_places(&fixture.view(), asked, 5, &GO_ON, &mut |stage, count| stages.push((stage, count)));
        let first = first.unwrap();
        assert_eq!(first, ask(&fixture.view(), asked));
        assert_eq!(
            stages,
            [
                (Stage::TextSearch, first.text_found),
                (Stage::SymbolSearch, first.symbols_found),
                (Stage::Reranking, first.places.len() as u64)
            ]
        );
    }

    #[test]
    fn an_unsaved_change_is_found_and_a_deleted_text_is_not() {
        let fixture = tree();
        let view =
            fixture.view_with(&[("src/other.py", "def teleport():\n    pass\n"), ("src/frame.rs", "\n")]);
        assert_eq!(ask(&view, "teleport").places[0].path, "src/other.py");
        assert!(
            ask(&view, "frame_guard")
                .places
                .iter()
                .all(|place| place.path != "src/frame.rs" || place.symbol.is_none())
        );
    }

    #[test]
    fn questions_about_tests_and_documents_find_those() {
        let fixture = tree();
        assert_eq!(
            ask(&fixture.view(), "which tests cover the oversized frame guard?").places[0].path,
            "tests/frame.rs"
        );
        assert_eq!(
            ask(&fixture.view(), "what does the changelog say on oversized frames?").places[0].path,
            "CHANGELOG.md"
        );
        assert_eq!(ask(&fixture.view(), "show me src/server.rs").places[0].path, "src/server.rs");
    }

    #[test]
    fn a_definition_asked_for_by_name_comes_before_its_uses() {
        let uses = "use x::RedDoor;\nfn of(a: RedDoor, b: RedDoor) -> RedDoor {\n    RedDoor::new(a, b)\n}\n"
            .repeat(4);
        let fixture = Fixture::new(&[
            ("a/uses.rs", &uses),
            ("b/kinds.rs", "pub struct RedDoor {\n    open: bool,\n}\n"),
        ]);
        assert_eq!(ask(&fixture.view(), "RedDoor").places[0].path, "b/kinds.rs");
    }

    #[test]
    fn neighbours_that_fit_are_named_beside_the_best_place_of_their_file() {
        let door = |verb: &str| {
            let body = "    work();\n".repeat(20);
            format!("/// Does it to the red door.\nfn {verb}_red_door() {{\n{body}}}\n\n")
        };
        let doors: String = ["open", "close", "lock", "unlock", "paint", "hang"].map(door).concat();
        let fixture = Fixture::new(&[("src/doors.rs", &doors), ("src/other.rs", "fn unrelated() {}\n")]);
        let found = ask(&fixture.view(), "what is done to the red door?");
        let (best, others) = found.places.split_first().unwrap();
        let shown: Vec<&Symbol> = found.places.iter().filter_map(|place| place.symbol.as_ref()).collect();
        assert!((1..=4).contains(&best.further.len()), "{:?}", best.further);
        assert!(best.further.iter().all(|symbol| !shown.contains(&symbol)), "{:?}", best.further);
        assert!(others.iter().all(|place| place.further.is_empty()));
        assert_eq!(shown.len() + best.further.len(), 6);
    }

    #[test]
    fn nothing_asked_or_nothing_there_gives_no_places_and_cancel_is_heard() {
        let fixture = tree();
        assert_eq!(ask(&fixture.view(), "  ").places, []);
        assert_eq!(ask(&fixture.view(), "zebra xylophone").places, []);
        let cancelled = find_places(&fixture.view(), "frame", 5, &AtomicBool::new(true), &mut |_, _| {});
        assert_eq!(cancelled, Err(RetrievalError::Cancelled));
    }
}
