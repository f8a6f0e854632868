//! `bb/stop`: what a stop of one client means where several work on a session.
//!
//! Owns whose turn and whose prompts it is about. How a turn is stopped is in `prompts`.

use crate::app::client::ClientId;
use crate::app::prompter::Prompter;
use crate::app::state::App;
use crate::domain::coded_error::CodedError;
use crate::protocol::request::StopResult;

impl App {
    /// Stops the turn on the word of one client. Where others work on the session too, what waits of theirs goes on; and who has prompts that
    /// wait behind another's turn means those, and that turn goes on.
    pub(in crate::app) fn stop_by(
        &mut self,
        client: ClientId,
        session_id: &str,
    ) -> Result<StopResult, CodedError> {
        self.load(session_id)?;
        let of_another = |by: Prompter| matches!(by, Prompter::Client(of) if of != client);
        let prompters = &self.clients.prompters;
        let record = &self.known(session_id)?.record;
        let runs_for_another = record.turn.is_open() && of_another(prompters.of_turn(session_id));
        let (mut own, mut is_shared) = (Vec::new(), false);
        for item in record.queue.items() {
            let by = prompters.of_waiting(session_id, &item.message_id);
            is_shared |= of_another(by);
            if by == Prompter::Client(client) {
                own.push(item.message_id.clone());
            }
        }
        if runs_for_another && !own.is_empty() {
            self.hold(session_id)?;
            for id in own {
                // It waits: it was listed a moment ago.
                let _ = self.record_mut(session_id)?.queue.remove(&id);
                self.clients.prompters.waits_no_more(session_id, &id);
            }
            self.flush(session_id);
            return Ok(StopResult { session_id: session_id.to_owned(), stopping: false });
        }
        let stopped = self.stop(session_id)?;
        if is_shared {
            self.record_mut(session_id)?.queue.resume();
            self.flush(session_id);
            self.next_prompt(session_id);
        }
        Ok(stopped)
    }
}
