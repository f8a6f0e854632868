//! The log as the editor sees it: `window/logMessage` and `$/logTrace`.
//!
//! Owns which events go there. Never decides what is secret (the outbox redacts) and never waits: the outbox drops logs
//! that do not fit. Nothing leaves before `initialized`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::frame::notification_message;
use super::outbox::FrameOutbox;
use crate::app::inbox::TraceLevel;
use crate::domain::shown::{Kind, show};

/// Target of the events that become `$/logTrace`.
pub(super) const WIRE: &str = "breadboard_ls::wire";

/// Target of everything that breaks the contract; one word to search for.
pub(super) const PROTOCOL_VIOLATION: &str = "protocol_violation";

/// Longest message, in bytes: a log is no place for a file.
const LONGEST: usize = 4 << 10;

/// Whether anything may leave, and how much of the wire.
#[derive(Debug, Default)]
pub(crate) struct LogGate {
    open: AtomicBool,
    trace: AtomicU8,
}

impl LogGate {
    /// `initialized` came.
    pub(super) fn open(&self) {
        self.open.store(true, Ordering::Release);
    }

    pub(super) fn set_trace(&self, level: TraceLevel) {
        self.trace.store(level as u8, Ordering::Release);
    }

    /// Whether `$/logTrace` is wanted.
    pub(super) fn traces(&self) -> bool {
        self.trace.load(Ordering::Acquire) != TraceLevel::Off as u8
    }

    fn is_verbose(&self) -> bool {
        self.trace.load(Ordering::Acquire) == TraceLevel::Verbose as u8
    }
}

/// The layer. It filters by itself: add it without a filter, or `$/logTrace` stays silent.
pub(crate) struct LogLayer {
    outbox: Arc<FrameOutbox>,
    gate: Arc<LogGate>,
}

impl LogLayer {
    /// A layer that writes to this outbox; `gate` is the one that `Edge` gets.
    pub(crate) fn new(outbox: Arc<FrameOutbox>, gate: Arc<LogGate>) -> Self {
        Self { outbox, gate }
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !self.gate.open.load(Ordering::Acquire) {
            return;
        }
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        let mut text = LogText::default();
        if target == WIRE {
            if self.gate.traces() {
                event.record(&mut text);
                self.outbox.log(trace_message(text, self.gate.is_verbose()));
            }
            return;
        }
        let ours = target.starts_with("breadboard_ls") || target == PROTOCOL_VIOLATION;
        if level > if ours { Level::INFO } else { Level::WARN } {
            return;
        }
        event.record(&mut text);
        let kind = match level {
            Level::ERROR => 1,
            Level::WARN => 2,
            _ => 3,
        };
        let message = if target == PROTOCOL_VIOLATION {
            cut(format!("{PROTOCOL_VIOLATION}: {}{}", text.message, text.fields))
        } else {
            cut(text.message + &text.fields)
        };
        let params = json!({ "type": kind, "message": show(&message, Kind::Lines) });
        self.outbox.log(notification_message("window/logMessage", &params));
    }
}

fn trace_message(text: LogText, verbose: bool) -> Vec<u8> {
    let mut params = json!({ "message": show(&cut(text.message), Kind::Lines) });
    if verbose && !text.fields.is_empty() {
        params["verbose"] = json!(show(&cut(text.fields.trim_start().to_owned()), Kind::Lines));
    }
    notification_message("$/logTrace", &params)
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST - '…'.len_utf8()));
        text.push('…');
    }
    text
}

/// An event as text.
#[derive(Default)]
struct LogText {
    message: String,
    fields: String,
}

impl Visit for LogText {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            name => {
                // Writing to a string does not fail.
                let _ = write!(self.fields, " {name}={value}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Mutex;
    use std::time::Duration;

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What leaves while `act` runs, without headers.
    fn logged(act: impl FnOnce(&LogGate)) -> Vec<String> {
        let sink = Sink::default();
        let outbox = FrameOutbox::start(sink.clone(), || true, || {});
        let gate = Arc::new(LogGate::default());
        let layer = LogLayer::new(Arc::clone(&outbox), Arc::clone(&gate));
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || act(&gate));
        assert!(outbox.drain(Duration::from_secs(60)));
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let lines = text.split("Content-Length: ").skip(1);
        lines.map(|frame| frame.split_once("\r\n\r\n").unwrap().1.to_owned()).collect()
    }

    #[test]
    fn nothing_leaves_before_initialized() {
        assert_eq!(logged(|_| tracing::error!("early")), Vec::<String>::new());
    }

    #[test]
    fn levels_and_targets_decide() {
        let all = logged(|gate| {
            gate.open();
            tracing::debug!("no");
            tracing::info!(count = 3, "said {}", 1);
            tracing::warn!(target: "protocol_violation", "odd");
            tracing::info!(target: "other_crate", "no");
            tracing::warn!(target: "other_crate", "yes");
            tracing::debug!(target: "breadboard_ls::wire", "no");
        });
        let expected = [(3, "said 1 count=3"), (2, "protocol_violation: odd"), (2, "yes")].map(|(kind, message)| {
            json!({ "jsonrpc": "2.0", "method": "window/logMessage", "params": { "type": kind, "message": message } })
                .to_string()
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn the_trace_level_decides_about_the_wire() {
        let all = logged(|gate| {
            gate.open();
            gate.set_trace(TraceLevel::Messages);
            tracing::debug!(target: "breadboard_ls::wire", bytes = 5, "a");
            gate.set_trace(TraceLevel::Verbose);
            tracing::debug!(target: "breadboard_ls::wire", bytes = 5, "b");
            gate.set_trace(TraceLevel::Off);
            tracing::debug!(target: "breadboard_ls::wire", bytes = 5, "c");
        });
        let expected = [json!({ "message": "a" }), json!({ "message": "b", "verbose": "bytes=5" })]
            .map(|params| json!({ "jsonrpc": "2.0", "method": "$/logTrace", "params": params }).to_string());
        assert_eq!(all, expected);
    }

    #[test]
    fn long_messages_are_cut_at_a_character() {
        let all = logged(|gate| {
            gate.open();
            tracing::info!("{}", "é".repeat(5_000));
        });
        let message: serde_json::Value = serde_json::from_str(&all[0]).unwrap();
        let text = message["params"]["message"].as_str().unwrap();
        assert!(text.len() <= LONGEST && text.ends_with("é…"), "{}", text.len());
    }
}
