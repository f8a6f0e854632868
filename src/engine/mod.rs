//! Engines: what runs a turn, behind one port.
//!
//! Owns sockets, processes and the embedded agent's tasks. Never knows the editor: reports go to the loop.

pub(crate) mod acp;
pub(crate) mod breadboard;
pub(crate) mod desktop;
pub(crate) mod embedded;
mod time;
