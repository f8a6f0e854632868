//! Sections 2 and 6: sessions, inputs in order, what happens to their text, fixtures, attachments.

use serde_json::{Value, json};

use crate::desk::{Desk, Frame, Next, kinds, numbers};

fn prompts(frames: &[Frame]) -> Vec<String> {
    let users = frames.iter().filter(|frame| frame.kind() == "user_message");
    users.map(|frame| frame.json()["payload"]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_session_is_starting_then_running_while_idle_and_completed_only_when_oneshot() {
    let desk = Desk::scripted(&json!([[{"hold": "gate"}]]));
    let answer = desk
        .post(
            "/v1/sessions",
            &json!({"config_path": "agent_configs/c.yaml", "task": "", "metadata": {"k": 1}}),
        )
        .await;
    let mut created = answer.json();
    let id = created["session_id"].as_str().unwrap().to_owned();
    assert_eq!(
        created["created_at"].take().as_str().map(str::len),
        Some("2026-11-20T22:00:03.123456Z".len())
    );
    assert_eq!(
        created,
        json!({"session_id": id, "status": "starting", "created_at": null, "logging_dir": null})
    );
    desk.logged(&id, "tool_result", 1).await;
    let summary = desk.summary(&id).await;
    assert_eq!(summary["status"], "running");
    // Before a run: what the client sent, and the list of things to do.
    let todo =
        json!({"op": "snapshot", "items": [], "revision": 0, "scope_key": "main", "scope_label": "Main"});
    let metadata = json!({"k": 1, "todo_last_update": todo, "config_path": "agent_configs/c.yaml"});
    assert_eq!((&summary["logging_dir"], &summary["metadata"]), (&Value::Null, &metadata));
    let members: Vec<&String> = summary.as_object().unwrap().keys().collect();
    let expected = [
        "session_id",
        "status",
        "created_at",
        "last_activity_at",
        "model",
        "mode",
        "completion_summary",
        "reward_summary",
        "logging_dir",
        "metadata",
    ];
    assert_eq!(members, expected);

    let once = desk.create(&json!({"task": "hi", "metadata": {"cli_session_kind": "oneshot"}})).await;
    let mut stream = desk.stream(&once, "?replay=true").await;
    desk.simulator.release("gate");
    stream.through("run_finished").await;
    assert_eq!(stream.next().await, Next::End);
    let summary = desk.summary(&once).await;
    assert_eq!(
        (&summary["status"], &summary["completion_summary"]["completed"], &summary["logging_dir"]),
        (&json!("completed"), &json!(true), &json!("logging/sim_2"))
    );
    let listed = desk.get("/v1/sessions").await.json();
    assert_eq!((&listed[0]["session_id"], &listed[1]["session_id"]), (&json!(id), &json!(once)));
}

#[tokio::test]
async fn inputs_queue_and_run_in_order() {
    let desk = Desk::scripted(&json!([[{"hold": "gate"}]]));
    let id = desk.create(&json!({"task": "first"})).await;
    for text in ["second", "third"] {
        assert_eq!(desk.input(&id, text).await.pair(), (202, json!({"status": "accepted"})));
    }
    desk.simulator.release("gate");
    desk.logged(&id, "run_finished", 3).await;
    let (frames, _) = desk.stream(&id, "?replay=true").await.rest().await;
    assert_eq!(prompts(&frames), ["first", "second", "third"]);
    let turns: Vec<Value> = frames
        .iter()
        .filter(|frame| frame.kind() == "turn_start")
        .map(|frame| frame.json()["turn"].clone())
        .collect();
    // Turns begin anew with every input.
    assert_eq!(turns, [1, 1, 1]);
}

#[tokio::test]
async fn a_prefix_that_equals_an_earlier_prompt_is_cut() {
    let desk = Desk::plain();
    let id = desk.create(&json!({"task": "fix"})).await;
    for text in ["fix the bug in prefix.rs", "Fix it", "fix", "the bug in prefix.rs now"] {
        desk.input(&id, text).await;
    }
    desk.logged(&id, "run_finished", 5).await;
    let (frames, _) = desk.stream(&id, "?replay=true").await.rest().await;
    assert_eq!(prompts(&frames), ["fix", "the bug in prefix.rs", "Fix it", "fix", "now"]);
    let repairs = desk.summary(&id).await["metadata"]["input_boundary_repairs"].clone();
    assert_eq!(repairs.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn only_the_last_twenty_prompts_are_compared() {
    let desk = Desk::plain();
    let id = desk.create(&json!({"task": "old"})).await;
    for at in 0..20 {
        desk.input(&id, &format!("{at}: another")).await;
    }
    desk.input(&id, "old and whole").await;
    desk.logged(&id, "run_finished", 22).await;
    let sent = desk.simulator.sent(&id);
    let last = sent.iter().rfind(|event| event.kind == "user_message").unwrap();
    assert!(last.payload.starts_with("{\"text\":\"old and whole\""), "{}", last.payload);
}

#[tokio::test]
async fn an_input_that_names_a_fixture_plays_it_and_ignores_a_stop() {
    let desk = Desk::plain();
    let workspace = tempfile::tempdir().unwrap();
    let lines = [
        json!({"type": "user_message", "payload": {"text": "from the file"}}),
        json!({"type": "assistant.message.delta", "payload": {"delta": "x"}, "turn": 4}),
        json!({"type": "stream.gap", "payload": {}}),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(workspace.path().join("f.jsonl"), text.join("\n")).unwrap();
    for prefix in ["replay:", "/replay ", "@replay "] {
        let more = json!({"workspace": workspace.path(), "task": format!("{prefix}f.jsonl")});
        let id = desk.create(&more).await;
        let frames = desk.stream(&id, "?replay=true").await.through("run_finished").await;
        let played = &frames[2..5];
        assert_eq!(kinds(played), ["user_message", "assistant.message.delta", "stream.gap"]);
        assert_eq!((&played[0].json()["turn"], &played[1].json()["turn"]), (&json!(null), &json!(4)));
        assert_eq!(played[1].json().get("classification"), None);
        assert_eq!(frames.last().unwrap().json()["payload"]["reason"], "replay");
    }
    let id = desk.create(&json!({"workspace": workspace.path()})).await;
    let mut stream = desk.stream(&id, "?replay=true").await;
    desk.input(&id, "replay: nothing.jsonl").await;
    stream.through("error").await;
    assert_eq!(stream.next().await, Next::End);
}

#[tokio::test]
async fn the_built_in_conversation_has_deltas_a_call_and_three_results() {
    let desk = Desk::plain();
    let id = desk.create(&json!({"task": "hello"})).await;
    let frames = desk.stream(&id, "?replay=true").await.through("run_finished").await;
    let payloads = |kind: &str| -> Vec<Value> {
        frames
            .iter()
            .filter(|frame| frame.kind() == kind)
            .map(|frame| frame.json()["payload"].clone())
            .collect()
    };
    let text: String = payloads("assistant.message.delta")
        .iter()
        .map(|delta| delta["delta"].as_str().unwrap().to_owned())
        .collect();
    let messages = payloads("assistant_message");
    assert_eq!(messages[0]["text"], text);
    let calls = json!([payloads("tool_call")[0]["call"]]);
    let only_calls =
        json!({"text": "", "message": {"role": "assistant", "content": null, "tool_calls": calls}});
    assert_eq!(messages[1], only_calls);
    assert!(text.contains("hello"), "{text}");
    // Tools that are called in the text of an answer have no id.
    let arguments = "{\"command\":\"echo simulated\"}";
    let call =
        json!({"id": null, "type": "function", "function": {"name": "run_shell", "arguments": arguments}});
    let called = json!({"call": call, "call_id": null, "tool": "run_shell", "action": null, "seq": 1});
    assert_eq!(payloads("tool_call"), [called]);
    let turns: Vec<Value> = frames.iter().map(|frame| frame.json()["turn"].clone()).collect();
    let prompt = frames.iter().position(|frame| frame.kind() == "user_message").unwrap();
    assert_eq!((&turns[prompt], &turns[prompt + 1]), (&Value::Null, &json!(1)));
    let results = payloads("tool_result");
    let [_, todo, execution, message] = results.as_slice() else { panic!("{} results", results.len()) };
    assert!(todo["todo"].is_object() && todo.get("status").is_none());
    assert!(execution["result"].is_object() && execution["success"].is_boolean());
    assert!(execution.get("call_id").is_none());
    let words = json!({"role": "tool", "name": "run_shell", "content": "simulated\n"});
    let told = json!({
        "message": words, "call_id": null, "result": "simulated\n", "status": "ok", "error": false,
    });
    assert_eq!(message, &told);
    let tree = frames.iter().find(|frame| frame.kind() == "ctree_node").unwrap();
    assert_eq!(tree.json()["payload"]["node"]["path"], "ctn_000001");
    assert!((2_500..5_000).contains(&tree.data.len()), "{} bytes", tree.data.len());
    assert!(payloads("log_link")[0]["url"].as_str().unwrap().starts_with("file://logging/"));
    let end = kinds(&frames[frames.len() - 3..]);
    assert_eq!(end, ["completion", "log_link", "run_finished"]);
    assert_eq!(numbers(&frames).len(), frames.len());
}

#[tokio::test]
async fn attachments_are_stored_in_the_workspace_and_named_in_the_text() {
    let desk = Desk::plain();
    let workspace = tempfile::tempdir().unwrap();
    let id = desk.create(&json!({"workspace": workspace.path()})).await;
    let path = format!("/v1/sessions/{id}/attachments");
    let body = "--B\r\nContent-Disposition: form-data; name=\"files\"; filename=\"../a.txt\"\r\nContent-Type: text/plain\r\n\
        \r\nhello\r\n--B--\r\n";
    let send = |body: &str, kind: &'static str| {
        let url = format!("{}{path}", desk.simulator.base_url());
        let request = reqwest::Client::builder().no_proxy().build().unwrap().post(url);
        request.header("content-type", kind).body(body.to_owned()).send()
    };
    let stored: Value = send(body, "multipart/form-data; boundary=B").await.unwrap().json().await.unwrap();
    let attachment = stored["attachments"][0]["id"].as_str().unwrap().to_owned();
    let expected = json!({"attachments": [{"id": attachment, "filename": "a.txt", "mime": "text/plain", "size_bytes": 5}]});
    assert_eq!(stored, expected);
    assert!(attachment.strip_prefix("att-").is_some_and(|hex| hex.len() == 10), "{attachment}");
    let place = format!(".breadboard/attachments/{attachment}/a.txt");
    assert_eq!(std::fs::read_to_string(workspace.path().join(&place)).unwrap(), "hello");
    assert_eq!(send("", "multipart/form-data; boundary=B").await.unwrap().status().as_u16(), 422);

    let input = json!({"content": "see", "attachments": ["att-0000000000", attachment]});
    desk.post(&format!("/v1/sessions/{id}/input"), &input).await;
    let frames = desk.stream(&id, "?replay=true").await.through("user_message").await;
    assert_eq!(prompts(&frames), [format!("see\n\n[Attachment 1: a.txt -> {place}]")]);
}

#[tokio::test]
async fn a_run_is_told_in_the_turns_and_the_order_of_the_engine() {
    // Given a run that waits in its middle
    let desk = Desk::scripted(&json!([[{"type": "warning", "payload": {"message": "m"}}, {"hold": "gate"}]]));
    let id = desk.create(&json!({"task": ""})).await;
    let mut stream = desk.stream(&id, "?replay=true").await;
    desk.input(&id, "go").await;
    desk.logged(&id, "warning", 1).await;
    // Then where its log lies is not told yet
    assert_eq!(desk.summary(&id).await["logging_dir"], Value::Null);
    // When it ends
    desk.simulator.release("gate");
    let frames = stream.through("run_finished").await;
    // Then the prompt stands before its turn, and what is said of the whole run stands in none
    let told: Vec<(String, Value)> =
        frames.iter().map(|frame| (frame.kind(), frame.json()["turn"].clone())).collect();
    let wanted = [
        ("user_message", Value::Null),
        ("turn_start", json!(1)),
        ("warning", json!(1)),
        ("completion", Value::Null),
        ("log_link", Value::Null),
        ("run_finished", Value::Null),
    ];
    let of_the_run = told.iter().skip_while(|(kind, _)| kind != "user_message").cloned();
    assert_eq!(of_the_run.collect::<Vec<_>>(), wanted.map(|(kind, turn)| (kind.to_owned(), turn)));
    assert!(desk.summary(&id).await["logging_dir"].is_string());
}
