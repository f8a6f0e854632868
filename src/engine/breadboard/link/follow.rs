//! The reading of one connection: from its first byte to whatever ends it.
//!
//! Owns the half-read event, the moment at which the backlog has come, and the watch over silence. Never opens a
//! connection: it says how this one ended, and `task` goes on from there.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::desk::Closed;
use super::pace::Pace;
use super::source::{Chunks, Source};
use super::task::{Link, Opened};
use crate::app::ports::EngineCursor;
use crate::domain::delivery::continuity::{HISTORY_TRIES, HOLE_TRIES};
use crate::domain::delivery::{Resumption, Step};
use crate::domain::event::EngineEvent;
use crate::domain::wire::breadboard::decode;
use crate::domain::wire::sse::{SseDecoder, SseItem};

/// Most bytes of one event. The engine's largest are below 100 KB and an artifact comes as a file, so this is a wall
/// against a runaway; what is larger is told as a gap of its number.
pub(in crate::engine::breadboard) const LARGEST_EVENT: usize = 32 << 20;

/// The largest number of an event that is taken for one: the journal's integers have a sign, and a place that it cannot
/// take would hold up everything behind it, of every session.
const LARGEST_NUMBER: u64 = i64::MAX as u64;

const EVICTED: &str = "the engine keeps only the last 1000 events of a session";
pub(super) const LEFT_OUT: &str = "the engine's stream left them out each time it was asked for them";
const NO_HISTORY: &str = "the engine no longer knows our place and has no history to compare it with";
const COUNTS_ANEW: &str =
    "the engine counts the events of this session anew, so that what it said in between cannot be known";
const TOO_LARGE: &str = "the event is larger than the 32 MiB that are taken of one";

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// It broke, or the engine closed it: one sentence.
    Broken(String),
    /// Something is missing that the engine may still have: ask again from our place.
    Again,
    /// It may be dead, or the session over: look.
    Renew,
    /// The session has ended and everything has come.
    Drained,
}

/// One item of a chunk.
#[allow(clippy::large_enum_variant, reason = "nearly every item is an event")]
enum Item {
    Event { event: EngineEvent, seq: Option<u64> },
    TooLarge { id: Option<String> },
}

/// An event that does not simply follow on the last one.
struct Unusual {
    event: EngineEvent,
    step: Step,
    patience: u32,
}

/// Items whose room is kept for the next chunk: those of a large chunk of small events.
const MOST_ITEMS: usize = 1_024;

/// One connection.
pub(super) struct Connection {
    decoder: SseDecoder,
    /// Room for what a chunk completes.
    items: Vec<Item>,
    /// The session has ended: the stream hangs open once everything has come.
    over: bool,
    /// The next number is the first of the engine's history.
    history: bool,
    place_unknown: bool,
    declared: bool,
    live: bool,
    /// The verdict was given.
    settled: bool,
    /// The session was asked for in this silence.
    probed: bool,
    /// It was asked for, or said something new, since this connection was opened.
    lives: bool,
    /// After a loss behind the verdict: what still stands was asked for, once a connection.
    asked_facts: bool,
    /// The highest number that came.
    highest: u64,
    opened: Instant,
    /// When the last chunk had been passed on.
    last: Option<Instant>,
    /// Both clocks at one moment; the wall's in milliseconds.
    mark: (Instant, i64),
}

impl Connection {
    pub fn new<T>(opened: &Opened<T>, over: bool, wall: i64) -> Self {
        let now = Instant::now();
        Self {
            decoder: SseDecoder::new(LARGEST_EVENT),
            items: Vec::new(),
            over,
            history: opened.history,
            place_unknown: opened.place_unknown,
            declared: opened.declared,
            live: opened.live,
            settled: false,
            probed: false,
            lives: false,
            asked_facts: false,
            highest: 0,
            opened: now,
            last: None,
            mark: (now, wall),
        }
    }

    /// Reads until the connection ends.
    pub async fn follow<S: Source>(
        mut self,
        link: &mut Link<S>,
        mut stream: S::Stream,
    ) -> Result<Cut, Closed> {
        loop {
            if self.has_come(link) {
                link.settle().await?;
                self.settled = true;
            }
            if self.settled && self.over {
                return Ok(Cut::Drained);
            }
            let until = self.next_look(link);
            let cut = match link.desk.attend(timeout_at(until, stream.next())).await? {
                Ok(Some(Ok(bytes))) => self.take(link, &bytes).await?,
                Ok(Some(Err(trouble))) => Some(Cut::Broken(link.source.say(&trouble))),
                Ok(None) => return self.at_end(link).await,
                Err(_) => self.look(link).await?,
            };
            if link.desk.take_turn_began() {
                link.heard.busy = true;
            }
            if let Some(cut) = cut {
                self.judge(link);
                return Ok(cut);
            }
        }
    }

    /// The body ended.
    async fn at_end<S: Source>(&mut self, link: &mut Link<S>) -> Result<Cut, Closed> {
        self.judge(link);
        if self.decoder.is_within_event() {
            let why = "The stream of this session ended in the middle of an event; it is opened again.";
            return Ok(Cut::Broken(why.to_owned()));
        }
        if !self.over {
            let why = "The engine ended the stream of this session; it is opened again.";
            return Ok(Cut::Broken(why.to_owned()));
        }
        if !self.settled {
            link.settle().await?;
        }
        Ok(Cut::Drained)
    }

    async fn take<S: Source>(&mut self, link: &mut Link<S>, bytes: &[u8]) -> Result<Option<Cut>, Closed> {
        let cut = self.take_chunk(link, bytes).await?;
        link.desk.pass_on().await?;
        Ok(cut)
    }

    async fn take_chunk<S: Source>(
        &mut self,
        link: &mut Link<S>,
        bytes: &[u8],
    ) -> Result<Option<Cut>, Closed> {
        // As many as one chunk completes.
        let mut items = std::mem::take(&mut self.items);
        self.decoder.feed(bytes, &mut |item| items.push(read(item)));
        let cut = self.take_items(link, items.drain(..)).await?;
        if items.capacity() <= MOST_ITEMS {
            self.items = items;
        }
        if cut.is_some() {
            return Ok(cut);
        }
        if self.settled {
            self.lives = true;
            // Told as it came: no verdict of a resume.
            link.books = Resumption::default();
            if link.owes_facts && !std::mem::replace(&mut self.asked_facts, true) {
                link.tell_facts().await?;
            }
        }
        self.last = Some(Instant::now());
        self.probed = false;
        Ok(None)
    }

    async fn take_items<S: Source>(
        &mut self,
        link: &mut Link<S>,
        items: impl Iterator<Item = Item>,
    ) -> Result<Option<Cut>, Closed> {
        for item in items {
            let cut = match item {
                Item::Event { event, seq } => match self.take_event(link, event, seq) {
                    None => None,
                    // In a box: what happens once an hour would make what happens a million times carry its room along.
                    Some(unusual) => Box::pin(self.take_unusual(link, unusual)).await?,
                },
                Item::TooLarge { id } => Box::pin(self.take_too_large(link, id)).await?,
            };
            if link.desk.is_full() {
                link.desk.pass_on().await?;
            }
            if cut.is_some() {
                return Ok(cut);
            }
        }
        Ok(None)
    }

    /// Takes an event that follows on the last one, as nearly all do; gives back any other.
    fn take_event<S: Source>(
        &mut self,
        link: &mut Link<S>,
        event: EngineEvent,
        seq: Option<u64>,
    ) -> Option<Unusual> {
        let patience = self.patience(seq);
        match link.continuity.take(seq, patience) {
            Step::Duplicate => {}
            Step::Next => self.pass_next(link, event),
            step @ (Step::Hole { .. } | Step::Unnumbered | Step::Lost { .. }) => {
                return Some(Unusual { event, step, patience });
            }
        }
        None
    }

    async fn take_unusual<S: Source>(
        &mut self,
        link: &mut Link<S>,
        unusual: Unusual,
    ) -> Result<Option<Cut>, Closed> {
        let Unusual { event, step, patience } = unusual;
        match step {
            Step::Hole { .. } => return Ok(Some(Cut::Again)),
            Step::Unnumbered => return self.take_unnumbered(link, event).await,
            Step::Lost { from, to } => {
                link.gap(from, Some(to), self.reason(patience)).await?;
                self.pass_next(link, event);
            }
            Step::Duplicate | Step::Next => {}
        }
        Ok(None)
    }

    /// Passes on the event that `continuity` took last.
    fn pass_next<S: Source>(&mut self, link: &mut Link<S>, event: EngineEvent) {
        let seq = link.continuity.last();
        let id = if event.id.is_empty() { seq.to_string() } else { event.id.clone() };
        self.pass(link, event, Some(EngineCursor { seq, id }));
    }

    /// Words of the connection itself, and whatever else is in no log.
    async fn take_unnumbered<S: Source>(
        &mut self,
        link: &mut Link<S>,
        event: EngineEvent,
    ) -> Result<Option<Cut>, Closed> {
        match event.kind.as_str() {
            "stream.open" => {
                let head = event.payload.get("headSequence").and_then(serde_json::Value::as_u64);
                link.head = head.or(link.head);
                let last = link.continuity.last();
                if let Some(head) = head.filter(|head| self.live && *head > last) {
                    link.gap(last.saturating_add(1), Some(head), EVICTED).await?;
                    link.continuity.give_up(head);
                }
                // A stream that is opened again unnoticed does not say so each time.
                if link.owed {
                    self.pass(link, event, None);
                }
                Ok(None)
            }
            "stream.gap" => {
                let safe = event.payload.get("last_safely_delivered_cursor").and_then(as_number);
                // Ours is as safe as theirs: what came was passed on. An earlier one only brings doubles.
                let ours = link.continuity.last();
                link.hint = safe.filter(|safe| *safe > 0 && *safe < ours).map(|safe| safe.to_string());
                self.pass(link, event, None);
                Ok(Some(Cut::Again))
            }
            _ => {
                self.pass(link, event, None);
                Ok(None)
            }
        }
    }

    async fn take_too_large<S: Source>(
        &mut self,
        link: &mut Link<S>,
        id: Option<String>,
    ) -> Result<Option<Cut>, Closed> {
        // Without a number it shows as the hole before the next one.
        let seq = id.as_deref().and_then(|id| id.parse::<u64>().ok());
        let Some(seq) = seq.filter(|seq| *seq <= LARGEST_NUMBER) else { return Ok(None) };
        let patience = self.patience(Some(seq));
        match link.continuity.take(Some(seq), patience) {
            Step::Duplicate | Step::Unnumbered => return Ok(None),
            Step::Hole { .. } => return Ok(Some(Cut::Again)),
            Step::Next => {}
            Step::Lost { from, to } => link.gap(from, Some(to), self.reason(patience)).await?,
        }
        link.gap(seq, Some(seq), TOO_LARGE).await?;
        link.cursor = id.map(|id| EngineCursor { seq, id });
        self.progress(link);
        Ok(None)
    }

    fn pass<S: Source>(&mut self, link: &mut Link<S>, event: EngineEvent, cursor: Option<EngineCursor>) {
        link.heard.hear(&event);
        if let Some(cursor) = &cursor {
            if !self.settled {
                link.books.took(cursor.seq);
            }
            match &mut link.cursor {
                // Into the text that is there.
                Some(place) => {
                    place.seq = cursor.seq;
                    place.id.clone_from(&cursor.id);
                }
                none => *none = Some(cursor.clone()),
            }
            self.progress(link);
        }
        link.desk.said(event, cursor);
    }

    fn progress<S>(&mut self, link: &mut Link<S>) {
        link.fruitless = 0;
        link.idle_times = 0;
    }

    /// A connection that stood for a while was a good one, unless it should have ended.
    fn judge<S>(&self, link: &mut Link<S>) {
        if !self.over && self.opened.elapsed() >= link.pace.steady {
            link.fruitless = 0;
        }
    }

    /// How often to ask again for what is missing before this number.
    fn patience(&mut self, seq: Option<u64>) -> u32 {
        let Some(seq) = seq else { return HOLE_TRIES };
        self.highest = self.highest.max(seq);
        match (self.declared, std::mem::replace(&mut self.history, false)) {
            (true, _) => 0,
            (false, true) => HISTORY_TRIES,
            (false, false) => HOLE_TRIES,
        }
    }

    fn reason(&self, patience: u32) -> &'static str {
        if patience == HOLE_TRIES { LEFT_OUT } else { EVICTED }
    }

    /// Whether the engine's history may be another one than ours: it did not know our place, and ends before it.
    fn is_doubtful<S>(&self, link: &Link<S>) -> bool {
        self.place_unknown && self.highest < link.continuity.last()
    }

    /// Whether that has to be decided. Without any history it is decided once.
    fn waits_in_doubt<S>(&self, link: &Link<S>) -> bool {
        self.is_doubtful(link) && !(self.settled && self.highest == 0)
    }

    /// Since when nothing came.
    fn silent_since(&self) -> Instant {
        self.last.unwrap_or(self.opened)
    }

    fn quiet(&self, pace: &Pace) -> Duration {
        match (self.over, self.last) {
            (true, _) => pace.drained,
            (false, Some(_)) => pace.quiet,
            (false, None) => pace.first_quiet,
        }
    }

    /// Whether the backlog has come and the verdict is due.
    fn has_come<S>(&self, link: &Link<S>) -> bool {
        if self.settled || self.is_doubtful(link) {
            return false;
        }
        if link.head.is_some_and(|head| link.continuity.last() >= head) {
            return true;
        }
        let now = Instant::now();
        let quiet = now >= self.silent_since() + self.quiet(&link.pace) && !self.decoder.is_within_event();
        if self.over {
            return quiet;
        }
        // An engine that says where its head is has not said everything before it is there.
        (quiet && link.head.is_none()) || now >= self.opened + link.pace.verdict
    }

    /// When to look up from the stream.
    fn next_look<S>(&self, link: &Link<S>) -> Instant {
        let pace = &link.pace;
        let since = self.silent_since();
        let next = if self.waits_in_doubt(link) {
            since + pace.doubt
        } else if self.settled {
            let renew = since + self.renew_after(link);
            if self.probed { renew } else { renew.min(since + self.probe_after(link)) }
        } else if self.decoder.is_within_event() {
            if self.over { since + pace.drain_stall } else { self.opened + pace.verdict }
        } else if self.over {
            since + pace.drained
        } else if link.head.is_some() {
            self.opened + pace.verdict
        } else {
            (since + self.quiet(pace)).min(self.opened + pace.verdict)
        };
        next.min(self.mark.0 + pace.tick)
    }

    fn renew_after<S>(&self, link: &Link<S>) -> Duration {
        if link.heard.busy { link.pace.renew_busy } else { link.pace.idle(link.idle_times) }
    }

    fn probe_after<S>(&self, link: &Link<S>) -> Duration {
        if link.heard.busy && !self.lives { link.pace.first_probe } else { link.pace.probe_silence }
    }

    /// Nothing came for a while.
    async fn look<S: Source>(&mut self, link: &mut Link<S>) -> Result<Option<Cut>, Closed> {
        let now = Instant::now();
        if self.slept(link, now) {
            return Ok(Some(Cut::Renew));
        }
        let silence = now.saturating_duration_since(self.silent_since());
        if self.waits_in_doubt(link) && silence >= link.pace.doubt {
            return self.end_doubt(link).await;
        }
        if !self.settled {
            if self.over && self.decoder.is_within_event() && silence >= link.pace.drain_stall {
                let why = "The stream of this session stopped in the middle of an event; it is opened again.";
                return Ok(Some(Cut::Broken(why.to_owned())));
            }
            return Ok(None);
        }
        if silence >= self.renew_after(link) {
            if !link.heard.busy {
                link.idle_times = link.idle_times.saturating_add(1);
            }
            return Ok(Some(Cut::Renew));
        }
        if silence >= self.probe_after(link) && !self.probed {
            self.probed = true;
            self.lives = true;
            return Ok(match link.probe().await? {
                Ok(summary) if !summary.is_over() => {
                    link.heard.busy = summary.busy.unwrap_or(link.heard.busy);
                    None
                }
                // The next round says what that means.
                Ok(_) => Some(Cut::Renew),
                Err(trouble) => Some(Cut::Broken(link.source.say(&trouble))),
            });
        }
        Ok(None)
    }

    /// The history ended below our place, or there is none.
    async fn end_doubt<S: Source>(&mut self, link: &mut Link<S>) -> Result<Option<Cut>, Closed> {
        let from = link.continuity.last().saturating_add(1);
        if self.highest > 0 {
            link.gap(from, None, COUNTS_ANEW).await?;
            link.continuity.begin_again();
            link.cursor = None;
            return Ok(Some(Cut::Again));
        }
        if !self.settled {
            if link.open_gap.replace(from) != Some(from) {
                link.gap(from, None, NO_HISTORY).await?;
            } else if link.owed {
                link.books.lost(from, None, NO_HISTORY);
            }
            // Whatever comes now comes behind that gap.
            self.declared = true;
            link.settle().await?;
            self.settled = true;
        }
        Ok(None)
    }

    /// Whether the wall clock ran away from ours: the machine slept, and few connections survive that.
    fn slept<S>(&mut self, link: &Link<S>, now: Instant) -> bool {
        let (then, wall_then) = self.mark;
        let elapsed = now.saturating_duration_since(then);
        if elapsed < link.pace.tick {
            return false;
        }
        let wall = (link.now_ms)();
        self.mark = (now, wall);
        let ours = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        let apart = wall.saturating_sub(wall_then).saturating_sub(ours).unsigned_abs();
        u128::from(apart) > link.pace.jump.as_millis()
    }
}

fn read(item: SseItem<'_>) -> Item {
    match item {
        SseItem::TooLarge(event) => Item::TooLarge { id: event.own_id.map(str::to_owned) },
        SseItem::Frame(frame) => {
            let decoded = decode(&frame);
            // What cannot be read has no number of its own; the frame's id line says it, and so it leaves no hole.
            let line = || frame.own_id.and_then(|id| id.parse().ok());
            let unreadable = decoded.session_id.is_none() && decoded.event.kind == "unknown";
            let seq = decoded.seq.or_else(|| if unreadable { line() } else { None });
            Item::Event { event: decoded.event, seq: seq.filter(|seq| *seq <= LARGEST_NUMBER) }
        }
    }
}

/// A number, or a text that is one.
fn as_number(value: &serde_json::Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
