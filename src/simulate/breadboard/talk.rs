//! What the simulated agent says without a script, and the events around every run. Payloads as in section 4 of the facts.

use serde_json::{Map, Value, json};

use super::script::{EventStep, Step};
use super::session::SessionState;

/// Bytes of filler in a tree node: with it a node has about the size of a real one.
const NODE_FILLER: usize = 2_400;
/// Pieces that an answer is streamed in, in characters.
const DELTA: usize = 12;

/// A small honest conversation: text in pieces, one tool call with its three results, the whole text, tree nodes. Its
/// tools are called in the text of the answer, as most configurations have it: no call has an id.
pub(super) fn conversation(prompt: &str, asks: bool) -> Vec<Step> {
    let said = format!("You said: {prompt}\n\nThis is the simulator. It runs no model and no commands.");
    let mut steps = vec![Step::Ctree(2), event("assistant.message.start", &json!({"item_id": "msg_1"}))];
    let characters: Vec<char> = said.chars().collect();
    for piece in characters.chunks(DELTA) {
        let piece: String = piece.iter().collect();
        steps.push(event("assistant.message.delta", &json!({"item_id": "msg_1", "delta": piece})));
    }
    steps.push(event("assistant.message.end", &json!({"item_id": "msg_1"})));
    let call = json!({
        "id": null, "type": "function", "function": {"name": "run_shell", "arguments": "{\"command\":\"echo simulated\"}"},
    });
    steps.push(event(
        "assistant_message",
        &json!({
            "text": said, "message": {"role": "assistant", "content": said},
        }),
    ));
    // A message that only calls a tool has no words.
    steps.push(event(
        "assistant_message",
        &json!({"text": "", "message": {"role": "assistant", "content": null, "tool_calls": [call]}}),
    ));
    steps.push(event(
        "tool_call",
        &json!({
            "call": call, "call_id": null, "tool": "run_shell", "action": null, "seq": 1,
        }),
    ));
    let results = tool_results();
    if asks {
        let request = json!({
            "category": "shell", "pattern": "echo *", "tool": "run_shell",
            "metadata": {"command": "echo simulated", "argv": ["echo", "simulated"], "function": "run_shell", "approval_pattern": "echo *"},
        });
        let request = request.as_object().cloned().unwrap_or_default();
        // What is refused never gets a result.
        steps.push(Step::Ask { request, on_allow: results, on_deny: Vec::new() });
    } else {
        steps.extend(results);
    }
    let end = "The command was simulated.";
    steps.push(Step::Ctree(2));
    steps.push(event(
        "assistant_message",
        &json!({"text": end, "message": {"role": "assistant", "content": end}}),
    ));
    steps
}

/// The three shapes of `tool_result` for one call: todo projection, execution, transcript message.
fn tool_results() -> Vec<Step> {
    let output = "simulated\n";
    let todo = todo_snapshot("todo:0");
    let execution = json!({
        "tool": "run_shell", "success": true, "status": "ok", "error": false,
        "metadata": {"is_run_shell": true, "command": "echo simulated", "exit_code": 0},
        "result": {"stdout": output, "stderr": "", "exit": 0},
    });
    let message = json!({
        "message": {"role": "tool", "name": "run_shell", "content": output}, "call_id": null, "result": output,
        "status": "ok", "error": false,
    });
    vec![event("tool_result", &todo), event("tool_result", &execution), event("tool_result", &message)]
}

/// A todo store without entries, as it is shown.
pub(super) fn todo_snapshot(call_id: &str) -> Value {
    json!({
        "call_id": call_id,
        "todo": {"op": "snapshot", "items": [], "revision": 0, "scope_key": "main", "scope_label": "Main"},
    })
}

/// The events before a run.
pub(super) fn opening(prompt: &str, seq: u64) -> Vec<Step> {
    let said = json!({"text": prompt, "message": {"role": "user", "content": prompt}});
    vec![outside("user_message", &said), event("turn_start", &json!({"turn": 1, "seq": seq}))]
}

/// What is said at the end of a run.
pub(super) struct RunEnding {
    pub reason: &'static str,
    pub steps: u64,
    /// Events of the run. The engine's own count is not the number on the wire.
    pub events: u64,
    pub latency_ms: u64,
    pub prompt: String,
    pub session_ordinal: u64,
    pub mode: Option<String>,
}

/// The events after a run.
pub(super) fn closing(ending: &RunEnding) -> Vec<Step> {
    let stopped = ending.reason == "stopped_by_user";
    let words = ending.prompt.split_whitespace().count();
    let usage = json!({
        "prompt_tokens": words, "completion_tokens": 20, "total_tokens": words + 20, "latency_ms": ending.latency_ms,
    });
    let summary = json!({
        "completed": !stopped, "method": "simulated", "reason": ending.reason, "confidence": 1.0,
        "source": "simulator", "analysis": null, "signal": null,
        "exit_kind": if stopped { "stopped" } else { "completed" }, "steps_taken": ending.steps, "max_steps": 50,
    });
    let logs = format!("logging/sim_{}", ending.session_ordinal);
    vec![
        outside("completion", &json!({"summary": summary, "mode": ending.mode, "usage": usage})),
        // Not a valid file URL: a relative directory where the host belongs. The engine sends it so.
        outside("log_link", &json!({"url": format!("file://{logs}")})),
        outside(
            "run_finished",
            &json!({
                "eventCount": ending.events.saturating_sub(3), "steps": ending.steps, "completed": !stopped,
                "reason": ending.reason, "logging_dir": logs, "usage": usage,
            }),
        ),
    ]
}

/// A node of the engine's tree, about three kilobytes: most of what a real stream carries.
pub(super) fn tree_node(state: &mut SessionState) -> EventStep {
    state.ctree_nodes += 1;
    let number = state.ctree_nodes;
    let seq = state.next_inner();
    let id = format!("ctn_{number:06}");
    let node = json!({
        "id": id, "kind": "event", "node_type": "message", "title": format!("node {number}"), "status": "active",
        "turn": state.turn(), "payload": {"text": "n".repeat(NODE_FILLER)}, "parent_id": null, "path": id,
        "owner": "engine", "constraints": [], "targets": [], "workspace_scope": [], "artifact_refs": [],
        "blocker_refs": [], "related_links": [], "final_spec": null, "lexical_terms": ["node"], "provenance": {},
    });
    let snapshot =
        json!({"schema_version": "0.2", "node_count": number, "event_count": number, "link_count": 0});
    EventStep::new("ctree_node", &json!({"node": node, "snapshot": snapshot, "seq": seq}))
}

/// Members of the envelope that only events of the agent's runtime carry.
pub(super) fn classification(kind: &str) -> Map<String, Value> {
    let (class, family, actor, visibility) = match kind {
        "user_message" => ("canonical", "message.user", "human", "transcript"),
        "assistant_message" => ("canonical", "message.assistant", "engine", "transcript"),
        "assistant.message.start" | "assistant.message.delta" | "assistant.message.end" => {
            ("canonical", "message.assistant", "provider", "transcript")
        }
        "turn_start" => ("canonical", "turn.started", "engine", "audit"),
        "tool_call" => ("canonical", "tool.called", "engine", "tool"),
        "tool_result" => ("canonical", "tool.completed", "tool", "tool"),
        "permission_request" => ("canonical", "permission.requested", "service", "host"),
        "permission_response" => ("canonical", "permission.decided", "service", "host"),
        "ctree_node" => ("canonical", "compaction.ctree_node", "service", "audit"),
        "ctree_snapshot" => ("projection_only", "projection.ctree_snapshot", "service", "host"),
        _ => return Map::new(),
    };
    let members = json!({
        "classification": class, "family": family, "actor": {"kind": actor}, "visibility": visibility,
    });
    members.as_object().cloned().unwrap_or_default()
}

/// An event step.
pub(super) fn event(kind: &str, payload: &Value) -> Step {
    EventStep::new(kind, payload).into()
}

/// An event step that stands in no turn.
fn outside(kind: &str, payload: &Value) -> Step {
    Step::Event(EventStep { turn: Some(None), ..EventStep::new(kind, payload) })
}
