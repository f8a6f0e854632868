//! Text and its changes: open buffers, diffs, patches.
//!
//! Owns positions, line ends and encodings. Never reads a file.

pub mod overlay;
pub mod text;
