//! What is fuzzed: one function a target, given any bytes, that panics where something promised does not hold.
//!
//! Owns the invariants. Included by path from both sides: `fuzz/targets` gives the functions to libFuzzer, `tests/fuzz` runs
//! them over the corpus and its mutations. Never decides which bytes come, and never depends on anything but them.

#![allow(dead_code, reason = "each target of libFuzzer uses one entry")]

pub mod acp;
pub mod breadboard;
pub mod desktop;
pub mod diff;
pub mod imports;
pub mod json;
pub mod lenient_json;
pub mod memory;
pub mod pieces;
pub mod redact;
pub mod session;
pub mod sse;

/// A target: its name, which is also that of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target of the pure rooms; those of the server are in `server`.
pub const TARGETS: &[Target] = &[
    ("acp", acp::run),
    ("breadboard", breadboard::run),
    ("desktop", desktop::run),
    ("diff", diff::run),
    ("imports", imports::run),
    ("lenient_json", lenient_json::run),
    ("redact", redact::run),
    ("sse", sse::run),
];
