//! The command line: which options there are, and the layer of settings that flags and environment make.
//!
//! Never reads the process environment or a file itself: the environment comes in as a function, so that the layering is
//! a table in the tests.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::command_line::words;
use super::desktop_options::{DesktopOptions, listen_address};
pub(crate) use super::desktop_options::{ServeOptions, Serving};
use super::mcp_args::McpArgs;
use super::standing_args::StandingArgs;
use super::variables::ENV_API_URL;
use crate::protocol::settings::{
    EmbeddingsSetting, EngineKind, EngineSetting, ModelSetting, Overrides, RerankerProtocol, RerankerSetting,
    UserChoice,
};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "breadboard-ls",
    version,
    about = "The language server for coding agents.",
    long_about = "The language server for coding agents.\n\nWithout a subcommand it serves one editor over stdin and stdout. Options \
                  override environment variables, which override the settings of the editor.\n\nEnvironment:\n  \
                  BREADBOARD_API_URL          address of a BreadBoard engine, which then answers\n  \
                  BREADBOARD_API_TOKEN        its token\n  \
                  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY\n                              \
                  key of a provider, sent to its own address only\n  \
                  BREADBOARD_MODEL_TOKEN      key of the model at --model-url\n  \
                  BREADBOARD_EMBEDDING_TOKEN  key of the embedding model\n  \
                  BREADBOARD_RERANKER_TOKEN   key of the reranker",
    after_long_help = super::exit::EXIT_HELP,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    /// What to do; nothing means to serve.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Serve over stdin and stdout. This is the default; many editors pass it.
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
pub(crate) enum Command {
    /// Ask a question about a workspace and stream the answer to the terminal.
    #[command(after_help = super::exit::ASK_EXIT_HELP)]
    Ask(AskArgs),
    /// Run as an agent over stdio for Zed, JetBrains and other clients of the Agent Client Protocol, with any engine behind it. Nothing
    /// is written or run without --trust; the client chooses the folder of each session.
    Acp(Box<AcpArgs>),
    /// Undo what a turn changed in your files, after showing what that means and asking.
    Undo(UndoArgs),
    /// Check the installation, engine, model, trust and state directory, and say how to fix what is wrong.
    #[command(after_help = super::exit::DOCTOR_EXIT_HELP)]
    Doctor(ReportArgs),
    /// Choose who answers: an agent, a model or search alone. Your choice is tried, then saved in your own settings file.
    #[command(after_help = super::exit::SETUP_EXIT_HELP)]
    Setup(SetupArgs),
    /// List or search the sessions of a workspace, newest first; show, pin or delete one.
    Sessions(SessionsArgs),
    /// List the agents that --agent accepts, whether each is installed, and how to log in.
    Agents(ReportArgs),
    /// Say whether a command would run, need your approval or be refused, and why.
    Policy(PolicyArgs),
    /// Show where the logs are, and the last lines of the newest one or of an agent's.
    Logs(LogsArgs),
    /// Print a completion script for your shell.
    Completions(CompletionsArgs),
    /// Print the manual page of the program or of a subcommand.
    Man(ManArgs),
    /// Write the JSON schemas of the protocol.
    Schema(SchemaArgs),
    /// Serve workspaces to several clients at once over HTTP and WebSocket, as a desktop host.
    Engine(EngineArgs),
    /// Get the token of a desktop host in exchange for the pairing code in its terminal, read from stdin.
    Pair(super::pair_args::PairArgs),
    /// Simulate an engine, to build and test a client against.
    Simulate(super::simulate_args::SimulateArgs),
    /// Stand over a program and end what it leaves running; the server starts it.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// Heading of the options that say who answers.
const WHO: &str = "Who answers";
/// Heading of the options that make searching better.
const SEARCH: &str = "Search";

/// Settings of the server, the strongest layer.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerArgs {
    /// Which engine runs the turns: embedded (built in), breadboard, desktop, desktop:<url of a host>, acp, or acp:"<command line of
    /// an agent>" [default: embedded].
    #[arg(long, value_parser = EngineArg::read, value_name = "KIND", help_heading = WHO)]
    pub engine: Option<EngineArg>,
    /// Which agent answers: opencode, claude-agent-acp, codex-acp, gemini-cli, qwen-code, goose, or another from your settings;
    /// implies `--engine acp`.
    #[arg(long, value_name = "NAME", help_heading = WHO)]
    pub agent: Option<String>,
    /// Address of a BreadBoard engine or a desktop host; on its own it implies `--engine breadboard`.
    #[arg(long, value_name = "URL", help_heading = WHO, hide_short_help = true)]
    pub engine_url: Option<String>,
    /// Configuration file of a BreadBoard engine, by the engine's own path; on its own it implies `--engine breadboard`.
    #[arg(long, value_name = "PATH", value_parser = path_of_configuration, help_heading = WHO, hide_short_help = true)]
    pub config: Option<String>,
    /// Model for the built-in engine.
    #[arg(long, value_name = "NAME", help_heading = WHO)]
    pub model: Option<String>,
    /// Provider of the model: openai (or anything compatible), anthropic, gemini or ollama [default: guessed from the name].
    #[arg(long, value_name = "PROVIDER", requires = "model", help_heading = WHO)]
    pub model_provider: Option<String>,
    /// Base URL of the model [default: the provider's own].
    #[arg(long, value_name = "URL", requires = "model", help_heading = WHO)]
    pub model_url: Option<String>,
    /// Embedding model, so that the built-in engine also searches by meaning; text of a trusted workspace is sent to it.
    #[arg(long, value_name = "NAME", help_heading = SEARCH, hide_short_help = true)]
    pub embedding_model: Option<String>,
    /// Provider of the embedding model: openai (or anything compatible) or ollama.
    #[arg(long, value_name = "PROVIDER", requires = "embedding_model", help_heading = SEARCH, hide_short_help = true)]
    pub embedding_provider: Option<String>,
    /// Base URL of the embedding model [default: the provider's own].
    #[arg(long, value_name = "URL", requires = "embedding_model", help_heading = SEARCH, hide_short_help = true)]
    pub embedding_url: Option<String>,
    /// Model that reads the best passages of each search and puts them in order; text of a trusted workspace is sent to it.
    #[arg(long, value_name = "NAME", help_heading = SEARCH, hide_short_help = true)]
    pub reranker_model: Option<String>,
    /// How to ask the reranker: chat, rerank (the endpoint of Cohere, Jina, vLLM and llama.cpp) or tei (text-embeddings-inference)
    /// [default: chat].
    #[arg(
        long,
        value_name = "PROTOCOL",
        requires = "reranker_model",
        value_parser = reranker_protocol,
        help_heading = SEARCH,
        hide_short_help = true
    )]
    pub reranker_protocol: Option<RerankerProtocol>,
    /// Provider of a chat model that reranks: openai (or anything compatible), anthropic, gemini or ollama.
    #[arg(long, value_name = "PROVIDER", requires = "reranker_model", help_heading = SEARCH, hide_short_help = true)]
    pub reranker_provider: Option<String>,
    /// Base URL of the reranker [default: the provider's own; rerank and tei have none].
    #[arg(long, value_name = "URL", requires = "reranker_model", help_heading = SEARCH, hide_short_help = true)]
    pub reranker_url: Option<String>,
    /// Trust the workspace: files may be written and commands run. The built-in engine asks before each; BreadBoard and agents ask
    /// as their configuration or mode says.
    #[arg(long, help_heading = super::standing_args::PERMISSIONS)]
    pub trust: bool,
    /// Directory where sessions are kept [default: breadboard-ls in your state directory].
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub state_dir: Option<String>,
    /// What needs no question, and where commands run.
    #[command(flatten)]
    pub standing: StandingArgs,
    /// Servers of tools.
    #[command(flatten)]
    pub mcp: McpArgs,
}

/// Reads the path of a configuration. An empty one would be the engine's default in silence.
fn path_of_configuration(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("the path is empty; name a file, or leave --config out for the default".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// The engines as words of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EngineArg {
    /// In process; needs nothing else.
    Embedded,
    /// A Breadboard server over HTTP.
    Breadboard,
    /// A desktop host over HTTP and WebSocket.
    Desktop,
    /// The same, at this address: as it was typed, and the address.
    DesktopAt(String, String),
    /// An agent process, by its name.
    Acp,
    /// An agent process, by its command line: as it was typed, and its words.
    AcpCommand(String, Vec<String>),
}

impl EngineArg {
    /// Reads the word of the command line.
    ///
    /// # Errors
    /// One sentence when there is no such engine, or its command line is none.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        match text {
            "embedded" => Ok(Self::Embedded),
            "breadboard" => Ok(Self::Breadboard),
            "desktop" => Ok(Self::Desktop),
            "acp" => Ok(Self::Acp),
            _ => match (text.strip_prefix("acp:"), text.strip_prefix("desktop:")) {
                (Some(line), _) => Ok(Self::AcpCommand(text.to_owned(), words(line)?)),
                (_, Some(url)) if !url.trim().is_empty() => {
                    Ok(Self::DesktopAt(text.to_owned(), url.trim().to_owned()))
                }
                (_, _) => Err(
                    "there are embedded, breadboard, desktop, desktop:<url>, acp and acp:\"<command line>\""
                        .to_owned(),
                ),
            },
        }
    }

    /// As it was typed.
    fn typed(&self) -> &str {
        match self {
            Self::AcpCommand(typed, _) | Self::DesktopAt(typed, _) => typed,
            other => other.kind().as_str(),
        }
    }

    /// The kind in the settings.
    pub(crate) fn kind(&self) -> EngineKind {
        match self {
            Self::Embedded => EngineKind::Embedded,
            Self::Breadboard => EngineKind::Breadboard,
            Self::Desktop | Self::DesktopAt(..) => EngineKind::Desktop,
            Self::Acp | Self::AcpCommand(..) => EngineKind::Acp,
        }
    }
}

/// Options of `ask`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AskArgs {
    /// The question or task, in quotes or as several words; `-` reads it from stdin. Whatever is piped in goes along with it. With
    /// --continue or --session it may be left out: you are then asked what the session waits for, or the engine continues where it
    /// stopped.
    #[arg(required_unless_present_any = ["go_on", "session"])]
    pub question: Vec<String>,
    /// The folder that the question is about.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,
    /// Continue the newest session of the workspace.
    #[arg(long = "continue", conflicts_with = "session")]
    pub go_on: bool,
    /// Continue this session (`breadboard-ls sessions` lists them). With --engine or --agent, the one you name takes over the
    /// conversation in a new session.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Continue in a new session that begins with the conversation so far; the old session stays as it is.
    #[arg(long)]
    pub branch: bool,
    /// Switch to this mode first, as in --mode plan; an unknown mode lists the ones there are.
    #[arg(long, value_name = "ID")]
    pub mode: Option<String>,
    /// Give up when the engine takes longer than this to start a session, to begin its answer or to reconnect, or asks for a longer
    /// wait before it takes the question [default: 200, 600, 60 and 120].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub timeout: Option<u64>,
    /// Print only the server's raw notifications, one JSON message per line.
    #[arg(long)]
    pub json: bool,
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `acp`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AcpArgs {
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `undo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UndoArgs {
    /// The folder that the session belongs to.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,
    /// The session [default: the newest of the workspace]; `breadboard-ls sessions` lists them.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Which turn, by its number in --list [default: the newest that changed something].
    #[arg(long, value_name = "N")]
    pub turn: Option<u64>,
    /// Only this file, relative to the folder.
    #[arg(long, value_name = "PATH")]
    pub file: Option<String>,
    /// List the turns that changed files, and do nothing.
    #[arg(long)]
    pub list: bool,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `agents` and `doctor`, and of `sessions`: what to report of, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// The workspace folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `setup`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SetupArgs {
    /// The folder in which to try an agent.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,
}

/// Options of `sessions`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SessionsArgs {
    /// Only sessions with all of these words in the title, the agent's name, or one prompt or answer. The beginning of a word is enough.
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// Print the conversation of this session as Markdown. The beginning of an id is enough, here and below.
    #[arg(long, value_name = "ID", group = "of_one", conflicts_with = "search")]
    pub show: Option<String>,
    /// Pin this session, so that it is listed first and always kept.
    #[arg(long, value_name = "ID", group = "of_one")]
    pub pin: Option<String>,
    /// Unpin this session.
    #[arg(long, value_name = "ID", group = "of_one")]
    pub unpin: Option<String>,
    /// Stop this session and delete it with everything said in it. Files stay as they are.
    #[arg(long, value_name = "ID", group = "of_one")]
    pub delete: Option<String>,
    /// Of which workspace, and how.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Options of `policy`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PolicyArgs {
    /// The command line, in quotes, as in policy "cargo test && git push".
    pub command: String,
    /// The folder in which it would run, taken as the whole workspace.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
    /// Settings of the server; those of an editor are not known here.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `logs`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogsArgs {
    /// The agent whose log to show [default: the newest log, after a list of all logs].
    pub name: Option<String>,
    /// How many lines of the log to show.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub lines: usize,
    /// Directory where sessions and logs are kept [default: breadboard-ls in your state directory].
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<String>,
}

/// Options of `completions`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// The subcommand [default: the program].
    pub subcommand: Option<String>,
}

/// Options of `schema`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SchemaArgs {
    /// Directory to write to; `-` prints only the index, meta.json.
    #[arg(long, value_name = "DIR", default_value = "schemas")]
    pub out: PathBuf,
}

/// Options of `guard`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GuardArgs {
    /// Be the inner one of the two.
    #[arg(long)]
    pub inner: bool,
    /// The agent.
    pub program: OsString,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// Options of `engine`.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineArgs {
    /// Where to listen. An address that other machines can reach needs --tls-cert and --tls-key.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3199", value_parser = listen_address)]
    pub listen: SocketAddr,
    /// A folder to serve; repeat it for more. Clients cannot add folders.
    #[arg(long, value_name = "DIR", required = true)]
    pub workspace: Vec<PathBuf>,
    /// File with the token; created, readable by you alone, if it does not exist [default: host/token in the state directory].
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The certificate chain, as a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key, as a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// A name by which clients reach this machine, besides its addresses and localhost; repeat it for more.
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Show a pairing code at the start; in a terminal that always happens.
    #[arg(long)]
    pub pair: bool,
    /// Settings of the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

impl EngineArgs {
    /// For the wiring.
    pub(crate) fn options(&self) -> DesktopOptions {
        DesktopOptions {
            listen: self.listen,
            workspaces: self.workspace.clone(),
            token_file: self.token_file.clone(),
            tls: self.tls_cert.clone().zip(self.tls_key.clone()),
            names: self.allow_host.clone(),
            pair: self.pair,
        }
    }
}

/// The layer that flags and environment make. Flags win over environment; an empty variable counts as absent.
pub(crate) fn overrides(args: &ServerArgs, env: impl Fn(&str) -> Option<String>) -> Overrides {
    let env_url = env(ENV_API_URL).filter(|url| !url.trim().is_empty());
    let kind = match &args.engine {
        Some(engine) => Some(engine.kind()),
        None if args.agent.is_some() => Some(EngineKind::Acp),
        None => (args.engine_url.is_some() || args.config.is_some() || env_url.is_some())
            .then_some(EngineKind::Breadboard),
    };
    let line = match &args.engine {
        Some(EngineArg::AcpCommand(_, words)) => Some(words.clone()),
        _ => None,
    };
    let named = match &args.engine {
        Some(EngineArg::DesktopAt(_, url)) => Some(url.clone()),
        _ => None,
    };
    let engine = kind.map(|kind| {
        let from_env = match kind {
            // The variable names a Breadboard server, so no other engine may take it for its own.
            EngineKind::Breadboard => env_url,
            EngineKind::Embedded | EngineKind::Desktop | EngineKind::Acp => None,
        };
        EngineSetting {
            kind,
            url: named.or_else(|| args.engine_url.clone()).or(from_env),
            command: line.as_ref().and_then(|words| words.first().cloned()),
            args: line.as_ref().map(|words| words.iter().skip(1).cloned().collect()),
            env: None,
            config_path: args.config.clone().filter(|_| kind == EngineKind::Breadboard),
            ca_file: None,
            name: args.agent.clone().filter(|_| kind == EngineKind::Acp),
        }
    });
    Overrides {
        engine,
        mcp_servers: args.mcp.servers(),
        model: args.model(),
        embeddings: args.embeddings(),
        reranker: args.reranker(),
        workspace_trusted: args.trust.then_some(true),
        state_dir: args.state_dir.clone(),
        standing: args.standing.overrides(env),
        user: UserChoice::default(),
    }
}

impl ServerArgs {
    /// The chat model that is named.
    fn model(&self) -> Option<ModelSetting> {
        self.model.clone().map(|name| ModelSetting {
            provider: self.model_provider.clone(),
            name,
            url: self.model_url.clone(),
            ..ModelSetting::default()
        })
    }

    /// The embedding model that is named.
    fn embeddings(&self) -> Option<EmbeddingsSetting> {
        self.embedding_model.clone().map(|name| EmbeddingsSetting {
            provider: self.embedding_provider.clone(),
            name,
            url: self.embedding_url.clone(),
            ..EmbeddingsSetting::default()
        })
    }

    /// The reranker that is named.
    fn reranker(&self) -> Option<RerankerSetting> {
        self.reranker_model.clone().map(|name| RerankerSetting {
            protocol: self.reranker_protocol,
            provider: self.reranker_provider.clone(),
            name,
            url: self.reranker_url.clone(),
            ..RerankerSetting::default()
        })
    }
}

/// How a reranker is asked, by its word.
fn reranker_protocol(word: &str) -> Result<RerankerProtocol, String> {
    RerankerProtocol::named(word).ok_or_else(|| "use chat, rerank or tei".to_owned())
}

/// The flags that make a child server run with these settings; trust is left out, since it goes by `initialize`.
pub(crate) fn forwarded(args: &ServerArgs) -> Vec<String> {
    let engine = args.engine.as_ref().map(|engine| engine.typed().to_owned());
    let protocol = args.reranker_protocol.map(|protocol| protocol.as_str().to_owned());
    let pairs = [
        ("--engine", &engine),
        ("--agent", &args.agent),
        ("--engine-url", &args.engine_url),
        ("--config", &args.config),
        ("--model", &args.model),
        ("--model-provider", &args.model_provider),
        ("--model-url", &args.model_url),
        ("--embedding-model", &args.embedding_model),
        ("--embedding-provider", &args.embedding_provider),
        ("--embedding-url", &args.embedding_url),
        ("--reranker-model", &args.reranker_model),
        ("--reranker-protocol", &protocol),
        ("--reranker-provider", &args.reranker_provider),
        ("--reranker-url", &args.reranker_url),
        ("--state-dir", &args.state_dir),
    ];
    // `--flag=value` in one word, so that a value that begins with a dash stays a value.
    let stated =
        pairs.iter().filter_map(|(flag, value)| value.as_ref().map(|value| format!("{flag}={value}")));
    stated.chain(args.standing.forwarded()).chain(args.mcp.forwarded()).collect()
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
