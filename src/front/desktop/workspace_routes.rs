//! The routes of workspaces and of search.
//!
//! Owns that no folder is served but those that the host was started with.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::extract::State;

use super::answer::{JsonBody, OkBody, Placed, RouteAnswer, RouteRefusal};
use super::host::{DesktopHost, HostedWorkspace};
use super::index_routes::status_of;
use super::policy;
use crate::host::ports::{Root, WorkspaceView};
use crate::host::retrieval::find_places;
use crate::protocol::desktop::PROTOCOL_VERSION;
use crate::protocol::desktop::body::*;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};
use crate::protocol::version::SERVER_VERSION;

/// Places of a search: without a word, and at most.
const PLACES: (u64, u64) = (10, 50);

/// Characters of a question.
const QUESTION: usize = 4_096;

fn body(workspace: &HostedWorkspace) -> WorkspaceBody {
    WorkspaceBody {
        id: workspace.id.clone(),
        path: workspace.path.to_string_lossy().into_owned(),
        name: workspace.name.clone(),
        trusted: workspace.trusted,
        index: status_of(workspace),
    }
}

pub(super) async fn health() -> OkBody<HealthBody> {
    OkBody(HealthBody {
        status: "healthy".to_owned(),
        version: SERVER_VERSION.to_owned(),
        protocol_version: PROTOCOL_VERSION.to_owned(),
    })
}

pub(super) async fn list(State(host): State<Arc<DesktopHost>>) -> OkBody<Vec<WorkspaceBody>> {
    OkBody(host.workspaces.iter().map(|workspace| body(workspace)).collect())
}

pub(super) async fn one(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
) -> RouteAnswer<WorkspaceBody> {
    Ok(OkBody(body(host.workspace(&id)?)))
}

/// Compared without links, so that no other spelling leads anywhere else.
pub(super) async fn register(
    State(host): State<Arc<DesktopHost>>,
    JsonBody(wanted): JsonBody<RegisterBody>,
) -> RouteAnswer<WorkspaceBody> {
    let path = wanted.path;
    let real = tokio::task::spawn_blocking(move || std::fs::canonicalize(path).ok()).await.ok().flatten();
    let known = real.and_then(|real| host.workspaces.iter().find(|workspace| workspace.path == real));
    match known {
        Some(workspace) => Ok(OkBody(body(workspace))),
        None => Err(RouteRefusal(DesktopRefusal::new(
            RefusalCode::PolicyViolation,
            "This host does not serve that folder; name it with --workspace when the host is started.",
        ))),
    }
}

pub(super) async fn search(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
    JsonBody(wanted): JsonBody<SearchBody>,
) -> RouteAnswer<SearchResultBody> {
    let workspace = host.workspace(&id)?;
    let SearchBody { query, limit } = wanted;
    if query.trim().is_empty() || query.chars().count() > QUESTION {
        let message = format!("A question has 1 to {QUESTION} characters; ask another one.");
        return Err(DesktopRefusal::new(RefusalCode::BadMessage, message).into());
    }
    let limit = limit.unwrap_or(PLACES.0).clamp(1, PLACES.1) as usize;
    let place = Arc::clone(&host.searches).try_acquire_owned().map_err(|_| {
        DesktopRefusal::new(RefusalCode::RateLimited, "Other searches run; ask again when they are done.")
    })?;
    let root =
        Root { name: workspace.name.clone(), uri: workspace.uri.clone(), path: workspace.path.clone() };
    let lists = Arc::new(policy::state(workspace).await?.files);
    let indexes = Some(workspace.indexes.clone());
    let (roots, trusted) = (vec![root], workspace.trusted);
    let view = WorkspaceView { roots, trusted, lists, indexes, ..WorkspaceView::default() };
    let found = tokio::task::spawn_blocking(move || {
        let found = find_places(&view, &query, limit, &AtomicBool::new(false), &mut |_, _| {});
        drop(place);
        found
    });
    let failed = |why: String| DesktopRefusal::new(RefusalCode::RetrievalFailed, why);
    let found = found
        .await
        .map_err(|_| failed("The search failed inside; try another question.".to_owned()))?
        .map_err(|error| failed(error.to_string()))?;
    let places = found.places.into_iter().map(|place| SearchPlace {
        file_path: place.path,
        start_line: place.start_line,
        end_line: place.end_line,
        snippet: place.snippet,
        score: place.score,
    });
    Ok(OkBody(SearchResultBody {
        places: places.collect(),
        files_searched: found.files_searched,
        truncated: found.truncated,
    }))
}
