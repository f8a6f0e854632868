//! A model that wants to change a file or run a command: what the user is asked, what happens then, and where.

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Model, Reply, calls, says};

/// `two` becomes `2`.
fn patch(path: &str) -> Reply {
    calls(
        "propose_patch",
        json!({ "file_path": path, "rationale": "digits are shorter",
                "edits": [{ "old_text": "two", "new_text": "2" }] }),
    )
}

fn command(line: &str) -> Reply {
    calls("run_command", json!({ "command": line, "reason": "to see" }))
}

/// A trusted workspace, an editor with these capabilities, a session.
fn place(model: &Model, capabilities: Value) -> (Server, String) {
    let mut server = Server::ready(Options { capabilities, ..model.chosen(true) });
    let session = server.session();
    (server, session)
}

fn takes_edits(versioned: bool) -> Value {
    json!({ "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": versioned } } })
}

/// What the model was told about its call; the first request is the prompt.
fn told(model: &Model) -> String {
    model.asked();
    model.asked().tool_result()
}

/// The text after a `workspace/applyEdit`, as an editor that counts in UTF-16 makes it.
fn edited(text: &str, params: &Value, uri: &str) -> String {
    let edit = &params["edit"];
    let edits = match edit.get("changes") {
        Some(changes) => {
            assert_eq!(changes.as_object().map(serde_json::Map::len), Some(1), "{params}");
            &changes[uri]
        }
        None => {
            assert_eq!(edit["documentChanges"].as_array().map(Vec::len), Some(1), "{params}");
            assert_eq!(edit["documentChanges"][0]["textDocument"]["uri"], uri, "{params}");
            &edit["documentChanges"][0]["edits"]
        }
    };
    let edits = edits.as_array().unwrap_or_else(|| panic!("no edits of {uri}: {params}"));
    assert_eq!(edits.len(), 1, "{params}");
    let at = |position: &Value| {
        let line = position["line"].as_u64().expect("a line") as usize;
        let units = position["character"].as_u64().expect("a character") as usize;
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let mut left = units;
        let inside = text[start..].char_indices().find(|(_, c)| {
            let found = left == 0;
            left = left.saturating_sub(c.len_utf16());
            found
        });
        start + inside.map_or(text.len() - start, |(byte, _)| byte)
    };
    let range = &edits[0]["range"];
    let new = edits[0]["newText"].as_str().expect("a text");
    format!("{}{new}{}", &text[..at(&range["start"])], &text[at(&range["end"])..])
}

fn block(server: &mut Server, session: &str, kind: &str) -> Value {
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
    blocks
        .into_iter()
        .rev()
        .find(|block| block["kind"] == kind)
        .unwrap_or_else(|| panic!("no {kind}: {view:#}"))
}

#[test]
fn r000_28_a_patch_is_shown_asked_for_and_then_written_byte_for_byte() {
    let model = Model::start(vec![patch("src/a.txt"), says("done")]);
    let (mut server, session) = place(&model, json!({}));
    server.write("src/a.txt", "one\r\ntwo\r\n𝄞 three");
    server.prompt(&session, "make it shorter");
    let proposed = server.wait_event(&session, "a patch", |event| event["class"] == "patch.proposed");
    assert_eq!(proposed["payload"]["file_path"], "src/a.txt");
    let ask = server.wait_ask(&session);
    let permission = &ask["permission"];
    assert_eq!(permission["title"], "Write src/a.txt");
    let rules: Vec<&Value> =
        permission["options"].as_array().expect("options").iter().map(|o| &o["rule"]).collect();
    let rule = |scope| json!({ "pattern": "write: src/a.txt", "scope": scope, "holder": "server" });
    assert_eq!(rules, [&Value::Null, &rule("session"), &rule("workspace"), &Value::Null]);
    let kinds: Vec<&Value> =
        permission["options"].as_array().expect("options").iter().map(|o| &o["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_rule", "allow_rule", "deny"]);
    let shown = block(&mut server, &session, "permission");
    assert_eq!((&shown["permission"], &shown["status"]), (permission, &json!("pending")));
    let files = block(&mut server, &session, "patch")["files"].clone();
    assert_eq!(files, json!([{ "filePath": "src/a.txt", "added": 1, "removed": 1 }]));
    assert_eq!(server.read("src/a.txt"), "one\r\ntwo\r\n𝄞 three", "nothing is written before it is allowed");

    let answer = server.decide(&session, &ask, "allow_once");
    let id = permission["requestId"].clone();
    assert_eq!(
        answer,
        json!({ "requestId": id, "outcome": "recorded", "resolution": "allowed", "resolvedBy": "user" })
    );
    let settled = server.wait_event(&session, "its settlement", |e| e["type"] == "local.permission_settled");
    assert_eq!(settled["payload"]["requestId"], id);
    server.wait_end(&session);
    assert_eq!(server.read("src/a.txt"), "one\r\n2\r\n𝄞 three");
    assert!(told(&model).starts_with("Applied to src/a.txt: 1 line added, 1 removed."));
    assert_eq!(block(&mut server, &session, "permission")["status"], "allowed");
    assert_eq!(block(&mut server, &session, "tool")["status"], "ok");

    let again = server.decide(&session, &ask, "deny");
    assert_eq!(
        again,
        json!({ "requestId": id, "outcome": "already_resolved", "resolution": "allowed", "resolvedBy": "user" })
    );
}

#[test]
fn r002_84_who_decides_about_a_diff_sees_what_was_repaired_in_it() {
    // Given a model that forgets the space before a line of context, and counts wrongly
    let diff = "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,9 +1,3 @@\none\n-two\n+2\n three\n";
    let wish = json!({ "file_path": "src/a.txt", "rationale": "make it shorter", "diff": diff });
    let model = Model::start(vec![calls("propose_patch", wish), says("done")]);
    let (mut server, session) = place(&model, json!({}));
    server.write("src/a.txt", "one\ntwo\nthree\n");
    // When it proposes that
    server.prompt(&session, "make it shorter");
    let proposed = server.wait_event(&session, "a patch", |event| event["class"] == "patch.proposed");
    let ask = server.wait_ask(&session);
    // Then the patch and the ask say so, before anything is written
    let repairs = [
        "Hunk 1: 1 context line(s) had no leading space.",
        "Hunk 1: the header says -9 +3 lines, the body has -3 +3.",
    ];
    assert_eq!(proposed["payload"]["warnings"], json!(repairs));
    let reason = format!("make it shorter\nThe diff was repaired. {} {}", repairs[0], repairs[1]);
    assert_eq!(ask["permission"]["subject"]["reason"], reason);
    let shown = block(&mut server, &session, "permission");
    assert_eq!(shown["permission"]["subject"]["reason"], reason);
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    assert_eq!(server.read("src/a.txt"), "one\n2\nthree\n");
}

#[test]
fn a_new_file_is_written_in_a_new_folder() {
    let wish = json!({ "file_path": "new/b.txt", "rationale": "it is missing", "new_content": "hello\n" });
    let model = Model::start(vec![calls("propose_patch", wish), says("done")]);
    let (mut server, session) = place(&model, takes_edits(true));
    server.prompt(&session, "write it");
    let ask = server.wait_ask(&session);
    assert!(!server.workspace.path().join("new").exists());
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    assert_eq!(server.read("new/b.txt"), "hello\n");
}

#[test]
fn an_editor_that_takes_edits_gets_one_that_makes_exactly_the_new_text() {
    for (open, versioned) in [(true, true), (true, false), (false, true), (false, false)] {
        let model = Model::start(vec![patch("a.txt"), says("done")]);
        let (mut server, session) = place(&model, takes_edits(versioned));
        let on_disk = "𝄞 one\r\nanother two\r\nend\r\n";
        let unsaved = "𝄞 not saved\r\n𝄞𝄞 two 𝄞\r\nend\r\n";
        let text = if open { unsaved } else { on_disk };
        server.write("a.txt", on_disk);
        if open {
            server.open("a.txt", unsaved);
        }
        server.prompt(&session, "make it shorter");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        let request = server.wait_request("workspace/applyEdit");
        let uri = server.file("a.txt");
        assert_eq!(edited(text, &request["params"], &uri), text.replace("two", "2"), "{open} {versioned}");
        if versioned {
            let version = &request["params"]["edit"]["documentChanges"][0]["textDocument"]["version"];
            assert_eq!(*version, if open { json!(1) } else { Value::Null });
        }
        server.answer(&request["id"], json!({ "applied": true }));
        server.wait_end(&session);
        assert!(told(&model).starts_with("Applied to a.txt"), "{open} {versioned}");
        assert_eq!(server.read("a.txt"), on_disk, "the editor writes, not we");
        let sent =
            server.received().iter().filter(|message| message["method"] == "workspace/applyEdit").count();
        assert_eq!(sent, 1);
    }
}

#[test]
fn an_editor_that_does_not_apply_an_edit_is_said_to_the_model() {
    for refusal in [
        json!({ "result": { "applied": false, "failureReason": "the buffer is read-only" } }),
        json!({ "error": { "code": -32603, "message": "the buffer is read-only" } }),
    ] {
        let model = Model::start(vec![patch("a.txt"), says("a pity")]);
        let (mut server, session) = place(&model, takes_edits(true));
        server.write("a.txt", "two\n");
        server.prompt(&session, "make it shorter");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        let mut answer = refusal;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = server.wait_request("workspace/applyEdit")["id"].clone();
        server.send(&answer);
        server.wait_end(&session);
        let told = told(&model);
        assert!(told.starts_with("Error (conflict)") && told.contains("the buffer is read-only"), "{told}");
        assert_eq!(server.read("a.txt"), "two\n");
        assert_eq!(block(&mut server, &session, "tool")["status"], "failed");
    }
}

#[test]
fn a_turn_can_be_stopped_while_the_editor_owes_an_answer_which_may_come_late() {
    let terminal = json!({ "experimental": { "breadboard": { "terminalRun": true } } });
    for (wish, method, capabilities) in [
        (patch("a.txt"), "workspace/applyEdit", takes_edits(true)),
        (command("make"), "bb/terminal/run", terminal),
    ] {
        let model = Model::start(vec![wish, says("well")]);
        let (mut server, session) = place(&model, capabilities);
        server.write("a.txt", "two\n");
        server.prompt(&session, "make it shorter");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        let request = server.wait_request(method);
        assert_eq!(server.ask("bb/stop", json!({ "sessionId": session }))["stopping"], true);
        let end = server.wait_end(&session);
        assert_eq!(end["payload"]["metadata"]["cancelled"], true);
        server.wait_notification("$/cancelRequest", |params| params["id"] == request["id"]);
        server.answer(&request["id"], json!({ "applied": true, "exitCode": 0, "stdout": "", "stderr": "" }));
        server.turn(&session, "and now?");
        assert_eq!(block(&mut server, &session, "assistant")["text"], "well");
    }
}

#[test]
fn a_buffer_that_we_cannot_edit_is_neither_overwritten_nor_lost() {
    let model = Model::start(vec![patch("a.txt"), says("a pity")]);
    let (mut server, session) = place(&model, json!({}));
    server.write("a.txt", "two\n");
    server.open("a.txt", "not saved two\n");
    server.prompt(&session, "make it shorter");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    let told = told(&model);
    assert!(told.starts_with("Error (conflict)") && told.contains("save and close it"), "{told}");
    assert_eq!(server.read("a.txt"), "two\n");
}

#[test]
fn a_file_that_is_open_with_an_unknown_text_is_left_alone_until_it_is_saved() {
    for versioned in [true, false] {
        let edits = || patch("a.txt");
        let model = Model::start(vec![edits(), says("no"), edits(), says("done")]);
        let (mut server, session) = place(&model, takes_edits(versioned));
        // Given a file that is open, and whose changes come in the wrong order
        server.write("a.txt", "one two");
        server.open("a.txt", "one two");
        server.change("a.txt", 4, "one two three");
        let uri = server.file("a.txt");
        let at = json!({ "line": 0, "character": 0 });
        server.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": 3 },
                    "contentChanges": [{ "range": { "start": at, "end": at }, "text": "zero " }] }),
        );
        // When an edit of it is allowed
        server.prompt(&session, "make it shorter");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        server.wait_end(&session);
        // Then it was made nowhere, and the model hears why
        let told = told(&model);
        assert!(told.contains("is open in an editor with a text that is not known here"), "{told}");
        assert_eq!(server.read("a.txt"), "one two");
        assert!(server.received().iter().all(|message| message["method"] != "workspace/applyEdit"));
        // And once it is saved, so that the disk says what is open, an edit of it goes to the editor as ever
        let saved = "zero one two three";
        server.write("a.txt", saved);
        server.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
        server.prompt(&session, "again");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        let asked = server.wait_request("workspace/applyEdit");
        assert_eq!(edited(saved, &asked["params"], &uri), "zero one 2 three");
        server.answer(&asked["id"], json!({ "applied": false }));
        server.wait_end(&session);
    }
}

#[test]
fn what_changed_since_the_patch_was_made_is_not_overwritten() {
    for (editor, open) in [(false, false), (true, false), (true, true)] {
        let model = Model::start(vec![patch("a.txt"), says("a pity")]);
        let (mut server, session) = place(&model, if editor { takes_edits(true) } else { json!({}) });
        server.write("a.txt", "two\n");
        if open {
            server.open("a.txt", "two\n");
        }
        server.prompt(&session, "make it shorter");
        let ask = server.wait_ask(&session);
        if open {
            server.change("a.txt", 2, "two and more\n");
        } else {
            server.write("a.txt", "two and more\n");
        }
        server.decide(&session, &ask, "allow_once");
        server.wait_end(&session);
        let told = told(&model);
        assert!(told.starts_with("Error (conflict)"), "{editor} {open}: {told}");
        assert_eq!(server.read("a.txt"), if open { "two\n" } else { "two and more\n" });
        assert!(!server.received().iter().any(|message| message["method"] == "workspace/applyEdit"));
    }
}

#[test]
fn what_is_denied_does_not_happen_and_needs_no_trust() {
    for wish in [patch("a.txt"), command("rm a.txt")] {
        let model = Model::start(vec![wish, says("as you like")]);
        let (mut server, session) = place(&model, takes_edits(true));
        server.write("a.txt", "two\n");
        server.prompt(&session, "do it");
        let ask = server.wait_ask(&session);
        server.notify("bb/workspaceTrust", json!({ "trusted": false }));
        assert_eq!(server.decide(&session, &ask, "deny")["resolution"], "denied");
        server.wait_end(&session);
        assert!(told(&model).starts_with("Error (denied)"));
        assert_eq!(server.read("a.txt"), "two\n");
        assert_eq!(block(&mut server, &session, "permission")["status"], "denied");
    }
}

#[test]
fn r000_63_nothing_is_allowed_without_trust_and_the_ask_waits_for_it() {
    let model = Model::start(vec![patch("a.txt"), says("done")]);
    let (mut server, session) = place(&model, json!({}));
    server.write("a.txt", "two\n");
    server.prompt(&session, "make it shorter");
    let ask = server.wait_ask(&session);
    server.notify("bb/workspaceTrust", json!({ "trusted": false }));
    for decision in ["allow_once", "allow_rule"] {
        let error = server.refused("bb/approvePermission", Server::decision(&session, &ask, decision));
        assert_eq!(error["data"]["code"], "untrusted_workspace");
    }
    assert_eq!(server.ask("bb/init", json!({}))["workspaceTrusted"], false);
    assert_eq!(block(&mut server, &session, "permission")["status"], "pending");
    server.notify("bb/workspaceTrust", json!({ "trusted": true }));
    assert_eq!(server.decide(&session, &ask, "allow_once")["outcome"], "recorded");
    server.wait_end(&session);
    assert_eq!(server.read("a.txt"), "2\n");
}

#[test]
fn r000_63_without_trust_a_model_is_offered_nothing_that_writes_or_runs_and_gets_none_of_it() {
    let model = Model::start(vec![patch("a.txt"), command("touch b"), says("well")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    server.write("a.txt", "two\n");
    server.turn(&session, "make it shorter");
    let offered = model.asked().body["tools"].to_string();
    assert!(offered.contains("read_file"), "{offered}");
    assert!(!offered.contains("propose_patch") && !offered.contains("run_command"), "{offered}");
    for _ in 0..2 {
        let told = model.asked().tool_result();
        assert!(told.starts_with("Error (untrusted_workspace)"), "{told}");
    }
    assert!(!server.events(&session).iter().any(|event| event["class"] == "permission.request"));
    assert_eq!(server.read("a.txt"), "two\n");
    assert!(!server.workspace.path().join("b").exists());
}

#[test]
fn r000_29_an_answer_is_checked_in_the_order_of_the_wire() {
    let model = Model::start(vec![patch("a.txt"), says("done")]);
    let (mut server, session) = place(&model, json!({}));
    server.write("a.txt", "two\n");
    server.prompt(&session, "make it shorter");
    let ask = server.wait_ask(&session);
    server.notify("bb/workspaceTrust", json!({ "trusted": false }));
    let good = Server::decision(&session, &ask, "allow_once");
    let with = |changes: &[(&str, Value)]| {
        let mut params = good.clone();
        for (key, value) in changes {
            params[*key] = value.clone();
        }
        params
    };
    let nobody = ("sessionId", json!("nobody"));
    let unknown = ("requestId", json!("unknown"));
    let stale = ("digest", json!("stale"));
    for (changes, code) in [
        (
            vec![nobody.clone(), unknown.clone(), stale.clone(), ("decision", json!("maybe"))],
            "invalid_params",
        ),
        (vec![nobody, unknown.clone(), stale.clone()], "unknown_session"),
        (vec![unknown, stale.clone()], "unknown_request"),
        (vec![stale.clone()], "untrusted_workspace"),
        (vec![("optionId", json!("no such option"))], "invalid_params"),
    ] {
        assert_eq!(
            server.refused("bb/approvePermission", with(&changes))["data"]["code"],
            code,
            "{changes:?}"
        );
    }
    server.notify("bb/workspaceTrust", json!({ "trusted": true }));
    assert_eq!(server.refused("bb/approvePermission", with(&[stale]))["data"]["code"], "conflict");
    assert_eq!(server.read("a.txt"), "two\n");
    // The option wins over the decision.
    let answer = server.ask("bb/approvePermission", with(&[("optionId", json!("deny"))]));
    assert_eq!(answer["resolution"], "denied");
    server.wait_end(&session);
    assert_eq!(server.read("a.txt"), "two\n");
}

#[test]
fn r002_90_a_command_runs_in_the_workspace_without_our_secrets() {
    let model = Model::start(vec![command("env; pwd; echo oops >&2; exit 3"), says("done")]);
    let options = model
        .chosen(true)
        .env("BREADBOARD_STORY", "hidden-1")
        .env("STORY_TOKEN", "hidden-2")
        .env("STORY_API_KEY", "hidden-3")
        .env("BREADBOARD_MODEL_TOKEN", "hidden-4")
        .env("STORY_PLACE", "visible");
    let mut server = Server::ready(options);
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    assert_eq!(ask["type"], "command.request_approval");
    assert_eq!(ask["permission"]["title"], "env; pwd; echo oops >&2; exit 3");
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    let told = told(&model);
    assert!(told.starts_with("The command ended with exit code 3."), "{told}");
    assert!(told.contains("stderr:\noops"), "{told}");
    assert!(told.contains("STORY_PLACE=visible"), "{told}");
    let here = server.workspace.path().canonicalize().expect("a path");
    assert!(told.lines().any(|line| std::path::Path::new(line) == here), "{told}");
    assert!(!told.contains("hidden-"), "{told}");
    assert!(!told.to_uppercase().contains("BREADBOARD_"), "{told}");
}

#[test]
fn r002_50_86_88_a_command_runs_in_the_editors_terminal_where_it_has_one() {
    let terminal = json!({ "experimental": { "breadboard": { "terminalRun": true } } });
    let model = Model::start(vec![
        calls("run_command", json!({ "command": "make \"a b\" && ls", "cwd": "src", "reason": "to see" })),
        command("make"),
        says("done"),
    ]);
    let (mut server, session) = place(&model, terminal);
    server.write("src/a.txt", "");
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    let request = server.wait_request("bb/terminal/run");
    assert_eq!(request["params"], json!({ "command": "make \"a b\" && ls", "args": [], "cwd": "src" }));
    let ran = json!({ "exitCode": 7, "stdout": "from the terminal", "stderr": "", "durationMs": 5 });
    server.answer(&request["id"], ran);
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    let request = server.wait_request("bb/terminal/run");
    assert_eq!(request["params"]["cwd"], ".");
    server.answer_error(&request["id"], -32603, "the terminal is closed");
    server.wait_end(&session);
    model.asked();
    let first = model.asked().tool_result();
    assert!(
        first.starts_with("The command ended with exit code 7.") && first.contains("from the terminal"),
        "{first}"
    );
    let second = model.asked().tool_result();
    assert!(
        second.starts_with("Error (engine_rejected)") && second.contains("the terminal is closed"),
        "{second}"
    );
}

#[test]
fn a_rule_answers_the_same_command_and_no_other() {
    let model = Model::start(vec![
        command("printf x >> log"),
        says("done"),
        command("printf x >> log"),
        says("done"),
        command("printf x >> log; true"),
        says("done"),
    ]);
    let (mut server, session) = place(&model, json!({}));
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    let rule = json!({ "pattern": "run: printf x >> log (in .)", "scope": "session", "holder": "server" });
    assert_eq!(ask["permission"]["options"][1]["rule"], rule);
    let mut wider = Server::decision(&session, &ask, "allow_rule");
    wider["ruleUpdate"] = json!({ "pattern": "run: *" });
    assert_eq!(server.refused("bb/approvePermission", wider)["data"]["code"], "invalid_params");
    assert_eq!(server.decide(&session, &ask, "allow_rule")["resolution"], "allowed");
    server.wait_end(&session);

    server.turn(&session, "run it again");
    assert_eq!(server.read("log"), "xx");
    let settled: Vec<Value> = server
        .events(&session)
        .into_iter()
        .filter(|event| event["type"] == "local.permission_settled")
        .map(|event| event["payload"]["resolvedBy"].clone())
        .collect();
    assert_eq!(settled, ["user", "rule"]);

    server.prompt(&session, "run more");
    let ask = server.wait_event(&session, "the longer command", |event| {
        event["class"] == "permission.request" && event["payload"]["command"] == "printf x >> log; true"
    });
    assert_eq!(block(&mut server, &session, "permission")["status"], "pending");
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    assert_eq!(server.read("log"), "xx");
}
