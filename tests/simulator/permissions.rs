//! Section 5: asking, answering, rules, and what waits meanwhile.

use serde_json::{Value, json};

use crate::desk::{Desk, Frame, Next, kinds};

fn asking() -> Desk {
    Desk::scripted(&json!({"prompts": [
        {"when": "twice", "steps": [ask("a *"), ask("a *"), ask("b *")]},
        {"when": "items", "steps": [{"ask": {"items": [{"item_id": "i1"}, {"item_id": "i2"}]}}]},
        {"when": "go", "steps": [ask("a *")]},
    ]}))
}

fn ask(pattern: &str) -> Value {
    let said = |text: &str| json!([{"type": "warning", "payload": {"message": text}}]);
    json!({
        "ask": {"category": "shell", "pattern": pattern, "metadata": {"command": "a b"}}, "on_allow": said("yes"),
        "on_deny": said("no"),
    })
}

async fn asked(desk: &Desk, more: &Value) -> (String, crate::desk::Stream, Frame) {
    let id = desk.create(more).await;
    let mut stream = desk.stream(&id, "?replay=true").await;
    let frames = stream.through("permission_request").await;
    let request = frames.last().unwrap().clone();
    (id, stream, request)
}

fn messages(frames: &[Frame]) -> Vec<String> {
    let warnings = frames.iter().filter(|frame| frame.kind() == "warning");
    warnings.map(|frame| frame.json()["payload"]["message"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_request_has_the_engines_shape_and_its_id_repeats_from_run_to_run() {
    let desk = asking();
    let (id, mut stream, request) = asked(&desk, &json!({"task": "go"})).await;
    let mut payload = request.json()["payload"].clone();
    let inner = payload.as_object_mut().unwrap().shift_remove("seq").unwrap();
    assert_ne!(inner.as_u64(), request.seq());
    let expected = json!({
        "event_version": 1, "request_id": "permission_1", "id": "permission_1",
        "items": [{
            "item_id": "permission_1_item_1", "category": "shell", "pattern": "a *", "metadata": {"command": "a b"},
        }],
        "category": "shell", "pattern": "a *", "metadata": {"command": "a b", "batch_size": 1}, "tool": "run_shell",
        "kind": "Shell", "summary": "a", "rule_suggestion": "a *", "default_scope": "project", "rewindable": false,
    });
    assert_eq!(payload, expected);
    let pending = desk.summary(&id).await["metadata"]["pending_permissions"].clone();
    assert_eq!(
        (&pending[0]["source"], &pending[0]["request_id"]),
        (&json!("session"), &json!("permission_1"))
    );

    let answer = desk
        .command(&id, "permission_decision", json!({"request_id": "permission_1", "decision": "Allow_Once"}))
        .await;
    let expected = json!({"status": "accepted", "detail": {"status": "ok", "delivered": {
        "status": "ok", "request_id": "permission_1",
        "delivered": {"permission_id": "permission_1", "response": "once"},
    }}});
    assert_eq!(answer.pair(), (202, expected));
    let frames = stream.through("run_finished").await;
    assert_eq!(frames[0].kind(), "permission_response");
    let mut response = frames[0].json()["payload"].clone();
    response.as_object_mut().unwrap().shift_remove("seq");
    let expected = json!({
        "event_version": 1, "request_id": "permission_1", "id": "permission_1",
        "responses": {"items": {"permission_1_item_1": "once"}}, "category": "shell", "pattern": "a *",
        "response": "once", "decision": "once",
    });
    assert_eq!(response, expected);
    assert_eq!(messages(&frames), ["yes"]);
    assert_eq!(desk.summary(&id).await["metadata"]["pending_permissions"], json!([]));

    desk.input(&id, "then go").await;
    let frames = stream.through("permission_request").await;
    assert_eq!(frames.last().unwrap().json()["payload"]["request_id"], "permission_1");
}

#[tokio::test]
async fn every_word_of_an_answer_means_what_the_engine_takes_it_for() {
    for (word, response) in [
        ("allow-once", "once"),
        ("yes", "once"),
        ("approve", "once"),
        ("allow-always", "always"),
        ("always", "always"),
        ("deny-once", "reject"),
        ("no", "reject"),
        // The older client's word: a silent rejection.
        ("allow_rule", "reject"),
        ("", "reject"),
    ] {
        let desk = asking();
        let (id, mut stream, _) = asked(&desk, &json!({"task": "go"})).await;
        let payload = json!({"request_id": "permission_1", "decision": word});
        assert_eq!(desk.command(&id, "permission_decision", payload).await.status, 202);
        let frames = stream.through("run_finished").await;
        assert_eq!(frames[0].json()["payload"]["response"], response, "{word}");
        assert_eq!(messages(&frames), [if response == "reject" { "no" } else { "yes" }], "{word}");
    }
}

#[tokio::test]
async fn a_wrong_id_is_accepted_and_thrown_away_and_without_a_run_there_is_409() {
    let desk = asking();
    let (id, mut stream, _) = asked(&desk, &json!({"task": "go"})).await;
    let wrong = json!({"request_id": "permission_9", "decision": "allow-once"});
    assert_eq!(desk.command(&id, "permission_decision", wrong.clone()).await.status, 202);
    assert_eq!(stream.soon().await, Next::Silence);
    desk.command(&id, "respond_permission", json!({"request_id": "permission_1", "response": "once"})).await;
    stream.through("run_finished").await;
    desk.until("an idle session", |simulator| !simulator.busy(&id)).await;
    let expected = json!({"error": "conflict", "detail": "no permission request is active", "path": null});
    assert_eq!(desk.command(&id, "permission_decision", wrong).await.pair(), (409, expected));
}

#[tokio::test]
async fn items_can_be_answered_one_by_one_and_then_there_is_no_common_response() {
    let desk = asking();
    let (id, mut stream, _) = asked(&desk, &json!({"task": "items"})).await;
    let payload =
        json!({"request_id": "permission_1", "responses": {"default": "reject", "items": {"i2": "once"}}});
    assert_eq!(desk.command(&id, "permission_response", payload).await.status, 202);
    let response = stream.frame_now().await.json()["payload"].clone();
    assert_eq!(response["responses"], json!({"items": {"i1": "reject", "i2": "once"}}));
    assert_eq!(response.get("response"), None);
}

#[tokio::test]
async fn allow_always_lasts_for_the_run_and_a_rule_for_later_sessions() {
    let desk = asking();
    let workspace = tempfile::tempdir().unwrap();
    let more = json!({"task": "twice", "workspace": workspace.path()});
    let (id, mut stream, _) = asked(&desk, &more).await;
    let payload = json!({"request_id": "permission_1", "decision": "allow-always", "rule": "a *"});
    desk.command(&id, "permission_decision", payload).await;
    // The second of the same pattern is not asked; the third has another.
    let frames = stream.through("permission_request").await;
    assert_eq!(messages(&frames), ["yes", "yes"]);
    let stop = json!({"request_id": "permission_3", "decision": "deny-stop"});
    desk.command(&id, "permission_decision", stop).await;
    let frames = stream.through("run_finished").await;
    assert_eq!(messages(&frames), Vec::<String>::new());
    assert_eq!(frames.last().unwrap().json()["payload"]["reason"], "stopped_by_user");

    let read = std::fs::read(workspace.path().join(".breadboard/permission_rules.json")).unwrap();
    let mut rules: Value = serde_json::from_slice(&read).unwrap();
    assert_eq!(rules["rules"][0]["updated_at_ms"].take(), rules["updated_at_ms"].take());
    let rule = json!({"category": "shell", "pattern": "a *", "decision": "allow", "scope": "project", "updated_at_ms": null});
    assert_eq!(rules, json!({"version": 1, "updated_at_ms": null, "rules": [rule]}));

    let second = desk.create(&json!({"task": "go", "workspace": workspace.path()})).await;
    let frames = desk.stream(&second, "?replay=true").await.through("run_finished").await;
    assert_eq!(messages(&frames), ["yes"]);
    assert!(!kinds(&frames).contains(&"permission_request".to_owned()));
}

#[tokio::test]
async fn stop_does_nothing_and_delete_blocks_until_the_permission_is_answered() {
    let desk = asking();
    let (id, mut stream, _) = asked(&desk, &json!({"task": "go"})).await;
    let accepted = json!({"status": "accepted", "detail": {"status": "ok", "stopping": true}});
    assert_eq!(desk.command(&id, "stop", json!({})).await.pair(), (202, accepted));
    assert_eq!(stream.frame_now().await.json()["payload"], json!({"kind": "stop_requested"}));
    assert_eq!(stream.soon().await, Next::Silence);

    let path = format!("/v1/sessions/{id}");
    let ((deleted, end), ()) = tokio::join!(
        async {
            let deleted = desk.delete(&path).await;
            (deleted, stream.rest().await)
        },
        async {
            desk.until("the DELETE", |simulator| {
                simulator.requests().iter().any(|seen| seen.method == "DELETE")
            })
            .await;
            // It waits: the session is still listed.
            assert_eq!(desk.get(&path).await.status, 200);
            let payload = json!({"request_id": "permission_1", "decision": "deny-stop"});
            assert_eq!(desk.command(&id, "permission_decision", payload).await.status, 202);
        }
    );
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    let (frames, end) = end;
    // No last word: the body ends after the end of the run.
    assert_eq!(frames.last().unwrap().kind(), "run_finished");
    assert_eq!(end, Next::End);
    let gone = json!({"error": "not_found", "detail": "session not found", "path": null});
    assert_eq!(desk.delete(&path).await.pair(), (404, gone));
}

#[tokio::test]
async fn the_built_in_conversation_asks_only_when_the_session_prompts() {
    let desk = Desk::plain();
    for (more, asks) in [
        (json!({"task": "hi"}), false),
        (json!({"task": "hi", "permission_mode": "prompt"}), true),
        (json!({"task": "hi", "permission_mode": "interactive"}), true),
        (json!({"task": "hi", "metadata": {"permission_mode": "ask"}}), true),
        (json!({"task": "hi", "permission_mode": "auto"}), false),
    ] {
        let id = desk.create(&more).await;
        let last = if asks { "permission_request" } else { "run_finished" };
        let frames = desk.stream(&id, "?replay=true").await.through(last).await;
        assert_eq!(kinds(&frames).contains(&"permission_request".to_owned()), asks, "{more}");
    }
}
