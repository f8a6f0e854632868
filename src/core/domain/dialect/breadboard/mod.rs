//! The BreadBoard dialect (seed 003): everything that only its engine says.
//!
//! Owns its envelope, its types in all their spellings, their fields and their HTTP bodies. Never decides what is shown or
//! what follows: that is read from facts.

mod ask;
mod class;
pub mod decode;
mod display;
pub(super) mod fact;
pub mod http;
pub mod permissions;
mod results;
mod run;
pub mod schema;
mod subject;
mod text;
mod tools;
pub mod words;

pub(super) use ask::completed;
pub(super) use class::classify;
pub use class::row;
pub use text::told_prompt;
