//! Our client of desktop hosts against our own host: each thing is done once, by the end that says that it does it.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::breadboard_desk::{chat, connected, of_kind, until};
use crate::desktop_desk::{chosen, last_text, notices};
use crate::desktop_host::relay::Relay;
use crate::desktop_host::{Host, prompt};
use crate::harness::Server;
use crate::model::{Gate, Model, Reply, Step, calls, says, says_and_waits};

/// A server of the folder that this host serves, with its token and a state of its own.
fn server_of(host: &Host) -> Server {
    let state = Arc::new(tempfile::tempdir().expect("a state directory"));
    server_at(host, &host.url, state)
}

/// The same, with a state that there was, and another way to the host.
pub fn server_at(host: &Host, url: &str, state: Arc<TempDir>) -> Server {
    let options = chosen(url, true).env("BREADBOARD_API_TOKEN", &host.token);
    let mut server = Server::start_in(Arc::clone(&host.workspace), state, options);
    server.shake_hands();
    connected(&server);
    server
}

/// Waits until a session stands again behind a break; its verdict.
pub fn back(server: &Server, session: &str) -> Value {
    let up = server.wait_notification("bb/connection", |params| {
        params["sessionId"] == session
            && params["status"] == "connected"
            && params["resume"]["verdict"] == "replayed"
    });
    up["params"]["resume"].clone()
}

/// Everything of this kind in the chat, as text.
pub fn texts(server: &mut Server, session: &str, kind: &str) -> Vec<String> {
    let blocks = chat(server, session);
    of_kind(&blocks, kind).iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
}

pub fn wait_words(server: &Server, session: &str) {
    server.wait_event(session, "its words", |event| event["class"] == "transcript.assistant_stream");
}

pub fn gaps(server: &Server, session: &str) -> usize {
    server.events(session).iter().filter(|event| event["type"] == "local.gap").count()
}

#[test]
fn i14_1_a_question_is_answered_through_both_ends() {
    let model = Model::start(vec![says("Forty-two.")]);
    let host = Host::of(&model);
    let mut server = server_of(&host);
    let session = server.session();
    server.prompt(&session, "what is it?");
    server.wait_end(&session);
    assert_eq!(last_text(&mut server, &session, "assistant").as_deref(), Some("Forty-two."));
}

#[test]
fn i14_2_a_change_that_was_allowed_is_made_by_the_host_alone_and_a_denied_one_by_nobody() {
    for (decision, written, answer) in [("allow_once", Some("hello\n"), "Done."), ("deny", None, "Then not.")]
    {
        // Given a host whose model proposes a file
        let diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";
        let wish = json!({ "file_path": "new.txt", "diff": diff, "rationale": "It greets." });
        let model = Model::start(vec![calls("propose_patch", wish), says(answer)]);
        let host = Host::of(&model);
        let mut server = server_of(&host);
        let session = server.session();
        // When the user of our client decides
        server.prompt(&session, "write it");
        let ask = server.wait_ask(&session);
        assert_eq!(ask["permission"]["subject"]["kind"], "edit", "{ask}");
        server.decide(&session, &ask, decision);
        server.wait_end(&session);
        // Then the host made it where it was allowed, and nobody tried a second time
        assert_eq!(last_text(&mut server, &session, "assistant").as_deref(), Some(answer));
        let at_host = std::fs::read_to_string(host.workspace.path().join("new.txt")).ok();
        assert_eq!(at_host.as_deref(), written, "{decision}");
        let said = notices(&mut server, &session);
        assert!(said.iter().all(|text| text.contains("index")), "{said:?}");
    }
}

#[cfg(unix)]
#[test]
fn i14_2_a_command_that_was_allowed_runs_once_at_the_host() {
    let wish = json!({ "command": "echo ran >> ran.txt", "reason": "To see." });
    let model = Model::start(vec![calls("run_command", wish), says("It ran.")]);
    let host = Host::of(&model);
    let mut server = server_of(&host);
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    assert_eq!(ask["permission"]["subject"]["kind"], "command", "{ask}");
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    let ran = std::fs::read_to_string(host.workspace.path().join("ran.txt")).ok();
    assert_eq!(ran.as_deref(), Some("ran\n"));
}

#[test]
fn i14_1_what_was_said_while_the_line_was_cut_is_told_again_and_nothing_is_lost() {
    // Given a turn that has begun
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half of it, ", &gate, "and the rest."), says("Again.")]);
    let host = Host::of(&model);
    let relay = Relay::to(&host.url);
    let mut server = server_at(&host, &relay.url, Arc::new(tempfile::tempdir().expect("a folder")));
    let session = server.session();
    let mut other = host.client(&session, "other");
    server.prompt(&session, "go on");
    wait_words(&server, &session);
    // When it ends while the line is cut
    relay.cut();
    gate.open();
    other.wait("assistant.message_final");
    relay.mend();
    // Then its end comes when the line is mended, nothing is missing or doubled, and the session goes on
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["message"], "Half of it, and the rest.", "{end}");
    back(&server, &session);
    assert_eq!(gaps(&server, &session), 0);
    assert_eq!(texts(&mut server, &session, "assistant"), ["Half of it, and the rest."]);
    assert_eq!(texts(&mut server, &session, "user"), ["go on"]);
    server.prompt(&session, "once more");
    until("the second answer", || {
        (last_text(&mut server, &session, "assistant").as_deref() == Some("Again.")).then_some(())
    });
}

#[test]
fn i14_1_a_client_that_was_killed_in_mid_turn_has_everything_when_it_is_back() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half of it, ", &gate, "and the rest.")]);
    let host = Host::of(&model);
    let mut server = server_of(&host);
    let session = server.session();
    let mut other = host.client(&session, "other");
    server.prompt(&session, "go on");
    wait_words(&server, &session);
    let state = Arc::clone(&server.state);
    server.kill();
    gate.open();
    other.wait("assistant.message_final");
    let mut next = server_at(&host, &host.url, state);
    let selected = next.ask("bb/selectSession", json!({ "sessionId": session }));
    assert_ne!(selected["resume"]["verdict"], "lost", "{}", selected["resume"]);
    until("the whole answer", || {
        (texts(&mut next, &session, "assistant") == ["Half of it, and the rest."]).then_some(())
    });
    assert_eq!(texts(&mut next, &session, "user"), ["go on"]);
    assert_eq!(gaps(&next, &session), 0);
    let ends = of_kind(&chat(&mut next, &session), "turn-end");
    assert_eq!(ends.len(), 1, "{ends:?}");
}

#[cfg(unix)]
#[test]
fn i14_1_a_host_that_was_killed_in_mid_turn_ends_the_turn_when_it_is_back_and_goes_on() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half of it, ", &gate, "and the rest."), says("Again.")]);
    let host = Host::of(&model);
    let mut server = server_of(&host);
    let session = server.session();
    server.prompt(&session, "go on");
    wait_words(&server, &session);
    let host = host.killed_and_back(&model);
    server.wait_end(&session);
    back(&server, &session);
    assert_eq!(gaps(&server, &session), 0);
    server.ask("bb/queue/resume", json!({ "sessionId": session }));
    server.prompt(&session, "once more");
    until("the second answer", || {
        (last_text(&mut server, &session, "assistant").as_deref() == Some("Again.")).then_some(())
    });
    drop(host);
}

#[test]
fn i14_done_two_servers_on_one_host_one_dies_the_other_misses_nothing_and_answers() {
    // Given two servers on one session, of which the first prompts
    let wish = json!({ "file_path": "new.txt", "diff": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n", "rationale": "It greets." });
    let model = Model::start(vec![calls("propose_patch", wish), says("Done.")]);
    let host = Host::of(&model);
    let mut first = server_of(&host);
    let session = first.session();
    let mut second = server_of(&host);
    second.ask("bb/listSessions", json!({}));
    second.ask("bb/selectSession", json!({ "sessionId": session }));
    first.prompt(&session, "write it");
    // When it is killed while the host asks
    first.wait_ask(&session);
    let state = Arc::clone(&first.state);
    first.kill();
    // Then the second has the prompt, answers, and hears the end
    let ask = second.wait_ask(&session);
    assert_eq!(texts(&mut second, &session, "user"), ["write it"]);
    second.decide(&session, &ask, "allow_once");
    until("its answer", || {
        (last_text(&mut second, &session, "assistant").as_deref() == Some("Done.")).then_some(())
    });
    assert_eq!(
        std::fs::read_to_string(host.workspace.path().join("new.txt")).ok().as_deref(),
        Some("hello\n")
    );
    // And the first has everything when it is back
    let mut back = server_at(&host, &host.url, state);
    back.ask("bb/selectSession", json!({ "sessionId": session }));
    until("its answer", || {
        (last_text(&mut back, &session, "assistant").as_deref() == Some("Done.")).then_some(())
    });
    assert_eq!(gaps(&back, &session), 0);
    let asks = of_kind(&chat(&mut back, &session), "permission");
    let statuses: Vec<&Value> = asks.iter().map(|ask| &ask["status"]).collect();
    assert_eq!(statuses, [&json!("allowed")], "{asks:?}");
}

#[test]
fn a_prompt_that_waits_behind_another_clients_turn_is_taken_back_and_that_turn_goes_on() {
    // Given a turn of the first client, and a prompt of the second behind it
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Half of it, ", &gate, "and the rest."), says("Third.")]);
    let host = Host::of(&model);
    let mut first = server_of(&host);
    let session = first.session();
    let mut second = server_of(&host);
    second.ask("bb/listSessions", json!({}));
    second.ask("bb/selectSession", json!({ "sessionId": session }));
    first.prompt(&session, "the first");
    wait_words(&first, &session);
    until("the first prompt there", || (texts(&mut second, &session, "user") == ["the first"]).then_some(()));
    let before = host.messages_received();
    second.prompt(&session, "the second");
    until("the second prompt", || (host.messages_received() > before).then_some(()));
    // When the second client stops
    let before = host.messages_received();
    second.ask("bb/stop", json!({ "sessionId": session }));
    until("the word of it", || (host.messages_received() > before).then_some(()));
    host.session();
    // Then its prompt is stopped, the turn of the first goes on to its end, and the session goes on
    gate.open();
    let end = first.wait_end(&session);
    assert_eq!(end["payload"]["message"], "Half of it, and the rest.", "{end}");
    second.ask("bb/queue/resume", json!({ "sessionId": session }));
    second.prompt(&session, "the third");
    until("the third answer", || {
        (last_text(&mut second, &session, "assistant").as_deref() == Some("Third.")).then_some(())
    });
    assert_eq!(texts(&mut first, &session, "user"), ["the first", "the third"]);
}

#[test]
fn an_answer_that_was_lost_with_its_socket_is_said_again_and_what_it_allows_is_done_once() {
    let wish = json!({ "command": "echo ran >> ran.txt", "reason": "To see." });
    let model = Model::start(vec![calls("run_command", wish), says("It ran.")]);
    let host = Host::of(&model);
    let relay = Relay::to(&host.url);
    let mut server = server_at(&host, &relay.url, Arc::new(tempfile::tempdir().expect("a folder")));
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    // When the answer is written and never arrives
    relay.goes_deaf();
    server.decide(&session, &ask, "allow_once");
    until("the lost answer", || (relay.lost() > 0).then_some(()));
    relay.cut();
    relay.mend();
    // Then it is said again behind the break
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["message"], "It ran.", "{end}");
    let ran = std::fs::read_to_string(host.workspace.path().join("ran.txt")).ok();
    assert_eq!(ran.as_deref(), Some("ran\n"));
    assert_eq!(gaps(&server, &session), 0);
}

#[cfg(unix)]
#[test]
fn i14_2_what_a_host_was_doing_when_it_was_killed_is_not_repeated_and_every_client_hears_that_it_is_unknown()
{
    // Given two clients on one session, of which one allowed a command that has begun
    let wish = json!({ "command": "echo ran >> ran.txt; sleep 600", "reason": "To see." });
    let model = Model::start(vec![calls("run_command", wish), says("Again.")]);
    let host = Host::of(&model);
    let mut first = server_of(&host);
    let session = first.session();
    let mut second = server_of(&host);
    second.ask("bb/listSessions", json!({}));
    second.ask("bb/selectSession", json!({ "sessionId": session }));
    first.prompt(&session, "run it");
    let ask = second.wait_ask(&session);
    second.decide(&session, &ask, "allow_once");
    let ran = host.workspace.path().join("ran.txt");
    until("the command", || std::fs::read_to_string(&ran).ok().filter(|text| text == "ran\n"));
    // When the host dies in the middle of it
    let host = host.killed_and_back(&model);
    // Then both hear that nobody knows how it ended, the turn is over, and it ran once
    first.wait_end(&session);
    for server in [&mut first, &mut second] {
        until("that it is unknown", || {
            let blocks = serde_json::to_string(&chat(server, &session)).expect("JSON");
            (blocks.contains("is not known") || blocks.contains("uncertain")).then_some(())
        });
    }
    first.ask("bb/queue/resume", json!({ "sessionId": session }));
    first.prompt(&session, "go on");
    until("the next answer", || {
        (last_text(&mut first, &session, "assistant").as_deref() == Some("Again.")).then_some(())
    });
    assert_eq!(std::fs::read_to_string(&ran).expect("the file"), "ran\n");
    drop(host);
}

#[test]
fn i14_3_another_clients_prompt_and_answer_are_shown_and_by_whom() {
    let wish = json!({ "file_path": "new.txt", "diff": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n", "rationale": "It greets." });
    let model = Model::start(vec![calls("propose_patch", wish), says("Done."), says("Mine.")]);
    let host = Host::of(&model);
    let mut server = server_of(&host);
    let session = server.session();
    let mut other = host.client(&session, "Neovim");
    other.say(&prompt("write it"));
    let request = other.wait("tool.request_approval");
    server.wait_ask(&session);
    other.say(&json!({ "type": "client.approval_response", "request_id": request["request_id"], "approved": true, "scope": "all" }));
    other.wait("assistant.message_final");
    until("its answer", || {
        (last_text(&mut server, &session, "assistant").as_deref() == Some("Done.")).then_some(())
    });
    assert_eq!(texts(&mut server, &session, "user"), ["write it"]);
    let asks = of_kind(&chat(&mut server, &session), "permission");
    assert_eq!((asks.len(), &asks[0]["status"]), (1, &json!("allowed")), "{asks:?}");
    let told = notices(&mut server, &session);
    assert!(told.iter().any(|text| text == "Neovim allowed what was asked."), "{told:?}");
    // A turn of ours behind it is a turn of its own.
    server.prompt(&session, "and mine");
    let end = server.wait_event(&session, "our end", |event| {
        event["class"] == "run.finished" && event["payload"]["message"] == "Mine."
    });
    assert!(end["turn"].is_u64(), "{end}");
}

#[test]
fn i14_2_of_an_edit_of_two_changes_the_host_makes_the_one_that_was_accepted_and_its_model_hears_it() {
    // Given a host whose model changes two places of a file
    let before: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-line 1\n+LINE 1\n line 2\n line 3\n@@ -18,3 +18,3 @@\n line 18\n line 19\n-line 20\n+LINE 20\n";
    let wish = json!({ "file_path": "a.txt", "diff": diff, "rationale": "Louder." });
    let model = Model::start(vec![calls("propose_patch", wish), says("I see.")]);
    let host = Host::of(&model);
    std::fs::write(host.workspace.path().join("a.txt"), &before).expect("a file");
    let mut server = server_of(&host);
    let session = server.session();
    server.prompt(&session, "write it");
    let ask = server.wait_ask(&session);
    // When the user accepts the second
    let patch =
        server.ask("bb/patch/get", json!({ "patchId": ask["permission"]["patchId"], "sessionId": session }));
    let hunks = patch["patch"]["files"][0]["hunks"].as_array().expect("hunks").clone();
    assert_eq!(hunks.len(), 2, "{patch}");
    let decisions =
        json!([{ "id": hunks[0]["id"], "accepted": false }, { "id": hunks[1]["id"], "accepted": true }]);
    server.ask(
        "bb/patch/decide",
        json!({ "patchId": ask["permission"]["patchId"], "sessionId": session, "scope": "hunk", "accepted": true,
            "hunks": decisions, "digest": ask["permission"]["digest"] }),
    );
    server.wait_end(&session);
    // Then that is what the file holds, and the model was told
    let after = std::fs::read_to_string(host.workspace.path().join("a.txt")).expect("a file");
    assert_eq!(after, before.replace("line 20\n", "LINE 20\n"));
    model.asked();
    let asked = model.asked();
    assert!(asked.tool_result().contains("1 of its 2 changes"), "{}", asked.tool_result());
    assert!(server.events(&session).iter().all(|event| event["class"] != "run.error_or_gap"));
}

#[test]
fn i14_7_a_session_that_another_client_makes_appears_by_itself_and_goes_when_it_is_deleted() {
    // Given two servers on one host, the second of which has listed its sessions
    let model = Model::start(vec![]);
    let host = Host::of(&model);
    let mut first = server_of(&host);
    let mut second = server_of(&host);
    second.ask("bb/listSessions", json!({}));
    // When the first makes one
    let session = first.session();
    // Then the second is told, without asking
    let has = |state: &Value, status: &str| {
        let mut sessions = state["sessions"].as_array().into_iter().flatten();
        sessions.any(|one| one["sessionId"] == session.as_str() && one["status"] == status)
    };
    second.wait_notification("bb/state", |state| has(state, "idle"));
    first.ask("bb/deleteSession", json!({ "sessionId": session }));
    second.wait_notification("bb/state", |state| has(state, "gone"));
}

#[test]
fn i14_7_what_goes_on_in_a_session_of_another_client_is_told_in_the_list_with_its_title() {
    // Given a second server that lists, and a session of the first in which a turn waits
    let gate = Gate::default();
    let wish = json!({ "file_path": "new.txt", "diff": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n", "rationale": "It greets." });
    let asks =
        vec![Step::Text("I look. ".to_owned()), Step::Wait(gate.clone()), Step::Call("propose_patch", wish)];
    let model = Model::start(vec![Reply::Stream(asks), says("Done.")]);
    let host = Host::of(&model);
    let mut first = server_of(&host);
    let mut second = server_of(&host);
    let session = first.session();
    let listed = |server: &mut Server| {
        let listed = server.ask("bb/listSessions", json!({}));
        let one = listed["sessions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|one| one["sessionId"] == session.as_str());
        one.map(|one| (one["title"].clone(), one["status"].clone()))
    };
    assert_eq!(listed(&mut second), Some((json!(null), json!("idle"))));
    first.prompt(&session, "write it");
    wait_words(&first, &session);
    // Then the second, which does not follow it, is told
    assert_eq!(listed(&mut second), Some((json!("write it"), json!("running"))));
    gate.open();
    let ask = first.wait_ask(&session);
    assert_eq!(listed(&mut second), Some((json!("write it"), json!("waiting"))));
    // And without asking, when it is over
    first.decide(&session, &ask, "allow_once");
    first.wait_end(&session);
    second.wait_notification("bb/state", |state| {
        let mut sessions = state["sessions"].as_array().into_iter().flatten();
        sessions.any(|one| {
            one["sessionId"] == session.as_str() && one["status"] == "idle" && one["title"] == "write it"
        })
    });
}
