//! What a question asks for beside its words, in each protocol: how hard to think, what is to be seen, what is to be kept.

use serde_json::json;

use super::*;
use crate::host::models::conversation::{Call, Image};
use crate::host::models::tuning::{ThinkingEffort, Tuning};

fn picture(data: &str) -> Image {
    Image { mime: "image/png", data: data.into() }
}

/// A prompt with an image, and a result with another.
fn seen() -> Conversation {
    let mut conversation = Conversation::new("Be brief.", &[]).tuned(Tuning {
        effort: Some(ThinkingEffort::Low),
        temperature: Some(0.5),
        window: 16_384,
        sees: true,
        price: None,
    });
    conversation.user_shows("see", vec![picture("QQ")]);
    let call = Call { call_id: "c".to_owned(), name: "read_file".to_owned(), arguments: json!({}) };
    let spoken =
        super::super::conversation::SpokenCall { call: call.clone(), provider_id: None, signature: None };
    conversation.replied(&Finished::again(vec![super::super::conversation::Part::Call(spoken)]));
    conversation.results_show(vec![(call, "shown".to_owned(), vec![picture("Qg")])]);
    conversation
}

#[test]
fn openai_chat_shows_what_a_tool_read_behind_its_results() {
    let body = ProviderDialect::OpenAiChat.body("m", &seen());
    assert_eq!((&body["reasoning_effort"], &body["temperature"]), (&json!("low"), &json!(0.5)));
    let image = |data: &str| json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{data}") } });
    assert_eq!(body["messages"][1]["content"], json!([{ "type": "text", "text": "see" }, image("QQ")]));
    assert_eq!(body["messages"][3]["content"], json!("shown"));
    assert_eq!(
        body["messages"][4]["content"],
        json!([{ "type": "text", "text": SHOWN_BY_TOOLS }, image("Qg")])
    );
}

#[test]
fn openai_responses_show_it_in_the_result() {
    let body = ProviderDialect::OpenAiResponses.body("m", &seen());
    assert_eq!((&body["reasoning"], &body["temperature"]), (&json!({ "effort": "low" }), &json!(0.5)));
    let image =
        |data: &str| json!({ "type": "input_image", "image_url": format!("data:image/png;base64,{data}") });
    assert_eq!(body["input"][0]["content"], json!([{ "type": "input_text", "text": "see" }, image("QQ")]));
    assert_eq!(body["input"][2]["output"], json!([{ "type": "input_text", "text": "shown" }, image("Qg")]));
}

#[test]
fn anthropic_thinks_without_a_temperature_and_keeps_what_it_read() {
    let body = ProviderDialect::Anthropic.body("claude-sonnet-4-5", &seen());
    assert_eq!(body["thinking"], json!({ "type": "enabled", "budget_tokens": 2_048 }));
    assert_eq!(body.get("temperature"), None);
    let kept = json!({ "type": "ephemeral" });
    assert_eq!(body["system"], json!([{ "type": "text", "text": "Be brief.", "cache_control": kept }]));
    let image = |data: &str| json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } });
    assert_eq!(
        body["messages"][0]["content"],
        json!([image("QQ"), { "type": "text", "text": "see", "cache_control": kept }])
    );
    assert_eq!(
        body["messages"][2]["content"],
        json!([{ "type": "tool_result", "tool_use_id": "c", "cache_control": kept,
                 "content": [image("Qg"), { "type": "text", "text": "shown" }] }])
    );
    // An older model does not think, and its temperature ends at 1
    let mut conversation = seen();
    conversation.tuning.temperature = Some(1.5);
    let body = ProviderDialect::Anthropic.body("claude-3-5-haiku-latest", &conversation);
    assert_eq!((body.get("thinking"), &body["temperature"]), (None, &json!(1.0)));
}

#[test]
fn gemini_and_ollama_have_their_own_words() {
    let body = ProviderDialect::Gemini.body("gemini-2.5-pro", &seen());
    let thinking = json!({ "thinkingBudget": 2_048, "includeThoughts": true });
    assert_eq!(body["generationConfig"], json!({ "temperature": 0.5, "thinkingConfig": thinking }));
    let image = |data: &str| json!({ "inlineData": { "mimeType": "image/png", "data": data } });
    assert_eq!(body["contents"][0]["parts"], json!([{ "text": "see" }, image("QQ")]));
    assert_eq!(body["contents"][2]["parts"][1], image("Qg"));
    let body = ProviderDialect::Gemini.body("gemini-3-pro", &seen());
    assert_eq!(body["generationConfig"]["thinkingConfig"], json!({ "thinkingLevel": "low" }));
    let body = ProviderDialect::Ollama.body("m", &seen());
    assert_eq!(
        (&body["options"], &body["think"]),
        (&json!({ "num_ctx": 16_384, "temperature": 0.5 }), &json!("low"))
    );
    assert_eq!(body["messages"][1]["images"], json!(["QQ"]));
    assert_eq!(body["messages"][4]["images"], json!(["Qg"]));
}
