//! Files of a workspace, opened beneath a directory handle and read within bounds.
//!
//! Owns what may be opened at all (regular files of a real file system) and what ignore files say. Never opens a name in any
//! other way than beneath a handle, but for the excludes of the user and the ignore files of the repository around a folder.
//! Never decides what is done with a file.

mod ignore_file;
mod ignore_rules;
mod open;
mod user_excludes;

#[cfg(all(test, unix))]
mod git_agreement_tests;

pub(crate) use ignore_rules::IgnoreRules;
pub(crate) use open::{Links, NotOpened, NotRead, is_pseudo, open_regular, read_bounded};
