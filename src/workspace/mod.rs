//! The workspace edge: files of the workspace, attachments, commands.
//!
//! Owns every look at the user's files, through directory handles that cannot be left. Never decides whether something
//! is allowed (that is the loop's, from trust and rules) and never follows a symbolic link out of a root. Tests sit beside
//! each file.

mod attachment;
mod capture;
mod change;
mod charset;
mod chosen;
mod context;
mod diff;
mod drawing;
mod files;
mod git;
mod git_layout;
mod git_state;
mod identity;
mod list;
mod live_output;
mod media;
mod paths;
mod read;
mod read_text;
mod real_place;
mod root;
mod run;
mod side;
mod snippet;
mod spec;
mod thumbnail;
mod undo;
mod waiting_job;
mod write;

pub use files::WorkspaceFiles;
pub(crate) use real_place::real_place;
