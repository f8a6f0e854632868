//! breadboard-ls: the language server for coding agents.
//!
//! This file is the map and the wall. `domain` and `protocol` are pure and compile without the
//! feature `server`; everything that touches a clock, a file, a socket or a thread sits behind it.
//! `tests/architecture.rs` checks who may import whom; ARCHITECTURE.md explains why.
//!
//! The rooms are private, so that the compiler says what nothing uses. `main.rs` has `run` and `serve`; what tests,
//! benchmarks and fuzz targets reach stands in `testing`, name by name.

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![warn(missing_docs, unreachable_pub, clippy::missing_docs_in_private_items)]
#![cfg_attr(
    not(feature = "server"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "the pure rooms alone, whose users are behind the feature"
    )
)]

mod domain;
mod protocol;

#[cfg(feature = "server")]
mod app;
#[cfg(feature = "server")]
mod cli;
#[cfg(feature = "server")]
mod confined;
#[cfg(feature = "server")]
mod desktop_host;
#[cfg(feature = "server")]
mod editor;
#[cfg(feature = "server")]
mod engine;
#[cfg(feature = "server")]
mod front;
#[cfg(feature = "server")]
mod host;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "server")]
mod mcp;
#[cfg(feature = "server")]
mod process;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod simulate;
#[cfg(feature = "server")]
mod store;
#[cfg(feature = "server")]
mod workspace;

pub mod testing;

#[cfg(feature = "server")]
pub use cli::run;

/// Serves whom the options name until the process ends. Returns only when it could not begin.
#[cfg(feature = "server")]
pub fn serve(options: cli::args::ServeOptions) -> std::process::ExitCode {
    match options.serving {
        cli::args::Serving::Stdio => serve::serve(options),
        cli::args::Serving::AgentClient => serve::serve_agent_client(options),
        cli::args::Serving::Desktop(desktop) => desktop_host::serve_desktop(desktop, options.overrides),
    }
}
