//! Engines: what runs a turn, behind one port.
//!
//! Owns sockets, processes and the embedded agent's tasks. Never knows the editor: reports go to the loop.

pub mod acp;
pub mod breadboard;
pub mod embedded;
mod time;
