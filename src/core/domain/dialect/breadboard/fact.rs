//! What the events of the BreadBoard engine say (seed 003).
//!
//! Owns which reading a class gets. Texts: `text`; tools: `tools` and `results`; runs, tasks, checkpoints and counts: `run`.

use super::permissions::permission_answer;
use super::words::{EngineWord, is};
use super::{results, run, text, tools};
use crate::domain::dialect::Slot;
use crate::domain::dialect::limits::{self, UNTOLD, failure};
use crate::domain::event::{EventClass, EventRef};
use crate::domain::fact::{Answered, Fact, Notice, NoticeLevel};
use crate::domain::sentence::sentence;

const DELTA: Slot = Slot {
    paths: &[&["delta"], &["delta", "text"], &["text"]],
    alike: &["item_id", "message_id", "exec_id"],
};

/// Where a piece of text stands.
pub(in crate::domain::dialect) fn slot(kind: &str) -> Option<&'static Slot> {
    match EngineWord::of(kind)?.as_str() {
        "assistant_delta"
        | "assistant_message_delta"
        | "assistant_reasoning_delta"
        | "assistant_thought_summary_delta"
        | "tool_exec_stdout_delta"
        | "tool_exec_stderr_delta" => Some(&DELTA),
        _ => None,
    }
}

/// What an event says.
pub(in crate::domain::dialect) fn fact(event: EventRef<'_>) -> Fact<'_> {
    match event.class {
        EventClass::UserMessage => text::prompt(event),
        EventClass::AssistantStream | EventClass::ReasoningStream => text::text(event),
        EventClass::ToolCall => tools::call(event),
        EventClass::ToolOutput => tools::output(event),
        EventClass::ToolResult => results::result(event),
        EventClass::PlanUpdate | EventClass::TodoUpdate => results::todo(event),
        EventClass::PermissionRequest => Fact::Ask { call: None },
        EventClass::PermissionResponse => Fact::Answered(
            permission_answer(event.kind, event.payload).map_or(Answered::Unnamed, Answered::Confirmed),
        ),
        EventClass::TaskEvent => Fact::Task(Box::new(run::task(event))),
        EventClass::TurnStart => Fact::TurnBegan,
        EventClass::RunFinished => Fact::TurnEnded(Box::new(run::ended(event))),
        EventClass::SessionLifecycle => run::closed(event).map_or(Fact::Unknown, Fact::TurnClosed),
        EventClass::RunErrorOrGap => failed(event),
        EventClass::Notice => {
            let said = limits::text(event.payload, "message");
            let text = said.unwrap_or("The engine warns without saying of what.");
            Fact::Notice(Notice::new(NoticeLevel::Warning, text))
        }
        EventClass::ContextCompaction => Fact::Compaction(run::compaction(event)),
        EventClass::CheckpointList => run::checkpoints(event).map_or(Fact::Unknown, Fact::Checkpoints),
        EventClass::CheckpointRestored => run::restored(event).map_or(Fact::Unknown, Fact::Restored),
        EventClass::RunLogLink => run::link(event.payload).map_or(Fact::Unknown, Fact::Link),
        EventClass::RewardUpdate => Fact::Reward(run::reward(event.payload)),
        EventClass::UsageUpdate => Fact::Usage(run::usage(event)),
        EventClass::SkillsCatalog | EventClass::SkillsSelection => Fact::Commands(run::skills(event)),
        EventClass::CtreeNode => Fact::TreeNode,
        EventClass::CtreeSnapshot => Fact::Tree { nodes: run::tree_nodes(event) },
        EventClass::PatchProposed
        | EventClass::RetrievalStatus
        | EventClass::TurnChanges
        | EventClass::UnknownEvent => Fact::Unknown,
    }
}

fn failed(event: EventRef<'_>) -> Fact<'_> {
    if !is(event.kind, "stream_gap") {
        return Fact::Failure(Notice::new(NoticeLevel::Error, failure(event.payload).unwrap_or(UNTOLD)));
    }
    let said = |name| limits::text(event.payload, name);
    let text = match said("reason").or_else(|| said("message")) {
        Some(reason) => {
            let why = sentence(reason);
            format!("Some events are missing here. {why} Rebuild the session to read them again.")
        }
        None => "Some events are missing here. Rebuild the session to read them again.".to_owned(),
    };
    Fact::Gap(Notice::new(NoticeLevel::Warning, text))
}
