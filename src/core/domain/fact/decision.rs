//! What waits for somebody's decision, and what was answered.
//!
//! Owns how an answer is named: by our id where the loop settled it, by the engine's where the engine tells it. What is asked
//! is no fact: it stands beside the event (`approval`).

use crate::domain::approval::{ChosenOption, NamedClient, PermissionStatus};

/// A proposed patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch<'a> {
    /// The engine's id of it.
    pub id: &'a str,
    /// The file that it changes.
    pub file_path: &'a str,
    /// Why the change is proposed.
    pub rationale: &'a str,
    /// As a unified diff.
    pub diff: &'a str,
}

/// An answer to a permission request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered<'a> {
    /// The loop settled the request.
    Settled {
        /// Our id of it.
        request_id: &'a str,
        /// How it stands now.
        status: PermissionStatus,
        /// By whom.
        by: Option<&'a str>,
        /// With which option, where the user chose one.
        chosen: Option<ChosenOption>,
        /// At which client, where the user answered.
        client: Option<NamedClient>,
    },
    /// What is unsaved is saved before the request is allowed.
    Saving {
        /// Our id of it.
        request_id: &'a str,
        /// Why that failed: the request waits again.
        problem: Option<&'a str>,
    },
    /// The engine tells what it was answered.
    Confirmed(Confirmed),
    /// It does not say which request it means.
    Unnamed,
}

/// What an engine was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// The engine's id of the ask. It begins again with every input, so it means the newest open ask of that id.
    pub engine_request_id: String,
    /// Whether everything that was asked is allowed. One refused item, or a word we do not know, makes it false.
    pub allowed: bool,
    /// The engine's words, each once, in their order, with `, ` between.
    pub words: String,
    /// At which of its clients, where it says so.
    pub client: Option<NamedClient>,
}
