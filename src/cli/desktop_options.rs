//! What the wiring of the desktop host gets from the command line.
//!
//! Owns the shape. The words are `args`.

use std::net::SocketAddr;
use std::path::PathBuf;

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
}
