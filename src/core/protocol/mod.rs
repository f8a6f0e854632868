//! What editor and server say to each other: the `bb/*` contract, version 1.
//!
//! Owns every name, shape and error code of the wire; `schemas/`, PROTOCOL.md, the capability announcement and the
//! dispatcher all come from here. Never knows the LSP framework, a runtime or the state of anything.

pub mod agent;
mod breadboard_schema;
pub mod context;
mod contract;
mod contract_row;
pub mod create_spec;
pub mod desktop;
pub mod document;
pub mod editor_request;
pub mod envelope;
pub mod error;
pub mod mcp;
pub mod method;
pub mod model_setting;
pub mod notification;
pub mod patch;
pub mod permission;
pub mod refusals;
pub mod request;
pub mod schema;
pub mod server_message;
pub mod settings;
pub mod standing;
pub mod tab;
pub mod terminal;
pub mod turn;
pub mod version;

pub use method::Request;
