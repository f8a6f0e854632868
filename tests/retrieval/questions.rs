//! The files of questions: which repository, at which commit, what is asked, and where the answer stands.

use std::path::Path;

/// Whether a question may be looked at while the search is made better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The first, third, ... question of a file; each of one that says `tuned` at its head.
    Tuned,
    /// The second, fourth, ...; each of a file that says `unseen`.
    Unseen,
}

/// Where an answer stands.
#[derive(Debug)]
pub struct KnownPlace {
    pub path: String,
    first: u64,
    last: u64,
}

impl KnownPlace {
    /// Whether these lines have something of it.
    pub fn meets(&self, path: &str, (first, last): (u64, u64)) -> bool {
        self.path == path && first <= self.last && last >= self.first
    }
}

/// A question, and the places that answer it.
#[derive(Debug)]
pub struct Question {
    pub text: String,
    pub places: Vec<KnownPlace>,
    pub half: Half,
}

/// One file of questions.
#[derive(Debug)]
pub struct QuestionFile {
    /// Of the file, and of the folder that the repository lies in.
    pub name: String,
    pub commit: String,
    pub questions: Vec<Question>,
}

/// All files, by name.
pub fn all() -> Vec<QuestionFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/retrieval/questions");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of questions is there")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> QuestionFile {
    let text = std::fs::read_to_string(path).expect("a file of questions can be read");
    let head =
        text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("it begins with its repository");
    let (_, commit) = head.split_once(' ').expect("the repository has a commit");
    let (commit, all) = match commit.split_once(' ') {
        Some((commit, "tuned")) => (commit, Some(Half::Tuned)),
        Some((commit, _)) => (commit, Some(Half::Unseen)),
        None => (commit, None),
    };
    let asked = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let questions = asked.enumerate().map(|(at, line)| {
        let (text, places) = line.split_once('\t').expect("a question has places");
        let half = all.unwrap_or(if at % 2 == 0 { Half::Tuned } else { Half::Unseen });
        Question { text: text.to_owned(), places: places.split(' ').map(place).collect(), half }
    });
    QuestionFile {
        name: path.file_stem().expect("a file has a name").to_string_lossy().into_owned(),
        commit: commit.to_owned(),
        questions: questions.collect(),
    }
}

fn place(text: &str) -> KnownPlace {
    let (path, lines) = text.rsplit_once(':').expect("a place has lines");
    let (first, last) = lines.split_once('-').expect("lines are a range");
    let line = |text: &str| text.parse().expect("a line is a number");
    KnownPlace { path: path.to_owned(), first: line(first), last: line(last) }
}
