//! Where a process tree cannot be held together: no agent is started.
//!
//! Owns the one sentence that says so. Never starts anything.

use super::{AgentCommand, ExitNote, SpawnError};
use crate::domain::coded_error::{CodedError, ErrorCode};

/// What an agent reads.
pub type AgentStdin = tokio::process::ChildStdin;
/// What an agent writes.
pub type AgentStdout = tokio::process::ChildStdout;

/// There is never one.
#[derive(Debug)]
pub enum AgentProcess {}

impl AgentProcess {
    /// Refuses.
    pub async fn spawn(_: &AgentCommand) -> Result<(Self, AgentStdin, AgentStdout), SpawnError> {
        Err(CodedError::new(
            ErrorCode::Unsupported,
            "Agents cannot be started on this system, because what they leave running could not be ended; use another engine.",
        ))
    }

    /// The agent's process id.
    pub fn pid(&self) -> i32 {
        match *self {}
    }

    /// Waits for the agent to end.
    pub async fn exited(&mut self) -> ExitNote {
        match *self {}
    }

    /// Ends the agent.
    pub async fn end(&mut self) {
        match *self {}
    }
}
