//! One agent process: its pipes, its stderr and its end.
//!
//! Owns the process from the start to the last of its tree. Never reads what it says on stdout.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout};

use super::stderr_log::StderrLog;
use super::stdin::{AgentStdin, Closer, closable};
use super::{AgentCommand, Cwd, ExitNote, SpawnError, refusal};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::environment::AGENT_MARK;
use crate::process::{Contained, Directory, Hold, Job, NotStarted, Stream, Streams};

/// What an agent writes.
pub type AgentStdout = ChildStdout;

/// How long an agent may take to end by itself once its stdin is closed.
const POLITE: Duration = Duration::from_millis(900);

/// A running agent. Dropped, it and everything that it started is killed at once.
#[derive(Debug)]
pub struct AgentProcess {
    process: Contained,
    stdin: Closer,
    stderr: StderrLog,
}

impl AgentProcess {
    /// Starts an agent and waits until it runs; needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    ///
    /// `not_found` when there is no such program or folder, `conflict` when another folder lies at its path now,
    /// `engine_unreachable` for whatever else hinders it.
    pub async fn spawn(command: &AgentCommand) -> Result<(Self, AgentStdin, AgentStdout), SpawnError> {
        let (theirs, stdin, stdout, stderr) = pipes(command).map_err(|error| {
            CodedError::new(
                ErrorCode::EngineUnreachable,
                format!(
                    "There is no pipe left for an agent ({}); close some tabs and try again.",
                    error.kind()
                ),
            )
        })?;
        let refuse = |why: NotStarted| refusal(&command.program, &why);
        let (cwd, path) = match &command.cwd {
            Cwd::Opened(opened) => (opened.renewed(), opened.path()),
            Cwd::Path(path) => (Directory::open(path), path.as_path()),
        };
        let cwd = cwd.map_err(|_| refuse(NotStarted::NoDirectory(path.to_owned())))?;
        let job = Job {
            program: command.program.clone(),
            args: command.args.clone(),
            inherited: std::env::vars_os().collect(),
            env: marked(&command.env),
            cwd,
            guard: command.guard.clone(),
            hold: Hold::Cgroup,
            confinement: None,
        };
        let process = Contained::spawn(&job, theirs).await.map_err(refuse)?;
        let (stdin, closer) = closable(stdin);
        Ok((Self { process, stdin: closer, stderr }, stdin, stdout))
    }

    /// The agent's process id.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Waits until the agent has ended. What it left running is being ended then. May be dropped and called again.
    pub async fn exited(&mut self) -> ExitNote {
        let ending = self.process.exited().await;
        ExitNote { code: ending.code, signal: ending.signal, stderr_tail: self.stderr.tail().await }
    }

    /// Ends the agent and everything that it started, within 3 s: closes its stdin, waits a second for it to end, sends TERM to
    /// all that is left, and KILL a second later.
    pub async fn end(&mut self) {
        self.stdin.close();
        // Ended or not, the rest of the tree is asked next.
        let _ = tokio::time::timeout(POLITE, self.process.exited()).await;
        self.process.end().await;
    }
}

type Pipes = (Streams, ChildStdin, ChildStdout, StderrLog);

/// None of the ends is inherited by what else this process starts meanwhile.
fn pipes(command: &AgentCommand) -> io::Result<Pipes> {
    let (stdin, ours_in) = io::pipe()?;
    let (ours_out, stdout) = io::pipe()?;
    let (ours_err, stderr) = io::pipe()?;
    let ours_in = ChildStdin::from_std(Stream::from(ours_in).into())?;
    let ours_out = ChildStdout::from_std(Stream::from(ours_out).into())?;
    let log = StderrLog::read(ours_err, command.log.clone(), command.hide.clone())?;
    Ok(([stdin.into(), stdout.into(), stderr.into()], ours_in, ours_out, log))
}

/// What the user set for an agent, and that it is one: `breadboard-ls acp` refuses to be its own agent, through whatever others.
fn marked(env: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
    let mark = (AGENT_MARK.into(), "1".into());
    env.iter().map(|(name, value)| (name.into(), value.into())).chain([mark]).collect()
}
