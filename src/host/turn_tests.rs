//! The turn with a model, against a fake endpoint.

use std::time::Duration;

use serde_json::{Value, json};

use super::fake_model::{FakeModel, Script, chunk, openai, tool_call};
use super::fake_port::{FakePort, User, tokens};
use super::models::{Limits, ModelChoice, ModelClient, ModelError, Provider, Target, Token};
use super::request::{Attached, ModelInUse, TurnRequest};
use super::turn;
use crate::domain::edits::diff::content_hash;
use crate::domain::wire::desktop::{FinalMetadata, ServerErrorCode, ServerMessage, ThinkingPhase};

const TOKEN: &str = "sk-very-secret";

fn model(url: &str, provider: &str, idle: Duration) -> ModelInUse {
    let choice = ModelChoice {
        provider: Some(provider.to_owned()),
        name: "m-medium".to_owned(),
        url: Some(url.to_owned()),
    };
    ModelInUse {
        client: ModelClient::new(Limits { connect: Duration::from_secs(10), idle }).unwrap(),
        target: Target::resolve(&choice).unwrap(),
        token: Some(Token(TOKEN.to_owned())),
    }
}

fn request(model: ModelInUse) -> TurnRequest {
    TurnRequest {
        text: "What is here?".to_owned(),
        history: vec![("before".to_owned(), "answered".to_owned())],
        attachments: Vec::new(),
        model: Some(Ok(model)),
    }
}

fn openai_request(server: &FakeModel) -> TurnRequest {
    request(model(&server.url(), "openai", Duration::from_secs(60)))
}

struct World {
    folder: tempfile::TempDir,
    port: FakePort,
}

fn world(trusted: bool, user: User) -> World {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\r\ntwo\r\nthree\r\n").unwrap();
    let port = FakePort::new(folder.path(), trusted, user);
    World { folder, port }
}

fn final_of(port: &FakePort) -> (String, FinalMetadata) {
    let said = port.said();
    let ends = said
        .iter()
        .filter(|message| matches!(message, ServerMessage::MessageFinal { .. } | ServerMessage::Error { .. }))
        .count();
    assert_eq!(ends, 1, "exactly one end: {said:#?}");
    match said.last().unwrap() {
        ServerMessage::MessageFinal { message, metadata } => {
            assert_eq!(*message, tokens(&said).concat());
            (message.clone(), metadata.clone())
        }
        other => panic!("the turn ended with {other:#?}"),
    }
}

fn error_of(port: &FakePort) -> (String, bool) {
    let said = port.said();
    assert!(!said.iter().any(|message| matches!(message, ServerMessage::MessageFinal { .. })));
    assert!(!serde_json::to_string(&said).unwrap().contains(TOKEN));
    match said.last().unwrap() {
        ServerMessage::Error { error } => {
            assert_eq!(error.code, ServerErrorCode::ModelError);
            (error.message.clone(), error.recoverable)
        }
        other => panic!("the turn ended with {other:#?}"),
    }
}

/// The text of the last tool result the model was given.
fn last_result(server: &FakeModel) -> String {
    let body = server.asked().last().unwrap().body.clone();
    let messages = body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

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
async fn an_untrusted_workspace_offers_only_reading_tools() {
    let server = FakeModel::start(vec![openai(vec![json!({ "content": "ok" })])]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    let body = &server.asked()[0].body;
    let names: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone()).collect();
    assert_eq!(names, ["list_files", "read_file", "search_text", "search_symbols", "outline"]);
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("not trusted"));
}

#[tokio::test]
async fn a_tool_call_in_pieces_runs_and_its_result_goes_back() {
    let call = tool_call("read_file", &json!({ "path": "a.txt", "start_line": 2, "end_line": 2 }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "It says two." })])]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(
        world.port.kinds(),
        ["tool.execute:started", "tool.execute:completed", "assistant.token", "assistant.message_final"]
    );
    let ids: Vec<_> = world
        .port
        .said()
        .iter()
        .filter_map(|message| match message {
            ServerMessage::ToolExecute { call_id, .. } => Some(call_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(last_result(&server), "a.txt: lines 2-2 of 3\ntwo\r\n");
    let second = &server.asked()[1].body["messages"];
    assert_eq!(second.as_array().unwrap().last().unwrap()["tool_call_id"], json!("call_a"));
    assert_eq!(final_of(&world.port).1.tools_used, ["read_file"]);
}

#[tokio::test]
async fn a_path_out_of_the_workspace_is_refused_and_the_model_is_told() {
    let call = tool_call("read_file", &json!({ "path": "../../etc/passwd" }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "no" })])]).await;
    let world = world(true, User::Allows);
    turn::run(&world.port, openai_request(&server)).await;
    assert!(last_result(&server).starts_with("Error (path_outside_workspace)"), "{}", last_result(&server));
    assert_eq!(world.port.kinds()[1], "tool.execute:failed");
}

#[tokio::test]
async fn an_allowed_patch_is_proposed_asked_and_applied_whole_with_its_line_ends() {
    let edit = json!({ "file_path": "a.txt", "rationale": "because", "acceptance_criteria": ["see"],
                       "edits": [{ "old_text": "two", "new_text": "2\n2b" }] });
    let server = FakeModel::start(vec![
        tool_call("propose_patch", &edit),
        openai(vec![json!({ "content": "Done." })]),
    ])
    .await;
    let world = world(true, User::Allows);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(
        world.port.kinds(),
        [
            "tool.execute:started",
            "patch.proposed",
            "tool.request_approval",
            "tool.execute:completed",
            "assistant.token",
            "assistant.message_final"
        ]
    );
    let base = std::fs::read(world.folder.path().join("a.txt")).unwrap();
    let new = "one\r\n2\r\n2b\r\nthree\r\n".to_owned();
    assert_eq!(
        *world.port.writes.lock().unwrap(),
        vec![(None, "a.txt".to_owned(), Some(content_hash(&base)), new)]
    );
    let said = world.port.said();
    let patch = said.iter().find_map(|message| match message {
        ServerMessage::PatchProposed(patch) => Some(patch.clone()),
        _ => None,
    });
    let patch = patch.unwrap();
    assert_eq!(
        patch.diff,
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\r\n-two\r\n+2\r\n+2b\r\n three\r\n"
    );
    assert_eq!(patch.base_hash, Some(content_hash(&base)));
    let args = said.iter().find_map(|message| match message {
        ServerMessage::ToolRequestApproval { args, .. } => Some(Value::Object(args.clone())),
        _ => None,
    });
    assert_eq!(
        args,
        Some(
            json!({ "file_path": "a.txt", "reason": "because", "patch_id": patch.patch_id, "diff": patch.diff })
        )
    );
    assert_eq!(final_of(&world.port).1.files_modified, 1);
}

#[tokio::test]
async fn a_patch_of_an_open_buffer_is_made_from_the_buffer() {
    let edit = json!({ "file_path": "a.txt", "rationale": "r", "edits": [{ "old_text": "unsaved", "new_text": "saved" }] });
    let server = FakeModel::start(vec![
        tool_call("propose_patch", &edit),
        openai(vec![json!({ "content": "Done." })]),
    ])
    .await;
    let world = world(true, User::Allows);
    let uri = url::Url::from_file_path(world.folder.path().join("a.txt")).unwrap();
    world.port.change_view(|view| {
        let mut overlay = crate::domain::edits::overlay::Overlay::new();
        overlay.open(uri.as_str(), "text", 1, "unsaved\n");
        view.overlay = std::sync::Arc::new(overlay);
    });
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(
        *world.port.writes.lock().unwrap(),
        vec![(None, "a.txt".to_owned(), Some(content_hash(b"unsaved\n")), "saved\n".to_owned())]
    );
}

#[tokio::test]
async fn a_denied_patch_writes_nothing_and_the_model_is_told() {
    let edit = json!({ "file_path": "n.txt", "rationale": "r", "new_content": "x" });
    let server = FakeModel::start(vec![
        tool_call("propose_patch", &edit),
        openai(vec![json!({ "content": "Pity." })]),
    ])
    .await;
    let world = world(true, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(*world.port.writes.lock().unwrap(), vec![]);
    assert!(last_result(&server).starts_with("Error (denied)"));
    assert_eq!(final_of(&world.port).1.files_modified, 0);
}

#[tokio::test]
async fn trust_that_goes_while_the_question_is_open_stops_the_write_and_the_command() {
    for call in [
        tool_call("propose_patch", &json!({ "file_path": "n.txt", "rationale": "r", "new_content": "x" })),
        tool_call("run_command", &json!({ "command": "true", "reason": "r" })),
    ] {
        let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "Pity." })])]).await;
        let world = world(true, User::Distrusts);
        turn::run(&world.port, openai_request(&server)).await;
        assert_eq!(*world.port.writes.lock().unwrap(), vec![]);
        assert_eq!(*world.port.commands.lock().unwrap(), vec![]);
        assert!(last_result(&server).starts_with("Error (untrusted_workspace)"));
    }
}

#[tokio::test]
async fn a_model_that_calls_a_writing_tool_it_was_not_offered_is_refused() {
    let call = tool_call("run_command", &json!({ "command": "true", "reason": "r" }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "Pity." })])]).await;
    let world = world(false, User::Allows);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(*world.port.commands.lock().unwrap(), vec![]);
    assert!(last_result(&server).starts_with("Error (untrusted_workspace)"));
}

#[tokio::test]
async fn an_allowed_command_runs_and_its_output_goes_back() {
    let call = tool_call("run_command", &json!({ "command": "make", "cwd": ".", "reason": "r" }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "Ran." })])]).await;
    let world = world(true, User::Allows);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(*world.port.commands.lock().unwrap(), vec![("make".to_owned(), ".".to_owned())]);
    assert_eq!(last_result(&server), "The command ended with exit code 3.\nstdout:\nout\nstderr:\nerr\n");
    assert!(world.port.kinds().contains(&"command.request_approval".to_owned()));
}

#[tokio::test]
async fn a_stop_while_waiting_for_an_answer_ends_the_tool_and_the_turn() {
    let edit = json!({ "file_path": "n.txt", "rationale": "r", "new_content": "x" });
    let server = FakeModel::start(vec![tool_call("propose_patch", &edit)]).await;
    let world = world(true, User::Stops);
    turn::run(&world.port, openai_request(&server)).await;
    let (_, metadata) = final_of(&world.port);
    assert_eq!((metadata.success, metadata.cancelled), (false, true));
    assert_eq!(world.port.kinds()[3], "tool.execute:failed");
    assert_eq!(*world.port.writes.lock().unwrap(), vec![]);
}

#[tokio::test]
async fn a_stop_in_the_stream_ends_with_the_text_so_far() {
    let server = FakeModel::start(vec![Script::Stall(vec![chunk(json!({ "content": "so far" }))])]).await;
    let world = world(false, User::Denies);
    let port = FakePort::new(world.folder.path(), false, User::Denies).stopping_after(1);
    turn::run(&port, openai_request(&server)).await;
    let (message, metadata) = final_of(&port);
    assert_eq!((message.as_str(), metadata.cancelled), ("so far", true));
}

#[tokio::test]
async fn http_errors_end_in_one_sentence_without_the_token() {
    for (status, body, part, recoverable) in [
        (
            401,
            json!({ "error": { "message": format!("bad key {TOKEN}") } }).to_string(),
            "refused our credentials",
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
    assert!(refused.message.contains("credentials") && !refused.message.contains(TOKEN));
    assert!(server.asked()[0].text().starts_with("GET /v1/models"));
}

#[tokio::test]
async fn an_unusable_model_setting_is_said_and_an_attachment_is_fenced() {
    let world_ = world(false, User::Denies);
    let refused = ModelError::setting("The model url is wrong.".to_owned());
    let broken = TurnRequest {
        text: "q".to_owned(),
        history: Vec::new(),
        attachments: Vec::new(),
        model: Some(Err(refused)),
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
    }];
    turn::run(&world_.port, request).await;
    let messages = server.asked()[0].body["messages"].as_array().unwrap().clone();
    assert_eq!(
        messages.last().unwrap()["content"],
        json!("What is here?\n\nAttached file `n.md`:\n````\n```\nx\n```\n````")
    );
}

#[tokio::test]
async fn a_model_that_never_answers_is_stopped_after_its_steps() {
    let scripts = (0..30).map(|_| tool_call("list_files", &json!({}))).collect();
    let server = FakeModel::start(scripts).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    let (message, metadata) = final_of(&world.port);
    assert_eq!((server.asked().len(), metadata.success), (24, false));
    assert!(message.contains("24 steps"));
}

#[tokio::test]
async fn with_several_roots_a_patch_names_its_root_and_a_command_stays_in_the_first() {
    let edit = json!({ "file_path": "other/b.txt", "rationale": "r", "edits": [{ "old_text": "x", "new_text": "y" }] });
    let server = FakeModel::start(vec![
        tool_call("propose_patch", &edit),
        tool_call("run_command", &json!({ "command": "true", "cwd": "other", "reason": "r" })),
        openai(vec![json!({ "content": "Done." })]),
    ])
    .await;
    let world = world(true, User::Allows);
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("b.txt"), "x\n").unwrap();
    world.port.change_view(|view| {
        let uri = url::Url::from_directory_path(other.path()).unwrap().to_string();
        view.roots.push(super::ports::Root { name: "other".to_owned(), uri, path: other.path().to_owned() });
    });
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(
        *world.port.writes.lock().unwrap(),
        vec![(Some("other".to_owned()), "b.txt".to_owned(), Some(content_hash(b"x\n")), "y\n".to_owned())]
    );
    assert_eq!(*world.port.commands.lock().unwrap(), vec![]);
    assert!(last_result(&server).starts_with("Error (unsupported)"), "{}", last_result(&server));
}

#[cfg(unix)]
#[tokio::test]
async fn a_patch_through_a_link_out_of_the_workspace_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("s.txt"), "x\n").unwrap();
    for path in ["link.txt", "dir/s.txt", "dir/new.txt"] {
        let edit = json!({ "file_path": path, "rationale": "r", "new_content": "stolen" });
        let server = FakeModel::start(vec![
            tool_call("propose_patch", &edit),
            openai(vec![json!({ "content": "." })]),
        ])
        .await;
        let world = world(true, User::Allows);
        std::os::unix::fs::symlink(outside.path().join("s.txt"), world.folder.path().join("link.txt"))
            .unwrap();
        std::os::unix::fs::symlink(outside.path(), world.folder.path().join("dir")).unwrap();
        turn::run(&world.port, openai_request(&server)).await;
        assert_eq!(*world.port.writes.lock().unwrap(), vec![], "{path}");
        assert!(
            last_result(&server).starts_with("Error (path_outside_workspace)"),
            "{}",
            last_result(&server)
        );
    }
}
