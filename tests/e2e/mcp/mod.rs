//! Servers of tools (Model Context Protocol) on the embedded agent: offered to a model, asked about, called, ended in mid-call; and who
//! starts which. The servers are `server.py`.

mod agents;
mod command_line;
mod found;
mod http;
mod place;
mod prompts;
mod tools;
