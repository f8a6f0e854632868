//! Whether what an edit changed in an editor is on disk: saved there where nothing else was unsaved, and asked about before a
//! command of the session reads the disk.
//!
//! Owns which files a session's edits left unsaved, `bb/document/save`, and the answer "Save and run". Never saves what the user
//! had not saved himself, but on his own word.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::client::ClientId;
use super::editor_asks::PendingAsk;
use super::edits::{EditBase, EditDone, EditStep, untrusted};
use super::ports::{Applied, FileJob, FileText};
use super::record::Settler;
use super::state::App;
use crate::domain::approval::{
    Action, PermissionAsk, PermissionOption, PermissionOptionKind, PermissionStatus,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::domain::policy::uri::spelling;
use crate::protocol::editor_request::{DocumentSaveParams, DocumentSaveResult};
use crate::protocol::request::{ApprovalOutcome, ApprovePermissionResult};

/// The answer that saves first. Its id is ours and stands beside the engine's own.
const SAVE_AND_RUN: &str = "save_and_run";
/// Files of one session that are remembered as unsaved: more than anybody leaves so. The newest count.
const MOST: usize = 512;
/// Files that a sentence names.
const NAMED: usize = 5;

/// A file that an edit of ours changed in an editor and that is not on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnsavedFile {
    client: ClientId,
    /// As the editor spells it.
    uri: String,
    /// As it is shown.
    path: String,
}

/// What edits left unsaved, by session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Unsaved(BTreeMap<String, Vec<UnsavedFile>>);

impl Unsaved {
    fn add(&mut self, session_id: &str, file: UnsavedFile) {
        self.remove(session_id, file.client, &file.uri);
        let files = self.0.entry(session_id.to_owned()).or_default();
        if files.len() >= MOST {
            files.remove(0);
        }
        files.push(file);
    }

    pub(super) fn of(&self, session_id: &str) -> &[UnsavedFile] {
        self.0.get(session_id).map_or(&[], Vec::as_slice)
    }

    fn has(&self, session_id: &str, client: ClientId, uri: &str) -> bool {
        self.of(session_id).iter().any(|file| file.is(client, uri))
    }

    fn remove(&mut self, session_id: &str, client: ClientId, uri: &str) {
        if let Some(files) = self.0.get_mut(session_id) {
            files.retain(|file| !file.is(client, uri));
        }
        self.0.retain(|_, files| !files.is_empty());
    }

    /// An editor saved this file, or has it open no more.
    pub(super) fn saved(&mut self, client: ClientId, uri: &str) {
        self.0.values_mut().for_each(|files| files.retain(|file| !file.is(client, uri)));
        self.0.retain(|_, files| !files.is_empty());
    }

    /// An editor left, and with it what it had open.
    pub(super) fn left(&mut self, client: ClientId) {
        self.0.values_mut().for_each(|files| files.retain(|file| file.client != client));
        self.0.retain(|_, files| !files.is_empty());
    }

    /// A session is gone.
    pub(super) fn forget(&mut self, session_id: &str) {
        self.0.remove(session_id);
    }
}

impl UnsavedFile {
    fn is(&self, client: ClientId, uri: &str) -> bool {
        self.client == client && spelling(&self.uri) == spelling(uri)
    }
}

/// A command that runs once these files are saved.
#[derive(Debug)]
pub(super) struct SaveFirst {
    /// The client on whose word it runs.
    by: ClientId,
    session_id: String,
    request_id: String,
    now: UnsavedFile,
    rest: VecDeque<UnsavedFile>,
}

impl App {
    /// An edit stands in an editor. It is saved there where nothing else was unsaved; else it is looked whether the editor did so
    /// by itself.
    pub(super) fn edit_stands(&mut self, done: EditDone) {
        let file = UnsavedFile {
            client: done.client,
            uri: done.uri.clone(),
            path: self.shown_path(done.root.as_deref(), &done.path),
        };
        self.unsaved.add(&done.session_id, file);
        let can_save = self.clients.get(done.client).is_some_and(|client| client.abilities.document_save);
        if done.was_clean && can_save {
            let params = self.save_params(done.client, &done.uri, Some(&done.text));
            let client = done.client;
            self.ask_client(client, &params, PendingAsk::EditSaved(Box::new(done)));
        } else {
            self.look_at_disk(done, false);
        }
    }

    /// The editor said whether it saved an edit.
    pub(super) fn edit_saved(&mut self, done: EditDone, outcome: &Result<Value, Value>) {
        self.look_at_disk(done, says_saved(outcome));
    }

    /// The hash is that of the disk: an editor may change what it saves.
    fn look_at_disk(&mut self, done: EditDone, is_saved: bool) {
        let buffers = self.buffers_of_turn(&done.session_id);
        let (root, path) = (done.root.clone(), done.path.clone());
        let edit = Box::new(EditBase { done, step: EditStep::Stands { is_saved } });
        self.files.submit(FileJob::Read { root, path, edit }, buffers);
    }

    /// What is on disk after an edit.
    pub(super) fn edit_settled(
        &mut self,
        done: EditDone,
        is_saved: bool,
        outcome: Result<Option<FileText>, CodedError>,
    ) {
        let on_disk = outcome.ok().flatten();
        let same = on_disk.as_ref().is_some_and(|file| file.text == done.text);
        // The editor may have said meanwhile that it saved the file.
        let saved = is_saved || same || !self.unsaved.has(&done.session_id, done.client, &done.uri);
        if saved {
            self.unsaved.remove(&done.session_id, done.client, &done.uri);
        }
        let hash = on_disk.filter(|_| saved).map_or(done.applied_hash, |file| file.hash);
        done.reply.answer(Applied { applied_hash: hash, saved });
    }

    /// A command that we would run while files are unsaved that this session changed: the user is asked whatever a rule says,
    /// and may save them with the answer.
    pub(super) fn save_before(&self, session_id: &str, ask: PermissionAsk) -> PermissionAsk {
        let files = self.unsaved.of(session_id);
        if files.is_empty() || !matches!(ask.subject.action, Action::Command { .. }) {
            return ask;
        }
        let can_save = |file: &UnsavedFile| {
            self.clients.get(file.client).is_some_and(|client| client.abilities.document_save)
        };
        let all = files.iter().all(can_save);
        let once = ask.options.iter().find(|option| option.kind == PermissionOptionKind::AllowOnce);
        let save = PermissionOption::plain(SAVE_AND_RUN, "Save and run", PermissionOptionKind::AllowOnce);
        let anyway =
            once.map(|once| PermissionOption { label: "Run anyway".to_owned(), rule: None, ..once.clone() });
        let deny = ask.options.iter().filter(|option| option.kind == PermissionOptionKind::Deny).cloned();
        let options = Some(save).filter(|_| all).into_iter().chain(anyway).chain(deny).collect();
        let mut reason = unsaved_sentence(files);
        if !all {
            reason.push_str(" Save them in the editor first, or run the command anyway.");
        }
        let reason = match &ask.subject.reason {
            Some(said) => format!("{said}\n{reason}"),
            None => reason,
        };
        PermissionAsk { subject: ask.subject.because(Some(&reason)), options, ..ask }
    }

    /// Whether this is our own answer to a command that is asked about because of unsaved files.
    pub(super) fn saves_first(&self, option: &PermissionOption) -> bool {
        option.option_id == SAVE_AND_RUN
    }

    /// Begins to save what the session's edits left unsaved, one file after the other; then the command is allowed. Taken at once:
    /// the request's card says how it stands. Refused where the turn waited over a restart: what was unsaved before it is not known
    /// any more.
    pub(super) fn save_and_run(
        &mut self,
        by: ClientId,
        session_id: &str,
        request_id: &str,
    ) -> Result<ApprovePermissionResult, CodedError> {
        if self.is_paused(session_id) {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "What was unsaved before the server restarted is not known any more; save it in the editor, then choose \"Run anyway\".",
            ));
        }
        let stands = self.live_mut(session_id).and_then(|live| live.asks.get(request_id));
        if stands.is_some_and(|ask| ask.status == PermissionStatus::Pending) {
            self.save_stands(session_id, request_id, None);
            let rest = self.unsaved.of(session_id).iter().cloned().collect();
            self.save_next(by, session_id.to_owned(), request_id.to_owned(), rest);
        }
        Ok(ApprovePermissionResult {
            request_id: request_id.to_owned(),
            outcome: ApprovalOutcome::Recorded,
            resolution: None,
            resolved_by: None,
            client: None,
        })
    }

    fn save_next(
        &mut self,
        by: ClientId,
        session_id: String,
        request_id: String,
        mut rest: VecDeque<UnsavedFile>,
    ) {
        let Some(now) = rest.pop_front() else {
            return self.saved_and_allowed(by, &session_id, &request_id);
        };
        let (client, params) = (now.client, self.save_params(now.client, &now.uri, None));
        let first = SaveFirst { by, session_id, request_id, now, rest };
        self.ask_client(client, &params, PendingAsk::SavedFirst(Box::new(first)));
    }

    /// The editor said whether it saved a file before a command.
    pub(super) fn saved_first(&mut self, first: SaveFirst, outcome: &Result<Value, Value>) {
        if !says_saved(outcome) {
            return self.not_saved(&first);
        }
        let SaveFirst { by, session_id, request_id, now, rest } = first;
        self.unsaved.saved(now.client, &now.uri);
        if self.is_saving(&session_id, &request_id) {
            self.save_next(by, session_id, request_id, rest);
        }
    }

    /// The editor did not save a file, or never will: nothing runs, and the request waits again.
    pub(super) fn not_saved(&mut self, first: &SaveFirst) {
        let problem = format!(
            "The editor did not save `{}`, so the command did not run; save it there, or choose \"Run anyway\".",
            first.now.path
        );
        self.save_failed(&first.session_id, &first.request_id, &problem);
    }

    /// The process that waited for the editor is gone.
    pub(super) fn save_was_cut(&mut self, session_id: &str, request_id: &str) {
        let problem = "breadboard-ls ended before the editor had saved everything, so the command did not run; save it in the \
                       editor, then choose \"Run anyway\".";
        self.save_failed(session_id, request_id, problem);
    }

    /// All is saved: the command runs, unless the folder is trusted no more.
    fn saved_and_allowed(&mut self, by: ClientId, session_id: &str, request_id: &str) {
        if !self.clients.trusts(by) {
            return self.save_failed(session_id, request_id, &untrusted().message);
        }
        self.settle_ask(session_id, request_id, PermissionStatus::Allowed, SAVE_AND_RUN, Settler::User);
        self.flush(session_id);
    }

    /// Whether somebody still waits for a save. A request may be answered otherwise, or be over, meanwhile.
    fn is_saving(&mut self, session_id: &str, request_id: &str) -> bool {
        let ask = self.live_mut(session_id).and_then(|live| live.asks.get(request_id));
        ask.is_some_and(|ask| ask.status == PermissionStatus::Saving)
    }

    fn save_failed(&mut self, session_id: &str, request_id: &str, problem: &str) {
        if self.is_saving(session_id, request_id) {
            self.save_stands(session_id, request_id, Some(problem));
        }
    }

    /// Says that a request waits for a save, or why it waits for an answer again. Both are written before they are told.
    fn save_stands(&mut self, session_id: &str, request_id: &str, problem: Option<&str>) {
        let now = self.ambient.now_ms();
        let Some(ask) = self.live_mut(session_id).and_then(|live| live.asks.get_mut(request_id)) else {
            return;
        };
        ask.status = if problem.is_some() { PermissionStatus::Pending } else { PermissionStatus::Saving };
        let ask = ask.clone();
        self.note_ask(session_id, &ask);
        let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        let mut payload = Map::new();
        payload.insert("requestId".to_owned(), Value::from(request_id));
        if let Some(problem) = problem {
            payload.insert("problem".to_owned(), Value::from(problem));
        }
        self.record_event(
            session_id,
            NormalizedEvent::local(LocalKind::PermissionSaving, turn, now, payload),
        );
        self.flush(session_id);
    }

    /// The version is that of the buffer with this text, so that nothing is saved that was typed since; where the editor has not
    /// told of the buffer yet there is none.
    fn save_params(&self, client: ClientId, uri: &str, text: Option<&str>) -> DocumentSaveParams {
        let wanted = spelling(uri);
        let client = self.clients.get(client);
        let open = client.and_then(|client| client.overlay.iter().find(|(open, _)| spelling(open) == wanted));
        let version = open
            .filter(|(_, document)| text.is_none_or(|text| document.text == *text))
            .map(|(_, document)| document.version);
        DocumentSaveParams { uri: open.map_or(uri, |(uri, _)| uri).to_owned(), version }
    }

    fn shown_path(&self, root: Option<&str>, path: &str) -> String {
        match root.filter(|_| self.workspace.folders.len() > 1) {
            Some(root) => format!("{root}/{path}"),
            None => path.to_owned(),
        }
    }
}

fn says_saved(outcome: &Result<Value, Value>) -> bool {
    let read = |answer| DocumentSaveResult::deserialize(answer).ok();
    outcome.as_ref().ok().and_then(read).is_some_and(|result| result.saved)
}

fn unsaved_sentence(files: &[UnsavedFile]) -> String {
    let named: Vec<String> = files.iter().take(NAMED).map(|file| format!("`{}`", file.path)).collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "Changed in the editor, not saved: {}{more}. The command would find the old text on disk.",
        named.join(", ")
    )
}
