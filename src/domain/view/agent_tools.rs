//! The tool calls of an agent, by its ids: one call is one block, whatever order its messages come in.
//!
//! Owns the status of these blocks. What an agent says of it is not enough: a command that failed, was stopped or was not
//! allowed is not well, whatever word the agent has for it, and a status that was final never goes back. Never keeps more than the newest calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::block::{Block, BlockBody, Change, Lane, ToolBlockStatus};
use super::cut;
use super::facts::{Plan, Standing, ToolNews};
use crate::domain::approval::PermissionStatus;
use crate::domain::event::SessionEvent;

/// Calls that are known. An agent runs a few at one time and may tell more of one that ended; when one more comes the oldest
/// that ended is forgotten, else the oldest, which then shows as cancelled. What still comes for it makes a block of its own.
const CALLS: usize = 128;
/// Asks of one call that wait.
const ASKS: usize = 8;
/// What fits in a transcript without hiding what stands around it; the whole is in the event.
const PREVIEW: usize = 4 * 1024;
const DENIED: &str = "Denied.";

/// The calls of a session, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct AgentTools {
    calls: Vec<Call>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Call {
    /// Key of the agent's id.
    id: String,
    /// The turn it began in, by our count.
    turn: u64,
    block: Block,
    /// It has its last status.
    ended: bool,
    /// The user did not allow it, or the ask ended without an answer.
    refused: bool,
    /// Its preview is what it would do, not what it did.
    foreseen: bool,
    /// Bytes that it printed piece by piece.
    printed: u64,
    /// It keeps a todo list, which is shown as a plan.
    todos: bool,
    /// Ids of its asks that wait.
    asks: Vec<String>,
}

impl AgentTools {
    /// Whether this call is known, and was not of an earlier turn. A `tool_call` begins another one under an old id.
    fn position(&self, id: &str, turn: u64, begins: bool) -> Option<usize> {
        let mine = |call: &Call| call.id == id && !(begins && call.ended && call.turn != turn);
        self.calls.iter().rposition(mine)
    }

    /// A message about a call. Gives back the todo list that it keeps.
    pub(super) fn hear(
        &mut self,
        event: &SessionEvent,
        turn: u64,
        news: ToolNews,
        over: bool,
        changes: &mut Vec<Change>,
    ) -> Option<Plan> {
        let begins = event.kind == "tool_call";
        let at = self.open(event, turn, &news, begins, changes);
        let call = self.calls.get_mut(at)?;
        let plan = news.todos.clone();
        call.take_in(event, news);
        // No end of a turn comes behind it that would close it; its own end still may.
        if over
            && !call.ended
            && let BlockBody::Tool { status, .. } = &mut call.block.body
        {
            *status = ToolBlockStatus::Cancelled;
        }
        if !call.todos {
            changes.push(Change::put(Lane::Chat, call.block.clone()));
        }
        plan
    }

    /// A permission is asked for a call: what it would do is shown where nothing is yet, and nothing else changes, since
    /// agents write the call of an ask in other words than the call.
    pub(super) fn ask(
        &mut self,
        event: &SessionEvent,
        turn: u64,
        mut news: ToolNews,
        request_id: &str,
        changes: &mut Vec<Change>,
    ) {
        let known = self.position(&news.id, turn, false).is_some();
        let at = self.open(event, turn, &news, false, changes);
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.asks.len() >= ASKS {
            call.asks.remove(0);
        }
        call.asks.push(request_id.to_owned());
        let foreseen = news.content.take();
        if !known {
            news.standing = None;
            call.take_in(event, news);
        }
        call.foresee(foreseen);
        if !call.todos {
            changes.push(Change::put(Lane::Chat, call.block.clone()));
        }
    }

    /// An ask was settled.
    pub(super) fn settled(&mut self, request_id: &str, status: PermissionStatus, changes: &mut Vec<Change>) {
        let asked = |call: &&mut Call| call.asks.iter().any(|id| id == request_id);
        let Some(call) = self.calls.iter_mut().rev().find(asked) else { return };
        let refused = match status {
            PermissionStatus::Pending => return,
            PermissionStatus::Allowed => false,
            PermissionStatus::Denied | PermissionStatus::Expired | PermissionStatus::Cancelled => true,
        };
        call.asks.retain(|id| id != request_id);
        call.refused = refused;
        if call.ended || !refused {
            return;
        }
        let BlockBody::Tool { status: shown, preview, .. } = &mut call.block.body else { return };
        *shown = ToolBlockStatus::Cancelled;
        if preview.is_none() && status == PermissionStatus::Denied {
            *preview = Some(DENIED.to_owned());
            call.foreseen = true;
        }
        if !call.todos {
            changes.push(Change::put(Lane::Chat, call.block.clone()));
        }
    }

    /// The turn or the process ended: what is open gets no end of its own any more.
    pub(super) fn cancel_all(&mut self, changes: &mut Vec<Change>) {
        for call in self.calls.iter_mut().filter(|call| !call.ended) {
            call.end(ToolBlockStatus::Cancelled);
            if !call.todos {
                changes.push(Change::put(Lane::Chat, call.block.clone()));
            }
        }
    }

    fn open(
        &mut self,
        event: &SessionEvent,
        turn: u64,
        news: &ToolNews,
        begins: bool,
        changes: &mut Vec<Change>,
    ) -> usize {
        if let Some(at) = self.position(&news.id, turn, begins) {
            return at;
        }
        if self.calls.len() >= CALLS {
            let at = self.calls.iter().position(|call| call.ended).unwrap_or(0);
            let mut oldest = self.calls.remove(at);
            if !oldest.ended && !oldest.todos {
                oldest.end(ToolBlockStatus::Cancelled);
                changes.push(Change::put(Lane::Chat, oldest.block));
            }
        }
        self.calls.push(Call::new(event, turn, news));
        self.calls.len() - 1
    }
}

impl Call {
    /// The id holds the `seq` because agents repeat their call ids, and a block id is never given twice.
    fn new(event: &SessionEvent, turn: u64, news: &ToolNews) -> Self {
        let body = BlockBody::Tool {
            name: "tool".to_owned(),
            status: ToolBlockStatus::Running,
            title: None,
            input: None,
            preview: None,
            truncated: None,
            bytes: None,
            result_seq: None,
            artifact: None,
        };
        let id = format!("t-{}-{}", news.id, event.seq);
        Self {
            id: news.id.clone(),
            turn,
            block: Block { id, turn: event.turn, seq: event.seq, body },
            ended: false,
            refused: false,
            foreseen: false,
            printed: 0,
            todos: news.keeps_todos,
            asks: Vec::new(),
        }
    }

    fn take_in(&mut self, event: &SessionEvent, news: ToolNews) {
        if let BlockBody::Tool { name, title, input, .. } = &mut self.block.body {
            if let Some(said) = news.name {
                *name = said;
            }
            if news.title.is_some() {
                *title = news.title;
            }
            if news.input.is_some() {
                *input = news.input;
            }
        }
        let last =
            matches!(news.standing, Some(Standing::Completed | Standing::Failed | Standing::Cancelled));
        let said = news.content.filter(|content| !content.is_empty());
        if let Some(content) = said {
            self.show(&content, event.seq, news.exit);
        } else if let Some(output) = news.output.filter(|_| last && self.printed == 0) {
            self.show(&output, event.seq, news.exit);
        } else if last {
            self.show_exit(news.exit);
        }
        if let Some(printed) = news.printed {
            self.print(&printed);
        }
        if self.ended {
            return;
        }
        match news.standing {
            Some(Standing::Completed) => self.end(match news.exit {
                _ if self.refused => ToolBlockStatus::Cancelled,
                Some(None) => ToolBlockStatus::Cancelled,
                Some(Some(0)) | None => ToolBlockStatus::Ok,
                Some(Some(_)) => ToolBlockStatus::Failed,
            }),
            Some(Standing::Failed) if self.refused => self.end(ToolBlockStatus::Cancelled),
            Some(Standing::Failed) => self.end(ToolBlockStatus::Failed),
            Some(Standing::Cancelled) => self.end(ToolBlockStatus::Cancelled),
            Some(Standing::Open) | None => {
                if let BlockBody::Tool { status, .. } = &mut self.block.body {
                    *status =
                        if self.refused { ToolBlockStatus::Cancelled } else { ToolBlockStatus::Running };
                }
            }
        }
    }

    fn end(&mut self, how: ToolBlockStatus) {
        self.ended = true;
        if let BlockBody::Tool { status, .. } = &mut self.block.body {
            *status = how;
        }
    }

    /// What it would do, while nothing is known of what it does.
    fn foresee(&mut self, content: Option<String>) {
        let Some(content) = content.filter(|content| !content.is_empty()) else { return };
        let BlockBody::Tool { preview, truncated, .. } = &mut self.block.body else { return };
        if preview.is_none() {
            let start = cut::start_of(&content, PREVIEW);
            *truncated = (start.len() < content.len()).then_some(true);
            *preview = Some(start.to_owned());
            self.foreseen = true;
        }
    }

    /// Shows a text in the place of what was shown.
    fn show(&mut self, whole: &str, seq: u64, exit: Option<Option<i64>>) {
        let BlockBody::Tool { preview, truncated, bytes, result_seq, .. } = &mut self.block.body else {
            return;
        };
        let start = cut::start_of(whole, PREVIEW);
        *preview = Some(start.to_owned());
        *truncated = (start.len() < whole.len()).then_some(true);
        *bytes = Some(whole.len() as u64);
        *result_seq = Some(seq);
        self.foreseen = false;
        self.printed = 0;
        self.show_exit(exit);
    }

    fn show_exit(&mut self, exit: Option<Option<i64>>) {
        let Some(Some(code)) = exit.filter(|code| *code != Some(0)) else { return };
        let BlockBody::Tool { preview, .. } = &mut self.block.body else { return };
        let said = format!("[exit code {code}]");
        let shown = preview.take().filter(|_| !self.foreseen).unwrap_or_default();
        if shown.ends_with(&said) {
            *preview = Some(shown);
            return;
        }
        let between = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
        *preview = Some(format!("{shown}{between}{said}"));
        self.foreseen = false;
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
        self.foreseen = false;
    }
}

/// The call that a permission is asked for.
pub(super) fn asked_call(event: &SessionEvent) -> Option<&serde_json::Map<String, Value>> {
    event.payload.get("toolCall").and_then(Value::as_object)
}
