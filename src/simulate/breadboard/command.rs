//! `POST …/command`: the table of section 6 of the facts.
//!
//! An accepted command is only queued: what came of it, an event says.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::answer::{self, HttpAnswer};
use super::engine::SimulatedEngine;
use super::permission::{self, PermissionAnswer};
use super::routes::{object, required};
use super::server::AskedRequest;
use super::session::SimulatedSession;
use super::{listing, python_json};

/// Runs a command.
pub(super) fn run(
    engine: &SimulatedEngine,
    session: Option<&Arc<SimulatedSession>>,
    asked: &AskedRequest,
) -> HttpAnswer {
    let read =
        object(asked).and_then(|members| required(&members, "command").map(|command| (members, command)));
    let (mut members, command) = match read {
        Ok(read) => read,
        Err(refusal) => return *refusal,
    };
    let Some(session) = session else { return answer::no_session() };
    let payload = members.remove("payload").unwrap_or(Value::Null);
    let closed = {
        let state = session.state();
        // While a DELETE waits for the answer to a permission, the answer must still get through.
        state.ended
    };
    if closed {
        return answer::refused(409, "session is closed");
    }
    match command.as_str() {
        "stop" => stop(session),
        "set_model" => set(session, &payload, "model"),
        "set_mode" => set(session, &payload, "mode"),
        "set_skills" => set_skills(session, &payload),
        "list_checkpoints" => {
            let count = emit_checkpoints(session);
            accepted(&json!({"status": "ok", "count": count}))
        }
        "restore_checkpoint" => restore(session, &payload),
        "permission_decision" => permit(session, &payload, permission::decision(&payload)),
        "respond_permission" | "permission_response" => {
            permit(session, &payload, permission::response(&payload))
        }
        "session_child_next" | "session_child_previous" | "session_parent" => {
            look_up(engine, &command, &payload)
        }
        "run_tests" | "apply_diff" => answer::refused(501, format!("{command} is not implemented")),
        _ => answer::refused(400, format!("Unsupported command: {command}")),
    }
}

fn accepted(detail: &Value) -> HttpAnswer {
    answer::json_with(202, &json!({"status": "accepted", "detail": detail}))
}

fn emit(session: &SimulatedSession, kind: &str, payload: &Value) {
    session.emit(kind, &python_json::text(payload), None, &Map::new());
}

/// Polled between steps only: it does nothing while a permission waits, and nothing when idle.
fn stop(session: &SimulatedSession) -> HttpAnswer {
    session.state().stop = true;
    emit(session, "task_event", &json!({"kind": "stop_requested"}));
    accepted(&json!({"status": "ok", "stopping": true}))
}

fn set(session: &SimulatedSession, payload: &Value, name: &str) -> HttpAnswer {
    let Some(value) = payload.get(name).and_then(Value::as_str).filter(|value| !value.trim().is_empty())
    else {
        return answer::refused(400, format!("{name} is required"));
    };
    let mut state = session.state();
    match name {
        "model" => state.model = Some(value.to_owned()),
        _ => state.mode = Some(value.to_owned()),
    }
    drop(state);
    let mut detail = json!({"status": "ok"});
    if let Some(members) = detail.as_object_mut() {
        members.insert(name.into(), json!(value));
    }
    accepted(&detail)
}

fn set_skills(session: &SimulatedSession, payload: &Value) -> HttpAnswer {
    let list = |name: &str| payload.get(name).cloned().unwrap_or_else(|| json!([]));
    let allow =
        payload.get("selected").or_else(|| payload.get("allowlist")).cloned().unwrap_or_else(|| json!([]));
    let default =
        if allow.as_array().is_some_and(|list| !list.is_empty()) { "allowlist" } else { "blocklist" };
    let selection = json!({
        "mode": payload.get("mode").and_then(Value::as_str).unwrap_or(default), "allowlist": allow,
        "blocklist": list("blocklist"), "profile": payload.get("profile"),
    });
    session.state().skills = Some(selection.clone());
    let skills = listing::skills(session);
    emit(session, "skills_selection", &json!({"selection": selection}));
    emit(session, "skills_catalog", &skills);
    accepted(&json!({"status": "ok", "selection": selection, "catalog": skills.get("catalog")}))
}

/// The list comes as an event, newest first; its length is the answer.
fn emit_checkpoints(session: &SimulatedSession) -> usize {
    let state = session.state();
    let list: Vec<Value> = state
        .checkpoints
        .iter()
        .rev()
        .map(|checkpoint| {
            let later = state.writes.iter().filter(|(at, ..)| *at >= checkpoint.number);
            json!({
                "checkpoint_id": format!("ckpt-{}", checkpoint.number), "created_at": checkpoint.created_at,
                "preview": checkpoint.preview, "tracked_files": state.writes.len(), "additions": later.count(),
                "deletions": 0, "has_untracked_changes": false,
            })
        })
        .collect();
    drop(state);
    let count = list.len();
    emit(session, "checkpoint_list", &json!({"checkpoints": list}));
    count
}

/// Overwrites what the agent changed since, without a warning; leaves new files alone; prunes later checkpoints.
fn restore(session: &SimulatedSession, payload: &Value) -> HttpAnswer {
    let id = payload.get("checkpoint_id").and_then(Value::as_str).unwrap_or_default();
    let mode = payload.get("mode").and_then(Value::as_str).unwrap_or("code");
    if !["code", "conversation", "both"].contains(&mode) {
        return answer::refused(400, format!("unknown restore mode: {mode}"));
    }
    let mut state = session.state();
    let found = state.checkpoints.iter().find(|checkpoint| id == format!("ckpt-{}", checkpoint.number));
    let Some(number) = found.map(|checkpoint| checkpoint.number) else {
        return answer::refused(400, format!("unknown checkpoint: {id}"));
    };
    if mode != "conversation" {
        for (_, path, before) in state.writes.iter().rev().filter(|(at, ..)| *at >= number) {
            if let Some(before) = before {
                // A file that cannot be written stays; the engine says as little.
                let _ = std::fs::write(path, before);
            }
        }
        state.writes.retain(|(at, ..)| *at < number);
    }
    state.checkpoints.retain(|checkpoint| checkpoint.number <= number);
    drop(state);
    emit(session, "checkpoint_restored", &json!({"checkpoint_id": id, "mode": mode, "prune": true}));
    emit_checkpoints(session);
    accepted(&json!({"status": "ok", "checkpoint_id": id, "mode": mode, "prune": true}))
}

/// An accepted answer is only queued: one with a wrong id is accepted as well, and thrown away.
fn permit(session: &SimulatedSession, payload: &Value, answer: PermissionAnswer) -> HttpAnswer {
    let id = ["request_id", "permission_id", "id"].iter().find_map(|key| payload.get(*key)?.as_str());
    let Some(id) = id else { return answer::refused(400, "request_id is required") };
    let mut state = session.state();
    if state.active.is_none() {
        return answer::refused(409, "no permission request is active");
    }
    let said = answer.all.clone();
    if let Some(pending) = state.pending.take_if(|pending| pending.request_id == id) {
        // The run that asked may have ended meanwhile.
        let _ = pending.answer.send(answer);
    }
    accepted(&json!({
        "status": "ok",
        "delivered": {"status": "ok", "request_id": id, "delivered": {"permission_id": id, "response": said}},
    }))
}

fn look_up(engine: &SimulatedEngine, command: &str, payload: &Value) -> HttpAnswer {
    let target = ["target_session_id", "child_session_id", "parent_session_id"];
    let target = target.iter().find_map(|key| payload.get(*key)?.as_str());
    accepted(&match target {
        None => json!({"status": "ok", "command": command, "switched": false, "reason": "target_missing"}),
        Some(target) if engine.session(target).is_none() => json!({
            "status": "ok", "command": command, "switched": false, "reason": "target_not_found",
            "target_session_id": target,
        }),
        Some(target) => json!({
            "status": "ok", "command": command, "switched": true, "target_session_id": target,
            "active_session_id": target,
        }),
    })
}
