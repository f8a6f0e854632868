//! The desktop dialect (seed 002): everything that only the embedded engine and desktop hosts say.
//!
//! Owns its messages, which fields each must have, and what they say. Never decides what is shown or what follows.

mod ask;
mod class;
pub(super) mod fact;
pub(crate) mod message;

pub(super) use class::classify;
