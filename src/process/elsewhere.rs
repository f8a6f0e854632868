//! A process where no tree of processes can be held together: only the program itself is ended.
//!
//! Owns the program. Never reads its streams.

use std::process::Stdio;

use tokio::process::{Child, Command};

use super::{Confined, Ending, Job, NotStarted, Streams};

/// A running process. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Contained {
    child: Child,
    confined: Confined,
}

impl Contained {
    /// Starts it with these for stdin, stdout and stderr.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub(crate) async fn spawn(job: &Job, streams: Streams) -> Result<Self, NotStarted> {
        if !job.cwd.is_at_its_path() {
            return Err(NotStarted::DirectoryReplaced(job.cwd.path().to_owned()));
        }
        let [stdin, stdout, stderr] = streams.map(Stdio::from);
        let child = Command::new(&job.program)
            .args(&job.args)
            .env_clear()
            .envs(job.environment())
            .current_dir(job.cwd.path())
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .map_err(NotStarted::Failed)?;
        let confined = match job.confinement {
            Some(_) => Confined::Impossible,
            None => Confined::NotWanted,
        };
        Ok(Self { child, confined })
    }

    /// Whether it may see and change only what it was to.
    pub(crate) fn confined(&self) -> Confined {
        self.confined
    }

    /// Waits until it has ended.
    pub(crate) async fn exited(&mut self) -> Ending {
        let code = self.child.wait().await.ok().and_then(|status| status.code());
        Ending { code, signal: None }
    }

    /// Kills it and waits for its end.
    pub(crate) async fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill().await;
    }

    /// Kills it and waits for its end.
    pub(crate) async fn end_at_once(&mut self) {
        self.end().await;
    }
}
