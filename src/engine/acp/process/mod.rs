//! Agent processes: started under a guardian, talked to on pipes, and ended whole.
//!
//! Owns the promise that an agent and everything it starts die with us. Two small processes of our own stand between: the outer
//! guardian and the inner one, which holds the agent. Whichever of the server and the two is killed, another is left that sees
//! it and kills the tree. Never reads what the agent says, and never decides whether one may run.
//!
//! Elsewhere than on Linux one guardian ends the agent's process group only; on Windows no agent is started.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::protocol::WireError;

#[cfg(unix)]
mod agent;
#[cfg(unix)]
mod contained;
#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod guardian;
#[cfg(unix)]
mod hand_over;
#[cfg(unix)]
mod report;
mod secrets;
#[cfg(unix)]
mod stderr_log;
#[cfg(unix)]
mod stdin;
#[cfg(unix)]
mod tree;

#[cfg(unix)]
pub use agent::{AgentProcess, AgentStdout};
#[cfg(unix)]
pub use contained::{Contained, Ending, Job};
#[cfg(not(unix))]
pub use elsewhere::{AgentProcess, AgentStdin, AgentStdout};
#[cfg(unix)]
pub use guardian::{Post, guard};
pub use secrets::Secrets;
#[cfg(unix)]
pub use stdin::AgentStdin;

/// Why a process was not started: one sentence and a stable code (`not_found`, `engine_unreachable`, `unsupported`).
pub type SpawnError = WireError;

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
    /// Directory to start in; absolute.
    pub cwd: PathBuf,
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

/// This program as it was started, also when its file was replaced meanwhile.
pub fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_else(|_| PathBuf::from("breadboard-ls"))
    }
}
