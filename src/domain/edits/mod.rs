//! Text and its changes: open buffers, diffs, patches.
//!
//! Owns positions, line ends and encodings. Never reads a file.

pub mod apply;
pub mod diff;
pub mod overlay;
pub mod patch;
pub mod replace;
pub mod text;
