//! What a turn changed is told, whoever wrote it, and taken back (decision 0026): by our own agent, by an agent
//! that writes by itself, by a command; with git and without; after a kill; and never over what the user did since.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Options, Server, uri};
use crate::model::{Model, Reply, Step, calls, says};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// Twenty lines, with line ends of Windows where these are kept.
fn lines(end: &str) -> String {
    (1..=20).map(|line| format!("{line}{end}")).collect()
}

/// Two changes, far enough apart to be two hunks.
fn edited(text: &str) -> String {
    text.replace("17", "seventeen").replacen('3', "three", 1)
}

fn patch() -> Reply {
    let edits = json!([{ "old_text": "2\n3\n", "new_text": "2\nthree\n" }, { "old_text": "17", "new_text": "seventeen" }]);
    calls("propose_patch", json!({ "file_path": "a.txt", "rationale": "words", "edits": edits }))
}

fn command(line: &str) -> Reply {
    calls("run_command", json!({ "command": line, "reason": "to see" }))
}

/// An agent that does these steps on its first prompt, without asking anybody.
fn agent(steps: &Value) -> Options {
    let script = json!({ "prompts": [{ "steps": steps }] });
    let sim = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    Options { options: json!({ "workspaceTrusted": true, "agents": { "sim": sim } }), ..Options::default() }
}

fn agent_session(server: &mut Server) -> String {
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    made["sessionId"].as_str().expect("an id").to_owned()
}

/// A turn of which everything that is asked is allowed once.
fn allowed_turn(server: &mut Server, session: &str, asks: usize) {
    server.prompt(session, "change it");
    for _ in 0..asks {
        let ask = server.wait_ask(session);
        server.decide(session, &ask, "allow_once");
    }
    server.wait_end(session);
}

fn changes(server: &mut Server, session: &str, turn: Option<&Value>) -> Value {
    let mut params = json!({ "sessionId": session });
    if let Some(turn) = turn {
        params["turn"] = turn.clone();
    }
    server.ask("bb/turn/changes", params)
}

fn revert(server: &mut Server, session: &str, turn: &Value, more: &Value) -> Value {
    let mut params = json!({ "sessionId": session, "turn": turn });
    params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    server.ask("bb/turn/revert", params)
}

/// Path, change, who, how it was known, and state of each file.
fn told(changes: &Value) -> Value {
    let files = changes["files"].as_array().expect("files").iter();
    files
        .map(|file| json!([file["filePath"], file["change"], file["by"], file["source"], file["state"]]))
        .collect()
}

fn outcomes(result: &Value) -> Value {
    let files = result["files"].as_array().expect("files").iter();
    files.map(|file| json!([file["filePath"], file["outcome"]])).collect()
}

fn states(changes: &Value) -> Vec<&str> {
    changes["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| file["state"].as_str().expect("a state"))
        .collect()
}

fn exists(server: &Server, path: &str) -> bool {
    server.workspace.path().join(path).exists()
}

fn git(at: &Path, args: &[&str]) -> String {
    let ran = Command::new("git")
        .current_dir(at)
        .args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("git runs");
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Names and sizes of everything in `.git`, and when each was written.
fn inside_git(at: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![at.join(".git")];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let data = entry.metadata().expect("a file");
            if data.is_dir() {
                waiting.push(entry.path());
            } else {
                found.push(format!("{} {} {:?}", entry.path().display(), data.len(), data.modified().ok()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn an_edit_of_our_own_agent_is_taken_back_with_its_line_ends_and_that_can_be_taken_back() {
    for end in ["\n", "\r\n"] {
        // Given a turn of our own agent that changed two places of a file
        let model = Model::start(vec![patch(), says("Done.")]);
        let mut server = Server::ready(model.chosen(true));
        server.write("a.txt", &lines(end));
        let session = server.session();
        allowed_turn(&mut server, &session, 1);
        assert_eq!(server.read("a.txt"), edited(&lines(end)));
        // Then it is told
        let made = changes(&mut server, &session, None);
        assert_eq!(told(&made), json!([["a.txt", "modify", "server", "written_here", "as_left"]]));
        let file = &made["files"][0];
        assert_eq!(json!([file["added"], file["removed"], file["canRevert"]]), json!([2, 2, true]));
        let at: Vec<&Value> =
            file["hunks"].as_array().expect("hunks").iter().map(|hunk| &hunk["at"]).collect();
        assert_eq!(
            at,
            [&json!({ "startLine": 3, "endLine": 3 }), &json!({ "startLine": 17, "endLine": 17 })]
        );
        // And stands in the chat, below its end
        let card = server.wait_event(&session, "what it changed", |event| event["type"] == "local.changes");
        assert_eq!(
            json!([card["class"], card["payload"]["promptSeq"]]),
            json!(["turn.changes", made["turn"]])
        );
        assert_eq!(card["payload"]["text"], "This turn changed 1 file, +2 −2 lines.");
        // When it is looked at what taking it back would do, then nothing is done
        let preview = revert(&mut server, &session, &made["turn"], &json!({ "preview": true }));
        assert_eq!(outcomes(&preview), json!([["a.txt", "reverted"]]));
        assert_eq!(json!([preview["preview"], preview.get("undo")]), json!([true, null]));
        assert_eq!(server.read("a.txt"), edited(&lines(end)));
        // When it is taken back
        let back = revert(&mut server, &session, &made["turn"], &json!({}));
        // Then the file is what it was, byte for byte
        assert_eq!(server.read("a.txt"), lines(end));
        assert_eq!(states(&changes(&mut server, &session, Some(&made["turn"]))), ["reverted"]);
        let again = revert(&mut server, &session, &made["turn"], &json!({}));
        assert_eq!(json!([outcomes(&again), again.get("undo")]), json!([[["a.txt", "unchanged"]], null]));
        // And that can be taken back too
        let redone = revert(&mut server, &session, &back["undo"], &json!({}));
        assert_eq!(outcomes(&redone), json!([["a.txt", "reverted"]]));
        assert_eq!(server.read("a.txt"), edited(&lines(end)));
        assert_eq!(states(&changes(&mut server, &session, Some(&made["turn"]))), ["as_left"]);
        let listed = server.ask("bb/turn/list", json!({ "sessionId": session }));
        let kinds: Vec<&Value> =
            listed["turns"].as_array().expect("turns").iter().map(|turn| &turn["kind"]).collect();
        assert_eq!(kinds, ["revert", "revert", "turn"]);
    }
}

#[test]
fn what_an_agent_writes_by_itself_is_told_and_taken_back_without_git() {
    // Given an agent that writes on disk, and a folder without git
    let steps = json!([{ "write": "a.txt", "content": edited(&lines("\n")) }, { "write": "b.txt", "content": "b\n" },
                       { "say": "Done." }]);
    let mut server = Server::ready(agent(&steps));
    server.write("a.txt", &lines("\n"));
    server.write("other.txt", "other\n");
    let session = agent_session(&mut server);
    // When
    server.turn(&session, "go");
    // Then both are its changes
    let made = changes(&mut server, &session, None);
    assert_eq!(
        told(&made),
        json!([
            ["a.txt", "modify", "engine", "copy", "as_left"],
            ["b.txt", "create", "engine", "copy", "as_left"]
        ])
    );
    assert_eq!(json!([made["uncovered"], made["running"]]), json!([[], false]));
    // And taken back the one is what it was, and the other gone
    let untouched =
        server.workspace.path().join("other.txt").metadata().and_then(|data| data.modified()).ok();
    let back = revert(&mut server, &session, &made["turn"], &json!({}));
    assert_eq!(outcomes(&back), json!([["a.txt", "reverted"], ["b.txt", "reverted"]]));
    assert_eq!((server.read("a.txt"), exists(&server, "b.txt")), (lines("\n"), false));
    assert_eq!(
        server.workspace.path().join("other.txt").metadata().and_then(|data| data.modified()).ok(),
        untouched
    );
    // And again
    revert(&mut server, &session, &back["undo"], &json!({}));
    assert_eq!((server.read("a.txt"), server.read("b.txt")), (edited(&lines("\n")), "b\n".to_owned()));
}

#[test]
fn what_a_command_does_is_told_and_taken_back_and_nothing_of_git_is_touched() {
    // Given a repository, with one file that git has otherwise and one that it does not have
    let run = "printf 'one\\n2\\n' > kept.txt && rm gone.txt && mv old.txt new.txt && printf 'x\\n' > dirty.txt && mkdir -p far/off && printf 'y' > far/off/fresh && chmod 755 far/off/fresh";
    let model = Model::start(vec![command(run), says("Done.")]);
    let mut server = Server::ready(model.chosen(true));
    for (path, text) in
        [("kept.txt", "one\ntwo\n"), ("gone.txt", "gone\n"), ("old.txt", "moved\n"), ("dirty.txt", "a\n")]
    {
        server.write(path, text);
    }
    let at = server.workspace.path().to_owned();
    git(&at, &["init", "-q"]);
    for name in ["kept.txt", "gone.txt", "old.txt", "dirty.txt"] {
        let file = std::fs::File::options().write(true).open(at.join(name)).expect("a file");
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).expect("a time");
    }
    git(&at, &["add", "."]);
    git(&at, &["commit", "-q", "-m", "first"]);
    server.write("dirty.txt", "b\n");
    let before = inside_git(&at);
    let session = server.session();
    // When
    allowed_turn(&mut server, &session, 1);
    // Then each is told: as git has it, or as it was copied
    let made = changes(&mut server, &session, None);
    let files: Vec<Value> = made["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| json!([file["filePath"], file["change"], file["by"], file.get("oldPath"), file["state"]]))
        .collect();
    assert_eq!(
        files,
        [
            json!(["dirty.txt", "modify", "engine", null, "as_left"]),
            json!(["far/off/fresh", "create", "engine", null, "as_left"]),
            json!(["gone.txt", "delete", "engine", null, "as_left"]),
            json!(["kept.txt", "modify", "engine", null, "as_left"]),
            json!(["new.txt", "rename", "engine", "old.txt", "as_left"]),
        ]
    );
    // And all of it comes back
    let back = revert(&mut server, &session, &made["turn"], &json!({}));
    assert!(outcomes(&back).as_array().expect("files").iter().all(|file| file[1] == "reverted"), "{back}");
    let now = ["kept.txt", "gone.txt", "old.txt", "dirty.txt"].map(|path| server.read(path));
    assert_eq!(now, ["one\ntwo\n", "gone\n", "moved\n", "b\n"]);
    // And the folders that came for a file go with it.
    assert!(!exists(&server, "far") && !exists(&server, "new.txt"));
    assert_eq!(states(&changes(&mut server, &session, Some(&made["turn"]))), ["reverted"; 5]);
    // And nobody wrote into the repository
    assert_eq!(inside_git(&at), before);
}

#[test]
fn the_users_own_later_edits_stay_an_overlap_is_a_conflict_and_what_is_kept_is_left_alone() {
    // Given a turn that changed two places, and a user who edited a third one since
    let model = Model::start(vec![patch(), says("Done.")]);
    let mut server = Server::ready(model.chosen(true));
    server.write("a.txt", &lines("\n"));
    let session = server.session();
    allowed_turn(&mut server, &session, 1);
    let made = changes(&mut server, &session, None);
    let turn = made["turn"].clone();
    let mine = |text: &str| text.replace("\n10\n", "\n10 mine\n");
    server.write("a.txt", &mine(&edited(&lines("\n"))));
    let ids: Vec<Value> =
        made["files"][0]["hunks"].as_array().expect("hunks").iter().map(|hunk| hunk["id"].clone()).collect();
    // When the second is kept
    let params = json!({ "sessionId": session, "turn": turn, "hunks": [ids[1]], "mark": "kept" });
    let marked = server.ask("bb/turn/review", params);
    assert_eq!(marked["files"][0]["hunks"][1], json!({ "id": ids[1], "review": "kept" }));
    // Then the first alone is taken back, and the user's line stays
    let back = revert(&mut server, &session, &turn, &json!({}));
    assert_eq!(json!([outcomes(&back), back["files"][0]["kept"]]), json!([[["a.txt", "reverted"]], 1]));
    assert_eq!(server.read("a.txt"), mine(&lines("\n")).replace("17", "seventeen"));
    assert_eq!(states(&changes(&mut server, &session, Some(&turn))), ["partly"]);
    // When the user changes the line that was kept, and it is kept no more
    let theirs = mine(&lines("\n")).replace("17", "17 of mine");
    server.write("a.txt", &theirs);
    let params = json!({ "sessionId": session, "turn": turn, "mark": "open" });
    server.ask("bb/turn/review", params);
    // Then it is a conflict that shows both sides, and nothing is written
    let back = revert(&mut server, &session, &turn, &json!({}));
    assert_eq!(json!([outcomes(&back), back.get("undo")]), json!([[["a.txt", "conflict"]], null]));
    let clash = json!([{ "id": ids[1], "line": 17, "yours": "17 of mine\n", "theirs": "17\n" }]);
    assert_eq!(back["files"][0]["conflicts"], clash);
    assert_eq!(server.read("a.txt"), theirs);
}

#[test]
fn what_a_turn_wrote_survives_kill_9_in_the_middle_of_it_and_is_taken_back_by_the_next_process() {
    // Given a turn that wrote a file and goes on
    let gate = crate::model::Gate::default();
    let waits = Reply::Stream(vec![Step::Text("And".to_owned()), Step::Wait(gate)]);
    let model = Model::start(vec![patch(), waits]);
    let mut server = Server::ready(model.chosen(true));
    server.write("a.txt", &lines("\n"));
    let session = server.session();
    server.prompt(&session, "change it");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    server.wait_tool(&session, "propose_patch");
    // Then it is told while the turn runs, and cannot be taken back yet
    let made = changes(&mut server, &session, None);
    assert_eq!(
        json!([told(&made), made["running"]]),
        json!([[["a.txt", "modify", "server", "written_here", "as_left"]], true])
    );
    let early = server.refused("bb/turn/revert", json!({ "sessionId": session, "turn": made["turn"] }));
    assert_eq!(early["data"]["code"], "conflict");
    // When the process is killed, and another one comes
    server.kill();
    let mut again =
        Server::start_in(Arc::clone(&server.workspace), Arc::clone(&server.state), model.chosen(true));
    again.shake_hands();
    // Then it knows what was changed, and takes it back
    again.ask("bb/selectSession", json!({ "sessionId": session }));
    let known = changes(&mut again, &session, None);
    assert_eq!(json!([told(&known), known["running"]]), json!([told(&made), false]));
    let back = revert(&mut again, &session, &known["turn"], &json!({}));
    assert_eq!(outcomes(&back), json!([["a.txt", "reverted"]]));
    assert_eq!(again.read("a.txt"), lines("\n"));
    // And a third one takes that back
    again.kill();
    let mut third =
        Server::start_in(Arc::clone(&again.workspace), Arc::clone(&again.state), model.chosen(true));
    third.shake_hands();
    third.ask("bb/selectSession", json!({ "sessionId": session }));
    revert(&mut third, &session, &back["undo"], &json!({}));
    assert_eq!(third.read("a.txt"), edited(&lines("\n")));
}

#[test]
fn a_file_that_is_open_is_taken_back_in_its_editor() {
    // Given a turn whose agent wrote a file, which the user opened since and typed into
    let steps = json!([{ "write": "a.txt", "content": edited(&lines("\n")) }, { "say": "Done." }]);
    let capabilities =
        json!({ "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } } });
    let mut server = Server::ready(Options { capabilities, ..agent(&steps) });
    server.write("a.txt", &lines("\n"));
    let session = agent_session(&mut server);
    server.turn(&session, "go");
    server.open("a.txt", &format!("typed\n{}", edited(&lines("\n"))));
    let made = changes(&mut server, &session, None);
    assert_eq!(made["files"][0]["hunks"][0]["at"], json!({ "startLine": 4, "endLine": 4 }));
    // When it is taken back
    let id = server.request("bb/turn/revert", json!({ "sessionId": session, "turn": made["turn"] }));
    let request = server.wait_request("workspace/applyEdit");
    // Then the editor is asked, for its own version of the text, and the disk is left alone
    let change = &request["params"]["edit"]["documentChanges"][0];
    assert_eq!(
        change["textDocument"],
        json!({ "uri": uri(&server.workspace.path().join("a.txt")), "version": 1 })
    );
    server.change("a.txt", 2, &format!("typed\n{}", lines("\n")));
    server.answer(&request["id"], json!({ "applied": true }));
    let back = server.wait_response(&id)["result"].clone();
    assert_eq!(json!([outcomes(&back), back["files"][0]["open"]]), json!([[["a.txt", "reverted"]], true]));
    assert_eq!(server.read("a.txt"), edited(&lines("\n")));
    assert_eq!(states(&changes(&mut server, &session, Some(&made["turn"]))), ["reverted"]);
}

#[test]
fn what_cannot_be_taken_back_is_named_and_never_guessed() {
    // Given a command that makes a file larger than what is kept of one, and one of which the user saved a file meanwhile
    let large = "head -c 9000000 /dev/zero | tr '\\0' x > large.txt";
    let model = Model::start(vec![command(large), says("Done.")]);
    let mut server = Server::ready(model.chosen(true));
    server.write("large.txt", "small\n");
    let session = server.session();
    // When
    allowed_turn(&mut server, &session, 1);
    // Then
    let made = changes(&mut server, &session, None);
    let uncovered = &made["uncovered"][0];
    assert_eq!(
        json!([made["files"], uncovered["filePath"], uncovered["reason"], uncovered["message"]]),
        json!([
            [],
            "large.txt",
            "too_large",
            "`large.txt` is larger than 8 MiB, so it cannot be taken back here."
        ])
    );
    // And what is kept is told, and how much may be
    let storage = &made["storage"];
    assert!(storage["bytes"].as_u64() < Some(1 << 20), "{storage}");
    assert_eq!(
        json!([storage["budgetBytes"], storage["maxAgeMs"]]),
        json!([256 << 20, 14 * 24 * 3_600_000_u64])
    );
}

#[test]
fn a_file_that_the_user_saves_while_a_turn_runs_is_not_taken_for_the_turns() {
    // Given an agent that waits, and a user who saves a file meanwhile
    let gate = tempfile::tempdir().expect("a folder");
    let go = gate.path().join("go");
    let steps =
        json!([{ "say": "waiting" }, { "wait": { "file": go } }, { "write": "b.txt", "content": "b\n" }]);
    let mut server = Server::ready(agent(&steps));
    server.write("mine.txt", "old\n");
    let session = agent_session(&mut server);
    server.prompt(&session, "go");
    server.wait_event(&session, "its words", |event| event["class"] == "transcript.assistant_stream");
    server.open("mine.txt", "old\n");
    server.change("mine.txt", 2, "mine\n");
    server.write("mine.txt", "mine\n");
    server.notify("textDocument/didSave", json!({ "textDocument": { "uri": server.file("mine.txt") } }));
    server.assert_alive();
    std::fs::write(&go, "").expect("a file");
    server.wait_end(&session);
    // Then the turn's is told as such, and the other is said not to be
    let made = changes(&mut server, &session, None);
    assert_eq!(told(&made), json!([["b.txt", "create", "engine", "copy", "as_left"]]));
    assert_eq!(
        json!([made["uncovered"][0]["filePath"], made["uncovered"][0]["reason"]]),
        json!(["mine.txt", "saved_meanwhile"])
    );
    revert(&mut server, &session, &made["turn"], &json!({}));
    assert_eq!((server.read("mine.txt"), exists(&server, "b.txt")), ("mine\n".to_owned(), false));
}

#[test]
fn refusals_of_the_requests_about_turns() {
    // Given a turn that changed a file
    let steps = json!([{ "write": "a.txt", "content": "new\n" }]);
    let mut server = Server::ready(agent(&steps));
    server.write("a.txt", "old\n");
    let session = agent_session(&mut server);
    let none = server.refused("bb/turn/changes", json!({ "sessionId": session }));
    assert_eq!(none["data"]["code"], "not_found");
    server.turn(&session, "go");
    let turn = changes(&mut server, &session, None)["turn"].clone();
    for (method, params, code) in [
        ("bb/turn/changes", json!({ "sessionId": "none" }), "unknown_session"),
        ("bb/turn/changes", json!({}), "invalid_params"),
        ("bb/turn/changes", json!({ "sessionId": session, "turn": 99 }), "not_found"),
        ("bb/turn/changes", json!({ "sessionId": session, "turn": turn, "filePath": "b" }), "not_found"),
        ("bb/turn/revert", json!({ "sessionId": session, "turn": turn, "filePath": "b" }), "not_found"),
        ("bb/turn/review", json!({ "sessionId": session, "turn": turn, "mark": "liked" }), "invalid_params"),
    ] {
        assert_eq!(server.refused(method, params.clone())["data"]["code"], code, "{method} {params}");
    }
    // And without trust it is told, and not taken back
    server.notify("bb/workspaceTrust", json!({ "trusted": false }));
    let refused = server.refused("bb/turn/revert", json!({ "sessionId": session, "turn": turn }));
    assert_eq!(refused["data"]["code"], "untrusted_workspace");
    let preview = revert(&mut server, &session, &turn, &json!({ "preview": true }));
    assert_eq!(outcomes(&preview), json!([["a.txt", "reverted"]]));
    assert_eq!(server.read("a.txt"), "new\n");
}

#[test]
fn with_its_session_goes_what_was_kept_of_it() {
    let steps = json!([{ "write": "a.txt", "content": "new\n" }]);
    let mut server = Server::ready(agent(&steps));
    server.write("a.txt", "old\n");
    let session = agent_session(&mut server);
    server.turn(&session, "go");
    assert!(changes(&mut server, &session, None)["storage"]["bytes"].as_u64() > Some(0));
    let kept = || {
        let folders = std::fs::read_dir(server.state.path().join("undo")).expect("a folder").flatten();
        folders.filter(|entry| entry.file_name() != "copies").count()
    };
    assert_eq!(kept(), 1);
    let other = agent_session(&mut server);
    server.ask("bb/deleteSession", json!({ "sessionId": session }));
    // What is asked next is answered behind it.
    server.refused("bb/turn/changes", json!({ "sessionId": other }));
    let folders = std::fs::read_dir(server.state.path().join("undo")).expect("a folder").flatten();
    assert_eq!(folders.filter(|entry| entry.file_name() != "copies").count(), 0);
}

#[test]
fn ask_says_what_changed_and_undo_takes_it_back() {
    // Given a question to an agent that writes a file
    let workspace = tempfile::tempdir().expect("a workspace");
    let state = tempfile::tempdir().expect("a state directory");
    let script = workspace.path().join("script.json");
    let steps = json!({ "prompts": [{ "steps": [{ "write": "a.txt", "content": "new\nmore\n" }, { "say": "Done." }] }] });
    std::fs::write(&script, steps.to_string()).expect("a script");
    std::fs::write(workspace.path().join("a.txt"), "old\n").expect("a file");
    let engine = format!("acp:{PROGRAM} simulate acp --script {}", script.display());
    let run = |words: &[&str]| {
        let ran = Command::new(PROGRAM)
            .args(words)
            .args(["--engine", &engine, "--trust", "--workspace"])
            .arg(workspace.path())
            .arg("--state-dir")
            .arg(state.path())
            .stdin(Stdio::null())
            .env_remove("BREADBOARD_API_URL")
            .output()
            .expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    };
    // Where nothing was changed, that is what is said
    let (code, _, err) = run(&["undo"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("There is no session of this workspace, so there is nothing to undo."), "{err}");
    // When
    let (code, out, err) = run(&["ask", "change it"]);
    // Then one line says which
    assert_eq!((code, out.contains("Done.")), (Some(0), true), "{out}{err}");
    assert!(err.contains("Changed: a.txt +2 -1; `breadboard-ls undo` takes it back."), "{err}");
    // And undo shows what it would do, and does nothing where nobody can be asked
    let (code, out, err) = run(&["undo"]);
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(out.contains("change a.txt  +1 -2") && out.contains("-new\n-more\n+old\n"), "{out}");
    assert!(err.contains("nobody can be asked here; pass --yes"), "{err}");
    let (code, _, err) = run(&["undo", "--yes"]);
    assert_eq!((code, err.contains("Undone in 1 file.")), (Some(0), true), "{err}");
    assert_eq!(std::fs::read_to_string(workspace.path().join("a.txt")).expect("a file"), "old\n");
    let (code, out, _) = run(&["undo", "--list"]);
    assert_eq!((code, out.lines().count()), (Some(0), 2), "{out}");
    // And a newest session that changed nothing says so, and how another one is named
    let nothing = json!({ "prompts": [{ "steps": [{ "say": "Nothing to do." }] }] });
    std::fs::write(&script, nothing.to_string()).expect("a script");
    let (code, _, err) = run(&["ask", "say something"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = run(&["undo"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("The newest session changed no file") && err.contains("--session"), "{err}");
}

/// Prints what a turn costs in a tree of 100,000 files: `cargo test --release --test e2e -- --ignored --nocapture a_turn_in_a_tree`.
#[test]
#[ignore = "it makes 100,000 files and prints figures"]
fn a_turn_in_a_tree_of_100_000_files_prints_its_bytes_and_milliseconds() {
    for with_git in [false, true] {
        let run = "printf 'changed\\n' > d7/f7.txt && rm d8/f8.txt && printf 'new\\n' > d9/new.txt";
        let replies = (0..3).flat_map(|_| [command(run), says("Done.")]).collect();
        let model = Model::start(replies);
        let mut server = Server::ready(model.chosen(true));
        let at = server.workspace.path().to_owned();
        for folder in 0..1_000 {
            let folder = at.join(format!("d{folder}"));
            std::fs::create_dir(&folder).expect("a folder");
            for file in 0..100 {
                let text = format!("{}\n", "a line of a file that somebody wrote\n".repeat(file % 40));
                std::fs::write(folder.join(format!("f{file}.txt")), text).expect("a file");
            }
        }
        if with_git {
            git(&at, &["init", "-q"]);
            git(&at, &["add", "."]);
            git(&at, &["commit", "-q", "-m", "first"]);
        }
        let session = server.session();
        for turn in 1..=3 {
            std::fs::write(at.join("d8/f8.txt"), "back\n").expect("a file");
            std::fs::write(at.join("d7/f7.txt"), format!("{turn}\n")).expect("a file");
            server.prompt(&session, "change it");
            let ask = server.wait_ask(&session);
            let begun = std::time::Instant::now();
            server.decide(&session, &ask, "allow_once");
            server.wait_long("the end", std::time::Duration::from_secs(60), |message| {
                let events = message["params"]["events"].as_array();
                events.is_some_and(|events| events.iter().any(|event| event["class"] == "run.finished"))
            });
            let to_end = begun.elapsed();
            let made = changes(&mut server, &session, None);
            let looked = begun.elapsed();
            let storage = &made["storage"];
            println!(
                "{}, turn {turn}: {} files changed; command with the look before it {} ms, look behind it {} ms; on disk {} bytes",
                if with_git { "git" } else { "no git" },
                made["files"].as_array().map_or(0, Vec::len),
                to_end.as_millis(),
                (looked - to_end).as_millis(),
                storage["bytes"],
            );
        }
    }
}
