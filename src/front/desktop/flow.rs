//! How much of what was written to a client it has read, by the pings that it answered.
//!
//! Owns the window: past it nothing more of the loop's is written until an answer comes, so that no frame ever stands in the
//! system's buffer in front of a warning, and a client that has stopped to read costs no more than this. Never writes itself.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Bytes that may be on their way to a client. A client that is a twentieth of a second away still gets five megabytes a second.
const WINDOW: u64 = 256 << 10;

/// Bytes between two questions whether the client has read so far.
const MARK: u64 = 32 << 10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ReadWindow {
    written: AtomicU64,
    marked: AtomicU64,
    read: AtomicU64,
    opened: Notify,
}

impl ReadWindow {
    /// So many bytes were written; gives the words of a ping that is due.
    pub(super) fn wrote(&self, bytes: usize) -> Option<[u8; 8]> {
        let written = self.written.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let is_due = written - self.marked.load(Ordering::Relaxed) >= MARK;
        is_due.then(|| {
            self.marked.store(written, Ordering::Relaxed);
            written.to_be_bytes()
        })
    }

    /// A ping was answered with these words. What was never asked says nothing.
    pub(super) fn answered(&self, words: &[u8]) {
        let Ok(words) = <[u8; 8]>::try_from(words) else { return };
        let read = u64::from_be_bytes(words);
        if read <= self.marked.load(Ordering::Relaxed) {
            self.read.fetch_max(read, Ordering::Relaxed);
            self.opened.notify_one();
        }
    }

    /// Whether more may be written.
    pub(super) fn is_open(&self) -> bool {
        self.written.load(Ordering::Relaxed) - self.read.load(Ordering::Relaxed) < WINDOW
    }

    /// Waits until more may be written.
    pub(super) async fn opens(&self) {
        loop {
            let opened = self.opened.notified();
            if self.is_open() {
                return;
            }
            opened.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_window_nothing_is_written_until_the_client_says_that_it_read() {
        let window = ReadWindow::default();
        assert_eq!(window.wrote(1_000), None);
        let mark = window.wrote(MARK as usize).unwrap();
        assert!(window.is_open());
        window.wrote(WINDOW as usize);
        assert!(!window.is_open());
        // What nobody asked counts for nothing.
        window.answered(b"");
        window.answered(&u64::MAX.to_be_bytes());
        assert!(!window.is_open());
        window.answered(&mark);
        window.answered(&0_u64.to_be_bytes());
        assert!(!window.is_open(), "a later mark is still out");
        let last = window.wrote(0).unwrap_or((MARK + 1_000 + WINDOW).to_be_bytes());
        window.answered(&last);
        assert!(window.is_open());
    }
}
