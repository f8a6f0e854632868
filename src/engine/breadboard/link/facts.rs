//! What a link reads out of events and metadata: whether a turn runs, and what still waits at the engine.
//!
//! Owns what was heard on this link. The words belong to the domain.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::echo::Echoes;
use crate::domain::dialect::breadboard::permissions::{
    asked, pending_asks, permission_answer, request_id, todo_snapshot,
};
use crate::domain::dialect::breadboard::words::{begins_run, ends_run};
use crate::domain::event::EngineEvent;

/// Asks of one session that are kept apart here; more cannot wait at once, since the engine asks step by step.
const ASKS: usize = 256;

/// What the events of a session said so far that a link has to know.
#[derive(Debug, Default)]
pub(super) struct HeardEvents {
    /// Whether a turn runs, by what the events or the engine said last.
    pub busy: bool,
    /// Whether a run began of which no event told the end.
    pub open_run: bool,
    /// The engine's ids of asks that came and were not answered.
    asks: BTreeSet<String>,
    /// Where whoever waits for a prompt is told.
    pub echoes: Echoes,
}

impl HeardEvents {
    /// Takes an event that was passed on.
    pub(super) fn hear(&mut self, event: &EngineEvent) {
        let kind = event.kind.as_str();
        self.echoes.hear(event);
        if begins_run(kind) {
            self.busy = true;
            self.open_run = true;
        } else if ends_run(kind) {
            self.busy = false;
            self.open_run = false;
            self.asks.clear();
        } else if let Some(ask) = asked(kind, &event.payload) {
            if self.asks.len() < ASKS {
                self.asks.extend(request_id(ask).or_else(|| request_id(&event.payload)));
            }
        } else if let Some(answer) = permission_answer(kind, &event.payload) {
            self.asks.remove(&answer.engine_request_id);
        }
    }

    /// What the metadata of a session says still stands and no event said: asks that wait, and the list of things to do.
    pub(super) fn unheard(&self, metadata: &Map<String, Value>) -> Vec<EngineEvent> {
        let asks = pending_asks(metadata)
            .into_iter()
            .filter(|ask| request_id(&ask.payload).is_some_and(|id| !self.asks.contains(&id)));
        asks.chain(todo_snapshot(metadata)).collect()
    }
}

/// The engine's ids of asks that wait there now.
pub(super) fn waiting(metadata: &Map<String, Value>) -> Vec<String> {
    pending_asks(metadata).iter().filter_map(|ask| request_id(&ask.payload)).collect()
}
