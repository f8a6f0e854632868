//! What happens on an event that is not an engine report: the dispatcher.
//!
//! Owns nothing but the routing; `on_editor` and `on_request` do the work.

use super::client::ClientId;
use super::inbox::{EditorEvent, EditorReply, Event};
use super::ports::FileJobDone;
use super::state::App;
use crate::protocol::Request;
use crate::protocol::method::methods;

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
            Event::Standard { client, request, reply } => self.on_standard(client, request, reply),
            Event::Editor { client, event } => self.on_editor(client, event),
            Event::OutboxDrained { client } => self.on_outbox_drained(client),
            Event::FileJobDone(done) => self.on_file_job(done),
            Event::SecretsTaken(secrets) => self.hide(secrets.into_iter()),
            Event::Shutdown { client, reply } => {
                // Others go on, where there are any.
                self.closing |= self.clients.get(client).is_some() && self.clients.len() == 1;
                self.flush_all();
                reply.answer(());
            }
            Event::Exit { reply } => {
                self.closing = true;
                self.flush_all();
                // Closed cleanly, the file needs no check when it is opened again.
                self.journal = None;
                reply.answer(());
            }
        }
    }

    // Longer than other functions, as the one table of which request is answered by what: one arm each, so that none is forgotten.
    pub(super) fn on_request(&mut self, client: ClientId, mut request: Request, reply: EditorReply) {
        // A request that was cancelled before its turn came has no effect (LSP 3.17, cancelRequest).
        if reply.is_abandoned() {
            return;
        }
        tracing::debug!(target: "breadboard_ls::wire", method = request.method(), "request");
        match self.clients.get_mut(client) {
            Some(client) => client.greet(),
            // It is gone, and hears no answer.
            None => return,
        }
        let named = self.name_tabs(client, &mut request).and_then(|()| self.name_session(&mut request));
        if let Err(error) = named {
            return reply.refuse(error);
        }
        let Some((request, reply)) = self.may_change(client, request, reply) else { return };
        match request {
            Request::Init(params) => reply.of::<methods::Init>().settle(self.init(client, params)),
            Request::CreateSession(params) => {
                self.create_session(client, params, reply.of::<methods::CreateSession>())
            }
            Request::ListSessions(params) => self.answer_list(&params, reply.of::<methods::ListSessions>()),
            Request::SelectSession(params) => {
                self.select_session(client, &params.session_id, reply.of::<methods::SelectSession>())
            }
            Request::DeleteSession(params) => {
                self.delete_session(params.session_id, reply.of::<methods::DeleteSession>())
            }
            Request::SendMessage(params) => {
                self.come_back(client, &params.session_id);
                let session_id = params.session_id.clone();
                let sent = self.send_message(client, params);
                if sent.is_ok() {
                    // Now it follows the session, and asked for it itself, whatever its tab is.
                    self.come_back(client, &session_id);
                }
                reply.of::<methods::SendMessage>().settle(sent);
            }
            Request::Stop(params) => {
                reply.of::<methods::Stop>().settle(self.stop_by(client, &params.session_id))
            }
            Request::QueueList(params) => reply.of::<methods::QueueList>().settle(self.queue_list(&params)),
            Request::QueueEdit(params) => {
                reply.of::<methods::QueueEdit>().settle(self.queue_edit(client, params))
            }
            Request::QueueMove(params) => reply.of::<methods::QueueMove>().settle(self.queue_move(&params)),
            Request::QueueRemove(params) => {
                reply.of::<methods::QueueRemove>().settle(self.queue_remove(&params))
            }
            Request::QueueResume(params) => {
                reply.of::<methods::QueueResume>().settle(self.queue_resume(client, &params))
            }
            Request::Command(params) => self.command(client, params, reply.of::<methods::Command>()),
            Request::ApprovePermission(params) => {
                self.approve_permission(client, params, reply.of::<methods::ApprovePermission>())
            }
            Request::PermissionGet(params) => {
                reply.of::<methods::PermissionGet>().settle(self.permission_get(&params))
            }
            Request::PermissionList(params) => {
                reply.of::<methods::PermissionList>().settle(self.permission_list(&params))
            }
            Request::ApprovalsSet(params) => {
                reply.of::<methods::ApprovalsSet>().settle(self.approvals_set(&params))
            }
            Request::PatchList(params) => reply.of::<methods::PatchList>().settle(self.patch_list(&params)),
            Request::PatchGet(params) => reply.of::<methods::PatchGet>().settle(self.patch_get(&params)),
            Request::PatchDecide(params) => {
                self.patch_decide(client, params, reply.of::<methods::PatchDecide>())
            }
            Request::PatchRevert(params) => {
                self.patch_revert(client, &params, reply.of::<methods::PatchRevert>())
            }
            Request::TurnList(params) => self.turn_list(params, reply.of::<methods::TurnList>()),
            Request::TurnChanges(params) => {
                self.turn_changes(client, params, reply.of::<methods::TurnChanges>())
            }
            Request::TurnRevert(params) => {
                self.turn_revert(client, params, reply.of::<methods::TurnRevert>())
            }
            Request::TurnReview(params) => {
                self.turn_review(client, params, reply.of::<methods::TurnReview>())
            }
            Request::PermissionRevoke(params) => {
                reply.of::<methods::PermissionRevoke>().settle(self.permission_revoke(&params.rule_id))
            }
            Request::ContextPreview(params) => {
                self.context_preview(client, params, reply.of::<methods::ContextPreview>())
            }
            Request::ListFiles(params) => self.list_files(client, params, reply.of::<methods::ListFiles>()),
            Request::SessionRename(params) => {
                reply.of::<methods::SessionRename>().settle(self.rename_session(params));
            }
            Request::SessionPin(params) => {
                reply.of::<methods::SessionPin>().settle(self.pin_session(params));
            }
            Request::SessionBranch(params) => {
                self.branch_session(client, params, reply.of::<methods::SessionBranch>());
            }
            Request::FindFiles(params) => self.find_files(params, reply.of::<methods::FindFiles>()),
            Request::ReadFileSnippet(params) => {
                self.read_file_snippet(client, params, reply.of::<methods::ReadFileSnippet>())
            }
            Request::OpenDiff(params) => self.open_diff(client, params, reply.of::<methods::OpenDiff>()),
            Request::TextDocument(params) => {
                self.text_document(client, &params, reply.of::<methods::TextDocument>())
            }
            Request::DownloadArtifact(params) => {
                self.download_artifact(client, params, reply.of::<methods::DownloadArtifact>())
            }
            Request::EventsRead(params) => {
                reply.standing_for::<methods::EventsRead, _>().settle(self.events_read(&params))
            }
            Request::EventBody(params) => {
                reply.standing_for::<methods::EventBody, _>().settle(self.event_body(&params))
            }
            Request::ViewPage(params) => reply.of::<methods::ViewPage>().settle(self.view_page(&params)),
            Request::AttachmentPut(params) => {
                self.attachment_put(client, params, reply.of::<methods::AttachmentPut>())
            }
            Request::TabOpen(params) => reply.of::<methods::TabOpen>().settle(self.tab_open(client, params)),
            Request::TabPrompt(params) => {
                reply.of::<methods::TabPrompt>().settle(self.tab_prompt(client, params))
            }
            Request::TabStop(params) => reply.of::<methods::TabStop>().settle(self.tab_stop(&params)),
            Request::TabClose(params) => {
                reply.of::<methods::TabClose>().settle(self.tab_close(client, &params))
            }
            Request::TabVisibility(params) => {
                reply.of::<methods::TabVisibility>().settle(self.tab_visibility(client, params))
            }
            Request::TabDetach(params) => {
                reply.of::<methods::TabDetach>().answer(self.tab_detach(client, &params))
            }
            Request::TabAttach(params) => {
                reply.of::<methods::TabAttach>().answer(self.tab_attach(client, params))
            }
            Request::TabAck(params) => reply.of::<methods::TabAck>().settle(self.tab_ack(&params)),
            Request::SessionInfo(params) => {
                reply.of::<methods::SessionInfo>().settle(self.session_info(params.session()));
            }
            Request::AgentRestart(params) => {
                self.restart_agent(client, params.agent, reply.of::<methods::AgentRestart>())
            }
            Request::CreateSpecReady(_) => {
                reply.of::<methods::CreateSpecReady>().answer(self.create_spec_ready())
            }
            Request::CreateSpecAutosave(params) => {
                reply.of::<methods::CreateSpecAutosave>().settle(self.create_spec_autosave(&params))
            }
            Request::CreateSpecSubmit(params) => {
                self.create_spec_submit(client, params, reply.of::<methods::CreateSpecSubmit>())
            }
            Request::CreateSpecCloseAttempt(params) => {
                reply.of::<methods::CreateSpecCloseAttempt>().settle(self.create_spec_close_attempt(&params))
            }
            Request::CreateSpecDiscard(_) => {
                reply.of::<methods::CreateSpecDiscard>().settle(self.create_spec_discard())
            }
            Request::CreateSpecImportMarkdown(params) => {
                self.create_spec_import(client, params, reply.of::<methods::CreateSpecImportMarkdown>())
            }
            Request::CreateSpecAttachImages(params) => {
                self.create_spec_attach(client, params, reply.of::<methods::CreateSpecAttachImages>())
            }
            Request::Rebuild(params) => self.rebuild(&params.session_id, reply.of::<methods::Rebuild>()),
            Request::ModelsList(_) => self.models_list(reply.of::<methods::ModelsList>()),
            Request::ModelsSet(params) => reply.of::<methods::ModelsSet>().settle(self.models_set(params)),
            Request::ModelsProviders(_) => {
                reply.of::<methods::ModelsProviders>().answer(self.models_providers());
            }
            Request::ModelsCheck(params) => self.models_check(params, reply.of::<methods::ModelsCheck>()),
            Request::McpList(params) => {
                self.mcp_list(params.session_id.as_deref(), reply.of::<methods::McpList>());
            }
            Request::McpRestart(params) => {
                self.mcp_restart(client, &params, reply.of::<methods::McpRestart>());
            }
            Request::McpSet(params) => self.mcp_set(client, params, reply.of::<methods::McpSet>()),
            Request::McpAllow(params) => {
                self.mcp_allow(client, &params, reply.of::<methods::McpAllow>());
            }
            Request::SetCredentials(params) => {
                reply.of::<methods::SetCredentials>().settle(self.set_credentials(params))
            }
        }
    }

    fn on_file_job(&mut self, done: FileJobDone) {
        match done {
            FileJobDone::Stored { session_id, outcome, reply } => {
                reply.settle(outcome.and_then(|attachment| self.attachment_stored(&session_id, attachment)));
            }
            FileJobDone::Printed { call, text, is_error } => self.command_printed(&call, text, is_error),
            FileJobDone::Spec(done) => self.spec_files_done(done),
            FileJobDone::Context(done) => self.context_found(*done),
            FileJobDone::Read { edit, outcome } => self.edit_base_read(*edit, outcome),
            FileJobDone::Patch(done) => self.patch_job_done(done),
            FileJobDone::Paths { wanted, paths } => self.paths_found(*wanted, paths),
            FileJobDone::Turn(done) => self.turn_job_done(done),
            FileJobDone::UndoCame { client, outcome } => self.undo_came(client, outcome),
            FileJobDone::TurnWritten { revert, named, index, outcome } => {
                self.revert_written(revert, named, index, outcome);
            }
        }
    }
}
