//! `breadboard-ls completions`: the script that completes our command line in a shell.
//!
//! Owns nothing but the way to it: `clap_complete` makes it of the definition of the command line.

use std::io::Write;

use clap::{Command, CommandFactory};

use super::args::{Cli, CompletionsArgs};
use super::exit::Exit;

/// Writes it to stdout.
pub(super) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(), "breadboard-ls", &mut script);
    // For bash, 4.6 takes the hyphen of our name for the place where a subcommand begins, in one of two places.
    let script = String::from_utf8_lossy(&script).replace("breadboard__subcmd__ls", "breadboard__ls");
    // A reader that has gone away has what it wanted.
    let _ = std::io::stdout().lock().write_all(script.as_bytes());
    Exit::Done
}

/// The command line without what only programs say.
fn shown() -> Command {
    let whole = Cli::command();
    let args = whole.get_arguments().filter(|arg| !arg.is_hide_set()).cloned().collect::<Vec<_>>();
    let commands = whole.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect::<Vec<_>>();
    Command::new("breadboard-ls").version(env!("CARGO_PKG_VERSION")).args(args).subcommands(commands)
}
