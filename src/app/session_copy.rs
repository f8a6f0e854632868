//! The copy in memory of a session that another window works on, or worked on.
//!
//! Owns when it is read on, event by event, and when it is read anew. Clients are told what they have not got. Never writes:
//! who may change a session is `leases`' to say.

use super::live::LinkState;
use super::ports::BatchRow;
use super::state::App;
use super::subscription::{EventFlow, ViewCopy};
use crate::domain::event::SessionEvent;

/// Bytes of events that are read at a time from what another window wrote.
const READ_BYTES: usize = 1 << 20;

impl App {
    /// Of a session that another window works on: reads it anew where its blocks in the journal are newer than the copy in
    /// memory. Whether that was so.
    pub(super) fn renew_copy(&mut self, session_id: &str) -> bool {
        if self.leases.ours.contains(session_id) {
            return false;
        }
        let stored = self.journal.as_mut().and_then(|journal| journal.checkpoint(session_id).ok());
        let known = self.live_mut(session_id).map(|live| live.checkpoint.seq);
        stored.is_some() && known.is_some() && stored != known && self.reload_copy(session_id)
    }

    /// Reads a session that is in memory anew. Clients are told what they have not got: events one by one, the view whole.
    pub(super) fn reload(&mut self, session_id: &str) {
        if self.reload_copy(session_id) && self.clients.followers(session_id).next().is_some() {
            self.tabs_anew(session_id);
            self.catch_up_all(session_id);
        }
    }

    /// The same, without telling anybody yet. Whether it could be read.
    fn reload_copy(&mut self, session_id: &str) -> bool {
        let Some(mut old) = self.sessions.take_live(session_id) else {
            return false;
        };
        if self.load(session_id).is_err() {
            self.sessions.keep_live(session_id, old);
            return false;
        }
        let Some(live) = self.live_mut(session_id) else { return false };
        let (flushed, same_epoch) = (live.flushed, live.epoch == old.epoch);
        live.pending.tabs = std::mem::take(&mut old.pending.tabs);
        live.link = std::mem::replace(&mut old.link, LinkState::Detached);
        for follows in self.clients.followers_mut(session_id) {
            let next_seq = follows.sent_up_to(old.flushed) + 1;
            let goes_on = same_epoch && next_seq <= flushed;
            follows.events = if goes_on { EventFlow::Behind { next_seq } } else { EventFlow::Direct };
            follows.view = ViewCopy::Stale;
        }
        true
    }

    /// Another window works, or worked, on this session: reads on from what is known here.
    pub(super) fn tail(&mut self, session_id: &str) {
        let Some(journal) = self.journal.as_mut() else { return };
        let stand = journal.head(session_id).and_then(|head| Ok((head, journal.checkpoint(session_id)?)));
        let epoch = journal.session_epoch(session_id);
        let Ok((head, checkpoint)) = stand else { return };
        let Some(live) = self.live_mut(session_id) else { return };
        if live.epoch != epoch || live.head != live.flushed {
            return self.reload(session_id);
        }
        self.catch_up_all(session_id);
        let Some(live) = self.live_mut(session_id) else { return };
        if live.flushed == head {
            return;
        }
        if live.checkpoint.seq != checkpoint {
            // Its blocks in the journal are newer than what is in memory is made from.
            self.reload(session_id);
        } else {
            self.read_on(session_id, head);
        }
        self.state_changed = true;
    }

    /// Reduces the events up to `head`, and tells them.
    fn read_on(&mut self, session_id: &str, head: u64) {
        let Some(journal) = self.journal.as_mut() else { return };
        journal.stand_still();
        let told = self.reduce_stored(session_id, head);
        if let Some(journal) = self.journal.as_mut() {
            journal.move_on();
        }
        match told {
            Some(told) => self.tell(session_id, &told),
            // Its blocks in the journal are newer than what is in memory is made from.
            None => self.reload(session_id),
        }
    }

    /// Reduces the events up to `head`, as long as the view here and the one in the journal stand at the same checkpoint.
    fn reduce_stored(&mut self, session_id: &str, head: u64) -> Option<Vec<BatchRow>> {
        let checkpoint = self.journal.as_mut()?.checkpoint(session_id).ok()?;
        if self.live_mut(session_id)?.checkpoint.seq != checkpoint {
            return None;
        }
        let mut told: Vec<BatchRow> = Vec::new();
        while let Some(from) =
            self.live_mut(session_id).map(|live| live.head + 1).filter(|from| *from <= head)
        {
            let rows = self.stored_batches(session_id, from, READ_BYTES);
            let live = self.sessions.get_mut(session_id)?.live.as_deref_mut()?;
            for row in rows {
                let row = super::journalling::from_seq_on(row, live.head + 1);
                for text in super::journalling::split(&row) {
                    let Ok(event) = serde_json::from_str::<SessionEvent>(text.get()) else { continue };
                    let changes = live.view.apply(&event);
                    super::deliver::absorb(self.journal.as_mut(), session_id, live, &changes);
                    live.changes.extend(changes);
                    live.head = event.seq;
                }
                told.push(row);
            }
            if live.head < from {
                // The journal cannot give them now; the next look tries again.
                break;
            }
        }
        let asks = self.journal.as_mut()?.pending_asks(session_id).ok()?;
        let live = self.live_mut(session_id)?;
        live.flushed = live.head;
        live.asks = super::stored_session::asks_of(asks);
        Some(told)
    }
}
