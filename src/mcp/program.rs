//! A server that is a program: what to start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What to start.
pub(super) struct Program<'a> {
    /// Name of the server.
    pub(super) name: &'a str,
    /// The program.
    pub(super) command: &'a str,
    /// Its arguments.
    pub(super) args: &'a [String],
    /// Variables for it, beside ours without tokens.
    pub(super) env: &'a BTreeMap<String, String>,
    /// Where it works.
    pub(super) folder: &'a Path,
    /// The executable of `breadboard-ls`.
    pub(super) guard: PathBuf,
}
