//! breadboard-ls: the language server for coding agents.
//!
//! This file is the map and the wall. `domain` and `protocol` are pure and compile without the
//! feature `server`; everything that touches a clock, a file, a socket or a thread sits behind it.
//! `tests/architecture.rs` checks who may import whom; ARCHITECTURE.md explains why.

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![warn(missing_docs)]

pub mod domain;
pub mod protocol;

#[cfg(feature = "server")]
pub mod app;
#[cfg(feature = "server")]
pub mod cli;
#[cfg(feature = "server")]
pub mod confined;
#[cfg(feature = "server")]
pub mod editor;
#[cfg(feature = "server")]
pub mod engine;
#[cfg(feature = "server")]
pub mod host;
#[cfg(feature = "server")]
pub mod serve;
#[cfg(feature = "server")]
pub mod simulate;
#[cfg(feature = "server")]
pub mod store;
#[cfg(feature = "server")]
pub mod workspace;
