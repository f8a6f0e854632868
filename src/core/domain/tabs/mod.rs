//! Tabs: what a chat view shows of a session, as messages that are numbered to be told apart.
//!
//! Owns how messages come from changes of the view, how many are kept, and which tab shows which session. Never knows the
//! wire, a clock or the journal.

mod maps;
mod messages;
mod uuid;
mod window;

/// Tabs of one workspace. Each may keep a mebibyte of messages; past it the tab that was opened first and has no view is
/// forgotten, as the history of its session is not.
pub const TABS: usize = 128;

pub use maps::TabMap;
pub use messages::{News, SentBlocks};
pub(crate) use uuid::is_uuid_v4;
pub use window::{BYTES, MESSAGES, Step, Window};
