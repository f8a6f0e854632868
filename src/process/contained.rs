//! A process under guardians: started, waited for, ended.
//!
//! Owns the control socket, whose end is what the guardians wait for, and the outer guardian. Never reads the process's streams.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::guardian::{self, AT_ONCE, Post};
use super::hand_over::{self, Handles};
use super::overseer::{Oversight, Prepared};
use super::report::Report;
use super::{Confined, Ending, Job, NotStarted, Streams};

/// Two small programs start and say that a third one did; more means that the machine stands still.
const START: Duration = Duration::from_secs(10);
/// How long guardians may take that were told to ask first: TERM, a second, KILL. Then the overseer kills.
const ASKED: Duration = Duration::from_millis(1_600);
/// How long they may take that were told to kill at once.
const KILLED: Duration = Duration::from_millis(400);
/// How long it is waited for the end of guardians one of which has ended, which is their usual end, or was stopped.
const ENDING: Duration = Duration::from_millis(50);
/// How long the overseer is waited for. What takes longer it goes on with.
const OVERSEEN: Duration = Duration::from_millis(1_000);

/// A running process. Dropped, it and everything below it is killed at once.
#[derive(Debug)]
pub(crate) struct Contained {
    pid: i32,
    /// `None` once it was handed on to be buried.
    guardian: Option<Child>,
    control: UnixStream,
    oversight: Oversight,
    read: Vec<u8>,
    ended: Option<Ending>,
    rest: Rest,
    confined: Confined,
}

/// What is left of the process and those below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It runs, or what it left running is being ended.
    Runs,
    /// Its guardians have ended; whether they could do their work is not known.
    Unguarded,
    /// Nothing of it is left.
    Gone,
}

impl Contained {
    /// Starts it with these for stdin, stdout and stderr, and waits until it runs or could not be started.
    ///
    /// # Errors
    ///
    /// The directory is not the one that was opened any more, or the system refuses.
    pub(crate) async fn spawn(job: &Job, streams: Streams) -> Result<Self, NotStarted> {
        if !job.cwd.is_at_its_path() {
            return Err(NotStarted::DirectoryReplaced(job.cwd.path().to_owned()));
        }
        let started = Self::start(job, &streams).map_err(NotStarted::Failed)?;
        // Nobody but the program may hold them open.
        drop(streams);
        // Dropped at the end of the time, it ends what did start.
        match tokio::time::timeout(START, started.until_started()).await {
            Ok(outcome) => outcome.map_err(NotStarted::Failed),
            Err(_) => Err(NotStarted::Failed(io::ErrorKind::TimedOut.into())),
        }
    }

    fn start(job: &Job, streams: &Streams) -> io::Result<Self> {
        let (ours, theirs) = StdStream::pair()?;
        // Orphans fall to nobody elsewhere, so a second guardian would see no more than the first.
        let post = if cfg!(target_os = "linux") { Post::Outer } else { Post::Inner };
        let mut command = guardian::command(&job.guard, post, &job.program, &job.args);
        // What a test says to its guardians is not the program's.
        let kept: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command
            .env_clear()
            .envs(job.environment())
            .envs(kept)
            .current_dir("/")
            .stdin(OwnedFd::from(theirs.try_clone()?))
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::null());
        let prepared = Prepared::new(job.hold)?;
        let locks = super::shared_locks();
        let handles = Handles {
            streams,
            directory: job.cwd.handle().as_fd(),
            heartbeat: prepared.heartbeat(),
            cgroup: prepared.cgroup(),
            locks: locks.iter().map(|lock| lock.as_fd()).collect(),
            confinement: job.confinement.clone(),
        };
        hand_over::send(&ours, &handles)?;
        ours.set_nonblocking(true)?;
        let control = UnixStream::from_std(ours)?;
        let (oversight, guardian) = prepared.start(&mut Command::from(command))?;
        let (read, guardian) = (Vec::new(), Some(guardian));
        let confined = Confined::NotWanted;
        Ok(Self { pid: 0, guardian, control, oversight, read, ended: None, rest: Rest::Runs, confined })
    }

    async fn until_started(mut self) -> io::Result<Self> {
        loop {
            match self.next_report().await {
                Some(Report::Guarded(pid)) => self.oversight.guarded_by(pid),
                Some(Report::Confined(is)) => {
                    self.confined = if is == 1 { Confined::Yes } else { Confined::Impossible };
                }
                Some(Report::Started(pid)) => {
                    self.pid = pid;
                    self.oversight.runs(pid);
                    return Ok(self);
                }
                Some(Report::Failed(number)) => return Err(io::Error::from_raw_os_error(number)),
                Some(Report::Exited(_) | Report::Killed(_)) | None => {
                    return Err(io::Error::other("its guardian did not start"));
                }
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

    /// Whether it may see and change only what it was to.
    pub(crate) fn confined(&self) -> Confined {
        self.confined
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits until it has ended. What it left running is then being ended; `end` waits for that. May be dropped and called again.
    pub(crate) async fn exited(&mut self) -> Ending {
        loop {
            if let Some(ended) = self.ended {
                return ended;
            }
            let gone = self.oversight.gone();
            let next = tokio::select! {
                // What a guardian still said comes first.
                biased;
                next = self.next_report() => next,
                // Its guardians were stopped, and the overseer has killed it.
                () = gone, if cfg!(target_os = "linux") => None,
            };
            self.ended = match next {
                Some(Report::Exited(code)) => Some(Ending { code: Some(code), signal: None }),
                Some(Report::Killed(signal)) => Some(Ending { code: None, signal: Some(signal) }),
                Some(Report::Guarded(_) | Report::Confined(_) | Report::Started(_) | Report::Failed(_)) => {
                    None
                }
                None => {
                    self.rest = Rest::Unguarded;
                    Some(self.without_guardians().await)
                }
            };
        }
    }

    /// Both guardians have ended. If not by themselves, the overseer sees to the rest.
    async fn without_guardians(&mut self) -> Ending {
        let Some(guardian) = &mut self.guardian else { return self.ended.unwrap_or(UNKNOWN) };
        // One that cannot be killed is not waited for; it is buried with this process.
        let status = tokio::time::timeout(OVERSEEN, guardian.wait()).await.ok().and_then(Result::ok);
        self.oversight.buried();
        if status.is_some_and(|status| status.code().is_some()) {
            self.oversight.ended_well();
        } else {
            self.oversight.kill();
            // In time or not, the overseer goes on.
            let _ = tokio::time::timeout(OVERSEEN, self.oversight.gone()).await;
        }
        self.guardian = None;
        self.rest = Rest::Gone;
        self.ended.or_else(|| status.map(from_guardian)).unwrap_or(UNKNOWN)
    }

    /// Asks it to end (TERM), kills what is left after a second, and waits until nothing is left, for 3 s at the most.
    pub(crate) async fn end(&mut self) {
        // When the guardians are gone, so is the rest.
        let _ = self.control.shutdown().await;
        self.end_within(ASKED).await;
    }

    /// Kills what is left of it, and waits until nothing is, for 2 s at the most.
    pub(crate) async fn end_at_once(&mut self) {
        self.kill();
        self.end_within(KILLED).await;
    }

    async fn end_within(&mut self, patience: Duration) {
        if self.rest == Rest::Gone {
            return;
        }
        let patience = if self.oversight.is_guarded() { patience } else { ENDING };
        if tokio::time::timeout(patience, self.until_gone()).await.is_ok() {
            return;
        }
        // A guardian is gone, stopped, or takes too long.
        self.oversight.kill();
        let gone = async {
            self.oversight.gone().await;
            self.until_gone().await;
        };
        if tokio::time::timeout(OVERSEEN, gone).await.is_err() {
            tracing::warn!(pid = self.pid, "a process is still being ended");
        }
    }

    async fn until_gone(&mut self) {
        self.exited().await;
        while self.rest == Rest::Runs {
            if self.next_report().await.is_none() {
                self.rest = Rest::Unguarded;
            }
        }
        if self.rest == Rest::Unguarded {
            self.without_guardians().await;
        }
    }

    /// Kills it and everything below it.
    pub(crate) fn kill(&self) {
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
        if self.rest != Rest::Gone {
            self.kill();
            self.oversight.leave(self.guardian.take());
        }
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
