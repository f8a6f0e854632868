//! The turns of sessions: a prompt is sent, ends, is stopped, and is silent in between.
//!
//! Owns these steps. At most one turn is outstanding in a session. Whether a turn was stopped is what we did, whatever the
//! agent says of it. How one stands: `turn`.

use tokio::time::Instant;

use super::agent::Agent;
use super::outgoing::Effect;
use super::own_request::OwnRequest;
use super::sentence::one_line;
use super::session::{Claim, Session, State};
use super::turn::{DeniedRequests, Turn, TurnStage};
use super::writes::{AllowedEdits, ToldCalls};
use crate::app::inbox::Answer;
use crate::app::ports::{EngineReport, Prompt, TurnFailure};
use crate::domain::dialect::acp::blocks::{PromptAttachment, context_blocks, prompt_blocks};
use crate::domain::dialect::acp::decode::{AcpError, PROMPT, prompt_event};
use crate::domain::dialect::acp::encode;
use crate::domain::payload::Payload;
use crate::domain::remedy::{Remedy, Retry, RetryWhen};

/// What is left to do where an agent does not hear that it is to stop.
pub(crate) const UNHEARD: &str = "restart it to end the turn";

impl Agent {
    /// Begins a turn; the session is opened first where the process does not have it.
    pub(super) fn start_turn(
        &mut self,
        session_id: &str,
        number: u64,
        prompt: Prompt,
        model: Option<String>,
        looked_at: Option<Answer<()>>,
    ) {
        let failed = |why: String| EngineReport::TurnEnded {
            session_id: session_id.to_owned(),
            turn: number,
            failure: Some(TurnFailure::new(why, Retry::not_taken(RetryWhen::Later))),
            cancelled: false,
        };
        let session = self.sessions.known_or_new(session_id);
        if let Some(running) = &session.turn {
            let why = format!(
                "The agent still works on turn {} of this session, so nothing was sent; wait for its end.",
                running.number
            );
            return self.report(failed(why));
        }
        session.claim = Claim::Used;
        let stage = TurnStage::Waiting { prompt: Box::new(prompt), model, looked_at };
        let (allowed, told) = (AllowedEdits::default(), ToldCalls::default());
        session.turn = Some(Turn { number, stage, allowed, told, denials: DeniedRequests::None });
        self.sessions.use_now(session_id);
        if self.is_open(session_id) {
            return self.begin_prompt(session_id);
        }
        self.want(session_id);
    }

    /// Whether the process has the session and goes on.
    pub(super) fn is_open(&self, session_id: &str) -> bool {
        self.process.is_ready()
            && self.sessions.get(session_id).is_some_and(|session| session.state == State::Open)
    }

    /// Sends the prompt of an open session, once the files were looked at and its attachments are read.
    pub(super) fn begin_prompt(&mut self, session_id: &str) {
        let takes = self.process.can().prompt_capabilities;
        let Some(turn) = self.sessions.get(session_id).and_then(|session| session.turn.as_ref()) else {
            return self.end_if_idle();
        };
        let TurnStage::Waiting { prompt, .. } = &turn.stage else { return };
        let (number, attachments) = (turn.number, prompt.attachments.clone());
        self.tell_mode(session_id);
        self.follow_model(session_id);
        let turn = self.sessions.get_mut(session_id).and_then(|session| session.turn.as_mut());
        let looked_at = turn.and_then(Turn::takes_look);
        if attachments.is_empty() && looked_at.is_none() {
            return self.send_prompt(session_id, number, &[]);
        }
        let session_id = session_id.to_owned();
        self.lay_down(Effect::Read { session_id, turn: number, looked_at, attachments, takes });
    }

    /// Sends it, unless the turn is over by now.
    pub(super) fn send_prompt(&mut self, session_id: &str, number: u64, attachments: &[PromptAttachment]) {
        let takes = self.process.can().prompt_capabilities;
        let silent_at = self.now + self.line.quiet;
        if !self.is_open(session_id) {
            return;
        }
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let (Some(turn), Some(at_agent)) = (session.turn.as_mut(), session.at_agent.clone()) else { return };
        if turn.number != number {
            return;
        }
        let running = TurnStage::Running { silent_at: Some(silent_at) };
        let TurnStage::Waiting { prompt, .. } = &turn.stage else { return };
        let mut blocks = prompt_blocks(&prompt.text, attachments, &takes);
        blocks.extend(context_blocks(&prompt.context, &takes));
        let params = encode::prompt(&at_agent, blocks);
        turn.stage = running;
        let asked = OwnRequest::Prompt { session_id: session_id.to_owned(), turn: number };
        self.ask(PROMPT, &params, asked, None);
    }

    /// The agent ended the turn.
    pub(super) fn prompt_answered(
        &mut self,
        session_id: &str,
        number: u64,
        outcome: &Result<Payload, AcpError>,
        repaired: bool,
    ) {
        let Some(session) = self.sessions.get_mut(session_id) else { return self.end_if_idle() };
        if session.turn.as_ref().is_none_or(|turn| turn.number != number) {
            // We gave it up before; what came late is not lost.
            let mut event = prompt_event(outcome, None);
            event.repaired = repaired;
            event.turn = Some(number);
            return self.said_as_is(session_id, event);
        }
        let turn = self.sessions.get(session_id).and_then(|session| session.turn.as_ref());
        let stopped = turn.is_some_and(Turn::is_stopping);
        let denials = turn.map_or(DeniedRequests::None, |turn| turn.denials);
        let failure = outcome.as_ref().err().map(|error| self.failure(error, stopped));
        let why = failure.as_ref().map(|failure| failure.message.clone()).or_else(|| {
            let denied = matches!(denials, DeniedRequests::Last(_));
            let ended = outcome.as_ref().is_ok_and(|said| is_cancelled(said) || denied && is_done(said));
            (ended && !stopped).then(|| self.ended_by_itself(denials.count()))
        });
        let remedy = failure.as_ref().map(|failure| &failure.remedy);
        let mut event = prompt_event(outcome, why.as_deref().map(|why| (why, remedy)));
        event.repaired = repaired;
        self.said(session_id, event);
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.turn = None;
        }
        self.report(EngineReport::TurnEnded {
            session_id: session_id.to_owned(),
            turn: number,
            failure,
            cancelled: stopped,
        });
        self.end_if_idle();
    }

    /// The agent had the prompt: how much it did about it, it does not say.
    fn failure(&self, error: &AcpError, stopped: bool) -> TurnFailure {
        let said = one_line(&error.message);
        let name = self.name();
        let retry = |when| Retry::perhaps_taken(when).after(error.wait());
        match error.code {
            _ if stopped => {
                format!("The turn was stopped, and the agent `{name}` ended it with an error ({said}).")
                    .into()
            }
            AcpError::AUTH_REQUIRED => {
                self.login(error).with_remedy(Remedy::from(retry(RetryWhen::Changed))).into()
            }
            code => {
                let log = self.log_file().map(|file| format!(", or look into its log, {}", file.display()));
                let log = log.unwrap_or_default();
                let why =
                    format!("The agent `{name}` failed in this turn ({said}, code {code}); try again{log}.");
                TurnFailure::new(why, retry(RetryWhen::Later))
            }
        }
    }

    /// Why a turn ended that nobody stopped, and that was not done.
    fn ended_by_itself(&self, denials: u32) -> String {
        let name = self.name();
        match denials {
            0 => format!("The agent `{name}` ended its turn before it was done, and nobody had stopped it."),
            1 => format!("The request was denied, and the agent `{name}` ended its turn."),
            _ => format!("Requests were denied, and the agent `{name}` ended its turn."),
        }
    }

    /// Stops the turn: nothing waits for the user any more, and the agent is told.
    pub(super) fn stop(&mut self, session_id: &str) {
        self.cancel_asks(session_id);
        self.cancel_work(session_id, false);
        let (now, timeouts) = (self.now, self.timeouts.stop);
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(turn) = session.turn.as_mut() else { return };
        if !turn.is_sent() {
            let number = turn.number;
            session.turn = None;
            let failure = Some("The turn was stopped before the agent had begun it.".into());
            let session_id = session_id.to_owned();
            return self.report(EngineReport::TurnEnded {
                session_id,
                turn: number,
                failure,
                cancelled: true,
            });
        }
        if turn.is_stopping() {
            return;
        }
        turn.stage = TurnStage::Stopping { late_at: Some(now + timeouts) };
        if let Some(at_agent) = session.at_agent.clone() {
            self.write(encode::notification("session/cancel", &encode::of_session(&at_agent)));
        }
    }

    /// The agent said something of this session.
    pub(super) fn heard_of(&mut self, session_id: &str) {
        let next = self.now + self.line.quiet;
        let turn = self.sessions.get_mut(session_id).and_then(|session| session.turn.as_mut());
        if let Some(Turn { stage: TurnStage::Running { silent_at }, .. }) = turn {
            *silent_at = Some(next);
        }
    }

    /// When this turn has to be looked at.
    pub(super) fn turn_deadline(&self, session_id: &str, session: &Session) -> Option<Instant> {
        match session.turn.as_ref()?.stage {
            TurnStage::Waiting { .. } => None,
            // Whoever waits for the user or for us is not silent.
            TurnStage::Running { silent_at } => silent_at.filter(|_| !self.rpc.holds_up(session_id)),
            TurnStage::Stopping { late_at } => late_at,
        }
    }

    /// Tells of turns that do not end and of those in which nothing comes.
    pub(super) fn look_at_turns(&mut self) {
        let due: Vec<String> = self
            .sessions
            .iter()
            .filter(|(id, session)| self.turn_deadline(id, session).is_some_and(|at| at <= self.now))
            .map(|(id, _)| id.clone())
            .collect();
        let (name, quiet) = (self.line.name.clone(), self.line.quiet.as_secs());
        let stop = self.timeouts.stop.as_secs();
        for session_id in due {
            let Some(session) = self.sessions.get_mut(&session_id) else { continue };
            let Some(turn) = session.turn.as_mut() else { continue };
            let number = turn.number;
            if let TurnStage::Running { silent_at } = &mut turn.stage {
                *silent_at = None;
                let text = format!(
                    "The agent `{name}` has said nothing for {quiet} seconds; wait on, or stop the turn."
                );
                self.notice(&session_id, "warning", text);
                continue;
            }
            turn.stage = TurnStage::Stopping { late_at: None };
            if session.claim == Claim::Released {
                // Nobody waits for it, and the process shall not wait for it either.
                session.turn = None;
                let why = format!("The agent `{name}` did not end the turn after it was stopped.");
                let failure = Some(why.into());
                self.report(EngineReport::TurnEnded { session_id, turn: number, failure, cancelled: true });
                self.end_if_idle();
                continue;
            }
            let text =
                format!("The agent `{name}` was told to stop {stop} seconds ago and has not; {UNHEARD}.");
            self.notice(&session_id, "warning", text);
        }
    }
}

/// Whether an agent says that a turn was cancelled.
fn is_cancelled(result: &Payload) -> bool {
    result.get("stopReason").and_then(serde_json::Value::as_str) == Some("cancelled")
}

/// Whether an agent says that a turn was done.
fn is_done(result: &Payload) -> bool {
    result.get("stopReason").and_then(serde_json::Value::as_str) == Some("end_turn")
}
