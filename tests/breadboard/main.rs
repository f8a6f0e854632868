//! The BreadBoard engine's adapter against the simulated engine: what it asks of it, and what it makes of the answers.

mod calls;
mod connection;
mod desk;
mod files;
#[path = "../e2e/harness/own_time.rs"]
mod own_time;
mod prompts;
