//! The engines' own words.
//!
//! Owns the message types of each dialect as Rust types, and how bytes become them. Never gives them a meaning: that is
//! `normalize`.

pub mod acp;
pub mod acp_blocks;
pub mod acp_out;
pub mod acp_results;
pub mod breadboard;
pub mod breadboard_facts;
pub mod breadboard_http;
pub mod breadboard_shapes;
pub mod breadboard_words;
pub mod desktop;
pub mod lenient_json;
pub mod sse;
pub mod strict_json;
