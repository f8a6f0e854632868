//! Questions that our own host asked, or that others settled, while our client was not there: each is told once behind the break, and
//! by whom it was settled.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::breadboard_desk::{chat, of_kind, until};
use crate::desktop_both_ends::{back, gaps, server_at, texts, wait_words};
use crate::desktop_desk::notices;
use crate::desktop_host::relay::Relay;
use crate::desktop_host::{Host, Socket};
use crate::harness::Server;
use crate::model::{Gate, Model, Reply, Step, says};

/// A turn that says something, waits, asks to write a file, and ends.
fn story(gate: &Gate) -> Vec<Reply> {
    let wish = json!({ "file_path": "new.txt", "diff": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n", "rationale": "It greets." });
    let asks = vec![
        Step::Text("Half of it, ".to_owned()),
        Step::Wait(gate.clone()),
        Step::Call("propose_patch", wish),
    ];
    vec![Reply::Stream(asks), says("Done.")]
}

/// A server behind a line that can be cut, with a turn under way; and another client of its session.
struct Desk<'a> {
    host: &'a Host,
    relay: Relay,
    server: Server,
    session: String,
    other: Socket<'a>,
}

impl<'a> Desk<'a> {
    fn of(host: &'a Host) -> Self {
        let relay = Relay::to(&host.url);
        let mut server = server_at(host, &relay.url, Arc::new(tempfile::tempdir().expect("a folder")));
        let session = server.session();
        let other = host.client(&session, "Neovim");
        server.prompt(&session, "write it");
        wait_words(&server, &session);
        Self { host, relay, server, session, other }
    }

    /// The other client allows what the host asks, and hears the end.
    fn the_other_allows(&mut self, ask: &Value) {
        let id = &ask["request_id"];
        self.other.say(&json!({ "type": "client.approval_response", "request_id": id, "approved": true, "scope": "all" }));
        self.other.wait("assistant.message_final");
    }

    /// What the chat has of questions.
    fn asked(&mut self) -> Vec<Value> {
        let asks = of_kind(&chat(&mut self.server, &self.session), "permission");
        asks.iter().map(|ask| ask["status"].clone()).collect()
    }

    /// Then: one question, which the other client settled, is shown so; the turn is at its end, and nothing is missing.
    fn proves_that_the_other_settled_it(&mut self) {
        let session = self.session.clone();
        until("the end of the turn", || {
            let said = texts(&mut self.server, &session, "assistant").concat();
            (said.ends_with("Done.") && self.asked() != [json!("pending")]).then_some(())
        });
        assert_eq!(self.asked(), [json!("allowed")]);
        let said = notices(&mut self.server, &session);
        assert_eq!(
            said.iter().filter(|text| *text == "Neovim allowed what was asked.").count(),
            1,
            "{said:?}"
        );
        assert_eq!(gaps(&self.server, &session), 0);
        let written = std::fs::read_to_string(self.host.workspace.path().join("new.txt")).ok();
        assert_eq!(written.as_deref(), Some("hello\n"));
    }
}

#[test]
fn i14_1_a_question_that_was_asked_while_the_line_was_cut_is_there_behind_it_once_and_is_answered() {
    let gate = Gate::default();
    let model = Model::start(story(&gate));
    let host = Host::of(&model);
    let mut desk = Desk::of(&host);
    // When the host asks while the line is cut
    desk.relay.cut();
    gate.open();
    desk.other.wait("tool.request_approval");
    desk.relay.mend();
    // Then the question is there once, and our answer settles it
    let session = desk.session.clone();
    let ask = desk.server.wait_ask(&session);
    back(&desk.server, &session);
    assert_eq!(desk.asked(), [json!("pending")]);
    desk.server.decide(&session, &ask, "allow_once");
    let end = desk.server.wait_end(&session);
    assert!(end["payload"]["message"].as_str().expect("words").ends_with("Done."), "{end}");
    assert_eq!(desk.asked(), [json!("allowed")]);
    assert_eq!(gaps(&desk.server, &session), 0);
    // And nobody is named as somebody else
    let said = notices(&mut desk.server, &session);
    assert!(said.iter().all(|text| !text.contains("what was asked")), "{said:?}");
}

#[test]
fn i14_1_a_question_that_another_client_settled_while_the_line_was_cut_is_shown_as_settled_by_it() {
    let gate = Gate::default();
    let model = Model::start(story(&gate));
    let host = Host::of(&model);
    let mut desk = Desk::of(&host);
    gate.open();
    let ask = desk.other.wait("tool.request_approval");
    let session = desk.session.clone();
    desk.server.wait_ask(&session);
    desk.relay.cut();
    desk.the_other_allows(&ask);
    desk.relay.mend();
    back(&desk.server, &session);
    desk.proves_that_the_other_settled_it();
}

#[test]
fn i14_1_a_question_that_came_and_went_while_the_line_was_cut_is_shown_as_settled_by_the_other_client() {
    let gate = Gate::default();
    let model = Model::start(story(&gate));
    let host = Host::of(&model);
    let mut desk = Desk::of(&host);
    desk.relay.cut();
    gate.open();
    let ask = desk.other.wait("tool.request_approval");
    desk.the_other_allows(&ask);
    desk.relay.mend();
    let session = desk.session.clone();
    back(&desk.server, &session);
    desk.proves_that_the_other_settled_it();
}

#[test]
fn i14_1_a_question_that_another_client_settled_after_ours_was_killed_is_shown_as_settled_by_it() {
    let gate = Gate::default();
    let model = Model::start(story(&gate));
    let host = Host::of(&model);
    let mut desk = Desk::of(&host);
    gate.open();
    let ask = desk.other.wait("tool.request_approval");
    let session = desk.session.clone();
    desk.server.wait_ask(&session);
    let state = Arc::clone(&desk.server.state);
    desk.server.kill();
    desk.the_other_allows(&ask);
    desk.server = server_at(&host, &desk.relay.url, state);
    desk.server.ask("bb/selectSession", json!({ "sessionId": session }));
    desk.proves_that_the_other_settled_it();
}
