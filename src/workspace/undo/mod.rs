//! What turns change in the files, so that it can be told and taken back.
//!
//! Owns one thread, on which jobs are done in the order in which they were given: the end of a turn is looked at before the next
//! begins, and before anybody is told of it. Never decides whether something may be taken back: that is the loop's.

mod baseline;
mod contents;
mod found;
mod git_index;
mod images;
mod open_turns;
mod restore;
mod revert;
mod review;
mod shown;
mod tree;
mod turn_so_far;

use std::path::PathBuf;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;

use super::root::Roots;
use crate::app::ports::{FileJobDone, TurnJob, TurnJobDone};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::overlay::Overlay;

pub(super) use open_turns::{OpenTurns, ReplacedFile};

/// Jobs that may wait. Each belongs to a turn or a request; past it requests are refused, and a turn is not watched.
const WAITING: usize = 256;

type UndoReport = dyn Fn(FileJobDone) + Send + Sync;

/// A job with what the workspace is when it is given.
pub(super) struct TurnWork {
    pub(super) roots: Arc<Roots>,
    pub(super) state_dir: Option<PathBuf>,
    pub(super) overlay: Arc<Overlay>,
    pub(super) job: TurnJob,
}

/// The thread, once there is something to do.
pub(super) struct UndoThread {
    runtime: Handle,
    report: Arc<UndoReport>,
    turns: Arc<OpenTurns>,
    sender: Mutex<Option<SyncSender<Box<TurnWork>>>>,
}

impl UndoThread {
    /// `report` hears of the jobs that the loop wants to hear about.
    pub(super) fn new(runtime: Handle, report: Arc<UndoReport>, turns: Arc<OpenTurns>) -> Self {
        Self { runtime, report, turns, sender: Mutex::new(None) }
    }

    fn sender(&self) -> MutexGuard<'_, Option<SyncSender<Box<TurnWork>>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it a job; never waits.
    pub(super) fn submit(&self, work: TurnWork) {
        let mut sender = self.sender();
        if sender.is_none() {
            *sender = self.start();
        }
        let begins = begins(&work.job);
        if let Some(session_id) = &begins {
            self.turns.is_coming(session_id);
        }
        let work = Box::new(work);
        let refused = match sender.as_ref().map(|sender| sender.try_send(work)) {
            Some(Ok(())) => return,
            Some(Err(TrySendError::Full(work) | TrySendError::Disconnected(work))) => work,
            // Replies that are dropped answer `internal`, and a turn goes on unwatched.
            None => return self.never_came(begins),
        };
        refuse(refused.job);
        self.never_came(begins);
    }

    fn never_came(&self, begins: Option<String>) {
        if let Some(session_id) = begins {
            self.turns.has_come(&session_id);
        }
    }

    fn start(&self) -> Option<SyncSender<Box<TurnWork>>> {
        let (sender, jobs) = mpsc::sync_channel::<Box<TurnWork>>(WAITING);
        let (runtime, report, turns) =
            (self.runtime.clone(), Arc::clone(&self.report), Arc::clone(&self.turns));
        let thread = std::thread::Builder::new().name("turn changes".to_owned()).spawn(move || {
            let _inside = runtime.enter();
            for work in jobs {
                let begins = begins(&work.job);
                let done = std::panic::AssertUnwindSafe(|| do_job(&turns, *work));
                // A fault in one job must not end the others; its reply answered `internal`.
                let done = std::panic::catch_unwind(done);
                if let Some(session_id) = begins {
                    turns.has_come(&session_id);
                }
                if let Ok(Some(done)) = done {
                    report(FileJobDone::Turn(done));
                }
            }
        });
        thread.inspect_err(|error| tracing::warn!(%error, "turns cannot be watched")).ok().map(|_| sender)
    }
}

/// The session whose turn a job begins.
fn begins(job: &TurnJob) -> Option<String> {
    match job {
        TurnJob::Begin { turn, .. } => Some(turn.session_id.clone()),
        _ => None,
    }
}

fn do_job(turns: &OpenTurns, work: TurnWork) -> Option<TurnJobDone> {
    let TurnWork { roots, state_dir, overlay, job } = work;
    let desk = contents::UndoDesk {
        roots: &roots,
        state_dir: state_dir.as_deref(),
        overlay: &overlay,
        secrets: turns.secrets(),
    };
    match job {
        TurnJob::Begin { turn, ready } => {
            turns.begin(&desk, turn);
            ready.answer(());
        }
        TurnJob::BeforeCommand { session_id, held } => {
            turns.before_command(&desk, &session_id);
            return Some(TurnJobDone::MayRun { session_id, held });
        }
        TurnJob::Edited { session_id, root, path, before, after } => {
            turns.edited(&desk, &session_id, root.as_deref(), &path, (&before, &after));
        }
        TurnJob::Saved { uri } => turns.saved(&desk, &uri),
        TurnJob::End { session_id } => {
            let told = turns.end(&desk, &session_id)?;
            return Some(TurnJobDone::Ended { session_id, told });
        }
        TurnJob::List { session_id, limit, reply } => reply.answer(shown::list(&desk, &session_id, limit)),
        TurnJob::Changes { session_id, params, reply } => {
            reply.settle(shown::changes(&desk, &session_id, &params));
        }
        TurnJob::Plan(revert) => {
            return revert::plan(&desk, *revert).map(|plan| TurnJobDone::Planned(Box::new(plan)));
        }
        TurnJob::TakeBack { revert, named, at } => {
            let revert = Box::new(revert::take_back(&desk, *revert, named, at));
            return Some(TurnJobDone::TakenBack { revert, named });
        }
        TurnJob::NotTakenBack { session_id, named, root, path } => {
            revert::not_taken_back(&desk, &session_id, named, (&root, &path));
        }
        TurnJob::Tell { session_id, turn } => {
            let told = shown::told(&desk, &session_id, turn)?;
            return Some(TurnJobDone::Told { session_id, told });
        }
        TurnJob::Review { session_id, params, reply } => {
            let outcome = review::review(&desk, turns, &session_id, &params);
            let told = outcome.is_ok().then(|| shown::told(&desk, &session_id, params.turn)).flatten();
            reply.settle(outcome);
            return told.map(|told| TurnJobDone::Told { session_id, told });
        }
        TurnJob::Forget { session_id } => turns.forget(&desk, &session_id),
    }
    None
}

fn refuse(job: TurnJob) {
    let refused = CodedError::new(
        ErrorCode::Overloaded,
        "Too many requests about changes are waiting, so this one was not taken; try again in a moment.",
    );
    match job {
        TurnJob::List { reply, .. } => reply.refuse(refused),
        TurnJob::Changes { reply, .. } => reply.refuse(refused),
        TurnJob::Plan(revert) => revert.reply.refuse(refused),
        TurnJob::TakeBack { revert, .. } => revert.reply.refuse(refused),
        TurnJob::Review { reply, .. } => reply.refuse(refused),
        TurnJob::BeforeCommand { held, .. } => held.reply.refuse(refused),
        TurnJob::Begin { .. }
        | TurnJob::Edited { .. }
        | TurnJob::Saved { .. }
        | TurnJob::End { .. }
        | TurnJob::NotTakenBack { .. }
        | TurnJob::Tell { .. }
        | TurnJob::Forget { .. } => tracing::warn!("too many jobs about changes wait, so one was left out"),
    }
}
