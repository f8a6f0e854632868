//! What many runs came to, kept in a file so that they can be stopped at any time and gone on with.
//!
//! Owns the sums and their file: one line of JSON a run, appended when it is over. A line that was cut by a kill does not
//! count, and its run is run again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::proof::Fates;

/// Runs after which it is said where things stand.
const SAID_EVERY: u64 = 100;
/// Characters that are kept of what went wrong.
const WHY: usize = 1_500;

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub seed: u64,
    /// How often it met what.
    pub met: BTreeMap<String, u64>,
    pub fates: Fates,
    /// Why it failed; empty where it did not.
    pub why: String,
}

/// All of them.
pub struct Tally {
    /// How many there will be.
    count: u64,
    done: BTreeSet<u64>,
    pub met: BTreeMap<String, u64>,
    pub fates: Fates,
    /// Those that failed, by their seeds.
    pub failed: BTreeMap<u64, String>,
    file: Option<File>,
    begun: Instant,
    /// Of this process.
    new: u64,
}

impl Tally {
    /// Of `count` runs, with what the file has of them.
    pub fn of(count: u64, file: Option<&Path>) -> Self {
        let mut tally = Self {
            count,
            done: BTreeSet::new(),
            met: BTreeMap::new(),
            fates: Fates::default(),
            failed: BTreeMap::new(),
            file: None,
            begun: Instant::now(),
            new: 0,
        };
        let Some(path) = file else { return tally };
        let known = fs::read_to_string(path).unwrap_or_default();
        for run in known.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            tally.add(run);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        // What follows a line that was cut begins on a line of its own.
        if !known.is_empty() && !known.ends_with('\n') {
            file.write_all(b"\n").unwrap();
        }
        tally.file = Some(file);
        tally
    }

    /// Whether this run is over.
    pub fn has(&self, seed: u64) -> bool {
        self.done.contains(&seed)
    }

    /// Takes a run that is over.
    pub fn take(&mut self, mut run: Run) {
        run.why = run.why.chars().take(WHY).collect();
        if let Some(file) = &mut self.file {
            let line = serde_json::to_string(&run).unwrap() + "\n";
            file.write_all(line.as_bytes()).unwrap();
        }
        self.add(run);
        self.new += 1;
        if self.new.is_multiple_of(SAID_EVERY) {
            println!("{}", self.standing());
        }
    }

    fn add(&mut self, run: Run) {
        if !self.done.insert(run.seed) {
            return;
        }
        for (kind, times) in run.met {
            *self.met.entry(kind).or_default() += times;
        }
        self.fates.add(&run.fates);
        if !run.why.is_empty() {
            self.failed.insert(run.seed, run.why);
        }
    }

    /// Where things stand, on one line.
    pub fn standing(&self) -> String {
        let Fates { logged, lost_said, lost_unsaid, doubled, reordered } = self.fates;
        let met: Vec<String> = self.met.iter().map(|(kind, times)| format!("{kind} {times}")).collect();
        format!(
            "{} of {} runs done, {} failed; of {logged} events lost and said {lost_said}, lost unsaid {lost_unsaid}, \
             doubled {doubled}, reordered {reordered}; met {}; {:.1} runs/s",
            self.done.len(),
            self.count,
            self.failed.len(),
            met.join(", "),
            self.new as f64 / self.begun.elapsed().as_secs_f64().max(0.001),
        )
    }
}

#[test]
fn what_was_done_is_not_done_again_and_a_line_that_was_cut_does_not_count() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("runs");
    let run = |seed, why: &str| Run {
        seed,
        met: BTreeMap::from([("kill".to_owned(), 2)]),
        fates: Fates { logged: 10, lost_said: 3, ..Fates::default() },
        why: why.to_owned(),
    };
    let mut tally = Tally::of(9, Some(&path));
    tally.take(run(1, ""));
    tally.take(run(2, "it fell"));
    drop(tally);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();

    let mut tally = Tally::of(9, Some(&path));
    assert_eq!((tally.has(1), tally.has(2)), (true, false));
    tally.take(run(2, "it fell again"));
    drop(tally);

    let tally = Tally::of(9, Some(&path));
    assert_eq!((tally.has(1), tally.has(2), tally.has(3)), (true, true, false));
    assert_eq!(tally.met, BTreeMap::from([("kill".to_owned(), 4)]));
    assert_eq!(tally.fates, Fates { logged: 20, lost_said: 6, ..Fates::default() });
    assert_eq!(tally.failed, BTreeMap::from([(2, "it fell again".to_owned())]));
}
