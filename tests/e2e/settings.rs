//! Options, environment and flags: which of them wins, and what a client hears of the engine they choose.

use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

fn init(options: Options) -> Value {
    let mut server = Server::ready(options);
    server.ask("bb/init", json!({}))
}

fn flags(args: &[&str]) -> Options {
    Options { args: args.iter().map(|arg| (*arg).to_owned()).collect(), ..Options::default() }
}

#[test]
fn r000_37_to_40_the_connection_is_said_with_its_status_and_reason() {
    let mut server = Server::ready(Options::default());
    server.ask("bb/init", json!({}));
    let told = server.wait_notification("bb/connection", |_| true)["params"].clone();
    assert_eq!(told, json!({ "status": "connected" }));

    let mut server = Server::ready(Options {
        options: json!({ "engine": { "kind": "breadboard" } }),
        ..Options::default()
    });
    let init = server.ask("bb/init", json!({}));
    assert_eq!(init["engine"], json!({ "kind": "breadboard", "status": "error", "capabilities": [] }));
    let told = server.wait_notification("bb/connection", |_| true)["params"].clone();
    assert_eq!(told["status"], "error");
    let why = told["lastError"].as_str().expect("a reason");
    assert!(why.contains("`breadboard`") && why.contains("has no address"), "{why}");
    for (method, params) in [
        ("bb/createSession", json!({})),
        ("bb/models/list", json!({})),
        ("bb/models/set", json!({ "name": "m" })),
        ("bb/setCredentials", json!({ "scope": "engine", "token": "a-long-token" })),
    ] {
        let error = server.refused(method, params);
        assert_eq!(
            (&error["data"]["code"], error["message"].as_str()),
            (&json!("invalid_params"), Some(why)),
            "{method}"
        );
    }
    assert_eq!(server.ask("bb/listSessions", json!({})), json!({ "sessions": [] }));
}

#[test]
fn environment_beats_options_and_flags_beat_both() {
    let options = || json!({ "engine": { "kind": "acp" }, "model": { "name": "from-options" } });
    let chosen = |init: &Value| init["engine"]["kind"].clone();
    assert_eq!(chosen(&init(Options { options: options(), ..Options::default() })), "acp");
    let by_env =
        Options { options: options(), ..Options::default() }.env("BREADBOARD_API_URL", "http://127.0.0.1:9");
    assert_eq!(chosen(&init(by_env)), "breadboard");
    let by_flag = Options { options: options(), ..flags(&["--engine", "embedded", "--model", "from-flag"]) }
        .env("BREADBOARD_API_URL", "http://127.0.0.1:9");
    let told = init(by_flag);
    assert_eq!((chosen(&told), &told["engine"]["model"]), (json!("embedded"), &json!("ollama/from-flag")));
}

#[test]
fn trust_comes_from_an_option_a_flag_or_the_editor_and_can_go() {
    assert_eq!(init(Options::default())["workspaceTrusted"], false);
    assert_eq!(init(flags(&["--trust"]))["workspaceTrusted"], true);
    let by_option = Options { options: json!({ "workspaceTrusted": true }), ..Options::default() };
    assert_eq!(init(by_option)["workspaceTrusted"], true);
    let mut server = Server::ready(Options::default());
    for (params, trusted) in [
        (json!({ "trusted": true }), true),
        (json!({ "trusted": "no" }), true),
        (json!({}), true),
        (json!({ "trusted": false }), false),
    ] {
        server.notify("bb/workspaceTrust", params);
        assert_eq!(server.ask("bb/init", json!({}))["workspaceTrusted"], trusted);
    }
}

#[test]
fn a_model_is_chosen_while_we_run_and_asked_from_then_on() {
    let model = Model::start(vec![says("from the model"), calls("list_files", json!({})), says("again")]);
    let mut server = Server::ready(Options::default().env("NO_PROXY", "127.0.0.1"));
    let session = server.session();
    server.turn(&session, "where is main?");
    assert_eq!(server.ask("bb/models/list", json!({})), json!({ "models": [] }));
    let setting = model.options(false)["model"].clone();
    let set = server.ask("bb/models/set", setting);
    assert_eq!(set, json!({ "models": [], "current": "openai/story" }));
    assert_eq!(server.ask("bb/init", json!({}))["engine"]["model"], "openai/story");
    let end = server.turn(&session, "and now?");
    assert_eq!(end["payload"]["message"], "from the model");
    let asked = model.asked();
    assert_eq!((asked.path.as_str(), &asked.body["model"]), ("/v1/chat/completions", &json!("story")));
    for wrong in [
        json!({ "name": " " }),
        json!({ "name": "m", "provider": "nobody" }),
        json!({ "name": "m", "url": "ftp://127.0.0.1/" }),
        json!({ "name": "m", "url": "127.0.0.1:8000" }),
        json!({ "name": "m", "url": "" }),
    ] {
        assert_eq!(server.refused("bb/models/set", wrong)["data"]["code"], "invalid_params");
    }
    // The one chosen stays.
    server.turn(&session, "and again?");
    assert_eq!(model.asked().body["model"], "story");
}

#[test]
fn the_model_in_use_is_said_with_its_provider_though_the_setting_named_none() {
    let mut server = Server::ready(Options::default());
    for (setting, current) in [
        (json!({ "name": "m", "url": "http://127.0.0.1:9/v1/" }), "openai/m"),
        (json!({ "name": "claude-x" }), "anthropic/claude-x"),
        (json!({ "name": "qwen3" }), "ollama/qwen3"),
    ] {
        assert_eq!(server.ask("bb/models/set", setting)["current"], current);
        assert_eq!(server.ask("bb/init", json!({}))["engine"]["model"], current);
    }
}
