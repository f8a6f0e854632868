//! Edits that are decided hunk by hunk (R002-44 to -49, rulings 10 and 12; ARCHITECTURE.md, invariant 35): the disk holds exactly
//! what was accepted, the engine is told which, and what was made can be taken back.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::breadboard_desk::until;
use crate::harness::{Options, Server, uri};
use crate::hunk_files::hash;
use crate::model::{Model, calls, says};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// Twenty lines, with line ends of Windows where these are kept.
fn lines(end: &str) -> String {
    (1..=20).map(|line| format!("{line}{end}")).collect()
}

fn edited(text: &str) -> String {
    text.replace("3", "three").replace("1three", "13").replace("17", "seventeen")
}

/// An agent that asks for an edit of two hunks, says how it was answered, and what it is told next.
fn agent(options: Value) -> Options {
    let content = json!([{ "type": "diff", "path": "${cwd}/a.txt", "oldText": lines("\n"), "newText": edited(&lines("\n")) }]);
    let call = json!({ "toolCallId": "c", "title": "Write", "kind": "edit", "content": content });
    let ask = json!({ "toolCall": call, "options": [
        { "optionId": "once", "kind": "allow_once", "name": "Yes" },
        { "optionId": "no", "kind": "reject_once", "name": "No" },
    ] });
    let answered = json!({ "once": [{ "say": "allowed" }], "no": [{ "say": "refused" }], "else": [{ "say": "cancelled" }] });
    let script = json!({ "prompts": [
        { "steps": [{ "update": { "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Write", "kind": "edit",
                                  "content": content } },
                    { "ask": ask, "on": answered }] },
        { "steps": [{ "say": "${prompt}" }] },
    ] });
    let sim = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    let mut options = options;
    options["workspaceTrusted"] = json!(true);
    options["agents"] = json!({ "sim": sim });
    Options { options, ..Options::default() }
}

fn agent_session(server: &mut Server) -> String {
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    made["sessionId"].as_str().expect("an id").to_owned()
}

/// Prompts, and gives what is asked for and its patch.
fn proposed(server: &mut Server, session: &str) -> (Value, Value) {
    server.prompt(session, "change the lines");
    let ask = server.wait_ask(session)["permission"].clone();
    let patch = server.ask("bb/patch/get", json!({ "patchId": ask["patchId"] }))["patch"].clone();
    (ask, patch)
}

fn ids(patch: &Value) -> Vec<String> {
    let hunks = patch["files"].as_array().expect("files").iter().flat_map(|file| {
        let hunks = file["hunks"].as_array().expect("hunks");
        hunks.iter().map(|hunk| hunk["id"].as_str().expect("an id").to_owned())
    });
    hunks.collect()
}

fn states(server: &mut Server, patch: &Value) -> Value {
    let now = server.ask("bb/patch/get", json!({ "patchId": patch["patchId"] }))["patch"].clone();
    let hunks = now["files"][0]["hunks"].as_array().expect("hunks");
    json!([now["status"], hunks.iter().map(|hunk| hunk["state"].clone()).collect::<Vec<_>>()])
}

fn decide_hunks(patch: &Value, hunks: &Value) -> Value {
    json!({ "patchId": patch["patchId"], "scope": "hunk", "hunks": hunks, "digest": patch["digest"] })
}

fn outcome(result: &Value) -> Value {
    let file = &result["files"][0];
    json!([file["filePath"], file["outcome"], file["message"]])
}

fn blocks(server: &mut Server, session: &str) -> Vec<Value> {
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone()
}

fn newest(blocks: &[Value], kind: &str) -> Value {
    blocks.iter().rev().find(|block| block["kind"] == kind).expect("a block").clone()
}

#[test]
fn of_an_agents_edit_the_disk_holds_exactly_what_was_accepted_and_its_next_prompt_says_so() {
    for end in ["\n", "\r\n"] {
        // Given an agent that asks for two changes in a file
        let mut server = Server::ready(agent(json!({})));
        let before = lines(end);
        server.write("a.txt", &before);
        let session = agent_session(&mut server);
        let (ask, patch) = proposed(&mut server, &session);
        // Then both are there to be decided, and listed
        let listed = server.ask("bb/patch/list", json!({ "sessionId": session }));
        let summary = json!({ "patchId": patch["patchId"], "requestId": ask["requestId"], "status": "pending",
            "files": [{ "filePath": "a.txt", "added": 2, "removed": 2, "outcome": "pending" }] });
        assert_eq!(listed, json!({ "patches": [summary] }));
        assert_eq!(patch["digest"], ask["digest"]);
        // And the file as it would be can be read beside the file as it is
        let sides = json!({ "sessionId": session, "filePath": "a.txt",
                            "beforeRef": "buffer", "afterRef": format!("patch:{}", patch["patchId"].as_str().expect("an id")) });
        let sides = server.ask("bb/openDiff", sides);
        assert_eq!(json!([sides["added"], sides["removed"]]), json!([2, 2]));
        let after = server.ask("bb/textDocument", json!({ "uri": sides["right"]["uri"] }));
        assert_eq!(after["text"], edited(&before));
        let second = &patch["files"][0]["hunks"][1];
        assert_eq!(
            json!([
                second["oldStart"],
                second["oldLines"],
                second["newStart"],
                second["newLines"],
                second["content"]
            ]),
            json!([14, 7, 14, 7, " 14\n 15\n 16\n-17\n+seventeen\n 18\n 19\n 20\n"])
        );
        // When the second is accepted, nothing is written yet; and when the first is rejected, the second is
        let ids = ids(&patch);
        let one = json!([{ "id": ids[1], "accepted": true }]);
        let decided = server.ask("bb/patch/decide", decide_hunks(&patch, &one));
        assert_eq!(outcome(&decided), json!(["a.txt", "pending", null]));
        assert_eq!(server.read("a.txt"), before);
        let other = json!([{ "id": ids[0], "accepted": false, "reason": "keep the digit" }]);
        let decided = server.ask("bb/patch/decide", decide_hunks(&patch, &other));
        assert_eq!(outcome(&decided), json!(["a.txt", "partly", null]));
        assert_eq!(server.read("a.txt"), before.replace("17", "seventeen"));
        assert_eq!(states(&mut server, &patch), json!(["partly", ["rejected", "applied"]]));
        // And the agent hears no, and the card says what was done
        server.wait_end(&session);
        let shown = blocks(&mut server, &session);
        assert_eq!(newest(&shown, "assistant")["text"], "refused");
        let card = newest(&shown, "permission");
        assert_eq!(
            json!([card["status"], card["chosen"]["label"]]),
            json!(["allowed", "Accept 1 of 2 changes"])
        );
        // And the next prompt tells it which, once, beside the user's own words
        let after = hash(&before.replace("17", "seventeen"));
        let told = format!(
            "The user decided on this edit change by change. `a.txt` has 1 of its 2 changes and is now {after}, so do not make \
             those again, and leave the others out. Rejected changes:\n`a.txt` (keep the digit):\n@@ -1,6 +1,6 @@\n 1\n 2\n\
             -3\n+three\n 4\n 5\n 6\n\n\nand now?"
        );
        server.turn(&session, "and now?");
        let shown = blocks(&mut server, &session);
        assert_eq!(newest(&shown, "assistant")["text"], told.as_str());
        assert_eq!(newest(&shown, "user")["text"], "and now?");
        // And what was made can be taken back, once
        let reverted = server.ask("bb/patch/revert", json!({ "patchId": patch["patchId"] }));
        assert_eq!(outcome(&reverted), json!(["a.txt", "reverted", null]));
        assert_eq!(server.read("a.txt"), before);
        assert_eq!(states(&mut server, &patch), json!(["reverted", ["rejected", "reverted"]]));
        let again = server.refused("bb/patch/revert", json!({ "patchId": patch["patchId"] }));
        assert_eq!(again["data"]["code"], "conflict");
    }
}

#[test]
fn r002_45_a_change_that_the_user_edited_is_made_so_and_its_agent_is_told() {
    for end in ["\n", "\r\n"] {
        // Given an agent that asks for two changes in a file
        let mut server = Server::ready(agent(json!({})));
        server.write("a.txt", &lines(end));
        let session = agent_session(&mut server);
        let (_, patch) = proposed(&mut server, &session);
        let ids = ids(&patch);
        // When one is edited into what fits nowhere, then nothing is decided
        for content in
            [" 14\n 15\n 16\n-16\n+XVII\n 18\n 19\n 20\n", " 14\n 15\n 16\n 17\n 18\n 19\n 20\n", "⟨"]
        {
            let bad = json!([{ "id": ids[1], "accepted": true, "content": content }]);
            let refused = server.refused("bb/patch/decide", decide_hunks(&patch, &bad));
            assert_eq!(refused["data"]["code"], "invalid_params", "{content}");
        }
        assert_eq!(states(&mut server, &patch), json!(["pending", ["proposed", "proposed"]]));
        // When it is edited into another change, and the other is accepted as it is
        let content = " 14\n 15\n 16\n-17\n+XVII\n+and more\n 18\n 19\n 20\n";
        let both = json!([{ "id": ids[0], "accepted": true }, { "id": ids[1], "accepted": true, "content": content }]);
        let decided = server.ask("bb/patch/decide", decide_hunks(&patch, &both));
        // Then the file holds what was edited, with its own line ends
        assert_eq!(outcome(&decided), json!(["a.txt", "applied", null]));
        let made = lines(end).replace("3", "three").replace("1three", "13");
        let made = made.replace(&format!("17{end}"), &format!("XVII{end}and more{end}"));
        assert_eq!(server.read("a.txt"), made);
        let now = server.ask("bb/patch/get", json!({ "patchId": patch["patchId"] }))["patch"].clone();
        let hunks = &now["files"][0]["hunks"];
        assert_eq!(
            json!([hunks[0]["edited"], hunks[1]["edited"], hunks[1]["content"]]),
            json!([null, true, content])
        );
        // And the agent hears no, and with the next prompt what stands in the file
        server.wait_end(&session);
        let shown = blocks(&mut server, &session);
        assert_eq!(newest(&shown, "assistant")["text"], "refused");
        let card = newest(&shown, "permission");
        assert_eq!(
            json!([card["status"], card["chosen"]["label"]]),
            json!(["allowed", "Accept 2 of 2 changes, 1 as edited"])
        );
        server.turn(&session, "and now?");
        let after = hash(&made);
        let told = format!(
            "The user decided on this edit change by change. `a.txt` has all of its 2 changes and is now {after}, so do not make \
             them again. Changes that the user edited first, as they stand in the files:\n`a.txt`:\n@@ -14,7 +14,8 @@\n{content}\n\n\
             and now?"
        );
        assert_eq!(newest(&blocks(&mut server, &session), "assistant")["text"], told);
        // And it can be taken back
        let reverted = server.ask("bb/patch/revert", json!({ "patchId": patch["patchId"] }));
        assert_eq!(outcome(&reverted), json!(["a.txt", "reverted", null]));
        assert_eq!(server.read("a.txt"), lines(end));
    }
}

#[test]
fn all_accepted_or_all_rejected_is_a_plain_answer_and_nothing_is_decided_twice() {
    for (accepted, said, status) in [(true, "allowed", "applied"), (false, "refused", "rejected")] {
        // Given
        let mut server = Server::ready(agent(json!({})));
        server.write("a.txt", &lines("\n"));
        let session = agent_session(&mut server);
        let (_, patch) = proposed(&mut server, &session);
        let ids = ids(&patch);
        // When one is decided by name and the rest with its file
        let one = json!([{ "id": ids[0], "accepted": accepted }]);
        server.ask("bb/patch/decide", decide_hunks(&patch, &one));
        let other_way = json!([{ "id": ids[0], "accepted": !accepted }]);
        let twice = server.refused("bb/patch/decide", decide_hunks(&patch, &other_way));
        assert_eq!(twice["data"]["code"], "conflict");
        let rest = json!({ "patchId": patch["patchId"], "sessionId": session, "scope": "file", "filePath": "a.txt",
                           "accepted": accepted });
        let decided = server.ask("bb/patch/decide", rest.clone());
        // Then the agent hears a plain answer, and writes itself, or not
        assert_eq!(outcome(&decided), json!(["a.txt", status, null]));
        server.wait_end(&session);
        assert_eq!(newest(&blocks(&mut server, &session), "assistant")["text"], said);
        assert_eq!(server.read("a.txt"), lines("\n"));
        assert_eq!(server.refused("bb/patch/decide", rest)["data"]["code"], "conflict");
    }
}

#[test]
fn refusals_come_in_the_order_of_the_wire_and_change_nothing() {
    // Given
    let mut server = Server::ready(agent(json!({})));
    server.write("a.txt", &lines("\n"));
    let session = agent_session(&mut server);
    let (ask, patch) = proposed(&mut server, &session);
    let (id, ids) = (&patch["patchId"], ids(&patch));
    let accept = json!([{ "id": ids[1], "accepted": true }]);
    let reject = json!([{ "id": ids[0], "accepted": false }]);
    // When and then
    for (params, code) in [
        (json!({ "patchId": id, "scope": "file" }), "invalid_params"),
        (json!({ "patchId": id, "scope": "some" }), "invalid_params"),
        (json!({ "patchId": id, "scope": "hunk", "filePath": "a.txt" }), "invalid_params"),
        (json!({ "patchId": "x", "scope": "all" }), "not_found"),
        (json!({ "patchId": id, "scope": "file", "filePath": "b.txt" }), "not_found"),
        (json!({ "patchId": id, "scope": "hunk", "hunks": [{ "id": "x", "accepted": false }] }), "not_found"),
        (json!({ "patchId": id, "scope": "all", "digest": "sha256:0" }), "conflict"),
    ] {
        let refused = server.refused("bb/patch/decide", params.clone());
        assert_eq!(refused["data"]["code"], code, "{params}");
    }
    assert_eq!(states(&mut server, &patch), json!(["pending", ["proposed", "proposed"]]));
    // And what is rejected in part cannot be allowed as a whole any more
    server.ask("bb/patch/decide", decide_hunks(&patch, &reject));
    let whole = json!({ "sessionId": session, "requestId": ask["requestId"], "decision": "allow_once" });
    assert_eq!(server.refused("bb/approvePermission", whole)["data"]["code"], "conflict");
    assert_eq!(states(&mut server, &patch), json!(["pending", ["rejected", "proposed"]]));
    // And nothing is accepted without trust, whose end also ends the agent, a little later
    server.notify("bb/workspaceTrust", json!({ "trusted": false }));
    let refused = server.refused("bb/patch/decide", decide_hunks(&patch, &accept));
    assert_eq!(refused["data"]["code"], "untrusted_workspace");
}

#[test]
fn a_file_that_is_another_one_by_now_is_a_conflict_and_is_left_as_it_is() {
    // Given an edit that was shown, and a file that changed since
    let mut server = Server::ready(agent(json!({})));
    server.write("a.txt", &lines("\n"));
    let session = agent_session(&mut server);
    let (_, patch) = proposed(&mut server, &session);
    let other = lines("\n").replace("17", "XVII");
    server.write("a.txt", &other);
    // When the change of that line alone is accepted
    let ids = ids(&patch);
    let part = json!([{ "id": ids[0], "accepted": false }, { "id": ids[1], "accepted": true }]);
    let decided = server.ask("bb/patch/decide", decide_hunks(&patch, &part));
    // Then
    let why = "`a.txt` is not what it was when this was proposed, so it was left as it is: Its lines are neither at line 14 nor \
               anywhere else in the file.";
    assert_eq!(outcome(&decided), json!(["a.txt", "conflict", why]));
    assert_eq!(server.read("a.txt"), other);
    server.wait_end(&session);
    let card = newest(&blocks(&mut server, &session), "permission");
    assert_eq!(card["status"], "denied");
}

#[test]
fn decisions_survive_kill_9_and_a_part_is_then_refused_as_the_agent_is_gone() {
    // Given a decision on one of two changes
    let mut server = Server::ready(agent(json!({})));
    server.write("a.txt", &lines("\n"));
    let session = agent_session(&mut server);
    let (_, patch) = proposed(&mut server, &session);
    let one = json!([{ "id": ids(&patch)[0], "accepted": true }]);
    server.ask("bb/patch/decide", decide_hunks(&patch, &one));
    // When the process is killed
    server.kill();
    let again = agent(json!({}));
    let mut again = Server::start_in(Arc::clone(&server.workspace), Arc::clone(&server.state), again);
    again.shake_hands();
    // Then the next one knows it, and that nobody waits for the rest
    let wanted = json!(["rejected", ["accepted", "proposed"]]);
    until("the ask is settled", || (states(&mut again, &patch) == wanted).then_some(()));
    let rest = json!({ "patchId": patch["patchId"], "scope": "all", "accepted": false });
    assert_eq!(again.refused("bb/patch/decide", rest)["data"]["code"], "conflict");
    assert_eq!(again.read("a.txt"), lines("\n"));
}

#[test]
fn of_our_own_agents_edit_a_part_is_made_and_its_model_hears_which_in_the_same_turn() {
    // Given our own agent, whose model wants two changes
    let edits = json!([{ "old_text": "2\n3\n", "new_text": "2\nthree\n" }, { "old_text": "17", "new_text": "seventeen" }]);
    let wish = json!({ "file_path": "a.txt", "rationale": "words", "edits": edits });
    let model = Model::start(vec![calls("propose_patch", wish), says("Understood.")]);
    let mut server = Server::ready(model.chosen(true));
    server.write("a.txt", &lines("\n"));
    let session = server.session();
    let (_, patch) = proposed(&mut server, &session);
    let ids = ids(&patch);
    // When the first alone is accepted
    let part = json!([{ "id": ids[0], "accepted": true }, { "id": ids[1], "accepted": false }]);
    let decided = server.ask("bb/patch/decide", decide_hunks(&patch, &part));
    assert_eq!(outcome(&decided), json!(["a.txt", "partly", null]));
    server.wait_end(&session);
    // Then the disk has it, and the model knows
    assert_eq!(server.read("a.txt"), lines("\n").replace("\n3\n", "\nthree\n"));
    let _first = model.asked();
    let told = model.asked().tool_result();
    assert!(told.contains("`a.txt` has 1 of its 2 changes") && told.contains("-17\n+seventeen"), "{told}");
}

#[test]
fn an_accepted_hunk_goes_into_the_open_buffer_and_one_that_was_typed_over_is_a_conflict() {
    // Given an editor with the file open and changed, that takes edits
    let capabilities =
        json!({ "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } } });
    let mut server = Server::ready(Options { capabilities, ..agent(json!({})) });
    server.write("a.txt", &lines("\n"));
    let typed = format!("typed\n{}", lines("\n"));
    server.open("a.txt", &typed);
    let session = agent_session(&mut server);
    let (_, patch) = proposed(&mut server, &session);
    let ids = ids(&patch);
    // When the second change alone is accepted
    let part = json!([{ "id": ids[0], "accepted": false }, { "id": ids[1], "accepted": true }]);
    let params = decide_hunks(&patch, &part);
    let id = server.request("bb/patch/decide", params);
    let request = server.wait_request("workspace/applyEdit");
    // Then it goes where its lines stand now, and the disk is left alone
    let change = &request["params"]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["uri"], uri(&server.workspace.path().join("a.txt")));
    assert_eq!(
        change["edits"],
        json!([{ "range": { "start": { "line": 17, "character": 0 }, "end": { "line": 17, "character": 2 } },
                 "newText": "seventeen" }])
    );
    server.answer(&request["id"], json!({ "applied": true }));
    let decided = server.wait_response(&id)["result"].clone();
    assert_eq!(outcome(&decided), json!(["a.txt", "partly", null]));
    assert_eq!(server.read("a.txt"), lines("\n"));
}

/// What our own agent wants changed, in two files.
fn two_files() -> Value {
    let edit = |path: &str| json!({ "file_path": path, "edits": [{ "old_text": "two", "new_text": "2" }] });
    json!({ "rationale": "shorter", "files": [edit("a.txt"), edit("b.txt")] })
}

/// How the patch stands, file by file, as its list and itself say.
fn stands(server: &mut Server, session: &str, patch: &str) -> Value {
    let whole = server.ask("bb/patch/get", json!({ "patchId": patch }))["patch"].clone();
    let listed = server.ask("bb/patch/list", json!({ "sessionId": session }))["patches"][0].clone();
    assert_eq!(listed["status"], whole["status"]);
    let files = whole["files"].as_array().expect("files").iter();
    let files = files.map(|file| json!([file["outcome"], file["hunks"][0]["state"], file["message"]]));
    json!([whole["status"], files.collect::<Vec<_>>()])
}

#[test]
fn r002_49_a_whole_yes_to_our_own_agent_is_told_as_what_came_of_it() {
    for (spoiled, by_patch) in [(false, true), (false, false), (true, true), (true, false)] {
        // Given a change of two files that waits, one of which may be another one by now
        let model = Model::start(vec![calls("propose_patch", two_files()), says("so it is")]);
        let mut server = Server::ready(model.chosen(true));
        server.write("a.txt", "two\n");
        server.write("b.txt", "two\n");
        let session = server.session();
        server.prompt(&session, "make it shorter");
        let ask = server.wait_ask(&session);
        let patch = ask["permission"]["patchId"].as_str().expect("a patch").to_owned();
        if spoiled {
            server.write("b.txt", "two, and more\n");
        }
        // When all of it is allowed, hunk by hunk or at once
        let decided = by_patch.then(|| {
            server.ask("bb/patch/decide", json!({ "patchId": patch, "scope": "all", "accepted": true }))
        });
        if !by_patch {
            server.decide(&session, &ask, "allow_once");
        }
        server.wait_end(&session);
        // Then the state is what happened, in the answer and after it
        let changed = "`b.txt` changed meanwhile, so nothing was written";
        let now = stands(&mut server, &session, &patch);
        if spoiled {
            assert_eq!(now[0], "conflict", "{now}");
            let states = json!([now[1][0][0], now[1][0][1], now[1][1][0], now[1][1][1]]);
            assert_eq!(states, json!(["conflict", "conflict", "conflict", "conflict"]));
            assert!(now[1][1][2].as_str().unwrap().contains(changed), "{now}");
            assert_eq!(
                (server.read("a.txt"), server.read("b.txt")),
                ("two\n".into(), "two, and more\n".into())
            );
        } else {
            let applied = json!(["applied", "applied", null]);
            assert_eq!(now, json!(["applied", [applied, applied]]));
            assert_eq!((server.read("a.txt"), server.read("b.txt")), ("2\n".into(), "2\n".into()));
        }
        if let Some(decided) = decided {
            let told = decided["files"].as_array().expect("files").iter();
            let told: Vec<Value> = told.map(|file| file["outcome"].clone()).collect();
            assert_eq!(json!(told), json!([now[1][0][0], now[1][1][0]]));
        }
    }
}

#[test]
fn r002_49_a_stop_while_files_are_written_leaves_all_of_them_or_none_though_an_editor_owes_an_answer() {
    // Given a change of two files, the second of which an editor has open, and never answers about
    let model = Model::start(vec![calls("propose_patch", two_files()), says("well")]);
    let capabilities = json!({ "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
                               "experimental": { "breadboard": {} } });
    let mut server = Server::ready(Options { capabilities, ..model.chosen(true) });
    server.write("a.txt", "two\n");
    server.write("b.txt", "two\n");
    let uri = server.file("a.txt");
    server.open("b.txt", "two\n");
    let session = server.session();
    server.prompt(&session, "make it shorter");
    let ask = server.wait_ask(&session);
    let patch = ask["permission"]["patchId"].as_str().expect("a patch").to_owned();
    server.request("bb/patch/decide", json!({ "patchId": patch, "scope": "all", "accepted": true }));
    // When the first was made by the editor, and the turn is stopped while it owes an answer about the second
    let first = server.wait_request("workspace/applyEdit");
    assert_eq!(first["params"]["edit"]["documentChanges"][0]["textDocument"]["uri"], uri);
    server.write("a.txt", "2\n");
    server.answer(&first["id"], json!({ "applied": true }));
    let is_second =
        |message: &Value| message["method"] == "workspace/applyEdit" && message["id"] != first["id"];
    let second = server.wait_for("the second edit", is_second);
    server.ask("bb/stop", json!({ "sessionId": session }));
    server.wait_notification("$/cancelRequest", |params| params["id"] == second["id"]);
    // Then the first is taken back before the turn ends
    let back =
        server.wait_for("what takes it back", |message| is_second(message) && message["id"] != second["id"]);
    assert_eq!(back["params"]["edit"]["documentChanges"][0]["textDocument"]["uri"], uri);
    server.write("a.txt", "two\n");
    server.answer(&back["id"], json!({ "applied": true }));
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["metadata"]["cancelled"], true);
    assert_eq!((server.read("a.txt"), server.read("b.txt")), ("two\n".into(), "two\n".into()));
    // And the patch says so
    let now = stands(&mut server, &session, &patch);
    assert_eq!(json!([now[0], now[1][0][0], now[1][1][0]]), json!(["conflict", "conflict", "conflict"]));
}
