//! The life of a link: ask how the session stands, open its stream, read it, and again, until the session is over.
//!
//! Owns the place in the stream, the tries and their delays, and what is done when the engine no longer knows the place.
//! `follow` reads the connection.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{LEFT_OUT, Standing, StreamLink};
use crate::app::ports::LinkNews;
use crate::domain::delivery::Resumption;
use crate::domain::delivery::continuity::HOLE_TRIES;
use crate::engine::breadboard::client::From;
use crate::engine::breadboard::engine_error::{EngineError, ErrorWindow};
use crate::engine::breadboard::failed_session::configuration_of;
use crate::engine::breadboard::link::connection::{Connection, Cut};
use crate::engine::breadboard::link::report_sender::Closed;
use crate::engine::breadboard::link::source::{Beginning, Opened, Source, Summary};

/// Requests for one stream: our place, the whole history, and the two places that the engine may name.
const OPENINGS: usize = 4;

impl<S: Source> StreamLink<S> {
    /// Lives until the session is over or nobody listens.
    pub(in crate::engine::breadboard::link) async fn run(mut self) {
        // Closed: the loop is gone, and so is the reason to live.
        while let Ok(None) = self.round().await {}
    }

    /// One connection, or one try. `Some`: there is no next.
    async fn round(&mut self) -> Result<Option<()>, Closed> {
        let summary = match self.probe().await? {
            Ok(summary) => summary,
            Err(EngineError::Gone { .. }) => return self.gone().await,
            Err(trouble) => {
                // The older reason is not news any more.
                self.broken = None;
                return self.failed(self.source.say(&trouble), trouble.wait()).await;
            }
        };
        let over = summary.is_over();
        if let Some(why) = self.broken.take() {
            // A session that has ended is not waited for: its last events are.
            if !over || self.fruitless > 0 {
                return self.failed(why, None).await;
            }
            self.fruitless += 1;
        }
        self.head = summary.head;
        let opened = match self.open().await? {
            Ok(opened) => opened,
            Err(EngineError::Gone { .. }) => return self.gone().await,
            Err(trouble) => return self.failed(self.source.say(&trouble), trouble.wait()).await,
        };
        let connection = Connection::new(opened.beginning, over, (self.now_ms)());
        match self.follow(connection, opened.stream).await? {
            Cut::Drained if self.lacks_the_end().await? => {}
            Cut::Drained => return self.over(summary).await,
            Cut::Broken(why) => self.broken = Some(why),
            Cut::Renew => {}
            Cut::Again => {
                let tries = self.fruitless;
                self.fruitless = tries.saturating_add(1);
                // The first time at once: nobody shall notice.
                if tries > 0 {
                    let delay = self.pace.retry(tries - 1, &mut self.chance);
                    self.desk.pause(Instant::now() + delay).await?;
                }
            }
        }
        Ok(None)
    }

    /// An ended session's stream says nothing of what it left out last, so it is asked how far the session came. What
    /// does not come however often it is asked for is lost, and said to be.
    async fn lacks_the_end(&mut self) -> Result<bool, Closed> {
        let last = self.continuity.last();
        let newest = match self.head {
            Some(head) => head,
            None => match self.ask_for_the_newest().await? {
                Some(newest) => newest,
                // Of what never came there is nothing to say.
                None => return Ok(false),
            },
        };
        if newest <= last {
            return Ok(false);
        }
        if self.continuity.wait_for(newest, HOLE_TRIES) {
            return Ok(true);
        }
        self.gap(last.saturating_add(1), Some(newest), LEFT_OUT).await?;
        self.continuity.give_up(newest);
        self.settle().await?;
        Ok(false)
    }

    /// The newest number of an engine that does not say it by itself. Asked again where no answer comes: this one may get
    /// lost on its way as well.
    async fn ask_for_the_newest(&mut self) -> Result<Option<u64>, Closed> {
        let mut newest = None;
        for _ in 0..HOLE_TRIES {
            let asked = self.source.newest(&self.session_id, self.pace.drained);
            newest = self.desk.attend(asked).await?;
            if newest.is_some() || self.continuity.last() == 0 {
                break;
            }
        }
        Ok(newest)
    }

    /// Opens the stream behind our place. Where the engine no longer knows it: its whole history; and where it refuses to
    /// give that because it is not whole any more: from where it begins.
    async fn open(&mut self) -> Result<Result<Opened<S::Stream>, EngineError>, Closed> {
        let mut from = match (self.hint.take(), &self.cursor) {
            (Some(hint), _) => From::After(hint),
            (None, Some(cursor)) => From::After(cursor.id.clone()),
            (None, None) => From::Start,
        };
        let mut places = TaskPlaces::beginning_at(&from);
        let mut refused = EngineError::WindowExceeded(ErrorWindow::default());
        for _ in 0..OPENINGS {
            let asked = timeout(self.pace.open, self.source.open(&self.session_id, from.clone()));
            let answer = self.desk.attend(asked).await?.unwrap_or(Err(EngineError::TimedOut { sent: true }));
            let window = match answer {
                Ok(stream) => return Ok(Ok(Opened { stream, beginning: places.beginning() })),
                Err(EngineError::WindowExceeded(window)) => window,
                Err(trouble) => return Ok(Err(trouble)),
            };
            refused = EngineError::WindowExceeded(window.clone());
            if !places.known.history {
                self.books.place_was_unknown();
            }
            match places.next(&window, self.head) {
                Some(next) => from = next,
                None => break,
            }
        }
        Ok(Err(refused))
    }

    /// A try failed, or the stream broke: says so, and waits before the next try.
    /// `wait` is how long the engine asked for; no try is made sooner, but by the user's hand.
    async fn failed(&mut self, why: String, wait: Option<Duration>) -> Result<Option<()>, Closed> {
        if self.standing == Standing::Up {
            self.books = Resumption::default();
        }
        self.standing = self.standing.failed();
        let retry = match self.standing {
            Standing::Down { retry } => retry,
            Standing::Up => 0,
        };
        self.desk.news(LinkNews::Connecting { retry, error: Some(why) }).await?;
        let delay = self.pace.retry(self.fruitless, &mut self.chance).max(wait.unwrap_or_default());
        self.fruitless = self.fruitless.saturating_add(1);
        self.desk.pause(Instant::now() + delay).await?;
        Ok(None)
    }

    /// The session has ended, and all that its stream has came. Where the engine was just deleting it, it is gone by now, and
    /// nobody knows what it said beside that stream.
    async fn over(&mut self, summary: Summary) -> Result<Option<()>, Closed> {
        if summary.is_being_deleted() && matches!(self.probe().await?, Err(EngineError::Gone { .. })) {
            return self.gone().await;
        }
        let configuration = configuration_of(&summary.metadata);
        self.desk.end(LinkNews::Ended { status: summary.status, configuration }).await?;
        Ok(Some(()))
    }

    async fn gone(&mut self) -> Result<Option<()>, Closed> {
        let reason = "The engine has no such session any more: it was deleted there, or the engine was restarted and \
                      keeps sessions in memory only; what came before is kept here, make a new session to go on.";
        self.desk.end(LinkNews::Gone { reason: reason.to_owned() }).await?;
        Ok(Some(()))
    }
}

/// Where a stream is asked for, one place after the other, and what the engine said to each.
struct TaskPlaces {
    known: Beginning,
    /// The oldest number that the engine says it has.
    first: Option<u64>,
}

impl TaskPlaces {
    fn beginning_at(from: &From) -> Self {
        let known = Beginning {
            history: *from == From::Start,
            place_unknown: false,
            declared: false,
            live: false,
            begins_after: None,
        };
        Self { known, first: None }
    }

    /// The next place after one that the engine does not know; none when there is no other. `head` is its newest number.
    fn next(&mut self, window: &ErrorWindow, head: Option<u64>) -> Option<From> {
        match (self.known.history, self.first, window.first) {
            (false, _, _) => {
                self.known.history = true;
                self.known.place_unknown = true;
                Some(From::Start)
            }
            (true, None, Some(named)) => {
                self.first = Some(named);
                Some(self.after(named.saturating_sub(1)))
            }
            // All of its history grew too old; its number still says what was lost.
            (true, None, None) if head.is_some() && !self.known.live => {
                self.known.live = true;
                Some(From::Live)
            }
            (true, None, None) => None,
            // The place before the oldest is lossless, and yet not every engine knows it.
            (true, Some(first), _) => Some(self.after(first)),
        }
    }

    fn after(&mut self, place: u64) -> From {
        self.known.begins_after = Some(place);
        From::After(place.to_string())
    }

    /// Where the stream begins that was opened at the last place.
    fn beginning(&self) -> Beginning {
        Beginning {
            declared: self.known.live || self.first.is_some(),
            // Of nothing there is no doubt: the engine says how far it is.
            place_unknown: self.known.place_unknown && !self.known.live,
            ..self.known
        }
    }
}
