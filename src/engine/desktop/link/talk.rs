//! A socket that is open: what is sent and what comes.
//!
//! Owns the handshake, in either order, and the meaning of each message for the open turn. Every message is passed on, understood or
//! not. A socket that is silent is asked whether it lives.

use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::open_turn::LinkTurn;
use super::task::{LinkTask, TalkEnd};
use super::undecided::WaitingEnd;
use super::wake::{DEAD, GREETING, IDLE, QUESTION, REPLAYING, STATE};
use crate::app::ports::{EngineCursor, EngineReport};
use crate::domain::dialect::desktop::ASKS_ITSELF;
use crate::domain::dialect::desktop::decode::decode;
use crate::domain::dialect::desktop::hear::{HostNews, HostQuestion, HostState, ToolMoment};
use crate::domain::dialect::desktop::place::{HostPlace, PlaceOfMessage};
use crate::domain::dialect::desktop::say;
use crate::domain::event::EngineEvent;
use crate::engine::desktop::client::HostSocket;
use crate::engine::desktop::run_here::HostAsk;

/// How long a host may take to read a message of ours.
const SENDING: Duration = Duration::from_secs(15);

/// Characters of a host's reason in a sentence.
const REASON: usize = 200;

/// What a piece of an answer repeats of those before it.
const SO_FAR: &str = "cumulative_text";
/// Messages that belong together, most: a host tells what one change of its view means. Past it they are taken one by one.
const TOGETHER: usize = 4_096;

/// How far the handshake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Greeting {
    /// The host has until then to greet.
    Awaited(Duration),
    /// It greeted, and has until then to tell how the session stands.
    Greeted(Duration),
    /// Over: what is to be sent is sent.
    Done,
}

impl LinkTask {
    /// Speaks until the socket ends.
    pub(super) async fn talk(&mut self, mut socket: HostSocket) -> TalkEnd {
        if let Err(end) =
            send(&mut socket, Message::text(say::hello(&self.parts.name, self.place.as_ref()))).await
        {
            return end;
        }
        self.together.clear();
        self.replayed = 0;
        let mut greeting = Greeting::Awaited(self.now() + GREETING);
        let (mut heard_at, mut asked) = (self.now(), false);
        loop {
            if greeting == Greeting::Done
                && let Err(end) = self.send_what_waits(&mut socket).await
            {
                return end;
            }
            let patience = heard_at + if asked { IDLE + DEAD } else { IDLE };
            let due = match greeting {
                Greeting::Awaited(until) | Greeting::Greeted(until) => until.min(patience),
                Greeting::Done => patience,
            };
            let wake = self.wake(Some(due));
            tokio::select! {
                message = socket.next() => {
                    (heard_at, asked) = (self.now(), false);
                    match self.heard(message, &mut greeting).await {
                        Ok(()) => {}
                        Err(end) => return end,
                    }
                }
                order = self.orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => {
                        // It may be gone already, and then there is nobody to say it to.
                        let _ = tokio::time::timeout(SENDING, socket.close(None)).await;
                        return TalkEnd::Forgotten;
                    }
                },
                () = tokio::time::sleep(wake) => {
                    let now = self.now();
                    if matches!(greeting, Greeting::Awaited(until) | Greeting::Greeted(until) if until <= now) {
                        greeting = Greeting::Done;
                        self.settle(None).await;
                    }
                    if now >= patience {
                        if asked {
                            return TalkEnd::Broken("it was silent for too long".to_owned());
                        }
                        asked = true;
                        if let Err(end) = send(&mut socket, Message::Ping(Bytes::new())).await {
                            return end;
                        }
                    }
                    self.look_at_turn().await;
                }
            }
        }
    }

    /// Sends what waits, and last the prompt that waits for it.
    async fn send_what_waits(&mut self, socket: &mut HostSocket) -> Result<(), TalkEnd> {
        while let Some(text) = self.unsent.front().cloned() {
            send(socket, Message::text(text)).await?;
            self.unsent.pop_front();
        }
        // From here on the host may have it: a socket that breaks while it is sent leaves that open.
        if let Some(text) = self.turn.as_mut().and_then(LinkTurn::send) {
            send(socket, Message::text(text)).await?;
        }
        Ok(())
    }

    async fn heard(
        &mut self,
        message: Option<Result<Message, Error>>,
        greeting: &mut Greeting,
    ) -> Result<(), TalkEnd> {
        match message {
            Some(Ok(Message::Text(text))) => self.message(&text, greeting).await?,
            Some(Ok(Message::Binary(bytes))) => {
                // The protocol has texts only; what it says is passed on all the same.
                self.message(&String::from_utf8_lossy(&bytes), greeting).await?;
            }
            Some(Ok(Message::Close(frame))) => return Err(TalkEnd::Broken(closed(frame.as_ref()))),
            // The library answers pings by itself.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Err(error)) => return Err(TalkEnd::Broken(broken(&error))),
            None => return Err(TalkEnd::Broken("the connection ended".to_owned())),
        }
        Ok(())
    }

    /// One message of the host, or one of several that belong together.
    async fn message(&mut self, text: &str, greeting: &mut Greeting) -> Result<(), TalkEnd> {
        let event = decode(text);
        match PlaceOfMessage::of(&event.payload) {
            PlaceOfMessage::Within if self.together.len() < TOGETHER => {
                self.together.push(event);
                return Ok(());
            }
            PlaceOfMessage::Within | PlaceOfMessage::Nowhere => {}
            PlaceOfMessage::At(place) => {
                let before = std::mem::take(&mut self.together);
                self.replayed += before.len() as u64 + 1;
                for event in before {
                    self.take_in(event, greeting).await?;
                }
                self.place = Some(place);
            }
        }
        if let Greeting::Greeted(until) = greeting {
            // What is told again comes before how the session stands.
            *until = self.now() + if self.hello.replays() { REPLAYING } else { STATE };
        }
        self.take_in(event, greeting).await
    }

    async fn take_in(&mut self, event: EngineEvent, greeting: &mut Greeting) -> Result<(), TalkEnd> {
        let news = HostNews::of(&event);
        if news == HostNews::Behind && self.hello.replays() {
            return Err(TalkEnd::Broken(
                "it could not tell everything, and is asked for the rest".to_owned(),
            ));
        }
        self.take_news(event, news, greeting).await;
        Ok(())
    }

    async fn take_news(&mut self, event: EngineEvent, news: HostNews, greeting: &mut Greeting) {
        if let HostNews::Prompt(id) = &news {
            self.prompt_begins(id.as_deref());
        }
        let asks_for_held = matches!((&news, &self.held), (HostNews::Asked(HostQuestion::Patch(id)), Some((held, ..))) if id == held);
        if asks_for_held && let Some((_, event, _)) = self.held.take() {
            self.pass_on(event).await;
        }
        self.release_held().await;
        if news.is_of_a_turn() {
            self.follows_an_end().await;
        }
        let event = match news {
            HostNews::Ended { .. } if self.is_of_our_turn() => match self.undecided.ends(event) {
                Some(event) => event,
                None => return,
            },
            _ => event,
        };
        let of_turn = news.is_of_a_turn();
        let is_ours = self.is_of_our_turn();
        if let Some(turn) = self.turn.as_mut().filter(|_| of_turn && is_ours && news != HostNews::Failed) {
            turn.goes_on();
        }
        if let HostNews::Proposed(id) = news {
            let until = self.now() + QUESTION;
            self.held = Some((id, self.numbered(event), until));
            return;
        }
        let event = if of_turn { self.numbered(event) } else { event };
        self.asks_of(&event, &news);
        self.pass_on(self.without_repetition(event, &news)).await;
        self.heed(news, greeting).await;
    }

    /// A piece of an answer without everything before it, where that is what was streamed: kept with each piece it would cost the
    /// square of a long answer in the journal. Where it is not, it is kept once, beside the warning that says so.
    fn without_repetition(&self, mut event: EngineEvent, news: &HostNews) -> EngineEvent {
        let HostNews::Piece { piece, so_far: Some(so_far) } = news else { return event };
        let is_known = self.turn.as_ref().is_none_or(|turn| turn.would_take(piece, so_far));
        if is_known || self.told_difference {
            event.payload.shift_remove(SO_FAR);
        }
        event
    }

    /// The event with the number of the open turn: the protocol has none.
    fn numbered(&self, event: EngineEvent) -> EngineEvent {
        let turn = self.turn.as_ref().filter(|_| self.is_of_our_turn()).map(|turn| turn.number);
        EngineEvent { turn, ..event }
    }

    /// Whether what a host says is of our turn: of one that tells of each prompt it is so once it told of ours.
    fn is_of_our_turn(&self) -> bool {
        let turn = self.turn.as_ref().filter(|turn| turn.is_at_host());
        turn.is_some_and(|turn| turn.is_begun() || !self.hello.replays())
    }

    /// A question is remembered before it is told: its answer may come at once.
    fn asks_of(&mut self, event: &EngineEvent, news: &HostNews) {
        let HostNews::Asked(question) = news else { return };
        if let Some((id, ask)) = HostAsk::of(event, question) {
            self.asked(id, ask);
        }
    }

    /// What a message means beside what is shown of it.
    async fn heed(&mut self, news: HostNews, greeting: &mut Greeting) {
        let now = self.now();
        let is_ours = self.is_of_our_turn();
        match news {
            HostNews::Hello(hello) => {
                self.parts.state().takes_hunks = hello.takes_hunks();
                self.hello = hello;
                if matches!(greeting, Greeting::Awaited(_)) {
                    if self.wants_state() {
                        let wait = if self.hello.replays() { REPLAYING } else { STATE };
                        *greeting = Greeting::Greeted(now + wait);
                    } else {
                        *greeting = Greeting::Done;
                        self.settle(None).await;
                    }
                }
            }
            HostNews::State(state) => self.state(state, greeting).await,
            HostNews::Piece { piece, so_far } => {
                let turn = self.turn.as_mut().filter(|_| is_ours);
                let same = turn.is_none_or(|turn| turn.takes(&piece, so_far.as_deref()));
                if !same && !std::mem::replace(&mut self.told_difference, true) {
                    let text = "What the host says of its answer so far is not what it had streamed; its final answer will count.";
                    self.notice("warning", text.to_owned()).await;
                }
            }
            HostNews::Tool(moment) => {
                if let Some(turn) = self.turn.as_mut().filter(|_| is_ours) {
                    turn.meets_a_tool();
                    if moment == ToolMoment::Ended {
                        self.look_at_context();
                    }
                }
            }
            // A host that tells of each prompt always tells its end, too; before it begins, an error may be its refusal.
            HostNews::Failed => {
                let ends = |turn: &&mut LinkTurn| !(self.hello.replays() && turn.is_begun());
                if let Some(turn) = self.turn.as_mut().filter(ends) {
                    turn.fails(now);
                }
            }
            HostNews::Ended { message, cancelled } => self.ended(&message, cancelled).await,
            HostNews::Settled(settled) => self.settled(settled).await,
            HostNews::Asked(_)
            | HostNews::Proposed(_)
            | HostNews::Prompt(_)
            | HostNews::Behind
            | HostNews::Works
            | HostNews::Beside => {}
        }
    }

    async fn state(&mut self, state: HostState, greeting: &mut Greeting) {
        if *greeting == Greeting::Done {
            if let Some(place) = state.place.filter(|_| self.together.is_empty()) {
                self.place = Some(place);
            }
            return;
        }
        // What a host tells again comes before the word of what became of what we have.
        if self.hello.replays() && state.resume.is_none() {
            return;
        }
        *greeting = Greeting::Done;
        self.settle(Some(state)).await;
    }

    async fn ended(&mut self, message: &str, cancelled: bool) {
        let Some(turn) = self.turn.as_ref().filter(|_| self.is_of_our_turn()) else { return };
        let of_given_up = self
            .given_up
            .take_if(|streamed| !self.hello.replays() && turn.is_not_ended_by(message, cancelled, streamed));
        if of_given_up.is_some() {
            return;
        }
        let cancelled = cancelled || turn.is_stopping();
        if turn.differs_from(message) {
            let text = "The final answer of the host is not what it had streamed; the final answer is shown.";
            self.notice("warning", text.to_owned()).await;
        }
        self.turn_over(None, cancelled).await;
    }

    /// A proposed change that nothing asks for is itself the question.
    pub(super) async fn release_held(&mut self) {
        let Some((id, event, _)) = self.held.take() else { return };
        let event = EngineEvent { id: ASKS_ITSELF.to_owned(), ..event };
        if let Some(ask) = HostAsk::of_patch(&event, &id) {
            let (id, ask) = ask;
            self.undecided.proposed(&id);
            self.asked(id, ask);
        }
        self.pass_on(event).await;
    }

    /// A change that was proposed is denied, or made: the turn ends where its end waited for that.
    pub(super) async fn change_over(&mut self, id: &str) {
        let end = self.undecided.over(id);
        self.end_turn_by(end).await;
    }

    /// The end of a turn that waits for a decision waits no longer.
    pub(super) async fn end_that_waits(&mut self) {
        let end = self.undecided.give_up();
        self.end_turn_by(end).await;
    }

    /// The host speaks of a turn again: the one that waits for a decision goes on, or is over and another one follows.
    async fn follows_an_end(&mut self) {
        self.undecided.goes_on();
        let Some(end) = self.undecided.give_up() else { return };
        let text = "The desktop host went on before it was decided on the change that it had proposed, so that question is closed and \
                    nothing was written; ask for the change again if you still want it.";
        self.notice("warning", text.to_owned()).await;
        self.end_turn_by(Some(end)).await;
    }

    async fn end_turn_by(&mut self, end: Option<WaitingEnd>) {
        let event = match end {
            Some(WaitingEnd::Said(event)) => event,
            Some(WaitingEnd::Unknown) => return self.end_turn_of_unknown_fate().await,
            None => return,
        };
        let news = HostNews::of(&event);
        let event = self.numbered(event);
        self.pass_on(event).await;
        if let HostNews::Ended { message, cancelled } = news {
            self.ended(&message, cancelled).await;
        }
    }

    async fn end_turn_of_unknown_fate(&mut self) {
        let origin = self.parts.client.origin();
        let why = format!(
            "The connection to the desktop host at {origin} broke behind the change that it had proposed, so whether it went on with this \
             turn cannot be known; the change is decided, look at the session before you send the prompt again."
        );
        self.turn_over(Some(why.into()), false).await;
    }

    /// Tells the loop of a message, under the next number of this session.
    async fn pass_on(&mut self, mut event: EngineEvent) {
        self.heard += 1;
        event.ts = event.ts.or_else(|| Some((self.parts.now_ms)()));
        let id = self.place.as_ref().map(HostPlace::to_token).unwrap_or_default();
        let cursor = Some(EngineCursor { seq: self.heard, id });
        let session_id = self.session_id.clone();
        self.report(EngineReport::Said { session_id, event, cursor }).await;
    }
}

async fn send(socket: &mut HostSocket, message: Message) -> Result<(), TalkEnd> {
    match tokio::time::timeout(SENDING, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(TalkEnd::Broken(broken(&error))),
        Err(_) => Err(TalkEnd::Broken("it took no message in time".to_owned())),
    }
}

/// Why a socket was closed, in the host's words where it has some.
fn closed(frame: Option<&CloseFrame>) -> String {
    let Some(frame) = frame else { return "it was closed".to_owned() };
    let code = u16::from(frame.code);
    let reason: String = frame.reason.chars().filter(|letter| !letter.is_control()).take(REASON).collect();
    let reason = reason.trim().trim_end_matches('.');
    match (code, reason) {
        (1000, "") => "the host closed it".to_owned(),
        (code, "") => format!("the host closed it (code {code})"),
        (code, reason) => format!("the host closed it (code {code}): {reason}"),
    }
}

fn broken(error: &Error) -> String {
    match error {
        Error::Capacity(_) => "a message was too large".to_owned(),
        Error::Protocol(_) | Error::Utf8(_) | Error::AttackAttempt => {
            "what came was no WebSocket message".to_owned()
        }
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Io(_)
        | Error::Tls(_)
        | Error::WriteBufferFull(_)
        | Error::Url(_)
        | Error::Http(_)
        | Error::HttpFormat(_) => "the connection ended".to_owned(),
    }
}
