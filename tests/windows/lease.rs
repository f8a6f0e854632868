//! Two windows and one session: who may change it, who sees what, and what becomes of it when its window is gone.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::harness::{Options, Server};
use super::model::Model;

/// One user: a workspace, a state directory, a model.
pub struct User {
    pub model: Model,
    workspace: Arc<TempDir>,
    state: Arc<TempDir>,
}

impl User {
    pub fn new() -> Self {
        let directory = || Arc::new(tempfile::tempdir().expect("a directory"));
        Self { model: Model::start(), workspace: directory(), state: directory() }
    }

    /// One more window, greeted.
    pub fn window(&self) -> Server {
        let options = json!({ "model": self.model.setting(), "workspaceTrusted": true });
        let options = Options { options, ..Options::default() };
        let mut window = Server::start_in(Arc::clone(&self.workspace), Arc::clone(&self.state), options);
        window.shake_hands();
        window.ask("bb/init", json!({}));
        window
    }
}

/// How a window lists a session.
fn listed(window: &mut Server, session: &str) -> Value {
    let list = window.ask("bb/listSessions", json!({}));
    let all = list["sessions"].as_array().expect("a list");
    all.iter().find(|entry| entry["sessionId"] == session).cloned().unwrap_or(Value::Null)
}

fn select(window: &mut Server, session: &str) -> Value {
    window.ask("bb/selectSession", json!({ "sessionId": session }))
}

/// Every event of a session, as the journal has it.
pub fn read(window: &mut Server, session: &str) -> Vec<Value> {
    let mut events = Vec::new();
    loop {
        let params = json!({ "sessionId": session, "fromSeq": events.len() + 1 });
        let page = window.ask("bb/events/read", params);
        events.extend(page["events"].as_array().expect("events").iter().cloned());
        if page["hasMore"] != true {
            return events;
        }
    }
}

fn says(event: &Value, text: &str) -> bool {
    event.to_string().contains(text)
}

/// The code of a refusal.
fn code(refusal: &Value) -> &Value {
    &refusal["data"]["code"]
}

#[test]
fn another_window_follows_a_turn_event_by_event_and_may_stop_but_not_change_it() {
    let user = User::new();
    let (mut first, mut second) = (user.window(), user.window());
    // Given a session that the first window works on
    let session = first.session();
    first.prompt(&session, "please hold");
    first.wait_event(&session, "the last piece", |event| says(event, "three"));
    // When the second one looks, then it is listed as held, and readable up to what was said
    assert_eq!(listed(&mut second, &session)["heldBy"], "other_window");
    assert_eq!(listed(&mut first, &session).get("heldBy"), None);
    let view = select(&mut second, &session);
    if !says(&view, "three") {
        second.wait_event(&session, "the last piece", |event| says(event, "three"));
    }
    // And it may change nothing
    for (method, params) in [
        ("bb/sendMessage", json!({ "sessionId": session, "text": "me too" })),
        ("bb/deleteSession", json!({ "sessionId": session })),
        ("bb/queue/resume", json!({ "sessionId": session })),
        ("bb/command", json!({ "sessionId": session, "command": "x" })),
    ] {
        let refusal = second.refused(method, params);
        assert_eq!(code(&refusal), "conflict", "{method}: {refusal}");
    }
    // When it stops the turn, then the window that works on it does
    let stopped = second.ask("bb/stop", json!({ "sessionId": session }));
    assert_eq!(stopped["stopping"], true);
    first.wait_end(&session);
    second.wait_end(&session);
    // And both have heard the same events under the same numbers
    let journal = read(&mut second, &session);
    for window in [&first, &second] {
        for event in window.events(&session) {
            let seq = usize::try_from(event["seq"].as_u64().unwrap()).unwrap();
            assert_eq!(event, journal[seq - 1]);
        }
    }
    // And the next window that prompts goes on with it
    second.turn(&session, "now me");
    first.wait_event(&session, "the end of the turn of the second", |event| {
        event["class"] == "run.finished" && event["turn"] == 2
    });
    assert_eq!(read(&mut first, &session), read(&mut second, &session));
}

#[test]
fn a_window_that_follows_hears_who_works_on_a_session_before_what_is_done_there() {
    let user = User::new();
    let (mut first, mut second) = (user.window(), user.window());
    // Given a session that nobody works on, and a window that follows it
    let session = first.session();
    first.turn(&session, "first question");
    second.wait_until("the session is free", |heard| is_free(heard, &session).then_some(()));
    let seq = select(&mut second, &session)["seq"].as_u64().unwrap();
    // When another one works on it
    first.prompt(&session, "please hold");
    second.wait_event(&session, "the last piece", |event| says(event, "three"));
    // Then what is done there is heard after the word that another window does it
    let heard = second.received();
    let done = heard.iter().position(|message| {
        let told = &message["params"];
        matches!(message["method"].as_str(), Some("bb/events" | "bb/view"))
            && told["sessionId"] == session.as_str()
            && told["fromSeq"].as_u64() > Some(seq)
    });
    let before = &heard[..done.expect("news of the turn")];
    assert!(!is_free(before, &session), "{before:?}");
}

/// What the last `bb/state` says of a session: nobody works on it.
fn is_free(heard: &[Value], session: &str) -> bool {
    let state = heard.iter().rfind(|message| message["method"] == "bb/state");
    let sessions = state.and_then(|state| state["params"]["sessions"].as_array());
    let listed = sessions.and_then(|all| all.iter().find(|entry| entry["sessionId"] == session));
    listed.is_some_and(|entry| entry.get("heldBy").is_none())
}

#[test]
fn a_window_that_was_killed_in_a_turn_loses_nothing_and_another_one_goes_on() {
    let user = User::new();
    let (mut first, mut second) = (user.window(), user.window());
    let session = first.session();
    first.turn(&session, "first question");
    first.prompt(&session, "please hold");
    first.wait_event(&session, "the last piece", |event| says(event, "three"));
    let told = first.events(&session);
    // Given a window that follows
    select(&mut second, &session);
    // When the one that works on it is killed
    first.kill();
    // Then the follower hears that its turn is over
    second.wait_event(&session, "the end of the turn", |event| {
        event["class"] == "run.finished" && event["turn"] == 2
    });
    assert_eq!(listed(&mut second, &session).get("heldBy"), None);
    // And everything that the killed one had told is there, under its numbers
    let journal = read(&mut second, &session);
    for event in told {
        let seq = usize::try_from(event["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(event, journal[seq - 1]);
    }
    // And the session goes on here and in a window that is opened later
    second.turn(&session, "and now");
    let mut third = user.window();
    assert_eq!(read(&mut third, &session), read(&mut second, &session));
}

#[test]
fn what_one_window_deletes_or_makes_is_gone_or_there_in_the_other() {
    let user = User::new();
    let (mut first, mut second) = (user.window(), user.window());
    let (one, two) = (first.session(), second.session());
    first.turn(&one, "a question");
    assert_ne!(listed(&mut second, &one), Value::Null);
    second.ask("bb/deleteSession", json!({ "sessionId": one }));
    assert_eq!(listed(&mut first, &one), Value::Null);
    let refusal = first.refused("bb/selectSession", json!({ "sessionId": one }));
    assert_eq!(code(&refusal), "unknown_session");
    // A window that had an older copy works on the newer one
    second.turn(&two, "one");
    select(&mut first, &two);
    second.turn(&two, "two");
    first.turn(&two, "three");
    let turns: Vec<Value> = read(&mut second, &two)
        .iter()
        .filter(|event| event["type"] == "local.prompt")
        .map(|event| event["payload"]["text"].clone())
        .collect();
    assert_eq!(turns, ["one", "two", "three"]);
}

/// Linux only: elsewhere nothing ends what escapes a process group.
#[cfg(target_os = "linux")]
#[test]
fn a_session_is_taken_over_only_when_the_commands_of_its_killed_window_are_gone() {
    let user = User::new();
    let (mut first, mut second) = (user.window(), user.window());
    let session = first.session();
    // Given a command that is hard to end
    let command = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done";
    first.prompt(&session, &format!("run: {command}"));
    let ask = first.wait_ask(&session);
    first.decide(&session, &ask, "allow_once");
    select(&mut second, &session);
    let pid = std::iter::repeat_with(|| {
        first.assert_alive();
        std::fs::read_to_string(first.workspace.path().join("pid")).unwrap_or_default()
    });
    let pid = pid.take(1_000_000).find(|pid| pid.ends_with('\n')).expect("the command runs");
    let process = std::path::Path::new("/proc").join(pid.trim());
    assert!(process.exists());
    // When its window is killed
    first.kill();
    // Then another one settles its turn, and by then the command is gone
    second.wait_event(&session, "the end of the turn", |event| event["class"] == "run.finished");
    assert!(!process.exists(), "the command still runs");
    second.turn(&session, "and now");
}

#[test]
fn an_answer_that_comes_the_moment_a_window_is_gone_goes_on_with_its_turn() {
    let user = User::new();
    let (mut first, mut second) = (user.window(), user.window());
    let session = first.session();
    // Given a turn that waits for an answer in one window, and another one that shows it
    first.prompt(&session, "run: echo yes > ran");
    first.wait_ask(&session);
    select(&mut second, &session);
    let listed = second.ask("bb/permission/list", json!({}));
    let waiting = &listed["pending"][0]["permission"];
    let answer = json!({ "sessionId": session, "requestId": waiting["requestId"], "decision": "allow_once",
                         "digest": waiting["digest"] });
    // When the first is killed, and the answer comes as soon as it may, before the other one has looked what there is to settle
    first.kill();
    loop {
        let id = second.request("bb/approvePermission", answer.clone());
        let told = second.wait_response(&id);
        if told.get("result").is_some() {
            break;
        }
        assert_eq!(code(&told["error"]), "conflict", "{told}");
    }
    // Then it is done
    second.wait_event(&session, "the end of the turn", |event| event["class"] == "run.finished");
    let ran = std::fs::read_to_string(second.workspace.path().join("ran")).unwrap_or_default();
    assert_eq!(ran, "yes\n");
}

#[test]
fn the_draft_of_a_spec_is_the_newest_in_whichever_window_it_is_opened() {
    let user = User::new();
    let (mut first, mut second) = (user.window(), user.window());
    for text in ["a first draft", "a second draft"] {
        first.ask("bb/createSpec/autosave", json!({ "description": text }));
        let opened = second.ask("bb/createSpec/ready", json!({}));
        assert_eq!(opened["draft"]["formData"]["description"], text);
    }
}
