//! Tabs (seed 001): identities, routing, prompts, closing. Seen or not seen is in `tabs_seen`.

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::dialect::acp::decode::{RpcId, ask_event};
use breadboard_ls::testing::protocol::tab::AgentRestartResult;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};
use crate::tabs_client::{TabClient, uuid};

/// Opens a tab of the embedded engine.
pub async fn open(desk: &Desk, number: u64) -> String {
    let tab_id = uuid(number);
    let opened = desk.ask("bb/tab/open", json!({"tabId": tab_id})).await.unwrap();
    assert_eq!((&opened["tabId"], &opened["index"]), (&json!(tab_id), &json!(0)));
    tab_id
}

pub async fn prompt(desk: &Desk, tab_id: &str, number: u64, text: &str) -> Value {
    let params = json!({"tabId": tab_id, "messageId": uuid(number), "text": text});
    desk.ask("bb/tab/prompt", params).await.unwrap()
}

/// The session that a tab shows, which a tab client never asks for.
pub async fn session(desk: &Desk) -> String {
    let listed = desk.ask("bb/listSessions", json!({})).await.unwrap();
    listed["sessions"][0]["sessionId"].as_str().unwrap().to_owned()
}

/// Messages of one tab, without what is the same in all.
pub fn messages(desk: &Desk, tab_id: &str) -> Vec<Value> {
    let mut all = desk.heard("bb/tab");
    all.retain(|message| message["tabId"] == tab_id);
    for message in &mut all {
        let message = message.as_object_mut().unwrap();
        message.remove("tabId");
        message.remove("epoch");
    }
    all
}

fn kinds(desk: &Desk, tab_id: &str) -> Vec<String> {
    messages(desk, tab_id).iter().map(|message| message["kind"].as_str().unwrap().to_owned()).collect()
}

async fn refused(desk: &Desk, method: &str, params: Value) -> &'static str {
    desk.ask(method, params).await.unwrap_err().code.as_str()
}

/// Takes the call to make a session.
fn making(desk: &Desk) -> (String, NewSession, SessionReply) {
    let mut calls = desk.calls.0.lock().unwrap();
    let at = calls.iter().position(|call| matches!(call, EngineCall::MakeSession { .. })).expect("a call");
    match calls.remove(at) {
        EngineCall::MakeSession { session_id, wish, reply } => (session_id, wish, reply),
        other => panic!("{other:?}"),
    }
}

/// The agent makes the session that was asked for last; gives our id of it.
pub async fn make(desk: &Desk, at_agent: &str) -> String {
    let (session_id, wish, reply) = making(desk);
    let agent = wish.agent.clone().unwrap();
    let made = EngineSession {
        session_id: session_id.clone(),
        status: "running".to_owned(),
        at_agent: Some((agent, at_agent.to_owned())),
        ..EngineSession::default()
    };
    desk.engine.send(EngineReport::SessionMade { wish, outcome: Ok(made), reply }).await.unwrap();
    desk.caught_up().await;
    session_id
}

#[tokio::test]
async fn r001_01_02_13_14_16_to_18_20_to_22_36_37_39_41_42_a_tab_of_an_agent_is_there_at_once_and_its_session_when_the_agent_made_it()
 {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = uuid(1);
    let opened = desk.ask("bb/tab/open", json!({"tabId": tab_id, "agent": "a"})).await.unwrap();
    assert_eq!(opened, json!({"tabId": tab_id, "epoch": opened["epoch"], "index": 0}));
    assert_eq!(messages(&desk, &tab_id), Vec::<Value>::new(), "nothing is there yet to be told");
    // Prompts do not wait for the session, but their turn does.
    assert_eq!(prompt(&desk, &tab_id, 11, "one").await["disposition"], "queued");
    assert_eq!(prompt(&desk, &tab_id, 12, "two").await["disposition"], "queued");
    assert_eq!(prompt(&desk, &tab_id, 11, "one").await["disposition"], "queued", "the same one again");
    let heard = desk.engine_heard();
    assert_eq!(heard.len(), 1, "one session is made, and nothing is prompted: {heard:?}");
    let session_id = make(&desk, "at agent").await;
    assert_eq!(desk.engine_heard().last().unwrap(), "start 1 one");
    let told = messages(&desk, &tab_id);
    assert_eq!(told[0], json!({"index": 1, "kind": "session-created"}));
    let two = json!([{"messageId": uuid(12), "text": "two"}]);
    assert_eq!(told[1], json!({"index": 2, "kind": "queue", "items": two, "paused": false}));
    assert_eq!((&told[2]["kind"], &told[2]["messageId"]), (&json!("response-chunk"), &json!(uuid(11))));
    assert_eq!(told[2]["blocks"][0]["text"], "one");
    assert_eq!(
        (&told[3]["messageId"], &told[3]["blocks"][0]["kind"]),
        (&json!(uuid(11)), &json!("turn-start"))
    );
    assert_eq!(told.len(), 4);
    // The tab's id is the view's business: neither engine nor journal of the session has it.
    assert!(!format!("{:?}", desk.calls.0.lock().unwrap()).contains(&tab_id));
    assert!(!format!("{:?}", desk.events(&session_id).await).contains(&tab_id));
    assert_eq!(refused(&desk, "bb/tab/open", json!({"tabId": "tab-1"})).await, "invalid_params");
    let no_uuid = json!({"tabId": tab_id, "messageId": "m", "text": "x"});
    assert_eq!(refused(&desk, "bb/tab/prompt", no_uuid).await, "invalid_params");
}

#[tokio::test]
async fn r001_03_04_05_23_25_27_28_43_44_50_64_chunks_carry_the_message_id_and_an_answer_is_complete_once() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    assert_eq!(prompt(&desk, &tab_id, 11, "one").await["disposition"], "started");
    let session_id = session(&desk).await;
    desk.token(&session_id, "He").await;
    desk.caught_up().await;
    desk.events(&session_id).await;
    let first = messages(&desk, &tab_id).pop().unwrap();
    assert_eq!((&first["kind"], &first["text"]), (&json!("response-chunk"), &json!("He")), "before the end");
    assert_eq!(first["messageId"], uuid(11));
    let second = json!({"tabId": tab_id, "messageId": uuid(12), "disposition": "queued"});
    assert_eq!(prompt(&desk, &tab_id, 12, "two").await, second);
    assert_eq!(prompt(&desk, &tab_id, 12, "two").await, second, "the same again does nothing");
    desk.token(&session_id, "llo").await;
    desk.finish(&session_id, 1, "Hello").await;
    desk.caught_up().await;
    assert_eq!(desk.engine_heard(), ["start 1 one", "start 2 two"], "the second waited for the first");
    let mut client = TabClient::new(&tab_id);
    client.read(&desk, 0);
    assert_eq!(client.text, [(uuid(11), "Hello".to_owned())].into());
    assert_eq!(client.complete, [(uuid(11), "end_turn".to_owned())].into());
    let told = messages(&desk, &tab_id);
    let at = |wanted: &dyn Fn(&Value) -> bool| told.iter().position(wanted).unwrap();
    let complete = at(&|message| message["kind"] == "response-complete");
    let last_chunk = told.iter().rposition(|m| m["messageId"] == uuid(11) && m["kind"] == "response-chunk");
    assert!(last_chunk.unwrap() < complete, "after its last piece");
    assert!(complete < at(&|message| message["messageId"] == uuid(12)), "before the next begins");
    // A stop is not an end like others, whatever the engine calls it.
    desk.ask("bb/tab/stop", json!({"tabId": tab_id})).await.unwrap();
    desk.finish(&session_id, 2, "stopped").await;
    desk.caught_up().await;
    client.read(&desk, 0);
    assert_eq!(client.complete[&uuid(12)], "cancelled");
    client.assert_level(&desk, "at the end").await;
}

#[tokio::test]
async fn r001_06_07_08_12_24_46_51_52_53_tabs_stream_at_once_each_with_its_own_indices_and_nothing_mixes() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let (a, b) = (open(&desk, 1).await, open(&desk, 2).await);
    prompt(&desk, &a, 11, "in a").await;
    prompt(&desk, &b, 12, "in b").await;
    let listed = desk.ask("bb/listSessions", json!({})).await.unwrap();
    let of = |title: &str| {
        let sessions = listed["sessions"].as_array().unwrap();
        let one = sessions.iter().find(|session| session["title"] == title).unwrap();
        one["sessionId"].as_str().unwrap().to_owned()
    };
    let (sa, sb) = (of("in a"), of("in b"));
    for piece in 0..5 {
        desk.token(&sa, &format!("a{piece}")).await;
        desk.token(&sb, &format!("b{piece}")).await;
        desk.caught_up().await;
        desk.events(&sa).await;
        desk.events(&sb).await;
    }
    for (tab_id, message, text) in [(&a, 11, "a0a1a2a3a4"), (&b, 12, "b0b1b2b3b4")] {
        let mut client = TabClient::new(tab_id);
        client.read(&desk, 0);
        assert_eq!(client.text, [(uuid(message), text.to_owned())].into());
        let indices: Vec<u64> =
            messages(&desk, tab_id).iter().map(|message| message["index"].as_u64().unwrap()).collect();
        assert_eq!(indices, (1..=indices.len() as u64).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn r001_19_40_45_65_no_message_and_no_answer_of_a_tab_names_a_session_and_every_action_takes_the_tab() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    prompt(&desk, &tab_id, 12, "two").await;
    let session_id = session(&desk).await;
    desk.ask_to_run(&session_id, "permission_1", "cargo test").await;
    desk.caught_up().await;
    let asked = messages(&desk, &tab_id).into_iter().find(|message| message["kind"] == "permission").unwrap();
    assert_eq!((&asked["status"], &asked["messageId"]), (&json!("pending"), &json!(uuid(11))));
    let mut answers = Vec::new();
    for (method, params) in [
        (
            "bb/approvePermission",
            json!({"requestId": asked["permission"]["requestId"], "decision": "allow_once"}),
        ),
        ("bb/queue/list", json!({})),
        ("bb/queue/edit", json!({"messageId": uuid(12), "text": "changed"})),
        ("bb/queue/move", json!({"messageId": uuid(12)})),
        ("bb/queue/remove", json!({"messageId": uuid(12)})),
        ("bb/queue/resume", json!({})),
        ("bb/view/page", json!({"lane": "chat"})),
        ("bb/eventBody", json!({"seq": 1})),
        ("bb/session/info", json!({})),
        ("bb/tab/visibility", json!({"visible": true})),
        ("bb/tab/ack", json!({"index": 1})),
        ("bb/tab/stop", json!({})),
    ] {
        let mut params = params;
        params["tabId"] = json!(tab_id);
        answers.push(desk.ask(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}")));
    }
    assert_eq!(answers[0]["outcome"], "recorded");
    assert_eq!(answers[2]["items"][0]["text"], "changed");
    assert_eq!(answers[7]["event"]["type"], "local.prompt");
    let seen = json!({"tabs": [{"tabId": tab_id}]});
    answers.push(desk.ask("bb/tab/attach", seen).await.unwrap());
    let mut client = TabClient::new(&tab_id);
    client.read(&desk, 0);
    client.assert_level(&desk, "with a settled ask").await;
    assert!(client.transcript().iter().any(|line| line.contains("\"allowed\"")));
    assert!(desk.heard("bb/tab").iter().any(|message| message["kind"] == "snapshot"));
    let all = format!("{answers:?} {:?}", desk.heard("bb/tab"));
    assert!(!all.contains(&session_id) && !all.contains("sessionId"), "{all}");
    for method in ["bb/queue/list", "bb/tab/stop", "bb/tab/close", "bb/session/info"] {
        assert_eq!(refused(&desk, method, json!({"tabId": uuid(9)})).await, "unknown_tab", "{method}");
    }
    let nobody = json!({"tabId": uuid(9), "messageId": uuid(13), "text": "x"});
    assert_eq!(refused(&desk, "bb/tab/prompt", nobody).await, "unknown_tab");
    assert_eq!(refused(&desk, "bb/tab/ack", json!({"tabId": uuid(9), "index": 1})).await, "unknown_tab");
    let hidden = json!({"tabId": uuid(9), "visible": false});
    assert_eq!(refused(&desk, "bb/tab/visibility", hidden).await, "unknown_tab");
    assert_eq!(refused(&desk, "bb/queue/list", json!({})).await, "invalid_params");
}

#[tokio::test]
async fn r001_30_32_33_38_46_47_48_a_closed_tab_takes_its_session_at_the_agent_with_it_and_leaves_the_history()
 {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = uuid(1);
    desk.ask("bb/tab/open", json!({"tabId": tab_id, "agent": "a"})).await.unwrap();
    let session_id = make(&desk, "x").await;
    prompt(&desk, &tab_id, 11, "one").await;
    prompt(&desk, &tab_id, 12, "two").await;
    let before = desk.heard("bb/tab").len();
    assert_eq!(desk.ask("bb/tab/close", json!({"tabId": tab_id})).await.unwrap(), json!({"tabId": tab_id}));
    let heard = desk.engine_heard();
    let close = format!("CloseSession {{ session_id: {session_id:?} }}");
    assert_eq!(heard[heard.len() - 2..], ["stop".to_owned(), close]);
    desk.end(&session_id, 1).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/tab").len(), before, "nobody is told any more");
    assert_eq!(refused(&desk, "bb/queue/list", json!({"tabId": tab_id})).await, "unknown_tab");
    let queue = desk.ask("bb/queue/list", json!({"sessionId": session_id})).await.unwrap();
    assert_eq!((&queue["paused"], &queue["items"][0]["text"]), (&json!(true), &json!("two")));
    assert_eq!(desk.engine_heard().iter().filter(|call| call.starts_with("start")).count(), 1);
    // The session is in the history, and may be opened again in another tab.
    let again = desk.ask("bb/tab/open", json!({"tabId": uuid(2), "sessionId": session_id})).await.unwrap();
    assert_eq!(again["index"], 0);
    let kinds = kinds(&desk, &uuid(2));
    assert_eq!(kinds, ["session-created", "snapshot"]);
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    let seen = json!({"tabs": [{"tabId": tab_id}, {"tabId": uuid(2)}]});
    let back = desk.ask("bb/tab/attach", seen).await.unwrap();
    assert_eq!((&back["tabs"][0]["mode"], &back["tabs"][1]["mode"]), (&json!("unknown"), &json!("snapshot")));
    // One that is closed before its session is made leaves none at the agent.
    desk.ask("bb/tab/open", json!({"tabId": uuid(3), "agent": "a"})).await.unwrap();
    desk.ask("bb/tab/close", json!({"tabId": uuid(3)})).await.unwrap();
    let late = make(&desk, "y").await;
    assert_eq!(desk.engine_heard().last().unwrap(), &format!("CloseSession {{ session_id: {late:?} }}"));
}

#[tokio::test]
async fn r001_17_47_a_tab_that_is_opened_anew_while_its_session_is_made_takes_no_session_of_before() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = uuid(1);
    desk.ask("bb/tab/open", json!({"tabId": tab_id, "agent": "a"})).await.unwrap();
    desk.ask("bb/tab/close", json!({"tabId": tab_id})).await.unwrap();
    desk.ask("bb/tab/open", json!({"tabId": tab_id, "agent": "b"})).await.unwrap();
    let before = make(&desk, "x").await;
    assert_eq!(kinds(&desk, &tab_id), [""; 0]);
    assert_eq!(desk.engine_heard().last().unwrap(), &format!("CloseSession {{ session_id: {before:?} }}"));
    make(&desk, "y").await;
    assert_eq!(kinds(&desk, &tab_id), ["session-created"]);
    let info = desk.ask("bb/listSessions", json!({})).await.unwrap();
    let agents: Vec<&Value> = info["sessions"].as_array().unwrap().iter().map(|s| &s["agent"]).collect();
    assert_eq!(agents.len(), 2);
    prompt(&desk, &tab_id, 11, "one").await;
    assert_eq!(desk.engine_heard().last().unwrap(), "start 1 one");
}

#[tokio::test]
async fn r001_67_a_session_that_is_deleted_leaves_its_tab_and_a_prompt_begins_another() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    let session_id = session(&desk).await;
    desk.ask("bb/deleteSession", json!({"sessionId": session_id})).await.unwrap();
    let told = messages(&desk, &tab_id).pop().unwrap();
    assert_eq!((&told["kind"], &told["code"]), (&json!("error"), &json!("unknown_session")));
    assert_eq!(refused(&desk, "bb/queue/list", json!({"tabId": tab_id})).await, "conflict");
    // Only the view closes a tab.
    assert_eq!(prompt(&desk, &tab_id, 12, "again").await["disposition"], "queued");
    assert_ne!(session(&desk).await, session_id);
    assert_eq!(desk.engine_heard().last().unwrap(), "start 1 again");
    assert!(
        kinds(&desk, &tab_id)
            .ends_with(&["session-created", "response-chunk", "response-chunk"].map(str::to_owned))
    );
}

#[tokio::test]
async fn r001_27_a_session_that_is_deleted_in_a_turn_ends_its_answer_and_its_queue() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    prompt(&desk, &tab_id, 12, "two").await;
    let session_id = session(&desk).await;
    desk.ask("bb/deleteSession", json!({"sessionId": session_id})).await.unwrap();
    let told = messages(&desk, &tab_id);
    let last: Vec<(&Value, &Value)> =
        told[told.len() - 3..].iter().map(|message| (&message["kind"], &message["messageId"])).collect();
    let (complete, queue, error) = (json!("response-complete"), json!("queue"), json!("error"));
    assert_eq!(last, [(&complete, &json!(uuid(11))), (&queue, &Value::Null), (&error, &Value::Null)]);
    assert_eq!(told[told.len() - 3]["stopReason"], "cancelled");
    assert_eq!(told[told.len() - 2]["items"], json!([]));
}

#[tokio::test]
async fn a_session_that_cannot_be_made_is_an_error_of_the_tab_and_a_prompt_tries_again() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = uuid(1);
    desk.ask("bb/tab/open", json!({"tabId": tab_id, "agent": "a"})).await.unwrap();
    prompt(&desk, &tab_id, 11, "one").await;
    let (_, wish, reply) = making(&desk);
    let why = breadboard_ls::testing::domain::coded_error::CodedError::new(
        breadboard_ls::testing::domain::coded_error::ErrorCode::AgentExited,
        "The agent did not start; install it.",
    );
    desk.engine.send(EngineReport::SessionMade { wish, outcome: Err(why), reply }).await.unwrap();
    desk.caught_up().await;
    let error = json!({"index": 1, "kind": "error", "code": "agent_exited",
        "message": "The agent did not start; install it."});
    assert_eq!(messages(&desk, &tab_id), [error]);
    prompt(&desk, &tab_id, 12, "two").await;
    make(&desk, "x").await;
    assert_eq!(desk.engine_heard().last().unwrap(), "start 1 one", "what waited is not lost");
    // Without trust no agent is started, and no tab is left behind.
    desk.tell(breadboard_ls::testing::app::EditorEvent::WorkspaceTrust { trusted: false });
    let untrusted = json!({"tabId": uuid(2), "agent": "a"});
    assert_eq!(refused(&desk, "bb/tab/open", untrusted).await, "untrusted_workspace");
    assert_eq!(refused(&desk, "bb/tab/stop", json!({"tabId": uuid(2)})).await, "unknown_tab");
    assert_eq!(refused(&desk, "bb/agent/restart", json!({"agent": "a"})).await, "untrusted_workspace");
}

#[tokio::test]
async fn r001_55_56_57_58_an_agent_that_ends_is_told_to_all_its_tabs_and_comes_back_on_demand() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let mut sessions = Vec::new();
    for number in 1..=3 {
        let agent = if number == 3 { "another" } else { "a" };
        desk.ask("bb/tab/open", json!({"tabId": uuid(number), "agent": agent})).await.unwrap();
        sessions.push(make(&desk, &format!("x{number}")).await);
    }
    prompt(&desk, &uuid(1), 11, "one").await;
    let exited = |code, expected| {
        EngineReport::Agent(AgentReport::Exited {
            agent: "a".to_owned(),
            generation: 1,
            code,
            sessions: sessions[..2].to_vec(),
            message: "The agent ended; restart it.".to_owned(),
            expected,
        })
    };
    desk.engine.send(exited(Some(137), false)).await.unwrap();
    desk.caught_up().await;
    let gone = |message: &Value| (message["kind"] == "agent-exited").then(|| message["generation"].clone());
    assert_eq!(messages(&desk, &uuid(1)).iter().filter_map(gone).collect::<Vec<_>>(), [json!(1)]);
    let last = messages(&desk, &uuid(1));
    let complete = &last[last.len() - 2];
    assert_eq!(
        (&complete["kind"], &complete["stopReason"], &complete["messageId"]),
        (&json!("response-complete"), &json!("failed"), &json!(uuid(11)))
    );
    assert_eq!(messages(&desk, &uuid(2)).last().unwrap()["code"], 137);
    assert_eq!(kinds(&desk, &uuid(3)), ["session-created"], "of another agent");
    let restart = async {
        let asked = |call: &EngineCall| matches!(call, EngineCall::Agent(AgentCall::Restart { .. }));
        while !desk.calls.0.lock().unwrap().iter().any(asked) {
            tokio::task::yield_now().await;
        }
        let at = desk.calls.0.lock().unwrap().iter().position(asked).unwrap();
        match desk.calls.0.lock().unwrap().remove(at) {
            EngineCall::Agent(AgentCall::Restart { agent, reply }) => {
                assert_eq!(agent.as_deref(), Some("a"));
                reply.answer(AgentRestartResult { generation: 2 });
            }
            other => panic!("{other:?}"),
        }
    };
    let (restarted, ()) = tokio::join!(desk.ask("bb/agent/restart", json!({"agent": "a"})), restart);
    assert_eq!(restarted.unwrap(), json!({"generation": 2}));
    let report = EngineReport::Agent(AgentReport::Rebound {
        session_id: sessions[0].clone(),
        at_agent: "new".to_owned(),
        lost: None,
    });
    desk.engine.send(report).await.unwrap();
    desk.caught_up().await;
    assert_eq!(messages(&desk, &uuid(1)).last().unwrap()["kind"], "session-created");
    // One that we ended on purpose is no alarm.
    let alarms =
        |desk: &Desk| desk.heard("bb/tab").iter().filter(|message| message["kind"] == "agent-exited").count();
    desk.engine.send(exited(None, true)).await.unwrap();
    desk.caught_up().await;
    assert_eq!(alarms(&desk), 2, "of the first exit, one a tab");
}

#[tokio::test]
async fn no_can_be_said_to_an_agent_that_offers_nothing_but_yes_also_without_trust() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = uuid(1);
    desk.ask("bb/tab/open", json!({"tabId": tab_id, "agent": "a"})).await.unwrap();
    let session_id = make(&desk, "x").await;
    prompt(&desk, &tab_id, 11, "one").await;
    let asked = json!({"sessionId": "x", "toolCall": {"toolCallId": "c"},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]});
    let serde_json::Value::Object(asked) = asked else { unreachable!() };
    let mut event = ask_event("session/request_permission", asked.into(), 1, &RpcId::number(5));
    event.turn = Some(1);
    desk.engine.send(EngineReport::Said { session_id, event, cursor: None }).await.unwrap();
    desk.caught_up().await;
    let ask = messages(&desk, &tab_id).pop().unwrap()["permission"].clone();
    desk.tell(breadboard_ls::testing::app::EditorEvent::WorkspaceTrust { trusted: false });
    let answer =
        |decision: &str| json!({"tabId": tab_id, "requestId": ask["requestId"], "decision": decision});
    assert_eq!(refused(&desk, "bb/approvePermission", answer("allow_once")).await, "untrusted_workspace");
    let denied = desk.ask("bb/approvePermission", answer("deny")).await.unwrap();
    assert_eq!((&denied["outcome"], &denied["resolution"]), (&json!("recorded"), &json!("denied")));
    let told = messages(&desk, &tab_id);
    let told: Vec<&Value> =
        told.iter().filter(|told| told["kind"] == "permission").map(|told| &told["status"]).collect();
    assert_eq!(told, ["pending", "denied"]);
    assert_eq!(desk.engine_heard().last().unwrap(), "answer 1:5 false");
}

#[tokio::test]
async fn a_session_is_in_one_tab_and_moves_only_from_one_without_a_view() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let first = open(&desk, 1).await;
    prompt(&desk, &first, 11, "one").await;
    let session_id = session(&desk).await;
    let wanted = json!({"tabId": uuid(2), "sessionId": session_id});
    assert_eq!(refused(&desk, "bb/tab/open", wanted.clone()).await, "conflict");
    let nobody = json!({"tabId": uuid(2), "sessionId": "nobody"});
    assert_eq!(refused(&desk, "bb/tab/open", nobody).await, "unknown_session");
    // Opened again, a tab is what it was: its indices go on.
    let again = desk.ask("bb/tab/open", json!({"tabId": first})).await.unwrap();
    assert_eq!(again["index"], messages(&desk, &first).len());
    let other = json!({"tabId": first, "sessionId": "another"});
    assert_eq!(refused(&desk, "bb/tab/open", other).await, "conflict");
    desk.ask("bb/tab/detach", json!({"tabIds": [first, "nobody"]})).await.unwrap();
    desk.ask("bb/tab/open", wanted).await.unwrap();
    assert_eq!(refused(&desk, "bb/tab/stop", json!({"tabId": first})).await, "unknown_tab");
    desk.token(&session_id, "Hello").await;
    desk.finish(&session_id, 1, "Hello").await;
    desk.caught_up().await;
    let mut client = TabClient::new(&uuid(2));
    client.read(&desk, 0);
    client.assert_level(&desk, "taken over").await;
    // The prompt was begun before the tab showed it, and is complete here all the same.
    assert_eq!(client.complete, [(uuid(11), "end_turn".to_owned())].into());
}

#[tokio::test]
async fn acp_2_1_02_a_turn_that_its_engine_was_told_to_stop_is_cancelled_in_the_tab_and_in_the_view() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = open(&desk, 1).await;
    prompt(&desk, &tab_id, 11, "one").await;
    let session_id = session(&desk).await;
    // Given an engine that says that it came to its end
    desk.conclude(&session_id, "done").await;
    // When the adapter knows that it was told to stop
    let (id, failure) = (session_id.clone(), None);
    let ended = EngineReport::TurnEnded { session_id: id, turn: 1, failure, cancelled: true };
    desk.engine.send(ended).await.unwrap();
    desk.caught_up().await;
    // Then the turn was cancelled, for the tab and for who reads the journal
    let mut client = TabClient::new(&tab_id);
    client.read(&desk, 0);
    assert_eq!(client.complete, [(uuid(11), "cancelled".to_owned())].into());
    let events = desk.events(&session_id).await;
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["payload"]),
        (&json!("local.turn_end"), &json!({"reason": "cancelled", "message": "The turn was stopped."}))
    );
    client.assert_level(&desk, "at the end").await;
    // And the next one is not
    prompt(&desk, &tab_id, 12, "two").await;
    desk.finish(&session_id, 2, "done").await;
    desk.caught_up().await;
    client.read(&desk, 0);
    assert_eq!(client.complete[&uuid(12)], "end_turn");
}
