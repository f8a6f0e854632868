//! The turn that a session has open, as its link sees it.
//!
//! Owns how far it is, what of the answer came, and when waiting for it is over. Pure: the time is given. Never says anything.

use std::time::Duration;

/// Bytes of an answer that are compared with its final text; what is longer is taken as it is.
const COMPARED: usize = 4 << 20;

/// How long something of the turn may follow an error, which then did not end it.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// How long a host may take to end a turn that was stopped.
const STOPPING: Duration = Duration::from_secs(10);

/// How long a prompt waits for a connection.
const UNSENT: Duration = Duration::from_secs(30);

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TurnProgress {
    /// What goes with its prompt is being made.
    Preparing,
    /// The prompt waits for the connection, until then.
    Waiting {
        /// The message.
        text: String,
        /// When nobody waits any more.
        until: Duration,
    },
    /// The prompt was sent.
    Sent,
    /// The host was told to stop it, and has until then.
    Stopping(Duration),
    /// The host said that something failed; what follows until then shows that it goes on.
    Failing(Duration),
    /// The host, which tells of each prompt that it begins, has told of another state and not of this prompt; until then it may.
    Doubted(Duration),
}

/// An open turn. Times are since some moment that the link chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkTurn {
    /// Number in the session.
    pub number: u64,
    /// How far it is.
    pub progress: TurnProgress,
    /// Our id of the prompt.
    message_id: Option<String>,
    /// Whether the host said that it begins with the prompt, where it says that of prompts.
    begun: bool,
    /// All pieces of the answer.
    streamed: String,
    /// Where the pieces since the last tool begin in it.
    since_tool: usize,
    /// More came than is compared.
    beyond: bool,
}

/// Why waiting is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkTurnOver {
    /// The prompt was never sent.
    NeverSent,
    /// The host did not say that it stopped.
    NotStopped,
    /// It failed, and nothing followed.
    Failed,
    /// The prompt did not come to the host.
    NotTaken,
}

impl LinkTurn {
    /// A turn whose prompt is being made.
    pub(super) fn preparing(number: u64) -> Self {
        Self {
            number,
            progress: TurnProgress::Preparing,
            message_id: None,
            begun: false,
            streamed: String::new(),
            since_tool: 0,
            beyond: false,
        }
    }

    /// A turn whose prompt was sent by an earlier process.
    pub(super) fn of_an_earlier_process(number: u64) -> Self {
        // Of its answer nobody here knows the beginning.
        Self { progress: TurnProgress::Sent, begun: true, beyond: true, ..Self::preparing(number) }
    }

    /// The prompt is there and waits for the connection.
    pub(super) fn waits(&mut self, text: String, message_id: String, now: Duration) {
        self.message_id = Some(message_id);
        self.progress = TurnProgress::Waiting { text, until: now + UNSENT };
    }

    /// Takes the prompt that waits: it is being sent.
    pub(super) fn send(&mut self) -> Option<String> {
        let TurnProgress::Waiting { text, .. } = &mut self.progress else { return None };
        let text = std::mem::take(text);
        self.progress = TurnProgress::Sent;
        Some(text)
    }

    /// Whether the host may work on it.
    pub(super) fn is_at_host(&self) -> bool {
        match self.progress {
            TurnProgress::Preparing | TurnProgress::Waiting { .. } => false,
            TurnProgress::Sent
            | TurnProgress::Stopping(_)
            | TurnProgress::Failing(_)
            | TurnProgress::Doubted(_) => true,
        }
    }

    /// The host begins with a prompt of this id.
    pub(super) fn begins(&mut self, message_id: Option<&str>) {
        if message_id.is_none() || message_id != self.message_id.as_deref() {
            return;
        }
        self.begun = true;
        if matches!(self.progress, TurnProgress::Failing(_) | TurnProgress::Doubted(_)) {
            self.progress = TurnProgress::Sent;
        }
    }

    /// Our id of its prompt, once that is made.
    pub(super) fn message_id(&self) -> Option<&str> {
        self.message_id.as_deref()
    }

    /// Whether the host said that it begins with the prompt.
    pub(super) fn is_begun(&self) -> bool {
        self.begun
    }

    /// A host that tells of each prompt runs nothing, and has not told of this one.
    pub(super) fn is_doubted(&mut self, now: Duration) {
        if !self.begun && self.progress == TurnProgress::Sent {
            self.progress = TurnProgress::Doubted(now + AFTER_ERROR);
        }
    }

    /// Whether it is being stopped.
    pub(super) fn is_stopping(&self) -> bool {
        matches!(self.progress, TurnProgress::Stopping(_))
    }

    /// The host was told to stop it.
    pub(super) fn stops(&mut self, now: Duration) {
        self.progress = TurnProgress::Stopping(now + STOPPING);
    }

    /// Something failed at the host.
    pub(super) fn fails(&mut self, now: Duration) {
        if self.progress == TurnProgress::Sent {
            self.progress = TurnProgress::Failing(now + AFTER_ERROR);
        }
    }

    /// Something of it came: it goes on.
    pub(super) fn goes_on(&mut self) {
        if matches!(self.progress, TurnProgress::Failing(_)) {
            self.progress = TurnProgress::Sent;
        }
    }

    /// A piece of the answer; gives whether it is what the host says the whole is so far.
    pub(super) fn takes(&mut self, piece: &str, so_far: Option<&str>) -> bool {
        if self.streamed.len() + piece.len() > COMPARED {
            self.beyond = true;
            self.streamed.clear();
            self.since_tool = 0;
        }
        if self.beyond {
            return true;
        }
        self.streamed.push_str(piece);
        so_far.is_none_or(|so_far| so_far == self.streamed || so_far == &self.streamed[self.since_tool..])
    }

    /// Whether the whole so far, with this piece at its end, is what was streamed. True where nothing is compared any more.
    pub(super) fn would_take(&self, piece: &str, so_far: &str) -> bool {
        let fits = |before: &str| so_far.strip_suffix(piece).is_some_and(|so_far| so_far == before);
        let is_beyond = self.beyond || self.streamed.len() + piece.len() > COMPARED;
        is_beyond || fits(&self.streamed) || fits(&self.streamed[self.since_tool..])
    }

    /// A tool began or ended: the next piece begins another message.
    pub(super) fn meets_a_tool(&mut self) {
        self.since_tool = self.streamed.len();
    }

    /// Whether the final text is another one than what was streamed.
    pub(super) fn differs_from(&self, whole: &str) -> bool {
        let said = [self.streamed.as_str(), &self.streamed[self.since_tool..]];
        !self.beyond
            && !whole.trim().is_empty()
            && !self.streamed.trim().is_empty()
            && said.iter().all(|said| said.trim() != whole.trim())
    }

    /// Whether an end is that of an earlier turn, of which so much had come when it was given up: it says that it was stopped, which
    /// this one was not, or its text goes on from what came then and not from what came now.
    pub(super) fn is_not_ended_by(&self, message: &str, cancelled: bool, given_up: &str) -> bool {
        if cancelled && !self.is_stopping() {
            return true;
        }
        let (message, given_up) = (message.trim(), given_up.trim());
        let goes_on = !given_up.is_empty() && message.starts_with(given_up);
        goes_on && (self.streamed.trim().is_empty() || self.differs_from(message))
    }

    /// What came of the answer.
    pub(super) fn into_streamed(self) -> String {
        self.streamed
    }

    /// When waiting for it is over.
    pub(super) fn due(&self) -> Option<Duration> {
        match self.progress {
            TurnProgress::Preparing | TurnProgress::Sent => None,
            TurnProgress::Waiting { until, .. }
            | TurnProgress::Stopping(until)
            | TurnProgress::Failing(until)
            | TurnProgress::Doubted(until) => Some(until),
        }
    }

    /// Why it is over by now, where it is.
    pub(super) fn over(&self, now: Duration) -> Option<LinkTurnOver> {
        self.due().filter(|due| *due <= now)?;
        match self.progress {
            TurnProgress::Waiting { .. } => Some(LinkTurnOver::NeverSent),
            TurnProgress::Stopping(_) => Some(LinkTurnOver::NotStopped),
            TurnProgress::Failing(_) => Some(LinkTurnOver::Failed),
            TurnProgress::Doubted(_) => Some(LinkTurnOver::NotTaken),
            TurnProgress::Preparing | TurnProgress::Sent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn sent() -> LinkTurn {
        let mut turn = LinkTurn::preparing(1);
        turn.waits("p".to_owned(), "m1".to_owned(), NOW);
        assert_eq!(turn.send().as_deref(), Some("p"));
        turn
    }

    #[test]
    fn a_prompt_of_which_a_host_does_not_tell_was_not_taken_and_one_of_which_it_tells_was() {
        let mut turn = sent();
        turn.begins(Some("another's"));
        turn.begins(None);
        turn.is_doubted(NOW);
        assert_eq!(turn.over(NOW + AFTER_ERROR), Some(LinkTurnOver::NotTaken));
        turn.begins(Some("m1"));
        turn.is_doubted(NOW);
        assert_eq!((turn.is_begun(), turn.due()), (true, None));
    }

    #[test]
    fn r002_74_an_error_ends_a_turn_unless_something_of_it_follows() {
        let mut turn = sent();
        turn.fails(NOW);
        assert_eq!(turn.over(NOW), None);
        assert_eq!(turn.over(NOW + AFTER_ERROR), Some(LinkTurnOver::Failed));
        turn.goes_on();
        assert_eq!((turn.due(), turn.over(NOW + AFTER_ERROR)), (None, None));
    }

    #[test]
    fn a_late_end_of_a_turn_that_was_given_up_is_known_by_its_text_or_its_stop() {
        let mut turn = sent();
        assert!(turn.is_not_ended_by("First, and more.", false, "First, "));
        assert!(turn.is_not_ended_by("", true, ""));
        assert!(!turn.is_not_ended_by("Second.", false, "First, "));
        turn.takes("Second.", None);
        assert!(turn.is_not_ended_by("First, and more.", false, "First, "));
        assert!(!turn.is_not_ended_by("Second.", false, ""));
        turn.stops(NOW);
        assert!(!turn.is_not_ended_by("Second.", true, "First, "));
    }

    #[test]
    fn a_prompt_that_finds_no_connection_and_a_stop_that_is_not_answered_end_in_time() {
        let mut turn = LinkTurn::preparing(1);
        turn.waits("p".to_owned(), "m1".to_owned(), NOW);
        assert!(!turn.is_at_host());
        assert_eq!(turn.over(NOW + UNSENT), Some(LinkTurnOver::NeverSent));
        let mut turn = sent();
        turn.stops(NOW);
        // An error does not make a stop a failure.
        turn.fails(NOW);
        assert_eq!(turn.over(NOW + STOPPING), Some(LinkTurnOver::NotStopped));
    }

    #[test]
    fn r002_72_73_a_final_text_is_compared_with_all_pieces_and_with_those_behind_the_last_tool() {
        let mut turn = sent();
        assert!(turn.takes("I look. ", Some("I look. ")));
        turn.meets_a_tool();
        assert!(turn.takes("Done.", None));
        for (whole, differs) in [("I look. Done.", false), ("Done.\n", false), ("", false), ("Other.", true)]
        {
            assert_eq!(turn.differs_from(whole), differs, "{whole:?}");
        }
        assert!(!turn.takes("x", Some("elsewhere")));
        assert!(!LinkTurn::of_an_earlier_process(1).differs_from("Other."));
    }
}
