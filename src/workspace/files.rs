//! `WorkspaceFiles`: the port's jobs, bounded, each on a thread that may wait for a disk.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::attachment::{Offer, store};
use super::change;
use super::context;
use super::diff::{diff, drop_artifacts};
use super::identity::identity;
use super::list::list;
use super::live_output::LiveOutput;
use super::paths::paths;
use super::read::{read, read_base};
use super::read_text::read_text;
use super::real_place::real_place;
use super::root::Roots;
use super::run::{self, Limits};
use super::snippet::snippet;
use super::spec;
use super::undo::{OpenTurns, ReplacedFile, TurnWork, UndoThread};
use super::waiting_job::{FilesDone, refuse, weight};
use super::write::write;
use crate::app::Reply;
use crate::app::inbox::{Answer, Folder};
use crate::app::ports::{
    BackgroundRun, CommandCall, CommandRan, ContextJob, FileJob, FileJobDone, Files, PatchJob, PatchJobDone,
    PatchPlace, RealPlace, SYMBOLS, SpecFilesDone, SpecJob, SymbolsWanted,
};
use crate::domain::approval::FolderIdentity;
use crate::domain::coded_error::CodedError;
use crate::domain::edits::overlay::Overlay;
use crate::domain::policy::confinement::{CommandSurroundings, Confinement};
use crate::domain::policy::redact::Redactor;
use crate::host::ports::{CodeSearch, SymbolFound};
use crate::protocol::standing::{CommandBounds, CommandConfinement};

/// Jobs that wait for a thread. A client may ask for hundreds of files in one write; more means a flood or a dead disk:
/// the next one is refused with `overloaded`.
pub(super) const WAITING: usize = 1_024;

/// Jobs that look at files at the same time: enough to hide one slow file, few enough to leave the threads of the runtime
/// to others.
const WORKING: usize = 4;

/// How long definitions are looked for while somebody types.
const SYMBOLS_TIME: Duration = Duration::from_millis(200);

/// Commands that run at the same time; more wait among the rest.
const RUNNING: usize = 8;

/// How long a command in the background may run: a day, which is the longest that one may be given at all. It ends before, with its
/// turn, its session or its window.
const IN_BACKGROUND: Duration = Duration::from_secs(86_400);

/// The workspace edge: files, attachments and commands.
pub struct WorkspaceFiles {
    runtime: Handle,
    guard: PathBuf,
    waiting: Arc<Semaphore>,
    working: Arc<Semaphore>,
    running: Arc<Semaphore>,
    writing: Arc<Mutex<()>>,
    places: Mutex<FilePlaces>,
    search: Option<Arc<dyn CodeSearch>>,
    done: Arc<FilesDone>,
    turns: Arc<OpenTurns>,
    undo: UndoThread,
}

#[derive(Default)]
struct FilePlaces {
    roots: Arc<Roots>,
    folders: Vec<Folder>,
    state_dir: Option<PathBuf>,
}

impl WorkspaceFiles {
    /// The edge on this runtime; `guard` is the executable of `breadboard-ls`, which stands over commands; `done` hears of the
    /// jobs that the loop wants to hear about, on a thread of the runtime or, for a refusal, of the caller.
    pub fn new(runtime: Handle, guard: PathBuf, done: impl Fn(FileJobDone) + Send + Sync + 'static) -> Self {
        let done: Arc<FilesDone> = Arc::new(done);
        let turns = Arc::new(OpenTurns::default());
        Self {
            undo: UndoThread::new(runtime.clone(), Arc::clone(&done), Arc::clone(&turns)),
            turns,
            runtime,
            guard,
            waiting: Arc::new(Semaphore::new(WAITING)),
            working: Arc::new(Semaphore::new(WORKING)),
            running: Arc::new(Semaphore::new(RUNNING)),
            writing: Arc::new(Mutex::new(())),
            places: Mutex::new(FilePlaces::default()),
            search: None,
            done,
        }
    }

    /// The same, with what looks for the context of prompts; without, none has any.
    pub(crate) fn searching(mut self, search: Arc<dyn CodeSearch>) -> Self {
        self.search = Some(search);
        self
    }

    fn gather(&self, job: ContextJob, overlay: Arc<Overlay>) {
        let done = Arc::clone(&self.done);
        let Some(search) = self.search.clone() else {
            let none = "This server cannot look into the workspace, so the prompt went without context.";
            return done(FileJobDone::Context(Box::new(context::without(job, none.to_owned()))));
        };
        let folders = self.places().folders.clone();
        let view = context::view(folders, overlay, job.trusted, Arc::clone(&job.lists));
        self.runtime.spawn(async move {
            let found = context::gather(job, view, search).await;
            done(FileJobDone::Context(Box::new(found)));
        });
    }

    /// Definitions for a completion. Whoever types waits no longer than that: the next keystroke asks again.
    fn symbols(&self, waiting: OwnedSemaphorePermit, wanted: SymbolsWanted, overlay: Arc<Overlay>) {
        let Some(search) = self.search.clone() else { return wanted.found(Vec::new()) };
        let view = context::view(self.places().folders.clone(), overlay, false, wanted.lists());
        let cancel = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&cancel);
        self.runtime.spawn(async move {
            tokio::time::sleep(SYMBOLS_TIME).await;
            over.store(true, Ordering::Relaxed);
        });
        self.work(waiting, move || {
            let found = match wanted.is_abandoned() {
                true => Vec::new(),
                false => search.symbols(&view, wanted.name(), SYMBOLS, &cancel),
            };
            let told = |symbol: SymbolFound| {
                let SymbolFound { path, name, kind, start_line, .. } = symbol;
                (name, format!("{kind} in {path}:{start_line}"))
            };
            wanted.found(found.into_iter().map(told).collect());
        });
    }

    fn places(&self) -> MutexGuard<'_, FilePlaces> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does blocking work on a thread of its own once one of the places is free.
    fn work(&self, waiting: OwnedSemaphorePermit, work: impl FnOnce() + Send + 'static) {
        self.work_boxed(waiting, Box::new(work));
    }

    /// One task for all jobs: the runtime's own code would be built three times for each closure.
    fn work_boxed(&self, waiting: OwnedSemaphorePermit, work: Box<dyn FnOnce() + Send>) {
        let working = Arc::clone(&self.working);
        self.runtime.spawn(async move {
            // The semaphore is never closed. A job that panics drops its reply, which then answers `internal`.
            let Ok(place) = working.acquire_owned().await else { return };
            drop(waiting);
            let _ = tokio::task::spawn_blocking(move || {
                work();
                drop(place);
            })
            .await;
        });
    }

    /// The same for a job that the loop wants to hear about.
    fn work_for_the_loop(
        &self,
        waiting: OwnedSemaphorePermit,
        work: impl FnOnce() -> FileJobDone + Send + 'static,
    ) {
        let done = Arc::clone(&self.done);
        self.work(waiting, move || done(work()));
    }

    /// One write at a time, so that two of ours cannot both find the same base.
    fn work_alone(&self, waiting: OwnedSemaphorePermit, work: impl FnOnce() + Send + 'static) {
        let writing = Arc::clone(&self.writing);
        self.work(waiting, move || {
            let _turn = writing.lock().unwrap_or_else(PoisonError::into_inner);
            work();
        });
    }

    /// Answers with what the work gives, unless nobody waits for it any more.
    fn answer<T: Send + 'static>(
        &self,
        waiting: OwnedSemaphorePermit,
        reply: Reply<T>,
        work: impl FnOnce(&Reply<T>) -> Result<T, CodedError> + Send + 'static,
    ) {
        self.work(waiting, move || {
            if !reply.is_abandoned() {
                let outcome = work(&reply);
                reply.settle(outcome);
            }
        });
    }

    /// The same for what writes.
    fn answer_alone<T: Send + 'static>(
        &self,
        waiting: OwnedSemaphorePermit,
        reply: Reply<T>,
        work: impl FnOnce() -> Result<T, CodedError> + Send + 'static,
    ) {
        self.work_alone(waiting, move || {
            if !reply.is_abandoned() {
                reply.settle(work());
            }
        });
    }

    /// Tells the loop what came of something that may be an editor's turn, such as a write.
    fn when_answered<T: Send + 'static>(
        &self,
        answer: Answer<T>,
        told: impl FnOnce(Result<T, CodedError>) -> FileJobDone + Send + 'static,
    ) {
        let done = Arc::clone(&self.done);
        let told = async move { done(told(answer.await.unwrap_or_else(|_| Err(CodedError::internal())))) };
        self.runtime.spawn(told.boxed());
    }

    /// Tells the loop what a command prints.
    fn live(&self, call: CommandCall, whole: Option<mpsc::Sender<Vec<u8>>>) -> Arc<LiveOutput> {
        let done = Arc::clone(&self.done);
        let told = Box::new(move |text, is_error| {
            done(FileJobDone::Printed { call: call.clone(), text, is_error });
        });
        LiveOutput::to(told, whole)
    }

    fn run(
        &self,
        waiting: OwnedSemaphorePermit,
        roots: Arc<Roots>,
        job: CommandJob,
        reply: Reply<CommandRan>,
    ) {
        let CommandJob { command, cwd, call, background, bounds } = job;
        let live = call.map(|call| self.live(call, background.as_ref().map(|run| run.printed.clone())));
        let limits = match &background {
            Some(_) => Limits { time: IN_BACKGROUND, ..Limits::of(&bounds) },
            None => Limits::of(&bounds),
        };
        let (running, guard) = (Arc::clone(&self.running), self.guard.clone());
        let environment: Vec<_> = std::env::vars_os().collect();
        let confinement = confinement(&environment, &self.places(), &bounds);
        self.runtime.spawn(async move {
            // Those in the background are counted by the engine, and keep none of the others waiting.
            let place = match &background {
                None => running.acquire_owned().await.ok(),
                Some(_) => None,
            };
            if place.is_none() && background.is_none() {
                return;
            }
            drop(waiting);
            let is_over =
                || reply.is_abandoned() || background.as_ref().is_some_and(BackgroundRun::is_stopped);
            if reply.is_abandoned() {
                return;
            }
            let directory = tokio::task::spawn_blocking(move || run::directory(&roots, &cwd)).await;
            let outcome = match directory {
                Ok(Ok(directory)) => {
                    run::run(
                        &command,
                        directory,
                        environment,
                        guard,
                        Limits { confinement, ..limits },
                        is_over,
                        live,
                    )
                    .await
                }
                Ok(Err(refused)) => Err(refused),
                Err(_) => Err(CodedError::internal()),
            };
            reply.settle(outcome);
        });
    }
}

impl WorkspaceFiles {
    /// Keeps what a write of the turn of this session is about to replace.
    fn announcer(&self, turn: Option<String>) -> impl Fn(&ReplacedFile<'_>) + Send + 'static {
        let (turns, state_dir) = (Arc::clone(&self.turns), self.places().state_dir.clone());
        move |replaced| {
            if let Some(session_id) = &turn {
                turns.writes(state_dir.as_deref(), session_id, replaced);
            }
        }
    }

    /// Work for an edit that is decided part by part.
    fn patch(&self, waiting: OwnedSemaphorePermit, roots: &Arc<Roots>, job: PatchJob, overlay: Arc<Overlay>) {
        let (roots, done) = (Arc::clone(roots), Arc::clone(&self.done));
        let report = move |news: PatchJobDone| done(FileJobDone::Patch(news));
        match job {
            PatchJob::Base { root, path, write } => self.work(waiting, move || {
                report(PatchJobDone::Base { write, outcome: read_base(&roots, root.as_deref(), &path) });
            }),
            PatchJob::Hashes { session_id, request_id, places } => self.work(waiting, move || {
                let places = places.into_iter().map(|place| looked_at(&roots, place)).collect();
                report(PatchJobDone::Hashes { session_id, request_id, places });
            }),
            PatchJob::Compare { allowed, places } => self.work(waiting, move || {
                let places = places.into_iter().map(|place| looked_at(&roots, place)).collect();
                report(PatchJobDone::Compared { allowed, outcome: Ok(places) });
            }),
            PatchJob::Change { change, write } => {
                let announce = self.announcer(change.turn.clone());
                self.work_alone(waiting, move || {
                    let outcome = change::change(&roots, &change, &overlay, &announce);
                    report(PatchJobDone::Changed { write, outcome });
                });
            }
            PatchJob::Written { answer, write } => {
                // It may be an editor's turn, for as long as that takes; one for each request that was answered.
                drop(waiting);
                self.when_answered(answer, move |outcome| {
                    FileJobDone::Patch(PatchJobDone::Written { write, outcome })
                });
            }
        }
    }
}

/// A file of an edit with what it holds now.
fn looked_at(roots: &Roots, place: PatchPlace) -> PatchPlace {
    if place.hash.is_some() {
        return place;
    }
    let found = read_base(roots, place.root.as_deref(), &place.path).ok().flatten();
    PatchPlace { hash: found.map(|found| found.hash), ..place }
}

impl Files for WorkspaceFiles {
    fn set_folders(&self, folders: &[Folder]) {
        let roots = Arc::new(Roots::open(folders));
        let mut places = self.places();
        places.roots = roots;
        places.folders = folders.to_vec();
    }

    fn real_place(&self, path: &Path) -> Option<RealPlace> {
        real_place(path)
    }

    fn identity(&self, folder: &Path) -> Option<FolderIdentity> {
        identity(folder)
    }

    fn hide(&self, secrets: &Redactor) {
        self.turns.hide(secrets.clone());
    }

    fn set_state_dir(&self, state_dir: PathBuf) {
        self.places().state_dir = Some(state_dir);
    }

    fn submit(&self, job: FileJob, overlay: Arc<Overlay>) {
        let job = match job {
            FileJob::Turn(job) => {
                let FilePlaces { roots, state_dir, .. } = &*self.places();
                let (roots, state_dir) = (Arc::clone(roots), state_dir.clone());
                return self.undo.submit(TurnWork { roots, state_dir, overlay, job });
            }
            job => job,
        };
        let Ok(waiting) = Arc::clone(&self.waiting).try_acquire_many_owned(weight(&job)) else {
            refuse(job, &*self.done);
            return;
        };
        let roots = Arc::clone(&self.places().roots);
        match job {
            FileJob::List { params, reply } => {
                self.answer(waiting, reply, move |reply| list(&roots, &params, || reply.is_abandoned()));
            }
            FileJob::Snippet { params, reply } => {
                self.answer(waiting, reply, move |_| snippet(&roots, &params, &overlay));
            }
            FileJob::StoreAttachment { session_id, name, mime, uri, base64, reply } => {
                let state_dir = self.places().state_dir.clone();
                self.work_for_the_loop(waiting, move || {
                    let offer = Offer { name, mime, uri, base64 };
                    let outcome = store(&roots, state_dir.as_deref(), offer);
                    FileJobDone::Stored { session_id, outcome, reply }
                });
            }
            FileJob::Write { turn, root, path, base_hash, text, reply } => {
                let announce = self.announcer(turn);
                self.answer_alone(waiting, reply, move || {
                    write(&roots, root.as_deref(), &path, base_hash.as_deref(), &text, &announce)
                });
            }
            FileJob::Read { root, path, edit } => self.work_for_the_loop(waiting, move || {
                FileJobDone::Read { edit, outcome: read(&roots, root.as_deref(), &path) }
            }),
            FileJob::Patch(job) => self.patch(waiting, &roots, job, overlay),
            FileJob::Change { change, reply } => {
                let announce = self.announcer(change.turn.clone());
                self.answer_alone(waiting, reply, move || {
                    change::change(&roots, &change, &overlay, &announce)
                });
            }
            FileJob::ReadText { path, line, limit, reply } => {
                self.answer(waiting, reply, move |_| read_text(&roots, &overlay, &path, line, limit));
            }
            FileJob::Diff(job) => self.work(waiting, move || diff(&roots, &overlay, *job)),
            FileJob::Spec(job) => {
                let state_dir = self.places().state_dir.clone();
                self.work_for_the_loop(waiting, move || {
                    FileJobDone::Spec(spec_files(&roots, state_dir.as_deref(), job))
                });
            }
            FileJob::Context(job) => {
                // It waits for an editor and for git, for a second at most.
                drop(waiting);
                self.gather(*job, overlay);
            }
            FileJob::Paths { wanted } => {
                self.work_for_the_loop(waiting, move || FileJobDone::Paths { wanted, paths: paths(&roots) });
            }
            FileJob::Symbols(wanted) => self.symbols(waiting, *wanted, overlay),
            FileJob::DropArtifacts { folder } => self.work(waiting, move || drop_artifacts(&folder)),
            FileJob::Run { command, cwd, call, background, bounds, reply } => {
                self.run(waiting, roots, CommandJob { command, cwd, call, background, bounds }, reply);
            }
            FileJob::TurnWritten { answer, revert, named, index } => {
                drop(waiting);
                self.when_answered(answer, move |outcome| FileJobDone::TurnWritten {
                    revert,
                    named,
                    index,
                    outcome,
                });
            }
            FileJob::UndoAwaited { client, answer } => {
                drop(waiting);
                self.when_answered(answer, move |outcome| FileJobDone::UndoCame { client, outcome });
            }
            // Taken above: it waits for nothing here.
            FileJob::Turn(_) => {}
        }
    }
}

/// The files that commands see and change, as the user set it.
fn confinement(
    environment: &[(OsString, OsString)],
    places: &FilePlaces,
    bounds: &CommandBounds,
) -> Option<Confinement> {
    if bounds.confinement == CommandConfinement::Off {
        return None;
    }
    let variable = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| PathBuf::from(value)).filter(|value| !value.as_os_str().is_empty())
    };
    Some(Confinement::of(&CommandSurroundings {
        variable: &variable,
        roots: places.folders.iter().filter_map(|folder| folder.path.clone()).collect(),
        own: places.state_dir.iter().cloned().collect(),
        reads: &bounds.reads,
        writes: &bounds.writes,
    }))
}

/// A command, and whose it is.
struct CommandJob {
    command: String,
    cwd: String,
    call: Option<CommandCall>,
    background: Option<BackgroundRun>,
    bounds: CommandBounds,
}

fn spec_files(roots: &Roots, state_dir: Option<&Path>, job: SpecJob) -> SpecFilesDone {
    match job {
        SpecJob::Import { uri, reply } => {
            SpecFilesDone::Imported { outcome: spec::markdown(roots, &uri), reply }
        }
        SpecJob::Preview { uris, pick } => {
            SpecFilesDone::Previewed { outcome: spec::previews(roots, &uris), pick }
        }
        SpecJob::Keep { uris, sending } => {
            SpecFilesDone::Kept { outcome: spec::keep_images(roots, state_dir, &uris), sending }
        }
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
