//! Seeded fault runs of the client of desktop hosts, in both dialects: from the simulated host through broken sockets, garbage, kills
//! and refused connections, our link, the loop and the journal, again and again.
//!
//! After each run the host's own log is held against the journal: nothing is invented, doubled or reordered, nothing is missing that
//! was not said to be, each prompt was sent once at most, and each turn has one end. `BREADBOARD_DESKTOP_FAULT_RUNS` is how many runs
//! (1,000; a seed is a dialect, a conversation, its faults and what the user does), `BREADBOARD_DESKTOP_FAULT_FROM` the first seed (1).

#[path = "../e2e/harness/mod.rs"]
mod harness;
mod plan;
mod proof;
mod user;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use plan::Plan;

/// Runs without a word.
const RUNS: u64 = 1_000;

/// Runs at the same time; each is a process that mostly waits: together they take little more than one core of this time.
const AT_ONCE: usize = 12;

/// Runs from which on every kind of fault must have been met.
const ENOUGH: u64 = 150;

#[test]
fn i14_r002_72_77_what_a_host_said_is_in_the_journal_once_in_order_or_said_to_be_missing() {
    let count = number("BREADBOARD_DESKTOP_FAULT_RUNS").unwrap_or(RUNS);
    let from = number("BREADBOARD_DESKTOP_FAULT_FROM").unwrap_or(1);
    let next = AtomicU64::new(from);
    let failed: Mutex<BTreeMap<u64, String>> = Mutex::default();
    let met: Mutex<BTreeMap<&'static str, u64>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        return;
                    }
                    let run = catch_unwind(AssertUnwindSafe(|| user::run(&Plan::of(seed))));
                    match run {
                        Ok(found) => {
                            let mut met = met.lock().unwrap();
                            found.into_iter().for_each(|what| *met.entry(what).or_default() += 1);
                        }
                        Err(why) => {
                            let text = why.downcast_ref::<String>().cloned();
                            let text =
                                text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                            failed.lock().unwrap().insert(seed, text.unwrap_or_default());
                        }
                    }
                }
            });
        }
    });
    let (failed, met) = (failed.into_inner().unwrap(), met.into_inner().unwrap());
    println!("{count} runs from seed {from}: {met:?}");
    for (seed, why) in &failed {
        println!("seed {seed} failed: {}", why.chars().take(2_000).collect::<String>());
        println!(
            "  again: BREADBOARD_DESKTOP_FAULT_FROM={seed} BREADBOARD_DESKTOP_FAULT_RUNS=1 cargo test --test desktop_faults -- --nocapture"
        );
    }
    assert_eq!(failed.keys().collect::<Vec<_>>(), Vec::<&u64>::new(), "runs failed");
    if count >= ENOUGH {
        for kind in ["cut", "garbage", "kill", "refuse", "stop", "ask", "gap", "whole"] {
            assert!(met.get(kind).is_some_and(|times| *times > 0), "no run met `{kind}`");
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")))
}
