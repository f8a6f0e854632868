//! What leaves and when: batches of events for an editor, prompts for an engine; and whether what came is whole.
//!
//! Never reads a clock: every call is told the time. Tests: beside each file.

pub mod batch;
pub mod continuity;
pub mod queue;

pub use continuity::ResumedLink;
pub use continuity::{Continuity, Resumption, Step};
