//! The loop's side of an engine, held by a test.

use std::path::Path;
use std::time::Duration;

use breadboard_ls::testing::app::inbox::{Answer, Folder, Reply};
use breadboard_ls::testing::app::ports::{
    Attachment, Connectivity, Engine, EngineCall, EngineReport, EngineSession, NewSession, Prompt, Secret,
    SessionReply,
};
use breadboard_ls::testing::domain::coded_error::CodedError;
use breadboard_ls::testing::engine::breadboard::client::EngineTimeouts;
use breadboard_ls::testing::engine::breadboard::{BreadboardEngine, Setup};
use breadboard_ls::testing::protocol::settings::{EngineSetting, ModelSetting};
use breadboard_ls::testing::simulate::breadboard::{Simulator, SimulatorOptions};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Longest wait for anything; a test that meets it has failed.
const PATIENCE: Duration = Duration::from_secs(15);

/// An engine and its reports.
pub struct Desk {
    pub engine: BreadboardEngine,
    reports: mpsc::Receiver<EngineReport>,
}

/// What is set for an engine at this address.
pub fn setup(url: &str, token: Option<&str>) -> Setup {
    let setting: EngineSetting =
        serde_json::from_value(json!({ "kind": "breadboard", "url": url })).expect("a setting");
    Setup::read(&setting, token.map(|token| Secret(token.to_owned())), None).expect("is an address")
}

/// A simulated engine.
pub fn simulator(options: SimulatorOptions) -> Simulator {
    Simulator::start(options, &Handle::current()).expect("the simulator starts")
}

/// The same with the setup of a script.
pub fn scripted(script: &Value) -> SimulatorOptions {
    use breadboard_ls::testing::simulate::breadboard::Script;
    SimulatorOptions {
        script: Some(Script::parse(&script.to_string()).expect("a script")),
        ..SimulatorOptions::default()
    }
}

impl Desk {
    /// An engine with this setup, nothing waited for.
    pub fn open(setup: Setup) -> Self {
        let (sender, reports) = mpsc::channel(1_024);
        Self { engine: BreadboardEngine::new(sender, Handle::current(), setup, || 0), reports }
    }

    /// An engine at this simulator, which answers.
    pub async fn connected(simulator: &Simulator) -> Self {
        Self::patient(simulator, EngineTimeouts::default()).await
    }

    /// The same with other patience.
    pub async fn patient(simulator: &Simulator, patience: EngineTimeouts) -> Self {
        let mut desk = Self::open(Setup { timeouts: patience, ..setup(simulator.base_url(), None) });
        desk.until_connected().await;
        desk
    }

    /// Waits for `Connected`; its capabilities.
    pub async fn until_connected(&mut self) -> Vec<String> {
        self.wait(|report| match report {
            EngineReport::Connectivity(Connectivity::Connected { capabilities }) => Some(capabilities),
            _ => None,
        })
        .await
    }

    /// Waits for the first `Failed`; its refusal.
    pub async fn until_failed(&mut self) -> CodedError {
        self.wait(|report| match report {
            EngineReport::Connectivity(Connectivity::Failed { error, .. }) => Some(error),
            _ => None,
        })
        .await
    }

    /// The first report that `pick` takes; others are dropped.
    pub async fn wait<T>(&mut self, mut pick: impl FnMut(EngineReport) -> Option<T>) -> T {
        let found = async {
            loop {
                let report = self.reports.recv().await.expect("the engine lives");
                if let Some(found) = pick(report) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("the report comes")
    }

    /// Sends a call that answers for itself.
    pub async fn ask<T: Serialize>(
        &self,
        call: impl FnOnce(Reply<T>) -> EngineCall,
    ) -> Result<Value, CodedError> {
        let (reply, answer) = Reply::new();
        self.engine.call(call(reply));
        answered(answer).await.map(|result| json!(result))
    }

    /// Makes a session.
    pub async fn try_make(&mut self, wish: NewSession) -> Result<EngineSession, CodedError> {
        let (reply, _answer) = Reply::new();
        self.engine.call(EngineCall::MakeSession {
            session_id: "ours".to_owned(),
            wish,
            reply: SessionReply::Client(reply),
        });
        self.wait(|report| match report {
            EngineReport::SessionMade { outcome, .. } => Some(outcome),
            _ => None,
        })
        .await
    }

    /// Makes a session in the simulator's own workspace.
    pub async fn make(&mut self) -> String {
        self.try_make(NewSession::default()).await.expect("a session").session_id
    }

    /// Starts a turn.
    pub fn start(&self, session_id: &str, turn: u64, text: &str, attachments: Vec<Attachment>) {
        self.start_with(session_id, turn, text, attachments, Vec::new());
    }

    /// Starts a turn that comes after others.
    pub fn start_with(
        &self,
        session_id: &str,
        turn: u64,
        text: &str,
        attachments: Vec<Attachment>,
        history: Vec<(String, String)>,
    ) {
        let prompt = Prompt {
            message_id: format!("m{turn}"),
            text: text.to_owned(),
            attachments,
            context: Box::default(),
            mode: Default::default(),
        };
        let (session_id, model) = (session_id.to_owned(), None);
        self.engine.call(EngineCall::StartTurn {
            session_id,
            turn,
            prompt,
            model,
            history,
            memory: Vec::new(),
            looked_at: None,
        });
    }

    /// Starts a turn with this model.
    pub fn start_on(&self, session_id: &str, turn: u64, model: &str) {
        let prompt = Prompt {
            message_id: format!("m{turn}"),
            text: format!("prompt {turn}"),
            attachments: Vec::new(),
            context: Box::default(),
            mode: Default::default(),
        };
        let model = Some(ModelSetting { provider: None, name: model.to_owned(), ..ModelSetting::default() });
        let (session_id, history) = (session_id.to_owned(), Vec::new());
        self.engine.call(EngineCall::StartTurn {
            session_id,
            turn,
            prompt,
            model,
            history,
            memory: Vec::new(),
            looked_at: None,
        });
    }

    /// Waits for the end of a turn that did not begin; its sentence.
    pub async fn failure(&mut self) -> String {
        self.wait(|report| match report {
            EngineReport::TurnEnded { failure, .. } => failure.map(|failure| failure.message),
            _ => None,
        })
        .await
    }

    /// Names a folder as the workspace.
    pub fn folder(&self, path: &Path) {
        let folder = Folder {
            uri: format!("file://{}", path.display()),
            name: "ws".to_owned(),
            path: Some(path.to_owned()),
        };
        self.engine.call(EngineCall::SetFolders(vec![folder]));
    }
}

/// Waits for an answer.
pub async fn answered<T>(answer: Answer<T>) -> Result<T, CodedError> {
    tokio::time::timeout(PATIENCE, answer).await.expect("an answer comes").expect("it is not dropped")
}

/// Waits until the simulator saw `count` requests whose line contains `needle`; their bodies.
pub async fn seen(simulator: &Simulator, needle: &str, count: usize) -> Vec<Value> {
    let found = async {
        loop {
            let bodies = bodies(simulator, needle);
            if bodies.len() >= count {
                return bodies;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("the requests come")
}

/// Bodies of the requests whose line contains `needle`.
pub fn bodies(simulator: &Simulator, needle: &str) -> Vec<Value> {
    lines(simulator, needle)
        .into_iter()
        .map(|(_, body)| serde_json::from_str(&body).unwrap_or(Value::String(body)))
        .collect()
}

/// Lines and bodies of the requests whose line contains `needle`.
pub fn lines(simulator: &Simulator, needle: &str) -> Vec<(String, String)> {
    simulator
        .requests()
        .into_iter()
        .map(|request| (format!("{} {}", request.method, request.path), request.body))
        .filter(|(line, _)| line.contains(needle))
        .collect()
}
