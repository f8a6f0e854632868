//! What a search of ten thousand files costs, with the index and without, and what the index itself costs.
//!
//!     cargo bench --bench retrieval
//!
//! The files are made by a seeded generator. They have to be older than two seconds before the index believes their times.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use breadboard_ls::testing::host::index::{IndexStanding, IndexTask, Indexes};
use breadboard_ls::testing::host::ports::{Root, WorkspaceView};
use breadboard_ls::testing::host::retrieval::{find_places, new_indexes};

const FILES: usize = 10_000;
const QUESTIONS: usize = 100;

const WORDS: &[&str] = &[
    "frame", "guard", "queue", "session", "token", "parser", "lease", "journal", "socket", "patch", "hunk",
    "editor", "buffer", "window", "index", "search", "symbol", "policy", "command", "process", "cursor",
    "reducer", "batch", "client", "engine", "agent", "prompt", "answer", "record", "store", "folder",
    "secret", "redact", "encode", "decode", "stream", "retry", "limit", "cancel", "notify",
];

/// Numbers that are the same in every run.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    /// Some words are frequent, most are rare.
    fn word(&mut self) -> String {
        let word = WORDS[self.next(WORDS.len())];
        match self.next(4) {
            0 => word.to_owned(),
            _ => format!("{word}{}", ["a", "o", "i", "u", "e"][self.next(5)].repeat(1 + self.next(40))),
        }
    }
}

fn make_tree(tree: &Path) -> u64 {
    let mut seeded = Seeded(7);
    let mut bytes = 0;
    for at in 0..FILES {
        let folder = tree.join(format!("src/{}/{}", WORDS[at % 40], WORDS[at / 40 % 40]));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut text = format!("//! The {} of the {}.\n\n", seeded.word(), seeded.word());
        for _ in 0..8 {
            let (a, b, c) = (seeded.word(), seeded.word(), seeded.word());
            text += &format!("/// Has the {a} {b} a {c}.\npub fn {a}_{b}({c}: usize) -> usize {{\n");
            for _ in 0..5 {
                text += &format!("    let {} = {c}.{}();\n", seeded.word(), seeded.word());
            }
            text += "    0\n}\n\n";
        }
        bytes += text.len() as u64;
        std::fs::write(folder.join(format!("{}_{at}.rs", seeded.word())), text).expect("a file");
    }
    bytes
}

fn view(tree: &Path, indexes: Option<&Indexes>) -> WorkspaceView {
    let root = Root { name: "tree".into(), uri: String::new(), path: tree.to_owned() };
    WorkspaceView { roots: vec![root], indexes: indexes.cloned(), ..WorkspaceView::default() }
}

/// Asks, and says how long it took; the first places go to `firsts`.
fn ask(view: &WorkspaceView, firsts: &mut Vec<Option<String>>) -> String {
    let busy = cpu();
    let mut seeded = Seeded(11);
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..QUESTIONS {
        let question = format!("where does the {} {} the {}?", seeded.word(), seeded.word(), seeded.word());
        let begun = Instant::now();
        let found = find_places(view, &question, 5, &AtomicBool::new(false), &mut |_, _| {});
        times.push(begun.elapsed());
        let first = found.expect("nobody cancels").places.into_iter().next();
        firsts.push(first.map(|place| format!("{}:{}", place.path, place.line)));
    }
    times.sort();
    let (p50, p99) = (times[QUESTIONS / 2], times[QUESTIONS * 99 / 100]);
    let each = (cpu() - busy) * 1_000.0 / QUESTIONS as f64;
    format!("p50 {p50:.1?}, p99 {p99:.1?}, {each:.1} ms of CPU each")
}

fn wait(indexes: &Indexes) {
    while indexes.is_working() {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// CPU seconds of this process so far, where the system tells them: on a busy machine they say more than the clock.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// Resident memory in MB, where the system tells it.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0) / 1024
}

fn main() {
    let tree = tempfile::tempdir().expect("a folder");
    let state = tempfile::tempdir().expect("a folder");
    let bytes = make_tree(tree.path());
    println!("{FILES} files, {} MB", bytes >> 20);
    std::thread::sleep(Duration::from_millis(2_500));

    let (mut plain, mut with) = (Vec::new(), Vec::new());
    println!("question without the index: {}", ask(&view(tree.path(), None), &mut plain));

    let before = memory();
    let indexes = new_indexes();
    indexes.keep_in(state.path().to_owned());
    let (begun, busy) = (Instant::now(), cpu());
    indexes.want(tree.path(), IndexTask::Refresh);
    wait(&indexes);
    let busy = cpu() - busy;
    let status = indexes.of(tree.path()).expect("an index").status();
    assert_eq!((status.standing, status.indexed_files), (IndexStanding::Complete, FILES as u64));
    let kept: u64 = std::fs::read_dir(state.path())
        .expect("a folder")
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|meta| meta.len())
        .sum();
    println!(
        "index built: {:.1?}, {busy:.1} s of CPU, {} MB on disk, {} MB more memory",
        begun.elapsed(),
        kept >> 20,
        memory().saturating_sub(before)
    );

    let taken = ask(&view(tree.path(), Some(&indexes)), &mut with);
    let same = plain.iter().zip(&with).filter(|(a, b)| a == b).count();
    println!("question with the index: {taken}; the first place is the same {same} times of {QUESTIONS}");

    let one = tree.path().join("src/frame/frame/one.rs");
    std::fs::write(&one, "pub fn one() {}\n").expect("a file");
    let rel = "src/frame/frame/one.rs".to_owned();
    for name in ["a new file, told", "a changed file, told"] {
        let begun = Instant::now();
        indexes.want(tree.path(), IndexTask::files([rel.clone()]));
        wait(&indexes);
        println!("{name}: {:.1?}", begun.elapsed());
        std::fs::write(&one, "pub fn two() {}\n").expect("a file");
    }
    let begun = Instant::now();
    indexes.want(tree.path(), IndexTask::Refresh);
    wait(&indexes);
    println!("every file compared, none changed: {:.1?}", begun.elapsed());

    drop(indexes);
    let begun = Instant::now();
    let again = new_indexes();
    again.keep_in(state.path().to_owned());
    again.want(tree.path(), IndexTask::Refresh);
    wait(&again);
    println!("the next process, nothing changed: {:.1?}", begun.elapsed());
}
