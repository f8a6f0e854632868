//! Asking once more without being told to: where certainly nothing was taken, and the answer said how long to wait.
//!
//! Owns how often, and which waits are too long. Never sends anything, and never waits.

use std::time::{Duration, Instant};

use crate::domain::fact::{Fact, TurnReport};
use crate::domain::remedy::{PromptTaken, Retry, RetryWhen};

/// How often one question is asked again.
const TRIES: u32 = 3;

/// Longest wait, unless the user gave one.
const LONGEST: Duration = Duration::from_secs(120);

/// How a question stands that may be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgainState {
    /// It was not refused.
    Asked,
    /// It was refused, and the turn has not ended.
    Refused { wait: Duration },
    /// It is asked again then.
    Waiting { until: Instant },
}

/// Asking again.
#[derive(Debug)]
pub(super) struct Again {
    longest: Duration,
    left: u32,
    state: AgainState,
}

impl Again {
    /// `limit` is the user's.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self { longest: limit.unwrap_or(LONGEST), left: TRIES, state: AgainState::Asked }
    }

    /// Another question is asked.
    pub(super) fn another(&mut self) {
        (self.left, self.state) = (TRIES, AgainState::Asked);
    }

    /// Hears what an event says, and whether it is of a turn that is asked again and so fails nothing.
    pub(super) fn hears(&mut self, fact: &Fact<'_>) -> bool {
        if let Some(wait) = wait_of(fact).filter(|wait| *wait <= self.longest && self.left > 0) {
            self.state = AgainState::Refused { wait };
        }
        matches!(self.state, AgainState::Refused { .. })
    }

    /// Behind `hears`: what is to be said of the wait, once the turn is over.
    pub(super) fn begins_to_wait(&mut self, fact: &Fact<'_>, now: Instant) -> Option<String> {
        let ended = match fact {
            Fact::TurnEnded(end) => !matches!(&end.report, TurnReport::Part(report) if !report.last),
            Fact::TurnClosed(_) => true,
            _ => false,
        };
        let (wait, is_first) = if ended { self.turn_over(now)? } else { return None };
        let seconds = wait.as_millis().div_ceil(1_000);
        is_first.then(|| format!("The answer asks to wait {seconds} s; trying again then."))
    }

    /// The turn is over: how long until it is asked again, where it is, and whether that is the first time.
    fn turn_over(&mut self, now: Instant) -> Option<(Duration, bool)> {
        let AgainState::Refused { wait } = self.state else { return None };
        let is_first = self.left == TRIES;
        self.left -= 1;
        self.state = AgainState::Waiting { until: now + wait };
        Some((wait, is_first))
    }

    /// When it is asked again.
    pub(super) fn until(&self) -> Option<Instant> {
        match self.state {
            AgainState::Waiting { until } => Some(until),
            AgainState::Asked | AgainState::Refused { .. } => None,
        }
    }

    /// Whether it is asked now; once for each wait.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.until().is_some_and(|until| until <= now);
        if is_due {
            self.state = AgainState::Asked;
        }
        is_due
    }
}

/// How long to wait before the same may be asked again by itself; `None` where it may not, or no wait was named.
fn wait_of(fact: &Fact<'_>) -> Option<Duration> {
    let remedy = match fact {
        Fact::Failure(notice) => &notice.remedy,
        Fact::TurnEnded(end) => match &end.report {
            TurnReport::Whole { remedy, .. } => remedy,
            TurnReport::Part(_) => return None,
        },
        _ => return None,
    };
    match remedy.retry? {
        Retry { taken: PromptTaken::No, when: RetryWhen::Later, after_ms } => {
            after_ms.map(Duration::from_millis)
        }
        Retry { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fact::{Notice, NoticeLevel};

    fn failure(retry: Retry) -> Fact<'static> {
        Fact::Failure(Notice::new(NoticeLevel::Error, "It failed.").with(retry.into()))
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_was_not_taken_is_asked_again_behind_its_wait_and_three_times_at_most() {
        let now = Instant::now();
        let mut again = Again::new(None);
        let busy = failure(Retry::not_taken(RetryWhen::Later).after(Some(seconds(12))));
        for try_number in 1..=3 {
            assert!(again.hears(&busy));
            // What comes until the end of the turn belongs to the refusal.
            assert!(again.hears(&Fact::Nothing));
            assert_eq!(again.turn_over(now), Some((seconds(12), try_number == 1)));
            assert_eq!(again.until(), Some(now + seconds(12)));
            assert!(!again.is_due(now + seconds(11)));
            assert!(again.is_due(now + seconds(12)));
            assert!(!again.is_due(now + seconds(12)), "it is asked once");
        }
        assert!(!again.hears(&busy));
        assert_eq!((again.turn_over(now), again.until()), (None, None));
        again.another();
        assert!(again.hears(&busy));
    }

    #[test]
    fn nothing_is_asked_again_that_may_have_been_taken_or_whose_wait_is_too_long_or_not_named() {
        let wait = Some(seconds(1));
        for (limit, retry) in [
            (None, Retry::perhaps_taken(RetryWhen::Later).after(wait)),
            (None, Retry::taken(RetryWhen::Later).after(wait)),
            (None, Retry::not_taken(RetryWhen::Changed).after(wait)),
            (None, Retry::not_taken(RetryWhen::Never).after(wait)),
            (None, Retry::not_taken(RetryWhen::Later)),
            (None, Retry::not_taken(RetryWhen::Later).after(Some(seconds(121)))),
            (Some(seconds(5)), Retry::not_taken(RetryWhen::Later).after(Some(seconds(6)))),
        ] {
            let mut again = Again::new(limit);
            assert!(!again.hears(&failure(retry)), "{retry:?}");
            assert_eq!(again.turn_over(Instant::now()), None, "{retry:?}");
        }
        let mut again = Again::new(None);
        assert!(!again.hears(&Fact::Failure(Notice::new(NoticeLevel::Error, "It failed."))));
    }
}
