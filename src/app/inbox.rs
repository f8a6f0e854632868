//! What comes into the loop: one closed `Event`, one bounded `Inbox`, one `Reply` a request.
//!
//! Sending never awaits, so that a handler hands its command over before its first await and order is kept. The loop
//! reads the editor's and the engine's queues from two channels, so that a flood of tokens never delays a request.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::client::ClientId;
use super::ports::Outbox;
use crate::domain::edits::overlay::{ContentChange, PositionEncoding};
use crate::domain::policy::settings_secrets::SecretValues;
use crate::protocol::method::{Method, StandsFor};
use crate::protocol::settings::{InitializationOptions, Overrides, WorkspaceConfiguration};
use crate::protocol::{ErrorCode, Request, WireError};

/// How many editor events can wait for the loop. The loop answers in microseconds, so thousands waiting mean that it is stuck
/// or that a client floods it: requests are then refused with `overloaded`, and the reader of stdin waits with everything
/// else, so that nothing is dropped.
pub(crate) const EDITOR_BOUND: usize = 4_096;

/// Further places for what comes from our own side: finished file jobs, of which there are fewer than requests in flight,
/// drained outboxes, clients that come and go, and the end of the process. A flood of the editor's never takes them.
const OWN_BOUND: usize = 1_024;

/// Bytes of document text that can wait for the loop. A large buffer still goes when nothing else waits.
const TEXT_BOUND: usize = 8 << 20;

/// Engine reports that wait for the loop. Engines await a free place, which holds back their socket: nothing is lost. A report
/// may hold sixty-four events, so some thousands of events wait at most.
pub const ENGINE_BOUND: usize = 64;

/// Everything that can happen, but for engine reports and timers.
#[derive(Debug)]
pub enum Event {
    /// A client connected; everything else of it comes after this.
    ClientConnected {
        /// Its name.
        client: ClientId,
        /// What is sent to it.
        outbox: Arc<dyn Outbox>,
    },
    /// A client is gone; nothing of it comes after this.
    ClientGone {
        /// Its name.
        client: ClientId,
    },
    /// A `bb/*` request.
    Request {
        /// Who asks.
        client: ClientId,
        /// What is asked.
        request: Request,
        /// Where the answer goes.
        reply: EditorReply,
    },
    /// Standard LSP traffic.
    Editor {
        /// Whose.
        client: ClientId,
        /// What came.
        event: EditorEvent,
    },
    /// `shutdown`: settle and flush, then answer.
    Shutdown {
        /// Who asks.
        client: ClientId,
        /// Where the answer goes.
        reply: Reply<()>,
    },
    /// The process ends: flush, close the journal cleanly, then answer.
    Exit {
        /// Where the answer goes.
        reply: Reply<()>,
    },
    /// The outbox of a client has room again.
    OutboxDrained {
        /// Whose.
        client: ClientId,
    },
    /// A file job that the loop asked for is done.
    FileJobDone(super::ports::FileJobDone),
}

impl Event {
    /// Refuses a request that there is no room for; whatever else it is, it is dropped.
    pub fn refuse_overloaded(self) {
        let error = WireError::new(
            ErrorCode::Overloaded,
            "breadboard-ls is busy and took no more requests; try again in a moment.",
        );
        match self {
            Self::Request { reply, .. } => reply.refuse(error),
            Self::Shutdown { reply, .. } | Self::Exit { reply } => reply.refuse(error),
            Self::ClientConnected { .. }
            | Self::ClientGone { .. }
            | Self::Editor { .. }
            | Self::OutboxDrained { .. }
            | Self::FileJobDone(_) => {}
        }
    }
}

/// Standard LSP traffic, already read.
#[derive(Debug)]
pub enum EditorEvent {
    /// `initialize` was accepted.
    Initialize(Box<StartUp>),
    /// `initialized` came.
    Initialized,
    /// A document was opened, changed or closed.
    Document(DocumentEvent),
    /// `workspace/didChangeWorkspaceFolders`.
    FoldersChanged {
        /// Folders that came.
        added: Vec<Folder>,
        /// URIs that went.
        removed: Vec<String>,
    },
    /// The answer to `workspace/configuration`, or what `workspace/didChangeConfiguration` carried.
    Configuration(WorkspaceConfiguration),
    /// `workspace/didChangeConfiguration` without settings: ask for them.
    ConfigurationChanged,
    /// `bb/workspaceTrust`.
    WorkspaceTrust {
        /// Whether the user trusts the workspace.
        trusted: bool,
    },
    /// `window/workDoneProgress/cancel`.
    ProgressCancelled {
        /// The token.
        token: String,
    },
    /// The editor answered a request of ours.
    Answered {
        /// Id of our request.
        id: String,
        /// Its result, or the error object.
        outcome: Result<Value, Value>,
    },
}

/// Value of `$/setTrace`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceLevel {
    /// No `$/logTrace`.
    #[default]
    Off,
    /// One line a message.
    Messages,
    /// With details.
    Verbose,
}

/// One change of the overlay of open buffers.
#[derive(Debug)]
pub enum DocumentEvent {
    /// `textDocument/didOpen`.
    Opened {
        /// Document.
        uri: String,
        /// Its language.
        language_id: String,
        /// Its version.
        version: i64,
        /// Its whole text.
        text: String,
    },
    /// `textDocument/didChange`.
    Changed {
        /// Document.
        uri: String,
        /// Its version.
        version: i64,
        /// Changes in order.
        changes: Vec<ContentChange>,
    },
    /// `textDocument/didClose`.
    Closed {
        /// Document.
        uri: String,
    },
    /// A frame about this document could not be taken; its buffer is unknown until it is opened again. `None`: we cannot
    /// know which, so all are.
    Lost {
        /// Document.
        uri: Option<String>,
        /// Why.
        why: WhyLost,
    },
}

impl DocumentEvent {
    /// Bytes of text that it holds.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Opened { text, .. } => text.len(),
            Self::Changed { changes, .. } => changes.iter().map(|change| change.text.len()).sum(),
            Self::Closed { .. } | Self::Lost { .. } => 0,
        }
    }
}

/// Why the text of a buffer is not known any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLost {
    /// The message was larger than any may be; the reader told the user so.
    TooLarge,
    /// The message was not what LSP says.
    Unreadable,
    /// The loop took nothing for too long.
    Stuck,
}

/// A workspace folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its URI as the editor spells it.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Where it is, when it is a `file:` URI.
    pub path: Option<PathBuf>,
}

/// What the loop learns from `initialize`.
#[derive(Debug, Default)]
pub struct StartUp {
    /// Options of the editor.
    pub options: InitializationOptions,
    /// Environment and flags.
    pub overrides: Overrides,
    /// Folders in order.
    pub folders: Vec<Folder>,
    /// The negotiated encoding.
    pub encoding: PositionEncoding,
    /// What the editor can do.
    pub editor: EditorAbilities,
    /// `initialize.trace`.
    pub trace: TraceLevel,
    /// Secrets that stand in the options, by the rule of `domain::policy::settings_secrets`.
    pub secrets: SecretValues,
}

/// What the editor can do for us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditorAbilities {
    /// `window.workDoneProgress`.
    pub work_done_progress: bool,
    /// `workspace.applyEdit`.
    pub apply_edit: bool,
    /// `workspace.workspaceEdit.documentChanges`.
    pub document_changes: bool,
    /// `workspace.configuration`.
    pub configuration: bool,
    /// `workspace.didChangeConfiguration.dynamicRegistration`.
    pub register_configuration: bool,
    /// `experimental.breadboard.terminalRun`.
    pub terminal_run: bool,
}

/// The loop does not take more now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxFull;

/// The one way into the loop for editor events. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Inbox {
    editor: mpsc::Sender<Weighed>,
    text: Arc<AtomicUsize>,
    clients: Arc<AtomicU64>,
}

/// An event, and the bytes of text that it holds.
#[derive(Debug)]
struct Weighed {
    event: Event,
    bytes: usize,
}

/// The loop's end of the inbox.
#[derive(Debug)]
pub struct Events {
    editor: mpsc::Receiver<Weighed>,
    text: Arc<AtomicUsize>,
}

impl Events {
    /// The next event; `None` when there is no sender any more.
    pub async fn recv(&mut self) -> Option<Event> {
        self.editor.recv().await.map(|weighed| self.unpack(weighed))
    }

    /// The next event, for a thread without a runtime; `None` when there is no sender any more.
    #[cfg(test)]
    pub fn blocking_recv(&mut self) -> Option<Event> {
        self.editor.blocking_recv().map(|weighed| self.unpack(weighed))
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    fn unpack(&self, weighed: Weighed) -> Event {
        self.text.fetch_sub(weighed.bytes, Ordering::AcqRel);
        weighed.event
    }
}

impl Inbox {
    /// The inbox and the end that the loop reads.
    pub fn new() -> (Self, Events) {
        let (editor, receiver) = mpsc::channel(EDITOR_BOUND + OWN_BOUND);
        let text = Arc::new(AtomicUsize::new(0));
        let inbox = Self { editor, text: Arc::clone(&text), clients: Arc::default() };
        (inbox, Events { editor: receiver, text })
    }

    /// A name for a client that is about to connect. None is given twice.
    pub fn name_client(&self) -> ClientId {
        ClientId::numbered(self.clients.fetch_add(1, Ordering::Relaxed))
    }

    /// Hands an event of the editor over, now, or gives it back when there is no room.
    pub fn offer(&self, event: Event) -> Result<(), Box<Event>> {
        let bytes = text_of(&event);
        let waiting = self.text.load(Ordering::Acquire);
        if self.editor.capacity() <= OWN_BOUND || (waiting > 0 && waiting + bytes > TEXT_BOUND) {
            return Err(Box::new(event));
        }
        self.put(event, bytes)
    }

    /// Hands an event of our own side over, now. A request that does not fit is answered `overloaded` by its own `Reply`.
    pub fn send(&self, event: Event) -> Result<(), InboxFull> {
        let bytes = text_of(&event);
        self.put(event, bytes).map_err(|event| {
            event.refuse_overloaded();
            InboxFull
        })
    }

    /// Whether the loop is gone and will never take anything.
    pub fn is_closed(&self) -> bool {
        self.editor.is_closed()
    }

    fn put(&self, event: Event, bytes: usize) -> Result<(), Box<Event>> {
        // Counted first: the loop may take it before this returns.
        self.text.fetch_add(bytes, Ordering::AcqRel);
        self.editor.try_send(Weighed { event, bytes }).map_err(|refused| {
            self.text.fetch_sub(bytes, Ordering::AcqRel);
            match refused {
                mpsc::error::TrySendError::Full(weighed) | mpsc::error::TrySendError::Closed(weighed) => {
                    Box::new(weighed.event)
                }
            }
        })
    }
}

fn text_of(event: &Event) -> usize {
    match event {
        Event::Editor { event: EditorEvent::Document(change), .. } => change.bytes(),
        Event::Editor { .. }
        | Event::ClientConnected { .. }
        | Event::ClientGone { .. }
        | Event::Request { .. }
        | Event::Shutdown { .. }
        | Event::Exit { .. }
        | Event::OutboxDrained { .. }
        | Event::FileJobDone(_) => 0,
    }
}

/// Where exactly one answer goes, of the type that is waited for. Dropped without one, it answers `internal`.
#[must_use = "a request gets exactly one answer"]
pub struct Reply<T> {
    to: Option<Recipient<T>>,
}

/// The end that waits for an answer.
pub type Answer<T> = oneshot::Receiver<Result<T, WireError>>;

/// Who waits.
enum Recipient<T> {
    /// Somebody inside the process.
    Inside(oneshot::Sender<Result<T, WireError>>),
    /// The editor's side, which takes the JSON of it.
    Editor(oneshot::Sender<Result<Value, WireError>>, fn(&T) -> serde_json::Result<Value>),
}

impl<T> Reply<T> {
    /// The reply and the end that waits for it.
    pub fn new() -> (Self, Answer<T>) {
        let (sender, receiver) = oneshot::channel();
        (Self { to: Some(Recipient::Inside(sender)) }, receiver)
    }

    /// Answers with a result.
    pub fn answer(mut self, result: T) {
        self.finish(Ok(result));
    }

    /// Answers with a refusal.
    pub fn refuse(mut self, error: WireError) {
        self.finish(Err(error));
    }

    /// Answers with either.
    pub fn settle(mut self, outcome: Result<T, WireError>) {
        self.finish(outcome);
    }

    /// Whether nobody waits any more: the request was cancelled before the loop came to it.
    pub fn is_abandoned(&self) -> bool {
        match &self.to {
            None => true,
            Some(Recipient::Inside(sender)) => sender.is_closed(),
            Some(Recipient::Editor(sender, _)) => sender.is_closed(),
        }
    }

    fn finish(&mut self, outcome: Result<T, WireError>) {
        // Nobody waits any more when the request was cancelled.
        match self.to.take() {
            None => {}
            Some(Recipient::Inside(sender)) => drop(sender.send(outcome)),
            Some(Recipient::Editor(sender, to_json)) => {
                let json = outcome.and_then(|result| to_json(&result).map_err(|_| WireError::internal()));
                drop(sender.send(json));
            }
        }
    }
}

/// Where the answer to a request of the editor's goes, before its method was looked at.
#[must_use = "a request gets exactly one answer"]
#[derive(Debug)]
pub struct EditorReply {
    to: Option<oneshot::Sender<Result<Value, WireError>>>,
}

impl EditorReply {
    /// The reply and the end that waits for its JSON.
    pub fn new() -> (Self, Answer<Value>) {
        let (sender, receiver) = oneshot::channel();
        (Self { to: Some(sender) }, receiver)
    }

    /// The same for the answer of this method: from here on the type of the answer is checked.
    pub fn of<M: Method>(self) -> Reply<M::Result> {
        self.typed()
    }

    /// The same for what stands for the answer of this method.
    pub fn standing_for<M: Method, T: StandsFor<M::Result>>(self) -> Reply<T> {
        self.typed()
    }

    fn typed<T: Serialize>(mut self) -> Reply<T> {
        let to_json: fn(&T) -> serde_json::Result<Value> = |result| serde_json::to_value(result);
        Reply { to: self.to.take().map(|sender| Recipient::Editor(sender, to_json)) }
    }

    /// Answers with a refusal.
    pub fn refuse(mut self, error: WireError) {
        self.finish(error);
    }

    /// Answers with this JSON, as a loop that is not there would.
    #[cfg(test)]
    pub fn answer(mut self, json: Value) {
        drop(self.to.take().map(|sender| sender.send(Ok(json))));
    }

    /// Whether nobody waits any more: the request was cancelled before the loop came to it.
    pub fn is_abandoned(&self) -> bool {
        self.to.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn finish(&mut self, error: WireError) {
        if let Some(sender) = self.to.take() {
            // Nobody waits any more when the request was cancelled.
            drop(sender.send(Err(error)));
        }
    }
}

impl Drop for EditorReply {
    fn drop(&mut self) {
        self.finish(WireError::internal());
    }
}

impl<T> std::fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reply")
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        self.finish(Err(WireError::internal()));
    }
}

#[cfg(test)]
mod tests {
    use super::{EditorReply, Reply, WireError};
    use crate::protocol::method::methods;
    use crate::protocol::request::Empty;

    #[test]
    fn r000_16_a_reply_gives_one_answer_and_internal_when_it_is_dropped_without_one() {
        let (reply, mut answer) = Reply::new();
        reply.answer(1);
        assert_eq!(answer.try_recv(), Ok(Ok(1)));
        let (reply, mut answer) = Reply::<u8>::new();
        drop(reply);
        assert_eq!(answer.try_recv(), Ok(Err(WireError::internal())));
        let (reply, mut answer) = EditorReply::new();
        reply.of::<methods::TabDetach>().answer(Empty {});
        assert_eq!(answer.try_recv(), Ok(Ok(serde_json::json!({}))));
        let (reply, mut answer) = EditorReply::new();
        drop(reply);
        assert_eq!(answer.try_recv(), Ok(Err(WireError::internal())));
    }
}
