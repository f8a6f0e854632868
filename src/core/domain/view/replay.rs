//! A history that an engine tells again: shown where it is new here, else in the debug lane alone.
//!
//! Owns what is a replay. Live events belong to a turn; history belongs to none. Engines whose streams resume never tell a
//! history, and nothing here happens to them.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane};
use crate::domain::cut;
use crate::domain::event::SessionEvent;
use crate::domain::fact::{Fact, Prompt};

/// A prompt of history, as long as any prompt.
const PROMPT: usize = 512 * 1024;

/// Where a replay is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Replay {
    phase: ReplayPhase,
    /// The prompt that still grows.
    prompt: Option<HistoryPrompt>,
}

/// Whether what comes is history that an engine tells again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReplayPhase {
    /// It is not a replay.
    #[default]
    Live,
    /// Yes, and nothing of it was here before: it is shown.
    Shown,
    /// Yes, and it was here before, more of it than the engine still has: it stands in the debug lane alone.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HistoryPrompt {
    message: Option<String>,
    id: String,
    bytes: usize,
}

impl Replay {
    /// Whether this event of the engine is history that was here before. Live engines of this kind do not echo prompts, so a
    /// piece of one outside of a turn begins a replay; the first event of a turn ends it. `known`: there were turns before.
    pub(super) fn hides(&mut self, turn: Option<u64>, fact: &Fact<'_>, known: bool) -> bool {
        let prompt = matches!(fact, Fact::Prompt(Prompt::History { .. }));
        if turn.is_some() && !prompt {
            self.phase = ReplayPhase::Live;
            return false;
        }
        if prompt && self.phase == ReplayPhase::Live {
            self.phase = if known { ReplayPhase::Hidden } else { ReplayPhase::Shown };
        }
        let told = matches!(
            fact,
            Fact::Prompt(_)
                | Fact::Text(_)
                | Fact::ToolCall(_)
                | Fact::ToolOutput(_)
                | Fact::ToolResult(_)
                | Fact::Plan(_)
                | Fact::Nothing
        );
        told && self.phase == ReplayPhase::Hidden
    }

    /// A new process tells of the session from the beginning.
    pub(super) fn restart(&mut self) {
        self.phase = ReplayPhase::Hidden;
    }

    /// Whether a history is shown, whose turns have no end of their own.
    pub(super) fn is_shown(&self) -> bool {
        self.phase == ReplayPhase::Shown
    }

    /// A prompt of ours comes behind it. `true`: its last turn is to be ended.
    pub(super) fn end(&mut self) -> bool {
        let shown = self.is_shown();
        if shown {
            self.phase = ReplayPhase::Live;
        }
        shown
    }

    /// Something else than a piece of the prompt came.
    pub(super) fn end_prompt(&mut self) {
        self.prompt = None;
    }

    /// A piece of the prompt that came last. `false`: it is of another one.
    pub(super) fn grow_prompt(
        &mut self,
        message: Option<&str>,
        words: &str,
        changes: &mut Vec<Change>,
    ) -> bool {
        let grows = self.prompt.as_mut().filter(|prompt| prompt.message.as_deref() == message);
        let Some(prompt) = grows else { return false };
        let room = PROMPT.saturating_sub(prompt.bytes);
        if room > 0 {
            let piece = cut::line(words, room);
            prompt.bytes = (prompt.bytes + piece.len()).min(PROMPT);
            changes.push(Change::append(Lane::Chat, &prompt.id, piece));
        }
        true
    }

    /// Another prompt; it comes whole or in pieces.
    pub(super) fn begin_prompt(
        &mut self,
        event: &SessionEvent,
        message: Option<String>,
        words: &str,
        changes: &mut Vec<Change>,
    ) {
        let id = format!("u-{}", event.seq);
        let text = cut::line(words, PROMPT);
        self.prompt = Some(HistoryPrompt { message, id: id.clone(), bytes: text.len() });
        let body = BlockBody::User {
            text,
            message_id: None,
            attachment_ids: Vec::new(),
            context: Vec::new(),
            context_notes: Vec::new(),
            context_seq: None,
        };
        changes.push(Change::put(Lane::Chat, Block { id, turn: event.turn, seq: event.seq, body }));
    }
}
