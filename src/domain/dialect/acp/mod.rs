//! The Agent Client Protocol, version 1: everything that only agents say.
//!
//! Owns its messages in both directions, its updates and its results. Never decides what is shown or what follows.

mod ask;
pub(crate) mod blocks;
mod call;
mod class;
mod content;
pub(crate) mod decode;
pub(crate) mod encode;
pub(super) mod fact;
pub(crate) mod results;
pub(crate) mod state;
mod subject;
mod tools;

pub(super) use ask::completed;
pub(super) use class::classify;
