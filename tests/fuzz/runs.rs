//! Runs of a target: the corpus, its mutations, and what is left behind where one fails.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, panic, process, thread};

use crate::corpus;
use crate::entries::pieces::number_of;
use crate::entries::{self, Target};
use crate::mutate::{Dice, mutated};
use crate::server;

/// Mutations a target without `BREADBOARD_FUZZ_RUNS`.
const RUNS: u64 = 10_000;
/// Seed without `BREADBOARD_FUZZ_SEED`, outside of CI.
const SEED: u64 = 1;
/// Longest run of one input. A thousand times what the longest needs, since a busy machine may stand still.
const LONGEST: Duration = Duration::from_secs(30);

/// Every target, of the pure rooms and of the server.
pub fn targets() -> impl Iterator<Item = Target> {
    [entries::TARGETS, server::TARGETS].concat().into_iter()
}

/// Runs the corpus of a target and mutations of it, or the one input that the environment names.
pub fn all_hold(target: &str) {
    let (_, run) = targets().find(|(name, _)| *name == target).expect("a target");
    if let Some(path) = env::var_os("BREADBOARD_FUZZ_INPUT") {
        return run(&fs::read(path).expect("the file that BREADBOARD_FUZZ_INPUT names"));
    }
    corpus::is_made_from_the_fixtures(target);
    let inputs = corpus::read(target);
    assert!(!inputs.is_empty(), "fuzz/corpus/{target} is empty");
    let seed = number("BREADBOARD_FUZZ_SEED").unwrap_or_else(seed_of_today);
    let count = number("BREADBOARD_FUZZ_RUNS").unwrap_or(RUNS);
    println!("{target}: {} inputs and {count} mutations, seed {seed}", inputs.len());

    let (begin, begun) = mpsc::channel::<Option<Vec<u8>>>();
    let name = target.to_owned();
    let watch = thread::spawn(move || watch(&name, seed, &begun));
    let held = |input: &[u8]| {
        begin.send(Some(input.to_vec())).expect("the watch runs");
        let outcome = panic::catch_unwind(|| run(input));
        begin.send(None).expect("the watch runs");
        if outcome.is_err() {
            panic!("{}", left_behind(target, seed, input));
        }
    };
    inputs.iter().for_each(|input| held(input));
    let mut dice = Dice::new(seed ^ number_of(target.as_bytes()));
    for _ in 0..count {
        held(&mutated(&inputs, &mut dice));
    }
    drop(begin);
    watch.join().expect("the watch ends");
}

/// Ends the process when an input takes too long: nothing else could, and which input it was must be known.
fn watch(target: &str, seed: u64, begun: &mpsc::Receiver<Option<Vec<u8>>>) {
    let mut runs: Option<Vec<u8>> = None;
    loop {
        match (begun.recv_timeout(LONGEST), &runs) {
            (Ok(next), _) => runs = next,
            (Err(RecvTimeoutError::Disconnected), _) => return,
            (Err(RecvTimeoutError::Timeout), None) => {}
            (Err(RecvTimeoutError::Timeout), Some(input)) => {
                eprintln!("an input takes more than {LONGEST:?}; {}", left_behind(target, seed, input));
                process::exit(101);
            }
        }
    }
}

/// Writes the input down; says where, and how to run it again.
fn left_behind(target: &str, seed: u64, input: &[u8]) -> String {
    let path: PathBuf =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{target}-{:016x}", number_of(input)));
    let kept = fs::write(&path, input).map_or_else(
        |error| format!("could not be kept ({error})"),
        |()| format!("is in {}", path.display()),
    );
    format!(
        "{target} failed with seed {seed}; the input of {} bytes {kept}; again:\n  \
         BREADBOARD_FUZZ_INPUT={} cargo test --test fuzz {target} -- --exact",
        input.len(),
        path.display()
    )
}

/// In CI another one each day, so that the tries add up.
fn seed_of_today() -> u64 {
    if env::var("CI").is_ok_and(|ci| ci == "true") {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(SEED, |since| since.as_secs() / 86_400)
    } else {
        SEED
    }
}

fn number(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")))
}
