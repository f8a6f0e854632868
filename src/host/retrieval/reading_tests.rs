//! What a reranker is given, and what its order changes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::domain::policy::file_lists::FileLists;
use crate::host::index::Indexes;
use crate::host::models::ModelError;
use crate::host::retrieval::walk::tests::{Fixture, GO_ON};
use crate::host::retrieval::{Found, find_places, new_indexes};

/// A reader that says what it is told to say, and remembers what it was given.
struct FakeReranker {
    given: Mutex<Vec<(ReadingRound, Vec<ReadPassage>)>>,
    says: Box<Says>,
    bounds: ReadingBounds,
}

type Says = dyn Fn(ReadingRound, &[ReadPassage], &AtomicBool) -> Result<ReadOrder, ModelError> + Send + Sync;

impl Reranker for FakeReranker {
    fn name(&self) -> String {
        "`fake`".to_owned()
    }

    fn bounds(&self) -> ReadingBounds {
        self.bounds
    }

    fn read(
        &self,
        question: &str,
        passages: &[ReadPassage],
        round: ReadingRound,
        cancel: &AtomicBool,
    ) -> Result<ReadOrder, ModelError> {
        assert_eq!(question, QUESTION);
        self.given.lock().unwrap().push((round, passages.to_vec()));
        (self.says)(round, passages, cancel)
    }
}

const QUESTION: &str = "who opens the red door?";

/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);

const BOUNDS: ReadingBounds = ReadingBounds { passages: 100, heads_alone: true, patience: PATIENCE };

fn tree() -> Fixture {
    Fixture::new(&[
        ("src/door.rs", "/// Opens it, whoever is there.\npub fn open_door() {\n    work();\n}\n"),
        ("src/paint.rs", "pub fn paint_red() {\n    work();\n}\n"),
        ("src/visitor.rs", "pub fn ring_door() {\n    work();\n}\n"),
        ("src/gate.rs", "pub fn swing_portal() {\n    push();\n}\n"),
    ])
}

fn with(
    fixture: &Fixture,
    bounds: ReadingBounds,
    says: impl Fn(ReadingRound, &[ReadPassage], &AtomicBool) -> Result<ReadOrder, ModelError>
    + Send
    + Sync
    + 'static,
) -> (Arc<FakeReranker>, Indexes, WorkspaceView) {
    let reranker = Arc::new(FakeReranker { given: Mutex::default(), says: Box::new(says), bounds });
    let indexes = new_indexes();
    indexes.reranker().read_by(Some(Arc::clone(&reranker) as Arc<dyn Reranker>));
    let view = WorkspaceView { indexes: Some(indexes.clone()), trusted: true, ..fixture.view() };
    (reranker, indexes, view)
}

/// An order by the beginnings of heads.
fn order_of(passages: &[ReadPassage], heads: &[&str]) -> ReadOrder {
    let place = |head: &&str| passages.iter().position(|passage| passage.head.starts_with(*head)).unwrap();
    ReadOrder { order: heads.iter().map(place).collect(), ..ReadOrder::default() }
}

fn ask(view: &WorkspaceView) -> Found {
    find_places(view, QUESTION, 5, &GO_ON, &mut |_, _| {}).unwrap()
}

fn paths(found: &Found) -> Vec<&str> {
    found.places.iter().map(|place| place.path.as_str()).collect()
}

/// What is found without anybody who reads.
fn by_words(fixture: &Fixture) -> Found {
    ask(&WorkspaceView { trusted: true, ..fixture.view() })
}

#[test]
fn what_the_reader_names_comes_first_in_its_order_and_the_rest_as_words_rank_it() {
    let fixture = tree();
    let words = by_words(&fixture);
    assert_eq!(paths(&words), ["src/door.rs"]);
    let (reranker, _, view) = with(&fixture, BOUNDS, |_, passages, _| {
        Ok(ReadOrder { tokens: Some(70), cost: Some(0.5), ..order_of(passages, &["src/visitor.rs"]) })
    });
    let mut stages = Vec::new();
    let found = find_places(&view, QUESTION, 5, &GO_ON, &mut |stage, count| stages.push((stage, count)));
    let found = found.unwrap();
    assert_eq!(paths(&found), ["src/visitor.rs", "src/door.rs"]);
    assert_eq!(found.places.iter().map(|place| place.score).collect::<Vec<_>>(), [1.0, 0.5]);
    let read =
        PassagesRead::Ordered { by: "`fake`".to_owned(), passages: 3, tokens: Some(70), cost: Some(0.5) };
    assert_eq!((found.told, found.read), (None, Some(read)));
    assert_eq!(stages[2..], [(Stage::Reading, 3), (Stage::Reranking, 2)]);
    let given = reranker.given.lock().unwrap();
    let [(ReadingRound::First, passages)] = &given[..] else { panic!("{given:?}") };
    let told = ReadPassage {
        head: "src/door.rs:1-4 function `open_door`".to_owned(),
        text: "/// Opens it, whoever is there.\npub fn open_door() {\n    work();\n}".to_owned(),
    };
    assert_eq!(passages[0], told);
}

#[test]
fn nothing_is_read_without_trust_and_never_what_is_secret_or_kept() {
    let fixture = tree();
    fixture.write("src/id_rsa.rs", b"/// Opens the red door.\npub fn open_red_door() {}\n");
    let (reranker, _, view) =
        with(&fixture, BOUNDS, |_, passages, _| Ok(order_of(passages, &["src/visitor.rs"])));
    assert!(paths(&by_words(&fixture)).contains(&"src/id_rsa.rs"));
    let found = ask(&WorkspaceView { trusted: false, ..view.clone() });
    assert_eq!(found, by_words(&fixture));
    assert_eq!(*reranker.given.lock().unwrap(), []);
    let lists = FileLists { never: vec!["src/paint.rs".to_owned()], ..FileLists::default() };
    let found = ask(&WorkspaceView { lists: Arc::new(lists), ..view });
    // What it was not given keeps its place.
    assert_eq!(paths(&found), ["src/id_rsa.rs", "src/visitor.rs", "src/door.rs"]);
    let given = reranker.given.lock().unwrap();
    let heads: Vec<&str> = given[0].1.iter().map(|passage| passage.head.split(':').next().unwrap()).collect();
    assert_eq!(heads, ["src/door.rs", "src/visitor.rs"]);
}

#[test]
fn a_reader_that_fails_leaves_what_words_find_and_that_is_told_once() {
    let fixture = tree();
    let words = by_words(&fixture);
    let gone = |_: ReadingRound, _: &[ReadPassage], _: &AtomicBool| {
        Err(ModelError::setting("The model is gone; start it.".to_owned()))
    };
    let (reranker, _, view) = with(&fixture, BOUNDS, gone);
    let found = ask(&view);
    assert_eq!(found.places, words.places);
    let told = "The places stand as words rank them: The model is gone; start it. The reranker is asked again later.";
    assert_eq!(found.told.as_deref(), Some(told));
    assert_eq!(found.read, Some(PassagesRead::Unread("The model is gone; start it.".to_owned())));
    // It rests, and that was told.
    let found = ask(&view);
    let why = "`fake` failed before and is asked again later.".to_owned();
    assert_eq!((found.places, found.told), (words.places, None));
    assert_eq!(found.read, Some(PassagesRead::Unread(why)));
    assert_eq!(reranker.given.lock().unwrap().len(), 1);
}

/// Ends when its flag is set, or when the test has gone on for long.
fn wait(stop: &AtomicBool) -> Result<ReadOrder, ModelError> {
    let begun = Instant::now();
    while !stop.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    Err(ModelError::passing("The search was stopped; ask again.".to_owned()))
}

#[test]
fn a_reader_that_is_late_is_not_waited_for() {
    let fixture = tree();
    let words = by_words(&fixture);
    let bounds = ReadingBounds { patience: Duration::ZERO, ..BOUNDS };
    let held = Arc::new(AtomicBool::new(false));
    let hold = Arc::clone(&held);
    let (_, _, view) = with(&fixture, bounds, move |_, _, _| wait(&hold));
    let found = ask(&view);
    held.store(true, Ordering::Relaxed);
    assert_eq!(found.places, words.places);
    assert_eq!(found.read, Some(PassagesRead::Unread("`fake` did not answer in time.".to_owned())));
}

#[test]
fn a_search_that_is_stopped_stops_the_reader() {
    let fixture = tree();
    let cancel = Arc::new(AtomicBool::new(false));
    let stopped = Arc::new(AtomicBool::new(false));
    let (stop_it, was_stopped) = (Arc::clone(&cancel), Arc::clone(&stopped));
    let (_, _, view) = with(&fixture, BOUNDS, move |_, _, stop| {
        stop_it.store(true, Ordering::Relaxed);
        let ended = wait(stop);
        was_stopped.store(true, Ordering::Relaxed);
        ended
    });
    let found = find_places(&view, QUESTION, 5, &cancel, &mut |_, _| {});
    assert_eq!(found, Err(RetrievalError::Cancelled));
    let begun = Instant::now();
    while !stopped.load(Ordering::Relaxed) {
        assert!(begun.elapsed() < PATIENCE, "its request goes on");
        std::thread::yield_now();
    }
}

/// Many long definitions that all fit the question.
fn large() -> Fixture {
    let line = format!("    red_door(\"{}\");\n", "x".repeat(250));
    let door =
        |n: usize| format!("/// Opens a red door.\npub fn open_red_door_{n}() {{\n{}}}\n", line.repeat(12));
    let text = |file: usize| -> String { (0..20).map(|n| door(100 * file + n)).collect() };
    let files: Vec<(String, String)> = (0..20).map(|n| (format!("src/doors{n}.rs"), text(n))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Fixture::new(&files)
}

#[test]
fn no_more_goes_to_the_reader_than_its_bounds_and_of_what_has_no_room_the_head() {
    let fixture = large();
    let all = |_: ReadingRound, passages: &[ReadPassage], _: &AtomicBool| {
        Ok(ReadOrder { order: (0..passages.len()).rev().collect(), ..ReadOrder::default() })
    };
    let (reranker, _, view) = with(&fixture, BOUNDS, all);
    ask(&view);
    let given = std::mem::take(&mut *reranker.given.lock().unwrap());
    let passages = &given[0].1;
    assert_eq!(passages.len(), 100);
    assert!(passages.iter().all(|passage| passage.text.len() <= PASSAGE_BYTES && passage.head.len() <= 400));
    let bytes: usize = passages.iter().map(|passage| passage.text.len()).sum();
    assert!((TEXT_BYTES - PASSAGE_BYTES..=TEXT_BYTES).contains(&bytes), "{bytes}");
    let with_text = passages.iter().take_while(|passage| !passage.text.is_empty()).count();
    assert!(passages[with_text..].iter().all(|passage| passage.text.is_empty()));
    assert!(passages[99].head.contains("`: pub fn open_red_door_"), "{}", passages[99].head);
    let mut of_file = BTreeMap::<&str, usize>::new();
    passages.iter().for_each(|one| *of_file.entry(one.head.split(':').next().unwrap()).or_default() += 1);
    assert!(of_file.values().all(|count| *count <= PER_FILE), "{of_file:?}");
    // One that reads no heads alone gets fewer.
    let bounds = ReadingBounds { passages: 32, heads_alone: false, ..BOUNDS };
    let (reranker, _, view) = with(&fixture, bounds, all);
    ask(&view);
    let given = reranker.given.lock().unwrap();
    assert_eq!(given[0].1.len(), with_text.min(32));
    assert!(given[0].1.iter().all(|passage| !passage.text.is_empty()));
}

#[test]
fn where_nothing_fits_it_is_looked_for_once_more_by_words_that_the_reader_names() {
    let fixture = tree();
    let (reranker, _, view) = with(&fixture, BOUNDS, |round, passages, _| {
        let wanted = match round {
            ReadingRound::First => vec!["src/visitor.rs"],
            ReadingRound::Last => vec!["src/gate.rs", "src/visitor.rs"],
        };
        let words = Some("swing_portal hinge".to_owned());
        Ok(ReadOrder { words, tokens: Some(5), ..order_of(passages, &wanted) })
    });
    let found = ask(&view);
    assert_eq!(paths(&found), ["src/gate.rs", "src/visitor.rs"]);
    // What was read and not named is not read again.
    let given = reranker.given.lock().unwrap();
    let heads = |at: usize| -> Vec<&str> {
        given[at].1.iter().map(|passage| passage.head.split(':').next().unwrap()).collect()
    };
    assert_eq!(given.len(), 2);
    assert_eq!(heads(1), ["src/visitor.rs", "src/gate.rs"]);
    let read = PassagesRead::Ordered { by: "`fake`".to_owned(), passages: 5, tokens: Some(10), cost: None };
    assert_eq!(found.read, Some(read));
}

#[test]
fn words_that_find_nothing_new_or_a_second_answer_that_fails_leave_the_first() {
    let fixture = tree();
    let nothing = |_: ReadingRound, passages: &[ReadPassage], _: &AtomicBool| {
        let words = Some("xylophone".to_owned());
        Ok(ReadOrder { words, ..order_of(passages, &["src/visitor.rs"]) })
    };
    let (reranker, _, view) = with(&fixture, BOUNDS, nothing);
    assert_eq!(paths(&ask(&view))[0], "src/visitor.rs");
    assert_eq!(reranker.given.lock().unwrap().len(), 1);
    let (_, _, view) = with(&fixture, BOUNDS, |round, passages, _| match round {
        ReadingRound::First => Ok(ReadOrder {
            words: Some("swing_portal".to_owned()),
            ..order_of(passages, &["src/visitor.rs"])
        }),
        ReadingRound::Last => Err(ModelError::setting("The model is gone; start it.".to_owned())),
    });
    let found = ask(&view);
    assert_eq!(paths(&found), ["src/visitor.rs", "src/door.rs"]);
    let read = PassagesRead::Ordered { by: "`fake`".to_owned(), passages: 3, tokens: None, cost: None };
    assert_eq!(found.read, Some(read));
    let told = "The places stand in the first order of the reranker, which was asked once more: The model is gone; start it. \
        The reranker is asked again later.";
    assert_eq!(found.told.as_deref(), Some(told));
    // It rests, and that was told.
    let found = ask(&view);
    assert_eq!((paths(&found), &found.told), (vec!["src/door.rs"], &None));
}

#[test]
fn a_reader_cannot_show_a_definition_twice_fill_an_answer_with_one_file_or_move_what_it_was_not_given() {
    let one = |file, first, symbol, score| Ranked { file, lines: (first, first + 9), symbol, score };
    let all = [
        one(0, 1, Some(0), 9.0),
        one(0, 40, Some(0), 8.0),
        one(0, 60, Some(1), 7.0),
        one(0, 80, Some(2), 6.0),
        one(0, 99, Some(3), 5.0),
        one(1, 1, None, 4.0),
        one(2, 1, None, 3.5),
    ];
    let pool = [0, 1, 2, 3, 4, 5];
    let by_words = choose(&all, 5);
    assert_eq!(by_words, [0, 2, 3, 5, 6]);
    assert_eq!(merged(&all, &by_words, &pool, vec![1, 0, 4, 3, 2, 5], 5), [1, 4, 3, 5, 6]);
    assert_eq!(merged(&all, &by_words, &pool, vec![5], 5), [5, 0, 2, 3, 6]);
    assert_eq!(merged(&all, &by_words, &[1, 2, 3, 4], vec![4], 2), [4, 0]);
    // The first was not given to it, and stays first.
    assert_eq!(merged(&all, &by_words, &[2, 3, 4, 5, 6], vec![5, 6], 5), [0, 5, 6, 2, 3]);
}
