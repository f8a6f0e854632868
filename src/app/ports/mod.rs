//! What the loop needs from the edges, in the loop's own words.
//!
//! Every port either returns at once or answers later with an event; none of them blocks on the network, on the editor
//! or on a slow disk, but for `Journal`, whose writes are the point at which an event becomes true.

mod agent;
mod client_request;
mod context;
mod decision;
mod engine;
mod files;
mod journal;
mod link;
mod mcp;
mod models;
mod patch;
mod report;
mod scope;
mod sessions;
mod spec;
mod stream;
mod traits;
mod turn;

use std::borrow::Cow;

use serde_json::Value;

use super::client::ClientId;
use crate::domain::policy::redact::Redactor;

pub(crate) use super::allowed_edit::AllowedEdit;
pub use super::diffs::{DiffFor, DiffJob, DiffRoot, DiffSide, Found, PatchText};
pub(crate) use super::edits::EditBase;
pub(crate) use super::patches::PatchWrite;
pub(crate) use super::plain::{PathsWanted, SYMBOLS, SymbolsWanted};
pub use agent::*;
pub use client_request::*;
pub(crate) use context::*;
pub use decision::*;
pub use engine::*;
pub use files::*;
pub use journal::*;
pub use link::*;
pub(crate) use mcp::*;
pub use models::*;
pub(crate) use patch::*;
pub use report::*;
pub use scope::*;
pub use sessions::*;
pub use spec::*;
pub use stream::*;
pub use traits::*;
pub use turn::*;

/// The one writer of a client's connection. Frames leave in the order in which they were pushed.
pub trait Outbox: Send + Sync {
    /// Queues one JSON-RPC message (without header). `false`: the bound is reached and nothing was queued; the loop
    /// hears `OutboxDrained` when there is room again. A message that several clients are sent is borrowed: it is made once,
    /// and each outbox copies it into what it writes.
    fn push(&self, message: Cow<'_, [u8]>) -> bool;
    /// Replaces this secret by `[redacted]` in everything that leaves from now on.
    fn hide(&self, secret: &Secret);
    /// The same for everything that is known to be secret when the client connects.
    fn hide_all(&self, known: &Redactor);
}

impl std::fmt::Debug for dyn Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outbox")
    }
}

/// Where the progress of a client's request is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressToken {
    /// Whose request it is.
    pub client: ClientId,
    /// Its `workDoneToken`; two clients may use the same one.
    pub token: Value,
}

/// A token in memory: never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Wall-clock milliseconds and fresh ids, so that tests can decide both.
pub trait Ambient: Send {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;
    /// A fresh UUID v4.
    fn fresh_id(&self) -> String;
}
