//! Tool calls that run, and the blocks they become.
//!
//! Owns the pairing of results and output with their call: one call is one block, however many results it has. Never keeps a
//! call longer than its run.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane, ToolBlockStatus};
use super::cut;
use super::facts::{self, Call, Outcome, Output, OutputWhat, Shape};
use crate::domain::event::SessionEvent;

/// Calls that run at one time. An engine that opens more than this never closes them; the oldest then shows as cancelled, and
/// a result that still comes for it makes a block of its own.
const RUNNING: usize = 128;
/// Calls of the run that ended and may get another result. Those follow within the step; when one more ends the oldest is
/// forgotten, and a result that still comes for it makes a block of its own.
const ENDED: usize = 64;
/// What fits in a transcript without hiding what stands around it; the whole is in the event.
const PREVIEW: usize = 4 * 1024;
const DENIED: &str = "Denied.";

/// The tool calls that run, and those that may still get a result; each oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ToolBlocks {
    running: Vec<Tool>,
    ended: VecDeque<Tool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tool {
    /// The engine's id of the call.
    call: Option<String>,
    /// The engine's id of its execution.
    exec: Option<String>,
    block: Block,
    /// Bytes that it printed while it ran.
    printed: u64,
    /// What its status was last learned from.
    learned: Learned,
    /// Its result has come in this shape.
    execution: bool,
    transcript: bool,
    /// `seq` of its first result.
    ended: u64,
    /// A result without an id cannot be its: its step is over.
    past: bool,
    /// What its results call it, where that is another name than the call's.
    #[serde(default)]
    alias: Option<String>,
    /// Its preview says that it was not allowed. A result that comes all the same takes the place of that.
    #[serde(default)]
    denied: bool,
}

/// Where a status comes from, the least to be trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Learned {
    Nothing,
    Transcript,
    ExitCode,
    Execution,
}

/// Where a result belongs.
enum Place {
    Running(usize),
    Ended(usize),
    Nowhere,
}

impl ToolBlocks {
    /// A call began, or says again how it runs.
    pub(super) fn call(&mut self, event: &SessionEvent, call: Call, changes: &mut Vec<Change>) {
        self.begin(event, call, None, changes);
    }

    /// A result of a call.
    pub(super) fn result(&mut self, event: &SessionEvent, outcome: &Outcome<'_>, changes: &mut Vec<Change>) {
        let mut tool = match self.place(outcome) {
            Place::Running(at) => {
                let mut tool = self.running.remove(at);
                if outcome.name.as_deref() != tool.name() {
                    tool.alias.clone_from(&outcome.name);
                }
                tool
            }
            Place::Ended(at) => {
                if let Some(tool) = self.ended.get_mut(at) {
                    tool.take_in(event, outcome);
                    changes.push(Change::put(Lane::Chat, tool.block.clone()));
                }
                return;
            }
            Place::Nowhere => {
                let name = outcome.name.clone().unwrap_or_else(|| "tool".to_owned());
                let call = Call { id: outcome.id.clone(), name, ..unannounced(event, outcome.shape) };
                Tool::new(event, call, None)
            }
        };
        tool.take_in(event, outcome);
        changes.push(Change::put(Lane::Chat, tool.block.clone()));
        if outcome.shape != Shape::Only {
            self.keep(tool, event);
        }
    }

    /// What a tool prints while it runs.
    pub(super) fn output(&mut self, event: &SessionEvent, output: Output, changes: &mut Vec<Change>) {
        let Output { exec, call, what } = output;
        let mine = |tool: &Tool| {
            (exec.is_some() && tool.exec == exec) || (call.id.is_some() && tool.call == call.id)
        };
        let mut at = self.running.iter().rposition(mine);
        if at.is_none()
            && let Some(ended) = self.ended.iter().rposition(mine)
        {
            let more = matches!(what, OutputWhat::Began)
                && self.ended.get(ended).is_some_and(|tool| tool.learned == Learned::ExitCode);
            if !more {
                // Its result came and says it all.
                return;
            }
            // One call may execute more than once.
            self.running.extend(self.ended.remove(ended));
            at = self.running.len().checked_sub(1);
        }
        let at = match at {
            Some(at) => at,
            None => {
                self.begin(event, call.clone(), exec.clone(), changes);
                if matches!(what, OutputWhat::Began) {
                    return;
                }
                self.running.len().saturating_sub(1)
            }
        };
        let Some(tool) = self.running.get_mut(at) else { return };
        tool.exec = exec.or(tool.exec.take());
        match what {
            OutputWhat::Began => tool.say(&call),
            OutputWhat::Printed(text) => tool.print(&text),
            OutputWhat::Ended(code) => {
                tool.exit(code);
                let tool = self.running.remove(at);
                changes.push(Change::put(Lane::Chat, tool.block.clone()));
                self.keep(tool, event);
                return;
            }
        }
        changes.push(Change::put(Lane::Chat, tool.block.clone()));
    }

    /// A step of a run began: the results of the last one are all there.
    pub(super) fn begin_step(&mut self) {
        for tool in &mut self.ended {
            tool.past = true;
        }
    }

    /// What was asked for is not allowed: the calls that wait for it never get a result. An engine that asks for several
    /// together runs none of them when one is refused.
    pub(super) fn refuse(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let waits = |tool: &mut Tool| tool.exec.is_none() && tool.printed == 0;
        let refused: Vec<Tool> = self.running.extract_if(.., waits).collect();
        for mut tool in refused {
            tool.deny();
            changes.push(Change::put(Lane::Chat, tool.block.clone()));
            self.keep(tool, event);
        }
    }

    /// The turn ended: what still runs never gets a result.
    pub(super) fn cancel_all(&mut self, changes: &mut Vec<Change>) {
        for tool in self.running.drain(..) {
            changes.push(Change::put(Lane::Chat, cancelled(tool.block)));
        }
    }

    /// A run began: nothing that comes is about calls before it.
    pub(super) fn forget(&mut self) {
        self.ended.clear();
    }

    fn begin(&mut self, event: &SessionEvent, call: Call, exec: Option<String>, changes: &mut Vec<Change>) {
        let running = self.running.iter_mut().find(|tool| call.id.is_some() && tool.call == call.id);
        if let Some(tool) = running {
            tool.say_again(call);
            changes.push(Change::put(Lane::Chat, tool.block.clone()));
            return;
        }
        if self.running.len() >= RUNNING {
            let oldest = self.running.remove(0);
            changes.push(Change::put(Lane::Chat, cancelled(oldest.block)));
        }
        let tool = Tool::new(event, call, exec);
        changes.push(Change::put(Lane::Chat, tool.block.clone()));
        self.running.push(tool);
    }

    fn keep(&mut self, mut tool: Tool, event: &SessionEvent) {
        tool.ended = event.seq;
        if self.ended.len() >= ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(tool);
    }

    /// The call that a result belongs to: by call id, else by order among those of the same name.
    fn place(&self, outcome: &Outcome<'_>) -> Place {
        let named = |tool: &Tool| {
            let called = [tool.name(), tool.alias.as_deref()];
            outcome.name.is_none() || called.contains(&outcome.name.as_deref())
        };
        if outcome.id.is_some() {
            let mine = |tool: &Tool| tool.call == outcome.id;
            if let Some(at) = self.running.iter().position(mine) {
                return Place::Running(at);
            }
            if outcome.shape == Shape::Only {
                return Place::Nowhere;
            }
            if let Some(at) = self.ended.iter().rposition(mine) {
                return Place::Ended(at);
            }
            // The call was announced without its id.
            let at = self.running.iter().position(|tool| tool.call.is_none() && named(tool));
            return at.map_or(Place::Nowhere, Place::Running);
        }
        let running = self.running.iter().position(named);
        let ended = self.ended.iter().position(|tool| named(tool) && !tool.past && tool.lacks(outcome.shape));
        match (running, ended) {
            (Some(running), Some(ended)) => {
                // A call that began after the other one had ended did not wait for it.
                let began = self.running.get(running).map_or(0, |tool| tool.block.seq);
                let over = self.ended.get(ended).is_some_and(|tool| tool.ended < began);
                if over && outcome.shape == Shape::Execution {
                    Place::Running(running)
                } else {
                    Place::Ended(ended)
                }
            }
            (Some(running), None) => Place::Running(running),
            (None, Some(ended)) => Place::Ended(ended),
            // Engines run some tools under another name than the one they were called by, and one after the other.
            (None, None) => {
                let at = self.running.iter().position(|tool| tool.call.is_none());
                at.map_or(Place::Nowhere, Place::Running)
            }
        }
    }
}

impl Tool {
    /// The id holds the `seq` because engines repeat their call ids from turn to turn, and a block id is never given twice.
    fn new(event: &SessionEvent, call: Call, exec: Option<String>) -> Self {
        let id = match &call.id {
            Some(call) => format!("t-{call}-{}", event.seq),
            None => format!("t-{}", event.seq),
        };
        let body = BlockBody::Tool {
            name: call.name,
            status: ToolBlockStatus::Running,
            title: call.title,
            input: call.input,
            preview: call.preview,
            truncated: None,
            bytes: None,
            result_seq: None,
            artifact: None,
        };
        Self {
            call: call.id,
            exec,
            block: Block { id, turn: event.turn, seq: event.seq, body },
            printed: 0,
            learned: Learned::Nothing,
            execution: false,
            transcript: false,
            ended: 0,
            past: false,
            alias: None,
            denied: false,
        }
    }

    fn name(&self) -> Option<&str> {
        if let BlockBody::Tool { name, .. } = &self.block.body { Some(name) } else { None }
    }

    fn lacks(&self, shape: Shape) -> bool {
        match shape {
            Shape::Only => false,
            Shape::Execution => !self.execution,
            Shape::Transcript => !self.transcript,
        }
    }

    /// The call says again how it runs.
    fn say_again(&mut self, call: Call) {
        if let BlockBody::Tool { name, title, input, preview, .. } = &mut self.block.body {
            *name = call.name;
            *title = call.title;
            *input = call.input;
            if call.preview.is_some() && self.printed == 0 {
                *preview = call.preview;
            }
        }
    }

    /// An execution says what the call did not.
    fn say(&mut self, call: &Call) {
        if let BlockBody::Tool { status, title, input, .. } = &mut self.block.body {
            *status = ToolBlockStatus::Running;
            if title.is_none() {
                title.clone_from(&call.title);
            }
            if input.is_none() {
                input.clone_from(&call.input);
            }
        }
    }

    /// Shows the end of what was printed so far.
    fn print(&mut self, text: &str) {
        let BlockBody::Tool { preview, truncated, bytes, .. } = &mut self.block.body else { return };
        let mut shown = preview.take().filter(|_| self.printed > 0).unwrap_or_default();
        self.printed += text.len() as u64;
        shown.push_str(text);
        if shown.len() > PREVIEW {
            shown = format!("…{}", cut::end_of(&shown, PREVIEW - '…'.len_utf8()));
            *truncated = Some(true);
        }
        *preview = Some(shown);
        *bytes = Some(self.printed);
    }

    /// An execution ended.
    fn exit(&mut self, code: Option<i64>) {
        let failed = code.is_some_and(|code| code != 0);
        self.learn(Learned::ExitCode, failed);
        if let Some(code) = code.filter(|_| failed) {
            let said = format!("[exit code {code}]");
            let BlockBody::Tool { preview, .. } = &mut self.block.body else { return };
            let shown = preview.take().filter(|_| self.printed > 0).unwrap_or_default();
            let between = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
            *preview = Some(format!("{shown}{between}{said}"));
        }
    }

    /// It may not run.
    fn deny(&mut self) {
        if let BlockBody::Tool { status, preview, .. } = &mut self.block.body {
            *status = ToolBlockStatus::Cancelled;
            // What it would have changed says more.
            if preview.is_none() {
                *preview = Some(DENIED.to_owned());
                self.denied = true;
            }
        }
    }

    /// Sets the status, unless it is known from a better source.
    fn learn(&mut self, from: Learned, failed: bool) {
        if from < self.learned {
            return;
        }
        self.learned = from;
        if let BlockBody::Tool { status, .. } = &mut self.block.body {
            *status = if failed { ToolBlockStatus::Failed } else { ToolBlockStatus::Ok };
        }
    }

    /// One of the call's results.
    fn take_in(&mut self, event: &SessionEvent, outcome: &Outcome<'_>) {
        if std::mem::take(&mut self.denied)
            && let BlockBody::Tool { preview, .. } = &mut self.block.body
        {
            *preview = None;
        }
        let from = if outcome.shape == Shape::Transcript { Learned::Transcript } else { Learned::Execution };
        self.learn(from, outcome.failed);
        self.execution |= outcome.shape == Shape::Execution;
        // What the model reads is the compact text; an execution's fields only stand in for it, or for what was printed.
        let stands_in = outcome.shape == Shape::Execution && (self.transcript || self.printed > 0);
        self.transcript |= outcome.shape == Shape::Transcript;
        let BlockBody::Tool { preview, truncated, bytes, result_seq, artifact, .. } = &mut self.block.body
        else {
            return;
        };
        if outcome.artifact.is_some() {
            artifact.clone_from(&outcome.artifact);
        }
        let Some(whole) = outcome.text.as_deref() else { return };
        if whole.is_empty() && outcome.shape != Shape::Only {
            return;
        }
        if stands_in && preview.is_some() {
            result_seq.get_or_insert(event.seq);
            return;
        }
        let start = cut::start_of(whole, PREVIEW);
        *preview = Some(start.to_owned());
        *truncated = (start.len() < whole.len()).then_some(true);
        *bytes = Some(whole.len() as u64);
        *result_seq = Some(event.seq);
    }
}

/// What is known of a call that only its result tells of.
fn unannounced(event: &SessionEvent, shape: Shape) -> Call {
    if shape == Shape::Only { facts::call(event) } else { Call::default() }
}

fn cancelled(mut block: Block) -> Block {
    if let BlockBody::Tool { status, .. } = &mut block.body {
        *status = ToolBlockStatus::Cancelled;
    }
    block
}
