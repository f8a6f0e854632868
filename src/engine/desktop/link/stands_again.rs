//! What becomes of a session when its socket breaks, and once one stands again.
//!
//! Owns what is said of that, in which order, and what happens to the turn that was open. A change that nobody has decided on stays
//! answerable over a break: this side makes it, whatever became of the turn at the host. What is true then is `standing`'s.

use super::open_turn::LinkTurn;
use super::standing::{LinkBefore, SocketStanding, StandingTurn, TurnFate};
use super::task::LinkTask;
use crate::app::ports::LinkNews;
use crate::domain::dialect::desktop::hear::{HostResume, HostState};

impl LinkTask {
    /// A socket is gone. A host of the public source ends the socket to end a turn that was stopped.
    pub(super) async fn broke(&mut self, stood: bool) {
        if stood {
            self.before = LinkBefore::Stood(self.now());
        }
        if self.turn.as_ref().is_some_and(LinkTurn::is_stopping) {
            self.turn_over(None, true).await;
        }
    }

    /// The socket stands: what that means for the session is said.
    pub(super) async fn settle(&mut self, state: Option<HostState>) {
        let before = match self.before {
            LinkBefore::Stood(since) => LinkBefore::Stood(self.now().saturating_sub(since)),
            before => before,
        };
        // Of a turn whose end the host said nothing more comes, though it waits here.
        let at_host = |turn: &&LinkTurn| turn.is_at_host() && !self.undecided.has_end();
        let turn = match self.turn.as_ref().filter(at_host) {
            None => StandingTurn::None,
            Some(turn) if turn.is_begun() => StandingTurn::Begun,
            Some(_) => StandingTurn::Sent,
        };
        if let Some(place) = state.as_ref().and_then(|state| state.place.clone()) {
            self.place = Some(place);
        }
        if let (LinkBefore::Stood(_), Some(state)) = (before, &state) {
            self.say_again(&state.waiting);
        }
        let unheard = self.unheard(before, state.as_ref());
        let replayed = self.replayed;
        let (mut news, fate) = SocketStanding { heard: self.heard, before, turn, state, replayed }.told();
        (self.stands, self.trouble) = (true, None);
        self.parts.state().standing.insert(self.session_id.clone());
        match fate {
            TurnFate::GoesOn => {}
            TurnFate::Over if self.undecided.ends_unknown() => news = self.without_end(news),
            TurnFate::Over => self.turn = None,
            TurnFate::InDoubt => {
                let now = self.now();
                self.turn.iter_mut().for_each(|turn| turn.is_doubted(now));
            }
        }
        for mut news in news {
            if let LinkNews::Waiting(waiting) = &mut news {
                waiting.extend(self.undecided.names());
            }
            self.link(news).await;
        }
        if let Some(text) = unheard {
            self.notice("warning", text).await;
        }
        self.tell_left_doing().await;
    }

    /// The news of a turn that would be over, while its changes wait: they stay questions, and the turn ends with them.
    fn without_end(&self, news: Vec<LinkNews>) -> Vec<LinkNews> {
        let waiting = LinkNews::Waiting(Vec::new());
        let rest =
            news.into_iter().filter(|news| !matches!(news, LinkNews::NoTurnRuns | LinkNews::Waiting(_)));
        std::iter::once(waiting).chain(rest).collect()
    }

    /// What is said of questions that a host asked while the connection was away, and that it does not ask again: this side knows that
    /// they wait, and not what they are.
    fn unheard(&self, before: LinkBefore, state: Option<&HostState>) -> Option<String> {
        let LinkBefore::Stood(_) = before else { return None };
        let state = state.filter(|state| state.resume != Some(HostResume::Whole))?;
        let questions = state.questions.iter().filter(|id| !self.asks.contains_key(*id)).count();
        (questions > 0).then(|| {
            let what = if questions == 1 { "a question".to_owned() } else { format!("{questions} questions") };
            format!(
                "While the connection was away the desktop host asked {what} that still waits there and cannot be shown here; answer at \
                 another client of the host, or stop the turn."
            )
        })
    }

    /// What was allowed is done once: of what a process did that is gone nobody knows the end, and nobody does it again. A host that
    /// does it itself tells its end.
    async fn tell_left_doing(&mut self) {
        let Some(title) = self.left_doing.take() else { return };
        if self.hello.runs() && self.hello.applies() {
            return;
        }
        let text = format!(
            "breadboard-ls ended while it may have been doing what was allowed last ({title}); how that ended is not known, and it is not done again. Look at it, and stop the turn if the host waits for it."
        );
        self.notice("warning", text).await;
    }

    /// Whether how the session stands decides something.
    pub(super) fn wants_state(&self) -> bool {
        self.before != LinkBefore::Made
    }
}
