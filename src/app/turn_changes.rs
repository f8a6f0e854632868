//! What turns change in the files: when they are looked at, how it is told, and how a revert goes on in editors.
//!
//! Owns the moments: a turn's beginning, an edit that goes to an editor, its end. What is kept is the workspace edge's. A revert is
//! an event before the first file is touched. Never reads a file.

use serde_json::{Map, Value, json};

use super::edits::{EditDone, EditUnderWay, untrusted};
use super::inbox::{Answer, Reply};
use super::ports::{
    Applied, FileJob, HeldCommand, TurnJob, TurnJobDone, TurnOpened, TurnRevert, TurnTold, TurnWatch,
};
use super::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::text::content_hash;
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::domain::fact::ChangedFileSummary;
use crate::protocol::turn::{RevertOutcome, TurnRevertResult};

/// Characters of a prompt that a list of turns shows.
const PROMPT_SHOWN: usize = 120;

/// Files that an event names; `bb/turn/changes` has all.
const FILES_TOLD: usize = 200;

impl App {
    /// Whether a turn of this session is open.
    pub(super) fn turn_is_open(&self, session_id: &str) -> bool {
        self.known(session_id).is_ok_and(|session| session.record.turn.is_open())
    }

    /// The session, where a turn of it is open: what is written then is a change of that turn.
    pub(super) fn open_turn_of(&self, session_id: &str) -> Option<String> {
        self.turn_is_open(session_id).then(|| session_id.to_owned())
    }

    /// A turn begins, its prompt was recorded just now. What comes back is answered once the files were looked at, where its
    /// engine writes by itself.
    pub(super) fn turn_changes_begin(
        &mut self,
        session_id: &str,
        number: u64,
        at: i64,
        prompt: &str,
    ) -> Option<Answer<()>> {
        let turn = self.live_mut(session_id)?.head;
        let watch = match self.traits_of(session_id).sessions.is_elsewhere() {
            true => TurnWatch::AtOnce,
            false => TurnWatch::BeforeCommands,
        };
        let line = prompt.trim().lines().next().unwrap_or_default();
        let mut text: String = line.to_owned();
        // Before it is cut, so that no half of one is left.
        self.redactor.scrub_text(&mut text);
        let text = text.chars().take(PROMPT_SHOWN).collect();
        let turn = TurnOpened { session_id: session_id.to_owned(), turn, number, at, text, watch };
        let (ready, answer) = Reply::new();
        let buffers = self.buffers_of_turn(session_id);
        self.files.submit(FileJob::Turn(TurnJob::Begin { turn, ready }), buffers);
        (watch == TurnWatch::AtOnce).then_some(answer)
    }

    /// A turn is over.
    pub(super) fn turn_changes_end(&mut self, session_id: &str) {
        let job = TurnJob::End { session_id: session_id.to_owned() };
        let buffers = self.buffers_of_turn(session_id);
        self.files.submit(FileJob::Turn(job), buffers);
    }

    /// A command of a turn waits until the files were looked at.
    pub(super) fn hold_command(&mut self, session_id: &str, held: HeldCommand) {
        let job = TurnJob::BeforeCommand { session_id: session_id.to_owned(), held };
        let buffers = self.buffers_of_turn(session_id);
        self.files.submit(FileJob::Turn(job), buffers);
    }

    /// The files were looked at. The turn, or its trust, may be gone meanwhile.
    fn command_may_run(&mut self, session_id: &str, held: HeldCommand) {
        let HeldCommand { command, cwd, call_id, background, reply } = held;
        if !self.turn_is_open(session_id) || reply.is_abandoned() {
            return reply.refuse(CodedError::new(
                ErrorCode::Cancelled,
                "The turn that wanted this is over, so it was not done; ask again.",
            ));
        }
        if !self.turn_trusted(session_id) {
            return reply.refuse(untrusted());
        }
        self.run_command(session_id, HeldCommand { command, cwd, call_id, background, reply });
    }

    /// An edit of a turn goes to an editor.
    pub(super) fn turn_edits(&mut self, done: &EditDone, old: &str) {
        if !self.turn_is_open(&done.session_id) {
            return;
        }
        let job = TurnJob::Edited {
            session_id: done.session_id.clone(),
            root: done.root.clone(),
            path: done.path.clone(),
            before: old.to_owned(),
            after: done.text.clone(),
        };
        let buffers = self.buffers_of_turn(&done.session_id);
        self.files.submit(FileJob::Turn(job), buffers);
    }

    /// The user saved a file. While a turn runs, what is in it is not all the turn's.
    pub(super) fn turn_saw_save(&mut self, uri: &str) {
        let is_any_open = self.sessions.loaded().any(|(session_id, ..)| self.turn_is_open(session_id));
        if is_any_open {
            self.turn_job(None, TurnJob::Saved { uri: uri.to_owned() });
        }
    }

    /// The workspace edge is done with something.
    pub(super) fn turn_job_done(&mut self, done: TurnJobDone) {
        match done {
            TurnJobDone::Ended { session_id, told } | TurnJobDone::Told { session_id, told } => {
                if self.may_record(&session_id) && self.load(&session_id).is_ok() {
                    self.tell_changes(&session_id, Some(told.turn), &told);
                }
            }
            TurnJobDone::MayRun { session_id, held } => self.command_may_run(&session_id, held),
            TurnJobDone::Planned(revert) => self.revert_planned(revert),
            TurnJobDone::TakenBack { revert, named } => self.revert_next(revert, named, 0),
        }
    }

    /// Records what a turn changed, or how that stands now. Without a number it is a revert, and is named by the event.
    fn tell_changes(&mut self, session_id: &str, named: Option<u64>, told: &TurnTold) -> Option<u64> {
        let now = self.ambient.now_ms();
        let mut payload = Map::new();
        payload.extend(named.map(|named| ("promptSeq".to_owned(), Value::from(named))));
        payload.extend(told.of.map(|of| ("ofRevert".to_owned(), Value::from(of))));
        let files: Vec<&ChangedFileSummary> = told.files.iter().take(FILES_TOLD).collect();
        payload.insert("files".to_owned(), json!(files));
        if told.uncovered > 0 {
            payload.insert("uncovered".to_owned(), told.uncovered.into());
        }
        payload.insert("text".to_owned(), sentence(told).into());
        self.record_event(session_id, NormalizedEvent::local(LocalKind::Changes, told.number, now, payload));
        self.flush(session_id);
        self.live_mut(session_id).map(|live| live.head)
    }

    /// A revert is planned: it is told, then made. Trust, or the rest of the session, may have changed meanwhile.
    fn revert_planned(&mut self, mut revert: Box<TurnRevert>) {
        let session_id = revert.session_id.clone();
        if let Err(error) = self.may_revert(revert.client, &session_id, &revert.params) {
            return revert.reply.refuse(error);
        }
        let files = revert.files.iter().filter(|file| file.told.outcome == RevertOutcome::Reverted);
        let told = TurnTold {
            turn: 0,
            number: revert.record.as_ref().and_then(|record| record.number),
            of: Some(revert.params.turn),
            files: files.filter_map(|file| summary(file, revert.record.as_ref()?)).collect(),
            uncovered: 0,
        };
        let Some(named) = self.tell_changes(&session_id, None, &told) else {
            return revert.reply.refuse(CodedError::internal());
        };
        if let Some(record) = revert.record.as_mut() {
            record.turn = named;
        }
        let at = self.ambient.now_ms();
        let client = revert.client;
        self.turn_job(Some(client), TurnJob::TakeBack { revert, named, at });
    }

    /// What is on disk is taken back; files that are open follow, one after the other, in their editors.
    fn revert_next(&mut self, mut revert: Box<TurnRevert>, named: u64, from: usize) {
        let is_open = |file: &super::ports::RevertedFile| {
            file.in_editor.is_some() && file.told.outcome == RevertOutcome::Reverted
        };
        let next = revert.files.iter().skip(from).position(is_open).map(|at| at + from);
        let Some(index) = next else { return self.reverted(*revert, named) };
        let Some(file) = revert.files.get_mut(index) else { return self.reverted(*revert, named) };
        let Some((now, then)) = file.in_editor.clone() else { return self.reverted(*revert, named) };
        let edit = EditUnderWay {
            root: Some(file.root.clone()),
            path: file.path.clone(),
            base_hash: Some(content_hash(now.as_bytes())),
            text: then,
        };
        let session_id = revert.session_id.clone();
        let (reply, answer) = Reply::new();
        let buffers = self.clients.buffers(Some(revert.client));
        // First: where nobody can wait for it, nothing is written.
        self.files.submit(FileJob::TurnWritten { answer, revert, named, index }, buffers);
        self.apply_text(&session_id, edit, reply);
    }

    /// An editor changed a file of a revert, or did not.
    pub(super) fn revert_written(
        &mut self,
        mut revert: Box<TurnRevert>,
        named: u64,
        index: usize,
        outcome: Result<Applied, CodedError>,
    ) {
        if let (Err(error), Some(file)) = (outcome, revert.files.get_mut(index)) {
            file.told.outcome = RevertOutcome::Conflict;
            file.told.message = Some(error.message);
            let (session_id, client) = (revert.session_id.clone(), revert.client);
            let (root, path) = (file.root.clone(), file.path.clone());
            self.turn_job(Some(client), TurnJob::NotTakenBack { session_id, named, root, path });
        }
        self.revert_next(revert, named, index + 1);
    }

    /// All is written, as far as it could be: how both stand is told.
    fn reverted(&mut self, revert: TurnRevert, named: u64) {
        let TurnRevert { client, session_id, params, files, record: _, reply } = revert;
        let is_any = files.iter().any(|file| file.told.outcome == RevertOutcome::Reverted);
        let result = TurnRevertResult {
            turn: params.turn,
            preview: false,
            undo: is_any.then_some(named),
            files: files.into_iter().map(|file| file.told).collect(),
        };
        for turn in [named, params.turn] {
            self.turn_job(Some(client), TurnJob::Tell { session_id: session_id.clone(), turn });
        }
        reply.answer(result);
    }
}

fn summary(
    file: &super::ports::RevertedFile,
    record: &crate::domain::undo::TurnRecord,
) -> Option<ChangedFileSummary> {
    let change = record.files.iter().find(|change| {
        change.root == file.root && (change.path == file.path || change.old_path.as_ref() == Some(&file.path))
    })?;
    Some(ChangedFileSummary {
        file_path: change.path.clone(),
        root: file.told.root.clone(),
        old_path: change.old_path.clone(),
        change: change.change,
        added: change.added,
        removed: change.removed,
        by: change.by,
        state: crate::domain::undo::FileState::AsLeft,
        review: crate::domain::undo::ReviewMark::Open,
    })
}

/// One sentence for a person.
fn sentence(told: &TurnTold) -> String {
    let count = told.files.len();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let (added, removed) =
        told.files.iter().fold((0, 0), |sum, file| (sum.0 + file.added, sum.1 + file.removed));
    let uncovered = match told.uncovered {
        0 => "",
        _ => " Not everything of it can be taken back.",
    };
    match (told.of, count) {
        (Some(_), 0) => "Nothing was taken back.".to_owned(),
        (Some(_), _) => format!("Taken back in {files}, +{added} −{removed} lines."),
        (None, 0) => "What this turn changed cannot be taken back.".to_owned(),
        (None, _) => format!("This turn changed {files}, +{added} −{removed} lines.{uncovered}"),
    }
}
