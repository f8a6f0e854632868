//! Edits that go through an editor: saved there where nothing else was unsaved, told where not, and asked about before a command.

use std::sync::Arc;

use breadboard_ls::testing::domain::edits::text::content_hash;
use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Model, Reply, calls, says};

fn patch() -> Reply {
    calls(
        "propose_patch",
        json!({ "file_path": "a.txt", "rationale": "digits", "edits": [{ "old_text": "two", "new_text": "2" }] }),
    )
}

fn command() -> Reply {
    calls("run_command", json!({ "command": "cat a.txt > seen", "reason": "to see" }))
}

fn editor(saves: bool) -> Value {
    json!({
        "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
        "experimental": { "breadboard": { "documentSave": saves } },
    })
}

fn place(model: &Model, saves: bool) -> (Server, String) {
    let mut server = Server::ready(Options { capabilities: editor(saves), ..model.chosen(true) });
    let session = server.session();
    server.write("a.txt", "two\n");
    (server, session)
}

/// Takes the edit as an editor does: the buffer has the new text, the disk the old one.
fn apply(server: &mut Server, version: i64, text: &str) {
    let request = server.wait_request("workspace/applyEdit");
    if version == 1 {
        server.open("a.txt", text);
    } else {
        server.change("a.txt", version, text);
    }
    server.answer(&request["id"], json!({ "applied": true }));
}

/// The label, kind and id of every option.
fn options(ask: &Value) -> Vec<[&str; 3]> {
    let options = ask["permission"]["options"].as_array().expect("options");
    options
        .iter()
        .map(|option| ["optionId", "label", "kind"].map(|name| option[name].as_str().expect("a word")))
        .collect()
}

fn answer(server: &mut Server, session: &str, ask: &Value, option: &str) -> Value {
    server.request(
        "bb/approvePermission",
        json!({ "sessionId": session, "requestId": ask["permission"]["requestId"], "decision": "allow_once",
            "optionId": option, "digest": ask["permission"]["digest"] }),
    )
}

const ASKS_AGAIN: [[&str; 3]; 3] = [
    ["save_and_run", "Save and run", "allow_once"],
    ["allow_once", "Run anyway", "allow_once"],
    ["deny", "Deny", "deny"],
];

#[test]
fn g3_an_edit_of_a_clean_file_is_saved_in_the_editor_and_the_hash_is_that_of_the_disk() {
    for open in [false, true] {
        // Given a file that is not open, or open with nothing unsaved, in an editor that saves
        let model = Model::start(vec![patch(), command(), says("done")]);
        let (mut server, session) = place(&model, true);
        if open {
            server.open("a.txt", "two\n");
        }
        // When an edit of it is allowed, and the editor's own hook changes what is saved
        server.prompt(&session, "shorter");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        let version = 1 + i64::from(open);
        apply(&mut server, version, "2\n");
        let save = server.wait_request("bb/document/save");
        assert_eq!(save["params"], json!({ "uri": server.file("a.txt"), "version": version }), "{open}");
        server.write("a.txt", "2\n# formatted\n");
        server.answer(&save["id"], json!({ "saved": true }));
        // Then the command that follows is asked as ever
        let ask = server.wait_ask(&session);
        assert_eq!(options(&ask)[0], ["allow_once", "Allow once", "allow_once"]);
        assert_eq!(ask["permission"]["subject"]["reason"], "to see");
        server.decide(&session, &ask, "allow_once");
        server.wait_end(&session);
        assert_eq!(server.read("seen"), "2\n# formatted\n");
        // And the model was told the hash of what is on disk
        model.asked();
        let told = model.asked().tool_result();
        let hash = format!("Its content is now {}.", content_hash(b"2\n# formatted\n"));
        assert!(
            told.starts_with("Applied to a.txt") && told.contains(&hash) && !told.contains("not saved"),
            "{told}"
        );
    }
}

#[test]
fn g3_an_edit_beside_unsaved_text_is_not_saved_and_a_command_asks_first_even_where_a_rule_allows_it() {
    let model = Model::start(vec![command(), patch(), command(), says("done")]);
    let (mut server, session) = place(&model, true);
    // Given a rule for the command, and a buffer in which the user typed
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_rule");
    server.open("a.txt", "two\ntyped\n");
    // When an edit of it is allowed
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    apply(&mut server, 2, "2\ntyped\n");
    // Then nothing is saved, and the same command asks
    let ask = server.wait_ask(&session);
    assert_eq!(options(&ask), ASKS_AGAIN);
    assert_eq!(
        ask["permission"]["subject"]["reason"],
        "to see\nChanged in the editor, not saved: `a.txt`. The command would find the old text on disk."
    );
    assert!(!server.received().iter().any(|message| message["method"] == "bb/document/save"));
    // When the user wants it saved, and the editor does not
    let asked = answer(&mut server, &session, &ask, "save_and_run");
    let save = server.wait_request("bb/document/save");
    assert_eq!(save["params"], json!({ "uri": server.file("a.txt"), "version": 2 }));
    server.answer(&save["id"], json!({ "saved": false }));
    // Then the answer was taken, nothing runs, and the request waits again
    assert_eq!(server.wait_response(&asked)["result"]["outcome"], "recorded");
    let again =
        server.wait_event(&session, "why it waits", |event| event["payload"]["problem"] != Value::Null);
    assert_eq!(
        again["payload"]["problem"],
        "The editor did not save `a.txt`, so the command did not run; save it there, or choose \"Run anyway\"."
    );
    assert_eq!(server.read("seen"), "two\n");
    // When it does
    let asked = answer(&mut server, &session, &ask, "save_and_run");
    let save = server.wait_request("bb/document/save");
    server.write("a.txt", "2\ntyped\n");
    server.answer(&save["id"], json!({ "saved": true }));
    // Then the command finds what the user saw
    assert_eq!(server.wait_response(&asked)["result"]["outcome"], "recorded");
    server.wait_end(&session);
    assert_eq!(server.read("seen"), "2\ntyped\n");
    model.asked();
    model.asked();
    let told = model.asked().tool_result();
    assert!(told.contains("changed in the editor, not saved"), "{told}");
}

#[test]
fn g3_r001_68_after_a_kill_nothing_is_known_to_save_so_only_run_anyway_goes_on() {
    let model = Model::start(vec![patch(), command(), says("done")]);
    let (mut server, session) = place(&model, true);
    // Given a command that asks because of unsaved changes, and a kill
    server.open("a.txt", "two\ntyped\n");
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    apply(&mut server, 2, "2\ntyped\n");
    let ask = server.wait_ask(&session);
    assert_eq!(options(&ask), ASKS_AGAIN);
    let asked = answer(&mut server, &session, &ask, "save_and_run");
    assert_eq!(server.wait_response(&asked)["result"]["outcome"], "recorded");
    server.wait_request("bb/document/save");
    server.kill();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    let options = Options { capabilities: editor(true), ..model.chosen(true) };
    let mut server = Server::start_in(workspace, state, options);
    server.shake_hands();
    server.ask("bb/init", json!({}));
    // Then the card waits again and says why
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks");
    let card = blocks.iter().rfind(|block| block["kind"] == "permission").expect("a card");
    assert_eq!(
        (&card["status"], &card["problem"]),
        (
            &json!("pending"),
            &json!(
                "breadboard-ls ended before the editor had saved everything, so the command did not run; save it in the \
                 editor, then choose \"Run anyway\"."
            )
        )
    );
    // When the next process is told to save and run
    let asked = answer(&mut server, &session, &ask, "save_and_run");
    // Then it says that it cannot, and the request waits
    assert_eq!(
        server.wait_response(&asked)["error"]["message"],
        "What was unsaved before the server restarted is not known any more; save it in the editor, then choose \"Run anyway\"."
    );
    // And "Run anyway" continues the turn
    let asked = answer(&mut server, &session, &ask, "allow_once");
    assert_eq!(server.wait_response(&asked)["result"]["outcome"], "recorded");
    server.wait_end(&session);
    assert_eq!(server.read("seen"), "two\n");
}

#[test]
fn g3_what_the_user_saves_himself_is_asked_about_no_more() {
    for closes in [false, true] {
        let model = Model::start(vec![patch(), says("well"), command(), says("done")]);
        let (mut server, session) = place(&model, true);
        // Given an edit that stands unsaved
        server.open("a.txt", "two\ntyped\n");
        server.prompt(&session, "shorter");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        apply(&mut server, 2, "2\ntyped\n");
        server.wait_end(&session);
        // When the user saves it, or closes it without
        let method = if closes { "textDocument/didClose" } else { "textDocument/didSave" };
        server.notify(method, json!({ "textDocument": { "uri": server.file("a.txt") } }));
        server.prompt(&session, "run it");
        // Then a command asks as ever
        let ask = server.wait_ask(&session);
        assert_eq!(options(&ask)[0], ["allow_once", "Allow once", "allow_once"], "{closes}");
        server.decide(&session, &ask, "deny");
        server.wait_end(&session);
    }
}

#[test]
fn g3_an_editor_that_cannot_save_for_us_is_offered_to_run_anyway() {
    let model = Model::start(vec![patch(), command(), says("done")]);
    let (mut server, session) = place(&model, false);
    // Given an edit of a clean file in an editor that only takes edits
    server.prompt(&session, "shorter");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    apply(&mut server, 1, "2\n");
    // When a command follows
    let ask = server.wait_ask(&session);
    // Then it says what is not saved and what to do, and runs on the old text only on the user's word
    assert_eq!(options(&ask), ASKS_AGAIN[1..]);
    assert_eq!(
        ask["permission"]["subject"]["reason"],
        "to see\nChanged in the editor, not saved: `a.txt`. The command would find the old text on disk. Save them in the \
         editor first, or run the command anyway."
    );
    let asked = answer(&mut server, &session, &ask, "allow_once");
    assert_eq!(server.wait_response(&asked)["result"]["resolution"], "allowed");
    server.wait_end(&session);
    assert_eq!(server.read("seen"), "two\n");
    assert!(!server.received().iter().any(|message| message["method"] == "bb/document/save"));
}

#[test]
fn g3_a_terminal_of_an_agent_asks_too_while_its_own_edit_is_not_saved() {
    // Given an agent that writes through us into a buffer with unsaved text
    let script = json!([
        { "request": "fs/read_text_file", "params": { "path": "${cwd}/a.txt" }, "as": "a" },
        { "request": "fs/write_text_file", "params": { "path": "${cwd}/a.txt", "content": "${a.content}more\n" } },
        { "request": "terminal/create", "params": { "command": "cat a.txt > seen" }, "as": "t" },
        { "request": "terminal/wait_for_exit", "params": { "terminalId": "$t.terminalId" } },
    ]);
    let agent = json!({ "command": env!("CARGO_BIN_EXE_breadboard-ls"),
        "args": ["simulate", "acp", "--script", script.to_string()], "fileSystem": true, "terminals": true });
    let settings = json!({ "workspaceTrusted": true, "agents": { "sim": agent } });
    let mut server =
        Server::ready(Options { options: settings, capabilities: editor(true), ..Options::default() });
    server.write("a.txt", "two\n");
    server.open("a.txt", "typed\n");
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    apply(&mut server, 2, "typed\nmore\n");
    // When it wants a command run, then the user may save first
    let ask = server.wait_ask(&session);
    let labels: Vec<&str> = options(&ask).iter().map(|option| option[1]).collect();
    assert_eq!(labels, ["Save and run", "Run anyway", "Deny"]);
    // And a plain decision takes the answer that runs on what the user sees
    let id = server.request(
        "bb/approvePermission",
        json!({ "sessionId": session, "requestId": ask["permission"]["requestId"], "decision": "allow_once" }),
    );
    let save = server.wait_request("bb/document/save");
    server.write("a.txt", "typed\nmore\n");
    server.answer(&save["id"], json!({ "saved": true }));
    assert_eq!(server.wait_response(&id)["result"]["outcome"], "recorded");
    server.wait_end(&session);
    assert_eq!(server.read("seen"), "typed\nmore\n");
}
