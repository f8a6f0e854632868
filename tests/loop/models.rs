//! Which model a turn is begun with.

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::protocol::settings::ModelSetting;
use serde_json::json;

use crate::desk::{Desk, Setup};

fn named(provider: Option<&str>, name: &str) -> Option<ModelSetting> {
    Some(ModelSetting {
        provider: provider.map(str::to_owned),
        name: name.to_owned(),
        ..ModelSetting::default()
    })
}

/// The models that the engine was told between turns.
fn told(desk: &Desk) -> Vec<Option<ModelSetting>> {
    let calls = desk.calls.0.lock().unwrap();
    let model = |call: &EngineCall| match call {
        EngineCall::SetModel(model) => Some(model.clone()),
        _ => None,
    };
    calls.iter().filter_map(model).collect()
}

/// The model of the turn that begins with this prompt.
async fn model_of_turn(desk: &Desk, session_id: &str, text: &str) -> Option<ModelSetting> {
    desk.prompt(session_id, text).await;
    let calls = desk.calls.0.lock().unwrap();
    let begun = calls.iter().find_map(|call| match call {
        EngineCall::StartTurn { prompt, model, .. } if prompt.text == text => Some(model.clone()),
        _ => None,
    });
    begun.expect("a turn")
}

#[tokio::test]
async fn the_embedded_engine_is_told_the_setting_then_what_was_chosen_and_each_turn_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { model: Some("set"), ..Setup::default() });
    // Given the model of the settings
    let session = desk.session().await;
    assert_eq!(told(&desk), [named(None, "set")]);
    assert_eq!(model_of_turn(&desk, &session, "one").await, named(None, "set"));
    desk.finish(&session, 1, "").await;
    // When another one is chosen
    desk.ask("bb/models/set", json!({"provider": "openai", "name": "chosen"})).await.unwrap();
    // Then it is in use between turns and in the next one
    assert_eq!(told(&desk), [named(None, "set"), named(Some("openai"), "chosen")]);
    assert_eq!(model_of_turn(&desk, &session, "two").await, named(Some("openai"), "chosen"));
    // And a session that was made with one keeps it, at the chosen provider
    let own = desk.ask("bb/createSession", json!({"model": "own"})).await.unwrap();
    let own = own["sessionId"].as_str().unwrap();
    assert_eq!(model_of_turn(&desk, own, "three").await, named(Some("openai"), "own"));
    assert_eq!(told(&desk).len(), 2, "no turn changes what is in use between turns");
}

#[tokio::test]
async fn an_engine_that_calls_the_models_hears_of_a_chosen_one_only_and_in_what_it_begins() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { model: Some("set"), holds: true, ..Setup::default() });
    desk.held_session().await;
    assert_eq!(model_of_turn(&desk, "s1", "one").await, None);
    desk.event(1, "user_message", json!({"text": "one"})).await;
    desk.event(2, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    desk.ask("bb/models/set", json!({"name": "large"})).await.unwrap();
    assert_eq!(model_of_turn(&desk, "s1", "two").await, named(None, "large"));
    assert_eq!(told(&desk), []);
    // And a new session begins with it, but where another one is wished for
    for (params, model) in
        [(json!({}), "large"), (json!({"model": " "}), "large"), (json!({"model": "own"}), "own")]
    {
        let (_created, wish) = tokio::join!(desk.ask("bb/createSession", params), async {
            let take = |call| match call {
                EngineCall::MakeSession { wish, .. } => wish,
                other => panic!("{other:?}"),
            };
            desk.called(|call| matches!(call, EngineCall::MakeSession { .. }), take).await
        });
        assert_eq!(wish.model.as_deref(), Some(model));
    }
}

#[tokio::test]
async fn an_endpoint_is_asked_with_its_key_which_stands_in_nothing_that_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let wanted = json!({"provider": "openai", "url": "http://h/v1", "token": " sk-of-a-page\n"});
    assert_eq!(desk.ask("bb/models/check", wanted).await, Ok(json!({"ok": false})));
    let split = desk.ask("bb/models/check", json!({"provider": "openai", "token": "sk-1\nsk-2"})).await;
    assert_eq!(split.unwrap_err().code.as_str(), "invalid_params");
    assert_eq!(
        *desk.asked.lock().unwrap(),
        [ModelEndpoint {
            provider: "openai".to_owned(),
            name: None,
            url: Some("http://h/v1".to_owned()),
            token: Some(Secret("sk-of-a-page".to_owned())),
        }]
    );
    // And no turn, no list and no credentials came of it
    assert!(desk.calls.0.lock().unwrap().iter().all(|call| !matches!(call, EngineCall::SetToken { .. })));
}

#[tokio::test]
async fn a_token_is_taken_without_what_stands_around_it_and_none_that_no_header_carries() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    // Given tokens as people copy them
    for token in
        [json!("sk-of-a-file\r\n"), json!("  sk-of-a-page\t"), json!(" \n"), json!("sk-1\nsk-2"), json!(null)]
    {
        let answer = desk.ask("bb/setCredentials", json!({"scope": "model", "token": token})).await;
        // Then one with a line end in its middle is refused
        assert_eq!(answer.is_err(), token == "sk-1\nsk-2", "{token}");
        if let Err(error) = answer {
            assert_eq!(error.code.as_str(), "invalid_params");
            assert_eq!(
                error.message,
                "The token has a line end or another control character in its middle, and none was set; copy it again, as one line."
            );
        }
    }
    // And the engine has what a header can carry
    let calls = desk.calls.0.lock().unwrap();
    let token = |call: &EngineCall| match call {
        EngineCall::SetToken { token, .. } => Some(token.as_ref().map(|token| token.0.clone())),
        _ => None,
    };
    let given: Vec<Option<String>> = calls.iter().filter_map(token).collect();
    let twice = |token: Option<&str>| [token.map(str::to_owned), token.map(str::to_owned)];
    let wanted = [Some("sk-of-a-file"), Some("sk-of-a-page"), None, None].map(twice).concat();
    assert_eq!(given, wanted, "the engine and the agents");
}
