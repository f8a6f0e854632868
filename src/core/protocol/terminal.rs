//! The request by which the server has an editor run a command.
//!
//! Owns its shapes. Never runs one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `bb/terminal/run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalRunParams {
    /// A line for the shell.
    pub command: String,
    /// Always empty: the arguments stand in `command`.
    pub args: Vec<String>,
    /// A folder relative to the workspace root; `.` is the root.
    pub cwd: String,
}

/// Result of `bb/terminal/run`. An error, when it could not be run, has a `message` that the agent is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TerminalRunResult {
    /// Its exit code; 128 and the signal's number when one ended it, as a shell says it.
    pub exit_code: i32,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// How long it ran.
    #[schemars(range(min = 0))]
    pub duration_ms: f64,
    /// Whether it was ended because its time was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}
