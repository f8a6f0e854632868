//! What came of an edit that our own agent was allowed to write as a whole.
//!
//! Owns that such an edit counts as made only once the agent says so, file by file, and who waits for that. Never writes: the
//! agent has it done, and says what came of it.

use super::inbox::Reply;
use super::record::Ask;
use super::state::App;
use crate::domain::approval::{HunkState, MadeEdit, PermissionStatus, Proposal, WriterTells};
use crate::protocol::patch::PatchFilesResult;

/// A decision on all of an edit, and who waits for what comes of it.
#[derive(Debug)]
pub(super) struct DecidedEdit {
    /// The request that was allowed.
    pub(super) request_id: String,
    pub(super) reply: Reply<PatchFilesResult>,
}

impl App {
    /// Our agent says what came of an edit.
    pub(super) fn edit_made(&mut self, session_id: &str, engine_request_id: &str, made: &MadeEdit) {
        if !self.may_record(session_id) || self.load(session_id).is_err() {
            return;
        }
        let Ok(asks) = self.asks_of(session_id) else { return };
        let is_it = |ask: &Ask| ask.engine_request_id == engine_request_id && is_awaited(ask);
        let Some(mut ask) = asks.into_iter().rev().find(is_it) else { return };
        if let Some(proposal) = &mut ask.proposal {
            proposal.was_made(made);
        }
        self.note_ask(session_id, &ask);
        self.flush(session_id);
        let request_id = ask.permission.request_id.clone();
        for awaited in self.awaited_edits(session_id, |awaited| awaited.request_id == request_id) {
            awaited.reply.answer(super::on_request::patch_outcomes(&ask));
        }
    }

    /// All of an edit was decided: whoever decided hears what came of it, at once where nothing more will be told.
    pub(super) fn answer_once_made(&mut self, session_id: &str, ask: Ask, reply: Reply<PatchFilesResult>) {
        let is_open = self.known(session_id).is_ok_and(|session| session.record.turn.is_open());
        if !is_awaited(&ask) || !is_open {
            return reply.answer(super::on_request::patch_outcomes(&self.as_known(session_id, ask)));
        }
        let request_id = ask.permission.request_id;
        // One for each request of the turn, which asks one thing after the other.
        if let Some(live) = self.live_mut(session_id) {
            live.awaited_edits.push(DecidedEdit { request_id, reply });
        }
    }

    /// The turn is over: what was not told by now will never be.
    pub(super) fn answer_awaited_edits(&mut self, session_id: &str) {
        let awaited = self.awaited_edits(session_id, |_| true);
        if awaited.is_empty() {
            return;
        }
        let asks = self.asks_of(session_id).unwrap_or_default();
        for DecidedEdit { request_id, reply } in awaited {
            // Dropped, it is answered too.
            if let Some(ask) = asks.iter().rev().find(|ask| ask.permission.request_id == request_id) {
                let ask = self.as_known(session_id, ask.clone());
                reply.answer(super::on_request::patch_outcomes(&ask));
            }
        }
    }

    fn awaited_edits(&mut self, session_id: &str, which: impl Fn(&DecidedEdit) -> bool) -> Vec<DecidedEdit> {
        let Some(live) = self.live_mut(session_id) else { return Vec::new() };
        live.awaited_edits.extract_if(.., |awaited| which(awaited)).collect()
    }

    /// A request as it stands: of an edit whose turn is over nothing more will be told.
    pub(super) fn as_known(&self, session_id: &str, mut ask: Ask) -> Ask {
        let is_open = self.known(session_id).is_ok_and(|session| session.record.turn.is_open());
        if is_awaited(&ask)
            && !is_open
            && let Some(proposal) = &mut ask.proposal
        {
            proposal.stays_unknown();
        }
        ask
    }
}

/// Whether its writer is still to say what came of it.
fn is_awaited(ask: &Ask) -> bool {
    let accepted = |proposal: &Proposal| proposal.hunks().any(|hunk| hunk.state == HunkState::Accepted);
    let told = |proposal: &&Proposal| proposal.writer == WriterTells::Outcome;
    ask.status == PermissionStatus::Allowed && ask.proposal.as_ref().filter(told).is_some_and(accepted)
}
