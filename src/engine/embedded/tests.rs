//! The engine on its channel, as the loop sees it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::*;
use crate::app::ports::{Applied, ClientRequest, CommandRan, ContextUpdate, Ruling, Secret, TurnScope};
use crate::domain::event::EngineEvent;
use crate::domain::steps::TurnStep;
use crate::host::fake_model::{FakeModel, Script, chunk, openai, tool_call};

struct Bench {
    engine: EmbeddedEngine,
    reports: mpsc::Receiver<EngineReport>,
    folder: tempfile::TempDir,
    /// Of the turns that are started.
    model: RefCell<Option<ModelSetting>>,
    _scopes: watch::Sender<Arc<TurnScopes>>,
}

fn bench(trusted: bool) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "red\n").unwrap();
    let (sender, reports) = mpsc::channel(4);
    let shared = TurnScope { trusted, ..TurnScope::default() };
    let (scopes_sender, scopes) = watch::channel(Arc::new(TurnScopes { shared, ..TurnScopes::default() }));
    let ids = AtomicU64::new(0);
    let engine = EmbeddedEngine::new(
        sender,
        scopes,
        Handle::current(),
        HostTokens::default(),
        move || format!("id-{}", ids.fetch_add(1, Ordering::Relaxed)),
        || 1_700,
    );
    let path = folder.path().to_owned();
    engine.call(EngineCall::SetFolders(vec![Folder {
        uri: format!("file://{}", path.display()),
        name: "work".to_owned(),
        path: Some(path),
    }]));
    Bench { engine, reports, folder, model: RefCell::default(), _scopes: scopes_sender }
}

impl Bench {
    fn start(&self, turn: u64, text: &str) {
        self.start_on(turn, text, self.model.borrow().clone());
    }

    fn start_on(&self, turn: u64, text: &str, model: Option<ModelSetting>) {
        let prompt = Prompt {
            message_id: "m".to_owned(),
            text: text.to_owned(),
            attachments: Vec::new(),
            context: Box::default(),
            mode: Default::default(),
        };
        self.engine.call(EngineCall::StartTurn {
            session_id: "s".to_owned(),
            turn,
            prompt,
            model,
            history: Vec::new(),
            memory: Vec::new(),
            looked_at: None,
        });
    }

    fn set_model(&self, url: &str) {
        let setting = ModelSetting {
            provider: Some("openai".to_owned()),
            name: "m".to_owned(),
            url: Some(url.to_owned()),
            ..ModelSetting::default()
        };
        *self.model.borrow_mut() = Some(setting.clone());
        self.engine.call(EngineCall::SetModel(Some(setting)));
    }

    fn answer(&self, request: &EngineEvent, ruling: Ruling) {
        self.engine.call(EngineCall::Decide {
            session_id: "s".to_owned(),
            engine_request_id: request.payload["request_id"].as_str().unwrap().to_owned(),
            decision: ruling.into(),
            request_id: "r".to_owned(),
            reply: None,
        });
    }

    /// The next event of this kind; what comes before it is passed over.
    async fn event(&mut self, kind: &str) -> EngineEvent {
        loop {
            match self.reports.recv().await.unwrap() {
                EngineReport::Said { session_id, event, .. } if event.kind == kind => {
                    assert_eq!(session_id, "s");
                    return event;
                }
                EngineReport::Said { .. } | EngineReport::Stepped { .. } => {}
                other => panic!("waited for {kind}, got {other:?}"),
            }
        }
    }

    /// All events up to the end of a turn.
    async fn rest(&mut self) -> (Vec<EngineEvent>, u64, Option<String>) {
        let mut events = Vec::new();
        loop {
            match self.reports.recv().await.unwrap() {
                EngineReport::Said { event, .. } => events.push(event),
                EngineReport::Stepped { .. } | EngineReport::EditMade { .. } => {}
                EngineReport::TurnEnded { session_id, turn, failure, cancelled: false } => {
                    assert_eq!(session_id, "s");
                    return (events, turn, failure.map(|failure| failure.message));
                }
                EngineReport::Wants { want: ClientRequest::UpdateContext { reply }, .. } => {
                    let words = UPDATE.to_owned();
                    reply.answer(ContextUpdate { words, ..ContextUpdate::default() });
                }
                other => panic!("not asked for: {other:?}"),
            }
        }
    }
}

/// What the loop says that changed, whenever it is asked.
const UPDATE: &str = "\n\nChanged in the editor meanwhile";

impl Bench {
    /// What the turn wants done: its step comes first.
    async fn wants(&mut self) -> ClientRequest {
        match self.reports.recv().await.unwrap() {
            EngineReport::Stepped { step: TurnStep::Performing { .. }, turn: 1, .. } => {}
            other => panic!("nothing is said to begin: {other:?}"),
        }
        match self.reports.recv().await.unwrap() {
            EngineReport::Wants { want, .. } => want,
            other => panic!("nothing is wanted: {other:?}"),
        }
    }
}

fn kinds(events: &[EngineEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

#[tokio::test]
async fn hello_comes_once_a_session_before_its_first_turn() {
    let mut bench = bench(false);
    bench.start(1, "list files");
    let (first, turn, failure) = bench.rest().await;
    assert_eq!((turn, failure), (1, None));
    assert_eq!(first[0].kind, "server.hello");
    assert_eq!(
        first[0].payload["server_info"]["model"],
        json!({ "provider": "none", "model_name": "", "capabilities": [] })
    );
    assert_eq!(first.last().unwrap().kind, "assistant.message_final");
    assert!(
        first.iter().all(|event| event.turn == Some(1) && event.ts == Some(1_700) && event.id.is_empty())
    );
    bench.start(2, "list files");
    let (second, turn, _) = bench.rest().await;
    assert_eq!(turn, 2);
    assert!(!kinds(&second).contains(&"server.hello"));
    // That there is no model is said once too.
    let said = |events: &[EngineEvent]| events.last().unwrap().payload["message"].to_string();
    assert!(said(&first).contains("No model is configured") && said(&first).contains("choose one"));
    assert!(!said(&second).contains("model"), "{}", said(&second));
}

#[tokio::test]
async fn an_allowed_change_goes_to_the_loop_and_its_reply_comes_back() {
    let mut bench = bench(true);
    bench.start(1, "replace red with blue in notes.txt");
    let ask = bench.event("tool.request_approval").await;
    assert_eq!(ask.payload["tool_name"], json!("write_file"));
    bench.answer(&ask, Ruling::AllowOnce);
    let reply = match bench.wants().await {
        ClientRequest::ApplyText { root, path, base_hash, text, reply } => {
            assert_eq!((root, path.as_str(), text.as_str()), (None, "notes.txt", "blue\n"));
            let bytes = std::fs::read(bench.folder.path().join("notes.txt")).unwrap();
            assert_eq!(base_hash, Some(crate::domain::edits::text::content_hash(&bytes)));
            reply
        }
        other => panic!("{other:?}"),
    };
    reply.answer(Applied { applied_hash: "sha256:x".to_owned(), saved: true });
    let (events, _, failure) = bench.rest().await;
    assert_eq!(failure, None);
    assert_eq!(events.last().unwrap().payload["metadata"]["files_modified"], json!(1));
}

#[tokio::test]
async fn a_refusal_of_the_loop_reaches_the_user_as_its_sentence() {
    let mut bench = bench(true);
    bench.start(1, "replace red with blue in notes.txt");
    let ask = bench.event("tool.request_approval").await;
    bench.answer(&ask, Ruling::AllowOnce);
    match bench.wants().await {
        ClientRequest::ApplyText { reply, .. } => {
            reply.refuse(CodedError::new(ErrorCode::Conflict, "The file changed."));
        }
        other => panic!("{other:?}"),
    }
    let (events, _, _) = bench.rest().await;
    let end = &events.last().unwrap().payload;
    assert!(end["message"].as_str().unwrap().contains("\nThe file changed.\n\nTo get answers from a model"));
    assert_eq!(end["metadata"]["files_modified"], json!(0));
}

#[tokio::test]
async fn a_stop_while_an_ask_waits_ends_the_turn_and_a_late_answer_changes_nothing() {
    let mut bench = bench(true);
    bench.start(1, "replace red with blue in notes.txt");
    let ask = bench.event("tool.request_approval").await;
    bench.engine.call(EngineCall::Stop { session_id: "s".to_owned() });
    let (events, _, failure) = bench.rest().await;
    assert_eq!(failure, None);
    assert_eq!(events.last().unwrap().payload["metadata"]["cancelled"], json!(true));
    bench.answer(&ask, Ruling::AllowOnce);
    bench.start(2, "list files");
    assert_eq!(bench.rest().await.1, 2);
}

#[tokio::test]
async fn a_forgotten_session_stops_its_turn() {
    let mut bench = bench(true);
    bench.start(1, "replace red with blue in notes.txt");
    bench.event("tool.request_approval").await;
    bench.engine.call(EngineCall::Forget { session_id: "s".to_owned() });
    assert_eq!(bench.rest().await.1, 1);
}

#[tokio::test]
async fn a_second_turn_in_a_busy_session_ends_at_once_and_leaves_the_first_alone() {
    let mut bench = bench(true);
    bench.start(1, "replace red with blue in notes.txt");
    let ask = bench.event("tool.request_approval").await;
    bench.start(2, "list files");
    let (events, turn, failure) = bench.rest().await;
    assert_eq!((events.len(), turn), (0, 2));
    assert!(failure.unwrap().contains("already runs"));
    bench.answer(&ask, Ruling::Deny);
    assert_eq!(bench.rest().await.1, 1);
}

#[tokio::test]
async fn a_panic_inside_a_turn_ends_the_turn_with_a_sentence() {
    let (sender, mut reports) = mpsc::channel(64);
    let (_scopes, scopes) = watch::channel(Arc::new(TurnScopes::default()));
    let engine = EmbeddedEngine::new(
        sender,
        scopes,
        Handle::current(),
        HostTokens::default(),
        || panic!("on purpose"),
        || 0,
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    engine.call(EngineCall::SetFolders(vec![Folder {
        uri: String::new(),
        name: "w".to_owned(),
        path: Some(path),
    }]));
    for turn in [1, 2] {
        engine.call(EngineCall::StartTurn {
            session_id: "s".to_owned(),
            turn,
            prompt: Prompt {
                message_id: "m".to_owned(),
                text: "list files".to_owned(),
                attachments: Vec::new(),
                context: Box::default(),
                mode: Default::default(),
            },
            model: None,
            history: Vec::new(),
            memory: Vec::new(),
            looked_at: None,
        });
        let failure = loop {
            if let EngineReport::TurnEnded { failure, turn: ended, .. } = reports.recv().await.unwrap() {
                assert_eq!(ended, turn);
                break failure;
            }
        };
        assert!(failure.unwrap().message.contains("failed inside"));
    }
}

#[tokio::test]
async fn a_given_token_goes_to_the_model_of_that_moment_and_to_no_other() {
    let first = FakeModel::start(vec![openai(vec![json!({ "content": "one" })])]).await;
    let second = FakeModel::start(vec![openai(vec![json!({ "content": "two" })])]).await;
    let mut bench = bench(false);
    bench.set_model(&first.url());
    let token = Some(Secret("sk-given".to_owned()));
    bench.engine.call(EngineCall::SetToken { scope: CredentialScope::Model, token });
    bench.start(1, "hello");
    bench.rest().await;
    bench.set_model(&second.url());
    bench.start(2, "hello");
    bench.rest().await;
    assert_eq!(first.asked()[0].headers["authorization"], "Bearer sk-given");
    assert!(second.asked()[0].headers.get("authorization").is_none());
    assert!(!second.asked()[0].text().contains("sk-given"));
}

#[tokio::test]
async fn an_engine_token_never_reaches_a_model() {
    let server = FakeModel::start(vec![openai(vec![json!({ "content": "one" })])]).await;
    let mut bench = bench(false);
    bench.set_model(&server.url());
    let token = Some(Secret("engine-token".to_owned()));
    bench.engine.call(EngineCall::SetToken { scope: CredentialScope::Engine, token });
    bench.start(1, "hello");
    bench.rest().await;
    assert!(!server.asked()[0].text().contains("engine-token"));
}

#[tokio::test]
async fn a_command_of_the_model_is_asked_and_run_by_the_loop() {
    let call = tool_call("run_command", &json!({ "command": "make", "reason": "r" }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "ran" })])]).await;
    let mut bench = bench(true);
    bench.set_model(&server.url());
    bench.start(1, "build it");
    let ask = bench.event("command.request_approval").await;
    assert_eq!((&ask.payload["command"], &ask.payload["requires_approval"]), (&json!("make"), &json!(true)));
    bench.answer(&ask, Ruling::AllowOnce);
    match bench.wants().await {
        ClientRequest::RunCommand { command, cwd, reply, .. } => {
            assert_eq!((command.as_str(), cwd.as_str()), ("make", "."));
            reply.answer(CommandRan {
                exit_code: 0,
                stdout: "built".to_owned(),
                stderr: String::new(),
                duration_ms: 1,
                timed_out: false,
            });
        }
        other => panic!("{other:?}"),
    }
    let (events, _, failure) = bench.rest().await;
    assert_eq!(failure, None);
    assert_eq!(events.last().unwrap().payload["message"], json!("ran"));
    let told = server.asked()[1].text();
    assert!(told.contains("built") && told.contains("Changed in the editor meanwhile"), "{told}");
}

#[tokio::test]
async fn a_stop_in_a_silent_stream_ends_the_turn() {
    let server = FakeModel::start(vec![Script::Stall(vec![chunk(json!({ "content": "so far" }))])]).await;
    let mut bench = bench(false);
    bench.set_model(&server.url());
    bench.start(1, "hello");
    bench.event("assistant.token").await;
    bench.engine.call(EngineCall::Stop { session_id: "s".to_owned() });
    let (events, _, _) = bench.rest().await;
    let end = &events.last().unwrap().payload;
    assert_eq!((&end["message"], &end["metadata"]["cancelled"]), (&json!("so far"), &json!(true)));
}

#[tokio::test]
async fn models_are_listed_with_what_is_known_of_them_and_a_failure_is_engine_unreachable() {
    let listing = json!({ "data": [{ "id": "gpt-4o" }, { "id": "m" }] }).to_string();
    let server = FakeModel::start(vec![
        Script::Stream("application/json", vec![listing]),
        Script::Status(500, String::new()),
    ])
    .await;
    let bench = bench(false);
    let list = || {
        let (reply, answer) = Reply::new();
        bench.engine.call(EngineCall::ListModels { chosen: None, reply });
        async move { answer.await.unwrap().map(|models| json!(models)) }
    };
    assert_eq!(list().await, Ok(json!({ "models": [] })));
    bench.set_model(&server.url());
    let models: Value = json!({ "models": [
            { "id": "gpt-4o", "name": "gpt-4o", "provider": "openai", "contextWindow": 128_000, "images": true },
            { "id": "m", "name": "m", "provider": "openai", "contextWindow": 128_000, "images": false },
        ], "current": "openai/m" });
    assert_eq!(list().await, Ok(models));
    assert_eq!(list().await.unwrap_err().code, ErrorCode::EngineUnreachable);
}

#[tokio::test]
async fn a_token_for_a_plain_http_endpoint_elsewhere_is_refused_before_anything_is_sent() {
    let mut bench = bench(false);
    bench.set_model("http://model.example:9/v1");
    let token = Some(Secret("sk-given".to_owned()));
    bench.engine.call(EngineCall::SetToken { scope: CredentialScope::Model, token });
    bench.start(1, "hello");
    let (events, _, failure) = bench.rest().await;
    assert_eq!(failure, None);
    let error = &events.last().unwrap().payload["error"];
    assert_eq!((&error["code"], &error["recoverable"]), (&json!("MODEL_ERROR"), &json!(false)));
    assert!(error["message"].as_str().unwrap().contains("plain http"), "{error}");
    assert!(!error.to_string().contains("sk-given"));
}

#[tokio::test]
async fn a_text_attachment_reaches_the_model_and_a_binary_one_is_only_named() {
    let server = FakeModel::start(vec![openai(vec![json!({ "content": "ok" })])]).await;
    let mut bench = bench(false);
    bench.set_model(&server.url());
    let attachment = |name: &str, bytes: &[u8]| {
        let path = bench.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        crate::app::ports::Attachment {
            id: name.to_owned(),
            name: name.to_owned(),
            mime: "application/octet-stream".to_owned(),
            bytes: bytes.len() as u64,
            path,
        }
    };
    let attachments = vec![attachment("a.txt", b"attached text"), attachment("b.bin", b"\0\xff")];
    bench.engine.call(EngineCall::StartTurn {
        session_id: "s".to_owned(),
        turn: 1,
        prompt: Prompt {
            message_id: "m".to_owned(),
            text: "see".to_owned(),
            attachments,
            context: Box::default(),
            mode: Default::default(),
        },
        model: bench.model.borrow().clone(),
        history: Vec::new(),
        memory: Vec::new(),
        looked_at: None,
    });
    bench.rest().await;
    let messages = server.asked()[0].body["messages"].as_array().unwrap().clone();
    assert_eq!(
        messages.last().unwrap()["content"],
        json!(
            "see\n\nAttached file `a.txt`:\n```\nattached text\n```\n\nAttached file `b.bin` \
             (application/octet-stream) is no text and cannot be shown to you."
        )
    );
}

#[tokio::test]
async fn a_turn_uses_its_own_model_whatever_is_in_use_between_turns() {
    let mut bench = bench(false);
    let named = |name: &str| {
        let (provider, url) = (Some("openai".to_owned()), Some("http://127.0.0.1:9/v1".to_owned()));
        Some(ModelSetting { provider, name: name.to_owned(), url, ..ModelSetting::default() })
    };
    bench.start_on(1, "hello", named("first"));
    // Another is chosen before the turn's task ran once.
    bench.engine.call(EngineCall::SetModel(None));
    let (events, _, _) = bench.rest().await;
    // Without a model the host answers by itself; with one that cannot be reached it says so.
    let said = serde_json::to_string(&events.iter().map(|event| &event.payload).collect::<Vec<_>>()).unwrap();
    assert!(said.contains("127.0.0.1:9"), "{said}");
}
