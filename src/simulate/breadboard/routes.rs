//! Which path means what. Section 2 of the facts.
//!
//! Only `/v1` and three paths for probes exist; the unversioned twins of older clients are 404 in the framework's shape.

use std::sync::Arc;

use hyper::Method;
use serde_json::{Map, Value, json};

use super::answer::{self, HttpAnswer, HttpRefusal};
use super::engine::{SimulatedEngine, Wish};
use super::server::AskedRequest;
use super::session::SimulatedSession;
use super::{attachment, command, files, input, listing, stream};

/// Answers a request.
pub(super) async fn route(engine: &Arc<SimulatedEngine>, asked: &AskedRequest) -> HttpAnswer {
    let path: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
    match path.as_slice() {
        ["health"] => get(asked, || listing::health(engine)),
        ["ready"] => get(asked, || listing::ready(engine)),
        ["status"] | ["v1", "status"] => get(asked, || listing::status(engine)),
        ["openapi.json"] => get(asked, || listing::openapi(engine)),
        ["v1", "features"] => get(asked, || listing::features(engine)),
        ["v1", "models"] => get(asked, || listing::models(asked)),
        ["v1", "provider-auth", "status"] => get(asked, || answer::ok(&json!({"attached": []}))),
        ["v1", "engine", "identity"] if engine.options.pr40 => get(asked, || listing::identity(engine)),
        ["v1", "sessions"] if asked.method == Method::POST => create(engine, asked),
        ["v1", "sessions"] => get(asked, || {
            answer::ok(&engine.sessions().iter().map(|session| session.summary()).collect::<Value>())
        }),
        ["v1", "sessions", id, rest @ ..] => of_session(engine, asked, id, rest).await,
        _ => answer::no_route(),
    }
}

fn get(asked: &AskedRequest, answer: impl FnOnce() -> HttpAnswer) -> HttpAnswer {
    if asked.method == Method::GET { answer() } else { answer::no_method() }
}

async fn of_session(
    engine: &Arc<SimulatedEngine>,
    asked: &AskedRequest,
    id: &str,
    rest: &[&str],
) -> HttpAnswer {
    let methods: &[Method] = match rest {
        [] => &[Method::GET, Method::DELETE],
        ["input" | "command" | "attachments"] => &[Method::POST],
        ["turns", _, "cancel"] if engine.options.pr40 => &[Method::POST],
        ["events" | "files" | "download" | "skills" | "ctrees" | "records"] | ["files", "content"] => {
            &[Method::GET]
        }
        _ => return answer::no_route(),
    };
    if !methods.contains(&asked.method) {
        return answer::no_method();
    }
    let session = engine.session(id);
    if rest == ["events"] {
        return stream::connect(engine, session, asked);
    }
    // A body is read before the session is looked up, so a broken body wins over a missing session.
    match (rest, &asked.method) {
        ([], &Method::DELETE) => delete(engine, session).await,
        (["input"], _) => input::accept(session.as_deref(), asked),
        (["command"], _) => command::run(engine, session.as_ref(), asked),
        _ => match session {
            None => answer::no_session(),
            Some(session) => match rest {
                [] => answer::ok(&session.summary()),
                ["attachments"] => attachment::store(&session, asked),
                ["turns", turn, "cancel"] => input::cancel(&session, turn, asked),
                ["files"] => files::list(&session, asked),
                ["files", "content"] => files::content(&session, asked),
                ["download"] => files::download(&session, asked),
                ["skills"] => answer::ok(&listing::skills(&session)),
                ["ctrees"] => answer::ok(&listing::ctrees(&session)),
                _ => listing::records(&session, asked),
            },
        },
    }
}

/// A body as a JSON object, or the 422 for what is none.
pub(super) fn object(asked: &AskedRequest) -> Result<Map<String, Value>, HttpRefusal> {
    match serde_json::from_slice(&asked.body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => Err(Box::new(answer::unprocessable(
            "model_attributes_type",
            &["body"],
            "Input should be a valid dictionary or object to extract fields from",
            other,
        ))),
        Err(_) => {
            Err(Box::new(answer::unprocessable("json_invalid", &["body"], "JSON decode error", json!({}))))
        }
    }
}

/// A text field that must be there and not blank; blank ones hit the validator that crashes.
pub(super) fn required(members: &Map<String, Value>, name: &str) -> Result<String, HttpRefusal> {
    let text = present(members, name)?;
    if text.trim().is_empty() { Err(Box::new(answer::crashed())) } else { Ok(text) }
}

/// A text field that must be there and may be empty.
pub(super) fn present(members: &Map<String, Value>, name: &str) -> Result<String, HttpRefusal> {
    match members.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(Box::new(answer::unprocessable(
            "string_type",
            &["body", name],
            "Input should be a valid string",
            other.clone(),
        ))),
        None => {
            let input = Value::Object(members.clone());
            Err(Box::new(answer::unprocessable("missing", &["body", name], "Field required", input)))
        }
    }
}

fn create(engine: &Arc<SimulatedEngine>, asked: &AskedRequest) -> HttpAnswer {
    match wish(engine, asked) {
        Err(refusal) => *refusal,
        Ok(wish) => {
            let session: Arc<SimulatedSession> = engine.create(wish);
            answer::ok(&json!({
                "session_id": session.id, "status": "starting", "created_at": session.created_at(), "logging_dir": null,
            }))
        }
    }
}

fn wish(engine: &SimulatedEngine, asked: &AskedRequest) -> Result<Wish, HttpRefusal> {
    let members = object(asked)?;
    // Spaces pass here, and fail where the configuration is read.
    let config_path = present(&members, "config_path")?;
    if config_path.is_empty() {
        return Err(Box::new(answer::crashed()));
    }
    let task = match members.get("task") {
        None if engine.options.pr40 => String::new(),
        _ => present(&members, "task")?,
    };
    let mut metadata = members.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(mode) = members.get("permission_mode").filter(|mode| !mode.is_null()) {
        metadata.insert("permission_mode".into(), mode.clone());
    }
    let workspace = members.get("workspace").and_then(Value::as_str).map(str::to_owned);
    Ok(Wish { config_path, task, workspace, metadata })
}

/// Blocks until the run has ended, even when a permission waits. It goes on when the client has left.
async fn delete(engine: &Arc<SimulatedEngine>, session: Option<Arc<SimulatedSession>>) -> HttpAnswer {
    let Some(session) = session else { return answer::no_session() };
    {
        let mut state = session.state();
        state.closing = true;
        state.queue.clear();
    }
    let (done, finished) = tokio::sync::oneshot::channel();
    let shared = Arc::clone(engine);
    engine.spawn(async move {
        let mut busy = session.busy.subscribe();
        // The sender lives in the session that this task holds.
        let _ = busy.wait_for(|busy| !busy).await;
        shared.remove(&session);
        let _ = done.send(());
    });
    let _ = finished.await;
    let mut nothing = answer::bytes(204, "application/json", "");
    nothing.headers_mut().remove("content-type");
    nothing
}
