//! What each system does in its own way with files and processes, behind one name each.
//!
//! Owns four things: where a path leads, spelled as people spell it; files and folders of this user alone; files that another program
//! holds; being told of the end of a process. Never decides which file or process is meant.

mod busy;
mod names;
pub(crate) mod private;
mod process_end;
mod real_path;

#[cfg(windows)]
mod access_list;

pub(crate) use busy::{is_held, until_free};
pub(crate) use names::{same_path, strip_base, typed_name};
pub(crate) use process_end::wait_for_end;
pub(crate) use real_path::real_path;
