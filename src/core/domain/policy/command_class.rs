//! What a command does, as far as a setting can speak of it.
//!
//! Owns the classes and their order: of several commands in a line the highest counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command, an edit or a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandClass {
    /// It tells what is there.
    Read,
    /// It makes or changes files.
    Edit,
    /// It builds or tests, and so runs what the workspace holds.
    Build,
    /// It speaks with other machines.
    Network,
    /// It removes or takes back.
    Destructive,
    /// What it does is not known here; it is always asked about, unless a pattern names it.
    Unknown,
}

impl CommandClass {
    /// What it does, as the rest of a sentence that begins with "it".
    pub fn what(self) -> &'static str {
        match self {
            Self::Read => "only reads",
            Self::Edit => "changes files",
            Self::Build => "may run code from the workspace, as builds, tests and Git do",
            Self::Network => "speaks with other machines",
            Self::Destructive => "removes or takes back",
            Self::Unknown => "does what is not known here",
        }
    }

    /// The word of the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Build => "build",
            Self::Network => "network",
            Self::Destructive => "destructive",
            Self::Unknown => "unknown",
        }
    }
}
