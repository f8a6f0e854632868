//! What an engine says of a session beside its turns: usage, what it offers, checkpoints, compaction, links.
//!
//! Owns which counts and which lists replace each other. Never tells a text or a tool call.

use serde_json::Value;

use super::notice::Notice;
use super::turn::Cost;

/// Tokens, cost or limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// Which of the counts of a run it replaces.
    pub of: UsageOf,
    /// One sentence.
    pub notice: Notice,
    /// How full the model's context is, for the report at the end of the turn.
    pub context: Option<Value>,
    /// What the session cost so far.
    pub cost: Option<Cost>,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageOf {
    /// What was used.
    Usage,
    /// What is left.
    Limits,
    /// How far the agent's loop is, and what waits in it.
    Loop,
}

/// What the engine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// Which of its lists.
    pub of: CommandsOf,
    /// One sentence.
    pub text: String,
}

/// A list of what an engine offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandsOf {
    /// Everything there is.
    Catalog,
    /// What is chosen of it.
    Selection,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id, as key.
    pub id: String,
    /// One line.
    pub title: String,
}

/// A checkpoint was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Which, as key.
    pub id: String,
    /// What of it.
    pub what: RestoredWhat,
    /// Later ones are gone.
    pub prunes: bool,
}

/// What was set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredWhat {
    /// The files.
    Files,
    /// What was said.
    Conversation,
    /// The files and what was said.
    Both,
}

/// A conversation is made shorter so that it fits the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The engine's id of it, as key, where several may be under way.
    pub id: Option<String>,
    /// It begins.
    pub begins: bool,
    /// One sentence.
    pub notice: Notice,
}

/// A picture that an engine gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Where it lies, in the engine's words; empty where it does not say.
    pub uri: String,
    /// Its name, type and size.
    pub label: String,
    /// A `data:` address, where it is small enough to be shown.
    pub data: Option<String>,
}

/// A link to a log or an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its name, as key.
    pub id: String,
    /// Where it leads.
    pub uri: &'a str,
    /// What it is called.
    pub label: String,
}
