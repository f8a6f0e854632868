//! Seeded sessions of every dialect: events that engines send, some of them broken, in something like an order and in none.
//!
//! Owns what is made up, the same for the same seed. Never reads what becomes of it.

use breadboard_core::domain::approval::{AskRoot, Permission};
use breadboard_core::domain::dialect::{Dialect, normalize};
use breadboard_core::domain::event::{EngineEvent, LocalKind, NormalizedEvent, SessionEvent};
use serde_json::{Map, Value, json};

/// Most events of a session.
const LONGEST: u64 = 70;

/// xorshift64*, from a seed that is never 0.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap_or_default()]
    }

    fn value(&mut self, of: &[Value]) -> Value {
        of[usize::try_from(self.below(of.len() as u64)).unwrap_or_default()].clone()
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn text(&mut self) -> String {
        let words = ["a", "b ", "\n", "c\n\n", "é", "done", " the file", "", "x y z"];
        (0..=self.below(2)).map(|_| self.pick(&words)).collect()
    }

    fn id(&mut self, letter: &str) -> Value {
        match self.below(5) {
            0 => Value::Null,
            number => json!(format!("{letter}{number}")),
        }
    }
}

/// The session of a seed.
pub fn session(dialect: Dialect, seed: u64) -> Vec<SessionEvent> {
    let salt = match dialect {
        Dialect::Desktop => 1,
        Dialect::Breadboard => 2,
        Dialect::Acp => 3,
    };
    let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt);
    let length = 1 + random.below(LONGEST);
    // Half of them in something like the order of turns, half in none.
    let ordered = random.one_in(2);
    let mut turn = 1;
    (1..=length)
        .map(|seq| {
            let (kind, mut payload) = match random.below(8) {
                0 => local(&mut random, dialect),
                _ => match dialect {
                    Dialect::Desktop => desktop(&mut random),
                    Dialect::Breadboard => breadboard(&mut random),
                    Dialect::Acp => acp(&mut random),
                },
            };
            if random.one_in(12) {
                break_one(&mut random, &mut payload);
            }
            let number = if ordered {
                if random.one_in(10) {
                    turn += 1;
                }
                Some(turn)
            } else {
                [None, Some(1), Some(2), Some(8)][usize::try_from(random.below(4)).unwrap_or_default()]
            };
            let outside = matches!(kind, "user_message_chunk" | "user_message") && !random.one_in(3);
            event(dialect, kind, payload, number.filter(|_| !outside), seq)
        })
        .collect()
}

fn event(dialect: Dialect, kind: &str, payload: Value, turn: Option<u64>, seq: u64) -> SessionEvent {
    let payload: Map<String, Value> = payload.as_object().cloned().unwrap_or_default();
    let locals = [
        LocalKind::Prompt,
        LocalKind::PermissionSettled,
        LocalKind::TurnEnd,
        LocalKind::Notice,
        LocalKind::Gap,
        LocalKind::AgentExited,
    ];
    if let Some(local) = locals.into_iter().find(|local| local.as_str() == kind) {
        return NormalizedEvent::local(local, turn, 0, payload).sequenced(seq);
    }
    let text = serde_json::value::to_raw_value(&payload).ok();
    let payload = text.and_then(breadboard_core::domain::payload::Payload::from_raw).unwrap_or_default();
    let id = if dialect == Dialect::Acp { "1:0".to_owned() } else { String::new() };
    let raw = EngineEvent { id, kind: kind.to_owned(), turn, ts: Some(0), payload, repaired: false };
    let normalized = normalize(dialect, raw);
    let mut event = normalized.event;
    event.permission = normalized.ask.map(|ask| {
        let request_id = match ask.engine_request_id.as_str() {
            "" | "1:0" => format!("q{}", seq % 5),
            id => id.to_owned(),
        };
        Box::new(Permission::of(&ask, request_id, &AskRoot::AtEngine, None).cut())
    });
    event.sequenced(seq)
}

/// A field goes, or holds something of another kind; inside, too.
fn break_one(random: &mut Random, payload: &mut Value) {
    let Some(map) = payload.as_object_mut().filter(|map| !map.is_empty()) else { return };
    let at = usize::try_from(random.below(map.len() as u64)).unwrap_or_default();
    let Some(name) = map.keys().nth(at).cloned() else { return };
    if let Some(inner) = map.get_mut(&name).filter(|inner| inner.is_object())
        && random.one_in(2)
    {
        return break_one(random, inner);
    }
    let others = [json!(null), json!(7), json!("text"), json!([1, "a"]), json!({"x": {"y": 1}}), json!(true)];
    if random.one_in(3) {
        map.remove(&name);
    } else {
        let at = usize::try_from(random.below(6)).unwrap_or_default();
        map.insert(name, others[at].clone());
    }
}

fn local(random: &mut Random, dialect: Dialect) -> (&'static str, Value) {
    let asks = ["r1", "r2", "permission_1", "q1", "q2", "q3", "q4"];
    match random.below(10) {
        0..=3 => ("local.prompt", json!({"messageId": "m", "text": random.text(), "attachmentIds": ["f1"]})),
        4..=6 => {
            let status = random.pick(&["allowed", "denied", "expired", "cancelled", "pending"]);
            (
                "local.permission_settled",
                json!({"requestId": random.pick(&asks), "status": status, "resolvedBy": "user"}),
            )
        }
        7 => {
            let reason = random.pick(&["failed", "no_end", "interrupted", "cancelled"]);
            ("local.turn_end", json!({"reason": reason, "message": "It ended."}))
        }
        8 if dialect == Dialect::Acp => {
            ("local.agent_exited", json!({"generation": 1, "code": 3, "expected": random.one_in(2)}))
        }
        8 => ("local.gap", json!({"reason": "the engine forgot"})),
        _ => (
            "local.notice",
            json!({"level": random.pick(&["info", "warning", "error"]), "text": random.text()}),
        ),
    }
}

fn desktop(random: &mut Random) -> (&'static str, Value) {
    let mut call = json!({"call_id": random.id("c"), "tool_name": random.pick(&["read_file", "run"]),
        "args": {"path": "a.rs", "n": 1}, "status": random.pick(&["started", "started", "completed", "failed"]),
        "result": random.value(&[json!({"content": "text"}), json!("words"), json!({"error": "no"}), Value::Null])});
    match random.below(15) {
        0..=3 => ("assistant.token", json!({"token": random.text()})),
        4 | 5 => (
            "assistant.thinking",
            json!({"phase": random.pick(&["planning", "executing"]), "message": random.text()}),
        ),
        6..=8 => {
            if random.one_in(3)
                && let Some(map) = call.as_object_mut()
            {
                map.remove("call_id");
            }
            ("tool.execute", call)
        }
        9 => (
            "agent.plan",
            json!({"steps": [{"description": random.text(), "files_involved": ["f", 2], "status": "open"}, "b", 3]}),
        ),
        10 => (
            "agent.retrieve.status",
            json!({"stage": random.pick(&["text", "symbols"]), "message": random.text()}),
        ),
        11 => (
            "patch.proposed",
            json!({"patch_id": format!("p{}", random.below(3)), "file_path": "f", "rationale": random.text(),
                "diff": "@@ -1 +1 @@\n-a\n+b\n"}),
        ),
        12 => match random.below(2) {
            0 => (
                "command.request_approval",
                json!({"request_id": random.pick(&["r1", "r2"]), "command": "ls", "reason": "why"}),
            ),
            _ => (
                "tool.request_approval",
                json!({"request_id": random.pick(&["r1", "r2"]), "tool_name": "write_file", "args": {"file_path": "a"}}),
            ),
        },
        13 => {
            let (good, cancelled) = (random.one_in(2), random.one_in(3));
            (
                "assistant.message_final",
                json!({"message": random.text(), "metadata": {"success": good, "cancelled": cancelled, "tokens": 7}}),
            )
        }
        _ => match random.below(5) {
            0 => ("server.error", json!({"error": {"message": "no", "code": "MODEL_ERROR"}})),
            1 => ("session.state", json!({"state": {}})),
            2 => ("server.hello", json!({"server_info": {}})),
            3 => ("turn_start", json!({})),
            _ => ("strange", json!({"x": [1, null]})),
        },
    }
}

fn breadboard(random: &mut Random) -> (&'static str, Value) {
    let id = random.id("i");
    let call = random.id("c");
    let name = random.pick(&["read", "shell"]);
    let text = random.text();
    match random.below(36) {
        0..=3 => (
            random.pick(&["assistant.message.delta", "assistant_message_delta", "assistant_delta"]),
            json!({"item_id": id, "delta": text}),
        ),
        4 => ("assistant_delta", json!({"message_id": id, "text": text})),
        5 => (random.pick(&["assistant.message.start", "assistant.message.end"]), json!({"item_id": id})),
        6 => (
            "assistant_message",
            json!({"text": text, "source": random.pick(&[None, Some("fallback")]), "message": {"role": "assistant", "content": [{"text": text}]}}),
        ),
        7 => (
            random.pick(&["assistant.reasoning.delta", "assistant.thought_summary.delta"]),
            json!({"item_id": id, "delta": {"text": text}}),
        ),
        8 | 9 => (
            "tool_call",
            json!({"call": {"id": call, "function": {"name": name, "arguments": "{\"path\":\"x\",\"n\":1}"}}, "call_id": call,
                "diff_preview": random.pick(&[None, Some("+a")])}),
        ),
        10 | 11 => (
            "tool_result",
            json!({"call_id": call, "tool": name, "success": random.one_in(2), "metadata": {"exit_code": random.below(2)},
                "result": {"stdout": text, "stderr": "e"}, "artifact_ref": {"path": "a/b"}}),
        ),
        12 | 13 => (
            "tool_result",
            json!({"call_id": call, "message": {"role": "tool", "name": name, "content": text},
                "status": random.pick(&["ok", "error"])}),
        ),
        14 => (
            random.pick(&["tool_result", "todo_event"]),
            json!({"call_id": random.pick(&["todo:snapshot:connect:1", "todo:1"]),
                "todo": {"items": [{"title": text, "status": "todo"}], "scope_key": id}}),
        ),
        15 => ("tool.exec.start", json!({"exec_id": id, "call_id": call, "command": "ls"})),
        16 | 17 => (
            random.pick(&["tool.exec.stdout.delta", "tool.exec.stderr.delta"]),
            json!({"exec_id": id, "call_id": call, "delta": text}),
        ),
        18 => ("tool.exec.end", json!({"exec_id": id, "call_id": call, "exit_code": random.below(2)})),
        19 => (
            "user_message",
            json!({"text": random.pick(&["a", "done", "<TOOL_ERROR> bad", "x y z\n\nmore"])}),
        ),
        20 | 21 => ("turn_start", json!({})),
        22 => (
            "permission_request",
            json!({"request_id": "permission_1", "tool": name, "category": "shell", "pattern": "ls *",
                "metadata": {"command": "ls"}, "items": []}),
        ),
        23 => (
            "permission_response",
            json!({"request_id": "permission_1", "response": random.pick(&["once", "reject"]),
                "responses": {"items": {"a": "once"}}}),
        ),
        24 | 25 => (
            "task_event",
            json!({"kind": random.pick(&["subagent_spawned", "subagent_completed", "subagent_failed", "news", "stop_requested",
                    "permission_request", "permission_response"]),
                "task_id": random.id("k"), "parent_task_id": random.id("k"), "description": text,
                "status": random.pick(&[None, Some("queued"), Some("running"), Some("failed")]),
                "payload": {"request_id": "permission_1", "category": "shell", "metadata": {"command": "ls"}, "response": "reject"}}),
        ),
        26 => (
            "completion",
            json!({"summary": {"completed": random.one_in(2), "reason": random.pick(&["max_steps_reached", "stopped_by_user",
                "finish_reason:length", "run_loop_exception", ""]), "max_steps": 3}, "mode": "m"}),
        ),
        27 | 28 => (
            random.pick(&["run_finished", "run.finished"]),
            json!({"completed": random.one_in(2), "reason": random.pick(&["explicit_completion_marker", "odd_reason", ""]),
                "exit_kind": random.pick(&[None, Some("stopped")]), "steps": 3,
                "error": random.value(&[Value::Null, json!({"message": "bad\nworse", "type": "T"}), json!("line")])}),
        ),
        29 => (
            random.pick(&["turn_completed", "turn_failed", "turn_cancelled", "turn.failed"]),
            json!({"reason": random.pick(&[None, Some("why")])}),
        ),
        30 => match random.below(4) {
            0 => ("error", json!({"message": "no", "error": {"message": "inner"}})),
            1 => ("stream.gap", json!({"reason": random.pick(&[None, Some("lost")])})),
            2 => ("warning", json!({"message": text})),
            _ => ("strange", json!({"x": [1, null]})),
        },
        31 => match random.below(3) {
            0 => (
                "checkpoint_list",
                json!({"checkpoints": [{"checkpoint_id": format!("ckpt-{}", random.below(4)), "preview": text, "additions": 3},
                    {"checkpoint_id": "ckpt-9"}]}),
            ),
            1 => (
                "checkpoint_restored",
                json!({"checkpoint_id": format!("ckpt-{}", random.below(4)), "mode": "both", "prune": random.one_in(2)}),
            ),
            _ => (
                "log_link",
                json!({"url": random.pick(&["file://logging/a", "https://x/y", ""]), "label": "l"}),
            ),
        },
        32 => match random.below(4) {
            0 => (
                "limits_update",
                json!({"buckets": [{"name": "requests", "remaining": random.below(2), "limit": 9}], "retry_after_ms": 1200,
                    "provider": "P"}),
            ),
            1 => ("usage_update", json!({"usage": {"prompt_tokens": 12, "cost_usd": 0.5}})),
            2 => ("reward_update", json!({"summary": random.pick(&["good", "bad"])})),
            _ => (
                "skills_selection",
                json!({"selection": {"allowlist": ["a", "b"]}, "catalog": {"skills": [1]}}),
            ),
        },
        33 => match random.below(3) {
            0 => ("ctree_node", json!({"node": {"id": 1}})),
            1 => ("ctree_snapshot", json!({"snapshot": {"node_count": 4}})),
            _ => ("skills_catalog", json!({"catalog": {"prompt_skills": [1], "graph_skills": [2, 3]}})),
        },
        34 => (
            random.pick(&["conversation.compaction.start", "conversation.compaction.end"]),
            json!({"reason": "too_long"}),
        ),
        _ => (random.pick(&["stream.open", "assistant.token", "tool.execute"]), json!({"token": "t"})),
    }
}

fn acp(random: &mut Random) -> (&'static str, Value) {
    let text = random.text();
    let message = random.id("m");
    let call = format!("c{}", random.below(4));
    match random.below(22) {
        0..=4 => {
            ("agent_message_chunk", json!({"messageId": message, "content": {"type": "text", "text": text}}))
        }
        5 | 6 => {
            ("agent_thought_chunk", json!({"messageId": message, "content": {"type": "text", "text": text}}))
        }
        7 => (
            "user_message_chunk",
            json!({"messageId": message, "content": [{"type": "text", "text": text}, {"type": "image", "uri": "u"}]}),
        ),
        8 | 9 => (
            "tool_call",
            json!({"toolCallId": call, "title": random.pick(&["read", "todowrite", "Edit a.rs"]), "kind": "read",
                "status": "pending", "rawInput": {"filePath": "a.rs"}, "locations": [{"path": "/w/a.rs", "line": 3}]}),
        ),
        10..=13 => {
            let content = match random.below(4) {
                0 => json!([{"type": "content", "content": {"type": "text", "text": text}}]),
                1 => json!([{"type": "diff", "path": "/w/a", "oldText": "a\n", "newText": "b\n"}]),
                2 => json!([{"type": "terminal", "terminalId": "t1"}]),
                _ => Value::Null,
            };
            let output = match random.below(4) {
                0 => json!({"output": text, "metadata": {"exit": random.below(2)}}),
                1 => json!({"exit_code": null, "stdout": text}),
                2 => json!({"metadata": {"todos": [{"content": text, "status": "pending"}]}}),
                _ => Value::Null,
            };
            let delta =
                if random.one_in(4) { json!({"terminal_output_delta": {"data": text}}) } else { Value::Null };
            (
                "tool_call_update",
                json!({"toolCallId": call, "status": random.pick(&["in_progress", "completed", "failed", "cancelled", "odd"]),
                    "content": content, "rawOutput": output, "_meta": delta}),
            )
        }
        14 => match random.below(3) {
            0 => ("plan", json!({"entries": [{"content": text, "status": "pending"}, "b"]})),
            1 => ("plan_update", json!({"plan": {"planId": message, "content": "a\nb"}})),
            _ => ("plan_removed", json!({"planId": message})),
        },
        15 | 16 => (
            "session/request_permission",
            json!({"toolCall": {"toolCallId": call, "title": "Edit", "kind": "edit", "rawInput": {"path": "a"},
                    "content": [{"type": "diff", "path": "/w/a", "oldText": null, "newText": "b\n"}]},
                "options": [{"optionId": "o", "name": "Allow", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}),
        ),
        17 | 18 => (
            "session/prompt",
            if random.one_in(4) {
                json!({"error": {"code": random.pick(&[-32000, -32603]), "message": text}})
            } else {
                json!({"stopReason": random.pick(&["end_turn", "cancelled", "max_tokens", "refusal", "odd", "max_turn_requests"]),
                    "usage": {"in": 3}})
            },
        ),
        19 => match random.below(5) {
            0 => {
                ("usage_update", json!({"used": 5, "size": 100, "cost": {"amount": 0.25, "currency": "USD"}}))
            }
            1 => ("usage_update", json!({"used": "x"})),
            2 => ("available_commands_update", json!({"availableCommands": [{"name": "a"}]})),
            3 => ("current_mode_update", json!({"currentModeId": "code"})),
            _ => ("session_info_update", json!({"title": "t"})),
        },
        20 => match random.below(3) {
            0 => (
                "notice",
                json!({"severity": random.pick(&["error", "warning", "odd"]), "title": "T", "description": text}),
            ),
            1 => (
                "compaction_update",
                json!({"compactionId": message, "status": random.pick(&["started", "completed", "failed", "cancelled"]),
                    "error": "e"}),
            ),
            _ => ("compaction_summary_chunk", json!({"content": {"type": "text", "text": text}})),
        },
        _ => match random.below(5) {
            0 => ("subagent_update", json!({"x": 1})),
            1 => ("agent/log", json!({"line": "l"})),
            2 => (
                "elicitation/create",
                json!({"message": "Which?", "mode": "form", "requestedSchema": {"type": "object",
                    "properties": {"a": {"type": "string"}}}}),
            ),
            3 => ("fs/read_text_file", json!({"path": "/w/a"})),
            _ => ("strange", json!({"x": [1, null]})),
        },
    }
}
