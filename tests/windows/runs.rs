//! Seeded runs: windows opened, closed, killed and started again in any order, with prompts and stops from any of them.
//!
//! After each step no session that was ever acknowledged is missing in a window; in the end no session has a hole, a double, or
//! two turns at the same time, and every window heard of each number what the journal has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::harness::Server;
use super::lease::{User, read};

/// Steps of a run, per window some dozen.
const STEPS: usize = 40;

/// Sessions of a run, at most: few, so that windows meet in them.
const SESSIONS: usize = 5;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap() % bound
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.below(of.len())) }
    }
}

/// What was acknowledged.
#[derive(Default)]
struct Known {
    sessions: Vec<String>,
    /// Message ids of prompts that were started, by session.
    started: BTreeMap<String, Vec<String>>,
    prompts: usize,
    /// What windows that are no more heard.
    heard: Vec<(String, Value)>,
}

#[test]
fn two_windows_in_any_order_lose_no_session_and_work_on_none_twice() {
    for seed in seeds(6) {
        run(seed, 2, STEPS);
    }
}

#[test]
fn twenty_windows_in_any_order_lose_no_session_and_work_on_none_twice() {
    for seed in seeds(1) {
        run(seed, 20, 2 * STEPS);
    }
}

fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let from = number("BREADBOARD_WINDOW_FROM").unwrap_or(1);
    from..from + number("BREADBOARD_WINDOW_RUNS").unwrap_or(usual)
}

fn run(seed: u64, count: usize, steps: usize) {
    println!("seed {seed}, {count} windows");
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (user, mut known) = (User::new(), Known::default());
    let mut windows: Vec<Option<Server>> = (0..count).map(|_| None).collect();
    windows[0] = Some(user.window());
    for step in 0..steps {
        one_step(&user, &mut random, &mut windows, &mut known, step);
        // Then any window that is open lists every session.
        let open: Vec<usize> = (0..count).filter(|at| windows[*at].is_some()).collect();
        if let Some(window) = random.one(&open).and_then(|at| windows[*at].as_mut()) {
            assert_lists(window, &known, &format!("seed {seed}, step {step}"));
        }
    }
    user.model.let_go();
    for window in windows.iter_mut().flatten() {
        assert_lists(window, &known, &format!("seed {seed}, in the end"));
    }
    for window in windows.iter_mut().filter_map(Option::take) {
        note_heard(&window, &mut known);
        if random.below(2) == 0 {
            assert!(window.shut_down().success());
        }
    }
    let mut last = user.window();
    assert_lists(&mut last, &known, &format!("seed {seed}, in a new window"));
    for session in known.sessions.clone() {
        assert_whole(&mut last, &session, &known, seed);
    }
}

fn one_step(
    user: &User,
    random: &mut Random,
    windows: &mut [Option<Server>],
    known: &mut Known,
    step: usize,
) {
    let at = random.below(windows.len());
    let Some(mut window) = windows[at].take() else {
        windows[at] = Some(user.window());
        return;
    };
    let session = random.one(&known.sessions).cloned();
    match (random.below(16), session) {
        (0, _) => {
            note_heard(&window, known);
            assert!(window.shut_down().success());
            return;
        }
        (1, _) => {
            note_heard(&window, known);
            window.kill();
            return;
        }
        (2, _) => user.model.let_go(),
        (3 | 4, _) | (_, None) if known.sessions.len() < SESSIONS => {
            let session = window.session();
            known.sessions.push(session);
        }
        (5..=7, Some(session)) => {
            window.ask("bb/selectSession", json!({ "sessionId": session }));
        }
        (8 | 9, Some(session)) => {
            window.ask("bb/stop", json!({ "sessionId": session }));
        }
        (which, Some(session)) => {
            known.prompts += 1;
            let text = if which % 2 == 0 { format!("hold {step}") } else { format!("say {step}") };
            let message_id = format!("00000000-0000-4000-8000-{:012}", known.prompts);
            let id = window.request(
                "bb/sendMessage",
                json!({ "sessionId": session, "text": text, "messageId": message_id }),
            );
            let answer = window.wait_response(&id);
            match answer["result"]["disposition"].as_str() {
                Some("started") => known.started.entry(session).or_default().push(message_id),
                // It waits for its turn, and maybe for the user.
                Some(_) => {}
                None => assert_eq!(answer["error"]["data"]["code"], "conflict", "{answer}"),
            }
        }
        (_, None) => {}
    }
    windows[at] = Some(window);
}

fn note_heard(window: &Server, known: &mut Known) {
    for session in &known.sessions {
        known.heard.extend(window.events(session).into_iter().map(|event| (session.clone(), event)));
    }
}

fn assert_lists(window: &mut Server, known: &Known, what: &str) {
    let list = window.ask("bb/listSessions", json!({}));
    let listed: BTreeSet<&str> = list["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["sessionId"].as_str())
        .collect();
    let missing: Vec<&String> = known.sessions.iter().filter(|id| !listed.contains(id.as_str())).collect();
    assert!(missing.is_empty(), "{what}: {missing:?} are not listed");
}

/// No hole, no double, one turn at a time, every prompt that was started, and what was heard is what is there.
fn assert_whole(window: &mut Server, session: &str, known: &Known, seed: u64) {
    let events = read(window, session);
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "seed {seed}: {session}");
    let mut open: Option<u64> = None;
    let mut prompts = Vec::new();
    for event in &events {
        let turn = event["turn"].as_u64();
        if event["type"] == "local.prompt" {
            assert_eq!(open, None, "seed {seed}: turn {turn:?} began within another: {event}");
            open = turn;
            prompts.push(event["payload"]["messageId"].as_str().unwrap().to_owned());
        } else if let Some(turn) = turn {
            assert!(prompts.is_empty() || turn <= prompts.len() as u64, "seed {seed}: {event}");
            if event["class"] == "run.finished" && open == Some(turn) {
                open = None;
            }
        }
    }
    let once: BTreeSet<&String> = prompts.iter().collect();
    assert_eq!(once.len(), prompts.len(), "seed {seed}: a prompt was begun twice in {session}");
    for started in known.started.get(session).into_iter().flatten() {
        assert!(once.contains(started), "seed {seed}: the prompt {started} of {session} is gone");
    }
    for (_, heard) in known.heard.iter().filter(|(of, _)| of == session) {
        let seq = usize::try_from(heard["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(Some(heard), events.get(seq - 1), "seed {seed}: {session}");
    }
}
