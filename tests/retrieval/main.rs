//! How well places are found in repositories that are not ours.
//!
//! The questions are here, the repositories are not: `scripts/retrieval.sh` fetches them, each at the commit that its questions
//! name, and runs the measurement. Every second question of three of them, and every question of two others, is looked at only to say
//! how good it is, never to make it better. An embedding model at any endpoint is measured beside the words alone, and so is a reranker
//! whose answers are files.

mod asked;
mod questions;
mod word_counting;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use breadboard_ls::testing::host::embeddings::embed_by;
use breadboard_ls::testing::host::index::{IndexTask, Indexes};
use breadboard_ls::testing::host::ports::{Root, WorkspaceView};
use breadboard_ls::testing::host::retrieval::{Place, Symbol, SymbolKind, find_places, new_indexes};

use asked::AskedModel;
use questions::{Half, KnownPlace, Question, all};

/// Where the repositories lie, each in a folder that has the name of its file of questions.
const TREES: &str = "BREADBOARD_RETRIEVAL_TREES";

/// Which half is measured: `tuned` or `unseen`.
const HALF: &str = "BREADBOARD_RETRIEVAL_HALF";

/// Base URL of an endpoint that gives embeddings as OpenAI's does, and the name of the model there. Without, words alone are measured.
const EMBEDDINGS: &str = "BREADBOARD_RETRIEVAL_EMBEDDINGS";
const EMBEDDING_MODEL: &str = "BREADBOARD_RETRIEVAL_EMBEDDING_MODEL";

/// Places of one answer that count.
const PLACES: usize = 5;

/// What a way of searching reached.
#[derive(Debug, Default)]
struct Reached {
    questions: f64,
    found: f64,
    first: f64,
    reciprocal_ranks: f64,
    /// The same where also the function counts that a place lies in, and what is named beside it.
    found_named: f64,
    reciprocal_named_ranks: f64,
    files_found: f64,
    reciprocal_file_ranks: f64,
}

impl Reached {
    fn add(&mut self, found: &[FoundPlace], known: &[KnownPlace]) {
        self.questions += 1.0;
        if let Some(rank) = named_rank(found, known) {
            self.found_named += 1.0;
            self.reciprocal_named_ranks += 1.0 / (rank + 1) as f64;
        }
        if let Some(rank) = file_rank(found, known) {
            self.files_found += 1.0;
            self.reciprocal_file_ranks += 1.0 / (rank + 1) as f64;
        }
        if let Some(rank) = rank(found, known) {
            self.found += 1.0;
            self.first += f64::from(u8::from(rank == 0));
            self.reciprocal_ranks += 1.0 / (rank + 1) as f64;
        }
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name:<16} {:>3} questions  recall at {PLACES}: {:.3}  first: {:.3}  MRR: {:.3}  named: {:.3}, {:.3}  of files: {:.3}, {:.3}",
            self.questions,
            self.found / self.questions,
            self.first / self.questions,
            self.reciprocal_ranks / self.questions,
            self.found_named / self.questions,
            self.reciprocal_named_ranks / self.questions,
            self.files_found / self.questions,
            self.reciprocal_file_ranks / self.questions,
        )
    }
}

/// A place that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FoundPlace {
    path: String,
    /// Its lines.
    lines: (u64, u64),
    /// Those of the function that it shows or lies in, and of the definitions that are named beside it.
    named: Vec<(u64, u64)>,
}

impl FoundPlace {
    fn of(place: Place) -> Self {
        let is_function = |symbol: &Symbol| matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method);
        let around = place.symbol.filter(is_function).into_iter();
        // Of a type its beginning is named, not each of its members.
        let lines = |symbol: Symbol| {
            let end = if is_function(&symbol) { symbol.end_line } else { symbol.start_line };
            (symbol.start_line, end)
        };
        let named = around.chain(place.further).map(lines).collect();
        Self { path: place.path, lines: (place.start_line, place.end_line), named }
    }
}

fn ask(tree: &Path, question: &str, indexes: Option<&Indexes>) -> Vec<FoundPlace> {
    let root = Root { name: "tree".into(), uri: String::new(), path: tree.to_owned() };
    let view = WorkspaceView {
        roots: vec![root],
        indexes: indexes.cloned(),
        trusted: true,
        ..WorkspaceView::default()
    };
    let found = find_places(&view, question, PLACES, &AtomicBool::new(false), &mut |_, _| {})
        .expect("a search that nobody cancelled");
    found.places.into_iter().map(FoundPlace::of).collect()
}

fn rank(found: &[FoundPlace], known: &[KnownPlace]) -> Option<usize> {
    let is_known = |place: &FoundPlace| known.iter().any(|one| one.meets(&place.path, place.lines));
    found.iter().take(PLACES).position(is_known)
}

/// The same where what is named counts as what is shown.
fn named_rank(found: &[FoundPlace], known: &[KnownPlace]) -> Option<usize> {
    let is_known = |place: &FoundPlace| {
        let mut stretches = place.named.iter().copied().chain([place.lines]);
        stretches.any(|lines| known.iter().any(|one| one.meets(&place.path, lines)))
    };
    found.iter().take(PLACES).position(is_known)
}

/// The same where any line of the file will do, and each file counts once.
fn file_rank(found: &[FoundPlace], known: &[KnownPlace]) -> Option<usize> {
    let mut files: Vec<&str> = Vec::new();
    for place in found.iter().take(PLACES) {
        if !files.contains(&place.path.as_str()) {
            files.push(&place.path);
        }
    }
    files.iter().position(|path| known.iter().any(|one| one.path == *path))
}

#[test]
fn there_are_130_questions_on_seven_repositories_with_pinned_commits() {
    let files = all();
    let counted: Vec<(&str, usize, usize)> = files
        .iter()
        .map(|file| {
            let unseen = file.questions.iter().filter(|question| question.half == Half::Unseen).count();
            (file.name.as_str(), file.questions.len(), unseen)
        })
        .collect();
    assert_eq!(
        counted,
        [
            ("bat", 15, 15),
            ("gin", 20, 0),
            ("hono", 15, 15),
            ("ripgrep", 20, 10),
            ("scrapy", 20, 10),
            ("vue", 20, 10),
            ("werkzeug", 20, 0),
        ]
    );
    for file in &files {
        assert_eq!(file.commit.len(), 40, "{}", file.name);
    }
}

/// Prints what is reached. Nothing is measured where the repositories are not there.
#[test]
fn places_are_found_in_repositories_that_are_not_ours() {
    let Ok(trees) = std::env::var(TREES) else { return };
    let half = match std::env::var(HALF).as_deref() {
        Ok("unseen") => Half::Unseen,
        _ => Half::Tuned,
    };
    let (mut ours_of_all, mut plain_of_all) = (Reached::default(), Reached::default());
    let mut near_of_all = Reached::default();
    // Of the repositories of which each question is new, of the others, and of both.
    let mut read_of_all = [Reached::default(), Reached::default(), Reached::default()];
    let indexes = new_indexes();
    let model = model();
    let reader = AskedModel::of_environment();
    let mut same = 0;
    for file in all() {
        if !file.questions.iter().any(|question| question.half == half) {
            continue;
        }
        let tree = Path::new(&trees).join(&file.name);
        assert!(tree.is_dir(), "{} is not there", tree.display());
        indexes.want(&tree, IndexTask::Refresh);
        wait(&indexes);
        let by_meaning = model.as_ref().map(|model| have_read(model, &tree));
        let to_read = reader.as_ref().map(|reader| {
            reader.turn_to(&file.name);
            indexed(&tree)
        });
        let is_new = file.questions.iter().all(|question| question.half == Half::Unseen);
        let mut read = Reached::default();
        let chunks = word_counting::Chunks::of(&tree);
        let (mut ours, mut plain, mut near) = (Reached::default(), Reached::default(), Reached::default());
        for question in file.questions.iter().filter(|question| question.half == half) {
            let found = ask(&tree, &question.text, None);
            same += usize::from(ask(&tree, &question.text, Some(&indexes)) == found);
            let counted = chunks.best(&question.text, PLACES);
            for reached in [&mut ours, &mut ours_of_all] {
                reached.add(&found, &question.places);
            }
            for reached in [&mut plain, &mut plain_of_all] {
                reached.add(&counted, &question.places);
            }
            let best = match &by_meaning {
                Some(indexes) => ask(&tree, &question.text, Some(indexes)),
                None => found,
            };
            for reached in [&mut near, &mut near_of_all] {
                reached.add(&best, &question.places);
            }
            let best = match (&reader, &to_read) {
                (Some(reader), Some(indexes)) => {
                    reader.read_for(indexes);
                    let ordered = ask(&tree, &question.text, Some(indexes));
                    let [of_new, of_others, of_all] = &mut read_of_all;
                    for reached in [&mut read, if is_new { of_new } else { of_others }, of_all] {
                        reached.add(&ordered, &question.places);
                    }
                    ordered
                }
                _ => best,
            };
            let at = rank(&best, &question.places);
            if half == Half::Tuned && at != Some(0) {
                tell(question, at, &best);
            }
        }
        println!("{}\n{}", ours.line(&file.name), plain.line("  word counting"));
        if model.is_some() {
            println!("{}", near.line("  with meanings"));
        }
        if reader.is_some() {
            println!("{}", read.line("  with a reader"));
        }
    }
    println!("{same} answers are the same with the index, place by place");
    println!("{}\n{}", ours_of_all.line("all"), plain_of_all.line("  word counting"));
    if model.is_some() {
        println!("{}", near_of_all.line("  with meanings"));
    }
    if let Some(reader) = reader {
        let names = ["  reader, new", "  reader, others", "  with a reader"];
        for (name, reached) in
            names.into_iter().zip(&read_of_all).filter(|(_, reached)| reached.questions > 0.0)
        {
            println!("{}", reached.line(name));
        }
        println!("{}", reader.counted());
    }
    assert!(
        ours_of_all.reciprocal_ranks > plain_of_all.reciprocal_ranks,
        "counting words finds as much as the search does"
    );
}

/// What is not first, for whoever makes the search better.
fn tell(question: &Question, at: Option<usize>, found: &[FoundPlace]) {
    println!("{at:?} {}\n    wanted {:?}", question.text, question.places);
    for FoundPlace { path, lines: (first, last), named } in found {
        println!("    {path}:{first}-{last} {named:?}");
    }
}

/// An endpoint with its model, and what its requests run on.
struct Model {
    runtime: tokio::runtime::Runtime,
    url: String,
    name: String,
}

fn model() -> Option<Model> {
    let url = std::env::var(EMBEDDINGS).ok()?;
    let name = std::env::var(EMBEDDING_MODEL).unwrap_or_else(|_| "any".to_owned());
    Some(Model { runtime: tokio::runtime::Runtime::new().expect("there are threads"), url, name })
}

/// Indexes of a tree of which the model has read everything that is in it.
fn have_read(model: &Model, tree: &Path) -> Indexes {
    let indexes = new_indexes();
    embed_by(&indexes, model.runtime.handle().clone(), &model.url, &model.name);
    ask(tree, "anything at all", Some(&indexes));
    wait(&indexes);
    indexes
}

/// Indexes of a tree that know all of it, so that the same question is always the same prompt.
fn indexed(tree: &Path) -> Indexes {
    let indexes = new_indexes();
    indexes.want(tree, IndexTask::Refresh);
    wait(&indexes);
    indexes
}

fn wait(indexes: &Indexes) {
    while indexes.is_working() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
