//! The table of the desktop dialect (seed 002).
//!
//! Owns which fields a message must have to be understood, in the words of the seed and in those that the public source of the
//! seed has for the same things (`assistant.message_delta`, `assistant.tool_use`, a bare `error` …). Asks for no more than the
//! reducers and the ledger read, so that a host that leaves out what we added to the seed (`call_id`, `request_id` of a
//! command) still works.

use serde_json::{Map, Value};

use super::ASKS_ITSELF;
use super::ask::{ask, ask_of_patch};
use crate::domain::approval::PermissionAsk;
use crate::domain::event::{EngineEvent, EventClass, Pane};

/// What a field must hold.
enum Form {
    Text,
    List,
    Object,
    Word(&'static [&'static str]),
}

struct DesktopClassRow {
    kind: &'static str,
    needs: &'static [(&'static str, Form)],
    class: EventClass,
    panes: &'static [Pane],
}

/// The first row whose type and fields fit decides.
const TABLE: &[DesktopClassRow] = &[
    row("assistant.token", &[("token", Form::Text)], EventClass::AssistantStream, &[Pane::Chat]),
    row(
        "assistant.thinking",
        &[("phase", Form::Text), ("message", Form::Text)],
        EventClass::ReasoningStream,
        &[Pane::Chat],
    ),
    row(
        "tool.execute",
        &[("tool_name", Form::Text), ("status", Form::Word(&["started"]))],
        EventClass::ToolCall,
        &[Pane::Chat],
    ),
    row(
        "tool.execute",
        &[("tool_name", Form::Text), ("status", Form::Word(&["completed", "failed"]))],
        EventClass::ToolResult,
        &[Pane::Chat],
    ),
    row(
        "agent.retrieve.status",
        &[("stage", Form::Text), ("message", Form::Text)],
        EventClass::RetrievalStatus,
        &[Pane::Run],
    ),
    row("agent.plan", &[("steps", Form::List)], EventClass::PlanUpdate, &[Pane::Chat]),
    row(
        "patch.proposed",
        &[("patch_id", Form::Text), ("file_path", Form::Text), ("diff", Form::Text)],
        EventClass::PatchProposed,
        &[Pane::Chat, Pane::Files],
    ),
    row(
        "tool.request_approval",
        &[("request_id", Form::Text), ("tool_name", Form::Text), ("args", Form::Object)],
        EventClass::PermissionRequest,
        &[Pane::Chat],
    ),
    row(
        "command.request_approval",
        &[("request_id", Form::Text), ("command", Form::Text)],
        EventClass::PermissionRequest,
        &[Pane::Chat],
    ),
    row(
        "command.request_approval",
        &[("command_id", Form::Text), ("command", Form::Text)],
        EventClass::PermissionRequest,
        &[Pane::Chat],
    ),
    row(
        "assistant.message_final",
        &[("message", Form::Text), ("metadata", Form::Object)],
        EventClass::RunFinished,
        &[Pane::Chat, Pane::Run],
    ),
    row("server.error", &[("error", Form::Object)], EventClass::RunErrorOrGap, &[Pane::Chat, Pane::Run]),
    // The words of the public source.
    row("assistant.message_delta", &[("delta", Form::Text)], EventClass::AssistantStream, &[Pane::Chat]),
    row(
        "assistant.tool_use",
        &[("tool", Form::Text), ("arguments", Form::Object)],
        EventClass::ToolCall,
        &[Pane::Chat],
    ),
    row("assistant.tool_result", &[("tool", Form::Text)], EventClass::ToolResult, &[Pane::Chat]),
    row(
        "patch.proposed",
        &[("id", Form::Text), ("file_path", Form::Text), ("diff", Form::Text)],
        EventClass::PatchProposed,
        &[Pane::Chat, Pane::Files],
    ),
    row(
        "tool.request_approval",
        &[("request_id", Form::Text), ("tool", Form::Text), ("arguments", Form::Object)],
        EventClass::PermissionRequest,
        &[Pane::Chat],
    ),
    row(
        "command.request_approval",
        &[("request_id", Form::Text), ("tool", Form::Text), ("arguments", Form::Object)],
        EventClass::PermissionRequest,
        &[Pane::Chat],
    ),
    row("error", &[("error", Form::Text)], EventClass::RunErrorOrGap, &[Pane::Chat, Pane::Run]),
    // What our own host adds to the seed.
    row("session.user_message", &[("message", Form::Text)], EventClass::UserMessage, &[Pane::Chat]),
    row(
        "approval.settled",
        &[("request_id", Form::Text), ("status", Form::Text)],
        EventClass::PermissionResponse,
        &[Pane::Chat],
    ),
    row("server.notice", &[("message", Form::Text)], EventClass::Notice, &[Pane::Chat]),
    row("session.snapshot", &[], EventClass::SessionLifecycle, &[Pane::Debug]),
    row("server.pong", &[], EventClass::SessionLifecycle, &[Pane::Debug]),
    row("server.hello", &[("server_info", Form::Object)], EventClass::SessionLifecycle, &[Pane::Debug]),
    row("session.state", &[("state", Form::Object)], EventClass::SessionLifecycle, &[Pane::Run]),
];

const fn row(
    kind: &'static str,
    needs: &'static [(&'static str, Form)],
    class: EventClass,
    panes: &'static [Pane],
) -> DesktopClassRow {
    DesktopClassRow { kind, needs, class, panes }
}

/// Class, panes and ask of one desktop message.
pub(in crate::domain::dialect) fn classify(
    event: &EngineEvent,
) -> (EventClass, &'static [Pane], Option<PermissionAsk>) {
    let fitting = TABLE.iter().find(|row| row.kind == event.kind && fits(row.needs, &event.payload));
    let Some(row) = fitting else { return (EventClass::UnknownEvent, &[Pane::Debug], None) };
    if row.class == EventClass::PatchProposed && event.id == ASKS_ITSELF {
        return (EventClass::PermissionRequest, row.panes, Some(ask_of_patch(&event.payload)));
    }
    let ask = (row.class == EventClass::PermissionRequest).then(|| ask(&event.kind, &event.payload));
    (row.class, row.panes, ask)
}

fn fits(needs: &[(&str, Form)], payload: &Map<String, Value>) -> bool {
    needs.iter().all(|(name, shape)| {
        payload.get(*name).is_some_and(|value| match shape {
            Form::Text => value.is_string(),
            Form::List => value.is_array(),
            Form::Object => value.is_object(),
            Form::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::{
        Action, OfferedRule, PermissionOption, PermissionOptionKind, RuleHolder, RuleScope, Subject,
    };
    use crate::domain::dialect::{Dialect, Normalized, normalize};
    use serde_json::json;

    fn event(kind: &str, payload: Value) -> EngineEvent {
        EngineEvent {
            id: "7#x".to_owned(),
            kind: kind.to_owned(),
            turn: Some(3),
            ts: Some(1_000),
            payload: payload.as_object().cloned().unwrap_or_default().into(),
            repaired: true,
        }
    }

    fn normalized(kind: &str, payload: Value) -> Normalized {
        normalize(Dialect::Desktop, event(kind, payload))
    }

    #[test]
    fn r003_06_07_every_message_of_the_dialect_has_its_class_and_panes() {
        let patch = json!({"patch_id": "p", "file_path": "a.rs", "diff": "", "rationale": "", "hunks": [],
            "acceptance_criteria": [], "requires_approval": true});
        let cases: Vec<(&str, Value, &str, &[Pane])> = vec![
            ("server.hello", json!({"server_info": {}}), "session.lifecycle", &[Pane::Debug]),
            ("session.state", json!({"state": {}}), "session.lifecycle", &[Pane::Run]),
            (
                "assistant.thinking",
                json!({"phase": "planning", "message": "m"}),
                "transcript.reasoning_stream",
                &[Pane::Chat],
            ),
            ("agent.plan", json!({"steps": [], "rationale": ""}), "plan.update", &[Pane::Chat]),
            (
                "agent.retrieve.status",
                json!({"stage": "text_search", "results_count": 1, "message": "m"}),
                "retrieval.status",
                &[Pane::Run],
            ),
            (
                "tool.execute",
                json!({"tool_name": "read_file", "args": {}, "status": "started", "result": null}),
                "tool.call",
                &[Pane::Chat],
            ),
            (
                "tool.execute",
                json!({"tool_name": "read_file", "args": {}, "status": "completed", "result": 1}),
                "tool.result",
                &[Pane::Chat],
            ),
            (
                "tool.execute",
                json!({"tool_name": "read_file", "args": {}, "status": "failed", "result": {}}),
                "tool.result",
                &[Pane::Chat],
            ),
            ("patch.proposed", patch, "patch.proposed", &[Pane::Chat, Pane::Files]),
            (
                "tool.request_approval",
                json!({"request_id": "r", "tool_name": "write_file", "args": {}}),
                "permission.request",
                &[Pane::Chat],
            ),
            (
                "command.request_approval",
                json!({"request_id": "r", "command": "ls"}),
                "permission.request",
                &[Pane::Chat],
            ),
            (
                "assistant.token",
                json!({"token": "t", "extra": 1}),
                "transcript.assistant_stream",
                &[Pane::Chat],
            ),
            (
                "assistant.message_final",
                json!({"message": "m", "metadata": {}}),
                "run.finished",
                &[Pane::Chat, Pane::Run],
            ),
            (
                "server.error",
                json!({"error": {"code": "MODEL_ERROR"}}),
                "run.error_or_gap",
                &[Pane::Chat, Pane::Run],
            ),
            ("assistant.message_delta", json!({"delta": "t"}), "transcript.assistant_stream", &[Pane::Chat]),
            ("assistant.tool_use", json!({"tool": "read_file", "arguments": {}}), "tool.call", &[Pane::Chat]),
            (
                "assistant.tool_result",
                json!({"tool": "read_file", "result": {}}),
                "tool.result",
                &[Pane::Chat],
            ),
            (
                "patch.proposed",
                json!({"id": "p", "file_path": "a.rs", "diff": "", "base_hash": null, "rationale": ""}),
                "patch.proposed",
                &[Pane::Chat, Pane::Files],
            ),
            (
                "command.request_approval",
                json!({"request_id": "r", "tool": "run_command", "arguments": {"command": "ls"}, "message": "m"}),
                "permission.request",
                &[Pane::Chat],
            ),
            ("error", json!({"error": "No model loaded"}), "run.error_or_gap", &[Pane::Chat, Pane::Run]),
            ("server.pong", json!({"timestamp": "2026"}), "session.lifecycle", &[Pane::Debug]),
            ("session.user_message", json!({"message": "go"}), "transcript.user_message", &[Pane::Chat]),
            (
                "approval.settled",
                json!({"request_id": "r", "status": "allowed"}),
                "permission.response",
                &[Pane::Chat],
            ),
            ("server.notice", json!({"level": "info", "message": "m"}), "notice", &[Pane::Chat]),
            ("session.snapshot", json!({"reason": "behind"}), "session.lifecycle", &[Pane::Debug]),
        ];
        for (kind, payload, class, panes) in cases {
            let given = event(kind, payload);
            let out = normalize(Dialect::Desktop, given.clone()).event;
            assert_eq!(serde_json::to_value(out.class).unwrap(), json!(class), "{kind}");
            assert_eq!(out.pane, panes, "{kind}");
            assert_eq!(
                (out.id, out.kind, out.turn, out.ts, out.payload, out.repaired),
                (given.id, given.kind, given.turn, given.ts, given.payload, given.repaired)
            );
        }
    }

    #[test]
    fn r003_08_what_does_not_fit_is_kept_whole_as_unknown() {
        for (kind, payload) in [
            ("assistant.song", json!({"verse": [1, 2]})),
            ("assistant.token", json!({"token": 7})),
            ("tool.execute", json!({"tool_name": "x", "status": "dreaming"})),
            ("tool.request_approval", json!({"tool_name": "write_file", "args": {}})),
            ("unknown", json!({"raw": "not json"})),
        ] {
            let out = normalized(kind, payload.clone());
            assert_eq!(out.event.class, EventClass::UnknownEvent, "{kind}");
            assert_eq!(*out.event.pane, [Pane::Debug]);
            assert_eq!(Value::Object(out.event.payload.into()), payload);
            assert_eq!(out.ask, None);
        }
    }

    fn pattern_of(ask: &PermissionAsk) -> Option<String> {
        ask.options.iter().find_map(|option| option.rule.as_ref()).map(|rule| rule.pattern.clone())
    }

    #[test]
    fn a_command_asks_with_its_exact_text_and_its_directory_in_the_rule() {
        let payload = json!({"request_id": "r1", "command_id": "c1", "command": "cargo test && rm x",
            "working_directory": "core", "environment": {}, "requires_approval": true, "reason": "check"});
        let ask = normalized("command.request_approval", payload.clone()).ask.unwrap();
        let rule = |scope| OfferedRule {
            pattern: "run: cargo test && rm x (in core)".into(),
            scope: Some(scope),
            holder: RuleHolder::Server,
            kept_in: None,
        };
        assert_eq!(
            ask,
            PermissionAsk {
                engine_request_id: "r1".into(),
                title: "cargo test && rm x".into(),
                options: vec![
                    PermissionOption::plain("allow_once", "Allow once", PermissionOptionKind::AllowOnce),
                    PermissionOption::ruling(
                        "allow_rule",
                        "Allow for this session",
                        rule(RuleScope::Session)
                    ),
                    PermissionOption::ruling(
                        "allow_rule_workspace",
                        "Always allow in this workspace",
                        rule(RuleScope::Workspace)
                    ),
                    PermissionOption::plain("deny", "Deny", PermissionOptionKind::Deny),
                ],
                subject: Subject::new(Action::Command {
                    command: "cargo test && rm x".into(),
                    cwd: "core".into(),
                    env: None
                })
                .because(Some("check")),
                tool_call_id: None,
                patch_id: None,
                payload,
            }
        );
    }

    #[test]
    fn an_ask_in_the_words_of_the_public_source_offers_no_rule_and_hides_no_argument() {
        let asked = |kind: &str, arguments: Value| {
            let payload =
                json!({"request_id": "r", "tool": "run_command", "arguments": arguments, "message": null});
            let ask = normalized(kind, payload).ask.unwrap();
            let ids: Vec<String> = ask.options.into_iter().map(|option| option.option_id).collect();
            (ask.title, ids)
        };
        let once = || vec!["allow_once".to_owned(), "deny".to_owned()];
        let cases = [
            ("command.request_approval", json!({"command": "ls -a"}), "ls -a"),
            (
                "command.request_approval",
                json!({"command": "ls", "cwd": "/"}),
                "run_command {\"command\":\"ls\",\"cwd\":\"/\"}",
            ),
            ("tool.request_approval", json!({"path": "a"}), "run_command {\"path\":\"a\"}"),
        ];
        for (kind, arguments, title) in cases {
            assert_eq!(asked(kind, arguments), (title.to_owned(), once()), "{kind}");
        }
    }

    #[test]
    fn a_command_without_our_additive_request_id_is_known_by_its_command_id() {
        let ask =
            normalized("command.request_approval", json!({"command_id": "c9", "command": "ls"})).ask.unwrap();
        assert_eq!(ask.engine_request_id, "c9");
        assert_eq!(pattern_of(&ask).unwrap(), "run: ls (in .)");
    }

    #[test]
    fn a_write_asks_for_its_path_and_an_unnamed_target_offers_no_rule() {
        let write = normalized(
            "tool.request_approval",
            json!({"request_id": "r", "tool_name": "write_file", "args": {"file_path": "src/a.rs"}}),
        );
        let ask = write.ask.unwrap();
        assert_eq!(
            (ask.title.as_str(), pattern_of(&ask).as_deref()),
            ("Write src/a.rs", Some("write: src/a.rs"))
        );

        let strange = normalized(
            "tool.request_approval",
            json!({"request_id": "r", "tool_name": "launch", "args": {"to": "moon"}}),
        );
        let ask = strange.ask.unwrap();
        assert_eq!(ask.title, "launch {\"to\":\"moon\"}");
        assert_eq!(pattern_of(&ask), None);
        let ids: Vec<_> = ask.options.iter().map(|option| option.option_id.as_str()).collect();
        assert_eq!(ids, ["allow_once", "deny"]);
    }
}
