//! Hostile models: whatever an endpoint sends, the server lives, other sessions are answered, memory stays bounded, and the
//! turn ends with a sentence or at once when it is stopped.
//!
//! An endpoint here is a plain socket that writes lazily, so that an attack without an end costs the test nothing.

mod attacks;
mod endpoint;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::own_time::processor_time;
use crate::harness::{Options, Server};
use crate::limits::{self, assert_answers, assert_stops};
use attacks::{Attack, Outcome};
use endpoint::{Endpoint, Provider};

/// Longest time of one attack. The largest of them are 256 MiB in small pieces, read by an unoptimised server.
const PATIENCE: Duration = Duration::from_secs(90);

/// Answers of the server that are waited for before an attack without an end is stopped.
const ANSWERS: usize = 20;

fn server(endpoint: &Endpoint, provider: Provider) -> Server {
    let model = json!({ "provider": provider.name(), "name": "m", "url": endpoint.url() });
    let options = json!({ "model": model, "workspaceTrusted": false });
    Server::ready(Options { options, ..Options::default() }.env("NO_PROXY", "127.0.0.1"))
}

/// What a session's turn has come to.
fn ended(server: &Server, session: &str) -> bool {
    server.events(session).iter().any(|event| event["class"] == "run.finished")
}

/// The error of a session's turn, or the text of its answer.
fn said(server: &Server, session: &str) -> Result<String, String> {
    let events = server.events(session);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match events.iter().rfind(|event| event["type"] == "server.error") {
        Some(error) => Err(text(&error["payload"]["error"]["message"])),
        None => {
            let last = events.iter().rfind(|event| event["type"] == "assistant.message_final");
            Ok(last.map(|event| text(&event["payload"]["message"])).unwrap_or_default())
        }
    }
}

/// Runs one attack in a session of its own, while another request is asked again and again.
fn run(server: &mut Server, endpoint: &Endpoint, attack: Attack) {
    let Attack { name, outcome, serve } = attack;
    endpoint.next(serve);
    let session = server.session();
    server.prompt(&session, "a question");
    endpoint.asked();
    let began = Instant::now();
    let mut answers = 0;
    while !ended(server, &session) {
        assert_answers(server, &name);
        answers += 1;
        if outcome == Outcome::GoesOn && answers == ANSWERS {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{name}: the turn went on for {PATIENCE:?}");
        // No wait with a limit exists for "nothing came"; the loop has another bound.
        std::thread::park_timeout(Duration::from_millis(5));
    }
    match outcome {
        Outcome::GoesOn => {
            assert!(
                !ended(server, &session),
                "{name}: the turn ended by itself: {:?}",
                said(server, &session)
            );
            assert_stops(server, &session, &name);
        }
        Outcome::Fails(part) => {
            let message = said(server, &session).expect_err(&name);
            assert!(message.contains(part) && message.ends_with('.'), "{name}: {message}");
        }
        Outcome::Answers(part) => {
            let answer = said(server, &session).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(answer.contains(part), "{name}: {answer}");
        }
    }
    #[cfg(target_os = "linux")]
    limits::assert_memory(server, &name);
    println!("{name}: {:?}, {answers} answers", began.elapsed());
}

fn run_all(provider: Provider, attacks: Vec<Attack>) {
    let endpoint = Endpoint::start();
    let mut server = server(&endpoint, provider);
    for attack in attacks {
        run(&mut server, &endpoint, attack);
    }
    server.assert_alive();
}

#[test]
fn no_transport_of_a_model_stalls_the_server_or_fills_its_memory() {
    run_all(Provider::OpenAi, attacks::of_the_transport());
}

#[test]
fn no_openai_compatible_stream_does_harm() {
    run_all(Provider::OpenAi, attacks::of_openai());
}

#[test]
fn no_anthropic_stream_does_harm() {
    run_all(Provider::Anthropic, attacks::of_anthropic());
}

#[test]
fn no_gemini_stream_does_harm() {
    run_all(Provider::Gemini, attacks::of_gemini());
}

#[test]
fn no_ollama_stream_does_harm() {
    run_all(Provider::Ollama, attacks::of_ollama());
}

#[test]
fn no_tool_number_of_a_model_sizes_anything() {
    let numbers = [
        "129",
        "100000",
        "300000",
        "1000000",
        "2147483648",
        "4294967296",
        "18446744073709551615",
        "-1",
        "1.5",
        "1e300",
        "\"0\"",
    ];
    run_all(Provider::OpenAi, numbers.map(|number| attacks::tool_number(Provider::OpenAi, number)).to_vec());
    let numbers = ["512", "2147483648", "4294967296", "-1", "1.5"];
    let attacks = numbers.map(|number| attacks::tool_number(Provider::Anthropic, number));
    run_all(Provider::Anthropic, attacks.to_vec());
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_line_takes_time_in_proportion_to_its_length() {
    for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::Ollama] {
        let endpoint = Endpoint::start();
        let mut server = server(&endpoint, provider);
        // What the server worked for it: a clock would tell what else this machine does.
        let mut took = |mib: usize| {
            let before = processor_time(server.pid()).expect("it is counted");
            run(&mut server, &endpoint, attacks::long_line(provider, mib));
            processor_time(server.pid()).expect("it is counted") - before
        };
        // The first one also warms up.
        took(1);
        let one = took(1);
        let times: Vec<(usize, Duration)> = [2, 4, 8, 15].map(|mib| (mib, took(mib))).to_vec();
        println!("{}: 1 MiB {one:?}, {times:?}", provider.name());
        let eight = times[2].1;
        assert!(eight < one * 20 + Duration::from_millis(200), "8 MiB took {eight:?}, 1 MiB {one:?}");
    }
}

#[test]
fn many_hostile_answers_at_once_share_one_bound() {
    let endpoint = Endpoint::start();
    let mut server = server(&endpoint, Provider::OpenAi);
    let sessions: Vec<String> = (0..12).map(|_| server.session()).collect();
    let (to_written, written) = mpsc::channel();
    for session in &sessions {
        // Nearly as much as one event may have, and then nothing more.
        endpoint.next(attacks::half_an_event(15 << 20, to_written.clone()));
        server.prompt(session, "a question");
        endpoint.asked();
        assert_answers(&mut server, "half an event");
    }
    for _ in 0..sessions.len() {
        written.recv_timeout(PATIENCE).expect("it is written, or its connection closed");
        assert_answers(&mut server, "half an event in each session");
    }
    #[cfg(target_os = "linux")]
    limits::assert_memory(&server, "half an event in each session");
    // Two of them fit; each of the others ends in a sentence, and what it held goes to those that are left.
    let began = Instant::now();
    while sessions.iter().filter(|session| ended(&server, session)).count() < sessions.len() - 2 {
        assert_answers(&mut server, "half an event in each session");
        assert!(began.elapsed() < PATIENCE, "the other answers were not ended");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    for session in &sessions {
        if ended(&server, session) {
            let message = said(&server, session).unwrap_err();
            assert!(message.contains("too many large answers"), "{message}");
        } else {
            assert_stops(&mut server, session, "half an event in each session");
        }
    }
    // What they held is free again.
    run(&mut server, &endpoint, attacks::long_line(Provider::OpenAi, 15));
}

#[test]
fn no_list_of_models_stalls_the_server_or_fills_its_memory() {
    for (name, serve, part) in attacks::of_lists() {
        let endpoint = Endpoint::start();
        let mut server = server(&endpoint, Provider::OpenAi);
        endpoint.next(serve);
        let id = server.request("bb/models/list", json!({}));
        endpoint.asked();
        let began = Instant::now();
        let answered = |server: &Server| {
            let answers = server.received();
            answers.into_iter().find(|message| message.get("method").is_none() && message["id"] == id)
        };
        let answer = loop {
            if let Some(answer) = answered(&server) {
                break answer;
            }
            assert_answers(&mut server, name);
            assert!(began.elapsed() < PATIENCE, "{name}: no answer within {PATIENCE:?}");
            std::thread::park_timeout(Duration::from_millis(5));
        };
        match part {
            Ok(model) => assert_eq!(answer["result"]["models"][0]["id"], model, "{name}: {answer}"),
            Err(part) => {
                let message = answer["error"]["message"].as_str().unwrap_or_default();
                assert!(message.contains(part) && message.ends_with('.'), "{name}: {answer}");
            }
        }
        #[cfg(target_os = "linux")]
        limits::assert_memory(&server, name);
        server.assert_alive();
        println!("{name}: {:?}", began.elapsed());
    }
}
