//! The asks of one turn that wait for an answer.
//!
//! Owns the pairing of an ask with its answer, whichever is looked at first. Never decides.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::host::ports::Answer;

/// Asks by their id. A turn asks one thing at a time, so there is rarely more than one.
#[derive(Default)]
pub(super) struct EmbeddedAsks {
    waiting: Mutex<HashMap<String, EmbeddedAsk>>,
}

struct EmbeddedAsk {
    /// Taken by the answer.
    answer: Option<oneshot::Sender<Answer>>,
    /// Taken by the one who waits.
    wait: Option<oneshot::Receiver<Answer>>,
}

impl EmbeddedAsks {
    /// An ask is about to be said; its answer may come at any time from now on.
    pub(super) fn register(&self, request_id: &str) {
        let (answer, wait) = oneshot::channel();
        self.lock().insert(request_id.to_owned(), EmbeddedAsk { answer: Some(answer), wait: Some(wait) });
    }

    /// The answer came. A second one, and one for an ask that nobody made, changes nothing.
    pub(super) fn resolve(&self, request_id: &str, answer: Answer) {
        let waiting = self.lock().get_mut(request_id).and_then(|ask| ask.answer.take());
        if let Some(waiting) = waiting {
            // Nobody waits any more when the turn was stopped.
            let _ = waiting.send(answer);
        }
    }

    /// Waits for the answer; denied when the ask was never made.
    pub(super) async fn wait(&self, request_id: &str) -> Answer {
        let wait = self.lock().get_mut(request_id).and_then(|ask| ask.wait.take());
        let answer = match wait {
            Some(wait) => wait.await.unwrap_or(Answer::Denied),
            None => Answer::Denied,
        };
        self.lock().remove(request_id);
        answer
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, EmbeddedAsk>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
