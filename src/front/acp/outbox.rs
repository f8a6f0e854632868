//! The loop's way to this front: what it tells, in its order, without waiting.
//!
//! Owns the bound. Past it the loop keeps what it has in the journal and is told when there is room again.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use tokio::sync::mpsc;

use super::wire::HiddenSecrets;
use crate::app::ports::{Outbox, Secret};
use crate::domain::policy::redact::Redactor;

/// Messages that may wait.
const MESSAGES: usize = 256;

/// Bytes of them together. A message above that goes alone.
const BYTES: usize = 4 << 20;

/// The loop's end.
pub(super) struct LoopVoice {
    messages: mpsc::Sender<Vec<u8>>,
    shared: Arc<VoiceState>,
    secrets: HiddenSecrets,
}

/// The front's end.
pub(super) struct LoopEar {
    messages: mpsc::Receiver<Vec<u8>>,
    shared: Arc<VoiceState>,
}

#[derive(Default)]
struct VoiceState {
    bytes: AtomicUsize,
    owes_drained: AtomicBool,
}

/// Both ends.
pub(super) fn voice(secrets: HiddenSecrets) -> (LoopVoice, LoopEar) {
    let (sender, messages) = mpsc::channel(MESSAGES);
    let shared = Arc::new(VoiceState::default());
    (LoopVoice { messages: sender, shared: Arc::clone(&shared), secrets }, LoopEar { messages, shared })
}

impl LoopVoice {
    fn taken(&self, message: &[u8]) -> bool {
        let length = message.len();
        let waiting = self.shared.bytes.load(Ordering::SeqCst);
        if waiting > 0 && waiting + length > BYTES {
            return false;
        }
        // Counted first: the other end may take it before this returns.
        self.shared.bytes.fetch_add(length, Ordering::SeqCst);
        let sent = self.messages.try_send(message.to_vec()).is_ok();
        if !sent {
            self.shared.bytes.fetch_sub(length, Ordering::SeqCst);
        }
        sent
    }
}

impl Outbox for LoopVoice {
    fn push(&self, message: Cow<'_, [u8]>) -> bool {
        if self.taken(&message) {
            return true;
        }
        self.shared.owes_drained.store(true, Ordering::SeqCst);
        // The other end may have taken everything meanwhile, and then nobody would tell that there is room.
        let taken = self.taken(&message);
        if taken {
            self.shared.owes_drained.store(false, Ordering::SeqCst);
        }
        taken
    }

    fn hide(&self, secret: &Secret) {
        self.secrets.write().unwrap_or_else(PoisonError::into_inner).add(&secret.0);
    }

    fn hide_all(&self, known: &Redactor) {
        self.secrets.write().unwrap_or_else(PoisonError::into_inner).add_all(known);
    }
}

impl LoopEar {
    /// The next message; `None` when the loop is gone.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        let message = self.messages.recv().await?;
        self.shared.bytes.fetch_sub(message.len(), Ordering::SeqCst);
        Some(message)
    }

    /// Whether the loop is to be told that there is room again; asked after each message, and said once.
    pub(super) fn owes_drained(&self) -> bool {
        self.messages.len() <= MESSAGES / 4
            && self.shared.bytes.load(Ordering::SeqCst) <= BYTES / 4
            && self.shared.owes_drained.swap(false, Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_room_is_told_once() {
        let (voice, mut ear) = voice(HiddenSecrets::default());
        let half = vec![b'x'; BYTES / 2 + 1];
        assert!(voice.push(half.as_slice().into()));
        assert!(!voice.push(half.as_slice().into()), "the bound is reached");
        assert!(!ear.owes_drained(), "there is no room yet");
        let heard = futures::executor::block_on(ear.next());
        assert_eq!(heard.map(|heard| heard.len()), Some(half.len()));
        assert!(ear.owes_drained());
        assert!(!ear.owes_drained(), "said once");
        assert!(voice.push(half.as_slice().into()));
    }
}
