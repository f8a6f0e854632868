//! Requests that change a session which another window has: which those are, and the wait for that window to let go of it.
//!
//! Owns the requests that wait, and for how long. Never takes a lease itself. A stop does not wait: it is passed on.

use super::client::ClientId;
use super::inbox::EditorReply;
use super::on_request::journal_failed;
use super::ports::HolderRequest;
use super::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::Request;

/// How long a request waits for a window that has a session but does nothing with it, in microseconds: some looks of both.
const YIELD_US: u64 = 2_000_000;

/// Requests that wait so. A user has a few windows; past it the answer is `conflict` at once.
const WAITING: usize = 64;

/// Requests that wait for another window.
#[derive(Default)]
pub(super) struct Waiting {
    requests: Vec<WaitingRequest>,
}

struct WaitingRequest {
    client: ClientId,
    request: Request,
    reply: EditorReply,
    /// When it is given up, on the clock of the batchers.
    due_us: u64,
}

impl Waiting {
    /// Nobody hears what the requests of this client come to.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.requests.retain(|waiting| waiting.client != client);
    }
}

impl App {
    /// Before a request that changes a session is done. `None`: it was answered, or waits.
    pub(super) fn may_change(
        &mut self,
        client: ClientId,
        request: Request,
        reply: EditorReply,
    ) -> Option<(Request, EditorReply)> {
        let Some(session_id) = self.changes(&request) else { return Some((request, reply)) };
        let Err(error) = self.hold(&session_id) else { return Some((request, reply)) };
        match error.code {
            ErrorCode::Conflict => {}
            // Whoever does the request says so, in its order.
            ErrorCode::UnknownSession => return Some((request, reply)),
            _ => {
                reply.refuse(error);
                return None;
            }
        }
        let idle = self.known(&session_id).is_ok_and(|session| !session.record.turn.is_worked_on());
        if !idle || self.leases.waiting.requests.len() >= WAITING {
            reply.refuse(error);
            return None;
        }
        // It is only open there.
        match self.journal.as_mut().map(|journal| journal.wish(&session_id, HolderRequest::Yield)) {
            Some(Ok(())) => {
                let due_us = self.now_us() + YIELD_US;
                self.leases.waiting.requests.push(WaitingRequest { client, request, reply, due_us });
            }
            Some(Err(_)) | None => reply.refuse(error),
        }
        None
    }

    /// Requests that wait for another window, once more.
    pub(super) fn try_again(&mut self, now: u64) {
        for waiting in std::mem::take(&mut self.leases.waiting.requests) {
            if waiting.reply.is_abandoned() {
                continue;
            }
            let held = self.changes(&waiting.request).map_or(Ok(()), |session_id| self.hold(&session_id));
            match held {
                Err(error) if error.code == ErrorCode::Conflict && waiting.due_us > now => {
                    self.leases.waiting.requests.push(waiting);
                }
                Err(error) if error.code == ErrorCode::Conflict => waiting.reply.refuse(error),
                Ok(()) | Err(_) => self.on_request(waiting.client, waiting.request, waiting.reply),
            }
        }
    }

    /// The session that a request changes. A stop is not among them: it is passed on.
    fn changes(&self, request: &Request) -> Option<String> {
        match request {
            Request::SendMessage(params) => Some(params.session_id.clone()),
            Request::DeleteSession(params) => Some(params.session_id.clone()),
            Request::Command(params) => Some(params.session_id.clone()),
            Request::Rebuild(params) => Some(params.session_id.clone()),
            Request::QueueEdit(params) => params.session_id.clone(),
            Request::SessionRename(params) => Some(params.session_id.clone()),
            Request::SessionPin(params) => Some(params.session_id.clone()),
            Request::QueueMove(params) => params.session_id.clone(),
            Request::QueueRemove(params) => params.session_id.clone(),
            Request::QueueResume(params) => params.session_id.clone(),
            Request::ApprovePermission(params) => params.session_id.clone(),
            Request::AttachmentPut(params) => params.session_id.clone(),
            Request::PatchDecide(params) => params.session_id.clone(),
            Request::PatchRevert(params) => params.session_id.clone(),
            Request::TurnRevert(params) if !params.preview => params.session_id.clone(),
            Request::TurnReview(params) => params.session_id.clone(),
            Request::TabPrompt(params) => self.tabs.session_shown(&params.tab_id),
            Request::Init(_)
            | Request::CreateSession(_)
            | Request::ListSessions(_)
            | Request::SelectSession(_)
            | Request::SessionBranch(_)
            | Request::Stop(_)
            | Request::QueueList(_)
            | Request::PermissionList(_)
            | Request::PermissionGet(_)
            | Request::ApprovalsSet(_)
            | Request::PatchList(_)
            | Request::PatchGet(_)
            | Request::TurnList(_)
            | Request::TurnChanges(_)
            | Request::TurnRevert(_)
            | Request::PermissionRevoke(_)
            | Request::ContextPreview(_)
            | Request::ListFiles(_)
            | Request::FindFiles(_)
            | Request::ReadFileSnippet(_)
            | Request::OpenDiff(_)
            | Request::TextDocument(_)
            | Request::DownloadArtifact(_)
            | Request::EventsRead(_)
            | Request::EventBody(_)
            | Request::ViewPage(_)
            | Request::TabOpen(_)
            | Request::TabStop(_)
            | Request::TabClose(_)
            | Request::TabVisibility(_)
            | Request::TabDetach(_)
            | Request::TabAttach(_)
            | Request::TabAck(_)
            | Request::SessionInfo(_)
            | Request::AgentRestart(_)
            | Request::CreateSpecReady(_)
            | Request::CreateSpecAutosave(_)
            | Request::CreateSpecSubmit(_)
            | Request::CreateSpecCloseAttempt(_)
            | Request::CreateSpecDiscard(_)
            | Request::CreateSpecImportMarkdown(_)
            | Request::CreateSpecAttachImages(_)
            | Request::ModelsList(_)
            | Request::ModelsSet(_)
            | Request::ModelsProviders(_)
            | Request::ModelsCheck(_)
            | Request::McpList(_)
            | Request::McpRestart(_)
            | Request::McpSet(_)
            | Request::McpAllow(_)
            | Request::SetCredentials(_) => None,
        }
    }

    /// Passes a stop on to the window that works on a session. Whether there is a turn to stop.
    pub(super) fn pass_stop_on(&mut self, session_id: &str) -> Result<bool, CodedError> {
        self.journal()?.wish(session_id, HolderRequest::Stop).map_err(|error| journal_failed(&error))?;
        Ok(self.known(session_id)?.record.turn.is_open())
    }
}
