//! What is allowed: which paths belong to a workspace, what a child process may inherit.
//!
//! Owns the verdicts only. Never looks at a disk or an environment: names and texts are parameters.

pub mod environment;
pub mod path;
pub mod uri;
