//! The accepted parts of an edit on their way into its files, where not all of it was accepted, or a file is another one by now.
//!
//! Owns their order, one file after the other, and what the engine hears: no to the edit as a whole, and which part of it was
//! made. Never takes a decision: that is `on_request::patches`. What is to be done to a file is `domain::approval::file_edit`;
//! what the engine is told, `patch_note`. Written by the same way as an edit of our own agent.

use std::collections::VecDeque;

use super::client::ClientId;
use super::edits::{EditUnderWay, untrusted};
use super::inbox::Reply;
use super::patch_note::part_made;
use super::ports::{
    Applied, DiskChange, DiskChangeKind, DiskChanged, EngineDecision, PatchJob, PatchJobDone, PatchPlace,
    Ruling, SessionHome, Settlement,
};
use super::record::Ask;
use super::state::App;
use crate::domain::approval::{
    BaseFile, Decision, FileEdit, FileMode, HunkWay, NotMade, PermissionAsk, PermissionStatus, ProposedFile,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::text::content_hash;
use crate::protocol::patch::PatchFilesResult;

/// Notes that wait for the next prompt of a session: one for each edit of a turn that was taken in part. The newest count.
const NOTES: usize = 16;

/// Hunks that are being written, or taken back.
#[derive(Debug)]
pub struct PatchWrite {
    /// The client that decided.
    pub(super) client: ClientId,
    pub(super) session_id: String,
    /// The request, as it stands so far.
    pub(super) ask: Box<Ask>,
    pub(super) way: HunkWay,
    pub(super) step: WriteStep,
    /// Files of the proposal that wait, the first of them under way.
    pub(super) left: VecDeque<usize>,
    pub(super) reply: Reply<PatchFilesResult>,
}

/// What is done with the file that is under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WriteStep {
    /// Everything was accepted: whether each file is what it was, or the engine must not write.
    Compare {
        /// What the client saw, for the answer.
        digest: Option<String>,
    },
    /// It is written.
    Write,
    /// Its text is written, and its mode comes after.
    ThenMode(FileMode),
    /// Its text stands, with this hash, and its mode is being set.
    ModeOf(Option<String>),
    /// It was another one when it was to be written, for this reason; what is there now is looked at.
    LookAgain(CodedError),
}

impl PatchWrite {
    fn file(&mut self) -> Option<&mut ProposedFile> {
        let index = self.left.front()?;
        self.ask.proposal.as_mut()?.files.get_mut(*index)
    }
}

impl App {
    /// Writes the next file; with none left the request is settled.
    pub(super) fn write_next(&mut self, mut write: PatchWrite) {
        let way = write.way;
        let Some(file) = write.file().cloned() else { return self.patch_written(write) };
        let place = file.place(way).to_owned();
        if !file.is_about_the_disk()
            && let Some(found) = self.open_base(&write.session_id, file.root.as_deref(), &place)
        {
            return self.patch_base_read(write, Ok(Some(found)));
        }
        let buffers = self.buffers_of_turn(&write.session_id);
        self.files
            .submit(PatchJob::Base { root: file.root, path: place, write: Box::new(write) }.into(), buffers);
    }

    /// The file as an editor has it open.
    pub(super) fn open_base(&self, session_id: &str, root: Option<&str>, path: &str) -> Option<BaseFile> {
        let uri = self.uri_of(root, path)?;
        let open = self.open_documents(session_id, &uri);
        let text = open.first()?.2.text.to_string();
        let hash = content_hash(text.as_bytes());
        Some(BaseFile { text: Ok(text), hash })
    }

    /// An edit was asked for: what its files hold now is kept beside it, so that it is known later whether they changed.
    pub(super) fn look_at_bases(&mut self, session_id: &str, request_id: &str) {
        let Some(ask) = self.live_mut(session_id).and_then(|live| live.asks.get(request_id)).cloned() else {
            return;
        };
        let Some(proposal) = ask.proposal else { return };
        let places = self.files_to_look_at(session_id, &proposal, |file| file.base_hash.is_none());
        if places.is_empty() {
            return;
        }
        let buffers = self.buffers_of_turn(session_id);
        let (session_id, request_id) = (session_id.to_owned(), request_id.to_owned());
        self.files.submit(PatchJob::Hashes { session_id, request_id, places }.into(), buffers);
    }

    /// What the files of an edit held when it was asked for.
    pub(super) fn bases_looked_at(&mut self, session_id: &str, request_id: &str, places: Vec<PatchPlace>) {
        let waits = self.live_mut(session_id).and_then(|live| live.asks.get_mut(request_id));
        // One that is answered is on its way with what it had.
        let Some(ask) = waits.filter(|ask| ask.answered.is_none()) else { return };
        let Some(proposal) = ask.proposal.as_mut() else { return };
        for PatchPlace { index, hash, .. } in places {
            if let Some(file) = proposal.files.get_mut(index) {
                file.base_hash = hash;
            }
        }
        let ask = ask.clone();
        self.note_ask(session_id, &ask);
    }

    /// A job about the files of an edit is done.
    pub(super) fn patch_job_done(&mut self, done: PatchJobDone) {
        match done {
            PatchJobDone::Base { write, outcome } => self.patch_base_read(*write, outcome),
            PatchJobDone::Written { write, outcome } => {
                let made = outcome.map(|Applied { applied_hash, .. }| DiskChanged {
                    hash: Some(applied_hash),
                    mode_before: None,
                });
                self.patch_file_written(*write, made);
            }
            PatchJobDone::Changed { write, outcome } => self.patch_file_written(*write, outcome),
            PatchJobDone::Hashes { session_id, request_id, places } => {
                self.bases_looked_at(&session_id, &request_id, places);
            }
            PatchJobDone::Compared { allowed, outcome } => self.bases_compared(*allowed, outcome),
        }
    }

    /// The file that the hunks are for.
    fn patch_base_read(&mut self, mut write: PatchWrite, outcome: Result<Option<BaseFile>, CodedError>) {
        let (way, client, step) = (write.way, write.client, write.step.clone());
        let Some(file) = write.file() else { return self.patch_written(write) };
        // Trust may have gone while the file was read.
        let outcome = outcome.and_then(|found| match self.clients.trusts(client) {
            true => Ok(found),
            false => Err(untrusted()),
        });
        match (step, outcome) {
            (WriteStep::Compare { .. }, outcome) => self.compared(write, outcome.ok().flatten().as_ref()),
            (WriteStep::LookAgain(error), found) => {
                let sides = file.sides(way, found.ok().flatten().as_ref());
                file.is_left(way, &error.message, Some(sides));
                self.next_file(write);
            }
            (_, Ok(found)) => match file.edit(way, found.as_ref()) {
                Ok(edit) => self.make(write, edit),
                Err(not_made) => {
                    let problem = left_as_it_is(file, way, &not_made);
                    file.is_left(way, &problem, Some(not_made.sides));
                    self.next_file(write);
                }
            },
            (_, Err(error)) => self.patch_file_written(write, Err(error)),
        }
    }

    /// Everything was accepted. Where a file is another one by now the engine, which knows only the old one, must not write it.
    fn compared(&mut self, mut write: PatchWrite, found: Option<&BaseFile>) {
        let Some(file) = write.file() else { return self.patch_written(write) };
        let same = file.is_as_shown(found.map(|found| found.hash.as_str()));
        let beyond_us = write.ask.proposal.as_ref().is_some_and(|proposal| proposal.beyond_us().is_some());
        if !same && !beyond_us {
            let files = write.ask.proposal.as_ref().map_or(0, |proposal| proposal.files.len());
            (write.step, write.left) = (WriteStep::Write, (0..files).collect());
            return self.write_next(write);
        }
        write.left.pop_front();
        self.write_next(write);
    }

    /// Does to a file what was accepted.
    fn make(&mut self, mut write: PatchWrite, edit: FileEdit) {
        let session_id = write.session_id.clone();
        let Some((root, path)) = write.way_and_file() else { return self.patch_written(write) };
        let buffers = self.buffers_of_turn(&session_id);
        let turn = self.open_turn_of(&session_id);
        let on_disk = |base_hash, kind| DiskChange {
            root: root.clone(),
            path: path.clone(),
            base_hash,
            turn: turn.clone(),
            kind,
        };
        let change = match edit {
            FileEdit::Text { base_hash, text, mode } => {
                write.step = mode.map_or(WriteStep::Write, WriteStep::ThenMode);
                let (reply, answer) = Reply::new();
                // First: where nobody can wait for it, nothing is written.
                self.files.submit(PatchJob::Written { answer, write: Box::new(write) }.into(), buffers);
                return self.apply_text(&session_id, EditUnderWay { root, path, base_hash, text }, reply);
            }
            FileEdit::Delete { base_hash } => on_disk(Some(base_hash), DiskChangeKind::Delete),
            FileEdit::Move { to, base_hash, text, mode } => {
                on_disk(Some(base_hash), DiskChangeKind::Move { to, text, mode })
            }
            FileEdit::Mode { base_hash, mode } => on_disk(Some(base_hash), DiskChangeKind::Mode(mode)),
        };
        write.step = WriteStep::Write;
        self.files.submit(PatchJob::Change { change, write: Box::new(write) }.into(), buffers);
    }

    /// A file was written, or left as it is.
    fn patch_file_written(&mut self, mut write: PatchWrite, outcome: Result<DiskChanged, CodedError>) {
        let way = write.way;
        let step = std::mem::replace(&mut write.step, WriteStep::Write);
        let Some((root, path)) = write.way_and_file() else { return self.patch_written(write) };
        let Some(file) = write.file() else { return self.patch_written(write) };
        match (outcome, step) {
            (Ok(made), WriteStep::ThenMode(mode)) => {
                write.step = WriteStep::ModeOf(made.hash);
                // Its text stands already, perhaps unsaved in an editor, so that no hash of the disk can be asked for.
                let turn = None;
                let change =
                    DiskChange { root, path, base_hash: None, turn, kind: DiskChangeKind::Mode(mode) };
                let buffers = self.buffers_of_turn(&write.session_id);
                return self
                    .files
                    .submit(PatchJob::Change { change, write: Box::new(write) }.into(), buffers);
            }
            (Ok(made), step) => {
                file.mode_before = made.mode_before.or(file.mode_before);
                let hash = match step {
                    WriteStep::ModeOf(hash) => hash,
                    WriteStep::Compare { .. }
                    | WriteStep::Write
                    | WriteStep::ThenMode(_)
                    | WriteStep::LookAgain(_) => made.hash,
                };
                file.is_made(way, hash.as_deref());
            }
            // Its text stands there.
            (Err(error), WriteStep::ModeOf(hash)) => {
                file.is_made(way, hash.as_deref());
                file.problem = Some(error.message);
            }
            (Err(error), _) if error.code == ErrorCode::Conflict => {
                write.step = WriteStep::LookAgain(error);
                return self.write_next(write);
            }
            (Err(error), _) => file.is_left(way, &error.message, None),
        }
        self.next_file(write);
    }

    fn next_file(&mut self, mut write: PatchWrite) {
        write.left.pop_front();
        write.step = WriteStep::Write;
        self.write_next(write);
    }

    /// All is written, as far as it could be. Of a part that was accepted the engine hears no, and what was made.
    fn patch_written(&mut self, write: PatchWrite) {
        let PatchWrite { client, session_id, ask, way, step, left: _, reply } = write;
        let request_id = ask.permission.request_id.clone();
        let mut ask = *ask;
        (ask.answered, ask.sent) = (None, false);
        let result = super::on_request::patch_outcomes(&ask);
        if way == HunkWay::Out {
            self.note_ask(&session_id, &ask);
            self.flush(&session_id);
            return reply.answer(result);
        }
        match self.live_mut(&session_id).and_then(|live| live.asks.get_mut(&request_id)) {
            Some(waits) => *waits = ask.clone(),
            None => return reply.refuse(cancelled()),
        }
        if let WriteStep::Compare { digest } = step {
            return self.answer_as_a_whole(client, &session_id, &ask, digest, reply);
        }
        self.note_ask(&session_id, &ask);
        let no = PermissionAsk::choose(&ask.permission.options, None, Decision::Deny);
        let option_id = no.map(|option| option.option_id).unwrap_or_default();
        if self.traits_of(&session_id).settlement == Settlement::Event {
            let decision = EngineDecision {
                ruling: Ruling::Deny,
                option_id: Some(option_id).filter(|id| !id.is_empty()),
                content: None,
                part: ask.proposal.as_ref().and_then(part_made),
            };
            self.send_decision(&session_id, &request_id, decision, PermissionStatus::Denied, None);
        } else {
            self.settle_part(&session_id, &request_id, option_id);
        }
        reply.answer(result);
    }

    /// Whether the engine of a session makes the accepted part of an edit itself.
    pub(super) fn takes_hunks(&self, session_id: &str) -> bool {
        let engine = self.known(session_id).ok().map(|session| session.record.engine);
        engine.and_then(|kind| self.engine_for(kind).ok()).is_some_and(|engine| engine.takes_hunks())
    }

    /// An edit of which a part was accepted, for an engine that makes that part itself.
    pub(super) fn leave_to_engine(&mut self, mut write: PatchWrite) {
        let files = write.ask.proposal.iter_mut().flat_map(|proposal| &mut proposal.files);
        files.for_each(ProposedFile::was_left_to_engine);
        self.patch_written(write);
    }

    /// Whether the engine of a session is told with an answer what was made of its edit. An agent's protocol has no place for it.
    pub(super) fn hears_notes(&self, session_id: &str) -> bool {
        match self.traits_of(session_id).sessions {
            SessionHome::Here | SessionHome::Engine => true,
            SessionHome::Agent => false,
        }
    }

    /// What an engine is told with its next prompt.
    pub(super) fn tell_later(&mut self, session_id: &str, note: String) {
        let Ok(record) = self.record_mut(session_id) else { return };
        record.notes.push(note);
        let over = record.notes.len().saturating_sub(NOTES);
        record.notes.drain(..over);
    }

    /// A prompt as its engine gets it: behind what it has not been told yet.
    pub(super) fn with_notes(&mut self, session_id: &str, text: String) -> String {
        let Ok(record) = self.record_mut(session_id) else { return text };
        if record.notes.is_empty() {
            return text;
        }
        let mut notes = std::mem::take(&mut record.notes);
        notes.push(text);
        notes.join("\n\n")
    }
}

impl PatchWrite {
    /// The file that is under way, where it is.
    fn way_and_file(&mut self) -> Option<(Option<String>, String)> {
        let way = self.way;
        let file = self.file()?;
        Some((file.root.clone(), file.place(way).to_owned()))
    }
}

fn left_as_it_is(file: &ProposedFile, way: HunkWay, not_made: &NotMade) -> String {
    let since = match way {
        HunkWay::In => "was proposed",
        HunkWay::Out => "was made",
    };
    format!(
        "`{}` is not what it was when this {since}, so it was left as it is: {}",
        file.place(way),
        not_made.why
    )
}

fn cancelled() -> CodedError {
    CodedError::new(
        ErrorCode::Cancelled,
        "The request was settled otherwise before all that was accepted was written; look at the files before you go on.",
    )
}
