//! The questions of one turn to the person at the keyboard.
//!
//! Owns which question is open, what a typed line answers, and that nothing is allowed by silence. Never draws.

use serde_json::{Value, json};

use super::super::client::Incoming;
use super::super::client::Refusal;
use super::super::render::{Choice, choices};
use super::super::terminal::{Tone, marked, visible_code, visible_line};
use super::hunk_review::parts;
use super::opened::{AskEnded, Open};
use super::turn::AskTurn;
use crate::domain::approval::{Decision, Permission, PermissionOptionKind, PermissionStatus};
use crate::domain::policy::standing::StandingAnswer;
use crate::protocol::permission::PermissionGetResult;

/// Permissions that wait for the user. An engine that asks for more at once gets a denial for the rest.
const WAITING: usize = 64;

/// The key that takes an edit of several changes apart, and the one that edits the only change of another.
const PARTS: [(&str, &str); 2] =
    [("s", "Decide change by change"), ("e", "Edit the change, and make it as edited")];

/// Which of them there is.
fn parts_key(pending: &Permission) -> Option<(&'static str, &'static str)> {
    match parts(pending) {
        0 => None,
        1 => Some(PARTS[1]),
        _ => Some(PARTS[0]),
    }
}

/// Whether the server answers this one itself, as it does where the user's setting says so and an answer is there that says it.
fn is_answered_by_setting(pending: &Permission) -> bool {
    match pending.policy.as_ref().map(|policy| policy.answer) {
        Some(StandingAnswer::Never) => true,
        Some(StandingAnswer::Always) => {
            pending.options.iter().any(|option| option.kind == PermissionOptionKind::AllowOnce)
        }
        Some(StandingAnswer::Prompt) | None => false,
    }
}

impl AskTurn {
    /// A permission came. What the server answers by itself, as a setting or a saved rule says, is left to it: a setting is told with
    /// the request, and a rule was heeded before the server tells how the request stands. That also brings all of a cut one.
    pub(super) fn asked(&mut self, pending: Permission) -> Result<(), AskEnded> {
        if is_answered_by_setting(&pending) {
            return Ok(());
        }
        if self.waiting.len() + self.coming.len() >= WAITING {
            return self.decide(pending, None);
        }
        let params = json!({ "sessionId": self.session_id, "requestId": pending.request_id });
        let id = self.client.send_request("bb/permission/get", params)?;
        self.coming.insert(id, pending);
        Ok(())
    }

    /// One that nobody answered: it is put to the user in its turn, or denied when there is none.
    fn put(&mut self, pending: Permission) -> Result<(), AskEnded> {
        if self.interactive {
            self.waiting.push_back(pending);
            return self.ask_next();
        }
        self.show_ask(&pending)?;
        self.say(Tone::Warn, "denied: nobody can be asked here; run it in a terminal to decide.");
        self.outcome.unanswered = true;
        self.decide(pending, None)
    }

    /// How a request stands, and all of it.
    pub(super) fn whole_came(
        &mut self,
        cut: Permission,
        outcome: Result<Value, Refusal>,
    ) -> Result<(), AskEnded> {
        let whole = outcome.map_err(|refusal| refusal.message).and_then(|result| {
            serde_json::from_value::<PermissionGetResult>(result).map_err(|error| error.to_string())
        });
        match whole {
            Ok(whole) if whole.status == PermissionStatus::Pending => self.put(whole.permission),
            Ok(_) => Ok(()),
            Err(why) => {
                self.outcome.unanswered |= !self.interactive;
                self.show_ask(&cut)?;
                let why = marked(&why).into_owned();
                self.say(Tone::Warn, &format!("denied: all of it could not be read to show it: {why}"));
                self.decide(cut, None)
            }
        }
    }

    pub(super) fn ask_next(&mut self) -> Result<(), AskEnded> {
        if self.open.is_some() || self.stop.is_some() {
            return Ok(());
        }
        let Some(pending) = self.waiting.pop_front() else { return Ok(()) };
        self.show_ask(&pending)?;
        self.open = Some(Open::Decision(pending));
        self.put_question();
        Ok(())
    }

    fn show_ask(&mut self, pending: &Permission) -> Result<(), AskEnded> {
        let pieces = self.renderer.permission(pending);
        self.show(&pieces)
    }

    /// An ask was settled, perhaps by somebody else: nobody needs to be asked about it any more.
    pub(super) fn settled(&mut self, id: &str) -> Result<(), AskEnded> {
        self.waiting.retain(|pending| pending.request_id != id);
        self.coming.retain(|_, pending| pending.request_id != id);
        let open_id = match &self.open {
            Some(Open::Decision(pending) | Open::Trust(pending, _)) => Some(pending.request_id.as_str()),
            Some(Open::Parting(pending, _)) => Some(pending.request_id.as_str()),
            Some(Open::Hunk(review) | Open::TrustForParts(review)) => {
                Some(review.permission.request_id.as_str())
            }
            Some(Open::TrustForPrompt) | None => None,
        };
        if open_id == Some(id) {
            self.open = None;
            self.say(Tone::Dim, "this was settled meanwhile; no answer is needed.");
            self.ask_next()?;
        }
        Ok(())
    }

    /// Puts the open question, under a new number. A line that was begun under an older number answers nothing: it was
    /// typed for something else.
    pub(super) fn put_question(&mut self) {
        let text = match &self.open {
            Some(Open::Decision(pending)) => question(&choices(pending), parts_key(pending)),
            Some(Open::Hunk(review)) => review.question(),
            Some(Open::Trust(..) | Open::TrustForParts(_) | Open::TrustForPrompt) => {
                let shown = visible_code(&self.workspace.to_string_lossy()).into_owned();
                format!("Trust this folder ({shown})? [y/N]")
            }
            Some(Open::Parting(..)) | None => return,
        };
        self.question += 1;
        self.console.question(&text);
        self.read_line();
    }

    fn read_line(&mut self) {
        if self.reading {
            return;
        }
        self.reading = true;
        let (question, sender, keyboard) = (self.question, self.client.sender(), self.keyboard.clone());
        std::thread::spawn(move || {
            let text = keyboard.line();
            // Nobody listens once the turn is over.
            let _ = sender.send(Incoming::Line { question, text });
        });
    }

    /// `true`: the prompt is to be sent again.
    pub(super) fn typed(&mut self, number: u64, text: Option<String>) -> Result<bool, AskEnded> {
        self.reading = false;
        self.console.answered();
        if text.is_none() {
            self.interactive = false;
        }
        if number != self.question && text.is_some() {
            // The question on the screen has another number; it is put again.
            self.put_question();
            return Ok(false);
        }
        let Some(open) = self.open.take() else { return Ok(false) };
        let word = text.as_deref();
        let says_yes = matches!(word, Some("y" | "yes"));
        match open {
            Open::TrustForPrompt if says_yes => {
                self.trust()?;
                return Ok(true);
            }
            Open::TrustForPrompt => return Err(AskEnded::NobodyTrusts),
            Open::Trust(pending, choice) if says_yes => {
                self.trust()?;
                self.decide(pending, Some(choice))?;
            }
            Open::Trust(pending, _) => {
                self.trust_refused = true;
                self.deny_without_trust(pending)?;
            }
            Open::TrustForParts(review) if says_yes => {
                self.trust()?;
                self.decide_parts(*review)?;
            }
            Open::TrustForParts(review) => {
                self.trust_refused = true;
                self.deny_without_trust(review.permission)?;
            }
            Open::Hunk(review) => self.hunk_typed(*review, word)?,
            // Nothing was asked yet.
            Open::Parting(..) => self.open = Some(open),
            Open::Decision(pending) => self.decision_typed(pending, word)?,
        }
        if self.open.is_some() {
            return Ok(false);
        }
        if !self.interactive {
            // Stdin ended: what still waits can be answered by nobody.
            while let Some(pending) = self.waiting.pop_front() {
                self.outcome.unanswered = true;
                self.decide(pending, None)?;
            }
        }
        self.ask_next()?;
        Ok(false)
    }

    /// What was typed to a permission. The same question stays open after a word that is no answer, another one where the
    /// folder is not trusted yet.
    fn decision_typed(&mut self, pending: Permission, word: Option<&str>) -> Result<(), AskEnded> {
        let (choices, parts) = (choices(&pending), parts_key(&pending));
        if parts.is_some_and(|(key, _)| word == Some(key)) {
            return self.take_apart(pending);
        }
        let chosen = match word {
            Some(word) => match chosen(&choices, word) {
                Some(choice) => choice,
                None => {
                    let keys = keys(&choices, parts);
                    let typed = if word.is_empty() { "nothing".to_owned() } else { visible_line(word, 20) };
                    self.say(Tone::Warn, &format!("{typed} is no answer; type one of {keys}."));
                    self.open = Some(Open::Decision(pending));
                    self.put_question();
                    return Ok(());
                }
            },
            None => {
                self.outcome.unanswered = true;
                return self.decide(pending, None);
            }
        };
        if chosen.decision == Decision::Deny || self.trusted {
            self.decide(pending, Some(chosen))
        } else if self.trust_refused {
            self.deny_without_trust(pending)
        } else {
            self.open = Some(Open::Trust(pending, chosen));
            self.put_question();
            Ok(())
        }
    }

    pub(super) fn deny_without_trust(&mut self, pending: Permission) -> Result<(), AskEnded> {
        self.say(Tone::Warn, "denied: the folder is not trusted.");
        self.decide(pending, None)
    }

    fn trust(&mut self) -> Result<(), AskEnded> {
        self.client.notify("bb/workspaceTrust", json!({ "trusted": true }))?;
        self.trusted = true;
        Ok(())
    }

    /// Answers a request; `None` denies it.
    pub(super) fn decide(&mut self, pending: Permission, choice: Option<Choice>) -> Result<(), AskEnded> {
        let decision = choice.as_ref().map_or(Decision::Deny, |choice| choice.decision);
        let mut params = json!({
            "sessionId": self.session_id,
            "requestId": pending.request_id,
            "decision": decision,
            "digest": pending.digest,
        });
        if let (Some(id), Some(params)) = (choice.and_then(|choice| choice.option_id), params.as_object_mut())
        {
            params.insert("optionId".to_owned(), Value::from(id));
        }
        let id = self.client.send_request("bb/approvePermission", params)?;
        self.answers.insert(id, (pending, decision));
        Ok(())
    }
}

/// The answers, a line each, and the keys.
fn question(choices: &[Choice], parts: Option<(&str, &str)>) -> String {
    let mut lines: String =
        choices.iter().map(|choice| format!("  {:>2}  {}\n", choice.key, choice.label)).collect();
    if let Some((key, label)) = parts {
        lines.push_str(&format!("  {key:>2}  {label}\n"));
    }
    format!("{lines}Answer ({}):", keys(choices, parts))
}

fn keys(choices: &[Choice], parts: Option<(&str, &str)>) -> String {
    let parts = parts.map(|(key, _)| key);
    choices.iter().map(|choice| choice.key.as_str()).chain(parts).collect::<Vec<_>>().join(", ")
}

/// What was typed, by its key; the words for the two letters count too.
fn chosen(choices: &[Choice], word: &str) -> Option<Choice> {
    let key = match word {
        "yes" => "y",
        "no" => "n",
        other => other,
    };
    choices.iter().find(|choice| choice.key == key).cloned()
}

#[cfg(all(test, unix))]
#[path = "answers_tests.rs"]
mod tests;
