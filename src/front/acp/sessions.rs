//! Sessions of the client: made, opened with their history or without, listed, let go.
//!
//! Owns what each of these comes to. A history is read from the journal and told as it was told live.

use std::rc::Rc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::front::{AcpFront, nothing, text_of};
use super::message::RpcFault;
use super::root::OpenRoot;
use super::session::AcpSession;
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::Dialect;
use crate::domain::dialect::acp::agent_end::options;
use crate::domain::dialect::acp::agent_end::updates::said;
use crate::domain::dialect::acp::tool_servers;
use crate::domain::fact::NoticeLevel;
use crate::protocol::Request;
use crate::protocol::mcp::{McpListResult, McpSetParams};
use crate::protocol::request::{
    CreateSessionParams, ListSessionsParams, ListSessionsResult, SelectSessionResult, SessionParams,
    SessionResult, SessionSummary,
};
use crate::protocol::settings::EngineKind;

impl AcpFront {
    /// A new session.
    pub(super) async fn new_session(self: &Rc<Self>, params: &Map<String, Value>) -> Result<Value, RpcFault> {
        self.has_room_for_session()?;
        let open = self.root_of(params).await?;
        let made: SessionResult =
            open.root.call(Request::CreateSession(CreateSessionParams::default())).await?;
        let notices = self.abilities().notices;
        let session = Rc::new(AcpSession::new(&made.session_id, &open, open.engine.dialect(), notices));
        self.sessions.borrow_mut().insert(made.session_id.clone(), Rc::clone(&session));
        self.use_servers(&session, params).await;
        // Its first events may have come before it had a name here.
        self.catch_up(&session).await;
        let mut answer = self.offer(&session).await;
        answer.insert("sessionId".to_owned(), json!(made.session_id));
        self.answered_first(&session);
        Ok(Value::Object(answer))
    }

    /// A session that is there already; `tell`: its history is told again before the answer.
    pub(super) async fn open_session(
        self: &Rc<Self>,
        params: &Map<String, Value>,
        tell: bool,
    ) -> Result<Value, RpcFault> {
        let id = text_of(params, "sessionId")?;
        let known = self.sessions.borrow().get(id).cloned();
        if known.is_some_and(|known| known.is_busy()) {
            return Err(RpcFault::request("A prompt of this session is being worked on; wait for its end."));
        }
        self.has_room_for_session()?;
        let open = self.root_of(params).await?;
        let dialect = dialect_of(&open, id).await?;
        let session = Rc::new(AcpSession::new(id, &open, dialect, self.abilities().notices));
        session.behind.set(true);
        session.mute.set(!tell);
        let before = self.sessions.borrow_mut().insert(id.to_owned(), Rc::clone(&session));
        let select = Request::SelectSession(SessionParams { session_id: id.to_owned() });
        let selected: SelectSessionResult = match open.root.call(select).await {
            Ok(selected) => selected,
            Err(error) => {
                let mut sessions = self.sessions.borrow_mut();
                sessions.remove(id);
                sessions.extend(before.map(|before| (id.to_owned(), before)));
                return Err(error.into());
            }
        };
        session.newest.set(session.newest.get().max(selected.seq));
        self.use_servers(&session, params).await;
        if let Err(error) = self.read_missed(&session).await {
            // The beginning is not kept any more; what comes from here on is.
            session.begin_after(selected.seq);
            self.tell_update(&session, &said(self.abilities().notices, NoticeLevel::Warning, &error.message))
                .await;
        }
        session.mute.set(false);
        self.catch_up(&session).await;
        self.ask_what_waits(&session).await;
        let answer = self.offer(&session).await;
        self.answered_first(&session);
        Ok(Value::Object(answer))
    }

    /// Gives the session the tool servers that the client names for it.
    async fn use_servers(&self, session: &Rc<AcpSession>, params: &Map<String, Value>) {
        let named = tool_servers::of_session(params);
        if named.is_empty() {
            return;
        }
        if let Some(why) = unused(&session.root) {
            session.about_servers.replace(Some(why.to_owned()));
            return;
        }
        let read = |(name, setting): (String, Value)| Some((name, serde_json::from_value(setting).ok()?));
        let mcp_servers = named.into_iter().filter_map(read).collect();
        let set = Request::McpSet(McpSetParams { session_id: session.id.clone(), mcp_servers });
        if let Err(error) = session.root.root.call::<McpListResult>(set).await {
            session.about_servers.replace(Some(error.message));
        }
    }

    /// Sessions of a folder, or of all that are open here.
    pub(super) async fn list_sessions(
        self: &Rc<Self>,
        params: &Map<String, Value>,
    ) -> Result<Value, RpcFault> {
        let named = params.get("cwd").is_some_and(|cwd| !cwd.is_null());
        let roots = if named { vec![self.root_of(params).await?] } else { self.open_roots() };
        let mut sessions = Vec::new();
        for open in roots {
            let listed: ListSessionsResult =
                open.root.call(Request::ListSessions(ListSessionsParams::default())).await?;
            sessions.extend(listed.sessions.iter().map(|summary| listed_session(&open, summary)));
        }
        Ok(json!({ "sessions": sessions }))
    }

    /// The client lets a session go. What it began is stopped; the session stays, and can be opened again.
    pub(super) async fn close_session(&self, params: &Map<String, Value>) -> Result<Value, RpcFault> {
        let session = self.session_of(params)?;
        self.cancel(&session);
        self.sessions.borrow_mut().remove(&session.id);
        let turn = session.turn.borrow_mut().take();
        if let Some(turn) = turn {
            // Its handler may have gone with the client.
            let _ = turn.done.send(Ok(crate::domain::dialect::acp::agent_end::stop::cancelled()));
        }
        let asked: Vec<u64> = session.asks.borrow_mut().drain().filter_map(|(_, id)| id).collect();
        for id in asked {
            self.wire.withdraw(id).await;
        }
        Ok(nothing())
    }

    /// A session is deleted, with its history.
    pub(super) async fn delete_session(
        self: &Rc<Self>,
        params: &Map<String, Value>,
    ) -> Result<Value, RpcFault> {
        let id = text_of(params, "sessionId")?.to_owned();
        let known = self.sessions.borrow().get(&id).cloned();
        let roots = match known {
            Some(session) => vec![Rc::clone(&session.root)],
            None => self.open_roots(),
        };
        let mut refused = CodedError::unknown_session(&id);
        for open in roots {
            let delete = Request::DeleteSession(SessionParams { session_id: id.clone() });
            match open.root.call::<Value>(delete).await {
                Ok(_) => {
                    self.sessions.borrow_mut().remove(&id);
                    return Ok(nothing());
                }
                Err(error) => refused = error,
            }
        }
        Err(refused.into())
    }

    /// What a session offers, as the answer that opens it says it.
    async fn offer(self: &Rc<Self>, session: &Rc<AcpSession>) -> Map<String, Value> {
        let choices = self.choices_of(session).await;
        let fields = options::offer(choices.modes.clone(), choices.options.clone());
        // The commands come as an update.
        let mut offered = session.offered.borrow_mut();
        offered.modes = choices.modes;
        offered.options = choices.options;
        fields
    }
}

/// Why the client's tool servers are not used, where it named any.
fn unused(open: &OpenRoot) -> Option<&'static str> {
    if open.engine != EngineKind::Embedded {
        return Some(
            "The tool servers of this client are not used, because another engine works here; name them in its own settings.",
        );
    }
    (!open.trusted).then_some(
        "The tool servers of this client are not started, because the folder is not trusted; start breadboard-ls with --trust.",
    )
}

/// What the engine of a session speaks; it may have been made with another engine than this client's.
async fn dialect_of(open: &Rc<OpenRoot>, id: &str) -> Result<Dialect, RpcFault> {
    let listed: ListSessionsResult =
        open.root.call(Request::ListSessions(ListSessionsParams::default())).await?;
    let found = listed.sessions.into_iter().find(|summary| summary.session_id == id);
    let Some(summary) = found else { return Err(CodedError::unknown_session(id).into()) };
    Ok(match (&summary.agent, summary.engine) {
        (Some(_), _) => Dialect::Acp,
        (None, engine) => engine.unwrap_or(open.engine).dialect(),
    })
}

fn listed_session(open: &OpenRoot, summary: &SessionSummary) -> Value {
    let mut listed = json!({ "sessionId": summary.session_id, "cwd": open.root.path });
    if let Some(title) = &summary.title {
        listed["title"] = json!(title);
    }
    let at = summary.updated_at.and_then(|at| u64::try_from(at).ok());
    if let Some(at) = at.and_then(|at| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(at))) {
        listed["updatedAt"] = json!(humantime::format_rfc3339_millis(at).to_string());
    }
    listed
}
