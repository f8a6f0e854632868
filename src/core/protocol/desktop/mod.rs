//! What a desktop host and its clients say to each other over HTTP and WebSocket (seed 002), as this server says it.
//!
//! Owns every message, body, route and code of that surface; `schemas/desktop/` and the OpenAPI document come from here. What is
//! additive to the seed says so. Never serves anything: `front::desktop` does.

pub mod body;
pub mod client_message;
pub mod host_message;
pub mod openapi;
pub mod refusal;
pub mod route;

/// The version that both sides of the socket name.
pub const PROTOCOL_VERSION: &str = "1.0.0";
