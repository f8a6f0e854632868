//! The command line: the only room that prints.
//!
//! Owns arguments, exit codes and what a person sees in a terminal. `ask` and `doctor` speak to the server as any editor
//! does, over its stdio; they know no room behind it.

mod agents;
pub(crate) mod args;
mod ask;
mod check;
mod client;
mod command_line;
mod completions;
mod console;
pub(crate) mod desktop_options;
mod doctor;
mod engine_advice;
mod exit;
mod framing;
mod guard;
mod handshake;
mod interrupt;
mod knowledge;
mod logs;
mod mcp_args;
mod mcp_check;
mod model_check;
mod origin_check;
mod own_words;
mod pair;
mod pair_args;
mod policy;
mod printed;
mod private_file;
mod proxy;
mod render;
mod schema;
mod session_trial;
mod sessions;
mod setup;
mod shown_warning;
mod simulate;
mod simulate_args;
mod simulate_help;
mod standing_args;
mod state_check;
mod terminal;
mod transcript;
mod user_settings;
pub(crate) mod variables;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use self::args::{Cli, Command, ServeOptions, ServerArgs, Serving};
pub(crate) use self::exit::Exit;
use self::knowledge::{Knowledge, KnownAgent, KnownAgents};
use self::user_settings::with_user_choice;
use crate::engine::acp::agents::{AgentLine, Agents};
use crate::engine::acp::installed::program_on;
use crate::engine::acp::presets::preset_of;
use crate::host::models::{ModelChoice, Target};
use crate::protocol::settings::{EngineKind, ModelSetting, Overrides, Settings};
use crate::store::resolve_state_dir;

/// What a person is told who starts us without a word: an editor would be served in silence.
const BARE: &str = "breadboard-ls is a language server: editors start it and talk to it over stdin and stdout.\n\nIn a terminal:\n  \
  breadboard-ls setup     choose who answers\n  breadboard-ls ask \"…\"   ask about the code in this folder\n  breadboard-ls doctor    check \
that everything works\n  breadboard-ls --help    list all commands and options\n  breadboard-ls --stdio   start the server anyway\n";

/// Reads the command line and does what it says. `serve` serves one editor on stdin and stdout; it comes in as a value,
/// so that the command line is tested without an editor.
pub fn run<I, S>(argv: I, serve: S) -> ExitCode
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
    S: FnOnce(ServeOptions) -> ExitCode,
{
    let argv: Vec<OsString> = argv.into_iter().map(Into::into).collect();
    if argv.len() < 2 && std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        let _ = write!(std::io::stderr(), "{BARE}");
        return Exit::Usage.into();
    }
    // What every editor says. The parser is not even touched then: its code would stay resident for nothing.
    if argv.iter().skip(1).all(|argument| argument == "--stdio") {
        return serve(stdio(&ServerArgs::default()));
    }
    // Two of these are started for every command, so the parser, which takes longer than all that they do, is left out too.
    if let Some(words) = guard::words(&argv) {
        return guard::guard(words);
    }
    let cli = match Cli::try_parse_from(argv) {
        Ok(cli) => cli,
        Err(refusal) => {
            // Help and version go to stdout with 0, everything else to stderr with 2; a closed stream changes neither.
            let _ = refusal.print();
            if refusal.kind() == ErrorKind::InvalidSubcommand {
                let _ = writeln!(std::io::stderr(), "To ask a question: breadboard-ls ask \"…\"");
            }
            return if refusal.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    match cli.command {
        None => serve(stdio(&cli.server)),
        Some(Command::Acp(args)) => {
            let overrides = with_user_choice(&args.server, environment);
            serve(ServeOptions { overrides, serving: Serving::AgentClient })
        }
        Some(Command::Engine(args)) => serve(ServeOptions {
            overrides: with_user_choice(&args.server, environment),
            serving: Serving::Desktop(args.options()),
        }),
        Some(Command::Undo(args)) => ask::undo(&args).into(),
        Some(Command::Ask(args)) => ask::ask(&args, knowledge()).into(),
        Some(Command::Doctor(args)) => doctor::doctor(&args, knowledge()).into(),
        Some(Command::Agents(args)) => agents::agents(&args, knowledge()).into(),
        Some(Command::Policy(args)) => policy::policy(&args).into(),
        Some(Command::Pair(args)) => pair::pair(&args).into(),
        Some(Command::Logs(args)) => logs::logs(&args, knowledge()).into(),
        Some(Command::Setup(args)) => setup::setup(&args, knowledge()).into(),
        Some(Command::Sessions(args)) => sessions::sessions(&args).into(),
        Some(Command::Completions(args)) => completions::completions(&args).into(),
        Some(Command::Man(args)) => completions::manual_page(&args).into(),
        Some(Command::Schema(args)) => schema::schema(&args, crate::contract::schemas()).into(),
        Some(Command::Guard(args)) => guard::guard(args),
        Some(Command::Simulate(args)) => simulate::simulate(&args, environment).into(),
    }
}

/// For one editor.
fn stdio(args: &ServerArgs) -> ServeOptions {
    ServeOptions { overrides: with_user_choice(args, environment), serving: Serving::Stdio }
}

/// A variable of this process, if it is text.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where the doctor's answers come from.
fn knowledge() -> Knowledge {
    Knowledge { state_dir: resolve_state_dir, model_base, agents: known_agents }
}

fn model_base(setting: &ModelSetting) -> Result<url::Url, String> {
    let ModelSetting { provider, name, url, .. } = setting.clone();
    Target::resolve(&ModelChoice { provider, name, url })
        .map(|target| target.base)
        .map_err(|refusal| refusal.message)
}

fn known_agents(overrides: &Overrides, path: &str, folder: &Path) -> KnownAgents {
    let settings = Settings::layered(Default::default(), overrides);
    let agents = Agents::read(&settings);
    let known = |line: &AgentLine| {
        let first_use = preset_of(&line.program).map(|preset| preset.first_use);
        KnownAgent {
            name: line.name.clone(),
            program: line.program.clone(),
            at: program_on(&line.program, path, folder),
            install: first_use.map(|first_use| first_use.install),
            login: first_use.and_then(|first_use| first_use.how_to_log_in()),
        }
    };
    let chosen = (settings.engine.kind == EngineKind::Acp)
        .then(|| agents.named(None).map(known).map_err(|refusal| refusal.message));
    KnownAgents { all: agents.all().map(known).collect(), chosen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn nothing_or_stdio_serves_and_a_wrong_word_does_not() {
        let served = RefCell::new(Vec::new());
        let run = |words: &[&str]| {
            run(std::iter::once("breadboard-ls").chain(words.iter().copied()), |options| {
                served.borrow_mut().push(options.overrides.workspace_trusted);
                ExitCode::SUCCESS
            });
        };
        run(&[]);
        run(&["--stdio", "--clientProcessId=7", "--trust"]);
        run(&["--stdoi"]);
        assert_eq!(served.into_inner(), [None, Some(true)]);
    }

    #[test]
    fn a_model_setting_leads_to_its_endpoint_or_to_a_sentence() {
        let base = |provider: Option<&str>| {
            let provider = provider.map(str::to_owned);
            model_base(&ModelSetting {
                provider,
                name: "gpt-4o".into(),
                url: None,
                ..ModelSetting::default()
            })
            .map(|url| url.to_string())
        };
        assert_eq!(base(None).as_deref(), Ok("https://api.openai.com/v1/"));
        assert!(base(Some("nobody")).is_err_and(|sentence| sentence.contains("not known")));
    }
}
