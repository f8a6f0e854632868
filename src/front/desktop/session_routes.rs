//! The routes of sessions and of their history.
//!
//! Owns the shape of a session over HTTP. Sessions themselves are the loop's.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::extract::State;

use super::answer::{JsonBody, OkBody, Placed, RouteAnswer, RouteQuery};
use super::host::{DesktopHost, HostedWorkspace};
use super::transcript::entry;
use crate::domain::view::Lane;
use crate::protocol::Request;
use crate::protocol::desktop::body::*;
use crate::protocol::request::{
    CreateSessionParams, DeleteSessionResult, SessionParams, SessionResult, SessionSummary, ViewPageParams,
    ViewPageResult,
};

/// Entries of a page: without a word, and at most.
const ENTRIES: (u64, u64) = (50, 200);

fn body(workspace: &HostedWorkspace, session: SessionSummary) -> SessionBody {
    let moment = |ms: i64| {
        let since = Duration::from_millis(u64::try_from(ms).ok()?);
        Some(humantime::format_rfc3339_millis(UNIX_EPOCH.checked_add(since)?).to_string())
    };
    SessionBody {
        id: session.session_id,
        workspace_id: workspace.id.clone(),
        title: session.title,
        status: session.status.unwrap_or_else(|| "active".to_owned()),
        updated_at: session.updated_at.and_then(moment),
        engine: session.engine.map(|engine| engine.as_str().to_owned()),
        agent_id: session.agent,
        pending_approvals: session.pending_permission_count,
    }
}

pub(super) async fn create(
    State(host): State<Arc<DesktopHost>>,
    JsonBody(wanted): JsonBody<NewSessionBody>,
) -> RouteAnswer<SessionBody> {
    let workspace = host.workspace(&wanted.workspace_id)?;
    let params = CreateSessionParams {
        config_path: None,
        task: None,
        model: wanted.model_name,
        permission_mode: None,
        agent: wanted.agent_id,
    };
    let made: SessionResult = workspace.ask(Request::CreateSession(params)).await?;
    let (workspace, session) = host.session(&made.session_id).await?;
    Ok(OkBody(body(&workspace, session)))
}

pub(super) async fn list(
    State(host): State<Arc<DesktopHost>>,
    RouteQuery(query): RouteQuery<SessionsQuery>,
) -> RouteAnswer<Vec<SessionBody>> {
    let mut sessions = host.sessions_of(query.workspace_id.as_deref()).await?;
    sessions.sort_by_key(|(_, session)| std::cmp::Reverse(session.updated_at));
    Ok(OkBody(sessions.into_iter().map(|(workspace, session)| body(&workspace, session)).collect()))
}

pub(super) async fn one(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
) -> RouteAnswer<SessionBody> {
    let (workspace, session) = host.session(&id).await?;
    Ok(OkBody(body(&workspace, session)))
}

pub(super) async fn delete(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
) -> RouteAnswer<DeletedBody> {
    let workspace = host.home_of(&id).await?;
    let session = SessionParams { session_id: id.clone() };
    let deleted: DeleteSessionResult = workspace.ask(Request::DeleteSession(session)).await?;
    host.forget(&id);
    Ok(OkBody(DeletedBody { success: deleted.deleted }))
}

pub(super) async fn messages(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
    RouteQuery(query): RouteQuery<HistoryQuery>,
) -> RouteAnswer<HistoryBody> {
    let workspace = host.home_of(&id).await?;
    let params = ViewPageParams {
        session_id: Some(id),
        tab_id: None,
        lane: Lane::Chat,
        before: query.before,
        limit: Some(query.limit.unwrap_or(ENTRIES.0).clamp(1, ENTRIES.1)),
    };
    let page: ViewPageResult = workspace.ask(Request::ViewPage(params)).await?;
    let messages = page.blocks.iter().filter_map(entry).collect();
    Ok(OkBody(HistoryBody { messages, has_more: page.has_more }))
}
