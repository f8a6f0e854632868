//! What happens in a terminal that we run for an agent.
//!
//! Never knows which tool call shows it: the agent says that.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// News of a terminal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TerminalNews<'a> {
    /// The terminal, as a key.
    pub id: String,
    /// It is a new one, whatever had this id before.
    pub began: bool,
    /// What it printed since the last news.
    pub printed: Cow<'a, str>,
    /// Bytes that it printed before that, and that are left out.
    pub skipped: u64,
    /// How its command ended.
    pub end: Option<TerminalEnd>,
}

/// How a command in a terminal ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalEnd {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i64>,
    /// Name of the signal.
    pub signal: Option<String>,
}
