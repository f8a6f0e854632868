//! What a turn may do to the world: the agent's port on the engine's channel.
//!
//! Owns the order of one session's messages. Every wish of the agent goes to the loop and waits for its reply.

use std::sync::Arc;

use tokio::sync::watch;

use super::EmbeddedParts;
use super::asks::EmbeddedAsks;
use crate::app::inbox::Reply;
use crate::app::ports::{ClientRequest, CommandRan, DiskChange, DiskChangeKind, EngineReport, TurnScope};
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::desktop::message::ServerMessage;
use crate::domain::steps::TurnStep;
use crate::host::ports::{
    Answer, FileOperation, PortError, PortFuture, Ran, TurnPort, WorkspaceView, Written,
};

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
        let TurnScope { overlay, trusted } = self.shared.scopes.borrow().of(&self.session_id).clone();
        let indexes = self.shared.indexes.clone();
        WorkspaceView { roots: self.shared.state().roots.clone(), overlay, trusted, indexes }
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

    fn run_command(
        &self,
        command: String,
        cwd: String,
        call_id: Option<String>,
    ) -> PortFuture<'_, Result<Ran, PortError>> {
        Box::pin(async move {
            let ran = self.want(|reply| ClientRequest::RunCommand { command, cwd, call_id, reply }).await?;
            let CommandRan { exit_code, stdout, stderr, .. } = ran;
            Ok(Ran { exit_code, stdout, stderr })
        })
    }

    fn context_update(&self) -> PortFuture<'_, String> {
        // Without an answer there is nothing to tell.
        Box::pin(async move {
            self.want(|reply| ClientRequest::UpdateContext { reply }).await.unwrap_or_default()
        })
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
