//! What a session is: dialects, facts, view reducers, batching, approvals, edits, policy.
//!
//! Owns the meaning of a session. Never reads a clock, a file, the environment or a socket, never
//! awaits, never locks: time, ids and randomness are parameters. Tests sit beside each file and in
//! `tests/fixtures`.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::wildcard_enum_match_arm)]

pub mod agent_mode;
pub mod approval;
pub mod background;
pub mod branch;
pub mod chat_document;
pub mod coded_error;
pub mod comment_prompt;
pub mod configuration;
pub mod context;
pub mod conversation_writer;
mod cut;
pub mod delivery;
pub mod dialect;
pub mod edits;
pub mod event;
pub mod fact;
mod fingerprint;
mod json_size;
pub mod mcp;
pub mod payload;
pub mod policy;
pub mod remedy;
pub mod sentence;
pub mod session_search;
pub mod shown;
pub mod spec;
pub mod steps;
pub mod tabs;
pub mod undo;
pub mod view;
pub mod wire;
