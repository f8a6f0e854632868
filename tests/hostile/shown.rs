//! Text that tries to look like other text where a person decides.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::Server;
use crate::limits::{Random, assert_memory, attempts, seed};
use crate::model::{Model, calls, says};

/// What the model asks to run, up to the question.
fn asks_to_run(server: &mut Server, model: &Model, session: &str, command: &str) -> Value {
    model.then(calls("run_command", json!({ "command": command, "reason": "why" })));
    model.then(says("done"));
    server.prompt(session, "go");
    server.wait_ask(session)
}

fn deny(server: &mut Server, session: &str, ask: &Value) {
    server.decide(session, ask, "deny");
    server.wait_end(session);
}

/// The title, the rule, and what the card of the view says.
fn shown(server: &Server, ask: &Value) -> Vec<String> {
    let permission = &ask["permission"];
    let id = permission["requestId"].as_str().expect("an id");
    let card = server.wait_until("the card of a permission", |received| {
        received.iter().filter(|message| message["method"] == "bb/view").find_map(|message| {
            let changes = message["params"]["changes"].as_array()?;
            changes
                .iter()
                .find(|change| change["id"] == id)
                .map(|change| change["block"]["permission"].clone())
        })
    });
    assert_eq!(&card, permission, "the card says what the event says");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    assert_eq!(
        permission["subject"]["command"], permission["title"],
        "the subject hides no more than the title"
    );
    vec![text(&permission["title"]), text(&permission["options"][1]["rule"]["pattern"])]
}

#[test]
fn what_cannot_be_seen_is_written_out_on_the_wire() {
    let model = Model::start(Vec::new());
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    let far = format!("ls{}; touch x", " ".repeat(4_000));
    for (command, expected) in [
        ("./bu\u{1}ild.sh", "./bu⟨U+0001⟩ild.sh"),
        ("./bu\u{200b}ild.sh", "./bu⟨U+200B⟩ild.sh"),
        ("echo \u{1b}[2K\rls", "echo ⟨U+001B⟩[2K␍ls"),
        ("./\u{202e}hs.dliub", "./⟨U+202E⟩hs.dliub"),
        ("rm bu\u{ad}ild", "rm bu⟨U+00AD⟩ild"),
        ("ls \u{e0041}\u{e007f}", "ls ⟨U+E0041 U+E007F⟩"),
        ("rm usr\u{2215}bin", "rm usr⟨U+2215⟩bin"),
        ("./сору", "./⟨U+0441 U+043E U+0440 U+0443⟩"),
        ("ls ⟨U+200B⟩", "ls ⟨U+27E8⟩U+200B⟨U+27E9⟩"),
        (far.as_str(), "ls⟨4000 spaces⟩; touch x"),
    ] {
        let ask = asks_to_run(&mut server, &model, &session, command);
        assert_eq!(shown(&server, &ask), [expected.to_owned(), format!("run: {expected} (in .)")]);
        assert_eq!(ask["payload"]["command"], command, "the payload stays as it is");
        deny(&mut server, &session, &ask);
    }
    #[cfg(target_os = "linux")]
    assert_memory(&server, "hidden characters in titles");
}

#[test]
fn what_was_shown_is_what_runs_and_a_rule_can_be_given_back_as_it_was_shown() {
    let model = Model::start(Vec::new());
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    let command = "echo x >> ra\u{200b}n";
    let ask = asks_to_run(&mut server, &model, &session, command);
    let pattern = "run: echo x >> ra⟨U+200B⟩n (in .)";
    assert_eq!(shown(&server, &ask), ["echo x >> ra⟨U+200B⟩n", pattern]);
    let mut answer = Server::decision(&session, &ask, "allow_rule");
    answer["ruleUpdate"] = json!({ "pattern": "run: echo x >> ran (in .)" });
    assert_eq!(server.refused("bb/approvePermission", answer.clone())["data"]["code"], "invalid_params");
    answer["ruleUpdate"] = json!({ "pattern": pattern });
    assert_eq!(server.ask("bb/approvePermission", answer)["outcome"], "recorded");
    server.wait_end(&session);
    assert_eq!(server.read("ra\u{200b}n"), "x\n");
    let rules = server.ask("bb/permission/list", json!({}))["rules"].clone();
    assert_eq!(rules[0]["pattern"], pattern);
    // The rule covers the same command, and not the one that it could be taken for.
    model.then(calls("run_command", json!({ "command": command, "reason": "why" })));
    model.then(says("done"));
    server.turn(&session, "again");
    assert_eq!(server.read("ra\u{200b}n"), "x\nx\n");
    let other = asks_to_run(&mut server, &model, &session, "echo x >> ran");
    deny(&mut server, &session, &other);
    assert!(!server.workspace.path().join("ran").exists());
}

#[test]
fn titles_of_sessions_and_tools_hide_nothing() {
    let model =
        Model::start(vec![calls("read_file", json!({ "path": "no\u{202e}tes\u{200b}.txt" })), says("done")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    server.turn(&session, "look at \u{202e}this\u{200b}");
    let sessions = server.ask("bb/listSessions", json!({}))["sessions"].clone();
    assert_eq!(sessions[0]["title"], "look at ⟨U+202E⟩this⟨U+200B⟩");
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
    let tool = blocks.iter().find(|block| block["kind"] == "tool").expect("a tool block");
    assert_eq!(tool["title"], "read_file no⟨U+202E⟩tes⟨U+200B⟩.txt", "{tool}");
    assert_eq!(tool["input"]["path"], "no⟨U+202E⟩tes⟨U+200B⟩.txt");
    let prompt = blocks.iter().find(|block| block["kind"] == "user").expect("the prompt");
    assert_eq!(prompt["text"], "look at \u{202e}this\u{200b}", "what was said stays as it was said");
}

#[test]
fn a_result_keeps_its_colours_and_nothing_else_that_a_terminal_obeys() {
    // Given a command that prints colours, conceals, clears the screen, sets the title and turns text around
    let model = Model::start(Vec::new());
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    let printed = r"\033[1;32mok\033[0m \033[8mno\033[0m \033[2J\033]0;t\007\033[>4m\342\200\256x";
    // When it runs
    let ask = asks_to_run(&mut server, &model, &session, &format!("printf '{printed}'"));
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    // Then its card has the colours, every other sequence is written out, and its title has neither
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
    let tool = blocks.iter().find(|block| block["kind"] == "tool").expect("a tool block");
    let shown = tool["preview"].as_str().expect("a result");
    let wanted =
        "\u{1b}[1;32mok\u{1b}[0m ⟨U+001B⟩[8mno\u{1b}[0m ⟨U+001B⟩[2J⟨U+001B⟩]0;t⟨U+0007 U+001B⟩[>4m⟨U+202E⟩x";
    assert!(shown.contains(wanted), "{shown:?}");
    assert_eq!(tool["title"].as_str().expect("a title").matches('\u{1b}').count(), 0);
}

/// A command that differs a little from a usual one.
fn near_equal(random: &mut Random) -> String {
    const BASES: [&str; 4] = ["./build.sh", "cargo test", "rm -r target", "git push origin main"];
    const BITS: [&str; 24] = [
        "\u{1}",
        "\u{7f}",
        "\u{9b}",
        "\r",
        "\t",
        "\n",
        " ",
        "  ",
        "\u{200b}",
        "\u{200d}",
        "\u{202e}",
        "\u{ad}",
        "\u{a0}",
        "\u{e0041}",
        "\u{fe0f}",
        "\u{2800}",
        "\u{301}",
        "\u{2215}",
        "а",
        "е",
        "⟨",
        "⟨U+200B⟩",
        "⏎",
        "⟨2 spaces⟩",
    ];
    let mut command = BASES[random.below(BASES.len())].to_owned();
    for _ in 0..random.below(3) {
        let places: Vec<usize> = command.char_indices().map(|(at, _)| at).chain([command.len()]).collect();
        let bit = BITS[random.below(BITS.len())].repeat(1 + random.below(3));
        command.insert_str(places[random.below(places.len())], &bit);
    }
    command
}

#[test]
fn two_different_commands_are_never_shown_as_the_same() {
    let mut random = Random(seed("shown"));
    let model = Model::start(Vec::new());
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    let mut seen: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let (count, mut asked) = (attempts(400), 0);
    while asked < count {
        let command = near_equal(&mut random);
        if command.trim().is_empty() {
            continue;
        }
        asked += 1;
        let ask = asks_to_run(&mut server, &model, &session, &command);
        let text = |pointer: &str| ask.pointer(pointer).and_then(Value::as_str).expect("text").to_owned();
        for shown in [text("/permission/subject/command"), text("/permission/options/1/rule/pattern")] {
            let before = seen.insert(vec![shown.clone()], command.clone());
            assert!(before.is_none_or(|before| before == command), "{command:?} is shown as {shown:?}");
            let unseen = |c: char| {
                c.is_control() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{202e}' | '\u{a0}' | '\u{2800}')
            };
            assert!(!shown.contains(unseen), "{shown:?}");
        }
        deny(&mut server, &session, &ask);
    }
    println!("shown: {asked} commands, {} pairs, none alike", asked * (asked - 1) / 2);
}

#[cfg(unix)]
mod terminal {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::time::{Duration, Instant};

    use rustix::pty::OpenptFlags;
    use serde_json::json;

    use crate::model::{Model, calls, says};

    /// Longest wait for something to be shown; only a failure takes that long.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn read_until(screen: &Receiver<Vec<u8>>, shown: &mut String, part: &str) {
        let until = Instant::now() + PATIENCE;
        while !shown.contains(part) {
            let piece = screen.recv_timeout(until.saturating_duration_since(Instant::now()));
            let piece = piece.unwrap_or_else(|_| panic!("{part:?} was not shown: {shown}"));
            shown.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    #[test]
    fn a_person_at_a_terminal_sees_which_file_would_run() {
        for (name, written) in
            [("bu\u{1}ild.sh", "bu⟨U+0001⟩ild.sh"), ("bu\u{200b}ild.sh", "bu⟨U+200B⟩ild.sh")]
        {
            let command = format!("sh ./{name}");
            let model = Model::start(vec![
                calls("run_command", json!({ "command": command, "reason": "to \u{1b}[8mbuild" })),
                says("done"),
            ]);
            let url = model.options(true)["model"]["url"].as_str().expect("a URL").to_owned();
            let workspace = tempfile::tempdir().expect("a workspace");
            let state = tempfile::tempdir().expect("a state directory");
            std::fs::write(workspace.path().join("build.sh"), "touch good").expect("a file");
            std::fs::write(workspace.path().join(name), "touch bad").expect("a file");
            let ours =
                rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
            rustix::pty::grantpt(&ours).expect("it is ours");
            rustix::pty::unlockpt(&ours).expect("it is open");
            let path = rustix::pty::ptsname(&ours, Vec::new()).expect("it has a name");
            let path = Path::new(path.to_str().expect("a name in UTF-8")).to_owned();
            let theirs =
                OwnedFd::from(File::options().read(true).write(true).open(path).expect("the other end"));
            let end = || Stdio::from(theirs.try_clone().expect("a copy of the other end"));
            let mut started = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
            started.args(["ask", "build it", "--trust", "--model", "story", "--model-provider", "openai"]);
            started.args(["--model-url", &url, "--workspace"]).arg(workspace.path());
            started.arg("--state-dir").arg(state.path().join("state"));
            started
                .stdin(end())
                .stdout(end())
                .stderr(end())
                .env("TERM", "xterm")
                .env("NO_PROXY", "127.0.0.1");
            for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN", "NO_COLOR"] {
                started.env_remove(name);
            }
            let mut child = started.spawn().expect("the binary starts");
            drop((started, theirs));
            let mut keyboard = File::from(ours);
            let mut reader = keyboard.try_clone().expect("a copy of our end");
            let (sender, screen) = sync_channel(64);
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                // The last one that closes the other end makes this an error on Linux and an end elsewhere.
                while let Ok(count @ 1..) = reader.read(&mut piece) {
                    if sender.send(piece[..count].to_vec()).is_err() {
                        return;
                    }
                }
            });
            let mut shown = String::new();
            read_until(&screen, &mut shown, "Answer (y");
            for line in ["Permission needed: sh ./", "command: sh ./", "saves the rule `run: sh ./"] {
                assert!(shown.contains(&format!("{line}{written}")), "{line}: {shown}");
            }
            assert!(!shown.contains("./build.sh") && !shown.contains(name), "{shown}");
            assert!(shown.contains("why: to ⟨U+001B⟩[8mbuild"), "{shown}");
            keyboard.write_all(b"n\n").expect("the terminal takes a line");
            let status = child.wait().expect("the binary can be waited for");
            assert!(status.code().is_some(), "{status}");
            assert!(!workspace.path().join("bad").exists() && !workspace.path().join("good").exists());
        }
    }
}
