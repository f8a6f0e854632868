//! The words of `pair`.
//!
//! Owns them alone.

use std::path::PathBuf;

use clap::Args;

/// Options of `pair`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PairArgs {
    /// Base URL of the host.
    #[arg(default_value = "http://127.0.0.1:3199")]
    pub url: String,
    /// A file for the token, readable by you alone [default: the token is printed].
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A PEM file with further authorities for an https address.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}
