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
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::counts::{Counts, count};
use super::flow::ReadWindow;
use super::heard_session::HeardSession;
use super::host::ended;
use super::link::SessionLink;
use super::outbox::SocketOutbox;
use super::proposal;
use super::replay::HearingFrom;
use super::translate::{ClientNews, TokenPieces};
use crate::domain::approval::Permission;
use crate::domain::fact::NoticeLevel;
use crate::protocol::Request;
use crate::protocol::desktop::host_message::{
    HostMessage, HostedState, MessagePlace, PlacedMessage, SessionCursor, SnapshotReason,
};
use crate::protocol::desktop::refusal::DesktopRefusal;
use crate::protocol::patch::{PatchListParams, PatchListResult, PatchSummary};
use crate::protocol::request::SelectSessionResult;

/// How long a client may take to read one message. Past it the socket is as good as dead.
pub(super) const LONGEST_WRITE: Duration = Duration::from_secs(30);

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

/// The socket is over.
pub(super) struct SocketEnded;

pub(super) type SocketWritten = Result<(), SocketEnded>;

/// See the module.
pub(super) struct SocketWriter {
    sink: SplitSink<WebSocket, Message>,
    counts: Arc<Counts>,
    pub(super) window: Arc<ReadWindow>,
    pace: ReadingPace,
    pub(super) hearing: Option<HeardSession>,
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

    /// The next message of the loop.
    async fn tell(&mut self) -> SocketWritten {
        let Some(hearing) = &mut self.hearing else { return Ok(()) };
        let Some(told) = hearing.next() else { return Ok(()) };
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

    pub(super) async fn pass_on(&mut self, told: Vec<ClientNews>) -> SocketWritten {
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
                ClientNews::Settled(request_id, status, by) => {
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

    pub(super) async fn ask(&mut self, permission: Permission) -> SocketWritten {
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
    pub(super) async fn state(&mut self) -> SocketWritten {
        let Some(hearing) = &mut self.hearing else { return Ok(()) };
        let wanted = PatchListParams { session_id: Some(hearing.link.session_id.clone()), tab_id: None };
        let listed: Option<PatchListResult> = hearing.link.ask(Request::PatchList(wanted)).await.ok();
        let patches = listed.map(|listed| listed.patches).unwrap_or_default();
        let translator = &hearing.translator;
        let waits = |request_id: &String| translator.pending.contains(request_id);
        let named = |is_wanted: &dyn Fn(&PatchSummary) -> bool| {
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

/// A refusal as a message.
pub(super) fn refused(error: DesktopRefusal) -> Ahead {
    Ahead::Say(Box::new(HostMessage::Error { error }))
}
