//! What is made of the definition of the command line: the script that completes it in a shell, and its manual pages.
//!
//! Owns nothing but the way to them: `clap_complete` and `clap_mangen` write them.

use std::io::Write;

use clap::{Command, CommandFactory};

use super::args::{Cli, CompletionsArgs, ManArgs};
use super::exit::Exit;
use super::printed::print;

const NAME: &str = "breadboard-ls";

/// Writes the script to stdout.
pub(super) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(), NAME, &mut script);
    // For bash, 4.6 takes the hyphen of our name for the place where a subcommand begins, in one of two places.
    let script = String::from_utf8_lossy(&script).replace("breadboard__subcmd__ls", "breadboard__ls");
    print(script.as_bytes(), Exit::Done)
}

/// Writes a manual page to stdout.
pub(super) fn manual_page(args: &ManArgs) -> Exit {
    let mut whole = shown().disable_help_subcommand(true);
    whole.build();
    let page = match &args.subcommand {
        None => Some(whole),
        Some(name) => whole.find_subcommand(name).cloned(),
    };
    let mut text = Vec::new();
    let Some(page) = page else {
        let _ = writeln!(std::io::stderr(), "There is no such subcommand; `{NAME} --help` lists them.");
        return Exit::Usage;
    };
    // Into memory nothing fails.
    let _ = clap_mangen::Man::new(page).render(&mut text);
    print(&text, Exit::Done)
}

/// The command line without what only programs say.
fn shown() -> Command {
    let whole = Cli::command();
    let text = |of: Option<&clap::builder::StyledStr>| of.map(ToString::to_string).unwrap_or_default();
    let (about, long_about) = (text(whole.get_about()), text(whole.get_long_about()));
    let args = whole.get_arguments().filter(|arg| !arg.is_hide_set()).cloned().collect::<Vec<_>>();
    let commands = whole.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect::<Vec<_>>();
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .long_about(long_about)
        .args(args)
        .subcommands(commands)
}
