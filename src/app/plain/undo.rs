//! Taking back what a turn changed, in an editor without our plugin.
//!
//! Owns that what it does is told before it is done, and that it is done by its own title alone: the first answer to the question
//! changes nothing, and where no question can be in front of the user, a code action is. Never touches a file.

use std::sync::Arc;

use serde_json::{Value, json};

use super::approvals::PromptShown;
use super::{PlainAsk, PlainEditor};
use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::ports::FileJob;
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::view::BlockBody;
use crate::protocol::turn::{RevertOutcome, TurnRevertFile, TurnRevertParams, TurnRevertResult};

/// Files that are named.
const NAMED: usize = 15;
/// What the answers to the question say. Some editors select the first one before the user chose.
const LEAVE: &str = "Leave it";
const UNDO: &str = "Undo";

/// How far an undo is.
#[derive(Default)]
pub(super) enum PlainUndo {
    /// None was asked for.
    #[default]
    Free,
    /// What it would do is read.
    Planned { of: UndoOf },
    /// What it would do was told, and the user has not said yes.
    Told { of: UndoOf, words: String },
    /// It is done at this moment.
    Made,
}

/// What is undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UndoOf {
    session_id: String,
    turn: u64,
}

impl PlainEditor {
    /// Whether the files are read or written for one.
    fn undoes(&self) -> bool {
        match &self.undo {
            PlainUndo::Planned { .. } | PlainUndo::Made => true,
            PlainUndo::Free | PlainUndo::Told { .. } => false,
        }
    }

    /// What would be undone by another yes, in words.
    fn undo_told(&self, of: &UndoOf) -> Option<&str> {
        match &self.undo {
            PlainUndo::Told { of: told, words } if told == of => Some(words),
            _ => None,
        }
    }
}

impl App {
    /// What can be undone in a chat: its title, and whether it is the yes to what was told.
    pub(super) fn undo_offers(&self, client: ClientId, uri: &str) -> Vec<(String, bool)> {
        let Some((of, is_redo)) = self.changed_last(client, uri) else { return Vec::new() };
        let ask = if is_redo { "Undo the undo…" } else { "Undo the changes of this turn…" };
        let mut offers = vec![(ask.to_owned(), false)];
        if let Some(words) = self.plain(client).and_then(|plain| plain.undo_told(&of)) {
            offers.insert(0, (format!("Yes, undo: {words}"), true));
        }
        offers
    }

    /// The last turn of a chat that changed files, or what undoing it did.
    fn changed_last(&self, client: ClientId, uri: &str) -> Option<(UndoOf, bool)> {
        let chat = self.chat(client, uri).filter(|chat| !chat.is_busy())?;
        let session_id = chat.session_id.clone()?;
        chat.blocks.iter().rev().find_map(|block| match &block.body {
            BlockBody::Changes { prompt_seq, of_revert, files, .. } if !files.is_empty() => {
                let of = UndoOf { session_id: session_id.clone(), turn: *prompt_seq };
                Some((of, of_revert.is_some()))
            }
            _ => None,
        })
    }

    /// The command: tells what it would do, or does it where that was told and this is the yes.
    pub(super) fn undo_by_command(
        &mut self,
        client: ClientId,
        uri: &str,
        is_yes: bool,
    ) -> Result<(), CodedError> {
        let Some((of, _)) = self.changed_last(client, uri) else {
            return Err(CodedError::new(ErrorCode::NotFound, "The last turn of this chat changed no file."));
        };
        let is_told = self.plain(client).is_some_and(|plain| plain.undo_told(&of).is_some());
        if is_yes && is_told {
            self.undo_now(client);
            return Ok(());
        }
        if self.plain(client).is_some_and(|plain| plain.undoes()) {
            return Err(CodedError::new(ErrorCode::Conflict, "An undo is under way; wait for its end."));
        }
        if let Some(plain) = self.plain_mut(client) {
            plain.undo = PlainUndo::Planned { of: of.clone() };
        }
        self.revert_plainly(client, &of, true);
        Ok(())
    }

    /// Has it told, or done; `undo_came` hears what came of it.
    fn revert_plainly(&mut self, client: ClientId, of: &UndoOf, preview: bool) {
        let params = TurnRevertParams {
            session_id: Some(of.session_id.clone()),
            tab_id: None,
            turn: of.turn,
            file_path: None,
            root: None,
            hunks: None,
            preview,
        };
        let (reply, answer) = Reply::new();
        // First: where nobody can wait for it, nothing is written.
        self.files.submit(FileJob::UndoAwaited { client, answer }, Arc::default());
        self.turn_revert(client, params, reply);
    }

    /// Does what was told.
    fn undo_now(&mut self, client: ClientId) {
        let Some(plain) = self.plain_mut(client) else { return };
        match std::mem::take(&mut plain.undo) {
            PlainUndo::Told { of, .. } => {
                plain.undo = PlainUndo::Made;
                self.revert_plainly(client, &of, false);
            }
            other @ (PlainUndo::Free | PlainUndo::Planned { .. } | PlainUndo::Made) => plain.undo = other,
        }
    }

    /// The files were read, or written.
    pub(in crate::app) fn undo_came(
        &mut self,
        client: ClientId,
        outcome: Result<TurnRevertResult, CodedError>,
    ) {
        let Some(plain) = self.plain_mut(client) else { return };
        match (std::mem::take(&mut plain.undo), outcome) {
            (PlainUndo::Planned { of }, Ok(preview)) => self.undo_previewed(client, of, &preview),
            (PlainUndo::Made, Ok(done)) => self.say_to(client, "info", &said_of(&done)),
            (PlainUndo::Planned { .. } | PlainUndo::Made, Err(error)) => {
                self.say_to(client, "error", &error.message);
            }
            (other @ (PlainUndo::Free | PlainUndo::Told { .. }), _) => plain.undo = other,
        }
    }

    /// What it would do is known: it is told, and asked about where no other question is in front of the user.
    fn undo_previewed(&mut self, client: ClientId, of: UndoOf, preview: &TurnRevertResult) {
        let lines = lines_of(preview).join("\n");
        if !preview.files.iter().any(|file| file.outcome == RevertOutcome::Reverted) {
            return self.say_to(client, "info", &format!("Nothing of this turn can be taken back.\n{lines}"));
        }
        let words = lines.replace('\n', "; ");
        let message = format!("Undo what the turn changed?\n{lines}");
        let Some(plain) = self.plain_mut(client) else { return };
        plain.undo = PlainUndo::Told { of, words };
        if matches!(plain.prompt, PromptShown::Free) {
            plain.prompt = PromptShown::Undo;
            let actions = json!([{ "title": LEAVE }, { "title": UNDO }]);
            let params = json!({ "type": 3, "message": message, "actions": actions });
            self.ask_plain(client, "window/showMessageRequest", &params, PlainAsk::Undo);
        } else {
            self.say_to(client, "info", &by_action(&message));
        }
    }

    /// The editor answered the question. Whatever is no answer leaves the code action.
    pub(super) fn undo_answered(&mut self, client: ClientId, outcome: &Result<Value, Value>) {
        let Some(plain) = self.plain_mut(client) else { return };
        if matches!(plain.prompt, PromptShown::Undo) {
            plain.prompt = PromptShown::after(outcome);
        }
        let title = outcome.as_ref().ok().and_then(|answer| answer.get("title")).and_then(Value::as_str);
        match (title, &plain.undo) {
            (Some(UNDO), PlainUndo::Told { .. }) => self.undo_now(client),
            (Some(LEAVE), PlainUndo::Told { .. }) => plain.undo = PlainUndo::Free,
            (None, PlainUndo::Told { words, .. }) if outcome.is_err() => {
                let message = by_action(words);
                self.say_to(client, "info", &message);
            }
            (_, _) => {}
        }
    }
}

fn by_action(message: &str) -> String {
    format!("{message}\nThe code action \"Yes, undo\" in the chat document does it.")
}

/// What became of each file, where it is done.
fn said_of(done: &TurnRevertResult) -> String {
    let back = done.files.iter().filter(|file| file.outcome == RevertOutcome::Reverted).count();
    let were = if back == 1 { "1 file was".to_owned() } else { format!("{back} files were") };
    let left: Vec<String> =
        done.files.iter().filter(|file| file.outcome != RevertOutcome::Reverted).map(line_of).collect();
    format!("{were} taken back.\n{}", left.join("\n")).trim_end().to_owned()
}

fn lines_of(result: &TurnRevertResult) -> Vec<String> {
    let mut lines: Vec<String> = result.files.iter().take(NAMED).map(line_of).collect();
    let more = result.files.len().saturating_sub(NAMED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

fn line_of(file: &TurnRevertFile) -> String {
    let name = match &file.root {
        Some(root) => format!("{root}/{}", file.file_path),
        None => file.file_path.clone(),
    };
    match file.outcome {
        RevertOutcome::Reverted => {
            let open = if file.open { ", in the open editor" } else { "" };
            format!("{name} +{} −{}{open}", file.added, file.removed)
        }
        RevertOutcome::Conflict => {
            format!("{name} is left as it is: {}", file.message.as_deref().unwrap_or("it changed since."))
        }
        RevertOutcome::Unchanged => format!("{name}: nothing to take back"),
    }
}
