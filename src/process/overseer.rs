//! The server's own eye on every tree of processes that it started: a guardian that is gone, stopped or silent is not waited for.
//!
//! Owns one thread, which looks once a second while something runs and sleeps otherwise, and the guardians that are to be buried.
//! How one tree stands, and how it is killed: `guarded_tree`. Never reads a stream of a program, and never signals a process.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::cgroup::Cgroup;
use super::guarded_tree::{GuardedTree, KILL_AGAIN, LOOK, MARK, Orphans};
use super::heartbeat::{self, Beats};
use super::identity::Identity;
use super::{Hold, tree};

/// One tree under the overseer's eye, as who started it sees it. Dropped, the tree is looked after until it is gone.
#[derive(Debug)]
pub(super) struct Oversight {
    number: u64,
    outer: Identity,
    gone: watch::Receiver<bool>,
}

#[derive(Default)]
struct Trees {
    all: Vec<GuardedTree>,
    /// Outer guardians that were not buried yet: children of ours, and no orphans.
    guardians: HashSet<i32>,
    /// Those that nobody waits for any more.
    left: Vec<(i32, Child)>,
    started: u64,
}

struct Overseer {
    trees: Mutex<Trees>,
    changed: Condvar,
}

/// Whether orphans fall to this process.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Orphans whose guardians died fall to this process from now on, and are killed when it ends their tree. For a server whose only
/// children are guardians: any other orphan would be killed with them.
pub(crate) fn adopt_orphans() {
    // Without it the marks and the parents have to do.
    ADOPTS.store(set_child_subreaper(Some(getpid())).is_ok(), Ordering::Relaxed);
}

/// The last look before the process ends, which takes no longer than `most`: a tree whose guardians cannot end it is killed. The
/// others end theirs by themselves, because their control socket ends.
pub(crate) fn end_the_unguarded(most: Duration) {
    let Some(overseer) = RUNNING.get() else { return };
    let until = Instant::now() + most;
    {
        let mut trees = overseer.trees();
        for tree in &mut trees.all {
            if tree.is_unguarded() {
                tree.kill_from_now();
            }
        }
    }
    overseer.changed.notify_all();
    let mut trees = overseer.trees();
    while trees.all.iter().any(GuardedTree::is_being_killed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        trees = overseer.changed.wait_timeout(trees, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

static RUNNING: OnceLock<Arc<Overseer>> = OnceLock::new();

/// The overseer; its thread is started with the first tree.
fn overseer() -> Arc<Overseer> {
    Arc::clone(RUNNING.get_or_init(|| {
        let overseer = Arc::new(Overseer { trees: Mutex::default(), changed: Condvar::new() });
        let eye = Arc::clone(&overseer);
        let spawned = thread::Builder::new().name("overseer".to_owned()).spawn(move || eye.watch());
        if let Err(error) = spawned {
            tracing::warn!(%error, "nobody oversees guardians; they are trusted to do their work");
        }
        overseer
    }))
}

/// A tree that is about to be started.
#[derive(Debug)]
pub(super) struct Prepared {
    beats: Beats,
    heartbeat: OwnedFd,
    cgroup: Option<Cgroup>,
}

impl Prepared {
    /// A heartbeat, and a cgroup where one is wanted and can be had.
    pub(super) fn new(hold: Hold) -> io::Result<Self> {
        let (beats, heartbeat) = heartbeat::pair()?;
        let cgroup = match hold {
            Hold::Guardians => None,
            Hold::Cgroup => Cgroup::create(),
        };
        Ok(Self { beats, heartbeat, cgroup })
    }

    /// For the guardians.
    pub(super) fn heartbeat(&self) -> BorrowedFd<'_> {
        self.heartbeat.as_fd()
    }

    /// For the guardians, where there is one.
    pub(super) fn cgroup(&self) -> Option<BorrowedFd<'_>> {
        self.cgroup.as_ref().map(|cgroup| cgroup.handle().as_fd())
    }

    /// Starts the outer guardian and looks after its tree from then on.
    pub(super) fn start(self, command: &mut Command) -> io::Result<(Oversight, Child)> {
        let Self { beats, heartbeat: _, cgroup } = self;
        let mark = uuid::Uuid::new_v4().simple().to_string();
        command.env(MARK, &mark);
        let overseer = overseer();
        // Held over the start: a child that is not known yet would be taken for an orphan.
        let mut trees = overseer.trees();
        let started = command.spawn().and_then(|guardian| {
            let pid = guardian.id().map(u32::cast_signed).unwrap_or_default();
            // It is our child and not buried, so the id is its own.
            let outer = Identity::of(pid).ok_or_else(|| io::Error::other("a guardian cannot be seen"))?;
            Ok((guardian, outer))
        });
        let (guardian, outer) = match started {
            Ok(started) => started,
            Err(error) => {
                drop(trees);
                if let Some(cgroup) = cgroup {
                    cgroup.remove();
                }
                return Err(error);
            }
        };
        trees.started += 1;
        let number = trees.started;
        trees.guardians.insert(outer.pid);
        let (tree, gone) = GuardedTree::begin(number, &mark, outer, beats, cgroup);
        trees.all.push(tree);
        drop(trees);
        overseer.changed.notify_all();
        Ok((Oversight { number, outer, gone }, guardian))
    }
}

impl Oversight {
    /// The inner guardian said who it is.
    pub(super) fn guarded_by(&self, pid: i32) {
        self.tree(|tree| tree.guarded_by(Identity::of(pid)));
    }

    /// The program runs.
    pub(super) fn runs(&self, pid: i32) {
        self.tree(|tree| tree.runs(Identity::of(pid)));
    }

    /// Whether both guardians can do their work. One that is stopped is told to go on, for the next time.
    pub(super) fn is_guarded(&self) -> bool {
        let mut is_guarded = true;
        self.tree(|tree| {
            is_guarded = !tree.is_unguarded();
            tree.wake_guardians();
        });
        is_guarded
    }

    /// Kills the tree from now on; `gone` says when nothing is left.
    pub(super) fn kill(&self) {
        self.tree(GuardedTree::kill_from_now);
    }

    /// Waits until nothing is left, as far as can be seen. May be dropped and called again.
    pub(super) fn gone(&self) -> impl Future<Output = ()> + use<> {
        let mut gone = self.gone.clone();
        async move {
            // The other end goes only after it said so.
            let _ = gone.wait_for(|gone| *gone).await;
        }
    }

    /// Both guardians have ended as they do when nothing is left.
    pub(super) fn ended_well(&self) {
        self.tree(GuardedTree::ended_well);
    }

    /// The outer guardian was buried.
    pub(super) fn buried(&self) {
        if let Some(overseer) = RUNNING.get() {
            overseer.trees().guardians.remove(&self.outer.pid);
        }
    }

    /// Nobody waits for the tree any more, and its guardians were told to kill at once: the overseer sees that they do, and
    /// buries the outer one.
    pub(super) fn leave(&self, guardian: Option<Child>) {
        let Some(overseer) = RUNNING.get() else { return };
        {
            let mut trees = overseer.trees();
            trees.left.extend(guardian.map(|guardian| (self.outer.pid, guardian)));
            if let Some(tree) = trees.find(self.number) {
                tree.leave_to_guardians();
            }
        }
        overseer.changed.notify_all();
    }

    fn tree(&self, act: impl FnOnce(&mut GuardedTree)) {
        let Some(overseer) = RUNNING.get() else { return };
        let mut trees = overseer.trees();
        let before = trees.find(self.number).map(|tree| tree.phase());
        if let Some(tree) = trees.find(self.number) {
            act(tree);
        }
        let is_changed = trees.find(self.number).map(|tree| tree.phase()) != before;
        drop(trees);
        if is_changed {
            overseer.changed.notify_all();
        }
    }
}

impl Trees {
    fn find(&mut self, number: u64) -> Option<&mut GuardedTree> {
        self.all.iter_mut().find(|tree| tree.number() == number)
    }

    fn next_look(&self) -> Option<Duration> {
        let unburied = (!self.left.is_empty()).then_some(KILL_AGAIN);
        self.all.iter().map(GuardedTree::next_look).chain(unburied).min()
    }

    /// One look at everything.
    fn look(&mut self, beats_are_due: bool) {
        for tree in &mut self.all {
            tree.look(beats_are_due);
        }
        self.bury();
        if self.all.iter().any(GuardedTree::is_being_killed) {
            let orphans = if ADOPTS.load(Ordering::Relaxed) { Orphans::FallToUs } else { Orphans::Elsewhere };
            for tree in self.all.iter_mut().filter(|tree| tree.is_being_killed()) {
                tree.kill(&self.guardians, orphans);
            }
            self.bury_orphans();
        }
        self.all.retain(|tree| !tree.tells_that_it_is_gone());
    }

    fn bury(&mut self) {
        let Self { left, guardians, .. } = self;
        left.retain_mut(|(pid, guardian)| {
            let is_buried = !matches!(guardian.try_wait(), Ok(None));
            if is_buried {
                guardians.remove(pid);
            }
            !is_buried
        });
    }

    /// Orphans that fell to this process and are dead.
    fn bury_orphans(&self) {
        if !ADOPTS.load(Ordering::Relaxed) {
            return;
        }
        for pid in tree::children().into_iter().filter(|pid| !self.guardians.contains(pid)) {
            if let Some(pid) = Pid::from_raw(pid) {
                // It may live still; then the next look comes.
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }
}

impl Overseer {
    fn trees(&self) -> MutexGuard<'_, Trees> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let mut trees = self.trees();
        let mut last_beats = Instant::now();
        loop {
            trees = match trees.next_look() {
                None => self.changed.wait(trees).unwrap_or_else(PoisonError::into_inner),
                Some(time) => {
                    self.changed.wait_timeout(trees, time).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            // After a wait that took longer than it should the whole machine stood still, the guardians too.
            let since = last_beats.elapsed();
            let is_due = since >= LOOK;
            if is_due {
                last_beats = Instant::now();
            }
            trees.look(is_due && since < 3 * LOOK);
            self.changed.notify_all();
        }
    }
}
