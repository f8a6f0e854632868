//! What a turn may do to the world: the agent's port on the engine's channel.
//!
//! Owns the order of one session's messages. Every wish of the agent goes to the loop and waits for its reply.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::asks::EmbeddedAsks;
use super::{EmbeddedParts, background};
use crate::app::inbox::Reply;
use crate::app::ports::{ClientRequest, CommandRan, DiskChange, DiskChangeKind, EngineReport, TurnScope};
use crate::domain::approval::MadeEdit;
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::desktop::message::ServerMessage;
use crate::domain::remedy::Remedy;
use crate::domain::steps::TurnStep;
use crate::host::ports::{
    Answer, BackgroundNews, BackgroundStart, FileOperation, NewsWait, PortError, PortFuture, Ran,
    SentenceLevel, ServedAnswer, ServedTool, ServedTools, ToolServers, TurnPort, WorkspaceView, Written,
};

/// Sentences of a session that are known to have been said; beyond that some are said again.
const TOLD: usize = 256;

/// The port of one turn.
pub(super) struct SessionPort {
    shared: Arc<EmbeddedParts>,
    session_id: String,
    turn: u64,
    stopped: watch::Receiver<bool>,
    asks: Arc<EmbeddedAsks>,
}

impl SessionPort {
    pub(super) fn new(
        shared: Arc<EmbeddedParts>,
        session_id: String,
        turn: u64,
        stopped: watch::Receiver<bool>,
        asks: Arc<EmbeddedAsks>,
    ) -> Self {
        Self { shared, session_id, turn, stopped, asks }
    }

    async fn want<T>(&self, make: impl FnOnce(Reply<T>) -> ClientRequest) -> Result<T, PortError> {
        let (reply, answer) = Reply::new();
        let report = EngineReport::Wants { session_id: self.session_id.clone(), want: make(reply) };
        let refused =
            |error: CodedError| PortError { code: error.code.as_str().to_owned(), message: error.message };
        self.shared.reports.send(report).await.map_err(|_| refused(CodedError::internal()))?;
        answer.await.unwrap_or_else(|_| Err(CodedError::internal())).map_err(refused)
    }
}

impl TurnPort for SessionPort {
    fn workspace(&self) -> WorkspaceView {
        let TurnScope { overlay, trusted, files } = self.shared.scopes.borrow().of(&self.session_id).clone();
        let (roots, indexes) = (self.shared.state().roots.clone(), self.shared.indexes.clone());
        WorkspaceView { roots, overlay, trusted, lists: files, indexes }
    }

    fn say(&self, message: ServerMessage) -> PortFuture<'_, ()> {
        // Before it is said, because the answer may come before anyone waits for it.
        if let ServerMessage::ToolRequestApproval { request_id, .. }
        | ServerMessage::CommandRequestApproval { request_id, .. } = &message
        {
            self.asks.register(request_id);
        }
        Box::pin(async move {
            let event = message.into_event(Some(self.turn), (self.shared.now_ms)());
            let report = EngineReport::Said { session_id: self.session_id.clone(), event, cursor: None };
            // A closed channel means that the loop is gone, and nobody is left to hear.
            let _ = self.shared.reports.send(report).await;
        })
    }

    fn notice(&self, level: SentenceLevel, text: String) -> PortFuture<'_, ()> {
        let level = match level {
            SentenceLevel::Info => "info",
            SentenceLevel::Warning => "warning",
        };
        Box::pin(async move {
            let session_id = self.session_id.clone();
            let report = EngineReport::Noticed { session_id, level, text, remedy: Remedy::default() };
            // A closed channel means that the loop is gone, and nobody is left to hear.
            let _ = self.shared.reports.send(report).await;
        })
    }

    fn is_news(&self, text: &str) -> bool {
        let mut state = self.shared.state();
        let session = state.sessions.get_mut(&self.session_id);
        session.is_some_and(|session| {
            if session.told.len() >= TOLD {
                session.told.clear();
            }
            session.told.insert(text.to_owned())
        })
    }

    fn step(&self, step: TurnStep) -> PortFuture<'_, ()> {
        Box::pin(async move {
            let report = EngineReport::Stepped { session_id: self.session_id.clone(), turn: self.turn, step };
            // A closed channel means that the loop is gone, and nobody is left to hear.
            let _ = self.shared.reports.send(report).await;
        })
    }

    fn answer(&self, request_id: &str) -> PortFuture<'_, Answer> {
        let request_id = request_id.to_owned();
        Box::pin(async move { self.asks.wait(&request_id).await })
    }

    fn apply_text(
        &self,
        root: Option<String>,
        path: String,
        base_hash: Option<String>,
        text: String,
    ) -> PortFuture<'_, Result<Written, PortError>> {
        Box::pin(async move {
            let applied =
                self.want(|reply| ClientRequest::ApplyText { root, path, base_hash, text, reply }).await?;
            Ok(Written { hash: Some(applied.applied_hash), saved: applied.saved })
        })
    }

    fn change_file(
        &self,
        root: Option<String>,
        path: String,
        base_hash: Option<String>,
        operation: FileOperation,
    ) -> PortFuture<'_, Result<Written, PortError>> {
        let kind = match operation {
            FileOperation::Delete => DiskChangeKind::Delete,
            FileOperation::Move { to, text } => DiskChangeKind::Move { to, text, mode: None },
        };
        let change = DiskChange { root, path, base_hash, turn: None, kind };
        Box::pin(async move {
            let changed = self.want(|reply| ClientRequest::ChangeFile { change, reply }).await?;
            Ok(Written { hash: changed.hash, saved: true })
        })
    }

    fn edit_made(&self, request_id: &str, made: MadeEdit) -> PortFuture<'_, ()> {
        let request_id = request_id.to_owned();
        Box::pin(async move {
            let report = EngineReport::EditMade { session_id: self.session_id.clone(), request_id, made };
            // A closed channel means that the loop is gone, and nobody is left to hear.
            let _ = self.shared.reports.send(report).await;
        })
    }

    fn run_command(
        &self,
        command: String,
        cwd: String,
        call_id: Option<String>,
    ) -> PortFuture<'_, Result<Ran, PortError>> {
        Box::pin(async move {
            let background = None;
            let ran = self
                .want(|reply| ClientRequest::RunCommand { command, cwd, call_id, background, reply })
                .await?;
            let CommandRan { exit_code, stdout, stderr, .. } = ran;
            Ok(Ran { exit_code, stdout, stderr })
        })
    }

    fn start_command(&self, start: BackgroundStart) -> PortFuture<'_, Result<BackgroundNews, PortError>> {
        Box::pin(background::start(&self.shared, &self.session_id, self.turn, start))
    }

    fn command_news(&self, id: &str, wait: NewsWait) -> PortFuture<'_, Option<BackgroundNews>> {
        let id = id.to_owned();
        Box::pin(async move { self.shared.background.news(&self.session_id, &id, &wait).await })
    }

    fn stop_command(&self, id: &str) -> PortFuture<'_, Option<BackgroundNews>> {
        let id = id.to_owned();
        Box::pin(async move { self.shared.background.stop(&self.session_id, &id).await })
    }

    fn end_commands(&self) -> PortFuture<'_, ()> {
        Box::pin(self.shared.background.end_turn(&self.session_id, self.turn))
    }

    fn context_update(&self) -> PortFuture<'_, String> {
        // Without an answer there is nothing to tell.
        Box::pin(async move {
            let update = self.want(|reply| ClientRequest::UpdateContext { reply }).await;
            update.map(|update| update.words).unwrap_or_default()
        })
    }

    fn tool_servers(&self) -> Option<&dyn ToolServers> {
        self.shared.tool_servers.as_ref().map(|_| self as &dyn ToolServers)
    }

    fn fresh_id(&self) -> String {
        (self.shared.fresh_id)()
    }

    fn stopped(&self) -> PortFuture<'_, ()> {
        let mut stopped = self.stopped.clone();
        // An error means that the session was forgotten, which stops it as well.
        Box::pin(async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        })
    }
}

impl ToolServers for SessionPort {
    fn tools(&self) -> PortFuture<'_, ServedTools> {
        match &self.shared.tool_servers {
            Some(servers) => servers.tools(&self.session_id),
            None => Box::pin(async { ServedTools::default() }),
        }
    }

    fn tool(&self, name: &str) -> Option<ServedTool> {
        self.shared.tool_servers.as_ref()?.tool(&self.session_id, name)
    }

    fn call(
        &self,
        tool: ServedTool,
        arguments: Map<String, Value>,
    ) -> PortFuture<'_, Result<ServedAnswer, PortError>> {
        match &self.shared.tool_servers {
            Some(servers) => servers.call(&self.session_id, tool, arguments),
            None => {
                let error = CodedError::internal();
                let refused = PortError { code: error.code.as_str().to_owned(), message: error.message };
                Box::pin(async { Err(refused) })
            }
        }
    }

    fn note(&self, sentence: String) -> PortFuture<'_, ()> {
        Box::pin(async move {
            let report = EngineReport::Noticed {
                session_id: self.session_id.clone(),
                level: "warning",
                text: sentence,
                remedy: Remedy::default(),
            };
            // A closed channel means that the loop is gone, and nobody is left to hear.
            let _ = self.shared.reports.send(report).await;
        })
    }
}
