//! Paths that try to leave the workspace, in every spelling and through every method that takes one, while links change under
//! the reader. Nothing from outside is shown or kept, and every request is answered.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Options, Server};
use crate::limits::{Random, assert_answers, assert_memory, attempts, seed};

/// Stands in every file outside, and in the name of one. No attempt mentions it.
const CANARY: &str = "numbat_of_another_house";

/// Requests that are under way together.
const TOGETHER: usize = 50;

struct House {
    parent: TempDir,
    workspace: Arc<TempDir>,
}

impl House {
    fn new() -> Self {
        let parent = TempDir::new().expect("a folder");
        let workspace = Arc::new(TempDir::new_in(parent.path()).expect("a workspace"));
        let outside = parent.path().join("outside");
        fs::create_dir_all(outside.join("sub")).expect("a folder");
        for name in ["secret", "secret.md", "secret.rs", "sub/secret", "own", "own.md"] {
            fs::write(outside.join(name), format!("/// {CANARY}\npub fn wombat() {{}}\n")).expect("a file");
        }
        fs::write(outside.join("secret.png"), [b"\x89PNG\r\n\x1a\n", CANARY.as_bytes()].concat())
            .expect("a file");
        fs::write(outside.join(format!("{CANARY}.txt")), CANARY).expect("a file");
        let house = Self { parent, workspace };
        let at = |name: &str| house.workspace.path().join(name);
        fs::create_dir_all(at("real/sub")).expect("a folder");
        for name in ["own", "own.md", "real/secret", "real/secret.md", "real/secret.rs", "real/sub/secret"] {
            fs::write(at(name), "mine\n").expect("a file");
        }
        git(house.workspace.path(), &["init", "-q", "-b", "main"]);
        git(house.workspace.path(), &["add", "-A"]);
        git(
            house.workspace.path(),
            &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "mine"],
        );
        symlink(&outside, at("dir")).expect("a link");
        symlink("../outside", at("relative")).expect("a link");
        symlink("relative", at("chain")).expect("a link");
        symlink("..", at("real/up")).expect("a link");
        symlink("../..", at("real/upper")).expect("a link");
        symlink("/", at("disk")).expect("a link");
        symlink("/proc/self", at("self")).expect("a link");
        for name in ["secret", "secret.md", "secret.rs", "secret.png"] {
            symlink(outside.join(name), at(&format!("link-{name}"))).expect("a link");
        }
        symlink("real", at("flip")).expect("a link");
        house
    }

    fn outside(&self) -> PathBuf {
        self.parent.path().join("outside")
    }
}

fn git(at: &Path, words: &[&str]) {
    let done = Command::new("git").current_dir(at).args(words).output().expect("git");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Turns `flip` from a folder of the workspace into one outside and back, and a folder into a link, until it is dropped.
struct Flipping {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flipping {
    fn start(house: &House) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (workspace, outside) = (house.workspace.path().to_owned(), house.outside());
        let stop = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let at = |name: &str| workspace.join(name);
            fs::create_dir(at("swap")).expect("a folder");
            fs::write(at("swap/secret"), "mine\n").expect("a file");
            while !stop.load(Ordering::Relaxed) {
                for target in [outside.as_path(), Path::new("real")] {
                    symlink(target, at("next")).expect("a link");
                    fs::rename(at("next"), at("flip")).expect("a link changes");
                }
                fs::rename(at("swap"), at("aside")).expect("a folder moves");
                symlink(&outside, at("swap")).expect("a link");
                fs::remove_file(at("swap")).expect("a link goes");
                fs::rename(at("aside"), at("swap")).expect("a folder comes back");
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Flipping {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let joined = self.thread.take().map(JoinHandle::join);
        assert!(
            std::thread::panicking() || joined.is_none_or(|joined| joined.is_ok()),
            "the links did not change"
        );
    }
}

/// Spellings of "upwards" and of a separator, some of which some system reads so.
const UP: &[&str] = &[
    "..",
    "..",
    "..",
    ". .",
    ".. ",
    " ..",
    "...",
    "%2e%2e",
    "%2E.",
    ".%2e",
    "%252e%252e",
    "\u{ff0e}\u{ff0e}",
    "\u{2024}\u{2024}",
    "\u{2025}",
    "..\u{0}",
    "..;",
    "..\u{200b}",
    "\u{202e}..",
    "..::$DATA",
];
const SEPARATORS: &[&str] = &[
    "/", "/", "/", "//", "/./", "\\", "\\\\", "%2f", "%5c", "%252f", "\u{2215}", "\u{2044}", "\u{ff0f}",
    "\u{29f8}", "\u{0}", "/\u{0}/", ":",
];
const LINKS: &[&str] = &[
    "dir",
    "relative",
    "chain",
    "real/up",
    "real/upper",
    "disk",
    "self/root",
    "self/cwd/..",
    "flip",
    "swap",
    "real/up/dir",
    "flip/../outside",
    ".git",
    ".GIT",
    ".git/..",
    "git~1",
    "real",
];
const TARGETS: &[&str] = &["secret", "secret.md", "secret.rs", "secret.png", "sub/secret", "", "."];

fn of<'a>(random: &mut Random, all: &[&'a str]) -> &'a str {
    all[random.below(all.len())]
}

/// A path that wants out.
fn path(random: &mut Random, house: &House) -> String {
    let target = of(random, TARGETS);
    let outside = house.outside().display().to_string();
    match random.below(10) {
        0..=2 => {
            let mut path = String::new();
            for _ in 0..=random.below(4) {
                path.push_str(of(random, &["", "real", "own", ".", "flip", "x"]));
                path.push_str(of(random, SEPARATORS));
                path.push_str(of(random, UP));
                path.push_str(of(random, SEPARATORS));
            }
            format!("{path}outside{}{target}", of(random, SEPARATORS))
        }
        3 | 4 => format!("{}{}{target}", of(random, LINKS), of(random, SEPARATORS)),
        5 => format!("link-{target}"),
        6 => {
            let start = of(
                random,
                &[
                    "",
                    "/",
                    "//",
                    "\\",
                    "\\\\?\\",
                    "\\\\server\\share\\",
                    "C:",
                    "c:\\",
                    "file://",
                    "file:",
                    "~",
                    "%2f",
                ],
            );
            format!("{start}{outside}/{target}")
        }
        7 => {
            of(random, &["/proc/self/environ", "/etc/passwd", "self/environ", "disk/etc/passwd", "/dev/zero"])
                .into()
        }
        8 => format!("{}/{}{outside}/{target}", of(random, LINKS), of(random, UP)),
        _ => {
            let long = "x/".repeat(random.below(3_000));
            let back = "../".repeat(random.below(3_000));
            format!("{long}{back}outside/{target}")
        }
    }
}

/// A `file:` URI that names something of the workspace. What the URI itself leads out of it by `..` was picked outside, which is
/// the user's right, so it is not among them.
fn named_here(random: &mut Random, house: &House, ending: &str) -> String {
    let workspace = house.workspace.path().display().to_string();
    for _ in 0..20 {
        let rest = match random.below(3) {
            0 => format!("{}/secret{ending}", of(random, LINKS)),
            1 => format!("link-secret{ending}"),
            _ => {
                let up =
                    of(random, &["..%2F", "..%5C", "%2e%2e%2F", "x%2F..%2F..%2F", ".%2F..%2F", "%00..%2F"]);
                format!("{}%2F{up}{}outside%2Fsecret{ending}", of(random, &["real", "flip", "x", "."]), up)
            }
        };
        let uri = format!("file://{workspace}/{rest}");
        if url::Url::parse(&uri).is_ok_and(|parsed| parsed.path().starts_with(&format!("{workspace}/"))) {
            return uri;
        }
    }
    format!("file://{workspace}/link-secret{ending}")
}

fn encoded(path: &str) -> String {
    path.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A method and its params.
fn request(random: &mut Random, house: &House, session: &str, tab: &str) -> (&'static str, Value) {
    let wild = path(random, house);
    let whose = match random.below(4) {
        0 => json!({ "tabId": tab }),
        _ => json!({ "sessionId": session }),
    };
    let with = |more: Value| {
        let mut params = whose.clone();
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        params
    };
    match random.below(13) {
        0 | 1 => ("bb/listFiles", with(json!({ "path": wild, "gitignore": random.below(2) == 0 }))),
        2 | 3 => ("bb/readFileSnippet", with(json!({ "path": wild }))),
        4 => ("bb/readFileSnippet", with(json!({ "path": "secret", "root": wild }))),
        5 | 6 => {
            let reference = match random.below(7) {
                0 => "disk".to_owned(),
                1 => "buffer".to_owned(),
                2 => "git:HEAD".to_owned(),
                3 => format!("git:{wild}"),
                4 => format!("git:HEAD:{wild}"),
                5 => format!("checkpoint:{wild}"),
                _ => format!("artifact:{wild}"),
            };
            let file = if random.below(3) == 0 { "own".to_owned() } else { wild };
            ("bb/openDiff", with(json!({ "filePath": file, "beforeRef": reference, "afterRef": "disk" })))
        }
        7 => {
            let reference = of(random, &["disk", "buffer", "git~3AHEAD", "git:HEAD", "git%3AHEAD"]);
            let spelled = match random.below(3) {
                0 => wild,
                1 => encoded(&wild),
                _ => encoded(&encoded(&wild)),
            };
            ("bb/textDocument", json!({ "uri": format!("bb-diff:/{session}/~/{reference}/{spelled}") }))
        }
        8 => {
            let uri = named_here(random, house, "");
            (
                "bb/attachment/put",
                with(json!({ "name": wild.chars().take(200).collect::<String>(), "uri": uri })),
            )
        }
        9 => ("bb/createSpec/importMarkdown", json!({ "uri": named_here(random, house, ".md") })),
        10 => {
            let uris = [named_here(random, house, ".png")];
            ("bb/createSpec/attachImages", json!({ "uris": uris, "currentCount": 0 }))
        }
        11 => ("bb/downloadArtifact", with(json!({ "artifactPath": wild }))),
        _ => {
            let params = json!({ "sessionId": session, "path": wild });
            let inner =
                json!({ "v": 1, "kind": "req", "id": "1", "method": "bb.readFileSnippet", "params": params });
            ("bb/rpc", inner)
        }
    }
}

/// Nothing outside was kept by the server.
fn assert_kept_nothing(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_kept_nothing(&path);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!found, "{} holds what lies outside", path.display());
        }
    }
}

fn assert_nothing_shown(server: &Server) {
    for message in server.received() {
        assert!(!message.to_string().contains(CANARY), "what lies outside was shown: {message}");
    }
}

#[test]
fn no_path_leaves_the_workspace_however_it_is_spelled_and_whatever_changes_meanwhile() {
    let mut random = Random(seed("escapes"));
    let house = House::new();
    let state = Arc::new(TempDir::new().expect("a state directory"));
    let mut server = Server::start_in(Arc::clone(&house.workspace), Arc::clone(&state), Options::default());
    server.shake_hands();
    let session = server.session();
    let tab = "5f0c1d1e-9a38-4b7a-8f0e-0d2f1a6b3c4d";
    server.ask("bb/tab/open", json!({ "tabId": tab }));
    let flipping = Flipping::start(&house);
    let (mut tried, mut read) = (0, 0);
    let count = attempts(2_500);
    while tried < count {
        let together: Vec<(Value, &str)> = (0..TOGETHER.min(count - tried))
            .map(|_| {
                let (method, params) = request(&mut random, &house, &session, tab);
                (server.request(method, params), method)
            })
            .collect();
        tried += together.len();
        for (id, method) in together {
            let answer = server.wait_response(&id);
            if answer.get("result").is_some() {
                read += 1;
                let images = &answer["result"]["images"];
                assert!(
                    method != "bb/createSpec/attachImages" || images.as_array().is_none_or(Vec::is_empty),
                    "an image from outside was taken: {answer}"
                );
            }
        }
        assert_answers(&mut server, "escapes");
    }
    drop(flipping);
    println!("{tried} escapes, {read} of them answered with something of the workspace");
    assert!(read > 0, "nothing at all was answered, so nothing was proved");
    assert_nothing_shown(&server);
    assert_kept_nothing(state.path());
    assert_memory(&server, "escapes");
    assert!(server.shut_down().success());
}

#[test]
fn no_question_without_a_model_shows_what_lies_outside() {
    let mut random = Random(seed("escapes of questions"));
    let house = House::new();
    let state = Arc::new(TempDir::new().expect("a state directory"));
    let mut server = Server::start_in(Arc::clone(&house.workspace), Arc::clone(&state), Options::default());
    server.shake_hands();
    let session = server.session();
    let flipping = Flipping::start(&house);
    for _ in 0..attempts(200) {
        let path = path(&mut random, &house);
        let question = match random.below(5) {
            0 => format!("Explain {path}"),
            1 => format!("What is in `{path}`?"),
            2 => format!("List the files in {path}"),
            3 => format!("replace `wombat` with `dingo` in {path}"),
            _ => "Where is wombat defined?".to_owned(),
        };
        server.turn(&session, &question);
    }
    drop(flipping);
    assert_nothing_shown(&server);
    assert_kept_nothing(state.path());
    assert_memory(&server, "escapes of questions");
    assert!(server.shut_down().success());
}
