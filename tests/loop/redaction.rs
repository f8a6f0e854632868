//! No secret stays on disk, and hiding one breaks nothing (invariant 12).

use breadboard_ls::testing::domain::dialect::desktop::message::{FinalMetadata, ServerMessage};
use serde_json::json;

use crate::desk::{Desk, Setup};

const SECRET: &str = "sk-7f3a9b-very-secret";

#[tokio::test]
async fn a_token_is_in_no_file_of_the_state_directory() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    desk.ask("bb/setCredentials", json!({"scope": "model", "token": SECRET})).await.unwrap();
    let session = desk.session().await;
    for (id, text) in [("m1", format!("use {SECRET}")), ("m2", format!("queued {SECRET}"))] {
        let prompt = json!({"sessionId": session, "text": text, "messageId": id});
        desk.ask("bb/sendMessage", prompt).await.unwrap();
    }
    desk.token(&session, &format!("it is {SECRET}.")).await;
    let (start, end) = SECRET.split_at(6);
    desk.token(&session, &format!(" In two pieces: {start}")).await;
    desk.token(&session, end).await;
    desk.ask_to_run(&session, "permission_1", &format!("curl -H {SECRET}")).await;
    desk.ask("bb/stop", json!({"sessionId": session})).await.unwrap();
    desk.end(&session, 1).await;
    desk.caught_up().await;
    assert_eq!(desk.events(&session).await.len(), 7);
    desk.close().await;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = memchr::memmem::find(&bytes, SECRET.as_bytes());
            assert_eq!(found, None, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn a_token_of_digits_does_not_break_the_numbers_of_an_event() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    desk.ask("bb/setCredentials", json!({"scope": "model", "token": "123456"})).await.unwrap();
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    let metadata = FinalMetadata {
        tokens_used: 91_234_567,
        files_modified: 0,
        tools_used: vec![],
        success: true,
        cancelled: false,
    };
    desk.say(&session, ServerMessage::MessageFinal { message: "it is 123456".to_owned(), metadata }).await;
    desk.end(&session, 1).await;
    let events = desk.events(&session).await;
    assert_eq!(events.len(), 2);
    assert_eq!(events[1]["payload"]["message"], "it is [redacted]");
    assert_eq!(events[1]["payload"]["metadata"]["tokens_used"], 91_234_567);
    assert_eq!(desk.heard_events(&session), events);
}
