//! The reducer: one event in, the changes of the view out.
//!
//! Owns which lane hears of which class, and where a turn begins and ends. Pure: the same events make the same state and
//! the same changes, live and on replay (R003-61, R003-62). Holds only what is open, so its size does not depend on the
//! length of the session.

use serde::{Deserialize, Serialize};

use super::agent_lane::AgentView;
use super::block::{Change, Lane};
use super::checkpoints::Checkpoints;
use super::facts::{self, Turns};
use super::prompts::{self, Echo};
use super::run_summary::RunSummary;
use super::said::{Said, Words};
use super::tasks_lane::TasksLane;
use super::tool_blocks::ToolBlocks;
use super::transcript::Transcript;
use super::{debug_lane, patch_block, run_lane, run_notices};
use crate::domain::event::{EventClass, LocalKind, Origin, SessionEvent};
use crate::domain::normalize::Dialect;
use crate::domain::wire::breadboard_facts::{permission_answer, task_kind};
use crate::domain::wire::breadboard_words::{ends_run, is};

/// Everything in the view that may still change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewState {
    pub(super) turn: Turn,
    pub(super) transcript: Transcript,
    tools: ToolBlocks,
    // States written before these lanes were there have none.
    #[serde(default)]
    tasks: TasksLane,
    #[serde(default)]
    checkpoints: Checkpoints,
    #[serde(default)]
    pub(super) run: RunSummary,
    /// `seq` of a compaction that has begun.
    #[serde(default)]
    compaction: Option<u64>,
    /// A session that an agent holds is reduced by `agent_lane`; `None` for every other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<Box<AgentView>>,
}

/// The turn that runs, or the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// Its first number, ours or the engine's.
    number: Option<u64>,
    /// The number of the step, where an engine numbers the steps of a run and not its turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    /// Ours: turns so far. Engines restart their numbers, so ids hold both.
    index: u64,
    ended: bool,
    /// Whether the chat says already what went wrong in it.
    #[serde(default, skip_serializing_if = "is_false")]
    told: bool,
}

impl Turn {
    /// Whether there was any: the first one has no count.
    pub(super) fn is_known(&self) -> bool {
        self.index > 0 || self.number.is_some()
    }

    /// Whether it ended.
    pub(super) fn is_over(&self) -> bool {
        self.ended
    }

    /// Notes that the chat says what went wrong in it. `true`: it did already.
    pub(super) fn tell(&mut self) -> bool {
        std::mem::replace(&mut self.told, true)
    }
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
    /// The state of a session whose events are of this dialect. A state that was stored knows it; one of before agents were
    /// there is none of theirs.
    pub fn speaking(mut self, dialect: Dialect) -> Self {
        match dialect {
            Dialect::Acp => {
                self.agent.get_or_insert_default();
            }
            Dialect::Desktop | Dialect::Breadboard => self.agent = None,
        }
        self
    }

    /// A state that goes on after `turns` turns whose own state is lost. Nothing of them is open; ids of later turns are new
    /// where `turns` is at least their number.
    pub fn after(turns: u64) -> Self {
        Self {
            turn: Turn { number: None, step: None, index: turns, ended: true, told: false },
            ..Self::default()
        }
    }

    /// Takes in the next event of the session and tells what changes in the view, safe to show. Events come in the order of
    /// their `seq`, each once.
    pub fn apply(&mut self, event: &SessionEvent) -> Vec<Change> {
        let mut changes = if self.agent.is_some() { self.apply_agent(event) } else { self.reduce(event) };
        for change in &mut changes {
            change.block = change.block.take().map(super::Block::shown);
        }
        changes
    }

    fn reduce(&mut self, event: &SessionEvent) -> Vec<Change> {
        let mut changes = Vec::new();
        let remark = self.remark(event);
        if remark.is_none() {
            self.run.hear(event);
        }
        if event.permission.is_some() && event.class != EventClass::PermissionRequest {
            // A task may ask inside an event of its own; the card stands in the chat all the same.
            self.ask(event, &mut changes);
        }
        match Said::read(event).0 {
            Words::Speech(speech) => {
                let turn = self.enter_turn(event, &mut changes);
                self.transcript.speech(event, turn, speech, &mut changes);
            }
            Words::Call(call) => {
                self.enter_turn(event, &mut changes);
                self.transcript.close_text(&mut changes);
                self.tools.call(event, call, &mut changes);
            }
            Words::Result(outcome, plan) => {
                // A desktop result never began a turn.
                let turn = self.enter_step(event, &mut changes);
                self.transcript.plan(event, turn, plan, &mut changes);
                if let Some(outcome) = outcome {
                    self.tools.result(event, &outcome, &mut changes);
                }
            }
            Words::Output(output) => {
                self.enter_turn(event, &mut changes);
                self.transcript.close_text(&mut changes);
                self.tools.output(event, output, &mut changes);
            }
            Words::Plan(plan) => {
                let turn = self.enter_turn(event, &mut changes);
                self.transcript.plan(event, turn, plan, &mut changes);
            }
            Words::Other => self.apply_class(event, remark, &mut changes),
        }
        changes
    }

    /// What an event does that is read where it is shown.
    fn apply_class(&mut self, event: &SessionEvent, remark: Option<String>, changes: &mut Vec<Change>) {
        match event.class {
            EventClass::UserMessage if event.kind == LocalKind::Prompt.as_str() => {
                self.enter_turn(event, changes);
                self.transcript.close_text(changes);
                self.transcript.prompt(event, changes);
            }
            EventClass::TurnStart => {
                self.enter_turn(event, changes);
            }
            EventClass::UserMessage => match remark {
                Some(remark) => {
                    self.enter_step(event, changes);
                    self.transcript.close_text(changes);
                    changes.push(prompts::remark(event, remark));
                }
                None => self.echo(event, changes),
            },
            EventClass::PermissionRequest => self.ask(event, changes),
            EventClass::PermissionResponse => {
                let denied = self.transcript.settled(event, changes);
                // The engine tells of no end of a call that it may not run.
                if self.turn.step.is_some() && (denied || refused(event)) {
                    self.tools.refuse(event, changes);
                }
            }
            EventClass::PatchProposed => {
                self.enter_turn(event, changes);
                self.transcript.close_text(changes);
                changes.push(Change::put(Lane::Chat, patch(event)));
            }
            EventClass::RetrievalStatus => {
                let turn = self.enter_turn(event, changes);
                changes.push(Change::put(Lane::Run, run_lane::retrieval(event, turn)));
            }
            EventClass::RunFinished => self.finish(event, changes),
            EventClass::RunErrorOrGap => {
                self.turn.told |= !run_lane::is_gap(event);
                let block = run_lane::failure(event);
                changes.push(Change::put(Lane::Chat, block.clone()));
                changes.push(Change::put(Lane::Run, block));
            }
            EventClass::Notice => changes.push(Change::put(Lane::Chat, run_lane::notice(event))),
            EventClass::ContextCompaction => {
                let block = run_notices::compaction(event, &mut self.compaction);
                changes.push(Change::put(Lane::Chat, block));
            }
            EventClass::TaskEvent => self.task(event, changes),
            EventClass::CtreeNode => {
                changes.push(Change::put(Lane::Debug, debug_lane::tree(event, self.run.number())));
            }
            EventClass::CheckpointList => {
                if !self.checkpoints.list(event, changes) {
                    changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
                }
            }
            EventClass::CheckpointRestored => {
                if !self.checkpoints.restored(event, changes) {
                    changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
                }
            }
            EventClass::RunLogLink => {
                let link = run_lane::link(event).map(|link| Change::put(Lane::Run, link));
                changes.push(link.unwrap_or_else(|| Change::put(Lane::Debug, debug_lane::raw(event))));
            }
            EventClass::RewardUpdate => {
                changes.push(Change::put(Lane::Run, run_notices::reward(event, self.run.number())));
            }
            EventClass::UsageUpdate => {
                changes.push(Change::put(Lane::Run, run_notices::usage(event, self.run.number())));
            }
            EventClass::SkillsCatalog | EventClass::SkillsSelection => {
                changes.push(Change::put(Lane::Run, run_notices::skills(event)));
                changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            }
            EventClass::CtreeSnapshot => {
                changes.push(Change::put(Lane::Run, run_notices::tree(event, self.run.number())));
                changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            }
            EventClass::SessionLifecycle => {
                if ends_run(&event.kind) {
                    self.end_turn(changes);
                }
                changes.extend(run_notices::turn_over(event).map(|block| Change::put(Lane::Run, block)));
                changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            }
            // What it says does not fit its type, or it has none.
            EventClass::AssistantStream
            | EventClass::ReasoningStream
            | EventClass::ToolCall
            | EventClass::ToolResult
            | EventClass::ToolOutput
            | EventClass::PlanUpdate
            | EventClass::TodoUpdate
            | EventClass::UnknownEvent => changes.push(Change::put(Lane::Debug, debug_lane::raw(event))),
        }
    }

    /// How the engine of this session numbers its turns: an agent's are ours.
    fn turns(&self, event: &SessionEvent) -> Turns {
        if self.agent.is_some() { Turns::Numbered } else { facts::turns(event) }
    }

    /// Begins a turn when the event belongs to another than the last: its number differs, or the last one ended and
    /// this is a prompt or the engine's own start. An engine that numbers steps begins a run by its own start alone.
    pub(super) fn enter_turn(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) -> TurnName {
        if self.turns(event) == Turns::Stepped {
            if event.class == EventClass::TurnStart && self.turn.ended {
                self.begin_turn(event, changes);
            }
            return self.enter_step(event, changes);
        }
        let starts = matches!(event.class, EventClass::UserMessage | EventClass::TurnStart);
        // Its numbers are ours, those of the steps are the engine's: equal ones say nothing.
        let stepped = starts && self.turn.step.is_some();
        let other = matches!((event.turn, self.turn.number), (Some(new), Some(old)) if new != old);
        if other || stepped || (starts && self.turn.ended) {
            self.begin_turn(event, changes);
        } else if event.turn.is_some() {
            self.turn.number = event.turn;
        }
        self.turn_name()
    }

    /// Begins a step of the run when the engine's number is another, or the engine says so.
    fn enter_step(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) -> TurnName {
        if self.turns(event) == Turns::Stepped {
            let other = matches!((event.turn, self.turn.step), (Some(new), Some(old)) if new != old);
            if other || event.class == EventClass::TurnStart {
                self.transcript.begin_step(changes);
                self.tools.begin_step();
            }
            self.turn.step = event.turn.or(self.turn.step);
            self.turn.number = self.turn.number.or(event.turn);
        }
        self.turn_name()
    }

    fn ask(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        self.enter_turn(event, changes);
        self.transcript.close_text(changes);
        self.transcript.ask(event, changes);
    }

    pub(super) fn begin_turn(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        self.close_turn(changes);
        self.transcript.begin_turn();
        self.tools.forget();
        self.turn =
            Turn { number: event.turn, step: None, index: self.turn.index + 1, ended: false, told: false };
    }

    /// The engine's echo of a prompt: ours is printed already, another client's is not.
    fn echo(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let said = facts::echo(event);
        match (self.transcript.echo(said.as_deref()), said) {
            (Echo::Ours { changed }, _) => {
                if self.turn.ended {
                    self.begin_turn(event, changes);
                }
                self.enter_step(event, changes);
                self.transcript.close_text(changes);
                changes.extend(changed.map(|words| prompts::changed(event, &words)));
            }
            (Echo::Other, Some(words)) => {
                self.begin_turn(event, changes);
                self.enter_step(event, changes);
                changes.push(prompts::others(event, &words));
            }
            (Echo::Other, None) => changes.push(Change::put(Lane::Debug, debug_lane::raw(event))),
        }
    }

    /// What the engine tells its model in the middle of a run: nobody's prompt.
    fn remark(&self, event: &SessionEvent) -> Option<String> {
        let remark = facts::remark(event)?;
        let ours = facts::echo(event).is_some_and(|said| self.transcript.waits_for(&said));
        (!ours).then_some(remark)
    }

    fn turn_name(&self) -> TurnName {
        TurnName { label: self.turn.number.unwrap_or(0), index: self.turn.index }
    }

    pub(super) fn finish(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let turn = self.enter_turn(event, changes);
        if event.origin == Origin::Engine && self.turns(event) == Turns::Numbered {
            self.transcript.final_message(event, turn, changes);
        }
        // What a run came to is told before its end, with more events between them.
        if !is(&event.kind, "completion") {
            self.end_turn(changes);
        }
        let summary = if is(&event.kind, "completion") || is(&event.kind, "run_finished") {
            let (summary, failure) = self.run.told(event, turn);
            self.turn.told |= failure.is_some();
            changes.extend(failure.map(|card| Change::put(Lane::Chat, card)));
            summary
        } else {
            // Who reads the chat alone would see a prompt without an answer.
            if run_lane::is_failure(event) && !std::mem::replace(&mut self.turn.told, true) {
                changes.push(Change::put(Lane::Chat, run_lane::failure(event)));
            }
            let summary = run_lane::summary(event, turn);
            match self.run.known() {
                Some((id, seq)) => super::Block { id, seq, ..summary },
                None => summary,
            }
        };
        changes.push(Change::put(Lane::Run, summary));
    }

    /// News of a task, or of none that has a name.
    fn task(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let named = self.tasks.event(event, changes);
        if task_kind(&event.payload).is_some_and(|kind| is(&kind, "stop_requested")) {
            changes.push(Change::put(Lane::Run, run_notices::stopping(event, self.run.number())));
        } else if !named && event.permission.is_none() {
            changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
        }
    }

    pub(super) fn end_turn(&mut self, changes: &mut Vec<Change>) {
        self.close_turn(changes);
        if !self.turn.ended {
            self.transcript.end_turn();
        }
        self.turn.ended = true;
    }

    /// Nothing of a turn goes on after it.
    pub(super) fn close_turn(&mut self, changes: &mut Vec<Change>) {
        self.transcript.close_text(changes);
        self.tools.cancel_all(changes);
        if let Some(agent) = self.agent.as_deref_mut() {
            agent.close(changes);
        }
    }
}

/// What `serde` leaves out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Whether the engine says that it may not do what it asked for.
fn refused(event: &SessionEvent) -> bool {
    let answer = permission_answer(&event.kind, &event.payload);
    event.origin == Origin::Engine && answer.is_some_and(|answer| !answer.allowed)
}

fn patch(event: &SessionEvent) -> super::Block {
    let id = event.payload.get("patch_id").and_then(serde_json::Value::as_str).unwrap_or_default();
    super::Block {
        id: patch_block::patch_block_id(id),
        turn: event.turn,
        seq: event.seq,
        body: patch_block::body(&event.payload),
    }
}
