//! What the server tells of a turn of `ask`, event by event.
//!
//! Owns what each event means for the turn: what is drawn, what is asked, how it ends. Never sends anything by itself.

use std::time::Instant;

use super::super::client::Incoming;
use super::super::render::kept;
use super::super::shown_warning::warning;
use super::super::terminal::Tone;
use super::opened::{AskEnded, Next};
use super::raw_message::{one_line, params_of};
use super::turn::{AFTERWORD, AskTurn};
use crate::domain::dialect::{Dialect, fact};
use crate::domain::event::{Origin, SessionEvent};
use crate::domain::fact::{Answered, Fact, NoticeLevel, TurnReport};
use crate::domain::view::{BlockBody, Change, ToolBlockStatus};
use crate::host::wished_file::UNTRUSTED;
use crate::protocol::notification::{ConnectionParams, EventsParams};
use crate::protocol::request::ConnectionStatus;

/// Said below an answer in which something was not done for want of trust.
const GIVE_TRUST: &str = "Nothing was written or run, because this workspace is not trusted. If you trust it, ask again with --trust; you are \
                          still asked before each change.";

impl AskTurn {
    /// The turn is over, and its session will be: what is said of that says what to do.
    pub(super) fn hear_the_end(&mut self) -> Result<(), AskEnded> {
        let until = Instant::now() + AFTERWORD;
        while let Some(Incoming::Notification { method, raw }) = self.client.next(Some(until)) {
            self.notification(&method, &raw)?;
            if method == "bb/connection" && self.is_over(&params_of(&raw)?) {
                break;
            }
        }
        Ok(())
    }

    fn is_over(&self, connection: &ConnectionParams) -> bool {
        connection.status == ConnectionStatus::Error
            && connection.session_id.as_ref() == Some(&self.session_id)
    }

    pub(super) fn notification(&mut self, method: &str, raw: &str) -> Result<Next, AskEnded> {
        if self.json {
            let line = one_line(raw);
            self.console.raw(&line).map_err(|error| AskEnded::at_stdout(&error))?;
        }
        match method {
            "bb/events" => {
                let batch: EventsParams = params_of(raw)?;
                if batch.session_id == self.session_id {
                    // What stood there when the session was taken up is history.
                    let seen = self.seq;
                    for event in batch.events.into_iter().filter(|event| event.seq > seen) {
                        if self.event(event)? == Next::Finished {
                            return Ok(Next::Finished);
                        }
                    }
                }
                Ok(Next::Listen)
            }
            "bb/connection" => {
                let connection: ConnectionParams = params_of(raw)?;
                if connection.session_id.as_ref().is_none_or(|id| *id == self.session_id) {
                    let is_connected = connection.status == ConnectionStatus::Connected;
                    let why = connection.last_error.clone();
                    self.patience.link(connection.session_id.clone(), is_connected, why, Instant::now());
                }
                if connection.status == ConnectionStatus::Error {
                    let why =
                        connection.last_error.unwrap_or_else(|| "The engine is not connected.".to_owned());
                    let pieces = self.renderer.remark_once(NoticeLevel::Warning, &why);
                    self.show(&pieces)?;
                    self.patience.told();
                }
                Ok(Next::Listen)
            }
            "window/showMessage" if !self.json => {
                if let Some(warning) = warning(raw) {
                    let pieces = self.renderer.remark_once(NoticeLevel::Warning, &warning);
                    self.show(&pieces)?;
                }
                Ok(Next::Listen)
            }
            _ => Ok(Next::Listen),
        }
    }

    fn count(&mut self, seq: u64) {
        if seq != self.seq + 1 {
            // Shown, not fatal: what is there is still worth reading.
            self.outcome.errors = true;
            self.say(
                Tone::Bad,
                &format!("error: events {} to {} are missing", self.seq + 1, seq.saturating_sub(1)),
            );
        }
        self.seq = seq;
    }

    fn event(&mut self, event: SessionEvent) -> Result<Next, AskEnded> {
        self.count(event.seq);
        let fact = fact(self.dialect, &event);
        if event.origin == Origin::Engine {
            self.failed_at_engine |= self.dialect == Dialect::Breadboard && matches!(fact, Fact::Failure(_));
            self.patience.hear(is_word(&fact));
        }
        let changes = self.view.apply(&event);
        if !self.trusted && !self.json && changes.iter().any(wants_trust) {
            self.advice = Some(GIVE_TRUST);
        }
        if self.stop.is_none() && self.again.hears(&fact) {
            if let Some(sentence) = self.again.begins_to_wait(&fact, Instant::now()) {
                self.say(Tone::Dim, &sentence);
            }
            return Ok(Next::Listen);
        }
        let pieces = self.renderer.draw(&fact, &changes);
        if !self.json {
            self.show(&pieces)?;
        }
        // A task asks inside an event of its own, so the permission tells and not the class.
        if let Some(permission) = event.permission.clone() {
            self.asked(*permission)?;
        }
        self.heed(&fact)
    }

    /// What an event says of the end of the turn, and of an ask that is settled.
    fn heed(&mut self, fact: &Fact<'_>) -> Result<Next, AskEnded> {
        match fact {
            Fact::Failure(_) | Fact::Gap(_) | Fact::Exited { expected: false, .. } => {
                self.outcome.errors = true;
            }
            Fact::Answered(Answered::Settled { request_id, chosen, .. }) => {
                self.settled(request_id)?;
                if let Some(rule) = chosen.as_ref().and_then(|chosen| chosen.rule.as_ref()) {
                    self.say(Tone::Dim, &kept(rule));
                }
            }
            Fact::TurnEnded(end) => match &end.report {
                TurnReport::Part(report) if !report.last => {}
                TurnReport::Part(_) | TurnReport::Whole { .. } => return Ok(self.over(None)),
            },
            Fact::TurnClosed(closed) => {
                return Ok(self.over(closed.notice.as_ref().map(|notice| notice.text.as_str())));
            }
            Fact::Exited { expected: true, .. }
            | Fact::Prompt(_)
            | Fact::Text(_)
            | Fact::ToolCall(_)
            | Fact::ToolOutput(_)
            | Fact::ToolResult(_)
            | Fact::Terminal(_)
            | Fact::Plan(_)
            | Fact::Patch(_)
            | Fact::Ask { .. }
            | Fact::Answered(Answered::Saving { .. } | Answered::Confirmed(_) | Answered::Unnamed)
            | Fact::TurnBegan
            | Fact::Usage(_)
            | Fact::Reward(_)
            | Fact::Mode(_)
            | Fact::Commands(_)
            | Fact::Task(_)
            | Fact::Checkpoints(_)
            | Fact::Restored(_)
            | Fact::Compaction(_)
            | Fact::Search { .. }
            | Fact::Link(_)
            | Fact::Picture(_)
            | Fact::TreeNode
            | Fact::Tree { .. }
            | Fact::Command { .. }
            | Fact::Changes(_)
            | Fact::Earlier(_)
            | Fact::Notice(_)
            | Fact::Nothing
            | Fact::Unknown => {}
        }
        Ok(Next::Listen)
    }

    /// The turn is over: how it went is the view's to say, and is said once.
    fn over(&mut self, notice: Option<&str>) -> Next {
        let failed =
            self.renderer.ending().filter(|ending| !ending.success).map(|ending| ending.text.clone());
        if let Some(sentence) = notice.map(str::to_owned).or(failed) {
            self.outcome.unsuccessful = true;
            let pieces = self.renderer.ended_badly(&sentence);
            let _ = self.show(&pieces);
        } else if self.renderer.is_silent() {
            self.say(Tone::Dim, "The turn is done; the engine gave no answer.");
        }
        Next::Finished
    }
}

/// Whether a call failed because the folder is not trusted.
fn wants_trust(change: &Change) -> bool {
    matches!(
        change.block.as_ref().map(|block| &block.body),
        Some(BlockBody::Tool { status: ToolBlockStatus::Failed, preview: Some(preview), .. }) if preview.contains(UNTRUSTED)
    )
}

/// Whether an engine that says this works on the prompt, and does not only tell how its session stands.
fn is_word(fact: &Fact<'_>) -> bool {
    match fact {
        Fact::Text(_)
        | Fact::ToolCall(_)
        | Fact::ToolOutput(_)
        | Fact::ToolResult(_)
        | Fact::Patch(_)
        | Fact::Picture(_)
        | Fact::Ask { .. }
        | Fact::Task(_)
        | Fact::Search { .. }
        | Fact::Notice(_)
        | Fact::Failure(_)
        | Fact::Gap(_)
        | Fact::TurnEnded(_)
        | Fact::TurnClosed(_) => true,
        Fact::Plan(plan) => !plan.standing,
        _ => false,
    }
}
