//! What the host counts, for `/metrics`.
//!
//! Owns the numbers and their text. No name of a session, a file or a person is in it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start, and two gauges.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) unauthorized: AtomicU64,
    pub(super) sockets: AtomicU64,
    pub(super) sockets_opened: AtomicU64,
    pub(super) messages_in: AtomicU64,
    pub(super) bad_messages: AtomicU64,
    pub(super) messages_out: AtomicU64,
    pub(super) bytes_out: AtomicU64,
    pub(super) snapshots: AtomicU64,
    pub(super) slow_warnings: AtomicU64,
}

/// Counts one.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    /// The text that Prometheus reads.
    pub(super) fn text(&self) -> String {
        let rows = [
            ("requests_total", "counter", "HTTP requests that came.", &self.requests),
            ("requests_refused_total", "counter", "HTTP requests that were refused.", &self.refused),
            ("unauthorized_total", "counter", "Requests without the token.", &self.unauthorized),
            ("sockets", "gauge", "Sockets that are open.", &self.sockets),
            ("sockets_opened_total", "counter", "Sockets that were opened.", &self.sockets_opened),
            ("messages_received_total", "counter", "Messages of clients.", &self.messages_in),
            ("messages_bad_total", "counter", "Messages that were refused.", &self.bad_messages),
            ("messages_sent_total", "counter", "Messages to clients.", &self.messages_out),
            ("sent_bytes_total", "counter", "Bytes of messages to clients.", &self.bytes_out),
            ("snapshots_total", "counter", "Snapshots in place of what was missed.", &self.snapshots),
            ("slow_clients_total", "counter", "Warnings to clients that read slowly.", &self.slow_warnings),
        ];
        let mut text = String::new();
        for (name, kind, help, value) in rows {
            let value = value.load(Ordering::Relaxed);
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "# HELP breadboard_host_{name} {help}\n# TYPE breadboard_host_{name} {kind}\nbreadboard_host_{name} {value}\n"
            );
        }
        text
    }
}
