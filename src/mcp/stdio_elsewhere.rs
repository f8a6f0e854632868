//! Where no program can be ended with all that it started, no server is started either.
//!
//! Owns the refusal.

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{Empty, Sink};

use super::program::Program;

/// There is never one.
pub(super) enum NoProcess {}

pub(super) use NoProcess as StdioProcess;

impl NoProcess {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub(super) async fn start(
        program: Program<'_>,
    ) -> Result<(Self, AsyncRwTransport<RoleClient, Empty, Sink>), String> {
        let Program { name, command: _, args: _, env: _, folder: _, guard: _ } = program;
        Err(format!(
            "The tool server `{name}` is a program, and none is started on this system; use one that has an address."
        ))
    }

    /// Never happens.
    pub(super) async fn ended(&mut self) -> String {
        match *self {}
    }

    /// Never happens.
    pub(super) async fn end(&mut self) {
        match *self {}
    }
}
