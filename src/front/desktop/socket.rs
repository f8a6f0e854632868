//! One socket: its handshake, and every message of its client in its order.
//!
//! Owns the reader. Bad input is answered with `server.error` and the socket lives on; only what breaks the WebSocket itself
//! closes it, and never with 1011. Never waits for a turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{Message, WebSocket};
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::counts::count;
use super::flow::ReadWindow;
use super::hear::{hear, read};
use super::host::{DesktopHost, HostedWorkspace};
use super::link::SessionLink;
use super::loop_client::LoopClient;
use super::model_routes::named;
use super::outbox::SocketOutbox;
use super::rate::RateLimit;
use super::replay::{ClientHas, HearingFrom};
use super::translate::TokenPieces;
use super::writer::{Ahead, Begun, GOING_AWAY, SocketWriter, refused};
use crate::app::inbox::EditorAbilities;
use crate::domain::approval::NamedClient;
use crate::domain::dialect::desktop::message::{ModelInfo, ServerInfo};
use crate::protocol::Request;
use crate::protocol::desktop::PROTOCOL_VERSION;
use crate::protocol::desktop::client_message::{ClientInfo, ClientMessage};
use crate::protocol::desktop::host_message::HostMessage;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};
use crate::protocol::request::{InitParams, InitResult, SelectSessionResult, SessionParams, Subscribe};
use crate::protocol::version::SERVER_VERSION;

/// Bytes of one message of a client: a prompt with its context fits several times.
pub(super) const MESSAGE_BYTES: usize = 1 << 20;

/// Bytes from which on the socket is closed with 1009.
const CLOSING_BYTES: usize = 4 << 20;

/// Bytes from which on a message is not even read to its end. A client that is still sending hears no code then: so that of one
/// that is not far past the bound above, which is read, is heard.
pub(super) const FRAME_BYTES: usize = 8 << 20;

/// How long the handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// How long a client may say nothing at all, not even the answer to a ping.
const SILENCE: Duration = Duration::from_secs(60);

/// Messages at once and a second.
const MESSAGES: (u32, u32) = (200, 50);

/// What the reader wants said and the writer has not said yet. Past it the reader waits, and with it the client.
const AHEAD: usize = 64;

/// Answers of one client that are on their way to the engine. A person gives them one by one.
const ANSWERS: usize = 32;

/// A client that says this puts the pieces of an answer together itself.
const PIECES: &str = "token_pieces";

/// What the others are told of a client that gives itself no name.
const NAMELESS: &str = "a client";

const TOO_BIG: u16 = 1009;
const POLICY: u16 = 1008;
const UNREADABLE: u16 = 1007;

/// Serves one socket until it ends.
pub(super) async fn serve(
    socket: WebSocket,
    host: Arc<DesktopHost>,
    workspace: Arc<HostedWorkspace>,
    session_id: String,
    place: OwnedSemaphorePermit,
) {
    let (sink, messages) = socket.split();
    let (ahead, to_say) = mpsc::channel(AHEAD);
    let window = Arc::new(ReadWindow::default());
    let writer = SocketWriter::new(sink, Arc::clone(&host.counts), Arc::clone(&window));
    let writer = tokio::spawn(writer.run(to_say, host.stop.clone()));
    count(&host.counts.sockets_opened);
    count(&host.counts.sockets);
    let answers = Arc::new(Semaphore::new(ANSWERS));
    let mut reader =
        SocketReader { host: Arc::clone(&host), workspace, session_id, ahead, link: None, answers, window };
    let writes = reader.ahead.clone();
    let code = tokio::select! {
        code = reader.run(messages) => code,
        // The client took nothing for too long, or the host ends.
        () = writes.closed() => None,
    };
    drop(writes);
    if let Some((code, reason)) = code {
        // A writer that is gone needs no word.
        let _ = reader.ahead.send(Ahead::Close(code, reason)).await;
    }
    drop(reader);
    let _ = writer.await;
    host.counts.sockets.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    drop(place);
}

struct SocketReader {
    host: Arc<DesktopHost>,
    workspace: Arc<HostedWorkspace>,
    session_id: String,
    ahead: mpsc::Sender<Ahead>,
    link: Option<Arc<SessionLink>>,
    /// Answers that the engine has not heard yet: an engine that is slow to take one holds up neither the next answer nor a stop.
    answers: Arc<Semaphore>,
    /// How much the client has read.
    window: Arc<ReadWindow>,
}

type SocketClose = Option<(u16, &'static str)>;

impl SocketReader {
    /// Reads until the end; how it is to be closed, if it is still open.
    async fn run(&mut self, mut messages: futures::stream::SplitStream<WebSocket>) -> SocketClose {
        match self.greet().await {
            Ok(hello) => self.say(hello).await?,
            Err(error) => self.refuse(error).await?,
        }
        let begun = Instant::now();
        let rate = RateLimit::new(MESSAGES.0, MESSAGES.1);
        loop {
            let patience = match self.link {
                Some(_) => SILENCE,
                None => HANDSHAKE.saturating_sub(begun.elapsed()),
            };
            let next = tokio::time::timeout(patience, messages.next()).await;
            let text = match next {
                Err(_) if self.link.is_some() => return Some((GOING_AWAY, "Nothing came for a minute.")),
                Err(_) => return Some((POLICY, "The handshake did not come.")),
                Ok(None) => return None,
                Ok(Some(Err(error))) => return Some(broken(&error)),
                Ok(Some(Ok(Message::Text(text)))) => Some(text),
                Ok(Some(Ok(Message::Binary(_)))) => None,
                Ok(Some(Ok(Message::Close(_)))) => return None,
                Ok(Some(Ok(Message::Ping(_)))) => continue,
                Ok(Some(Ok(Message::Pong(words)))) => {
                    self.window.answered(&words);
                    continue;
                }
            };
            count(&self.host.counts.messages_in);
            if text.as_ref().is_some_and(|text| text.len() > CLOSING_BYTES) {
                return Some((TOO_BIG, "A message was too large."));
            }
            let heard = match text {
                _ if !rate.take() => Err(DesktopRefusal::new(
                    RefusalCode::RateLimited,
                    "Too many messages came, and this one was not taken; send it again in a second.",
                )),
                Some(text) if text.len() > MESSAGE_BYTES => Err(DesktopRefusal::new(
                    RefusalCode::TooLarge,
                    format!("The message has more than {MESSAGE_BYTES} bytes; send less."),
                )),
                Some(text) => self.hear(&text).await,
                None => Err(DesktopRefusal::new(
                    RefusalCode::BadMessage,
                    "A message is a text, not binary; send JSON as text.",
                )),
            };
            match heard {
                Ok(None) => {}
                Ok(Some(answer)) => self.say(answer).await?,
                Err(error) => self.refuse(error).await?,
            }
        }
    }

    /// `None`: the writer is gone, and with it the socket. So `?` ends the reader.
    async fn say(&self, message: HostMessage) -> Option<()> {
        self.ahead.send(Ahead::Say(Box::new(message))).await.ok()
    }

    async fn refuse(&self, error: DesktopRefusal) -> Option<()> {
        count(&self.host.counts.bad_messages);
        self.ahead.send(refused(error)).await.ok()
    }

    /// `server.hello`: this side speaks first, and the client may have (ruling 13).
    async fn greet(&self) -> Result<HostMessage, DesktopRefusal> {
        let deaf =
            Subscribe { events: Some(false), view: Some(false), tabs: Some(false), max_latency_ms: None };
        let init = InitParams { subscribe: Some(deaf), last_seen: None };
        let known: InitResult = self.workspace.ask(Request::Init(init)).await?;
        let (provider, model_name) = named(&known.engine);
        let kind = known.engine.kind.as_str().to_owned();
        let mut capabilities = vec![
            "multi_file_edit",
            "host_applies_patches",
            "host_runs_commands",
            "session_replay",
            "hunk_decisions",
        ];
        if known.engine.kind == crate::protocol::settings::EngineKind::Embedded {
            capabilities.insert(0, "agentic_rag");
        }
        Ok(HostMessage::Hello {
            server_info: ServerInfo {
                version: SERVER_VERSION.to_owned(),
                model: ModelInfo {
                    provider: if model_name.is_some() { provider.unwrap_or(kind) } else { "none".to_owned() },
                    model_name: model_name.unwrap_or_default(),
                    capabilities: vec!["chat".to_owned()],
                },
                capabilities: capabilities.into_iter().map(str::to_owned).collect(),
            },
            protocol_version: PROTOCOL_VERSION.to_owned(),
        })
    }

    async fn hear(&mut self, text: &str) -> Result<Option<HostMessage>, DesktopRefusal> {
        let message = read(text)?;
        match (&self.link, message) {
            (Some(link), message @ ClientMessage::ApprovalResponse { .. }) => {
                let place = Arc::clone(&self.answers).try_acquire_owned().map_err(|_| {
                    DesktopRefusal::new(
                        RefusalCode::RateLimited,
                        "Too many answers are on their way to the engine, and this one was not taken; give it again when some are settled.",
                    )
                })?;
                let (link, ahead, counts) =
                    (Arc::clone(link), self.ahead.downgrade(), Arc::clone(&self.host.counts));
                tokio::spawn(async move {
                    // Of a socket that is gone nobody reads it.
                    if let Err(error) = hear(&link, message).await
                        && let Some(ahead) = ahead.upgrade()
                    {
                        count(&counts.bad_messages);
                        let _ = ahead.send(refused(error)).await;
                    }
                    drop(place);
                });
                Ok(None)
            }
            (Some(link), message) => hear(link, message).await,
            (None, ClientMessage::Hello { client_info, protocol_version, last_seen, replay }) => {
                let has = ClientHas { last_seen, replay };
                self.attach(client_info, protocol_version, has).await.map(|()| None)
            }
            (None, ClientMessage::Ping {}) => Ok(Some(HostMessage::Pong { timestamp: super::hear::now() })),
            (None, _) => Err(DesktopRefusal::new(
                RefusalCode::HelloRequired,
                "The handshake is missing, and this message was not taken; send `client.hello` first.",
            )),
        }
    }

    /// The handshake: from here on the socket is a client of the loop.
    async fn attach(
        &mut self,
        info: ClientInfo,
        version: Option<String>,
        has: ClientHas,
    ) -> Result<(), DesktopRefusal> {
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        if version.as_deref().is_some_and(|version| major(version) != major(PROTOCOL_VERSION)) {
            return Err(DesktopRefusal::new(
                RefusalCode::VersionMismatch,
                format!(
                    "This host speaks version {PROTOCOL_VERSION}; use a client of the same first number."
                ),
            )
            .with("supported_versions", vec![PROTOCOL_VERSION]));
        }
        let nameless = || NamedClient { name: NAMELESS.to_owned(), version: String::new() };
        let named = NamedClient::said(&info.name, &info.version).unwrap_or_else(nameless);
        let inbox = &self.workspace.inbox;
        let id = inbox.name_client();
        let outbox = Arc::new(SocketOutbox::new(inbox.clone(), id));
        let abilities = EditorAbilities { context_provide: true, ..EditorAbilities::default() };
        let start = self.workspace.start_up(Some(named.clone()), abilities);
        let client = LoopClient::connect(inbox, id, outbox.clone(), start)?;
        let (known, resume) = has.tell(&client, &self.session_id).await?;
        let session = SessionParams { session_id: self.session_id.clone() };
        let selected: SelectSessionResult = client.ask(Request::SelectSession(session)).await?;
        let link =
            SessionLink::new(Arc::clone(&self.workspace), self.session_id.clone(), (id, client), named);
        let link = Arc::new(link);
        self.link = Some(Arc::clone(&link));
        let summary = known.sessions.iter().find(|session| session.session_id == self.session_id);
        let dialect = summary.and_then(|session| session.engine).unwrap_or(known.engine.kind).dialect();
        let has_places = has.replay;
        let beginning = HearingFrom::of(&has, resume, dialect, &selected.view);
        let alone = info.capabilities.iter().any(|word| word == PIECES);
        let pieces = if alone { TokenPieces::Alone } else { TokenPieces::WithAllSoFar };
        let begun = Begun { link, outbox, selected, beginning, has_places, pieces };
        // Without a writer the next message ends the reader.
        let _ = self.ahead.send(Ahead::Begin(Box::new(begun))).await;
        Ok(())
    }
}

/// How a socket is closed that cannot be read on.
fn broken(error: &axum::Error) -> (u16, &'static str) {
    let words = error.to_string().to_lowercase();
    if words.contains("too long") || words.contains("too big") || words.contains("capacity") {
        (TOO_BIG, "A message was too large.")
    } else if words.contains("utf") {
        (UNREADABLE, "A text was not UTF-8.")
    } else {
        (1002, "What came was no WebSocket message.")
    }
}
