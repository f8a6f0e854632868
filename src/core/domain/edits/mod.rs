//! Text and its changes: open buffers, diffs, patches.
//!
//! Owns positions, line ends and encodings. Never reads a file.

pub mod apply;
pub mod changes;
pub mod compare;
pub mod diff;
pub mod diff_uri;
pub(crate) mod git_header;
pub mod lines;
mod nearest;
pub mod overlay;
pub mod patch;
pub mod place;
pub mod reference;
pub mod replace;
pub mod take_back;
pub mod text;
pub mod told;
pub mod watched_file;
pub mod whole_diff;
