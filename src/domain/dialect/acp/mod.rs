//! The Agent Client Protocol, version 1: everything that only agents say.
//!
//! Owns its messages in both directions, its updates and its results. Never decides what is shown or what follows.

pub(crate) mod agent_end;
mod ask;
pub(crate) mod before;
pub(crate) mod blocks;
mod call;
mod class;
pub(crate) mod client_method;
pub(crate) mod commands;
mod content;
pub(crate) mod decode;
pub(crate) mod encode;
pub(super) mod fact;
pub(crate) mod results;
pub(crate) mod state;
mod subject;
pub(crate) mod tool_servers;
mod tools;

pub(super) use ask::{completed, runs_at_client};
pub(super) use class::classify;
pub(crate) use subject::{ToldByCall, goes_on, tells_a_call, told_edits};
