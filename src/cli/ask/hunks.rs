//! An edit that the person at the keyboard decides change by change, as `git add -p` asks.
//!
//! Owns what is asked and sent, and that nothing is accepted by silence. Never writes a file: the server does, once all of it is
//! decided.

use std::time::Instant;

use serde_json::{Value, json};

use super::super::client::{Incoming, Refusal};
use super::super::terminal::{Tone, marked, visible_line};
use super::hunk_editor;
use super::hunk_review::{HunkReview, Typed};
use super::opened::{AskEnded, Open};
use super::turn::{AFTERWORD, AskTurn};
use crate::domain::approval::{FileOutcome, Permission};
use crate::protocol::patch::{PatchFilesResult, PatchGetResult};

impl AskTurn {
    /// The person wants to decide on each change: all of them are read first.
    pub(super) fn take_apart(&mut self, pending: Permission) -> Result<(), AskEnded> {
        let params = json!({ "sessionId": self.session_id, "patchId": pending.patch_id });
        let id = self.client.send_request("bb/patch/get", params)?;
        self.open = Some(Open::Parting(Box::new(pending), id));
        Ok(())
    }

    /// The changes of an edit came. Where they cannot be had, the edit is asked about as a whole again.
    pub(super) fn parts_came(
        &mut self,
        pending: Permission,
        outcome: Result<Value, Refusal>,
    ) -> Result<(), AskEnded> {
        let patch = outcome.map_err(|refusal| refusal.message).and_then(|result| {
            serde_json::from_value::<PatchGetResult>(result).map_err(|error| error.to_string())
        });
        match patch {
            Ok(result) if result.patch.digest == pending.digest => {
                let review = HunkReview::new(pending, result.patch);
                // The only one is on the screen already, and was to be edited.
                return if review.count() == 1 { self.edit_hunk(review) } else { self.ask_hunk(review) };
            }
            Ok(_) => self
                .say(Tone::Warn, "this edit is another one by now, so it is not decided change by change."),
            Err(why) => self.say(Tone::Warn, &marked(&why)),
        }
        self.open = Some(Open::Decision(pending));
        self.put_question();
        Ok(())
    }

    /// Shows the next change and asks about it.
    fn ask_hunk(&mut self, review: HunkReview) -> Result<(), AskEnded> {
        if let Some((title, diff)) = review.drawn() {
            let pieces = self.renderer.change(&title, &diff);
            self.show(&pieces)?;
        }
        self.open = Some(Open::Hunk(Box::new(review)));
        self.put_question();
        Ok(())
    }

    /// What was typed to a change. `None`: stdin ended, and the edit is denied as a whole.
    pub(super) fn hunk_typed(&mut self, mut review: HunkReview, word: Option<&str>) -> Result<(), AskEnded> {
        let Some(word) = word else {
            self.outcome.unanswered = true;
            return self.decide(review.permission, None);
        };
        match review.typed(word) {
            Typed::Taken => return self.hunk_taken(review),
            Typed::Edit => return self.edit_hunk(review),
            Typed::Help => {
                let help = review.help();
                self.say(Tone::Dim, &help);
            }
            Typed::Nowhere => self.say(Tone::Warn, "there is no other change there."),
            Typed::NoAnswer => {
                let typed = if word.is_empty() { "nothing".to_owned() } else { visible_line(word, 20) };
                self.say(Tone::Warn, &format!("{typed} is no answer; type one of these:\n{}", review.help()));
            }
        }
        self.open = Some(Open::Hunk(Box::new(review)));
        self.put_question();
        Ok(())
    }

    /// The person changes the change in an editor; what comes of it is made.
    fn edit_hunk(&mut self, mut review: HunkReview) -> Result<(), AskEnded> {
        let text = review.to_edit().unwrap_or_default();
        let edited = hunk_editor::edit(&text, &self.keyboard);
        let taken = edited.and_then(|text| review.edited(&text).map_err(str::to_owned));
        match taken {
            Ok(true) => return self.hunk_taken(review),
            Ok(false) => self.say(Tone::Dim, "nothing was changed."),
            Err(why) => self.say(Tone::Warn, &marked(&why)),
        }
        self.open = Some(Open::Hunk(Box::new(review)));
        self.put_question();
        Ok(())
    }

    /// The next change, or all of them to the server.
    fn hunk_taken(&mut self, review: HunkReview) -> Result<(), AskEnded> {
        if !review.is_decided() {
            return self.ask_hunk(review);
        }
        if self.trusted || !review.accepts() {
            self.decide_parts(review)
        } else if self.trust_refused {
            self.deny_without_trust(review.permission)
        } else {
            self.open = Some(Open::TrustForParts(Box::new(review)));
            self.put_question();
            Ok(())
        }
    }

    /// Sends what was decided of every change.
    pub(super) fn decide_parts(&mut self, review: HunkReview) -> Result<(), AskEnded> {
        let (permission, patch, decided) = review.decisions();
        let params = json!({
            "sessionId": self.session_id,
            "patchId": patch.patch_id,
            "scope": "hunk",
            "hunks": decided,
            "digest": patch.digest,
        });
        let id = self.client.send_request("bb/patch/decide", params)?;
        self.parts.insert(id, permission);
        Ok(())
    }

    /// What was decided is done, or was refused.
    pub(super) fn parts_decided(
        &mut self,
        pending: Permission,
        outcome: Result<Value, Refusal>,
    ) -> Result<(), AskEnded> {
        let result = match outcome {
            Ok(result) => serde_json::from_value::<PatchFilesResult>(result).ok(),
            Err(refusal) => {
                self.say(Tone::Bad, &format!("the answer was not taken: {}", marked(&refusal.message)));
                // It still waits, and is asked about as a whole.
                self.waiting.push_front(pending);
                return self.ask_next();
            }
        };
        for file in result.iter().flat_map(|result| &result.files) {
            let (path, why) = (marked(&file.file_path), file.message.as_deref().unwrap_or_default());
            match file.outcome {
                FileOutcome::Partly => self.say(Tone::Dim, &format!("{path} was changed in part.")),
                FileOutcome::Conflict => {
                    self.outcome.errors = true;
                    self.say(Tone::Bad, &format!("{path} was left as it is: {}", marked(why)));
                }
                FileOutcome::Applied
                | FileOutcome::Rejected
                | FileOutcome::Pending
                | FileOutcome::Reverted => {}
            }
        }
        Ok(())
    }

    /// What became of the files of an edit that was decided change by change is said, also where the turn was over first.
    pub(super) fn hear_what_was_made(&mut self) -> Result<(), AskEnded> {
        let until = Instant::now() + AFTERWORD;
        while !self.parts.is_empty()
            && let Some(incoming) = self.client.next(Some(until))
        {
            if let Incoming::Answer { id, outcome } = incoming
                && let Some(permission) = self.parts.remove(&id)
            {
                self.parts_decided(permission, outcome)?;
            }
        }
        Ok(())
    }
}
