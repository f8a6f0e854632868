//! The transcript: prompts, answers, reasoning, plans, approval cards.
//!
//! Owns the open text blocks and the asks that wait. Never prints a text twice: the final message is compared with what
//! was streamed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, BlockBody, Change, Lane, PlanStepView};
use super::cut;
use super::fingerprint::Fingerprint;
use super::reducer::TurnName;
use crate::domain::approval::{Permission, PermissionStatus};
use crate::domain::event::SessionEvent;

/// One answer of half a mebibyte is a book; past that a client pages the events.
const ANSWER: usize = 512 * 1024;
const REASONING: usize = 64 * 1024;
const PROMPT: usize = 512 * 1024;
/// Asks that wait at one time. When one more comes the oldest is forgotten here: its card then keeps saying "pending"; the
/// ledger still knows it.
const PENDING: usize = 64;
/// JSON of one ask that is kept to show it settled. Of a longer one the settled card shows the start of its title; the card
/// that waits always shows it whole.
const ASK: usize = 16 * 1024;
const PLAN_STEPS: usize = 200;
const PLAN_FILES: usize = 50;
const PLAN_TEXT: usize = 1024;
const PHASE: usize = 40;

/// What is open in the transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Id and `seq` of this turn's plan.
    plan: Option<(String, u64)>,
    pending: Vec<Pending>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenText {
    id: String,
    turn: Option<u64>,
    seq: u64,
    text: String,
    full: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pending {
    turn: Option<u64>,
    seq: u64,
    permission: Permission,
}

impl Transcript {
    /// A prompt of the user.
    pub(super) fn prompt(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let ids = event.payload.get("attachmentIds").and_then(Value::as_array);
        changes.push(Change::put(
            Lane::Chat,
            Block {
                id: format!("u-{}", event.seq),
                turn: event.turn,
                seq: event.seq,
                body: BlockBody::User {
                    text: cut::line(text(&event.payload, "text").unwrap_or_default(), PROMPT),
                    message_id: text(&event.payload, "messageId").map(str::to_owned),
                    attachment_ids: ids
                        .map(|ids| ids.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                        .unwrap_or_default(),
                },
            },
        ));
    }

    /// A piece of the answer.
    pub(super) fn token(&mut self, event: &SessionEvent, turn: TurnName, changes: &mut Vec<Change>) {
        let piece = text(&event.payload, "token").unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        self.close_reasoning(changes);
        self.streamed.feed(piece);
        match &mut self.answer {
            None => self.open_answer(event, turn, piece, changes),
            Some(open) if open.full => {}
            Some(open) => {
                let fits = cut::start_of(piece, ANSWER - open.text.len());
                open.text.push_str(fits);
                if fits.len() == piece.len() {
                    changes.push(Change::append(Lane::Chat, &open.id, piece));
                } else {
                    open.full = true;
                    changes.push(Change::put(Lane::Chat, open.answer(Streaming::More)));
                }
            }
        }
    }

    fn open_answer(&mut self, event: &SessionEvent, turn: TurnName, whole: &str, changes: &mut Vec<Change>) {
        let fits = cut::start_of(whole, ANSWER);
        let open = OpenText {
            id: format!("a-{}-{}", turn.label, self.answers),
            turn: event.turn,
            seq: event.seq,
            text: fits.to_owned(),
            full: fits.len() < whole.len(),
        };
        self.answers += 1;
        changes.push(Change::put(Lane::Chat, open.answer(Streaming::More)));
        self.answer = Some(open);
    }

    /// The whole answer, at the end of a turn. It wins over what was streamed, and is not said again when it is the same.
    pub(super) fn final_message(&mut self, event: &SessionEvent, turn: TurnName, changes: &mut Vec<Change>) {
        let Some(whole) = text(&event.payload, "message").filter(|whole| !whole.is_empty()) else { return };
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
            Some(open) => {
                let fits = cut::start_of(rest, ANSWER);
                open.full = fits.len() < rest.len();
                open.text = fits.to_owned();
            }
            None if rest.is_empty() => {}
            None => self.open_answer(event, turn, rest, changes),
        }
        self.streamed = print;
    }

    /// A piece of reasoning, or a line about what the agent is busy with. Reasoning text comes in pieces under the phase
    /// `planning`; every other message is a line of its own.
    pub(super) fn thinking(&mut self, event: &SessionEvent, turn: TurnName, changes: &mut Vec<Change>) {
        let message = text(&event.payload, "message").unwrap_or_default();
        if message.is_empty() {
            return;
        }
        let phase = text(&event.payload, "phase").unwrap_or_default();
        let on_own_line = phase != "planning" || self.phase != phase;
        self.phase = cut::line(phase, PHASE);
        let Some(open) = &mut self.reasoning else {
            let fits = cut::line(message, REASONING);
            let open = OpenText {
                id: format!("r-{}-{}", turn.label, self.reasonings),
                turn: event.turn,
                seq: event.seq,
                full: message.len() > REASONING,
                text: fits,
            };
            self.reasonings += 1;
            changes.push(Change::put(Lane::Chat, open.reasoning(Streaming::More)));
            self.reasoning = Some(open);
            return;
        };
        if open.full {
            return;
        }
        let mut piece = if on_own_line && !open.text.ends_with('\n') { "\n" } else { "" }.to_owned();
        piece.push_str(message);
        let room = REASONING.saturating_sub(open.text.len());
        open.full = piece.len() > room;
        let piece = cut::line(&piece, room);
        open.text.push_str(&piece);
        changes.push(Change::append(Lane::Chat, &open.id, piece));
    }

    /// A plan; a later one of the same turn replaces it.
    pub(super) fn plan(&mut self, event: &SessionEvent, turn: TurnName, changes: &mut Vec<Change>) {
        let (id, seq) = self
            .plan
            .get_or_insert_with(|| (format!("plan-{}-{}", turn.label, turn.index), event.seq))
            .clone();
        let steps = event.payload.get("steps").and_then(Value::as_array);
        let steps = steps.map(|steps| steps.iter().take(PLAN_STEPS).map(step).collect()).unwrap_or_default();
        changes.push(Change::put(
            Lane::Chat,
            Block { id, turn: event.turn, seq, body: BlockBody::Plan { steps } },
        ));
    }

    /// The engine asks; the loop gave the ask its id.
    pub(super) fn ask(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let Some(permission) = &event.permission else { return };
        let pending = Pending { turn: event.turn, seq: event.seq, permission: permission.clone() };
        changes.push(Change::put(Lane::Chat, pending.card(PermissionStatus::Pending)));
        self.pending.retain(|other| other.permission.request_id != permission.request_id);
        if self.pending.len() >= PENDING {
            self.pending.remove(0);
        }
        self.pending.push(Pending { permission: bounded(pending.permission), ..pending });
    }

    /// An ask was settled.
    pub(super) fn settled(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let Some(id) = text(&event.payload, "requestId") else { return };
        let Some(at) = self.pending.iter().position(|ask| ask.permission.request_id == id) else { return };
        let status = event.payload.get("status").cloned().unwrap_or_default();
        let Ok(status) = serde_json::from_value::<PermissionStatus>(status) else { return };
        let pending = if status == PermissionStatus::Pending {
            self.pending[at].clone()
        } else {
            self.pending.remove(at)
        };
        changes.push(Change::put(Lane::Chat, pending.card(status)));
    }

    /// What comes next stands below: the text that streams is closed, and more text opens a new block.
    pub(super) fn close_text(&mut self, changes: &mut Vec<Change>) {
        self.close_reasoning(changes);
        if let Some(open) = self.answer.take() {
            self.closed = self.streamed;
            self.last = Fingerprint::of(&open.text);
            changes.push(Change::put(Lane::Chat, open.answer(Streaming::Done)));
        }
    }

    fn close_reasoning(&mut self, changes: &mut Vec<Change>) {
        if let Some(open) = self.reasoning.take() {
            self.phase.clear();
            changes.push(Change::put(Lane::Chat, open.reasoning(Streaming::Done)));
        }
    }

    /// A turn begins: what the last one said is not compared with what this one says.
    pub(super) fn begin_turn(&mut self) {
        self.streamed = Fingerprint::default();
        self.closed = Fingerprint::default();
        self.last = Fingerprint::default();
        self.plan = None;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Streaming {
    More,
    Done,
}

impl OpenText {
    fn answer(&self, streaming: Streaming) -> Block {
        self.block(BlockBody::Assistant {
            text: self.text.clone(),
            streaming: streaming == Streaming::More,
            truncated: self.full,
        })
    }

    fn reasoning(&self, streaming: Streaming) -> Block {
        self.block(BlockBody::Reasoning { text: self.text.clone(), streaming: streaming == Streaming::More })
    }

    fn block(&self, body: BlockBody) -> Block {
        Block { id: self.id.clone(), turn: self.turn, seq: self.seq, body }
    }
}

impl Pending {
    fn card(&self, status: PermissionStatus) -> Block {
        Block {
            id: self.permission.request_id.clone(),
            turn: self.turn,
            seq: self.seq,
            body: BlockBody::Permission { permission: self.permission.clone(), status },
        }
    }
}

fn bounded(mut permission: Permission) -> Permission {
    let size = serde_json::to_vec(&permission).map_or(usize::MAX, |json| json.len());
    if size > ASK {
        permission.title = cut::line(&permission.title, 1024);
        permission.rule = None;
        permission.options.clear();
    }
    permission
}

fn step(step: &Value) -> PlanStepView {
    let files = step.get("files_involved").and_then(Value::as_array);
    let said = step.as_str().or_else(|| step.get("description").and_then(Value::as_str)).unwrap_or_default();
    PlanStepView {
        text: cut::line(said, PLAN_TEXT),
        status: step.get("status").and_then(Value::as_str).map(|status| cut::line(status, PLAN_TEXT)),
        files: files
            .map(|files| {
                let files = files.iter().take(PLAN_FILES).filter_map(Value::as_str);
                files.map(|file| cut::line(file, PLAN_TEXT)).collect()
            })
            .unwrap_or_default(),
    }
}

fn text<'a>(payload: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    payload.get(name).and_then(Value::as_str)
}
