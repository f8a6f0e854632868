//! `kill -9` at many instants while a model streams, a permission waits and prompts are queued; what a client saw before
//! is what the next process knows (ARCHITECTURE.md, invariants 1 and 8; R000-53).
//!
//! `BREADBOARD_SEEDS` adds random instants, `BREADBOARD_SEED` is the first of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use breadboard_ls::testing::domain::event::SessionEvent;
use breadboard_ls::testing::domain::view::{View, ViewLanes, ViewState, apply_changes};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::flood::{Answer, Model};
use super::harness::client::{Client, newest_page};
use super::harness::{Options, Server};

/// Ids of the prompts that wait behind the running turn.
const WAITING: [&str; 2] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

/// Pieces before the model wants a command to run.
const PIECES: usize = 400;

/// When to kill.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So many microseconds after the kth `bb/events`.
    Notification(usize, u64),
    /// While a permission waits.
    Asked,
}

fn options(model: &Model) -> Options {
    Options {
        options: json!({
            "model": model.setting(),
            "workspaceTrusted": true,
            "delivery": { "maxLatencyMs": 1, "maxEvents": 16 },
        }),
        keep_frames: true,
        ..Options::default()
    }
}

fn model() -> Model {
    Model::start(|_, _| {
        let pieces = (0..PIECES).map(|at| format!("piece {at} ")).collect();
        Answer::Call(pieces, "run_command", json!({ "command": "true", "reason": "to see" }))
    })
}

/// The view that these events make, made here from nothing.
fn reduced(epoch: &Value, events: &[String]) -> Value {
    let mut state = ViewState::default();
    let mut view = View {
        epoch: epoch.as_str().expect("an epoch").to_owned(),
        seq: events.len() as u64,
        lanes: ViewLanes::default(),
    };
    for event in events {
        let event: SessionEvent = serde_json::from_str(event).expect("an event");
        apply_changes(&mut view, &state.apply(&event));
    }
    newest_page(&serde_json::to_value(&view).expect("a view"))
}

/// Every event of the journal, as its bytes stand in the answer.
fn journal(server: &mut Server, session: &Value) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Page {
        result: Events,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Events {
        events: Vec<Box<serde_json::value::RawValue>>,
        has_more: bool,
    }
    let mut events = Vec::new();
    loop {
        let from = events.len() + 1;
        let id = server.request("bb/events/read", json!({ "sessionId": session, "fromSeq": from }));
        server.wait_response(&id);
        let frames = server.frames();
        let frame = frames
            .iter()
            .rev()
            .find(|frame| serde_json::from_slice::<Value>(frame).expect("a message")["id"] == id)
            .expect("the answer came");
        let page: Page = serde_json::from_slice(frame).expect("a page of events");
        assert!(page.result.has_more || !page.result.events.is_empty() || from > 1, "no events");
        events.extend(page.result.events.iter().map(|event| event.get().to_owned()));
        if !page.result.has_more {
            return events;
        }
    }
}

fn classes(events: &[String], class: &str) -> usize {
    events
        .iter()
        .filter(|event| serde_json::from_str::<Value>(event).expect("an event")["class"] == class)
        .count()
}

fn story(moment: Moment) {
    let told = format!("killed at {moment:?}");
    let model = model();
    let (workspace, state) = (Arc::new(TempDir::new().unwrap()), Arc::new(TempDir::new().unwrap()));
    let mut server = Server::start_in(Arc::clone(&workspace), Arc::clone(&state), options(&model));
    server.shake_hands();
    let epoch = server.ask("bb/init", json!({}))["epoch"].clone();
    let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();
    let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
    let mut client = Client::new(&session);
    client.view = Some(selected["view"].clone());

    server.ask("bb/sendMessage", json!({ "sessionId": session, "text": "Go." }));
    for id in WAITING {
        let sent = server.ask("bb/sendMessage", json!({ "sessionId": session, "text": id, "messageId": id }));
        assert_eq!(sent["disposition"], "queued", "{told}");
    }
    let is_ask = |params: &Value| {
        params["events"].as_array().unwrap().iter().any(|event| event["class"] == "permission.request")
    };
    match moment {
        Moment::Notification(count, micros) => {
            for _ in 0..count {
                let params = server.wait_notification("bb/events", |_| true)["params"].clone();
                // Nothing comes after the question.
                if is_ask(&params) {
                    break;
                }
            }
            let until = Instant::now() + Duration::from_micros(micros);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
        Moment::Asked => {
            server.wait_notification("bb/events", is_ask);
        }
    }
    server.kill();
    // The pipe may still hold frames; the reader ends with it.
    while server.try_next().is_some() {}
    client.take(&server.frames());
    let seen = client.clone();
    let seen_view = seen.view.clone().expect("a view");
    let view_seq = seen_view["seq"].as_u64().unwrap() as usize;
    assert!(view_seq <= seen.events.len(), "{told}: the view was ahead of its events");
    assert_eq!(
        newest_page(&seen_view)["lanes"],
        reduced(&epoch, &seen.events[..view_seq])["lanes"],
        "{told}: the changes did not make the view"
    );
    drop(server);

    let mut server = Server::start_in(Arc::clone(&workspace), Arc::clone(&state), options(&model));
    server.shake_hands();
    let last_seen = json!({ "epoch": epoch, "sessions": { session.as_str().unwrap(): seen.seq() } });
    let init = server.ask("bb/init", json!({ "lastSeen": last_seen }));
    assert_eq!(init["epoch"], epoch, "{told}");
    let resume = &init["resume"][session.as_str().unwrap()];
    let head = if resume["verdict"] == "complete" {
        // Whatever was cut has an end that nobody had seen; what waits has none. The view may have been on its way.
        let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
        client.view = Some(selected["view"].clone());
        seen.seq()
    } else {
        assert_eq!(resume["verdict"], "replayed", "{told}: {init}");
        assert_eq!(resume["from"], seen.seq() + 1, "{told}");
        let head = resume["to"].as_u64().unwrap();
        server.wait_notification("bb/view", |params| params["toSeq"] == head);
        client.take(&server.frames());
        head
    };
    assert_eq!(client.seq(), head, "{told}: the rest was not replayed");

    let stored = journal(&mut server, &session);
    assert!(stored == client.events, "{told}: what was told is not what is stored");
    assert!(stored.starts_with(&seen.events), "{told}");
    // A turn that waits for an answer waits on; any other is cut.
    let waits = classes(&stored, "permission.request");
    let asked = matches!(moment, Moment::Asked) || resume["verdict"] == "complete";
    assert!(waits == 1 || (waits == 0 && !asked), "{told}: {waits} wait");
    assert_eq!(classes(&stored, "run.finished"), 1 - waits, "{told}: a cut turn ends exactly once");
    assert_eq!(classes(&stored, "permission.response"), 0, "{told}: what waits was settled");
    let pending = server.ask("bb/permission/list", json!({}))["pending"].as_array().map(Vec::len);
    assert_eq!(pending, Some(waits), "{told}: what waits is not listed");
    let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
    assert_eq!(selected["view"], reduced(&epoch, &stored), "{told}: the view is not that of the events");
    assert_eq!(client.view.as_ref(), Some(&selected["view"]), "{told}: the client's view is another");
    let queue = server.ask("bb/queue/list", json!({ "sessionId": session }));
    let waiting: Vec<&Value> =
        queue["items"].as_array().unwrap().iter().map(|item| &item["messageId"]).collect();
    assert_eq!((json!(waiting), &queue["paused"]), (json!(WAITING), &json!(true)), "{told}");
    // A prompt that was accepted is not taken twice.
    let again =
        server.ask("bb/sendMessage", json!({ "sessionId": session, "text": "x", "messageId": WAITING[0] }));
    assert_eq!(again["disposition"], "queued", "{told}");
    server.kill();
    drop(server);

    let mut server = Server::start_in(workspace, state, options(&model));
    server.shake_hands();
    let init = server.ask(
        "bb/init",
        json!({ "lastSeen": { "epoch": epoch, "sessions": { session.as_str().unwrap(): head } } }),
    );
    assert_eq!(init["resume"][session.as_str().unwrap()]["verdict"], "complete", "{told}");
    assert!(journal(&mut server, &session) == stored, "{told}: a second restart changed the journal");
    let once_more = server.ask("bb/selectSession", json!({ "sessionId": session }));
    assert_eq!(once_more["view"], selected["view"], "{told}");
    let queue = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!(queue["items"].as_array().map(Vec::len), Some(WAITING.len()), "{told}: {queue}");
    assert!(server.shut_down().success());
}

#[test]
fn r000_53_a_kill_after_any_notification_loses_and_doubles_nothing() {
    for count in [1, 2, 3, 4, 6, 9, 14, 20] {
        story(Moment::Notification(count, 0));
    }
}

#[test]
fn r000_53_a_kill_while_a_permission_waits_leaves_it_waiting() {
    story(Moment::Asked);
}

#[test]
fn r000_53_a_kill_at_random_instants_loses_and_doubles_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("BREADBOARD_SEED").unwrap_or(1);
    for seed in first..first + number("BREADBOARD_SEEDS").unwrap_or(6) {
        println!("seed {seed} (BREADBOARD_SEED)");
        // A step of splitmix64: any spread will do, as long as a seed gives the same instant again.
        let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^= mixed >> 27;
        story(Moment::Notification(1 + (mixed % 24) as usize, (mixed >> 8) % 4_000));
    }
}
