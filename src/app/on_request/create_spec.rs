//! `bb/createSpec/*`: the draft of a spec, the files that go into it, and its way to a session.
//!
//! Owns the order of the steps; what is dirty, what fits and what is said is `domain::spec`'s. The draft is written at every
//! step and leaves only when it was sent or discarded.

use std::sync::{Arc, Weak};

use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::leases::digest;
use crate::app::ports::{
    FileJob, ImagePick, NewSession, Preview, SessionReply, SpecFilesDone, SpecJob, SpecPrompt, SpecSending,
};
use crate::app::prompter::Prompter;
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::spec::Spec;
use crate::domain::spec::images::{ImageFault, pick};
use crate::domain::spec::markdown::{Imported, MarkdownFault};
use crate::protocol::create_spec::*;
use crate::protocol::request::{Empty, SendMessageParams, SendMessageResult};

use super::journal_failed;
use super::prompt_rules::fits_a_prompt;

impl App {
    /// The spec of this workspace: at the start, and when another window wrote it since it was read or written here.
    pub(in crate::app) fn read_spec(&mut self) {
        let workspace = self.workspace.key.clone();
        let Some(Ok(row)) = self.journal.as_mut().map(|journal| journal.spec(&workspace)) else { return };
        let saved = row.as_deref().map(digest);
        if saved != self.draft.saved {
            self.draft.saved = saved;
            self.draft.spec = row.and_then(|row| serde_json::from_slice(&row).ok()).unwrap_or_default();
        }
    }

    /// Writes the spec as it stands. It is in memory in any case; the error says that it may not survive this window.
    fn keep_spec(&mut self) -> Result<(), CodedError> {
        let workspace = self.workspace.key.clone();
        // A spec holds strings and a number, which always serialise.
        let record = serde_json::to_vec(&self.draft.spec).unwrap_or_default();
        let record = self.redactor.scrub_json(&record).into_owned();
        let record = (self.draft.spec != Spec::default()).then_some(record);
        let kept = self.journal()?.set_spec(&workspace, record.as_deref());
        kept.map_err(|error| journal_failed(&error))?;
        self.draft.saved = record.as_deref().map(digest);
        Ok(())
    }

    /// Where the request itself does not depend on the disk, its trouble is not the request's.
    fn try_to_keep_spec(&mut self) {
        if let Err(error) = self.keep_spec() {
            tracing::warn!(error = error.message, "the spec could not be written");
        }
    }

    pub(in crate::app) fn create_spec_ready(&mut self) -> CreateSpecInit {
        self.read_spec();
        self.draft.spec.open();
        self.try_to_keep_spec();
        CreateSpecInit { draft: self.draft.spec.draft.clone(), should_focus_primary_field: true }
    }

    pub(in crate::app) fn create_spec_autosave(
        &mut self,
        params: &CreateSpecAutosaveParams,
    ) -> Result<CreateSpecAutosaveResult, CodedError> {
        fits_a_prompt(&params.description)?;
        let now = self.ambient.now_ms();
        let last_updated = self.draft.spec.save(&params.description, now);
        self.keep_spec()?;
        Ok(CreateSpecAutosaveResult { last_updated })
    }

    pub(in crate::app) fn create_spec_close_attempt(
        &mut self,
        params: &CreateSpecCloseAttemptParams,
    ) -> Result<CreateSpecCloseAttemptResult, CodedError> {
        if let Some(description) = &params.description {
            fits_a_prompt(description)?;
            let now = self.ambient.now_ms();
            self.draft.spec.save(description, now);
            self.keep_spec()?;
        }
        Ok(CreateSpecCloseAttemptResult {
            should_close: !(params.has_dirty_changes || self.draft.spec.is_dirty()),
        })
    }

    pub(in crate::app) fn create_spec_discard(&mut self) -> Result<Empty, CodedError> {
        self.draft.spec.discard();
        // It would be back after the next start.
        self.keep_spec()?;
        Ok(Empty {})
    }

    pub(in crate::app) fn create_spec_import(
        &mut self,
        client: ClientId,
        params: CreateSpecImportMarkdownParams,
        reply: Reply<CreateSpecImportMarkdownResult>,
    ) {
        let job = SpecJob::Import { uri: params.uri, reply };
        let buffers = self.buffers_for(client);
        self.files.submit(FileJob::Spec(job), buffers);
    }

    pub(in crate::app) fn create_spec_attach(
        &mut self,
        client: ClientId,
        params: CreateSpecAttachImagesParams,
        reply: Reply<CreateSpecAttachImagesResult>,
    ) {
        let held = params.current_uris.unwrap_or_default();
        self.draft.images_coming.retain(|places| places.strong_count() > 0);
        let coming = self.draft.images_coming.iter().filter_map(Weak::upgrade).map(|places| *places).sum();
        let picked = pick(&params.uris, params.current_count, &held, coming);
        let pick = ImagePick {
            places: Arc::new(picked.take.len()),
            capped: picked.capped,
            duplicates: picked.duplicates,
            reply,
        };
        if picked.take.is_empty() {
            return self.previewed(Ok(Vec::new()), pick);
        }
        self.draft.images_coming.push(Arc::downgrade(&pick.places));
        let job = SpecJob::Preview { uris: picked.take, pick: Box::new(pick) };
        let buffers = self.buffers_for(client);
        self.files.submit(FileJob::Spec(job), buffers);
    }

    /// The edge is done with files of a spec.
    pub(in crate::app) fn spec_files_done(&mut self, done: SpecFilesDone) {
        match done {
            SpecFilesDone::Imported { outcome, reply } => reply.answer(imported(outcome)),
            SpecFilesDone::Previewed { outcome, pick } => self.previewed(outcome, *pick),
            SpecFilesDone::Kept { outcome, sending } => {
                let mut sending = *sending;
                match outcome {
                    Ok(images) => {
                        sending.prompt.images = images;
                        self.send_spec(sending);
                    }
                    Err(error) => sending.reply.refuse(error),
                }
            }
        }
    }

    fn previewed(&mut self, outcome: Result<Vec<Preview>, ImageFault>, pick: ImagePick) {
        let result = match outcome.and_then(|previews| self.offer(previews)) {
            Ok(images) => CreateSpecAttachImagesResult::Attached(AttachedImages {
                images,
                capped: pick.capped.then_some(true),
                duplicates: (pick.duplicates > 0).then_some(pick.duplicates as u64),
            }),
            Err(fault) => CreateSpecAttachImagesResult::Refused(CreateSpecFault::new(fault.reason())),
        };
        pick.reply.answer(result);
    }

    /// Remembers the images that are given out, and names them.
    fn offer(&mut self, previews: Vec<Preview>) -> Result<Vec<SpecImage>, ImageFault> {
        let mut images = Vec::with_capacity(previews.len());
        for Preview { uri, name, data_url } in previews {
            let ambient = &self.ambient;
            let id = self.draft.spec.offer(&uri, || ambient.fresh_id())?;
            images.push(SpecImage { id, uri, name, data_url });
        }
        if !images.is_empty() {
            self.try_to_keep_spec();
        }
        Ok(images)
    }

    pub(in crate::app) fn create_spec_submit(
        &mut self,
        client: ClientId,
        params: CreateSpecSubmitParams,
        reply: Reply<SendMessageResult>,
    ) {
        match self.may_submit(client, params) {
            Ok(Taken::Before(answer)) => reply.answer(answer),
            Ok(Taken::Now { session_id, prompt, images }) => {
                let sending = SpecSending { client, session_id, prompt, reply };
                if images.is_empty() {
                    return self.send_spec(sending);
                }
                let job = SpecJob::Keep { uris: images, sending: Box::new(sending) };
                let buffers = self.buffers_for(client);
                self.files.submit(FileJob::Spec(job), buffers);
            }
            Err(error) => reply.refuse(error),
        }
    }

    /// Every check that can be made before a file is read, so that a refusal leaves nothing behind but the draft.
    fn may_submit(&mut self, client: ClientId, params: CreateSpecSubmitParams) -> Result<Taken, CodedError> {
        // A tab was read as its session before this.
        let CreateSpecSubmitParams { description, image_uris, session_id, tab_id: _, message_id } = params;
        let session_id = session_id.or_else(|| self.active_that_goes_on(client));
        let by = Prompter::Client(client);
        if let (Some(session_id), Some(message_id)) = (&session_id, &message_id) {
            self.load(session_id)?;
            if let Some(answer) = self.answered_before(session_id, message_id) {
                return Ok(Taken::Before(answer));
            }
        }
        fits_a_prompt(&description)?;
        let submission = self
            .draft
            .spec
            .submission(&description, &image_uris)
            .map_err(|unfit| CodedError::new(ErrorCode::InvalidParams, unfit.reason()))?;
        // What is sent is also what a failure leaves.
        let now = self.ambient.now_ms();
        self.draft.spec.save(&description, now);
        self.try_to_keep_spec();
        match &session_id {
            Some(session_id) => {
                self.load(session_id)?;
                self.goes_on(session_id)?;
                self.may_prompt(by, self.known(session_id)?.record.engine, &submission.text)?;
            }
            None => {
                let kind = self.settings.engine.kind;
                self.engine_for(kind)?;
                self.may_prompt(by, kind, &submission.text)?;
            }
        }
        let prompt = SpecPrompt { text: submission.text, message_id, images: Vec::new() };
        Ok(Taken::Now { session_id, prompt, images: submission.images })
    }

    /// The active session of a client, unless it takes no more prompts: a new spec is no reason to stay with an engine of
    /// before.
    fn active_that_goes_on(&mut self, client: ClientId) -> Option<String> {
        let active = self.clients.get(client)?.active.clone()?;
        (self.load(&active).is_ok() && self.goes_on(&active).is_ok()).then_some(active)
    }

    /// Its images are there: to its session, or to one that is made for it.
    fn send_spec(&mut self, sending: SpecSending) {
        let SpecSending { client, session_id, prompt, reply } = sending;
        let made = match session_id {
            Some(session_id) => Ok(session_id),
            None => match self.engine_for(self.settings.engine.kind) {
                Ok(engine) if engine.traits().sessions.is_elsewhere() => {
                    let wish = NewSession {
                        workspace: self.workspace.folders.first().and_then(|folder| folder.path.clone()),
                        client: Some(client),
                        ..NewSession::default()
                    };
                    let reply = SessionReply::Spec { prompt: Box::new(prompt), reply };
                    return self.make_session(self.settings.engine.kind, wish, reply);
                }
                Ok(_) => self.create_session_here(client, None, None).map(|made| made.session_id),
                Err(error) => Err(error),
            },
        };
        reply.settle(made.and_then(|session_id| self.prompt_with_spec(client, &session_id, prompt)));
    }

    /// The last step: a prompt with its images as attachments. Then, and only then, the draft goes.
    pub(in crate::app) fn prompt_with_spec(
        &mut self,
        client: ClientId,
        session_id: &str,
        prompt: SpecPrompt,
    ) -> Result<SendMessageResult, CodedError> {
        let mut attachment_ids = Vec::with_capacity(prompt.images.len());
        for image in prompt.images {
            self.has_room_for_attachment(session_id)?;
            attachment_ids.push(self.attachment_stored(session_id, image)?.attachment_id);
        }
        let message = SendMessageParams {
            session_id: session_id.to_owned(),
            text: prompt.text.clone(),
            attachment_ids: (!attachment_ids.is_empty()).then_some(attachment_ids),
            message_id: prompt.message_id,
            context: None,
        };
        let sent = self.send_message(client, message)?;
        self.draft.spec.submitted(&prompt.text);
        self.try_to_keep_spec();
        Ok(sent)
    }
}

/// What becomes of a submission that fits.
enum Taken {
    /// It was sent before, and this is what was answered.
    Before(SendMessageResult),
    /// It is sent now.
    Now { session_id: Option<String>, prompt: SpecPrompt, images: Vec<String> },
}

fn imported(outcome: Result<Imported, MarkdownFault>) -> CreateSpecImportMarkdownResult {
    match outcome {
        Ok(Imported { content, warning }) => CreateSpecImportMarkdownResult::Imported(ImportedMarkdown {
            content,
            warning: warning.map(str::to_owned),
        }),
        Err(fault) => CreateSpecImportMarkdownResult::Refused(CreateSpecFault::new(fault.reason())),
    }
}
