//! Prompts, turns and the queue (ruling 7).

use serde_json::json;

use crate::desk::{Desk, Setup, types};

#[tokio::test]
async fn r000_50_a_turn_is_journalled_in_order_and_heard_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    assert_eq!(desk.prompt(&session, "hello").await["disposition"], "started");
    desk.token(&session, "a").await;
    desk.token(&session, "b").await;
    desk.finish(&session, 1, "ab").await;
    let stored = desk.events(&session).await;
    assert_eq!(
        types(&stored),
        ["local.prompt", "assistant.token", "assistant.token", "assistant.message_final"]
    );
    assert_eq!(desk.heard_events(&session), stored);
    let selected = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
    let chat = selected["view"]["lanes"]["chat"]["blocks"].as_array().unwrap();
    assert_eq!(chat[0]["text"], "hello");
    let kinds: Vec<&str> = chat.iter().map(|block| block["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "turn-start", "assistant", "turn-end"]);
    assert_eq!((&chat[2]["text"], &chat[2]["streaming"]), (&json!("ab"), &json!(false)));
}

#[tokio::test]
async fn a_second_prompt_waits_and_starts_when_the_first_ends() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    assert_eq!(desk.prompt(&session, "two").await["disposition"], "queued");
    assert_eq!(desk.prompt(&session, "three").await["disposition"], "queued");
    let list = json!({"sessionId": session, "messageId": "three", "before": "two"});
    let moved = desk.ask("bb/queue/move", list).await.unwrap();
    assert_eq!(
        moved["items"],
        json!([{"messageId": "three", "text": "three"}, {"messageId": "two", "text": "two"}])
    );
    assert_eq!(desk.engine_heard(), ["start 1 one"], "one input is outstanding");
    desk.finish(&session, 1, "").await;
    desk.caught_up().await;
    assert_eq!(desk.engine_heard(), ["start 1 one", "start 2 three"]);
}

#[tokio::test]
async fn the_same_message_id_gives_the_same_answer_and_does_nothing_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    let first = desk.prompt(&session, "one").await;
    let queued = desk.prompt(&session, "two").await;
    assert_eq!(desk.prompt(&session, "one").await, first);
    assert_eq!(desk.prompt(&session, "two").await, queued);
    assert_eq!(desk.engine_heard(), ["start 1 one"]);
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    assert_eq!(desk.prompt(&session, "one").await, first);
    assert_eq!(desk.engine_heard(), Vec::<String>::new());
}

#[tokio::test]
async fn r000_26_stop_ends_the_turn_pauses_the_queue_and_resume_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.prompt(&session, "two").await;
    let stopped = desk.ask("bb/stop", json!({"sessionId": session})).await.unwrap();
    assert_eq!(stopped, json!({"sessionId": session, "stopping": true}));
    desk.end(&session, 1).await;
    desk.caught_up().await;
    let queue = desk.ask("bb/queue/list", json!({"sessionId": session})).await.unwrap();
    assert_eq!(queue, json!({"items": [{"messageId": "two", "text": "two"}], "paused": true}));
    assert_eq!(desk.engine_heard(), ["start 1 one", "stop"]);
    desk.ask("bb/queue/resume", json!({"sessionId": session})).await.unwrap();
    assert_eq!(desk.engine_heard(), ["start 1 one", "stop", "start 2 two"]);
}

#[tokio::test]
async fn a_prompt_sent_while_a_stopped_turn_ends_is_the_next_one_where_nothing_waited() {
    // Given a turn that is stopped with no prompt behind it
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.ask("bb/stop", json!({"sessionId": session})).await.unwrap();
    // When the next prompt comes before that turn has ended
    desk.prompt(&session, "two").await;
    desk.end(&session, 1).await;
    desk.caught_up().await;
    // Then it begins: the stop held back what waited then, and not what was sent after it
    assert_eq!(desk.engine_heard(), ["start 1 one", "stop", "start 2 two"]);
    let queue = desk.ask("bb/queue/list", json!({"sessionId": session})).await.unwrap();
    assert_eq!(queue, json!({"items": [], "paused": false}));
}

#[tokio::test]
async fn a_turn_without_an_end_of_the_engine_gets_one_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.token(&session, "a").await;
    desk.end(&session, 1).await;
    let events = desk.events(&session).await;
    assert_eq!(types(&events), ["local.prompt", "assistant.token", "local.turn_end"]);
    assert_eq!((&events[2]["class"], &events[2]["origin"]), (&json!("run.finished"), &json!("local")));
}

#[tokio::test]
async fn r000_35_r000_36_what_does_not_fit_is_refused_with_its_code() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    let code = async |method: &str, params| desk.ask(method, params).await.unwrap_err().code.as_str();
    assert_eq!(code("bb/sendMessage", json!({"sessionId": session, "text": " \n"})).await, "invalid_params");
    assert_eq!(code("bb/sendMessage", json!({"sessionId": session})).await, "invalid_params");
    assert_eq!(code("bb/sendMessage", json!({"sessionId": "no", "text": "x"})).await, "unknown_session");
    let unknown = json!({"sessionId": session, "text": "x", "attachmentIds": ["att_no"]});
    assert_eq!(code("bb/sendMessage", unknown).await, "not_found");
    assert_eq!(code("bb/selectSession", json!({"sessionId": "no"})).await, "unknown_session");
    assert_eq!(code("bb/deleteSession", json!({"sessionId": "no"})).await, "unknown_session");
    assert_eq!(code("bb/stop", json!({"sessionId": "no"})).await, "unknown_session");
    assert_eq!(code("bb/listFiles", json!({"sessionId": "no", "path": ""})).await, "unknown_session");
    assert_eq!(code("bb/eventBody", json!({"sessionId": session, "seq": 9})).await, "not_found");
    assert_eq!(code("bb/queue/remove", json!({"sessionId": session, "messageId": "no"})).await, "not_found");
    let page = json!({"sessionId": session, "lane": "chat", "before": "no"});
    assert_eq!(code("bb/view/page", page).await, "not_found");
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_its_engine_may_speak_on() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    let deleted = desk.ask("bb/deleteSession", json!({"sessionId": session})).await.unwrap();
    assert_eq!(deleted, json!({"sessionId": session, "deleted": true}));
    desk.token(&session, "late").await;
    desk.end(&session, 1).await;
    desk.caught_up().await;
    assert_eq!(desk.ask("bb/listSessions", json!({})).await.unwrap(), json!({"sessions": []}));
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup::default());
    assert_eq!(desk.ask("bb/listSessions", json!({})).await.unwrap(), json!({"sessions": []}));
}

#[tokio::test]
async fn a_session_whose_first_task_is_refused_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let refused = desk.ask("bb/createSession", json!({"task": "x".repeat((1 << 20) + 1)})).await;
    assert_eq!(refused.unwrap_err().code.as_str(), "too_large");
    assert_eq!(desk.ask("bb/listSessions", json!({})).await.unwrap(), json!({"sessions": []}));
}

#[tokio::test]
async fn what_waits_in_a_queue_is_bounded_in_bytes_also_when_it_is_edited() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    desk.prompt(&session, "two").await;
    let large = "x".repeat((1 << 20) + 1);
    let edit = json!({"sessionId": session, "messageId": "two", "text": large});
    assert_eq!(desk.ask("bb/queue/edit", edit).await.unwrap_err().code.as_str(), "too_large");
    let whole = "x".repeat(1 << 20);
    let mut taken = 0;
    let refused = loop {
        match desk.ask("bb/sendMessage", json!({"sessionId": session, "text": whole})).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 64, "no bound");
    };
    assert_eq!(refused.code.as_str(), "overloaded");
    assert!(taken >= 4, "{taken}");
}
