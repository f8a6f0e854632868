//! A text that grows: one block of the assistant's words or of its reasoning.
//!
//! Owns the bound of such a block and the changes by which it grows. Never knows whose text it is or when it ends.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane};
use crate::domain::cut;
use crate::domain::fact::Voice;

/// One answer of half a mebibyte is a book; past that a client pages the events.
const ANSWER: usize = 512 * 1024;
const REASONING: usize = 64 * 1024;

/// Whether more may come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Streaming {
    More,
    Done,
}

/// A block of text and its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenText {
    pub(super) id: String,
    pub(super) turn: Option<u64>,
    pub(super) seq: u64,
    pub(super) text: String,
    /// What came later was cut.
    pub(super) full: bool,
}

impl OpenText {
    /// Sets the whole text, cut to its bound.
    pub(super) fn set(&mut self, whole: &str) {
        let fits = cut::start_of(whole, ANSWER);
        self.full = fits.len() < whole.len();
        self.text = fits.to_owned();
    }

    /// Adds a piece of an answer, and tells of it.
    pub(super) fn add_answer(&mut self, piece: &str, changes: &mut Vec<Change>) {
        if self.full {
            return;
        }
        let fits = cut::start_of(piece, ANSWER.saturating_sub(self.text.len()));
        self.text.push_str(fits);
        if fits.len() == piece.len() {
            changes.push(Change::append(Lane::Chat, &self.id, piece));
        } else {
            self.full = true;
            changes.push(Change::put(Lane::Chat, self.block(Voice::Answer, Streaming::More)));
        }
    }

    /// Sets the first piece of reasoning.
    pub(super) fn set_reasoning(&mut self, first: &str) {
        self.full = first.len() > REASONING;
        self.text = cut::line(first, REASONING);
    }

    /// Adds a piece of reasoning, and tells of it.
    pub(super) fn add_reasoning(&mut self, piece: &str, changes: &mut Vec<Change>) {
        if self.full {
            return;
        }
        let room = REASONING.saturating_sub(self.text.len());
        self.full = piece.len() > room;
        let piece = cut::line(piece, room);
        self.text.push_str(&piece);
        changes.push(Change::append(Lane::Chat, &self.id, piece));
    }

    /// The block as it stands.
    pub(super) fn block(&self, voice: Voice, streaming: Streaming) -> Block {
        let streaming = streaming == Streaming::More;
        let text = self.text.clone();
        let body = match voice {
            Voice::Answer => BlockBody::Assistant { text, streaming, truncated: self.full },
            Voice::Reasoning => BlockBody::Reasoning { text, streaming },
        };
        Block { id: self.id.clone(), turn: self.turn, seq: self.seq, body }
    }
}
