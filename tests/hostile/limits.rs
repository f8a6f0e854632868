//! What no attack may exceed: the server's memory, the time until another session is answered, and the number of tries.
#![allow(dead_code)]

use std::time::Duration;

use serde_json::json;

use crate::harness::Server;
use crate::harness::own_time::OwnTime;

/// Memory that the server may ever have taken under attack.
pub const MEMORY_KIB: u64 = 200 * 1024;

/// Longest wait of a request of another session while an attack goes on, without what the machine kept it waiting.
pub const ANSWER: Duration = Duration::from_secs(1);

/// How many attempts of a table with this many are made: a tenth by default, all with `BREADBOARD_ATTACKS=full`.
pub fn attempts(full: usize) -> usize {
    if std::env::var_os("BREADBOARD_ATTACKS").is_some_and(|word| word == "full") {
        full
    } else {
        full.div_ceil(10)
    }
}

/// The seed of a table; printed, so that a failure can be run again.
pub fn seed(table: &str) -> u64 {
    let seed =
        std::env::var("BREADBOARD_ATTACK_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_122);
    println!("{table}: seed {seed} (BREADBOARD_ATTACK_SEED)");
    seed
}

/// A small generator: the same numbers for the same seed on every machine (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

/// Asserts that the server answers a request within `ANSWER`, by its own time.
pub fn assert_answers(server: &mut Server, during: &str) {
    let mut time = OwnTime::of(server.pid());
    server.ask("bb/listSessions", json!({}));
    let took = time.taken();
    assert!(took <= ANSWER, "{during}: another request took {took:?}");
}

/// Asserts that a turn that goes on ends within `ANSWER` of a stop, by its own time.
pub fn assert_stops(server: &mut Server, session: &str, during: &str) {
    let mut time = OwnTime::of(server.pid());
    server.ask("bb/stop", json!({ "sessionId": session }));
    server.wait_end(session);
    let took = time.taken();
    assert!(took <= ANSWER, "{during}: the stop took {took:?}");
}

/// Asserts that the server never took more than `MEMORY_KIB`.
#[cfg(target_os = "linux")]
pub fn assert_memory(server: &Server, during: &str) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("a running server");
    let peak: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .expect("VmHWM");
    assert!(peak <= MEMORY_KIB, "{during}: the server took {peak} KiB");
}
