//! The reducer: one event in, the changes of the view out.
//!
//! Owns which lane hears of which class, and where a turn begins and ends. Pure: the same events make the same state and
//! the same changes, live and on replay (R003-61, R003-62). Holds only what is open, so its size does not depend on the
//! length of the session. The tasks lane has no reducer yet; task events stand in `debug`.

use serde::{Deserialize, Serialize};

use super::block::{Change, Lane};
use super::fingerprint::key;
use super::tool_blocks::ToolBlocks;
use super::transcript::Transcript;
use super::{debug_lane, patch_block, run_lane};
use crate::domain::event::{EventClass, LocalKind, Origin, SessionEvent};

/// Everything in the view that may still change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewState {
    turn: Turn,
    transcript: Transcript,
    tools: ToolBlocks,
}

/// The turn that runs, or the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Turn {
    /// The engine's number.
    number: Option<u64>,
    /// Ours: turns so far. Engines restart their numbers, so ids hold both.
    index: u64,
    ended: bool,
}

/// How the ids of a turn's blocks name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnName {
    /// The engine's number, 0 without one.
    pub(super) label: u64,
    /// Turns of the session so far.
    pub(super) index: u64,
}

impl ViewState {
    /// Takes in the next event of the session and tells what changes in the view. Events come in the order of their
    /// `seq`, each once.
    pub fn apply(&mut self, event: &SessionEvent) -> Vec<Change> {
        let mut changes = Vec::new();
        match event.class {
            EventClass::UserMessage if event.kind == LocalKind::Prompt.as_str() => {
                self.enter_turn(event, &mut changes);
                self.transcript.close_text(&mut changes);
                self.transcript.prompt(event, &mut changes);
            }
            EventClass::TurnStart => {
                self.enter_turn(event, &mut changes);
            }
            EventClass::AssistantStream => {
                let turn = self.enter_turn(event, &mut changes);
                self.transcript.token(event, turn, &mut changes);
            }
            EventClass::ReasoningStream => {
                let turn = self.enter_turn(event, &mut changes);
                self.transcript.thinking(event, turn, &mut changes);
            }
            EventClass::ToolCall => {
                self.enter_turn(event, &mut changes);
                self.transcript.close_text(&mut changes);
                self.tools.call(event, &mut changes);
            }
            EventClass::ToolResult => self.tools.result(event, &mut changes),
            EventClass::PermissionRequest => {
                self.enter_turn(event, &mut changes);
                self.transcript.close_text(&mut changes);
                self.transcript.ask(event, &mut changes);
            }
            EventClass::PermissionResponse => self.transcript.settled(event, &mut changes),
            EventClass::PlanUpdate => {
                let turn = self.enter_turn(event, &mut changes);
                self.transcript.plan(event, turn, &mut changes);
            }
            EventClass::PatchProposed => {
                self.enter_turn(event, &mut changes);
                self.transcript.close_text(&mut changes);
                changes.push(Change::put(Lane::Chat, patch(event)));
            }
            EventClass::RetrievalStatus => {
                let turn = self.enter_turn(event, &mut changes);
                changes.push(Change::put(Lane::Run, run_lane::retrieval(event, turn)));
            }
            EventClass::RunFinished => self.finish(event, &mut changes),
            EventClass::RunErrorOrGap => {
                let block = run_lane::failure(event);
                changes.push(Change::put(Lane::Chat, block.clone()));
                changes.push(Change::put(Lane::Run, block));
            }
            EventClass::Notice => changes.push(Change::put(Lane::Chat, run_lane::notice(event))),
            EventClass::UserMessage
            | EventClass::ToolOutput
            | EventClass::CheckpointList
            | EventClass::CheckpointRestored
            | EventClass::TaskEvent
            | EventClass::SkillsCatalog
            | EventClass::SkillsSelection
            | EventClass::CtreeNode
            | EventClass::CtreeSnapshot
            | EventClass::RewardUpdate
            | EventClass::RunLogLink
            | EventClass::UsageUpdate
            | EventClass::SessionLifecycle
            | EventClass::UnknownEvent => changes.push(Change::put(Lane::Debug, debug_lane::raw(event))),
        }
        changes
    }

    /// Begins a turn when the event belongs to another than the last: its number differs, or the last one ended and
    /// this is a prompt or the engine's own start.
    fn enter_turn(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) -> TurnName {
        let starts = matches!(event.class, EventClass::UserMessage | EventClass::TurnStart);
        let other = matches!((event.turn, self.turn.number), (Some(new), Some(old)) if new != old);
        if other || (starts && self.turn.ended) {
            self.close_turn(changes);
            self.transcript.begin_turn();
            self.turn = Turn { number: event.turn, index: self.turn.index + 1, ended: false };
        } else if event.turn.is_some() {
            self.turn.number = event.turn;
        }
        self.turn_name()
    }

    fn turn_name(&self) -> TurnName {
        TurnName { label: self.turn.number.unwrap_or(0), index: self.turn.index }
    }

    fn finish(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let turn = self.enter_turn(event, changes);
        if event.origin == Origin::Engine {
            self.transcript.final_message(event, turn, changes);
        }
        self.close_turn(changes);
        self.turn.ended = true;
        changes.push(Change::put(Lane::Run, run_lane::summary(event, turn)));
    }

    /// Nothing of a turn goes on after it.
    fn close_turn(&mut self, changes: &mut Vec<Change>) {
        self.transcript.close_text(changes);
        self.tools.cancel_all(changes);
    }
}

fn patch(event: &SessionEvent) -> super::Block {
    let id = event.payload.get("patch_id").and_then(serde_json::Value::as_str).unwrap_or_default();
    super::Block {
        id: format!("patch-{}", key(id)),
        turn: event.turn,
        seq: event.seq,
        body: patch_block::body(&event.payload),
    }
}
