//! The table of the Agent Client Protocol: every word of its schemas has a class, and no other word gets one.

use serde_json::{Value, json};

use super::*;
use crate::domain::dialect::acp::decode::{
    AcpLine, method_event, prompt_event, read_line, unreadable_event, update_event,
};
use crate::domain::dialect::{Dialect, normalize};

fn update(update: Value) -> (EventClass, Vec<Pane>) {
    let params: Payload = json!({"sessionId": "s", "update": update}).as_object().cloned().unwrap().into();
    let event = update_event(&params).unwrap().1;
    let normalized = normalize(Dialect::Acp, event.clone());
    assert_eq!(normalized.event.payload, event.payload);
    assert_eq!(normalized.ask, None);
    (normalized.event.class, normalized.event.pane.into_owned())
}

#[test]
fn the_table_is_sorted_and_names_nothing_twice() {
    assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn every_update_of_the_schemas_has_a_class() {
    let words = [
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "plan_update",
        "plan_removed",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
        "subagent_update",
    ];
    for word in words {
        assert_ne!(update(json!({"sessionUpdate": word})).0, EventClass::UnknownEvent, "{word}");
    }
    let unknown = (EventClass::UnknownEvent, vec![Pane::Debug]);
    assert_eq!(update(json!({"sessionUpdate": "checkpoint_created"})), unknown);
}

#[test]
fn an_update_of_a_tool_is_its_result_once_it_says_how_the_tool_ended() {
    for (status, class) in [
        (json!("in_progress"), EventClass::ToolOutput),
        (json!(null), EventClass::ToolOutput),
        (json!("paused"), EventClass::ToolOutput),
        (json!({"x": 1}), EventClass::ToolOutput),
        (json!("completed"), EventClass::ToolResult),
        (json!("failed"), EventClass::ToolResult),
    ] {
        let said = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": status});
        assert_eq!(update(said).0, class, "{status}");
    }
}

#[test]
fn methods_without_a_user_ask_nothing_and_vendor_words_stay_whole() {
    let class = |method: &str| {
        let normalized = normalize(Dialect::Acp, method_event(method, Payload::default()));
        (normalized.event.class, normalized.ask)
    };
    for method in ["fs/write_text_file", "fs/read_text_file", "terminal/create", "_auth/status_update"] {
        assert_eq!(class(method), (EventClass::SessionLifecycle, None), "{method}");
    }
    for method in ["craft/drainMidTurnQueue", "qwen/notify/x", "session/request_permission", "session/update"]
    {
        assert_eq!(class(method), (EventClass::UnknownEvent, None), "{method}");
    }
}

#[test]
fn the_end_of_a_turn_is_one_class_whether_result_or_error() {
    for line in
        [r#"{"id":1,"result":{"stopReason":"end_turn"}}"#, r#"{"id":1,"error":{"code":1,"message":"m"}}"#]
    {
        let AcpLine::Answer { outcome, .. } = read_line(line.as_bytes()).line else { panic!() };
        assert_eq!(
            normalize(Dialect::Acp, prompt_event(&outcome, None)).event.class,
            EventClass::RunFinished
        );
    }
    assert_eq!(normalize(Dialect::Acp, unreadable_event("x")).event.class, EventClass::UnknownEvent);
}
