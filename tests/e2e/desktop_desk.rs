//! A simulated desktop host beside the real binary, in either dialect.
//!
//! Owns the host and the words that most stories use.

use breadboard_ls::testing::simulate::desktop::{HostDialect, HostOptions, HostSimulator, Plot};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::breadboard_desk::{connected, until};
use crate::harness::{Options, Server};

/// Both dialects.
pub const BOTH: [HostDialect; 2] = [HostDialect::Seed, HostDialect::Source];

/// A simulated host on a runtime of its own.
pub struct HostDesk {
    // Dropped before its runtime.
    pub host: HostSimulator,
    _runtime: Runtime,
}

impl HostDesk {
    /// A host with these options.
    pub fn start(options: HostOptions) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let host = HostSimulator::start(options, runtime.handle()).expect("a simulator");
        Self { host, _runtime: runtime }
    }

    /// One of this dialect that does what these prompts of a script say.
    pub fn scripted(dialect: HostDialect, prompts: &Value) -> Self {
        Self::start(HostOptions { dialect, ..scripted(prompts) })
    }

    /// Options of a server that uses it.
    pub fn chosen(&self, trusted: bool) -> Options {
        chosen(self.host.base_url(), trusted)
    }

    /// A server that is connected to it, in a trusted workspace.
    pub fn server(&self) -> Server {
        let server = Server::ready(self.chosen(true));
        connected(&server);
        server
    }

    /// Waits until a client said a message of this type; the newest.
    pub fn heard(&self, kind: &str) -> Value {
        until(kind, || self.all_heard(kind).pop())
    }

    /// Every message of this type so far.
    pub fn all_heard(&self, kind: &str) -> Vec<Value> {
        self.host.heard().into_iter().filter(|message| message["type"] == kind).collect()
    }
}

/// Options of a server that uses the host at this address.
pub fn chosen(url: &str, trusted: bool) -> Options {
    Options {
        options: json!({ "engine": { "kind": "desktop", "url": url }, "workspaceTrusted": trusted }),
        ..Options::default()
    }
}

/// Options of a host that plays these prompts.
pub fn scripted(prompts: &Value) -> HostOptions {
    let plot = Plot::parse(&json!({ "prompts": prompts }).to_string()).expect("a script");
    HostOptions { plot: Some(plot), ..HostOptions::default() }
}

/// The text of the last block of this kind in the chat.
pub fn last_text(server: &mut Server, session: &str, kind: &str) -> Option<String> {
    let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
    let blocks = selected["view"]["lanes"]["chat"]["blocks"].as_array().cloned().unwrap_or_default();
    let found = blocks.iter().rev().find(|block| block["kind"] == kind);
    found.and_then(|block| block["text"].as_str().map(str::to_owned))
}

/// Messages of notices in the transcript.
pub fn notices(server: &mut Server, session: &str) -> Vec<String> {
    let read = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    let events = read["events"].as_array().cloned().unwrap_or_default();
    let notices = events.iter().filter(|event| event["type"] == "local.notice");
    notices.map(|event| event["payload"]["text"].as_str().unwrap_or_default().to_owned()).collect()
}
