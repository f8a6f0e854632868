//! The table of the BreadBoard dialect (seed 003): the class and the panes of every type that the engine has.
//!
//! The type alone decides (R003-09 to R003-36). Never looks into a payload but of a type that may ask; a type that is not
//! in the table is `unknown_event`, whole. What is asked: `ask`.

use super::ask::ask;
use super::permissions::asked;
use super::words::EngineWord;
use crate::domain::approval::PermissionAsk;
use crate::domain::event::{EngineEvent, EventClass, Pane};

type ClassRow = (&'static str, EventClass, &'static [Pane]);

const CHAT: &[Pane] = &[Pane::Chat];
const RUN: &[Pane] = &[Pane::Run];
const CHAT_RUN: &[Pane] = &[Pane::Chat, Pane::Run];
const RUN_CHAT: &[Pane] = &[Pane::Run, Pane::Chat];
const RUN_DEBUG: &[Pane] = &[Pane::Run, Pane::Debug];
const TASKS: &[Pane] = &[Pane::Tasks];
const TASKS_DEBUG: &[Pane] = &[Pane::Tasks, Pane::Debug];
const CHAT_TASKS: &[Pane] = &[Pane::Chat, Pane::Tasks];
const DEBUG: &[Pane] = &[Pane::Debug];

/// Sorted by name, for the search; a name is spelled with `_` here and stands for its dotted spellings too (R003-07).
/// The seed's words where it has one, else our additive classes.
const TABLE: &[ClassRow] = &[
    ("assistant_delta", EventClass::AssistantStream, CHAT),
    ("assistant_message", EventClass::AssistantStream, CHAT),
    ("assistant_message_delta", EventClass::AssistantStream, CHAT),
    ("assistant_message_end", EventClass::AssistantStream, CHAT),
    ("assistant_message_start", EventClass::AssistantStream, CHAT),
    ("assistant_reasoning_delta", EventClass::ReasoningStream, CHAT),
    ("assistant_thought_summary_delta", EventClass::ReasoningStream, CHAT),
    ("checkpoint_list", EventClass::CheckpointList, RUN),
    ("checkpoint_restored", EventClass::CheckpointRestored, RUN_CHAT),
    ("completion", EventClass::RunFinished, CHAT_RUN),
    ("conversation_compaction_end", EventClass::ContextCompaction, CHAT),
    ("conversation_compaction_start", EventClass::ContextCompaction, CHAT),
    ("ctree_node", EventClass::CtreeNode, TASKS_DEBUG),
    ("ctree_snapshot", EventClass::CtreeSnapshot, RUN_DEBUG),
    ("error", EventClass::RunErrorOrGap, CHAT_RUN),
    ("limits_update", EventClass::UsageUpdate, RUN),
    ("log_link", EventClass::RunLogLink, RUN),
    ("permission_request", EventClass::PermissionRequest, CHAT),
    ("permission_response", EventClass::PermissionResponse, CHAT),
    ("reward_update", EventClass::RewardUpdate, RUN),
    ("run_finished", EventClass::RunFinished, CHAT_RUN),
    ("skills_catalog", EventClass::SkillsCatalog, RUN_DEBUG),
    ("skills_selection", EventClass::SkillsSelection, RUN_DEBUG),
    ("stream_gap", EventClass::RunErrorOrGap, CHAT_RUN),
    ("stream_open", EventClass::SessionLifecycle, DEBUG),
    ("task_event", EventClass::TaskEvent, TASKS),
    ("todo_event", EventClass::TodoUpdate, CHAT_TASKS),
    ("tool_call", EventClass::ToolCall, CHAT),
    ("tool_exec_end", EventClass::ToolOutput, CHAT),
    ("tool_exec_start", EventClass::ToolOutput, CHAT),
    ("tool_exec_stderr_delta", EventClass::ToolOutput, CHAT),
    ("tool_exec_stdout_delta", EventClass::ToolOutput, CHAT),
    ("tool_result", EventClass::ToolResult, CHAT),
    ("turn_cancelled", EventClass::SessionLifecycle, RUN_DEBUG),
    ("turn_completed", EventClass::SessionLifecycle, RUN_DEBUG),
    ("turn_failed", EventClass::SessionLifecycle, RUN_DEBUG),
    ("turn_start", EventClass::TurnStart, CHAT),
    ("usage", EventClass::UsageUpdate, RUN),
    ("usage_update", EventClass::UsageUpdate, RUN),
    ("user_message", EventClass::UserMessage, CHAT),
    ("warning", EventClass::Notice, CHAT),
];

/// Class, panes and ask of one event.
pub(in crate::domain::dialect) fn classify(
    event: &EngineEvent,
) -> (EventClass, &'static [Pane], Option<PermissionAsk>) {
    let (class, panes) = row(&event.kind);
    let may_ask = matches!(class, EventClass::PermissionRequest | EventClass::TaskEvent);
    let asked = may_ask.then(|| asked(&event.kind, &event.payload)).flatten();
    (class, panes, asked.and_then(|asked| ask(asked, &event.payload)))
}

/// The class and the panes of a type, in any of its spellings.
pub fn row(kind: &str) -> (EventClass, &'static [Pane]) {
    let unknown = (EventClass::UnknownEvent, DEBUG);
    let Some(word) = EngineWord::of(kind) else { return unknown };
    let word = word.as_str();
    let found = TABLE.binary_search_by(|(name, ..)| (*name).cmp(word)).ok().and_then(|at| TABLE.get(at));
    found.map_or(unknown, |(_, class, panes)| (*class, panes))
}

#[cfg(test)]
#[path = "class_tests.rs"]
mod tests;
