//! What the loop needs from the edges, in the loop's own words.
//!
//! Every port either returns at once or answers later with an event; none of them blocks on the network, on the editor
//! or on a slow disk, but for `Journal`, whose writes are the point at which an event becomes true.

mod agent;
mod decision;
mod engine;
mod files;
mod journal;
mod link;
mod report;
mod sessions;
mod spec;
mod stream;
mod traits;
mod want;

use serde_json::Value;

pub use super::diffs::{DiffFor, DiffJob, DiffRoot, DiffSide, Found, PatchText};
pub use super::edits::EditBase;
pub use agent::*;
pub use decision::*;
pub use engine::*;
pub use files::*;
pub use journal::*;
pub use link::*;
pub use report::*;
pub use sessions::*;
pub use spec::*;
pub use stream::*;
pub use traits::*;
pub use want::*;

/// The one writer of the editor's stdin. Frames leave in the order in which they were pushed.
pub trait Outbox: Send + Sync {
    /// Queues one JSON-RPC message (without header). `false`: the bound is reached and nothing was queued; the loop
    /// hears `OutboxDrained` when there is room again.
    fn push(&self, message: Vec<u8>) -> bool;
    /// Replaces this secret by `[redacted]` in everything that leaves from now on.
    fn hide(&self, secret: &Secret);
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

/// A request of ours to the editor, as JSON-RPC params.
#[derive(Debug, Clone, PartialEq)]
pub struct EditorAsk {
    /// LSP method.
    pub method: &'static str,
    /// Params.
    pub params: Value,
}
