//! From the loop's view of a session to the messages of the desktop protocol, for one client.
//!
//! Owns what this client has been told of the turn that runs, and how far. Pure: what needs the loop again (a patch, the state)
//! comes out as a wish. Never decides what is true: a snapshot replaces everything here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::transcript::newest;
use crate::domain::approval::{Action, NamedClient, Permission, PermissionStatus};
use crate::domain::dialect::desktop::message::{
    FinalMetadata, PlanStep, PlanStepStatus, ServerMessage, ThinkingPhase, ToolStatus,
};
use crate::domain::event::EventClass;
use crate::domain::fact::{NoticeLevel, TurnOutcome};
use crate::domain::view::{Block, BlockBody, Change, ChangeOp, Lane, ToolBlockStatus, View};
use crate::protocol::desktop::host_message::{HostMessage, SessionCursor, SnapshotReason};
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};
use crate::protocol::notification::{EventsParams, ViewParams};

/// Between two messages of the assistant in one turn.
const BETWEEN: &str = "\n\n";

/// Bytes of the text of one turn that are put together for a client. One message of the assistant is half of it at most; what a
/// turn says beyond goes as pieces alone, and the history has all of it.
const TURN_TEXT: usize = 1 << 20;

/// A piece waits until it is this part of the text so far: each message says the whole again, and so all of them together are a
/// fixed number of times as long as the answer, however long that is.
const SHARE: usize = 64;

/// Tools of one turn whose state is remembered. Past it a tool may be told to begin twice.
const TOOLS: usize = 4_096;

/// What comes out.
#[derive(Debug, PartialEq)]
pub(super) enum ClientNews {
    /// As it is.
    Message(Box<HostMessage>),
    /// A request for approval waits.
    Ask(Box<Permission>),
    /// A request for approval is settled, by this client where one answered.
    Settled(String, PermissionStatus, Option<NamedClient>),
    /// How the session stands has changed.
    State,
    /// With what came before this, everything up to this event was told.
    UpTo(u64),
}

/// How the text of an answer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenPieces {
    /// Each with everything so far, as the seed has it.
    WithAllSoFar,
    /// Each alone: the client said that it puts them together.
    Alone,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Translator {
    pub(super) cursor: SessionCursor,
    pub(super) running: bool,
    pub(super) pending: BTreeSet<String>,
    /// Step that runs, and steps.
    pub(super) plan: (u64, u64),
    /// `seq` of the last prompt and the last end that were told.
    last_prompt: u64,
    last_end: u64,
    /// Texts of the assistant in this turn, by block.
    texts: Vec<(String, String)>,
    /// The pieces put together, as long as they are no more than a turn's.
    sent: String,
    /// What of them the client has not been told yet.
    unsent: String,
    /// The client puts the pieces together itself.
    pieces_alone: bool,
    /// The turn says more than is put together.
    is_beyond: bool,
    /// A text was replaced: the final message is made of the texts.
    rewritten: bool,
    tools: BTreeMap<String, ToolBlockStatus>,
    tools_used: Vec<String>,
    files: BTreeSet<String>,
    reasoning: BTreeMap<String, usize>,
}

impl Translator {
    /// From a view on.
    pub(super) fn begin(view: &View, pieces: TokenPieces) -> (Self, Vec<ClientNews>) {
        let mut translator = Self {
            cursor: SessionCursor::default(),
            running: false,
            pending: BTreeSet::new(),
            plan: (0, 0),
            last_prompt: 0,
            last_end: 0,
            texts: Vec::new(),
            sent: String::new(),
            unsent: String::new(),
            pieces_alone: pieces == TokenPieces::Alone,
            is_beyond: false,
            rewritten: false,
            tools: BTreeMap::new(),
            tools_used: Vec::new(),
            files: BTreeSet::new(),
            reasoning: BTreeMap::new(),
        };
        let told = translator.show(view, SnapshotReason::Connected);
        (translator, told)
    }

    /// `bb/view`.
    pub(super) fn view(&mut self, params: ViewParams) -> Vec<ClientNews> {
        if params.to_seq <= self.cursor.seq {
            return Vec::new();
        }
        if let Some(view) = &params.snapshot {
            return self.show(view, SnapshotReason::Behind);
        }
        self.cursor.seq = params.to_seq;
        let mut told = Vec::new();
        for change in params.changes.into_iter().filter(|change| change.lane == Lane::Chat) {
            self.change(change, &mut told);
        }
        let is_due = self.pieces_alone || self.is_beyond || self.unsent.len() * SHARE >= self.sent.len();
        if is_due {
            self.tell_pieces(&mut told);
        }
        told
    }

    /// Bytes of the answer so far, where the client has not been told all of it.
    pub(super) fn owes(&self) -> Option<usize> {
        (!self.unsent.is_empty()).then_some(self.sent.len())
    }

    /// Tells what waits to be a larger piece.
    pub(super) fn tell_pieces(&mut self, told: &mut Vec<ClientNews>) {
        if self.unsent.is_empty() {
            return;
        }
        let cumulative_text = (!self.pieces_alone && !self.is_beyond).then(|| self.sent.clone());
        told.push(say(HostMessage::Token { token: std::mem::take(&mut self.unsent), cumulative_text }));
    }

    /// `bb/events`: only what no view holds.
    pub(super) fn events(&self, params: &EventsParams) -> Vec<ClientNews> {
        let news = params.events.iter().filter(|event| event.seq > self.cursor.seq);
        let statuses = news.filter(|event| event.class == EventClass::RetrievalStatus);
        statuses
            .filter_map(|event| {
                let mut message = Map::clone(&event.payload);
                message.insert("type".to_owned(), event.kind.clone().into());
                match serde_json::from_value(Value::Object(message)).ok()? {
                    ServerMessage::RetrieveStatus { stage, results_count, message } => {
                        Some(say(HostMessage::RetrieveStatus { stage, results_count, message }))
                    }
                    _ => None,
                }
            })
            .collect()
    }

    /// The whole view, in place of all that was told before.
    fn show(&mut self, view: &View, reason: SnapshotReason) -> Vec<ClientNews> {
        let was_running = self.running;
        let chat = &view.lanes.chat.blocks;
        self.cursor = SessionCursor { epoch: view.epoch.clone(), seq: view.seq };
        let ended = chat.iter().rev().find(|block| matches!(block.body, BlockBody::TurnEnd { .. }));
        let ended_at = ended.map_or(0, |block| block.seq);
        let runs = |block: &Block| {
            block.seq > ended_at
                && matches!(
                    block.body,
                    BlockBody::TurnStart { .. }
                        | BlockBody::Assistant { streaming: true, .. }
                        | BlockBody::Tool { status: ToolBlockStatus::Running, .. }
                        | BlockBody::Permission { status: PermissionStatus::Pending, .. }
                )
        };
        self.running = chat.iter().any(runs);
        self.forget_turn();
        self.pending.clear();
        for block in chat {
            match &block.body {
                BlockBody::User { .. } => self.last_prompt = self.last_prompt.max(block.seq),
                BlockBody::Assistant { text, .. } if block.seq > ended_at && self.running => {
                    self.texts.push((block.id.clone(), text.clone()));
                }
                BlockBody::Tool { status, .. } if block.seq > ended_at => {
                    self.tools.insert(block.id.clone(), *status);
                }
                BlockBody::Reasoning { text, .. } if block.seq > ended_at => {
                    self.reasoning.insert(block.id.clone(), text.len());
                }
                BlockBody::Permission { permission, status: PermissionStatus::Pending, .. } => {
                    self.pending.insert(permission.request_id.clone());
                }
                _ => {}
            }
        }
        self.sent = self.whole_text();
        self.bound_the_text();
        let (messages, is_cut) = newest(chat);
        let mut told = vec![say(HostMessage::Snapshot {
            reason,
            cursor: self.cursor.clone(),
            messages,
            has_more: view.lanes.chat.has_more || is_cut,
            cumulative_text: self.sent.clone(),
        })];
        if let Some(end) = ended.filter(|_| was_running && ended_at > self.last_end) {
            let after = chat.iter().filter(|block| block.seq < ended_at);
            let answer = after.rev().find_map(|block| match &block.body {
                BlockBody::Assistant { text, .. } => Some(text.clone()),
                _ => None,
            });
            self.end_turn(end, answer.unwrap_or_default(), &mut told);
        }
        self.last_end = self.last_end.max(ended_at);
        told
    }

    fn change(&mut self, change: Change, told: &mut Vec<ClientNews>) {
        match (change.op, change.block, change.text) {
            (ChangeOp::Put, Some(block), _) => self.put(block, told),
            (ChangeOp::Append, _, Some(text)) => self.append(&change.id, &text, told),
            (ChangeOp::Put | ChangeOp::Append | ChangeOp::Remove, _, _) => {}
        }
    }

    fn append(&mut self, id: &str, text: &str, told: &mut Vec<ClientNews>) {
        if let Some((_, known)) = self.texts.iter_mut().find(|(known, _)| known == id) {
            known.push_str(text);
            self.token(text);
        } else if let Some(length) = self.reasoning.get_mut(id) {
            *length += text.len();
            thinks(ThinkingPhase::Planning, text, told);
        }
    }

    fn token(&mut self, piece: &str) {
        self.unsent.push_str(piece);
        if !self.is_beyond {
            self.sent.push_str(piece);
        }
        self.bound_the_text();
    }

    fn bound_the_text(&mut self) {
        if !self.is_beyond && self.sent.len() <= TURN_TEXT {
            return;
        }
        self.is_beyond = true;
        self.sent = String::new();
        let mut length: usize = self.texts.iter().map(|(_, text)| text.len()).sum();
        while length > TURN_TEXT && self.texts.len() > 1 {
            length -= self.texts.remove(0).1.len();
        }
    }

    fn put(&mut self, block: Block, told: &mut Vec<ClientNews>) {
        // Everything else stands behind what was said before it.
        if !matches!(block.body, BlockBody::Assistant { .. } | BlockBody::Reasoning { .. }) {
            self.tell_pieces(told);
        }
        match block.body {
            BlockBody::User { text, message_id, .. } => {
                if block.seq > self.last_prompt {
                    self.last_prompt = block.seq;
                    told.push(say(HostMessage::UserPrompt { message: text, message_id }));
                }
            }
            BlockBody::TurnStart { .. } => {
                if !self.running {
                    self.forget_turn();
                    self.running = true;
                    thinks(ThinkingPhase::Analyzing, "Reading the prompt.", told);
                    told.push(ClientNews::State);
                }
            }
            BlockBody::TurnEnd { .. } => {
                if block.seq > self.last_end {
                    let answer = match self.rewritten || self.is_beyond {
                        true => self.whole_text(),
                        false => self.sent.clone(),
                    };
                    if self.is_beyond {
                        let words = "The answer is longer than this message can be; its beginning is in the history of the session.";
                        notice(NoticeLevel::Warning, words.to_owned(), told);
                    }
                    self.last_end = block.seq;
                    self.end_turn(&block, answer, told);
                }
            }
            BlockBody::Assistant { text, .. } => self.put_text(block.id, text),
            BlockBody::Reasoning { text, .. } => {
                let known = self.reasoning.insert(block.id, text.len()).unwrap_or(0);
                if let Some(piece) = text.get(known..).filter(|piece| !piece.is_empty()) {
                    thinks(ThinkingPhase::Planning, piece, told);
                }
            }
            BlockBody::Tool { .. } => self.put_tool(&block, told),
            BlockBody::Permission { permission, status, client, .. } => {
                self.put_permission(permission, (status, client), told);
            }
            BlockBody::Plan { steps } => {
                let done = steps.iter().filter(|step| step.is_done()).count() as u64;
                let total = steps.len() as u64;
                self.plan = ((done + 1).min(total), total);
                let steps = steps.into_iter().zip(1..).map(|(step, step_number)| PlanStep {
                    step_number,
                    description: step.text,
                    files_involved: step.files,
                    status: step.status.as_deref().and_then(PlanStepStatus::named),
                });
                told.push(say(HostMessage::Plan { steps: steps.collect(), rationale: String::new() }));
                told.push(ClientNews::State);
            }
            BlockBody::Notice { level, text, .. } => notice(level, text, told),
            BlockBody::Summary { success: false, text, .. } => notice(NoticeLevel::Warning, text, told),
            BlockBody::Changes { text, .. } => notice(NoticeLevel::Info, text, told),
            BlockBody::Command { command, status } => {
                notice(NoticeLevel::Info, format!("{command} ({status})"), told);
            }
            BlockBody::Checkpoint { title, status, .. } => {
                notice(NoticeLevel::Info, format!("{title} ({status})"), told);
            }
            BlockBody::Link { uri, label, .. } => {
                notice(NoticeLevel::Info, format!("{label} {uri}").trim().to_owned(), told);
            }
            BlockBody::Unknown { preview, .. } => notice(NoticeLevel::Info, preview, told),
            // Patches are told with their request for approval, tasks with their tools.
            BlockBody::Summary { success: true, .. } | BlockBody::Patch { .. } | BlockBody::Task { .. } => {}
        }
    }

    fn put_text(&mut self, id: String, text: String) {
        let Some((_, known)) = self.texts.iter_mut().find(|(known, _)| *known == id) else {
            let before = if self.texts.iter().all(|(_, text)| text.is_empty()) { "" } else { BETWEEN };
            let piece = if text.is_empty() { String::new() } else { format!("{before}{text}") };
            self.texts.push((id, text));
            return self.token(&piece);
        };
        match text.strip_prefix(known.as_str()).map(str::to_owned) {
            Some(piece) => {
                *known = text;
                self.token(&piece);
            }
            None => {
                *known = text;
                self.rewritten = true;
            }
        }
    }

    fn put_tool(&mut self, block: &Block, told: &mut Vec<ClientNews>) {
        let BlockBody::Tool { tool_call_id, name, status, title, input, preview, diff, exit_code, .. } =
            &block.body
        else {
            return;
        };
        if self.tools.len() >= TOOLS {
            self.tools.clear();
        }
        if self.tools.insert(block.id.clone(), *status) == Some(*status) {
            return;
        }
        if !self.tools_used.contains(name) && self.tools_used.len() < TOOLS {
            self.tools_used.push(name.clone());
        }
        let (status, result) = match status {
            ToolBlockStatus::Running => (ToolStatus::Started, Value::Null),
            ToolBlockStatus::Ok => {
                let result = json!({ "preview": preview, "diff": diff, "exit_code": exit_code });
                (ToolStatus::Completed, result)
            }
            ToolBlockStatus::Failed => (ToolStatus::Failed, json!({ "error": preview })),
            ToolBlockStatus::Denied => (ToolStatus::Failed, json!({ "error": "It was not allowed." })),
            ToolBlockStatus::Cancelled => (ToolStatus::Failed, json!({ "error": "It was stopped." })),
        };
        let args = match input {
            Some(Value::Object(args)) => args.clone(),
            Some(other) => Map::from_iter([("input".to_owned(), other.clone())]),
            None => title.iter().map(|title| ("title".to_owned(), title.as_str().into())).collect(),
        };
        told.push(say(HostMessage::ToolExecute {
            call_id: tool_call_id.clone().unwrap_or_else(|| block.id.clone()),
            tool_name: name.clone(),
            args,
            status,
            result,
        }));
    }

    fn put_permission(
        &mut self,
        permission: Box<Permission>,
        (status, by): (PermissionStatus, Option<NamedClient>),
        told: &mut Vec<ClientNews>,
    ) {
        match status {
            PermissionStatus::Pending => {
                if self.pending.insert(permission.request_id.clone()) {
                    told.push(ClientNews::Ask(permission));
                    told.push(ClientNews::State);
                }
            }
            PermissionStatus::Saving => {}
            PermissionStatus::Allowed
            | PermissionStatus::Denied
            | PermissionStatus::Expired
            | PermissionStatus::Cancelled => {
                if let (PermissionStatus::Allowed, Action::Edit { files }) =
                    (status, &permission.subject.action)
                {
                    self.files.extend(files.iter().map(|file| file.file_path.clone()));
                }
                if self.pending.remove(&permission.request_id) {
                    told.push(ClientNews::Settled(permission.request_id.clone(), status, by));
                    told.push(ClientNews::State);
                }
            }
        }
    }

    /// Requests that wait, as the loop lists them.
    pub(super) fn waits(&mut self, permission: &Permission) {
        self.pending.insert(permission.request_id.clone());
    }

    fn end_turn(&mut self, end: &Block, answer: String, told: &mut Vec<ClientNews>) {
        let BlockBody::TurnEnd { outcome, text, input_tokens, output_tokens, total_tokens, .. } = &end.body
        else {
            return;
        };
        if matches!(outcome, TurnOutcome::Failed | TurnOutcome::Cut) {
            let why = text.clone().unwrap_or_else(|| "The turn failed; the transcript says why.".to_owned());
            told.push(say(HostMessage::Error { error: DesktopRefusal::new(RefusalCode::ModelError, why) }));
        }
        let sum = input_tokens.unwrap_or(0) + output_tokens.unwrap_or(0);
        told.push(say(HostMessage::MessageFinal {
            message: answer,
            metadata: FinalMetadata {
                tokens_used: total_tokens.unwrap_or(sum),
                files_modified: self.files.len() as u64,
                tools_used: std::mem::take(&mut self.tools_used),
                success: *outcome == TurnOutcome::Done,
                cancelled: *outcome == TurnOutcome::Stopped,
            },
        }));
        self.running = false;
        self.forget_turn();
        told.push(ClientNews::State);
    }

    fn forget_turn(&mut self) {
        self.texts.clear();
        self.sent = String::new();
        self.unsent = String::new();
        self.is_beyond = false;
        self.rewritten = false;
        self.tools.clear();
        self.tools_used.clear();
        self.files.clear();
        self.reasoning.clear();
        self.plan = (0, 0);
    }

    fn whole_text(&self) -> String {
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.as_str()).collect();
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(BETWEEN)
    }
}

fn say(message: HostMessage) -> ClientNews {
    ClientNews::Message(Box::new(message))
}

fn thinks(phase: ThinkingPhase, message: &str, told: &mut Vec<ClientNews>) {
    told.push(say(HostMessage::Thinking { phase, message: message.to_owned() }));
}

fn notice(level: NoticeLevel, message: String, told: &mut Vec<ClientNews>) {
    told.push(say(HostMessage::Notice { level, message, code: None }));
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
