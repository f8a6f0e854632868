//! What the loop remembers of a session between turns and across restarts.
//!
//! Owns the record's shape on disk. Never holds what can be derived from the journal: the head, the view, the events.

use serde::{Deserialize, Serialize};

use super::ports::{Attachment, SessionRow};
use crate::domain::approval::{Permission, PermissionRule, PermissionStatus};
use crate::domain::delivery::queue::PromptQueue;

/// One session as the journal keeps it. Fields may be added with a default; none may change its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Id of the session.
    pub session_id: String,
    /// First line of the first prompt.
    pub title: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: i64,
    /// Milliseconds since the Unix epoch.
    pub updated_at: i64,
    /// Number of the last turn begun.
    pub turn: u64,
    /// The turn that runs; found on start, it was interrupted.
    pub open_turn: Option<u64>,
    /// Prompts that wait.
    pub queue: PromptQueue,
    /// Rules the user saved for this session.
    pub rules: Vec<PermissionRule>,
    /// Model asked for by `bb/createSession`.
    pub model: Option<String>,
    /// Attachments stored for later prompts.
    pub attachments: Vec<Attachment>,
}

impl Record {
    /// A session that has not begun.
    pub fn new(session_id: String, now: i64, model: Option<String>) -> Self {
        Self {
            session_id,
            title: None,
            created_at: now,
            updated_at: now,
            turn: 0,
            open_turn: None,
            queue: PromptQueue::default(),
            rules: Vec::new(),
            model,
            attachments: Vec::new(),
        }
    }

    /// The row that the journal stores.
    pub fn row(&self, workspace: &str) -> SessionRow {
        SessionRow {
            session_id: self.session_id.clone(),
            workspace: workspace.to_owned(),
            updated_at: self.updated_at,
            // A record holds strings, numbers and lists only, which always serialise.
            record: serde_json::to_vec(self).unwrap_or_default(),
        }
    }
}

/// One ask of the ledger: what was shown, and how it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// What clients were shown.
    pub permission: Permission,
    /// The engine's own id; engines repeat theirs.
    pub engine_request_id: String,
    /// How it stands.
    pub status: PermissionStatus,
    /// Who settled it.
    pub resolved_by: Option<Settler>,
}

/// Who, or what, settled an ask (`resolvedBy` on the wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settler {
    /// `bb/approvePermission`.
    User,
    /// A rule the user saved.
    Rule,
    /// `bb/stop`.
    Stop,
    /// The turn ended first.
    TurnEnd,
    /// The process that asked is gone.
    Restart,
    /// `bb/deleteSession`.
    Delete,
}

impl Settler {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Rule => "rule",
            Self::Stop => "stop",
            Self::TurnEnd => "turn_end",
            Self::Restart => "restart",
            Self::Delete => "delete",
        }
    }
}
