//! What is asked in a tab: prompts, stops, the queue, and the turns that they become.
//!
//! Owns the message id of each turn and that an answer is complete once. The order of prompts is the session's queue.

use super::{BegunPrompt, PROMPTS};
use crate::app::client::ClientId;
use crate::app::prompter::Prompter;
use crate::app::state::App;
use crate::app::turn::{Stop, TurnState};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::delivery::queue::QueuedPrompt;
use crate::protocol::request::{Disposition, SendMessageParams, SendMessageResult};
use crate::protocol::tab::*;

/// A turn of a tab that is over, to be told once the journal has its end.
pub(in crate::app) struct TurnOver {
    tab_id: String,
    message_id: Option<String>,
    stop_reason: String,
}

impl App {
    pub(in crate::app) fn tab_prompt(
        &mut self,
        client: ClientId,
        params: TabPromptParams,
    ) -> Result<TabPromptResult, CodedError> {
        check_uuid("tabId", &params.tab_id)?;
        check_uuid("messageId", &params.message_id)?;
        let TabPromptParams { tab_id, message_id, text, attachment_ids, context } = params;
        if let Some(session_id) = self.tabs.get(&tab_id)?.record.ended.clone() {
            self.goes_on(&session_id)?;
            // Its engine has it again.
            self.tab_has(&tab_id, &session_id);
        }
        let disposition = match self.tabs.get(&tab_id)?.record.session_id.clone() {
            Some(session_id) => {
                let message_id = Some(message_id.clone());
                let prompt = SendMessageParams { session_id, text, attachment_ids, message_id, context };
                self.send_message(client, prompt)?.disposition
            }
            None => {
                let attachment_ids = attachment_ids.unwrap_or_default();
                let message_id = message_id.clone();
                self.wait(&tab_id, QueuedPrompt { message_id, text, attachment_ids, context })?;
                Disposition::Queued
            }
        };
        Ok(TabPromptResult { tab_id, message_id, disposition })
    }

    /// A prompt that came before the session: it waits for it, in order.
    fn wait(&mut self, tab_id: &str, prompt: QueuedPrompt) -> Result<(), CodedError> {
        let record = &self.tabs.get(tab_id)?.record;
        if record.waiting.items().iter().any(|item| item.message_id == prompt.message_id) {
            return Ok(());
        }
        if prompt.text.trim().is_empty() {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "The prompt is blank; type what you want to ask.",
            ));
        }
        let kind = self.kind_for(record.agent.as_deref());
        self.may_prompt(self.prompter_of_tab(tab_id), kind, &prompt.text)?;
        if !prompt.attachment_ids.is_empty() {
            return Err(CodedError::new(
                ErrorCode::NotFound,
                "Attachments belong to a session, and this tab has none yet; wait for its `session-created`.",
            ));
        }
        let message_id = prompt.message_id.clone();
        let waiting = &mut self.tabs.get_mut(tab_id)?.record.waiting;
        waiting.push(prompt).map_err(|_| {
            CodedError::new(
                ErrorCode::Overloaded,
                "Too many prompts wait for the session of this tab; wait until it is made.",
            )
        })?;
        waiting.resume();
        if let Err(error) = self.make_session_of(tab_id) {
            // The refusal is the answer: the prompt is not kept.
            let _ = self.tabs.get_mut(tab_id)?.record.waiting.remove(&message_id);
            return Err(error);
        }
        self.keep_tab(tab_id);
        Ok(())
    }

    /// On whose word the prompts of a tab are worked on.
    pub(super) fn prompter_of_tab(&self, tab_id: &str) -> Prompter {
        self.tabs.get(tab_id).map_or(Prompter::Nobody, |tab| tab.owner)
    }

    /// The prompts that waited for the session go into its queue: in the journal that is one step.
    pub(super) fn let_waiting_go(&mut self, tab_id: &str, session_id: &str) {
        let by = self.prompter_of_tab(tab_id);
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return };
        let waiting = std::mem::take(&mut tab.record.waiting);
        if waiting.items().is_empty() {
            return;
        }
        let mut refused = Vec::new();
        for prompt in waiting.items() {
            let result = SendMessageResult {
                session_id: session_id.to_owned(),
                message_id: prompt.message_id.clone(),
                disposition: Disposition::Queued,
            };
            let Ok(record) = self.record_mut(session_id) else { return };
            if record.queue.push(prompt.clone()).is_err() {
                refused.push(prompt.message_id.clone());
                continue;
            }
            self.clients.prompters.waits(session_id, &prompt.message_id, by);
            if let Some(live) = self.live_mut(session_id) {
                live.pending
                    .prompts
                    .push((result.message_id.clone(), serde_json::to_vec(&result).unwrap_or_default()));
            }
        }
        if waiting.paused()
            && let Ok(record) = self.record_mut(session_id)
        {
            record.queue.pause();
        }
        self.keep_tab(tab_id);
        for message_id in refused {
            let message = "The queue of this session is full; send the prompt again later.".to_owned();
            let error = TabMessage::Error { code: ErrorCode::Overloaded, message };
            self.post(tab_id, Some(message_id), error);
        }
        self.next_prompt(session_id);
        self.flush(session_id);
    }

    pub(in crate::app) fn tab_stop(&mut self, params: &TabIdParams) -> Result<TabIdResult, CodedError> {
        match self.tabs.get(&params.tab_id)?.record.session_id.clone() {
            Some(session_id) => drop(self.stop(&session_id)?),
            None => {
                self.tabs.get_mut(&params.tab_id)?.record.waiting.pause();
                self.keep_tab(&params.tab_id);
            }
        }
        Ok(TabIdResult { tab_id: params.tab_id.clone() })
    }

    /// A turn begins; noted in the same transaction.
    pub(in crate::app) fn tab_turn_begins(&mut self, session_id: &str, turn: u64, message_id: &str) {
        for tab_id in self.tabs.tabs_of(session_id) {
            let Ok(tab) = self.tabs.get_mut(&tab_id) else { continue };
            tab.told.begin(turn, message_id);
            let prompts = &mut tab.record.prompts;
            prompts.push(BegunPrompt { message_id: message_id.to_owned(), turn, stop_reason: None });
            if prompts.len() > PROMPTS {
                prompts.remove(0);
            }
            self.keep_tab(&tab_id);
        }
    }

    /// A turn is over; noted in the same transaction. Given to `tab_turn_over` when that is written.
    pub(in crate::app) fn tab_turn_ends(
        &mut self,
        session_id: &str,
        turn: u64,
        ended: &TurnState,
    ) -> Vec<TurnOver> {
        let tabs = self.tabs.tabs_of(session_id).into_iter();
        tabs.filter_map(|tab_id| self.turn_ends_in(tab_id, turn, ended)).collect()
    }

    fn turn_ends_in(&mut self, tab_id: String, turn: u64, ended: &TurnState) -> Option<TurnOver> {
        let stop_reason = match ended.stop() {
            // Some agents say that they came to an end when they were stopped.
            Stop::ByUser => "cancelled",
            Stop::No | Stop::ByServer => ended.reason().unwrap_or("end_turn"),
        };
        let stop_reason = stop_reason.to_owned();
        let tab = self.tabs.get_mut(&tab_id).ok()?;
        tab.covered = false;
        let asked = tab.record.prompts.iter_mut().rfind(|asked| asked.turn == turn);
        let message_id = match asked {
            Some(asked) => {
                asked.stop_reason = Some(stop_reason.clone());
                Some(asked.message_id.clone())
            }
            // It was begun before the tab showed this session.
            None => tab.told.prompt(turn).map(str::to_owned),
        };
        self.keep_tab(&tab_id);
        Some(TurnOver { tab_id, message_id, stop_reason })
    }

    /// Tells that an answer is complete: after its last piece, once.
    pub(in crate::app) fn tab_turn_over(&mut self, over: Vec<TurnOver>) {
        for TurnOver { tab_id, message_id, stop_reason } in over {
            if self.tabs.get(&tab_id).is_ok_and(|tab| tab.covered) {
                continue;
            }
            self.post(&tab_id, message_id, TabMessage::ResponseComplete { stop_reason });
            self.pump(&tab_id);
        }
    }
}
