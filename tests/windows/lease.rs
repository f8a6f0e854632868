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
        let options = Options { options: json!({ "model": self.model.setting() }), ..Options::default() };
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
