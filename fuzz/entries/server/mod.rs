//! What is fuzzed of the server, as `entries` is of the pure rooms, which are built without it.
//!
//! Owns the invariants. Never decides which bytes come, and never depends on anything but them.

#![allow(dead_code, reason = "each target of libFuzzer uses one entry")]

use crate::entries::Target;

pub mod agent_lines;
pub mod editor;
pub mod frames;
pub mod front;

/// Every target of the server.
pub const TARGETS: &[Target] = &[
    ("agent_lines", agent_lines::run),
    ("editor", editor::run),
    ("frames", frames::run),
    ("front", front::run),
];
