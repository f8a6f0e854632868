//! What the subcommands know of other rooms, as functions.

use std::path::{Path, PathBuf};

use url::Url;

use crate::protocol::settings::{ModelSetting, Overrides};

/// What a subcommand asks of the rooms that know. Functions, so that its tests need none of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knowledge {
    /// The state directory that holds for a given `--state-dir`.
    pub state_dir: fn(Option<&str>) -> Option<PathBuf>,
    /// The base URL to which a model setting leads, or why it leads nowhere.
    pub model_base: fn(&ModelSetting) -> Result<Url, String>,
    /// The agents that can be named with these settings, as they are on a `PATH`, seen from a folder.
    pub agents: fn(&Overrides, &str, &Path) -> KnownAgents,
}

/// The agents that can be named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KnownAgents {
    /// By name.
    pub all: Vec<KnownAgent>,
    /// The one that the settings choose, or why there is none of that name; `None` where another engine is chosen.
    pub chosen: Option<Result<KnownAgent, String>>,
}

/// One agent that can be named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KnownAgent {
    /// Its name.
    pub name: String,
    /// What is started.
    pub program: String,
    /// Where that lies.
    pub at: Option<PathBuf>,
    /// The command that installs it, where that is known.
    pub install: Option<&'static str>,
    /// How one logs in, as the rest of a sentence that begins with "log in", where that is known.
    pub login: Option<String>,
}
