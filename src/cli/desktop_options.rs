//! What the wiring gets from the command line: whom to serve, and how.
//!
//! Owns the shapes. The words are `args`.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::protocol::settings::Overrides;

/// What the wiring of the desktop host gets from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesktopOptions {
    /// The address.
    pub listen: SocketAddr,
    /// The folders.
    pub workspaces: Vec<PathBuf>,
    /// The file of the token; the default without.
    pub token_file: Option<PathBuf>,
    /// Certificate chain and key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Further names that the host answers to.
    pub names: Vec<String>,
    /// Whether a pairing code is shown where nobody sits at a terminal, too.
    pub pair: bool,
}

/// What the serving room gets from the command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServeOptions {
    /// The strongest layer of the settings.
    pub overrides: Overrides,
    /// Whom it serves.
    pub serving: Serving,
}

/// Whom a server serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Serving {
    /// One editor on stdin and stdout.
    #[default]
    Stdio,
    /// A client of the Agent Client Protocol on stdin and stdout.
    AgentClient,
    /// Clients over HTTP and WebSocket.
    Desktop(DesktopOptions),
}
