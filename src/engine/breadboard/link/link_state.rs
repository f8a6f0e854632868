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
use tokio::time::timeout;

use super::super::engine_error::EngineError;
use super::WallClock;
use super::echo::Echoes;
use super::facts::{HeardEvents, waiting};
use super::report_sender::{Closed, ReportSender};
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
    /// Whether a turn runs, as a newer engine said before this stream was opened.
    said_busy: Option<bool>,
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
            said_busy: None,
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

    /// How the session stands at the engine.
    async fn probe(&mut self) -> Result<Result<Summary, EngineError>, Closed> {
        let asked = timeout(self.pace.probe, self.source.session(&self.session_id));
        let answer = self.desk.attend(asked).await?.unwrap_or(Err(EngineError::TimedOut { sent: true }));
        Ok(answer.map(Summary::read))
    }

    /// Numbers are missing for good.
    async fn gap(&mut self, from: u64, to: Option<u64>, reason: &str) -> Result<(), Closed> {
        self.books.lost(from, to, reason);
        self.owes_facts = true;
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
        // A turn that began since the engine was asked, or of which the end has not come, is not in doubt.
        if self.standing != Standing::Up && self.said_busy == Some(false) && !self.heard.busy {
            self.desk.news(LinkNews::NoTurnRuns).await?;
        }
        self.books = Resumption::default();
        self.standing = Standing::Up;
        Ok(())
    }

    /// After a loss: what still stands at the engine, from the session itself. Owed further when it does not answer.
    async fn tell_facts(&mut self) -> Result<(), Closed> {
        let Ok(summary) = self.probe().await? else { return Ok(()) };
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
