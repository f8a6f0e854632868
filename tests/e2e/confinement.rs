//! Commands that the server runs see the workspace and what they need, and no key of the user (R002-89, decision 0032).
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

/// A home outside of the places for temporary files, with what is to be seen in it and what is not.
fn home(name: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("home-{name}-{}", std::process::id()));
    for (path, text) in [
        (".ssh/id_ed25519", "PRIVATE"),
        (".cargo/credentials.toml", "TOKEN"),
        (".cargo/config.toml", "# settings\n"),
        (".gitconfig", "[user]\n\tname = Ann\n"),
        (".cache/made/x", "cached\n"),
        ("letters/to-bob.txt", "LETTER"),
        ("state/journal", "JOURNAL"),
    ] {
        let path = home.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    home
}

/// What the model is told of a command, which is run by the server.
fn told(command: &str, home: &Path, commands: &Value) -> (String, Server) {
    let model =
        Model::start(vec![calls("run_command", json!({ "command": command, "reason": "r" })), says("done")]);
    let mut options = model.chosen(true).env("HOME", home.to_str().expect("a path"));
    for name in ["CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "XDG_CACHE_HOME", "TMPDIR"] {
        options = options.env(name, "");
    }
    options.options["commands"] = commands.clone();
    let mut server = ready(options);
    server.write("a.txt", "mine\n");
    let session = server.session();
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    model.asked();
    (model.asked().tool_result(), server)
}

/// A server that keeps its state where none of the places for temporary files is.
fn ready(options: Options) -> Server {
    let state = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a state directory");
    let workspace = tempfile::tempdir().expect("a workspace");
    let mut server = Server::start_in(Arc::new(workspace), Arc::new(state), options);
    server.shake_hands();
    server
}

fn is_possible() -> bool {
    // The same question that `doctor` answers.
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
        .args(["doctor", "--json", "--workspace", "/usr"])
        .output()
        .expect("the binary runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let checks = report["checks"].as_array().expect("checks").clone();
    let check = checks.iter().find(|check| check["id"] == "commands").expect("what it says of commands");
    check["mark"] == "ok"
}

#[test]
fn r002_89_a_command_of_the_server_reads_and_writes_the_workspace_and_reaches_no_key_by_any_way() {
    if !is_possible() {
        return;
    }
    let home = home("keys");
    let at = home.display();
    let tries = format!(
        "cat a.txt; echo made > b.txt; cat {at}/.gitconfig {at}/.cargo/config.toml; echo c > {at}/.cache/made/y; \
         for f in {at}/.ssh/id_ed25519 {at}/.cargo/credentials.toml {at}/letters/to-bob.txt; do \
         cat $f; ln -s $f link; cat link; rm link; cp $f here; ln $f here; mv $f here; sh -c \"cat $f\"; \
         (setsid cat $f); cd {at} && cat ./$(basename $(dirname $f))/$(basename $f); cd - >/dev/null; \
         echo over > $f; rm -f $f; : > {at}/new; done; ls {at} {at}/.ssh; cat /proc/$PPID/root$HOME/.ssh/id_ed25519; exit 0"
    );
    let (told, server) = told(&tries, &home, &json!({ "runner": "server_runner" }));
    assert!(told.contains("mine\n") && told.contains("name = Ann") && told.contains("# settings"), "{told}");
    for secret in ["PRIVATE", "TOKEN", "LETTER", "id_ed25519\n"] {
        assert!(
            !told.contains(&format!("{secret}\n")) && !told.contains(&format!("stdout:\n{secret}")),
            "{told}"
        );
    }
    assert!(!told.contains("PRIVATE") && !told.contains("TOKEN") && !told.contains("LETTER"), "{told}");
    assert_eq!(
        (server.read("b.txt").as_str(), server.workspace.path().join("here").exists()),
        ("made\n", false)
    );
    assert_eq!(fs::read_to_string(home.join(".ssh/id_ed25519")).unwrap(), "PRIVATE");
    assert_eq!(fs::read_to_string(home.join("letters/to-bob.txt")).unwrap(), "LETTER");
    assert_eq!((home.join("new").exists(), home.join(".cache/made/y").exists()), (false, true));
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn r002_89_a_command_that_fails_of_it_is_told_why_and_the_user_opens_more_or_turns_it_off() {
    if !is_possible() {
        return;
    }
    let home = home("more");
    let letter = home.join("letters/to-bob.txt");
    let read = format!("cat {}", letter.display());
    let (denied, _server) = told(&read, &home, &json!({ "runner": "server_runner" }));
    assert!(denied.contains("Permission denied") && denied.contains("It ran confined"), "{denied}");
    let more = json!({ "runner": "server_runner", "reads": ["~/letters"] });
    let write = format!("{read} && ! echo x > {}", letter.display());
    let (opened, _server) = told(&write, &home, &more);
    assert!(opened.contains("LETTER") && opened.contains("exit code 0"), "{opened}");
    assert_eq!(fs::read_to_string(&letter).unwrap(), "LETTER");
    let off = json!({ "runner": "server_runner", "confinement": "off" });
    let (all, _server) = told(&format!("{read} {}/.ssh/id_ed25519", home.display()), &home, &off);
    assert!(all.contains("LETTER") && all.contains("PRIVATE") && !all.contains("confined"), "{all}");
    fs::remove_dir_all(home).unwrap();
}

/// What people run all day: a build with `make`, tests of Python, of npm and of cargo, in their own homes.
#[test]
fn r002_89_usual_builds_and_tests_work_as_they_do_without_it() {
    let real = PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()));
    for (program, files, command, says) in [
        ("make", vec![("Makefile", "all:\n\techo built > out; cat out\n")], "make", "built"),
        (
            "python3",
            vec![(
                "test_it.py",
                "import tempfile, unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n        with tempfile.NamedTemporaryFile() as f:\n            f.write(b'x')\n",
            )],
            "python3 -m unittest -q 2>&1 && echo passed",
            "passed",
        ),
        (
            "npm",
            vec![(
                "package.json",
                "{ \"name\": \"x\", \"version\": \"1.0.0\", \"scripts\": { \"test\": \"node -e 'console.log(6*7)'\" } }",
            )],
            "npm test",
            "42",
        ),
        (
            "cargo",
            vec![
                ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
                ("src/lib.rs", "#[test]\nfn works() { assert_eq!(1 + 1, 2); }\n"),
            ],
            "RUSTC_WRAPPER= cargo test --offline --lib --target-dir target 2>&1",
            "1 passed",
        ),
    ] {
        let is_there = std::process::Command::new(program).arg("--version").output();
        if !is_there.is_ok_and(|output| output.status.success()) {
            continue;
        }
        let model = Model::start(vec![
            calls("run_command", json!({ "command": command, "reason": "r" })),
            says_done(),
        ]);
        let mut options = model.chosen(true).env("HOME", real.to_str().expect("a path"));
        options.options["commands"] = json!({ "runner": "server_runner" });
        let mut server = ready(options);
        for (path, text) in files {
            server.write(path, text);
        }
        let session = server.session();
        server.prompt(&session, "go");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        server.wait_long("the end", std::time::Duration::from_secs(110), |message| {
            message["method"] == "bb/events" && message.to_string().contains("assistant.message_final")
        });
        model.asked();
        let told = model.asked().tool_result();
        assert!(told.contains(says) && told.contains("exit code 0"), "{program}: {told}");
    }
}

fn says_done() -> crate::model::Reply {
    says("done")
}
