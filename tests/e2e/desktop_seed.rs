//! The examples of seed 002, each as its document has it: they fit our schemas, our host takes what a client says, and our client
//! takes what a host says.
//!
//! Where an example names several words (`"a" | "b"`), the fixture has one message for each.

use std::collections::BTreeSet;
use std::path::Path;

use breadboard_ls::testing::simulate::desktop::HostDialect;
use serde_json::{Value, json};

use crate::breadboard_desk::until;
use crate::desktop_desk::HostDesk;
use crate::desktop_host::Host;
use crate::model::{Model, says};

fn examples(side: &str) -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/desktop_seed.json");
    let all: Value = serde_json::from_slice(&std::fs::read(file).expect("the fixture")).expect("JSON");
    all[side].as_array().expect("a list").clone()
}

fn kind(message: &Value) -> &str {
    message["type"].as_str().expect("a type")
}

fn validator(kind: &str) -> jsonschema::Validator {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schemas/desktop/host/{kind}.json"));
    let schema: Value = serde_json::from_slice(&std::fs::read(file).expect(kind)).expect("JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

#[test]
fn r002_01_02_60_every_message_of_the_seed_fits_the_schema_of_its_type_and_another_word_does_not() {
    let mut kinds = BTreeSet::new();
    for message in examples("client").iter().chain(&examples("server")) {
        let errors: Vec<String> =
            validator(kind(message)).iter_errors(message).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{message}: {errors:?}");
        kinds.insert(kind(message).to_owned());
    }
    assert_eq!(kinds.len(), 8 + 12, "{kinds:?}");
    // Strict where the seed names words and types; open for what it does not name.
    for (path, wrong) in [
        ("/stage", json!("guessing")),
        ("/stage", json!(1)),
        ("/results_count", json!("12")),
        ("/phase", json!("dreaming")),
        ("/status", json!("perhaps")),
        ("/risk_level", json!("extreme")),
        ("/scope", json!("everything")),
        ("/changes/0/type", json!("renamed")),
        ("/error/code", json!("BROKEN")),
        ("/error/recoverable", json!("yes")),
        ("/state/current_step", json!("two")),
        ("/client_info/capabilities", json!("all")),
        ("/context/active_editor/selection/start/line", json!("23")),
    ] {
        let all = [examples("client"), examples("server")].concat();
        let with: Vec<&Value> = all.iter().filter(|message| message.pointer(path).is_some()).collect();
        assert!(!with.is_empty(), "{path} is in no example");
        for message in with {
            let mut spoilt = message.clone();
            *spoilt.pointer_mut(path).expect("is there") = wrong.clone();
            assert!(!validator(kind(message)).is_valid(&spoilt), "{path}: {spoilt}");
        }
    }
    for message in examples("client").iter().chain(&examples("server")) {
        let mut more = message.clone();
        more["a_word_of_tomorrow"] = json!([1]);
        assert!(validator(kind(message)).is_valid(&more), "{more}");
    }
}

#[test]
fn r002_31_43_52_our_host_takes_every_message_that_the_seed_has_a_client_say() {
    let model = Model::start(vec![says("Fixed.")]);
    let host = Host::of(&model);
    let mut client = host.connect(&host.session(), &[("authorization", &host.bearer())]).expect("connects");
    let mut finals = 0;
    for message in examples("client") {
        client.say(&message);
        client.say(&json!({ "type": "client.ping" }));
        // Up to the pong everything is about this message: what it refers to is unknown here, its words are not.
        loop {
            let answer = client.next().expect("the socket lives");
            match kind(&answer) {
                "server.error" => {
                    let code = answer["error"]["code"].as_str().expect("a code");
                    assert!(["NOT_FOUND", "UNSUPPORTED"].contains(&code), "{message}: {answer}");
                }
                "assistant.message_final" => finals += 1,
                "server.pong" => break,
                _ => {}
            }
        }
    }
    if finals == 0 {
        client.wait("assistant.message_final");
    }
    // The prompt went to the model as the seed has it, with its slash command.
    let asked = model.asked().body.to_string();
    assert!(asked.contains("Fix the authentication bug"), "{asked}");
}

#[test]
fn r002_54_to_77_our_client_takes_every_message_that_the_seed_has_a_host_say_and_keeps_each_as_it_came() {
    let said = examples("server");
    let asks = ["patch.proposed", "tool.request_approval", "command.request_approval"];
    let steps: Vec<Value> = said
        .iter()
        .filter(|message| {
            !matches!(kind(message), "server.hello" | "session.state" | "assistant.message_final")
        })
        .map(|message| json!({ "send": message }))
        .collect();
    let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
    let mut server = desk.server();
    let session = server.session();
    server.wait_notification("bb/connection", |params| {
        params["sessionId"] == session.as_str()
            && params["status"] == "connected"
            && params["resume"].is_object()
    });
    for message in said.iter().filter(|message| matches!(kind(message), "server.hello" | "session.state")) {
        desk.host.send(&session, &message.to_string());
    }
    server.prompt(&session, "go");
    server.wait_end(&session);
    let kept = until("all of them are kept", || {
        let read = server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
        let events = read["events"].as_array().cloned().unwrap_or_default();
        let wanted = steps.len() - said.iter().filter(|message| kind(message) == "assistant.token").count();
        let kept: Vec<Value> = events
            .iter()
            .filter(|event| !event["type"].as_str().expect("a type").starts_with("local."))
            .map(|event| {
                let mut message = event["payload"].clone();
                message["type"] = event["type"].clone();
                message
            })
            .collect();
        (kept.len() >= wanted).then_some(kept)
    });
    for message in &said {
        let is_kept = match kind(message) {
            // The end of the turn has the simulator's own words.
            "assistant.message_final" => continue,
            // Everything so far is kept once at most.
            "assistant.token" => kept.iter().any(|kept| kept["token"] == message["token"]),
            _ => kept.iter().any(|kept| {
                let fields = message.as_object().expect("an object");
                fields.iter().all(|(name, value)| kept.get(name) == Some(value))
            }),
        };
        assert!(is_kept, "{message} is not in {kept:#?}");
    }
    let unreadable = server
        .events(&session)
        .into_iter()
        .filter(|event| event["class"] == "unknown")
        .map(|event| event["type"].clone())
        .collect::<Vec<_>>();
    assert_eq!(unreadable, Vec::<Value>::new());
    // Each question of the host is one of ours.
    let waiting = server.ask("bb/permission/list", json!({ "sessionId": session }));
    let count = waiting["pending"].as_array().map_or(0, Vec::len);
    let wanted = said.iter().filter(|message| asks.contains(&kind(message))).count();
    assert!(count <= wanted, "{waiting}");
}
