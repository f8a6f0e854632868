//! Which model a turn is begun with.

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::protocol::settings::ModelSetting;
use serde_json::json;

use crate::desk::{Desk, Setup};

fn named(provider: Option<&str>, name: &str) -> Option<ModelSetting> {
    Some(ModelSetting { provider: provider.map(str::to_owned), name: name.to_owned(), url: None })
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
