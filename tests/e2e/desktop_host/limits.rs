//! The bounds of the host: how often, how much, how many, how long; each is said, and none ends anything but what broke it.

use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use super::{Host, hello};
use crate::harness::PATIENCE;
use crate::model::Model;

fn ping() -> Value {
    json!({ "type": "client.ping" })
}

#[test]
fn too_many_requests_are_refused_with_when_to_come_back_and_the_host_goes_on() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let bearer = host.bearer();
    let url = format!("{}/v1/health", host.url);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let refused = host.runtime.block_on(async {
        // All at once: as many as the burst, and half as many again.
        let ask = |_| client.get(&url).header("authorization", &bearer).send();
        let answers = futures::stream::iter(0..600).map(ask).buffer_unordered(100);
        let mut refused = Vec::new();
        let mut answers = std::pin::pin!(answers);
        while let Some(answer) = answers.next().await {
            let answer = answer.expect("an answer");
            if answer.status() != 200 {
                let retry =
                    answer.headers().get("retry-after").map(|value| value.to_str().expect("text").to_owned());
                let status = answer.status().as_u16();
                let body: Value = answer.json().await.expect("JSON");
                refused.push((status, retry, body["error"]["code"].clone()));
            }
        }
        refused
    });
    assert!(!refused.is_empty(), "nothing was refused");
    for refusal in refused {
        assert_eq!(refusal, (429, Some("1".to_owned()), json!("RATE_LIMITED")));
    }
    let begun = Instant::now();
    while host.ask("get", "/v1/health", None).0 == 429 {
        assert!(begun.elapsed() < PATIENCE, "it never answers again");
    }
}

#[test]
fn too_many_messages_are_refused_one_by_one_and_the_socket_lives() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let mut client = host.client(&host.session(), "one");
    for _ in 0..260 {
        client.say(&ping());
    }
    assert_eq!(client.refusal(), "RATE_LIMITED");
    // Later ones are taken again: the bucket fills with time, and the answers say when.
    let begun = Instant::now();
    loop {
        client.say(&ping());
        if client.next().expect("alive")["type"] == "server.pong" {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it takes nothing any more");
    }
}

#[test]
fn a_message_past_the_frame_is_closed_with_1009_and_one_that_is_no_text_with_1007() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let close_of = |message: Message| {
        let mut client = host.client(&session, "one");
        client.send(message);
        loop {
            if let Err(code) = client.next() {
                return code;
            }
        }
    };
    assert_eq!(close_of(Message::Text("x".repeat((4 << 20) + 1).into())), 1009);
    let broken = Frame::message(vec![b'"', 0xff, 0xfe, b'"'], OpCode::Data(Data::Text), true);
    assert_eq!(close_of(Message::Frame(broken)), 1007);
    // And the host has a place for the next one.
    host.client(&session, "two").say(&ping());
}

#[test]
fn past_the_bound_of_sockets_one_more_is_refused_and_a_closed_one_makes_room() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let headers = [("authorization", host.bearer())];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut open = Vec::new();
    let refused = loop {
        match host.connect(&session, &headers) {
            Ok(socket) => open.push(socket),
            Err(status) => break status,
        }
        assert!(open.len() <= 128, "no bound");
    };
    assert_eq!((refused, open.len()), (429, 128));
    drop(open.pop());
    let begun = Instant::now();
    // The host hears of a close when it reads it.
    while host.connect(&session, &headers).is_err() {
        assert!(begun.elapsed() < PATIENCE, "the place was not given back");
    }
}

#[test]
fn an_idle_client_is_asked_whether_it_is_there_and_one_without_a_handshake_is_let_go() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let mut silent = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    let mut idle = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    idle.say(&hello("idle"));
    let begun = Instant::now();
    let longest = Duration::from_secs(45);
    let (asked, code) = host.runtime.block_on(async {
        let asked = async {
            loop {
                match tokio::time::timeout(longest, idle.stream.next()).await.expect("in time") {
                    Some(Ok(Message::Ping(_))) => return begun.elapsed(),
                    Some(Ok(_)) => {}
                    other => panic!("{other:?}"),
                }
            }
        };
        let code = async {
            loop {
                match tokio::time::timeout(longest, silent.stream.next()).await.expect("in time") {
                    Some(Ok(Message::Close(Some(frame)))) => return u16::from(frame.code),
                    Some(Ok(_)) => {}
                    other => panic!("{other:?}"),
                }
            }
        };
        tokio::join!(asked, code)
    });
    assert!(asked <= Duration::from_secs(25), "{asked:?}");
    assert_eq!(code, 1008);
    // The one that answered is still there.
    idle.say(&ping());
    idle.wait("server.pong");
}
