//! Streams that break, processes that die, engines that forget: nothing is lost or doubled, and what is missing is said.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use breadboard_ls::testing::simulate::breadboard::{HoldPoint, SimulatorOptions};
use serde_json::{Value, json};

use crate::breadboard_desk::*;
use crate::harness::{Options, Server};

/// A long answer in pieces, with a place to wait in the middle.
fn long() -> Value {
    json!([[
        { "repeat": 150, "steps": [piece("word ")] }, { "hold": "half" },
        { "repeat": 150, "steps": [piece("more ")] }, says("the end"),
    ]])
}

/// Kills the process once it told `seen` events of a turn, lets `meanwhile` happen, starts it again.
fn killed(seen: usize, meanwhile: impl Fn(&Desk, &str)) {
    let desk = Desk::scripted(&long());
    let mut server = desk.server();
    let epoch = server.ask("bb/init", json!({}))["epoch"].clone();
    let session = server.session();
    server.prompt(&session, "talk");
    for _ in 0..seen {
        heard(&server, &session, "assistant.message.delta");
    }
    server.kill();
    while server.try_next().is_some() {}
    let told = server.events(&session);
    let last_told = told.last().and_then(|event| event["seq"].as_u64()).expect("events");
    meanwhile(&desk, &session);

    desk.engine.hold_answers("/events", HoldPoint::BeforeWork);
    let before = desk.cursors(&session).len();
    let mut next = Server::start_in(server.workspace.clone(), server.state.clone(), desk.chosen(true));
    next.shake_hands();
    let last_seen = json!({ "epoch": epoch, "sessions": { session.as_str(): last_told } });
    let init = next.ask("bb/init", json!({ "lastSeen": last_seen }));
    assert_eq!(init["epoch"], epoch);
    let cursors = until("the stream is asked for", || {
        let cursors = desk.cursors(&session);
        (cursors.len() > before).then_some(cursors)
    });
    // What the last process wrote down, before anything new came.
    let kept = journal(&mut next, &session);
    assert_eq!(kept[..told.len()], told[..], "what was told is what was kept");
    let last_kept = *numbers(&kept).last().expect("events of the engine");
    assert_eq!(cursors[before].as_deref(), Some(last_kept.to_string().as_str()), "{cursors:?}");
    desk.engine.release_answers();
    desk.engine.release("half");
    ran(&next, &session);

    let sent = desk.engine.sent(&session);
    let events = journal(&mut next, &session);
    assert_eq!(numbers(&events), (1..=sent.len() as u64).collect::<Vec<_>>(), "a hole or a double");
    assert_eq!(events[..kept.len()], kept[..]);
    let up = next.wait_notification("bb/connection", |params| {
        params["sessionId"] == session.as_str() && params["resume"].is_object()
    });
    let resume = &up["params"]["resume"];
    let to = resume["to"].as_u64();
    let wanted = json!({ "verdict": "replayed", "from": last_kept + 1, "to": to,
        "events": to.map(|to| to - last_kept) });
    assert_eq!(*resume, wanted, "{up}");
    assert_eq!(gaps(&next), Vec::<Value>::new());
    let blocks = chat(&mut next, &session);
    assert_eq!(of_kind(&blocks, "assistant").last().expect("an answer")["text"], "the end");
    assert_eq!(desk.inputs(&session).len(), 1, "the prompt went out once");
    // The turn goes on in the new process and ends once.
    status(&next, &session, "idle");
    assert!(!events.iter().any(|event| event["type"] == "local.turn_end"), "{events:#?}");
}

#[test]
fn r000_53_54_76_a_kill_in_the_middle_of_a_stream_loses_and_doubles_nothing() {
    // A full batch has 64 events, so the places where one ends are among these.
    for seen in [1, 40, 149] {
        killed(seen, |desk, session| {
            until("half of it was said", || (desk.engine.sent(session).len() >= 154).then_some(()));
        });
    }
}

#[test]
fn r000_53_54_76_a_turn_that_ended_while_nobody_listened_is_replayed() {
    killed(20, |desk, session| {
        desk.engine.release("half");
        until("the run ended", || (!desk.engine.busy(session)).then_some(()));
    });
}

/// A session whose events 3 to 5 are gone for good: evicted while the stream was broken.
fn evicted(desk: &Desk, server: &mut Server) -> String {
    let session = server.session();
    heard(server, &session, "tool_result");
    desk.engine.hold_answers("/events", HoldPoint::BeforeWork);
    desk.engine.cut_streams();
    for at in 3..=7 {
        desk.engine.emit(&session, "warning", &warning(&format!("event {at}")));
    }
    desk.engine.evict(&session, 5);
    desk.engine.release_answers();
    session
}

#[test]
fn fault_03_r000_55_77_r003_66_a_gap_is_said_and_the_stream_goes_on() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    let session = evicted(&desk, &mut server);
    let gap = heard(&server, &session, "local.gap");
    assert_eq!((&gap["payload"]["from"], &gap["payload"]["to"]), (&json!(3), &json!(5)), "{gap}");
    assert_eq!((&gap["origin"], &gap["id"]), (&json!("local"), &json!("")));
    warned(&server, &session, "event 7");
    let said = server.wait_notification("bb/connection", |params| params["gapDetected"] == true);
    let resume = &said["params"]["resume"];
    assert_eq!((&said["params"]["sessionId"], &resume["verdict"]), (&json!(session), &json!("lost")));
    assert_eq!((&resume["from"], &resume["to"]), (&json!(3), &json!(5)), "{said}");
    assert!(resume["reason"].as_str().is_some_and(|why| why.len() > 10), "{said}");
    let cards = of_kind(&chat(&mut server, &session), "notice");
    let card = cards.iter().find(|card| card["seq"] == gap["seq"]).unwrap_or_else(|| panic!("{cards:#?}"));
    assert_eq!(card["level"], "error", "nobody overlooks it");
    assert!(card["text"].as_str().unwrap().starts_with("Some events are missing here"), "{card}");

    // Not for ever: the next break resumes behind what came since.
    let streams = desk.cursors(&session).len();
    desk.engine.emit(&session, "warning", &warning("event 8"));
    warned(&server, &session, "event 8");
    desk.engine.cut_streams();
    until("the stream is opened again", || (desk.cursors(&session).len() > streams).then_some(()));
    assert_eq!(desk.cursors(&session)[streams].as_deref(), Some("8"));
    desk.engine.emit(&session, "warning", &warning("event 9"));
    warned(&server, &session, "event 9");
    assert_eq!(numbers(&journal(&mut server, &session)), [1, 2, 6, 7, 8, 9]);
    let told = gaps(&server);
    assert!(told.iter().all(|params| params["resume"]["to"] == 5), "a second gap: {told:#?}");
}

#[test]
fn a_gap_leaves_what_the_engine_says_of_the_session_as_its_own_words_without_an_id() {
    // Given a session whose engine asks while nobody listens, and forgets that it did
    let desk = Desk::scripted(&json!([[asks("make all", "made", "not made")]]));
    let mut server = desk.server();
    let session = server.session();
    heard(&server, &session, "tool_result");
    desk.engine.hold_answers("/events", HoldPoint::BeforeWork);
    desk.engine.cut_streams();
    assert_eq!(desk.post(&format!("/v1/sessions/{session}/input"), &json!({ "content": "build" })).0, 202);
    let asked = until("it asks", || {
        let sent = desk.engine.sent(&session);
        sent.iter().position(|event| event.kind == "permission_request").map(|at| at as u64 + 1)
    });
    desk.engine.emit(&session, "warning", &warning("behind it"));
    desk.engine.evict(&session, asked);
    // When the stream goes on behind the gap
    desk.engine.release_answers();
    warned(&server, &session, "behind it");
    let ask = server.wait_ask(&session);
    let plan =
        server.wait_event(&session, "the list", |event| event["type"] == "tool_result" && event["id"] == "");
    // Then both are the engine's in type and payload, without an id and without a place of their own
    let words = [(&ask, "/payload/request_id", "permission_1"), (&plan, "/payload/todo/op", "snapshot")];
    for (event, place, word) in words {
        let origin = (&event["origin"], &event["id"], event.pointer(place));
        assert_eq!(origin, (&json!("engine"), &json!(""), Some(&json!(word))), "{event}");
    }
    let streams = desk.cursors(&session).len();
    desk.engine.cut_streams();
    until("the stream is opened again", || (desk.cursors(&session).len() > streams).then_some(()));
    let place = (asked + 1).to_string();
    assert_eq!(desk.cursors(&session)[streams].as_deref(), Some(place.as_str()));
    // And the ask can be answered
    assert_eq!(server.decide(&session, &ask, "allow_once")["outcome"], "recorded");
    server.wait_event(&session, "the answer", |event| event["payload"]["text"] == "made");
}

#[test]
fn r000_56_r003_60_a_rebuild_says_what_came_back_and_what_did_not() {
    let desk = Desk::scripted(&json!([]));
    let mut server = desk.server();
    let whole = server.session();
    heard(&server, &whole, "tool_result");
    let nothing = server.ask("bb/rebuild", json!({ "sessionId": whole }))["resume"].clone();
    assert_eq!((&nothing["verdict"], &nothing["events"]), (&json!("complete"), &json!(0)), "{nothing}");
    let session = evicted(&desk, &mut server);
    warned(&server, &session, "event 7");
    let lost = server.ask("bb/rebuild", json!({ "sessionId": session }))["resume"].clone();
    assert_eq!((&lost["verdict"], &lost["events"]), (&json!("lost"), &json!(0)), "{lost}");
    assert_eq!((&lost["from"], &lost["to"]), (&json!(3), &json!(5)), "{lost}");
    assert_eq!(numbers(&journal(&mut server, &session)), [1, 2, 6, 7]);
}

/// An engine that leaves event 3 out of every stream until it is told to stop doing so.
fn forgetful(whole: &Arc<AtomicBool>) -> Socket {
    let whole = Arc::clone(whole);
    Socket::start(move |line, out| {
        if !line.starts_with(&format!("GET /v1/sessions/{ONLY}/events")) {
            return Ok(false);
        }
        out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
        for seq in (1..=5).filter(|seq| *seq != 3 || whole.load(Ordering::SeqCst)) {
            let event = json!({
                "id": format!("{seq:08x}-0000-4000-8000-000000000000"), "seq": seq, "type": "warning",
                "session_id": ONLY, "turn": null, "timestamp": 1, "timestamp_ms": 1, "protocol_version": "1.0",
                "payload": warning(&format!("event {seq}")),
            });
            write!(out, "id: {seq}\ndata: {event}\n\n")?;
        }
        out.flush()?;
        // It stays open, as the engine's does, until the test ends.
        loop {
            std::thread::park();
        }
    })
}

#[test]
fn r000_56_r003_60_a_rebuild_brings_back_what_the_engine_still_has() {
    let whole = Arc::new(AtomicBool::new(false));
    let socket = forgetful(&whole);
    let mut server = Server::ready(chosen(&socket.url, true));
    connected(&server);
    let session = server.session();
    let gap = heard(&server, &session, "local.gap");
    assert_eq!((&gap["payload"]["from"], &gap["payload"]["to"]), (&json!(3), &json!(3)), "{gap}");
    warned(&server, &session, "event 5");
    assert_eq!(numbers(&journal(&mut server, &session)), [1, 2, 4, 5]);
    whole.store(true, Ordering::SeqCst);
    let resume = server.ask("bb/rebuild", json!({ "sessionId": session }))["resume"].clone();
    assert_eq!(resume, json!({ "verdict": "resynced", "events": 1, "from": 3, "to": 3 }));
    let events = journal(&mut server, &session);
    assert_eq!(numbers(&events), [1, 2, 4, 5, 3], "what was received keeps its order");
    let again = server.ask("bb/rebuild", json!({ "sessionId": session }))["resume"].clone();
    assert_eq!((&again["verdict"], &again["events"]), (&json!("complete"), &json!(0)));
    assert_eq!(journal(&mut server, &session), events);
}

/// Ids as engines may give them: none is a number that could be written otherwise by accident.
const IDS: [&str; 6] =
    ["8", "008", "9007199254740993", "5e3c7f1e-0000-4000-8000-000000000000", "a:b c", "é/1"];

/// An engine whose events have these ids.
fn with_ids() -> Socket {
    Socket::start(|line, out| {
        if !line.starts_with(&format!("GET /v1/sessions/{ONLY}/events")) {
            return Ok(false);
        }
        out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
        for (seq, id) in (1..).zip(IDS) {
            let event = json!({
                "id": "00000000-0000-4000-8000-000000000000", "seq": seq, "type": "warning",
                "session_id": ONLY, "turn": null, "timestamp": 1, "timestamp_ms": 1, "protocol_version": "1.0",
                "payload": warning(&format!("event {seq}")),
            });
            write!(out, "id: {id}\ndata: {event}\n\n")?;
        }
        out.flush()?;
        // It stays open, as the engine's does, until the test ends.
        loop {
            std::thread::park();
        }
    })
}

#[test]
fn r000_51_the_ids_of_the_engine_reach_the_client_and_its_history_untouched() {
    let socket = with_ids();
    let mut server = Server::ready(chosen(&socket.url, true));
    connected(&server);
    let session = server.session();
    warned(&server, &session, "event 6");
    let ids = |events: &[Value]| -> Vec<String> {
        let of_engine = events.iter().filter(|event| event["origin"] == "engine");
        of_engine.map(|event| event["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&server.events(&session)), IDS, "as they were sent");
    assert_eq!(ids(&journal(&mut server, &session)), IDS, "as they were kept");
    for event in server.events(&session) {
        let body = server.ask("bb/eventBody", json!({ "sessionId": session, "seq": event["seq"] }));
        assert_eq!(body["event"]["id"], event["id"], "one by one");
    }
}

#[test]
fn r000_37_an_engine_that_was_restarted_has_forgotten_and_the_history_stays() {
    let desk = Desk::scripted(&json!([[says("kept"), { "hold": "for ever" }]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "first");
    heard(&server, &session, "assistant_message");
    desk.engine.restart();
    let gone = server.wait_notification("bb/connection", |params| {
        params["sessionId"] == session.as_str() && params["status"] == "error"
    });
    let why = gone["params"]["lastError"].as_str().expect("a sentence");
    assert!(why.contains("make a new session"), "{why}");
    status(&server, &session, "gone");
    let end = heard(&server, &session, "local.turn_end");
    assert_eq!(end["class"], "run.finished");
    let blocks = chat(&mut server, &session);
    assert_eq!(of_kind(&blocks, "user")[0]["text"], "first");
    assert_eq!(of_kind(&blocks, "assistant")[0]["text"], "kept");
    let error = server.refused("bb/sendMessage", json!({ "sessionId": session, "text": "second" }));
    assert_eq!(error["data"]["code"], "engine_rejected");
    assert!(error["message"].as_str().unwrap().contains("create a new one"), "{error}");
    // The engine itself is well.
    let next = server.session();
    server.prompt(&next, "again");
    heard(&server, &next, "assistant_message");
}

#[test]
fn r000_37_an_engine_that_starts_later_is_found() {
    // A port that is free now.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let mut server = Server::ready(chosen(&url, true));
    let down = server.wait_notification("bb/connection", |params| params["status"] == "error");
    let why = down["params"]["lastError"].as_str().expect("a sentence");
    assert!(why.contains(&url) && why.contains("nothing listens there"), "{why}");
    assert_eq!(server.ask("bb/listSessions", json!({})), json!({ "sessions": [] }));
    assert_eq!(server.refused("bb/createSession", json!({}))["data"]["code"], "engine_unreachable");
    let desk = Desk::start(SimulatorOptions { port, ..scripted(&json!([[says("here")]])) });
    connected(&server);
    let session = server.session();
    server.prompt(&session, "there?");
    ran(&server, &session);
    assert_eq!(listed(&mut server, &session)["title"], "there?");
    assert_eq!(desk.engine.sessions(), [session]);
}

#[test]
fn the_engine_is_chosen_by_the_environment() {
    let desk = Desk::scripted(&json!([[says("yes")]]));
    let options = Options { options: json!({ "workspaceTrusted": true }), ..Options::default() };
    let mut server = Server::ready(options.env("BREADBOARD_API_URL", desk.engine.base_url()));
    connected(&server);
    let session = server.session();
    server.prompt(&session, "you?");
    ran(&server, &session);
    assert_eq!(desk.engine.sessions(), [session]);
}
