//! The routes of models.
//!
//! Owns their shape over HTTP. Which models there are only the engine knows.

use std::sync::Arc;

use axum::extract::State;

use super::answer::{Answered, Asked, Given, JsonBody};
use super::host::{DesktopHost, HostedWorkspace};
use crate::protocol::Request;
use crate::protocol::desktop::body::*;
use crate::protocol::desktop::refusal::DesktopRefusal;
use crate::protocol::request::{InitParams, InitResult, ModelsResult, NoParams, Subscribe};
use crate::protocol::settings::ModelSetting;

pub(super) async fn list(
    State(host): State<Arc<DesktopHost>>,
    Asked(query): Asked<ModelsQuery>,
) -> Answered<ModelsBody> {
    let workspace = host.workspace_or_first(query.workspace_id.as_deref())?;
    let listed: ModelsResult = workspace.ask(Request::ModelsList(NoParams {})).await?;
    let models = listed.models.into_iter().map(|model| ModelBody {
        id: model.id,
        provider: model.provider,
        display_name: model.name,
    });
    Ok(Given(ModelsBody { models: models.collect() }))
}

pub(super) async fn current(
    State(host): State<Arc<DesktopHost>>,
    Asked(query): Asked<ModelsQuery>,
) -> Answered<CurrentModelBody> {
    let workspace = host.workspace_or_first(query.workspace_id.as_deref())?;
    Ok(Given(in_use(workspace).await?))
}

pub(super) async fn choose(
    State(host): State<Arc<DesktopHost>>,
    Asked(query): Asked<ModelsQuery>,
    JsonBody(wanted): JsonBody<ModelChoiceBody>,
) -> Answered<CurrentModelBody> {
    let workspace = host.workspace_or_first(query.workspace_id.as_deref())?;
    let ModelChoiceBody { provider, model_name, url } = wanted;
    let setting = ModelSetting { provider, name: model_name, url };
    workspace.ask::<ModelsResult>(Request::ModelsSet(setting)).await?;
    Ok(Given(in_use(workspace).await?))
}

async fn in_use(workspace: &HostedWorkspace) -> Result<CurrentModelBody, DesktopRefusal> {
    let deaf = Subscribe { events: Some(false), view: Some(false), tabs: Some(false), max_latency_ms: None };
    let init = InitParams { subscribe: Some(deaf), last_seen: None };
    let known: InitResult = workspace.ask(Request::Init(init)).await?;
    Ok(CurrentModelBody { model_name: known.engine.model, engine: known.engine.kind.as_str().to_owned() })
}
