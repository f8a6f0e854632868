//! The table of the Agent Client Protocol: class and panes of every `sessionUpdate` and method.
//!
//! Owns the table. The word alone decides, but for two: an update of a tool is its result once it says how the tool ended,
//! and a request is an ask where a user answers it. Never changes a payload. What is asked: `ask`.
//!
//! Rows that the mapping of the protocol left open, and why they are as they are:
//! - `usage_update` is `usage.update`: tokens and cost are no reward.
//! - `current_mode_update`, `config_option_update`, `session_info_update`, `_auth/…` and what a host is asked without a user
//!   (`fs/read_text_file`, `terminal/output` …) are `session.lifecycle`: how the session stands, nothing to draw in the chat.
//! - `available_commands_update` is `skills.catalog`. Commands are not skills; that the event says `acp` commands is seen by
//!   its type.
//! - `compaction_*` is `context.compaction`; `notice` is `notice`.
//! - `plan`, `plan_update` and `plan_removed` are `plan.update`: a list of steps, not tasks with parents. `subagent_update` is
//!   `task.event`.
//! - The answer to a prompt is `run.finished` whether it is a result or an error: either way the turn is over, and a turn
//!   has one end.

use super::ask;
use crate::domain::approval::PermissionAsk;
use crate::domain::event::{EngineEvent, EventClass, Pane};
use crate::domain::payload::Payload;

type AcpClassRow = (&'static str, EventClass, &'static [Pane]);

const CHAT: &[Pane] = &[Pane::Chat];
const RUN: &[Pane] = &[Pane::Run];
const TASKS: &[Pane] = &[Pane::Tasks];
const CHAT_RUN: &[Pane] = &[Pane::Chat, Pane::Run];
const RUN_DEBUG: &[Pane] = &[Pane::Run, Pane::Debug];
const DEBUG: &[Pane] = &[Pane::Debug];

/// Sorted by name, for the search.
const TABLE: &[AcpClassRow] = &[
    ("$/cancel_request", EventClass::SessionLifecycle, DEBUG),
    ("agent/log", EventClass::RunLogLink, RUN_DEBUG),
    ("agent_message_chunk", EventClass::AssistantStream, CHAT),
    ("agent_thought_chunk", EventClass::ReasoningStream, CHAT),
    ("available_commands_update", EventClass::SkillsCatalog, RUN_DEBUG),
    ("compaction_summary_chunk", EventClass::ContextCompaction, CHAT),
    ("compaction_update", EventClass::ContextCompaction, CHAT),
    ("config_option_update", EventClass::SessionLifecycle, RUN_DEBUG),
    ("current_mode_update", EventClass::SessionLifecycle, RUN_DEBUG),
    ("elicitation/complete", EventClass::SessionLifecycle, DEBUG),
    ("fs/read_text_file", EventClass::SessionLifecycle, DEBUG),
    ("fs/write_text_file", EventClass::SessionLifecycle, DEBUG),
    ("notice", EventClass::Notice, CHAT),
    ("plan", EventClass::PlanUpdate, CHAT),
    ("plan_removed", EventClass::PlanUpdate, CHAT),
    ("plan_update", EventClass::PlanUpdate, CHAT),
    ("session/prompt", EventClass::RunFinished, CHAT_RUN),
    ("session_info_update", EventClass::SessionLifecycle, RUN_DEBUG),
    ("subagent_update", EventClass::TaskEvent, TASKS),
    ("terminal/create", EventClass::SessionLifecycle, DEBUG),
    ("terminal/kill", EventClass::SessionLifecycle, DEBUG),
    ("terminal/output", EventClass::SessionLifecycle, DEBUG),
    ("terminal/release", EventClass::SessionLifecycle, DEBUG),
    ("terminal/wait_for_exit", EventClass::SessionLifecycle, DEBUG),
    ("tool_call", EventClass::ToolCall, CHAT),
    ("tool_call_update", EventClass::ToolOutput, CHAT),
    ("usage_update", EventClass::UsageUpdate, RUN),
    ("user_message_chunk", EventClass::UserMessage, CHAT),
];

/// Class, panes and ask of one event.
pub(in crate::domain::dialect) fn classify(
    event: &EngineEvent,
) -> (EventClass, &'static [Pane], Option<PermissionAsk>) {
    if let Some(ask) = ask::ask(event) {
        return (EventClass::PermissionRequest, CHAT, Some(ask));
    }
    let (class, panes) = row(&event.kind);
    if event.kind == "tool_call_update" && is_final(&event.payload) {
        return (EventClass::ToolResult, panes, None);
    }
    (class, panes, None)
}

fn row(kind: &str) -> (EventClass, &'static [Pane]) {
    if kind.starts_with("_auth/") {
        return (EventClass::SessionLifecycle, DEBUG);
    }
    let at = TABLE.binary_search_by(|(name, ..)| (*name).cmp(kind)).ok();
    at.and_then(|at| TABLE.get(at))
        .map_or((EventClass::UnknownEvent, DEBUG), |(_, class, panes)| (*class, panes))
}

/// Whether an update says how its tool ended. `cancelled` is a word of version 2 that some agents say already.
fn is_final(payload: &Payload) -> bool {
    #[derive(serde::Deserialize)]
    struct StatusField {
        #[serde(default)]
        status: serde_json::Value,
    }
    payload.read::<StatusField>().is_some_and(|standing| {
        matches!(standing.status.as_str(), Some("completed" | "failed" | "cancelled"))
    })
}

#[cfg(test)]
#[path = "class_tests.rs"]
mod tests;
