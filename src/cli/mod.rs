//! The command line: the only room that prints.
//!
//! Owns arguments, exit codes and what a person sees in a terminal. `ask` and `doctor` speak to the server as any editor
//! does, over its stdio; they know no room behind it.

pub mod args;
mod ask;
mod client;
mod console;
//mod doctor;
mod exit;
mod handshake;
mod interrupt;
mod render;
//mod schema;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use self::args::{Cli, Command, ServeOptions, overrides};
pub use self::exit::Exit;

/// Reads the command line and does what it says. `serve` serves one editor on stdin and stdout; it comes in as a value,
/// so that this room needs none of the rooms that serving wires together.
pub fn run<I>(argv: I, serve: impl FnOnce(ServeOptions) -> ExitCode) -> ExitCode
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    let cli = match Cli::try_parse_from(argv) {
        Ok(cli) => cli,
        Err(refusal) => {
            // Help and version go to stdout with 0, everything else to stderr with 2; a closed stream changes neither.
            let _ = refusal.print();
            return if refusal.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    match cli.command {
        None => serve(ServeOptions { overrides: overrides(&cli.server, environment) }),
        Some(Command::Ask(args)) => ask::ask(&args).into(),
        Some(Command::Doctor(_)) => Exit::Failed.into(),
        Some(Command::Schema(_)) => Exit::Failed.into(),
    }
}

/// A variable of this process, if it is text.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
