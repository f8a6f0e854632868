//! One tool call as a block: its status, and the start or the end of what it gave.
//!
//! Owns what is shown of a call and which source of its status is believed. A command that failed, was stopped or was not
//! allowed is not well, whatever word the engine has for it, and a status that was final never goes back. Never knows
//! another call.

mod printed;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, BlockBody, Change, Lane, ToolBlockStatus};
use super::notices;
use super::terminals::{ShownTerminal, Unshown};
use crate::domain::approval::PermissionStatus;
use crate::domain::background::Background;
use crate::domain::cut;
use crate::domain::event::SessionEvent;
use crate::domain::fact::{Picture, PrintStream, Shape, ToolNews, ToolOutcome, ToolProgress, ToolState};
use crate::domain::shown::without_colours;

/// What fits in a transcript without hiding what stands around it; the whole is in the event.
pub(super) const PREVIEW: usize = 4 * 1024;
/// The same of a diff, which a person decides by.
const DIFF: usize = 16 * 1024;
/// Asks of one call that wait.
const ASKS: usize = 8;
/// Events of one call that are remembered as telling what it would do. An agent that streams its arguments tells it in its last
/// ones.
const TOLD: usize = 8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Tool {
    /// The engine's id of the call.
    pub(super) call: Option<String>,
    /// The engine's id of its execution.
    pub(super) exec: Option<String>,
    /// The turn that it began in, by our count.
    pub(super) turn: u64,
    pub(super) block: Block,
    /// The engine tells it anew with each change, also behind its turn.
    pub(super) by_id: bool,
    /// Bytes that it printed while it ran.
    pub(super) printed: u64,
    /// Where it printed last.
    stream: Option<PrintStream>,
    /// Its preview is what it would do, and not what it did.
    foreseen: bool,
    /// Its diff is not all there.
    diff_cut: bool,
    /// How it stands because it was not allowed to run.
    refused: Option<ToolBlockStatus>,
    /// What its status was last learned from.
    pub(super) learned: Learned,
    /// Its result has come in this shape.
    execution: bool,
    transcript: bool,
    /// `seq` of its first result.
    pub(super) ended: u64,
    /// A result without an id cannot be its: its step is over.
    pub(super) past: bool,
    /// What its results call it, where that is another name than the call's.
    pub(super) alias: Option<String>,
    /// It keeps a list of things to do, which is shown as a plan and not as a call.
    keeps_plan: bool,
    /// Ids of its asks that wait.
    asks: Vec<String>,
    /// `seq`s of the events that told what it would do, oldest first.
    told: Vec<u64>,
    /// Terminals that it shows, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    terminals: Vec<ShownTerminal>,
    /// What its content says beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beside: Option<String>,
}

/// What a request for permission says of its call.
pub(super) struct AskedCall {
    /// What it would give or show.
    pub(super) content: Option<String>,
    /// What it would change, as a diff.
    pub(super) change: Option<String>,
    /// Its arguments.
    pub(super) input: Option<Value>,
}

/// Where a status comes from, the least to be trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Learned {
    Nothing,
    Transcript,
    ExitCode,
    Execution,
}

impl Tool {
    /// The id holds the `seq` because engines repeat their call ids, and a block id is never given twice.
    pub(super) fn new(event: &SessionEvent, turn: u64, news: &ToolNews<'_>) -> Self {
        let id = match &news.id {
            Some(call) => format!("t-{call}-{}", event.seq),
            None => format!("t-{}", event.seq),
        };
        let body = BlockBody::Tool {
            tool_call_id: news.id.clone(),
            name: "tool".to_owned(),
            status: ToolBlockStatus::Running,
            background: None,
            title: None,
            input: None,
            diff: None,
            exit_code: None,
            preview: None,
            truncated: None,
            bytes: None,
            result_seq: None,
            artifact: None,
        };
        Self {
            call: news.id.clone(),
            exec: news.exec.clone(),
            turn,
            block: Block { id, turn: event.turn, seq: event.seq, body },
            by_id: false,
            printed: 0,
            stream: None,
            foreseen: false,
            diff_cut: false,
            refused: None,
            learned: Learned::Nothing,
            execution: false,
            transcript: false,
            ended: 0,
            past: false,
            alias: None,
            keeps_plan: false,
            asks: Vec::new(),
            told: Vec::new(),
            terminals: Vec::new(),
            beside: None,
        }
    }

    /// The same, for a call that the engine tells anew with each change.
    pub(super) fn updated(event: &SessionEvent, turn: u64, news: &ToolNews<'_>, state: &ToolState) -> Self {
        Self { by_id: true, keeps_plan: state.keeps_plan, ..Self::new(event, turn, news) }
    }

    pub(super) fn name(&self) -> Option<&str> {
        if let BlockBody::Tool { name, .. } = &self.block.body { Some(name) } else { None }
    }

    pub(super) fn lacks(&self, shape: Shape) -> bool {
        match shape {
            Shape::Only => false,
            Shape::Execution => !self.execution,
            Shape::Transcript => !self.transcript,
        }
    }

    /// An event told what it would do.
    pub(super) fn tell(&mut self, seq: u64) {
        if self.told.len() >= TOLD {
            // The first names it, the last has what came latest.
            self.told.remove(1);
        }
        self.told.push(seq);
    }

    /// The events that told what it would do.
    pub(super) fn told(&self) -> &[u64] {
        &self.told
    }

    /// Shows the call as it stands.
    pub(super) fn put(&self, changes: &mut Vec<Change>) {
        if !self.keeps_plan {
            changes.push(Change::put(Lane::Chat, self.block.clone()));
        }
    }

    /// Shows the pictures that it gave back, below it; told anew they stand where they stood.
    pub(super) fn put_pictures(&self, event: &SessionEvent, pictures: &[Picture], changes: &mut Vec<Change>) {
        for (at, picture) in pictures.iter().enumerate() {
            let block = notices::picture(event, format!("i-{}-{at}", self.block.id), picture);
            changes.push(Change::put(Lane::Chat, block));
        }
    }

    /// The call says how it runs, perhaps again.
    pub(super) fn announce(&mut self, news: ToolNews<'_>) {
        if let BlockBody::Tool { name, title, input, background, .. } = &mut self.block.body {
            *name = news.name.unwrap_or_else(|| "tool".to_owned());
            *title = news.title;
            *input = news.input;
            *background = news.background;
        }
        if let Some(diff) = news.diff {
            self.change(&diff, self.block.seq);
        }
    }

    /// Shows what it changes.
    fn change(&mut self, whole: &str, seq: u64) {
        let BlockBody::Tool { diff, truncated, result_seq, .. } = &mut self.block.body else { return };
        let start = cut::start_of(whole, DIFF);
        self.diff_cut = start.len() < whole.len();
        *diff = Some(start.to_owned());
        if self.diff_cut {
            *truncated = Some(true);
            *result_seq = Some(seq);
        }
    }

    /// A result says what the call did not.
    pub(super) fn tell_more(&mut self, news: &ToolNews<'_>, seq: u64) {
        if let BlockBody::Tool { title, .. } = &mut self.block.body
            && title.is_none()
        {
            title.clone_from(&news.title);
        }
        if let Some(diff) = &news.diff {
            self.change(diff, seq);
        }
    }

    /// An execution says what the call did not.
    pub(super) fn begin_execution(&mut self, news: ToolNews<'_>) {
        if let BlockBody::Tool { status, title, input, .. } = &mut self.block.body {
            // Its end may have been told before its beginning.
            if self.learned < Learned::ExitCode {
                *status = ToolBlockStatus::Running;
            }
            *title = title.take().or(news.title);
            *input = input.take().or(news.input);
        }
    }

    /// The call is told anew. `true`: it has its last status.
    pub(super) fn update(
        &mut self,
        event: &SessionEvent,
        news: ToolNews<'_>,
        mut state: ToolState,
        over: bool,
        unshown: &mut Unshown,
    ) -> bool {
        if let BlockBody::Tool { name, title, input, .. } = &mut self.block.body {
            if let Some(said) = news.name {
                *name = said;
            }
            *title = news.title.or(title.take());
            *input = news.input.or(input.take());
        }
        if let Some(diff) = news.diff {
            self.change(&diff, event.seq);
        }
        let last = state.progress.is_some_and(|progress| progress != ToolProgress::Open);
        let content = state.content.filter(|content| !content.is_empty());
        if let Some(named) = state.terminals.take() {
            self.show_terminals(named, content.as_deref(), unshown);
        }
        let runs_here = self.terminals.iter().any(|terminal| terminal.began);
        let shown = content.or(state.output.filter(|_| last && self.printed == 0 && !runs_here));
        if let Some(shown) = &shown {
            self.show(shown, event.seq);
            self.printed = 0;
        }
        if (shown.is_some() || last)
            && let Some(Some(code)) = state.exit
        {
            self.show_exit(code);
        }
        if let Some(printed) = state.printed {
            self.print(&printed);
        }
        if runs_here {
            self.show_printed();
        } else if last && !self.terminals.is_empty() {
            self.say_no_output();
        }
        if over {
            return last;
        }
        match state.progress {
            _ if self.refused.is_some() => self.refused.into_iter().for_each(|refused| self.set(refused)),
            Some(ToolProgress::Completed) => {
                self.set(match self.printed_exit().map(Some).or(state.exit) {
                    Some(None) => ToolBlockStatus::Cancelled,
                    Some(Some(0)) | None => ToolBlockStatus::Ok,
                    Some(Some(_)) => ToolBlockStatus::Failed,
                });
            }
            Some(ToolProgress::Failed) => self.set(ToolBlockStatus::Failed),
            Some(ToolProgress::Cancelled) => self.set(ToolBlockStatus::Cancelled),
            Some(ToolProgress::Open) | None => self.set(ToolBlockStatus::Running),
        }
        last
    }

    /// A permission is asked for it: what it would do is shown, while nothing is known of what it does.
    pub(super) fn ask(&mut self, request_id: &str, seq: u64, asked: AskedCall) {
        let AskedCall { content, change, input } = asked;
        if self.asks.len() >= ASKS {
            self.asks.remove(0);
        }
        self.asks.push(request_id.to_owned());
        if let Some(change) = change
            && let BlockBody::Tool { diff, .. } = &self.block.body
            && diff.as_ref().is_none_or(|told| is_of_new_file(told) && !is_of_new_file(&change))
        {
            self.change(&change, seq);
        }
        let BlockBody::Tool { input: told, .. } = &mut self.block.body else { return };
        if told.as_ref().is_none_or(|told| told.as_object().is_some_and(Map::is_empty)) {
            *told = input.or(told.take());
        }
        let Some(content) = content.filter(|content| !content.is_empty()) else { return };
        let BlockBody::Tool { preview, truncated, .. } = &mut self.block.body else { return };
        if preview.is_none() {
            // A person decides by it, and a colour can hide.
            let content = without_colours(&content);
            let start = cut::start_of(&content, PREVIEW);
            *truncated = (start.len() < content.len()).then_some(true);
            *preview = Some(start.to_owned());
            self.foreseen = true;
        }
    }

    /// Whether this ask is about it and waits.
    pub(super) fn waits_for(&self, request_id: &str) -> bool {
        self.asks.iter().any(|id| id == request_id)
    }

    /// An ask about it was settled. `true`: it may not run, which is to be shown where it has not ended.
    pub(super) fn settled(&mut self, request_id: &str, status: PermissionStatus) -> bool {
        if status == PermissionStatus::Pending {
            return false;
        }
        self.refused = refusal(status);
        self.asks.retain(|id| id != request_id);
        self.refused.is_some()
    }

    /// It may not run.
    pub(super) fn refuse(&mut self, status: PermissionStatus) {
        if let Some(refused) = refusal(status) {
            self.set(refused);
        }
    }

    /// How long it may run, where it does so in the background.
    pub(super) fn background(&self) -> Option<Background> {
        if let BlockBody::Tool { background, .. } = &self.block.body { *background } else { None }
    }

    /// Its process is gone.
    pub(super) fn lose(&mut self, why: &str) {
        if self.printed > 0 && !self.ends_its_line() {
            self.print("\n");
        }
        self.print(why);
        self.cancel();
    }

    /// It never gets a result.
    pub(super) fn cancel(&mut self) {
        self.set(self.refused.unwrap_or(ToolBlockStatus::Cancelled));
    }

    /// An execution ended.
    pub(super) fn exit(&mut self, code: Option<i64>) {
        self.learn(Learned::ExitCode, code.is_some_and(|code| code != 0));
        if let Some(code) = code {
            self.show_exit(code);
        }
    }

    /// One of the call's results.
    pub(super) fn result(&mut self, event: &SessionEvent, outcome: &ToolOutcome<'_>) {
        let from = if outcome.shape == Shape::Transcript { Learned::Transcript } else { Learned::Execution };
        self.learn(from, outcome.failed);
        self.execution |= outcome.shape == Shape::Execution;
        // What the model reads is the compact text; an execution's fields only stand in for it, or for what was printed.
        let stands_in = outcome.shape == Shape::Execution && (self.transcript || self.printed > 0);
        self.transcript |= outcome.shape == Shape::Transcript;
        let BlockBody::Tool { preview, result_seq, artifact, .. } = &mut self.block.body else { return };
        if outcome.artifact.is_some() {
            artifact.clone_from(&outcome.artifact);
        }
        match outcome.text.as_deref() {
            Some(whole) if whole.is_empty() && outcome.shape != Shape::Only => {}
            Some(_) if stands_in && preview.is_some() => {
                result_seq.get_or_insert(event.seq);
            }
            Some(whole) => self.show(whole, event.seq),
            None => {}
        }
        let BlockBody::Tool { exit_code, .. } = &self.block.body else { return };
        if let Some(code) = outcome.exit.or(*exit_code) {
            self.show_exit(code);
        }
    }

    pub(super) fn set(&mut self, how: ToolBlockStatus) {
        if let BlockBody::Tool { status, .. } = &mut self.block.body {
            *status = how;
        }
    }

    /// Shows a text in the place of what was shown.
    fn show(&mut self, whole: &str, seq: u64) {
        let BlockBody::Tool { preview, truncated, bytes, result_seq, .. } = &mut self.block.body else {
            return;
        };
        let start = cut::start_of_output(whole, PREVIEW);
        *preview = Some(start.to_owned());
        let all = start.len() == whole.len();
        *truncated = (!all || self.diff_cut).then_some(true);
        *bytes = Some(whole.len() as u64);
        if !(all && self.diff_cut) {
            *result_seq = Some(seq);
        }
        self.foreseen = false;
    }

    /// Sets the status, unless it is known from a better source.
    fn learn(&mut self, from: Learned, failed: bool) {
        if from >= self.learned {
            self.learned = from;
            self.set(if failed { ToolBlockStatus::Failed } else { ToolBlockStatus::Ok });
        }
    }
}

/// Whether a diff makes a file. An agent says so of a file that it did not look for.
fn is_of_new_file(diff: &str) -> bool {
    diff.starts_with("--- /dev/null\n")
}

/// How a call stands that was not allowed to run.
fn refusal(status: PermissionStatus) -> Option<ToolBlockStatus> {
    match status {
        PermissionStatus::Pending | PermissionStatus::Saving | PermissionStatus::Allowed => None,
        PermissionStatus::Denied | PermissionStatus::Expired => Some(ToolBlockStatus::Denied),
        PermissionStatus::Cancelled => Some(ToolBlockStatus::Cancelled),
    }
}
