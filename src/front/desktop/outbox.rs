//! What waits to be sent to one socket, bounded: the loop's messages, before they are translated.
//!
//! Owns the bound. A client that does not read is not kept for in memory: past the bound the loop is refused, and when there is
//! room again it sends a snapshot in place of what was missed. Never translates.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::app::ClientId;
use crate::app::inbox::{Event, Inbox};
use crate::app::ports::{Outbox, Secret};
use crate::domain::policy::redact::Redactor;

/// Bytes that may wait for a socket: four times what the loop reads from the journal at once, so that a client that catches
/// up is never refused in the middle.
pub(super) const WAITING_BYTES: usize = 2 << 20;

/// Messages that may wait, so that tiny ones do not hide behind the bound of bytes.
const WAITING_MESSAGES: usize = 4_096;

/// Below this there is room again: what waits is nearly told, so that the snapshot is not old when it is read.
const ROOM: usize = WAITING_BYTES / 4;

/// Nobody hears: the client through which the HTTP routes ask.
pub(super) struct DeafOutbox;

impl Outbox for DeafOutbox {
    fn push(&self, _: Cow<'_, [u8]>) -> bool {
        true
    }

    fn hide(&self, _: &Secret) {}

    fn hide_all(&self, _: &Redactor) {}
}

/// See the module.
pub(super) struct SocketOutbox {
    inbox: Inbox,
    client: ClientId,
    waiting: Mutex<WaitingMessages>,
    ready: Notify,
}

#[derive(Default)]
struct WaitingMessages {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The loop was refused, and wants to know when there is room.
    refused: bool,
    redactor: Redactor,
}

impl SocketOutbox {
    pub(super) fn new(inbox: Inbox, client: ClientId) -> Self {
        Self { inbox, client, waiting: Mutex::default(), ready: Notify::new() }
    }

    /// Waits until there is something to take.
    pub(super) async fn wait(&self) {
        loop {
            let ready = self.ready.notified();
            if self.waits() {
                return;
            }
            ready.await;
        }
    }

    /// Takes the first. The loop hears of the room that this makes.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut waiting = self.lock();
        let message = waiting.messages.pop_front()?;
        waiting.bytes -= message.len();
        let has_room =
            waiting.refused && waiting.bytes < ROOM && waiting.messages.len() < WAITING_MESSAGES / 4;
        if has_room {
            waiting.refused = false;
        }
        drop(waiting);
        if has_room && self.inbox.send(Event::OutboxDrained { client: self.client }).is_err() {
            // Asked again when the next message was taken.
            self.lock().refused = true;
        }
        Some(message)
    }

    /// Whether something waits.
    pub(super) fn waits(&self) -> bool {
        !self.lock().messages.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, WaitingMessages> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbox for SocketOutbox {
    fn push(&self, message: Cow<'_, [u8]>) -> bool {
        let mut waiting = self.lock();
        let full =
            waiting.bytes + message.len() > WAITING_BYTES || waiting.messages.len() >= WAITING_MESSAGES;
        // A large one goes when nothing else waits.
        if full && !waiting.messages.is_empty() {
            waiting.refused = true;
            return false;
        }
        let message = match waiting.redactor.scrub(&message) {
            Cow::Borrowed(_) => None,
            Cow::Owned(scrubbed) => Some(scrubbed),
        }
        .unwrap_or_else(|| message.into_owned());
        waiting.bytes += message.len();
        waiting.messages.push_back(message);
        drop(waiting);
        self.ready.notify_one();
        true
    }

    fn hide(&self, secret: &Secret) {
        self.lock().redactor.add(&secret.0);
    }

    fn hide_all(&self, known: &Redactor) {
        self.lock().redactor.add_all(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_bound_the_loop_is_refused_and_hears_once_of_the_room() {
        let (inbox, mut events) = Inbox::new();
        let client = inbox.name_client();
        let outbox = SocketOutbox::new(inbox, client);
        let message = vec![b'x'; 100 << 10];
        let mut taken = 0;
        while outbox.push(Cow::Borrowed(&message)) {
            taken += 1;
        }
        assert_eq!(taken, WAITING_BYTES / message.len());
        let room = (0..taken)
            .filter(|_| {
                assert!(outbox.take().is_some());
                matches!(events.try_recv(), Some(Event::OutboxDrained { .. }))
            })
            .count();
        assert_eq!((room, outbox.take()), (1, None));
        assert!(outbox.push(Cow::Borrowed(b"{}")));
        assert!(outbox.waits() && outbox.take().is_some() && events.try_recv().is_none());
    }

    #[test]
    fn a_secret_never_leaves() {
        let (inbox, _events) = Inbox::new();
        let client = inbox.name_client();
        let outbox = SocketOutbox::new(inbox, client);
        outbox.hide(&Secret("sk-very-secret-value".to_owned()));
        assert!(outbox.push(Cow::Borrowed(br#"{"a":"sk-very-secret-value"}"#)));
        let taken = outbox.take().unwrap();
        assert!(!String::from_utf8_lossy(&taken).contains("very-secret"));
    }
}
