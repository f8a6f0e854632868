//! Servers of the Model Context Protocol as values: how one is reached, what it offers, and what that is called here.
//!
//! Owns names, bounds and digests. Pure: nothing in here starts a server or asks one, which is what the room `mcp` is for.

mod definition;
mod names;
mod offer;
mod prompt_line;

pub use definition::{McpDefinition, McpTransport};
pub(crate) use names::is_server_name;
pub use names::tool_name;
pub use offer::{McpArgument, McpOffer, McpPrompt, McpResource, McpTool};
pub use prompt_line::{PromptCall, prompt_call, prompt_named};
