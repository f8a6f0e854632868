//! A server that is a program: started under our guardians, talked to on pipes, ended whole.
//!
//! Owns the process and the last line of what it writes on stderr, without the secrets that it was given. Never reads its stdout:
//! the SDK does.

use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::failure::said;
use super::program::Program;
use crate::domain::policy::redact::Redactor;
use crate::process::{Contained, Directory, Ending, Hold, Job, NotStarted, Stream};

/// Bytes of one message of a server; a longer one is dropped, and its call waits in vain until it is given up.
const MESSAGE: usize = super::http::ANSWER;

/// Bytes of a line on stderr that are looked at.
const LINE: u64 = 16 * 1024;

/// How long a server may take to end by itself once its stdin is closed.
const POLITE: Duration = Duration::from_millis(900);

/// How long the last of stderr is waited for. What the server left running may hold it open.
const REST: Duration = Duration::from_millis(200);

/// The way to a server.
pub(super) type StdioTransport = AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>;

/// A server's process. Dropped, it and everything that it started is killed at once.
pub(super) struct StdioProcess {
    name: String,
    process: Contained,
    last_line: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl StdioProcess {
    /// Starts it.
    ///
    /// # Errors
    /// One sentence, when it cannot be started.
    pub(super) async fn start(program: Program<'_>) -> Result<(Self, StdioTransport), String> {
        let Program { name, command, args, env, folder, guard } = program;
        let of_server = |why: String| format!("The tool server `{name}` could not be started. {why}");
        let no_pipe =
            |error: io::Error| of_server(format!("There is no pipe left for it ({}).", error.kind()));
        let (stdin, ours_in) = io::pipe().map_err(no_pipe)?;
        let (ours_out, stdout) = io::pipe().map_err(no_pipe)?;
        let (ours_err, stderr) = io::pipe().map_err(no_pipe)?;
        let ours_in = ChildStdin::from_std(Stream::from(ours_in).into()).map_err(no_pipe)?;
        let ours_out = ChildStdout::from_std(Stream::from(ours_out).into()).map_err(no_pipe)?;
        let ours_err = ChildStderr::from_std(Stream::from(ours_err).into()).map_err(no_pipe)?;
        let no_folder = |_| of_server(NotStarted::NoDirectory(folder.to_owned()).sentence(command));
        let job = Job {
            program: command.to_owned(),
            args: args.to_vec(),
            inherited: std::env::vars_os().collect(),
            env: env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect(),
            cwd: Directory::open(folder).map_err(no_folder)?,
            guard,
            hold: Hold::Cgroup,
            // A program of the user's own, as an agent is.
            confinement: None,
        };
        let streams = [stdin.into(), stdout.into(), stderr.into()];
        let process =
            Contained::spawn(&job, streams).await.map_err(|why| of_server(why.sentence(command)))?;
        let last_line = Arc::default();
        let mut hide = Redactor::default();
        env.values().for_each(|value| hide.add(value));
        let reader = tokio::spawn(keep_last_line(ours_err, Arc::clone(&last_line), hide));
        let transport = AsyncRwTransport::new_client(ours_out, ours_in).with_max_line_length(MESSAGE);
        Ok((Self { name: name.to_owned(), process, last_line, reader }, transport))
    }

    /// Waits until it has ended by itself, and says how. May be dropped and called again.
    pub(super) async fn ended(&mut self) -> String {
        let Ending { code, signal } = self.process.exited().await;
        // In time or not: it is what came so far.
        let _ = tokio::time::timeout(REST, &mut self.reader).await;
        let how = match (code, signal) {
            (Some(code), _) => format!(" with the exit code {code}"),
            (None, Some(signal)) => format!(", killed by the signal {signal}"),
            (None, None) => String::new(),
        };
        let last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let last = if last.is_empty() { last } else { format!(" Its last words: {}.", said(&last)) };
        format!("The tool server `{}` ended{how}.{last}", self.name)
    }

    /// Ends it and everything that it started, within 3 s. Its stdin is closed already.
    pub(super) async fn end(&mut self) {
        // Ended or not, the rest of the tree is asked next.
        let _ = tokio::time::timeout(POLITE, self.process.exited()).await;
        self.process.end().await;
    }
}

async fn keep_last_line(stderr: ChildStderr, last: Arc<Mutex<String>>, hide: Redactor) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut lines).take(LINE).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        let clean = hide.scrub(&line);
        let text = String::from_utf8_lossy(&clean);
        if !text.trim().is_empty() {
            text.trim().clone_into(&mut last.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}
