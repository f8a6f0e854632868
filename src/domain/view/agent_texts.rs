//! The texts of an agent: its answers and its reasoning, by the agent's ids or, where it gives none, by contiguous run.
//!
//! Owns which block a piece belongs to. One text streams at a time; a piece that still comes for an earlier one goes into
//! that one's block, which then streams no more, so that nothing of a turn that is over lands in the next. Keeps the words
//! of the text that streams alone.

use serde::{Deserialize, Serialize};

use super::block::{Change, Lane};
use super::cut;
use super::open_text::{OpenText, Streaming, Voice};
use super::reducer::TurnName;
use crate::domain::event::SessionEvent;

/// Texts that a late piece can still find. When one more closes the oldest is forgotten, and a piece that still comes for it
/// begins a block of its own.
const CLOSED: usize = 64;
/// Bytes of a block, as of any answer.
const TEXT: u64 = 512 * 1024;

/// The texts of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AgentTexts {
    /// Blocks so far, because agents repeat their ids.
    made: u64,
    /// Contiguous runs so far, and whose the last one is.
    runs: u64,
    last: Option<Voice>,
    open: Option<Open>,
    closed: Vec<Closed>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Open {
    name: Name,
    text: OpenText,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Closed {
    name: Name,
    id: String,
    bytes: u64,
}

/// Which text a piece belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Name {
    voice: Voice,
    /// The agent's id, as key.
    message: Option<String>,
    /// Number of the run, for a text without an id.
    run: u64,
}

impl AgentTexts {
    /// A piece. With `over` no turn runs, and nothing is left streaming.
    pub(super) fn piece(
        &mut self,
        (voice, message): (Voice, Option<String>),
        piece: &str,
        (event, turn): (&SessionEvent, TurnName),
        over: bool,
        changes: &mut Vec<Change>,
    ) {
        if self.last != Some(voice) {
            self.runs += 1;
            self.last = Some(voice);
        }
        let run = if message.is_some() { 0 } else { self.runs };
        let name = Name { voice, message, run };
        if let Some(open) = self.open.as_mut().filter(|open| open.name == name) {
            match voice {
                Voice::Answer => open.text.add_answer(piece, changes),
                Voice::Reasoning => open.text.add_reasoning(piece, changes),
            }
            return;
        }
        if let Some(closed) = self.closed.iter_mut().rev().find(|closed| closed.name == name) {
            closed.add(piece, changes);
            return;
        }
        self.close(changes);
        let letter = match voice {
            Voice::Answer => 'a',
            Voice::Reasoning => 'r',
        };
        let id = format!("{letter}-{}-m{}", turn.label, self.made);
        self.made += 1;
        let mut text = OpenText { id, turn: event.turn, seq: event.seq, text: String::new(), full: false };
        match voice {
            Voice::Answer => text.set(piece),
            Voice::Reasoning => text.set_reasoning(piece),
        }
        changes.push(Change::put(Lane::Chat, text.block(voice, Streaming::More)));
        self.open = Some(Open { name, text });
        if over {
            self.close(changes);
        }
    }

    /// What comes next stands below: a text without an id that goes on then is another one.
    pub(super) fn interrupt(&mut self, changes: &mut Vec<Change>) {
        self.last = None;
        self.close(changes);
    }

    /// Whether a text streams.
    pub(super) fn streams(&self) -> bool {
        self.open.is_some()
    }

    fn close(&mut self, changes: &mut Vec<Change>) {
        let Some(open) = self.open.take() else { return };
        changes.push(Change::put(Lane::Chat, open.text.block(open.name.voice, Streaming::Done)));
        if self.closed.len() >= CLOSED {
            self.closed.remove(0);
        }
        self.closed.push(Closed { name: open.name, id: open.text.id, bytes: open.text.text.len() as u64 });
    }
}

impl Closed {
    fn add(&mut self, piece: &str, changes: &mut Vec<Change>) {
        let room = TEXT.saturating_sub(self.bytes);
        if room == 0 {
            return;
        }
        let said = cut::line(piece, usize::try_from(room).unwrap_or(usize::MAX));
        self.bytes = if said.len() == piece.len() { self.bytes + piece.len() as u64 } else { TEXT };
        changes.push(Change::append(Lane::Chat, &self.id, said));
    }
}
