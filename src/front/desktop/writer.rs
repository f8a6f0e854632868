//! The one writer of a socket: what the reader wants said first, then what the loop tells, translated.
//!
//! Owns the order, pings, the time that a client may take to read, and the close. Never keeps more than the outbox holds: a
//! client that takes nothing for too long is let go, and finds everything when it comes back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures::SinkExt;
use futures::stream::SplitSink;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::counts::{Counts, count};
use super::host::ended;
use super::link::SessionLink;
use super::outbox::SocketOutbox;
use super::proposal;
use super::replay::{EventReplay, HearingFrom, lost};
use super::translate::{ClientNews, Translator};
use crate::app::inbox::EditorEvent;
use crate::domain::approval::Permission;
use crate::domain::dialect::Dialect;
use crate::domain::fact::NoticeLevel;
use crate::domain::view::View;
use crate::protocol::Request;
use crate::protocol::context::CONTEXT_PROVIDE;
use crate::protocol::desktop::host_message::{
    HostMessage, HostedState, MessagePlace, PlacedMessage, SessionCursor,
};
use crate::protocol::desktop::refusal::DesktopRefusal;
use crate::protocol::patch::{PatchListParams, PatchListResult};
use crate::protocol::permission::{PermissionListParams, PermissionListResult};
use crate::protocol::request::{ConnectionStatus, Resume, SelectSessionResult};

/// How long a client may take to read one message. Past it the socket is as good as dead.
const LONGEST_WRITE: Duration = Duration::from_secs(30);

/// How often a client is asked whether it is there.
const PING: Duration = Duration::from_secs(20);

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
    hearing: Option<HeardSession>,
}

/// What there is once the handshake is done.
struct HeardSession {
    link: Arc<SessionLink>,
    outbox: Arc<SocketOutbox>,
    translator: Translator,
    resume: Option<Resume>,
    has_places: bool,
}

impl SocketWriter {
    pub(super) fn new(sink: SplitSink<WebSocket, Message>, counts: Arc<Counts>) -> Self {
        Self { sink, counts, hearing: None }
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
                woken = woken(self.hearing.as_ref()) => match woken {
                    Woken::Messages => self.tell().await,
                    Woken::Others => self.state().await,
                },
            };
            if written.is_err() {
                return;
            }
        }
    }

    async fn begin(&mut self, begun: Begun) -> SocketWritten {
        let Begun { link, outbox, selected, beginning, has_places } = begun;
        let (mut translator, page) = Translator::begin(&selected.view);
        let wanted = PermissionListParams { session_id: Some(link.session_id.clone()), tab_id: None };
        // What waits may stand on an older page of the transcript.
        let listed: Option<PermissionListResult> = link.ask(Request::PermissionList(wanted)).await.ok();
        let pending = listed.map(|listed| listed.pending).unwrap_or_default();
        pending.iter().for_each(|pending| translator.waits(&pending.permission));
        self.hearing = Some(HeardSession { link, outbox, translator, resume: None, has_places });
        let resume = match beginning {
            HearingFrom::Page(resume) => resume,
            HearingFrom::Replay { behind, dialect, resume } => {
                match self.replay(behind, dialect, &selected.view).await? {
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
        behind: u64,
        dialect: Dialect,
        view: &View,
    ) -> Result<Result<(), DesktopRefusal>, SocketEnded> {
        let Some(link) = self.hearing.as_ref().map(|hearing| Arc::clone(&hearing.link)) else {
            return Ok(Ok(()));
        };
        let mut replay = match EventReplay::open(link, dialect, behind, view).await {
            Ok(replay) => replay,
            Err(refusal) => return Ok(Err(refusal)),
        };
        loop {
            match replay.read().await {
                Ok(Some(mut told)) => {
                    // How the session stands is said once, behind all of it.
                    told.retain(|told| *told != ClientNews::State);
                    self.pass_on(joined(told)).await?;
                }
                Ok(None) => return Ok(Ok(())),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    }

    /// Everything that the loop told since the last time.
    async fn tell(&mut self) -> SocketWritten {
        let Some(hearing) = &self.hearing else { return Ok(()) };
        let taken = hearing.outbox.take();
        if taken.is_slow {
            count(&self.counts.slow_warnings);
            self.say(&HostMessage::Notice {
                level: NoticeLevel::Warning,
                message: "This client reads too slowly; what it misses will be replaced by a snapshot."
                    .to_owned(),
                code: Some("slow_client".to_owned()),
            })
            .await?;
        }
        let told = self.translated(taken.messages);
        self.pass_on(told).await
    }

    fn translated(&mut self, messages: VecDeque<Vec<u8>>) -> Vec<ClientNews> {
        let Some(hearing) = &mut self.hearing else { return Vec::new() };
        let mut told = Vec::new();
        for message in messages {
            let Ok(message) = serde_json::from_slice::<LoopMessage<'_>>(&message) else {
                tracing::error!("a message of the loop could not be read");
                continue;
            };
            hearing.take(&message, &mut told);
        }
        joined(told)
    }

    async fn pass_on(&mut self, told: Vec<ClientNews>) -> SocketWritten {
        let mut is_changed = false;
        let mut together = Vec::new();
        for told in told {
            match told {
                ClientNews::Message(message) => together.push(*message),
                ClientNews::Ask(permission) => together.extend(self.asked(*permission).await),
                ClientNews::Settled(request_id, status) => {
                    let by = self
                        .hearing
                        .as_ref()
                        .and_then(|hearing| hearing.link.workspace.attendance.answered_by(&request_id));
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
        self.send(Message::Text(text.into())).await
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
                    told.extend((now > before).then_some(ClientNews::UpTo(now)));
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
    /// The loop told something.
    Messages,
    /// Another client came or left.
    Others,
}

async fn woken(hearing: Option<&HeardSession>) -> Woken {
    let Some(hearing) = hearing else { return std::future::pending().await };
    tokio::select! {
        () = hearing.outbox.wait() => Woken::Messages,
        () = hearing.link.others_changed.notified() => Woken::Others,
    }
}

/// Tokens that wait behind one another go as one: `cumulative_text` would else be sent for each.
fn joined(told: Vec<ClientNews>) -> Vec<ClientNews> {
    let mut joined: Vec<ClientNews> = Vec::with_capacity(told.len());
    for next in told {
        // One that goes with what follows is told with it.
        let follows =
            is_token(&next) && joined.len() > 1 && joined.get(joined.len() - 2).is_some_and(is_token);
        joined.pop_if(|last| follows && matches!(last, ClientNews::UpTo(_)));
        if let (Some(ClientNews::Message(last)), ClientNews::Message(message)) = (joined.last_mut(), &next)
            && let HostMessage::Token { token, cumulative_text } = &mut **last
            && let HostMessage::Token { token: more, cumulative_text: all } = &**message
        {
            token.push_str(more);
            cumulative_text.clone_from(all);
            continue;
        }
        joined.push(next);
    }
    joined
}

fn is_token(told: &ClientNews) -> bool {
    matches!(told, ClientNews::Message(message) if matches!(**message, HostMessage::Token { .. }))
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
