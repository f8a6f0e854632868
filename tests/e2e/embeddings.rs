//! Searches that compare meanings too, by an embedding model of the user's: what is sent to it, and what is found.

use std::time::Duration;

use serde_json::{Value, json};

use crate::breadboard_desk::until;
use crate::endpoint::Endpoint;
use crate::harness::own_time::OwnTime;
use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

const TOKEN: &str = "embedding-token-0815-abcdef";
const QUESTION: &str = "who lets a visitor in by the gate?";

/// An embedding model that knows that gates are doors.
fn endpoint() -> Endpoint {
    Endpoint::start(|body| {
        let has = |text: &str, words: &[&str]| u8::from(words.iter().any(|word| text.contains(word)));
        let vector = |text: &String| json!([has(text, &["gate", "door"]), has(text, &["picture"]), 0.2]);
        let texts = texts(body);
        let data =
            texts.iter().enumerate().map(|(at, text)| json!({ "index": at, "embedding": vector(text) }));
        json!({ "data": data.collect::<Vec<_>>(), "usage": { "prompt_tokens": 7, "total_tokens": 7 } })
    })
}

/// The texts of a request.
fn texts(body: &Value) -> Vec<String> {
    serde_json::from_value(body["input"].clone()).expect("texts")
}

fn server(endpoint: &Endpoint, trusted: bool) -> Server {
    let url = format!("http://{}/v1", endpoint.address);
    let options = json!({ "engine": { "kind": "embedded" }, "embeddings": { "name": "tiny", "url": url },
        "workspaceTrusted": trusted });
    let server =
        Server::ready(Options { options, ..Options::default() }.env("BREADBOARD_EMBEDDING_TOKEN", TOKEN));
    server.write("src/entrance.rs", "pub fn open_door() {\n    work();\n}\n");
    server.write("src/visitor.rs", "pub struct Visitor {\n    name: String,\n}\n");
    server.write(".env", "DOOR_KEY=hidden\n");
    server
}

/// The end of a turn of a session of its own.
fn asked(server: &mut Server) -> (String, Value) {
    let session = server.session();
    server.prompt(&session, QUESTION);
    let end = server.wait_end(&session);
    (session, end)
}

#[test]
fn r002_60_a_place_that_shares_no_word_with_the_question_is_found_and_each_piece_is_sent_once() {
    let endpoint = endpoint();
    let mut server = server(&endpoint, true);
    // Given a first question, which is answered by words and says what is read behind it
    let (_, end) = asked(&mut server);
    let words = end["payload"]["message"].as_str().expect("words");
    assert!(words.contains("The embedding model `tiny`") && words.contains("0 of 2 files"), "{words}");
    // Then the place is found as soon as the times of the files can be believed
    let session = until("a place by its meaning", || {
        let (session, end) = asked(&mut server);
        end["payload"]["message"].as_str()?.contains("src/entrance.rs:1").then_some(session)
    });
    let stages: Vec<Value> =
        server.events(&session).into_iter().map(|event| event["payload"]["stage"].clone()).collect();
    assert!(stages.contains(&json!("vector_search")), "{stages:?}");
    let ranked = |event: &Value| event["payload"]["stage"] == "reranking";
    let ranked: Vec<Value> = server.events(&session).into_iter().filter(ranked).collect();
    let message = ranked[0]["payload"]["message"].as_str().expect("a sentence");
    assert!(message.ends_with(" ranked by words and meanings."), "{message}");
    // And each piece went there once, with the token of the address, and no secret at all
    let seen = endpoint.seen();
    assert!(
        seen.iter().all(|(path, token, _)| path == "/v1/embeddings" && *token == format!("Bearer {TOKEN}"))
    );
    let texts: Vec<String> = seen.iter().flat_map(|(_, _, body)| texts(body)).collect();
    let doors = texts.iter().filter(|text| text.starts_with("src/entrance.rs: open_door\n")).count();
    assert_eq!(doors, 1, "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("hidden")), "{texts:?}");
}

#[test]
fn a_question_does_not_wait_for_an_embedding_model_that_answers_nothing() {
    // Given an endpoint that takes connections and says nothing
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", silent.local_addr().expect("an address"));
    let options = json!({ "engine": { "kind": "embedded" }, "embeddings": { "name": "tiny", "url": url },
        "workspaceTrusted": true });
    let mut server = Server::ready(Options { options, ..Options::default() });
    server.write("src/visitor.rs", "pub struct Visitor {\n    name: String,\n}\n");
    // When the first question is asked
    let mut time = OwnTime::of(server.pid());
    let (_, end) = asked(&mut server);
    // Then words answer it at once: far below the ten seconds that a look at such an endpoint could take
    let took = time.taken();
    assert!(took < Duration::from_secs(9), "{took:?}");
    let words = end["payload"]["message"].as_str().expect("words");
    assert!(words.contains("src/visitor.rs:1") && words.contains("has read 0 of 1 files"), "{words}");
    // And that it has read nothing is not said again
    let (_, end) = asked(&mut server);
    assert!(!end["payload"]["message"].as_str().expect("words").contains("embedding model"), "{end}");
    drop(silent);
}

#[test]
fn a_repository_that_is_not_trusted_goes_to_no_embedding_model() {
    let endpoint = endpoint();
    let mut server = server(&endpoint, false);
    let (session, end) = asked(&mut server);
    assert!(end["payload"]["message"].as_str().expect("words").contains("src/visitor.rs"), "{end}");
    let stages: Vec<Value> =
        server.events(&session).into_iter().map(|event| event["payload"]["stage"].clone()).collect();
    assert!(!stages.contains(&json!("vector_search")), "{stages:?}");
    assert_eq!(endpoint.seen(), []);
}

#[test]
fn r002_62_a_model_may_search_by_meaning_where_there_is_a_model_for_it() {
    // Given a chat model beside the embedding model
    let endpoint = endpoint();
    let wish = json!({ "question": QUESTION });
    let chat = Model::start(vec![calls("vector_search", wish), says("By the door.")]);
    let mut options = chat.options(true);
    options["embeddings"] = json!({ "name": "tiny", "url": format!("http://{}/v1", endpoint.address) });
    let mut server = Server::ready(Options { options, ..Options::default() });
    server.write("src/visitor.rs", "pub struct Visitor {\n    name: String,\n}\n");
    let session = server.session();
    // When it searches
    server.prompt(&session, QUESTION);
    let end = server.wait_end(&session);
    // Then it is given the lines, and what the embedding model has read
    assert_eq!(end["payload"]["message"], "By the door.", "{end}");
    chat.asked();
    let told = chat.asked().tool_result();
    assert!(told.contains("src/visitor.rs:1-3: struct Visitor\npub struct Visitor {"), "{told}");
    assert!(told.contains("The embedding model `tiny`"), "{told}");
}
