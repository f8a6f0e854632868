//! A process under guardians: started, waited for, ended.
//!
//! Owns the control socket, whose end is what the guardians wait for, and the outer guardian. Never reads the process's streams.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::SpawnError;
use super::guardian::{AT_ONCE, NAME};
use super::hand_over::{self, Streams};
use super::report::Report;
use crate::domain::policy::environment::may_inherit;
use crate::protocol::{ErrorCode, WireError};

/// Two small programs start and say that a third one did; more means that the machine stands still.
const START: Duration = Duration::from_secs(10);
/// From the order to the end of the last process: TERM, a second, KILL. What takes longer is left to the guardians, which go on.
const GONE: Duration = Duration::from_millis(2_000);

/// What to start, and where.
#[derive(Debug, Clone)]
pub struct Job {
    /// A path, or a name that is looked up in the process's `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables beside ours, and over them.
    pub env: BTreeMap<String, String>,
    /// Directory to start in; absolute.
    pub cwd: PathBuf,
    /// The executable of `breadboard-ls`.
    pub guard: PathBuf,
}

/// How a process ended. Both are `None` when its guardians were killed with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// A running process. Dropped, it and everything below it is killed at once.
#[derive(Debug)]
pub struct Contained {
    pid: i32,
    guardian: Child,
    control: UnixStream,
    read: Vec<u8>,
    ended: Option<Ending>,
    /// Its guardians have ended too, and so nothing of it is left.
    is_gone: bool,
}

impl Contained {
    /// Starts it with these for stdin, stdout and stderr, and waits until it runs or could not be started.
    pub async fn spawn(job: &Job, streams: Streams) -> Result<Self, SpawnError> {
        if !job.cwd.is_dir() {
            return Err(WireError::new(
                ErrorCode::NotFound,
                format!(
                    "The folder `{}` does not exist, so nothing was started in it; choose another.",
                    job.cwd.display()
                ),
            ));
        }
        let started = Self::start(job, streams).map_err(|error| refusal(&job.program, &error))?;
        // Dropped at the end of the time, it ends what did start.
        match tokio::time::timeout(START, started.until_started()).await {
            Ok(outcome) => outcome.map_err(|error| refusal(&job.program, &error)),
            Err(_) => Err(refusal(&job.program, &io::ErrorKind::TimedOut.into())),
        }
    }

    fn start(job: &Job, streams: Streams) -> io::Result<Self> {
        let (ours, theirs) = StdStream::pair()?;
        let mut command = Command::new(&job.guard);
        command.arg0(NAME).arg("guard");
        if !cfg!(target_os = "linux") {
            // Orphans fall to nobody there, so a second one would see no more than the first.
            command.arg("--inner");
        }
        command
            .arg("--")
            .arg(&job.program)
            .args(&job.args)
            .env_clear()
            .envs(environment(std::env::vars_os()))
            .envs(&job.env)
            .current_dir(&job.cwd)
            .stdin(OwnedFd::from(theirs.try_clone()?))
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::null());
        hand_over::send(&ours, &streams)?;
        ours.set_nonblocking(true)?;
        let control = UnixStream::from_std(ours)?;
        let guardian = command.spawn()?;
        Ok(Self { pid: 0, guardian, control, read: Vec::new(), ended: None, is_gone: false })
    }

    async fn until_started(mut self) -> io::Result<Self> {
        match self.next_report().await {
            Some(Report::Started(pid)) => {
                self.pid = pid;
                Ok(self)
            }
            Some(Report::Failed(number)) => Err(io::Error::from_raw_os_error(number)),
            Some(Report::Exited(_) | Report::Killed(_)) | None => {
                Err(io::Error::other("its guardian did not start"))
            }
        }
    }

    /// The next report; `None` when both guardians have ended. Loses nothing when it is dropped.
    async fn next_report(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = Report::take(&mut self.read) {
                return Some(report);
            }
            self.control.readable().await.ok()?;
            match self.control.try_read_buf(&mut self.read) {
                Ok(0) => return None,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return None,
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits until it has ended. What it left running is then being ended; `end` waits for that. May be dropped and called again.
    pub async fn exited(&mut self) -> Ending {
        loop {
            if let Some(ended) = self.ended {
                return ended;
            }
            self.ended = match self.next_report().await {
                Some(Report::Exited(code)) => Some(Ending { code: Some(code), signal: None }),
                Some(Report::Killed(signal)) => Some(Ending { code: None, signal: Some(signal) }),
                Some(Report::Started(_) | Report::Failed(_)) => None,
                None => {
                    self.is_gone = true;
                    Some(self.guardian.wait().await.map_or(UNKNOWN, from_guardian))
                }
            };
        }
    }

    /// Asks it to end (TERM), kills what is left after a second, and waits until nothing is left, for 2 s at the most.
    pub async fn end(&mut self) {
        // When the guardians are gone, so is the rest.
        let _ = self.control.shutdown().await;
        let gone = async {
            self.exited().await;
            while !self.is_gone {
                self.is_gone = self.next_report().await.is_none();
            }
            // The outer one may have been killed before; either way it is ours to bury.
            let _ = self.guardian.wait().await;
        };
        if tokio::time::timeout(GONE, gone).await.is_err() {
            tracing::warn!(pid = self.pid, "a process is still being ended");
            // The outer guardian may have been stopped; the inner one sees when it dies.
            let _ = self.guardian.start_kill();
        }
    }

    /// Kills it and everything below it.
    pub fn kill(&self) {
        // A full socket has this word in it already; a closed one has no reader that could obey.
        let _ = self.control.try_write(&[AT_ONCE]);
        #[cfg(not(target_os = "linux"))]
        if let Some(group) = rustix::process::Pid::from_raw(self.pid).filter(|_| self.ended.is_none()) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        self.kill();
    }
}

const UNKNOWN: Ending = Ending { code: None, signal: None };

/// A guardian that could not say how the process ended still ends as it did.
fn from_guardian(status: std::process::ExitStatus) -> Ending {
    match status.code() {
        Some(code @ 129..) => Ending { code: None, signal: Some(code - 128) },
        Some(code) => Ending { code: Some(code), signal: None },
        None => Ending { code: None, signal: status.signal() },
    }
}

fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    ours.filter(|(name, _)| may_inherit(&name.to_string_lossy()))
}

fn refusal(program: &str, error: &io::Error) -> SpawnError {
    let shown = Path::new(program).display();
    match error.kind() {
        io::ErrorKind::NotFound => WireError::new(
            ErrorCode::NotFound,
            format!(
                "The program `{shown}` was not found; install it, or correct the command in the settings."
            ),
        ),
        io::ErrorKind::PermissionDenied => WireError::new(
            ErrorCode::NotFound,
            format!(
                "The program `{shown}` may not be run; make it executable, or correct the command in the settings."
            ),
        ),
        kind => WireError::new(
            ErrorCode::EngineUnreachable,
            format!(
                "The program `{shown}` could not be started ({kind}); try again, or correct the command in the settings."
            ),
        ),
    }
}
