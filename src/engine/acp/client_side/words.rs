//! The shapes of `terminal/*`, as the Agent Client Protocol 1 spells them.
//!
//! Owns no behaviour.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Params of `terminal/create`, but for the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminal {
    /// The program; without arguments it may be a whole line for the shell.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables beside ours, and over them.
    #[serde(default)]
    pub env: Vec<EnvVariable>,
    /// Absolute; `None` for the session's own directory.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The most bytes of output that are kept; the last ones are.
    #[serde(default)]
    pub output_byte_limit: Option<u64>,
}

/// A variable of the environment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EnvVariable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Result of `terminal/output`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutput {
    /// What was printed so far, both streams as they came.
    pub output: String,
    /// Whether the beginning was left out.
    pub truncated: bool,
    /// How the command ended, once it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<TerminalExit>,
}

/// Result of `terminal/wait_for_exit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalExit {
    /// The exit code; `null` when a signal ended it.
    pub exit_code: Option<u32>,
    /// The signal's name.
    pub signal: Option<String>,
}

impl TerminalExit {
    /// Code and signal.
    pub(super) fn parts(&self) -> (Option<u32>, Option<&str>) {
        (self.exit_code, self.signal.as_deref())
    }
}

/// News of one terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// Session, ours.
    pub session_id: String,
    /// The terminal.
    pub terminal_id: String,
    /// It is new.
    pub began: bool,
    /// What it printed since the last news; whole lines until the end.
    pub text: String,
    /// Bytes before that which are left out.
    pub skipped: u64,
    /// How its command ended.
    pub exit: Option<TerminalExit>,
}
