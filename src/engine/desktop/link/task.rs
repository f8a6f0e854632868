//! The task of one session: its socket, opened again when it breaks, and the turn that is open.
//!
//! Owns the order of what is reported of the session. Never sends a prompt twice: what was sent when a socket broke is lost or not,
//! and the verdict says so.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::open_turn::{LinkTurn, LinkTurnOver};
use super::said::SaidToHost;
use super::standing::LinkBefore;
use super::undecided::UndecidedChanges;
use super::wake::{SOON, TOKEN, pause};
use crate::app::inbox::Reply;
use crate::app::ports::{
    AttachedChange, AttachedTurn, ClientRequest, EngineDecision, EngineReport, LinkNews, StreamReport,
    TurnFailure,
};
use crate::domain::dialect::desktop::hear::{HostHello, HostSettled};
use crate::domain::dialect::desktop::place::HostPlace;
use crate::domain::dialect::desktop::say;
use crate::domain::event::EngineEvent;
use crate::domain::remedy::{Remedy, Retry, RetryWhen};
use crate::engine::desktop::DesktopParts;
use crate::engine::desktop::client::HostSocket;
use crate::engine::desktop::order::LinkOrder;
use crate::engine::desktop::run_here::{self, HostAsk};
use crate::engine::desktop::trouble::HostTrouble;
use crate::engine::desktop::watched;

/// Messages that wait for a connection: answers, and results of what was done here. The oldest go first.
const UNSENT: usize = 64;

/// Questions that are remembered; a host asks a few at a time.
const ASKS: usize = 256;

/// Prompts that were taken back and may begin all the same; a person takes back a few.
const TAKEN_BACK: usize = 16;

/// One session at a host.
pub(super) struct LinkTask {
    pub(super) parts: Arc<DesktopParts>,
    pub(super) session_id: String,
    pub(super) orders: mpsc::Receiver<LinkOrder>,
    /// For what is done here and ends later; it keeps nothing alive.
    later: mpsc::WeakSender<LinkOrder>,
    began: Instant,
    /// Messages of this session so far, those in the journal among them.
    pub(super) heard: u64,
    pub(super) turn: Option<LinkTurn>,
    pub(super) asks: HashMap<String, HostAsk>,
    pub(super) unsent: VecDeque<String>,
    said: SaidToHost,
    /// Ids of prompts that were taken back.
    taken_back: VecDeque<String>,
    /// What an earlier process may have been doing when it ended.
    pub(super) left_doing: Option<String>,
    /// It is being looked for what changed of the context.
    looks_at_context: bool,
    pub(super) hello: HostHello,
    /// Up to where everything is here, by the numbers of a host that numbers.
    pub(super) place: Option<HostPlace>,
    /// Messages whose last, with their place, has not come. They are nothing to anybody before it does: after a break they come again.
    pub(super) together: Vec<EngineEvent>,
    /// Messages of the transcript since the socket was opened.
    pub(super) replayed: u64,
    /// What the host said to be settled, newest last: nobody tells it a second time.
    settled: VecDeque<String>,
    pub(super) before: LinkBefore,
    /// A socket stands, and how it stands was said.
    pub(super) stands: bool,
    /// A proposed change that waits for the question that names it.
    pub(super) held: Option<(String, EngineEvent, Duration)>,
    pub(super) undecided: UndecidedChanges,
    /// A different whole was said once in this turn.
    pub(super) told_difference: bool,
    /// What came of a turn that was given up and whose end may still come.
    pub(super) given_up: Option<String>,
    /// Tries since it last stood, and why the last one failed.
    pub(super) trouble: Option<(u32, String)>,
}

/// What a try to open a socket came to.
enum SocketTry {
    Socket(Box<HostSocket>),
    Failed(HostTrouble),
    Forgotten,
}

/// How a socket ended.
pub(super) enum TalkEnd {
    /// It broke; why, as the end of a sentence.
    Broken(String),
    /// Nobody wants the session any more.
    Forgotten,
}

impl LinkTask {
    pub(super) fn new(
        parts: Arc<DesktopParts>,
        session_id: String,
        orders: mpsc::Receiver<LinkOrder>,
        later: mpsc::WeakSender<LinkOrder>,
    ) -> Self {
        let made = parts.state().made.remove(&session_id);
        Self {
            parts,
            session_id,
            orders,
            later,
            began: Instant::now(),
            heard: 0,
            turn: None,
            asks: HashMap::new(),
            unsent: VecDeque::new(),
            said: SaidToHost::default(),
            taken_back: VecDeque::new(),
            left_doing: None,
            looks_at_context: false,
            hello: HostHello::default(),
            place: None,
            together: Vec::new(),
            replayed: 0,
            settled: VecDeque::new(),
            before: if made { LinkBefore::Made } else { LinkBefore::Unopened },
            stands: false,
            held: None,
            undecided: UndecidedChanges::default(),
            told_difference: false,
            given_up: None,
            trouble: None,
        }
    }

    /// Since some moment that this link chose.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Until nobody wants the session any more, or the host does not have it.
    pub(super) async fn run(mut self) {
        let mut token_may_come = true;
        loop {
            let (retry, error) = self.trouble.clone().unzip();
            self.link(LinkNews::Connecting { retry: retry.unwrap_or_default(), error }).await;
            let (stood, why, wait) = match self.connect(retry.unwrap_or_default()).await {
                SocketTry::Socket(socket) => {
                    let end = self.talk(*socket).await;
                    let stood = std::mem::take(&mut self.stands);
                    self.parts.state().standing.remove(&self.session_id);
                    self.release_held().await;
                    let TalkEnd::Broken(words) = end else { return };
                    self.broke(stood).await;
                    let origin = self.parts.client.origin();
                    let why = format!("The connection to the desktop host at {origin} broke: {words}.");
                    (stood, why, Duration::ZERO)
                }
                SocketTry::Failed(HostTrouble::Gone(_)) => {
                    let reason = "The desktop host does not have this session any more.".to_owned();
                    return self.link(LinkNews::Gone { reason }).await;
                }
                // Told only when it does not come.
                SocketTry::Failed(trouble)
                    if trouble.wants_token() && std::mem::take(&mut token_may_come) =>
                {
                    if !self.rest(TOKEN).await {
                        return;
                    }
                    continue;
                }
                SocketTry::Failed(trouble) => {
                    (false, self.parts.told(&trouble).message, trouble.wait().unwrap_or_default())
                }
                SocketTry::Forgotten => return,
            };
            let retry = if stood { 1 } else { retry.unwrap_or_default().saturating_add(1) };
            self.trouble = Some((retry, why));
            if !self.rest(pause(retry, uuid::Uuid::new_v4().as_u128()).max(wait)).await {
                return;
            }
        }
    }

    /// Opens a socket; meanwhile orders are taken, and that it takes long is told.
    async fn connect(&mut self, retry: u32) -> SocketTry {
        let client = self.parts.client.clone();
        let session_id = self.session_id.clone();
        let opening = async move { client.open_socket(&session_id).await };
        tokio::pin!(opening);
        let slow = self.now() + SOON;
        let mut told = false;
        loop {
            let wake = self.wake(if told { None } else { Some(slow) });
            tokio::select! {
                opened = &mut opening => return match opened {
                    Ok(socket) => SocketTry::Socket(Box::new(socket)),
                    Err(trouble) => SocketTry::Failed(trouble),
                },
                order = self.orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => return SocketTry::Forgotten,
                },
                () = tokio::time::sleep(wake) => {
                    if !told && self.now() >= slow {
                        told = true;
                        let origin = self.parts.client.origin();
                        let error = format!("The desktop host at {origin} has not opened the session so far.");
                        self.link(LinkNews::Connecting { retry, error: Some(error) }).await;
                    }
                    self.look_at_turn().await;
                }
            }
        }
    }

    /// A pause between two tries, which ends when a token comes; `false`: nobody wants the session any more.
    async fn rest(&mut self, pause: Duration) -> bool {
        let until = self.now() + pause;
        let client = self.parts.client.clone();
        let new_token = client.new_token();
        tokio::pin!(new_token);
        while self.now() < until {
            let wake = self.wake(Some(until));
            tokio::select! {
                () = &mut new_token => return true,
                order = self.orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => return false,
                },
                () = tokio::time::sleep(wake) => self.look_at_turn().await,
            }
        }
        true
    }

    /// How long until something is due.
    pub(super) fn wake(&self, beside: Option<Duration>) -> Duration {
        let turn = self.turn.as_ref().and_then(LinkTurn::due);
        let held = self.held.as_ref().map(|(_, _, until)| *until);
        let due = [turn, held, beside].into_iter().flatten().min();
        due.map_or(Duration::from_secs(3_600), |due| due.saturating_sub(self.now()))
    }

    /// Takes an order while no socket stands, or prepares what the socket then sends.
    pub(super) async fn take(&mut self, order: LinkOrder) {
        match order {
            LinkOrder::Attach { heard, place, open_turn } => self.attach(heard, place, open_turn).await,
            LinkOrder::Begin(number) => {
                self.turn = Some(LinkTurn::preparing(number));
                self.undecided = UndecidedChanges::default();
                self.told_difference = false;
            }
            LinkOrder::Prompt { turn, text, message_id } => {
                let now = self.now();
                // One that was stopped meanwhile is not waited for.
                if let Some(open) = self.turn.as_mut().filter(|open| open.number == turn) {
                    open.waits(text, message_id, now);
                }
            }
            LinkOrder::NotBegun(number) => {
                self.turn.take_if(|open| open.number == number);
            }
            LinkOrder::Stop => self.stop().await,
            LinkOrder::Decide { id, decision } => self.decide(&id, decision).await,
            LinkOrder::Say { about, text } => self.say_about(&about, text),
            LinkOrder::Made(patch_id) => self.change_over(&patch_id).await,
            LinkOrder::FilesChanged { folder, changes } => self.files_changed(folder, changes),
            LinkOrder::ContextChanged { turn, parts } => self.context_changed(turn, &parts),
        }
    }

    async fn attach(&mut self, heard: u64, place: Option<HostPlace>, open_turn: Option<AttachedTurn>) {
        if self.stands {
            return self.link(LinkNews::Resumed(crate::app::ports::ResumedLink::Complete)).await;
        }
        if let Some((retry, error)) = self.trouble.clone() {
            // Whoever selects the session waits for a word of how it stands.
            return self.link(LinkNews::Connecting { retry, error: Some(error) }).await;
        }
        self.heard = self.heard.max(heard);
        self.place = self.place.take().or(place);
        if self.turn.is_none() && self.before == LinkBefore::Unopened {
            let Some(AttachedTurn { number, allowed_last, undecided }) = open_turn else { return };
            self.left_doing = allowed_last;
            for AttachedChange { id, proposal } in undecided {
                self.undecided.proposed(&id);
                self.asked(id.clone(), HostAsk::Patch { patch_id: id, proposal: Some(proposal) });
            }
            self.turn = Some(LinkTurn::of_an_earlier_process(number));
        }
    }

    async fn stop(&mut self) {
        self.end_that_waits().await;
        self.undecided = UndecidedChanges::default();
        let now = self.now();
        let Some(turn) = self.turn.as_mut() else { return };
        if !turn.is_at_host() {
            return self.turn_over(None, true).await;
        }
        if self.hello.replays() && !turn.is_begun() {
            return self.take_back().await;
        }
        // A second word of it is said again, and does not wait longer.
        if !turn.is_stopping() {
            turn.stops(now);
        }
        self.say_when_it_stands(say::cancel());
    }

    /// Takes back a prompt that waits at the host: what runs there is another client's turn, which goes on. Where it begins all the
    /// same, it is stopped then.
    async fn take_back(&mut self) {
        if let Some(id) = self.turn.as_ref().and_then(LinkTurn::message_id).map(str::to_owned) {
            self.say_when_it_stands(say::take_back(&id));
            if self.taken_back.len() >= TAKEN_BACK {
                self.taken_back.pop_front();
            }
            self.taken_back.push_back(id);
        }
        self.turn_over(None, true).await;
    }

    /// The host begins with a prompt.
    pub(super) fn prompt_begins(&mut self, message_id: Option<&str>) {
        if let Some(turn) = self.turn.as_mut() {
            turn.begins(message_id);
        }
        let taken_back = self.taken_back.iter().position(|id| Some(id.as_str()) == message_id);
        if let Some(at) = taken_back {
            self.taken_back.remove(at);
            self.say_when_it_stands(say::cancel());
        }
    }

    /// An answer: to the host, and then whatever it allowed is done, where that is ours to do.
    async fn decide(&mut self, id: &str, decision: EngineDecision) {
        if self.settled.iter().any(|settled| settled == id) {
            return;
        }
        let ask = self.asks.remove(id).unwrap_or(HostAsk::Tool);
        for text in run_here::answers(id, &ask, &decision, &self.hello) {
            self.say_about(id, text);
        }
        let later = self.later.clone();
        if !run_here::follow(&self.parts, &self.session_id, ask, &decision, &self.hello, later) {
            self.change_over(id).await;
        }
    }

    /// A question that may be answered.
    pub(super) fn asked(&mut self, id: String, ask: HostAsk) {
        if self.asks.len() < ASKS {
            self.asks.insert(id, ask);
        }
    }

    /// The host said that a question is settled. Who answered it is told, where that was not this side: nor an earlier process of it,
    /// which went by the same name and knew of the question.
    pub(super) async fn settled(&mut self, settled: HostSettled) {
        let HostSettled { request_id, allowed, by } = settled;
        let is_elsewhere = match self.asks.remove(&request_id) {
            Some(_) => true,
            None => !self.said.is_about(&request_id) && by.as_ref() != Some(&self.parts.name),
        };
        self.said.is_settled(&request_id);
        self.change_over(&request_id).await;
        if self.settled.len() >= ASKS {
            self.settled.pop_front();
        }
        self.settled.push_back(request_id);
        if let Some(by) = by.filter(|_| is_elsewhere) {
            let done = if allowed { "allowed" } else { "denied" };
            self.notice("info", format!("{by} {done} what was asked.")).await;
        }
    }

    /// Says something about what the host asked for, and remembers it as long as the host may not have heard it.
    fn say_about(&mut self, about: &str, text: String) {
        self.said.says(about, &text);
        self.say_when_it_stands(text);
    }

    /// A socket stands again behind a break: what was said of something that still waits at the host is said again, in order; the
    /// host never heard it. Of the rest it heard.
    pub(super) fn say_again(&mut self, waiting: &[String]) {
        for text in self.said.lost(waiting) {
            // What was not sent before is sent now.
            if !self.unsent.contains(&text) {
                self.say_when_it_stands(text);
            }
        }
    }

    fn files_changed(&mut self, folder: PathBuf, changes: Vec<Value>) {
        if self.stands {
            return self.say_when_it_stands(say::file_changes(&changes));
        }
        let parts = Arc::clone(&self.parts);
        self.parts.runtime.spawn(async move { watched::not_on_a_socket(&parts, &folder, &changes).await });
    }

    /// What changed in front of the user while a tool of our turn ran, where something did (R002-43).
    pub(super) fn look_at_context(&mut self) {
        let Some(turn) = self.turn.as_ref().map(|turn| turn.number) else { return };
        if std::mem::replace(&mut self.looks_at_context, true) {
            return;
        }
        let (parts, session_id, later) =
            (Arc::clone(&self.parts), self.session_id.clone(), self.later.clone());
        self.parts.runtime.spawn(async move {
            let (reply, answer) = Reply::new();
            let want = ClientRequest::UpdateContext { reply };
            parts.report(EngineReport::Wants { session_id, want }).await;
            let found = answer.await.ok().and_then(Result::ok).unwrap_or_default();
            if let Some(link) = later.upgrade() {
                // Its end means that nobody wants the session any more.
                let _ = link.send(LinkOrder::ContextChanged { turn, parts: found.parts }).await;
            }
        });
    }

    fn context_changed(&mut self, turn: u64, parts: &Map<String, Value>) {
        self.looks_at_context = false;
        let is_open = self.turn.as_ref().is_some_and(|open| open.number == turn);
        if is_open && self.stands && !parts.is_empty() {
            self.say_when_it_stands(say::context_update(parts));
        }
    }

    pub(super) fn say_when_it_stands(&mut self, text: String) {
        if self.unsent.len() >= UNSENT {
            self.unsent.pop_front();
        }
        self.unsent.push_back(text);
    }

    /// What is waited for may be over.
    pub(super) async fn look_at_turn(&mut self) {
        let now = self.now();
        if self.held.as_ref().is_some_and(|(_, _, until)| *until <= now) {
            self.release_held().await;
        }
        let origin = self.parts.client.origin().to_owned();
        let Some(over) = self.turn.as_ref().and_then(|turn| turn.over(now)) else { return };
        if matches!(over, LinkTurnOver::NotStopped | LinkTurnOver::Failed) {
            self.given_up = self.turn.clone().map(LinkTurn::into_streamed);
        }
        let (failure, cancelled) = match over {
            LinkTurnOver::NeverSent => (
                TurnFailure::new(
                    format!(
                        "There was no connection to the desktop host at {origin}, so the prompt was not sent; send it again."
                    ),
                    Retry::not_taken(RetryWhen::Later),
                ),
                false,
            ),
            LinkTurnOver::NotStopped => (
                format!(
                    "The desktop host at {origin} did not say that it stopped; the turn may go on there."
                )
                .into(),
                false,
            ),
            LinkTurnOver::NotTaken => (
                TurnFailure::new(
                    format!(
                        "The desktop host at {origin} did not get the prompt before the connection broke; send it again."
                    ),
                    Retry::not_taken(RetryWhen::Later),
                ),
                false,
            ),
            LinkTurnOver::Failed => (
                TurnFailure::new(
                    "The turn failed at the desktop host, which says why above.",
                    Retry::taken(RetryWhen::Later),
                ),
                false,
            ),
        };
        self.turn_over(Some(failure), cancelled).await;
    }

    /// A turn is over: nothing of it is waited for any more.
    pub(super) async fn turn_over(&mut self, failure: Option<TurnFailure>, cancelled: bool) {
        let Some(turn) = self.turn.take() else { return };
        let session_id = self.session_id.clone();
        self.report(EngineReport::TurnEnded { session_id, turn: turn.number, failure, cancelled }).await;
    }

    pub(super) async fn notice(&mut self, level: &'static str, text: String) {
        let session_id = self.session_id.clone();
        self.report(EngineReport::Noticed { session_id, level, text, remedy: Remedy::default() }).await;
    }

    pub(super) async fn link(&mut self, news: LinkNews) {
        let session_id = self.session_id.clone();
        self.report(EngineReport::Stream(StreamReport::Link { session_id, news })).await;
    }

    pub(super) async fn report(&mut self, report: EngineReport) {
        self.parts.report(report).await;
    }
}
