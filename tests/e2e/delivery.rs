//! Events and view as a client gets them: whole, in order, and enough to draw everything from.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::Server;
use crate::model::{Model, Reply, Step, calls, says};

/// A client's copy of a view: it applies changes and knows nothing of events.
#[derive(Default)]
struct Copy {
    seq: u64,
    lanes: BTreeMap<String, Vec<Value>>,
    snapshots: usize,
}

impl Copy {
    fn of(server: &Server, session: &str) -> Self {
        let mut copy = Self::default();
        for message in server.received() {
            if message["method"] == "bb/view" && message["params"]["sessionId"] == session {
                copy.take(&message["params"]);
            }
        }
        copy
    }

    fn take(&mut self, params: &Value) {
        let to = params["toSeq"].as_u64().expect("a number");
        if let Some(view) = params.get("snapshot") {
            assert_eq!(params["changes"], json!([]));
            assert_eq!(view["seq"], to);
            self.snapshots += 1;
            self.seq = to;
            for (lane, page) in view["lanes"].as_object().expect("lanes") {
                self.lanes.insert(lane.clone(), page["blocks"].as_array().expect("blocks").clone());
            }
            return;
        }
        if to <= self.seq {
            return;
        }
        assert_eq!(params["fromSeq"].as_u64(), Some(self.seq + 1), "a hole before {params}");
        self.seq = to;
        for change in params["changes"].as_array().expect("changes") {
            let blocks = self.lanes.entry(change["lane"].as_str().expect("a lane").to_owned()).or_default();
            let at = blocks.iter().position(|block| block["id"] == change["id"]);
            match (change["op"].as_str(), at) {
                (Some("put"), Some(at)) => blocks[at] = change["block"].clone(),
                (Some("put"), None) => blocks.push(change["block"].clone()),
                (Some("append"), Some(at)) => {
                    let text = format!(
                        "{}{}",
                        blocks[at]["text"].as_str().expect("a text"),
                        change["text"].as_str().expect("a text")
                    );
                    blocks[at]["text"] = json!(text);
                }
                (Some("remove"), Some(at)) => drop(blocks.remove(at)),
                _ => panic!("a change of nothing: {change}"),
            }
        }
    }

    /// Holds this copy against the server's own view.
    fn assert_is(&self, view: &Value) {
        assert_eq!(Some(self.seq), view["seq"].as_u64());
        for (lane, page) in view["lanes"].as_object().expect("lanes") {
            assert_eq!(page["hasMore"], false, "keep the story short");
            let ours = self.lanes.get(lane).cloned().unwrap_or_default();
            assert_eq!(json!(ours), page["blocks"], "lane {lane}");
        }
    }
}

fn view(server: &mut Server, session: &str) -> Value {
    server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone()
}

#[test]
fn r000_03_a_client_that_only_applies_changes_has_the_view() {
    let wish = json!({ "file_path": "a.txt", "rationale": "shorter", "new_content": "1\n" });
    let mut pieces: Vec<Step> = vec![Step::Reason("hm, ".to_owned()), Step::Reason("well".to_owned())];
    pieces.extend((0..50).map(|n| Step::Text(format!("{n} "))));
    pieces.push(Step::Call("search_text", json!({ "query": "two" })));
    let model = Model::start(vec![
        Reply::Stream(pieces),
        calls("propose_patch", wish),
        calls("run_command", json!({ "command": "exit 1", "reason": "to see" })),
        says("It is **done**."),
        Reply::Status(500, "{}".to_owned()),
    ]);
    let mut server = Server::ready(model.chosen(true));
    server.write("b.txt", "one\ntwo\n");
    let session = server.session();
    server.prompt(&session, "make it shorter");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "deny");
    // The last of the turn: which files it changed.
    let last = server.wait_event(&session, "what the turn changed", |event| event["type"] == "local.changes");
    server.wait_notification("bb/view", |params| params["toSeq"].as_u64() >= last["seq"].as_u64());
    let copy = Copy::of(&server, &session);
    assert_eq!(copy.snapshots, 0);
    copy.assert_is(&view(&mut server, &session));

    // R000-03: what a client reduces from the events again is the same, also after a restart.
    let (workspace, state) = (server.workspace.clone(), server.state.clone());
    let before = view(&mut server, &session);
    server.kill();
    let mut next = Server::start_in(workspace, state, model.chosen(true));
    next.shake_hands();
    assert_eq!(view(&mut next, &session), before);
}

#[test]
fn an_editor_that_does_not_read_gets_every_event_once_and_a_view_that_is_true() {
    // So many that what is read again from the journal is more than one portion of it.
    const PIECES: usize = 6_000;
    let command = json!({ "command": "true", "reason": "to see" });
    let mut pieces: Vec<Step> = (0..PIECES).map(|n| Step::Text(format!("{n} "))).collect();
    pieces.push(Step::Call("run_command", command.clone()));
    let model =
        Model::start(vec![calls("run_command", command), says("done"), Reply::Stream(pieces), says("done")]);
    let mut options = model.chosen(true);
    // An event a message: the bound of frames is reached soon.
    options.options["delivery"] = json!({ "maxEvents": 1, "maxLatencyMs": 0 });
    let mut server = Server::ready(options);
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_rule");
    server.wait_end(&session);
    model.asked();
    model.asked();
    server.stall();
    let sent = server.request("bb/sendMessage", json!({ "sessionId": session, "text": "count" }));
    model.asked();
    // The command runs by the rule, and only behind everything that was said before it. So the next question proves that
    // the server is done with all of it.
    assert!(model.asked().tool_result().starts_with("The command ended with exit code 0."));
    server.resume();
    assert!(server.wait_response(&sent).get("result").is_some());
    let end = server.wait_end(&session);
    let events = server.events(&session);
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=end["seq"].as_u64().expect("a number")).collect::<Vec<_>>());
    let mut stored = Vec::new();
    while stored.len() < events.len() {
        let from = stored.len() + 1;
        let page =
            server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": from, "limit": 5000 }));
        stored.extend(page["events"].as_array().expect("events").iter().cloned());
    }
    assert_eq!(stored, events);
    server.wait_notification("bb/view", |params| params["toSeq"].as_u64() >= end["seq"].as_u64());
    let view = view(&mut server, &session);
    let copy = Copy::of(&server, &session);
    assert!(copy.snapshots > 0, "the editor was never behind, so this story proves nothing");
    copy.assert_is(&view);
}
