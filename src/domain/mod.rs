//! What a session is: dialects, facts, view reducers, batching, approvals, edits, policy.
//!
//! Owns the meaning of a session. Never reads a clock, a file, the environment or a socket, never
//! awaits, never locks: time, ids and randomness are parameters. Tests sit beside each file and in
//! `tests/fixtures`.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::wildcard_enum_match_arm)]

pub(crate) mod agent_mode;
pub(crate) mod approval;
pub(crate) mod background;
pub(crate) mod branch;
pub(crate) mod chat_document;
pub(crate) mod coded_error;
pub(crate) mod comment_prompt;
pub(crate) mod configuration;
pub(crate) mod context;
mod cut;
pub(crate) mod delivery;
pub(crate) mod dialect;
pub(crate) mod edits;
pub(crate) mod event;
pub(crate) mod fact;
mod fingerprint;
mod json_size;
pub(crate) mod mcp;
pub(crate) mod payload;
pub(crate) mod policy;
pub(crate) mod remedy;
pub(crate) mod sentence;
pub(crate) mod session_search;
pub(crate) mod shown;
pub(crate) mod spec;
pub(crate) mod steps;
pub(crate) mod tabs;
pub(crate) mod undo;
pub(crate) mod view;
pub(crate) mod wire;
