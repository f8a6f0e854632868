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
    let (mut translator, _) = Translator::begin(&view(json!([])), TokenPieces::WithAllSoFar);
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
    let (mut translator, _) = Translator::begin(&view(json!([])), TokenPieces::WithAllSoFar);
    let start = || changes(11, json!([block("t", 11, json!({ "kind": "turn-start" }))]));
    assert!(!translator.view(start()).is_empty());
    assert!(translator.view(start()).is_empty());
}

#[test]
fn a_turn_that_ended_while_a_client_was_behind_is_ended_for_it_too() {
    let (mut translator, _) = Translator::begin(&view(json!([])), TokenPieces::WithAllSoFar);
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
    let (mut translator, _) = Translator::begin(&view(json!([])), TokenPieces::WithAllSoFar);
    translator.view(changes(11, json!([block("t", 11, json!({ "kind": "turn-start" }))])));
    let end = block("t-end", 13, json!({ "kind": "turn-end", "outcome": "failed" }));
    let said = messages(translator.view(changes(13, json!([end]))));
    let kinds: Vec<&str> = said.iter().map(|message| message["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["server.error", "assistant.message_final"]);
    assert_eq!(said[1]["metadata"]["success"], false);
}

/// A turn that streams this many pieces of this text, each in a message of its own.
fn streamed(translator: &mut Translator, pieces: usize, piece: &str) -> Vec<Value> {
    translator.view(changes(11, json!([block("t", 11, json!({ "kind": "turn-start" }))])));
    let first = block("a", 12, json!({ "kind": "assistant", "streaming": true, "text": piece }));
    let mut said = messages(translator.view(changes(12, json!([first]))));
    for at in 1..pieces as u64 {
        said.extend(messages(translator.view(changes(12 + at, json!([{ "id": "a", "append": piece }])))));
    }
    let end = block("t-end", 12 + pieces as u64, json!({ "kind": "turn-end", "outcome": "done" }));
    said.extend(messages(translator.view(changes(12 + pieces as u64, json!([end])))));
    said
}

#[test]
fn r002_72_a_long_answer_costs_a_fixed_number_of_times_its_length_and_every_piece_says_all_so_far() {
    let (mut translator, _) = Translator::begin(&view(json!([])), TokenPieces::WithAllSoFar);
    let said = streamed(&mut translator, 20_000, "word ");
    let mut so_far = String::new();
    let mut bytes = 0;
    for token in said.iter().filter(|message| message["type"] == "assistant.token") {
        so_far.push_str(token["token"].as_str().unwrap());
        assert_eq!(token["cumulative_text"], so_far.as_str());
        bytes += token.to_string().len();
    }
    assert_eq!(so_far, "word ".repeat(20_000));
    assert_eq!(said.last().unwrap()["message"], so_far.as_str());
    // One message a piece would be a gigabyte.
    assert!(bytes < so_far.len() * 2 * (SHARE + 2), "{bytes} bytes for {}", so_far.len());
}

#[test]
fn a_client_that_puts_the_pieces_together_itself_is_told_each_at_once_and_alone() {
    let (mut translator, _) = Translator::begin(&view(json!([])), TokenPieces::Alone);
    let said = streamed(&mut translator, 500, "word ");
    let tokens: Vec<&Value> = said.iter().filter(|message| message["type"] == "assistant.token").collect();
    assert_eq!(tokens.len(), 500);
    assert!(tokens.iter().all(|token| token["token"] == "word " && token.get("cumulative_text").is_none()));
}

#[test]
fn a_turn_that_says_more_than_is_put_together_is_told_to_its_end_and_says_where_its_beginning_is() {
    let (mut translator, _) = Translator::begin(&view(json!([])), TokenPieces::WithAllSoFar);
    translator.view(changes(11, json!([block("t", 11, json!({ "kind": "turn-start" }))])));
    let half = "x".repeat(TURN_TEXT / 2);
    let mut said = Vec::new();
    for at in 0..4_u64 {
        let text = block(
            &format!("a{at}"),
            12 + at,
            json!({ "kind": "assistant", "streaming": false, "text": half }),
        );
        said.extend(messages(translator.view(changes(12 + at, json!([text])))));
    }
    let end = block("t-end", 20, json!({ "kind": "turn-end", "outcome": "done" }));
    said.extend(messages(translator.view(changes(20, json!([end])))));
    let told: usize = said.iter().filter_map(|message| message["token"].as_str()).map(str::len).sum();
    assert_eq!(told, 4 * half.len() + 3 * BETWEEN.len());
    let kinds: Vec<&str> =
        said.iter().rev().take(2).map(|message| message["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["assistant.message_final", "server.notice"]);
    let answer = said.last().unwrap()["message"].as_str().unwrap();
    assert!(answer.ends_with(&half) && answer.len() <= TURN_TEXT + BETWEEN.len(), "{}", answer.len());
}

#[test]
fn a_snapshot_is_bounded_and_says_what_it_leaves_out() {
    let blocks: Vec<Value> = (0..40)
        .map(|at| {
            let text = format!("{at} {}", "y".repeat(200 << 10));
            block(&format!("u{at}"), at + 1, json!({ "kind": "user", "text": text }))
        })
        .collect();
    let (_, told) = Translator::begin(&view(Value::Array(blocks)), TokenPieces::WithAllSoFar);
    let snapshot = &messages(told)[0];
    assert!(snapshot.to_string().len() < 1 << 20, "{}", snapshot.to_string().len());
    assert_eq!(snapshot["has_more"], true);
    let last = snapshot["messages"].as_array().unwrap().last().unwrap();
    assert!(last["content"].as_str().unwrap().starts_with("39 ") && last["truncated"] == true, "{last:.80}");
}
