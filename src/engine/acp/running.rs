//! The process of an agent while it is there: its pipes, and when everything that it said was heard.
//!
//! Owns what is waiting to be written to it. Never looks into a line, and never waits for the end of the process itself.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::framing::{Line, LineReader};
use super::process::{AgentStdin, AgentStdout, ExitNote};

/// Lines that wait for an agent to read. Ours are few: past that it does not read at all, and is ended.
const UNREAD: usize = 256;

/// How long the output of an agent that ended may be silent before it counts as whole: what it started may hold the pipe.
const DRAIN: Duration = Duration::from_millis(300);

/// Whether there was room for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// It waits for the process, or the process reads no more.
    Taken,
    /// Too many wait already.
    NoRoom,
}

/// A process that was started.
pub(super) struct Running {
    lines: LineReader<AgentStdout>,
    writer: mpsc::Sender<String>,
    /// Message or dropped, the process is ended.
    end: Option<oneshot::Sender<()>>,
    exit: Option<ExitNote>,
    /// Its output ended.
    closed: bool,
    /// When the output counts as whole, once the process ended.
    drained: Option<Instant>,
}

impl Running {
    /// The pipes of a process, and what hears when it shall end.
    pub(super) fn begin(stdin: AgentStdin, stdout: AgentStdout) -> (Self, oneshot::Receiver<()>) {
        let (writer, unread) = mpsc::channel(UNREAD);
        let (end, ends) = oneshot::channel();
        tokio::spawn(write(stdin, unread));
        let lines = LineReader::new(stdout);
        (Self { lines, writer, end: Some(end), exit: None, closed: false, drained: None }, ends)
    }

    pub(super) async fn next_line(&mut self) -> std::io::Result<Option<Line>> {
        self.lines.next().await
    }

    pub(super) fn write(&self, line: String) -> Written {
        match self.writer.try_send(line) {
            Err(TrySendError::Full(_)) => Written::NoRoom,
            Ok(()) | Err(TrySendError::Closed(_)) => Written::Taken,
        }
    }

    /// Whether more may come of it.
    pub(super) fn speaks(&self) -> bool {
        !self.closed
    }

    pub(super) fn counts_as_whole_at(&self) -> Option<Instant> {
        self.drained
    }

    /// A line came.
    pub(super) fn heard(&mut self, now: Instant) {
        if self.exit.is_some() {
            self.drained = Some(now + DRAIN);
        }
    }

    /// Its output ended.
    pub(super) fn fell_silent(&mut self, now: Instant) {
        self.closed = true;
        if self.exit.is_none() {
            // Usually it is ending, and its exit code comes at once.
            self.drained = Some(now + DRAIN);
        }
    }

    /// The process ended.
    pub(super) fn exited(&mut self, note: ExitNote, now: Instant) {
        self.exit = Some(note);
        self.drained = Some(now + DRAIN);
    }

    /// How it ended, once all that it said was heard.
    pub(super) fn whole(&mut self, now: Instant) -> Option<ExitNote> {
        let silent = self.drained.is_some_and(|at| at <= now);
        if self.exit.is_none() && self.closed && silent {
            self.drained = None;
            // It closed its output and lives on: of no use to anybody.
            self.end();
            return None;
        }
        if self.closed || silent { self.exit.take() } else { None }
    }

    /// Whoever watches the process ends it.
    pub(super) fn end(&mut self) {
        if let Some(end) = self.end.take() {
            // It may be ending by itself.
            let _ = end.send(());
        }
    }
}

/// Writes lines until nobody has any more or nobody reads.
async fn write(mut stdin: AgentStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() {
            // It is ending, or reads no more; its exit is seen elsewhere.
            return;
        }
    }
}
