//! Looking for the context of a prompt: what the workspace edge is asked, and what comes back.
//!
//! Owns the job. It waits for the editor's answer and for git, each for a bounded time, so that the loop never does.

use std::sync::Arc;

use super::{ContextUpdate, McpFetched, TurnBegun};
use crate::app::inbox::{Answer, Reply};
use crate::domain::context::choice::WantedContext;
use crate::domain::context::item::PromptContext;
use crate::domain::context::shape::UserContext;
use crate::domain::edits::overlay::PositionEncoding;
use crate::domain::policy::file_lists::FileLists;
use crate::protocol::context::ContextPreviewResult;

/// What is to be looked for.
#[derive(Debug)]
pub struct ContextJob {
    /// What is wanted.
    pub wanted: WantedContext,
    /// How the editor counts characters.
    pub encoding: PositionEncoding,
    /// Whether the user trusts the workspace; without, git is not started.
    pub trusted: bool,
    /// Which files may be read.
    pub lists: Arc<FileLists>,
    /// What the editor answers; `None` where it was not asked.
    pub editor: Option<Answer<UserContext>>,
    /// What tool servers answer; `None` where none was asked.
    pub(crate) served: Option<Answer<Vec<McpFetched>>>,
    /// What it is for.
    pub purpose: ContextFor,
}

/// What a context is looked for.
#[derive(Debug)]
pub enum ContextFor {
    /// A turn that waits for it.
    Turn {
        /// Id of the session.
        session_id: String,
        /// What begins once it is there.
        begun: Box<TurnBegun>,
        /// Comes when the files were looked at, where its engine writes by itself.
        looked_at: Option<Answer<()>>,
    },
    /// The user, who wants to see what would go.
    Preview {
        /// Where the answer goes.
        reply: Reply<ContextPreviewResult>,
    },
    /// A turn that runs, and asks what changed.
    Update {
        /// Id of the session.
        session_id: String,
        /// Its turn.
        turn: u64,
        /// Where the answer goes: what changed.
        reply: Reply<ContextUpdate>,
    },
}

/// What was found.
#[derive(Debug)]
pub struct ContextDone {
    /// What it is for.
    pub purpose: ContextFor,
    /// What was wanted.
    pub wanted: WantedContext,
    /// The context; the budget has not been looked at.
    pub found: PromptContext,
}
