//! Inputs: queued one behind the other, with the ids and the deduplication of PR #40 where that is on.

use serde_json::{Value, json};

use super::answer::{self, HttpAnswer};
use super::routes::{object, required};
use super::server::AskedRequest;
use super::session::{QueuedInput, SimulatedSession};

/// `POST …/input`.
pub(super) fn accept(session: Option<&SimulatedSession>, asked: &AskedRequest) -> HttpAnswer {
    let read =
        object(asked).and_then(|members| required(&members, "content").map(|content| (members, content)));
    let (members, content) = match read {
        Ok(read) => read,
        Err(refusal) => return *refusal,
    };
    let Some(session) = session else { return answer::no_session() };
    let mut state = session.state();
    if state.ended || state.closing {
        return answer::refused(409, "session is closed");
    }
    let client_id = members.get("client_message_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    if session.pr40 {
        if client_id.is_empty() {
            let input = Value::Object(members);
            return answer::unprocessable("missing", &["body", "client_message_id"], "Field required", input);
        }
        if let Some(first) = state.admitted.get(&client_id) {
            let mut again = first.clone();
            if let Some(reply) = again.as_object_mut() {
                reply.insert("disposition".into(), json!("deduplicated"));
            }
            return answer::json_with(202, &again);
        }
    }
    let mut text = content;
    let wanted = members.get("attachments").and_then(Value::as_array).into_iter().flatten();
    // Unknown ids are ignored without a word.
    let known = wanted.filter_map(|id| state.attachments.get(id.as_str()?));
    let named: Vec<String> = known
        .enumerate()
        .map(|(at, path)| {
            let name = path.rsplit('/').next().unwrap_or_default();
            format!("[Attachment {}: {name} -> {path}]", at + 1)
        })
        .collect();
    if !named.is_empty() {
        text = format!("{text}\n\n{}", named.join("\n"));
    }
    let number = state.admitted.len() + 1;
    let input = QueuedInput { text, input_id: format!("input-{number}"), turn_id: format!("turn-{number}") };
    let disposition = if state.active.is_some() || !state.queue.is_empty() { "queued" } else { "started" };
    let mut reply = json!({"status": "accepted"});
    if session.pr40 {
        reply = json!({
            "status": "accepted", "client_message_id": client_id, "input_id": input.input_id,
            "turn_id": input.turn_id, "disposition": disposition, "original_disposition": disposition,
        });
        state.admitted.insert(client_id, reply.clone());
    }
    state.queue.push_back(input);
    drop(state);
    session.wake.notify_one();
    answer::json_with(202, &reply)
}

/// `POST …/turns/{turn}/cancel` of PR #40: a queued turn goes, the running one stops at its next step.
pub(super) fn cancel(session: &SimulatedSession, turn: &str, asked: &AskedRequest) -> HttpAnswer {
    let members = match object(asked).and_then(|members| {
        required(&members, "cancellation_request_key")?;
        Ok(members)
    }) {
        Ok(members) => members,
        Err(refusal) => return *refusal,
    };
    let mut state = session.state();
    let queued = state.queue.iter().position(|input| input.turn_id == turn);
    let running = state.active.as_ref().is_some_and(|input| input.turn_id == turn);
    match queued {
        Some(at) => {
            state.queue.remove(at);
            state.terminal_turns.push(json!({"turn_id": turn, "outcome": "cancelled"}));
            drop(state);
            let payload = json!({"turn_id": turn, "reason": members.get("reason")});
            session.emit(
                "turn_cancelled",
                &super::python_json::text(&payload),
                None,
                &serde_json::Map::new(),
            );
        }
        None if running => {
            state.stop = true;
            state.cancelled = true;
        }
        None => return answer::refused(404, "turn not found"),
    }
    answer::json_with(202, &json!({"status": "accepted", "turn_id": turn}))
}
