//! What of the files is near to a question in meaning, as the user's embedding model says.
//!
//! Owns who is asked: nobody, unless the user has named such a model and trusts the workspace. Only versions of files are compared that
//! the model has read; open buffers, changed files and what it has not come to yet are found by their words. No question waits for the
//! model longer than a second: the first of a process gives it half of that to read files, and behind each other one that came to its end
//! it reads what it lacks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::embedding::is_worth_reading;
use super::kinds::kind_of_file;
use super::question::SearchQuestion;
use super::walk::WalkedTree;
use super::windows::Stretch;
use crate::host::index::Asked;
use crate::host::index::vectors::{
    Embedder, FileVectors, FolderVectors, PackedVector, VectorStanding, VectorStatus, Vectors,
};
use crate::host::models::Embeddings;
use crate::host::ports::WorkspaceView;

/// Pieces that count as near.
const NEAR: usize = 120;

/// What is taken off the nearness of a file that counts for nothing against code.
const OTHER_KIND: f64 = 0.25;

/// Bytes of a question that are compared.
const QUESTION_BYTES: usize = 4_096;

/// How long a question may wait for the model in all: longer is noticed.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much of that the first question of a process gives it to read files: a small workspace is read by then, and a larger one by the
/// questions that follow.
const FIRST_READING: Duration = Duration::from_millis(500);

/// How often that wait looks.
const LOOK: Duration = Duration::from_millis(20);

/// A stretch of lines that is near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NearPiece {
    /// First line, from 1.
    pub start: u64,
    /// Last line, inclusive.
    pub end: u64,
    /// 1 for the nearest of all, towards 0 for the last that counts.
    pub near: f64,
}

impl NearPiece {
    /// Whether these lines have something of it.
    pub(super) fn meets(&self, stretch: &Stretch) -> bool {
        stretch.start <= self.end && stretch.end >= self.start
    }
}

/// What is near, by the file's place in the tree.
#[derive(Default)]
pub(super) struct Meaning {
    files: BTreeMap<usize, Vec<NearPiece>>,
    /// What a person is told: what the model has not read yet, or why it was of no use.
    pub told: Option<String>,
    behind: Vec<(Vectors, Arc<FolderVectors>, Vec<String>)>,
}

/// One folder of the workspace, with what the model said of its files.
struct ReadFolder {
    folder: Arc<FolderVectors>,
    known: Vec<(usize, Arc<FileVectors>)>,
    /// Files that the model may see.
    files: Vec<String>,
}

impl Meaning {
    /// What is near to a question; `None` where nobody says so.
    pub(super) fn of(
        view: &WorkspaceView,
        tree: &WalkedTree,
        (question, read): (&str, &SearchQuestion),
        cancel: &AtomicBool,
    ) -> Option<Self> {
        let begun = Instant::now();
        let vectors = view.indexes.as_ref().filter(|_| view.trusted)?.vectors();
        let mut embedder: Option<Arc<dyn Embedder>> = None;
        let mut folders = Vec::new();
        for (at, root) in view.roots.iter().enumerate() {
            let Some((made_by, folder)) = vectors.of(&root.path) else { continue };
            embedder = Some(made_by);
            let first = folder.is_first_question();
            let known = ReadFolder::of(at, Arc::clone(&folder), tree);
            folders.push(match first && known.lacks_files() {
                true => known.waited_for(at, vectors, tree, (begun + FIRST_READING, cancel)),
                false => known,
            });
        }
        let embedder = embedder?;
        let mut meaning = Self { told: told(&folders, &*embedder), ..Self::default() };
        let patience = (begun + PATIENCE, cancel);
        if let Some(asked) = meaning.asked(&folders, question, (vectors, &embedder), patience) {
            // Tests and documents speak of everything that the code does.
            let counts = |at: usize| 1.0 - OTHER_KIND * (1.0 - kind_of_file(&tree.files[at].rel, read));
            meaning.find(&folders, &asked, counts);
        }
        for read in folders.into_iter().filter(ReadFolder::lacks_files) {
            let is_idle = read.folder.status().standing != VectorStanding::Reading;
            if is_idle && !read.folder.is_full() {
                meaning.behind.push((vectors.clone(), read.folder, read.files));
            }
        }
        Some(meaning)
    }

    /// The question as the model sees it; `None` where nothing can be compared with it.
    fn asked(
        &mut self,
        folders: &[ReadFolder],
        question: &str,
        (vectors, embedder): (&Vectors, &Arc<dyn Embedder>),
        (until, cancel): (Instant, &AtomicBool),
    ) -> Option<PackedVector> {
        if folders.iter().all(|folder| folder.known.is_empty()) {
            return None;
        }
        let question = question[..question.floor_char_boundary(QUESTION_BYTES)].to_owned();
        let (name, asked) = (embedder.name(), Arc::clone(embedder));
        let request = move |stop: &AtomicBool| asked.question(question, stop);
        match vectors.asking().ask(&name, request, until, cancel) {
            Asked::Answer(Embeddings { vectors, .. }) => {
                vectors.first().map(|vector| PackedVector::of(vector))
            }
            Asked::Failed { why, is_news } => {
                // What it has read so far is no use to this answer.
                self.told =
                    is_news.then(|| format!("Only words were compared: {why} It is asked again later."));
                None
            }
            Asked::Unasked => {
                self.told = None;
                None
            }
        }
    }

    /// Finds what is near. `counts`: what the file at a place of the tree counts against code.
    fn find(&mut self, folders: &[ReadFolder], asked: &PackedVector, counts: impl Fn(usize) -> f64) {
        let mut all: Vec<(f32, usize, u64, u64)> = Vec::new();
        for (at, file) in folders.iter().flat_map(|folder| &folder.known) {
            let counts = counts(*at) as f32;
            all.extend(file.pieces.iter().map(|piece| {
                let near = piece.vector.near(asked) * counts;
                (near, *at, u64::from(piece.start), u64::from(piece.end))
            }));
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let (Some(best), Some(last)) = (all.first(), all.get(NEAR).or(all.last())) else { return };
        let (best, last) = (best.0, last.0);
        for (cosine, at, start, end) in all.into_iter().take(NEAR) {
            let near = if best > last { f64::from((cosine - last) / (best - last)) } else { 1.0 };
            self.files.entry(at).or_default().push(NearPiece { start, end, near });
        }
    }

    /// Files with something near, and how near the nearest of each is.
    pub(super) fn files(&self) -> impl Iterator<Item = usize> {
        self.files.keys().copied()
    }

    /// What is near in the file at this place of the tree.
    pub(super) fn near(&self, at: usize) -> &[NearPiece] {
        self.files.get(&at).map_or(&[], Vec::as_slice)
    }

    /// How many pieces are near.
    pub(super) fn count(&self) -> u64 {
        self.files.values().map(|pieces| pieces.len() as u64).sum()
    }

    /// Has the model read what it has not, now that the search is over.
    pub(super) fn ask_for_the_rest(self) {
        for (vectors, folder, files) in self.behind {
            vectors.want(folder.root(), files);
        }
    }
}

impl ReadFolder {
    fn of(root: usize, folder: Arc<FolderVectors>, tree: &WalkedTree) -> Self {
        folder.load();
        let (mut known, mut files) = (Vec::new(), Vec::new());
        let of_root = tree.files.iter().enumerate().filter(|(_, file)| file.root == root);
        for (at, file) in of_root.filter(|(_, file)| is_worth_reading(&file.rel)) {
            let Some(stamp) = file.stamp else { continue };
            files.push(file.rel.clone());
            known.extend(folder.known(&file.rel, stamp).map(|file| (at, file)));
        }
        Self { folder, known, files }
    }

    /// Whether the model has not read all of them.
    fn lacks_files(&self) -> bool {
        self.known.len() < self.files.len()
    }

    /// The same after a while in which the model reads: a process that answers one question and ends has no later one.
    fn waited_for(
        self,
        root: usize,
        vectors: &Vectors,
        tree: &WalkedTree,
        (until, cancel): (Instant, &AtomicBool),
    ) -> Self {
        vectors.want(self.folder.root(), self.files);
        while vectors.is_working() && Instant::now() < until {
            if cancel.load(Ordering::Relaxed) {
                // Nothing is sent for a question that nobody waits for.
                vectors.stop();
                break;
            }
            std::thread::sleep(LOOK);
        }
        Self::of(root, self.folder, tree)
    }
}

/// What is said of a model that has not read everything, where that was not said before.
fn told(folders: &[ReadFolder], embedder: &dyn Embedder) -> Option<String> {
    let all: usize = folders.iter().map(|folder| folder.files.len()).sum();
    let known: usize = folders.iter().map(|folder| folder.known.len()).sum();
    let news = folders.iter().filter(|folder| folder.folder.is_news(folder.known.len())).count();
    if known == all || news == 0 {
        return None;
    }
    let statuses: Vec<VectorStatus> = folders.iter().map(|folder| folder.folder.status()).collect();
    let tokens: u64 = statuses.iter().map(|status| status.tokens).sum();
    let spent = match embedder.price().filter(|_| tokens > 0) {
        Some(price) => format!("{tokens} tokens so far, {:.4}", price * tokens as f64 / 1e6),
        None => format!("{tokens} tokens so far"),
    };
    let name = embedder.name();
    let of_model = statuses.into_iter().find_map(|status| match status.standing {
        VectorStanding::Failed(why) => Some(format!("It stopped, and tries again now: {why}")),
        VectorStanding::Full => {
            Some("There is no room for more; the others are found by their words.".to_owned())
        }
        _ => None,
    });
    let of_model = of_model.unwrap_or_else(|| {
        "It reads on as long as breadboard-ls runs; what it has not read is found by its words.".to_owned()
    });
    Some(format!("The embedding model {name} has read {known} of {all} files ({spent}). {of_model}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::SystemTime;

    use super::*;
    use crate::domain::edits::overlay::Overlay;
    use crate::domain::policy::file_lists::FileLists;
    use crate::host::index::Indexes;
    use crate::host::models::ModelError;
    use crate::host::retrieval::embedding::have_read_at;
    use crate::host::retrieval::walk::tests::{Fixture, GO_ON};
    use crate::host::retrieval::{find_places, new_indexes};

    /// A model that knows that gates are doors, and remembers what it was sent.
    #[derive(Default)]
    struct FakeEmbedder {
        sent: Mutex<Vec<String>>,
        fails: AtomicBool,
        /// While somebody holds it, no question is answered.
        answers: Mutex<()>,
    }

    impl FakeEmbedder {
        fn vector(text: &str) -> Vec<f32> {
            let has = |words: &[&str]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
            vec![has(&["gate", "door", "portal"]), has(&["picture", "image"]), 0.2]
        }

        fn answer(&self, texts: &[String]) -> Result<Embeddings, ModelError> {
            if self.fails.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(ModelError::setting("The model is gone; start it.".to_owned()));
            }
            let vectors = texts.iter().map(|text| Self::vector(text)).collect();
            Ok(Embeddings { vectors, tokens: Some(10 * texts.len() as u64) })
        }

        /// The first lines of what was sent since this was asked last.
        fn sent(&self) -> Vec<String> {
            let sent = std::mem::take(&mut *self.sent.lock().unwrap());
            sent.iter().filter_map(|text| text.lines().next()).map(str::to_owned).collect()
        }
    }

    impl Embedder for FakeEmbedder {
        fn identity(&self) -> String {
            "fake".to_owned()
        }

        fn name(&self) -> String {
            "`fake`".to_owned()
        }

        fn price(&self) -> Option<f64> {
            Some(2.0)
        }

        fn pieces(&self, texts: Vec<String>, _: &AtomicBool) -> Result<Embeddings, ModelError> {
            self.sent.lock().unwrap().extend(texts.iter().cloned());
            self.answer(&texts)
        }

        fn question(&self, text: String, _: &AtomicBool) -> Result<Embeddings, ModelError> {
            self.sent.lock().unwrap().push(format!("question: {text}"));
            let answer = self.answer(&[text]);
            drop(self.answers.lock().unwrap());
            answer
        }
    }

    const QUESTION: &str = "who lets a visitor in by the gate?";

    fn tree() -> Fixture {
        Fixture::new(&[
            (
                "src/entrance.rs",
                "pub fn open_door() {\n    work();\n}\n\npub fn paint() {\n    colour();\n}\n",
            ),
            ("src/visitor.rs", "pub struct Visitor {\n    name: String,\n}\n"),
            ("src/gallery.rs", "pub fn picture() {}\n"),
            ("secrets/server.pem", "door to everything\n"),
            ("data.svg", "door\n"),
        ])
    }

    fn set_up(fixture: &Fixture) -> (Arc<FakeEmbedder>, Indexes, WorkspaceView) {
        let embedder = Arc::new(FakeEmbedder::default());
        let indexes = new_indexes();
        indexes.vectors().make_with(Some(Arc::clone(&embedder) as Arc<dyn Embedder>));
        let view = WorkspaceView { indexes: Some(indexes.clone()), trusted: true, ..fixture.view() };
        (embedder, indexes, view)
    }

    /// Has read what a search would want read, long after the files were written.
    fn read_all(view: &WorkspaceView) -> VectorStatus {
        let root = &view.roots[0].path;
        let (embedder, folder) = view.indexes.as_ref().unwrap().vectors().of(root).unwrap();
        let tree = WalkedTree::walk(view, &GO_ON).unwrap();
        let files = ReadFolder::of(0, Arc::clone(&folder), &tree).files;
        have_read_at(&folder, files, &*embedder, &GO_ON, SystemTime::now() + Duration::from_secs(60));
        folder.status()
    }

    fn paths(view: &WorkspaceView, question: &str) -> Vec<String> {
        let found = find_places(view, question, 5, &GO_ON, &mut |_, _| {}).unwrap();
        found.places.into_iter().map(|place| format!("{}:{}", place.path, place.line)).collect()
    }

    #[test]
    fn a_place_that_shares_no_word_with_the_question_is_found_by_its_meaning() {
        let fixture = tree();
        let (embedder, _, view) = set_up(&fixture);
        let status = read_all(&view);
        assert_eq!((status.standing, status.done, status.tokens), (VectorStanding::Complete, 3, 40));
        embedder.sent();
        let found = paths(&view, QUESTION);
        assert!(found.contains(&"src/entrance.rs:1".to_owned()), "{found:?}");
        assert_eq!(embedder.sent(), [format!("question: {QUESTION}")]);
        // Without the model words alone are compared.
        let plain = WorkspaceView { indexes: None, ..view };
        assert_eq!(paths(&plain, QUESTION), ["src/visitor.rs:1"]);
    }

    #[test]
    fn nothing_goes_to_the_model_without_trust_nor_what_is_secret_kept_or_data() {
        let fixture = tree();
        let (embedder, indexes, view) = set_up(&fixture);
        let untrusted = WorkspaceView { trusted: false, ..view.clone() };
        assert_eq!(paths(&untrusted, QUESTION), ["src/visitor.rs:1"]);
        assert!(!indexes.is_working());
        assert_eq!(embedder.sent(), Vec::<String>::new());
        let lists = FileLists { never: vec!["src/gallery.rs".to_owned()], ..FileLists::default() };
        read_all(&WorkspaceView { lists: Arc::new(lists), ..view });
        assert_eq!(
            embedder.sent(),
            ["src/entrance.rs: open_door", "src/entrance.rs: paint", "src/visitor.rs: Visitor"]
        );
    }

    #[test]
    fn only_what_changed_is_sent_again_and_the_next_process_sends_nothing() {
        let fixture = tree();
        let state = tempfile::tempdir().unwrap();
        let (embedder, indexes, view) = set_up(&fixture);
        indexes.keep_in(state.path().to_owned());
        read_all(&view);
        embedder.sent();
        fixture.write(
            "src/entrance.rs",
            b"pub fn open_door() {\n    work();\n}\n\npub fn paint() {\n    white();\n}\n",
        );
        fixture.write("src/visitor.rs", b"pub struct Visitor {\n    name: String,\n}\n");
        std::fs::remove_file(fixture.path("src/gallery.rs")).unwrap();
        let status = read_all(&view);
        assert_eq!(embedder.sent(), ["src/entrance.rs: paint"]);
        assert_eq!(status.tokens, 50);
        drop((indexes, view));
        let (next, indexes, view) = set_up(&fixture);
        indexes.keep_in(state.path().to_owned());
        let status = read_all(&view);
        assert_eq!((next.sent(), status.tokens), (Vec::new(), 50));
        assert!(paths(&view, QUESTION).contains(&"src/entrance.rs:1".to_owned()));
    }

    #[test]
    fn an_open_buffer_is_found_by_its_words_and_what_is_not_read_yet_is_told() {
        let fixture = tree();
        let (_, indexes, view) = set_up(&fixture);
        let found = find_places(&view, QUESTION, 5, &GO_ON, &mut |_, _| {}).unwrap();
        let told = found.told.unwrap();
        assert!(
            // How much of it is done by then nobody knows: no version of a file that is new is believed.
            told.starts_with("The embedding model `fake` has read 0 of 3 files ("),
            "{told}"
        );
        while indexes.is_working() {
            std::thread::yield_now();
        }
        read_all(&view);
        assert_eq!(find_places(&view, QUESTION, 5, &GO_ON, &mut |_, _| {}).unwrap().told, None);
        let open = fixture.view_with(&[("src/entrance.rs", "fn nothing() {}\n")]);
        let overlay: Arc<Overlay> = open.overlay;
        assert_eq!(paths(&WorkspaceView { overlay, ..view }, QUESTION), ["src/visitor.rs:1"]);
    }

    #[test]
    fn a_question_does_not_wait_for_a_model_that_hangs_and_the_next_one_has_it_again() {
        let fixture = tree();
        let (embedder, _, view) = set_up(&fixture);
        read_all(&view);
        let asked = || find_places(&view, QUESTION, 5, &GO_ON, &mut |_, _| {}).unwrap();
        // Given a model that answers nothing
        let silence = embedder.answers.lock().unwrap();
        // Then words decide, and it is said once
        let found = asked();
        assert_eq!(found.places[0].path, "src/visitor.rs");
        let told = "Only words were compared: `fake` did not answer in time. It is asked again later.";
        assert_eq!(found.told.as_deref(), Some(told));
        assert_eq!(asked().told, None);
        // When it answers after all
        drop(silence);
        // Then it is asked again, and meanings are compared
        let begun = Instant::now();
        while !paths(&view, QUESTION).contains(&"src/entrance.rs:1".to_owned()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "it is not asked again");
        }
    }

    #[test]
    fn that_files_are_not_read_since_the_model_fails_is_told_once() {
        let fixture = tree();
        let (embedder, indexes, view) = set_up(&fixture);
        embedder.fails.store(true, Ordering::Relaxed);
        let mut told = Vec::new();
        for _ in 0..4 {
            told.extend(find_places(&view, QUESTION, 5, &GO_ON, &mut |_, _| {}).unwrap().told);
            while indexes.is_working() {
                std::thread::yield_now();
            }
        }
        let failed =
            told.iter().filter(|told| told.contains("It stopped, and tries again now: The model is gone"));
        assert_eq!(failed.count(), 1, "{told:#?}");
        assert!(told.len() <= 2, "{told:#?}");
    }

    #[test]
    fn a_model_that_fails_leaves_the_words_and_says_why() {
        let fixture = tree();
        let (embedder, indexes, view) = set_up(&fixture);
        read_all(&view);
        embedder.fails.store(true, std::sync::atomic::Ordering::Relaxed);
        let found = find_places(&view, QUESTION, 5, &GO_ON, &mut |_, _| {}).unwrap();
        assert_eq!(found.places[0].path, "src/visitor.rs");
        let told = "Only words were compared: The model is gone; start it. It is asked again later.";
        assert_eq!(found.told.as_deref(), Some(told));
        // It rests, and that was told.
        embedder.sent();
        let found = find_places(&view, QUESTION, 5, &GO_ON, &mut |_, _| {}).unwrap();
        assert_eq!((found.places[0].path.as_str(), found.told), ("src/visitor.rs", None));
        assert_eq!(embedder.sent(), Vec::<String>::new());
        fixture.write("src/new.rs", b"fn new() {}\n");
        let status = read_all(&view);
        assert_eq!(status.standing, VectorStanding::Failed("The model is gone; start it.".to_owned()));
        indexes.vectors().stop();
        let (_, folder) = indexes.vectors().of(&view.roots[0].path).unwrap();
        let stopped = AtomicBool::new(true);
        have_read_at(&folder, vec!["src/new.rs".to_owned()], &*embedder, &stopped, SystemTime::now());
        assert_eq!(folder.status().standing, VectorStanding::Stopped);
    }
}
