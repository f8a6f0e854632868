//! The table of the BreadBoard dialect, one test a requirement of seed 003.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::TABLE;
use crate::domain::dialect::{Dialect, Normalized, normalize};
use crate::domain::event::{EngineEvent, EventClass, Origin, Pane};

fn event(kind: &str, payload: Value) -> EngineEvent {
    EngineEvent {
        id: "41".into(),
        kind: kind.into(),
        turn: Some(8),
        ts: Some(1_795_212_325_021),
        payload: payload.as_object().cloned().unwrap().into(),
        repaired: true,
    }
}

fn normalized(kind: &str, payload: Value) -> Normalized {
    normalize(Dialect::Breadboard, event(kind, payload))
}

/// The row of one type, as it stands on the wire.
fn on_the_wire(kind: &str) -> (Value, Value) {
    let out = normalized(kind, json!({"any": 1})).event;
    (serde_json::to_value(out.class).unwrap(), serde_json::to_value(out.pane).unwrap())
}

macro_rules! rows {
    ($($test:ident: $kind:literal => $class:literal, $panes:tt;)*) => {$(
        #[test]
        fn $test() {
            assert_eq!(on_the_wire($kind), (json!($class), json!($panes)), "{}", $kind);
        }
    )*};
}

rows! {
    r003_09_user_message: "user_message" => "transcript.user_message", ["chat"];
    r003_10_assistant_message: "assistant_message" => "transcript.assistant_stream", ["chat"];
    r003_11_assistant_message_start: "assistant.message.start" => "transcript.assistant_stream", ["chat"];
    r003_12_assistant_message_delta: "assistant.message.delta" => "transcript.assistant_stream", ["chat"];
    r003_13_assistant_message_end: "assistant.message.end" => "transcript.assistant_stream", ["chat"];
    r003_14_assistant_delta: "assistant_delta" => "transcript.assistant_stream", ["chat"];
    r003_15_assistant_reasoning_delta: "assistant.reasoning.delta" => "transcript.reasoning_stream", ["chat"];
    r003_16_thought_summary_delta: "assistant.thought_summary.delta" => "transcript.reasoning_stream", ["chat"];
    r003_17_tool_call: "tool_call" => "tool.call", ["chat"];
    r003_18_tool_result: "tool_result" => "tool.result", ["chat"];
    r003_19_tool_result_dotted: "tool.result" => "tool.result", ["chat"];
    r003_20_permission_request: "permission_request" => "permission.request", ["chat"];
    r003_21_permission_response: "permission_response" => "permission.response", ["chat"];
    r003_22_checkpoint_list: "checkpoint_list" => "checkpoint.list", ["run"];
    r003_23_checkpoint_restored: "checkpoint_restored" => "checkpoint.restored", ["run", "chat"];
    r003_24_task_event: "task_event" => "task.event", ["tasks"];
    r003_25_skills_catalog: "skills_catalog" => "skills.catalog", ["run", "debug"];
    r003_26_skills_selection: "skills_selection" => "skills.selection", ["run", "debug"];
    class_and_panes_of_ctree_node: "ctree_node" => "ctree.node", ["tasks", "debug"];
    r003_28_ctree_snapshot: "ctree_snapshot" => "ctree.snapshot", ["run", "debug"];
    r003_29_reward_update: "reward_update" => "reward.update", ["run"];
    r003_30_log_link: "log_link" => "run.log_link", ["run"];
    class_and_panes_of_completion: "completion" => "run.finished", ["chat", "run"];
    class_and_panes_of_run_finished: "run_finished" => "run.finished", ["chat", "run"];
    r003_33_error: "error" => "run.error_or_gap", ["chat", "run"];
    r003_34_stream_gap: "stream.gap" => "run.error_or_gap", ["chat", "run"];
    class_and_panes_of_turn_start: "turn_start" => "turn.start", ["chat"];
    r003_36_anything_else: "never.heard" => "unknown_event", ["debug"];

    additive_tool_exec_start: "tool.exec.start" => "tool.output", ["chat"];
    additive_tool_exec_stdout: "tool.exec.stdout.delta" => "tool.output", ["chat"];
    additive_tool_exec_stderr: "tool.exec.stderr.delta" => "tool.output", ["chat"];
    additive_tool_exec_end: "tool.exec.end" => "tool.output", ["chat"];
    additive_limits_update: "limits_update" => "usage.update", ["run"];
    additive_usage: "usage" => "usage.update", ["run"];
    additive_warning: "warning" => "notice", ["chat"];
    additive_compaction_start: "conversation.compaction.start" => "context.compaction", ["chat"];
    additive_compaction_end: "conversation.compaction.end" => "context.compaction", ["chat"];
    additive_todo_event: "todo_event" => "todo.update", ["chat", "tasks"];
    additive_stream_open: "stream.open" => "session.lifecycle", ["debug"];
    additive_turn_completed: "turn_completed" => "session.lifecycle", ["run", "debug"];
    additive_turn_failed: "turn_failed" => "session.lifecycle", ["run", "debug"];
    additive_turn_cancelled: "turn_cancelled" => "session.lifecycle", ["run", "debug"];
}

/// The 35 types of the engine's own list (R003-03).
const ENGINE_TYPES: [&str; 35] = [
    "turn_start",
    "user_message",
    "assistant_message",
    "assistant.message.start",
    "assistant.message.delta",
    "assistant.message.end",
    "assistant.reasoning.delta",
    "assistant.thought_summary.delta",
    "assistant_delta",
    "tool_call",
    "tool.exec.start",
    "tool.exec.stdout.delta",
    "tool.exec.stderr.delta",
    "tool.exec.end",
    "tool_result",
    "tool.result",
    "permission_request",
    "permission_response",
    "checkpoint_list",
    "checkpoint_restored",
    "skills_catalog",
    "skills_selection",
    "ctree_node",
    "ctree_snapshot",
    "task_event",
    "limits_update",
    "warning",
    "conversation.compaction.start",
    "conversation.compaction.end",
    "stream.gap",
    "reward_update",
    "completion",
    "log_link",
    "error",
    "run_finished",
];

#[test]
fn r003_03_every_type_of_the_engine_has_a_word() {
    assert_eq!(ENGINE_TYPES.iter().collect::<HashSet<_>>().len(), 35);
    for kind in ENGINE_TYPES {
        assert_ne!(normalized(kind, json!({})).event.class, EventClass::UnknownEvent, "{kind}");
    }
}

#[test]
fn the_table_is_sorted_for_its_search_and_has_every_name_once() {
    assert!(TABLE.windows(2).all(|rows| rows[0].0 < rows[1].0));
    assert!(TABLE.iter().all(|row| row.0.len() <= 32 && !row.0.contains('.')));
}

#[test]
fn r003_07_r003_64_every_spelling_of_a_name_has_one_class() {
    assert_eq!(on_the_wire("tool.result"), on_the_wire("tool_result"));
    for kind in ENGINE_TYPES {
        assert_eq!(on_the_wire(&kind.replace('.', "_")), on_the_wire(kind), "{kind}");
        assert_eq!(on_the_wire(&kind.replace('_', ".")), on_the_wire(kind), "{kind}");
    }
    let stream = [
        "assistant_message",
        "assistant.message.start",
        "assistant.message.delta",
        "assistant.message.end",
        "assistant_delta",
    ];
    for kind in stream {
        assert_eq!(normalized(kind, json!({})).event.class, EventClass::AssistantStream, "{kind}");
    }
}

#[test]
fn r003_08_r003_67_what_has_no_word_is_kept_whole() {
    let payload = json!({"verse": [1, null, {"deep": "é"}], "ask": {"request_id": "x"}});
    for kind in ["assistant.song", "unknown", "", "Tool_Result", "tool_result ", &"x".repeat(5_000)] {
        let given = event(kind, payload.clone());
        let out = normalize(Dialect::Breadboard, given.clone());
        assert_eq!((out.event.class, &*out.event.pane), (EventClass::UnknownEvent, &[Pane::Debug][..]));
        assert_eq!(
            (
                out.event.id,
                out.event.kind,
                out.event.turn,
                out.event.ts,
                out.event.payload,
                out.event.repaired
            ),
            (given.id, given.kind, given.turn, given.ts, given.payload, given.repaired)
        );
        assert_eq!((out.ask, out.event.permission, out.event.origin), (None, None, Origin::Engine));
    }
}

#[test]
fn a_todo_snapshot_is_a_tool_result_because_the_type_alone_decides() {
    let snapshot = json!({"call_id": "todo:3", "todo": {"op": "snapshot", "items": []}});
    assert_eq!(normalized("tool_result", snapshot).event.class, EventClass::ToolResult);
}

#[test]
fn r003_24_a_task_that_asks_stays_a_task_and_carries_the_ask() {
    let inner = json!({"request_id": "permission_1", "items": [
        {"item_id": "i", "category": "shell", "pattern": "ls", "metadata": {"command": "ls -la"}}]});
    let out =
        normalized("task_event", json!({"kind": "permission_request", "task_id": "t1", "payload": inner}));
    assert_eq!((out.event.class, &*out.event.pane), (EventClass::TaskEvent, &[Pane::Tasks][..]));
    let ask = out.ask.unwrap();
    assert_eq!((ask.engine_request_id.as_str(), ask.title.as_str()), ("permission_1", "ls -la"));
    assert_eq!(ask.payload, inner);

    for other in
        [json!({"kind": "subagent_spawned", "payload": inner}), json!({"kind": "permission_request"})]
    {
        assert_eq!(normalized("task_event", other).ask, None);
    }
}

#[test]
fn a_tree_node_keeps_the_very_text_that_came() {
    let text = r#"{"node":{"id":"ctn_000001"},"seq":1}"#;
    let given =
        EngineEvent { payload: serde_json::from_str(text).unwrap(), ..event("ctree_node", json!({})) };
    let out = normalize(Dialect::Breadboard, given);
    assert_eq!(out.event.payload.raw(), Some(text));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let field = prop_oneof![
        Just("request_id".to_owned()),
        Just("id".to_owned()),
        Just("items".to_owned()),
        Just("metadata".to_owned()),
        Just("kind".to_owned()),
        Just("payload".to_owned()),
        Just("pattern".to_owned()),
        Just("category".to_owned()),
        "[a-z]{1,4}",
    ];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((field.clone(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn any_kind() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(ENGINE_TYPES.to_vec()).prop_map(str::to_owned),
        1 => "[a-z._]{0,40}",
        1 => ".{0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn r003_36_the_table_is_total_loses_nothing_and_always_says_the_same(
        kind in any_kind(),
        fields in proptest::collection::vec((prop_oneof![Just("payload"), Just("items"), Just("kind"), Just("request_id")], any_json()), 0..5),
    ) {
        let payload: Map<String, Value> = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let given = event(&kind, Value::Object(payload));
        let out = normalize(Dialect::Breadboard, given.clone());
        prop_assert_eq!(&out, &normalize(Dialect::Breadboard, given.clone()));
        prop_assert_eq!(
            (&out.event.id, &out.event.kind, out.event.turn, out.event.ts, &out.event.payload, out.event.repaired),
            (&given.id, &given.kind, given.turn, given.ts, &given.payload, given.repaired)
        );
        prop_assert!(!out.event.pane.is_empty());
        let asks = matches!(out.event.class, EventClass::PermissionRequest | EventClass::TaskEvent);
        prop_assert!(asks || out.ask.is_none());
        if let Some(ask) = out.ask {
            prop_assert!(!ask.engine_request_id.is_empty() && !ask.title.is_empty());
        }
    }

    #[test]
    fn r003_36_any_name_is_unknown_unless_it_spells_one_of_the_table(kind in ".{0,40}") {
        let known = TABLE.iter().any(|row| row.0 == kind.replace('.', "_"));
        let class = normalized(&kind, json!({})).event.class;
        prop_assert_eq!(class == EventClass::UnknownEvent, !known);
    }
}
