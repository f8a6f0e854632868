//! Text and its changes: open buffers, diffs, patches.
//!
//! Owns positions, line ends and encodings. Never reads a file.

pub mod apply;
pub mod changes;
pub mod compare;
pub mod diff;
pub mod diff_uri;
pub mod lines;
pub mod overlay;
pub mod patch;
pub mod reference;
pub mod replace;
pub mod text;
