//! `$/progress` of a turn, in every editor that can show one (LSP 3.17, Work Done Progress).

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Gate, Model, Step, calls, says, says_and_waits};

fn shows_progress() -> Value {
    json!({ "window": { "workDoneProgress": true } })
}

fn place(model: &Model, capabilities: Value) -> (Server, String) {
    let mut server = Server::ready(Options { capabilities, ..model.chosen(false) });
    let session = server.session();
    (server, session)
}

fn said(server: &Server, token: &Value) -> Vec<Value> {
    let all = server.received();
    let ours = all
        .iter()
        .filter(|message| message["method"] == "$/progress" && message["params"]["token"] == *token);
    ours.map(|message| message["params"]["value"].clone()).collect()
}

#[test]
fn a_turn_is_shown_from_its_begin_to_its_end() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("let me see", &gate, ""), says("done")]);
    model.then(says("next"));
    let (mut server, session) = place(&model, shows_progress());
    server.prompt(&session, "  where is main?\nand why");
    let create = server.wait_request("window/workDoneProgress/create");
    let token = create["params"]["token"].clone();
    assert_eq!(create["params"], json!({ "token": token }));
    assert_eq!(said(&server, &token), Vec::<Value>::new(), "nothing before the editor knows the token");
    server.answer(&create["id"], Value::Null);
    server.wait_notification("$/progress", |params| params["value"]["kind"] == "begin");
    gate.open();
    server.wait_notification("$/progress", |params| params["value"]["kind"] == "end");
    assert_eq!(
        said(&server, &token),
        [
            json!({ "kind": "begin", "title": "BreadBoard", "message": "where is main?", "cancellable": true }),
            json!({ "kind": "end" }),
        ]
    );
    server.prompt(&session, "again");
    let next = server.wait_request("window/workDoneProgress/create");
    assert_ne!(next["params"]["token"], token, "a token is used once");
}

#[test]
fn tools_are_reported_while_they_run() {
    let gate = Gate::default();
    let model = Model::start(vec![
        crate::model::Reply::Stream(vec![
            Step::Wait(gate.clone()),
            Step::Call("search_text", json!({ "query": "main" })),
        ]),
        says("done"),
    ]);
    let (mut server, session) = place(&model, shows_progress());
    server.prompt(&session, "where is main?");
    let create = server.wait_request("window/workDoneProgress/create");
    server.answer(&create["id"], Value::Null);
    server.wait_notification("$/progress", |params| params["value"]["kind"] == "begin");
    gate.open();
    server.wait_notification("$/progress", |params| params["value"]["kind"] == "end");
    let kinds: Vec<Value> = said(&server, &create["params"]["token"])[1..].to_vec();
    assert_eq!(kinds, [json!({ "kind": "report", "message": "search_text" }), json!({ "kind": "end" })]);
}

#[test]
fn a_cancel_in_the_editor_stops_the_turn() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("one", &gate, " two"), says("next")]);
    let (mut server, session) = place(&model, shows_progress());
    server.prompt(&session, "where is main?");
    let create = server.wait_request("window/workDoneProgress/create");
    let token = create["params"]["token"].clone();
    server.answer(&create["id"], Value::Null);
    server.wait_notification("$/progress", |params| params["value"]["kind"] == "begin");
    server.notify("window/workDoneProgress/cancel", json!({ "token": "another" }));
    server.notify("window/workDoneProgress/cancel", json!({ "token": 7 }));
    assert_eq!(server.ask("bb/listSessions", json!({}))["sessions"][0]["status"], "running");
    server.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["metadata"]["cancelled"], true);
    server.wait_notification("$/progress", |params| {
        params["token"] == token && params["value"]["kind"] == "end"
    });
    // As `bb/stop`: the queue waits, and a late cancel does nothing.
    server.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    assert_eq!(server.ask("bb/queue/list", json!({ "sessionId": session }))["paused"], true);
}

#[test]
fn an_editor_that_refuses_the_token_or_answers_late_hears_nothing_and_loses_nothing() {
    let model = Model::start(vec![says("one"), says("two")]);
    let (mut server, session) = place(&model, shows_progress());
    server.prompt(&session, "where is main?");
    let create = server.wait_request("window/workDoneProgress/create");
    server.answer_error(&create["id"], -32603, "no room");
    server.wait_end(&session);
    server.turn(&session, "and now?");
    let late = server.wait_request("window/workDoneProgress/create");
    server.answer(&late["id"], Value::Null);
    server.assert_alive();
    assert!(!server.received().iter().any(|message| message["method"] == "$/progress"));
}

#[test]
fn an_editor_without_progress_is_asked_nothing() {
    let model = Model::start(vec![calls("search_text", json!({ "query": "main" })), says("one")]);
    let (mut server, session) = place(&model, json!({}));
    server.turn(&session, "where is main?");
    server.assert_alive();
    let requests: Vec<Value> = server
        .received()
        .into_iter()
        .filter(|message| message.get("id").is_some() && message.get("method").is_some())
        .collect();
    assert_eq!(requests, Vec::<Value>::new());
    assert!(!server.received().iter().any(|message| message["method"] == "$/progress"));
}
