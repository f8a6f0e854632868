//! Prompts and the queue between turns: each counts once, waits in order, and ends whatever its model does.

use serde_json::{Value, json};

use crate::harness::Server;
use crate::model::{Gate, Model, Reply, says, says_and_waits};

fn texts(blocks: &Value, kind: &str) -> Vec<String> {
    let blocks = blocks.as_array().expect("blocks");
    let wanted = blocks.iter().filter(|block| block["kind"] == kind);
    wanted.map(|block| block["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn r000_25_one_message_id_is_one_prompt() {
    let gate = Gate::default();
    let model = Model::start(vec![says_and_waits("one", &gate, " two"), says("three")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    let message = |id: &str| json!({ "sessionId": session, "text": "a question", "messageId": id });
    let started = json!({ "sessionId": session, "messageId": "m1", "disposition": "started" });
    let queued = json!({ "sessionId": session, "messageId": "m2", "disposition": "queued" });
    for _ in 0..2 {
        assert_eq!(server.ask("bb/sendMessage", message("m1")), started);
        assert_eq!(server.ask("bb/sendMessage", message("m2")), queued);
    }
    let waiting = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!(waiting, json!({ "items": [{ "messageId": "m2", "text": "a question" }], "paused": false }));
    gate.open();
    server.wait_end(&session);
    server.wait_end(&session);
    assert_eq!(server.ask("bb/sendMessage", message("m2")), queued);
    let prompts = |server: &Server| {
        let events = server.events(&session).into_iter().filter(|event| event["type"] == "local.prompt");
        events.map(|event| event["payload"]["messageId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(prompts(&server), ["m1", "m2"]);
    let own = server.prompt(&session, "without an id");
    assert!(own["messageId"].as_str().is_some_and(|id| !id.is_empty()), "{own}");
}

#[test]
fn r000_26_the_queue_is_shown_edited_moved_cut_and_resumed() {
    let (gate, second) = (Gate::default(), Gate::default());
    let model =
        Model::start(vec![says_and_waits("one", &gate, ""), says_and_waits("x", &second, ""), says("y")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    server.prompt(&session, "first");
    model.asked();
    for id in ["a", "b", "c"] {
        let params = json!({ "sessionId": session, "text": format!("text {id}"), "messageId": id });
        assert_eq!(server.ask("bb/sendMessage", params)["disposition"], "queued");
    }
    let shown = |result: &Value| {
        let items = result["items"].as_array().expect("items").iter();
        items
            .map(|item| format!("{}={}", item["messageId"], item["text"]).replace('"', ""))
            .collect::<Vec<_>>()
    };
    let with = |more: Value| {
        let mut params = more;
        params["sessionId"] = json!(session);
        params
    };
    let edited = server.ask("bb/queue/edit", with(json!({ "messageId": "b", "text": "better" })));
    assert_eq!(shown(&edited), ["a=text a", "b=better", "c=text c"]);
    let moved = server.ask("bb/queue/move", with(json!({ "messageId": "c", "before": "a" })));
    assert_eq!(shown(&moved), ["c=text c", "a=text a", "b=better"]);
    let last = server.ask("bb/queue/move", with(json!({ "messageId": "c" })));
    assert_eq!(shown(&last), ["a=text a", "b=better", "c=text c"]);
    let cut = server.ask("bb/queue/remove", with(json!({ "messageId": "a" })));
    assert_eq!(shown(&cut), ["b=better", "c=text c"]);
    assert_eq!(cut["paused"], false);
    assert_eq!(
        server.refused("bb/queue/edit", with(json!({ "messageId": "b", "text": " " })))["data"]["code"],
        "invalid_params"
    );

    // R000-26: a stop ends the turn and keeps the queue for the user.
    assert_eq!(
        server.ask("bb/stop", json!({ "sessionId": session })),
        json!({ "sessionId": session, "stopping": true })
    );
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["metadata"]["cancelled"], true);
    let paused = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!(
        (shown(&paused), &paused["paused"]),
        (vec!["b=better".to_owned(), "c=text c".to_owned()], &json!(true))
    );
    let resumed = server.ask("bb/queue/resume", json!({ "sessionId": session }));
    assert_eq!(resumed["paused"], false, "{resumed}");
    // The answer may come while the engine still clears the stopped turn away: the queue moves when that is done.
    let asked = model.asked();
    let waiting = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!((shown(&waiting), &waiting["paused"]), (vec!["c=text c".to_owned()], &json!(false)));
    second.open();
    let messages = asked.body["messages"].as_array().expect("messages");
    assert!(messages.iter().any(|message| message["content"] == "better"), "{messages:?}");
    server.wait_end(&session);
    server.wait_end(&session);
    let empty = server.ask("bb/queue/list", json!({ "sessionId": session }));
    assert_eq!(empty, json!({ "items": [], "paused": false }));
    assert_eq!(server.ask("bb/stop", json!({ "sessionId": session }))["stopping"], false);
}

#[test]
fn a_failing_model_ends_the_turn_in_a_sentence_and_the_session_lives() {
    let model = Model::start(vec![
        Reply::Status(400, "{\"error\":{\"message\":\"no such model\"}}".to_owned()),
        says("well"),
    ]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    server.prompt(&session, "a question");
    let error = server.wait_event(&session, "an error", |event| event["type"] == "server.error");
    assert!(error["payload"]["error"]["message"].as_str().is_some_and(|text| text.len() > 20), "{error}");
    // An error is no end; one of ours follows.
    let end = server.wait_end(&session);
    assert_eq!((&end["origin"], &end["type"]), (&json!("local"), &json!("local.turn_end")));
    server.turn(&session, "again");
    let chat =
        server.ask("bb/selectSession", json!({ "sessionId": session }))["view"]["lanes"]["chat"]["blocks"]
            .clone();
    assert_eq!(texts(&chat, "assistant"), ["well"]);
}

#[test]
fn r000_62_a_token_goes_to_its_model_and_to_nobody_else() {
    const TOKEN: &str = "sk-story-5f3a9c-never-shown";
    let model = Model::start(vec![says(&format!("your token is {TOKEN}")), says("no token")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    assert_eq!(server.ask("bb/setCredentials", json!({ "scope": "model", "token": TOKEN })), json!({}));
    server.turn(&session, "what is my token?");
    assert_eq!(model.asked().authorization.as_deref(), Some(format!("Bearer {TOKEN}").as_str()));
    server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    server.ask("bb/selectSession", json!({ "sessionId": session }));
    server.ask("bb/setCredentials", json!({ "scope": "model", "token": null }));
    server.turn(&session, "and now?");
    assert_ne!(model.asked().authorization.as_deref(), Some(format!("Bearer {TOKEN}").as_str()));
    for message in server.received() {
        assert!(!message.to_string().contains(TOKEN), "{message}");
    }
}
