//! The user's reranker: a model that reads a question together with the passages that may answer it, and puts them in order.
//!
//! Owns which one there is and how it fared. Never chooses passages or believes an order: `retrieval` does.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::asking::Asking;
use crate::host::models::{ModelError, ReadOrder};

/// A passage as a reranker sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadPassage {
    /// Where it stands and what it is called, in one line.
    pub head: String,
    /// Its lines; empty where only the head is read.
    pub text: String,
}

/// How much a reranker reads for one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadingBounds {
    /// Passages.
    pub passages: usize,
    /// Whether those for whose text there is no room are read by their heads alone.
    pub heads_alone: bool,
    /// How long a search waits for it.
    pub patience: Duration,
}

/// Whether what is looked for can be looked for once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadingRound {
    /// By words that the reranker may name.
    First,
    /// No more.
    Last,
}

/// Puts passages in order.
pub(crate) trait Reranker: Send + Sync {
    /// What a person calls it: its name and where it is.
    fn name(&self) -> String;
    /// How much it reads.
    fn bounds(&self) -> ReadingBounds;
    /// The passages by their places among these, best first; those that it says nothing of are left out. Blocking; ends soon after the
    /// flag is set.
    ///
    /// # Errors
    /// In one sentence: when it cannot be reached, refuses, or gives no order.
    fn read(
        &self,
        question: &str,
        passages: &[ReadPassage],
        round: ReadingRound,
        cancel: &AtomicBool,
    ) -> Result<ReadOrder, ModelError>;
}

/// The reranker of this process, where there is one. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct RerankerSlot(Arc<Mutex<RerankerState>>);

#[derive(Default)]
struct RerankerState {
    reranker: Option<Arc<dyn Reranker>>,
    asking: Arc<Asking>,
}

impl RerankerSlot {
    /// From now on this one reads; `None`: nobody does.
    pub(crate) fn read_by(&self, reranker: Option<Arc<dyn Reranker>>) {
        // Whoever sets it up anew wants it asked.
        *self.state() = RerankerState { reranker, asking: Arc::default() };
    }

    /// Who reads, and how it fared.
    pub(crate) fn get(&self) -> Option<(Arc<dyn Reranker>, Arc<Asking>)> {
        let state = self.state();
        Some((Arc::clone(state.reranker.as_ref()?), Arc::clone(&state.asking)))
    }

    /// The state. No code panics while it holds the lock.
    fn state(&self) -> MutexGuard<'_, RerankerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
