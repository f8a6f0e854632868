//! The one writer of a socket: what the reader wants said first, then what the loop tells, translated.
//!
//! Owns the order, pings, the time that a client may take to read, and the close. Never keeps more than the outbox holds, and never
//! writes more than a window of what a client has not read: so a client that falls behind is warned by a message that stands
//! behind nothing large. One that takes nothing for too long is let go, and finds everything when it comes back.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures::SinkExt;
use futures::stream::SplitSink;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::counts::{Counts, count};
use super::flow::ReadWindow;
use super::host::ended;
use super::link::SessionLink;
use super::outbox::SocketOutbox;
use super::proposal;
use super::replay::{EventReplay, HearingFrom, lost};
use super::translate::{ClientNews, TokenPieces, Translator};
use crate::app::inbox::EditorEvent;
use crate::domain::approval::Permission;
use crate::domain::dialect::Dialect;
use crate::domain::fact::NoticeLevel;
use crate::domain::view::View;
use crate::protocol::Request;
use crate::protocol::context::CONTEXT_PROVIDE;
use crate::protocol::desktop::host_message::{
    HostMessage, HostedState, MessagePlace, PlacedMessage, SessionCursor, SnapshotReason,
};
use crate::protocol::desktop::refusal::DesktopRefusal;
use crate::protocol::patch::{PatchListParams, PatchListResult};
use crate::protocol::permission::{PermissionListParams, PermissionListResult};
use crate::protocol::request::{ConnectionStatus, Resume, SelectSessionResult};

/// How long a client may take to read one message. Past it the socket is as good as dead.
const LONGEST_WRITE: Duration = Duration::from_secs(30);

/// How often a client is asked whether it is there.
const PING: Duration = Duration::from_secs(20);

/// How long messages may wait for a client to read before it is told that it reads too slowly.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a piece of an answer waits to become a larger one once no more of it comes.
const QUIET: Duration = Duration::from_millis(250);

/// Bytes a second that saying small pieces may cost, with everything so far in each.
const REPEATED: usize = 256 << 10;

/// The host ends, or the client was idle: it may come back.
pub(super) const GOING_AWAY: u16 = 1001;

/// What the reader wants said, ahead of everything that waits.
pub(super) enum Ahead {
    /// A message.
    Say(Box<HostMessage>),
    /// The handshake is done: from here on the loop is heard.
    Begin(Box<Begun>),
    /// The end, with its code and reason.
    Close(u16, &'static str),
}

/// A session that was attached.
pub(super) struct Begun {
    pub(super) link: Arc<SessionLink>,
    pub(super) outbox: Arc<SocketOutbox>,
    pub(super) selected: SelectSessionResult,
    pub(super) beginning: HearingFrom,
    /// Each message of the transcript says where it stands.
    pub(super) has_places: bool,
    pub(super) pieces: TokenPieces,
}

/// A message of the loop.
#[derive(Deserialize)]
struct LoopMessage<'a> {
    id: Option<String>,
    method: String,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// The socket is over.
pub(super) struct SocketEnded;

type SocketWritten = Result<(), SocketEnded>;

/// See the module.
pub(super) struct SocketWriter {
    sink: SplitSink<WebSocket, Message>,
    counts: Arc<Counts>,
    window: Arc<ReadWindow>,
    pace: ReadingPace,
    hearing: Option<HeardSession>,
}

/// How the client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadingPace {
    /// It has read enough to be told more.
    Follows,
    /// It has not, since then.
    Behind(Instant),
    /// It has not, and was told so.
    Warned,
}

/// What there is once the handshake is done.
struct HeardSession {
    link: Arc<SessionLink>,
    outbox: Arc<SocketOutbox>,
    translator: Translator,
    resume: Option<Resume>,
    has_places: bool,
    /// When a piece that waits is told as it is.
    quiet_at: Option<Instant>,
}

impl SocketWriter {
    pub(super) fn new(
        sink: SplitSink<WebSocket, Message>,
        counts: Arc<Counts>,
        window: Arc<ReadWindow>,
    ) -> Self {
        Self { sink, counts, window, pace: ReadingPace::Follows, hearing: None }
    }

    /// Writes until the end.
    pub(super) async fn run(mut self, mut ahead: mpsc::Receiver<Ahead>, mut stop: watch::Receiver<bool>) {
        let mut ping = tokio::time::interval(PING);
        ping.reset();
        loop {
            let written = tokio::select! {
                biased;
                () = ended(&mut stop) => {
                    self.close(GOING_AWAY, "The host ends; connect again when it is back.").await;
                    return;
                }
                next = ahead.recv() => match next {
                    Some(Ahead::Say(message)) => self.say(&message).await,
                    Some(Ahead::Begin(begun)) => self.begin(*begun).await,
                    Some(Ahead::Close(code, reason)) => {
                        self.close(code, reason).await;
                        return;
                    }
                    // The reader is gone, and with it the socket.
                    None => return,
                },
                _ = ping.tick() => self.send(Message::Ping(axum::body::Bytes::new())).await,
                woken = woken(self.hearing.as_ref(), &self.window, self.pace) => match woken {
                    Woken::Message => self.tell().await,
                    Woken::Others => self.state().await,
                    Woken::Quiet => self.tell_pieces().await,
                    Woken::Behind => self.warn().await,
                },
            };
            if written.is_err() {
                return;
            }
        }
    }

    async fn begin(&mut self, begun: Begun) -> SocketWritten {
        let Begun { link, outbox, selected, beginning, has_places, pieces } = begun;
        let (mut translator, page) = Translator::begin(&selected.view, pieces);
        let wanted = PermissionListParams { session_id: Some(link.session_id.clone()), tab_id: None };
        // What waits may stand on an older page of the transcript.
        let listed: Option<PermissionListResult> = link.ask(Request::PermissionList(wanted)).await.ok();
        let pending = listed.map(|listed| listed.pending).unwrap_or_default();
        pending.iter().for_each(|pending| translator.waits(&pending.permission));
        let hearing = HeardSession { link, outbox, translator, resume: None, has_places, quiet_at: None };
        self.hearing = Some(hearing);
        let resume = match beginning {
            HearingFrom::Page(resume) => resume,
            HearingFrom::Replay { behind, dialect, resume } => {
                match self.replay((behind, dialect, pieces), &selected.view).await? {
                    // What waits was told with it, or is known.
                    Ok(()) => {
                        self.resumed(Some(resume));
                        return self.state().await;
                    }
                    Err(refusal) => Some(lost(&refusal.message)),
                }
            }
        };
        self.resumed(resume);
        self.pass_on(page).await?;
        for pending in pending {
            self.ask(pending.permission).await?;
        }
        self.state().await
    }

    fn resumed(&mut self, resume: Option<Resume>) {
        self.hearing.as_mut().into_iter().for_each(|hearing| hearing.resume = resume.clone());
    }

    /// What followed what the client has. `Ok(Err(…))`: it could not be read to its end.
    async fn replay(
        &mut self,
        (behind, dialect, pieces): (u64, Dialect, TokenPieces),
        view: &View,
    ) -> Result<Result<(), DesktopRefusal>, SocketEnded> {
        let Some(link) = self.hearing.as_ref().map(|hearing| Arc::clone(&hearing.link)) else {
            return Ok(Ok(()));
        };
        let mut replay = match EventReplay::open(link, (dialect, pieces), behind, view).await {
            Ok(replay) => replay,
            Err(refusal) => return Ok(Err(refusal)),
        };
        loop {
            // No more than a window of what the client has not read, here too.
            let opened = tokio::time::timeout(LONGEST_WRITE, self.window.opens()).await;
            opened.map_err(|_| SocketEnded)?;
            match replay.read().await {
                Ok(Some(mut told)) => {
                    // How the session stands is said once, behind all of it.
                    told.retain(|told| *told != ClientNews::State);
                    self.pass_on(told).await?;
                }
                Ok(None) => return Ok(Ok(())),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    }

    /// The next message of the loop.
    async fn tell(&mut self) -> SocketWritten {
        let Some(hearing) = &mut self.hearing else { return Ok(()) };
        let Some(message) = hearing.outbox.take() else { return Ok(()) };
        let mut told = Vec::new();
        match serde_json::from_slice::<LoopMessage<'_>>(&message) {
            Ok(message) => hearing.take(&message, &mut told),
            Err(error) => tracing::error!(%error, "a message of the loop could not be read"),
        }
        hearing.quiet_at = hearing.translator.owes().map(|length| {
            let share = length as f64 / REPEATED as f64;
            Instant::now() + QUIET.max(Duration::from_secs_f64(share))
        });
        let is_behind = |news: &ClientNews| match news {
            ClientNews::Message(message) => {
                matches!(**message, HostMessage::Snapshot { reason: SnapshotReason::Behind, .. })
            }
            ClientNews::Ask(_) | ClientNews::Settled(..) | ClientNews::State | ClientNews::UpTo(_) => false,
        };
        // Whatever came between: nobody gets a snapshot unwarned.
        if told.iter().any(is_behind) && self.pace != ReadingPace::Warned {
            self.warn().await?;
        }
        self.pass_on(told).await?;
        if self.pace != ReadingPace::Follows && self.window.is_open() && !self.has_waiting() {
            self.pace = ReadingPace::Follows;
        }
        Ok(())
    }

    fn has_waiting(&self) -> bool {
        self.hearing.as_ref().is_some_and(|hearing| hearing.outbox.waits())
    }

    async fn tell_pieces(&mut self) -> SocketWritten {
        let Some(hearing) = &mut self.hearing else { return Ok(()) };
        hearing.quiet_at = None;
        let mut told = Vec::new();
        hearing.translator.tell_pieces(&mut told);
        told.push(ClientNews::UpTo(hearing.translator.cursor.seq));
        self.pass_on(told).await
    }

    async fn warn(&mut self) -> SocketWritten {
        count(&self.counts.slow_warnings);
        self.pace = ReadingPace::Warned;
        let message =
            "This client reads too slowly; what it misses will be replaced by a snapshot.".to_owned();
        let code = Some("slow_client".to_owned());
        self.say(&HostMessage::Notice { level: NoticeLevel::Warning, message, code }).await
    }

    async fn pass_on(&mut self, told: Vec<ClientNews>) -> SocketWritten {
        let mut is_changed = false;
        let mut together = Vec::new();
        for told in told {
            match told {
                ClientNews::Message(message) => {
                    if matches!(*message, HostMessage::Snapshot { .. }) {
                        count(&self.counts.snapshots);
                    }
                    together.push(*message);
                }
                ClientNews::Ask(permission) => together.extend(self.asked(*permission).await),
                ClientNews::Settled(request_id, status) => {
                    let workspace = self.hearing.as_ref().map(|hearing| Arc::clone(&hearing.link.workspace));
                    let by = match workspace {
                        Some(workspace) => workspace.attendance.settled_by(&request_id).await,
                        None => None,
                    };
                    together.push(HostMessage::ApprovalSettled { request_id, status, by });
                }
                ClientNews::State => is_changed = true,
                ClientNews::UpTo(seq) => self.say_up_to(std::mem::take(&mut together), seq).await?,
            }
        }
        for message in &together {
            self.say(message).await?;
        }
        if is_changed { self.state().await } else { Ok(()) }
    }

    /// Messages that belong together, and with which everything up to this event was told.
    async fn say_up_to(&mut self, messages: Vec<HostMessage>, seq: u64) -> SocketWritten {
        let epoch = self.hearing.as_ref().filter(|hearing| hearing.has_places);
        let position =
            epoch.map(|hearing| SessionCursor { epoch: hearing.translator.cursor.epoch.clone(), seq });
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.iter().enumerate() {
            let Some(position) = &position else {
                self.say(message).await?;
                continue;
            };
            let place =
                if at == last { MessagePlace::At { position } } else { MessagePlace::Within { more: true } };
            self.say_text(&PlacedMessage { message, place }).await?;
        }
        Ok(())
    }

    async fn ask(&mut self, permission: Permission) -> SocketWritten {
        for message in self.asked(permission).await {
            self.say(&message).await?;
        }
        Ok(())
    }

    async fn asked(&self, permission: Permission) -> Vec<HostMessage> {
        match &self.hearing {
            Some(hearing) => proposal::messages(&hearing.link, permission).await,
            None => Vec::new(),
        }
    }

    /// `session.state`.
    async fn state(&mut self) -> SocketWritten {
        let Some(hearing) = &mut self.hearing else { return Ok(()) };
        let wanted = PatchListParams { session_id: Some(hearing.link.session_id.clone()), tab_id: None };
        let listed: Option<PatchListResult> = hearing.link.ask(Request::PatchList(wanted)).await.ok();
        let patches = listed.map(|listed| listed.patches).unwrap_or_default();
        let translator = &hearing.translator;
        let waits = |request_id: &String| translator.pending.contains(request_id);
        let named = |is_wanted: &dyn Fn(&crate::protocol::patch::PatchSummary) -> bool| {
            let wanted = patches.iter().filter(|patch| is_wanted(patch));
            wanted.map(|patch| patch.patch_id.clone()).collect()
        };
        let state = HostedState {
            pending_patches: named(&|patch| waits(&patch.request_id)),
            applied_patches: named(&|patch| patch.is_applied()),
            pending_approvals: translator.pending.iter().cloned().collect(),
            current_step: translator.plan.0,
            total_steps: translator.plan.1,
            running: translator.running,
            cursor: translator.cursor.clone(),
            clients: hearing.link.workspace.attendance.of(&hearing.link.session_id),
            resume: hearing.resume.take(),
        };
        self.say(&HostMessage::State { state }).await
    }

    async fn say(&mut self, message: &HostMessage) -> SocketWritten {
        if matches!(message, HostMessage::Snapshot { .. }) {
            count(&self.counts.snapshots);
        }
        self.say_text(message).await
    }

    async fn say_text(&mut self, message: &impl Serialize) -> SocketWritten {
        let Ok(text) = serde_json::to_string(message) else {
            tracing::error!("a message could not be written");
            return Ok(());
        };
        count(&self.counts.messages_out);
        self.counts.bytes_out.fetch_add(text.len() as u64, std::sync::atomic::Ordering::Relaxed);
        let length = text.len();
        self.send(Message::Text(text.into())).await?;
        if let Some(mark) = self.window.wrote(length) {
            self.send(Message::Ping(axum::body::Bytes::copy_from_slice(&mark))).await?;
        }
        if self.pace == ReadingPace::Follows && !self.window.is_open() {
            self.pace = ReadingPace::Behind(Instant::now() + PATIENCE);
        }
        Ok(())
    }

    async fn send(&mut self, message: Message) -> SocketWritten {
        match tokio::time::timeout(LONGEST_WRITE, self.sink.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(SocketEnded),
        }
    }

    async fn close(&mut self, code: u16, reason: &'static str) {
        // Whoever is closed need not read it; the host does not wait.
        let frame = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let _ = tokio::time::timeout(Duration::from_secs(1), self.sink.send(frame)).await;
    }
}

impl HeardSession {
    fn take(&mut self, message: &LoopMessage<'_>, told: &mut Vec<ClientNews>) {
        let params = message.params.get();
        match (message.method.as_str(), &message.id) {
            ("bb/view", _) => {
                if let Ok(params) = serde_json::from_str(params) {
                    let before = self.translator.cursor.seq;
                    told.extend(self.translator.view(params));
                    let now = self.translator.cursor.seq;
                    // A piece that waits to be a larger one is not told yet.
                    let is_told = now > before && self.translator.owes().is_none();
                    told.extend(is_told.then_some(ClientNews::UpTo(now)));
                }
            }
            ("bb/events", _) => {
                if let Ok(params) = serde_json::from_str(params) {
                    told.extend(self.translator.events(&params));
                }
            }
            ("bb/connection", _) => told.extend(connection(params)),
            ("window/showMessage", _) => told.extend(sentence(params)),
            (CONTEXT_PROVIDE, Some(id)) => {
                let context = serde_json::to_value(&*self.link.context()).unwrap_or_default();
                self.answer(id, Ok(context));
            }
            (_, Some(id)) => {
                self.answer(id, Err(json!({ "message": "this client cannot do that" })));
            }
            (_, None) => {}
        }
    }

    fn answer(&self, id: &str, outcome: Result<Value, Value>) {
        let answered = EditorEvent::Answered { id: id.to_owned(), outcome };
        if self.link.client().tell(answered).is_err() {
            tracing::warn!("the loop took no answer of a socket");
        }
    }
}

/// What a writer goes on for.
enum Woken {
    /// The loop told something, and the client has read enough of what came before.
    Message,
    /// Another client came or left.
    Others,
    /// No more of a piece came.
    Quiet,
    /// Messages wait, and the client has not read for too long.
    Behind,
}

async fn woken(hearing: Option<&HeardSession>, window: &ReadWindow, pace: ReadingPace) -> Woken {
    let Some(hearing) = hearing else { return std::future::pending().await };
    let message = async {
        hearing.outbox.wait().await;
        window.opens().await;
    };
    let behind = async {
        match pace {
            ReadingPace::Behind(until) => {
                // A message is seen here only while it waits for the window.
                hearing.outbox.wait().await;
                sleep_until(until).await;
            }
            ReadingPace::Follows | ReadingPace::Warned => std::future::pending().await,
        }
    };
    let quiet = async {
        match hearing.quiet_at {
            Some(at) => {
                sleep_until(at).await;
                window.opens().await;
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = message => Woken::Message,
        () = hearing.link.others_changed.notified() => Woken::Others,
        () = quiet => Woken::Quiet,
        () = behind => Woken::Behind,
    }
}

fn notice(level: NoticeLevel, message: String) -> ClientNews {
    ClientNews::Message(Box::new(HostMessage::Notice { level, message, code: None }))
}

fn connection(params: &str) -> Option<ClientNews> {
    let news: crate::protocol::notification::ConnectionParams = serde_json::from_str(params).ok()?;
    let is_bad = news.status == ConnectionStatus::Error || news.gap_detected == Some(true);
    let why = news.last_error.or_else(|| news.resume.and_then(|resume| resume.reason));
    is_bad.then(|| {
        notice(NoticeLevel::Error, why.unwrap_or_else(|| "The engine cannot be reached.".to_owned()))
    })
}

fn sentence(params: &str) -> Option<ClientNews> {
    #[derive(Deserialize)]
    struct Shown {
        #[serde(rename = "type")]
        kind: u64,
        message: String,
    }
    let shown: Shown = serde_json::from_str(params).ok()?;
    let level = match shown.kind {
        1 => NoticeLevel::Error,
        2 => NoticeLevel::Warning,
        _ => NoticeLevel::Info,
    };
    Some(notice(level, shown.message))
}

/// A refusal as a message.
pub(super) fn refused(error: DesktopRefusal) -> Ahead {
    Ahead::Say(Box::new(HostMessage::Error { error }))
}
