//! Section 3 of the facts: what each way to open a stream gets.

use breadboard_ls::testing::simulate::breadboard::SimulatorOptions;
use serde_json::{Value, json};

use crate::desk::{Desk, Frame, Next, numbers};

/// A session with exactly `count` events: the two of its start and warnings.
async fn session_with(desk: &Desk, count: u64) -> String {
    let id = desk.create(&json!({})).await;
    desk.logged(&id, "tool_result", 1).await;
    for at in 3..=count {
        assert_eq!(desk.simulator.emit(&id, "warning", &json!({"message": format!("w{at}")})), Some(at));
    }
    id
}

fn window_exceeded() -> Value {
    json!({
        "error": "resume_window_exceeded", "detail": "resume window exceeded or event id not found", "path": null,
    })
}

#[tokio::test]
async fn without_parameters_a_todo_snapshot_that_is_in_no_log_comes_first_and_then_only_the_future() {
    let desk = Desk::plain();
    let id = session_with(&desk, 4).await;
    let mut stream = desk.stream(&id, "").await;
    let snapshot = stream.frame_now().await;
    let value = snapshot.json();
    let call_id = value["payload"]["call_id"].as_str().unwrap();
    assert!(call_id.strip_prefix("todo:snapshot:connect:").is_some_and(|hex| hex.len() == 8), "{call_id}");
    assert_eq!(value["seq"], Value::Null);
    assert_eq!(value["type"], "tool_result");
    assert_eq!(value["payload"]["todo"]["op"], "snapshot");
    let uuid = snapshot.id.clone().unwrap();
    assert_eq!((uuid.len(), value["id"].as_str()), (36, Some(uuid.as_str())));
    assert_eq!(stream.soon().await, Next::Silence);
    desk.simulator.emit(&id, "warning", &json!({"message": "new"}));
    assert_eq!(stream.frame_now().await.seq(), Some(5));
    // Whoever takes up after the snapshot is refused.
    let answer = desk.get(&format!("/v1/sessions/{id}/events?from_id={uuid}")).await;
    assert_eq!(answer.pair(), (409, window_exceeded()));
}

#[tokio::test]
async fn without_a_todo_store_nothing_comes_first() {
    let desk = Desk::new(SimulatorOptions { todo_store: false, ..SimulatorOptions::default() });
    let id = desk.create(&json!({})).await;
    desk.logged(&id, "skills_catalog", 1).await;
    assert_eq!(desk.stream(&id, "").await.soon().await, Next::Silence);
}

#[tokio::test]
async fn replay_gives_what_is_left_and_says_nothing_about_what_is_not() {
    let desk = Desk::new(SimulatorOptions { log_events: 3, ..SimulatorOptions::default() });
    let id = session_with(&desk, 6).await;
    for (query, expected) in [
        ("?replay=true", vec![4, 5, 6]),
        ("?replay=1&limit=2", vec![5, 6]),
        ("?from_id=4", vec![5, 6]),
        ("?from_id=4&limit=1", vec![6]),
        // `from_id` decides, whatever `replay` says.
        ("?from_id=5&replay=true", vec![6]),
        ("?from_id=6", vec![]),
    ] {
        let (frames, end) = desk.stream(&id, query).await.rest().await;
        assert_eq!((numbers(&frames), end), (expected, Next::Silence), "{query}");
    }
}

#[tokio::test]
async fn a_number_or_an_event_id_must_still_be_in_the_log() {
    let desk = Desk::plain();
    let id = session_with(&desk, 6).await;
    desk.simulator.evict(&id, 3);
    let (frames, _) = desk.stream(&id, "?replay=true").await.rest().await;
    let uuid = frames[1].json()["id"].as_str().unwrap().to_owned();
    let (after, _) = desk.stream(&id, &format!("?from_id={uuid}")).await.rest().await;
    assert_eq!(numbers(&after), [6]);
    // 3 is the first retained minus one: nothing would be lost, and it is refused all the same.
    for gone in ["3", "1", "0", "7", "garbage"] {
        let answer = desk.get(&format!("/v1/sessions/{id}/events?from_id={gone}")).await;
        assert_eq!(answer.pair(), (409, window_exceeded()), "{gone}");
    }
}

#[tokio::test]
async fn last_event_id_counts_unless_from_id_is_there() {
    let desk = Desk::plain();
    let id = session_with(&desk, 5).await;
    let (frames, _) = desk.stream_with(&id, "", &[("Last-Event-ID", "3")]).await.rest().await;
    assert_eq!(numbers(&frames), [4, 5]);
    let (frames, _) = desk.stream_with(&id, "?from_id=4", &[("Last-Event-ID", "3")]).await.rest().await;
    assert_eq!(numbers(&frames), [5]);
}

#[tokio::test]
async fn an_unknown_session_is_an_empty_200_without_an_id_and_404_with_one() {
    let desk = Desk::plain();
    let mut stream = desk.stream("nobody", "?replay=true").await;
    assert_eq!(stream.next().await, Next::End);
    let answer = desk.get("/v1/sessions/nobody/events?from_id=3").await;
    assert_eq!(
        answer.pair(),
        (404, json!({"error": "not_found", "detail": "session not found", "path": null}))
    );
}

#[tokio::test]
async fn a_session_that_ends_ends_its_streams_and_a_later_stream_hangs() {
    let desk = Desk::scripted(&json!([[{"error": "no more"}]]));
    let id = desk.create(&json!({})).await;
    let mut stream = desk.stream(&id, "?replay=true").await;
    desk.input(&id, "go").await;
    let frames = stream.through("error").await;
    assert_eq!(frames.last().unwrap().json()["payload"], json!({"message": "no more"}));
    assert_eq!(stream.next().await, Next::End);
    assert_eq!(desk.summary(&id).await["status"], "failed");
    let (again, end) = desk.stream(&id, "?replay=true").await.rest().await;
    assert_eq!((numbers(&again), end), (numbers(&frames), Next::Silence));
    let refused = desk.input(&id, "more").await;
    assert_eq!(
        refused.pair(),
        (409, json!({"error": "conflict", "detail": "session is closed", "path": null}))
    );
}

#[tokio::test]
async fn id_and_data_are_separate_chunks_of_ascii_and_two_streams_are_equal() {
    let desk = Desk::plain();
    let id = session_with(&desk, 2).await;
    let mut one = desk.stream(&id, "?replay=true").await;
    let mut two = desk.stream(&id, "?from_id=2").await;
    let (_, end) = one.rest().await;
    assert_eq!(end, Next::Silence);
    one.chunks.clear();
    desk.simulator.emit(&id, "warning", &json!({"message": "é\u{1F600}"}));
    let frame = one.frame_now().await;
    assert_eq!(frame.id.as_deref(), Some("3"));
    assert!(frame.data.ends_with("\"payload\":{\"message\":\"\\u00e9\\ud83d\\ude00\"}}"), "{}", frame.data);
    assert_eq!(one.chunks, [b"id: 3\n".to_vec(), format!("data: {}\n\n", frame.data).into_bytes()]);
    assert_eq!(two.frame_now().await, frame);
}

#[tokio::test]
async fn the_envelope_is_the_engines() {
    let desk = Desk::plain();
    let id = desk.create(&json!({"task": "hello"})).await;
    let frames = desk.stream(&id, "?replay=true").await.through("run_finished").await;
    let members = |kind: &str| -> Vec<String> {
        let frame = frames.iter().find(|frame| frame.kind() == kind).unwrap();
        frame.json().as_object().unwrap().keys().cloned().collect()
    };
    let bridge = [
        "id",
        "seq",
        "type",
        "session_id",
        "turn",
        "timestamp",
        "timestamp_ms",
        "protocol_version",
        "payload",
    ];
    let runtime: Vec<&str> =
        bridge.into_iter().chain(["classification", "family", "actor", "visibility"]).collect();
    assert_eq!(members("completion"), bridge);
    assert_eq!(members("assistant_message"), runtime);
    assert_eq!(numbers(&frames), (1..=frames.len() as u64).collect::<Vec<_>>());
    let user = frames.iter().find(|frame| frame.kind() == "user_message").map(Frame::json).unwrap();
    assert_eq!(user["payload"], json!({"text": "hello", "message": {"role": "user", "content": "hello"}}));
    assert_eq!(user["actor"], json!({"kind": "human"}));
    assert_eq!(user["turn"], Value::Null);
}

#[tokio::test]
async fn a_restart_forgets_everything_and_breaks_every_stream() {
    let desk = Desk::plain();
    let id = session_with(&desk, 2).await;
    let mut stream = desk.stream(&id, "?replay=true").await;
    stream.rest().await;
    desk.simulator.restart();
    assert_eq!(stream.next().await, Next::Broken);
    assert_eq!(desk.get("/v1/sessions").await.pair(), (200, json!([])));
    assert_eq!(desk.get(&format!("/v1/sessions/{id}")).await.status, 404);
}

#[tokio::test]
async fn streams_that_are_cut_break_in_the_middle_of_a_frame_and_can_be_taken_up() {
    let desk = Desk::plain();
    let id = session_with(&desk, 3).await;
    let mut stream = desk.stream(&id, "?replay=true").await;
    stream.rest().await;
    desk.simulator.cut_streams();
    assert_eq!(stream.next().await, Next::Broken);
    desk.simulator.emit(&id, "warning", &json!({}));
    let (frames, _) = desk.stream(&id, "?from_id=3").await.rest().await;
    assert_eq!(numbers(&frames), [4]);
}
