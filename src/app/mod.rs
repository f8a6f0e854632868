//! The loop: one owner of all mutable state. Closed events in, effects out.
//!
//! Owns order, time, sessions, clients, the queue and the ledger. Never opens a file, a
//! socket or a database itself, and never knows LSP: it speaks through `ports`, which the edges implement.

mod agent_info;
mod agents;
mod allowed_edit;
mod ask_root;
mod client;
mod command_run;
mod context;
mod context_update;
mod deliver;
mod diffs;
mod edit_made;
mod editor_asks;
mod edits;
mod engines;
mod file_changes;
mod held;
pub(crate) mod inbox;
mod journalling;
mod leases;
mod link;
mod live;
mod load;
mod on_client;
mod on_editor;
mod on_engine;
mod on_event;
mod on_request;
mod other_windows;
mod patch_note;
mod patches;
mod paused;
mod permission_request;
mod plain;
pub(crate) mod ports;
mod progress;
mod prompter;
mod record;
mod resume_verdict;
mod retention;
mod run;
mod saves;
mod session_copy;
mod sessions;
pub(crate) mod standing;
mod state;
mod stored_session;
mod subscription;
mod tabs;
mod tell;
mod turn;
mod turn_changes;
mod turn_memory;
mod wait_for_lease;
mod whole_words;
pub(crate) mod wire_out;

pub use client::ClientId;
pub(crate) use inbox::Reply;
pub use inbox::{EditorEvent, Event};
pub use run::run;
pub use state::{App, Ports};
