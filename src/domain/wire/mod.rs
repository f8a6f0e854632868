//! The engines' own words.
//!
//! Owns the message types of each dialect as Rust types. Never gives them a meaning: that is `normalize`.

pub mod desktop;
