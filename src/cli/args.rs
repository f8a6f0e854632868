//! The command line: which options there are, and the layer of settings that flags and environment make.
//!
//! Never reads the process environment or a file itself: the environment comes in as a function, so that the layering is
//! a table in the tests.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::protocol::settings::{EngineKind, EngineSetting, ModelSetting, Overrides};

/// Environment variable with the base URL of a Breadboard engine.
pub const ENV_API_URL: &str = "BREADBOARD_API_URL";
/// Environment variable with the engine's token. There is no option for it: other users of a machine can read options.
pub const ENV_API_TOKEN: &str = "BREADBOARD_API_TOKEN";
/// Environment variable with the token of the model that is configured at start.
pub const ENV_MODEL_TOKEN: &str = "BREADBOARD_MODEL_TOKEN";
/// Environment variable with the key for OpenAI's own address.
pub const ENV_OPENAI_KEY: &str = "OPENAI_API_KEY";
/// Environment variable with the key for Anthropic's own address.
pub const ENV_ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
/// Environment variable with the key for Gemini's own address.
pub const ENV_GEMINI_KEY: &str = "GEMINI_API_KEY";
/// Environment variables that hold a token of ours. What is in them never leaves the server.
pub const TOKEN_VARIABLES: [&str; 5] =
    [ENV_API_TOKEN, ENV_MODEL_TOKEN, ENV_OPENAI_KEY, ENV_ANTHROPIC_KEY, ENV_GEMINI_KEY];

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "breadboard-ls",
    version,
    about = "The language server for coding agents.",
    long_about = "The language server for coding agents.\n\nWithout a subcommand it serves one editor on stdin and \
                  stdout. Options win over environment variables, those over the editor's initializationOptions.\n\n\
                  Environment: BREADBOARD_API_URL chooses a Breadboard engine, BREADBOARD_API_TOKEN is its token; \
                  BREADBOARD_MODEL_TOKEN goes to the configured model URL, OPENAI_API_KEY, ANTHROPIC_API_KEY and \
                  GEMINI_API_KEY to their provider's own address only.",
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    /// What to do; nothing means to serve.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Serve on stdin and stdout; the default, accepted because many editors say it.
    #[arg(long)]
    pub stdio: bool,
    /// Accepted because many editors say it; `initialize` carries the same number.
    #[arg(long = "clientProcessId", value_name = "PID", hide = true)]
    pub client_process_id: Option<u32>,
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask one question about a workspace and stream the answer to the terminal.
    #[command(after_help = super::exit::ASK_EXIT_HELP)]
    Ask(AskArgs),
    /// Check the installation, the engine, the model, trust and the state directory, and say what to do.
    #[command(after_help = super::exit::DOCTOR_EXIT_HELP)]
    Doctor(DoctorArgs),
    /// Write the JSON schemas of the wire.
    Schema(SchemaArgs),
}

/// Settings of the server, the strongest layer.
#[derive(Debug, Clone, Default, Args)]
pub struct ServerArgs {
    /// Which engine runs the turns [default: embedded].
    #[arg(long, value_enum, value_name = "KIND")]
    pub engine: Option<EngineArg>,
    /// Base URL of a breadboard or desktop engine; alone it means `--engine breadboard`.
    #[arg(long, value_name = "URL")]
    pub engine_url: Option<String>,
    /// The model of the embedded engine.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Its provider: openai (and anything compatible), anthropic, gemini or ollama.
    #[arg(long, value_name = "PROVIDER", requires = "model")]
    pub model_provider: Option<String>,
    /// Its base URL [default: the provider's own].
    #[arg(long, value_name = "URL", requires = "model")]
    pub model_url: Option<String>,
    /// Trust the workspace: writes and commands may be asked for. Each is still asked.
    #[arg(long)]
    pub trust: bool,
    /// Directory of the journal [default: breadboard-ls in the user's state directory].
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<String>,
}

/// The engines as words of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// In process; needs nothing else.
    Embedded,
    /// A Breadboard server over HTTP.
    Breadboard,
    /// A desktop host over HTTP and WebSocket.
    Desktop,
    /// An agent process.
    Acp,
}

impl EngineArg {
    /// The kind in the settings.
    pub fn kind(self) -> EngineKind {
        match self {
            Self::Embedded => EngineKind::Embedded,
            Self::Breadboard => EngineKind::Breadboard,
            Self::Desktop => EngineKind::Desktop,
            Self::Acp => EngineKind::Acp,
        }
    }
}

/// Options of `ask`.
#[derive(Debug, Clone, Args)]
pub struct AskArgs {
    /// The question, or what to do.
    pub question: String,
    /// The folder it is about.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,
    /// Print the server's raw notifications, one JSON message a line, and nothing else.
    #[arg(long)]
    pub json: bool,
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// The folder to check.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,
    /// Print the checks as JSON.
    #[arg(long)]
    pub json: bool,
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `schema`.
#[derive(Debug, Clone, Args)]
pub struct SchemaArgs {
    /// Directory to write to; `-` prints only the index, meta.json.
    #[arg(long, value_name = "DIR", default_value = "schemas")]
    pub out: PathBuf,
}

/// What the serving room gets from the command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServeOptions {
    /// The strongest layer of the settings.
    pub overrides: Overrides,
}

/// The layer that flags and environment make. Flags win over environment; an empty variable counts as absent.
pub fn overrides(args: &ServerArgs, env: impl Fn(&str) -> Option<String>) -> Overrides {
    let env_url = env(ENV_API_URL).filter(|url| !url.trim().is_empty());
    let kind = match args.engine {
        Some(engine) => Some(engine.kind()),
        None => (args.engine_url.is_some() || env_url.is_some()).then_some(EngineKind::Breadboard),
    };
    let engine = kind.map(|kind| {
        let from_env = match kind {
            // The variable names a Breadboard server, so no other engine may take it for its own.
            EngineKind::Breadboard => env_url,
            EngineKind::Embedded | EngineKind::Desktop | EngineKind::Acp => None,
        };
        EngineSetting {
            kind,
            url: args.engine_url.clone().or(from_env),
            command: None,
            args: None,
            env: None,
            config_path: None,
            name: None,
        }
    });
    let model = args.model.clone().map(|name| ModelSetting {
        provider: args.model_provider.clone(),
        name,
        url: args.model_url.clone(),
    });
    Overrides {
        engine,
        model,
        workspace_trusted: args.trust.then_some(true),
        state_dir: args.state_dir.clone(),
    }
}

/// The flags that make a child server run with these settings; trust is left out, since it goes by `initialize`.
pub fn forwarded(args: &ServerArgs) -> Vec<String> {
    let engine = args.engine.map(|engine| engine.kind().as_str().to_owned());
    let pairs = [
        ("--engine", &engine),
        ("--engine-url", &args.engine_url),
        ("--model", &args.model),
        ("--model-provider", &args.model_provider),
        ("--model-url", &args.model_url),
        ("--state-dir", &args.state_dir),
    ];
    // `--flag=value` in one word, so that a value that begins with a dash stays a value.
    pairs.iter().filter_map(|(flag, value)| value.as_ref().map(|value| format!("{flag}={value}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parsed(words: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once("breadboard-ls").chain(words.iter().copied()))
    }

    fn engine(kind: EngineKind, url: Option<&str>) -> Option<EngineSetting> {
        Some(EngineSetting {
            kind,
            url: url.map(str::to_owned),
            command: None,
            args: None,
            env: None,
            config_path: None,
            name: None,
        })
    }

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_win_over_environment_and_the_rest_is_not_stated() {
        use EngineKind::{Acp, Breadboard, Desktop, Embedded};
        type Row<'a> = (&'a [&'a str], Option<&'a str>, Option<EngineSetting>);
        let rows: &[Row] = &[
            (&[], None, None),
            (&[], Some(""), None),
            (&[], Some("  "), None),
            (&[], Some("http://e"), engine(Breadboard, Some("http://e"))),
            (&["--engine", "breadboard"], Some("http://e"), engine(Breadboard, Some("http://e"))),
            (&["--engine", "breadboard"], None, engine(Breadboard, None)),
            (&["--engine", "embedded"], Some("http://e"), engine(Embedded, None)),
            (&["--engine", "desktop"], Some("http://e"), engine(Desktop, None)),
            (&["--engine", "acp"], Some("http://e"), engine(Acp, None)),
            (&["--engine-url", "http://f"], Some("http://e"), engine(Breadboard, Some("http://f"))),
            (&["--engine-url", "http://f"], None, engine(Breadboard, Some("http://f"))),
            (
                &["--engine", "desktop", "--engine-url", "http://f"],
                Some("http://e"),
                engine(Desktop, Some("http://f")),
            ),
        ];
        for (words, url, wanted) in rows {
            let cli = parsed(words).expect("words of the table parse");
            let got = overrides(&cli.server, |name| (name == ENV_API_URL).then(|| url.map(str::to_owned))?);
            assert_eq!(
                got,
                Overrides { engine: wanted.clone(), ..Overrides::default() },
                "{words:?} {url:?}"
            );
        }
    }

    #[test]
    fn model_trust_and_state_come_from_flags_alone() {
        let words =
            ["--model=m", "--model-provider=ollama", "--model-url=http://m", "--trust", "--state-dir=/s"];
        let cli = parsed(&words).expect("parses");
        let wanted = Overrides {
            engine: None,
            model: Some(ModelSetting {
                provider: Some("ollama".into()),
                name: "m".into(),
                url: Some("http://m".into()),
            }),
            workspace_trusted: Some(true),
            state_dir: Some("/s".into()),
        };
        assert_eq!(overrides(&cli.server, |_| Some("yes".into())).model, wanted.model);
        assert_eq!(overrides(&cli.server, |_| None), wanted);
    }

    #[test]
    fn editors_habits_are_accepted_and_mistakes_are_not() {
        assert!(parsed(&["--stdio"]).is_ok());
        assert_eq!(parsed(&["--stdio", "--clientProcessId=77"]).expect("parses").client_process_id, Some(77));
        for wrong in [
            &["--sdtio"][..],
            &["--model-url=http://m"],
            &["--model-provider=x"],
            &["--engine=other"],
            &["ask"],
            &["--engine=acp", "ask", "q"],
            &["--token=x"],
        ] {
            assert_eq!(parsed(wrong).expect_err("is refused").exit_code(), 2, "{wrong:?}");
        }
    }

    #[test]
    fn a_child_gets_the_same_settings_but_trust() {
        let words = ["ask", "q", "--engine", "desktop", "--engine-url=http://f", "--model=-m", "--trust"];
        let Some(Command::Ask(ask)) = parsed(&words).expect("parses").command else { panic!("is `ask`") };
        assert_eq!(
            forwarded(&ask.server),
            ["--engine=desktop", "--engine-url=http://f", "--model=-m"].map(str::to_owned)
        );
        let again = parsed(&["--engine=desktop", "--engine-url=http://f", "--model=-m"]).expect("parses");
        let none = |_: &str| None;
        let mut wanted = overrides(&ask.server, none);
        wanted.workspace_trusted = None;
        assert_eq!(overrides(&again.server, none), wanted);
    }
}
