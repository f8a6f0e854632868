//! What other windows did and want: looked up in the journal, for all sessions at once.
//!
//! Owns when the next look is due and how far the last one came. What it comes to for the copy of a session in memory is
//! `session_copy`'s, for a request that waits `wait_for_lease`'s. Never changes a session of another window.

use super::live::LinkState;
use super::ports::{EngineCall, HolderRequest, News};
use super::record::Record;
use super::sessions::Session;
use super::state::App;

/// Between two looks for what other windows did, in microseconds. A session that another window works on is to be seen here
/// within two seconds: its events wait there for so long at most, and are read here after as long again. A look costs some
/// microseconds when nothing changed.
const LOOK_US: u64 = 400_000;

/// The last look, and the next.
#[derive(Default)]
pub(super) struct Look {
    /// The last change of other windows that is known here.
    at: u64,
    /// When the next one is due, on the clock of the batchers; `None` without a journal that others share.
    due_us: Option<u64>,
}

impl App {
    /// Begins to look for what other windows do.
    pub(super) fn begin_looking(&mut self) {
        self.read_news();
        if self.journal.as_ref().is_some_and(|journal| journal.state_dir().is_some()) {
            self.leases.look.due_us = Some(self.now_us() + LOOK_US);
        }
    }

    /// When the next look is due, on the clock of the batchers.
    pub(super) fn look_due_us(&self) -> Option<u64> {
        self.leases.look.due_us
    }

    /// Looks, when it is time: what waits here is shown to the others, and what they did is read.
    pub(super) fn look_at_others(&mut self) {
        let now = self.now_us();
        if self.leases.look.due_us.is_none_or(|due| due > now) || self.closing {
            return;
        }
        self.leases.look.due_us = Some(now + LOOK_US);
        if let Some(journal) = self.journal.as_mut()
            && let Err(error) = journal.share()
        {
            // It waits on, and is tried with every event too.
            tracing::debug!(?error, "events could not be shared with other windows");
        }
        self.read_news();
        self.try_again(now);
    }

    /// Reads what other windows changed, and does what they want.
    pub(super) fn read_news(&mut self) {
        let workspace = self.workspace.key.clone();
        let at = self.leases.look.at;
        let news = match self.journal.as_mut().map(|journal| journal.news(&workspace, at)) {
            Some(Ok(Some(news))) => news,
            Some(Err(error)) => {
                tracing::debug!(?error, "what other windows did could not be read");
                return;
            }
            Some(Ok(None)) | None => return,
        };
        let News { at, changed, present, elsewhere, wishes } = news;
        self.leases.look.at = at;
        let gone = self.sessions.iter().filter(|(id, session)| {
            session.saved.is_some() && !present.contains(*id) && !self.leases.ours.contains(*id)
        });
        for session_id in gone.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.session_gone(&session_id);
        }
        for row in changed {
            if !self.leases.ours.contains(&row.session_id) {
                self.take_record(&row.session_id, &row.record);
            }
        }
        if self.leases.elsewhere != elsewhere {
            self.leases.elsewhere = elsewhere;
            self.state_changed = true;
        }
        if self.state_changed {
            // Who works on a session is told before what is done there.
            self.tell_news();
        }
        let mut others = self.sessions.loaded_ids();
        others.retain(|id| !self.leases.ours.contains(id));
        for session_id in others {
            self.tail(&session_id);
        }
        self.end_tabs_of_others();
        for (session_id, wish) in wishes {
            self.grant(&session_id, wish);
        }
        // One that was taken back elsewhere allows nothing here.
        self.read_rules();
        self.say_of_journal();
        self.record_losses();
        self.take_over();
    }

    /// Turns that nobody works on, and commands that went on after theirs: the window that began them is gone. A turn that is paused
    /// stays as it is, and shows what it asks.
    pub(super) fn take_over(&mut self) {
        let paused = |(_, session): &(&String, &Session)| session.record.turn.is_paused();
        let shown = self.sessions.iter().filter(paused).filter(|(_, session)| session.live.is_none());
        for session_id in shown.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            if let Err(error) = self.load(&session_id) {
                tracing::debug!(session_id, message = error.message, "a turn that waits could not be read");
            }
        }
        let free = |id: &str| !self.leases.ours.contains(id) && !self.leases.elsewhere.contains(id);
        let left = |record: &Record| record.turn.is_worked_on() || !record.kept_commands.is_empty();
        let open = self.sessions.iter().filter(|(id, session)| left(&session.record) && free(id));
        for session_id in open.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            let is_open =
                |app: &Self| app.known(&session_id).is_ok_and(|session| session.record.turn.is_worked_on());
            // Commands that went on after their turn are settled with the lease.
            if self.hold(&session_id).is_ok() && is_open(self) {
                self.settle_left(&session_id);
            }
        }
    }

    /// A session is not there any more: another window deleted it, or removed it when the journal had reached its size.
    pub(super) fn session_gone(&mut self, session_id: &str) {
        self.clients.forget_session(session_id);
        self.unsaved.forget(session_id);
        self.call_engine(session_id, EngineCall::Forget { session_id: session_id.to_owned() });
        self.sessions.remove(session_id);
        self.leases.elsewhere.remove(session_id);
        self.tab_session_gone(session_id);
        self.state_changed = true;
    }

    /// Does what another window wants of a session that this one works on.
    fn grant(&mut self, session_id: &str, wish: HolderRequest) {
        match wish {
            HolderRequest::Stop => {
                if let Err(error) = self.stop(session_id) {
                    tracing::warn!(message = error.message, "a turn could not be stopped for another window");
                }
            }
            HolderRequest::Yield => {
                let turn =
                    self.known(session_id).map(|session| session.record.turn.clone()).unwrap_or_default();
                let asks = self.live_mut(session_id).is_some_and(|live| !live.asks.is_empty());
                let keeps =
                    self.known(session_id).is_ok_and(|session| !session.record.kept_commands.is_empty());
                let idle = !keeps && (turn.is_paused() || (!turn.is_open() && !asks));
                if idle && let Some(live) = self.live_mut(session_id) {
                    // Only its stream is open.
                    live.link = LinkState::Detached;
                    self.call_engine(session_id, EngineCall::Forget { session_id: session_id.to_owned() });
                    self.release(session_id);
                    self.flush(session_id);
                }
            }
        }
        if let Some(journal) = self.journal.as_mut()
            && let Err(error) = journal.wish_done(session_id)
        {
            tracing::debug!(?error, "a wish of another window stays noted");
        }
    }
}
