//! The routes of models.
//!
//! Owns their shape over HTTP. Which models there are only the engine knows.

use std::sync::Arc;

use axum::extract::State;

use super::answer::{JsonBody, OkBody, RouteAnswer, RouteQuery};
use super::host::{DesktopHost, HostedWorkspace};
use crate::protocol::Request;
use crate::protocol::desktop::body::*;
use crate::protocol::desktop::refusal::DesktopRefusal;
use crate::protocol::request::{EngineStatus, InitParams, InitResult, ModelsResult, NoParams, Subscribe};
use crate::protocol::settings::{EngineKind, ModelSetting};

pub(super) async fn list(
    State(host): State<Arc<DesktopHost>>,
    RouteQuery(query): RouteQuery<ModelsQuery>,
) -> RouteAnswer<ModelsBody> {
    let workspace = host.workspace_or_first(query.workspace_id.as_deref())?;
    let listed: ModelsResult = workspace.ask(Request::ModelsList(NoParams {})).await?;
    let models = listed.models.into_iter().map(|model| ModelBody {
        id: model.id,
        provider: model.provider,
        display_name: model.name,
    });
    Ok(OkBody(ModelsBody { models: models.collect() }))
}

pub(super) async fn current(
    State(host): State<Arc<DesktopHost>>,
    RouteQuery(query): RouteQuery<ModelsQuery>,
) -> RouteAnswer<CurrentModelBody> {
    let workspace = host.workspace_or_first(query.workspace_id.as_deref())?;
    Ok(OkBody(in_use(workspace).await?))
}

pub(super) async fn choose(
    State(host): State<Arc<DesktopHost>>,
    RouteQuery(query): RouteQuery<ModelsQuery>,
    JsonBody(wanted): JsonBody<ModelChoiceBody>,
) -> RouteAnswer<CurrentModelBody> {
    let workspace = host.workspace_or_first(query.workspace_id.as_deref())?;
    let ModelChoiceBody { provider, model_name, url } = wanted;
    let setting = ModelSetting { provider, name: model_name, url, ..ModelSetting::default() };
    workspace.ask::<ModelsResult>(Request::ModelsSet(setting)).await?;
    Ok(OkBody(in_use(workspace).await?))
}

async fn in_use(workspace: &HostedWorkspace) -> Result<CurrentModelBody, DesktopRefusal> {
    let deaf = Subscribe { events: Some(false), view: Some(false), tabs: Some(false), max_latency_ms: None };
    let init = InitParams { subscribe: Some(deaf), last_seen: None };
    let known: InitResult = workspace.ask(Request::Init(init)).await?;
    let (provider, model_name) = named(&known.engine);
    Ok(CurrentModelBody { provider, model_name, engine: known.engine.kind.as_str().to_owned() })
}

/// The provider and the name of the model in use. Only our own agent names the two in one word.
pub(super) fn named(engine: &EngineStatus) -> (Option<String>, Option<String>) {
    let Some(model) = engine.model.as_deref() else { return (None, None) };
    match model.split_once('/').filter(|_| engine.kind == EngineKind::Embedded) {
        Some((provider, name)) => (Some(provider.to_owned()), Some(name.to_owned())),
        None => (None, Some(model.to_owned())),
    }
}
