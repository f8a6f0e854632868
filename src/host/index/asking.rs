//! A question to a model of the user's, on a thread of its own: whoever asks waits a moment for it, and then words decide.
//!
//! Owns whether the model is asked at all. One that failed or was late rests for a while, longer each time, and that is told once until
//! it answers in time again. Never compares anything.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::host::models::ModelError;

/// How long it rests after it failed for the first time; twice as long each time.
const FIRST_REST: Duration = Duration::from_secs(15);

/// How often that is doubled, at most: it is asked again within four minutes.
const DOUBLED: u32 = 4;

/// How often whoever waits looks whether the search is stopped.
const LOOK: Duration = Duration::from_millis(20);

/// What a question brought.
#[derive(Debug, PartialEq)]
pub(crate) enum Asked<T> {
    /// What the model says.
    Answer(T),
    /// Nothing: it failed or was late.
    Failed {
        /// Why, as a sentence.
        why: String,
        /// Whether nobody was told so before.
        is_news: bool,
    },
    /// Nothing: it is not asked since it failed lately, or whoever asked was stopped.
    Unasked,
}

/// How the model fared with the questions so far.
#[derive(Default)]
pub(crate) struct Asking(Mutex<Fared>);

#[derive(Debug, Default, PartialEq)]
enum Fared {
    /// It answered the last one in time, or was asked none.
    #[default]
    Well,
    /// It failed or was late so often in a row, and is not asked before then.
    Badly { times: u32, rests_until: Instant },
}

impl Asking {
    /// Whether it is not asked now, since it failed lately.
    pub(crate) fn rests(&self) -> bool {
        self.fared().rests(Instant::now())
    }

    /// Asks the model of this name, unless it rests, and waits for its answer until then. `request` is blocking, and ends soon after
    /// its flag is set.
    pub(crate) fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        name: &str,
        request: impl FnOnce(&AtomicBool) -> Result<T, ModelError> + Send + 'static,
        until: Instant,
        cancel: &AtomicBool,
    ) -> Asked<T> {
        if self.rests() {
            return Asked::Unasked;
        }
        let stop = Arc::new(AtomicBool::new(false));
        // Nothing is kept for whoever has gone: then the thread still has the answer, and knows that it is late.
        let (sender, answers) = sync_channel(0);
        let late = (Arc::clone(self), Arc::clone(&stop));
        let asked = move || {
            let (asking, stop) = late;
            asking.say(request(&stop), &sender);
        };
        if let Err(error) = std::thread::Builder::new().name("question".into()).spawn(asked) {
            tracing::warn!(%error, "a question waits for no model");
            return Asked::Unasked;
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match answers.recv_timeout(left.min(LOOK)) {
                Ok(answer) => return self.answered(answer),
                Err(RecvTimeoutError::Timeout) if cancel.load(Ordering::Relaxed) => {
                    stop.store(true, Ordering::Relaxed);
                    return Asked::Unasked;
                }
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return self.failed(format!("{name} did not answer in time."));
                }
            }
        }
    }

    /// On the thread of the question: gives the answer to whoever waits. Nobody does any more: it tells only how the model fares.
    fn say<T>(&self, answer: Result<T, ModelError>, to: &SyncSender<Result<T, ModelError>>) {
        if let Err(late) = to.send(answer)
            && late.0.is_ok()
        {
            self.fared().was_late();
        }
    }

    fn answered<T>(&self, answer: Result<T, ModelError>) -> Asked<T> {
        match answer {
            Ok(answer) => {
                *self.fared() = Fared::Well;
                Asked::Answer(answer)
            }
            Err(error) => self.failed(error.message),
        }
    }

    fn failed<T>(&self, why: String) -> Asked<T> {
        let is_news = self.fared().failed(Instant::now());
        Asked::Failed { why, is_news }
    }

    /// How it fared. No code panics while it holds the lock.
    fn fared(&self) -> MutexGuard<'_, Fared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fared {
    fn rests(&self, now: Instant) -> bool {
        matches!(self, Self::Badly { rests_until, .. } if now < *rests_until)
    }

    /// It failed, or did not answer in time; gives whether nobody was told so.
    fn failed(&mut self, now: Instant) -> bool {
        let before = match self {
            Self::Well => 0,
            Self::Badly { times, .. } => *times,
        };
        let rest = FIRST_REST * (1 << before.min(DOUBLED));
        *self = Self::Badly { times: before.saturating_add(1), rests_until: now + rest };
        before == 0
    }

    /// It answered after all. A model that had to be loaded first is there for the next question; one that is late again rests.
    fn was_late(&mut self) {
        if let Self::Badly { times: 1, rests_until } = self {
            *rests_until = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_fails_rests_longer_each_time_and_that_is_news_once() {
        let begun = Instant::now();
        let mut fared = Fared::default();
        assert!(!fared.rests(begun));
        assert!(fared.failed(begun));
        assert!(fared.rests(begun + FIRST_REST / 2) && !fared.rests(begun + FIRST_REST));
        assert!(!fared.failed(begun));
        assert!(fared.rests(begun + FIRST_REST) && !fared.rests(begun + 2 * FIRST_REST));
        for _ in 0..40 {
            fared.failed(begun);
        }
        assert!(!fared.rests(begun + Duration::from_secs(240)));
    }

    #[test]
    fn a_model_that_was_late_once_is_asked_by_the_next_question_and_one_that_is_late_again_rests() {
        let mut fared = Fared::default();
        fared.failed(Instant::now());
        fared.was_late();
        assert!(!fared.rests(Instant::now()));
        fared.failed(Instant::now());
        fared.was_late();
        assert!(fared.rests(Instant::now()));
    }
}
