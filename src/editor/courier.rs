//! The courier: carries events to the loop in order, also when the loop has no room for a moment.
//!
//! Owns what the loop must hear and could not take yet. Requests are refused then; a change of a document becomes "this
//! document is unknown"; everything else waits. Never reorders, never blocks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::app::inbox::{DocumentEvent, EditorEvent, Event, Inbox};
use crate::protocol::{ErrorCode, WireError};

/// Events that wait here for a place in the inbox: far more than an editor sends while the loop is late. Past it the loop
/// is as good as dead: all documents become unknown at once, and other events are dropped with an error in the log.
const WAITING: usize = 256;

/// How soon waiting events are offered again when nothing else comes.
const OFFER_AGAIN: Duration = Duration::from_millis(5);

/// See the module.
pub struct Courier {
    inbox: Inbox,
    runtime: tokio::runtime::Handle,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<EditorEvent>,
    /// A task offers them again.
    offering: bool,
}

impl Courier {
    /// A courier for this inbox; `runtime` offers again what had to wait.
    pub fn new(inbox: Inbox, runtime: tokio::runtime::Handle) -> Arc<Self> {
        Arc::new(Self { inbox, runtime, waiting: Mutex::default() })
    }

    /// Hands over an event of the editor now, or as soon as there is room.
    pub fn tell(self: &Arc<Self>, event: EditorEvent) {
        let mut waiting = self.lock();
        let refused = match self.flush(&mut waiting) {
            true => match self.inbox.offer(Event::Editor(event)) {
                Ok(()) => return,
                Err(refused) => *refused,
            },
            false => Event::Editor(event),
        };
        if let Event::Editor(event) = refused {
            waiting.keep(event);
        }
        if !waiting.offering {
            waiting.offering = true;
            let courier = Arc::clone(self);
            self.runtime.spawn(async move { courier.offer_until_taken().await });
        }
    }

    /// Hands over a request. When there is no room it is refused through its own `Reply`.
    pub fn ask(&self, event: Event) {
        let mut waiting = self.lock();
        // A request must not overtake what waits.
        let refused = match self.flush(&mut waiting) {
            true => match self.inbox.offer(event) {
                Ok(()) => return,
                Err(refused) => *refused,
            },
            false => event,
        };
        if let Event::Request { reply, .. } | Event::Shutdown { reply } | Event::Exit { reply } = refused {
            reply.refuse(WireError::new(
                ErrorCode::Overloaded,
                "breadboard-ls is busy and took no more requests; try again in a moment.",
            ));
        }
    }

    /// Offers what waits, in order; whether nothing waits any more.
    fn flush(&self, waiting: &mut Waiting) -> bool {
        while let Some(event) = waiting.events.pop_front() {
            if let Err(refused) = self.inbox.offer(Event::Editor(event)) {
                if let Event::Editor(event) = *refused {
                    waiting.events.push_front(event);
                }
                return false;
            }
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

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn keep(&mut self, event: EditorEvent) {
        let event = match event {
            EditorEvent::Document(change) => {
                let uri = uri_of(change);
                if self.events.iter().any(|waiting| covers(waiting, uri.as_deref())) {
                    return;
                }
                EditorEvent::Document(DocumentEvent::Lost { uri })
            }
            other => other,
        };
        if self.events.len() < WAITING {
            self.events.push_back(event);
            return;
        }
        match event {
            EditorEvent::Document(_) => {
                self.events.retain(|waiting| !matches!(waiting, EditorEvent::Document(_)));
                self.events.push_back(EditorEvent::Document(DocumentEvent::Lost { uri: None }));
            }
            other => tracing::error!(
                "The loop took no events for too long and one was dropped ({}); restart breadboard-ls.",
                name_of(&other)
            ),
        }
    }
}

/// Whether this already says that the document is unknown.
fn covers(waiting: &EditorEvent, uri: Option<&str>) -> bool {
    let EditorEvent::Document(DocumentEvent::Lost { uri: lost }) = waiting else { return false };
    lost.is_none() || lost.as_deref() == uri
}

fn uri_of(change: DocumentEvent) -> Option<String> {
    match change {
        DocumentEvent::Opened { uri, .. }
        | DocumentEvent::Changed { uri, .. }
        | DocumentEvent::Closed { uri } => Some(uri),
        DocumentEvent::Lost { uri } => uri,
    }
}

/// Never the content: it may be private.
fn name_of(event: &EditorEvent) -> &'static str {
    match event {
        EditorEvent::Initialize(_) => "initialize",
        EditorEvent::Initialized => "initialized",
        EditorEvent::Document(_) => "a document",
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
    use crate::app::inbox::{EDITOR_BOUND, Reply};
    use crate::protocol::Request;
    use serde_json::json;

    fn closed(uri: &str) -> EditorEvent {
        EditorEvent::Document(DocumentEvent::Closed { uri: uri.to_owned() })
    }

    fn describe(event: Event) -> String {
        match event {
            Event::Editor(EditorEvent::Document(DocumentEvent::Lost { uri })) => format!("lost {uri:?}"),
            Event::Editor(EditorEvent::WorkspaceTrust { trusted }) => format!("trust {trusted}"),
            other => format!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_waits_in_order_and_documents_become_unknown() {
        let (inbox, mut events) = Inbox::new();
        let courier = Courier::new(inbox, tokio::runtime::Handle::current());
        for _ in 0..EDITOR_BOUND {
            courier.tell(EditorEvent::Initialized);
        }
        courier.tell(closed("a"));
        courier.tell(EditorEvent::WorkspaceTrust { trusted: false });
        courier.tell(closed("a"));
        courier.tell(closed("b"));
        let (reply, receiver) = Reply::new();
        courier.ask(Event::Request { request: Request::parse("bb/listSessions", json!({})).unwrap(), reply });
        assert_eq!(receiver.await.unwrap().unwrap_err().code, ErrorCode::Overloaded);

        for _ in 0..EDITOR_BOUND {
            assert!(matches!(events.recv().await, Some(Event::Editor(EditorEvent::Initialized))));
        }
        let mut rest = Vec::new();
        for _ in 0..3 {
            rest.push(describe(events.recv().await.unwrap()));
        }
        assert_eq!(rest, ["lost Some(\"a\")", "trust false", "lost Some(\"b\")"]);
    }

    #[tokio::test]
    async fn a_dead_loop_costs_bounded_memory() {
        let (inbox, _events) = Inbox::new();
        let courier = Courier::new(inbox, tokio::runtime::Handle::current());
        for at in 0..EDITOR_BOUND + 10 * WAITING {
            courier.tell(closed(&at.to_string()));
        }
        let waiting = courier.lock();
        assert!(waiting.events.len() <= WAITING);
        assert!(waiting.events.iter().any(|event| covers(event, None)));
    }
}
