//! The side of a link that faces the loop: reports out, orders in.
//!
//! Owns the state that was told last, and the promise that the first news of an attach does not let wait. Never knows the
//! engine.

use std::future::Future;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::app::ports::{EVENTS_A_REPORT, EngineCursor, EngineReport, LinkNews, ResumedLink, StreamReport};
use crate::domain::event::EngineEvent;

/// Nobody hears reports any more: the loop is gone.
#[derive(Debug)]
pub(super) struct Closed;

/// What a running link is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportOrder {
    /// Say again how it stands.
    Restate,
    /// Do not wait for the next try.
    Nudge,
    /// A turn begins.
    TurnBegan,
}

/// Said when nothing else can be said yet.
pub(super) const SLOW: &str = "The engine has not answered for this session yet; it is still being tried.";

pub(super) struct ReportSender {
    session_id: String,
    reports: mpsc::Sender<EngineReport>,
    orders: mpsc::Receiver<ReportOrder>,
    /// What was told last of how the stream stands; `None` while nothing was.
    told: Option<LinkNews>,
    /// Events that go with the next report.
    gathered: Vec<(EngineEvent, Option<EngineCursor>)>,
    /// Until when something has to be told.
    first_news: Option<Instant>,
    nudged: bool,
    turn_began: bool,
}

impl ReportSender {
    pub(super) fn new(
        session_id: String,
        reports: mpsc::Sender<EngineReport>,
        orders: mpsc::Receiver<ReportOrder>,
        first_news: Instant,
    ) -> Self {
        let first_news = Some(first_news);
        Self {
            session_id,
            reports,
            orders,
            told: None,
            gathered: Vec::new(),
            first_news,
            nudged: false,
            turn_began: false,
        }
    }

    /// Takes an event that goes to the loop together with those around it: the loop is woken once for many. Whoever calls this
    /// calls `pass_on` before it waits for anything else, and as soon as it `is_full`.
    pub(super) fn said(&mut self, event: EngineEvent, cursor: Option<EngineCursor>) {
        self.gathered.push((event, cursor));
    }

    /// Whether `said` gathered as many as one report may hold.
    pub(super) fn is_full(&self) -> bool {
        self.gathered.len() >= EVENTS_A_REPORT
    }

    /// Passes on what `said` gathered. Waits while the loop has no room, and so the socket does.
    pub(super) async fn pass_on(&mut self) -> Result<(), Closed> {
        let session_id = self.session_id.clone();
        let report = match self.gathered.len() {
            0 => return Ok(()),
            1 => self.gathered.pop().map(|(event, cursor)| EngineReport::Said { session_id, event, cursor }),
            _ => {
                let room = Vec::with_capacity(if self.is_full() { EVENTS_A_REPORT } else { 0 });
                Some(EngineReport::SaidMany {
                    session_id,
                    events: std::mem::replace(&mut self.gathered, room),
                })
            }
        };
        match report {
            Some(report) => self.reports.send(report).await.map_err(|_| Closed),
            None => Ok(()),
        }
    }

    /// Tells how the stream stands.
    pub(super) async fn news(&mut self, news: LinkNews) -> Result<(), Closed> {
        match &news {
            LinkNews::Connecting { .. } => self.told = Some(news.clone()),
            // Whoever asks again has missed nothing since.
            LinkNews::Resumed(_) => self.told = Some(LinkNews::Resumed(ResumedLink::Complete)),
            LinkNews::Ended { .. } | LinkNews::Gone { .. } => {}
            // They do not say how the stream stands, which is what somebody waits for.
            LinkNews::Gap { .. }
            | LinkNews::Waiting(_)
            | LinkNews::NoTurnRuns
            | LinkNews::TurnLost { .. } => {
                return self.link(news).await;
            }
        }
        self.first_news = None;
        self.link(news).await
    }

    async fn link(&mut self, news: LinkNews) -> Result<(), Closed> {
        self.report(EngineReport::Stream(StreamReport::Link { session_id: self.session_id.clone(), news }))
            .await
    }

    /// Tells the last news of this link; whoever asked again meanwhile hears it once more.
    pub(super) async fn end(&mut self, news: LinkNews) -> Result<(), Closed> {
        self.orders.close();
        self.news(news.clone()).await?;
        while let Ok(order) = self.orders.try_recv() {
            if order == ReportOrder::Restate {
                self.news(news.clone()).await?;
            }
        }
        Ok(())
    }

    /// Waits for `work`, and meanwhile follows orders and keeps the promise of a first news.
    pub(super) async fn attend<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Closed> {
        tokio::pin!(work);
        loop {
            let promise = due(self.first_news);
            tokio::select! {
                done = &mut work => return Ok(done),
                Some(order) = self.orders.recv() => self.follow(order).await?,
                () = promise => self.promised().await?,
            }
        }
    }

    /// Waits until `until`, or until told not to.
    pub(super) async fn pause(&mut self, until: Instant) -> Result<(), Closed> {
        self.nudged = false;
        while !self.nudged && Instant::now() < until {
            let promise = due(self.first_news);
            tokio::select! {
                () = sleep_until(until) => {}
                Some(order) = self.orders.recv() => self.follow(order).await?,
                () = promise => self.promised().await?,
            }
        }
        Ok(())
    }

    /// Keeps the promise of a first news when there is none.
    async fn promised(&mut self) -> Result<(), Closed> {
        self.news(LinkNews::Connecting { retry: 0, error: Some(SLOW.to_owned()) }).await
    }

    /// Whether a turn was announced since this was last asked.
    pub(super) fn take_turn_began(&mut self) -> bool {
        std::mem::take(&mut self.turn_began)
    }

    async fn follow(&mut self, order: ReportOrder) -> Result<(), Closed> {
        match order {
            // Without anything told yet, the first news is on its way.
            ReportOrder::Restate => {
                if let Some(news) = self.told.clone() {
                    self.news(news).await?;
                }
            }
            ReportOrder::Nudge => self.nudged = true,
            ReportOrder::TurnBegan => {
                self.nudged = true;
                self.turn_began = true;
            }
        }
        Ok(())
    }

    async fn report(&mut self, report: EngineReport) -> Result<(), Closed> {
        // What was said before this news stands before it.
        self.pass_on().await?;
        self.reports.send(report).await.map_err(|_| Closed)
    }
}

async fn due(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
