//! What is said of a session once its socket stands, for the first time or again.
//!
//! Owns the verdict. The protocol numbers nothing and tells no history, so what was said while no socket stood cannot be known:
//! there are our journal, and the state that some hosts tell. Pure.

use std::time::Duration;

use crate::app::ports::{LinkNews, ResumedLink};
use crate::domain::dialect::desktop::hear::{HostResume, HostState};

/// What is known when the socket stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SocketStanding {
    /// Messages of this session that are in the journal.
    pub heard: u64,
    /// How the link stood before.
    pub before: LinkBefore,
    /// How far our turn is at the host.
    pub turn: StandingTurn,
    /// How the session stands, where the host told it.
    pub state: Option<HostState>,
    /// Messages that the host told again behind what we had.
    pub replayed: u64,
}

/// How the link stood before its socket stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkBefore {
    /// The session was made by this process just now.
    Made,
    /// It is opened for the first time in this process.
    Unopened,
    /// The socket stood, and broke this long ago.
    Stood(Duration),
}

/// How far our turn is at the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandingTurn {
    /// The host has none of ours.
    None,
    /// Its prompt was sent.
    Sent,
    /// The host said that it begins with it, or an earlier process sent it.
    Begun,
}

/// What becomes of the turn that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnFate {
    /// It goes on, as far as is known.
    GoesOn,
    /// Its end was told: nothing of it is waited for.
    Over,
    /// The host seems not to have it.
    InDoubt,
}

impl SocketStanding {
    /// What is said, in order, and what becomes of an open turn.
    pub(super) fn told(&self) -> (Vec<LinkNews>, TurnFate) {
        if self.before == LinkBefore::Made {
            return (vec![LinkNews::Resumed(ResumedLink::Complete)], TurnFate::GoesOn);
        }
        if let Some(HostState { resume: Some(HostResume::Whole), waiting, running, .. }) = &self.state {
            return self.whole(waiting, *running);
        }
        let (from, reason) = (self.heard.saturating_add(1), self.reason());
        let lost = LinkNews::Resumed(ResumedLink::Lost { from, to: None, reason: reason.clone() });
        let gap = LinkNews::Gap { from, to: None, reason };
        let waiting = self.state.as_ref().map(|state| LinkNews::Waiting(state.waiting.clone()));
        match (&self.state, self.turn != StandingTurn::None) {
            (_, false) => (waiting.into_iter().chain([lost]).collect(), TurnFate::GoesOn),
            (Some(HostState { running: Some(false), .. }), true) => {
                (vec![gap, LinkNews::NoTurnRuns, lost], TurnFate::Over)
            }
            // First that it stands: a gap before that would end the turn, since nothing was known of it.
            (Some(_), true) => (waiting.into_iter().chain([lost, gap]).collect(), TurnFate::GoesOn),
            (None, true) => (vec![LinkNews::Waiting(Vec::new()), gap, lost], TurnFate::Over),
        }
    }

    /// A host that numbers its sessions told everything that followed what we had. An end of our turn would be among it.
    fn whole(&self, waiting: &[String], running: Option<bool>) -> (Vec<LinkNews>, TurnFate) {
        let resumed = match self.replayed {
            0 => ResumedLink::Complete,
            events => {
                let from = self.heard.saturating_sub(events).saturating_add(1);
                ResumedLink::Replayed { events, from, to: self.heard }
            }
        };
        let mut news = vec![LinkNews::Waiting(waiting.to_vec())];
        let fate = match (self.turn, running) {
            (StandingTurn::Begun, Some(false)) => {
                news.push(LinkNews::NoTurnRuns);
                TurnFate::Over
            }
            (StandingTurn::Sent, Some(false)) => TurnFate::InDoubt,
            (StandingTurn::None | StandingTurn::Sent | StandingTurn::Begun, _) => TurnFate::GoesOn,
        };
        news.push(LinkNews::Resumed(resumed));
        (news, fate)
    }

    /// The end of a sentence.
    fn reason(&self) -> String {
        if let Some(HostState { resume: Some(HostResume::Lost(reason)), .. }) = &self.state {
            return format!(
                "the host cannot tell what followed what is known here ({})",
                reason.trim_end_matches('.')
            );
        }
        match self.before {
            LinkBefore::Stood(away) => format!(
                "no connection stood for {} s, and the protocol of desktop hosts numbers nothing, so what was said in that time cannot \
                 be known{}",
                away.as_secs().max(1),
                if self.state.is_none() { ", nor whether a question waits there for an answer" } else { "" }
            ),
            LinkBefore::Made | LinkBefore::Unopened => {
                "the protocol of desktop hosts tells no history, so what was said before this session was opened here, and is not in \
                 this journal, cannot be known"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(turn_at_host: bool, state: Option<HostState>) -> SocketStanding {
        let turn = if turn_at_host { StandingTurn::Sent } else { StandingTurn::None };
        SocketStanding {
            heard: 7,
            before: LinkBefore::Stood(Duration::from_secs(4)),
            turn,
            state,
            replayed: 0,
        }
    }

    fn words(standing: &SocketStanding) -> (Vec<&'static str>, TurnFate) {
        let (news, fate) = standing.told();
        let word = |news: &LinkNews| match news {
            LinkNews::Resumed(ResumedLink::Complete) => "complete",
            LinkNews::Resumed(ResumedLink::Lost { from: 8, to: None, reason })
                if reason.contains("cannot be known") =>
            {
                "lost"
            }
            LinkNews::Gap { from: 8, to: None, .. } => "gap",
            LinkNews::NoTurnRuns => "no turn",
            LinkNews::Waiting(ids) if ids.is_empty() => "nothing waits",
            LinkNews::Waiting(_) => "waiting",
            _ => "other",
        };
        (news.iter().map(word).collect(), fate)
    }

    #[test]
    fn a_session_that_was_made_here_is_complete() {
        let made = SocketStanding { before: LinkBefore::Made, ..standing(false, None) };
        assert_eq!(words(&made), (vec!["complete"], TurnFate::GoesOn));
    }

    #[test]
    fn r002_77_what_a_break_means_depends_on_the_turn_and_on_what_the_host_tells() {
        let state = |running, waiting: &[&str]| {
            let waiting = waiting.iter().map(|id| (*id).to_owned()).collect();
            Some(HostState { running, waiting, ..HostState::default() })
        };
        let rows = [
            (standing(false, None), vec!["lost"], TurnFate::GoesOn),
            (standing(false, state(None, &[])), vec!["nothing waits", "lost"], TurnFate::GoesOn),
            (standing(true, state(Some(false), &[])), vec!["gap", "no turn", "lost"], TurnFate::Over),
            (standing(true, state(Some(true), &["r"])), vec!["waiting", "lost", "gap"], TurnFate::GoesOn),
            (standing(true, state(None, &[])), vec!["nothing waits", "lost", "gap"], TurnFate::GoesOn),
            (standing(true, None), vec!["nothing waits", "gap", "lost"], TurnFate::Over),
        ];
        for (standing, wanted, fate) in rows {
            assert_eq!(words(&standing), (wanted, fate), "{standing:?}");
        }
    }

    #[test]
    fn a_host_that_told_everything_leaves_nothing_unknown_and_one_that_did_not_says_why() {
        let state = |running, resume| {
            Some(HostState { running: Some(running), resume: Some(resume), ..HostState::default() })
        };
        let of = |turn, replayed, state| SocketStanding { turn, replayed, ..standing(false, state) }.told();
        let (news, fate) = of(StandingTurn::Begun, 3, state(true, HostResume::Whole));
        let resumed = LinkNews::Resumed(ResumedLink::Replayed { events: 3, from: 5, to: 7 });
        assert_eq!((news, fate), (vec![LinkNews::Waiting(Vec::new()), resumed], TurnFate::GoesOn));
        let rows = [
            (StandingTurn::None, vec!["nothing waits", "complete"], TurnFate::GoesOn),
            (StandingTurn::Sent, vec!["nothing waits", "complete"], TurnFate::InDoubt),
            (StandingTurn::Begun, vec!["nothing waits", "no turn", "complete"], TurnFate::Over),
        ];
        for (turn, wanted, fate) in rows {
            let standing = SocketStanding { turn, ..standing(false, state(false, HostResume::Whole)) };
            assert_eq!(words(&standing), (wanted, fate), "{turn:?}");
        }
        let (news, _) =
            of(StandingTurn::None, 0, state(false, HostResume::Lost("Its journal is new.".to_owned())));
        let [_, LinkNews::Resumed(ResumedLink::Lost { reason, .. })] = news.as_slice() else {
            panic!("{news:?}")
        };
        assert!(reason.contains("Its journal is new)"), "{reason}");
    }
}
