//! The Agent Client Protocol, as far as it is pure: from the lines of an agent to the view, and from our words to its lines.
//!
//! `tests/fixtures/acp` are recordings of real agents (opencode 1.18.33, elizacp 12.0.0) with a scripted model: facts of those
//! versions. What they do not show is written here by hand, after what other agents were seen to do.

mod behaviour;
mod builders;
mod laws;
mod story;
