//! Prompts of servers as slash commands, and their resources as mentions.

use serde_json::json;

use super::place::Place;
use crate::model::says;

/// What the model was told last.
fn told(place: &Place) -> String {
    let body = place.model.asked().body;
    let last = body["messages"].as_array().expect("messages").last().expect("a message").clone();
    last["content"].as_str().expect("a text").to_owned()
}

#[test]
fn a_prompt_of_a_server_is_a_command_with_arguments_and_goes_in_its_place() {
    let mut place = Place::with(vec![says("Hello, Ada.")]);
    let session = place.session.clone();
    let state = place.until("docs", "ready");
    let command = json!({ "name": "docs:greet", "description": "Greets somebody.", "hint": "who [tone]" });
    assert_eq!(state["commands"], json!([command]));
    let info = place.server.ask("bb/session/info", json!({ "sessionId": session }));
    assert_eq!(info["commands"], json!([command]));
    // When it is sent, then the model gets what the server wrote, and the chat has what was typed and what went
    place.server.turn(&session, "/docs:greet Ada tone=warm");
    assert!(told(&place).starts_with("Greet Ada in a warm tone."));
    let events = place.server.events(&session);
    let of =
        |kind: &str| events.iter().find(|event| event["type"] == kind).expect("an event")["payload"].clone();
    assert_eq!(of("local.prompt")["text"], "/docs:greet Ada tone=warm");
    assert_eq!(of("local.context")["served"], "Greet Ada in a warm tone.");
    // And without what it needs it is not sent, and that is said
    let end = place.server.turn(&session, "/docs:greet");
    assert!(end.to_string().contains("`/docs:greet` needs `who`; it takes `who [tone]`."), "{end}");
}

#[test]
fn a_resource_that_a_prompt_names_goes_along_and_one_that_is_not_there_is_said() {
    let mut place = Place::with(vec![says("Milk."), says("Nothing.")]);
    let session = place.session.clone();
    let state = place.until("docs", "ready");
    assert_eq!(
        state["resources"],
        json!([{ "mention": "docs:memo://one", "name": "The first memo", "mimeType": "text/plain" }])
    );
    place.server.turn(&session, "What does @docs:memo://one say?");
    let told_first = told(&place);
    assert!(told_first.contains("Resource `docs:memo://one`:\n```\nRemember the milk.\n```"), "{told_first}");
    place.server.turn(&session, "And @docs:memo://two?");
    told(&place);
    let events = place.server.events(&session);
    let contexts: Vec<_> = events.iter().filter(|event| event["type"] == "local.context").collect();
    assert_eq!(contexts[0]["payload"]["items"][0]["label"], "docs:memo://one");
    let note = contexts[1]["payload"]["notes"][0].as_str().expect("a note");
    assert!(note.contains("There is no such thing"), "{note}");
}

/// Issue 15: what a prompt names at a server is never left out without a word.
#[test]
fn a_resource_that_a_prompt_names_in_an_untrusted_workspace_is_said_to_be_left_out() {
    let untrusted = |options: &mut serde_json::Value| options["workspaceTrusted"] = json!(false);
    let mut place = Place::set(vec![says("I do not know.")], untrusted);
    let session = place.session.clone();
    place.server.turn(&session, "What does @docs:memo://one say?");
    let events = place.server.events(&session);
    let context = events.iter().find(|event| event["type"] == "local.context").expect("what went along");
    assert_eq!(
        context["payload"]["notes"][0],
        "`@docs:memo://one` was not read, since no tool server runs in a workspace that is not trusted. So the prompt went without it."
    );
}
