//! Sessions at the engine: made, listed, deleted.
//!
//! Owns what a new session is told and how one is deleted that waits for an answer. Never starts a turn: a session is made
//! idle, and the loop sends the first prompt like any other.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::engine_error::{EngineError, end};
use super::{EngineParts, busy, commands};
use crate::app::inbox::Reply;
use crate::app::ports::{EngineReport, EngineSession, ListedSessions, NewSession, Ruling, SessionReply};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::configuration;
use crate::domain::dialect::breadboard::http::{self, CreateSession, EngineSessionSummary, SessionCreated};
use crate::engine::time;
use crate::protocol::request::{DeleteSessionResult, ListSessionsResult};

/// How long whoever deletes a session waits. The engine deletes when the running step ends.
const DELETE_ANSWER: Duration = Duration::from_secs(10);

/// How long a deletion goes on after that.
const DELETE_IN_ALL: Duration = Duration::from_secs(180);

/// How often a deletion looks for an ask that came meanwhile, which would hold it up.
const DELETE_LOOK: Duration = Duration::from_millis(500);

/// Sessions in one list, newest first. The engine has no paging, and nobody scrolls further.
const MOST_SESSIONS: usize = 1_000;

/// Characters of a title.
const LONGEST_TITLE: usize = 80;

/// What makes the engine ask before it writes or runs.
const ASKING: &str = "prompt";

/// Makes a session.
pub(super) async fn make(shared: Arc<EngineParts>, wish: NewSession, reply: SessionReply) {
    let outcome = made(&shared, &wish).await;
    shared.report(EngineReport::SessionMade { wish, outcome, reply }).await;
}

async fn made(shared: &EngineParts, wish: &NewSession) -> Result<EngineSession, CodedError> {
    let config_path = wish.config_path.clone().unwrap_or_else(|| shared.config_path.clone());
    if config_path.trim().is_empty() {
        return Err(CodedError::new(
            ErrorCode::InvalidParams,
            "The configuration of the session is blank; name a file of the engine or leave `configPath` out.",
        ));
    }
    configuration_loads(shared, &config_path).await?;
    let folder = shared.state().folders.iter().find_map(|folder| folder.path.clone());
    let workspace = wish.workspace.clone().or(folder);
    if workspace.as_ref().is_some_and(|path| !path.is_absolute()) {
        return Err(CodedError::new(
            ErrorCode::InvalidParams,
            "The workspace of the session is not an absolute path; open a folder and try again.",
        ));
    }
    let model = wish.model.clone();
    let mode = wish.permission_mode.clone().filter(|mode| !mode.trim().is_empty());
    let mut metadata = Map::new();
    metadata.insert("client".to_owned(), "breadboard-ls".into());
    metadata.insert("client_version".to_owned(), env!("CARGO_PKG_VERSION").into());
    // What the summary of a session would not tell otherwise.
    if let Some(workspace) = &workspace {
        metadata.insert("workspace".to_owned(), workspace.to_string_lossy().into());
    }
    let title = wish.task.as_deref().and_then(|task| task.trim().lines().next());
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        metadata.insert("title".to_owned(), title.chars().take(LONGEST_TITLE).collect::<String>().into());
    }
    if let Some(model) = &model {
        metadata.insert("model".to_owned(), model.clone().into());
    }
    let body = CreateSession {
        config_path,
        metadata,
        workspace: workspace.as_ref().map(|path| path.to_string_lossy().into_owned()),
        permission_mode: Some(mode.unwrap_or_else(|| ASKING.to_owned())),
        ..CreateSession::default()
    };
    let made: SessionCreated = shared
        .client
        .post(&["v1", "sessions"], &json!(body))
        .await
        .map_err(|trouble| shared.told(&trouble))?;
    shared.state().sessions.entry(made.session_id.clone()).or_default().model.clone_from(&model);
    let created_at = made.created_at.as_deref().and_then(time::millis);
    Ok(EngineSession {
        session_id: made.session_id,
        status: made.status,
        title: None,
        created_at,
        updated_at: created_at,
        model,
        workspace,
        work: None,
        at_agent: None,
    })
}

/// Whether the engine can read the configuration: it makes a session with any, which then fails at its first prompt. Its list of
/// models is made from the configuration, so that one tells. That an engine has no such list, or fails over it, is no reason.
async fn configuration_loads(shared: &EngineParts, config_path: &str) -> Result<(), CodedError> {
    let listed = shared.client.read::<Value>(&["v1", "models"], &[("config_path", config_path)]).await;
    match listed {
        Err(EngineError::Refused { status: 400, detail, .. }) => Err(CodedError::new(
            ErrorCode::EngineRejected,
            configuration::unusable(config_path, end(&detail)),
        )),
        Err(
            trouble @ (EngineError::Unreachable { .. }
            | EngineError::TimedOut { .. }
            | EngineError::Unauthorized(_)
            | EngineError::Busy { .. }),
        ) => Err(shared.told(&trouble)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Lists the sessions.
pub(super) fn list(shared: &Arc<EngineParts>, reply: Option<Reply<ListSessionsResult>>) {
    let place = Arc::clone(&shared.calls).try_acquire_owned();
    let own = Arc::clone(shared);
    shared.runtime.spawn(async move {
        let outcome = match &place {
            Ok(_) => listed(&own).await,
            Err(_) => Err(busy()),
        };
        own.report(EngineReport::SessionsListed { outcome, reply }).await;
    });
}

async fn listed(shared: &EngineParts) -> Result<ListedSessions, CodedError> {
    let listed: Vec<Value> =
        shared.client.read(&["v1", "sessions"], &[]).await.map_err(|trouble| shared.told(&trouble))?;
    let all = listed.len();
    let mut sessions: Vec<EngineSession> = http::fitting(listed).into_iter().map(session).collect();
    sessions.sort_by_key(|session| std::cmp::Reverse(session.updated_at));
    sessions.truncate(MOST_SESSIONS);
    let whole = sessions.len() == all;
    Ok(ListedSessions { sessions, whole })
}

fn session(summary: EngineSessionSummary) -> EngineSession {
    let read = |time: &Option<String>| time.as_deref().and_then(time::millis);
    let text = |name: &str| summary.metadata.get(name).and_then(Value::as_str).map(str::to_owned);
    EngineSession {
        title: text("title"),
        created_at: read(&summary.created_at),
        updated_at: read(&summary.last_activity_at).or(read(&summary.created_at)),
        model: summary.model.clone().or_else(|| text("model")),
        workspace: text("workspace").map(std::path::PathBuf::from),
        session_id: summary.session_id,
        status: summary.status,
        work: None,
        at_agent: None,
    }
}

/// Deletes a session.
pub(super) async fn delete(
    shared: Arc<EngineParts>,
    session_id: String,
    asks: Vec<String>,
    reply: Reply<DeleteSessionResult>,
) {
    // The engine may be at it for long after the user has heard that it is.
    let (done, answer) = oneshot::channel();
    let work = {
        let (shared, session_id) = (Arc::clone(&shared), session_id.clone());
        async move {
            let outcome = deleted(&shared, &session_id, asks).await;
            if outcome.is_ok() {
                shared.links.detach(&session_id);
                shared.state().sessions.remove(&session_id);
            }
            // Without the other end the loop is gone.
            let _ = done.send(outcome);
        }
    };
    tokio::join!(work, tell_deletion(&shared.reports, session_id, answer, reply));
}

/// Tells what came of a deletion: how it ended, or in time that it has not yet, and its success when that comes later.
/// The session has no stream any more then, so that nothing else would say it.
async fn tell_deletion(
    reports: &mpsc::Sender<EngineReport>,
    session_id: String,
    mut answer: oneshot::Receiver<Result<(), CodedError>>,
    reply: Reply<DeleteSessionResult>,
) {
    let ended =
        |outcome: Result<Result<(), CodedError>, _>| outcome.unwrap_or_else(|_| Err(CodedError::internal()));
    let tell = async |outcome, reply| {
        let report = EngineReport::SessionDeleted { session_id: session_id.clone(), outcome, reply };
        // A closed channel means that the loop is gone, and nobody is left to hear.
        let _ = reports.send(report).await;
    };
    if let Ok(outcome) = tokio::time::timeout(DELETE_ANSWER, &mut answer).await {
        return tell(ended(outcome), reply).await;
    }
    let slow = CodedError::new(
        ErrorCode::EngineRejected,
        "The engine has not deleted the session within 10 s, because a step of it still runs; list the sessions again in \
         a moment.",
    );
    tell(Err(slow), reply).await;
    if ended(answer.await).is_ok() {
        let (nobody, _) = Reply::new();
        tell(Ok(()), nobody).await;
    }
}

/// The engine deletes a session only once its turn has ended, and a turn that waits for an answer never ends: so every ask
/// is answered first, and those that come meanwhile too.
async fn deleted(shared: &Arc<EngineParts>, session_id: &str, asks: Vec<String>) -> Result<(), CodedError> {
    let mut denied: BTreeSet<String> = BTreeSet::new();
    deny(shared, session_id, asks, &mut denied).await;
    match waiting(shared, session_id).await {
        Ok(found) => deny(shared, session_id, found, &mut denied).await,
        Err(EngineError::Gone { .. }) => return Ok(()),
        Err(trouble) => return Err(shared.told(&trouble)),
    }
    // Polled between two steps, so that a long turn ends sooner; where none runs it changes nothing.
    let _ = commands::send(shared, session_id, "stop", Map::new()).await;
    let path = ["v1", "sessions", session_id];
    let deletion = shared.client.delete(&path, DELETE_IN_ALL);
    tokio::pin!(deletion);
    loop {
        tokio::select! {
            outcome = &mut deletion => return match outcome {
                Ok(()) | Err(EngineError::Gone { .. }) => Ok(()),
                Err(trouble) => Err(shared.told(&trouble)),
            },
            () = tokio::time::sleep(DELETE_LOOK) => {
                if let Ok(found) = waiting(shared, session_id).await {
                    // The engine's ids repeat: one that was answered and waits still, or again, is answered again.
                    denied.clear();
                    deny(shared, session_id, found, &mut denied).await;
                }
            }
        }
    }
}

async fn deny(shared: &Arc<EngineParts>, session_id: &str, asks: Vec<String>, denied: &mut BTreeSet<String>) {
    for ask in asks {
        if denied.insert(ask.clone()) {
            // Refused where it does not wait any more, and then it is in nobody's way.
            let _ = commands::decide(shared, session_id, &ask, &Ruling::DenyAndStop, None).await;
        }
    }
}

/// The engine's ids of asks that wait there.
async fn waiting(shared: &EngineParts, session_id: &str) -> Result<Vec<String>, EngineError> {
    let summary: EngineSessionSummary = shared.client.read(&["v1", "sessions", session_id], &[]).await?;
    let pending = summary.metadata.get("pending_permissions").and_then(Value::as_array);
    let id = |ask: &Value| ask.get("request_id").and_then(Value::as_str).map(str::to_owned);
    Ok(pending.into_iter().flatten().filter_map(id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_deletion_that_takes_long_is_told_when_it_is_done_all_the_same() {
        let (sender, mut reports) = mpsc::channel(8);
        let (done, answer) = oneshot::channel();
        let (reply, _answered) = Reply::new();
        let slow_engine = async {
            tokio::time::sleep(2 * DELETE_ANSWER).await;
            done.send(Ok(())).unwrap();
        };
        tokio::join!(slow_engine, tell_deletion(&sender, "s".to_owned(), answer, reply));
        drop(sender);
        let mut told = Vec::new();
        while let Some(report) = reports.recv().await {
            let EngineReport::SessionDeleted { session_id, outcome, .. } = report else {
                panic!("{report:?}")
            };
            told.push((session_id, outcome.map_err(|error| error.code)));
        }
        assert_eq!(told, [("s".to_owned(), Err(ErrorCode::EngineRejected)), ("s".to_owned(), Ok(()))]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_is_told_once_when_it_is_quick_or_fails() {
        for outcome in [Ok(()), Err(CodedError::internal())] {
            let (sender, mut reports) = mpsc::channel(8);
            let (done, answer) = oneshot::channel();
            done.send(outcome.clone()).unwrap();
            tell_deletion(&sender, "s".to_owned(), answer, Reply::new().0).await;
            drop(sender);
            let Some(EngineReport::SessionDeleted { outcome: told, .. }) = reports.recv().await else {
                panic!("nothing was told");
            };
            assert_eq!(told, outcome);
            assert!(reports.recv().await.is_none());
        }
    }
}
