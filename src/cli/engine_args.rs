//! The options of `engine`, the desktop host.
//!
//! Owns their words and what is refused before anything starts. The token is no option: other users of a machine can read options.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::args::ServerArgs;

/// Options of `engine`.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineArgs {
    /// Where to listen. An address that other machines can reach needs --tls-cert and --tls-key.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3199")]
    pub listen: SocketAddr,
    /// A folder to serve; several times for several. No client can add one.
    #[arg(long, value_name = "DIR", required = true)]
    pub workspace: Vec<PathBuf>,
    /// The file with the token, which is made where there is none, readable by you alone [default: host/token in the state
    /// directory].
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The certificate chain, as a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key, as a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// A name by which clients reach this machine, beside its addresses and localhost; several times for several.
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

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

impl EngineArgs {
    /// For the wiring.
    pub(crate) fn options(&self) -> DesktopOptions {
        DesktopOptions {
            listen: self.listen,
            workspaces: self.workspace.clone(),
            token_file: self.token_file.clone(),
            tls: self.tls_cert.clone().zip(self.tls_key.clone()),
            names: self.allow_host.clone(),
        }
    }
}
