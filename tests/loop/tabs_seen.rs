//! Tabs that are hidden, without a view, there again, or slow (seed 001): nothing is lost, doubled or sent to nobody.

use std::sync::atomic::Ordering;

use breadboard_ls::testing::app::Event;
use breadboard_ls::testing::domain::dialect::desktop::message::ServerMessage;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};
use crate::tabs::{messages, open, prompt, session};
use crate::tabs_client::{TabClient, say_in, uuid};

async fn visible(desk: &Desk, tab_id: &str, visible: bool) -> Value {
    desk.ask("bb/tab/visibility", json!({"tabId": tab_id, "visible": visible})).await.unwrap()
}

/// Tokens, each in a batch and so in a message of its own.
async fn tokens(desk: &Desk, session_id: &str, pieces: std::ops::Range<usize>) {
    for piece in pieces {
        desk.token(session_id, &format!("{piece} ")).await;
        desk.caught_up().await;
        let read = json!({"sessionId": session_id, "fromSeq": 1, "limit": 1});
        desk.ask("bb/events/read", read).await.unwrap();
    }
}

/// What was sent about a session and its tab.
fn sent(desk: &Desk) -> usize {
    ["bb/tab", "bb/events", "bb/view"].iter().map(|method| desk.heard(method).len()).sum()
}

#[tokio::test]
async fn r001_09_11_26_29_54_66_what_a_hidden_tab_missed_comes_in_order_when_it_is_shown_and_nothing_before()
{
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    let session_id = session(&desk).await;
    tokens(&desk, &session_id, 0..3).await;
    visible(&desk, &tab_id, false).await;
    let (before, told) = (sent(&desk), messages(&desk, &tab_id).len());
    tokens(&desk, &session_id, 3..20).await;
    assert_eq!(sent(&desk), before, "nobody sees it");
    let shown = visible(&desk, &tab_id, true).await;
    let missed = messages(&desk, &tab_id).split_off(told);
    assert_eq!(missed.len(), 17);
    assert!(missed.iter().all(|message| message["kind"] == "response-chunk"), "{missed:?}");
    assert_eq!(shown["index"], missed.last().unwrap()["index"]);
    let mut client = TabClient::new(&tab_id);
    client.read(&desk, 0);
    client.assert_level(&desk, "shown again").await;
    // Events go on from where they were, the view by a snapshot.
    assert_eq!(desk.heard_events(&session_id), desk.events(&session_id).await);
    assert!(desk.heard("bb/view").last().unwrap()["snapshot"].is_object());
}

#[tokio::test]
async fn r001_10_29_a_tab_that_missed_too_much_gets_one_snapshot_instead_of_messages() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    let session_id = session(&desk).await;
    tokens(&desk, &session_id, 0..3).await;
    visible(&desk, &tab_id, false).await;
    let told = messages(&desk, &tab_id).len();
    tokens(&desk, &session_id, 3..300).await;
    visible(&desk, &tab_id, true).await;
    let missed = messages(&desk, &tab_id).split_off(told);
    assert_eq!(missed.len(), 1);
    assert_eq!((&missed[0]["kind"], &missed[0]["index"]), (&json!("snapshot"), &json!(told + 1)));
    let blocks = missed[0]["view"]["lanes"]["chat"]["blocks"].as_array().unwrap();
    let ids: Vec<&Value> = blocks.iter().map(|block| &block["id"]).collect();
    let running = json!([{"messageId": uuid(11), "turn": 1, "blockIds": ids, "status": "running"}]);
    assert_eq!(missed[0]["messages"], running);
    // Late words still find their prompt.
    tokens(&desk, &session_id, 300..302).await;
    let last = messages(&desk, &tab_id).pop().unwrap();
    assert_eq!((&last["messageId"], &last["text"]), (&json!(uuid(11)), &json!("301 ")));
    let mut client = TabClient::new(&tab_id);
    client.read(&desk, 0);
    client.assert_level(&desk, "after a snapshot").await;
}

#[tokio::test]
async fn r001_59_to_63_68_a_view_that_is_gone_costs_nothing_and_a_new_one_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    prompt(&desk, &tab_id, 12, "two").await;
    let session_id = session(&desk).await;
    tokens(&desk, &session_id, 0..3).await;
    let mut client = TabClient::new(&tab_id);
    client.read(&desk, 0);
    // The same view, loaded anew, that noted a little too late what it saw.
    let back = json!({"tabs": [{"tabId": tab_id, "epoch": client.epoch, "lastSeenIndex": client.last - 2},
        {"tabId": uuid(7)}]});
    let from = desk.paper.messages.lock().unwrap().len();
    let attached = desk.ask("bb/tab/attach", back).await.unwrap();
    assert_eq!(
        attached,
        json!({"tabs": [
            {"tabId": tab_id, "index": client.last, "mode": "replayed", "epoch": client.epoch},
            {"tabId": uuid(7), "index": 0, "mode": "unknown"},
        ]})
    );
    assert_eq!(desk.paper.messages.lock().unwrap().len(), from + 2, "only what it missed");
    client.read(&desk, from);
    client.assert_level(&desk, "the doubles are ignored").await;
    // The view is gone: its session works on, unseen.
    desk.ask("bb/tab/detach", json!({"tabIds": [tab_id]})).await.unwrap();
    let before = sent(&desk);
    tokens(&desk, &session_id, 3..6).await;
    assert_eq!(sent(&desk), before);
    let from = desk.paper.messages.lock().unwrap().len();
    let back = json!({"tabs": [{"tabId": tab_id, "epoch": client.epoch, "lastSeenIndex": client.last}]});
    let attached = desk.ask("bb/tab/attach", back).await.unwrap();
    assert_eq!(attached["tabs"][0]["mode"], "snapshot", "the buffer was discarded");
    client.read(&desk, from);
    client.assert_level(&desk, "from a snapshot").await;
    assert_eq!((client.queue.clone(), client.snapshots), (vec![uuid(12)], 1));
    // The editor is restarted, and its client still has numbers of the old process.
    desk.kill().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    let old = client.epoch.clone();
    let back = json!({"tabs": [{"tabId": tab_id, "epoch": old, "lastSeenIndex": 1}]});
    let attached = desk.ask("bb/tab/attach", back).await.unwrap();
    assert_eq!(
        (&attached["tabs"][0]["mode"], &attached["tabs"][0]["index"]),
        (&json!("snapshot"), &json!(1))
    );
    client.read(&desk, 0);
    assert_ne!(client.epoch, old);
    client.assert_level(&desk, "after a restart").await;
    assert_eq!(client.queue, [uuid(12)], "what waited waits");
    assert_eq!(client.complete, [(uuid(11), "interrupted".to_owned())].into());
    desk.ask("bb/queue/resume", json!({"tabId": tab_id})).await.unwrap();
    assert_eq!(desk.engine_heard(), ["start 2 two"]);
    let token = ServerMessage::Token { token: "x".to_owned(), cumulative_text: None };
    say_in(&desk, &session_id, 2, token).await;
    desk.events(&session_id).await;
    assert_eq!(messages(&desk, &tab_id).pop().unwrap()["messageId"], uuid(12));
}

#[tokio::test]
async fn r001_63_an_ask_that_waits_is_in_the_snapshot_and_can_be_answered_by_the_new_view() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    let session_id = session(&desk).await;
    desk.ask("bb/tab/detach", json!({"tabIds": [tab_id]})).await.unwrap();
    desk.ask_to_run(&session_id, "permission_1", "cargo test").await;
    desk.caught_up().await;
    desk.ask("bb/tab/attach", json!({"tabs": [{"tabId": tab_id}]})).await.unwrap();
    let snapshot = messages(&desk, &tab_id).pop().unwrap();
    let permission = &snapshot["permissions"][0];
    let answer = json!({"tabId": tab_id, "requestId": permission["requestId"], "decision": "deny",
        "digest": permission["digest"]});
    assert_eq!(desk.ask("bb/approvePermission", answer).await.unwrap()["outcome"], "recorded");
    let settled = messages(&desk, &tab_id).pop().unwrap();
    assert_eq!((&settled["kind"], &settled["status"]), (&json!("permission"), &json!("denied")));
}

#[tokio::test]
async fn r001_53_an_outbox_that_is_full_loses_and_doubles_nothing_of_a_tab() {
    for stretch in [40, 400] {
        let dir = tempfile::tempdir().unwrap();
        let desk = Desk::at(dir.path(), Setup::default());
        let tab_id = open(&desk, 1).await;
        prompt(&desk, &tab_id, 11, "one").await;
        let session_id = session(&desk).await;
        desk.paper.room.store(7, Ordering::SeqCst);
        tokens(&desk, &session_id, 0..stretch).await;
        desk.paper.room.store(usize::MAX, Ordering::SeqCst);
        desk.inbox.send(Event::OutboxDrained { client: desk.client }).unwrap();
        desk.caught_up().await;
        tokens(&desk, &session_id, stretch..stretch + 1).await;
        let mut client = TabClient::new(&tab_id);
        client.read(&desk, 0);
        client.assert_level(&desk, "level").await;
        assert_eq!(client.snapshots, usize::from(stretch > 256));
        assert_eq!(desk.heard_events(&session_id), desk.events(&session_id).await);
    }
}

#[tokio::test]
async fn a_tab_that_acknowledges_gets_no_more_than_256_messages_ahead_and_then_a_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    desk.ask("bb/tab/ack", json!({"tabId": tab_id, "index": 1})).await.unwrap();
    prompt(&desk, &tab_id, 11, "one").await;
    let session_id = session(&desk).await;
    tokens(&desk, &session_id, 0..300).await;
    let told = messages(&desk, &tab_id);
    assert_eq!(told.len(), 258, "256, and the snapshot that stands for the next");
    assert_eq!(told[257]["kind"], "snapshot");
    desk.ask("bb/tab/ack", json!({"tabId": tab_id, "index": 258})).await.unwrap();
    assert_eq!(messages(&desk, &tab_id).len(), 259);
    let mut client = TabClient::new(&tab_id);
    client.read(&desk, 0);
    client.assert_level(&desk, "acknowledged").await;
    assert_eq!(client.snapshots, 2);
}

#[tokio::test]
async fn without_the_subscription_no_message_of_a_tab_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    desk.ask("bb/init", json!({"subscribe": {"tabs": false}})).await.unwrap();
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    let session_id = session(&desk).await;
    tokens(&desk, &session_id, 0..3).await;
    assert_eq!(desk.heard("bb/tab"), Vec::<Value>::new());
    desk.ask("bb/init", json!({})).await.unwrap();
    let mut client = TabClient::new(&tab_id);
    client.read(&desk, 0);
    client.assert_level(&desk, "wanted at last").await;
    assert_eq!(client.kinds, ["snapshot"]);
}

#[tokio::test]
async fn a_client_that_asks_for_a_session_itself_hears_it_though_its_tab_is_hidden() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    let session_id = session(&desk).await;
    visible(&desk, &tab_id, false).await;
    let before = desk.heard("bb/tab").len();
    tokens(&desk, &session_id, 0..3).await;
    desk.ask("bb/selectSession", json!({"sessionId": session_id})).await.unwrap();
    tokens(&desk, &session_id, 3..5).await;
    assert_eq!(desk.heard_events(&session_id), desk.events(&session_id).await);
    assert_eq!(desk.heard("bb/tab").len(), before);
}

#[tokio::test]
async fn of_tabs_that_nobody_sees_the_oldest_goes_first_where_there_is_no_room() {
    const TABS: u64 = 128;
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    // Given as many tabs as there may be, two of which no view has
    for number in 1..=TABS {
        open(&desk, number).await;
    }
    let too_many = desk.ask("bb/tab/open", json!({"tabId": uuid(500)})).await.unwrap_err();
    assert_eq!(too_many.message, "128 tabs are open; close one of them first.");
    desk.ask("bb/tab/detach", json!({"tabIds": [uuid(5)]})).await.unwrap();
    desk.ask("bb/tab/detach", json!({"tabIds": [uuid(2)]})).await.unwrap();
    // When others are opened
    let mut gone = Vec::new();
    for number in [501, 502] {
        open(&desk, number).await;
        let mut left = Vec::new();
        for number in (1..=TABS).chain([501, 502]) {
            if desk.ask("bb/queue/list", json!({"tabId": uuid(number)})).await.is_err() {
                left.push(number);
            }
        }
        left.retain(|number| !gone.contains(number) && *number <= TABS);
        gone.extend(left);
    }
    // Then the one that was opened first goes first, none that somebody sees goes, and the next one finds no room
    assert_eq!(gone, [2, 5]);
    let refused = desk.ask("bb/tab/open", json!({"tabId": uuid(503)})).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "overloaded");
    // And the session of a tab that went is still in the history
    let listed = desk.ask("bb/listSessions", json!({})).await.unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 130);
}
