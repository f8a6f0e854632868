//! Modes, options and commands of a session: asked, told, set.
//!
//! Owns what a client is told of them. An agent's own go through as they are; of our engine it is the model alone.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::front::{AcpFront, nothing, text_of};
use super::message::RpcFault;
use super::root::KnownModels;
use super::session::{AcpSession, OfferedChoices};
use crate::domain::dialect::acp::agent_end::options::{MODEL, model_option, shown};
use crate::domain::dialect::acp::agent_end::updates;
use crate::domain::dialect::acp::state::AgentCommand;
use crate::domain::fact::NoticeLevel;
use crate::protocol::Request;
use crate::protocol::agent::{SessionInfoParams, SessionInfoResult};
use crate::protocol::request::{CommandParams, ModelsResult, NoParams};
use crate::protocol::settings::{EngineKind, ModelSetting};

/// How long a provider may take to list its models. A session is not kept waiting for it.
const MODELS: Duration = Duration::from_secs(3);

impl AcpFront {
    /// What there is to choose from.
    pub(super) async fn choices_of(&self, session: &Rc<AcpSession>) -> OfferedChoices {
        let params = SessionInfoParams { session_id: Some(session.id.clone()), tab_id: None };
        let info = session.root.root.call::<SessionInfoResult>(Request::SessionInfo(params)).await;
        let info = info.unwrap_or_default();
        // Of our own engine: the prompts of tool servers.
        let served = info.commands.clone().filter(|_| info.agent.is_none()).unwrap_or_default();
        let Some(info) = Some(info).filter(|info| info.agent.is_some()) else {
            let commands = served.iter().map(command).collect();
            return OfferedChoices { options: self.model_of(session).await, commands, modes: None };
        };
        let modes = info.modes.filter(|modes| !modes.available_modes.is_empty());
        let options = info.config_options.unwrap_or_default();
        let mut options: Vec<Value> =
            options.iter().filter_map(|option| serde_json::to_value(option).ok()).collect();
        if let Some(models) =
            info.models.filter(|_| options.iter().all(|option| option["category"] != "model"))
        {
            let named =
                models.available_models.iter().map(|model| (model.model_id.clone(), model.name.clone()));
            options.extend(model_option(Some(&models.current_model_id), &named.collect::<Vec<_>>()));
        }
        OfferedChoices {
            modes: modes.and_then(|modes| serde_json::to_value(modes).ok()),
            options: shown(options, self.abilities().switches),
            commands: info.commands.unwrap_or_default().iter().map(command).collect(),
        }
    }

    /// The provider is asked once: a list of models is no news within one conversation.
    async fn model_of(&self, session: &AcpSession) -> Vec<Value> {
        if session.root.engine != EngineKind::Embedded {
            return Vec::new();
        }
        let known = session.root.models.borrow().clone();
        let known = match known {
            Some(known) => known,
            None => {
                let listed = session.root.root.call::<ModelsResult>(Request::ModelsList(NoParams {}));
                let listed = tokio::time::timeout(MODELS, listed).await;
                let known = listed.ok().and_then(Result::ok).map(known_models).unwrap_or_default();
                session.root.models.borrow_mut().insert(known).clone()
            }
        };
        model_option(known.current.as_deref(), &known.all).into_iter().collect()
    }

    /// Tells what changed of them.
    pub(super) async fn tell_choices(&self, session: &Rc<AcpSession>) {
        let now = self.choices_of(session).await;
        let before = session.offered.replace(now.clone());
        let mode = |choices: &OfferedChoices| {
            choices.modes.as_ref().and_then(|modes| Some(modes.get("currentModeId")?.as_str()?.to_owned()))
        };
        if let Some(id) = mode(&now).filter(|id| mode(&before).as_ref() != Some(id)) {
            self.tell_update(session, &updates::mode(&id)).await;
        }
        if now.options != before.options {
            self.tell_update(session, &updates::options(&now.options)).await;
        }
        if now.commands != before.commands {
            self.tell_update(session, &updates::commands(now.commands)).await;
        }
    }

    /// Tells what a session that was just opened has beside its answer.
    pub(super) async fn tell_what_it_has(&self, session: &Rc<AcpSession>) {
        self.tell_choices(session).await;
        let about_servers = session.about_servers.take();
        if let Some(sentence) = about_servers {
            self.tell_update(session, &updates::said(self.abilities().notices, NoticeLevel::Info, &sentence))
                .await;
        }
    }

    /// The client sets the mode.
    pub(super) async fn set_mode(&self, params: &Map<String, Value>) -> Result<Value, RpcFault> {
        let session = self.session_of(params)?;
        let mode = text_of(params, "modeId")?;
        let modes = session.offered.borrow().modes.clone();
        let listed = modes.as_ref().and_then(|modes| modes.get("availableModes")?.as_array());
        let known = listed.is_some_and(|modes| modes.iter().any(|known| known["id"] == mode));
        if !known {
            return Err(RpcFault::params("This session has no such mode."));
        }
        command_to(&session, "set_mode", [("modeId", json!(mode))]).await?;
        Ok(nothing())
    }

    /// The client sets an option; the answer has all of them.
    pub(super) async fn set_option(&self, params: &Map<String, Value>) -> Result<Value, RpcFault> {
        let session = self.session_of(params)?;
        let id = text_of(params, "configId")?;
        let value = params.get("value").cloned().unwrap_or_default();
        if !value.is_string() && !value.is_boolean() {
            return Err(RpcFault::params(
                "The params have no `value`, or it is neither a text nor a switch.",
            ));
        }
        let offered = session.offered.borrow().options.clone();
        let Some(option) = offered.iter().find(|option| option["id"] == id) else {
            return Err(RpcFault::params("This session has no such option."));
        };
        let choices = option.get("options").and_then(Value::as_array);
        let fits = choices.is_none_or(|choices| choices.iter().any(|choice| choice["value"] == value));
        if !fits {
            return Err(RpcFault::params("The option has no such value."));
        }
        if session.root.engine == EngineKind::Embedded {
            let name = value.as_str().unwrap_or_default().to_owned();
            let model = ModelSetting { provider: None, name: name.clone(), ..ModelSetting::default() };
            let _: ModelsResult = session.root.root.call(Request::ModelsSet(model)).await?;
            if let Some(known) = session.root.models.borrow_mut().as_mut() {
                known.current = Some(name);
            }
        } else if id == MODEL {
            command_to(&session, "set_model", [("model", value)]).await?;
        } else {
            command_to(&session, "set_config_option", [("configId", json!(id)), ("value", value)]).await?;
        }
        let now = self.choices_of(&session).await;
        session.offered.borrow_mut().options.clone_from(&now.options);
        Ok(json!({ "configOptions": now.options }))
    }
}

/// The one in use is named with its provider, those to choose from are not.
fn known_models(listed: ModelsResult) -> KnownModels {
    let all: Vec<(String, String)> = listed.models.into_iter().map(|model| (model.id, model.name)).collect();
    let current = listed.current.map(|current| {
        let bare = current.split_once('/').map_or(current.as_str(), |(_, name)| name);
        if all.iter().any(|(id, _)| *id == current) { current } else { bare.to_owned() }
    });
    KnownModels { all, current }
}

async fn command_to<const N: usize>(
    session: &AcpSession,
    name: &str,
    args: [(&str, Value); N],
) -> Result<(), RpcFault> {
    let args = args.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let params = CommandParams { session_id: session.id.clone(), command: name.to_owned(), args: Some(args) };
    session.root.root.call::<Value>(Request::Command(params)).await?;
    Ok(())
}

fn command(command: &AgentCommand) -> Value {
    let mut told = json!({ "name": command.name, "description": command.description });
    if let Some(hint) = &command.hint {
        told["input"] = json!({ "hint": hint });
    }
    told
}
