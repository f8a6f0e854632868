//! The server's own eye on every tree of processes that it started: a guardian that is gone, stopped or silent is not waited for.
//!
//! Owns one thread, which looks once a second while something runs and sleeps otherwise, and the killing of a tree whose guardians
//! cannot do it: through the cgroup where there is one, and through `/proc` until that shows nothing of the tree any more. Members
//! are found by their parents, by the mark in their environment, and, where the server is the one that orphans fall to, by being
//! its child without being a guardian. Never reads a stream of a program, and never signals a process by its number alone.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, set_child_subreaper, waitpid};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::cgroup::Cgroup;
use super::heartbeat::{self, Beats, Heard};
use super::identity::{Identity, Seen, State};
use super::{Hold, tree};

/// Variable that marks a tree; every process inherits it that does not take care not to.
const MARK: &str = "BB_GUARDED";

/// How often it is looked while nothing is wrong: the wake-ups of an idle agent.
const LOOK: Duration = Duration::from_secs(1);
/// How long a guardian may be stopped or dead, and how soon it is looked again: who is only traced goes on meanwhile, and at the
/// usual end one guardian dies a moment before the other.
const HELD: Duration = Duration::from_millis(150);
/// How soon it is looked again at a tree that is being killed.
const KILL_AGAIN: Duration = Duration::from_millis(20);
/// Looks without a beat until a guardian counts as silent. A machine under load delays a beat by a second or two; a guardian that
/// is stopped or gone is seen at once, so this is for one that is held in some other way.
const SILENT: u32 = 10;
/// How long guardians may take that were told to kill at once.
const AT_ONCE: Duration = Duration::from_millis(400);
/// Looks that must find nothing: a process may be forked behind the look.
const EMPTY: u32 = 2;
/// What does not die for so long cannot be ended by us: it waits in the kernel, or runs as another user.
const GIVE_UP: Duration = Duration::from_secs(10);

/// One tree under the overseer's eye, as who started it sees it. Dropped, the tree is looked after until it is gone.
#[derive(Debug)]
pub(super) struct Oversight {
    number: u64,
    outer: Identity,
    gone: watch::Receiver<bool>,
}

/// What the overseer knows of a tree.
struct Tree {
    number: u64,
    mark: Vec<u8>,
    outer: Identity,
    inner: Option<Identity>,
    program: Option<Identity>,
    /// Who was seen in the tree while it was killed; after the death of its parent nothing else may tell.
    seen: HashSet<Identity>,
    beats: Beats,
    cgroup: Option<Cgroup>,
    phase: Phase,
    tell: watch::Sender<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The guardians do their work, as far as is known.
    Guarded { held_since: Option<Instant>, silent_outer: u32, silent_inner: u32 },
    /// They were told to kill at once.
    LeftToGuardians { until: Instant },
    /// The overseer kills.
    Killed { since: Instant, empty: u32 },
    /// Nothing is left.
    Gone,
}

const HEALTHY: Phase = Phase::Guarded { held_since: None, silent_outer: 0, silent_inner: 0 };

#[derive(Default)]
struct Trees {
    all: Vec<Tree>,
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
    while trees.all.iter().any(|tree| matches!(tree.phase, Phase::Killed { .. })) {
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
        let (tell, gone) = watch::channel(false);
        trees.started += 1;
        let number = trees.started;
        trees.guardians.insert(outer.pid);
        trees.all.push(Tree {
            number,
            mark: format!("{MARK}={mark}").into_bytes(),
            outer,
            inner: None,
            program: None,
            seen: HashSet::new(),
            beats,
            cgroup,
            phase: HEALTHY,
            tell,
        });
        drop(trees);
        overseer.changed.notify_all();
        Ok((Oversight { number, outer, gone }, guardian))
    }
}

impl Oversight {
    /// The inner guardian said who it is.
    pub(super) fn guarded_by(&self, pid: i32) {
        self.tree(|tree| tree.inner = Identity::of(pid));
    }

    /// The program runs.
    pub(super) fn runs(&self, pid: i32) {
        self.tree(|tree| tree.program = Identity::of(pid));
    }

    /// Whether both guardians can do their work. One that is stopped is told to go on, for the next time.
    pub(super) fn is_guarded(&self) -> bool {
        let mut is_guarded = true;
        self.tree(|tree| {
            is_guarded = !tree.is_unguarded();
            for guardian in [Some(tree.outer), tree.inner].into_iter().flatten() {
                if guardian.state() == State::Stopped {
                    guardian.signal(Signal::CONT);
                }
            }
        });
        is_guarded
    }

    /// Kills the tree from now on; `gone` says when nothing is left.
    pub(super) fn kill(&self) {
        self.tree(Tree::kill_from_now);
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
        self.tree(|tree| {
            if !matches!(tree.phase, Phase::Killed { .. }) {
                tree.phase = Phase::Gone;
            }
        });
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
            if let Some(tree) = trees.find(self.number)
                && matches!(tree.phase, Phase::Guarded { .. })
            {
                tree.phase = Phase::LeftToGuardians { until: Instant::now() + AT_ONCE };
            }
        }
        overseer.changed.notify_all();
    }

    fn tree(&self, act: impl FnOnce(&mut Tree)) {
        let Some(overseer) = RUNNING.get() else { return };
        let mut trees = overseer.trees();
        let before = trees.find(self.number).map(|tree| tree.phase);
        if let Some(tree) = trees.find(self.number) {
            act(tree);
        }
        let is_changed = trees.find(self.number).map(|tree| tree.phase) != before;
        drop(trees);
        if is_changed {
            overseer.changed.notify_all();
        }
    }
}

impl Trees {
    fn find(&mut self, number: u64) -> Option<&mut Tree> {
        self.all.iter_mut().find(|tree| tree.number == number)
    }

    fn next_look(&self) -> Option<Duration> {
        let of_tree = |tree: &Tree| match tree.phase {
            Phase::Guarded { held_since: None, .. } => LOOK,
            Phase::Guarded { held_since: Some(_), .. } => HELD,
            Phase::LeftToGuardians { .. } | Phase::Killed { .. } => KILL_AGAIN,
            Phase::Gone => Duration::ZERO,
        };
        let unburied = (!self.left.is_empty()).then_some(KILL_AGAIN);
        self.all.iter().map(of_tree).chain(unburied).min()
    }

    /// One look at everything.
    fn look(&mut self, beats_are_due: bool) {
        for tree in &mut self.all {
            tree.look(beats_are_due);
        }
        self.bury();
        let killed = |tree: &Tree| matches!(tree.phase, Phase::Killed { .. });
        if self.all.iter().any(killed) {
            let guardians = &self.guardians;
            for tree in self.all.iter_mut().filter(|tree| killed(tree)) {
                tree.kill(guardians);
            }
            self.bury_orphans();
        }
        self.all.retain(|tree| {
            let is_gone = tree.phase == Phase::Gone;
            if is_gone {
                if let Some(cgroup) = &tree.cgroup {
                    cgroup.remove();
                }
                tree.tell.send_replace(true);
            }
            !is_gone
        });
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

impl Tree {
    fn is_unguarded(&self) -> bool {
        let guardians = [Some(self.outer), self.inner].into_iter().flatten();
        guardians.map(Identity::state).any(|state| state != State::Alive)
    }

    fn kill_from_now(&mut self) {
        if !matches!(self.phase, Phase::Killed { .. } | Phase::Gone) {
            self.phase = Phase::Killed { since: Instant::now(), empty: 0 };
        }
    }

    fn look(&mut self, beats_are_due: bool) {
        match self.phase {
            Phase::Killed { .. } | Phase::Gone => {}
            Phase::LeftToGuardians { until } => {
                let is_left = [Some(self.outer), self.inner, self.program]
                    .into_iter()
                    .flatten()
                    .any(|one| one.state() != State::Dead);
                if !is_left || Instant::now() >= until {
                    self.kill_from_now();
                }
            }
            Phase::Guarded { held_since, silent_outer, silent_inner } => {
                let states = [Some(self.outer), self.inner].map(|one| one.map(Identity::state));
                let heard = self.beats.take();
                let is_held = states.into_iter().flatten().any(|state| state != State::Alive);
                let held_since = is_held.then(|| held_since.unwrap_or_else(Instant::now));
                let is_held = held_since.is_some_and(|since| since.elapsed() >= HELD);
                let (silent_outer, silent_inner) =
                    silence(heard, beats_are_due, self.inner.is_some(), (silent_outer, silent_inner));
                if is_held || silent_outer >= SILENT || silent_inner >= SILENT {
                    tracing::warn!(
                        pid = self.outer.pid,
                        "a guardian was killed or stopped, so the server ends what it guarded"
                    );
                    return self.kill_from_now();
                }
                self.phase = Phase::Guarded { held_since, silent_outer, silent_inner };
            }
        }
    }

    /// Kills all that can be seen of it. Guardians come last: while one lives, orphans fall to it and are found there.
    fn kill(&mut self, guardians: &HashSet<i32>) {
        let Phase::Killed { since, empty } = self.phase else { return };
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        let ours = getpid().as_raw_pid();
        let adopts = ADOPTS.load(Ordering::Relaxed);
        let all = Seen::all();
        let alive = tree::members(&all, |seen| {
            let one = seen.identity;
            let is_known = one == self.outer || Some(one) == self.inner || Some(one) == self.program;
            let is_orphan = adopts && seen.parent == ours && !guardians.contains(&one.pid);
            is_known || is_orphan || self.seen.contains(&one) || self.has_mark(one.pid)
        });
        let alive: Vec<Seen> = alive.into_iter().filter(|seen| seen.state != State::Dead).collect();
        let is_guardian = |one: Identity| one == self.outer || Some(one) == self.inner;
        let (guards, rest): (Vec<Seen>, Vec<Seen>) =
            alive.iter().partition(|seen| is_guardian(seen.identity));
        for seen in if rest.is_empty() { &guards } else { &rest } {
            if seen.state == State::Stopped {
                seen.identity.signal(Signal::CONT);
            }
            seen.identity.signal(Signal::KILL);
        }
        self.seen.extend(rest.iter().map(|seen| seen.identity));
        if adopts {
            tree::kill_orphans(guardians);
        }
        let empty = if alive.is_empty() { empty + 1 } else { 0 };
        if empty >= EMPTY {
            self.phase = Phase::Gone;
        } else if since.elapsed() > GIVE_UP {
            tracing::warn!(left = alive.len(), "some processes cannot be ended; end them by hand");
            self.phase = Phase::Gone;
        } else {
            self.phase = Phase::Killed { since, empty };
        }
    }

    /// Whether the environment that a process began with has the mark. That of another user cannot be read.
    fn has_mark(&self, pid: i32) -> bool {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|one| one == self.mark))
    }
}

/// Looks without a beat, of the outer and the inner guardian.
fn silence(heard: Heard, is_due: bool, has_inner: bool, (outer, inner): (u32, u32)) -> (u32, u32) {
    let count = |heard: bool, before: u32| match (heard, is_due) {
        (true, _) => 0,
        (false, true) => before + 1,
        (false, false) => before,
    };
    (count(heard.outer, outer), if has_inner { count(heard.inner, inner) } else { 0 })
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
