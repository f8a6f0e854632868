//! The command line of `simulate`.
//!
//! Owns its names and defaults. Reads no file: `simulate` does.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `simulate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SimulateArgs {
    /// Which engine.
    #[command(subcommand)]
    pub engine: SimulatedEngine,
}

/// The engines that can be simulated.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SimulatedEngine {
    /// The BreadBoard engine: HTTP and server-sent events on loopback, with its quirks.
    #[command(after_long_help = super::simulate_help::BREADBOARD_HELP)]
    Breadboard(SimulateBreadboardArgs),
    /// A desktop host: HTTP and a WebSocket a session on loopback, in the words of its protocol or of its public source.
    #[command(after_long_help = super::simulate_help::DESKTOP_HELP)]
    Desktop(SimulateDesktopArgs),
    /// An agent process: the Agent Client Protocol on stdin and stdout, as a script or a recording says.
    #[command(after_long_help = super::simulate_help::ACP_HELP)]
    Acp(SimulateAcpArgs),
}

/// The words that a simulated desktop host speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SimulatedDialect {
    /// Those of its protocol.
    #[default]
    Seed,
    /// Those of its public source.
    Source,
}

/// Options of `simulate desktop`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SimulateDesktopArgs {
    /// Port on 127.0.0.1; 0 takes any free one. The first line on stdout names it.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
    /// What the agent does, as JSON [default: it repeats the prompt].
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Which words it speaks.
    #[arg(long, value_enum, default_value_t)]
    pub dialect: SimulatedDialect,
    /// Greet only after the client did.
    #[arg(long)]
    pub waits_for_hello: bool,
    /// Seed of the faults.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// What goes wrong, as `cut=0.05,garbage=0.01,budget=20`.
    #[arg(long, value_name = "LIST", default_value = "")]
    pub faults: String,
}

/// Options of `simulate acp`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SimulateAcpArgs {
    /// What the agent does: a file, or the JSON itself [default: a small conversation].
    #[arg(long, value_name = "FILE|JSON", conflicts_with = "replay")]
    pub script: Option<String>,
    /// Play the agent's side of a recording, one JSON line a message.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Which of the processes in the recording, counted from 1.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "replay")]
    pub process: usize,
    /// Pieces of an answer a second, 0 for as fast as possible [default: 20 without script and recording, else 0].
    #[arg(long, value_name = "N")]
    pub rate: Option<u32>,
    /// Keep the sessions in this file, so that the next process can load them [default: in memory].
    #[arg(long, value_name = "FILE")]
    pub sessions: Option<PathBuf>,
    /// Append every message to this file, in the form that --replay reads.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// Options of `simulate breadboard`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SimulateBreadboardArgs {
    /// Port on 127.0.0.1; 0 takes any free one. The first line on stdout names it.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
    /// What the agent does, as JSON or JSON lines [default: a small conversation].
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Seed of the faults: the same seed and the same requests meet the same faults.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// What goes wrong on streams, as `drop=0.05,cut=0.01,budget=20`.
    #[arg(long, value_name = "LIST", default_value = "")]
    pub faults: String,
    /// Speak the wire of the engine's pull request 40.
    #[arg(long)]
    pub pr40: bool,
    /// How many milliseconds later every answer and every event arrives.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub latency_ms: u64,
}
