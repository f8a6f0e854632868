//! Sessions as engines make and list them.

use std::path::PathBuf;

use super::SpecPrompt;

/// What a client wants of a new session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionWish {
    /// Configuration of the engine; its default without.
    pub config_path: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Whether the engine asks before it writes or runs.
    pub permission_mode: Option<String>,
    /// First prompt; the loop sends it once the session is there.
    pub task: Option<String>,
    /// Where the session works.
    pub workspace: Option<PathBuf>,
    /// Name of the agent; `None` for the engine of the settings.
    pub agent: Option<String>,
    /// The tab that waits for it; for the loop alone.
    pub tab: Option<String>,
    /// The spec that goes to it first; for the loop alone.
    pub spec: Option<Box<SpecPrompt>>,
}

/// A session as an engine tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineSession {
    /// Its id, which is also ours; of an agent's session the one that `MakeSession` gave.
    pub session_id: String,
    /// The engine's word: `starting`, `running`, `completed`, `failed`, `stopped`.
    pub status: String,
    /// One line, where there is one.
    pub title: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: Option<i64>,
    /// Milliseconds since the Unix epoch.
    pub updated_at: Option<i64>,
    /// Model in use.
    pub model: Option<String>,
    /// Where it works, where that is known.
    pub workspace: Option<PathBuf>,
    /// Agents: the name of the agent and its own id of the session.
    pub at_agent: Option<(String, String)>,
}

/// What an engine lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedSessions {
    /// Sessions, newest first.
    pub sessions: Vec<EngineSession>,
    /// Whether these are all that it holds: only then one that is not among them is gone.
    pub whole: bool,
}
