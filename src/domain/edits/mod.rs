//! Text and its changes: open buffers, diffs, patches.
//!
//! Owns positions, line ends and encodings. Never reads a file.

pub(crate) mod apply;
pub(crate) mod changes;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod diff_uri;
pub(crate) mod git_header;
pub(crate) mod lines;
mod nearest;
pub(crate) mod overlay;
pub(crate) mod patch;
pub(crate) mod place;
pub(crate) mod reference;
pub(crate) mod replace;
pub(crate) mod take_back;
pub(crate) mod text;
pub(crate) mod told;
pub(crate) mod watched_file;
pub(crate) mod whole_diff;
