//! Bytes of any engine: server-sent events, strict and lenient JSON.
//!
//! Owns framing and parsing. Never knows a word of an engine: those are in `dialect`.

pub mod lenient_json;
pub mod sse;
pub(crate) mod strict_json;
