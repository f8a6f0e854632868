//! A repository that nobody vouches for: ignore files without an end, pipes where files are expected, `.git` that points at
//! another repository, files of gigabytes. Asked untrusted and without a model, by every method that reads a workspace.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Options, PATIENCE, Server, uri};
use crate::limits::{Random, assert_answers, assert_memory, attempts, seed};

/// Stands in every file outside of the workspace, and in no answer.
const CANARY: &str = "quokka_of_another_house";

/// A workspace beside a private repository.
struct Place {
    parent: TempDir,
    workspace: Arc<TempDir>,
}

impl Place {
    fn new() -> Self {
        let parent = TempDir::new().expect("a folder");
        let workspace = Arc::new(TempDir::new_in(parent.path()).expect("a workspace"));
        let place = Self { parent, workspace };
        place.write("src/own.rs", "/// Where the quokka lives.\npub fn quokka() {}\n");
        place.write("src/other.rs", "pub fn other() {}\n");
        let private = place.private();
        fs::create_dir_all(private.join("src")).expect("a folder");
        fs::write(private.join("src/own.rs"), format!("pub fn {CANARY}() {{}}\n")).expect("a file");
        fs::write(private.join("secret.md"), format!("*.none\n{CANARY} quokka\n")).expect("a file");
        fs::write(private.join("secret.png"), [b"\x89PNG\r\n\x1a\n", CANARY.as_bytes()].concat())
            .expect("a file");
        git(&private, &["init", "-q", "-b", "main"]);
        git(&private, &["add", "-A"]);
        git(&private, &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "private"]);
        place
    }

    fn private(&self) -> PathBuf {
        self.parent.path().join("private")
    }

    fn at(&self, path: &str) -> PathBuf {
        let path = self.workspace.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        path
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).expect("a file");
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.at(path)).expect("a link");
    }

    fn pipe(&self, path: &str) {
        mknodat(CWD, self.at(path), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    }

    fn sparse(&self, path: &str, bytes: u64) {
        fs::File::create(self.at(path)).and_then(|file| file.set_len(bytes)).expect("a sparse file");
    }

    /// A repository here whose HEAD is the private one's.
    fn repository(&self) {
        git(self.workspace.path(), &["init", "-q", "-b", "main"]);
        let head = fs::read_to_string(self.private().join(".git/refs/heads/main")).expect("a commit");
        self.write(".git/refs/heads/main", &head);
    }
}

fn git(at: &Path, words: &[&str]) {
    let done = Command::new("git").current_dir(at).args(words).output().expect("git");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// What is planted, and where.
type Plant = fn(&Place, &str);

/// What stands in the place of an ignore file.
const IGNORE_TRAPS: &[(&str, Plant)] = &[
    ("a link to /dev/zero", |place, at| place.link(at, "/dev/zero")),
    ("a link to /dev/stdin", |place, at| place.link(at, "/dev/stdin")),
    ("a link to /proc/self/environ", |place, at| place.link(at, "/proc/self/environ")),
    ("a link out", |place, at| place.link(at, place.private().join("secret.md"))),
    ("a link to itself", |place, at| place.link(at, Path::new(at).file_name().expect("a name"))),
    ("a pipe", Place::pipe),
    ("a directory", |place, at| fs::create_dir_all(place.at(at)).expect("a folder")),
    ("a socket", |place, at| {
        // A socket's whole path has at most 108 bytes, so it is bound beside and moved.
        let beside = TempDir::new().expect("a folder");
        drop(std::os::unix::net::UnixListener::bind(beside.path().join("s")).expect("a socket"));
        if fs::rename(beside.path().join("s"), place.at(at)).is_err() {
            place.pipe(at);
        }
    }),
    ("one line of 200 MB", |place, at| place.sparse(at, 200_000_000)),
    ("one line of 3 MB", |place, at| place.write(at, &"a*".repeat(1_500_000))),
    ("3 GB of nothing", |place, at| place.sparse(at, 3_000_000_000)),
    ("300,000 globs", |place, at| {
        place.write(at, &(0..300_000).map(|n| format!("*zz{n}*y?\n")).collect::<String>());
    }),
    ("1 MiB of `**/`", |place, at| place.write(at, &"**/".repeat(350_000))),
    ("lines of 4 KB of `**/a`", |place, at| {
        place.write(at, &format!("{}\n", "**/a*".repeat(800)).repeat(256));
    }),
    ("nested braces and classes", |place, at| {
        place.write(at, &format!("{}\n{}\n", "{a,".repeat(1_000), "[!a-z".repeat(800)).repeat(100));
    }),
    ("questions without end", |place, at| place.write(at, &format!("{}\n", "?".repeat(4_000)).repeat(250))),
];

const IGNORE_FILES: &[&str] = &[
    ".gitignore",
    ".ignore",
    ".git/info/exclude",
    "src/.gitignore",
    "src/.ignore",
    "inner/.git/info/exclude",
];

/// A `.git` that leads to the private repository, or would hold git up.
const GIT_TRAPS: &[(&str, Plant)] = &[
    (".git is a link", |place, _| place.link(".git", place.private().join(".git"))),
    (".git is a link to a link", |place, _| {
        place.link("x", place.private());
        place.link(".git", "x/.git");
    }),
    (".git is a file", |place, _| {
        place.write(".git", &format!("gitdir: {}\n", place.private().join(".git").display()));
    }),
    (".git is a file with a relative name", |place, _| place.write(".git", "gitdir: ../private/.git\n")),
    (".git names a false worktree", |place, _| {
        place.write(".git", "gitdir: evil\n");
        place.write("evil/HEAD", "ref: refs/heads/main\n");
        place.write("evil/commondir", &place.private().join(".git").display().to_string());
        place.write("evil/gitdir", &place.at(".git").display().to_string());
    }),
    ("commondir", |place, _| {
        place.repository();
        place.write(".git/commondir", "../../private/.git\n");
    }),
    ("alternates", |place, _| {
        place.repository();
        place.write(
            ".git/objects/info/alternates",
            &format!("{}\n", place.private().join(".git/objects").display()),
        );
    }),
    ("objects are a link", |place, _| {
        place.repository();
        fs::remove_dir_all(place.at(".git/objects")).expect("a folder");
        place.link(".git/objects", "../../private/.git/objects");
    }),
    ("parts of the objects are links", |place, _| {
        place.repository();
        for entry in fs::read_dir(place.private().join(".git/objects")).expect("objects") {
            let entry = entry.expect("objects");
            let at = place.at(".git/objects").join(entry.file_name());
            if !at.exists() {
                symlink(entry.path(), at).expect("a link");
            }
        }
    }),
    ("HEAD is a pipe", |place, _| {
        place.repository();
        fs::remove_file(place.at(".git/HEAD")).expect("a file");
        place.pipe(".git/HEAD");
    }),
    ("the branch is a pipe", |place, _| {
        place.repository();
        fs::remove_file(place.at(".git/refs/heads/main")).expect("a file");
        place.pipe(".git/refs/heads/main");
    }),
    ("the settings are endless", |place, _| {
        place.repository();
        fs::remove_file(place.at(".git/config")).expect("a file");
        place.link(".git/config", "/dev/zero");
    }),
    ("the settings include a pipe", |place, _| {
        place.repository();
        place.pipe("pipe");
        place.write(".git/config", "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = ../pipe\n");
    }),
    ("packed refs are endless", |place, _| {
        place.repository();
        place.link(".git/packed-refs", "/dev/zero");
    }),
    ("a pack of 3 GB", |place, _| {
        place.repository();
        place.sparse(".git/objects/pack/pack-0000000000000000000000000000000000000000.pack", 3_000_000_000);
        place.sparse(".git/objects/pack/pack-0000000000000000000000000000000000000000.idx", 3_000_000_000);
    }),
];

/// Files that are no files, or far too many of them; the name is what is read and attached.
const FILE_TRAPS: &[(&str, Plant)] = &[
    ("a link to /dev/zero", |place, at| place.link(at, "/dev/zero")),
    ("a link to /proc/self/environ", |place, at| place.link(at, "/proc/self/environ")),
    ("a link to the memory of the server", |place, at| place.link(at, "/proc/self/mem")),
    ("a link out", |place, at| {
        place.link(at, place.private().join(if at.ends_with("png") { "secret.png" } else { "secret.md" }));
    }),
    ("a link to a link out", |place, at| {
        place.link("aside", place.private());
        place.link(at, format!("aside/secret.{}", at.rsplit('.').next().expect("an end")));
    }),
    ("a pipe", Place::pipe),
    ("3 GB of nothing", |place, at| place.sparse(at, 3_000_000_000)),
    ("one line of 64 MB", |place, at| place.write(at, &"quokka ".repeat(9_000_000))),
];

/// Trees that are large in another way.
const TREE_TRAPS: &[(&str, Plant)] = &[
    ("1,500 folders deep, an ignore file in each", |place, _| {
        let mut path = place.at("d");
        for depth in 0..1_500 {
            // Beyond the longest path a folder is made in the one above, as an unpacker does.
            if path.as_os_str().len() > 3_900 || fs::create_dir_all(&path).is_err() {
                break;
            }
            fs::write(path.join(".gitignore"), format!("*{depth}x*\n!y{depth}\n")).expect("a file");
            path.push("d");
        }
    }),
    ("forty folders with 10,000 globs each", |place, _| {
        let globs: String = (0..10_000).map(|n| format!("*zz{n}*\n")).collect();
        let mut nested = String::new();
        for at in 0..20 {
            nested.push_str("n/");
            place.write(&format!("{nested}.gitignore"), &globs);
            place.write(&format!("beside{at}/.gitignore"), &globs);
            place.write(&format!("beside{at}/a.rs"), "fn a() {}\n");
        }
    }),
    ("a folder that links to itself", |place, _| {
        place.link("src/again", ".");
        place.link("src/up", "..");
    }),
    ("a folder that links to the whole disk", |place, _| place.link("disk", "/")),
    ("names of devices and of options", |place, _| {
        for name in
            ["CON", "nul", "aux.rs", "COM1.rs", "-rf", "--help.rs", "~", "$HOME.rs", "a;b.rs", "`x`.rs"]
        {
            place.write(name, "fn quokka_named_oddly() {}\n");
        }
    }),
    ("5,000 files in a folder", |place, _| {
        for at in 0..5_000 {
            place.write(&format!("many/f{at}"), "");
        }
    }),
    ("a file of 3 GB in the tree", |place, _| place.sparse("src/huge.rs", 3_000_000_000)),
];

/// What is asked of the server about it.
#[derive(Debug, Clone, Copy)]
enum Way {
    Question,
    Listing,
    Diff,
    Snippet,
    DiskDiff,
    Attachment,
    Import,
    Images,
}

struct Attempt {
    name: String,
    plant: Plant,
    at: String,
    way: Way,
}

/// Every trap with every way that fits, the worst of each kind first.
fn all() -> Vec<Attempt> {
    let mut found = Vec::new();
    let mut add = |name: &str, plant: Plant, at: &str, way: Way| {
        found.push(Attempt { name: format!("{at}: {name} ({way:?})"), plant, at: at.to_owned(), way });
    };
    for (name, plant) in IGNORE_TRAPS {
        for at in IGNORE_FILES {
            add(name, *plant, at, Way::Question);
        }
        add(name, *plant, ".gitignore", Way::Listing);
        add(name, *plant, "src/.gitignore", Way::Listing);
    }
    for (name, plant) in GIT_TRAPS {
        add(name, *plant, ".git", Way::Diff);
        add(name, *plant, ".git", Way::Question);
    }
    for (name, plant) in FILE_TRAPS {
        for way in [Way::Question, Way::Snippet, Way::DiskDiff, Way::Attachment] {
            add(name, *plant, "src/trap.rs", way);
        }
        add(name, *plant, "trap.md", Way::Import);
        add(name, *plant, "trap.png", Way::Images);
    }
    for (name, plant) in TREE_TRAPS {
        add(name, *plant, "", Way::Question);
        add(name, *plant, "", Way::Listing);
    }
    found
}

fn run(attempt: &Attempt) {
    let name = &attempt.name;
    let place = Place::new();
    (attempt.plant)(&place, &attempt.at);
    let state = Arc::new(TempDir::new().expect("a state directory"));
    // The user's excludes are no part of the attack.
    let options = Options::default().env("HOME", "/nonexistent").env("XDG_CONFIG_HOME", "/nonexistent");
    let mut server = Server::start_in(Arc::clone(&place.workspace), state, options);
    server.shake_hands();
    let session = server.session();
    let trap = uri(&place.workspace.path().join(&attempt.at));
    let asked = Instant::now();
    let request = match attempt.way {
        Way::Question => server
            .request("bb/sendMessage", json!({ "sessionId": session, "text": "Where does the quokka live?" })),
        Way::Listing => {
            let path = attempt.at.strip_suffix("/.gitignore").unwrap_or("");
            server.request("bb/listFiles", json!({ "sessionId": session, "path": path, "gitignore": true }))
        }
        Way::Diff => server.request("bb/openDiff", json!({ "sessionId": session, "filePath": "src/own.rs" })),
        Way::Snippet => server.request(
            "bb/readFileSnippet",
            json!({ "sessionId": session, "path": attempt.at, "headLines": 5, "tailLines": 5 }),
        ),
        Way::DiskDiff => server.request(
            "bb/openDiff",
            json!({ "sessionId": session, "filePath": attempt.at, "beforeRef": "disk", "afterRef": "buffer" }),
        ),
        Way::Attachment => server
            .request("bb/attachment/put", json!({ "sessionId": session, "name": "trap", "uri": trap })),
        Way::Import => server.request("bb/createSpec/importMarkdown", json!({ "uri": trap })),
        Way::Images => server
            .request("bb/createSpec/attachImages", json!({ "uris": [trap], "currentCount": 0 })),
    };
    assert_answers(&mut server, name);
    let answer = server.wait_response(&request);
    match attempt.way {
        Way::Question => {
            server.wait_end(&session);
            let shown = format!("{:?}", server.events(&session));
            assert!(shown.contains("src/own.rs"), "{name}: what is there was not found: {shown}");
        }
        Way::Listing => assert!(answer.get("result").is_some(), "{name}: {answer}"),
        Way::Diff => {
            let code = answer["error"]["data"]["code"].as_str().unwrap_or_default().to_owned();
            assert!(["path_outside_workspace", "not_found"].contains(&code.as_str()), "{name}: {answer}");
        }
        Way::Snippet | Way::DiskDiff | Way::Attachment | Way::Import | Way::Images => {}
    }
    let took = asked.elapsed();
    assert!(took < PATIENCE, "{name}: {took:?}");
    assert_answers(&mut server, name);
    assert_memory(&server, name);
    assert!(server.received().iter().all(|message| !message.to_string().contains(CANARY)), "{name}");
    assert_kept_nothing(server.state.path(), name);
    assert!(server.shut_down().success(), "{name}");
    // The library that removes the folder opens one handle a level, of which there are not 1,500.
    let removed = Command::new("rm").arg("-rf").arg(place.workspace.path().join("d")).status();
    assert!(removed.is_ok_and(|status| status.success()), "{name}");
}

/// Nothing from outside was kept either.
fn assert_kept_nothing(folder: &Path, name: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            assert_kept_nothing(&path, name);
        } else if path.metadata().is_ok_and(|found| found.is_file() && found.len() < 64 << 20) {
            let bytes = fs::read(&path).unwrap_or_default();
            let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!found, "{name}: {} holds what lies outside", path.display());
        }
    }
}

#[test]
fn no_repository_takes_the_memory_the_time_or_shows_what_lies_outside() {
    let mut every = all();
    assert!(every.len() >= 80, "{}", every.len());
    let mut random = Random(seed("repositories"));
    for at in (1..every.len()).rev() {
        every.swap(at, random.below(at + 1));
    }
    // The ones that were found first are always among them.
    every.sort_by_key(|attempt| !attempt.name.starts_with(".gitignore: a link to /dev/zero"));
    let count = attempts(every.len());
    println!("{count} of {} hostile repositories", every.len());
    for attempt in &every[..count] {
        println!("{}", attempt.name);
        run(attempt);
    }
}

/// Bytes that the server has read so far, by whatever call.
fn bytes_read(server: &Server) -> u64 {
    let counters = fs::read_to_string(format!("/proc/{}/io", server.pid())).expect("a running server");
    let line = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("rchar");
    line.trim().parse().expect("a number")
}

#[test]
fn a_question_that_was_stopped_reads_no_further_byte() {
    let place = Place::new();
    place.sparse("src/large.rs", 1 << 20);
    // As many files of 1 MiB as keep a search busy for long; none of them takes room.
    for at in 0..8_000 {
        fs::hard_link(place.at("src/large.rs"), place.at(&format!("src/large{at}.rs"))).expect("a link");
    }
    let state = Arc::new(TempDir::new().expect("a state directory"));
    let mut server = Server::start_in(Arc::clone(&place.workspace), state, Options::default());
    server.shake_hands();
    let session = server.session();
    let before = bytes_read(&server);
    server.prompt(&session, "Where does the quokka live?");
    let until = Instant::now() + PATIENCE;
    while bytes_read(&server) < before + (32 << 20) {
        assert!(Instant::now() < until, "the search does not read");
        std::thread::park_timeout(Duration::from_millis(1));
    }
    server.ask("bb/stop", json!({ "sessionId": session }));
    server.wait_end(&session);
    let stopped = bytes_read(&server);
    assert!(stopped < before + (6_000 << 20), "the search was over before it was stopped");
    for _ in 0..200 {
        server.assert_alive();
    }
    // Four threads had a piece of 64 KiB each in hand; the rest is our own requests.
    let further = bytes_read(&server) - stopped;
    assert!(further < 512 << 10, "{further} bytes were read after the stop");
    assert!(server.shut_down().success());
}

#[test]
fn what_is_left_out_of_an_ignore_file_is_said_once() {
    let place = Place::new();
    place.write(".gitignore", &(0..20_000).map(|n| format!("name{n}\n")).collect::<String>());
    place.link("src/.gitignore", "/dev/zero");
    let state = Arc::new(TempDir::new().expect("a state directory"));
    let mut server = Server::start_in(Arc::clone(&place.workspace), state, Options::default());
    server.shake_hands();
    let session = server.session();
    for _ in 0..2 {
        server.turn(&session, "Where does the quokka live?");
        let params = json!({ "sessionId": session, "path": "src", "gitignore": true });
        server.ask("bb/listFiles", params);
    }
    let said: Vec<Value> = server
        .received()
        .into_iter()
        .filter(|message| {
            message["method"] == "window/logMessage" && message.to_string().contains(".gitignore")
        })
        .map(|message| message["params"]["message"].clone())
        .collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().any(|text| text.to_string().contains("more than 10,000 patterns")), "{said:?}");
    assert!(
        said.iter().any(|text| text.to_string().contains("src/.gitignore` is not a regular file")),
        "{said:?}"
    );
    assert!(server.shut_down().success());
}

#[test]
fn an_image_of_many_pixels_is_shown_or_refused_within_the_memory() {
    let place = Place::new();
    let mut server = Server::start_in(
        Arc::clone(&place.workspace),
        Arc::new(TempDir::new().expect("a state directory")),
        Options::default(),
    );
    server.shake_hands();
    for (side, then) in [(5_700, "images"), (6_100, "error")] {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::RgbImage::new(side, side).write_to(&mut bytes, image::ImageFormat::Png).expect("a picture");
        let mut bytes = bytes.into_inner();
        // A small file would travel whole.
        bytes.resize(bytes.len().max(300_000), 0);
        fs::write(place.at("large.png"), bytes).expect("a file");
        let params = json!({ "uris": [uri(&place.at("large.png"))], "currentCount": 0 });
        let id = server.request("bb/createSpec/attachImages", params);
        assert_answers(&mut server, "a large image");
        let answer = server.wait_long("an image", Duration::from_secs(60), |message| message["id"] == id);
        assert!(answer["result"].get(then).is_some(), "{side}: {answer}");
    }
    assert_memory(&server, "a large image");
    assert!(server.shut_down().success());
}

#[test]
fn a_tree_full_of_lines_that_answer_fits_the_memory() {
    let place = Place::new();
    // In full some four million lines with a word of the question: as many as are kept of them.
    for file in 0..20 {
        let text: String = (0..5_000).map(|line| format!("quokka number {file} of line {line}\n")).collect();
        place.write(&format!("many/{file}.txt"), &text);
        for copy in 0..attempts(40) {
            let at = place.at(&format!("many/{file}-{copy}.txt"));
            fs::hard_link(place.at(&format!("many/{file}.txt")), at).expect("a link");
        }
    }
    let state = Arc::new(TempDir::new().expect("a state directory"));
    let mut server = Server::start_in(Arc::clone(&place.workspace), state, Options::default());
    server.shake_hands();
    let session = server.session();
    server.prompt(&session, "Where does the quokka live?");
    assert_answers(&mut server, "lines that answer");
    // A build without optimisation reads 100 MB in half a minute.
    server.wait_long("the end of the turn", Duration::from_secs(120), |message| {
        let events = message["params"]["events"].as_array();
        events.is_some_and(|events| events.iter().any(|event| event["class"] == "run.finished"))
    });
    assert_memory(&server, "lines that answer");
    assert!(server.shut_down().success());
}
