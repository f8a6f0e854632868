//! Tabs: what a chat view shows of a session, as messages that are numbered to be told apart.
//!
//! Owns how messages come from changes of the view, how many are kept, and which tab shows which session. Never knows the
//! wire, a clock or the journal.

mod maps;
mod messages;
mod uuid;
mod window;

pub(crate) use maps::TabMap;
pub(crate) use messages::{News, SentBlocks};
pub(crate) use uuid::is_uuid_v4;
pub(crate) use window::{Step, Window};
