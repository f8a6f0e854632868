//! One link a session: keeps its stream alive and truthful.
//!
//! Owns the links that run, one task each, and their bound. `link_state` is what one knows, and below it its life, the reading
//! of a connection and what that brings; `connection` is what one connection knows, `item` what it reads, `report_sender` the
//! side to the loop, `sent_turn` what is known of the prompt that was sent last, `source` the side to the engine, `timing` the
//! timeouts. Never sends a prompt or an answer: those are requests.

mod connection;
mod echo;
mod facts;
mod item;
mod link_state;
mod report_sender;
mod sent_turn;
mod source;
mod timing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::app::ports::{EngineCursor, EngineReport, LinkNews, StreamReport};
use echo::Echoes;
pub(crate) use echo::Listener;
use link_state::StreamLink;
use report_sender::{ReportOrder, ReportSender};
use sent_turn::SentTurn;
pub(super) use source::LARGEST_EVENT;
pub(crate) use source::Source;
pub use timing::LinkTiming;

/// Links at the same time. Each holds a socket and a subscriber's queue at the engine; a person looks at a few sessions.
/// One more is refused in a sentence.
pub(crate) const MOST_LINKS: usize = 64;

/// Orders to a link that were not followed yet. They only repeat each other, so one that finds no room is not missed.
const ORDERS: usize = 16;

/// Milliseconds since the Unix epoch.
pub(crate) type WallClock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The links of one engine. Dropping them ends all.
pub struct Links<S> {
    source: Arc<S>,
    reports: mpsc::Sender<EngineReport>,
    runtime: Handle,
    now_ms: WallClock,
    pace: LinkTiming,
    running: Mutex<RunningLink>,
}

struct RunningLink {
    chance: Rng,
    links: HashMap<String, One>,
}

struct One {
    echoes: Echoes,
    sent: SentTurn,
    orders: mpsc::Sender<ReportOrder>,
    task: AbortHandle,
}

impl<S: Source> Links<S> {
    /// No links yet. `seed` decides the delays between tries; `now_ms` notices that the machine slept.
    pub fn new(
        source: Arc<S>,
        reports: mpsc::Sender<EngineReport>,
        runtime: Handle,
        now_ms: WallClock,
        pace: LinkTiming,
        seed: u64,
    ) -> Self {
        let running = Mutex::new(RunningLink { chance: Rng::with_seed(seed), links: HashMap::new() });
        Self { source, reports, runtime, now_ms, pace, running }
    }

    /// `StreamCall::Attach`: links the session, or has its link say again how it stands. Never blocks.
    pub fn attach(&self, session_id: &str, cursor: Option<EngineCursor>) {
        let mut running = self.running();
        running.links.retain(|_, one| !one.task.is_finished());
        if let Some(one) = running.links.get(session_id) {
            match one.orders.try_send(ReportOrder::Restate) {
                // A full queue holds one already.
                Ok(()) | Err(TrySendError::Full(_)) => return,
                // It has just said its last word; a new one asks again.
                Err(TrySendError::Closed(_)) => {
                    running.links.remove(session_id);
                }
            }
        }
        if running.links.len() >= MOST_LINKS {
            drop(running);
            self.refuse(session_id);
            return;
        }
        let (orders, inbox) = mpsc::channel(ORDERS);
        let chance = running.chance.fork();
        let (source, reports, pace) = (Arc::clone(&self.source), self.reports.clone(), self.pace);
        let (now_ms, session_id) = (Arc::clone(&self.now_ms), session_id.to_owned());
        let id = session_id.clone();
        let echoes = Echoes::default();
        let heard = echoes.clone();
        let sent = SentTurn::default();
        let seen = sent.seen();
        let task = self.runtime.spawn(async move {
            let desk = ReportSender::new(id.clone(), reports, inbox, Instant::now() + pace.first_news);
            let link = StreamLink::new(source, desk, id, cursor, pace, chance, now_ms);
            link.telling(heard).seeing(seen).run().await;
        });
        running.links.insert(session_id, One { echoes, sent, orders, task: task.abort_handle() });
    }

    /// `EngineCall::Forget`, and a deletion: nothing more is said of this session.
    pub fn detach(&self, session_id: &str) {
        if let Some(one) = self.running().links.remove(session_id) {
            one.task.abort();
        }
    }

    /// The prompt of a turn is being sent: the stream of its session is watched more closely.
    pub fn turn_began(&self, session_id: &str, turn: u64) {
        if let Some(one) = self.running().links.get(session_id) {
            one.sent.leaves(turn);
            let _ = one.orders.try_send(ReportOrder::TurnBegan);
        }
    }

    /// The engine said that it took the prompt of this turn.
    pub fn turn_taken(&self, session_id: &str, turn: u64) {
        if let Some(one) = self.running().links.get(session_id) {
            one.sent.was_taken(turn);
        }
    }

    /// Listens for the prompts that the engine tells of from now on. `None`: the session has no link.
    pub fn listen(&self, session_id: &str) -> Option<Listener> {
        self.running().links.get(session_id).map(|one| one.echoes.listen())
    }

    /// The engine answers again, or takes another token: no link waits for its next try.
    pub fn nudge(&self) {
        for one in self.running().links.values() {
            let _ = one.orders.try_send(ReportOrder::Nudge);
        }
    }

    /// How many links run.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        let mut running = self.running();
        running.links.retain(|_, one| !one.task.is_finished());
        running.links.len()
    }

    fn refuse(&self, session_id: &str) {
        let error = format!(
            "{MOST_LINKS} sessions are attached already, and that is the most; delete or forget one and select this \
             session again."
        );
        let news = LinkNews::Connecting { retry: 0, error: Some(error) };
        let report = EngineReport::Stream(StreamReport::Link { session_id: session_id.to_owned(), news });
        let reports = self.reports.clone();
        self.runtime.spawn(async move {
            // Without a loop there is nobody to tell.
            let _ = reports.send(report).await;
        });
    }

    fn running(&self) -> MutexGuard<'_, RunningLink> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Drop for Links<S> {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        for one in running.links.values() {
            one.task.abort();
        }
    }
}

#[cfg(test)]
mod tests;
