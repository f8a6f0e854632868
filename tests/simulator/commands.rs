//! Section 6: the table of commands, checkpoints among them.

use serde_json::{Value, json};

use crate::desk::{Desk, kinds};

fn refusal(status: u16, code: &str, detail: &str) -> (u16, Value) {
    (status, json!({"error": code, "detail": detail, "path": null}))
}

fn accepted(detail: Value) -> (u16, Value) {
    (202, json!({"status": "accepted", "detail": detail}))
}

#[tokio::test]
async fn the_table_of_commands() {
    let desk = Desk::plain();
    let id = desk.create(&json!({})).await;
    let other = desk.create(&json!({})).await;
    for (command, payload, expected) in [
        ("stop", json!({}), accepted(json!({"status": "ok", "stopping": true}))),
        ("set_model", json!({"model": "m"}), accepted(json!({"status": "ok", "model": "m"}))),
        ("set_mode", json!({"mode": "plan"}), accepted(json!({"status": "ok", "mode": "plan"}))),
        ("list_checkpoints", json!({}), accepted(json!({"status": "ok", "count": 0}))),
        (
            "restore_checkpoint",
            json!({"checkpoint_id": "ckpt-9"}),
            refusal(400, "invalid_request", "unknown checkpoint: ckpt-9"),
        ),
        ("run_tests", json!({}), refusal(501, "internal", "run_tests is not implemented")),
        ("apply_diff", json!({}), refusal(501, "internal", "apply_diff is not implemented")),
        ("task_action", json!({}), refusal(400, "invalid_request", "Unsupported command: task_action")),
        (
            "session_parent",
            json!({}),
            accepted(
                json!({"status": "ok", "command": "session_parent", "switched": false, "reason": "target_missing"}),
            ),
        ),
        (
            "session_child_next",
            json!({"target_session_id": "x"}),
            accepted(json!({
                "status": "ok", "command": "session_child_next", "switched": false, "reason": "target_not_found",
                "target_session_id": "x",
            })),
        ),
        (
            "session_child_next",
            json!({"child_session_id": other}),
            accepted(json!({
                "status": "ok", "command": "session_child_next", "switched": true, "target_session_id": other,
                "active_session_id": other,
            })),
        ),
    ] {
        assert_eq!(desk.command(&id, command, payload).await.pair(), expected, "{command}");
    }
    let summary = desk.summary(&id).await;
    assert_eq!((&summary["model"], &summary["mode"]), (&json!("m"), &json!("plan")));
    assert_eq!(
        desk.command("nobody", "stop", json!({})).await.pair(),
        refusal(404, "not_found", "session not found")
    );
    desk.simulator.end_session(&id, "completed");
    assert_eq!(
        desk.command(&id, "stop", json!({})).await.pair(),
        refusal(409, "conflict", "session is closed")
    );
}

#[tokio::test]
async fn a_stop_is_seen_between_two_steps() {
    let script = json!([[
        {"type": "warning", "payload": {"message": "one"}}, {"hold": "gate"}, {"type": "warning", "payload": {}},
    ]]);
    let desk = Desk::scripted(&script);
    let id = desk.create(&json!({})).await;
    // One that comes while idle is accepted and forgotten.
    desk.command(&id, "stop", json!({})).await;
    desk.input(&id, "go").await;
    desk.logged(&id, "warning", 1).await;
    desk.command(&id, "stop", json!({})).await;
    desk.simulator.release("gate");
    let frames = desk.stream(&id, "?replay=true").await.through("run_finished").await;
    let all = kinds(&frames);
    assert_eq!(all.iter().filter(|kind| *kind == "warning").count(), 1);
    let completion = frames.iter().find(|frame| frame.kind() == "completion").unwrap().json();
    let summary = &completion["payload"]["summary"];
    assert_eq!((&summary["reason"], &summary["exit_kind"]), (&json!("stopped_by_user"), &json!("stopped")));
    // A stopped session goes on.
    assert_eq!(desk.summary(&id).await["status"], "running");
}

#[tokio::test]
async fn skills_that_are_set_come_back_as_two_events() {
    let desk = Desk::plain();
    let id = desk.create(&json!({})).await;
    let answer = desk.command(&id, "set_skills", json!({"allowlist": ["explain"]})).await;
    let selection = json!({"mode": "allowlist", "allowlist": ["explain"], "blocklist": [], "profile": null});
    assert_eq!(answer.json()["detail"]["selection"], selection);
    let (frames, _) = desk.stream(&id, "?replay=true").await.rest().await;
    let last = &frames[frames.len() - 2..];
    assert_eq!(kinds(last), ["skills_selection", "skills_catalog"]);
    assert_eq!(last[0].json()["payload"], json!({"selection": selection}));
    assert_eq!(desk.summary(&id).await["metadata"]["skills_selection"], selection);
    assert_eq!(last[1].json()["payload"], desk.get(&format!("/v1/sessions/{id}/skills")).await.json());
}

#[tokio::test]
async fn a_restored_checkpoint_overwrites_what_was_tracked_and_leaves_new_files_alone() {
    let script = json!([
        [{"write": "old.txt", "content": "v1"}],
        [{"write": "old.txt", "content": "v2"}, {"write": "new.txt", "content": "new"}, {"write": "../x", "content": ""}],
    ]);
    let desk = Desk::scripted(&script);
    let workspace = tempfile::tempdir().unwrap();
    let inside = workspace.path().join("ws");
    let id = desk.create(&json!({"workspace": inside})).await;
    desk.input(&id, "first").await;
    desk.input(&id, "second").await;
    desk.logged(&id, "run_finished", 2).await;
    let read = |name: &str| std::fs::read_to_string(inside.join(name)).ok();
    assert_eq!((read("old.txt").as_deref(), read("new.txt").as_deref()), (Some("v2"), Some("new")));
    assert!(!workspace.path().join("x").exists());

    let list = desk.command(&id, "list_checkpoints", json!({})).await;
    assert_eq!(list.pair(), accepted(json!({"status": "ok", "count": 2})));
    std::fs::write(inside.join("old.txt"), "the user's").unwrap();
    let payload = json!({"checkpoint_id": "ckpt-2"});
    let restored = json!({"status": "ok", "checkpoint_id": "ckpt-2", "mode": "code", "prune": true});
    assert_eq!(desk.command(&id, "restore_checkpoint", payload).await.pair(), accepted(restored));
    assert_eq!((read("old.txt").as_deref(), read("new.txt").as_deref()), (Some("v1"), Some("new")));

    let (frames, _) = desk.stream(&id, "?replay=true&limit=3").await.rest().await;
    assert_eq!(kinds(&frames), ["checkpoint_list", "checkpoint_restored", "checkpoint_list"]);
    let ids = |at: usize| -> Vec<String> {
        let list = frames[at].json()["payload"]["checkpoints"].as_array().unwrap().clone();
        list.iter().map(|checkpoint| checkpoint["checkpoint_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(0), ["ckpt-2", "ckpt-1"]);
    assert_eq!(
        frames[1].json()["payload"],
        json!({"checkpoint_id": "ckpt-2", "mode": "code", "prune": true})
    );

    // Going back further prunes what came later.
    desk.command(&id, "restore_checkpoint", json!({"checkpoint_id": "ckpt-1", "mode": "conversation"})).await;
    let count = desk.command(&id, "list_checkpoints", json!({})).await.json()["detail"]["count"].clone();
    assert_eq!((count, read("old.txt").as_deref()), (json!(1), Some("v1")));
}
