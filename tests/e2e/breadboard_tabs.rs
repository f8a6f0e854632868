//! Tabs with the simulated BreadBoard engine, which counts the steps of a run where other engines count turns.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::breadboard_desk::{Desk, says};
use crate::harness::Server;

const TAB: &str = "00000000-0000-4000-8000-000000000001";
const ONE: &str = "00000000-0000-4000-8000-000000000011";
const TWO: &str = "00000000-0000-4000-8000-000000000012";
const THREE: &str = "00000000-0000-4000-8000-000000000013";

/// Sends a prompt and waits for the end of its answer.
fn prompt(server: &mut Server, message_id: &str, text: &str) {
    server.ask("bb/tab/prompt", json!({ "tabId": TAB, "messageId": message_id, "text": text }));
    server.wait_notification("bb/tab", |message| {
        message["kind"] == "response-complete" && message["messageId"] == message_id
    });
}

/// The snapshot for a view without memory.
fn snapshot(server: &mut Server) -> Value {
    let back = server.ask("bb/tab/attach", json!({ "tabs": [{ "tabId": TAB }] }));
    let index = back["tabs"][0]["index"].clone();
    server.wait_notification("bb/tab", |message| message["index"] == index)["params"].clone()
}

/// What a snapshot says that each prompt asked and was answered, and whether that is all.
fn shown(snapshot: &Value) -> (Vec<(Value, String, String)>, bool) {
    let chat = &snapshot["view"]["lanes"]["chat"];
    let blocks = chat["blocks"].as_array().expect("blocks");
    let of = |prompt: &Value| {
        let ids = prompt["blockIds"].as_array().expect("the blocks of a prompt");
        let text = |kind: &str| -> String {
            let said = blocks.iter().filter(|block| ids.contains(&block["id"]) && block["kind"] == kind);
            said.filter_map(|block| block["text"].as_str()).collect()
        };
        (prompt["messageId"].clone(), text("user"), text("assistant"))
    };
    let prompts = snapshot["messages"].as_array().expect("prompts").iter().map(of).collect();
    (prompts, chat["hasMore"] == false)
}

fn row(message_id: &str, asked: &str, answered: &str) -> (Value, String, String) {
    (json!(message_id), asked.to_owned(), answered.to_owned())
}

#[test]
fn r001_05_29_a_snapshot_gives_each_prompt_its_own_answer_though_the_engine_counts_each_run_from_1() {
    let at = |turn: u64, text: &str| {
        let mut step = says(text);
        step["turn"] = json!(turn);
        step
    };
    let long: Vec<Value> = (0..120).map(|number| says(&format!("{number} "))).collect();
    let desk = Desk::scripted(&json!([
        [says("first")],
        [at(1, "second"), at(8, ", more"), at(9, " and more")],
        [says("for another client")],
        long,
    ]));
    let mut server = desk.server();
    server.ask("bb/init", json!({}));
    server.ask("bb/tab/open", json!({ "tabId": TAB }));
    prompt(&mut server, ONE, "one");
    prompt(&mut server, TWO, "two");
    let session = desk.engine.sessions()[0].clone();
    let (code, _) = desk.post(&format!("/v1/sessions/{session}/input"), &json!({ "content": "theirs" }));
    assert_eq!(code, 202);
    server.wait_notification("bb/tab", |message| message["text"] == "for another client");
    let both = [row(ONE, "one", "first"), row(TWO, "two", "second, more and more")];
    let found = snapshot(&mut server);
    let blocks = found["view"]["lanes"]["chat"]["blocks"].as_array().expect("blocks");
    let answers = blocks.iter().filter(|block| block["kind"] == "assistant");
    assert_eq!(answers.map(|block| &block["turn"]).collect::<Vec<_>>(), [1, 1, 8, 9, 1]);
    assert_eq!(shown(&found), (both.to_vec(), true));

    // An answer that is longer than a page has the whole page, in another process too.
    prompt(&mut server, THREE, "three");
    let check = |(prompts, whole): (Vec<(Value, String, String)>, bool)| {
        assert!(!whole);
        let [one, two, three] = prompts.as_slice() else { panic!("three prompts: {prompts:?}") };
        assert_eq!((one, two), (&row(ONE, "", ""), &row(TWO, "", "")));
        assert!(three.2.starts_with("7") && three.2.ends_with("118 119 "), "{three:?}");
    };
    check(shown(&snapshot(&mut server)));
    server.kill();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    let mut server = Server::start_in(workspace, state, desk.chosen(true));
    server.shake_hands();
    server.ask("bb/init", json!({}));
    check(shown(&snapshot(&mut server)));
}

#[test]
fn r001_29_49_a_tab_of_an_ended_session_has_each_answer_under_its_prompt_in_another_process() {
    let desk = Desk::scripted(&json!([[says("first")], [says("second")]]));
    let mut server = desk.server();
    server.ask("bb/init", json!({}));
    server.ask("bb/tab/open", json!({ "tabId": TAB }));
    prompt(&mut server, ONE, "one");
    prompt(&mut server, TWO, "two");
    desk.engine.end_session(&desk.engine.sessions()[0], "failed");
    server.wait_notification("bb/tab", |message| message["code"] == "engine_rejected");
    server.kill();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    let mut server = Server::start_in(workspace, state, desk.chosen(true));
    server.shake_hands();
    server.ask("bb/init", json!({}));
    let found = snapshot(&mut server);
    assert_eq!(found["error"]["code"], "engine_rejected");
    assert_eq!(shown(&found), (vec![row(ONE, "one", "first"), row(TWO, "two", "second")], true));
}
