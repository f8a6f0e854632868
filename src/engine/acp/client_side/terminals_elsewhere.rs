//! `terminal/*` where a process tree cannot be held together: there are none.
//!
//! Owns the one sentence that says so. Never starts anything.

use std::path::{Path, PathBuf};

use super::words::{CreateTerminal, TerminalExit, TerminalOutput};
use crate::process::Directory;
use crate::protocol::{ErrorCode, WireError};

/// None, ever.
#[derive(Debug)]
pub struct Terminals;

fn refused() -> WireError {
    WireError::new(
        ErrorCode::Unsupported,
        "Agents get no terminals on this system; let the agent run commands itself.",
    )
}

impl Terminals {
    /// None.
    pub fn new(_: PathBuf) -> Self {
        Self
    }

    /// Refuses.
    pub fn place(_: Option<&Path>, _: &[PathBuf]) -> Result<Directory, WireError> {
        Err(refused())
    }

    /// Refuses.
    pub async fn create(&self, _: &str, _: Directory, _: CreateTerminal) -> Result<String, WireError> {
        Err(refused())
    }

    /// Refuses.
    pub fn output(&self, _: &str, _: &str) -> Result<TerminalOutput, WireError> {
        Err(refused())
    }

    /// Refuses.
    pub async fn wait_for_exit(&self, _: &str, _: &str) -> Result<TerminalExit, WireError> {
        Err(refused())
    }

    /// Refuses.
    pub async fn kill(&self, _: &str, _: &str) -> Result<(), WireError> {
        Err(refused())
    }

    /// Refuses.
    pub fn release(&self, _: &str, _: &str) -> Result<(), WireError> {
        Err(refused())
    }

    /// Nothing to end.
    pub fn end_session(&self, _: &str) {}
}
