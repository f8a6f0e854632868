//! Tabs of sessions that their engine ended: no binding is left, and all that was said can be read.

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::coded_error::ErrorCode;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};
use crate::held::held;
use crate::tabs::messages;
use crate::tabs_client::uuid;

async fn open(desk: &Desk, number: u64) {
    desk.ask("bb/tab/open", json!({"tabId": uuid(number), "sessionId": "s1"})).await.unwrap();
}

async fn prompt(desk: &Desk, tab: u64, message: u64) -> Result<Value, (ErrorCode, String)> {
    let params = json!({"tabId": uuid(tab), "messageId": uuid(message), "text": "go on"});
    desk.ask("bb/tab/prompt", params).await.map_err(|error| (error.code, error.message))
}

const REFUSED: &str = "This session takes no more prompts (it has failed); create a new one to go on.";

#[tokio::test]
async fn r001_49_a_session_that_its_engine_ended_leaves_both_maps_and_can_be_read_in_its_tab() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), held());
    desk.held_session().await;
    open(&desk, 1).await;
    desk.working("one", 1).await;
    // When the engine ends the session in a turn that began in no tab, and another that waits
    desk.ask("bb/tab/prompt", json!({"tabId": uuid(1), "messageId": uuid(11), "text": "two"})).await.unwrap();
    let before = messages(&desk, &uuid(1)).len();
    desk.link(LinkNews::Ended { status: "failed".into(), configuration: None }).await;
    desk.caught_up().await;
    // Then its tab hears of the end of the turn, and, last, that nothing more comes
    let told = messages(&desk, &uuid(1)).split_off(before);
    let kinds: Vec<&str> = told.iter().map(|message| message["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "response-complete").count(), 1, "{kinds:?}");
    let last = told.last().unwrap();
    let (kind, code, message) = (&last["kind"], &last["code"], &last["message"]);
    assert_eq!((kind, code, message), (&json!("error"), &json!("engine_rejected"), &json!(REFUSED)));
    let after = messages(&desk, &uuid(1)).len();
    desk.calls.0.lock().unwrap().clear();
    // And a prompt is refused before anything is made, here as in a tab that is opened to read it
    assert_eq!(prompt(&desk, 1, 12).await, Err((ErrorCode::EngineRejected, REFUSED.to_owned())));
    open(&desk, 2).await;
    assert_eq!(prompt(&desk, 2, 13).await, Err((ErrorCode::EngineRejected, REFUSED.to_owned())));
    assert_eq!(messages(&desk, &uuid(1)).len(), after);
    // And what was said is read: by its pages, and by a view that comes anew, which says that the session is over
    let page = desk.ask("bb/view/page", json!({"tabId": uuid(1), "lane": "chat"})).await.unwrap();
    let asked = |blocks: &Value| blocks.as_array().unwrap()[0]["text"].clone();
    assert_eq!(asked(&page["blocks"]), "one");
    desk.ask("bb/tab/detach", json!({"tabIds": [uuid(1)]})).await.unwrap();
    desk.ask("bb/tab/attach", json!({"tabs": [{"tabId": uuid(1)}]})).await.unwrap();
    let snapshot = messages(&desk, &uuid(1)).pop().unwrap();
    assert_eq!(
        (
            &snapshot["kind"],
            &asked(&snapshot["view"]["lanes"]["chat"]["blocks"]),
            &snapshot["error"]["message"]
        ),
        (&json!("snapshot"), &json!("one"), &json!(REFUSED))
    );
    // And to close both tabs ends nothing at the engine
    for number in [1, 2] {
        desk.ask("bb/tab/close", json!({"tabId": uuid(number)})).await.unwrap();
    }
    assert_eq!(desk.engine_heard(), Vec::<String>::new());
}

#[tokio::test]
async fn r001_49_a_tab_of_an_ended_session_is_the_same_in_another_process() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), held());
    desk.held_session().await;
    open(&desk, 1).await;
    desk.working("one", 1).await;
    desk.link(LinkNews::Ended { status: "failed".into(), configuration: None }).await;
    desk.caught_up().await;
    desk.close().await;
    // When another process is asked for the tab
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..held() });
    let attached = desk.ask("bb/tab/attach", json!({"tabs": [{"tabId": uuid(1)}]})).await.unwrap();
    // Then it shows what was said and that the session is over
    assert_eq!(attached["tabs"][0]["mode"], "snapshot");
    let snapshot = messages(&desk, &uuid(1)).pop().unwrap();
    assert_eq!(snapshot["error"]["message"], REFUSED);
    assert_eq!(snapshot["view"]["lanes"]["chat"]["blocks"][0]["text"], "one");
    assert_eq!(prompt(&desk, 1, 12).await, Err((ErrorCode::EngineRejected, REFUSED.to_owned())));
    // And once the session is deleted, a prompt begins another one
    let (deleted, ()) = tokio::join!(desk.ask("bb/deleteSession", json!({"sessionId": "s1"})), async {
        desk.called(
            |call| matches!(call, EngineCall::Forget { .. } | EngineCall::DeleteSession { .. }),
            drop,
        )
        .await;
    });
    assert_eq!(deleted.unwrap()["deleted"], true);
    assert_eq!(messages(&desk, &uuid(1)).last().unwrap()["code"], "unknown_session");
    assert_eq!(prompt(&desk, 1, 14).await.unwrap()["disposition"], "queued");
}
