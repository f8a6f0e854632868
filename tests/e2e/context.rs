//! What goes with a prompt beside its words: gathered by the server, asked of the editor, shown, taken away, and told to each
//! kind of engine in its own way.

use std::process::Command;
use std::time::Duration;

use breadboard_ls::testing::domain::edits::text::content_hash;
use serde_json::{Value, json};

use crate::breadboard_desk::{Desk, chat, of_kind, ran, says as engine_says};
use crate::harness::own_time::OwnTime;
use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");
const DOOR: &str = "fn open() {\n    let key = 1;\n    turn(key);\n}\n\nfn close() {}\n";

fn editor() -> Value {
    json!({ "experimental": { "breadboard": { "contextProvide": true } } })
}

/// What an editor with `door.rs` in front answers.
fn in_front(server: &Server) -> Value {
    let place = |line: u64, character: u64| json!({ "line": line, "character": character });
    json!({
        "active_editor": {
            "file_path": server.file("door.rs"),
            "language": "rust",
            "selection": { "start": place(2, 4), "end": place(3, 14) },
            "visible_range": { "start": 1, "end": 6 },
        },
        "open_editors": [{ "file_path": "door.rs", "is_dirty": false, "visible": true }],
        "diagnostics": [{ "file_path": server.file("door.rs"), "severity": "error", "message": "no `turn`",
            "line": 3, "character": 4, "source": "rustc" }],
        "terminal_output": { "command": "cargo test", "exit_code": 101, "stdout": "1 failed", "stderr": "",
            "timestamp": "2026-01-02T03:04:05Z" },
    })
}

/// Answers the server's question, and gives what it wanted.
fn tell(server: &mut Server, answer: Value) -> Vec<String> {
    let request = server.wait_request("bb/context/provide");
    server.answer(&request["id"], answer);
    let wants = request["params"]["wants"].as_array().expect("wants");
    wants.iter().map(|want| want.as_str().expect("a word").to_owned()).collect()
}

fn user_block(server: &mut Server, session: &str) -> Value {
    let blocks = of_kind(&chat(server, session), "user");
    blocks.last().expect("a prompt").clone()
}

fn ids(chips: &Value) -> Vec<String> {
    let chips = chips.as_array().into_iter().flatten();
    chips.map(|chip| chip["id"].as_str().expect("an id").to_owned()).collect()
}

fn last_question(model: &Model) -> String {
    let asked = model.asked();
    let messages = asked.body["messages"].as_array().expect("messages").clone();
    messages.last().expect("a message")["content"].as_str().expect("text").to_owned()
}

fn git(server: &Server, words: &[&str]) {
    let ran = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"])
        .args(words)
        .current_dir(server.workspace.path())
        .output()
        .expect("git");
    assert!(ran.status.success(), "{ran:?}");
}

fn place(model: &Model, trusted: bool) -> (Server, String) {
    let mut server = Server::ready(Options { capabilities: editor(), ..model.chosen(trusted) });
    server.write("door.rs", DOOR);
    let session = server.session();
    (server, session)
}

#[test]
fn r002_32_34_35_95_100_what_is_in_front_of_the_user_goes_with_a_prompt_and_can_be_looked_at() {
    // Given an editor that tells what is in front of the user
    let model = Model::start(vec![says("done")]);
    let (mut server, session) = place(&model, true);
    server.open("door.rs", DOOR);
    // When a prompt is sent
    server.prompt(&session, "Why is this wrong?");
    let front = in_front(&server);
    let wants = tell(&mut server, front);
    // Then the editor is asked for what always goes, and the model hears it below the words
    assert_eq!(wants, ["active_editor", "selection", "visible_range", "open_editors", "diagnostics"]);
    let question = last_question(&model);
    assert!(question.starts_with("Why is this wrong?\n\nContext from the editor"), "{question}");
    assert!(
        question.contains("Selected in the editor: `door.rs:2-3`:\n```\nlet key = 1;\n    turn(key);\n```"),
        "{question}"
    );
    assert!(question.contains("door.rs:3: error: no `turn` (rustc)"), "{question}");
    assert!(!question.contains("fn close"), "the disk has the rest, and the agent can read it: {question}");
    server.wait_end(&session);
    // And the transcript has the words alone, with what went beside them, and all of it can be read
    let block = user_block(&mut server, &session);
    assert_eq!(block["text"], "Why is this wrong?");
    assert_eq!(ids(&block["context"]), ["selection", "diagnostics", "active_editor", "open_editors"]);
    assert_eq!(block["context"][0]["bytes"], "let key = 1;\n    turn(key);".len());
    let whole = server.ask("bb/eventBody", json!({ "sessionId": session, "seq": block["contextSeq"] }));
    assert_eq!(whole["event"]["payload"]["items"][0]["text"], "let key = 1;\n    turn(key);");
}

#[test]
fn r002_33_42_a_preview_has_the_shape_of_the_seed_and_takes_away_what_is_excluded() {
    // Given the same editor, whose buffer is not on disk
    let model = Model::start(vec![says("done")]);
    let (mut server, session) = place(&model, true);
    let typed = format!("{DOOR}// typed\n");
    server.open("door.rs", &typed);
    // When the user looks at what would go
    let ask = json!({ "sessionId": session, "text": "look at @door.rs:6" });
    let id = server.request("bb/context/preview", ask);
    let front = in_front(&server);
    tell(&mut server, front);
    let preview = server.wait_response(&id)["result"].clone();
    // Then what is named comes first, and the shape has relative paths and the hash of the buffer
    assert_eq!(
        ids(&preview["items"]),
        ["file:door.rs:6-6", "selection", "diagnostics", "active_editor", "open_editors"]
    );
    assert_eq!(preview["context"]["active_editor"]["file_path"], "door.rs");
    assert_eq!(preview["context"]["active_editor"]["content_hash"], content_hash(typed.as_bytes()));
    assert_eq!(preview["context"]["mentions"], json!([{ "type": "file", "path": "door.rs" }]));
    assert_eq!(preview["items"][3]["label"], "door.rs (unsaved)");
    // And what he takes away does not go
    let context = json!({ "exclude": ["selection", "diagnostics", "active_editor", "open_editors", "git"] });
    let sent = json!({ "sessionId": session, "text": "look at @door.rs:6", "context": context });
    server.ask("bb/sendMessage", sent);
    let question = last_question(&model);
    assert!(question.ends_with("File `door.rs:6-6`:\n```\nfn close() {}\n```"), "{question}");
    assert!(!question.contains("rustc"), "{question}");
}

#[test]
fn r002_36_37_38_41_96_fix_adds_problems_the_terminal_and_what_is_not_committed() {
    // Given a repository with a change, and an editor with a failed command
    let model = Model::start(vec![says("done")]);
    let (mut server, session) = place(&model, true);
    git(&server, &["init", "-q", "-b", "main"]);
    git(&server, &["add", "."]);
    git(&server, &["commit", "-q", "-m", "Add a door"]);
    server.write("door.rs", &DOOR.replace("key = 1", "key = 2"));
    server.write("new.rs", "fn fresh() {}\n");
    git(&server, &["add", "new.rs"]);
    // When `/fix` is looked at
    let id = server.request("bb/context/preview", json!({ "sessionId": session, "text": "/fix the door" }));
    let front = in_front(&server);
    let wants = tell(&mut server, front.clone());
    assert!(wants.contains(&"terminal_output".to_owned()), "{wants:?}");
    let preview = server.wait_response(&id)["result"].clone();
    assert_eq!(
        ids(&preview["items"]),
        ["selection", "diagnostics", "terminal", "diff", "active_editor", "git", "open_editors"]
    );
    let context = &preview["context"];
    assert_eq!(context["command"], "/fix");
    assert_eq!(context["terminal_output"], front["terminal_output"]);
    let git = &context["git_context"];
    assert_eq!(git["branch"], "main");
    assert_eq!(git["staged_files"], json!(["new.rs"]));
    assert_eq!(git["modified_files"], json!(["door.rs"]));
    assert_eq!(
        (&git["recent_commits"][0]["message"], &git["recent_commits"][0]["author"]),
        (&json!("Add a door"), &json!("A"))
    );
    // And when it is sent, then the model hears an instruction and no command, and what changed
    server.prompt(&session, "/fix the door");
    tell(&mut server, front);
    let question = last_question(&model);
    assert!(
        question.starts_with("Find out what is wrong here and fix it.\n\nthe door\n\nContext"),
        "{question}"
    );
    assert!(question.contains("-    let key = 1;\n+    let key = 2;\n"), "{question}");
    assert!(question.contains("$ cargo test\n1 failed\n(exit code 101)"), "{question}");
    server.wait_end(&session);
    assert_eq!(user_block(&mut server, &session)["text"], "/fix the door");
}

#[test]
fn r002_43_what_changes_while_a_turn_runs_is_told_to_its_model_once_and_what_was_taken_away_is_not() {
    // Given a prompt that went with one problem
    let list = || calls("list_files", json!({ "path": "." }));
    let model = Model::start(vec![list(), list(), list(), says("done")]);
    let (mut server, session) = place(&model, true);
    server.open("door.rs", DOOR);
    server.prompt(&session, "Why is this wrong?");
    let mut front = in_front(&server);
    tell(&mut server, front.clone());
    assert!(model.asked().body.to_string().contains("no `turn`"));
    // When the editor has another one after a call
    front["diagnostics"][0]["message"] = json!("no `key`");
    let wants = tell(&mut server, front.clone());
    // Then the editor was asked for that alone, since the terminal did not go with the prompt, and the model hears it
    assert_eq!(wants, ["diagnostics"]);
    let told = model.asked().tool_result();
    let update =
        "\n\nChanged in the editor meanwhile (added by breadboard-ls, not typed by the user):\n\nProblems";
    assert!(told.contains(update) && told.contains("door.rs:3: error: no `key` (rustc)"), "{told}");
    // And not again, while it stays
    tell(&mut server, front.clone());
    let told = model.asked().tool_result();
    assert!(!told.contains("meanwhile"), "{told}");
    // And that it is gone
    front["diagnostics"] = json!([]);
    tell(&mut server, front);
    let told = model.asked().tool_result();
    assert!(told.ends_with("Problems: the editor shows none any more."), "{told}");
    server.wait_end(&session);
    // And each is in the journal, and the prompt in the view has what went with it
    let updates: Vec<Value> = server
        .events(&session)
        .into_iter()
        .filter(|event| event["payload"]["update"] == true)
        .map(|event| json!([event["type"], event["payload"]["items"].as_array().map(Vec::len)]))
        .collect();
    assert_eq!(updates, [json!(["local.context", 1]), json!(["local.context", 0])]);
    assert_eq!(
        ids(&user_block(&mut server, &session)["context"]),
        ["selection", "diagnostics", "active_editor", "open_editors"]
    );
    // And of a prompt without problems nothing is asked any more
    for reply in [list(), says("done")] {
        model.then(reply);
    }
    let without =
        json!({ "sessionId": session, "text": "And now?", "context": { "exclude": ["diagnostics"] } });
    server.ask("bb/sendMessage", without);
    let front = in_front(&server);
    tell(&mut server, front);
    server.wait_end(&session);
    let asked = server.received().iter().filter(|message| message["method"] == "bb/context/provide").count();
    assert_eq!(asked, 5, "twice for a prompt, and three times for the first turn");
}

#[test]
fn r002_97_98_99_the_other_commands_have_their_sets() {
    // Given a module with a test and a file that uses it
    let model = Model::start(Vec::new());
    let (mut server, session) = place(&model, true);
    server.write("tests/door_test.rs", "use house::door;\n");
    server.write("house.rs", "mod door;\nfn live() {}\n");
    let mut front = in_front(&server);
    let cursor = json!({ "line": 3, "character": 0 });
    front["active_editor"]["selection"] = json!({ "start": cursor, "end": cursor });
    let mut set = |text: &str| {
        let id = server.request("bb/context/preview", json!({ "sessionId": session, "text": text }));
        tell(&mut server, front.clone());
        ids(&server.wait_response(&id)["result"]["items"])
    };
    assert_eq!(set("/explain"), ["scope"]);
    assert!(set("/test").contains(&"test:tests/door_test.rs".to_owned()));
    assert!(set("/refactor").contains(&"dependent:house.rs".to_owned()));
}

#[test]
fn a_file_of_secrets_never_goes_and_git_is_not_started_without_trust() {
    // Given a file of secrets, a repository, and no trust
    let model = Model::start(vec![says("done")]);
    let (mut server, session) = place(&model, false);
    server.write(".env", "TOKEN=very-secret\n");
    git(&server, &["init", "-q"]);
    git(&server, &["add", "door.rs"]);
    git(&server, &["commit", "-q", "-m", "Add a door"]);
    // When the prompt names it, and the editor has it in front
    server.prompt(&session, "use @.env and @../outside and @door.rs:1");
    let mut front = in_front(&server);
    front["active_editor"]["file_path"] = json!(server.file(".env"));
    front["open_editors"] = json!([{ "file_path": ".env" }]);
    front["diagnostics"][0]["file_path"] = json!(".env");
    tell(&mut server, front);
    // Then nothing of it goes, and that is said
    let question = last_question(&model);
    assert!(!question.contains("very-secret") && question.contains("fn open()"), "{question}");
    server.wait_end(&session);
    let block = user_block(&mut server, &session);
    assert_eq!(ids(&block["context"]), ["file:door.rs:1-1"]);
    assert_eq!(
        block["contextNotes"],
        json!([
            "`.env` looks like a file of secrets, so nothing of it went with the prompt.",
            "There is no `../outside` in the workspace, so the prompt went without it.",
        ])
    );
}

#[test]
fn an_editor_that_does_not_answer_holds_no_prompt_up_and_a_stop_ends_the_wait() {
    // Given an editor that is asked and says nothing
    let model = Model::start(vec![says("done")]);
    let (mut server, session) = place(&model, true);
    server.prompt(&session, "hello @door.rs:6");
    server.wait_request("bb/context/provide");
    // Then the prompt goes without it, with what the server knows itself, and says so
    let question = last_question(&model);
    assert!(question.starts_with("hello") && question.contains("fn close"), "{question}");
    server.wait_end(&session);
    let notes = user_block(&mut server, &session)["contextNotes"].clone();
    assert_eq!(
        notes,
        json!(["The editor did not say in time what is in front of you, so the prompt went without it."])
    );
    // And a turn that is stopped meanwhile never reaches the model, and ends once
    server.prompt(&session, "again");
    server.wait_request("bb/context/provide");
    assert_eq!(server.ask("bb/stop", json!({ "sessionId": session }))["stopping"], true);
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["reason"], "cancelled", "{end}");
}

#[test]
fn an_engine_that_takes_text_gets_it_below_the_words_and_its_transcript_has_the_words() {
    // Given a BreadBoard engine
    let desk = Desk::scripted(&json!([[engine_says("well")]]));
    let mut server = Server::ready(Options { capabilities: editor(), ..desk.chosen(true) });
    server.write("door.rs", DOOR);
    let session = server.session();
    // When a command of ours is sent
    server.prompt(&session, "/explain this");
    let front = in_front(&server);
    tell(&mut server, front);
    ran(&server, &session);
    // Then it gets the words as they were typed, what the command means, and the selection
    let sent = desk.inputs(&session)[0]["content"].as_str().expect("text").to_owned();
    assert!(
        sent.starts_with("/explain this\n\n(`/explain`: Explain this.)\n\nContext from the editor"),
        "{sent}"
    );
    assert!(sent.contains("turn(key);"), "{sent}");
    // And its echo of all that is known to be this prompt
    let users = of_kind(&chat(&mut server, &session), "user");
    assert_eq!(users.len(), 1);
    assert_eq!(
        (&users[0]["text"], ids(&users[0]["context"])),
        (&json!("/explain this"), vec!["selection".to_owned()])
    );
}

#[test]
fn an_agent_gets_resources_and_its_own_command_of_that_name_is_its_own() {
    // Given an agent that has a command `fix` and says what it was sent
    let commands = json!({ "sessionUpdate": "available_commands_update", "availableCommands": [{ "name": "fix", "description": "its own" }] });
    let script = json!({ "prompts": [
        { "when": "tell", "steps": [{ "update": commands }] },
        { "when": "", "steps": [{ "say": "${params}" }] },
    ] });
    let agent = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    let options = json!({ "workspaceTrusted": true, "agents": { "sim": agent } });
    let mut server = Server::ready(Options { options, ..Options::default() });
    server.write("door.rs", DOOR);
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    // When a file is named
    server.turn(&session, "look at @door.rs");
    // Then its text goes as a resource
    let said = chat(&mut server, &session);
    let answer =
        of_kind(&said, "assistant").last().expect("an answer")["text"].as_str().expect("text").to_owned();
    assert!(answer.contains("\"type\":\"resource\"") && answer.contains("/door.rs"), "{answer}");
    // And once it has a command of that name, the command is left to it
    server.turn(&session, "tell");
    server.turn(&session, "/fix it");
    let said = chat(&mut server, &session);
    let answer =
        of_kind(&said, "assistant").last().expect("an answer")["text"].as_str().expect("text").to_owned();
    assert!(answer.contains("/fix it") && !answer.contains("Find out"), "{answer}");
    assert_eq!(user_block(&mut server, &session)["context"], Value::Null);
}

#[test]
fn a_context_of_a_repository_of_10_000_files_is_there_within_the_bound() {
    // Given a repository of ten thousand files, each of which uses another
    let model = Model::start(Vec::new());
    let (mut server, session) = place(&model, true);
    for at in 0..10_000 {
        let text = format!("use crate::door;\nfn part_{at}() {{\n    door::open({at});\n}}\n");
        server.write(&format!("part_{}/file_{at}.rs", at / 100), &text);
    }
    git(&server, &["init", "-q"]);
    git(&server, &["add", "."]);
    git(&server, &["commit", "-q", "-m", "Add parts"]);
    let front = in_front(&server);
    for text in ["hello", "see @symbol:part_9999", "/fix", "/refactor"] {
        // When it is looked at what would go
        let mut time = OwnTime::of(server.pid());
        let id = server.request("bb/context/preview", json!({ "sessionId": session, "text": text }));
        tell(&mut server, front.clone());
        let preview = server.wait_response(&id)["result"].clone();
        let taken = time.taken();
        // Then it is there in time, whatever was not found by then
        println!(
            "context of 10,000 files, {text:?}: {} ms, {} things, notes {}",
            taken.as_millis(),
            preview["items"].as_array().map_or(0, Vec::len),
            preview["notes"]
        );
        assert!(ids(&preview["items"]).contains(&"selection".to_owned()));
        assert!(taken < Duration::from_secs(5), "{text}: {taken:?}");
    }
}

#[test]
fn r002_100_ask_says_in_one_line_what_went_along() {
    // Given
    let workspace = tempfile::tempdir().expect("a workspace");
    let state = tempfile::tempdir().expect("a state directory");
    let script = state.path().join("script.json");
    std::fs::write(&script, json!({ "prompts": [{ "steps": [{ "say": "Done." }] }] }).to_string())
        .expect("a script");
    std::fs::write(workspace.path().join("door.rs"), DOOR).expect("a file");
    std::fs::write(workspace.path().join(".env"), "KEY=1").expect("a file");
    // When
    let ran = Command::new(PROGRAM)
        .args(["ask", "what do @door.rs and @.env do?", "--trust", "--engine"])
        .arg(format!("acp:{PROGRAM} simulate acp --script {}", script.display()))
        .arg("--workspace")
        .arg(workspace.path())
        .arg("--state-dir")
        .arg(state.path())
        .stdin(std::process::Stdio::null())
        .env_remove("BREADBOARD_API_URL")
        .output()
        .expect("it runs");
    // Then its name and its size are beside the answer, and what was left out too
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!((ran.status.code(), String::from_utf8_lossy(&ran.stdout).trim()), (Some(0), "Done."), "{err}");
    let lines: Vec<&str> = err.lines().filter(|line| line.contains("door.rs")).collect();
    assert_eq!(lines, [format!("Went along: door.rs ({} bytes).", DOOR.len())], "{err}");
    assert!(err.contains(".env"), "{err}");
}
