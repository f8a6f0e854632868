//! Sessions at the host: made, listed, deleted; and the workspace that they belong to there.
//!
//! Owns which workspace of the host is the folder that is open here. Never starts a turn: a session is made idle, and the loop sends
//! the first prompt like any other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Method;

use super::trouble::HostTrouble;
use super::{DesktopParts, models};
use crate::app::inbox::Reply;
use crate::app::ports::{EngineReport, EngineSession, ListedSessions, NewSession, SessionReply, SessionWork};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::desktop::http::{self, HostSession, HostWorkspace};
use crate::domain::remedy::Remedy;
use crate::engine::time;
use crate::platform::real_path;
use crate::protocol::request::{DeleteSessionResult, ListSessionsResult};

/// Sessions in one list, newest first; nobody scrolls further.
const MOST_SESSIONS: usize = 1_000;

/// Characters of a title.
const LONGEST_TITLE: usize = 80;

/// Words of an index that is ready.
const READY: &[&str] = &["complete", "ready", "indexed"];

/// Makes a session.
pub(super) async fn make(parts: Arc<DesktopParts>, wish: NewSession, reply: SessionReply) {
    let outcome = made(&parts, &wish).await;
    let index = match &outcome {
        Ok(session) => Some((session.session_id.clone(), index_notice(&parts, session).await)),
        Err(_) => None,
    };
    parts.report(EngineReport::SessionMade { wish, outcome, reply }).await;
    if let Some((session_id, Some(text))) = index {
        let remedy = Remedy::default();
        parts.report(EngineReport::Noticed { session_id, level: "info", text, remedy }).await;
    }
}

async fn made(parts: &DesktopParts, wish: &NewSession) -> Result<EngineSession, CodedError> {
    let folder = wish.workspace.clone().or_else(|| parts.first_folder());
    let Some(folder) = folder.filter(|path| path.is_absolute()) else {
        return Err(CodedError::new(
            ErrorCode::InvalidParams,
            "A session at a desktop host belongs to a folder, and none is open; open one and try again.",
        ));
    };
    let told = |trouble: HostTrouble| parts.told(&trouble);
    let workspace = match workspace_of(parts, &folder).await.map_err(told)? {
        Some(workspace) => workspace,
        None => register(parts, &folder).await.map_err(told)?,
    };
    let title = wish.task.as_deref().and_then(|task| task.trim().lines().next());
    let title: Option<String> = title.map(|title| title.chars().take(LONGEST_TITLE).collect());
    let body = http::new_session(&workspace.id, title.as_deref(), wish.model.as_deref());
    let answer = parts.client.ask(Method::POST, &["v1", "sessions"], Some(&body)).await.map_err(told)?;
    let strange = || told(HostTrouble::Strange(0, "it made a session and did not say which".to_owned()));
    let session = http::session(&answer).ok_or_else(strange)?;
    parts.remembers(&session.id, &folder, &workspace.id);
    parts.state().made.insert(session.id.clone());
    Ok(engine_session(session, Some(folder)))
}

/// The host's workspace of a folder, where it has one.
pub(super) async fn workspace_of(
    parts: &DesktopParts,
    folder: &Path,
) -> Result<Option<HostWorkspace>, HostTrouble> {
    let listed = http::workspaces(&parts.client.get(&["v1", "workspaces"], &[]).await?);
    let mut listed = listed.into_iter();
    Ok(listed.find(|workspace| same_folder(Path::new(&workspace.path), folder)))
}

/// A path in another spelling is the same folder: `/tmp` is a link on some systems.
fn same_folder(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| real_path(path).ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

async fn register(parts: &DesktopParts, folder: &Path) -> Result<HostWorkspace, HostTrouble> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let body = http::register(&folder.to_string_lossy(), &name);
    let answer = parts.client.ask(Method::POST, &["v1", "workspaces", "register"], Some(&body)).await?;
    let strange = || HostTrouble::Strange(0, "it registered a folder and did not say as which".to_owned());
    http::workspace(&answer).ok_or_else(strange)
}

/// What is to be said of an index that is not ready. A host without these routes says it of its workspace, or not at all.
async fn index_notice(parts: &DesktopParts, session: &EngineSession) -> Option<String> {
    let workspace_id = parts.workspace_of(&session.session_id)?;
    let at = ["v1", "workspaces", &workspace_id];
    let body = match parts.client.get(&[&at[..], &["index", "status"]].concat(), &[]).await {
        Err(HostTrouble::NoRoute) => parts.client.get(&at, &[]).await.ok()?,
        answer => answer.ok()?,
    };
    let index = http::index(&body)
        .filter(|index| !index.searches_are_complete && !READY.contains(&index.status.as_str()))?;
    let progress = index.progress.filter(|progress| (0.0..1.0).contains(progress) && *progress > 0.0);
    let progress = progress.map(|progress| format!(" ({:.0} %)", progress * 100.0)).unwrap_or_default();
    Some(format!(
        "The host's index of this folder is not ready: {}{progress}. What it finds may be incomplete.",
        index.status
    ))
}

fn engine_session(session: HostSession, workspace: Option<PathBuf>) -> EngineSession {
    let read = |time: &Option<String>| time.as_deref().and_then(time::millis);
    EngineSession {
        created_at: read(&session.created_at),
        updated_at: read(&session.updated_at),
        // A session of a host has no end but that it is deleted.
        status: "running".to_owned(),
        work: work(&session),
        title: session.title,
        model: session.model,
        session_id: session.id,
        workspace,
        at_agent: None,
    }
}

/// What goes on in a session, in the words of our own host; another one says only that it is there.
fn work(session: &HostSession) -> Option<SessionWork> {
    match session.status.as_deref() {
        Some("idle") => Some(SessionWork::Idle),
        Some("running") => Some(SessionWork::Running),
        Some("waiting") => Some(SessionWork::Waiting),
        _ => None,
    }
}

/// Lists the sessions of the folders that are open.
pub(super) async fn list(parts: Arc<DesktopParts>, reply: Option<Reply<ListSessionsResult>>) {
    let outcome = listed(&parts).await.map_err(|trouble| parts.told(&trouble));
    parts.report(EngineReport::SessionsListed { outcome, reply }).await;
}

pub(super) async fn listed(parts: &DesktopParts) -> Result<ListedSessions, HostTrouble> {
    let mut found = ListedSessions::default();
    for folder in parts.folders() {
        let Some(workspace) = workspace_of(parts, &folder).await? else { continue };
        let query = [("workspace_id", workspace.id.as_str())];
        let listed = http::sessions(&parts.client.get(&["v1", "sessions"], &query).await?);
        // One that is listed without an error is whole: the routes have no pages.
        found.whole = true;
        for session in listed {
            parts.remembers(&session.id, &folder, &workspace.id);
            found.sessions.push(engine_session(session, Some(folder.clone())));
        }
    }
    found.sessions.sort_by_key(|session| std::cmp::Reverse(session.updated_at));
    found.whole &= found.sessions.len() <= MOST_SESSIONS;
    found.sessions.truncate(MOST_SESSIONS);
    Ok(found)
}

/// Deletes a session.
pub(super) async fn delete(parts: Arc<DesktopParts>, session_id: String, reply: Reply<DeleteSessionResult>) {
    let answer = parts.client.ask(Method::DELETE, &["v1", "sessions", &session_id], None).await;
    let outcome = match answer {
        Ok(_) | Err(HostTrouble::Gone(_)) => Ok(()),
        Err(trouble) => Err(parts.told(&trouble)),
    };
    if outcome.is_ok() {
        parts.forget(&session_id);
    }
    parts.report(EngineReport::SessionDeleted { session_id, outcome, reply }).await;
}

/// Tells the host the model of a turn, where another was told before. An error is said instead of sending the prompt.
pub(super) async fn follow_model(
    parts: &DesktopParts,
    model: Option<crate::protocol::settings::ModelSetting>,
) -> Result<(), CodedError> {
    let Some(model) = model else { return Ok(()) };
    if parts.state().model.as_ref() == Some(&model) {
        return Ok(());
    }
    models::set(parts, &model).await.map_err(|trouble| {
        let why = parts.told(&trouble);
        let message =
            format!("The host did not take the chosen model, so the prompt was not sent. {}", why.message);
        CodedError { message, ..why }
    })?;
    parts.state().model = Some(model);
    Ok(())
}
