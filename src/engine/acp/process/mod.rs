//! Agent processes: started under guardians (`crate::process`), talked to on pipes, and ended whole.
//!
//! Owns the pipes, the log of stderr and the polite end. Never reads what the agent says, and never decides whether one may run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::engine::acp::presets::preset_of;
use crate::process::{Directory, NotStarted};

mod agent;
mod secrets;
mod stderr_log;
mod stdin;

pub use agent::{AgentProcess, AgentStdout};
pub use secrets::Secrets;
pub use stdin::AgentStdin;

/// Why a process was not started: one sentence and a stable code (`not_found`, `conflict`, `engine_unreachable`, `unsupported`).
pub(crate) type SpawnError = CodedError;

/// What to start.
#[derive(Debug, Clone)]
pub struct AgentCommand {
    /// The program: a path, or a name that is looked up in the agent's `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that the user set for it. They stand beside ours without `BREADBOARD_*` and without tokens
    /// (`domain::policy::environment`), and win over them, whatever their names: the user wrote them for this agent.
    pub env: BTreeMap<String, String>,
    /// Directory to start in.
    pub cwd: Cwd,
    /// File for its stderr. At 4 MiB it becomes `<file>.1`, which replaces the one before. `None`: only the tail is kept.
    pub log: Option<PathBuf>,
    /// Secrets that are replaced in the log and in the tail.
    pub hide: Secrets,
    /// The executable of `breadboard-ls`, which is the guardian too: `this_program()`, in tests of the library the built binary.
    pub guard: PathBuf,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitNote {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The last 4 KiB of its stderr, secrets replaced; whole lines but for the first.
    pub stderr_tail: String,
}

/// Where an agent works.
#[derive(Debug, Clone)]
pub enum Cwd {
    /// The directory that was opened when its folder was, whatever lies at the path now.
    Opened(Directory),
    /// What the path leads to when the agent starts; absolute.
    Path(PathBuf),
}

impl Cwd {
    /// Opens a folder; one that is not there yet is looked for when an agent starts.
    pub fn open(path: PathBuf) -> Self {
        Directory::open(&path).map_or(Self::Path(path), Self::Opened)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Self::Opened(directory) => directory.path(),
            Self::Path(path) => path,
        }
    }
}

/// What a process that was not started means for a client.
pub(in crate::engine::acp) fn refusal(program: &str, why: &NotStarted) -> SpawnError {
    let code = match why {
        NotStarted::NoDirectory(_) => ErrorCode::NotFound,
        NotStarted::DirectoryReplaced(_) => ErrorCode::Conflict,
        NotStarted::Failed(error) => match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => ErrorCode::NotFound,
            _ => ErrorCode::EngineUnreachable,
        },
    };
    let absent = matches!(why, NotStarted::Failed(error) if error.kind() == std::io::ErrorKind::NotFound);
    let sentence = match preset_of(program).filter(|_| absent) {
        Some(preset) => {
            format!("The program `{program}` was not found; install it with `{}`.", preset.first_use.install)
        }
        None => why.sentence(program),
    };
    CodedError::new(code, sentence)
}
