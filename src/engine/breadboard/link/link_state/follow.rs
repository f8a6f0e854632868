//! The reading of one connection: from its first byte to whatever ends it.
//!
//! Owns what a link does at the beginning, in a silence and at the end of a connection. Never opens one: it says how this one
//! ended, and `task` goes on from there. What came is taken in by `take`.

use tokio::time::timeout_at;

use super::{EVICTED, LEFT_OUT, Standing, StreamLink};
use crate::app::ports::EngineCursor;
use crate::domain::delivery::Resumption;
use crate::domain::delivery::continuity::HOLE_TRIES;
use crate::engine::breadboard::link::connection::{Connection, Cut, Silence, Standpoint};
use crate::engine::breadboard::link::report_sender::Closed;
use crate::engine::breadboard::link::source::{Chunks, Source, Summary};

const NO_HISTORY: &str = "the engine no longer knows our place and has no history to compare it with";
const COUNTS_ANEW: &str =
    "the engine counts the events of this session anew, so that what it said in between cannot be known";
const STALLED: &str = "The stream of this session stopped in the middle of an event; it is opened again.";

impl<S: Source> StreamLink<S> {
    /// Reads until the connection ends.
    pub(super) async fn follow(
        &mut self,
        mut connection: Connection,
        mut stream: S::Stream,
    ) -> Result<Cut, Closed> {
        self.give_up_what_is_gone(&mut connection).await?;
        loop {
            if connection.has_come(&self.standpoint()) {
                self.settle().await?;
                connection.settle();
            }
            if connection.is_drained() {
                return Ok(Cut::Drained);
            }
            let until = connection.next_look(&self.standpoint());
            let cut = match self.desk.attend(timeout_at(until, stream.next())).await? {
                Ok(Some(Ok(bytes))) => self.take(&mut connection, &bytes).await?,
                Ok(Some(Err(trouble))) => Some(Cut::Broken(self.source.say(&trouble))),
                Ok(None) => return self.at_end(&mut connection).await,
                Err(_) => self.look(&mut connection).await?,
            };
            if self.desk.take_turn_began() {
                self.heard.busy = true;
                // What is missing from now on may have the end of this turn in it, which was not said before.
                self.open_gap = None;
            }
            if let Some(cut) = cut {
                self.judge(&connection);
                return Ok(cut);
            }
        }
    }

    fn standpoint(&self) -> Standpoint<'_> {
        Standpoint {
            last: self.continuity.last(),
            head: self.head,
            busy: self.heard.busy,
            idle_times: self.idle_times,
            pace: &self.pace,
        }
    }

    /// The engine said that its log begins behind what has come so far. Said before anything else comes, since nothing may.
    async fn give_up_what_is_gone(&mut self, connection: &mut Connection) -> Result<(), Closed> {
        let last = self.continuity.last();
        let Some(place) = connection.begins_behind(last) else { return Ok(()) };
        self.gap(last.saturating_add(1), Some(place), EVICTED).await?;
        self.continuity.give_up(place);
        self.cursor = Some(EngineCursor { seq: place, id: place.to_string() });
        Ok(())
    }

    /// The body ended.
    async fn at_end(&mut self, connection: &mut Connection) -> Result<Cut, Closed> {
        self.judge(connection);
        if let Some(why) = connection.ends_early() {
            return Ok(Cut::Broken(why.to_owned()));
        }
        if !connection.is_settled() {
            self.settle().await?;
        }
        Ok(Cut::Drained)
    }

    /// After a connection that was a good one tries count anew.
    fn judge(&mut self, connection: &Connection) {
        if connection.was_good(&self.pace) {
            self.fruitless = 0;
        }
    }

    /// Nothing came for a while.
    async fn look(&mut self, connection: &mut Connection) -> Result<Option<Cut>, Closed> {
        match connection.look(&self.standpoint(), &self.now_ms) {
            Silence::Waits => Ok(None),
            Silence::Slept => Ok(Some(Cut::Renew)),
            Silence::Doubt => self.end_doubt(connection).await,
            Silence::Stalled => Ok(Some(Cut::Broken(STALLED.to_owned()))),
            Silence::Long => {
                if !self.heard.busy {
                    self.idle_times = self.idle_times.saturating_add(1);
                }
                Ok(Some(Cut::Renew))
            }
            Silence::Probe => Ok(match self.probe().await? {
                Ok(summary) if !summary.is_over() => self.learn(&summary).await?,
                // The next round says what that means.
                Ok(_) => Some(Cut::Renew),
                Err(trouble) => Some(Cut::Broken(self.source.say(&trouble))),
            }),
        }
    }

    /// The engine said in a silence how the session stands. What it said and did not send is asked for again, and lost where it
    /// does not come.
    async fn learn(&mut self, summary: &Summary) -> Result<Option<Cut>, Closed> {
        let last = self.continuity.last();
        if let Some(head) = summary.head.filter(|head| *head > last) {
            if self.continuity.wait_for(head, HOLE_TRIES) {
                return Ok(Some(Cut::Renew));
            }
            self.gap(last.saturating_add(1), Some(head), LEFT_OUT).await?;
            self.continuity.give_up(head);
            // Told as it was found: no verdict of a resume.
            self.books = Resumption::default();
        }
        if self.owes_facts {
            self.tell_facts_of(summary).await?;
        }
        // Without a number it is not known whether everything has come.
        if summary.head.is_some() {
            self.tell_of_rest().await?;
        }
        Ok(None)
    }

    /// The history ended below our place, or there is none.
    async fn end_doubt(&mut self, connection: &mut Connection) -> Result<Option<Cut>, Closed> {
        let from = self.continuity.last().saturating_add(1);
        if connection.has_numbers() {
            self.gap(from, None, COUNTS_ANEW).await?;
            self.continuity.begin_again();
            self.cursor = None;
            return Ok(Some(Cut::Again));
        }
        if !connection.is_settled() {
            if self.open_gap.replace(from) != Some(from) {
                self.gap(from, None, NO_HISTORY).await?;
            } else if self.standing != Standing::Up {
                self.books.lost(from, None, NO_HISTORY);
            }
            self.settle().await?;
            connection.settle_behind_a_gap();
        }
        Ok(None)
    }
}
