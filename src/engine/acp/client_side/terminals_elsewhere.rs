//! `terminal/*` where a process tree cannot be held together: there are none.
//!
//! Owns the one sentence that says so. Never starts anything.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc::Sender;

use super::words::{CreateTerminal, Printed, TerminalExit, TerminalOutput};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::process::Directory;
use crate::protocol::standing::CommandBounds;

/// None, ever.
#[derive(Debug)]
pub struct Terminals;

fn refused() -> CodedError {
    CodedError::new(
        ErrorCode::Unsupported,
        "Agents get no terminals on this system; let the agent run commands itself.",
    )
}

impl Terminals {
    /// None.
    pub fn new(_: PathBuf, _: CommandBounds, _: Sender<Printed>) -> Self {
        Self
    }

    /// Refuses.
    pub fn place(_: Option<&Path>, _: &[PathBuf]) -> Result<Directory, CodedError> {
        Err(refused())
    }

    /// Refuses.
    pub async fn create(&self, _: &str, _: Directory, _: CreateTerminal) -> Result<String, CodedError> {
        Err(refused())
    }

    /// Refuses.
    pub fn output(&self, _: &str, _: &str) -> Result<TerminalOutput, CodedError> {
        Err(refused())
    }

    /// Refuses.
    pub async fn wait_for_exit(&self, _: &str, _: &str) -> Result<TerminalExit, CodedError> {
        Err(refused())
    }

    /// Refuses.
    pub async fn kill(&self, _: &str, _: &str) -> Result<(), CodedError> {
        Err(refused())
    }

    /// Refuses.
    pub fn release(&self, _: &str, _: &str) -> Result<(), CodedError> {
        Err(refused())
    }

    /// Nothing to end.
    pub fn end_session(&self, _: &str) {}
}
