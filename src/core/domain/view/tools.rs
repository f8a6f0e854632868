//! The tool calls of a session: which call a message is about.
//!
//! Owns the pairing of results and output with their call: one call is one block, however many results it has. Never keeps a
//! call longer than its run, unless the engine tells it anew by its id. What is shown of a call: `tool`.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::block::{Change, ToolBlockStatus};
use super::terminals::Unshown;
use super::tool::{AskedCall, Learned, PREVIEW, Tool};
use crate::domain::approval::PermissionStatus;
use crate::domain::background::Background;
use crate::domain::event::SessionEvent;
use crate::domain::fact::{Shape, TerminalNews, ToolNews, ToolOutcome, ToolState, ToolStep};

/// Calls that run at one time. An engine that opens more than this never closes them; the oldest then shows as cancelled, and
/// a result that still comes for it makes a block of its own.
const RUNNING: usize = 128;
/// Calls that ended and of which more may come. That follows within the step, or soon; when one more ends the oldest is
/// forgotten, and what still comes for it makes a block of its own.
const ENDED: usize = 64;
/// Events that are read again for one permission request, the newest. Each is at most as long as an event may be.
const TOLD: usize = 32;

/// The tool calls that run, and those of which more may come; each oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tools {
    running: Vec<Tool>,
    ended: VecDeque<Tool>,
    /// Terminals that no call shows yet.
    unshown: Unshown,
}

/// Where a call stands.
enum CallPosition {
    Running(usize),
    Ended(usize),
    Nowhere,
}

/// The turn that a message belongs to.
#[derive(Clone, Copy)]
pub(super) struct OfTurn {
    /// By our count.
    pub(super) index: u64,
    /// No turn runs: nobody ends what begins.
    pub(super) over: bool,
}

impl Tools {
    /// News of a call.
    pub(super) fn hear(
        &mut self,
        event: &SessionEvent,
        of: OfTurn,
        mut news: ToolNews<'_>,
        changes: &mut Vec<Change>,
    ) {
        match std::mem::take(&mut news.step) {
            ToolStep::Called => self.begin(event, of, news, changes),
            ToolStep::Update(state) => self.update(event, of, news, *state, changes),
            ToolStep::Result(outcome) => self.result(event, of, news, &outcome, changes),
            ToolStep::Lost { why } => self.lose(news.id.as_deref(), event.seq, &why, changes),
            step @ (ToolStep::Began | ToolStep::Printed { .. } | ToolStep::Ended(_)) => {
                self.output(event, of, news, step, changes);
            }
        }
    }

    /// A terminal of an agent printed something, or ended. What no call shows yet waits for the one that will.
    pub(super) fn terminal(&mut self, news: &TerminalNews<'_>, changes: &mut Vec<Change>) {
        if self.unshown.has(&news.id) {
            return self.unshown.hear(news, PREVIEW);
        }
        let running = self.running.iter_mut().rev().find(|tool| tool.shows(news));
        match running.or_else(|| self.ended.iter_mut().rev().find(|tool| tool.shows(news))) {
            Some(tool) => {
                tool.hear_terminal(news);
                tool.put(changes);
            }
            None => self.unshown.hear(news, PREVIEW),
        }
    }

    /// A permission is asked for a call: what it would do is shown where nothing is yet, and nothing else changes, since
    /// agents write the call of an ask in other words than the call.
    pub(super) fn ask(
        &mut self,
        event: &SessionEvent,
        of: OfTurn,
        mut news: ToolNews<'_>,
        request_id: &str,
        changes: &mut Vec<Change>,
    ) {
        let ToolStep::Update(mut state) = std::mem::take(&mut news.step) else { return };
        let known = !matches!(self.place_by_id(news.id.as_deref(), None), CallPosition::Nowhere);
        let Some(tool) = self.open(event, of, &news, &state, changes) else {
            return;
        };
        let (content, change, input) = (state.content.take(), news.diff.take(), news.input.clone());
        if !known {
            state.progress = None;
            tool.update(event, news, *state, false, &mut Unshown::default());
        }
        tool.ask(request_id, event.seq, AskedCall { content, change, input });
        tool.put(changes);
    }

    /// The events that told what this call would do, or, without one, what the calls that run would do; oldest first.
    pub(super) fn told_of(&self, call: Option<&str>) -> Vec<u64> {
        let mut told: Vec<u64> = match call {
            Some(_) => {
                let mut newest = self.ended.iter().chain(&self.running).rev();
                newest.find(|tool| tool.call.as_deref() == call).map(Tool::told).unwrap_or_default().to_vec()
            }
            None => self.running.iter().flat_map(Tool::told).copied().collect(),
        };
        told.sort_unstable();
        told.drain(..told.len().saturating_sub(TOLD));
        told
    }

    /// An ask was settled.
    pub(super) fn settled(&mut self, request_id: &str, status: PermissionStatus, changes: &mut Vec<Change>) {
        let asked = |tool: &&mut Tool| tool.waits_for(request_id);
        let newest = |tool: &&mut Tool| tool.block.seq;
        let running = self.running.iter_mut().filter(asked).max_by_key(newest);
        let ended = self.ended.iter_mut().filter(asked).max_by_key(newest);
        match (running, ended) {
            (Some(running), ended)
                if ended.as_ref().is_none_or(|ended| ended.block.seq < running.block.seq) =>
            {
                if running.settled(request_id, status) {
                    running.refuse(status);
                    running.put(changes);
                }
            }
            (_, Some(ended)) => {
                ended.settled(request_id, status);
            }
            (_, None) => {}
        }
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
        let waits = |tool: &mut Tool| tool.exec.is_none() && tool.printed == 0 && tool.background().is_none();
        let refused: Vec<Tool> = self.running.extract_if(.., waits).collect();
        for mut tool in refused {
            tool.refuse(PermissionStatus::Denied);
            tool.put(changes);
            self.keep(tool, event.seq);
        }
    }

    /// The turn ended: what still runs never gets a result, but where an engine tells of a call by its id, and where the user lets a
    /// command go on.
    pub(super) fn cancel_all(&mut self, changes: &mut Vec<Change>) {
        let over = |tool: &mut Tool| tool.background() != Some(Background::Kept);
        let ended: Vec<Tool> = self.running.extract_if(.., over).collect();
        for mut tool in ended {
            tool.cancel();
            tool.put(changes);
            if tool.by_id {
                let seq = tool.block.seq;
                self.keep(tool, seq);
            }
        }
    }

    /// A run began: nothing that comes without its id is about calls before it.
    pub(super) fn forget(&mut self) {
        self.ended.retain(|tool| tool.by_id);
    }

    fn begin(&mut self, event: &SessionEvent, of: OfTurn, news: ToolNews<'_>, changes: &mut Vec<Change>) {
        let running = self.running.iter_mut().find(|tool| news.id.is_some() && tool.call == news.id);
        if let Some(tool) = running {
            tool.tell(event.seq);
            tool.announce(news);
            tool.put(changes);
            return;
        }
        self.make_room(changes);
        let mut tool = Tool::new(event, of.index, &news);
        tool.tell(event.seq);
        tool.announce(news);
        tool.put(changes);
        self.running.push(tool);
    }

    /// A call is told anew.
    fn update(
        &mut self,
        event: &SessionEvent,
        of: OfTurn,
        mut news: ToolNews<'_>,
        state: ToolState,
        changes: &mut Vec<Change>,
    ) {
        let id = news.id.clone();
        let pictures = std::mem::take(&mut news.pictures);
        let turn = state.begins.then_some(of.index);
        let over = matches!(self.place_by_id(id.as_deref(), turn), CallPosition::Ended(_));
        let tells = state.begins || state.content.is_some() || news.input.is_some() || news.title.is_some();
        let mut unshown = std::mem::take(&mut self.unshown);
        let Some(tool) = self.open(event, of, &news, &state, changes) else {
            self.unshown = unshown;
            return;
        };
        if tells {
            tool.tell(event.seq);
        }
        let last = tool.update(event, news, state, over, &mut unshown);
        // No end of a turn comes behind it that would close it; its own end still may.
        if of.over && !over && !last {
            tool.set(ToolBlockStatus::Cancelled);
        }
        tool.put(changes);
        tool.put_pictures(event, &pictures, changes);
        self.unshown = unshown;
        if last
            && !over
            && let CallPosition::Running(at) = self.place_by_id(id.as_deref(), turn)
        {
            let tool = self.running.remove(at);
            self.keep(tool, event.seq);
        }
    }

    /// The call of this id, newest first. One that ended in another turn than the one in which a call begins is another one.
    fn place_by_id(&self, id: Option<&str>, begins_in: Option<u64>) -> CallPosition {
        let mine = |tool: &Tool| tool.by_id && tool.call.as_deref() == id;
        let same_turn = |tool: &Tool| begins_in.is_none_or(|turn| turn == tool.turn);
        if let Some(at) = self.running.iter().rposition(mine) {
            return CallPosition::Running(at);
        }
        let ended = self.ended.iter().rposition(|tool| mine(tool) && same_turn(tool));
        ended.map_or(CallPosition::Nowhere, CallPosition::Ended)
    }

    /// The call that is told anew, made where it is not known.
    fn open(
        &mut self,
        event: &SessionEvent,
        of: OfTurn,
        news: &ToolNews<'_>,
        state: &ToolState,
        changes: &mut Vec<Change>,
    ) -> Option<&mut Tool> {
        match self.place_by_id(news.id.as_deref(), state.begins.then_some(of.index)) {
            CallPosition::Running(at) => self.running.get_mut(at),
            CallPosition::Ended(at) => self.ended.get_mut(at),
            CallPosition::Nowhere => {
                self.make_room(changes);
                self.running.push(Tool::updated(event, of.index, news, state));
                self.running.last_mut()
            }
        }
    }

    fn make_room(&mut self, changes: &mut Vec<Change>) {
        if self.running.len() >= RUNNING {
            let mut oldest = self.running.remove(0);
            oldest.set(ToolBlockStatus::Cancelled);
            oldest.put(changes);
        }
    }

    /// A result of a call.
    fn result(
        &mut self,
        event: &SessionEvent,
        of: OfTurn,
        mut news: ToolNews<'_>,
        outcome: &ToolOutcome<'_>,
        changes: &mut Vec<Change>,
    ) {
        let pictures = std::mem::take(&mut news.pictures);
        let mut tool = match self.place(&news, outcome.shape) {
            CallPosition::Running(at) => {
                let mut tool = self.running.remove(at);
                tool.tell_more(&news, event.seq);
                if news.name.as_deref() != tool.name() {
                    tool.alias = news.name;
                }
                tool
            }
            CallPosition::Ended(at) => {
                if let Some(tool) = self.ended.get_mut(at) {
                    tool.tell_more(&news, event.seq);
                    tool.result(event, outcome);
                    tool.put(changes);
                }
                return;
            }
            CallPosition::Nowhere => {
                let mut tool = Tool::new(event, of.index, &news);
                tool.announce(news);
                tool
            }
        };
        tool.result(event, outcome);
        tool.put(changes);
        tool.put_pictures(event, &pictures, changes);
        if outcome.shape != Shape::Only {
            self.keep(tool, event.seq);
        }
    }

    /// What a tool prints while it runs.
    fn output(
        &mut self,
        event: &SessionEvent,
        of: OfTurn,
        news: ToolNews<'_>,
        step: ToolStep<'_>,
        changes: &mut Vec<Change>,
    ) {
        let began = matches!(step, ToolStep::Began);
        let mine = |tool: &Tool| {
            (news.exec.is_some() && tool.exec == news.exec) || (news.id.is_some() && tool.call == news.id)
        };
        let mut at = self.running.iter().rposition(mine);
        if at.is_none()
            && let Some(ended) = self.ended.iter().rposition(mine)
        {
            if !began || self.ended.get(ended).is_some_and(|tool| tool.learned != Learned::ExitCode) {
                // Its result came and says it all.
                return;
            }
            // One call may execute more than once.
            self.running.extend(self.ended.remove(ended));
            at = self.running.len().checked_sub(1);
        }
        let exec = news.exec.clone();
        let at = match at {
            Some(at) => at,
            None => {
                self.begin(event, of, news, changes);
                if began {
                    return;
                }
                return self.go_on(event, exec, self.running.len().saturating_sub(1), step, changes);
            }
        };
        if began && let Some(tool) = self.running.get_mut(at) {
            tool.begin_execution(news);
        }
        self.go_on(event, exec, at, step, changes);
    }

    fn go_on(
        &mut self,
        event: &SessionEvent,
        exec: Option<String>,
        at: usize,
        step: ToolStep<'_>,
        changes: &mut Vec<Change>,
    ) {
        let Some(tool) = self.running.get_mut(at) else { return };
        tool.exec = exec.or(tool.exec.take());
        match step {
            ToolStep::Printed { stream, text } => tool.print_to(stream, &text),
            ToolStep::Ended(code) => {
                tool.exit(code);
                let tool = self.running.remove(at);
                tool.put(changes);
                self.keep(tool, event.seq);
                return;
            }
            ToolStep::Began
            | ToolStep::Called
            | ToolStep::Result(_)
            | ToolStep::Update(_)
            | ToolStep::Lost { .. } => {}
        }
        tool.put(changes);
    }

    /// A command in the background is gone with the process that ran it.
    fn lose(&mut self, call: Option<&str>, seq: u64, why: &str, changes: &mut Vec<Change>) {
        let mine = |tool: &Tool| call.is_some() && tool.call.as_deref() == call;
        let Some(at) = self.running.iter().rposition(mine) else { return };
        let mut tool = self.running.remove(at);
        tool.lose(why);
        tool.put(changes);
        self.keep(tool, seq);
    }

    fn keep(&mut self, mut tool: Tool, seq: u64) {
        tool.ended = seq;
        if self.ended.len() >= ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(tool);
    }

    /// The call that a result belongs to: by call id, else by order among those of the same name.
    fn place(&self, news: &ToolNews<'_>, shape: Shape) -> CallPosition {
        let named = |tool: &Tool| {
            let called = [tool.name(), tool.alias.as_deref()];
            news.name.is_none() || called.contains(&news.name.as_deref())
        };
        if news.id.is_some() {
            let mine = |tool: &Tool| tool.call == news.id;
            if let Some(at) = self.running.iter().position(mine) {
                return CallPosition::Running(at);
            }
            if shape == Shape::Only {
                return CallPosition::Nowhere;
            }
            if let Some(at) = self.ended.iter().rposition(mine) {
                return CallPosition::Ended(at);
            }
            // The call was announced without its id.
            let at = self.running.iter().position(|tool| tool.call.is_none() && named(tool));
            return at.map_or(CallPosition::Nowhere, CallPosition::Running);
        }
        let running = self.running.iter().position(named);
        let ended = self.ended.iter().position(|tool| named(tool) && !tool.past && tool.lacks(shape));
        match (running, ended) {
            (Some(running), Some(ended)) => {
                // A call that began after the other one had ended did not wait for it.
                let began = self.running.get(running).map_or(0, |tool| tool.block.seq);
                let over = self.ended.get(ended).is_some_and(|tool| tool.ended < began);
                if over && shape == Shape::Execution {
                    CallPosition::Running(running)
                } else {
                    CallPosition::Ended(ended)
                }
            }
            (Some(running), None) => CallPosition::Running(running),
            (None, Some(ended)) => CallPosition::Ended(ended),
            // Engines run some tools under another name than the one they were called by, and one after the other.
            (None, None) => {
                let at = self.running.iter().position(|tool| tool.call.is_none());
                at.map_or(CallPosition::Nowhere, CallPosition::Running)
            }
        }
    }
}
