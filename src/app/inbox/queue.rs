//! The queue in front of the loop, bounded by number and by bytes of text.
//!
//! Owns the bounds, and the places that nobody but our own side takes. Sending never awaits, so that a handler hands its command
//! over before its first await and order is kept. Never looks at what an event means.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc;

use super::event::{EditorEvent, Event};
use crate::app::client::ClientId;

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

    /// The next event, if one is there.
    pub fn try_recv(&mut self) -> Option<Event> {
        self.editor.try_recv().ok().map(|weighed| self.unpack(weighed))
    }

    /// The next event, for a thread without a runtime; `None` when there is no sender any more.
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
        | Event::Standard { .. }
        | Event::Shutdown { .. }
        | Event::Exit { .. }
        | Event::OutboxDrained { .. }
        | Event::FileJobDone(_)
        | Event::SecretsTaken(_) => 0,
    }
}
