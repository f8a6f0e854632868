//! `bb/queue/*`: the prompts that wait, which the user can see and change.

use super::prompt_rules::{fits_a_prompt, is_taken_as_typed, queue_full};
use crate::app::client::ClientId;
use crate::app::prompter::Prompter;
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::delivery::queue::{PromptQueue, QueueRefusal};
use crate::protocol::request::*;

impl App {
    pub(in crate::app) fn queue_list(&self, params: &QueueParams) -> Result<QueueResult, CodedError> {
        Ok(shown(&self.known(params.session())?.record.queue))
    }

    pub(in crate::app) fn queue_edit(
        &mut self,
        client: ClientId,
        params: QueueParams,
    ) -> Result<QueueResult, CodedError> {
        let (session_id, id) = (params.session().to_owned(), message_id(&params)?.to_owned());
        let text = params.text.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
            CodedError::new(ErrorCode::InvalidParams, "`bb/queue/edit` needs a `text` that is not blank.")
        })?;
        fits_a_prompt(&text)?;
        is_taken_as_typed(self.known(&session_id)?.record.engine, &text)?;
        let result = self.change_queue(&session_id, |queue| queue.edit(&id, text))?;
        // These are its words now.
        self.clients.prompters.waits(&session_id, &id, Prompter::Client(client));
        Ok(result)
    }

    pub(in crate::app) fn queue_move(&mut self, params: &QueueParams) -> Result<QueueResult, CodedError> {
        let id = message_id(params)?;
        self.change_queue(params.session(), |queue| queue.move_before(id, params.before.as_deref()))
    }

    pub(in crate::app) fn queue_remove(&mut self, params: &QueueParams) -> Result<QueueResult, CodedError> {
        let id = message_id(params)?;
        let result = self.change_queue(params.session(), |queue| queue.remove(id).map(drop))?;
        self.clients.prompters.waits_no_more(params.session(), id);
        Ok(result)
    }

    pub(in crate::app) fn queue_resume(
        &mut self,
        client: ClientId,
        params: &QueueParams,
    ) -> Result<QueueResult, CodedError> {
        self.goes_on(params.session())?;
        let by = Prompter::Client(client);
        self.may_work_on(by, params.session())?;
        let result = self.change_queue(params.session(), |queue| {
            queue.resume();
            Ok(())
        })?;
        // Whoever lets it go on prompts what waits in it.
        for item in &result.items {
            self.clients.prompters.waits(params.session(), &item.message_id, by);
        }
        self.next_prompt(params.session());
        self.queue_list(params).or(Ok(result))
    }

    fn change_queue(
        &mut self,
        session_id: &str,
        change: impl FnOnce(&mut PromptQueue) -> Result<(), QueueRefusal>,
    ) -> Result<QueueResult, CodedError> {
        self.load(session_id)?;
        change(&mut self.record_mut(session_id)?.queue).map_err(|refusal| match refusal {
            QueueRefusal::UnknownPrompt => CodedError::new(
                ErrorCode::NotFound,
                "This prompt does not wait in the queue (any more); list the queue again.",
            ),
            QueueRefusal::Full => queue_full(),
        })?;
        self.flush(session_id);
        Ok(shown(&self.known(session_id)?.record.queue))
    }
}

fn message_id(params: &QueueParams) -> Result<&str, CodedError> {
    params.message_id.as_deref().ok_or_else(|| {
        CodedError::new(ErrorCode::InvalidParams, "This method needs the `messageId` of a prompt that waits.")
    })
}

/// A queue as clients see it.
pub(in crate::app) fn shown(queue: &PromptQueue) -> QueueResult {
    QueueResult {
        items: queue
            .items()
            .iter()
            .map(|item| QueueItem {
                message_id: item.message_id.clone(),
                text: item.text.clone(),
                attachment_ids: (!item.attachment_ids.is_empty()).then(|| item.attachment_ids.clone()),
            })
            .collect(),
        paused: queue.paused(),
    }
}
