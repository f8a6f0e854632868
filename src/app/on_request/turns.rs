//! `bb/turn/*`: what turns changed in the files, marked and taken back.
//!
//! Owns the checks. What is told is read by the workspace edge; how a revert is made is in `turn_changes`.

use crate::app::client::ClientId;
use crate::app::edits::untrusted;
use crate::app::inbox::Reply;
use crate::app::ports::{FileJob, TurnJob, TurnRevert};
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::turn::*;

/// Turns of a list without a limit, and most of one.
const LISTED: u64 = 50;
const MOST_LISTED: u64 = 500;

impl App {
    pub(in crate::app) fn turn_list(&mut self, params: TurnListParams, reply: Reply<TurnListResult>) {
        let session_id = params.session_id.unwrap_or_default();
        if let Err(error) = self.load(&session_id) {
            return reply.refuse(error);
        }
        let limit = usize::try_from(params.limit.unwrap_or(LISTED).clamp(1, MOST_LISTED)).unwrap_or(1);
        self.turn_job(None, TurnJob::List { session_id, limit, reply });
    }

    pub(in crate::app) fn turn_changes(
        &mut self,
        client: ClientId,
        params: TurnChangesParams,
        reply: Reply<TurnChangesResult>,
    ) {
        let session_id = params.session_id.clone().unwrap_or_default();
        if let Err(error) = self.load(&session_id) {
            return reply.refuse(error);
        }
        self.turn_job(Some(client), TurnJob::Changes { session_id, params, reply });
    }

    /// Checked in this order: params, session, trust (unless it only tells), whether a turn runs.
    pub(in crate::app) fn turn_revert(
        &mut self,
        client: ClientId,
        params: TurnRevertParams,
        reply: Reply<TurnRevertResult>,
    ) {
        let session_id = params.session_id.clone().unwrap_or_default();
        if let Err(error) =
            self.load(&session_id).and_then(|()| self.may_revert(client, &session_id, &params))
        {
            return reply.refuse(error);
        }
        let revert = TurnRevert { client, session_id, params, files: Vec::new(), record: None, reply };
        self.turn_job(Some(client), TurnJob::Plan(Box::new(revert)));
    }

    /// Whether a revert may be made now.
    pub(in crate::app) fn may_revert(
        &mut self,
        client: ClientId,
        session_id: &str,
        params: &TurnRevertParams,
    ) -> Result<(), CodedError> {
        if params.preview {
            return Ok(());
        }
        if !self.clients.trusts(client) {
            return Err(untrusted());
        }
        if self.known(session_id)?.record.turn.is_open() {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "A turn of this session is not over, and it may write the same files; stop it or wait for its end, then take back.",
            ));
        }
        self.hold(session_id)
    }

    pub(in crate::app) fn turn_review(
        &mut self,
        client: ClientId,
        params: TurnReviewParams,
        reply: Reply<TurnReviewResult>,
    ) {
        let session_id = params.session_id.clone().unwrap_or_default();
        if let Err(error) = self.load(&session_id) {
            return reply.refuse(error);
        }
        self.turn_job(Some(client), TurnJob::Review { session_id, params, reply });
    }

    /// Gives the workspace edge a job, with the buffers of a client.
    pub(in crate::app) fn turn_job(&mut self, client: Option<ClientId>, job: TurnJob) {
        let buffers = self.clients.buffers(client);
        self.files.submit(FileJob::Turn(job), buffers);
    }
}
