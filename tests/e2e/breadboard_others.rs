//! One session of an engine and several clients of it: another window with a state of its own, and one that deletes it.

use std::sync::Arc;

use breadboard_ls::testing::simulate::breadboard::HoldPoint;
use serde_json::{Value, json};

use crate::breadboard_desk::*;
use crate::harness::Server;

#[test]
fn a7_of_two_windows_with_states_of_their_own_each_shows_every_prompt_once_and_whose_it_is() {
    // Given two windows on one session, neither of which knows the files of the other
    let script = json!([
        { "when": "from one", "steps": [says("to one")] },
        { "when": "from two", "steps": [says("to two")] },
    ]);
    let desk = Desk::scripted(&script);
    let mut one = desk.server();
    let session = one.session();
    let state = Arc::new(tempfile::tempdir().expect("a state directory"));
    let mut two = Server::start_in(Arc::clone(&one.workspace), state, desk.chosen(true));
    two.shake_hands();
    connected(&two);
    assert_eq!(listed(&mut two, &session)["sessionId"], session.as_str());
    two.ask("bb/selectSession", json!({ "sessionId": session }));
    // When both send a prompt before either hears of the other's
    desk.engine.hold_answers("/input", HoldPoint::BeforeWork);
    for (server, text) in [(&mut one, "from one"), (&mut two, "from two")] {
        server.ask("bb/sendMessage", json!({ "sessionId": session, "text": text, "messageId": text }));
    }
    until("both prompts", || (desk.inputs(&session).len() == 2).then_some(()));
    desk.engine.release_answers();
    // Then each window has both, its own by its id, and one answer to each, and says nothing of changed words
    for (server, own, other) in [(&mut one, "from one", "from two"), (&mut two, "from two", "from one")] {
        ran(server, &session);
        ran(server, &session);
        status(server, &session, "idle");
        let blocks = chat(server, &session);
        let mut users: Vec<Value> =
            of_kind(&blocks, "user").iter().map(|block| json!([block["text"], block["messageId"]])).collect();
        users.sort_by_key(Value::to_string);
        let mut wanted = [json!([own, own]), json!([other, null])];
        wanted.sort_by_key(Value::to_string);
        assert_eq!(users, wanted, "{blocks:#?}");
        let mut answers: Vec<Value> =
            of_kind(&blocks, "assistant").iter().map(|block| block["text"].clone()).collect();
        answers.sort_by_key(Value::to_string);
        assert_eq!(answers, ["to one", "to two"]);
        assert_eq!(of_kind(&blocks, "notice"), Vec::<Value>::new());
    }
    assert_eq!(desk.inputs(&session).len(), 2, "each was sent once");
}

#[test]
fn a1_r003_60_a_session_that_is_deleted_while_nobody_listens_is_lost_in_the_chat_and_after_a_restart() {
    // Given a session of which one turn was heard
    let desk = Desk::scripted(&json!([[says("heard")], [says("never heard")]]));
    let mut server = desk.server();
    let session = server.session();
    server.prompt(&session, "first");
    ran(&server, &session);
    status(&server, &session, "idle");
    let heard = desk.engine.head(&session).expect("a log");
    // When its stream breaks, another client lets it go on, and then deletes it
    desk.engine.hold_answers(&format!("GET /v1/sessions/{session}"), HoldPoint::BeforeWork);
    desk.engine.cut_streams();
    let path = format!("/v1/sessions/{session}/input");
    assert_eq!(desk.post(&path, &json!({ "content": "of another client" })).0, 202);
    until("the other turn", || {
        (desk.engine.head(&session)? > heard && !desk.engine.busy(&session)).then_some(())
    });
    assert_eq!(desk.delete(&session), 204);
    desk.engine.release_answers();
    status(&server, &session, "gone");
    // Then nothing of it is called complete, the chat says so, and so does the next process
    for again in [false, true] {
        if again {
            let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
            server.kill();
            server = Server::start_in(workspace, state, desk.chosen(true));
            server.shake_hands();
            connected(&server);
        }
        let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
        let resume = &selected["resume"];
        assert_eq!(json!([resume["verdict"], resume["from"]]), json!(["lost", heard + 1]), "{resume}");
        assert!(resume["reason"].as_str().unwrap().contains("no longer has this session"), "{resume}");
        let blocks = selected["view"]["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
        let notices = of_kind(&blocks, "notice");
        let [notice] = notices.as_slice() else { panic!("{blocks:#?}") };
        let text = notice["text"].as_str().expect("a text");
        assert!(text.contains("what happened there after") && text.contains("cannot be known"), "{text}");
    }
}
