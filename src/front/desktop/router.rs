//! The routes of the host, behind its gate.
//!
//! Owns which address leads where. Tests: `tests/e2e/desktop_host_routes.rs` asks each route of the OpenAPI document.

use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::answer::{BODY_BYTES, OkBody, Placed, RouteRefusal};
use super::counts::count;
use super::host::{DesktopHost, SOCKETS};
use super::socket::{FRAME_BYTES, serve};
use super::{index_routes, model_routes, pair_route, policy, session_routes, workspace_routes};
use crate::contract;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};

/// Everything that the host answers.
pub(super) fn router(host: Arc<DesktopHost>) -> Router {
    let workspaces = Router::new()
        .route("/v1/health", get(workspace_routes::health))
        .route("/v1/workspaces", get(workspace_routes::list))
        .route("/v1/workspaces/register", post(workspace_routes::register))
        .route("/v1/workspaces/{workspace_id}", get(workspace_routes::one))
        .route("/v1/workspaces/{workspace_id}/policy", get(policy::get).put(policy::put))
        .route("/v1/workspaces/{workspace_id}/index/rebuild", post(index_routes::rebuild))
        .route("/v1/workspaces/{workspace_id}/index/refresh", post(index_routes::refresh))
        .route("/v1/workspaces/{workspace_id}/index/incremental", post(index_routes::incremental))
        .route("/v1/workspaces/{workspace_id}/index/status", get(index_routes::status))
        .route("/v1/workspaces/{workspace_id}/search", post(workspace_routes::search));
    let sessions = Router::new()
        .route("/v1/sessions", get(session_routes::list).post(session_routes::create))
        .route("/v1/sessions/{session_id}", get(session_routes::one).delete(session_routes::delete))
        .route("/v1/sessions/{session_id}/messages", get(session_routes::messages))
        .route("/v1/sessions/{session_id}/stream", get(stream));
    let others = Router::new()
        .route(pair_route::PATH, post(pair_route::pair))
        .route("/v1/models", get(model_routes::list))
        .route("/v1/models/current", get(model_routes::current).put(model_routes::choose))
        .route("/v1/openapi.json", get(|| async { OkBody(contract::openapi()) }))
        .route("/metrics", get(metrics));
    workspaces
        .merge(sessions)
        .merge(others)
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&host), pass_gate))
        .with_state(host)
}

/// Before everything else, and for everything.
async fn pass_gate(State(host): State<Arc<DesktopHost>>, request: Request, next: Next) -> Response {
    count(&host.counts.requests);
    let passed = match request.uri().path() == pair_route::PATH {
        true => host.gate.check_caller(request.headers()),
        false => host.gate.check(request.headers()),
    };
    if let Err(refusal) = passed {
        if refusal.code == RefusalCode::Unauthorized {
            count(&host.counts.unauthorized);
        }
        count(&host.counts.refused);
        return RouteRefusal(refusal).into_response();
    }
    let response = next.run(request).await;
    if response.status().is_client_error() || response.status().is_server_error() {
        count(&host.counts.refused);
    }
    response
}

async fn nothing() -> RouteRefusal {
    RouteRefusal(DesktopRefusal::new(
        RefusalCode::NotFound,
        "There is nothing at this address; `/v1/openapi.json` lists what there is.",
    ))
}

async fn wrong_method() -> RouteRefusal {
    RouteRefusal(DesktopRefusal::new(
        RefusalCode::MethodNotAllowed,
        "This address does not take that method; `/v1/openapi.json` lists those that it takes.",
    ))
}

async fn metrics(State(host): State<Arc<DesktopHost>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, host.counts.text()).into_response()
}

/// The socket of a session (R002-27). What can be refused is refused before the upgrade.
async fn stream(
    State(host): State<Arc<DesktopHost>>,
    Placed(session_id): Placed<String>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, RouteRefusal> {
    let upgrade = upgrade.map_err(|_| {
        DesktopRefusal::new(
            RefusalCode::BadMessage,
            "This address is a WebSocket; connect with a client that upgrades the connection.",
        )
    })?;
    let workspace = host.home_of(&session_id).await?;
    let place = Arc::clone(&host.sockets).try_acquire_owned().map_err(|_| {
        DesktopRefusal::new(
            RefusalCode::RateLimited,
            format!("{SOCKETS} sockets are open, and this host has no more; close one first."),
        )
    })?;
    let serving = Arc::clone(&host);
    Ok(upgrade
        .max_message_size(FRAME_BYTES)
        .max_frame_size(FRAME_BYTES)
        .on_upgrade(move |socket| serve(socket, serving, workspace, session_id, place)))
}
