//! What a script can make the agent say.

use serde_json::{Value, json};

use crate::desk::{Desk, Next, kinds};

#[tokio::test]
async fn prompts_are_matched_by_their_words_first_and_then_in_order() {
    let said = |text: &str| json!([{"type": "warning", "payload": {"message": text}}]);
    let desk = Desk::scripted(&json!({"prompts": [
        {"steps": said("first")}, {"when": "word", "steps": said("by word")}, {"steps": said("second")},
    ]}));
    let id = desk.create(&json!({})).await;
    for text in ["one", "a word", "two", "my word", "three"] {
        desk.input(&id, text).await;
    }
    desk.logged(&id, "run_finished", 5).await;
    let warnings = |sent: Vec<breadboard_ls::testing::simulate::breadboard::SentEvent>| -> Vec<String> {
        sent.into_iter().filter(|event| event.kind == "warning").map(|event| event.payload).collect()
    };
    let expected = ["first", "by word", "second", "by word"].map(|text| json!({"message": text}).to_string());
    assert_eq!(warnings(desk.simulator.sent(&id)), expected);
    // The fifth got the built-in conversation.
    assert!(desk.simulator.sent(&id).iter().any(|event| event.kind == "tool_call"));
}

#[tokio::test]
async fn a_bare_prompt_is_its_steps_alone_and_raw_text_goes_out_as_it_is() {
    let desk = Desk::scripted(&json!([{"bare": true, "steps": [
        {"type": "a", "payload_text": "{\"x\":NaN,\"y\":\"\\ud83d\"}", "turn": null},
        {"raw": "{\"seq\":$seq,\"of\":\"$sid\",", "log": true},
        {"raw": "loose", "log": false},
        {"repeat": 2, "steps": [{"type": "b", "payload": {}, "pad_bytes": 4, "envelope": {"family": "f"}}]},
        {"ctree": 2},
    ]}]));
    let id = desk.create(&json!({})).await;
    desk.logged(&id, "tool_result", 1).await;
    let mut stream = desk.stream(&id, "?from_id=2").await;
    desk.input(&id, "go").await;
    desk.logged(&id, "ctree_node", 2).await;
    let (frames, end) = stream.rest().await;
    assert_eq!(end, Next::Silence);
    assert!(frames[0].data.ends_with("\"payload\":{\"x\":NaN,\"y\":\"\\ud83d\"}}"), "{}", frames[0].data);
    assert_eq!(frames[1].data, format!("{{\"seq\":4,\"of\":\"{id}\","));
    assert_eq!(frames[1].id.as_deref(), Some("4"));
    assert_eq!((frames[2].id.clone(), frames[2].data.as_str()), (None, "loose"));
    let value = frames[3].json();
    assert_eq!((&value["payload"], &value["family"]), (&json!({"pad": "pppp"}), &json!("f")));
    assert_eq!(kinds(&frames[3..]), ["b", "b", "ctree_node", "ctree_node"]);
    let nodes: Vec<Value> =
        frames[5..].iter().map(|frame| frame.json()["payload"]["node"]["id"].clone()).collect();
    assert_eq!(nodes, ["ctn_000001", "ctn_000002"]);
    // A frame that is in no log is not replayed.
    let (again, _) = desk.stream(&id, "?from_id=2").await.rest().await;
    assert_eq!(again.len(), frames.len() - 1);
}

#[tokio::test]
async fn a_script_can_end_the_session() {
    let desk = Desk::scripted(&json!([[{"delay_ms": 1}, {"end": "completed"}]]));
    let id = desk.create(&json!({"task": "go"})).await;
    assert_eq!(desk.stream(&id, "?replay=true").await.rest().await.1, Next::End);
    assert_eq!(desk.summary(&id).await["status"], "completed");
}
