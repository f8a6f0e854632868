//! Engines that are not there: the wire of an engine, on loopback or on stdio, so that a client can be built and tested
//! without the engine itself.
//!
//! Owns imitations only. Nothing of the server runs on it; `cli` starts it, tests and benches hold it in process.

pub(crate) mod acp;
pub(crate) mod breadboard;
pub(crate) mod desktop;
mod script_json;
