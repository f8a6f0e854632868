//! A session as the journal has it, and its live state at the last checkpoint.
//!
//! Owns what is done when the stored view cannot be read. Never reduces an event: those after the checkpoint are `load`'s.

use std::collections::{BTreeMap, VecDeque};

use super::live::{Checkpoint, LastWords, LinkState, Live, PendingRows, UseOfStream, Writing};
use super::ports::{EngineCursor, Journal, JournalError, LedgerRow};
use super::record::Ask;
use crate::domain::delivery::batch::Batcher;
use crate::domain::dialect::Dialect;
use crate::domain::view::{DirtyBlocks, Lane, ViewState};
use crate::protocol::settings::Delivery;

/// What the journal has of a session beside its events.
#[derive(Default)]
pub(super) struct StoredSession {
    epoch: String,
    /// Its last event.
    pub(super) head: u64,
    pub(super) view: StoredView,
    asks: BTreeMap<String, Ask>,
    cursor: Option<EngineCursor>,
}

/// The view at its last checkpoint.
#[derive(Default)]
pub(super) struct StoredView {
    /// Its last event.
    seq: u64,
    view: ViewState,
    dirty: DirtyBlocks,
    /// Whether what is stored is left aside, and the view is made from the first event on.
    pub(super) is_made_anew: bool,
}

impl StoredSession {
    pub(super) fn read(journal: &mut dyn Journal, session_id: &str) -> Result<Self, JournalError> {
        let head = journal.head(session_id)?;
        let stored = journal.view(session_id)?;
        let asks = asks_of(journal.pending_asks(session_id)?);
        let cursor = journal.cursor(session_id)?;
        let first = journal.first(session_id)?;
        let epoch = journal.session_epoch(session_id);
        let view = match stored {
            Some((seq, state)) => StoredView::read(journal, session_id, first, seq, &state)?,
            None => StoredView::default(),
        };
        Ok(Self { epoch, head, view, asks, cursor })
    }

    /// The session at its checkpoint.
    pub(super) fn into_live(self, dialect: Dialect, delivery: Delivery) -> Live {
        let StoredView { seq, view, dirty, is_made_anew: _ } = self.view;
        Live {
            epoch: self.epoch,
            head: seq,
            flushed: self.head,
            view: view.speaking(dialect),
            dirty,
            checkpoint: Checkpoint { seq, ..Checkpoint::default() },
            batcher: Batcher::new(delivery.max_latency_ms, delivery.max_events, delivery.max_bytes),
            changes: Vec::new(),
            pending: PendingRows::default(),
            steps_outdated: false,
            asks: self.asks,
            awaited_edits: Vec::new(),
            allowed_root: None,
            told_context: None,
            held: Vec::new(),
            cursor: self.cursor,
            unwritten_cursors: VecDeque::new(),
            writing: Writing::AtOnce,
            link: LinkState::Detached,
            told_loss: None,
            last_words: LastWords::Heard,
            use_of_stream: UseOfStream::Open,
            expiries: Vec::new(),
        }
    }
}

impl StoredView {
    fn read(
        journal: &mut dyn Journal,
        session_id: &str,
        first: u64,
        seq: u64,
        state: &[u8],
    ) -> Result<Self, JournalError> {
        match serde_json::from_slice::<(ViewState, DirtyBlocks)>(state) {
            Ok((view, dirty)) => Ok(Self { seq, view, dirty, is_made_anew: false }),
            Err(error) if first > 1 => {
                // What it was made from is gone. Its blocks stay as they are, and new ones stand below them.
                tracing::warn!(%error, "the stored view cannot be read; it goes on without what was open in it");
                let dirty = DirtyBlocks::after(next_places(journal, session_id)?);
                Ok(Self { seq, view: ViewState::after(seq), dirty, is_made_anew: false })
            }
            Err(error) => {
                // The events are all there; only the reduced form has to be made again.
                tracing::warn!(%error, "the stored view cannot be read and is made anew from the journal");
                Ok(Self { is_made_anew: true, ..Self::default() })
            }
        }
    }
}

/// The place below the newest stored block of each lane.
fn next_places(journal: &mut dyn Journal, session_id: &str) -> Result<BTreeMap<Lane, u64>, JournalError> {
    let mut next = BTreeMap::new();
    for lane in Lane::ALL {
        let newest = journal.blocks(session_id, lane, None, 1)?;
        next.insert(lane, newest.first().map_or(0, |row| row.ord + 1));
    }
    Ok(next)
}

/// Asks that wait, as the journal has them.
pub(super) fn asks_of(rows: Vec<LedgerRow>) -> BTreeMap<String, Ask> {
    rows.into_iter()
        .filter_map(|row| serde_json::from_slice::<Ask>(&row.record).ok())
        .map(|ask| (ask.permission.request_id.clone(), ask))
        .collect()
}
