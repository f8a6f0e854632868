//! The editor edge: the only room that knows the LSP framework, the frames of stdin and the one writer of stdout.
//!
//! Owns framing, JSON-RPC, capabilities and the end of the process. Never decides anything about sessions: it hands typed
//! events to `app::Inbox` in the order in which they came, and carries the answers back. The wire itself is tested by
//! `tests/e2e/lsp_edge.rs`.

mod backend;
mod capabilities;
mod client_watch;
mod command_sender;
mod documents;
#[cfg(debug_assertions)]
mod fault;
mod frame;
mod guard;
mod lifecycle;
mod log_layer;
mod options;
mod outbox;
mod plain;
mod server;
mod skim;

pub(crate) use client_watch::watch_stdout;
pub use frame::{Message, RequestId};
pub use guard::{Guard, Inbound};
pub(crate) use lifecycle::{EndCause, Lifecycle};
pub(crate) use log_layer::{LogGate, LogLayer};
pub use options::read_start_up;
pub use outbox::{FrameOutbox, open_stdout};
pub(crate) use server::{Edge, serve};
pub use skim::{Skimmed, Skimmer};
