//! The Agent Client Protocol, version 1: everything that only agents say.
//!
//! Owns its messages in both directions, its updates and its results. Never decides what is shown or what follows.

pub mod agent_end;
mod ask;
pub mod before;
pub mod blocks;
mod call;
mod class;
pub mod client_method;
pub mod commands;
mod content;
pub mod decode;
pub mod encode;
pub(super) mod fact;
pub mod results;
pub mod state;
mod subject;
pub mod tool_servers;
mod tools;

pub(super) use ask::{completed, runs_at_client};
pub(super) use class::classify;
pub use subject::{ToldByCall, goes_on, tells_a_call, told_edits};
