//! One tree of processes under the overseer's eye: how its guardians stand, and how it is killed where they cannot do it.
//!
//! ```text
//!   Guarded ── told to kill at once ──▶ LeftToGuardians ── they did not ──▶ Killed ──▶ Gone
//!      └──────── a guardian is gone, stopped or silent ───────────────────────▲        ▲
//!      └──────── both ended as they do when nothing is left ──────────────────────────┘
//! ```
//!
//! Owns the killing: through the cgroup where there is one, and through `/proc` until that shows nothing of the tree any more.
//! Members are found by their parents, by the mark in their environment, and, where the server is the one that orphans fall to, by
//! being its child without being a guardian. Never waits, and never signals a process by its number alone.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid};
use tokio::sync::watch;

use super::cgroup::Cgroup;
use super::heartbeat::{Beats, HeardBeat};
use super::identity::{Identity, ProcessState, SeenProcess};
use super::tree;

/// Variable that marks a tree; every process inherits it that does not take care not to.
pub(super) const MARK: &str = "BB_GUARDED";

/// How often it is looked while nothing is wrong: the wake-ups of an idle agent.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// How long a guardian may be stopped or dead, and how soon it is looked again: who is only traced goes on meanwhile, and at the
/// usual end one guardian dies a moment before the other.
const HELD: Duration = Duration::from_millis(150);
/// How soon it is looked again at a tree that is being killed.
pub(super) const KILL_AGAIN: Duration = Duration::from_millis(20);
/// Looks without a beat until a guardian counts as silent. A machine under load delays a beat by a second or two; a guardian that
/// is stopped or gone is seen at once, so this is for one that is held in some other way.
const SILENT: u32 = 10;
/// How long guardians may take that were told to kill at once.
const AT_ONCE: Duration = Duration::from_millis(400);
/// Looks that must find nothing: a process may be forked behind the look.
const EMPTY: u32 = 2;
/// What does not die for so long cannot be ended by us: it waits in the kernel, or runs as another user.
const GIVE_UP: Duration = Duration::from_secs(10);

/// Whose children orphans become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orphans {
    /// This process's.
    FallToUs,
    /// Somebody else's.
    Elsewhere,
}

/// What the overseer knows of a tree.
pub(super) struct GuardedTree {
    number: u64,
    mark: Vec<u8>,
    outer: Identity,
    inner: Option<Identity>,
    program: Option<Identity>,
    /// Who was seen in the tree while it was killed; after the death of its parent nothing else may tell.
    seen: HashSet<Identity>,
    beats: Beats,
    cgroup: Option<Cgroup>,
    phase: GuardedPhase,
    tell: watch::Sender<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardedPhase {
    /// The guardians do their work, as far as is known.
    Guarded { held_since: Option<Instant>, silent_outer: u32, silent_inner: u32 },
    /// They were told to kill at once.
    LeftToGuardians { until: Instant },
    /// The overseer kills.
    Killed { since: Instant, empty: u32 },
    /// Nothing is left.
    Gone,
}

const HEALTHY: GuardedPhase = GuardedPhase::Guarded { held_since: None, silent_outer: 0, silent_inner: 0 };

impl GuardedTree {
    /// A tree whose outer guardian was just started with this mark, and what says that nothing is left of it.
    pub(super) fn begin(
        number: u64,
        mark: &str,
        outer: Identity,
        beats: Beats,
        cgroup: Option<Cgroup>,
    ) -> (Self, watch::Receiver<bool>) {
        let (tell, gone) = watch::channel(false);
        let tree = Self {
            number,
            mark: tree::entry(MARK, mark.as_ref()),
            outer,
            inner: None,
            program: None,
            seen: HashSet::new(),
            beats,
            cgroup,
            phase: HEALTHY,
            tell,
        };
        (tree, gone)
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn phase(&self) -> GuardedPhase {
        self.phase
    }

    /// The inner guardian said who it is.
    pub(super) fn guarded_by(&mut self, inner: Option<Identity>) {
        self.inner = inner;
    }

    /// The program runs.
    pub(super) fn runs(&mut self, program: Option<Identity>) {
        self.program = program;
    }

    /// Guardians that are stopped are told to go on.
    pub(super) fn wake_guardians(&self) {
        for guardian in [Some(self.outer), self.inner].into_iter().flatten() {
            if guardian.state() == ProcessState::Stopped {
                guardian.signal(Signal::CONT);
            }
        }
    }

    /// Both guardians have ended as they do when nothing is left.
    pub(super) fn ended_well(&mut self) {
        if !self.is_being_killed() {
            self.phase = GuardedPhase::Gone;
        }
    }

    /// Its guardians were told to kill at once.
    pub(super) fn leave_to_guardians(&mut self) {
        if matches!(self.phase, GuardedPhase::Guarded { .. }) {
            self.phase = GuardedPhase::LeftToGuardians { until: Instant::now() + AT_ONCE };
        }
    }

    pub(super) fn is_being_killed(&self) -> bool {
        matches!(self.phase, GuardedPhase::Killed { .. })
    }

    /// Whether nothing is left of it; whoever waits for that hears it, and its cgroup goes.
    pub(super) fn tells_that_it_is_gone(&self) -> bool {
        let is_gone = self.phase == GuardedPhase::Gone;
        if is_gone {
            if let Some(cgroup) = &self.cgroup {
                cgroup.remove();
            }
            self.tell.send_replace(true);
        }
        is_gone
    }

    /// How soon it is to be looked at.
    pub(super) fn next_look(&self) -> Duration {
        match self.phase {
            GuardedPhase::Guarded { held_since: None, .. } => LOOK,
            GuardedPhase::Guarded { held_since: Some(_), .. } => HELD,
            GuardedPhase::LeftToGuardians { .. } | GuardedPhase::Killed { .. } => KILL_AGAIN,
            GuardedPhase::Gone => Duration::ZERO,
        }
    }

    /// Whether a guardian cannot do its work.
    pub(super) fn is_unguarded(&self) -> bool {
        let guardians = [Some(self.outer), self.inner].into_iter().flatten();
        guardians.map(Identity::state).any(|state| state != ProcessState::Alive)
    }

    /// The overseer kills it from now on.
    pub(super) fn kill_from_now(&mut self) {
        if !matches!(self.phase, GuardedPhase::Killed { .. } | GuardedPhase::Gone) {
            self.phase = GuardedPhase::Killed { since: Instant::now(), empty: 0 };
        }
    }

    /// One look at its guardians.
    pub(super) fn look(&mut self, beats_are_due: bool) {
        match self.phase {
            GuardedPhase::Killed { .. } | GuardedPhase::Gone => {}
            GuardedPhase::LeftToGuardians { until } => {
                let is_left = [Some(self.outer), self.inner, self.program]
                    .into_iter()
                    .flatten()
                    .any(|one| one.state() != ProcessState::Dead);
                if !is_left || Instant::now() >= until {
                    self.kill_from_now();
                }
            }
            GuardedPhase::Guarded { held_since, silent_outer, silent_inner } => {
                let states = [Some(self.outer), self.inner].map(|one| one.map(Identity::state));
                let heard = self.beats.take();
                let is_held = states.into_iter().flatten().any(|state| state != ProcessState::Alive);
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
                self.phase = GuardedPhase::Guarded { held_since, silent_outer, silent_inner };
            }
        }
    }

    /// Kills all that can be seen of it. Guardians come last: while one lives, orphans fall to it and are found there.
    pub(super) fn kill(&mut self, guardians: &HashSet<i32>, orphans: Orphans) {
        let GuardedPhase::Killed { since, empty } = self.phase else { return };
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        let ours = getpid().as_raw_pid();
        let adopts = orphans == Orphans::FallToUs;
        let all = SeenProcess::all();
        let alive = tree::members(&all, |seen| {
            let one = seen.identity;
            let is_known = one == self.outer || Some(one) == self.inner || Some(one) == self.program;
            let is_orphan = adopts && seen.parent == ours && !guardians.contains(&one.pid);
            is_known || is_orphan || self.seen.contains(&one) || tree::is_marked(one.pid, &self.mark)
        });
        let alive: Vec<SeenProcess> =
            alive.into_iter().filter(|seen| seen.state != ProcessState::Dead).collect();
        let is_guardian = |one: Identity| one == self.outer || Some(one) == self.inner;
        let (guards, rest): (Vec<SeenProcess>, Vec<SeenProcess>) =
            alive.iter().partition(|seen| is_guardian(seen.identity));
        for seen in if rest.is_empty() { &guards } else { &rest } {
            if seen.state == ProcessState::Stopped {
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
            self.phase = GuardedPhase::Gone;
        } else if since.elapsed() > GIVE_UP {
            tracing::warn!(left = alive.len(), "some processes cannot be ended; end them by hand");
            self.phase = GuardedPhase::Gone;
        } else {
            self.phase = GuardedPhase::Killed { since, empty };
        }
    }
}

/// Looks without a beat, of the outer and the inner guardian.
fn silence(heard: HeardBeat, is_due: bool, has_inner: bool, (outer, inner): (u32, u32)) -> (u32, u32) {
    let count = |heard: bool, before: u32| match (heard, is_due) {
        (true, _) => 0,
        (false, true) => before + 1,
        (false, false) => before,
    };
    (count(heard.outer, outer), if has_inner { count(heard.inner, inner) } else { 0 })
}
