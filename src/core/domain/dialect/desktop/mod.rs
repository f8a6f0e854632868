//! The desktop dialect (seed 002): everything that only the embedded engine and desktop hosts say.
//!
//! Owns its messages, which fields each must have, and what they say. Never decides what is shown or what follows.

mod ask;
mod class;
pub mod decode;
pub(super) mod fact;
pub mod hear;
pub mod http;
pub mod message;
pub mod place;
pub mod say;

pub(super) use class::classify;

/// The `id` of a proposed change that nothing else asks for: it is itself the question. The protocol has no ids of messages, so
/// whoever reads a host's socket says it there; the id is gone once the event has its class.
pub const ASKS_ITSELF: &str = "asks itself";
