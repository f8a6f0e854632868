//! Servers of the Model Context Protocol: started, asked what they offer, called, started again, ended. Over the official SDK.
//!
//! Owns every connection to one, the processes behind them, and what of an answer is kept. A process runs under our guardians
//! (`crate::process`) and ends with everything it started. Whether a server may run and whether a call may be made is decided
//! elsewhere: by the loop and by the agent, which asks the user. Decision 0037.

mod client;
mod connection;
mod content;
mod failure;
mod for_agents;
mod found;
mod http;
mod look;
mod look_order;
mod pool;
mod pool_entry;
mod pool_handle;
mod program;
mod prompt;
mod server;
mod stdio;
mod variables;

pub(crate) use for_agents::for_agents;
pub(crate) use pool::McpPool;
pub(crate) use pool_handle::PoolHandle;
