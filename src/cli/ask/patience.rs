//! How long a turn may wait for its engine, and what is said of that.
//!
//! Owns the limits. A turn that goes on without a word is an engine that works, so only two waits have one: for the first word,
//! and for events that do not come because there is no connection. Never writes.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::super::client::WORDLESS;

/// Longest wait for a connection, unless the user gave one.
const CONNECTION: Duration = Duration::from_secs(60);
/// Longest wait for the first word, unless the user gave one. A model that does not stream may think for minutes.
const FIRST_WORD: Duration = Duration::from_secs(600);

/// A connection that held for less than this was none: some fail as soon as they stand.
const SETTLED: Duration = Duration::from_secs(10);

/// What a turn waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatienceWait {
    /// For nothing that has a limit.
    Nothing,
    /// For the first word after the prompt.
    FirstWord,
    /// For a connection.
    Connection,
}

/// What is to be done when the time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Due {
    /// This is to be said, once; the wait goes on.
    Say(String),
    /// The wait is over.
    GiveUp(String),
}

/// The waiting of one turn.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Option<Duration>,
    prompted: Instant,
    heard: bool,
    /// What is not connected (the engine, or the stream of a session), and why.
    broken: HashMap<Option<String>, Option<String>>,
    /// Whys that stand on the screen already.
    told: HashSet<String>,
    /// Since when no connection has held.
    broken_since: Instant,
    /// When the last connection came.
    mended: Option<Instant>,
    said: bool,
}

impl Patience {
    /// From the prompt on. `limit` is the user's.
    pub(super) fn new(limit: Option<Duration>, now: Instant) -> Self {
        Self {
            limit,
            prompted: now,
            heard: false,
            broken: HashMap::new(),
            told: HashSet::new(),
            broken_since: now,
            mended: None,
            said: false,
        }
    }

    /// The prompt goes out once more.
    pub(super) fn begin(&mut self, now: Instant) {
        (self.prompted, self.heard, self.said) = (now, false, false);
    }

    /// An event of the engine came; with `word` it is part of an answer, and not only of what engines tell of a session.
    pub(super) fn hear(&mut self, word: bool) {
        if word && !self.heard {
            (self.heard, self.said) = (true, false);
        }
        self.mended = None;
        self.broken.clear();
    }

    /// The engine, or the stream of a session, is connected or is not, and why.
    pub(super) fn link(&mut self, of: Option<String>, is_connected: bool, why: Option<String>, now: Instant) {
        if is_connected {
            if self.broken.remove(&of).is_some() && self.broken.is_empty() {
                self.mended = Some(now);
            }
            return;
        }
        let held = self.mended.is_none_or(|mended| now.saturating_duration_since(mended) >= SETTLED);
        if self.broken.is_empty() && held {
            (self.broken_since, self.said) = (now, false);
        }
        let known = self.broken.entry(of).or_default();
        *known = why.or(known.take());
    }

    /// Why there is no connection was said for good, so that no later sentence says it again.
    pub(super) fn told(&mut self) {
        self.told.extend(self.broken.values().flatten().cloned());
    }

    fn wait(&self) -> (PatienceWait, Instant) {
        match (self.broken.is_empty(), self.heard) {
            (false, _) => (PatienceWait::Connection, self.broken_since),
            (true, false) => (PatienceWait::FirstWord, self.prompted),
            (true, true) => (PatienceWait::Nothing, self.prompted),
        }
    }

    fn most(&self) -> Option<Duration> {
        match self.wait().0 {
            PatienceWait::Nothing => None,
            PatienceWait::FirstWord => Some(self.limit.unwrap_or(FIRST_WORD)),
            PatienceWait::Connection => Some(self.limit.unwrap_or(CONNECTION)),
        }
    }

    /// Until when nothing is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let most = self.most()?;
        Some(self.wait().1 + if self.said { most } else { most.min(WORDLESS) })
    }

    /// What is due now.
    pub(super) fn due(&mut self, now: Instant) -> Option<Due> {
        let most = self.most()?;
        let (wait, since) = self.wait();
        let waited = now.saturating_duration_since(since);
        let why = self.broken.values().flatten().find(|why| !self.told.contains(*why));
        let why = why.map(|why| format!(": {}", why.trim_end_matches('.'))).unwrap_or_default();
        let seconds = most.as_secs();
        if waited >= most {
            return Some(Due::GiveUp(match wait {
                PatienceWait::Connection => {
                    format!("No events of the engine came for {seconds} s{why}; run `breadboard-ls doctor`.")
                }
                PatienceWait::FirstWord | PatienceWait::Nothing => format!(
                    "The engine said nothing for {seconds} s; look into its log, or wait longer with --timeout."
                ),
            }));
        }
        if self.said || waited < WORDLESS {
            return None;
        }
        self.said = true;
        Some(Due::Say(match wait {
            PatienceWait::Connection => format!("Waiting up to {seconds} s for the engine's events{why}"),
            PatienceWait::FirstWord | PatienceWait::Nothing => {
                format!("Waiting up to {seconds} s for the engine's first word")
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_said_once_and_ends_at_its_limit() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let mut patience = Patience::new(None, began);
        assert_eq!(patience.deadline(), Some(began + WORDLESS));
        // d13: it is said within two seconds, also of a session or a mode that does not come.
        assert!(WORDLESS <= Duration::from_secs(2));
        assert_eq!(patience.due(after(1_499)), None);
        let said = "Waiting up to 600 s for the engine's first word".to_owned();
        assert_eq!(patience.due(after(1_500)), Some(Due::Say(said)));
        assert_eq!((patience.due(after(1_600)), patience.deadline()), (None, Some(after(600_000))));
        patience.hear(true);
        assert_eq!((patience.due(after(9_000_000)), patience.deadline()), (None, None));
    }

    #[test]
    fn a_connection_that_breaks_has_a_limit_of_its_own_and_says_why() {
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let mut patience = Patience::new(Some(Duration::from_secs(5)), began);
        patience.hear(true);
        patience.link(Some("s".to_owned()), false, Some("It answers with a page.".to_owned()), after(1));
        patience.link(Some("s".to_owned()), false, None, after(2));
        patience.link(None, true, None, after(2));
        let said = "Waiting up to 5 s for the engine's events: It answers with a page".to_owned();
        assert_eq!(patience.due(after(3)), Some(Due::Say(said)));
        let over =
            "No events of the engine came for 5 s: It answers with a page; run `breadboard-ls doctor`.";
        assert_eq!(patience.due(after(6)), Some(Due::GiveUp(over.to_owned())));
        // What was said for good is not said again.
        patience.told();
        let over = "No events of the engine came for 5 s; run `breadboard-ls doctor`.";
        assert_eq!(patience.due(after(6)), Some(Due::GiveUp(over.to_owned())));
        patience.link(Some("s".to_owned()), true, None, after(6));
        assert_eq!(patience.deadline(), None);
        // It did not hold, so the wait is the same; one that held begins another.
        patience.link(Some("s".to_owned()), false, None, after(7));
        assert!(matches!(patience.due(after(7)), Some(Due::GiveUp(_))));
        patience.link(Some("s".to_owned()), true, None, after(8));
        patience.link(Some("s".to_owned()), false, None, after(30));
        assert_eq!(patience.due(after(30)), None);
    }
}
