//! What an engine wants done in the workspace: a text read or replaced. Commands are `command_run`.
//!
//! Owns the choice between a client and the disk: `workspace/applyEdit` where a client has it, else the
//! workspace edge; and which client (decision 0013). Trust is checked again here, whatever was allowed before.

use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Client, ClientId};
use super::editor_asks::PendingAsk;
use super::inbox::Reply;
use super::ports::{Applied, ClientRequest, FileJob, FileText, HeldCommand};
use super::prompter::Prompter;
use super::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::overlay::{OpenDocument, Overlay};
use crate::domain::edits::replace::replacement;
use crate::domain::edits::text::content_hash;
use crate::domain::policy::file_lists::FileUse;
use crate::domain::policy::uri;

/// Names the note beside an edit, in the one request that it stands in.
const ANNOTATION: &str = "breadboard";

/// An edit of a file that goes through an editor.
#[derive(Debug)]
pub(super) struct EditDone {
    pub(super) session_id: String,
    /// The client that applies it.
    pub(super) client: ClientId,
    pub(super) uri: String,
    /// Name of the root; `None` for the first.
    pub(super) root: Option<String>,
    /// Relative to it.
    pub(super) path: String,
    /// The whole text as it will be.
    pub(super) text: String,
    /// Its hash.
    pub(super) applied_hash: String,
    /// Hash of what it replaces.
    pub(super) base_hash: Option<String>,
    /// Nothing of the file was unsaved before.
    pub(super) was_clean: bool,
    pub(super) reply: Reply<Applied>,
}

impl EditDone {
    fn of(
        session_id: &str,
        (client, uri): (ClientId, String),
        edit: EditUnderWay,
        reply: Reply<Applied>,
    ) -> Self {
        let EditUnderWay { root, path, base_hash, text } = edit;
        let applied_hash = content_hash(text.as_bytes());
        let session_id = session_id.to_owned();
        Self { session_id, client, uri, root, path, text, applied_hash, base_hash, was_clean: false, reply }
    }

    /// The editor will never say more: what it did stands there, as far as anybody knows unsaved.
    pub(super) fn unsaved(self) {
        self.reply.answer(Applied { applied_hash: self.applied_hash, saved: false });
    }
}

/// An edit that waits for the text on disk. It travels with the job that reads it, so that whatever drops the job answers its
/// `Reply`.
#[derive(Debug)]
pub struct EditBase {
    pub(super) done: EditDone,
    pub(super) step: EditStep,
}

/// What the text on disk is for.
#[derive(Debug)]
pub(super) enum EditStep {
    /// The file is open nowhere: this is what is replaced.
    Closed {
        /// Hash of what may be replaced.
        base_hash: String,
    },
    /// The file is open: whether its buffer has something unsaved.
    Open {
        /// Hash of the buffer that may be replaced.
        base_hash: String,
    },
    /// The edit stands in the editor: whether it is on disk.
    Stands {
        /// The editor said that it saved it.
        is_saved: bool,
    },
}

/// A text to be written in place of another.
pub(super) struct EditUnderWay {
    pub(super) root: Option<String>,
    pub(super) path: String,
    pub(super) base_hash: Option<String>,
    pub(super) text: String,
}

impl App {
    pub(super) fn wanted(&mut self, session_id: &str, want: ClientRequest) {
        tracing::debug!(session_id, "the engine wants something done in the workspace");
        // The engine was stopped meanwhile, or its turn is over: nothing may happen for it any more.
        let runs = self.known(session_id).is_ok_and(|session| session.record.turn.is_open());
        match want {
            want if !runs || want.is_abandoned() => want.refuse(CodedError::new(
                ErrorCode::Cancelled,
                "The turn that wanted this is over, so it was not done; ask again.",
            )),
            // It reads what a prompt may read, with the trust that a prompt has.
            ClientRequest::UpdateContext { reply } => self.update_context(session_id, reply),
            want if !self.turn_trusted(session_id) => want.refuse(untrusted()),
            ClientRequest::ApplyText { root, path, base_hash, text, reply } => {
                let kept = self.real_file_of(root.as_deref(), &path);
                let kept = kept.and_then(|path| self.kept_by_lists(&path, FileUse::Change));
                if let Some(error) = kept.or_else(|| self.still_allowed(session_id, root.as_deref()).err()) {
                    return reply.refuse(error);
                }
                self.apply_text(session_id, EditUnderWay { root, path, base_hash, text }, reply);
            }
            ClientRequest::ChangeFile { mut change, reply } => {
                let kept = self.real_file_of(change.root.as_deref(), &change.path);
                let kept = kept.and_then(|path| self.kept_by_lists(&path, FileUse::Change));
                if let Some(error) =
                    kept.or_else(|| self.still_allowed(session_id, change.root.as_deref()).err())
                {
                    return reply.refuse(error);
                }
                let buffers = self.buffers_of_turn(session_id);
                change.turn = Some(session_id.to_owned());
                self.files.submit(FileJob::Change { change, reply }, buffers);
            }
            ClientRequest::RunCommand { command, cwd, call_id, background, reply } => {
                if let Err(error) = self.still_allowed(session_id, None) {
                    return reply.refuse(error);
                }
                // What it may change is looked at first; the answer was given, and trust, before.
                self.hold_command(session_id, HeldCommand { command, cwd, call_id, background, reply });
            }
            ClientRequest::ReadText { path, line, limit, reply } => {
                if let Some(error) = self.kept_by_lists(&path, FileUse::Read) {
                    return reply.refuse(error);
                }
                let buffers = self.buffers_of_turn(session_id);
                self.files.submit(FileJob::ReadText { path, line, limit, reply }, buffers);
            }
        }
    }

    /// Whether the folder is still the one that the answer was given for; it may have changed behind the answer.
    fn still_allowed(&mut self, session_id: &str, root: Option<&str>) -> Result<(), CodedError> {
        let allowed = self.live_mut(session_id).and_then(|live| live.allowed_root.clone());
        // A file that an agent has us write is named by its absolute path, which was shown.
        let named = root.filter(|_| !self.traits_of(session_id).sessions.is_elsewhere());
        allowed.map_or(Ok(()), |allowed| self.same_root(session_id, &allowed, named))
    }

    /// The client that is asked to do something for a session: the one that prompted, else the first that can.
    pub(super) fn able(&self, session_id: &str, can: impl Fn(&Client) -> bool) -> Option<ClientId> {
        let mut order = self.clients.for_session(session_id).into_iter();
        order.find(|id| self.clients.get(*id).is_some_and(&can))
    }

    /// A buffer that is open is changed in an editor when that is possible, and refused when it is not: what a user has not
    /// saved must neither be overwritten on disk nor be lost.
    pub(super) fn apply_text(&mut self, session_id: &str, edit: EditUnderWay, reply: Reply<Applied>) {
        let EditUnderWay { root, path, base_hash, text } = edit;
        let uri = self.uri_of(root.as_deref(), &path);
        if let Some(uri) = uri.as_deref().filter(|uri| self.is_hidden(uri)) {
            return reply.refuse(hidden(uri));
        }
        let open = uri.as_ref().map_or_else(Vec::new, |uri| self.open_documents(session_id, uri));
        if let Some((_, _, document)) = open.first() {
            // What the agent read: the buffer of the first in order.
            let now = document.text.to_string();
            if base_hash.as_deref() != Some(content_hash(now.as_bytes()).as_str()) {
                return reply.refuse(changed_since());
            }
            let takes = |(client, _, other): &&(ClientId, String, Arc<OpenDocument>)| {
                self.takes_edits(*client, self.now_us()) && other.text == document.text
            };
            let Some((client, uri, _)) = open.iter().find(takes).cloned() else {
                let why = CodedError::new(
                    ErrorCode::Conflict,
                    "The file is open in an editor that cannot take edits; save and close it, then try again.",
                );
                let offers = |(client, _, other): &&(ClientId, String, Arc<OpenDocument>)| {
                    self.is_plain(*client) && other.text == document.text
                };
                let Some((client, uri, _)) = open.iter().find(offers).cloned() else {
                    return reply.refuse(why);
                };
                let edit = EditUnderWay { root, path, base_hash, text };
                return self.edit_not_made(EditDone::of(session_id, (client, uri), edit, reply), why);
            };
            let step = EditStep::Open { base_hash: content_hash(now.as_bytes()) };
            return self.read_base(session_id, (client, uri), (root, path, text), step, reply);
        }
        // Open nowhere: only whoever prompted can undo it, so no other window is touched.
        let client = self
            .windows_of(session_id)
            .into_iter()
            .find(|client| self.clients.get(*client).is_some_and(|client| client.abilities.apply_edit));
        match (uri, base_hash, client) {
            (Some(uri), Some(base_hash), Some(client)) => {
                let step = EditStep::Closed { base_hash };
                self.read_base(session_id, (client, uri), (root, path, text), step, reply);
            }
            (_, base_hash, _) => {
                let buffers = self.buffers_of_turn(session_id);
                let turn = self.open_turn_of(session_id);
                self.files.submit(FileJob::Write { turn, root, path, base_hash, text, reply }, buffers);
            }
        }
    }

    /// Reads what is on disk before an edit goes to an editor.
    fn read_base(
        &mut self,
        session_id: &str,
        (client, uri): (ClientId, String),
        (root, path, text): (Option<String>, String, String),
        step: EditStep,
        reply: Reply<Applied>,
    ) {
        let base_hash = match &step {
            EditStep::Closed { base_hash } | EditStep::Open { base_hash } => Some(base_hash.clone()),
            EditStep::Stands { .. } => None,
        };
        let edit = EditUnderWay { root: root.clone(), path: path.clone(), base_hash, text };
        let done = EditDone::of(session_id, (client, uri), edit, reply);
        let buffers = self.buffers_of_turn(session_id);
        self.files.submit(FileJob::Read { root, path, edit: Box::new(EditBase { done, step }) }, buffers);
    }

    /// The text of a file was read from disk, for an edit.
    pub(super) fn edit_base_read(&mut self, edit: EditBase, outcome: Result<Option<FileText>, CodedError>) {
        let EditBase { mut done, step } = edit;
        // Trust or the turn may have gone while the file was read.
        let gone = !self.turn_trusted(&done.session_id) || done.reply.is_abandoned();
        match (step, outcome) {
            (EditStep::Stands { is_saved }, outcome) => self.edit_settled(done, is_saved, outcome),
            (_, Ok(_)) if gone => done.reply.refuse(untrusted()),
            (EditStep::Closed { .. }, Ok(_)) if self.is_hidden(&done.uri) => {
                done.reply.refuse(hidden(&done.uri));
            }
            (EditStep::Closed { base_hash }, Ok(Some(file))) if file.hash == base_hash => {
                done.was_clean = true;
                self.edit_in_editor(None, &file.text, done);
            }
            (EditStep::Closed { .. }, Ok(_)) => done.reply.refuse(changed_since()),
            (EditStep::Closed { .. }, Err(error)) => done.reply.refuse(error),
            (EditStep::Open { base_hash }, outcome) => {
                let open = self.open_documents(&done.session_id, &done.uri);
                let mine = open.into_iter().find(|(client, ..)| *client == done.client);
                // The user may have typed meanwhile, or closed it.
                let now = mine.map(|(_, uri, document)| (uri, document.version, document.text.to_string()));
                match now.filter(|(.., text)| content_hash(text.as_bytes()) == base_hash) {
                    Some((uri, version, text)) => {
                        done.uri = uri;
                        // What cannot be read as text is not known to be saved.
                        done.was_clean = outcome.ok().flatten().is_some_and(|file| file.text == text);
                        self.edit_in_editor(Some(version), &text, done);
                    }
                    None => done.reply.refuse(changed_since()),
                }
            }
        }
    }

    fn edit_in_editor(&mut self, version: Option<i64>, old: &str, done: EditDone) {
        let client = done.client;
        let Some(editor) = self.clients.get(client) else {
            PendingAsk::EditApplied(Box::new(done)).withdraw();
            return;
        };
        let encoding = editor.encoding;
        let abilities = editor.abilities;
        self.turn_edits(&done, old);
        let (start, end, inserted) = replacement(old, &done.text, encoding);
        let mut edit = json!({
            "range": {
                "start": { "line": start.line, "character": start.character },
                "end": { "line": end.line, "character": end.character },
            },
            "newText": inserted,
        });
        let uri = &done.uri;
        // Only edits of documents with versions can have a note.
        let is_annotated = abilities.document_changes && abilities.change_annotations;
        let mut edit = if abilities.document_changes {
            if is_annotated {
                edit["annotationId"] = json!(ANNOTATION);
            }
            json!({ "documentChanges": [{ "textDocument": { "uri": uri, "version": version }, "edits": [edit] }] })
        } else {
            json!({ "changes": { uri: [edit] } })
        };
        if is_annotated {
            let words = format!("The accepted change of {}", done.path);
            let note = json!({ "label": "BreadBoard", "description": words, "needsConfirmation": false });
            edit["changeAnnotations"] = json!({ ANNOTATION: note });
        }
        let params = json!({ "label": "BreadBoard", "edit": edit });
        self.ask_editor(client, "workspace/applyEdit", &params, PendingAsk::EditApplied(Box::new(done)));
    }

    pub(super) fn edit_applied(&mut self, done: EditDone, outcome: Result<Value, Value>) {
        let applied = outcome.as_ref().ok().and_then(|answer| answer.get("applied")).and_then(Value::as_bool);
        if applied == Some(true) {
            return self.edit_said_made(done);
        }
        let why = match &outcome {
            Ok(answer) => answer.get("failureReason").and_then(Value::as_str),
            Err(error) => error.get("message").and_then(Value::as_str),
        };
        let why = CodedError::new(
            ErrorCode::Conflict,
            format!("The editor did not apply the edit: {}.", why.unwrap_or("no reason given")),
        );
        self.edit_not_made(done, why);
    }

    pub(super) fn uri_of(&self, root: Option<&str>, path: &str) -> Option<String> {
        let folder = self.root_named(root)?;
        let mut text = folder.uri.trim_end_matches('/').to_owned();
        for part in path.split('/') {
            text.push('/');
            uri::push_encoded(&mut text, part);
        }
        Some(text)
    }

    /// The open buffers of a URI, however each editor spells it, in the order in which clients are asked for a session.
    pub(super) fn open_documents(
        &self,
        session_id: &str,
        wanted: &str,
    ) -> Vec<(ClientId, String, Arc<OpenDocument>)> {
        let wanted = uri::spelling(wanted);
        let buffer = |id: ClientId| {
            let mut open = self.clients.get(id)?.overlay.iter();
            let (uri, document) = open.find(|(open, _)| uri::spelling(open) == wanted)?;
            Some((id, uri.to_owned(), document.clone()))
        };
        self.clients.for_session(session_id).into_iter().filter_map(buffer).collect()
    }

    /// Whether an editor has a file open with a text that is not known here: an edit would land in another text than it was
    /// made from.
    fn is_hidden(&self, uri: &str) -> bool {
        self.clients.iter().any(|(_, client)| client.overlay.hides(uri))
    }

    /// The windows in which the turn of a session is at home: the one that prompted it; all, where none of them did.
    pub(super) fn windows_of(&self, session_id: &str) -> Vec<ClientId> {
        match self.clients.prompters.of_turn(session_id) {
            Prompter::Client(client) => vec![client],
            Prompter::Left { .. } => Vec::new(),
            Prompter::Nobody => self.clients.ids(),
        }
    }

    /// Open buffers as the turn of a session sees them.
    pub(super) fn buffers_of_turn(&mut self, session_id: &str) -> Arc<Overlay> {
        let client = self.clients.prompters.client_of(session_id);
        self.clients.buffers(client)
    }
}

pub(super) fn untrusted() -> CodedError {
    CodedError::new(
        ErrorCode::UntrustedWorkspace,
        "This workspace is not trusted, so nothing may be written or run in it; trust it first.",
    )
}

fn hidden(uri: &str) -> CodedError {
    CodedError::new(
        ErrorCode::Conflict,
        format!(
            "{uri} is open in an editor with a text that is not known here, so it was left as it is; save it, or close and open it again, and then try again."
        ),
    )
}

pub(super) fn changed_since() -> CodedError {
    CodedError::new(
        ErrorCode::Conflict,
        "The file changed since the patch was made; ask again, so that it is made from what is there now.",
    )
}
