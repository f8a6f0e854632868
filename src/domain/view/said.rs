//! What one event says, read by its type: the step between an event and the reducers.
//!
//! Owns which reading a class gets. Pure and without state: who wants the fields of an event and no view begins here. Never
//! decides what is shown.

use super::facts::{self, Call, Outcome, Output, Plan, Speech};
use crate::domain::event::{EventClass, SessionEvent};

/// The fields of one event, borrowed from it wherever they stand in it as they are.
#[derive(Debug, PartialEq)]
pub struct Said<'a>(pub(super) Words<'a>);

/// One reading for each kind of event that comes often. What the others say is read where it is shown.
#[derive(Debug, PartialEq)]
pub(super) enum Words<'a> {
    Speech(Speech<'a>),
    Call(Call),
    Result(Option<Outcome<'a>>, Option<Plan>),
    Output(Output),
    Plan(Option<Plan>),
    /// Read by class.
    Other,
}

impl<'a> Said<'a> {
    /// Reads an event of an engine whose turns are not an agent's. Total: what does not fit its type says nothing.
    pub fn read(event: &'a SessionEvent) -> Self {
        Self(match event.class {
            EventClass::AssistantStream | EventClass::ReasoningStream => Words::Speech(facts::speech(event)),
            EventClass::ToolCall => Words::Call(facts::call(event)),
            EventClass::ToolResult => {
                let (outcome, plan) = facts::result(event);
                Words::Result(outcome, plan)
            }
            EventClass::ToolOutput => facts::output(event).map_or(Words::Other, Words::Output),
            EventClass::PlanUpdate | EventClass::TodoUpdate => Words::Plan(facts::plan(event)),
            EventClass::UserMessage
            | EventClass::TurnStart
            | EventClass::RunFinished
            | EventClass::RunErrorOrGap
            | EventClass::PermissionRequest
            | EventClass::PermissionResponse
            | EventClass::PatchProposed
            | EventClass::RetrievalStatus
            | EventClass::CheckpointList
            | EventClass::CheckpointRestored
            | EventClass::TaskEvent
            | EventClass::SkillsCatalog
            | EventClass::SkillsSelection
            | EventClass::CtreeNode
            | EventClass::CtreeSnapshot
            | EventClass::RewardUpdate
            | EventClass::RunLogLink
            | EventClass::ContextCompaction
            | EventClass::UsageUpdate
            | EventClass::SessionLifecycle
            | EventClass::Notice
            | EventClass::UnknownEvent => Words::Other,
        })
    }
}
