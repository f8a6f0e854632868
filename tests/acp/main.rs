//! The agents' adapter against scripted agents: what it says to them, what it makes of what they say, and what it does when
//! they misbehave.
#![cfg(unix)]

mod asks;
mod attachments;
mod client_side;
mod commands;
mod desk;
mod exits;
mod keys;
mod lines;
#[path = "../e2e/harness/own_time.rs"]
mod own_time;
mod sessions;
mod silence;
mod start_mode;
mod turns;
