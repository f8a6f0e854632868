//! The ranked answer to a question in natural language.
//!
//! Owns the order of the stages and how files compare: rare terms count more, and of the rest what `windows` and `candidate` say.
//! Their passages are compared by `rerank`. The same
//! tree and the same question give the same answer.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use super::candidate::{Candidate, CloserLook};
use super::evidence::Evidence;
use super::known_files::KnownFiles;
use super::meaning::{Meaning, NearPiece};
use super::paths::label;
use super::question::SearchQuestion;
use super::rerank::{Ranked, choose, score};
use super::scan::{Repeated, Scan, fade_repeated};
use super::walk::WalkedTree;
use super::windows::{Scorer, Stretch};
use super::workers::spread;
use super::{Found, Place, RetrievalError};
use crate::host::ports::WorkspaceView;

/// Files whose definitions are read before the last ranking.
const CLOSER_LOOK: usize = 40;

/// What a search is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the definitions of the best files.
    SymbolSearch,
    /// Reading files.
    TextSearch,
    /// Comparing meanings, where the user has a model for it.
    VectorSearch,
    /// Merging and ranking.
    Reranking,
}

/// The power to which rarity counts: words of everyday language are rarer in code than what a question is about.
const RARITY: f64 = 0.6;

/// The best `limit` places for a question. `progress` hears, in this order, `TextSearch` with the lines that match, `VectorSearch` with
/// the pieces that are near in meaning where the user has a model that says so, `SymbolSearch` with the definitions that match, and
/// `Reranking` with the places.
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
    let mut evidence = Evidence::gather(&tree, &question, &known, cancel)?;
    let scorer = scorer(&evidence, &question, tree.files.len());
    evidence.read_best(&tree, &question, &scorer, &known, cancel)?;
    let meaning = Meaning::of(view, &tree, (asked, &question), cancel);
    if let Some(meaning) = &meaning {
        evidence.read_also(&tree, &question, meaning.files(), cancel)?;
    }
    let Evidence { mut scans, mean_bytes, .. } = evidence;
    found.text_found = scans.iter().map(|(_, scan)| lines_with(scan, false)).sum();
    progress(Stage::TextSearch, found.text_found);
    if let Some(meaning) = &meaning {
        progress(Stage::VectorSearch, meaning.count());
    }

    let repeated = Repeated::of(scans.iter().map(|(_, scan)| scan));
    scans.iter_mut().for_each(|(_, scan)| fade_repeated(scan, &repeated));
    let near = |at: usize| meaning.as_ref().map_or(&[][..], |meaning| meaning.near(at));
    let mut files = all_files(&scans, &tree, &question, &scorer, mean_bytes);
    let mut better = CLOSER_LOOK.max(limit);
    files.retain(|file| {
        better = better.saturating_sub(1);
        better > 0 || !near(file.at).is_empty()
    });
    found.symbols_found = scans.iter().map(|(_, scan)| lines_with(scan, true)).sum();
    progress(Stage::SymbolSearch, found.symbols_found);

    let looked = spread(files.len(), cancel, |at| {
        let file = &tree.files[files[at].at];
        let text = tree.text(file, cancel)?;
        match known.symbols(files[at].at, file) {
            Some(symbols) => Some(CloserLook::with(file, text, symbols)),
            None => CloserLook::at(file, text, cancel),
        }
    })?;
    found.places =
        best_places(&files, looked, (&question, &scorer), near, limit, |at| label(view, tree.files[at].root));
    progress(Stage::Reranking, found.places.len() as u64);
    known.ask_for_the_rest();
    if let Some(meaning) = meaning {
        found.told.clone_from(&meaning.told);
        meaning.ask_for_the_rest();
    }
    Ok(found)
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

/// The best places of all files, best first. `near`: what is near in meaning in a file of the tree; `root`: what its root is called.
fn best_places<'a>(
    files: &[Candidate<'_>],
    looked: Vec<(usize, CloserLook<'_>)>,
    asked: (&SearchQuestion, &Scorer),
    near: impl Fn(usize) -> &'a [NearPiece],
    limit: usize,
    root: impl Fn(usize) -> Option<String>,
) -> Vec<Place> {
    let best_file = files.iter().map(|file| file.worth.whole).fold(f64::MIN_POSITIVE, f64::max);
    let (mut passages, mut ranked) = (Vec::new(), Vec::new());
    for (nth, (at, look)) in looked.iter().enumerate() {
        for (passage, mut features) in look.passages(&files[*at], asked, near(files[*at].at)) {
            features.file /= best_file;
            let Stretch { start, end, symbol, .. } = passage.stretch;
            ranked.push(Ranked { file: nth, lines: (start, end), symbol, score: score(&features) });
            passages.push(passage.stretch);
        }
    }
    let chosen = choose(&ranked, limit);
    let best = chosen.first().map_or(0.0, |at| ranked[*at].score);
    let mut places: Vec<(usize, Place)> = Vec::new();
    for at in chosen {
        let Ranked { file, score, .. } = ranked[at];
        let (of_file, look) = &looked[file];
        let place = look.place(&passages[at], (score - best).exp(), root(files[*of_file].at));
        places.push((file, place));
    }
    name_further(&mut places, &looked, &ranked);
    places.into_iter().map(|(_, place)| place).collect()
}

/// Names with the best place of each file what else of the file fits.
fn name_further(places: &mut [(usize, Place)], looked: &[(usize, CloserLook<'_>)], ranked: &[Ranked]) {
    let mut named = BTreeSet::new();
    for at in 0..places.len() {
        let file = places[at].0;
        if named.insert(file) {
            let shown: Vec<&Place> =
                places.iter().filter(|(other, _)| *other == file).map(|(_, place)| place).collect();
            let of_file = ranked.iter().filter(|one| one.file == file).copied().collect();
            places[at].1.further = looked[file].1.further(of_file, &shown);
        }
    }
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
