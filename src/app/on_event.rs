//! What happens on an event that is not an engine report: the dispatcher.
//!
//! Owns nothing but the routing; `on_editor` and `on_request` do the work.

use super::client::ClientId;
use super::inbox::{EditorEvent, Event, Reply};
use super::ports::FileJobDone;
use super::state::App;
use crate::protocol::Request;

impl App {
    /// One event of the editor's side.
    pub(super) fn on_event(&mut self, event: Event) {
        if !matches!(event, Event::Editor { event: EditorEvent::Document(_), .. }) {
            // Whatever this leads to sees the buffers as they are.
            self.publish_scopes();
        }
        match event {
            Event::ClientConnected { client, outbox } => self.client_connected(client, outbox),
            Event::ClientGone { client } => self.client_gone(client),
            Event::Request { client, request, reply } => self.on_request(client, request, reply),
            Event::Editor { client, event } => self.on_editor(client, event),
            Event::OutboxDrained { client } => self.on_outbox_drained(client),
            Event::FileJobDone(done) => self.on_file_job(done),
            Event::Shutdown { client, reply } => {
                // Others go on, where there are any.
                self.closing |= self.clients.get(client).is_some() && self.clients.len() == 1;
                self.flush_all();
                reply.answer(&serde_json::Value::Null);
            }
            Event::Exit { reply } => {
                self.closing = true;
                self.flush_all();
                // Closed cleanly, the file needs no check when it is opened again.
                self.journal = None;
                reply.answer(&serde_json::Value::Null);
            }
        }
    }

    pub(super) fn on_request(&mut self, client: ClientId, mut request: Request, reply: Reply) {
        // A request that was cancelled before its turn came has no effect (LSP 3.17, cancelRequest).
        if reply.is_abandoned() {
            return;
        }
        tracing::debug!(target: "breadboard_ls::wire", method = request.method(), "request");
        match self.clients.get_mut(client) {
            Some(client) => client.greeted = true,
            // It is gone, and hears no answer.
            None => return,
        }
        let named = self.name_tabs(client, &mut request).and_then(|()| self.name_session(&mut request));
        if let Err(error) = named {
            return reply.refuse(error);
        }
        let Some((request, reply)) = self.may_change(client, request, reply) else { return };
        match request {
            Request::Init(params) => reply.settle(self.init(client, params)),
            Request::CreateSession(params) => self.create_session(client, params, reply),
            Request::ListSessions(_) => self.answer_list(reply),
            Request::SelectSession(params) => self.select_session(client, &params.session_id, reply),
            Request::DeleteSession(params) => self.delete_session(params.session_id, reply),
            Request::SendMessage(params) => {
                self.come_back(client, &params.session_id);
                let session_id = params.session_id.clone();
                let sent = self.send_message(client, params);
                if sent.is_ok() {
                    // Now it follows the session, and asked for it itself, whatever its tab is.
                    self.come_back(client, &session_id);
                }
                reply.settle(sent);
            }
            Request::Stop(params) => reply.settle(self.stop(&params.session_id)),
            Request::QueueList(params) => reply.settle(self.queue_list(&params)),
            Request::QueueEdit(params) => reply.settle(self.queue_edit(client, params)),
            Request::QueueMove(params) => reply.settle(self.queue_move(&params)),
            Request::QueueRemove(params) => reply.settle(self.queue_remove(&params)),
            Request::QueueResume(params) => reply.settle(self.queue_resume(client, &params)),
            Request::Command(params) => self.command(client, params, reply),
            Request::ApprovePermission(params) => self.approve_permission(client, params, reply),
            Request::PermissionList(params) => reply.settle(self.permission_list(&params)),
            Request::PermissionRevoke(params) => reply.settle(self.permission_revoke(&params.rule_id)),
            Request::ListFiles(params) => self.list_files(client, params, reply),
            Request::ReadFileSnippet(params) => self.read_file_snippet(client, params, reply),
            Request::OpenDiff(params) => self.open_diff(client, params, reply),
            Request::TextDocument(params) => self.text_document(client, &params, reply),
            Request::DownloadArtifact(params) => self.download_artifact(client, params, reply),
            Request::EventsRead(params) => reply.settle(self.events_read(&params)),
            Request::EventBody(params) => reply.settle(self.event_body(&params)),
            Request::ViewPage(params) => reply.settle(self.view_page(&params)),
            Request::AttachmentPut(params) => self.attachment_put(client, params, reply),
            Request::TabOpen(params) => reply.settle(self.tab_open(client, params)),
            Request::TabPrompt(params) => reply.settle(self.tab_prompt(client, params)),
            Request::TabStop(params) => reply.settle(self.tab_stop(&params)),
            Request::TabClose(params) => reply.settle(self.tab_close(client, &params)),
            Request::TabVisibility(params) => reply.settle(self.tab_visibility(client, params)),
            Request::TabDetach(params) => reply.answer(&self.tab_detach(client, &params)),
            Request::TabAttach(params) => reply.answer(&self.tab_attach(client, params)),
            Request::TabAck(params) => reply.settle(self.tab_ack(&params)),
            Request::SessionInfo(params) => self.session_info(params.session(), reply),
            Request::AgentRestart(params) => self.restart_agent(client, params.agent, reply),
            Request::CreateSpecReady(_) => reply.answer(&self.create_spec_ready()),
            Request::CreateSpecAutosave(params) => reply.settle(self.create_spec_autosave(&params)),
            Request::CreateSpecSubmit(params) => self.create_spec_submit(client, params, reply),
            Request::CreateSpecCloseAttempt(params) => reply.settle(self.create_spec_close_attempt(&params)),
            Request::CreateSpecDiscard(_) => reply.settle(self.create_spec_discard()),
            Request::CreateSpecImportMarkdown(params) => self.create_spec_import(client, params, reply),
            Request::CreateSpecAttachImages(params) => self.create_spec_attach(client, params, reply),
            Request::Rebuild(params) => self.rebuild(&params.session_id, reply),
            Request::ModelsList(_) => self.models_list(reply),
            Request::ModelsSet(params) => reply.settle(self.models_set(params)),
            Request::SetCredentials(params) => reply.settle(self.set_credentials(params)),
        }
    }

    fn on_file_job(&mut self, done: FileJobDone) {
        match done {
            FileJobDone::Stored { session_id, outcome, reply } => {
                reply.settle(outcome.and_then(|attachment| self.attachment_stored(&session_id, attachment)));
            }
            FileJobDone::Spec(done) => self.spec_files_done(done),
            FileJobDone::Read { edit, outcome } => self.edit_base_read(*edit, outcome),
        }
    }
}
