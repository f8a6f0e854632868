//! What editor and server say to each other: the `bb/*` contract, version 1.
//!
//! Owns every name, shape and error code of the wire; `schemas/`, PROTOCOL.md, the capability announcement and the
//! dispatcher all come from here. Never knows the LSP framework, a runtime or the state of anything.

pub mod agent;
mod breadboard_schema;
pub mod create_spec;
pub mod document;
pub mod envelope;
pub mod error;
pub mod method;
pub mod notification;
pub mod permission;
pub mod request;
pub mod schema;
pub mod settings;
pub mod tab;
pub mod version;

pub use error::{ErrorCode, WireError};
pub use method::Request;
