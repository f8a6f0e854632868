//! Whether the engine answers, and with whose token.

use std::time::Duration;

use breadboard_ls::testing::app::inbox::Reply;
use breadboard_ls::testing::app::ports::{
    Engine, EngineCall, EngineReport, NewSession, Secret, SessionReply,
};
use breadboard_ls::testing::domain::coded_error::ErrorCode;
use breadboard_ls::testing::engine::breadboard::Setup;
use breadboard_ls::testing::engine::breadboard::client::{Client, EngineTimeouts, From};
use breadboard_ls::testing::engine::breadboard::engine_error::{Denied, EngineError};
use breadboard_ls::testing::http::Unreached;
use breadboard_ls::testing::protocol::request::CredentialScope;
use breadboard_ls::testing::protocol::settings::EngineSetting;
use breadboard_ls::testing::simulate::breadboard::{HoldPoint, SimulatorOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::desk::{Desk, bodies, seen, setup, simulator};

/// A port where nothing listens.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_05_what_the_engine_has_is_read_from_its_paths() {
    let simulator_ = simulator(SimulatorOptions { pr40: true, ..SimulatorOptions::default() });
    let mut desk = Desk::open(setup(simulator_.base_url(), None));
    let wanted = [
        "attachments",
        "cancel",
        "commands",
        "ctrees",
        "download",
        "events",
        "fileContent",
        "files",
        "identity",
        "input",
        "models",
        "records",
        "sessions",
        "skills",
    ];
    assert_eq!(desk.until_connected().await, wanted);
    assert_eq!(desk.engine.capabilities(), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_starts_later_is_found() {
    let port = free_port();
    let mut desk = Desk::open(setup(&format!("http://127.0.0.1:{port}"), None));
    let error = desk.until_failed().await;
    assert_eq!(error.code, ErrorCode::EngineUnreachable);
    assert_eq!(
        error.message,
        format!(
            "The BreadBoard engine at http://127.0.0.1:{port} cannot be reached: nothing listens there; start it, or \
             correct its address."
        )
    );
    let _engine = simulator(SimulatorOptions { port, ..SimulatorOptions::default() });
    desk.until_connected().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_comes_later_is_tried() {
    let engine =
        simulator(SimulatorOptions { token: Some("right".to_owned()), ..SimulatorOptions::default() });
    let mut desk = Desk::open(setup(engine.base_url(), None));
    let error = desk.until_failed().await;
    assert_eq!(error.code, ErrorCode::EngineUnauthorized);
    assert!(error.message.contains("wants a token"), "{}", error.message);
    let token = |token: &str| {
        let token = Some(Secret(token.to_owned()));
        EngineCall::SetToken { scope: CredentialScope::Engine, token }
    };
    desk.engine.call(token("wrong"));
    let error = desk.until_failed().await;
    assert!(
        error.message.contains("does not take our token") && !error.message.contains("wrong"),
        "{}",
        error.message
    );
    desk.engine.call(token("right"));
    desk.until_connected().await;
    desk.make().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_goes_away_is_noticed_by_the_next_request() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    drop(engine);
    let refused = desk.try_make(NewSession::default()).await.expect_err("nothing is there");
    assert_eq!(refused.code, ErrorCode::EngineUnreachable);
    assert_eq!(desk.until_failed().await.code, ErrorCode::EngineUnreachable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_sent_where_it_can_be_read_and_not_to_another_address() {
    let place = setup("http://192.0.2.1:9", Some("t")).base_url;
    let client = Client::new(place, Some(Secret("t".to_owned())), None, EngineTimeouts::default());
    assert_eq!(client.health().await, Err(EngineError::Unauthorized(Denied::Exposed)));

    let setting: EngineSetting =
        serde_json::from_value(json!({ "kind": "breadboard", "url": "http://127.0.0.1:9/x" }))
            .expect("a setting");
    let read = |other: Option<&str>| {
        Setup::read(&setting, Some(Secret("t".to_owned())), other)
            .expect("an address")
            .token
            .map(|token| token.0)
    };
    assert_eq!(read(None).as_deref(), Some("t"));
    assert_eq!(read(Some("http://127.0.0.1:9")).as_deref(), Some("t"));
    assert_eq!(read(Some("http://127.0.0.1:10")), None);
}

#[test]
fn an_engine_without_an_address_is_refused_in_a_sentence() {
    let setting: EngineSetting = serde_json::from_value(json!({ "kind": "breadboard" })).expect("a setting");
    let refused = Setup::read(&setting, None, None).err().expect("is refused");
    assert!(refused.message.contains("BREADBOARD_API_URL"), "{}", refused.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_and_gone_are_told_apart() {
    let engine = simulator(SimulatorOptions::default());
    let patience = EngineTimeouts { answer: Duration::from_millis(300), ..EngineTimeouts::default() };
    let client = |url: &str| Client::new(setup(url, None).base_url, None, None, patience);
    engine.hold_answers("GET /health", HoldPoint::BeforeAnswer);
    assert_eq!(client(engine.base_url()).health().await, Err(EngineError::TimedOut { sent: true }));
    engine.release_answers();
    assert!(client(engine.base_url()).health().await.is_ok());
    let gone = client(&format!("http://127.0.0.1:{}", free_port())).health().await;
    let nothing = Unreached::Connection("nothing listens there".to_owned());
    assert_eq!(gone, Err(EngineError::Unreachable { why: nothing, sent: false }));
}

/// The URL of something that gives this answer to its first request.
async fn answering(answer: &str) -> String {
    let answer = answer.to_owned();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a connection");
        // The request is small and comes at once.
        let _ = socket.read(&mut [0; 4_096]).await;
        let _ = socket.write_all(answer.as_bytes()).await;
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let other = simulator(SimulatorOptions::default());
    let elsewhere = format!("{}/health", other.base_url());
    let url =
        answering(&format!("HTTP/1.1 307 x\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\n\r\n")).await;
    let client = Client::new(setup(&url, None).base_url, None, None, EngineTimeouts::default());
    let outcome = client.health().await;
    assert!(matches!(outcome, Err(EngineError::Broken { status: 307, .. })), "{outcome:?}");
    assert_eq!(other.requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_the_answer_asks_for_is_known_to_whoever_asked() {
    let url = answering("HTTP/1.1 503 x\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n").await;
    let client = Client::new(setup(&url, None).base_url, None, None, EngineTimeouts::default());
    let busy = client.health().await.expect_err("it is busy");
    assert_eq!(busy.wait(), Some(Duration::from_secs(20)));
    let told = busy.told(&url);
    assert_eq!(told.code, ErrorCode::Overloaded);
    assert_eq!(told.message, format!("The engine at {url} is busy; try again in 20 seconds."));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_asks_to_be_left_alone_is_not_asked_for_its_health_before() {
    // Given something that asks for two seconds, which is longer than any of the first pauses
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let mut desk = Desk::open(setup(&url, None));
    let next = async || {
        let (mut socket, _) = listener.accept().await.expect("a connection");
        let came = std::time::Instant::now();
        let mut request = [0; 4_096];
        // The request is small and comes at once.
        let bytes = socket.read(&mut request).await.expect("a request");
        assert!(request[..bytes].starts_with(b"GET /health "), "{:?}", String::from_utf8_lossy(&request));
        let answer = b"HTTP/1.1 503 x\r\nRetry-After: 2\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        socket.write_all(answer).await.expect("the answer goes out");
        came
    };
    // When it is asked twice
    let first = next().await;
    let told = desk.until_failed().await;
    let second = next().await;
    // Then it was left alone for that long, and the user reads for how long
    assert!(second - first >= Duration::from_secs(2), "{:?}", second - first);
    assert_eq!(told.message, format!("The engine at {url} is busy; try again in 2 seconds."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_says_why_it_cannot_begin() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    let id = desk.make().await;
    let client = Client::new(setup(engine.base_url(), None).base_url, None, None, EngineTimeouts::default());
    let mut stream = client.events(&id, From::Start).await.expect("a stream");
    assert!(stream.next().await.expect("bytes").is_ok());
    let outcome = client.events(&id, From::After("9999".to_owned())).await.err();
    assert!(matches!(outcome, Some(EngineError::WindowExceeded(_))), "{outcome:?}");
    let outcome = client.events("nobody", From::After("1".to_owned())).await.err();
    assert!(matches!(outcome, Some(EngineError::Gone { .. })), "{outcome:?}");
    let outcome = client.session("..").await.err();
    assert!(matches!(outcome, Some(EngineError::Gone { .. })), "{outcome:?}");
    assert_eq!(bodies(&engine, "GET /v1/sessions/..").len(), 0);
    seen(&engine, "GET /v1/sessions/nobody", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_failed_although_the_engine_answers_leaves_no_doubt_behind() {
    let engine = simulator(SimulatorOptions::default());
    let patience = EngineTimeouts { answer: Duration::from_millis(300), ..EngineTimeouts::default() };
    let mut desk = Desk::patient(&engine, patience).await;
    engine.hold_answers("GET /v1/sessions", HoldPoint::BeforeAnswer);
    let (reply, _answer) = Reply::new();
    desk.engine.call(EngineCall::ListSessions { reply: Some(reply) });
    let outcome = desk
        .wait(|report| match report {
            EngineReport::SessionsListed { outcome, .. } => Some(outcome.map(|listed| listed.sessions)),
            _ => None,
        })
        .await;
    assert_eq!(outcome.expect_err("it was too slow").code, ErrorCode::EngineUnreachable);
    // The loop says then that the engine does not answer; that it does is said after it.
    desk.until_connected().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_hears_of_a_session_that_there_was_no_place_to_make() {
    let engine = simulator(SimulatorOptions::default());
    let mut desk = Desk::connected(&engine).await;
    // Given as many calls under way as there may be
    engine.hold_answers("GET /v1/models", HoldPoint::BeforeAnswer);
    let mut waiting = Vec::new();
    for _ in 0..32 {
        let (reply, answer) = Reply::new();
        waiting.push(answer);
        desk.engine.call(EngineCall::ListModels { chosen: None, reply });
    }
    // When a tab wants a session
    let (waits, _tab) = Reply::new();
    let reply = SessionReply::Tab { tab_id: "t".to_owned(), waits };
    let wish = NewSession::default();
    desk.engine.call(EngineCall::MakeSession { session_id: "ours".to_owned(), wish, reply });
    // Then the loop, which tells the tab, hears that there is none
    let (tab, outcome) = desk
        .wait(|report| match report {
            EngineReport::SessionMade { outcome, reply: SessionReply::Tab { tab_id, .. }, .. } => {
                Some((tab_id, outcome))
            }
            _ => None,
        })
        .await;
    assert_eq!((tab.as_str(), outcome.expect_err("no place").code), ("t", ErrorCode::Overloaded));
}
