//! A change that a host proposed and waits for no answer to, while the connection breaks: it stays a question, and is made once.

use std::sync::Arc;

use breadboard_ls::testing::simulate::desktop::HostDialect;
use serde_json::{Value, json};

use crate::breadboard_desk::until;
use crate::desktop_desk::{BOTH, HostDesk, notices};
use crate::harness::Server;

const DIFF: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n";

/// The change, in the words of a dialect.
fn proposed(dialect: HostDialect) -> Value {
    let name = if dialect == HostDialect::Seed { "patch_id" } else { "id" };
    let mut patch =
        json!({ "type": "patch.proposed", "file_path": "a.txt", "diff": DIFF, "rationale": "Louder." });
    patch[name] = json!("p1");
    patch
}

fn over() -> Value {
    json!({ "send": { "type": "assistant.message_final", "message": "Done.", "metadata": {} } })
}

/// A message that belongs to no turn: whoever heard it heard all before it.
fn mark() -> Value {
    json!({ "send": { "type": "server.notice", "level": "info", "message": "So far." } })
}

/// A session in which the change is proposed, followed by these steps.
struct Proposal {
    desk: HostDesk,
    server: Server,
    session: String,
}

impl Proposal {
    fn with(dialect: HostDialect, steps: &[Value]) -> Self {
        let steps = [&[json!({ "send": proposed(dialect) })], steps].concat();
        let desk = HostDesk::scripted(dialect, &json!([{ "bare": true, "steps": steps }]));
        let mut server = desk.server();
        server.write("a.txt", "one\ntwo\n");
        let session = server.session();
        let proposal = Self { desk, server, session };
        assert_eq!(proposal.stands()["verdict"], "complete");
        let session = proposal.session.clone();
        let Self { desk, mut server, .. } = proposal;
        server.prompt(&session, "write it");
        Self { desk, server, session }
    }

    /// Waits until the connection stands; its verdict.
    fn stands(&self) -> Value {
        let up = self.server.wait_notification("bb/connection", |params| {
            params["sessionId"] == self.session.as_str()
                && params["status"] == "connected"
                && params["resume"].is_object()
        });
        up["params"]["resume"].clone()
    }

    /// How its questions were settled.
    fn settled(&self) -> Vec<String> {
        let events = self.server.events(&self.session);
        let settled = events.iter().filter(|event| event["type"] == "local.permission_settled");
        settled.filter_map(|event| event["payload"]["status"].as_str().map(str::to_owned)).collect()
    }

    /// Decides; then the file is as decided, and nothing was said of the question but that.
    fn decide(&mut self, ask: &Value, decision: &str) {
        self.server.decide(&self.session, ask, decision);
        let (written, status) =
            if decision == "deny" { ("one\ntwo\n", "denied") } else { ("one\nTWO\n", "allowed") };
        until("the file", || (self.server.read("a.txt") == written).then_some(()));
        until("the answer", || (!self.settled().is_empty()).then_some(()));
        assert_eq!(self.settled(), [status]);
    }

    /// The answers that the host heard.
    fn answers(&self) -> Vec<Value> {
        let answers = self.desk.all_heard("client.approval_response").into_iter();
        answers.map(|answer| answer["approved"].clone()).collect()
    }
}

#[test]
fn a_proposed_change_whose_turn_is_over_can_be_decided_behind_a_break() {
    for dialect in BOTH {
        for decision in ["allow_once", "deny"] {
            // Given a host that ended its turn behind the change, which is heard here
            let mut proposal = Proposal::with(dialect, &[over(), mark()]);
            let ask = proposal.server.wait_ask(&proposal.session);
            proposal
                .server
                .wait_event(&proposal.session, "the mark", |event| event["type"] == "server.notice");
            // When the connection breaks, and stands again
            proposal.desk.host.cut_sockets();
            assert_eq!(proposal.stands()["verdict"], "lost");
            assert_eq!(proposal.settled(), Vec::<String>::new(), "{dialect:?}");
            // Then the change is still a question, and the turn ends with its answer as the host ended it
            proposal.decide(&ask, decision);
            let end = proposal.server.wait_end(&proposal.session);
            assert_eq!(end["payload"]["message"], "Done.", "{dialect:?}: {end}");
            until("the answer there", || (!proposal.answers().is_empty()).then_some(()));
            assert_eq!(proposal.answers(), [json!(decision == "allow_once")]);
        }
    }
}

#[test]
fn a_proposed_change_whose_turn_died_with_the_connection_can_be_decided_and_the_end_is_said_to_be_unknown() {
    // Given a host that works on, as far as anybody knows, when the connection breaks
    let mut proposal = Proposal::with(HostDialect::Source, &[json!({ "hold": "never" })]);
    let ask = proposal.server.wait_ask(&proposal.session);
    proposal.desk.host.cut_sockets();
    assert_eq!(proposal.stands()["verdict"], "lost");
    assert_eq!(proposal.settled(), Vec::<String>::new());
    // Then the change can be decided, and only then the turn is over, with a sentence
    proposal.decide(&ask, "allow_once");
    let end = proposal.server.wait_end(&proposal.session);
    assert_eq!(
        (&end["type"], &end["payload"]["reason"]),
        (&json!("local.turn_end"), &json!("failed")),
        "{end}"
    );
    let why = end["payload"]["message"].as_str().expect("a sentence");
    assert!(why.contains("cannot be known; the change is decided, look at the session"), "{why}");
    // And the next prompt is sent
    proposal.server.prompt(&proposal.session.clone(), "more");
    until("the next prompt", || (proposal.desk.all_heard("client.user_message").len() == 2).then_some(()));
}

#[test]
fn a_change_that_was_proposed_as_the_connection_broke_is_asked_about() {
    for dialect in BOTH {
        // Given a connection that breaks before it is known whether a question follows the change
        let mut proposal = Proposal::with(dialect, &[json!({ "cut": true }), json!({ "hold": "never" })]);
        let ask = proposal.server.wait_ask(&proposal.session);
        assert_eq!(ask["type"], "patch.proposed", "{ask}");
        assert_eq!(proposal.stands()["verdict"], "lost");
        // Then it is itself the question, and is decided as ever
        proposal.decide(&ask, "allow_once");
        assert_eq!(proposal.server.read("a.txt"), "one\nTWO\n", "{dialect:?}");
    }
}

#[test]
fn a_proposed_change_is_decided_and_made_while_no_connection_stands_and_the_host_hears_of_it_once() {
    for dialect in BOTH {
        let mut proposal = Proposal::with(dialect, &[over(), mark()]);
        let ask = proposal.server.wait_ask(&proposal.session);
        proposal.server.wait_event(&proposal.session, "the mark", |event| event["type"] == "server.notice");
        // Given a host that cannot be reached any more
        proposal.desk.host.refuse_sockets(true);
        proposal.desk.host.cut_sockets();
        proposal.server.wait_notification("bb/connection", |params| {
            params["sessionId"] == proposal.session.as_str()
                && params["status"] == "connecting"
                && params["lastError"].is_string()
        });
        // When the change is allowed, then it is made, and the turn is over
        proposal.decide(&ask, "allow_once");
        let end = proposal.server.wait_end(&proposal.session);
        assert_eq!(end["payload"]["message"], "Done.", "{dialect:?}: {end}");
        assert_eq!(proposal.answers(), Vec::<Value>::new());
        // And the host hears it once it is back
        proposal.desk.host.refuse_sockets(false);
        proposal.stands();
        until("the answer there", || (!proposal.answers().is_empty()).then_some(()));
        assert_eq!(proposal.answers(), [json!(true)]);
    }
}

#[test]
fn a_host_that_goes_on_closes_the_question_and_that_is_said() {
    let next = json!({ "send": { "type": "assistant.token", "token": "And", "delta": "And" } });
    let mut proposal = Proposal::with(
        HostDialect::Source,
        &[over(), json!({ "hold": "on" }), next, json!({ "hold": "never" })],
    );
    proposal.server.wait_ask(&proposal.session);
    proposal.desk.host.release("on");
    let end = proposal.server.wait_end(&proposal.session);
    assert_eq!(end["payload"]["message"], "Done.", "{end}");
    let session = proposal.session.clone();
    let told = notices(&mut proposal.server, &session);
    let said =
        "so that question is closed and nothing was written; ask for the change again if you still want it.";
    assert!(told.iter().any(|text| text.ends_with(said)), "{told:?}");
    assert_eq!(proposal.settled(), ["cancelled"]);
    assert_eq!(proposal.server.read("a.txt"), "one\ntwo\n");
}

impl Proposal {
    /// This process is killed, and another one takes its place.
    fn reopened(mut self) -> Self {
        self.server.kill();
        let (workspace, state) = (Arc::clone(&self.server.workspace), Arc::clone(&self.server.state));
        let mut server = Server::start_in(workspace, state, self.desk.chosen(true));
        server.shake_hands();
        server.ask("bb/init", json!({}));
        server.ask("bb/selectSession", json!({ "sessionId": self.session }));
        let reopened = Self { server, ..self };
        assert_eq!(reopened.stands()["verdict"], "lost");
        reopened
    }

    /// What waits for an answer.
    fn waiting(&mut self) -> Vec<Value> {
        let listed = self.server.ask("bb/permission/list", json!({ "sessionId": self.session }));
        listed["pending"].as_array().expect("a list").clone()
    }

    /// Events of the whole session with this type.
    fn all(&mut self, kind: &str) -> Vec<Value> {
        let read = self.server.ask("bb/events/read", json!({ "sessionId": self.session, "fromSeq": 1 }));
        let events = read["events"].as_array().expect("events").clone();
        events
            .into_iter()
            .filter(|event| event["type"] == kind)
            .map(|event| event["payload"].clone())
            .collect()
    }
}

#[test]
fn a_proposed_change_outlives_our_process_and_is_made_once() {
    for dialect in BOTH {
        for (decision, written, status) in
            [("allow_once", "one\nTWO\n", "allowed"), ("deny", "one\ntwo\n", "denied")]
        {
            // Given a change that waits for the user, and a process that is killed
            let proposal = Proposal::with(dialect, &[over(), mark()]);
            let ask = proposal.server.wait_ask(&proposal.session);
            let mut proposal = proposal.reopened();
            // Then it waits in the next one, the same
            let waiting = proposal.waiting();
            assert_eq!(waiting.len(), 1, "{dialect:?}: {waiting:?}");
            assert_eq!(waiting[0]["permission"]["requestId"], ask["permission"]["requestId"]);
            assert_eq!(proposal.server.read("a.txt"), "one\ntwo\n");
            // When it is decided
            let session = proposal.session.clone();
            proposal.server.decide(&session, &ask, decision);
            // Then that is done, the turn is over with a sentence, and the host hears it
            let end = proposal.server.wait_end(&session);
            let why = end["payload"]["message"].as_str().expect("a sentence");
            assert!(why.contains("the change is decided, look at the session"), "{dialect:?}: {end}");
            assert_eq!(proposal.server.read("a.txt"), written, "{dialect:?}");
            until("the answer there", || (!proposal.answers().is_empty()).then_some(()));
            assert_eq!(proposal.answers(), [json!(decision == "allow_once")]);
            // And when the next process is killed too, nothing waits, and nothing is made a second time
            proposal.server.write("a.txt", "one\ntwo\n");
            let mut proposal = proposal.reopened();
            assert_eq!(proposal.waiting(), Vec::<Value>::new());
            let settled: Vec<Value> = proposal
                .all("local.permission_settled")
                .iter()
                .map(|settled| settled["status"].clone())
                .collect();
            assert_eq!(settled, [status]);
            assert_eq!(proposal.all("local.turn_end").len(), 1);
            assert_eq!(proposal.answers().len(), 1);
            assert_eq!(proposal.server.read("a.txt"), "one\ntwo\n", "{dialect:?}");
        }
    }
}
