//! What a client needs before a model is chosen: whose models there are, what an endpoint says of itself, and the files of the
//! workspace by a part of their path.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::harness::{Options, Server};

/// An endpoint that lists these models to whoever has the key, and tells the heads of the requests that it got.
fn endpoint(key: &'static str, models: &'static [&'static str]) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, heads) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let head: Vec<String> =
                reader.lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let head = head.join("\n").to_lowercase();
            let data: Vec<Value> = models.iter().map(|model| json!({ "id": model })).collect();
            let (status, body) = match head.contains(&format!("authorization: bearer {key}")) {
                true => ("200 OK", json!({ "data": data })),
                false => ("401 Unauthorized", json!({ "error": { "message": format!("not {key}") } })),
            };
            let body = body.to_string();
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            // Whoever asked may be gone.
            let _ = stream.write_all(answer.as_bytes());
            let _ = tell.send(head);
        }
    });
    (address, heads)
}

#[test]
fn an_endpoint_is_asked_for_its_models_whichever_engine_is_in_use_and_the_key_is_kept_nowhere() {
    const KEY: &str = "sk-tried-4c1b2a9d";
    let (address, heads) = endpoint(KEY, &["story", "story-large"]);
    let url = format!("http://{address}/v1");
    let engine = json!({ "engine": { "kind": "breadboard", "url": "http://127.0.0.1:9" } });
    for options in [json!({}), engine] {
        // Given a server with this engine
        let options = Options { options, keep_frames: true, ..Options::default() };
        let mut server = Server::ready(options.env("NO_PROXY", "127.0.0.1"));
        // When the endpoint is asked with its key
        let with_key = json!({ "provider": "openai", "url": url, "token": KEY });
        let checked = server.ask("bb/models/check", with_key.clone());
        // Then its models are told, and the key went to it
        assert_eq!(checked, json!({ "ok": true, "models": ["story", "story-large"] }));
        assert!(heads.recv().expect("a request").starts_with("get /v1/models "));
        // And a model that is not there, a key that is missing, and an address that is none are said in a sentence
        let mut named = with_key;
        named["name"] = json!("other");
        let problem = |answer: Value| {
            assert_eq!(answer["ok"], false);
            answer["problem"].as_str().expect("a sentence").to_owned()
        };
        assert_eq!(
            problem(server.ask("bb/models/check", named)),
            format!("There is no model `other` at http://{address}; it has `story`, `story-large`.")
        );
        let without = problem(server.ask("bb/models/check", json!({ "provider": "openai", "url": url })));
        assert!(without.contains("wants a key"), "the key of the question before is not kept: {without}");
        let (_, _) = (heads.recv(), heads.recv());
        let nowhere = json!({ "provider": "openai", "url": "not an address" });
        assert!(problem(server.ask("bb/models/check", nowhere)).contains("must be an http or https URL"));
        let plain = json!({ "provider": "openai", "url": "http://model.example/v1", "token": KEY });
        assert!(problem(server.ask("bb/models/check", plain)).contains("plain http"));
        assert_eq!(server.ask("bb/init", json!({}))["engine"].get("model"), None, "nothing was chosen by it");
    }
}

#[test]
fn providers_are_told_with_what_each_needs_and_a_key_only_as_being_there() {
    let options = Options { keep_frames: true, ..Options::default() };
    let mut server = Server::ready(options.env("ANTHROPIC_API_KEY", "ant-1c9e8d33-of-anthropic"));
    let told = server.ask("bb/models/providers", json!({}));
    assert_eq!(
        told["providers"][0],
        json!({ "provider": "anthropic", "label": "Anthropic", "needsKey": true, "keyVariable": "ANTHROPIC_API_KEY",
            "keyIsSet": true, "defaultUrl": "https://api.anthropic.com/v1/" })
    );
    let ollama = told["providers"].as_array().and_then(|all| all.last()).cloned();
    assert_eq!(
        ollama,
        Some(json!({ "provider": "ollama", "label": "Ollama", "needsKey": false,
            "defaultUrl": "http://localhost:11434/" }))
    );
}

#[test]
fn files_and_folders_are_found_by_a_part_of_their_path_best_first() {
    let mut server = Server::ready(Options::default());
    for path in ["src/uploads/retry.rs", "src/uploads/mod.rs", "docs/upload.md", ".hidden/upload.rs"] {
        let file = server.workspace.path().join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        std::fs::write(file, "").expect("a file");
    }
    let mut found =
        |query: &str| server.ask("bb/findFiles", json!({ "query": query, "limit": 3 }))["paths"].clone();
    assert_eq!(found("upretry"), json!(["src/uploads/retry.rs"]));
    assert_eq!(found("uploads/"), json!(["src/uploads/", "src/uploads/mod.rs", "src/uploads/retry.rs"]));
    assert_eq!(found("zzz"), json!([]));
}
