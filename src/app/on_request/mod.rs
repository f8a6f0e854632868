//! What happens on a `bb/*` request, one file a resource.
//!
//! Owns the checks in the order that wire.md names. Never waits: what takes time goes to a port, which answers the reply.

mod approvals;
mod branches;
mod commands;
mod create_spec;
mod decisions;
mod diffs;
mod downloads;
mod files;
mod history;
mod mcp;
mod models;
mod patches;
mod permissions;
mod prompt_rules;
mod prompts;
mod queue;
mod session_search;
mod sessions;
mod shown_patch;
mod stops;
mod titles;
mod turns;

pub(in crate::app) use approvals::Settling;
pub(in crate::app) use mcp::secrets_of_servers;
pub(in crate::app) use prompts::turn_end;
pub(in crate::app) use queue::shown as shown_queue;
pub(in crate::app) use sessions::{held_elsewhere, journal_failed};
pub(in crate::app) use shown_patch::patch_outcomes;
