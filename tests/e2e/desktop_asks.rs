//! What a desktop host asks: tools, commands and changes; who does what was allowed, and what the host hears of it.

use breadboard_ls::testing::simulate::desktop::HostDialect;
use serde_json::{Value, json};

use crate::breadboard_desk::until;
use crate::desktop_desk::{HostDesk, notices};
use crate::harness::Server;

const DIFF: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n";

fn command_ask(command: &str) -> Value {
    json!({ "type": "command.request_approval", "request_id": "r1", "command_id": "c1", "command": command,
        "working_directory": ".", "environment": { "WORD": "it's" }, "requires_approval": true, "reason": "To see." })
}

#[cfg(unix)]
#[test]
fn r002_44_50_70_71_85_88_a_command_that_was_allowed_runs_here_and_its_end_is_told() {
    let steps = json!([{ "ask": command_ask("echo \"$WORD works\"; exit 3"),
        "on_allow": [{ "wait": "client.command_result" }, { "say": "Thanks." }], "on_deny": [{ "say": "Then not." }] }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    assert_eq!(ask["permission"]["subject"]["kind"], "command", "{ask}");
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    let answer = desk.heard("client.approval_response");
    assert_eq!(
        answer,
        json!({ "type": "client.approval_response", "request_id": "r1", "approved": true, "scope": "all" })
    );
    let result = desk.heard("client.command_result");
    assert_eq!((&result["command_id"], &result["exit_code"]), (&json!("c1"), &json!(3)), "{result}");
    assert_eq!(result["stdout"], "it's works\n", "{result}");
    assert_eq!(result["command"], "echo \"$WORD works\"; exit 3");
    assert!(result["duration_ms"].is_u64());
}

#[test]
fn r002_44_94_what_is_denied_is_neither_run_nor_written() {
    let steps = json!([{ "ask": command_ask("touch ran"), "on_allow": [{ "say": "Done." }], "on_deny": [{ "say": "Then not." }] }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "deny");
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["message"], "Then not.");
    assert_eq!(desk.heard("client.approval_response")["approved"], false);
    assert_eq!(desk.all_heard("client.command_result"), Vec::<Value>::new());
    assert!(!server.workspace.path().join("ran").exists());
}

#[test]
fn a_command_of_the_public_source_is_run_by_the_host_alone() {
    let ask = json!({ "type": "command.request_approval", "request_id": "r7", "tool": "run_command",
        "arguments": { "command": "touch ran" }, "message": "Approve command execution: touch ran" });
    let steps = json!([{ "ask": ask, "on_allow": [{ "say": "It ran." }], "on_deny": [] }]);
    let desk = HostDesk::scripted(HostDialect::Source, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["message"], "It ran.");
    assert_eq!(desk.heard("client.approval_response")["approved"], true);
    assert_eq!(desk.all_heard("client.command_result"), Vec::<Value>::new());
    assert!(!server.workspace.path().join("ran").exists());
}

/// A session in which a change of `a.txt` is asked for.
fn asked_to_write(desk: &HostDesk) -> (Server, String, Value) {
    let mut server = desk.server();
    server.write("a.txt", "one\ntwo\n");
    let session = server.session();
    server.prompt(&session, "write it");
    let ask = server.wait_ask(&session);
    (server, session, ask)
}

#[test]
fn r002_47_49_64_66_a_change_that_is_asked_for_is_shown_made_and_its_hash_told() {
    let patch = json!({ "type": "patch.proposed", "patch_id": "p1", "file_path": "a.txt", "diff": DIFF, "rationale": "r",
        "acceptance_criteria": ["It is loud."], "requires_approval": true, "hunks": [] });
    let ask = json!({ "type": "tool.request_approval", "request_id": "r1", "tool_name": "write_file",
        "args": { "file_path": "a.txt", "patch_id": "p1", "diff": DIFF }, "risk_level": "medium" });
    let steps = json!([{ "send": patch }, { "ask": ask, "on_allow": [{ "wait": "client.patch_apply_result" }, { "say": "Done." }],
        "on_deny": [] }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let (mut server, session, ask) = asked_to_write(&desk);
    // The change itself is no second question.
    assert_eq!(ask["type"], "tool.request_approval", "{ask}");
    assert_eq!(ask["permission"]["subject"]["files"][0]["filePath"], "a.txt");
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    assert_eq!(server.read("a.txt"), "one\nTWO\n");
    let answer = desk.heard("client.approval_response");
    assert_eq!((&answer["scope"], &answer["file_path"]), (&json!("file"), &json!("a.txt")), "{answer}");
    let result = desk.heard("client.patch_apply_result");
    assert_eq!((&result["patch_id"], &result["success"]), (&json!("p1"), &json!(true)), "{result}");
    let hash = breadboard_ls::testing::domain::edits::text::content_hash(b"one\nTWO\n");
    assert_eq!(result["applied_hash"], hash.as_str());
}

#[test]
fn r002_64_a_proposed_change_that_nothing_asks_for_is_itself_the_question_in_both_dialects() {
    let seed = json!({ "type": "patch.proposed", "patch_id": "p1", "file_path": "a.txt", "diff": DIFF, "rationale": "Louder.",
        "acceptance_criteria": [], "requires_approval": true, "hunks": [] });
    let source = json!({ "type": "patch.proposed", "id": "p1", "file_path": "a.txt", "diff": DIFF, "base_hash": null,
        "rationale": "Louder." });
    for (dialect, patch) in [(HostDialect::Seed, seed), (HostDialect::Source, source)] {
        let steps = json!([{ "ask": patch, "on_allow": [{ "wait": "client.patch_apply_result" }, { "say": "Done." }], "on_deny": [] }]);
        let desk = HostDesk::scripted(dialect, &json!([{ "steps": steps }]));
        let (mut server, session, ask) = asked_to_write(&desk);
        assert_eq!((&ask["type"], &ask["id"]), (&json!("patch.proposed"), &json!("")), "{ask}");
        assert_eq!(ask["permission"]["subject"]["reason"], "Louder.", "{ask}");
        server.decide(&session, &ask, "allow_once");
        server.wait_end(&session);
        assert_eq!(server.read("a.txt"), "one\nTWO\n", "{dialect:?}");
        assert_eq!(desk.heard("client.approval_response")["request_id"], "p1");
    }
}

#[test]
fn a_change_that_a_host_waits_for_no_answer_to_can_be_decided_as_long_as_the_user_likes() {
    // Given hosts that end their turn behind a proposed change, as the public source does
    let seed = json!({ "type": "patch.proposed", "patch_id": "p1", "file_path": "a.txt", "diff": DIFF, "rationale": "Louder.",
        "acceptance_criteria": [], "requires_approval": true, "hunks": [] });
    let source = json!({ "type": "patch.proposed", "id": "p1", "file_path": "a.txt", "diff": DIFF, "base_hash": null,
        "rationale": "Louder." });
    for (dialect, patch) in [(HostDialect::Seed, seed), (HostDialect::Source, source)] {
        for (decision, written) in [("allow_once", "one\nTWO\n"), ("deny", "one\ntwo\n")] {
            let desk =
                HostDesk::scripted(dialect, &json!([{ "steps": [{ "send": patch }, { "say": "Done." }] }]));
            let (mut server, session, ask) = asked_to_write(&desk);
            until("the end of the turn there", || (!desk.host.runs(&session)).then_some(()));
            server.decide(&session, &ask, decision);
            // Then the turn ends once the file is as decided, and the host hears of it
            let end = server.wait_end(&session);
            assert_eq!(end["payload"]["message"], "Done.", "{dialect:?}: {end}");
            assert_eq!(server.read("a.txt"), written, "{dialect:?}");
            assert_eq!(desk.heard("client.approval_response")["approved"], decision == "allow_once");
            let settled = of_settled(&server, &session);
            assert_eq!(settled, [if decision == "deny" { "denied" } else { "allowed" }], "{dialect:?}");
        }
    }
}

/// How the questions of a session were settled.
fn of_settled(server: &Server, session: &str) -> Vec<String> {
    let events = server.events(session);
    let settled = events.iter().filter(|event| event["type"] == "local.permission_settled");
    settled.filter_map(|event| event["payload"]["status"].as_str().map(str::to_owned)).collect()
}

#[test]
fn r002_48_a_change_that_does_not_fit_is_told_to_the_host_and_to_the_user() {
    let patch = json!({ "type": "patch.proposed", "id": "p1", "file_path": "a.txt",
        "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nothing like it\n+x\n", "rationale": "" });
    let steps = json!([{ "ask": patch, "on_allow": [{ "wait": "client.patch_apply_result" }, { "say": "I see." }], "on_deny": [] }]);
    let desk = HostDesk::scripted(HostDialect::Source, &json!([{ "steps": steps }]));
    let (mut server, session, ask) = asked_to_write(&desk);
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    let result = desk.heard("client.patch_apply_result");
    assert_eq!(
        (&result["success"], &result["error"]["type"]),
        (&json!(false), &json!("conflict")),
        "{result}"
    );
    assert_eq!(server.read("a.txt"), "one\ntwo\n");
    let told = notices(&mut server, &session);
    assert!(told.iter().any(|text| text.starts_with("`a.txt` was left as it is")), "{told:?}");
}

#[test]
fn r002_67_a_tool_of_the_host_is_only_answered() {
    let ask = json!({ "type": "tool.request_approval", "request_id": "r1", "tool_name": "delete_file",
        "args": { "file_path": "a.txt", "reason": "Old." }, "risk_level": "high" });
    let steps = json!([{ "ask": ask, "on_allow": [{ "say": "Gone." }], "on_deny": [] }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let (mut server, session, ask) = asked_to_write(&desk);
    server.decide(&session, &ask, "allow_once");
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["message"], "Gone.");
    // What the host does with it is the host's.
    assert_eq!(server.read("a.txt"), "one\ntwo\n");
}

#[cfg(unix)]
#[test]
fn a_command_that_ran_here_when_this_server_was_killed_is_not_run_again_and_its_end_is_said_to_be_unknown() {
    // Given a host that has its clients run commands, and one that runs
    let steps = json!([{ "ask": command_ask("echo ran >> ran.txt; sleep 600"),
        "on_allow": [{ "wait": "client.command_result" }, { "say": "Thanks." }], "on_deny": [] }]);
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    let ran = server.workspace.path().join("ran.txt");
    let lines = || std::fs::read_to_string(&ran).ok().filter(|text| text == "ran\n");
    until("the command", lines);
    // When this server is killed, and another one takes the turn up
    let (workspace, state) = (server.workspace.clone(), server.state.clone());
    server.kill();
    let mut next = Server::start_in(workspace, state, desk.chosen(true));
    next.shake_hands();
    next.ask("bb/selectSession", json!({ "sessionId": session }));
    // Then the user hears that nobody knows how it ended, it is not run again, and the turn can be stopped
    until("that it is not known", || {
        let said = notices(&mut next, &session);
        said.iter().any(|text| text.contains("how that ended is not known")).then_some(())
    });
    next.ask("bb/stop", json!({ "sessionId": session }));
    next.wait_end(&session);
    assert_eq!(desk.all_heard("client.command_result"), Vec::<Value>::new());
    assert!(lines().is_some());
}
