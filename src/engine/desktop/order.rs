//! What the task of a session is told.
//!
//! Owns the words alone.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::app::ports::{AttachedTurn, EngineDecision};
use crate::domain::dialect::desktop::place::HostPlace;

/// What a session's task is told.
#[derive(Debug)]
pub(super) enum LinkOrder {
    /// Somebody wants to know how it stands.
    Attach {
        /// Messages that are in the journal.
        heard: u64,
        /// The place in the host's journal up to which they are, where the host numbers.
        place: Option<HostPlace>,
        /// The turn that is open there.
        open_turn: Option<AttachedTurn>,
    },
    /// A turn begins; its prompt follows.
    Begin(u64),
    /// The prompt of a turn.
    Prompt {
        /// Its turn.
        turn: u64,
        /// The message.
        text: String,
        /// Our id of the prompt, which a host may repeat.
        message_id: String,
    },
    /// A turn did not begin: nothing of it is waited for.
    NotBegun(u64),
    /// Stop what runs.
    Stop,
    /// An answer to a question.
    Decide {
        /// The host's id of it.
        id: String,
        /// The answer.
        decision: EngineDecision,
    },
    /// A message about what was done here, of what the host named so.
    Say {
        /// The host's name of what it asked for.
        about: String,
        /// The message.
        text: String,
    },
    /// What was done here of a change that the host named so is over.
    Made(String),
    /// Files of this folder changed.
    FilesChanged {
        /// The folder.
        folder: PathBuf,
        /// Each change, as the host reads it.
        changes: Vec<Value>,
    },
    /// What changed of the context of a turn's prompt; nothing, where nothing did.
    ContextChanged {
        /// The turn.
        turn: u64,
        /// The parts, each whole.
        parts: Map<String, Value>,
    },
}
