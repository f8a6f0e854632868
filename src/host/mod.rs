//! The embedded agent: turn loop, tools, models, retrieval.
//!
//! Owns what happens inside one turn. Never knows the editor or the loop: it speaks through `ports`.

#[cfg(test)]
pub(crate) mod fake_model;
#[cfg(test)]
pub(crate) mod fake_port;
pub mod models;
pub mod planner;
pub mod ports;
pub mod proposal;
pub mod request;
pub mod retrieval;
pub mod tools;
pub mod turn;
pub mod turn_output;

#[cfg(test)]
mod planner_tests;
#[cfg(test)]
mod turn_tests;
