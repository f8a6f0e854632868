//! The stream of a session that an engine holds, as the loop sees it: connecting, resumed, broken, over.
//!
//! Owns what is said of it: `bb/connection` with a verdict, the card of a gap, the end of a session. Never decides whether
//! events are missing: the adapter's continuity does.

use serde_json::{Map, Value};

use super::client::ClientId;
use super::inbox::Reply;
use super::live::{LastWords, LinkState};
use super::ports::{EngineCall, LinkNews, ResumedLink, StreamCall, TurnFailure};
use super::record::{LastRun, SessionEnd, Settler};
use super::resume_verdict::{resumed_link, with_earlier_losses};
use super::state::App;
use super::turn::TurnState;
use crate::domain::approval::PermissionStatus;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::configuration;
use crate::domain::dialect::normalize;
use crate::domain::event::{EngineEvent, LocalKind, NormalizedEvent};
use crate::domain::remedy::{Remedy, Retry, RetryWhen};
use crate::domain::sentence::sentence;
use crate::protocol::notification::{ConnectionCause, ConnectionParams};
use crate::protocol::request::*;

/// Gaps that are remembered for a rebuild. Of more than this the oldest is forgotten: its card stays in the transcript.
const GAPS: usize = 64;

impl LinkState {
    /// Somebody wants the stream.
    pub(super) fn open(&mut self) {
        if matches!(self, Self::Detached) {
            *self = Self::Opening;
        }
    }
}

/// What is said of a prompt that the engine took and had not begun when it ended the session.
const NEVER_BEGUN: &str =
    "The engine ended this session before it began with this prompt; send it again in a new session.";

/// What is said of a prompt that the engine took, where all that it said of its turn is lost.
const TURN_LOST: &str = "The engine is done with this prompt, and what it said of it is lost; look at what it has done before you send it again.";

impl App {
    pub(super) fn link_news(&mut self, session_id: &str, news: LinkNews) {
        // Deleted meanwhile, or another window works on it.
        if !self.may_record(session_id) || self.load(session_id).is_err() {
            return;
        }
        // What was said before this news stands before it.
        self.release(session_id);
        self.flush(session_id);
        match news {
            LinkNews::Connecting { retry, error } => self.link_connecting(session_id, retry, error),
            LinkNews::Resumed(resumed) => self.link_resumed(session_id, resumed),
            LinkNews::Gap { from, to, reason } => self.link_gap(session_id, from, to, &reason),
            LinkNews::Waiting(asks) => self.settle_answered_elsewhere(session_id, &asks),
            LinkNews::NoTurnRuns => self.settle_forgotten_turn(session_id),
            LinkNews::TurnLost { turn } => self.settle_lost_turn(session_id, turn),
            LinkNews::Ended { status, configuration: made_with } => {
                let failure = match made_with {
                    _ if status == "completed" => None,
                    Some(name) if status == "failed" => Some(configuration::ended(&status, &name)),
                    _ => Some(format!("The engine ended the session: {status}.")),
                };
                self.link_over(session_id, SessionEnd::Ended { status }, failure);
            }
            LinkNews::Gone { reason } => {
                let end = self.gone_now(session_id);
                self.link_over(session_id, end, Some(reason));
            }
        }
    }

    fn link_connecting(&mut self, session_id: &str, retry: u32, error: Option<String>) {
        let failed = error.is_some();
        if let Some(live) = self.live_mut(session_id) {
            live.link = LinkState::Broken(error.clone());
            live.told_loss = None;
        }
        self.connection(ConnectionParams {
            status: ConnectionStatus::Connecting,
            session_id: Some(session_id.to_owned()),
            retry_count: Some(u64::from(retry)),
            last_error: error,
            cause: None,
            gap_detected: None,
            resume: None,
        });
        if failed {
            self.answer_selecting(session_id);
        }
    }

    fn link_resumed(&mut self, session_id: &str, resumed: ResumedLink) {
        self.settle_unsent(session_id);
        self.settle_unknown_end(session_id);
        let mut resume = resumed_link(&resumed);
        if let Ok(session) = self.known(session_id) {
            resume = with_earlier_losses(&session.record, resume);
        }
        let lost = resume.verdict == ResumeVerdict::Lost;
        let (mut stood, mut told) = (false, false);
        if let Some(live) = self.live_mut(session_id) {
            stood = matches!(live.link, LinkState::Up(_)) && resumed == ResumedLink::Complete;
            told = live.told_loss.take().as_ref() == Some(&resume);
            live.link = LinkState::Up(resumed);
        }
        // That nothing changed while it stood, said at every prompt, would be noise; so would the same loss twice.
        if !stood && !told {
            self.connection(ConnectionParams {
                status: ConnectionStatus::Connected,
                session_id: Some(session_id.to_owned()),
                retry_count: None,
                last_error: None,
                cause: None,
                gap_detected: lost.then_some(true),
                resume: Some(resume),
            });
        }
        self.answer_selecting(session_id);
    }

    /// Events are missing: in the transcript, on the connection, and remembered for a rebuild.
    fn link_gap(&mut self, session_id: &str, from: u64, to: Option<u64>, reason: &str) {
        let now = self.ambient.now_ms();
        let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        if turn.is_some() && self.last_run(session_id) == LastRun::Ended {
            // Its beginning may be among what is missing, so the next end is its own: the end of the run before it came
            // before it was sent.
            self.turn_begun(session_id);
        }
        if let Some(live) = self.live_mut(session_id) {
            live.last_words = LastWords::Missing;
        }
        let mut payload = Map::new();
        payload.insert("from".to_owned(), Value::from(from));
        if let Some(to) = to {
            payload.insert("to".to_owned(), Value::from(to));
        }
        payload.insert("reason".to_owned(), Value::from(sentence(reason)));
        self.record_event(session_id, NormalizedEvent::local(LocalKind::Gap, turn, now, payload));
        if let Ok(record) = self.record_mut(session_id)
            && let Some(held) = record.held.as_mut()
        {
            if held.missing.len() == GAPS {
                held.missing.remove(0);
            }
            held.missing.push((from, to));
        }
        self.flush(session_id);
        let lost = resumed_link(&ResumedLink::Lost { from, to, reason: reason.to_owned() });
        if let Some(live) = self.live_mut(session_id) {
            live.told_loss = Some(lost.clone());
        }
        self.connection(ConnectionParams {
            status: ConnectionStatus::Connected,
            session_id: Some(session_id.to_owned()),
            retry_count: None,
            last_error: None,
            cause: None,
            gap_detected: Some(true),
            resume: Some(lost),
        });
    }

    /// What the engine said last is missing: the end of the turn may be in there, and would never come.
    fn settle_unknown_end(&mut self, session_id: &str) {
        // Who asks waits for an answer, and so the turn goes on.
        let Some(live) = self.live_mut(session_id) else { return };
        let last_words = std::mem::replace(&mut live.last_words, LastWords::Heard);
        if last_words == LastWords::Heard || !live.asks.is_empty() {
            return;
        }
        if let Some(turn) = self.known(session_id).ok().and_then(|session| session.record.turn.open()) {
            let why = "The engine no longer has what it said last, so whether this turn goes on there cannot be known; look at \
                       the session before you send the prompt again.";
            self.turn_ended(session_id, turn, Some(why.into()));
        }
    }

    /// The engine has told everything that it kept, and runs nothing: a turn that it had begun was lost there.
    fn settle_forgotten_turn(&mut self, session_id: &str) {
        let Ok(session) = self.known(session_id) else { return };
        let TurnState::Running(turn) = &session.record.turn else { return };
        let turn = turn.number;
        let why = "The engine no longer works on this turn and never told of its end, as after a restart of the engine; look at what \
                   it has done before you send the prompt again.";
        self.settle_turn_of_idle_engine(session_id, turn, why.into());
    }

    /// The engine took the prompt of a turn, and what it said of that turn is lost, its end as well.
    fn settle_lost_turn(&mut self, session_id: &str, turn: u64) {
        let Ok(session) = self.known(session_id) else { return };
        if session.record.turn.open() != Some(turn) {
            return;
        }
        let failure = TurnFailure::new(TURN_LOST, Retry::perhaps_taken(RetryWhen::Later));
        self.settle_turn_of_idle_engine(session_id, turn, failure);
    }

    /// The engine runs nothing: the open turn is over, and so is all that it asked.
    fn settle_turn_of_idle_engine(&mut self, session_id: &str, turn: u64, failure: TurnFailure) {
        self.settle_answered_elsewhere(session_id, &[]);
        self.turn_ended(session_id, turn, Some(failure));
        self.last_run_is_over(session_id);
        self.flush(session_id);
    }

    /// After a gap: what does not wait at the engine any more was answered while nobody heard it here.
    fn settle_answered_elsewhere(&mut self, session_id: &str, waiting: &[String]) {
        let gone: Vec<String> = self
            .live_mut(session_id)
            .map(|live| {
                let gone = live.asks.iter().filter(|(_, ask)| !waiting.contains(&ask.engine_request_id));
                gone.map(|(id, _)| id.clone()).collect()
            })
            .unwrap_or_default();
        for request_id in gone {
            self.settle_ask(session_id, &request_id, PermissionStatus::Cancelled, "", Settler::Engine);
        }
        self.flush(session_id);
    }

    /// The engine does not have this session any more: what is known of it ends with what was heard last.
    pub(super) fn gone_now(&self, session_id: &str) -> SessionEnd {
        let heard = self.known(session_id).map_or(0, |session| session.record.updated_at);
        SessionEnd::Gone { heard, told: false }
    }

    /// The transcript of a session that is gone says what nobody heard, once.
    pub(super) fn tell_what_is_unheard(&mut self, session_id: &str) {
        let Ok(session) = self.known(session_id) else { return };
        let over = session.record.held.as_ref().and_then(|held| held.over.as_ref());
        let Some(SessionEnd::Gone { heard, told: false }) = over else { return };
        let end = SessionEnd::Gone { heard: *heard, told: true };
        if self.hold(session_id).is_err() || self.load(session_id).is_err() {
            return;
        }
        let cursor = self.live_mut(session_id).and_then(|live| live.cursor.as_ref()).map(|cursor| cursor.seq);
        let payload = Map::from_iter([
            ("from".to_owned(), Value::from(cursor.map_or(1, |seq| seq.saturating_add(1)))),
            ("reason".to_owned(), Value::from(end.unheard().as_deref().map(sentence))),
        ]);
        if let Ok(record) = self.record_mut(session_id)
            && let Some(held) = record.held.as_mut()
        {
            held.over = Some(end);
        }
        let now = self.ambient.now_ms();
        let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        self.record_event(session_id, NormalizedEvent::local(LocalKind::Gap, turn, now, payload));
        self.flush(session_id);
    }

    /// Nothing more comes: the turn that was open ends, what waits is settled, the history stays.
    fn link_over(&mut self, session_id: &str, end: SessionEnd, failure: Option<String>) {
        let cause = match &end {
            SessionEnd::Ended { .. } if failure.is_some() => Some(ConnectionCause::SessionEnded),
            SessionEnd::Ended { .. } | SessionEnd::Gone { .. } => None,
        };
        if let Ok(record) = self.record_mut(session_id) {
            record.held.get_or_insert_default().over = Some(end);
            record.queue.pause();
        }
        self.tell_what_is_unheard(session_id);
        let turn = self.known(session_id).map(|session| session.record.turn.clone()).unwrap_or_default();
        if let Some(number) = turn.open() {
            let never = || (!turn.has_begun()).then(|| NEVER_BEGUN.to_owned());
            self.turn_ended(session_id, number, failure.clone().or_else(never).map(Into::into));
        }
        self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::Engine);
        if let Some(live) = self.live_mut(session_id) {
            live.link = LinkState::Over;
        }
        self.flush(session_id);
        self.tab_session_ended(session_id);
        self.state_changed = true;
        let status = if failure.is_some() { ConnectionStatus::Error } else { ConnectionStatus::Connected };
        self.connection(ConnectionParams {
            status,
            session_id: Some(session_id.to_owned()),
            retry_count: None,
            last_error: failure,
            cause,
            gap_detected: None,
            resume: None,
        });
        self.answer_selecting(session_id);
    }

    /// `bb/selectSession` of a session that the engine holds: answered with the first news of the stream, so that its
    /// verdict is true.
    pub(super) fn select_held(
        &mut self,
        client: ClientId,
        session_id: &str,
        reply: Reply<SelectSessionResult>,
    ) {
        let known = match self.live_mut(session_id) {
            Some(live) => matches!(live.link, LinkState::Up(_) | LinkState::Over),
            None => return reply.refuse(CodedError::unknown_session(session_id)),
        };
        let not_ours = self.hold(session_id).is_err();
        self.tell_what_is_unheard(session_id);
        if known || not_ours || !self.known(session_id).is_ok_and(|session| self.is_followed(&session.record))
        {
            let answer = self.selected(client, session_id);
            reply.settle(answer);
            // Its last word may be older than the end of its stream, which was let go meanwhile.
            return self.follow(session_id);
        }
        if let Some(follows) = self.clients.subscription(client, session_id) {
            follows.selecting.push(reply);
        }
        self.follow(session_id);
    }

    fn answer_selecting(&mut self, session_id: &str) {
        for client in self.clients.ids() {
            let follows = self.clients.subscription(client, session_id);
            let waiting = follows.map(|follows| std::mem::take(&mut follows.selecting));
            for reply in waiting.unwrap_or_default() {
                let answer = self.selected(client, session_id);
                reply.settle(answer);
            }
        }
    }

    /// `bb/rebuild`: what the engine still has of the stretches that are missing.
    pub(super) fn rebuild(&mut self, session_id: &str, reply: Reply<RebuildResult>) {
        if let Err(error) = self.load(session_id) {
            return reply.refuse(error);
        }
        let Ok(session) = self.known(session_id) else { return };
        if !self.is_at_engine(&session.record) {
            return reply.refuse(CodedError::new(
                ErrorCode::Unsupported,
                "This session does not live at an engine that keeps run artifacts, so nothing can be rebuilt.",
            ));
        }
        let missing = session.record.held.as_ref().map(|held| held.missing.clone()).unwrap_or_default();
        let (Some(first), Some(last)) = (missing.first(), missing.last()) else {
            let resume = Resume {
                verdict: ResumeVerdict::Complete,
                events: Some(0),
                from: None,
                to: None,
                reason: Some("Nothing is missing.".to_owned()),
            };
            return reply.answer(RebuildResult { resume });
        };
        let stretch = (first.0, last.1.unwrap_or(u64::MAX));
        let session_id = session_id.to_owned();
        self.call_engine(
            &session_id,
            EngineCall::Stream(StreamCall::Rebuild {
                session_id: session_id.clone(),
                missing: stretch,
                reply,
            }),
        );
    }

    /// Events that were missing came back. They are told after what is there already, framed by two sentences: the order
    /// of what was received does not change.
    pub(super) fn rebuilt(
        &mut self,
        session_id: &str,
        outcome: Result<Vec<(EngineEvent, u64)>, CodedError>,
        reply: Reply<RebuildResult>,
    ) {
        let found = match outcome {
            Ok(found) => found,
            Err(error) => return reply.refuse(error),
        };
        if let Err(error) = self.load(session_id) {
            return reply.refuse(error);
        }
        let missing = self
            .known(session_id)
            .ok()
            .and_then(|session| session.record.held.as_ref().map(|held| held.missing.clone()))
            .unwrap_or_default();
        let found: Vec<(EngineEvent, u64)> = found
            .into_iter()
            .filter(|(_, seq)| {
                missing.iter().any(|(from, to)| (*from..=to.unwrap_or(u64::MAX)).contains(seq))
            })
            .collect();
        let numbers: Vec<u64> = found.iter().map(|(_, seq)| *seq).collect();
        if !found.is_empty() {
            self.tell_found(session_id, found.into_iter().map(|(event, _)| event).collect());
        }
        let left: Vec<(u64, Option<u64>)> =
            missing.into_iter().flat_map(|stretch| without(stretch, &numbers)).collect();
        let resume = rebuilt_verdict(&left, &numbers);
        if let Ok(record) = self.record_mut(session_id)
            && let Some(held) = record.held.as_mut()
        {
            held.missing = left;
        }
        self.flush(session_id);
        reply.answer(RebuildResult { resume });
    }

    /// A secret may lie across them, too. None of them is a run, an ask or an answer any more.
    fn tell_found(&mut self, session_id: &str, found: Vec<EngineEvent>) {
        let count = found.len();
        self.notice(session_id, "info", &format!("{count} events that were missing above were read again:"));
        self.release(session_id);
        let mut ready = Vec::new();
        for event in found {
            ready.extend(self.whole_words(session_id, event, None));
        }
        if let Some(live) = self.live_mut(session_id) {
            ready.append(&mut live.held);
        }
        for (event, _) in ready {
            let event = normalize(self.dialect_of(session_id), event).event;
            self.record_event(session_id, event);
        }
        self.notice(session_id, "info", "The session goes on here.");
    }

    /// A sentence in the transcript.
    pub(super) fn notice(&mut self, session_id: &str, level: &str, text: &str) {
        self.notice_with(session_id, level, text, &Remedy::default());
    }

    /// The same, with what can be done about it.
    pub(super) fn notice_with(&mut self, session_id: &str, level: &str, text: &str, remedy: &Remedy) {
        let now = self.ambient.now_ms();
        let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        self.record_event(session_id, notice(turn, now, level, text, remedy));
    }
}

/// `local.notice`.
pub(super) fn notice(
    turn: Option<u64>,
    now: i64,
    level: &str,
    text: &str,
    remedy: &Remedy,
) -> NormalizedEvent {
    let mut payload = Map::new();
    payload.insert("level".to_owned(), Value::from(level));
    payload.insert("text".to_owned(), Value::from(text));
    payload.extend(remedy.fields());
    NormalizedEvent::local(LocalKind::Notice, turn, now, payload)
}

/// What is left of a missing stretch once these numbers, in order, were found.
fn without((from, to): (u64, Option<u64>), found: &[u64]) -> Vec<(u64, Option<u64>)> {
    let mut left = Vec::new();
    let mut next = from;
    for &seq in found.iter().filter(|seq| (from..=to.unwrap_or(u64::MAX)).contains(*seq)) {
        if seq > next {
            left.push((next, Some(seq - 1)));
        }
        next = next.max(seq.saturating_add(1));
    }
    match to {
        Some(to) if next > to => {}
        // An open end was a guess: what came shows where it ended.
        None if next > from => {}
        to => left.push((next, to)),
    }
    left
}

/// What became of missing events, by the stretches that are left and the numbers that were found.
fn rebuilt_verdict(left: &[(u64, Option<u64>)], found: &[u64]) -> Resume {
    let events = Some(found.len() as u64);
    match left.first() {
        None => Resume {
            verdict: ResumeVerdict::Resynced,
            events,
            from: found.first().copied(),
            to: found.last().copied(),
            reason: None,
        },
        Some((from, to)) => Resume {
            verdict: ResumeVerdict::Lost,
            events,
            from: Some(*from),
            to: *to,
            reason: Some("The engine does not have these any more.".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn r003_60_what_was_found_is_taken_out_of_what_is_missing() {
        assert_eq!(without((3, Some(9)), &[3, 4, 7, 9, 12]), vec![(5, Some(6)), (8, Some(8))]);
        assert_eq!(without((3, Some(9)), &[]), vec![(3, Some(9))]);
        assert_eq!(without((3, Some(4)), &[3, 4]), vec![]);
        assert_eq!(without((3, None), &[4]), vec![(3, Some(3))]);
        assert_eq!(without((3, None), &[]), vec![(3, None)]);
    }
}
