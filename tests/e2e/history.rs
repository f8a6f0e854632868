//! What was said before: read in pages, replayed after a restart, and kept apart from other workspaces.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Model, Reply, Step, says};

fn texts(blocks: &Value, kind: &str) -> Vec<String> {
    let blocks = blocks.as_array().expect("blocks");
    let wanted = blocks.iter().filter(|block| block["kind"] == kind);
    wanted.map(|block| block["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn r000_46_to_50_r003_55_events_are_read_again_in_pages_exactly_as_they_were_sent() {
    let model = Model::start(vec![Reply::Stream((0..100).map(|n| Step::Text(format!("{n} "))).collect())]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    let end = server.turn(&session, "a question")["seq"].as_u64().expect("a number");
    let sent = server.events(&session);
    // In order, without holes; the embedded engine gives no ids.
    let numbers: Vec<u64> = sent.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=end).collect::<Vec<_>>());
    for event in &sent {
        assert_eq!(event["id"], "", "{event}");
        let local = event["type"].as_str().is_some_and(|kind| kind.starts_with("local."));
        assert_eq!(event["origin"], if local { "local" } else { "engine" }, "{event}");
    }
    let tokens: Vec<&Value> = sent
        .iter()
        .filter(|event| event["type"] == "assistant.token")
        .map(|event| &event["payload"]["token"])
        .collect();
    assert_eq!(
        tokens,
        (0..100).map(|n| json!(format!("{n} "))).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );

    let (mut read, mut from, mut pages) = (Vec::new(), 1, 0);
    loop {
        let page =
            server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": from, "limit": 30 }));
        let events = page["events"].as_array().expect("events");
        assert!(events.len() <= 30);
        from += events.len() as u64;
        read.extend(events.iter().cloned());
        pages += 1;
        if page["hasMore"] == false {
            break;
        }
        assert_eq!(events.len(), 30);
    }
    assert_eq!(read, sent);
    assert_eq!(pages, end.div_ceil(30));
    for seq in [1, end / 2, end] {
        let body = server.ask("bb/eventBody", json!({ "sessionId": session, "seq": seq }));
        assert_eq!(body["event"], sent[seq as usize - 1]);
    }
    let last_but_one = json!({ "sessionId": session, "fromSeq": end - 1, "limit": 1 });
    let page = server.ask("bb/events/read", last_but_one);
    assert_eq!((&page["events"], &page["hasMore"]), (&json!([sent[end as usize - 2]]), &json!(true)));
    let beyond = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": end + 1 }));
    assert_eq!(beyond, json!({ "events": [], "hasMore": false }));

    // Another process reads the same, and a view of the same.
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.kill();
    let mut next = Server::start_in(workspace, state, model.chosen(false));
    next.shake_hands();
    let all = next.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    assert_eq!(all["events"], json!(sent));
    assert_eq!(next.ask("bb/selectSession", json!({ "sessionId": session }))["view"], view);
}

#[test]
fn a_long_chat_is_paged_from_its_newest_block_to_its_oldest() {
    const TURNS: usize = 40;
    let model = Model::start((0..TURNS).map(|n| says(&format!("answer {n}"))).collect());
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    for n in 0..TURNS {
        server.turn(&session, &format!("question {n}"));
    }
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let chat = &view["lanes"]["chat"];
    assert_eq!(chat["blocks"].as_array().map(Vec::len), Some(50));
    assert_eq!(chat["hasMore"], true);
    let mut blocks = chat["blocks"].as_array().expect("blocks").clone();
    let newest = server.ask("bb/view/page", json!({ "sessionId": session, "lane": "chat" }));
    assert_eq!(newest["blocks"], chat["blocks"]);
    loop {
        let before = blocks[0]["id"].clone();
        let page = server.ask(
            "bb/view/page",
            json!({ "sessionId": session, "lane": "chat", "before": before, "limit": 20 }),
        );
        let older = page["blocks"].as_array().expect("blocks");
        assert!(older.len() <= 20);
        blocks.splice(0..0, older.iter().cloned());
        if page["hasMore"] == false {
            break;
        }
        assert_eq!(older.len(), 20);
    }
    let all = json!(blocks);
    assert_eq!(texts(&all, "user"), (0..TURNS).map(|n| format!("question {n}")).collect::<Vec<_>>());
    assert_eq!(texts(&all, "assistant"), (0..TURNS).map(|n| format!("answer {n}")).collect::<Vec<_>>());
    let first = blocks[0]["id"].clone();
    let none = server.ask("bb/view/page", json!({ "sessionId": session, "lane": "chat", "before": first }));
    assert_eq!(none, json!({ "blocks": [], "hasMore": false }));
}

#[test]
fn sessions_of_another_workspace_are_not_listed_and_not_reached() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    server.turn(&session, "where is main?");
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.shut_down();
    let elsewhere = Arc::new(tempfile::tempdir().expect("a workspace"));
    let mut other = Server::start_in(elsewhere, Arc::clone(&state), Options::default());
    other.shake_hands();
    assert_eq!(other.ask("bb/init", json!({}))["sessions"], json!([]));
    for (method, params) in [
        ("bb/selectSession", json!({ "sessionId": session })),
        ("bb/deleteSession", json!({ "sessionId": session })),
        ("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 })),
    ] {
        assert_eq!(other.refused(method, params)["data"]["code"], "unknown_session", "{method}");
    }
    other.shut_down();
    let mut back = Server::start_in(workspace, state, Options::default());
    back.shake_hands();
    assert_eq!(back.ask("bb/init", json!({}))["sessions"][0]["sessionId"], session.as_str());
}

#[test]
fn r000_53_a_reconnect_gets_exactly_what_it_has_not_seen() {
    let mut server = Server::ready(Options::default());
    let epoch = server.ask("bb/init", json!({}))["epoch"].clone();
    let session = server.session();
    let end = server.turn(&session, "where is main?")["seq"].as_u64().expect("a number");
    let sent = server.events(&session);
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.kill();
    let mut next = Server::start_in(workspace, state, Options::default());
    next.shake_hands();
    let seen = |epoch: &Value, seq: u64| json!({ "lastSeen": { "epoch": epoch, "sessions": { &session: seq, "gone": 4 } } });
    let init = next.ask("bb/init", seen(&epoch, 2));
    assert_eq!(init["epoch"], epoch);
    assert_eq!(
        init["resume"][&session],
        json!({ "verdict": "replayed", "events": end - 2, "from": 3, "to": end })
    );
    assert_eq!(init["resume"]["gone"]["verdict"], "lost");
    next.wait_end(&session);
    assert_eq!(next.events(&session), sent[2..]);
    assert_eq!(
        next.ask("bb/init", seen(&epoch, end))["resume"][&session],
        json!({ "verdict": "complete", "events": 0 })
    );
    assert_eq!(next.ask("bb/init", seen(&epoch, end + 1))["resume"][&session]["verdict"], "lost");
    assert_eq!(next.ask("bb/init", seen(&json!("another"), 2))["resume"][&session]["verdict"], "lost");
    assert_eq!(next.events(&session).len() as u64, end - 2, "nothing more was sent");
}

/// Ids of the sessions that have these words, and where.
fn find(server: &mut Server, query: &str) -> (Vec<String>, Value) {
    let listed = server.ask("bb/listSessions", json!({ "query": query }));
    let ids = listed["sessions"].as_array().expect("sessions").iter();
    let ids = ids.map(|session| session["sessionId"].as_str().expect("an id").to_owned());
    (ids.collect(), listed["found"].clone())
}

#[test]
fn a_session_is_found_by_what_was_asked_and_answered_in_it_over_the_wire_and_in_a_terminal() {
    // Given two sessions, of which one was asked about uploads and answered with a place
    let model = Model::start(vec![
        says("The limit stands in `src/retry.rs`, as MAX_TRIES."),
        says("Nothing to see."),
    ]);
    let mut server = Server::ready(model.chosen(false));
    let first = server.session();
    server.turn(&first, "how often are uploads tried?");
    let second = server.session();
    server.turn(&second, "say something");
    // When its words are looked for, in any case and by their beginnings
    let (ids, found) = find(&mut server, "max_tries RETRY");
    // Then it alone is told, with the answer that has them
    assert_eq!(ids, std::slice::from_ref(&first));
    let passages = found[first.as_str()].as_array().expect("passages");
    assert_eq!(passages.len(), 1);
    assert_eq!(passages[0]["by"], "answer");
    assert_eq!(passages[0]["text"], "The limit stands in `src/retry.rs`, as MAX_TRIES.");
    assert!(passages[0]["blockId"].is_string());
    let (ids, found) = find(&mut server, "uploads tried");
    assert_eq!(ids, std::slice::from_ref(&first));
    assert_eq!(found[first.as_str()][0]["by"], "prompt");
    assert_eq!(find(&mut server, "nowhere"), (Vec::new(), json!({})));
    assert_eq!(find(&mut server, " … "), (Vec::new(), json!({})), "no word is in it");
    // And of a deleted one nothing is found
    server.ask("bb/deleteSession", json!({ "sessionId": second }));
    assert_eq!(find(&mut server, "nothing to see"), (Vec::new(), json!({})));
    // And a terminal shows the line of the session and the place
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
        .args(["sessions", "--search", "MAX_TRIES", "--state-dir"])
        .arg(server.state.path())
        .arg("--workspace")
        .arg(server.workspace.path())
        .output()
        .expect("it runs");
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines[0].starts_with(&first) && lines[0].ends_with("how often are uploads tried?"), "{shown}");
    assert_eq!(lines[1], "    answer  The limit stands in `src/retry.rs`, as MAX_TRIES.");
}
