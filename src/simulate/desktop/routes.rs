//! Which path of a simulated host means what, in the words of the seed and of its public source.
//!
//! Owns authorisation: the seed's over every path, the source's over the socket alone. Never knows a message.

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::HostDialect;
use super::host::SimulatedHost;
use super::hosted_session::HostedSession;
use super::socket::speak;

type Host = State<Arc<SimulatedHost>>;

/// The routes.
pub(super) fn router(host: Arc<SimulatedHost>) -> Router {
    let mut routes = Router::new()
        .route("/v1/health", get(health))
        .route("/v1/workspaces", get(workspaces))
        .route("/v1/workspaces/register", post(register))
        .route("/v1/workspaces/{id}", get(workspace))
        .route("/v1/workspaces/{id}/policy", get(policy).put(set_policy))
        .route("/v1/sessions", get(sessions).post(make))
        .route("/v1/sessions/{id}", get(session).delete(delete))
        .route("/v1/sessions/{id}/stream", get(stream))
        .route("/v1/models", get(models));
    routes = match host.options.dialect {
        HostDialect::Seed => routes
            .route("/v1/workspaces/{id}/index/status", get(index_status))
            .route("/v1/workspaces/{id}/index/rebuild", post(index_job))
            .route("/v1/workspaces/{id}/index/refresh", post(index_job))
            .route("/v1/workspaces/{id}/index/incremental", post(index_job))
            .route("/v1/models/current", get(current_model).put(set_model)),
        HostDialect::Source => routes
            .route("/v1/models/current", get(current_model))
            .route("/v1/models/switch", post(switch_model)),
    };
    routes
        .fallback(|| async { refused(StatusCode::NOT_FOUND, "Not Found") })
        .layer(from_fn_with_state(Arc::clone(&host), gate))
        .with_state(host)
}

/// Remembers a request, and whether it may go on.
async fn gate(State(host): Host, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    host.saw(format!("{} {path}{query}", request.method()));
    let is_guarded = match host.options.dialect {
        HostDialect::Seed => path != "/v1/health",
        HostDialect::Source => path.ends_with("/stream"),
    };
    let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let given = token.and_then(|value| value.strip_prefix("Bearer "));
    if is_guarded && host.options.token.is_some() && given != host.options.token.as_deref() {
        return match host.options.dialect {
            HostDialect::Seed => refused(StatusCode::UNAUTHORIZED, "A token is wanted."),
            HostDialect::Source => StatusCode::FORBIDDEN.into_response(),
        };
    }
    next.run(request).await
}

fn refused(status: StatusCode, detail: &str) -> Response {
    (status, Json(json!({ "detail": detail }))).into_response()
}

async fn health() -> Json<Value> {
    Json(json!({ "status": "healthy", "version": "0.1.0", "protocol_version": "1.0.0" }))
}

fn workspace_body(id: &str, path: &str) -> Value {
    json!({ "id": id, "path": path, "name": path, "created_at": "2026-01-01T00:00:00Z", "last_indexed_at": null,
        "index_status": "indexing", "index_progress": 0.5, "total_files": 4, "indexed_files": 2, "total_chunks": 0 })
}

async fn workspaces(State(host): Host) -> Json<Value> {
    let state = host.state();
    Json(state.workspaces.iter().map(|(id, path)| workspace_body(id, path)).collect())
}

async fn register(State(host): Host, Json(body): Json<Map<String, Value>>) -> Response {
    let Some(path) = body.get("path").and_then(Value::as_str) else {
        let fault =
            json!({ "detail": [{ "type": "missing", "loc": ["body", "path"], "msg": "Field required" }] });
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(fault)).into_response();
    };
    let known = host.state().workspaces.iter().find(|(_, known)| known == path).cloned();
    let (id, path) = known.unwrap_or_else(|| {
        let made = (host.fresh("ws"), path.to_owned());
        host.state().workspaces.push(made.clone());
        made
    });
    Json(workspace_body(&id, &path)).into_response()
}

async fn workspace(State(host): Host, Path(id): Path<String>) -> Response {
    let known = host.state().workspaces.iter().find(|(known, _)| *known == id).cloned();
    match known {
        Some((id, path)) => Json(workspace_body(&id, &path)).into_response(),
        None => refused(StatusCode::NOT_FOUND, "Workspace not found"),
    }
}

async fn policy(State(host): Host) -> Json<Value> {
    Json(host.policy())
}

async fn set_policy(State(host): Host, Json(body): Json<Map<String, Value>>) -> Json<Value> {
    host.state().policy.extend(body);
    Json(host.policy())
}

async fn index_status() -> Json<Value> {
    Json(json!({ "status": "indexing", "progress": 0.5, "total_files": 4, "indexed_files": 2 }))
}

async fn index_job() -> Json<Value> {
    Json(json!({ "accepted": true }))
}

fn session_body(session: &HostedSession) -> Value {
    json!({ "id": session.id, "workspace_id": session.workspace_id, "title": session.state().title,
        "model_name": null, "created_at": "2026-01-01T00:00:00Z", "status": "active" })
}

#[derive(Deserialize)]
struct OfWorkspace {
    workspace_id: Option<String>,
}

async fn sessions(State(host): Host, Query(of): Query<OfWorkspace>) -> Json<Value> {
    let sessions = host.state().sessions.clone();
    let wanted = sessions
        .iter()
        .filter(|session| of.workspace_id.as_ref().is_none_or(|wanted| *wanted == session.workspace_id));
    Json(wanted.rev().map(|session| session_body(session)).collect())
}

async fn make(State(host): Host, Json(body): Json<Map<String, Value>>) -> Json<Value> {
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let id = host.fresh("session");
    let session = HostedSession::new(id, text("workspace_id").unwrap_or_default(), text("title"));
    let session = Arc::new(session);
    host.state().sessions.push(Arc::clone(&session));
    Json(session_body(&session))
}

async fn session(State(host): Host, Path(id): Path<String>) -> Response {
    match host.session(&id) {
        Some(session) => Json(session_body(&session)).into_response(),
        None => refused(StatusCode::NOT_FOUND, "Session not found"),
    }
}

async fn delete(State(host): Host, Path(id): Path<String>) -> Json<Value> {
    host.forget(&id);
    Json(json!({ "success": true }))
}

async fn stream(State(host): Host, Path(id): Path<String>, upgrade: WebSocketUpgrade) -> Response {
    if host.refuses_sockets() {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "Not now.");
    }
    match host.session(&id) {
        Some(session) => upgrade.on_upgrade(move |socket| speak(host, session, socket)),
        None => refused(StatusCode::NOT_FOUND, "Session not found"),
    }
}

async fn models() -> Json<Value> {
    Json(
        json!({ "models": [{ "id": "simulated-1", "provider": "simulated", "url": "http://127.0.0.1:9", "display_name": "Simulated 1" }] }),
    )
}

async fn current_model(State(host): Host) -> Response {
    match &host.state().model {
        Some(model) => Json(model.clone()).into_response(),
        None => refused(StatusCode::NOT_FOUND, "No model is loaded"),
    }
}

/// The public source takes no model without all that it is called by.
async fn switch_model(host: Host, Json(body): Json<Value>) -> Response {
    let missing = ["provider", "model_name", "url"].into_iter().find(|name| !body[*name].is_string());
    match missing {
        Some(_) => refused(StatusCode::UNPROCESSABLE_ENTITY, "Field required"),
        None => set_model(host, Json(body)).await.into_response(),
    }
}

async fn set_model(State(host): Host, Json(body): Json<Value>) -> Json<Value> {
    host.state().model = Some(body.clone());
    Json(body)
}
