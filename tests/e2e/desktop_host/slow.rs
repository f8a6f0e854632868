//! A client that does not read: what it costs, what it hears of it, and what the others notice.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Host, hello, prompt};
use crate::model::{Model, says};

/// Bytes that the process has in memory.
#[cfg(target_os = "linux")]
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") << 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_stalled_client_is_warned_before_anything_blocks_gets_a_snapshot_and_holds_nobody_up() {
    // Given two clients of a session, of which one stops to read after its handshake
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let mut reads = host.client(&session, "reads");
    let mut stalled = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    stalled.say(&hello("stalled"));
    stalled.wait("session.state");
    let before = resident(host.child.id());
    // When much more is said than any queue holds
    let mut longest = Duration::ZERO;
    for turn in 0..16 {
        let answer = format!("{turn} {}", "many words ".repeat(40_000));
        model.then(says(&answer));
        let begun = Instant::now();
        reads.say(&prompt("go on"));
        let end = reads.wait("assistant.message_final");
        longest = longest.max(begun.elapsed());
        let said = end["message"].as_str().expect("text");
        assert!(
            said.trim_end() == answer.trim_end(),
            "turn {turn}: {} bytes of {}",
            said.len(),
            answer.len()
        );
        reads.heard.clear();
    }
    // Then the other one had everything, and the host holds no more than its bounds for the stalled one
    let grown = resident(host.child.id()).saturating_sub(before);
    assert!(grown < 160 << 20, "{} MiB more", grown >> 20);
    println!("longest turn {longest:?}, {} MiB more", grown >> 20);
    // And when it reads again, it was warned before anything that could have blocked, and is told what replaces the rest
    let mut bytes = 0;
    let warned_after = loop {
        let message = stalled.next().expect("alive");
        if message["code"] == "slow_client" {
            break bytes;
        }
        assert_ne!(message["reason"], "behind", "a snapshot came before the warning");
        bytes += message.to_string().len();
    };
    // A window, and what one message of the loop says: of two turns at most, each of them told whole three times.
    assert!(warned_after < 4 << 20, "the warning stood behind {warned_after} bytes");
    let snapshot = stalled.wait_for("session.snapshot", |message| message["reason"] == "behind");
    let newest = snapshot["messages"].as_array().expect("messages").last().expect("an entry");
    assert!(newest["content"].as_str().expect("text").starts_with("15 "), "{newest:.200}");
    let state: Value = stalled.wait("session.state");
    assert_eq!(state["state"]["running"], false);
}
