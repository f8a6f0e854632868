//! breadboard-ls: the language server for coding agents.
//!
//! This file is the map. `domain` and `protocol` are pure, in a package of their own (`src/core`); whatever touches a clock, a
//! file, a socket or a thread is here. `tests/architecture.rs` checks who may import whom; ARCHITECTURE.md explains why.
//!
//! The rooms are private, so that the compiler says what nothing uses. `main.rs` has `run` and `serve`; what tests,
//! benchmarks and fuzz targets reach stands in `testing`, name by name.

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![warn(missing_docs, unreachable_pub, clippy::missing_docs_in_private_items)]

use breadboard_core::{domain, protocol};

mod app;
mod cli;
mod confined;
mod contract;
mod desktop_host;
mod editor;
mod engine;
mod front;
mod host;
mod http;
mod mcp;
mod platform;
mod process;
mod serve;
mod simulate;
mod store;
mod workspace;

pub mod testing;

pub use cli::run;

/// Serves whom the options name until the process ends. Returns only when it could not begin.
pub fn serve(options: cli::args::ServeOptions) -> std::process::ExitCode {
    match options.serving {
        cli::args::Serving::Stdio => serve::serve(options),
        cli::args::Serving::AgentClient => serve::serve_agent_client(options),
        cli::args::Serving::Desktop(desktop) => desktop_host::serve_desktop(desktop, options.overrides),
    }
}
