//! A session in memory: its head, its view, what waits to be journalled.
//!
//! Owns bounded state only: events live in the journal, old blocks in its view pages. Never talks to a port.

use std::collections::{BTreeMap, VecDeque};

use super::context_update::ToldContext;
use super::edit_made::DecidedEdit;
use super::ports::{EngineCursor, LedgerRow, ResumedLink, StepChange, TabRow};
use super::record::Ask;
use crate::domain::approval::AskRoot;
use crate::domain::delivery::batch::Batcher;
use crate::domain::event::EngineEvent;
use crate::domain::view::{Change, DirtyBlocks, ViewState};
use crate::protocol::request::Resume;

/// Events after which the view is written to the journal even within a turn, unless that would write more than came since.
pub(super) const CHECKPOINT_EVENTS: u64 = 1_024;

/// Bytes of events after which it is written in any case. On start at most about so many are reduced again, which takes
/// some ten milliseconds.
pub(super) const CHECKPOINT_BYTES: usize = 1 << 20;

/// Bytes of changed blocks after which the view is written too, so that a few huge ones do not wait for the count.
pub(super) const DIRTY_BYTES: usize = 8 << 20;

/// Everything of a loaded session that is not in its record.
pub(super) struct Live {
    /// Opaque name of its numbers.
    pub epoch: String,
    /// Last `seq` given out.
    pub head: u64,
    /// Last `seq` that the journal has and clients may know.
    pub flushed: u64,
    /// Reducer state.
    pub view: ViewState,
    /// Blocks that changed since the checkpoint.
    pub dirty: DirtyBlocks,
    /// The last checkpoint of the view.
    pub checkpoint: Checkpoint,
    /// Events on their way to the journal.
    pub batcher: Batcher,
    /// Changes that the events in `batcher` made.
    pub changes: Vec<Change>,
    /// What is written with the next batch.
    pub pending: PendingRows,
    /// Whether rows of steps stand in the journal that a summary took the place of.
    pub steps_outdated: bool,
    /// Asks that wait.
    pub asks: BTreeMap<String, Ask>,
    /// Edits that were allowed, for whoever decided on them and waits for what comes of it.
    pub awaited_edits: Vec<DecidedEdit>,
    /// The folder of what was allowed last: what is done now is done there or not at all.
    pub allowed_root: Option<AskRoot>,
    /// When asks expire, in microseconds of the loop's clock, each with its id.
    pub expiries: Vec<(u64, String)>,
    /// Streamed pieces whose text may end in the beginning of a secret.
    pub held: Vec<(EngineEvent, Option<EngineCursor>)>,
    /// The engine's cursor of the last event that was recorded.
    pub cursor: Option<EngineCursor>,
    /// `(seq, engine cursor)` of each event that is not committed yet, oldest first. As many as those events.
    pub unwritten_cursors: VecDeque<(u64, EngineCursor)>,
    /// When a full batch is written.
    pub writing: Writing,
    /// How the stream of a session that the engine holds stands.
    pub link: LinkState,
    /// Whether what the engine said last has come.
    pub last_words: LastWords,
    /// The loss that `bb/connection` told last, until its stream is through with what was missed.
    pub told_loss: Option<Resume>,
    /// What its engine was told last of what changes while a turn runs.
    pub told_context: Option<Box<ToldContext>>,
    /// How long its stream is wanted.
    pub use_of_stream: UseOfStream,
}

/// Rows of a session that wait for the journal, to be written with the next batch of its events.
#[derive(Default)]
pub(super) struct PendingRows {
    /// Of its permission requests.
    pub ledger: Vec<LedgerRow>,
    /// Answers to prompts, each with the prompt's id.
    pub prompts: Vec<(String, Vec<u8>)>,
    /// Steps of its turn.
    pub steps: Vec<StepChange>,
    /// Tabs that changed; they are written with the record.
    pub tabs: Vec<TabRow>,
    /// Whether the record changed since it was written.
    pub record_changed: bool,
}

impl PendingRows {
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        !self.record_changed && !self.calls_for_a_batch() && self.steps.is_empty()
    }

    /// Whether any of it is written at once, with or without events. A step waits for them, and the record for those that are
    /// under way.
    pub(super) fn calls_for_a_batch(&self) -> bool {
        !self.ledger.is_empty() || !self.prompts.is_empty() || !self.tabs.is_empty()
    }
}

/// The last time that the view was written to the journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// `seq` of its last event.
    pub seq: u64,
    /// Bytes of the events since then.
    pub since: usize,
    /// Bytes that it wrote. A long answer that streams is in each checkpoint as a whole; written every few events it would cost
    /// the square of its length.
    pub bytes: usize,
}

/// State of one `$/progress`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    /// Our token.
    pub token: String,
    /// Whether the editor made it and `begin` was sent.
    pub begun: bool,
    /// What `begin` will say.
    pub message: String,
}

/// When a full batch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// As soon as it is full.
    AtOnce,
    /// An event is being taken in: with all that it leads to, since a kill must not part them.
    Together,
}

/// How long the stream of a session is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseOfStream {
    /// As long as anybody may use the session.
    Open,
    /// Its tab was closed: until nothing runs in it.
    UntilTurnEnds,
}

/// Whether what an engine said last has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastWords {
    /// It has, as far as it is known.
    Heard,
    /// It is missing, and no event of a turn came behind it yet: the end of the turn may be in there.
    Missing,
}

/// How the stream of a session stands at an engine that holds sessions.
///
/// ```text
///   Detached ── somebody wants it ──▶ Opening ── first news ──▶ Broken ◀──▶ Up
///      ▲                                  │                        │         │
///      └─ too many are open ──────────────┴──── nothing more comes ┴─────────┴──▶ Over
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkState {
    /// Nobody asked for it in this process.
    Detached,
    /// It is being opened; nothing is known yet.
    Opening,
    /// It stood, and is being opened again; why it broke.
    Broken(Option<String>),
    /// It stands; what the last resume brought.
    Up(ResumedLink),
    /// Nothing more comes; the record says why.
    Over,
}
