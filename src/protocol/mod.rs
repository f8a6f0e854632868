//! What editor and server say to each other: the `bb/*` contract, version 1.
//!
//! Owns every name, shape and error code of the wire; `schemas/`, PROTOCOL.md, the capability announcement and the
//! dispatcher all come from here. Never knows the LSP framework, a runtime or the state of anything.

pub(crate) mod agent;
mod breadboard_schema;
pub(crate) mod context;
pub(crate) mod create_spec;
pub(crate) mod desktop;
pub(crate) mod document;
pub(crate) mod editor_request;
pub(crate) mod envelope;
pub(crate) mod error;
pub(crate) mod mcp;
pub(crate) mod method;
pub(crate) mod notification;
pub(crate) mod patch;
pub(crate) mod permission;
pub(crate) mod refusals;
pub(crate) mod request;
pub(crate) mod schema;
pub(crate) mod settings;
pub(crate) mod standing;
pub(crate) mod tab;
pub(crate) mod terminal;
pub(crate) mod turn;
pub(crate) mod version;

pub use method::Request;
