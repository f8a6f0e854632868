//! The routes of the index of a workspace.
//!
//! Owns the words for how it stands. The work is done in the background: each route answers at once, and how far it is the
//! status tells.

use std::sync::Arc;

use axum::extract::State;

use super::answer::{JsonBody, OkBody, Placed, RouteAnswer};
use super::hear::changed;
use super::host::{DesktopHost, HostedWorkspace};
use crate::host::index::{IndexStanding, IndexStatus, IndexTask};
use crate::protocol::desktop::body::{IndexState, IndexStatusBody};
use crate::protocol::desktop::client_message::FileChangesBody;

pub(super) async fn rebuild(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
) -> RouteAnswer<IndexStatusBody> {
    want(host.workspace(&id)?, IndexTask::Rebuild)
}

pub(super) async fn refresh(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
) -> RouteAnswer<IndexStatusBody> {
    want(host.workspace(&id)?, IndexTask::Refresh)
}

/// For clients that watch files (R002-18).
pub(super) async fn incremental(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
    JsonBody(wanted): JsonBody<FileChangesBody>,
) -> RouteAnswer<IndexStatusBody> {
    let workspace = host.workspace(&id)?;
    changed(workspace, wanted.changes)?;
    Ok(OkBody(status_of(workspace)))
}

pub(super) async fn status(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
) -> RouteAnswer<IndexStatusBody> {
    Ok(OkBody(status_of(host.workspace(&id)?)))
}

fn want(workspace: &HostedWorkspace, wanted: IndexTask) -> RouteAnswer<IndexStatusBody> {
    workspace.indexes.want(&workspace.path, wanted);
    Ok(OkBody(status_of(workspace)))
}

/// How the index of a workspace stands.
pub(super) fn status_of(workspace: &HostedWorkspace) -> IndexStatusBody {
    // A folder beyond the most that have one is searched without.
    let status = workspace.indexes.of(&workspace.path).map(|folder| folder.status());
    let status = status.unwrap_or(IndexStatus {
        standing: IndexStanding::Pending,
        total_files: 0,
        indexed_files: 0,
        progress: 0.0,
        finished_at: None,
    });
    let IndexStatus { standing, total_files, indexed_files, progress, finished_at } = status;
    let (index_status, message) = match standing {
        IndexStanding::Pending => {
            (IndexState::Pending, "The index is not built yet; a search reads the files.".to_owned())
        }
        IndexStanding::Indexing => (
            IndexState::Indexing,
            format!("The index is being built: {:.0} % of {total_files} files.", progress * 100.0),
        ),
        IndexStanding::Complete => (IndexState::Complete, format!("{indexed_files} files are indexed.")),
        IndexStanding::Partial => (
            IndexState::Partial,
            format!("{indexed_files} files are indexed; the workspace has more than a search looks at."),
        ),
        IndexStanding::Failed => (
            IndexState::Failed,
            "The folder could not be read for the index; rebuild it, or search without it meanwhile."
                .to_owned(),
        ),
    };
    IndexStatusBody {
        index_status,
        index_message: message,
        index_progress: progress,
        total_files,
        indexed_files,
        last_indexed_at: finished_at.map(|at| humantime::format_rfc3339_millis(at).to_string()),
        searches_are_complete: true,
    }
}
