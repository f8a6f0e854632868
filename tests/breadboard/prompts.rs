//! Prompts, their attachments, and stops.

use std::time::Duration;

use breadboard_ls::testing::app::ports::{
    Attachment, Engine, EngineCall, EngineReport, LinkNews, NewSession, StreamCall, StreamReport,
};
use breadboard_ls::testing::engine::breadboard::client::EngineTimeouts;
use breadboard_ls::testing::simulate::breadboard::{HoldPoint, SimulatorOptions};
use serde_json::json;

use crate::desk::{Desk, bodies, lines, scripted, seen, simulator};

#[tokio::test(flavor = "multi_thread")]
async fn r000_25_a_prompt_goes_whole_even_where_it_begins_like_another() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let unasked = NewSession { permission_mode: Some("auto".to_owned()), ..NewSession::default() };
    let id = desk.try_make(unasked).await.expect("a session").session_id;
    let texts = ["fix", "fix the bug", "fix", "fix the bug now"];
    for (turn, text) in (1..).zip(texts) {
        desk.start(&id, turn, text, Vec::new());
        seen(&engine, "/input", usize::try_from(turn).expect("small")).await;
        let done = async {
            while engine.sent(&id).iter().filter(|event| event.kind == "run_finished").count() < turn as usize
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), done).await.expect("the run ends");
    }
    let heard: Vec<String> = engine
        .sent(&id)
        .iter()
        .filter(|event| event.kind == "user_message")
        .map(|event| serde_json::from_str::<serde_json::Value>(&event.payload).expect("JSON"))
        .map(|payload| payload["text"].as_str().expect("text").trim().to_owned())
        .collect();
    assert_eq!(heard, texts);
    let first = &bodies(&engine, "/input")[0];
    assert_eq!(*first, json!({ "content": "fix", "client_message_id": "m1" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_25_what_was_asked_before_a_restart_counts() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    desk.start_with(&id, 2, "fix the bug", Vec::new(), vec![("fix".to_owned(), "done".to_owned())]);
    let content = seen(&engine, "/input", 1).await[0]["content"].as_str().expect("text").to_owned();
    assert_ne!(content, "fix the bug");
    assert_eq!(content.trim_start(), "fix the bug");
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_25_what_the_engine_would_read_otherwise_is_not_sent() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    for (turn, text, why) in
        [(1, " \n ", "is blank"), (2, " replay:x", "recording"), (3, "/replay the bug", "recording")]
    {
        desk.start(&id, turn, text, Vec::new());
        let failure = desk.failure().await;
        assert!(failure.contains(why), "{failure}");
    }
    assert_eq!(bodies(&engine, "/input").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_25_a_prompt_is_never_sent_twice_where_nobody_knows() {
    let engine = simulator(SimulatorOptions::default());
    let patience = EngineTimeouts { answer: Duration::from_millis(300), ..EngineTimeouts::default() };
    let mut desk = Desk::patient(&engine, patience).await;
    let id = desk.make().await;
    engine.hold_answers("/input", HoldPoint::BeforeAnswer);
    desk.start(&id, 1, "one", Vec::new());
    let failure = desk.failure().await;
    assert!(failure.contains("did not say whether it took the prompt"), "{failure}");
    assert_eq!(bodies(&engine, "/input").len(), 1);
    engine.release_answers();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_without_an_answer_that_the_stream_tells_of_runs_and_one_that_it_does_not_tell_of_is_said() {
    let engine = simulator(SimulatorOptions::default());
    let patience = EngineTimeouts {
        answer: Duration::from_millis(300),
        echo: Duration::from_secs(1),
        ..EngineTimeouts::default()
    };
    let mut desk = Desk::patient(&engine, patience).await;
    let unasked = NewSession { permission_mode: Some("auto".to_owned()), ..NewSession::default() };
    let id = desk.try_make(unasked).await.expect("a session").session_id;
    desk.engine.call(EngineCall::Stream(StreamCall::Attach {
        session_id: id.clone(),
        cursor: None,
        open_turn: None,
    }));
    // The engine takes the prompt, and its answer does not come.
    engine.hold_answers("/input", HoldPoint::BeforeAnswer);
    desk.start(&id, 1, "one", Vec::new());
    let first = desk
        .wait(|report| match report {
            EngineReport::TurnEnded { failure, .. } => Some(Err(failure)),
            EngineReport::Said { event, .. } if event.kind == "run_finished" => Some(Ok(())),
            EngineReport::SaidMany { events, .. } => {
                events.iter().any(|(event, _)| event.kind == "run_finished").then_some(Ok(()))
            }
            _ => None,
        })
        .await;
    assert_eq!(first, Ok(()), "the run goes on to its end, and no failure is told of it");
    engine.release_answers();
    // A proxy says that the engine did not answer, and it got nothing.
    engine.answer_next("/input", 502, "Bad Gateway");
    desk.start(&id, 2, "two", Vec::new());
    let (turn, failure) = desk
        .wait(|report| match report {
            EngineReport::TurnEnded { turn, failure, .. } => {
                Some((turn, failure.map(|failure| failure.message).unwrap_or_default()))
            }
            _ => None,
        })
        .await;
    assert!(turn == 2 && failure.contains("did not say whether it took the prompt"), "{turn}: {failure}");
    assert_eq!(bodies(&engine, "/input").len(), 2, "each was sent once");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_tells_of_other_words_than_it_took_and_falls_quiet_is_noticed_and_one_that_tells_of_them_is_not()
 {
    let run = |words: &str| {
        json!([{ "type": "user_message", "payload": { "text": words } },
               { "type": "run_finished", "payload": { "reason": "done" } }])
    };
    let script = json!([
        { "when": "two", "bare": true, "steps": run("two") },
        { "when": "one", "bare": true, "steps": run("in other words") },
    ]);
    let engine = simulator(scripted(&script));
    let patience = EngineTimeouts { claim: Duration::from_millis(200), ..EngineTimeouts::default() };
    let mut desk = Desk::patient(&engine, patience).await;
    let id = desk.make().await;
    desk.engine.call(EngineCall::Stream(StreamCall::Attach {
        session_id: id.clone(),
        cursor: None,
        open_turn: None,
    }));
    desk.wait(|report| match report {
        EngineReport::Stream(StreamReport::Link { news: LinkNews::Resumed(_), .. }) => Some(()),
        _ => None,
    })
    .await;
    // Given a prompt that the engine repeats, and one that it tells of in other words
    for (turn, text) in [(1, "two"), (2, "one")] {
        desk.start(&id, turn, text, Vec::new());
        seen(&engine, "/input", usize::try_from(turn).expect("small")).await;
    }
    // When it is quiet, then that is told of the second alone
    let told = desk
        .wait(|report| match report {
            EngineReport::Stream(StreamReport::QuietBehindAnother { session_id, turn }) => {
                Some((session_id, turn))
            }
            _ => None,
        })
        .await;
    assert_eq!(told, (id, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_25_an_engine_that_knows_messages_is_told_again() {
    let engine = simulator(SimulatorOptions { pr40: true, ..SimulatorOptions::default() });
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    engine.answer_next("/input", 502, "");
    desk.start(&id, 1, "one", Vec::new());
    let body = json!({ "content": "one", "client_message_id": "m1" });
    assert_eq!(seen(&engine, "/input", 2).await, [body.clone(), body]);
    desk.engine.call(EngineCall::Forget { session_id: id });
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_25_refusals_of_a_prompt_are_sentences() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    desk.start("nobody", 1, "one", Vec::new());
    let failure = desk.failure().await;
    assert!(failure.contains("no longer has this session"), "{failure}");
    let id = desk.make().await;
    engine.answer_next("/input", 500, "Internal Server Error");
    desk.start(&id, 1, "one", Vec::new());
    let failure = desk.failure().await;
    assert!(failure.contains("failed inside"), "{failure}");
    engine.end_session(&id, "failed");
    desk.start(&id, 2, "two", Vec::new());
    let failure = desk.failure().await;
    assert_eq!(
        failure,
        "The session failed at the engine, which made it with the configuration \
         `agent_configs/codex_0-107-0_e4_3-6-2026.yaml`. Make a new session, with another configuration if this one cannot start."
    );
    let id = desk.make().await;
    engine.end_session(&id, "completed");
    desk.start(&id, 1, "one", Vec::new());
    assert_eq!(
        desk.failure().await,
        "The session is over at the engine; make a new one and send the prompt there."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_26_a_stop_comes_after_the_prompt_that_it_stops() {
    let engine = simulator(scripted(&json!([{ "when": "long", "steps": [{ "hold": "x" }] }])));
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    engine.hold_answers("/input", HoldPoint::BeforeAnswer);
    desk.start(&id, 1, "long", Vec::new());
    seen(&engine, "/input", 1).await;
    desk.engine.call(EngineCall::Stop { session_id: id.clone() });
    // What is asked for after the stop is asked, done and answered meanwhile; a stop that did not wait would be there too.
    for _ in 0..3 {
        desk.make().await;
    }
    assert_eq!(bodies(&engine, "/command").len(), 0);
    engine.release_answers();
    assert_eq!(seen(&engine, "/command", 1).await, [json!({ "command": "stop" })]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_26_a_newer_engine_cancels_the_turn_by_its_id() {
    let options = scripted(&json!([{ "when": "long", "steps": [{ "hold": "x" }] }]));
    let engine = simulator(SimulatorOptions { pr40: true, ..options });
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    desk.start(&id, 1, "long", Vec::new());
    seen(&engine, "/input", 1).await;
    desk.engine.call(EngineCall::Stop { session_id: id.clone() });
    let body = seen(&engine, "/turns/turn-1/cancel", 1).await;
    assert_eq!(body, [json!({ "cancellation_request_key": "stop-turn-1", "reason": "user_requested" })]);
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_are_uploaded_first_and_an_empty_one_is_said() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    let place = tempfile::tempdir().expect("a place");
    let attachment = |name: &str, bytes: &[u8]| {
        let path = place.path().join("stored");
        std::fs::write(&path, bytes).expect("a file");
        Attachment {
            id: "a".to_owned(),
            name: name.to_owned(),
            mime: "text/plain".to_owned(),
            bytes: bytes.len() as u64,
            path,
        }
    };
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
    desk.start(&id, 1, "see", vec![attachment("a \"b\".txt", &bytes)]);
    let input = seen(&engine, "/input", 1).await;
    let known = input[0]["attachments"][0].as_str().expect("an id").to_owned();
    let folder = engine.workspace(&id).expect("a workspace").join(".breadboard/attachments").join(&known);
    let stored =
        std::fs::read_dir(folder).expect("it is stored").next().expect("a file").expect("a file").path();
    assert!(std::fs::read(stored).expect("bytes") == bytes, "the bytes are the same");
    desk.start(&id, 2, "see", vec![attachment("empty.txt", b"")]);
    let failure = desk.failure().await;
    assert!(failure.contains("`empty.txt` is empty"), "{failure}");
    assert_eq!(lines(&engine, "/input").len(), 1);
}
