//! The accepted hunks of an edit on their way into its files, where not all of it was accepted.
//!
//! Owns their order, one file after the other, and what the engine hears: no to the edit as a whole, and which part of it was
//! made. Never takes a decision: that is `on_request::patches`. Written by the same way as an edit of our own agent.

use std::collections::VecDeque;
use std::fmt::Write as _;

use super::client::ClientId;
use super::edits::{EditUnderWay, untrusted};
use super::inbox::Reply;
use super::ports::{Applied, EngineDecision, FileJob, FileText, PartMade, Ruling, SessionHome, Settlement};
use super::record::Ask;
use super::state::App;
use crate::domain::approval::{
    ChangeKind, Decision, FileOutcome, HunkState, PermissionAsk, PermissionStatus, Proposal, ProposedFile,
    ProposedHunk,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::apply::apply_hunks;
use crate::domain::edits::text::content_hash;
use crate::protocol::patch::PatchFilesResult;

/// Bytes of the hunks that were not made, or were edited first, as the engine is told of them: it made them itself, so a reminder
/// is enough.
const REMINDER: usize = 8 * 1_024;

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
    pub(super) way: Way,
    /// Files of the proposal that wait, the first of them under way.
    pub(super) left: VecDeque<usize>,
    pub(super) reply: Reply<PatchFilesResult>,
}

/// Which way hunks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Into the files: they were accepted.
    In,
    /// Out of them.
    Out,
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
        let Some(file) = write.file().cloned() else { return self.patch_written(write) };
        let open = self.uri_of(file.root.as_deref(), &file.file_path);
        let open = open.map_or_else(Vec::new, |uri| self.open_documents(&write.session_id, &uri));
        if let Some((_, _, document)) = open.first() {
            let text = document.text.to_string();
            let hash = content_hash(text.as_bytes());
            return self.patch_base_read(write, Ok(Some(FileText { text, hash })));
        }
        let buffers = self.buffers_of_turn(&write.session_id);
        let job = FileJob::PatchBase { root: file.root, path: file.file_path, write: Box::new(write) };
        self.files.submit(job, buffers);
    }

    /// The text that the hunks are for.
    pub(super) fn patch_base_read(
        &mut self,
        mut write: PatchWrite,
        outcome: Result<Option<FileText>, CodedError>,
    ) {
        let Some(file) = write.file().cloned() else { return self.patch_written(write) };
        // Trust may have gone while the file was read.
        let outcome = outcome.and_then(|found| match self.clients.trusts(write.client) {
            true => Ok(found),
            false => Err(untrusted()),
        });
        match outcome.and_then(|found| made_of(&file, write.way, found)) {
            Ok(edit) => {
                let session_id = write.session_id.clone();
                let buffers = self.buffers_of_turn(&session_id);
                let (reply, answer) = Reply::new();
                // First: where nobody can wait for it, nothing is written.
                self.files.submit(FileJob::PatchWritten { answer, write: Box::new(write) }, buffers);
                self.apply_text(&session_id, edit, reply);
            }
            Err(error) => self.patch_file_written(write, Err(error)),
        }
    }

    /// A file was written, or left as it is.
    pub(super) fn patch_file_written(&mut self, mut write: PatchWrite, outcome: Result<Applied, CodedError>) {
        let way = write.way;
        if let Some(file) = write.file() {
            match (outcome, way) {
                (Ok(applied), Way::In) => file.is_applied(&applied.applied_hash),
                (Ok(applied), Way::Out) => file.is_reverted(&applied.applied_hash),
                (Err(error), Way::In) => file.is_conflict(&error.message),
                // What stands in the file stands there.
                (Err(error), Way::Out) => file.problem = Some(error.message),
            }
        }
        write.left.pop_front();
        self.write_next(write);
    }

    /// All is written, as far as it could be. Of a part that was accepted the engine hears no, and what was made.
    fn patch_written(&mut self, write: PatchWrite) {
        let PatchWrite { client: _, session_id, ask, way, left: _, reply } = write;
        let request_id = ask.permission.request_id.clone();
        let mut ask = *ask;
        (ask.answered, ask.sent) = (None, false);
        let result = super::on_request::patch_outcomes(&ask);
        if way == Way::Out {
            self.note_ask(&session_id, &ask);
            self.flush(&session_id);
            return reply.answer(result);
        }
        match self.live_mut(&session_id).and_then(|live| live.asks.get_mut(&request_id)) {
            Some(waits) => *waits = ask.clone(),
            None => return reply.refuse(cancelled()),
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

/// The text of a file with its accepted hunks, or without those that stand in it.
fn made_of(file: &ProposedFile, way: Way, found: Option<FileText>) -> Result<EditUnderWay, CodedError> {
    let conflict = |why: &str| {
        let since = match way {
            Way::In => "was proposed",
            Way::Out => "was made",
        };
        CodedError::new(
            ErrorCode::Conflict,
            format!(
                "`{}` is not what it was when this {since}, so it was left as it is: {why}",
                file.file_path
            ),
        )
    };
    if way == Way::Out && file.change == ChangeKind::Create {
        return Err(CodedError::new(
            ErrorCode::Conflict,
            format!("`{}` was made by this edit; delete the file to take that back.", file.file_path),
        ));
    }
    let (text, base_hash) = match (found, file.change) {
        (Some(found), _) => (found.text, Some(found.hash)),
        (None, ChangeKind::Create) => (String::new(), None),
        (None, ChangeKind::Modify | ChangeKind::Delete | ChangeKind::Rename) => {
            return Err(conflict("The file is gone."));
        }
    };
    let hunks = match way {
        Way::In => file.accepted(),
        Way::Out => file.applied_reversed(),
    };
    let text = apply_hunks(&text, &hunks).map_err(|why| conflict(&why.reason))?;
    Ok(EditUnderWay { root: file.root.clone(), path: file.file_path.clone(), base_hash, text })
}

fn cancelled() -> CodedError {
    CodedError::new(
        ErrorCode::Cancelled,
        "The request was settled otherwise before all that was accepted was written; look at the files before you go on.",
    )
}

/// What the card says of an edit of which a part was made.
pub(super) fn part_label(proposal: &Proposal) -> Option<String> {
    let counts = proposal.counts();
    let is_part = proposal.hunks().any(|hunk| hunk.state == HunkState::Applied) && !proposal.is_all();
    let edited = match counts.edited {
        0 => String::new(),
        edited => format!(", {edited} as edited"),
    };
    is_part.then(|| format!("Accept {} of {} changes{edited}", counts.accepted, counts.hunks))
}

/// What an engine is told whose edit was decided in parts.
pub(super) fn part_made(proposal: &Proposal) -> Option<PartMade> {
    let is_written = proposal.hunks().any(|hunk| hunk.state == HunkState::Applied);
    note(proposal).map(|note| PartMade { note, is_written })
}

/// What stands in which file, and what does not.
fn note(proposal: &Proposal) -> Option<String> {
    if proposal.is_all() || proposal.is_none() || !proposal.is_decided() {
        return None;
    }
    let mut note = "The user decided on this edit change by change.".to_owned();
    for file in &proposal.files {
        let made = file.hunks.iter().filter(|hunk| hunk.state == HunkState::Applied).count();
        let of = file.hunks.len();
        // Writing to a String cannot fail.
        let _ = match (file.outcome(), &file.problem) {
            (FileOutcome::Applied, _) => {
                write!(note, " `{}` has all of its {of} changes, so do not make them again.", file.file_path)
            }
            (FileOutcome::Partly, _) => write!(
                note,
                " `{}` has {made} of its {of} changes, so do not make those again, and leave the others out.",
                file.file_path
            ),
            (FileOutcome::Conflict, Some(problem)) => write!(note, " {problem}"),
            (
                FileOutcome::Conflict | FileOutcome::Rejected | FileOutcome::Pending | FileOutcome::Reverted,
                _,
            ) => {
                write!(note, " `{}` was left as it is.", file.file_path)
            }
        };
    }
    let edited = hunks_of(proposal, |hunk| hunk.edited && hunk.state == HunkState::Applied);
    if !edited.is_empty() {
        let _ = write!(note, " Changes that the user edited first, as they stand in the files:\n{edited}");
    }
    let rejected = hunks_of(proposal, |hunk| hunk.state == HunkState::Rejected);
    if !rejected.is_empty() {
        let _ = write!(note, " Rejected changes:\n{rejected}");
    }
    Some(note)
}

/// Those hunks, as far as a reminder goes.
fn hunks_of(proposal: &Proposal, wanted: impl Fn(&ProposedHunk) -> bool) -> String {
    let mut told = String::new();
    for file in &proposal.files {
        for hunk in file.hunks.iter().filter(|hunk| wanted(hunk)) {
            let because = hunk.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
            let text = format!("`{}`{because}:\n{}", file.file_path, hunk.diff);
            if told.len() + text.len() > REMINDER {
                told.push_str("and more.\n");
                return told;
            }
            told.push_str(&text);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::{Action, Decided, FileChange, Subject};

    #[test]
    fn an_engine_is_told_what_stands_in_which_file_and_what_does_not() {
        // Given two changes in one file, one in each of two others
        let old = (1..30).map(|line| format!("{line}\n")).collect::<String>();
        let new = old.replace("\n3\n", "\nthree\n").replace("\n25\n", "\ntwenty-five\n");
        let files = vec![
            FileChange::of_texts("a", Some(&old), &new),
            FileChange::of_texts("b", Some("x\n"), "y\n"),
            FileChange::of_texts("c", Some("x\n"), "y\n"),
        ];
        let mut proposal = Proposal::of(&Subject::new(Action::Edit { files })).unwrap();
        assert_eq!((note(&proposal), part_label(&proposal)), (None, None));
        // When the second is rejected, and one file has changed
        let second = proposal.files[0].hunks[1].id.clone();
        proposal.decide(Decided::Hunk { id: &second }, false, Some("keep the number")).unwrap();
        proposal.settle(true);
        proposal.files[0].is_applied("sha256:1");
        proposal.files[1].is_applied("sha256:2");
        proposal.files[2].is_conflict("`c` is not what it was.");
        // Then
        assert_eq!(part_label(&proposal).as_deref(), Some("Accept 2 of 4 changes"));
        assert_eq!(
            note(&proposal).as_deref(),
            Some(
                "The user decided on this edit change by change. `a` has 1 of its 2 changes, so do not make those again, and \
                 leave the others out. `b` has all of its 1 changes, so do not make them again. `c` is not what it was. \
                 Rejected changes:\n`a` (keep the number):\n@@ -22,7 +22,7 @@\n 22\n 23\n 24\n-25\n+twenty-five\n 26\n 27\n 28\n"
            )
        );
    }

    #[test]
    fn an_engine_is_told_which_change_the_user_edited_and_how() {
        // Given one change, which the user edits and accepts
        let files = vec![FileChange::of_texts("b", Some("x\n"), "y\n")];
        let mut proposal = Proposal::of(&Subject::new(Action::Edit { files })).unwrap();
        let id = proposal.files[0].hunks[0].id.clone();
        proposal.edit(&id, "-x\n+z\n").unwrap();
        proposal.settle(true);
        proposal.files[0].is_applied("sha256:1");
        // Then
        assert_eq!(part_label(&proposal).as_deref(), Some("Accept 1 of 1 changes, 1 as edited"));
        assert_eq!(
            note(&proposal).as_deref(),
            Some(
                "The user decided on this edit change by change. `b` has all of its 1 changes, so do not make them again. \
                 Changes that the user edited first, as they stand in the files:\n`b`:\n@@ -1,1 +1,1 @@\n-x\n+z\n"
            )
        );
    }
}
