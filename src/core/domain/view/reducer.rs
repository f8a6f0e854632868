//! The reducer: one event in, the changes of the view out.
//!
//! Owns which lane hears of which fact, and where a turn begins and ends. Pure: the same events make the same state and
//! the same changes, live and on replay (R003-61, R003-62). Holds only what is open, so its size does not depend on the
//! length of the session. Knows no engine: what an event says it reads as a `Fact`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, BlockBody, Change, Lane};
use super::checkpoints::Checkpoints;
use super::conversation_tree::ConversationTree;
use super::diff_paths::DiffPaths;
use super::prompts::{self, Echo, Sent};
use super::replay::Replay;
use super::run_summary::RunSummary;
use super::tasks_lane::TasksLane;
use super::tools::{OfTurn, Tools};
use super::transcript::Transcript;
use super::turn::{Turn, TurnName};
use super::turn_marks::{Answerer, ToldEnd, TurnMarks};
use super::{debug_lane, notices, patch_block};
use crate::domain::cut;
use crate::domain::dialect::{Dialect, TurnNumbers, fact};
use crate::domain::event::{EventClass, Origin, SessionEvent};
use crate::domain::fact::{
    Answered, Compaction, Fact, Notice, NoticeLevel, Prompt, Spent, TaskNews, Text, ToolNews, ToolStep,
    TurnClosed, TurnEnd, TurnOutcome, TurnReport,
};

/// One sentence of a summary.
const SENTENCE: usize = 4 * 1024;
/// Compactions that are under way. Engines make one at a time; the oldest is forgotten.
const COMPACTIONS: usize = 4;

/// Everything in the view that may still change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewState {
    dialect: Dialect,
    turn: Turn,
    transcript: Transcript,
    tools: Tools,
    tasks: TasksLane,
    tree: ConversationTree,
    checkpoints: Checkpoints,
    run: RunSummary,
    marks: TurnMarks,
    /// Ids of compactions that have begun, and the `seq` of their blocks.
    compactions: Vec<(Option<String>, u64)>,
    replay: Replay,
    /// How full the model's context is.
    context: Option<Value>,
    diff_paths: DiffPaths,
}

impl ViewState {
    /// The state of a session whose engine speaks this dialect.
    pub fn speaking(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// A state that goes on after `turns` turns whose own state is lost. Nothing of them is open; ids of later turns are new
    /// where `turns` is at least their number.
    pub fn after(turns: u64) -> Self {
        Self { turn: Turn::over(turns), ..Self::default() }
    }

    /// The events that told what a tool call would do, or, without one, what the calls that run would do: their `seq`s,
    /// oldest first, at most 32.
    pub fn told_of(&self, call: Option<&str>) -> Vec<u64> {
        self.tools.told_of(call)
    }

    /// Whether an echo of the engine with these words would be of a prompt that was sent and not echoed yet, and not of another
    /// client's.
    pub fn may_be_echo(&self, words: &str) -> bool {
        self.transcript.may_be_echo(words)
    }

    /// Takes in the next event of the session and tells what changes in the view, safe to show. Events come in the order of
    /// their `seq`, each once.
    pub fn apply(&mut self, event: &SessionEvent) -> Vec<Change> {
        let mut changes = Vec::new();
        self.reduce(event, fact(self.dialect, event), &mut changes);
        self.marks.said_more(event, &mut changes);
        for change in &mut changes {
            change.block = change.block.take().map(Block::shown);
        }
        changes
    }

    fn reduce(&mut self, event: &SessionEvent, fact: Fact<'_>, changes: &mut Vec<Change>) {
        if let Fact::Prompt(Prompt::Echo { words, remark: Some(remark) }) = &fact
            && !words.as_deref().is_some_and(|words| self.transcript.waits_for(words))
        {
            // What the engine tells its model in the middle of a run: nobody's prompt.
            self.enter_step(event, changes);
            self.transcript.close_text(changes);
            changes.push(prompts::remark(event, remark.clone()));
            return;
        }
        self.run.hear(&fact);
        let known = self.turn.is_known();
        if event.origin == Origin::Engine && self.replay.hides(event.turn, &fact, known) {
            changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            return;
        }
        match fact {
            Fact::Prompt(prompt) => self.prompt(event, prompt, changes),
            Fact::Text(text) => self.text(event, text, changes),
            Fact::ToolCall(news) | Fact::ToolOutput(news) | Fact::ToolResult(news) => {
                self.tool(event, news, changes)
            }
            Fact::Terminal(news) => self.tools.terminal(&news, changes),
            Fact::Plan(plan) => {
                let turn = self.enter_turn(event, changes);
                self.transcript.plan(event, turn, plan, changes);
            }
            Fact::Patch(patch) => {
                self.enter_turn(event, changes);
                self.interrupt(changes);
                let id = patch_block::patch_block_id(patch.id);
                let body = patch_block::body(patch);
                changes.push(Change::put(Lane::Chat, Block { id, turn: event.turn, seq: event.seq, body }));
            }
            Fact::Ask { call } => self.ask(event, call, changes),
            Fact::Answered(answered) => self.answered(event, &answered, changes),
            Fact::TurnBegan => {
                self.enter_turn(event, changes);
                self.marks.begins(event, changes);
            }
            Fact::TurnEnded(end) => self.turn_ended(event, *end, changes),
            Fact::TurnClosed(closed) => self.turn_closed(event, &closed, changes),
            Fact::Usage(usage) => {
                changes.push(Change::put(Lane::Run, notices::usage(event, self.run.number(), &usage)));
                self.context = usage.context.or(self.context.take());
                if let Some(cost) = usage.cost {
                    self.marks.costs(cost);
                }
            }
            Fact::Reward(text) => {
                changes.push(Change::put(Lane::Run, notices::reward(event, self.run.number(), &text)));
            }
            Fact::Mode(mode) => {
                changes.push(Change::put(Lane::Run, notices::mode(event, mode)));
                changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            }
            Fact::Commands(commands) => {
                changes.push(Change::put(Lane::Run, notices::commands(event, &commands)));
                changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            }
            Fact::Task(news) => self.task(event, *news, changes),
            Fact::Checkpoints(listed) => self.checkpoints.list(event, listed, changes),
            Fact::Restored(restored) => self.checkpoints.restored(event, restored, changes),
            Fact::Compaction(compaction) => self.compaction(event, compaction, changes),
            Fact::Search { stage, message } => {
                let turn = self.enter_turn(event, changes);
                changes.push(Change::put(Lane::Run, notices::search(event, turn, stage, message)));
            }
            Fact::Picture(picture) => {
                self.enter_turn(event, changes);
                self.interrupt(changes);
                let id = format!("i-{}", event.seq);
                changes.push(Change::put(Lane::Chat, notices::picture(event, id, &picture)));
            }
            Fact::Link(link) => changes.push(Change::put(Lane::Run, notices::link(event, &link))),
            Fact::TreeNode => {
                self.tree.node(event, self.run.number(), changes);
                changes.push(Change::put(Lane::Debug, debug_lane::tree(event, self.run.number())));
            }
            Fact::Tree { nodes } => {
                self.tree.saved(event, self.run.number(), nodes, changes);
                changes.push(Change::put(Lane::Run, notices::tree(event, self.run.number(), nodes)));
                changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            }
            Fact::Command { command, status } => {
                changes.push(Change::put(Lane::Chat, notices::command(event, command, status)));
            }
            Fact::Changes(told) => {
                // They are read after the turn, and the next one may have begun.
                let end = told.prompt_seq.and_then(|turn| self.marks.end_of(turn));
                changes.push(Change::put(Lane::Chat, notices::changes(event, told)).behind(end));
            }
            Fact::Earlier(block) => changes.extend(notices::earlier(event, block)),
            Fact::Notice(notice) => changes.push(Change::put(Lane::Chat, notices::notice(event, &notice))),
            Fact::Gap(notice) => in_chat_and_run(notices::notice(event, &notice), changes),
            Fact::Failure(notice) => {
                self.turn.tell();
                in_chat_and_run(notices::notice(event, &notice), changes);
            }
            Fact::Exited { expected, text } => self.exited(event, expected, text, changes),
            Fact::Nothing => {
                self.enter_step(event, changes);
            }
            Fact::Unknown => changes.push(Change::put(Lane::Debug, debug_lane::raw(event))),
        }
    }

    /// Begins a turn when the event belongs to another than the last: its number differs, or the last one ended and
    /// this is a prompt or the engine's own start. An engine that numbers steps begins a run by its own start alone.
    fn enter_turn(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) -> TurnName {
        if self.dialect.turn_numbers(event.origin) == TurnNumbers::Steps {
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
        self.turn.name()
    }

    /// Begins a step of the run when the engine's number is another, or the engine says so.
    fn enter_step(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) -> TurnName {
        if self.dialect.turn_numbers(event.origin) == TurnNumbers::Steps {
            let other = matches!((event.turn, self.turn.step), (Some(new), Some(old)) if new != old);
            if other || event.class == EventClass::TurnStart {
                self.transcript.begin_step(changes);
                self.tools.begin_step();
            }
            self.turn.step = event.turn.or(self.turn.step);
            self.turn.number = self.turn.number.or(event.turn);
        }
        self.turn.name()
    }

    fn begin_turn(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        self.close_turn(changes);
        self.transcript.begin_turn();
        self.tools.forget();
        self.turn = self.turn.next(event.turn);
    }

    fn end_turn(&mut self, changes: &mut Vec<Change>) {
        self.close_turn(changes);
        if !self.turn.ended {
            self.transcript.end_turn();
        }
        self.turn.ended = true;
    }

    /// Nothing of a turn goes on after it.
    fn close_turn(&mut self, changes: &mut Vec<Change>) {
        self.interrupt(changes);
        self.tools.cancel_all(changes);
        self.tree.close(changes);
    }

    /// What comes next stands below the text that streams.
    fn interrupt(&mut self, changes: &mut Vec<Change>) {
        self.replay.end_prompt();
        self.transcript.close_text(changes);
    }

    /// Before the first turn, behind the last one and in a history nobody ends what begins.
    fn no_turn_runs(&self) -> bool {
        self.replay.is_shown() || self.turn.ended || !self.turn.is_known()
    }

    fn prompt(&mut self, event: &SessionEvent, prompt: Prompt<'_>, changes: &mut Vec<Change>) {
        match prompt {
            Prompt::Sent { text, message_id, attachment_ids, engine, model, folders, has_context } => {
                self.diff_paths.hear(folders);
                let by = Answerer { engine, model, first: !self.turn.is_known() };
                if self.replay.end() {
                    // The last turn of a history has no end of its own.
                    self.end_turn(changes);
                }
                self.enter_turn(event, changes);
                self.interrupt(changes);
                let sent = Sent { words: text, message_id, attachment_ids, has_context };
                self.transcript.prompt(event, sent, changes);
                self.marks.sent(event, by, self.dialect.turn_numbers(Origin::Engine), changes);
            }
            Prompt::Context { chips, notes } => self.transcript.context(event, chips, notes, changes),
            Prompt::Echo { words, .. } => self.echo(event, words.as_deref(), changes),
            Prompt::History { words: None, .. } => {}
            Prompt::History { id, words: Some(words) } => {
                if !self.replay.grow_prompt(id.as_deref(), &words, changes) {
                    self.begin_turn(event, changes);
                    self.replay.begin_prompt(event, id, &words, changes);
                }
            }
        }
    }

    /// The engine's echo of a prompt: ours is printed already, another client's is not.
    fn echo(&mut self, event: &SessionEvent, words: Option<&str>, changes: &mut Vec<Change>) {
        match (self.transcript.echo(words), words) {
            (Echo::Ours { changed }, _) => {
                if self.turn.ended {
                    self.begin_turn(event, changes);
                }
                self.enter_step(event, changes);
                self.interrupt(changes);
                self.marks.ours_begins(event);
                changes.extend(changed.map(|words| prompts::changed(event, &words)));
            }
            (Echo::Other, Some(words)) => {
                self.begin_turn(event, changes);
                self.enter_step(event, changes);
                changes.push(prompts::others(event, words));
                match self.dialect.turn_numbers(Origin::Engine) {
                    TurnNumbers::Steps => self.marks.others_begins(event, changes),
                    // It takes one prompt at a time, and tells of each.
                    TurnNumbers::Turns => self.marks.anothers_before_ours(event, changes),
                }
            }
            (Echo::Other, None) => changes.push(Change::put(Lane::Debug, debug_lane::raw(event))),
        }
    }

    fn text(&mut self, event: &SessionEvent, text: Text<'_>, changes: &mut Vec<Change>) {
        let turn = self.enter_turn(event, changes);
        self.replay.end_prompt();
        let over = self.no_turn_runs();
        self.transcript.text(event, turn, text, over, changes);
    }

    fn tool(&mut self, event: &SessionEvent, mut news: ToolNews<'_>, changes: &mut Vec<Change>) {
        let turn = if matches!(news.step, ToolStep::Result(_)) {
            // A result belongs to a call that is there; it neither begins a turn nor closes a text.
            self.enter_step(event, changes)
        } else {
            let turn = self.enter_turn(event, changes);
            self.interrupt(changes);
            turn
        };
        if let Some(plan) = news.plan.take() {
            self.transcript.plan(event, turn, plan, changes);
        }
        news.diff = news.diff.take().map(|diff| self.diff_paths.told(diff));
        let of = OfTurn { index: turn.index, over: self.no_turn_runs() };
        self.tools.hear(event, of, news, changes);
    }

    fn ask(&mut self, event: &SessionEvent, call: Option<Box<ToolNews<'_>>>, changes: &mut Vec<Change>) {
        let turn = self.enter_turn(event, changes);
        self.interrupt(changes);
        if let (Some(mut call), Some(permission)) = (call, &event.permission) {
            call.diff = call.diff.take().map(|diff| self.diff_paths.told(diff));
            let of = OfTurn { index: turn.index, over: self.no_turn_runs() };
            self.tools.ask(event, of, *call, &permission.request_id, changes);
        }
        self.transcript.ask(event, changes);
    }

    fn answered(&mut self, event: &SessionEvent, answered: &Answered<'_>, changes: &mut Vec<Change>) {
        let denied = match answered {
            Answered::Settled { request_id, status, chosen, client, .. } => {
                let answer = (chosen.as_ref(), client.as_ref());
                let denied = self.transcript.settled(request_id, *status, answer, changes);
                self.tools.settled(request_id, *status, changes);
                denied
            }
            Answered::Saving { request_id, problem } => {
                self.transcript.saving(request_id, *problem, changes);
                false
            }
            Answered::Confirmed(confirmed) => !confirmed.allowed,
            Answered::Unnamed => false,
        };
        // An engine that numbers steps tells of no end of a call that it may not run, in a step or in none.
        if denied && self.dialect.turn_numbers(Origin::Engine) == TurnNumbers::Steps {
            self.tools.refuse(event, changes);
        }
    }

    fn turn_ended(&mut self, event: &SessionEvent, end: TurnEnd<'_>, changes: &mut Vec<Change>) {
        let turn = self.enter_turn(event, changes);
        let spent = end.spent;
        match end.report {
            TurnReport::Part(report) => {
                let last = report.last;
                // What a run came to is told before its end, with more events between them.
                if report.last {
                    self.end_turn(changes);
                }
                let (summary, failure) = self.run.told(event, turn, *report);
                if let Some(card) = failure {
                    self.turn.tell();
                    changes.push(Change::put(Lane::Chat, card));
                }
                changes.push(Change::put(Lane::Run, summary));
                let (outcome, text) = self.run.outcome().unwrap_or((TurnOutcome::Done, String::new()));
                self.mark_end(event, ToldEnd { outcome, text: Some(text), spent, last }, changes);
            }
            TurnReport::Whole { answer, outcome, text, told, remedy, details } => {
                if let Some(answer) = answer {
                    self.transcript.whole_answer(event, turn, answer, changes);
                }
                self.end_turn(changes);
                let text = cut::line(&text, SENTENCE);
                // Who reads the chat alone would see a prompt without an answer.
                if let Some(level) = told
                    && !self.turn.tell()
                {
                    let notice = Notice { level, text: text.clone(), remedy: *remedy };
                    changes.push(Change::put(Lane::Chat, notices::notice(event, &notice)));
                }
                let fresh = || (format!("s-{}-{}", turn.label, turn.index), event.seq);
                let (id, seq) = self.run.known().unwrap_or_else(fresh);
                let details = self.with_context(event, details);
                let success = outcome == TurnOutcome::Done;
                let body = BlockBody::Summary { success, text: text.clone(), details };
                changes.push(Change::put(Lane::Run, Block { id, turn: event.turn, seq, body }));
                self.mark_end(event, ToldEnd { outcome, text: Some(text), spent, last: true }, changes);
            }
        }
    }

    /// The line of the chat that says how a turn ended; why, only where the chat does not say it already.
    fn mark_end(&mut self, event: &SessionEvent, mut told: ToldEnd, changes: &mut Vec<Change>) {
        if self.turn.is_told() {
            told.text = None;
            // It has no end of its own because of what failed.
            if event.origin == Origin::Local {
                told.outcome = told.outcome.max(TurnOutcome::Failed);
            }
        }
        self.marks.ends(event, self.dialect.turn_numbers(Origin::Engine), told, changes);
    }

    /// What the engine counted in a turn, and how full the context is behind it.
    fn with_context(&self, event: &SessionEvent, details: Option<Value>) -> Option<Value> {
        let Some(context) = self.context.as_ref().filter(|_| event.origin == Origin::Engine) else {
            return details;
        };
        let mut counts = match details {
            Some(Value::Object(counts)) => counts,
            Some(_) | None => Map::new(),
        };
        counts.insert("context".to_owned(), cut::value(Cow::Borrowed(context), SENTENCE / 3));
        Some(Value::Object(counts))
    }

    fn turn_closed(&mut self, event: &SessionEvent, closed: &TurnClosed, changes: &mut Vec<Change>) {
        self.end_turn(changes);
        if let Some(notice) = &closed.notice {
            changes.push(Change::put(Lane::Run, notices::notice(event, notice)));
        }
        let outcome = match (&closed.notice, closed.cancelled) {
            (_, true) => TurnOutcome::Stopped,
            (Some(_), false) => TurnOutcome::Failed,
            (None, false) => TurnOutcome::Done,
        };
        let text = closed.notice.as_ref().map(|notice| notice.text.clone());
        let told = ToldEnd { outcome, text, spent: Spent::default(), last: true };
        self.mark_end(event, told, changes);
        changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
    }

    /// News of a task, or of none that has a name.
    fn task(&mut self, event: &SessionEvent, news: TaskNews, changes: &mut Vec<Change>) {
        if event.permission.is_some() {
            // A task asks inside an event of its own; the card stands in the chat all the same.
            self.ask(event, None, changes);
        }
        let named = self.tasks.event(event, &news, changes);
        if news.stop_requested {
            changes.push(Change::put(Lane::Run, notices::stopping(event, self.run.number())));
        } else if !named && event.permission.is_none() {
            changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
        }
    }

    /// A conversation is made shorter: one block in the chat from start to end.
    fn compaction(&mut self, event: &SessionEvent, compaction: Compaction, changes: &mut Vec<Change>) {
        let Compaction { id, begins, notice } = compaction;
        let known = self.compactions.iter().position(|(open, _)| *open == id);
        let known = known
            .filter(|_| !begins || id.is_some())
            .and_then(|at| self.compactions.get(at))
            .map(|open| open.1);
        let seq = known.unwrap_or(event.seq);
        // Without an id there is one at a time, and this was its end.
        let over = id.is_none() && !begins;
        if over || known.is_none() {
            self.compactions.retain(|(open, _)| *open != id);
        }
        if !over && known.is_none() {
            if self.compactions.len() >= COMPACTIONS {
                self.compactions.remove(0);
            }
            self.compactions.push((id, seq));
        }
        let block = notices::named(event, format!("compaction-{seq}"), &notice);
        changes.push(Change::put(Lane::Chat, Block { seq, ..block }));
    }

    /// The process of the engine ended.
    fn exited(&mut self, event: &SessionEvent, expected: bool, text: String, changes: &mut Vec<Change>) {
        let halved = self.transcript.streams();
        self.close_turn(changes);
        if halved {
            let text = "The text above is not whole: the agent ended while it wrote. What had come is kept here; \
                        the agent itself may not remember it.";
            let kept = Notice::new(NoticeLevel::Warning, text);
            changes
                .push(Change::put(Lane::Chat, notices::named(event, format!("kept-{}", event.seq), &kept)));
        }
        if self.turn.is_known() {
            self.replay.restart();
        }
        if !expected {
            self.turn.tell();
        }
        let level = if expected { NoticeLevel::Info } else { NoticeLevel::Error };
        in_chat_and_run(notices::notice(event, &Notice::new(level, text)), changes);
    }
}

fn in_chat_and_run(block: Block, changes: &mut Vec<Change>) {
    changes.push(Change::put(Lane::Chat, block.clone()));
    changes.push(Change::put(Lane::Run, block));
}
