//! What one link knows of its session: its place in the stream, how the stream stands, what was lost, what is owed.
//!
//! ```text
//!              backlog has come: verdict               a try failed, the stream broke
//!   Down ────────────────────────────────▶ Up ────────────────────────────────────────▶ Down
//!    └─ another try failed: Down, one more ┘
//! ```
//!
//! Owns what is told of it. Whoever changes it stands in this folder: `task` opens its connections, `follow` reads one, `take`
//! takes in what came. Never reads bytes.

mod follow;
mod take;
mod task;

use std::sync::Arc;

use fastrand::Rng;
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::engine_error::EngineError;
use super::WallClock;
use super::echo::Echoes;
use super::facts::{HeardEvents, waiting};
use super::report_sender::{Closed, ReportSender};
use super::sent_turn::{PromptProgress, SentTurn};
use super::source::{Source, Summary};
use super::timing::LinkTiming;
use crate::app::ports::{EngineCursor, LinkNews};
use crate::domain::delivery::{Continuity, Resumption};

const EVICTED: &str = "the engine keeps only the last 1000 events of a session";
const LEFT_OUT: &str = "the engine's stream left them out each time it was asked for them";

/// How the stream stands, as it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It does not: a verdict is due even when nothing comes.
    Down {
        /// Tries since it last stood, as last told.
        retry: u32,
    },
    /// Its verdict was given.
    Up,
}

impl Standing {
    /// A try failed.
    fn failed(self) -> Self {
        match self {
            Self::Up => Self::Down { retry: 0 },
            Self::Down { retry } => Self::Down { retry: retry.saturating_add(1) },
        }
    }
}

/// What the engine said of its session when it was asked last.
#[derive(Debug, Clone, Copy, Default)]
struct AskedSession {
    /// Whether a turn runs or waits to, where it says so.
    busy: Option<bool>,
    /// Its newest number, where it says so.
    head: Option<u64>,
    /// The turn whose prompt it had taken by then, as far as was known.
    taken: Option<u64>,
}

/// One link.
pub(super) struct StreamLink<S> {
    source: Arc<S>,
    desk: ReportSender,
    session_id: String,
    pace: LinkTiming,
    now_ms: WallClock,
    chance: Rng,
    /// The last event with a number that was passed on, or could not be.
    cursor: Option<EngineCursor>,
    continuity: Continuity,
    heard: HeardEvents,
    books: Resumption,
    /// How the stream stands, as it was told.
    standing: Standing,
    /// What waits at the engine has to be told, since events are missing.
    owes_facts: bool,
    /// First number of a gap without an end that was told, so that it is told once.
    open_gap: Option<u64>,
    /// The engine's newest number, where it says so.
    head: Option<u64>,
    /// What the engine said when it was asked last.
    asked: AskedSession,
    /// How far the prompt is that was sent last.
    sent: watch::Receiver<PromptProgress>,
    /// The turn that was on its way, or had been taken, when events were found to be missing last.
    lacking: Option<u64>,
    /// How often in a row an idle stream was opened again without anything coming.
    idle_times: u32,
    /// Tries since the last event that was passed on.
    fruitless: u32,
    /// Where the engine wants to be asked, once.
    hint: Option<String>,
    /// Why the last connection broke, until that is told.
    broken: Option<String>,
}

impl<S: Source> StreamLink<S> {
    pub(super) fn new(
        source: Arc<S>,
        desk: ReportSender,
        session_id: String,
        cursor: Option<EngineCursor>,
        pace: LinkTiming,
        chance: Rng,
        now_ms: WallClock,
    ) -> Self {
        let continuity = Continuity::after(cursor.as_ref().map(|cursor| cursor.seq));
        Self {
            source,
            desk,
            session_id,
            pace,
            now_ms,
            chance,
            cursor,
            continuity,
            heard: HeardEvents::default(),
            books: Resumption::default(),
            standing: Standing::Down { retry: 0 },
            owes_facts: false,
            open_gap: None,
            head: None,
            asked: AskedSession::default(),
            sent: SentTurn::default().seen(),
            lacking: None,
            idle_times: 0,
            fruitless: 0,
            hint: None,
            broken: None,
        }
    }

    /// Who else hears the prompts that the engine tells of.
    pub(super) fn telling(mut self, echoes: Echoes) -> Self {
        self.heard.echoes = echoes;
        self
    }

    /// Where it is said how far the prompts of this session are.
    pub(super) fn seeing(mut self, sent: watch::Receiver<PromptProgress>) -> Self {
        self.sent = sent;
        self
    }

    /// How the session stands at the engine.
    async fn probe(&mut self) -> Result<Result<Summary, EngineError>, Closed> {
        // Taken before the engine is asked: its answer is about this prompt as well.
        let taken = self.sent.borrow().taken();
        let asked = timeout(self.pace.probe, self.source.session(&self.session_id));
        let answer = self.desk.attend(asked).await?.unwrap_or(Err(EngineError::TimedOut { sent: true }));
        let summary = answer.map(Summary::read);
        if let Ok(summary) = &summary {
            self.asked = AskedSession { busy: summary.busy, head: summary.head, taken };
            self.heard.busy = summary.busy.unwrap_or(self.heard.busy);
        }
        Ok(summary)
    }

    /// Numbers are missing for good.
    async fn gap(&mut self, from: u64, to: Option<u64>, reason: &str) -> Result<(), Closed> {
        self.books.lost(from, to, reason);
        self.owes_facts = true;
        self.lacking = self.sent.borrow().turn().or(self.lacking);
        self.desk.news(LinkNews::Gap { from, to, reason: reason.to_owned() }).await
    }

    /// The backlog has come: gives the verdict where one is due.
    async fn settle(&mut self) -> Result<(), Closed> {
        if self.owes_facts {
            self.tell_facts().await?;
        }
        if self.standing != Standing::Up || self.books.brought_something() {
            let resumed = self.books.verdict();
            self.desk.news(LinkNews::Resumed(resumed)).await?;
        }
        self.tell_of_rest().await?;
        self.books = Resumption::default();
        self.standing = Standing::Up;
        Ok(())
    }

    /// Tells that no turn runs where the engine said so, all that it kept has come, and somebody may think that one does. A turn
    /// that began since the engine was asked, or of which the end has yet to come, is not in doubt.
    async fn tell_of_rest(&mut self) -> Result<(), Closed> {
        let AskedSession { busy, head, taken } = self.asked;
        let behind = head.is_some_and(|head| head > self.continuity.last());
        if busy != Some(false) || self.heard.busy || behind {
            return Ok(());
        }
        if self.standing != Standing::Up || self.heard.open_run {
            self.heard.open_run = false;
            self.desk.news(LinkNews::NoTurnRuns).await?;
        }
        match taken {
            Some(turn) if self.lacking == Some(turn) => {
                self.lacking = None;
                self.desk.news(LinkNews::TurnLost { turn }).await
            }
            _ => Ok(()),
        }
    }

    /// After a loss: what still stands at the engine, from the session itself. Owed further when it does not answer.
    async fn tell_facts(&mut self) -> Result<(), Closed> {
        let Ok(summary) = self.probe().await? else { return Ok(()) };
        self.tell_facts_of(&summary).await
    }

    async fn tell_facts_of(&mut self, summary: &Summary) -> Result<(), Closed> {
        self.owes_facts = false;
        self.desk.news(LinkNews::Waiting(waiting(&summary.metadata))).await?;
        for event in self.heard.unheard(&summary.metadata) {
            self.heard.hear(&event);
            self.desk.said(event, None);
            if self.desk.is_full() {
                self.desk.pass_on().await?;
            }
        }
        self.desk.pass_on().await
    }
}
