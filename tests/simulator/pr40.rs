//! Section 9: the wire that is to come. Incompatible, and still `1.0`.

use breadboard_ls::testing::simulate::breadboard::{Script, SimulatorOptions};
use serde_json::{Value, json};

use crate::desk::{Desk, Next, kinds, numbers};

fn desk(script: &Value) -> Desk {
    Desk::new(SimulatorOptions {
        pr40: true,
        script: Some(Script::parse(&script.to_string()).unwrap()),
        ..SimulatorOptions::default()
    })
}

fn held() -> Value {
    json!([[{"hold": "gate"}, {"type": "warning", "payload": {}}]])
}

async fn say(desk: &Desk, session: &str, message: &str) -> (u16, Value) {
    let body = json!({"content": "hello", "client_message_id": message});
    desk.post(&format!("/v1/sessions/{session}/input"), &body).await.pair()
}

#[tokio::test]
async fn an_input_needs_an_id_answers_with_ids_and_counts_once() {
    let desk = desk(&held());
    let id = desk.create(&json!({})).await;
    let without = desk.input(&id, "hello").await;
    assert_eq!(without.status, 422);
    assert_eq!(without.json()["detail"]["errors"][0]["loc"], json!(["body", "client_message_id"]));
    let reply = |message: &str, number: u64, disposition: &str, original: &str| {
        (
            202,
            json!({
                "status": "accepted", "client_message_id": message, "input_id": format!("input-{number}"),
                "turn_id": format!("turn-{number}"), "disposition": disposition, "original_disposition": original,
            }),
        )
    };
    assert_eq!(say(&desk, &id, "a").await, reply("a", 1, "started", "started"));
    desk.logged(&id, "user_message", 1).await;
    assert_eq!(say(&desk, &id, "b").await, reply("b", 2, "queued", "queued"));
    assert_eq!(say(&desk, &id, "b").await, reply("b", 2, "deduplicated", "queued"));
    let summary = desk.summary(&id).await;
    assert_eq!(
        (&summary["turn_admission"], &summary["active_turn_id"], &summary["queued_turn_count"]),
        (&json!("active"), &json!("turn-1"), &json!(1))
    );
    assert_eq!(summary["headSequence"], 4);
    desk.simulator.release("gate");
    desk.logged(&id, "turn_completed", 2).await;
    let terminal = json!([
        {"turn_id": "turn-1", "outcome": "completed"}, {"turn_id": "turn-2", "outcome": "completed"},
    ]);
    assert_eq!(desk.summary(&id).await["terminalTurns"], terminal);
}

#[tokio::test]
async fn every_stream_begins_with_a_frame_that_has_no_number() {
    let desk = desk(&held());
    let id = desk.create(&json!({})).await;
    desk.logged(&id, "tool_result", 1).await;
    for (query, expected) in [
        ("", vec!["stream.open", "tool_result"]),
        ("?replay=true", vec!["stream.open", "skills_catalog", "tool_result"]),
        ("?from_id=2", vec!["stream.open"]),
    ] {
        let (frames, _) = desk.stream(&id, query).await.rest().await;
        assert_eq!(kinds(&frames), expected, "{query}");
        let open = frames[0].json();
        assert_eq!((frames[0].id.clone(), open.get("id"), open.get("seq")), (None, None, None));
        assert!(open.get("turn_id").is_some() && open["stable_cursor"].is_null());
    }
    // The snapshot of the connection has lost its id and number, too.
    let (frames, _) = desk.stream(&id, "").await.rest().await;
    assert_eq!((frames[1].id.clone(), frames[1].json().get("seq")), (None, None));
}

#[tokio::test]
async fn a_409_says_what_is_left_and_a_truncated_replay_is_one() {
    let desk = desk(&held());
    let id = desk.create(&json!({})).await;
    desk.logged(&id, "tool_result", 1).await;
    for _ in 0..3 {
        desk.simulator.emit(&id, "warning", &json!({}));
    }
    desk.simulator.evict(&id, 3);
    for (query, last) in [("?from_id=2", json!("2")), ("?replay=true", json!(null))] {
        let (status, mut body) = desk.get(&format!("/v1/sessions/{id}/events{query}")).await.pair();
        let detail = &mut body["detail"];
        assert!(detail["recovery"].take()["action"].is_string());
        let expected = json!({
            "message": "resume window exceeded or event id not found", "last_event_id": last,
            "first_retained_sequence": 4, "last_retained_sequence": 5, "recovery": null,
            "replayRetention": {"maxEvents": 1000, "maxAgeMs": 86_400_000}, "earliestRetainedSequence": 4,
            "headSequence": 5, "retainedHistory": "partial",
        });
        assert_eq!((status, &*detail), (409, &expected), "{query}");
        assert_eq!(body["error"], "resume_window_exceeded");
    }
    let (frames, _) = desk.stream(&id, "?from_id=4").await.rest().await;
    assert_eq!(numbers(&frames), [5]);
    assert_eq!(desk.get("/v1/sessions/nobody/events").await.status, 404);
}

#[tokio::test]
async fn a_turn_can_be_cancelled_queued_or_running() {
    let desk = desk(&held());
    let id = desk.create(&json!({})).await;
    say(&desk, &id, "a").await;
    say(&desk, &id, "b").await;
    desk.logged(&id, "user_message", 1).await;
    let cancel = |turn: &str| {
        let body = json!({"cancellation_request_key": "k", "reason": "user_requested"});
        let path = format!("/v1/sessions/{id}/turns/{turn}/cancel");
        let desk = &desk;
        async move { desk.post(&path, &body).await.status }
    };
    assert_eq!(cancel("turn-2").await, 202);
    desk.logged(&id, "turn_cancelled", 1).await;
    assert_eq!(cancel("turn-1").await, 202);
    desk.simulator.release("gate");
    desk.logged(&id, "turn_cancelled", 2).await;
    assert_eq!(cancel("turn-9").await, 404);
    assert!(!desk.simulator.sent(&id).iter().any(|event| event.kind == "warning"));
}

#[tokio::test]
async fn an_overflow_says_where_it_stopped_and_ends_the_stream() {
    let desk = desk(&held());
    let id = desk.create(&json!({})).await;
    desk.logged(&id, "tool_result", 1).await;
    let mut stream = desk.stream(&id, "?from_id=2").await;
    assert_eq!(stream.frame_now().await.kind(), "stream.open");
    desk.simulator.overflow(&id);
    let gap = stream.frame_now().await.json();
    assert_eq!(
        (&gap["type"], &gap["payload"]["last_safely_delivered_cursor"]),
        (&json!("stream.gap"), &json!("2"))
    );
    assert_eq!(stream.next().await, Next::End);
}

#[tokio::test]
async fn it_can_be_told_by_its_paths_and_not_by_its_version() {
    let desk = desk(&held());
    assert_eq!(desk.get("/v1/engine/identity").await.status, 200);
    assert_eq!(desk.get("/health").await.json()["protocol_version"], "1.0");
    let paths = desk.get("/openapi.json").await.json()["paths"].clone();
    assert!(paths.get("/v1/sessions/{session_id}/turns/{turn_id}/cancel").is_some());
    let without_task = desk.post("/v1/sessions", &json!({"config_path": "agent_configs/c.yaml"})).await;
    assert_eq!(without_task.status, 200);
}
