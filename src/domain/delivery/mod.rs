//! What leaves and when: batches of events for an editor, prompts for an engine.
//!
//! Never reads a clock: every call is told the time. Tests: beside each file.

pub mod batch;
pub mod queue;

pub use batch::{Batch, Batcher, Verdict};
pub use queue::{PromptQueue, QueueRefusal, QueuedPrompt};
