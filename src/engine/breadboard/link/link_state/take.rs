//! What a connection brings: each event taken, told, or the reason to ask again.
//!
//! Owns the words of the connection itself, and the books of what is missing. Never reads bytes: `connection` does.

use tokio::task::yield_now;

use super::{EVICTED, LEFT_OUT, Standing, StreamLink};
use crate::app::ports::EngineCursor;
use crate::domain::delivery::continuity::HOLE_TRIES;
use crate::domain::delivery::{Resumption, Step};
use crate::domain::dialect::breadboard::words::{STREAM_GAP, STREAM_OPEN};
use crate::domain::event::EngineEvent;
use crate::engine::breadboard::link::connection::{Connection, Cut};
use crate::engine::breadboard::link::item::Item;
use crate::engine::breadboard::link::report_sender::Closed;
use crate::engine::breadboard::link::source::Source;

const TOO_LARGE: &str = "the event is larger than the 32 MiB that are taken of one";

/// An event that does not simply follow on the last one.
struct Unusual {
    event: EngineEvent,
    step: Step,
    tries: u32,
}

impl<S: Source> StreamLink<S> {
    pub(super) async fn take(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
    ) -> Result<Option<Cut>, Closed> {
        let cut = self.take_chunk(connection, bytes).await?;
        self.desk.pass_on().await?;
        Ok(cut)
    }

    async fn take_chunk(&mut self, connection: &mut Connection, bytes: &[u8]) -> Result<Option<Cut>, Closed> {
        let mut items = connection.read(bytes);
        let cut = self.take_items(connection, items.drain(..)).await?;
        connection.keep_room(items);
        if cut.is_some() {
            return Ok(cut);
        }
        if connection.is_settled() {
            // Told as it came: no verdict of a resume.
            self.books = Resumption::default();
            if self.owes_facts && connection.asks_for_facts() {
                self.tell_facts().await?;
            }
        }
        connection.came();
        Ok(None)
    }

    async fn take_items(
        &mut self,
        connection: &mut Connection,
        items: impl Iterator<Item = Item>,
    ) -> Result<Option<Cut>, Closed> {
        for item in items {
            let cut = match item {
                Item::Event { event, seq } => match self.take_event(connection, event, seq) {
                    None => None,
                    // In a box: what happens once an hour would make what happens a million times carry its room along.
                    Some(unusual) => Box::pin(self.take_unusual(connection, unusual)).await?,
                },
                Item::TooLarge(None) => None,
                Item::TooLarge(Some(place)) => Box::pin(self.take_too_large(connection, place)).await?,
            };
            if self.desk.is_full() {
                self.desk.pass_on().await?;
                // The loop may share this thread, and an editor's request should wait for these and not for a whole chunk.
                yield_now().await;
            }
            if cut.is_some() {
                return Ok(cut);
            }
        }
        Ok(None)
    }

    /// Takes an event that follows on the last one, as nearly all do; gives back any other.
    fn take_event(
        &mut self,
        connection: &mut Connection,
        event: EngineEvent,
        seq: Option<u64>,
    ) -> Option<Unusual> {
        let tries = connection.tries_before(seq);
        match self.continuity.take(seq, tries) {
            Step::Duplicate => {}
            Step::Next => self.pass_next(connection, event),
            step @ (Step::Hole { .. } | Step::Unnumbered | Step::Lost { .. }) => {
                return Some(Unusual { event, step, tries });
            }
        }
        None
    }

    async fn take_unusual(
        &mut self,
        connection: &mut Connection,
        unusual: Unusual,
    ) -> Result<Option<Cut>, Closed> {
        let Unusual { event, step, tries } = unusual;
        match step {
            Step::Hole { .. } => return Ok(Some(Cut::Again)),
            Step::Unnumbered => return self.take_unnumbered(connection, event).await,
            Step::Lost { from, to } => {
                self.gap(from, Some(to), why_lost(tries)).await?;
                self.pass_next(connection, event);
            }
            Step::Duplicate | Step::Next => {}
        }
        Ok(None)
    }

    /// Passes on the event that `continuity` took last.
    fn pass_next(&mut self, connection: &Connection, event: EngineEvent) {
        let seq = self.continuity.last();
        let id = if event.id.is_empty() { seq.to_string() } else { event.id.clone() };
        self.pass(connection, event, Some(EngineCursor { seq, id }));
    }

    /// Words of the connection itself, and whatever else is in no log.
    async fn take_unnumbered(
        &mut self,
        connection: &mut Connection,
        event: EngineEvent,
    ) -> Result<Option<Cut>, Closed> {
        match event.kind.as_str() {
            STREAM_OPEN => {
                let head = event.payload.get("headSequence").and_then(serde_json::Value::as_u64);
                self.head = head.or(self.head);
                let last = self.continuity.last();
                if let Some(head) = head.filter(|head| connection.is_live() && *head > last) {
                    self.gap(last.saturating_add(1), Some(head), EVICTED).await?;
                    self.continuity.give_up(head);
                }
                // A stream that is opened again unnoticed does not say so each time.
                if self.standing != Standing::Up {
                    self.pass(connection, event, None);
                }
                Ok(None)
            }
            STREAM_GAP => {
                let safe = event.payload.get("last_safely_delivered_cursor").and_then(as_number);
                // Ours is as safe as theirs: what came was passed on. An earlier one only brings doubles.
                let ours = self.continuity.last();
                self.hint = safe.filter(|safe| *safe > 0 && *safe < ours).map(|safe| safe.to_string());
                self.pass(connection, event, None);
                Ok(Some(Cut::Again))
            }
            _ => {
                self.pass(connection, event, None);
                Ok(None)
            }
        }
    }

    async fn take_too_large(
        &mut self,
        connection: &mut Connection,
        place: EngineCursor,
    ) -> Result<Option<Cut>, Closed> {
        let seq = place.seq;
        let tries = connection.tries_before(Some(seq));
        match self.continuity.take(Some(seq), tries) {
            Step::Duplicate | Step::Unnumbered => return Ok(None),
            Step::Hole { .. } => return Ok(Some(Cut::Again)),
            Step::Next => {}
            Step::Lost { from, to } => self.gap(from, Some(to), why_lost(tries)).await?,
        }
        self.gap(seq, Some(seq), TOO_LARGE).await?;
        self.cursor = Some(place);
        self.went_on();
        Ok(None)
    }

    fn pass(&mut self, connection: &Connection, event: EngineEvent, cursor: Option<EngineCursor>) {
        self.heard.hear(&event);
        if let Some(cursor) = &cursor {
            if !connection.is_settled() {
                self.books.took(cursor.seq);
            }
            match &mut self.cursor {
                // Into the text that is there.
                Some(place) => {
                    place.seq = cursor.seq;
                    place.id.clone_from(&cursor.id);
                }
                none => *none = Some(cursor.clone()),
            }
            self.went_on();
        }
        self.desk.said(event, cursor);
    }

    fn went_on(&mut self) {
        self.fruitless = 0;
        self.idle_times = 0;
    }
}

/// Why numbers do not come any more, by how often they were to be asked for.
fn why_lost(tries: u32) -> &'static str {
    if tries == HOLE_TRIES { LEFT_OUT } else { EVICTED }
}

/// A number, or a text that is one.
fn as_number(value: &serde_json::Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
