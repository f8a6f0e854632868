//! What goes wrong on a stream on purpose: which faults, how often, and the bytes they make.
//!
//! Seeded: session, connection and event number decide, so the same requests meet the same faults. Each session has a
//! budget, so that every run comes to its end. With two streams of one session open at once, which of them spends the
//! budget first is a matter of time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;

use super::chance::chance;
use super::engine::SimulatedEngine;
use super::log::Logged;
use super::session::SimulatedSession;
use super::stream::{Out, framed};

/// How long an event that was held back waits for another to swap places with.
const SWAP_PATIENCE: Duration = Duration::from_millis(50);
/// Pieces that a split frame falls into at most: enough to meet every boundary, few enough for a large frame.
const MOST_PIECES: usize = 24;
/// What stands between two events as garbage. None of it is an event, and each line is fit for the stream: a client
/// ignores the comments and unknown fields, and reports or ignores the data it cannot read.
const GARBAGE: [&str; 8] = [
    ": a comment\n\n",
    "retry: 10\n\n",
    "colour: blue\n\n",
    "data: {\"seq\":\n\n",
    "data: []\n\n",
    "data: not json\n\n",
    "data: {\"type\":\"warning\",\"payload\":{\"message\":\"no number\"}}\n\n",
    "data\n\n",
];

/// Faults and how likely each is for one event, from 0 to 1. All zero: none.
#[derive(Debug, Clone, PartialEq)]
pub struct Faults {
    /// The event is not written on this connection; the log keeps it.
    pub drop: f64,
    /// It is written twice.
    pub dup: f64,
    /// It swaps places with the next one, if that comes soon.
    pub reorder: f64,
    /// A pause before it.
    pub stall: f64,
    /// The connection breaks in the middle of its frame.
    pub cut: f64,
    /// Its frame is written in small pieces.
    pub split: f64,
    /// A line before it that is no event.
    pub garbage: f64,
    /// A frame of `oversize_mib` before it, valid JSON without a number.
    pub oversize: f64,
    /// The engine forgets every session and breaks every connection; at most three times in one simulator.
    pub restart: f64,
    /// The history up to it is evicted and the connection breaks: taking up again is 409.
    pub gone409: f64,
    /// How many faults one session suffers at most.
    pub budget: u32,
    /// How long a stall is, in milliseconds.
    pub stall_ms: u64,
    /// How large an oversized frame is, in MiB.
    pub oversize_mib: usize,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            drop: 0.0,
            dup: 0.0,
            reorder: 0.0,
            stall: 0.0,
            cut: 0.0,
            split: 0.0,
            garbage: 0.0,
            oversize: 0.0,
            restart: 0.0,
            gone409: 0.0,
            budget: 20,
            stall_ms: 300,
            oversize_mib: 20,
        }
    }
}

/// The kinds, in the order in which they are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InjectedFault {
    Restart,
    Gone409,
    Cut,
    Drop,
    Dup,
    Reorder,
    Stall,
    Split,
    Garbage,
    Oversize,
}

impl Faults {
    /// Reads `name=value,…`; nothing is no faults.
    ///
    /// # Errors
    /// A sentence that names what is wrong.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        for pair in list.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let slot = match name {
                "budget" => {
                    faults.budget = whole(name, value, u32::MAX.into())?.try_into().unwrap_or(u32::MAX);
                    continue;
                }
                "stall_ms" => {
                    faults.stall_ms = whole(name, value, 3_600_000)?;
                    continue;
                }
                "oversize_mib" => {
                    faults.oversize_mib = whole(name, value, 512)?.try_into().unwrap_or(512);
                    continue;
                }
                "drop" => &mut faults.drop,
                "dup" => &mut faults.dup,
                "reorder" => &mut faults.reorder,
                "stall" => &mut faults.stall,
                "cut" => &mut faults.cut,
                "split" => &mut faults.split,
                "garbage" => &mut faults.garbage,
                "oversize" => &mut faults.oversize,
                "restart" => &mut faults.restart,
                "gone409" => &mut faults.gone409,
                _ => {
                    return Err(format!(
                        "`{name}` is no fault; drop, dup, reorder, stall, cut, split, garbage, oversize, restart, gone409, \
                         budget, stall_ms and oversize_mib are."
                    ));
                }
            };
            let probability = value.parse().ok().filter(|value| (0.0..=1.0).contains(value));
            *slot = probability
                .ok_or_else(|| format!("`{pair}`: a probability is a number from 0 to 1; give one."))?;
        }
        Ok(faults)
    }

    fn any(&self) -> bool {
        self.likely().iter().any(|(_, probability)| *probability > 0.0)
    }

    fn likely(&self) -> [(InjectedFault, f64); 10] {
        [
            (InjectedFault::Restart, self.restart),
            (InjectedFault::Gone409, self.gone409),
            (InjectedFault::Cut, self.cut),
            (InjectedFault::Drop, self.drop),
            (InjectedFault::Dup, self.dup),
            (InjectedFault::Reorder, self.reorder),
            (InjectedFault::Stall, self.stall),
            (InjectedFault::Split, self.split),
            (InjectedFault::Garbage, self.garbage),
            (InjectedFault::Oversize, self.oversize),
        ]
    }

    /// The fault that meets an event. Every kind is drawn each time, so that one probability does not move the others.
    fn draw(&self, chance: &mut Rng) -> Option<InjectedFault> {
        let mut drawn = None;
        for (fault, probability) in self.likely() {
            if chance.f64() < probability && drawn.is_none() {
                drawn = Some(fault);
            }
        }
        drawn
    }
}

fn whole(name: &str, value: &str, most: u64) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("`{name}={value}`: it is a whole number up to {most}; give one."))
}

impl InjectedFault {
    fn name(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Gone409 => "gone409",
            Self::Cut => "cut",
            Self::Drop => "drop",
            Self::Dup => "dup",
            Self::Reorder => "reorder",
            Self::Stall => "stall",
            Self::Split => "split",
            Self::Garbage => "garbage",
            Self::Oversize => "oversize",
        }
    }
}

/// The faults of one connection.
pub(super) struct Mischief {
    engine: Arc<SimulatedEngine>,
    connection: u64,
    active: bool,
    /// An event that waits for the next one.
    held: Vec<Out>,
}

impl Mischief {
    /// The faults of a session's `connection`-th stream.
    pub(super) fn new(engine: &Arc<SimulatedEngine>, connection: u64) -> Self {
        let active = engine.options.faults.any();
        Self { engine: Arc::clone(engine), connection, active, held: Vec::new() }
    }

    /// How long to wait for an event that the one held back could swap places with.
    pub(super) fn patience(&self) -> Option<Duration> {
        (!self.held.is_empty()).then_some(SWAP_PATIENCE)
    }

    /// Says what was held back.
    pub(super) fn give_up(&mut self, out: &mut VecDeque<Out>) {
        out.extend(self.held.drain(..));
    }

    /// Says an event, or something else.
    pub(super) fn pass(&mut self, session: &SimulatedSession, event: &Logged, out: &mut VecDeque<Out>) {
        if !self.active {
            out.extend(framed(event).map(Out::Bytes));
            return;
        }
        let faults = &self.engine.options.faults;
        let mut chance = chance(&[self.engine.options.seed, session.ordinal, self.connection, event.seq]);
        // One event is held back at a time.
        let fitting = |fault: &InjectedFault| *fault != InjectedFault::Reorder || self.held.is_empty();
        let fault = faults.draw(&mut chance).filter(fitting).filter(|_| spend(session));
        if fault == Some(InjectedFault::Reorder) {
            self.engine.met(InjectedFault::Reorder.name());
            self.held.extend(framed(event).map(Out::Bytes));
            return;
        }
        if let Some(fault) = fault {
            self.engine.met(fault.name());
        }
        out.extend(broken(fault, session, event, faults, &mut chance));
        self.give_up(out);
    }
}

/// Takes one from the budget of the session.
fn spend(session: &SimulatedSession) -> bool {
    let mut state = session.state();
    let left = state.fault_budget;
    state.fault_budget = left.saturating_sub(1);
    left > 0
}

/// What is said instead of the plain frame.
fn broken(
    fault: Option<InjectedFault>,
    session: &SimulatedSession,
    event: &Logged,
    faults: &Faults,
    chance: &mut Rng,
) -> Vec<Out> {
    let plain = framed(event).map(Out::Bytes);
    let before = |first: Out| {
        let mut all = vec![first];
        all.extend(framed(event).map(Out::Bytes));
        all
    };
    match fault {
        None | Some(InjectedFault::Reorder) => plain.into(),
        Some(InjectedFault::Drop) => Vec::new(),
        Some(InjectedFault::Dup) => plain.into_iter().chain(framed(event).map(Out::Bytes)).collect(),
        Some(InjectedFault::Stall) => before(Out::Pause(Duration::from_millis(faults.stall_ms))),
        Some(InjectedFault::Restart) => before(Out::Restart),
        Some(InjectedFault::Garbage) => {
            let garbage = chance.choice(GARBAGE).unwrap_or_default();
            before(Out::Bytes(Bytes::from_static(garbage.as_bytes())))
        }
        Some(InjectedFault::Oversize) => {
            let head = "data: {\"type\":\"oversize\",\"payload\":{\"pad\":\"";
            let frame = format!("{head}{}\"}}}}\n\n", "o".repeat(faults.oversize_mib * 1024 * 1024));
            before(Out::Bytes(Bytes::from(frame)))
        }
        Some(InjectedFault::Split) => {
            let whole = framed(event).concat();
            let most = MOST_PIECES.min(whole.len());
            let mut ends: Vec<usize> = (0..most)
                // Half of the boundaries lie in the first bytes, where the fields begin.
                .map(|at| chance.usize(..if at % 2 == 0 { 32 } else { whole.len() }))
                .chain([0, whole.len()])
                .filter(|end| *end <= whole.len())
                .collect();
            ends.sort_unstable();
            ends.dedup();
            let pieces = ends.iter().zip(ends.iter().skip(1));
            pieces
                .filter_map(|(from, to)| Some(Out::Bytes(Bytes::copy_from_slice(whole.get(*from..*to)?))))
                .collect()
        }
        Some(InjectedFault::Cut) => {
            let whole = framed(event).concat();
            let end = chance.usize(..whole.len().max(1));
            vec![Out::Bytes(Bytes::copy_from_slice(whole.get(..end).unwrap_or_default())), Out::Cut]
        }
        Some(InjectedFault::Gone409) => {
            // Either the client's own number is gone although nothing is lost, or this event is lost for good.
            let up_to = if chance.bool() { event.seq } else { event.seq.saturating_sub(1) };
            let log = &mut session.state().log;
            // Only newer events push old ones out, so the newest is always there.
            let newest = log.head();
            log.evict(up_to.min(newest.saturating_sub(1)));
            vec![Out::Cut]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_faults_is_read_and_a_wrong_one_refused() {
        let expected =
            Faults { drop: 0.05, gone409: 1.0, budget: 3, stall_ms: 7, oversize_mib: 2, ..Faults::default() };
        assert_eq!(Faults::parse("drop=0.05, gone409=1,budget=3,stall_ms=7,oversize_mib=2"), Ok(expected));
        assert_eq!(Faults::parse(""), Ok(Faults::default()));
        for (list, words) in [
            ("typo=1", "`typo` is no fault"),
            ("drop=2", "`drop=2`: a probability"),
            ("drop", "`drop`: a probability"),
            ("dup=NaN", "`dup=NaN`: a probability"),
            ("budget=-1", "`budget=-1`: it is a whole number"),
            ("oversize_mib=513", "up to 512"),
        ] {
            assert!(Faults::parse(list).is_err_and(|sentence| sentence.contains(words)), "{list}");
        }
    }

    #[test]
    fn the_same_event_meets_the_same_fault_and_a_probability_moves_no_other() {
        let drawn = |faults: &Faults, seed: u64| {
            (1..200).map(|seq| faults.draw(&mut chance(&[seed, 1, 1, seq]))).collect::<Vec<_>>()
        };
        let faults = Faults::parse("drop=0.1,dup=0.1,garbage=0.1").unwrap();
        assert_eq!(drawn(&faults, 4), drawn(&faults, 4));
        assert_ne!(drawn(&faults, 4), drawn(&faults, 5));
        let fewer = Faults { garbage: 0.0, ..faults.clone() };
        let without = |found: Vec<Option<InjectedFault>>| {
            found
                .into_iter()
                .map(|fault| fault.filter(|fault| *fault != InjectedFault::Garbage))
                .collect::<Vec<_>>()
        };
        assert_eq!(without(drawn(&faults, 4)), drawn(&fewer, 4));
    }
}
