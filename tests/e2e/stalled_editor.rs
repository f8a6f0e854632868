//! The editor stops reading while a model floods: memory stays bounded, nothing is lost, and the process can still end
//! (ARCHITECTURE.md, invariant 5; wire.md section 3).

use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::flood::{Answer, Model};
use super::harness::client::{Client, newest_page};
use super::harness::{Options, Server};

/// Tokens of one turn.
const TOKENS: usize = 200_000;

/// What the server may grow by while nobody reads and one turn floods, in KiB.
const GROWTH_KIB: u64 = 16 << 10;

/// For a flood in a build without optimisation on a busy machine.
const LONG: Duration = Duration::from_secs(240);

/// A server with a session in which a short turn has warmed everything up.
fn warm(model: &Model, program: Option<PathBuf>) -> (Server, Value, Client) {
    let mut server = Server::ready(Options {
        options: json!({ "model": model.setting() }),
        keep_frames: true,
        program,
        ..Options::default()
    });
    server.ask("bb/init", json!({}));
    let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();
    let mut client = Client::new(&session);
    client.view = Some(server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone());
    turn(&mut server, &session);
    model.written.recv_timeout(LONG).expect("the short answer is written");
    server.wait_long("the end of the short turn", LONG, is_end);
    (server, session, client)
}

fn turn(server: &mut Server, session: &Value) {
    let sent = server.ask("bb/sendMessage", json!({ "sessionId": session, "text": "Go." }));
    assert_eq!(sent["disposition"], "started");
}

fn is_end(message: &Value) -> bool {
    message["method"] == "bb/events"
        && message["params"]["events"]
            .as_array()
            .is_some_and(|events| events.iter().any(|event| event["class"] == "run.finished"))
}

fn model() -> Model {
    Model::start(|at, _| Answer::Flood("tok ".to_owned(), if at == 0 { 100 } else { TOKENS }))
}

/// Waits until the model has written its answer, and gives the largest memory seen meanwhile.
#[cfg(target_os = "linux")]
fn largest_while_written(server: &Server, model: &Model) -> u64 {
    let until = Instant::now() + LONG;
    let mut largest = 0;
    loop {
        match model.written.recv_timeout(Duration::from_millis(20)) {
            Ok(()) => return largest.max(server.rss_kib()),
            Err(RecvTimeoutError::Timeout) => largest = largest.max(server.rss_kib()),
            Err(RecvTimeoutError::Disconnected) => panic!("the model is gone"),
        }
        assert!(Instant::now() < until, "the server stopped to take the model's words");
    }
}

#[cfg(target_os = "linux")]
fn stalled_flood(turns: usize, program: Option<PathBuf>) {
    let model = model();
    let (mut server, session, mut client) = warm(&model, program);
    let before = server.rss_kib();
    let mut largest = 0;
    let mut asked = Vec::new();
    for at in 0..turns {
        if at > 0 {
            let id = server.request(
                "bb/sendMessage",
                json!({ "sessionId": session, "text": "Go.", "messageId": uuid(at) }),
            );
            asked.push(id);
        } else {
            turn(&mut server, &session);
            server.stall();
        }
        largest = largest.max(largest_while_written(&server, &model));
        for _ in 0..5 {
            asked.push(server.request("bb/listSessions", json!({})));
        }
    }
    let grown = largest.saturating_sub(before);
    println!("resident: {before} KiB before, {largest} KiB at most, {grown} KiB more, in {turns} turn(s)");
    assert!(grown <= GROWTH_KIB, "the server grew by {grown} KiB while nobody read");

    server.resume();
    for id in &asked {
        let answer = server.wait_long("an answer", LONG, |message| message["id"] == *id);
        assert!(answer.get("result").is_some(), "{answer}");
    }
    for _ in 0..turns {
        server.wait_long("the end of a flood", LONG, is_end);
    }
    // The view jumps to the head; after that nothing more is due.
    let view = server.wait_long("a snapshot at the end", LONG, |message| {
        message["method"] == "bb/view"
            && message["params"].get("snapshot").is_some_and(|view| {
                view["lanes"]["chat"]["blocks"].as_array().unwrap().last().unwrap()["kind"] != "assistant"
                    || view["lanes"]["chat"]["blocks"].as_array().unwrap().last().unwrap()["streaming"]
                        == false
            })
    });
    let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
    client.take(&server.frames());
    let head = selected["seq"].as_u64().unwrap();
    assert_eq!(client.seq(), head);
    let tokens = client.events.iter().filter(|event| event.contains("\"assistant.token\"")).count();
    assert_eq!(tokens, turns * TOKENS + 100);
    assert_eq!(view["params"]["snapshot"]["lanes"], selected["view"]["lanes"]);
    assert_eq!(newest_page(client.view.as_ref().unwrap()), selected["view"]);
    assert!(server.shut_down().success());
}

fn uuid(at: usize) -> String {
    format!("{at:08x}-0000-4000-8000-000000000000")
}

#[cfg(target_os = "linux")]
#[test]
fn a_flood_nobody_reads_costs_bounded_memory_and_loses_nothing() {
    stalled_flood(1, None);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "about the build that is shipped, which BB_SERVER names; .ci/run runs it"]
fn two_million_tokens_nobody_reads_cost_bounded_memory() {
    let shipped = std::env::var_os("BB_SERVER").expect("BB_SERVER names the server as it is shipped");
    stalled_flood(10, Some(shipped.into()));
}

#[test]
fn the_process_ends_within_a_second_while_nobody_reads() {
    let model = model();
    let (mut server, session, _) = warm(&model, None);
    turn(&mut server, &session);
    server.stall();
    model.written.recv_timeout(LONG).expect("the server takes the model's words");
    server.close_stdin();
    let (_, took) = server.wait_exit_timed();
    assert!(took < Duration::from_millis(1_500), "it took {took:?}");
}
