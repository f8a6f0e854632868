//! What turns of our own agent leave in the journal, step by step, and what its model hears of them again with the next prompt.
//!
//! Owns the rows: when they are written, how far back they go, and when old ones give way to the summary that stands for them
//! (decision 0036). What steps mean is `domain::steps`'. The events of a session, which people read, are never touched here.

use serde::{Deserialize, Serialize};

use super::ports::{EarlierTurn, Prompt, StepChange, TurnBegun};
use super::state::App;
use crate::domain::agent_mode::AgentMode;
use crate::domain::steps::{TurnPast, TurnStep, past};

/// Bytes of earlier turns that go along with a prompt, which are some six hundred thousand tokens; what is older than that and was not
/// summarised, as with a model that reads less and was never asked again, goes along no more.
const MEMORY_BYTES: usize = 2 << 20;

/// What is told of turns that go along no more.
const LEFT_OUT: &str = "(Turns before this one are left out.)";

/// A step as the journal has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredStep {
    /// A turn that is over, in one row.
    Earlier(Box<EarlierTurn>),
    /// A turn began. The first one of each.
    Begun(Box<TurnBegun>),
    /// The agent took a step.
    Taken(TurnStep),
}

/// The steps of a session, read.
#[derive(Debug, Default)]
pub(super) struct StepsRead {
    /// Turns that are over, oldest first, from the last summary on.
    pub(super) earlier: Vec<EarlierTurn>,
    /// The last turn that began, with its steps.
    pub(super) last: Option<(TurnBegun, Vec<TurnStep>)>,
    /// Whether rows were read that go along no more.
    outdated: bool,
}

impl StepsRead {
    /// The steps in these rows, in order; `None` where one cannot be read.
    fn of(rows: &[Vec<u8>]) -> Option<Self> {
        let mut read = Self::default();
        for row in rows {
            match serde_json::from_slice::<StoredStep>(row).ok()? {
                StoredStep::Earlier(turn) => read.over(*turn),
                StoredStep::Begun(begun) => {
                    read.close();
                    read.last = Some((*begun, Vec::new()));
                }
                StoredStep::Taken(step) => {
                    if let Some((_, steps)) = &mut read.last {
                        steps.push(step);
                    }
                }
            }
        }
        Some(read)
    }

    /// The last turn is over.
    fn close(&mut self) {
        if let Some((begun, steps)) = self.last.take() {
            let TurnBegun { prompt, model, .. } = begun;
            self.over(EarlierTurn { prompt, model, past: past(steps) });
        }
    }

    fn over(&mut self, turn: EarlierTurn) {
        if turn.past.summary.is_some() && !self.earlier.is_empty() {
            self.earlier.clear();
            self.outdated = true;
        }
        self.earlier.push(turn);
    }

    /// Leaves out the oldest turns until the others fit.
    fn fit(&mut self) {
        let mut bytes = 0;
        let fitting = self.earlier.iter().rev().take_while(|turn| {
            bytes += turn.past.bytes() + turn.prompt.text.len();
            bytes <= MEMORY_BYTES
        });
        let out = self.earlier.len() - fitting.count();
        if out > 0 {
            self.earlier.drain(..out);
            self.outdated = true;
            if let Some(first) = self.earlier.first_mut() {
                first.prompt.text.insert_str(0, &format!("{LEFT_OUT}\n\n"));
            }
        }
    }
}

impl App {
    /// A turn begins: its steps are those from here on. Written with its prompt.
    pub(super) fn steps_begin(&mut self, session_id: &str, begun: &TurnBegun) {
        if !self.journals_steps(session_id) {
            return;
        }
        // The row of a turn has no history: that is in the rows before it.
        let row = TurnBegun { memory: Vec::new(), history: Vec::new(), ..begun.clone() };
        if self.live_mut(session_id).is_some_and(|live| std::mem::take(&mut live.steps_outdated)) {
            if let Some(live) = self.live_mut(session_id) {
                live.pending.steps.push(StepChange::Cleared);
            }
            for turn in &begun.memory {
                self.keep_step(session_id, &StoredStep::Earlier(Box::new(turn.clone())));
            }
        }
        self.keep_step(session_id, &StoredStep::Begun(Box::new(row)));
    }

    /// The agent took a step. What begins and what is over is written at once: after a kill nothing tells the two apart but
    /// these.
    pub(super) fn stepped(&mut self, session_id: &str, turn: u64, step: TurnStep) {
        if !self.may_record(session_id) || self.load(session_id).is_err() {
            return;
        }
        if self.known(session_id).ok().and_then(|session| session.record.turn.open()) != Some(turn) {
            return;
        }
        let at_once = match &step {
            TurnStep::Performing { .. } | TurnStep::Result { .. } | TurnStep::Compacted { .. } => true,
            TurnStep::Replied { .. } | TurnStep::Asked(_) | TurnStep::Ended { .. } => false,
        };
        self.keep_step(session_id, &StoredStep::Taken(step));
        if at_once {
            self.flush(session_id);
        }
    }

    fn keep_step(&mut self, session_id: &str, step: &StoredStep) {
        if !self.journals_steps(session_id) {
            return;
        }
        // It holds words, numbers and lists only, which always serialise.
        let record = serde_json::to_vec(step).unwrap_or_default();
        if let Some(live) = self.live_mut(session_id) {
            live.pending.steps.push(StepChange::Taken(record));
        }
    }

    /// Whether the turns of a session end with this process, unless their steps are kept.
    fn journals_steps(&self, session_id: &str) -> bool {
        !self.traits_of(session_id).sessions.is_elsewhere()
    }

    /// The steps that the journal has of a session.
    pub(super) fn steps_read(&mut self, session_id: &str) -> Option<StepsRead> {
        let rows = match self.journal().ok()?.steps(session_id) {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(?error, session_id, "the steps of a session cannot be read");
                return None;
            }
        };
        StepsRead::of(&rows)
    }

    /// Turns of a session of our own agent that are over, as its model hears of them, oldest first, those before the prompt with this
    /// id. `None` where that cannot be told, because the turns before it were summarised in a later one or are kept no more; `asked`
    /// says how many prompts there were.
    pub(super) fn turns_before(
        &mut self,
        session_id: &str,
        message_id: Option<&str>,
        asked: usize,
    ) -> Option<Vec<EarlierTurn>> {
        self.flush(session_id);
        let mut read = self.steps_read(session_id)?;
        read.close();
        let mut turns = read.earlier;
        if let Some(message_id) = message_id {
            let at = turns.iter().position(|turn| turn.prompt.message_id == message_id)?;
            turns.truncate(at);
        }
        (asked == 0 || !turns.is_empty()).then_some(turns)
    }

    /// A session begins with turns of another one.
    pub(super) fn begin_with_turns(&mut self, session_id: &str, turns: Vec<EarlierTurn>) {
        for turn in turns {
            self.keep_step(session_id, &StoredStep::Earlier(Box::new(turn)));
        }
    }

    /// Earlier turns as our own agent's model hears of them again, and what it has to hear of the last one, once. Of a session
    /// without steps, of which a version before this one was the agent, it is what the chat has.
    pub(super) fn memory(&mut self, session_id: &str) -> Vec<EarlierTurn> {
        self.flush(session_id);
        let mut read = self.steps_read(session_id).unwrap_or_default();
        read.close();
        read.fit();
        if let Some(live) = self.live_mut(session_id) {
            live.steps_outdated = read.outdated;
        }
        let mut turns = read.earlier;
        if turns.is_empty() {
            turns = self.history(session_id).into_iter().map(told).collect();
        }
        let left = self.record_mut(session_id).ok().and_then(|record| record.left.take());
        if let Some(left) = left {
            match turns.last_mut() {
                Some(turn) if turn.past.said.is_empty() => turn.past.said = left,
                Some(turn) => turn.past.said.push_str(&format!("\n\n{left}")),
                // It was too long to go along.
                None => turns.push(told(("…".to_owned(), left))),
            }
        }
        turns
    }
}

/// A turn of which only its words are known.
pub(super) fn told((asked, answered): (String, String)) -> EarlierTurn {
    let prompt = Prompt {
        message_id: String::new(),
        text: asked,
        attachments: Vec::new(),
        context: Box::default(),
        mode: AgentMode::default(),
    };
    EarlierTurn { prompt, model: None, past: TurnPast::answered(answered) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(turn: u64, text: &str) -> StoredStep {
        let EarlierTurn { prompt, model, .. } = told((text.to_owned(), String::new()));
        StoredStep::Begun(Box::new(TurnBegun {
            turn,
            prompt,
            model,
            history: Vec::new(),
            memory: Vec::new(),
        }))
    }

    fn ended(said: &str) -> StoredStep {
        StoredStep::Taken(TurnStep::Ended { said: said.to_owned() })
    }

    fn compacted(summary: &str) -> StoredStep {
        StoredStep::Taken(TurnStep::Compacted { summary: summary.to_owned(), kept: 0 })
    }

    fn read(steps: &[StoredStep]) -> StepsRead {
        let rows: Vec<Vec<u8>> = steps.iter().map(|step| serde_json::to_vec(step).unwrap()).collect();
        StepsRead::of(&rows).unwrap()
    }

    fn texts(read: &StepsRead) -> Vec<(&str, &str)> {
        read.earlier.iter().map(|turn| (&*turn.prompt.text, &*turn.past.said)).collect()
    }

    #[test]
    fn turns_that_are_over_go_along_and_the_open_one_does_not() {
        let read = read(&[begun(1, "one"), ended("1"), begun(2, "two"), ended("2"), begun(3, "three")]);
        assert_eq!(texts(&read), [("one", "1"), ("two", "2")]);
        assert_eq!(read.last.map(|(begun, steps)| (begun.turn, steps)), Some((3, Vec::new())));
        assert!(!read.outdated);
    }

    #[test]
    fn a_summary_stands_for_the_turns_before_it() {
        let rows = [
            begun(1, "one"),
            ended("1"),
            begun(2, "two"),
            compacted("all of one"),
            ended("2"),
            begun(3, "three"),
        ];
        let read = read(&rows);
        assert_eq!(texts(&read), [("two", "2")]);
        assert_eq!(read.earlier[0].past.summary.as_deref(), Some("all of one"));
        assert!(read.outdated);
    }

    #[test]
    fn what_is_too_much_is_left_out_oldest_first_and_said() {
        let long = "x".repeat(MEMORY_BYTES / 2);
        let mut read =
            read(&[begun(1, &long), ended("1"), begun(2, &long), ended("2"), begun(3, "three"), ended("3")]);
        read.close();
        read.fit();
        assert_eq!(read.earlier.len(), 2);
        assert!(read.earlier[0].prompt.text.starts_with(LEFT_OUT) && read.outdated);
    }
}
