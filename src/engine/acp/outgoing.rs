//! What an agent's state wants done and reported, in order.
//!
//! Owns the two queues. They are emptied after each step (`task`), and while reports wait nothing more is heard, so they hold what
//! one step makes. Never does anything itself.

use std::collections::VecDeque;

use super::client_side::WorkOrder;
use crate::app::inbox::Answer;
use crate::app::ports::{Attachment, EngineReport};
use crate::domain::dialect::acp::results::PromptCapabilities;

/// What is to be done, in order.
#[derive(Debug)]
pub(super) enum Effect {
    /// Start the process.
    Start,
    /// Write this line to it.
    Write(String),
    /// End it, with all that it started.
    End,
    /// Read attachments, as far as the agent can take their content, behind the look at the files.
    Read {
        session_id: String,
        turn: u64,
        looked_at: Option<Answer<()>>,
        attachments: Vec<Attachment>,
        takes: PromptCapabilities,
    },
    /// Do what it wants of its client.
    Work(WorkOrder),
    /// Nobody waits for the work with this number any more.
    GiveUp(u64),
    /// Kill what runs in the terminals of a session.
    EndTerminals(String),
}

/// What waits to be done and reported.
#[derive(Default)]
pub(super) struct Outgoing {
    effects: VecDeque<Effect>,
    reports: VecDeque<EngineReport>,
}

impl Outgoing {
    pub(super) fn lay_down(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    pub(super) fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    pub(super) fn report(&mut self, report: EngineReport) {
        self.reports.push_back(report);
    }

    pub(super) fn next_report(&mut self) -> Option<EngineReport> {
        self.reports.pop_front()
    }

    /// Whether reports wait.
    pub(super) fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }
}
