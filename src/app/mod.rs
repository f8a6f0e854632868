//! The loop: one owner of all mutable state. Closed events in, effects out.
//!
//! Owns order, time, sessions, trust, the queue, the ledger and the overlay of open buffers. Never opens a file, a
//! socket or a database itself, and never knows LSP: it speaks through `ports`, which the edges implement.

pub mod inbox;
pub mod ports;

pub use inbox::{DocumentEvent, EditorEvent, Event, Inbox, InboxFull, Reply, StartUp};
