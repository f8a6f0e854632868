//! The transcript: prompts, answers, reasoning, plans, approval cards.
//!
//! Owns the one answer of a turn, the reasoning beside it, and the asks that wait. Never prints a text twice: the final message is compared with what
//! was streamed.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane};
use super::messages::Messages;
use super::open_text::{OpenText, Streaming};
use super::plans::Plans;
use super::prompts::{Echo, Prompts, Sent};
use super::turn::TurnName;
use crate::domain::approval::{Action, ChosenOption, NamedClient, Permission, PermissionStatus, Subject};
use crate::domain::context::item::ContextChip;
use crate::domain::cut;
use crate::domain::event::{EventClass, SessionEvent};
use crate::domain::fact::{Plan, Text, TextOf, TextPart, Voice};
use crate::domain::fingerprint::Fingerprint;
use crate::domain::shown::cut_marked;

/// Asks that wait at one time. When one more comes the oldest is forgotten here: its card then keeps saying "pending"; the
/// ledger still knows it.
const PENDING: usize = 64;
/// JSON of one ask that is kept to show it settled. Of a longer one the settled card shows the start of its title; the card
/// that waits always shows it whole.
const ASK: usize = 64 * 1024;
const PHASE: usize = 40;
/// Bytes of why an ask waits again.
const PROBLEM: usize = 500;

/// What is open in the transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Transcript {
    /// Assistant blocks so far, in the whole session, because engines restart turn numbers.
    answers: u64,
    /// Reasoning blocks so far.
    reasonings: u64,
    answer: Option<OpenText>,
    reasoning: Option<OpenText>,
    /// Last phase of the open reasoning block.
    phase: String,
    /// Everything streamed in this turn.
    streamed: Fingerprint,
    /// The part of it that stands in closed blocks.
    closed: Fingerprint,
    /// The last closed block alone.
    last: Fingerprint,
    /// Messages of an engine that sends them by id, or each of them whole.
    messages: Messages,
    prompts: Prompts,
    plans: Plans,
    pending: Vec<PendingText>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PendingText {
    turn: Option<u64>,
    seq: u64,
    permission: Box<Permission>,
    /// A task of the session asks, not its own run.
    #[serde(default)]
    nested: bool,
}

impl Transcript {
    /// A prompt of ours.
    pub(super) fn prompt(&mut self, event: &SessionEvent, sent: Sent<'_>, changes: &mut Vec<Change>) {
        self.prompts.sent(event, sent, changes);
    }

    /// What goes with it.
    pub(super) fn context(
        &mut self,
        event: &SessionEvent,
        chips: Vec<ContextChip>,
        notes: Vec<String>,
        changes: &mut Vec<Change>,
    ) {
        self.prompts.context(event, chips, notes, changes);
    }

    /// Whose prompt the engine echoes.
    pub(super) fn echo(&mut self, said: Option<&str>) -> Echo {
        self.prompts.echo(said)
    }

    /// Whether an echo with these words would be of a prompt of ours.
    pub(super) fn may_be_echo(&self, said: &str) -> bool {
        self.prompts.may_be_echo(said)
    }

    /// Whether these are the words of a prompt of ours that the engine has not echoed.
    pub(super) fn waits_for(&self, said: &str) -> bool {
        self.prompts.waits_for(said)
    }

    /// What the assistant says or thinks. With `over` no turn runs.
    pub(super) fn text(
        &mut self,
        event: &SessionEvent,
        turn: TurnName,
        text: Text<'_>,
        over: bool,
        changes: &mut Vec<Change>,
    ) {
        let Text { voice, of, part } = text;
        match (&of, part) {
            (TextOf::Turn { phase }, TextPart::Piece(piece) | TextPart::Whole { text: piece, .. }) => {
                match voice {
                    Voice::Answer => self.token(event, turn, &piece, changes),
                    Voice::Reasoning => self.thinking(event, turn, (phase, &piece), changes),
                }
            }
            (TextOf::Turn { .. }, TextPart::Start | TextPart::End) => {}
            (TextOf::Run(key), TextPart::Piece(piece) | TextPart::Whole { text: piece, .. }) => {
                self.messages.run_piece((voice, key.as_deref()), &piece, (event, turn), over, changes);
            }
            (TextOf::Run(_), TextPart::Start | TextPart::End) => {}
            (TextOf::Message { id, stream }, TextPart::Start) => {
                self.messages.start((voice, stream), id.as_deref(), changes);
            }
            (TextOf::Message { id, stream }, TextPart::Piece(piece)) => {
                self.messages.piece((voice, stream), id.as_deref(), &piece, (event, turn), changes);
            }
            (TextOf::Message { id, stream }, TextPart::End) => {
                self.messages.end((voice, stream), id.as_deref(), changes);
            }
            (TextOf::Message { id, .. }, TextPart::Whole { text, again }) => {
                self.messages.whole(id.as_deref(), &text, again, (event, turn), changes);
            }
        }
    }

    /// A piece of the answer.
    fn token(&mut self, event: &SessionEvent, turn: TurnName, piece: &str, changes: &mut Vec<Change>) {
        if piece.is_empty() {
            return;
        }
        self.close_reasoning(changes);
        self.streamed.feed(piece);
        match &mut self.answer {
            None => self.open_answer(event, turn, piece, changes),
            Some(open) => open.add_answer(piece, changes),
        }
    }

    fn open_answer(&mut self, event: &SessionEvent, turn: TurnName, whole: &str, changes: &mut Vec<Change>) {
        let id = format!("a-{}-{}", turn.label, self.answers);
        let mut open = OpenText { id, turn: event.turn, seq: event.seq, text: String::new(), full: false };
        open.set(whole);
        self.answers += 1;
        changes.push(Change::put(Lane::Chat, open.block(Voice::Answer, Streaming::More)));
        self.answer = Some(open);
    }

    /// The whole answer, at the end of a turn. It wins over what was streamed, and is not said again when it is the same.
    pub(super) fn whole_answer(
        &mut self,
        event: &SessionEvent,
        turn: TurnName,
        whole: &str,
        changes: &mut Vec<Change>,
    ) {
        let print = Fingerprint::of(whole);
        let said = print == self.streamed
            || match &self.answer {
                Some(open) => open.text == whole,
                None => self.last == print,
            };
        if said {
            return;
        }
        let rest = self.closed.rest_of(whole).unwrap_or(whole);
        match &mut self.answer {
            Some(open) if rest.is_empty() => {
                changes.push(Change::remove(Lane::Chat, &open.id));
                self.answer = None;
            }
            Some(open) => open.set(rest),
            None if rest.is_empty() => {}
            None => self.open_answer(event, turn, rest, changes),
        }
        self.streamed = print;
    }

    /// A piece of reasoning, or a line about what the agent is busy with. Reasoning text comes in pieces under the phase
    /// `planning`; every other message is a line of its own.
    fn thinking(
        &mut self,
        event: &SessionEvent,
        turn: TurnName,
        (phase, message): (&str, &str),
        changes: &mut Vec<Change>,
    ) {
        if message.is_empty() {
            return;
        }
        let on_own_line = phase != "planning" || self.phase != phase;
        self.phase = cut::line(phase, PHASE);
        let Some(open) = &mut self.reasoning else {
            let id = format!("r-{}-{}", turn.label, self.reasonings);
            let mut open =
                OpenText { id, turn: event.turn, seq: event.seq, text: String::new(), full: false };
            open.set_reasoning(message);
            self.reasonings += 1;
            changes.push(Change::put(Lane::Chat, open.block(Voice::Reasoning, Streaming::More)));
            self.reasoning = Some(open);
            return;
        };
        let mut piece = if on_own_line && !open.text.ends_with('\n') { "\n" } else { "" }.to_owned();
        piece.push_str(message);
        open.add_reasoning(&piece, changes);
    }

    /// A plan or todo list.
    pub(super) fn plan(
        &mut self,
        event: &SessionEvent,
        turn: TurnName,
        plan: Plan,
        changes: &mut Vec<Change>,
    ) {
        self.plans.show(event, turn, plan, changes);
    }

    /// The engine asks; the loop gave the ask its id.
    pub(super) fn ask(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let Some(permission) = &event.permission else { return };
        let nested = event.class == EventClass::TaskEvent;
        let pending =
            PendingText { turn: event.turn, seq: event.seq, permission: permission.clone(), nested };
        changes.push(Change::put(Lane::Chat, pending.card(PermissionStatus::Pending)));
        self.pending.retain(|other| other.permission.request_id != permission.request_id);
        if self.pending.len() >= PENDING {
            self.pending.remove(0);
        }
        self.pending.push(PendingText { permission: bounded(pending.permission), ..pending });
    }

    /// The loop settled an ask, with this option, at this client. `true`: the run may not do what it asked for.
    pub(super) fn settled(
        &mut self,
        id: &str,
        status: PermissionStatus,
        (chosen, client): (Option<&ChosenOption>, Option<&NamedClient>),
        changes: &mut Vec<Change>,
    ) -> bool {
        let Some(at) = self.pending.iter().position(|ask| ask.permission.request_id == id) else {
            return false;
        };
        let pending = self.pending.remove(at);
        let mut card = pending.card(status);
        if let BlockBody::Permission { chosen: of_card, client: at, .. } = &mut card.body {
            (*of_card, *at) = (chosen.cloned(), client.cloned());
        }
        changes.push(Change::put(Lane::Chat, card));
        status == PermissionStatus::Denied && !pending.nested
    }

    /// What is unsaved is saved before an ask is allowed, or could not be.
    pub(super) fn saving(&self, id: &str, problem: Option<&str>, changes: &mut Vec<Change>) {
        let Some(pending) = self.pending.iter().find(|ask| ask.permission.request_id == id) else { return };
        let status = if problem.is_some() { PermissionStatus::Pending } else { PermissionStatus::Saving };
        let mut card = pending.card(status);
        if let BlockBody::Permission { problem: of_card, .. } = &mut card.body {
            *of_card = problem.map(|problem| cut::line(problem, PROBLEM));
        }
        changes.push(Change::put(Lane::Chat, card));
    }

    /// Whether an answer or a message streams.
    pub(super) fn streams(&self) -> bool {
        self.answer.is_some() || self.messages.streams()
    }

    /// What comes next stands below: the text that streams is closed, and more text opens a new block.
    pub(super) fn close_text(&mut self, changes: &mut Vec<Change>) {
        self.close_reasoning(changes);
        self.messages.pause_all(changes);
        if let Some(open) = self.answer.take() {
            self.closed = self.streamed;
            self.last = Fingerprint::of(&open.text);
            changes.push(Change::put(Lane::Chat, open.block(Voice::Answer, Streaming::Done)));
        }
    }

    fn close_reasoning(&mut self, changes: &mut Vec<Change>) {
        if let Some(open) = self.reasoning.take() {
            self.phase.clear();
            changes.push(Change::put(Lane::Chat, open.block(Voice::Reasoning, Streaming::Done)));
        }
    }

    /// A turn begins: what the last one said is not compared with what this one says.
    pub(super) fn begin_turn(&mut self) {
        self.streamed = Fingerprint::default();
        self.closed = Fingerprint::default();
        self.last = Fingerprint::default();
        self.messages.forget();
    }

    /// A step of a run begins: its text stands in blocks of its own.
    pub(super) fn begin_step(&mut self, changes: &mut Vec<Change>) {
        self.close_text(changes);
        self.messages.close_all(changes);
    }

    /// A turn ended.
    pub(super) fn end_turn(&mut self) {
        self.prompts.run_ended();
    }
}

impl PendingText {
    fn card(&self, status: PermissionStatus) -> Block {
        Block {
            id: self.permission.request_id.clone(),
            turn: self.turn,
            seq: self.seq,
            body: BlockBody::Permission {
                permission: self.permission.clone(),
                status,
                chosen: None,
                client: None,
                problem: None,
            },
        }
    }
}

fn bounded(mut permission: Box<Permission>) -> Box<Permission> {
    let size = serde_json::to_vec(&permission).map_or(usize::MAX, |json| json.len());
    if size > ASK {
        permission.title = cut_marked(permission.title, 1024);
        permission.subject =
            Subject::new(Action::Tool { name: permission.title.clone(), server: None, input: None });
        permission.subject.truncated = true;
        permission.options.clear();
    }
    permission
}
