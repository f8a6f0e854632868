//! The commands: carries events to the loop in order, also when the loop has no room for a moment.
//!
//! Owns what the loop must hear and could not take yet. Requests are refused then; everything else waits, and the reader of
//! stdin with it once there is too much. Never reorders and never drops: stdin is a pipe, so an editor that is faster than
//! the loop is held back by it.
//!
//! **No deadlock.** The reader waits here for the loop, and elsewhere for the writer. The loop waits for neither: it puts its
//! messages into bounded lanes that refuse, and what is refused it keeps. The writer waits for the editor alone. So as long
//! as the loop runs the reader comes on, also with an editor that writes and does not read. `exit`, the end of stdin and a
//! cancelled request need no place in the inbox; they are met as soon as what came before them fits here, and at the latest
//! when the loop was given up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::app::ClientId;
use crate::app::inbox::{
    DocumentEvent, EditorEvent, EditorReply, Event, Inbox, Reply, StandardAnswer, StandardRequest, WhyLost,
};
use crate::protocol::Request;

/// Events that wait here for a place in the inbox, so that an `exit` behind a burst is met at once. Past it, or past as many
/// bytes of text, the reader waits.
const WAITING: usize = 16_384;

/// Bytes of text that wait here.
const WAITING_BYTES: usize = 16 << 20;

/// How soon waiting events are offered again.
const OFFER_AGAIN: Duration = Duration::from_millis(1);

/// How long the loop may take nothing until it is as good as dead. Nothing that it does takes that long but a check of a
/// huge journal on a slow disk. Then documents become unknown, one by one and said, so that an `exit` is met.
const STUCK: Duration = Duration::from_secs(10);

/// See the module.
pub(super) struct CommandSender {
    inbox: Inbox,
    /// Whose events these are.
    client: ClientId,
    runtime: tokio::runtime::Handle,
    waiting: Mutex<WaitingCommand>,
    stuck: Duration,
}

struct WaitingCommand {
    events: VecDeque<EditorEvent>,
    bytes: usize,
    /// A task offers them again.
    offering: bool,
    /// When the loop last took one of them, or the first came.
    moved: Instant,
}

impl CommandSender {
    /// A commands for this inbox; `runtime` offers again what had to wait.
    pub(super) fn new(inbox: Inbox, client: ClientId, runtime: tokio::runtime::Handle) -> Arc<Self> {
        Self::with_patience(inbox, client, runtime, STUCK)
    }

    fn with_patience(
        inbox: Inbox,
        client: ClientId,
        runtime: tokio::runtime::Handle,
        stuck: Duration,
    ) -> Arc<Self> {
        let waiting =
            WaitingCommand { events: VecDeque::new(), bytes: 0, offering: false, moved: Instant::now() };
        Arc::new(Self { inbox, client, runtime, waiting: Mutex::new(waiting), stuck })
    }

    /// Hands over an event of the editor now, or as soon as there is room. Blocks while too much waits.
    pub(super) fn tell(self: &Arc<Self>, event: EditorEvent) {
        let mut waiting = self.lock();
        let event = match self.flush(&mut waiting) {
            true => match self.inbox.offer(Event::Editor { client: self.client, event }) {
                Ok(()) => return,
                Err(refused) => match *refused {
                    Event::Editor { event, .. } => event,
                    Event::ClientConnected { .. }
                    | Event::ClientGone { .. }
                    | Event::Request { .. }
                    | Event::Standard { .. }
                    | Event::Shutdown { .. }
                    | Event::Exit { .. }
                    | Event::OutboxDrained { .. }
                    | Event::FileJobDone(_)
                    | Event::SecretsTaken(_) => return,
                },
            },
            false => event,
        };
        if waiting.events.is_empty() {
            waiting.moved = Instant::now();
        }
        if !waiting.offering {
            waiting.offering = true;
            let commands = Arc::clone(self);
            self.runtime.spawn(async move { commands.offer_until_taken().await });
        }
        while waiting.is_full(&event) {
            if self.inbox.is_closed() {
                return;
            }
            if waiting.moved.elapsed() >= self.stuck {
                return waiting.give_up(event);
            }
            drop(waiting);
            std::thread::sleep(OFFER_AGAIN);
            waiting = self.lock();
            self.flush(&mut waiting);
        }
        waiting.keep(event);
    }

    /// Hands over a request of the contract.
    pub(super) fn ask(&self, request: Request, reply: EditorReply) {
        self.deliver(Event::Request { client: self.client, request, reply });
    }

    /// Hands over a request of standard LSP.
    pub(super) fn ask_standard(&self, request: StandardRequest, reply: Reply<StandardAnswer>) {
        self.deliver(Event::Standard { client: self.client, request, reply });
    }

    /// Hands over `shutdown`.
    pub(super) fn shut_down(&self, reply: Reply<()>) {
        self.deliver(Event::Shutdown { client: self.client, reply });
    }

    /// When there is no room a request is refused through its own reply.
    fn deliver(&self, event: Event) {
        let mut waiting = self.lock();
        // A request must not overtake what waits.
        let refused = match self.flush(&mut waiting) {
            true => match self.inbox.offer(event) {
                Ok(()) => return,
                Err(refused) => *refused,
            },
            false => event,
        };
        refused.refuse_overloaded();
    }

    /// Offers what waits, in order; whether nothing waits any more.
    fn flush(&self, waiting: &mut WaitingCommand) -> bool {
        while let Some(event) = waiting.events.pop_front() {
            let bytes = bytes_of(&event);
            if let Err(refused) = self.inbox.offer(Event::Editor { client: self.client, event }) {
                if let Event::Editor { event, .. } = *refused {
                    waiting.events.push_front(event);
                }
                return false;
            }
            waiting.bytes -= bytes;
            waiting.moved = Instant::now();
        }
        true
    }

    async fn offer_until_taken(&self) {
        loop {
            tokio::time::sleep(OFFER_AGAIN).await;
            let mut waiting = self.lock();
            if self.flush(&mut waiting) {
                waiting.offering = false;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingCommand> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingCommand {
    /// Whether there is no room for one more. A large one goes when nothing else waits.
    fn is_full(&self, event: &EditorEvent) -> bool {
        let bytes = bytes_of(event);
        self.events.len() >= WAITING || (self.bytes > 0 && self.bytes + bytes > WAITING_BYTES)
    }

    fn keep(&mut self, event: EditorEvent) {
        self.bytes += bytes_of(&event);
        self.events.push_back(event);
    }

    /// The loop is as good as dead. A document becomes unknown; of other events there are few.
    fn give_up(&mut self, event: EditorEvent) {
        let event = match event {
            EditorEvent::Document(change) => {
                let uri = uri_of(change);
                if self.events.iter().rev().any(|waiting| covers(waiting, uri.as_deref())) {
                    return;
                }
                EditorEvent::Document(DocumentEvent::Lost { uri, why: WhyLost::Stuck })
            }
            other => other,
        };
        if self.events.len() < WAITING + GIVEN_UP {
            return self.keep(event);
        }
        match event {
            EditorEvent::Document(_) => {
                self.events.retain(|waiting| !matches!(waiting, EditorEvent::Document(_)));
                self.bytes = 0;
                self.keep(EditorEvent::Document(DocumentEvent::Lost { uri: None, why: WhyLost::Stuck }));
            }
            other => tracing::error!(
                "The loop took no events for too long and one was dropped ({}); restart breadboard-ls.",
                name_of(&other)
            ),
        }
    }
}

/// Documents that are given up one by one; past it all are at once.
const GIVEN_UP: usize = 1_024;

fn bytes_of(event: &EditorEvent) -> usize {
    match event {
        EditorEvent::Document(change) => change.bytes(),
        EditorEvent::FilesChanged(changes) => changes.iter().map(|change| change.uri.len()).sum(),
        EditorEvent::Initialize(_)
        | EditorEvent::Initialized
        | EditorEvent::FoldersChanged { .. }
        | EditorEvent::Configuration(_)
        | EditorEvent::ConfigurationChanged
        | EditorEvent::WorkspaceTrust { .. }
        | EditorEvent::ProgressCancelled { .. }
        | EditorEvent::Answered { .. } => 0,
    }
}

/// Whether this already says that the document is unknown.
fn covers(waiting: &EditorEvent, uri: Option<&str>) -> bool {
    let EditorEvent::Document(DocumentEvent::Lost { uri: lost, .. }) = waiting else { return false };
    lost.is_none() || lost.as_deref() == uri
}

fn uri_of(change: DocumentEvent) -> Option<String> {
    match change {
        DocumentEvent::Opened { uri, .. }
        | DocumentEvent::Changed { uri, .. }
        | DocumentEvent::Saved { uri }
        | DocumentEvent::Closed { uri } => Some(uri),
        DocumentEvent::Lost { uri, .. } => uri,
    }
}

/// Never the content: it may be private.
fn name_of(event: &EditorEvent) -> &'static str {
    match event {
        EditorEvent::Initialize(_) => "initialize",
        EditorEvent::Initialized => "initialized",
        EditorEvent::Document(_) => "a document",
        EditorEvent::FilesChanged(_) => "changed files",
        EditorEvent::FoldersChanged { .. } => "workspace folders",
        EditorEvent::Configuration(_) | EditorEvent::ConfigurationChanged => "configuration",
        EditorEvent::WorkspaceTrust { .. } => "workspace trust",
        EditorEvent::ProgressCancelled { .. } => "a cancelled progress",
        EditorEvent::Answered { .. } => "an answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::inbox::EDITOR_BOUND;
    use crate::domain::coded_error::ErrorCode;
    use serde_json::json;

    fn closed(uri: &str) -> EditorEvent {
        EditorEvent::Document(DocumentEvent::Closed { uri: uri.to_owned() })
    }

    fn opened(uri: &str, bytes: usize) -> EditorEvent {
        EditorEvent::Document(DocumentEvent::Opened {
            uri: uri.to_owned(),
            language_id: "x".to_owned(),
            version: 1,
            text: "x".repeat(bytes),
        })
    }

    fn describe(event: Event) -> String {
        match event {
            Event::Editor { event: EditorEvent::Document(DocumentEvent::Lost { uri, .. }), .. } => {
                format!("lost {uri:?}")
            }
            Event::Editor { event: EditorEvent::Document(DocumentEvent::Closed { uri }), .. } => {
                format!("closed {uri}")
            }
            Event::Editor { event: EditorEvent::WorkspaceTrust { trusted }, .. } => {
                format!("trust {trusted}")
            }
            other => format!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_waits_in_order_and_requests_are_refused() {
        let (inbox, mut events) = Inbox::new();
        let commands =
            CommandSender::new(inbox.clone(), inbox.name_client(), tokio::runtime::Handle::current());
        for _ in 0..EDITOR_BOUND {
            commands.tell(EditorEvent::Initialized);
        }
        commands.tell(closed("a"));
        commands.tell(EditorEvent::WorkspaceTrust { trusted: false });
        commands.tell(closed("a"));
        commands.tell(closed("b"));
        let (reply, receiver) = EditorReply::new();
        commands.ask(Request::parse("bb/listSessions", json!({})).unwrap(), reply);
        assert_eq!(receiver.await.unwrap().unwrap_err().code, ErrorCode::Overloaded);

        for _ in 0..EDITOR_BOUND {
            assert!(matches!(
                events.recv().await,
                Some(Event::Editor { event: EditorEvent::Initialized, .. })
            ));
        }
        let mut rest = Vec::new();
        for _ in 0..4 {
            rest.push(describe(events.recv().await.unwrap()));
        }
        assert_eq!(rest, ["closed a", "trust false", "closed a", "closed b"]);
    }

    #[test]
    fn whoever_is_faster_than_the_loop_waits_and_nothing_is_dropped() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
        let (inbox, mut events) = Inbox::new();
        let commands = CommandSender::new(inbox.clone(), inbox.name_client(), runtime.handle().clone());
        let all = EDITOR_BOUND + 2 * WAITING;
        let teller = std::thread::spawn(move || {
            for at in 0..all {
                commands.tell(closed(&at.to_string()));
            }
            // More text than fits anywhere at once.
            for at in 0..20 {
                commands.tell(opened(&at.to_string(), 4 << 20));
            }
        });
        for at in 0..all {
            assert_eq!(describe(events.blocking_recv().unwrap()), format!("closed {at}"));
        }
        for at in 0..20 {
            let Some(Event::Editor {
                event: EditorEvent::Document(DocumentEvent::Opened { uri, text, .. }),
                ..
            }) = events.blocking_recv()
            else {
                panic!("not opened");
            };
            assert_eq!((uri, text.len()), (at.to_string(), 4 << 20));
        }
        teller.join().unwrap();
    }

    #[test]
    fn a_loop_that_takes_nothing_costs_bounded_memory_and_what_is_given_up_is_named() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
        let (inbox, _events) = Inbox::new();
        let commands = CommandSender::with_patience(
            inbox.clone(),
            inbox.name_client(),
            runtime.handle().clone(),
            Duration::from_millis(50),
        );
        for at in 0..EDITOR_BOUND + WAITING + 10 {
            commands.tell(closed(&at.to_string()));
        }
        {
            let waiting = commands.lock();
            let last = &waiting.events[WAITING];
            assert!(covers(last, Some(&(EDITOR_BOUND + WAITING).to_string())), "{last:?}");
            assert_eq!(waiting.events.len(), WAITING + 10);
        }
        for at in 0..10 * GIVEN_UP {
            commands.tell(opened(&at.to_string(), 1_000));
        }
        let waiting = commands.lock();
        assert!(waiting.events.len() <= WAITING + GIVEN_UP && waiting.bytes <= WAITING_BYTES);
        assert!(waiting.events.iter().any(|event| covers(event, None)));
    }

    #[test]
    fn a_loop_that_is_gone_holds_nobody_up() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
        let (inbox, events) = Inbox::new();
        let commands = CommandSender::new(inbox.clone(), inbox.name_client(), runtime.handle().clone());
        drop(events);
        let begun = Instant::now();
        for at in 0..2 * WAITING {
            commands.tell(closed(&at.to_string()));
        }
        assert!(begun.elapsed() < STUCK);
    }
}
