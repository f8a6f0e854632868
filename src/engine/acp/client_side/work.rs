//! What one agent process has asked its client to do: each request in a task of its own, so that none waits for another.
//!
//! Owns these tasks and the terminals of the process; dropped, both end. Never decides whether something may be done.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::Terminals;
use super::files::{ClientFiles, WriteBase};
use super::words::{CreateTerminal, Printed, TerminalExit};
use crate::app::ports::EngineReport;
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::acp::before::FoundText;
use crate::domain::dialect::acp::encode;
use crate::process::Directory;
use crate::protocol::standing::CommandBounds;

/// One thing to do.
#[derive(Debug)]
pub(in crate::engine::acp) enum Job {
    /// Read some lines of a file.
    Read { path: PathBuf, line: Option<u64>, limit: Option<u64> },
    /// Look what a write would replace.
    Base { path: PathBuf },
    /// Look what stands in files that the agent writes itself, by the paths that it gave them.
    Look { paths: Vec<String> },
    /// Write over that.
    Write { base: WriteBase, text: String },
    /// Look where a command would run.
    Place { wanted: Option<PathBuf> },
    /// Start a command where `Place` said.
    Create(CreateTerminal, Directory),
    /// Show a terminal.
    Output(String),
    /// Wait for the end of its command.
    Wait(String),
    /// Bring that about.
    Kill(String),
    /// Let a terminal go.
    Release(String),
}

/// A job of a session.
#[derive(Debug)]
pub(in crate::engine::acp) struct WorkOrder {
    /// Ours; no two of an agent have the same.
    pub(in crate::engine::acp) number: u64,
    pub(in crate::engine::acp) session_id: String,
    /// Where commands may run, the usual place first.
    pub(in crate::engine::acp) folders: Vec<PathBuf>,
    pub(in crate::engine::acp) job: Job,
}

/// What came of a job.
#[derive(Debug)]
pub(in crate::engine::acp) enum WorkResult {
    /// The result for the agent.
    Answer(Value),
    /// The same, of a file that the agent knows now as it is.
    Known { answer: Value, file: KnownFile },
    /// What a write would replace.
    Base(WriteBase),
    /// What was found in files.
    Found(Vec<(String, FoundText)>),
    /// Where a command would run.
    Place(Directory),
}

/// A file as an agent read or wrote it through us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::acp) struct KnownFile {
    /// Name of the root.
    pub(in crate::engine::acp) root: String,
    /// Relative to it.
    pub(in crate::engine::acp) path: String,
    /// Of the whole text, in the editor where it is open.
    pub(in crate::engine::acp) hash: String,
}

/// A job that is done.
#[derive(Debug)]
pub(in crate::engine::acp) struct Finished {
    pub(in crate::engine::acp) number: u64,
    pub(in crate::engine::acp) outcome: Result<WorkResult, CodedError>,
}

/// What workers have for the agent's state.
#[derive(Debug)]
pub(in crate::engine::acp) enum WorkNews {
    /// A job is done.
    Done(Finished),
    /// A terminal printed something, began or ended.
    Printed(Printed),
}

/// What terminals printed and was not taken yet. A terminal waits for room, and so puts together what it prints.
const PRINTED: usize = 64;

struct EndedJob {
    number: u64,
    session_id: String,
    /// The terminal that was made.
    made: Option<String>,
    outcome: Result<WorkResult, CodedError>,
}

/// The jobs and the terminals of one process.
pub(in crate::engine::acp) struct Workers {
    files: ClientFiles,
    terminals: Arc<Terminals>,
    jobs: JoinSet<EndedJob>,
    under_way: HashMap<u64, AbortHandle>,
    printed: mpsc::Receiver<Printed>,
}

impl Workers {
    /// Nothing to do yet. `guard` is the executable of `breadboard-ls`; `bounds` are those of a terminal's command.
    pub(in crate::engine::acp) fn new(
        reports: mpsc::Sender<EngineReport>,
        guard: PathBuf,
        bounds: CommandBounds,
    ) -> Self {
        let (news, printed) = mpsc::channel(PRINTED);
        Self {
            files: ClientFiles::new(reports),
            terminals: Arc::new(Terminals::new(guard, bounds, news)),
            jobs: JoinSet::new(),
            under_way: HashMap::new(),
            printed,
        }
    }

    /// Begins a job. How many there are, the caller bounds.
    pub(in crate::engine::acp) fn begin(&mut self, order: WorkOrder) {
        let number = order.number;
        let job = run(order, self.files.clone(), Arc::clone(&self.terminals));
        self.under_way.insert(number, self.jobs.spawn(job));
    }

    /// Nobody waits for this one any more.
    pub(in crate::engine::acp) fn give_up(&mut self, number: u64) {
        if let Some(job) = self.under_way.remove(&number) {
            job.abort();
        }
    }

    /// Kills what runs in the terminals of a session.
    pub(in crate::engine::acp) fn end_session(&self, session_id: &str) {
        self.terminals.end_session(session_id);
    }

    /// What comes next; waits for ever where there is nothing. May be dropped while it waits.
    pub(in crate::engine::acp) async fn next(&mut self) -> WorkNews {
        loop {
            // What a command printed comes before the answer that says that it ended.
            let job = tokio::select! {
                biased;
                Some(printed) = self.printed.recv() => return WorkNews::Printed(printed),
                Some(job) = self.jobs.join_next() => job,
                else => return std::future::pending().await,
            };
            match job {
                Ok(EndedJob { number, session_id, made, outcome }) => {
                    if self.under_way.remove(&number).is_some() {
                        return WorkNews::Done(Finished { number, outcome });
                    }
                    // It was given up as it became ready: nobody knows this terminal.
                    if let Some(made) = made {
                        // Its session may have ended, and the terminal with it.
                        let _ = self.terminals.release(&session_id, &made);
                    }
                }
                Err(error) => {
                    // Given up, or broken: then the agent still waits.
                    let broken = self.under_way.iter().find(|(_, job)| job.id() == error.id());
                    if let Some(number) = broken.map(|(number, _)| *number) {
                        self.under_way.remove(&number);
                        return WorkNews::Done(Finished { number, outcome: Err(CodedError::internal()) });
                    }
                }
            }
        }
    }
}

async fn run(order: WorkOrder, files: ClientFiles, terminals: Arc<Terminals>) -> EndedJob {
    let WorkOrder { number, session_id, folders, job } = order;
    let session = session_id.as_str();
    let mut made = None;
    let outcome = match job {
        Job::Read { path, line, limit } => files.read(session, &path, line, limit).await.map(|part| {
            let answer = encode::file_content(&part.content);
            WorkResult::Known {
                answer,
                file: KnownFile { root: part.root, path: part.path, hash: part.hash },
            }
        }),
        Job::Base { path } => files.base(session, &path).await.map(WorkResult::Base),
        Job::Look { paths } => {
            let mut found = Vec::new();
            for path in paths {
                let text = files.found(session, &path, folders.first()).await;
                found.push((path, text));
            }
            Ok(WorkResult::Found(found))
        }
        Job::Write { base, text } => {
            let (root, path) = (base.root.clone(), base.path.clone());
            files.write(session, base, text).await.map(|applied| {
                let file = KnownFile { root, path, hash: applied.applied_hash };
                WorkResult::Known { answer: encode::written(applied.saved), file }
            })
        }
        Job::Place { wanted } => Terminals::place(wanted.as_deref(), &folders).map(WorkResult::Place),
        Job::Create(params, place) => terminals.create(session, place, params).await.map(|id| {
            let answer = encode::terminal_created(&id);
            made = Some(id);
            WorkResult::Answer(answer)
        }),
        Job::Output(id) => terminals.output(session, &id).map(|shown| {
            let exit = shown.exit_status.as_ref().map(TerminalExit::parts);
            WorkResult::Answer(encode::terminal_output(&shown.output, shown.truncated, exit))
        }),
        Job::Wait(id) => terminals.wait_for_exit(session, &id).await.map(|exit| {
            let (code, signal) = exit.parts();
            WorkResult::Answer(encode::terminal_exit(code, signal))
        }),
        Job::Kill(id) => terminals.kill(session, &id).await.map(|()| WorkResult::Answer(encode::done())),
        Job::Release(id) => terminals.release(session, &id).map(|()| WorkResult::Answer(encode::done())),
    };
    EndedJob { number, session_id, made, outcome }
}
