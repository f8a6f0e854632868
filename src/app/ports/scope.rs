//! What a turn of an engine in this process sees of the clients' windows.
//!
//! Owns nothing: the loop makes it anew whenever a buffer, a trust or a turn changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::edits::overlay::Overlay;
use crate::domain::policy::file_lists::FileLists;

/// What one turn sees.
#[derive(Debug, Clone, Default)]
pub struct TurnScope {
    /// Open buffers; those of the client that prompted win over those of others.
    pub overlay: Arc<Overlay>,
    /// Whether the client that prompted trusts the workspace.
    pub trusted: bool,
    /// Which files may be touched.
    pub files: Arc<FileLists>,
}

/// What each turn sees.
#[derive(Debug, Clone, Default)]
pub struct TurnScopes {
    /// Where nobody is known to have prompted.
    pub shared: TurnScope,
    /// By session, of turns that are open.
    pub turns: BTreeMap<String, TurnScope>,
}

impl TurnScopes {
    /// What the turn of this session sees.
    pub fn of(&self, session_id: &str) -> &TurnScope {
        self.turns.get(session_id).unwrap_or(&self.shared)
    }
}
