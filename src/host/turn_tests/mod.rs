//! The turn with a model, against a fake endpoint.

mod endpoints;
mod memory;
mod tools;

use std::time::Duration;

use serde_json::{Value, json};

use crate::domain::agent_mode::AgentMode;
use crate::domain::context::item::PromptContext;
use crate::domain::dialect::desktop::message::{
    FinalMetadata, ServerErrorCode, ServerMessage, ThinkingPhase,
};
use crate::domain::edits::text::content_hash;
use crate::domain::steps::{TurnPast, TurnStep};
use crate::host::budget::TurnBudget;
use crate::host::fake_model::{FakeModel, Script, chunk, openai, tool_call};
use crate::host::fake_port::{FakePort, User, tokens};
use crate::host::models::target::Provider;
use crate::host::models::{Limits, ModelChoice, ModelClient, ModelError, Target, Token, Tuning};
use crate::host::request::{Attached, ModelInUse, NoModel, PastModel, PastTurn, TurnRequest};
use crate::host::turn;

const TOKEN: &str = "sk-very-secret";

fn model(url: &str, provider: &str, idle: Duration) -> ModelInUse {
    let choice = ModelChoice {
        provider: Some(provider.to_owned()),
        name: "m-medium".to_owned(),
        url: Some(url.to_owned()),
    };
    ModelInUse {
        client: ModelClient::new(Limits { connect: Duration::from_secs(10), idle, backoff: Duration::ZERO })
            .unwrap(),
        target: Target::resolve(&choice).unwrap(),
        token: Some(Token(TOKEN.to_owned())),
        tuning: Tuning::default(),
    }
}

fn request(model: ModelInUse) -> TurnRequest {
    TurnRequest {
        text: "What is here?".to_owned(),
        earlier: vec![PastTurn {
            text: "before".to_owned(),
            attachments: Vec::new(),
            context: PromptContext::default(),
            past: TurnPast::answered("answered".to_owned()),
            model: PastModel::Other,
        }],
        budget: TurnBudget::default(),
        mode: AgentMode::default(),
        attachments: Vec::new(),
        context: PromptContext::default(),
        model: Some(Ok(model)),
        no_model: NoModel::Unsaid,
        goes_on: None,
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
