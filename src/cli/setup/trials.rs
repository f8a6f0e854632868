//! Whether what somebody is about to choose works: asked of a server of our own, and of `doctor`.
//!
//! Owns that server for as long as the conversation lasts. Keeps nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::args::{ReportArgs, ServerArgs};
use super::super::ask::{give_up, refuse};
use super::super::check::Mark;
use super::super::client::{Client, ClientError};
use super::super::doctor::checks;
use super::super::exit::Exit;
use super::super::handshake::{ANSWER, hello, initialize, start};
use super::super::knowledge::Knowledge;
use super::super::variables::ENV_MODEL_TOKEN;
use crate::domain::sentence::sentence;
use crate::protocol::request::{ModelProvider, ModelsCheckResult};

/// How long an endpoint may take to tell its models; a person waits.
const ENDPOINT: Duration = Duration::from_secs(30);

/// What of a report is about the engine: the rest is about this machine.
const ABOUT_ENGINE: [&str; 5] = ["server", "engine", "session", "origin", "token"];

/// What trying it came to.
pub(super) enum Tried {
    /// It answers as it is to.
    Works,
    /// Why not, and what to do, in a sentence or two.
    Fails(String),
}

/// A server that is asked.
pub(super) struct Trials {
    pub(super) client: Client,
    workspace: PathBuf,
    knowledge: Knowledge,
}

impl Trials {
    /// Starts it, and hears its greeting.
    pub(super) fn begin(workspace: &Path, knowledge: Knowledge) -> Result<Self, Exit> {
        let mut client =
            start(&ServerArgs::default()).map_err(|error| refuse(&error.to_string(), Exit::Server))?;
        match initialize(&mut client, workspace, false).and_then(|_| hello(&mut client)) {
            Ok(_) => Ok(Self { client, workspace: workspace.to_owned(), knowledge }),
            Err(error) => Err(give_up(client, &error)),
        }
    }

    /// Whose models can be used.
    pub(super) fn providers(&mut self) -> Result<Vec<ModelProvider>, ClientError> {
        let mut listed = self.client.request("bb/models/providers", json!({}), ANSWER)?;
        read(listed.get_mut("providers").map(Value::take).unwrap_or_default())
    }

    /// Whether the endpoint answers, and its models where it tells them.
    pub(super) fn models(
        &mut self,
        provider: &str,
        url: Option<&str>,
    ) -> Result<(Tried, Option<Vec<String>>), ClientError> {
        let checked = self.check(json!({ "provider": provider }), url)?;
        Ok((tried(&checked), checked.models))
    }

    /// Whether this model is there.
    pub(super) fn model(
        &mut self,
        provider: &str,
        name: &str,
        url: Option<&str>,
    ) -> Result<Tried, ClientError> {
        Ok(tried(&self.check(json!({ "provider": provider, "name": name }), url)?))
    }

    fn check(&mut self, mut params: Value, url: Option<&str>) -> Result<ModelsCheckResult, ClientError> {
        // An address of one's own has its key in the variable for the configured one, which this is not yet.
        let key = url.and_then(|_| std::env::var(ENV_MODEL_TOKEN).ok());
        for (name, value) in [("url", url.map(str::to_owned)), ("token", key)] {
            if let (Some(value), Some(params)) = (value, params.as_object_mut()) {
                params.insert(name.to_owned(), Value::String(value));
            }
        }
        read(self.client.request("bb/models/check", params, ENDPOINT)?)
    }

    /// Whether a session can be made with this engine, by a server of its own.
    pub(super) fn engine(&self, server: ServerArgs) -> Tried {
        let report = ReportArgs { workspace: self.workspace.clone(), json: true, server };
        let bad = checks(&report, self.knowledge)
            .into_iter()
            .find(|check| check.mark == Mark::Fail && ABOUT_ENGINE.contains(&check.id));
        match bad {
            None => Tried::Works,
            Some(check) => {
                let advice = check.advice.map(|advice| format!(" {}", sentence(&advice)));
                Tried::Fails(format!("{}{}", sentence(&check.found), advice.unwrap_or_default()))
            }
        }
    }
}

fn tried(checked: &ModelsCheckResult) -> Tried {
    let why = || checked.problem.clone().unwrap_or_else(|| "It does not answer.".to_owned());
    if checked.ok { Tried::Works } else { Tried::Fails(why()) }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ClientError> {
    serde_json::from_value(value).map_err(|error| {
        ClientError::Nonsense(format!("The server's answer does not fit this version ({error})."))
    })
}
