//! The BreadBoard dialect (seed 003): everything that only its engine says.
//!
//! Owns its envelope, its types in all their spellings, their fields and their HTTP bodies. Never decides what is shown or
//! what follows: that is read from facts.

mod ask;
mod class;
pub(crate) mod decode;
mod display;
pub(super) mod fact;
pub(crate) mod http;
pub(crate) mod permissions;
mod results;
mod run;
pub(crate) mod schema;
mod subject;
mod text;
mod tools;
pub(crate) mod words;

pub(super) use ask::completed;
pub(super) use class::classify;
pub(crate) use class::row;
pub(crate) use text::told_prompt;
