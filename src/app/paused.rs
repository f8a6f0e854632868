//! Turns of our own agent that outlive their process: what is found of them, and how one that waits for an answer goes on.
//!
//! Owns what each state that is found comes to (decision 0016). What the steps mean is `domain::steps`'; whether an answer may be
//! given is `on_request::approvals`'. Never does again what may have been done.

use super::client::ClientId;
use super::ports::{EngineCall, Ruling, TurnBegun, TurnFailure};
use super::prompter::Prompter;
use super::record::Settler;
use super::state::App;
use super::turn_memory::StepsRead;
use crate::domain::approval::PermissionStatus;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::steps::{EffectAsked, LeftTurn, PausedTurn, fold};

/// Characters of a command in a sentence.
const COMMAND_SAID: usize = 200;

/// What a turn that was cut leaves to be said.
pub(super) struct CutTurn {
    /// What is said at its end.
    pub(super) end: &'static str,
    /// What the person has to know, and the model with the next prompt.
    pub(super) left: Option<String>,
}

impl App {
    /// Whether the open turn of a session only waits for an answer.
    pub(super) fn is_paused(&self, session_id: &str) -> bool {
        self.known(session_id).is_ok_and(|session| session.record.turn.is_paused())
    }

    /// What the journal has of the open turn.
    fn left_turn(&mut self, session_id: &str) -> Option<(TurnBegun, LeftTurn)> {
        let open = self.known(session_id).ok()?.record.turn.open()?;
        let StepsRead { earlier, last, .. } = self.steps_read(session_id)?;
        let (mut begun, steps) = last.filter(|(begun, _)| begun.turn == open)?;
        begun.memory = earlier;
        Some((begun, fold(steps)))
    }

    /// The open turn, if it is at this request of the engine's.
    fn turn_at(&mut self, session_id: &str, engine_request_id: &str) -> Option<(TurnBegun, Box<PausedTurn>)> {
        match self.left_turn(session_id)? {
            (begun, LeftTurn::Asking(paused)) if paused.asked.request_id == engine_request_id => {
                Some((begun, paused))
            }
            (_, LeftTurn::Asking(_) | LeftTurn::Unfinished(_) | LeftTurn::Between) => None,
        }
    }

    /// The process that ran the open turn is gone. Where its request waits, the turn does too; otherwise what its end has to
    /// say.
    pub(super) fn pause_or_cut(&mut self, session_id: &str) -> Option<CutTurn> {
        let left = self.left_turn(session_id).map(|(_, left)| left);
        if let Some(LeftTurn::Asking(paused)) = &left
            && let Some((request_id, _)) = self.same_id(session_id, &paused.asked.request_id)
        {
            if let Ok(record) = self.record_mut(session_id) {
                record.turn.pauses();
            }
            self.state_changed = true;
            self.save_was_cut(session_id, &request_id);
            self.flush(session_id);
            return None;
        }
        Some(cut(left.as_ref()))
    }

    /// Goes on with a paused turn on the word of the client that answered: settles the request, then tells the engine.
    /// Refused where its engine is not in use, and where there is nothing to go on from, which ends the turn.
    pub(super) fn continue_turn(
        &mut self,
        client: ClientId,
        session_id: &str,
        request_id: &str,
        ruling: Ruling,
        settle: impl FnOnce(&mut Self),
    ) -> Result<(), CodedError> {
        self.engine_of(session_id)?;
        let asked = self.live_mut(session_id).and_then(|live| live.asks.get(request_id));
        let at = asked.map(|ask| ask.engine_request_id.clone()).unwrap_or_default();
        let Some((begun, from)) = self.turn_at(session_id, &at) else {
            let why = "What this turn had done so far cannot be read any more, so it does not go on; send the prompt again.";
            self.end_paused(session_id, Some(why.into()));
            return Err(CodedError::new(ErrorCode::Conflict, why));
        };
        self.record_mut(session_id)?.turn.goes_on();
        self.clients.prompters.turn_begins(session_id, Prompter::Client(client));
        self.clients.scopes_changed = true;
        // With the state of the turn in one transaction: a kill from here on finds an answer, and nothing that waits.
        settle(self);
        self.flush(session_id);
        self.begin_progress(session_id, &begun.prompt.text);
        self.state_changed = true;
        self.publish_scopes();
        let (session, begun) = (session_id.to_owned(), Box::new(begun));
        self.call_engine(session_id, EngineCall::ContinueTurn { session_id: session, begun, from, ruling });
        Ok(())
    }

    /// Ends a paused turn without asking the model: it was stopped, or failed for this reason.
    pub(super) fn end_paused(&mut self, session_id: &str, failure: Option<TurnFailure>) {
        let Some(turn) = self.known(session_id).ok().and_then(|session| session.record.turn.open()) else {
            return;
        };
        let cancelled = failure.is_none();
        self.turn_over(session_id, turn, failure, cancelled);
    }

    /// The time of a request of a paused turn is over.
    pub(super) fn expire_paused(&mut self, session_id: &str, request_id: &str) {
        // Where another window has the session, its time counts there.
        if self.hold(session_id).is_err() || !self.is_paused(session_id) {
            return;
        }
        self.settle_ask(session_id, request_id, PermissionStatus::Expired, "", Settler::Expiry);
        let why = "Nobody answered in time, so nothing was done and the turn ended; send the prompt again.";
        self.end_paused(session_id, Some(why.into()));
    }
}

/// What the end of a turn has to say that was cut there.
fn cut(left: Option<&LeftTurn>) -> CutTurn {
    let left = match left {
        Some(LeftTurn::Asking(paused)) => Some(format!(
            "breadboard-ls ended before it could {}, so that was not done; ask again if you still want it.",
            doing(&paused.asked.effect)
        )),
        Some(LeftTurn::Unfinished(effect)) => Some(format!(
            "breadboard-ls ended while it was to {}, so that may have been done; look before it is done again.",
            doing(effect)
        )),
        Some(LeftTurn::Between) | None => None,
    };
    CutTurn {
        end: "breadboard-ls ended while this turn ran; what it had said is kept. Send the prompt again to go on.",
        left,
    }
}

/// What would be done, as the middle of a sentence.
fn doing(effect: &EffectAsked) -> String {
    match effect {
        EffectAsked::Write { path, .. } => format!("write `{path}`"),
        EffectAsked::Edit { paths, .. } => format!("change `{}`", paths.join("`, `")),
        EffectAsked::GoOn { .. } => "go on past its budget".to_owned(),
        EffectAsked::Command { command, .. } => {
            let said: String = command.chars().take(COMMAND_SAID).collect();
            let more = if said.len() < command.len() { "…" } else { "" };
            format!("run `{said}{more}`")
        }
        EffectAsked::Tool { name, .. } => format!("call `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> EffectAsked {
        let command = line.to_owned();
        EffectAsked::Command { command, cwd: ".".to_owned(), hash: String::new(), background: None }
    }

    #[test]
    fn r001_68_what_had_begun_is_said_to_be_uncertain_and_nothing_else_is() {
        let unfinished = cut(Some(&LeftTurn::Unfinished(command("make"))));
        assert_eq!(
            unfinished.left.as_deref(),
            Some(
                "breadboard-ls ended while it was to run `make`, so that may have been done; look before it is done again."
            )
        );
        assert!(unfinished.end.starts_with("breadboard-ls ended while this turn ran"));
        assert_eq!(cut(Some(&LeftTurn::Between)).left, None);
        assert_eq!(cut(None).left, None);
    }

    #[test]
    fn a_long_command_is_cut_in_a_sentence() {
        let line = "é".repeat(COMMAND_SAID + 1);
        assert_eq!(doing(&command(&line)), format!("run `{}…`", "é".repeat(COMMAND_SAID)));
    }
}
