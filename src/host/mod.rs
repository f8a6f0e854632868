//! The embedded agent: turn loop, tools, models, retrieval.
//!
//! Owns what happens inside one turn. Never knows the editor or the loop: it speaks through `ports`.

pub mod models;
pub mod planner;
pub mod ports;
pub mod proposal;
pub mod request;
pub mod retrieval;
pub mod tools;
pub mod turn;
pub mod voice;
