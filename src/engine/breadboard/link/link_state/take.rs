//! What a connection brings, taken in: each item of a chunk in its order, to the report sender and into the link's place.
//!
//! Owns which item follows on, which is a double, and what a hole or a word of the connection itself leads to. Never waits
//! for bytes: `follow` does.

use tokio::time::Instant;

use super::connection::{Connection, Cut, Item};
use super::link_state::{EVICTED, LEFT_OUT, Link, Standing};
use super::report_sender::Closed;
use super::source::{Beginning, Source};
use crate::app::ports::EngineCursor;
use crate::domain::delivery::continuity::{HISTORY_TRIES, HOLE_TRIES};
use crate::domain::delivery::{Resumption, Step};
use crate::domain::dialect::breadboard::decode::decode;
use crate::domain::dialect::breadboard::words::{STREAM_GAP, STREAM_OPEN};
use crate::domain::event::EngineEvent;
use crate::domain::wire::sse::SseItem;

/// The largest number of an event that is taken for one: the journal's integers have a sign, and a place that it cannot
/// take would hold up everything behind it, of every session.
const LARGEST_NUMBER: u64 = i64::MAX as u64;

const TOO_LARGE: &str = "the event is larger than the 32 MiB that are taken of one";

/// An event that does not simply follow on the last one.
struct Unusual {
    event: EngineEvent,
    step: Step,
    timeouts: u32,
}

/// Items whose room is kept for the next chunk: those of a large chunk of small events.
const MOST_ITEMS: usize = 1_024;

impl Connection {
    pub(super) async fn take<S: Source>(
        &mut self,
        link: &mut Link<S>,
        bytes: &[u8],
    ) -> Result<Option<Cut>, Closed> {
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
                // The loop may share this thread, and an editor's request should wait for these and not for a whole chunk.
                tokio::task::yield_now().await;
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
        let timeouts = self.timeouts(seq);
        match link.continuity.take(seq, timeouts) {
            Step::Duplicate => {}
            Step::Next => self.pass_next(link, event),
            step @ (Step::Hole { .. } | Step::Unnumbered | Step::Lost { .. }) => {
                return Some(Unusual { event, step, timeouts });
            }
        }
        None
    }

    async fn take_unusual<S: Source>(
        &mut self,
        link: &mut Link<S>,
        unusual: Unusual,
    ) -> Result<Option<Cut>, Closed> {
        let Unusual { event, step, timeouts } = unusual;
        match step {
            Step::Hole { .. } => return Ok(Some(Cut::Again)),
            Step::Unnumbered => return self.take_unnumbered(link, event).await,
            Step::Lost { from, to } => {
                link.gap(from, Some(to), self.reason(timeouts)).await?;
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
            STREAM_OPEN => {
                let head = event.payload.get("headSequence").and_then(serde_json::Value::as_u64);
                link.head = head.or(link.head);
                let last = link.continuity.last();
                if let Some(head) = head.filter(|head| self.beginning.live && *head > last) {
                    link.gap(last.saturating_add(1), Some(head), EVICTED).await?;
                    link.continuity.give_up(head);
                }
                // A stream that is opened again unnoticed does not say so each time.
                if link.standing != Standing::Up {
                    self.pass(link, event, None);
                }
                Ok(None)
            }
            STREAM_GAP => {
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
        let timeouts = self.timeouts(Some(seq));
        match link.continuity.take(Some(seq), timeouts) {
            Step::Duplicate | Step::Unnumbered => return Ok(None),
            Step::Hole { .. } => return Ok(Some(Cut::Again)),
            Step::Next => {}
            Step::Lost { from, to } => link.gap(from, Some(to), self.reason(timeouts)).await?,
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

    /// How often to ask again for what is missing before this number.
    fn timeouts(&mut self, seq: Option<u64>) -> u32 {
        let Some(seq) = seq else { return HOLE_TRIES };
        self.highest = self.highest.max(seq);
        let is_first = !std::mem::replace(&mut self.counted, true);
        match self.beginning {
            Beginning { declared: true, .. } => 0,
            // Before the first number of the engine's history is what it dropped.
            Beginning { history: true, .. } if is_first => HISTORY_TRIES,
            Beginning { .. } => HOLE_TRIES,
        }
    }

    fn reason(&self, timeouts: u32) -> &'static str {
        if timeouts == HOLE_TRIES { LEFT_OUT } else { EVICTED }
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
