//! What endpoints answer, and what may never reach them.

use super::*;

#[tokio::test]
async fn tokens_are_streamed_one_message_a_delta_and_end_in_one_final_message() {
    let deltas =
        vec![json!({ "reasoning_content": "hm" }), json!({ "content": "Hel" }), json!({ "content": "lo ü" })];
    let server = FakeModel::start(vec![openai(deltas)]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(tokens(&world.port.said()), ["Hel", "lo ü"]);
    let (message, metadata) = final_of(&world.port);
    assert_eq!(message, "Hello ü");
    assert_eq!(
        metadata,
        FinalMetadata {
            tokens_used: 15,
            files_modified: 0,
            tools_used: vec![],
            success: true,
            cancelled: false
        }
    );
    assert!(
        world
            .port
            .said()
            .contains(&ServerMessage::Thinking { phase: ThinkingPhase::Planning, message: "hm".to_owned() })
    );
    let asked = &server.asked()[0];
    assert_eq!(asked.uri.path(), "/v1/chat/completions");
    assert_eq!(asked.headers["authorization"], format!("Bearer {TOKEN}"));
    // The name is sent as the user wrote it, and no effort is read out of it.
    assert_eq!((&asked.body["model"], asked.body.get("reasoning_effort")), (&json!("m-medium"), None));
    let roles: Vec<_> =
        asked.body["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
}

#[tokio::test]
async fn http_errors_end_in_one_sentence_without_the_token() {
    for (status, body, part, recoverable) in [
        (
            401,
            json!({ "error": { "message": format!("bad key {TOKEN}") } }).to_string(),
            "does not take our key",
            false,
        ),
        (
            500,
            json!({ "error": { "message": format!("oops {TOKEN}") } }).to_string(),
            "failed (HTTP 500): oops [redacted]",
            true,
        ),
        (429, "slow down".to_owned(), "HTTP 429", true),
        (404, json!({ "error": "no such model" }).to_string(), "There is no model `m-medium`", false),
    ] {
        let server = FakeModel::start(vec![Script::Status(status, body)]).await;
        let world = world(false, User::Denies);
        turn::run(&world.port, openai_request(&server)).await;
        let (message, again) = error_of(&world.port);
        assert!(message.contains(part), "{status}: {message}");
        assert_eq!(again, recoverable, "{status}");
    }
}

#[tokio::test]
async fn a_stalled_stream_ends_in_an_error_after_the_idle_time() {
    let server = FakeModel::start(vec![Script::Stall(vec![chunk(json!({ "content": "a" }))])]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, request(model(&server.url(), "openai", Duration::from_millis(150)))).await;
    assert!(error_of(&world.port).0.contains("silent for too long"), "{:?}", error_of(&world.port));
}

#[tokio::test]
async fn a_cut_stream_is_an_error_and_never_a_complete_answer() {
    for script in [
        Script::Break(vec![chunk(json!({ "content": "a" }))]),
        Script::Stream("text/event-stream", vec![chunk(json!({ "content": "a" }))]),
    ] {
        let server = FakeModel::start(vec![script]).await;
        let world = world(false, User::Denies);
        turn::run(&world.port, openai_request(&server)).await;
        // A connection that breaks may take the piece before the break with it.
        assert!("a".starts_with(&world.port.text()));
        assert!(error_of(&world.port).1);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_token_does_not_travel() {
    let other = FakeModel::start(vec![openai(vec![json!({ "content": "stolen" })])]).await;
    let server =
        FakeModel::start(vec![Script::Redirect(format!("{}/v1/chat/completions", other.url()))]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    assert!(error_of(&world.port).0.contains("redirect"));
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn without_a_token_no_credentials_are_sent_by_any_provider() {
    for (provider, path) in [
        ("openai", "/v1/chat/completions"),
        ("anthropic", "/v1/messages"),
        ("gemini", "/v1beta/models/m-medium:streamGenerateContent"),
        ("ollama", "/api/chat"),
    ] {
        let server = FakeModel::start(vec![Script::Status(500, String::new())]).await;
        let world = world(false, User::Denies);
        let mut model = model(&server.url(), provider, Duration::from_secs(60));
        model.token = None;
        turn::run(&world.port, request(model)).await;
        let asked = server.asked();
        assert_eq!(asked.iter().map(|asked| asked.uri.path()).collect::<Vec<_>>(), [path]);
        for header in ["authorization", "x-api-key", "x-goog-api-key"] {
            assert_eq!(asked[0].headers.get(header), None, "{provider}");
        }
    }
}

#[tokio::test]
async fn anthropic_streams_tokens() {
    let event = |kind: &str, data: Value| format!("event: {kind}\ndata: {data}\n\n");
    let script = Script::Stream(
        "text/event-stream",
        vec![
            event(
                "message_start",
                json!({ "type": "message_start", "message": { "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
            ),
            event(
                "content_block_start",
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            ),
            event(
                "content_block_delta",
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hi" } }),
            ),
            event("content_block_stop", json!({ "type": "content_block_stop", "index": 0 })),
            event(
                "message_delta",
                json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 4 } }),
            ),
            event("message_stop", json!({ "type": "message_stop" })),
        ],
    );
    let server = FakeModel::start(vec![script]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, request(model(&server.url(), "anthropic", Duration::from_secs(60)))).await;
    assert_eq!(final_of(&world.port).0, "Hi");
    let asked = &server.asked()[0];
    assert_eq!((asked.uri.path(), &asked.headers["x-api-key"]), ("/v1/messages", &TOKEN.parse().unwrap()));
}

#[tokio::test]
async fn ollama_streams_tokens_and_gets_a_token_as_bearer() {
    let line = |value: Value| format!("{value}\n");
    let script = Script::Stream(
        "application/x-ndjson",
        vec![
            line(json!({ "message": { "role": "assistant", "content": "Hi" }, "done": false })),
            line(json!({ "message": { "role": "assistant", "content": " you" }, "done": false })),
            line(
                json!({ "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
                         "prompt_eval_count": 2, "eval_count": 3 }),
            ),
        ],
    );
    let server = FakeModel::start(vec![script]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, request(model(&server.url(), "ollama", Duration::from_secs(60)))).await;
    assert_eq!(final_of(&world.port).0, "Hi you");
    let asked = &server.asked()[0];
    assert_eq!(asked.uri.path(), "/api/chat");
    assert_eq!(asked.headers["authorization"], format!("Bearer {TOKEN}"));
}

#[tokio::test]
async fn models_are_listed_from_the_endpoint_and_a_failure_is_a_sentence() {
    let listing = json!({ "data": [{ "id": "a" }, { "id": "b" }] }).to_string();
    let server = FakeModel::start(vec![
        Script::Stream("application/json", vec![listing]),
        Script::Status(401, json!({ "error": { "message": TOKEN } }).to_string()),
    ])
    .await;
    let model = model(&server.url(), "openai", Duration::from_secs(60));
    assert_eq!(model.target.provider, Provider::OpenAi);
    let list = || model.client.list(&model.target, model.token.as_ref());
    assert_eq!(list().await, Ok(vec!["a".to_owned(), "b".to_owned()]));
    let refused: ModelError = list().await.unwrap_err();
    assert!(refused.message.contains("does not take our key") && !refused.message.contains(TOKEN));
    assert!(server.asked()[0].text().starts_with("GET /v1/models"));
}

#[tokio::test]
async fn an_unusable_model_setting_is_said_and_an_attachment_is_fenced() {
    let world_ = world(false, User::Denies);
    let refused = ModelError::setting("The model url is wrong.".to_owned());
    let broken = TurnRequest {
        text: "q".to_owned(),
        earlier: Vec::new(),
        budget: TurnBudget::default(),
        mode: AgentMode::default(),
        attachments: Vec::new(),
        context: PromptContext::default(),
        model: Some(Err(refused)),
        no_model: NoModel::Unsaid,
        goes_on: None,
    };
    turn::run(&world_.port, broken).await;
    assert_eq!(error_of(&world_.port), ("The model url is wrong.".to_owned(), false));

    let server = FakeModel::start(vec![openai(vec![json!({ "content": "ok" })])]).await;
    let world_ = world(false, User::Denies);
    let mut request = openai_request(&server);
    request.attachments = vec![Attached {
        name: "n.md".to_owned(),
        mime: "text/markdown".to_owned(),
        text: Some("```\nx\n```".to_owned()),
        image: None,
    }];
    turn::run(&world_.port, request).await;
    let messages = server.asked()[0].body["messages"].as_array().unwrap().clone();
    assert_eq!(
        messages.last().unwrap()["content"],
        json!("What is here?\n\nAttached file `n.md`:\n````\n```\nx\n```\n````")
    );
}

#[tokio::test]
async fn an_answer_that_the_provider_cut_says_so_and_is_no_success() {
    let pieces = vec![
        chunk(json!({ "content": "half" })),
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n".to_owned(),
        "data: [DONE]\n\n".to_owned(),
    ];
    let server = FakeModel::start(vec![Script::Stream("text/event-stream", pieces)]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    let (message, metadata) = final_of(&world.port);
    assert!(message.starts_with("half\n\nThe model reached its length limit"), "{message}");
    assert!(!metadata.success);
}

#[tokio::test]
async fn gemini_streams_tokens() {
    let part = |text: &str| {
        let parts = json!([{ "text": text }]);
        format!("data: {}\n\n", json!({ "candidates": [{ "content": { "parts": parts, "role": "model" } }] }))
    };
    let end = json!({ "candidates": [{ "content": { "parts": [{ "text": "!" }] }, "finishReason": "STOP" }],
                      "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3 } });
    let script =
        Script::Stream("text/event-stream", vec![part("Hi"), part(" you"), format!("data: {end}\n\n")]);
    let server = FakeModel::start(vec![script]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, request(model(&server.url(), "gemini", Duration::from_secs(60)))).await;
    let (message, metadata) = final_of(&world.port);
    assert_eq!((message.as_str(), metadata.tokens_used), ("Hi you!", 3));
    assert_eq!(server.asked()[0].headers["x-goog-api-key"], TOKEN);
}

#[tokio::test]
async fn a_cut_gemini_stream_is_an_error() {
    let piece = json!({ "candidates": [{ "content": { "parts": [{ "text": "a" }], "role": "model" } }] });
    let server =
        FakeModel::start(vec![Script::Stream("text/event-stream", vec![format!("data: {piece}\n\n")])]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, request(model(&server.url(), "gemini", Duration::from_secs(60)))).await;
    assert!(error_of(&world.port).0.contains("cut off"));
}
