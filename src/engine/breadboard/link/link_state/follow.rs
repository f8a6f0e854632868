//! The reading of one connection: from its first byte to whatever ends it.
//!
//! Owns the half-read event, the moment at which the backlog has come, and the watch over silence. Never opens a
//! connection: it says how this one ended, and `task` goes on from there. What came is taken in by `take`.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::connection::{Connection, Cut};
use super::link_state::{EVICTED, Link, Standing};
use super::report_sender::Closed;
use super::source::{Chunks, Source};
use super::timing::LinkTiming;
use crate::app::ports::EngineCursor;

const NO_HISTORY: &str = "the engine no longer knows our place and has no history to compare it with";
const COUNTS_ANEW: &str =
    "the engine counts the events of this session anew, so that what it said in between cannot be known";

impl Connection {
    /// Reads until the connection ends.
    pub async fn follow<S: Source>(
        mut self,
        link: &mut Link<S>,
        mut stream: S::Stream,
    ) -> Result<Cut, Closed> {
        self.give_up_what_is_gone(link).await?;
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
                // What is missing from now on may have the end of this turn in it, which was not said before.
                link.open_gap = None;
            }
            if let Some(cut) = cut {
                self.judge(link);
                return Ok(cut);
            }
        }
    }

    /// The engine said that its log begins behind what has come so far. Said before anything else comes, since nothing may.
    async fn give_up_what_is_gone<S: Source>(&mut self, link: &mut Link<S>) -> Result<(), Closed> {
        let last = link.continuity.last();
        let Some(place) = self.beginning.begins_after.filter(|place| *place > last) else { return Ok(()) };
        // The history goes on behind our place, so it is the one that we know.
        self.highest = place;
        link.gap(last.saturating_add(1), Some(place), EVICTED).await?;
        link.continuity.give_up(place);
        link.cursor = Some(EngineCursor { seq: place, id: place.to_string() });
        Ok(())
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

    /// A connection that stood for a while was a good one, unless it should have ended.
    fn judge<S>(&self, link: &mut Link<S>) {
        if !self.over && self.opened.elapsed() >= link.pace.steady {
            link.fruitless = 0;
        }
    }

    /// Whether the engine's history may be another one than ours: it did not know our place, and ends before it.
    fn is_doubtful<S>(&self, link: &Link<S>) -> bool {
        self.beginning.place_unknown && self.highest < link.continuity.last()
    }

    /// Whether that has to be decided. Without any history it is decided once.
    fn waits_in_doubt<S>(&self, link: &Link<S>) -> bool {
        self.is_doubtful(link) && !(self.settled && self.highest == 0)
    }

    /// Since when nothing came.
    fn silent_since(&self) -> Instant {
        self.last.unwrap_or(self.opened)
    }

    fn quiet(&self, pace: &LinkTiming) -> Duration {
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
            } else if link.standing != Standing::Up {
                link.books.lost(from, None, NO_HISTORY);
            }
            // Whatever comes now comes behind that gap.
            self.beginning.declared = true;
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
