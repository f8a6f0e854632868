//! Tests of the translator: views in, messages out.

use serde_json::{Value, json};

use super::*;

fn view(blocks: Value) -> View {
    let lane = |blocks: Value| json!({ "blocks": blocks, "hasMore": false });
    let lanes = json!({ "chat": lane(blocks), "tasks": lane(json!([])), "run": lane(json!([])), "debug": lane(json!([])) });
    serde_json::from_value(json!({ "epoch": "e", "seq": 10, "lanes": lanes })).unwrap()
}

fn changes(to_seq: u64, changes: Value) -> ViewParams {
    let changes: Vec<Value> = changes
        .as_array()
        .unwrap()
        .iter()
        .map(|change| match change.get("append") {
            Some(text) => json!({ "lane": "chat", "op": "append", "id": change["id"], "text": text }),
            None => json!({ "lane": "chat", "op": "put", "id": change["id"], "block": change }),
        })
        .collect();
    serde_json::from_value(json!({
        "sessionId": "s", "epoch": "e", "fromSeq": to_seq, "toSeq": to_seq, "changes": changes
    }))
    .unwrap()
}

fn block(id: &str, seq: u64, body: Value) -> Value {
    let mut block = body;
    block["id"] = id.into();
    block["seq"] = seq.into();
    block
}

fn messages(told: Vec<ClientNews>) -> Vec<Value> {
    told.into_iter()
        .filter_map(|told| match told {
            ClientNews::Message(message) => Some(serde_json::to_value(*message).unwrap()),
            ClientNews::Ask(_) | ClientNews::Settled(..) | ClientNews::State | ClientNews::UpTo(_) => None,
        })
        .collect()
}

#[test]
fn r002_72_73_the_final_message_is_the_tokens_put_together_and_each_token_says_all_so_far() {
    let (mut translator, _) = Translator::begin(&view(json!([])));
    let put = |id: &str, seq: u64, text: &str| {
        changes(seq, json!([block(id, seq, json!({ "kind": "assistant", "streaming": true, "text": text }))]))
    };
    let mut told = translator.view(changes(11, json!([block("t", 11, json!({ "kind": "turn-start" }))])));
    told.extend(translator.view(put("a", 12, "One ")));
    told.extend(
        translator.view(changes(13, json!([{ "id": "a", "append": "two" }, { "id": "a", "append": "!" }]))),
    );
    told.extend(translator.view(put("b", 14, "Three")));
    let end = block("t-end", 15, json!({ "kind": "turn-end", "outcome": "done", "totalTokens": 7 }));
    told.extend(translator.view(changes(15, json!([end]))));
    let said = messages(told);
    let tokens: Vec<&Value> = said.iter().filter(|message| message["type"] == "assistant.token").collect();
    let pairs: Vec<(&str, &str)> = tokens
        .iter()
        .map(|token| (token["token"].as_str().unwrap(), token["cumulative_text"].as_str().unwrap()))
        .collect();
    assert_eq!(pairs, [("One ", "One "), ("two!", "One two!"), ("\n\nThree", "One two!\n\nThree")]);
    let last = said.last().unwrap();
    assert_eq!(
        (&last["message"], &last["metadata"]["tokens_used"]),
        (&json!("One two!\n\nThree"), &json!(7))
    );
    assert_eq!(last["metadata"]["success"], true);
}

#[test]
fn what_was_told_already_is_not_told_again() {
    let (mut translator, _) = Translator::begin(&view(json!([])));
    let start = || changes(11, json!([block("t", 11, json!({ "kind": "turn-start" }))]));
    assert!(!translator.view(start()).is_empty());
    assert!(translator.view(start()).is_empty());
}

#[test]
fn a_turn_that_ended_while_a_client_was_behind_is_ended_for_it_too() {
    let (mut translator, _) = Translator::begin(&view(json!([])));
    translator.view(changes(11, json!([block("t", 11, json!({ "kind": "turn-start" }))])));
    assert!(translator.running);
    let mut snapshot = view(json!([
        block("t", 11, json!({ "kind": "turn-start" })),
        json!({ "kind": "assistant", "streaming": false, "text": "All of it.", "id": "a", "seq": 12 }),
        block("t-end", 20, json!({ "kind": "turn-end", "outcome": "stopped" })),
    ]));
    snapshot.seq = 20;
    let params: ViewParams = serde_json::from_value(json!({
        "sessionId": "s", "epoch": "e", "fromSeq": 20, "toSeq": 20, "changes": [], "snapshot": snapshot
    }))
    .unwrap();
    let said = messages(translator.view(params));
    let kinds: Vec<&str> = said.iter().map(|message| message["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session.snapshot", "assistant.message_final"]);
    assert_eq!(said[0]["reason"], "behind");
    assert_eq!(
        (&said[1]["message"], &said[1]["metadata"]["cancelled"]),
        (&json!("All of it."), &json!(true))
    );
    assert!(!translator.running);
}

#[test]
fn a_turn_that_failed_says_so_before_its_final_message() {
    let (mut translator, _) = Translator::begin(&view(json!([])));
    translator.view(changes(11, json!([block("t", 11, json!({ "kind": "turn-start" }))])));
    let end = block("t-end", 13, json!({ "kind": "turn-end", "outcome": "failed" }));
    let said = messages(translator.view(changes(13, json!([end]))));
    let kinds: Vec<&str> = said.iter().map(|message| message["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["server.error", "assistant.message_final"]);
    assert_eq!(said[1]["metadata"]["success"], false);
}
