//! The engine's pull request 40, which changes the wire and keeps its version number: found by its paths, used in full.

use breadboard_ls::testing::simulate::breadboard::{HoldPoint, SimulatorOptions};
use serde_json::{Value, json};

use crate::breadboard_desk::*;

fn desk(prompts: &Value) -> Desk {
    Desk::start(SimulatorOptions { pr40: true, ..scripted(prompts) })
}

#[test]
fn r000_54_events_without_an_id_are_kept_and_never_a_cursor() {
    let desk = desk(&json!([[says("one")], [says("two")]]));
    let mut server = desk.server();
    let can = server.ask("bb/init", json!({}))["engine"]["capabilities"].clone();
    assert!(can.as_array().unwrap().contains(&json!("cancel")), "{can}");
    let session = server.session();
    let open = heard(&server, &session, "stream.open");
    assert_eq!((&open["origin"], &open["id"]), (&json!("engine"), &json!("")), "{open}");
    server.prompt(&session, "hi");
    let end = heard(&server, &session, "turn_completed");
    assert_eq!(end["class"], "session.lifecycle", "{end}");
    status(&server, &session, "idle");
    desk.engine.overflow(&session);
    let gap = heard(&server, &session, "stream.gap");
    assert_eq!((&gap["origin"], &gap["id"]), (&json!("engine"), &json!("")), "{gap}");
    until("the stream is opened again", || (desk.cursors(&session).len() == 2).then_some(()));
    let last = desk.engine.sent(&session).len().to_string();
    assert_eq!(desk.cursors(&session), [None, Some(last)]);
    server.prompt(&session, "again");
    heard(&server, &session, "turn_completed");
    let sent = desk.engine.sent(&session).len() as u64;
    assert_eq!(numbers(&journal(&mut server, &session)), (1..=sent).collect::<Vec<_>>());
    assert_eq!(gaps(&server), Vec::<Value>::new());
}

#[test]
fn r000_25_a_message_is_one_input_whatever_is_said_twice() {
    let desk = desk(&json!([[says("one")], [says("two")]]));
    let mut server = desk.server();
    let session = server.session();
    let message = json!({ "sessionId": session, "text": "hi", "messageId": "m-1" });
    let first = server.ask("bb/sendMessage", message.clone());
    assert_eq!(server.ask("bb/sendMessage", message), first);
    heard(&server, &session, "turn_completed");
    let inputs = desk.inputs(&session);
    let ids: Vec<&Value> = inputs.iter().map(|input| &input["client_message_id"]).collect();
    assert_eq!(ids, ["m-1"]);
}

#[test]
fn r000_25_a_prompt_whose_answer_was_lost_is_asked_for_again_and_runs_once() {
    let desk = desk(&json!([[says("one")], [says("two")]]));
    let mut server = desk.server();
    let session = server.session();
    desk.engine.answer_next("/input", 502, "bad gateway");
    server.prompt(&session, "hi");
    heard(&server, &session, "turn_completed");
    let inputs = desk.inputs(&session);
    assert_eq!(inputs.len(), 2, "{inputs:?}");
    assert_eq!(inputs[0], inputs[1]);
    let runs = desk.engine.sent(&session).iter().filter(|event| event.kind == "user_message").count();
    assert_eq!(runs, 1);
}

#[test]
fn r000_26_a_stop_cancels_the_turn_by_its_id() {
    let desk = desk(&json!([[{ "repeat": 2000, "steps": [piece("on "), { "delay_ms": 5 }] }]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "go on");
    heard(&server, &session, "assistant.message.delta");
    server.ask("bb/stop", json!({ "sessionId": session }));
    heard(&server, &session, "turn_cancelled");
    let cancelled = desk.asked("/turns/turn-1/cancel");
    assert_eq!(cancelled.len(), 1, "{cancelled:?}");
    assert!(cancelled[0].body.contains("\"user_requested\""), "{}", cancelled[0].body);
    status(&server, &session, "idle");
}

#[test]
fn r000_55_a_shortened_history_is_taken_from_where_it_begins() {
    let desk = desk(&json!([]));
    let mut server = desk.server();
    let session = server.session();
    heard(&server, &session, "tool_result");
    desk.engine.hold_answers("/events", HoldPoint::BeforeWork);
    desk.engine.cut_streams();
    for at in 3..=7 {
        desk.engine.emit(&session, "warning", &warning(&format!("event {at}")));
    }
    desk.engine.evict(&session, 5);
    desk.engine.release_answers();
    warned(&server, &session, "event 7");
    let events = journal(&mut server, &session);
    let gap = events.iter().find(|event| event["type"] == "local.gap").expect("a gap");
    // Behind the oldest event that the engine has: the one before it is not a place that it knows.
    assert_eq!(gap["payload"]["from"], 3, "{gap}");
    let came = numbers(&events);
    assert!(came == [1, 2, 6, 7] || came == [1, 2, 7], "{came:?}");
    assert_eq!(gap["payload"]["to"], if came.contains(&6) { 5 } else { 6 }, "{gap}");
    assert!(!gaps(&server).is_empty());
}
