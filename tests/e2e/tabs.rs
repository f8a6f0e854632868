//! Tabs over the real binary: a prompt that streams, a view that is hidden and shown, an editor that is restarted.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Gate, Model, calls, says, says_and_waits};

const TAB: &str = "00000000-0000-4000-8000-000000000001";
const ONE: &str = "00000000-0000-4000-8000-000000000011";
const TWO: &str = "00000000-0000-4000-8000-000000000012";

fn messages(server: &Server) -> Vec<Value> {
    let received = server.received();
    received.iter().filter(|message| message["method"] == "bb/tab").map(|m| m["params"].clone()).collect()
}

fn answer_of(messages: &[Value], message_id: &str) -> String {
    let of = messages.iter().filter(|message| message["messageId"] == message_id);
    of.filter_map(|message| message["text"].as_str()).collect()
}

fn prompt(server: &mut Server, message_id: &str, text: &str) -> Value {
    let params = json!({ "tabId": TAB, "messageId": message_id, "text": text });
    server.ask("bb/tab/prompt", params)["disposition"].clone()
}

#[test]
fn r001_14_20_25_26_27_28_29_54_60_68_a_tab_streams_is_hidden_shown_and_comes_back_after_a_restart() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("Hel", &gate, "lo there"), says("Second answer")]);
    let mut server = Server::ready(model.chosen(true));
    server.ask("bb/init", json!({}));
    // A webview speaks the envelope.
    let open =
        json!({ "v": 1, "kind": "req", "id": "1", "method": "bb.tab.open", "params": { "tabId": TAB } });
    let opened = server.ask("bb/rpc", open)["result"].clone();
    assert_eq!((&opened["tabId"], &opened["index"]), (&json!(TAB), &json!(0)));
    assert_eq!(prompt(&mut server, ONE, "where is main?"), "started");
    server.wait_notification("bb/tab", |message| message["messageId"] == ONE && message["text"].is_string());
    assert_eq!(prompt(&mut server, TWO, "and then?"), "queued");
    server.ask("bb/tab/visibility", json!({ "tabId": TAB, "visible": false }));
    let before = messages(&server).len();
    let hidden_at = server.received().len();
    gate.open();
    let idle = |message: &Value| {
        message["method"] == "bb/state" && message["params"]["sessions"][0]["status"] == "idle"
    };
    server.wait_until("the end of both turns", |received| {
        received[hidden_at..].iter().find(|m| idle(m)).cloned()
    });
    assert_eq!(messages(&server).len(), before, "nobody sees it");
    let shown = server.ask("bb/tab/visibility", json!({ "tabId": TAB, "visible": true }));
    let complete = |id: &str| {
        let id = id.to_owned();
        move |message: &Value| message["kind"] == "response-complete" && message["messageId"] == id.as_str()
    };
    server.wait_notification("bb/tab", complete(ONE));
    server.wait_notification("bb/tab", complete(TWO));
    let told = messages(&server);
    assert_eq!(
        (answer_of(&told, ONE), answer_of(&told, TWO)),
        ("Hello there".into(), "Second answer".into())
    );
    let indices: Vec<u64> = told.iter().map(|message| message["index"].as_u64().expect("an index")).collect();
    assert_eq!(indices, (1..=indices.len() as u64).collect::<Vec<_>>());
    assert_eq!(shown["index"], indices.len());
    assert!(told.iter().all(|message| message["epoch"] == opened["epoch"]));

    server.kill();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    let mut server = Server::start_in(workspace, state, model.chosen(true));
    server.shake_hands();
    server.ask("bb/init", json!({}));
    let seen = json!({ "tabId": TAB, "epoch": opened["epoch"], "lastSeenIndex": indices.len() });
    let back = server.ask("bb/tab/attach", json!({ "tabs": [seen] }));
    assert_eq!((&back["tabs"][0]["mode"], &back["tabs"][0]["index"]), (&json!("snapshot"), &json!(1)));
    let snapshot =
        server.wait_notification("bb/tab", |message| message["kind"] == "snapshot")["params"].clone();
    assert_ne!(snapshot["epoch"], opened["epoch"]);
    let blocks = snapshot["view"]["lanes"]["chat"]["blocks"].as_array().expect("blocks");
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| block["kind"] == "assistant")
        .filter_map(|block| block["text"].as_str())
        .collect();
    assert_eq!(texts, ["Hello there", "Second answer"]);
    let ends: Vec<&Value> = snapshot["messages"]
        .as_array()
        .expect("prompts")
        .iter()
        .map(|prompt| &prompt["stopReason"])
        .collect();
    assert_eq!(ends, ["end_turn", "end_turn"]);
}

#[test]
fn r001_19_40_an_ask_is_answered_and_files_are_read_by_the_tab_alone() {
    let model = Model::start(vec![
        calls("run_command", json!({ "command": "true", "reason": "to see" })),
        says("done"),
    ]);
    let mut server = Server::ready(model.chosen(true));
    server.write("a.txt", "one\n");
    server.ask("bb/init", json!({}));
    server.ask("bb/tab/open", json!({ "tabId": TAB }));
    let put = json!({ "tabId": TAB, "name": "a.txt", "base64": "b25lCg==" });
    let attachment = server.ask("bb/attachment/put", put)["attachmentId"].clone();
    let params = json!({ "tabId": TAB, "messageId": ONE, "text": "run it", "attachmentIds": [attachment] });
    assert_eq!(server.ask("bb/tab/prompt", params)["disposition"], "started");
    let ask = server.wait_notification("bb/tab", |message| message["kind"] == "permission")["params"].clone();
    let listed = server.ask("bb/listFiles", json!({ "tabId": TAB, "path": "" }));
    assert_eq!(listed["entries"][0]["name"], "a.txt");
    let read = server.ask("bb/readFileSnippet", json!({ "tabId": TAB, "path": "a.txt" }));
    assert_eq!(read["content"], "one\n");
    let answer = json!({ "tabId": TAB, "requestId": ask["permission"]["requestId"], "decision": "deny" });
    assert_eq!(server.ask("bb/approvePermission", answer)["outcome"], "recorded");
    server.wait_notification("bb/tab", |message| {
        message["kind"] == "permission" && message["status"] == "denied"
    });
    server.wait_notification("bb/tab", |message| message["kind"] == "response-complete");
    assert_eq!(server.ask("bb/tab/close", json!({ "tabId": TAB })), json!({ "tabId": TAB }));
    let refused = server.refused("bb/tab/stop", json!({ "tabId": TAB }));
    assert_eq!(refused["data"]["code"], "unknown_tab");
}

#[test]
fn r001_57_a_tab_of_an_agent_that_does_not_come_up_says_so_and_a_prompt_tries_again() {
    let agents = json!({ "nowhere": { "command": "/nowhere/at/all" }, "false": { "command": "false" } });
    let options = json!({ "workspaceTrusted": true, "agents": agents });
    let mut server = Server::ready(Options { options, ..Options::default() });
    server.ask("bb/init", json!({}));
    let tabs =
        [(TAB, "nowhere", "not_found"), ("00000000-0000-4000-8000-000000000002", "false", "agent_exited")];
    for (tab_id, agent, code) in tabs {
        server.ask("bb/tab/open", json!({ "tabId": tab_id, "agent": agent }));
        let failed = |index: u64| {
            move |message: &Value| {
                message["tabId"] == tab_id && message["code"] == code && message["index"] == index
            }
        };
        server.wait_notification("bb/tab", failed(1));
        let params = json!({ "tabId": tab_id, "messageId": ONE, "text": "hello" });
        assert_eq!(server.ask("bb/tab/prompt", params)["disposition"], "queued");
        server.wait_notification("bb/tab", failed(2));
    }
}
