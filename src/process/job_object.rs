//! A process and everything that it starts, in a job object of Windows.
//!
//! Owns the job. The program is started suspended, put into the job and only then let run, so nothing that it starts is outside; the
//! job lets nothing out and ends with its last handle, which is ours: whoever kills the server ends the tree. Never reads its streams.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use windows::Win32::System::Threading::CREATE_NO_WINDOW;

use super::program_file::program_file;
use super::{Confined, Ending, Job, NotStarted, Streams};

/// A running process. Dropped, it and everything below it is killed at once.
#[derive(Debug)]
pub(crate) struct Contained {
    pid: i32,
    child: Box<dyn ChildWrapper>,
    confined: Confined,
}

impl Contained {
    /// Starts it with these for stdin, stdout and stderr.
    ///
    /// # Errors
    ///
    /// The directory is not the one that was opened any more, or the system refuses; so it does for a script of `cmd.exe` with an
    /// argument that could not be handed over unchanged.
    pub(crate) async fn spawn(job: &Job, streams: Streams) -> Result<Self, NotStarted> {
        if !job.cwd.is_at_its_path() {
            return Err(NotStarted::DirectoryReplaced(job.cwd.path().to_owned()));
        }
        let environment: Vec<(&OsString, &OsString)> = job.environment().collect();
        let named = |wanted: &str| {
            let of_name = |(name, _): &&(&OsString, &OsString)| name.eq_ignore_ascii_case(wanted);
            environment.iter().rev().find(of_name).map(|(_, value)| value.as_os_str())
        };
        let path = named("PATH").unwrap_or(OsStr::new(""));
        let directories: Vec<_> = std::env::split_paths(path).collect();
        let program = program_file(&job.program, &directories, job.cwd.path(), &Path::is_file)
            .ok_or_else(|| NotStarted::Failed(std::io::ErrorKind::NotFound.into()))?;
        let [stdin, stdout, stderr] = streams.map(Stdio::from);
        let mut command = CommandWrap::with_new(program, |command| {
            // The standard library starts a script of `cmd.exe` so that no argument is read as anything else, or refuses to.
            command
                .args(&job.args)
                .env_clear()
                .envs(environment.iter().copied())
                .current_dir(job.cwd.path())
                .stdin(stdin)
                .stdout(stdout)
                .stderr(stderr);
        });
        command.wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(KillOnDrop).wrap(JobObject);
        let child = command.spawn().map_err(NotStarted::Failed)?;
        let pid = child.id().map_or(0, u32::cast_signed);
        let confined = match job.confinement {
            Some(_) => Confined::Impossible,
            None => Confined::NotWanted,
        };
        Ok(Self { pid, child, confined })
    }

    /// The program's process id.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it may see and change only what it was to.
    pub(crate) fn confined(&self) -> Confined {
        self.confined
    }

    /// Waits until the program has ended; what it left running is ended then.
    pub(crate) async fn exited(&mut self) -> Ending {
        // Of the program alone: the job's own wait ends with the last of the tree.
        let code = self.child.inner_mut().wait().await.ok().and_then(|status| status.code());
        // Nothing may be left.
        let _ = self.child.start_kill();
        Ending { code, signal: None }
    }

    /// Kills it with everything below it, and waits for their end.
    pub(crate) async fn end(&mut self) {
        // They may have ended by themselves.
        let _ = self.child.start_kill();
        let _ = self.child.wait().await;
    }

    /// Kills it with everything below it, and waits for their end.
    pub(crate) async fn end_at_once(&mut self) {
        self.end().await;
    }
}
