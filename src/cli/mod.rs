//! The command line: the only room that prints.
//!
//! Owns arguments, exit codes and what a person sees in a terminal. `ask` and `doctor` speak to the server as any editor
//! does, over its stdio; they know no room behind it.

pub mod args;
mod ask;
mod check;
mod client;
mod console;
mod doctor;
mod exit;
mod handshake;
mod interrupt;
mod proxy;
mod render;
mod schema;
mod state_check;
mod terminal;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;

use self::args::{Cli, Command, ServeOptions, overrides};
pub use self::doctor::Knowledge;
pub use self::exit::Exit;

/// What the command line needs of other rooms, as values, so that it compiles and is tested without them.
pub struct Rooms<S> {
    /// Serves one editor on stdin and stdout.
    pub serve: S,
    /// All schemas of the wire by file name; `meta.json` is their index.
    pub schemas: fn() -> BTreeMap<String, Value>,
    /// What the doctor asks.
    pub knowledge: Knowledge,
}

/// Reads the command line and does what it says.
pub fn run<I, S>(argv: I, rooms: Rooms<S>) -> ExitCode
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
    S: FnOnce(ServeOptions) -> ExitCode,
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
        None => (rooms.serve)(ServeOptions { overrides: overrides(&cli.server, environment) }),
        Some(Command::Ask(args)) => ask::ask(&args).into(),
        Some(Command::Doctor(args)) => doctor::doctor(&args, rooms.knowledge).into(),
        Some(Command::Schema(args)) => schema::schema(&args, (rooms.schemas)()).into(),
    }
}

/// A variable of this process, if it is text.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
