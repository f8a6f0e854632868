//! A world for tests: a real folder, a user who answers as told, and a memory of what was said and done.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;
use url::Url;

use super::ports::{
    Answer, BackgroundNews, BackgroundStart, BackgroundState, FileOperation, NewsWait, PortError, PortFuture,
    Ran, Root, SentenceLevel, TurnPort, WorkspaceView, Written,
};
use crate::domain::approval::MadeEdit;
use crate::domain::dialect::desktop::message::{ServerMessage, SessionState};
use crate::domain::edits::text::content_hash;
use crate::domain::steps::TurnStep;

/// How the user answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Allows,
    Denies,
    /// Stops the turn instead of answering.
    Stops,
    /// Takes trust back, then allows.
    Distrusts,
    /// Allows, and stops the turn while the first file is written.
    StopsAtWrite,
}

/// One written text: root, path, base hash, text.
pub(crate) type Write = (Option<String>, String, Option<String>, String);

pub(crate) struct FakePort {
    view: Mutex<WorkspaceView>,
    user: User,
    stop: watch::Sender<bool>,
    ids: AtomicU64,
    pub(crate) said: Mutex<Vec<ServerMessage>>,
    pub(crate) steps: Mutex<Vec<TurnStep>>,
    pub(crate) notices: Mutex<Vec<String>>,
    pub(crate) writes: Mutex<Vec<Write>>,
    pub(crate) operations: Mutex<Vec<(String, Option<String>, FileOperation)>>,
    /// What came of edits that were allowed.
    pub(crate) made: Mutex<Vec<MadeEdit>>,
    pub(crate) commands: Mutex<Vec<(String, String)>>,
    /// Paths that no text or operation is taken for once each was named so often.
    pub(crate) refuses: Mutex<BTreeMap<String, usize>>,
    /// Stop the turn when this many tokens were said.
    stop_after_tokens: Option<usize>,
}

impl FakePort {
    pub(crate) fn new(root: &Path, trusted: bool, user: User) -> Self {
        let roots = vec![Root {
            name: "work".to_owned(),
            uri: Url::from_directory_path(root).unwrap().to_string(),
            path: root.to_owned(),
        }];
        Self {
            view: Mutex::new(WorkspaceView { roots, trusted, ..WorkspaceView::default() }),
            user,
            stop: watch::channel(false).0,
            ids: AtomicU64::new(0),
            said: Mutex::default(),
            steps: Mutex::default(),
            notices: Mutex::default(),
            writes: Mutex::default(),
            operations: Mutex::default(),
            made: Mutex::default(),
            commands: Mutex::default(),
            refuses: Mutex::default(),
            stop_after_tokens: None,
        }
    }

    pub(crate) fn stopping_after(mut self, tokens: usize) -> Self {
        self.stop_after_tokens = Some(tokens);
        self
    }

    pub(crate) fn change_view(&self, change: impl FnOnce(&mut WorkspaceView)) {
        change(&mut self.view.lock().unwrap());
    }

    pub(crate) fn said(&self) -> Vec<ServerMessage> {
        self.said.lock().unwrap().clone()
    }

    /// Tokens put together.
    pub(crate) fn text(&self) -> String {
        tokens(&self.said()).concat()
    }

    fn takes(&self, path: &str) -> Result<(), PortError> {
        match self.refuses.lock().unwrap().get_mut(path) {
            Some(0) => Err(PortError { code: "conflict".to_owned(), message: "No place.".to_owned() }),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The states of the session that were said, in order.
    pub(crate) fn states(&self) -> Vec<SessionState> {
        let state = |message: ServerMessage| match message {
            ServerMessage::SessionState { state } => Some(state),
            _ => None,
        };
        self.said().into_iter().filter_map(state).collect()
    }

    /// The types of what was said, in order, states left out.
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.said()
            .iter()
            .map(|message| serde_json::to_value(message).unwrap())
            .map(|message| match (message["type"].as_str().unwrap(), message["status"].as_str()) {
                (kind, Some(status)) => format!("{kind}:{status}"),
                (kind, None) => kind.to_owned(),
            })
            .filter(|kind| kind != "session.state")
            .collect()
    }
}

pub(crate) fn tokens(said: &[ServerMessage]) -> Vec<String> {
    said.iter()
        .filter_map(|message| match message {
            ServerMessage::Token { token, .. } => Some(token.clone()),
            _ => None,
        })
        .collect()
}

impl TurnPort for FakePort {
    fn workspace(&self) -> WorkspaceView {
        self.view.lock().unwrap().clone()
    }

    fn say(&self, message: ServerMessage) -> PortFuture<'_, ()> {
        Box::pin(async move {
            let mut said = self.said.lock().unwrap();
            said.push(message);
            if self.stop_after_tokens.is_some_and(|count| tokens(&said).len() >= count) {
                self.stop.send_replace(true);
            }
        })
    }

    fn notice(&self, _level: SentenceLevel, text: String) -> PortFuture<'_, ()> {
        Box::pin(async move { self.notices.lock().unwrap().push(text) })
    }

    fn is_news(&self, text: &str) -> bool {
        !self.notices.lock().unwrap().iter().any(|notice| notice == text)
    }

    fn step(&self, step: TurnStep) -> PortFuture<'_, ()> {
        Box::pin(async move { self.steps.lock().unwrap().push(step) })
    }

    fn answer(&self, _request_id: &str) -> PortFuture<'_, Answer> {
        Box::pin(async move {
            match self.user {
                User::Allows | User::StopsAtWrite => Answer::Allowed,
                User::Denies => Answer::Denied,
                User::Distrusts => {
                    self.view.lock().unwrap().trusted = false;
                    Answer::Allowed
                }
                User::Stops => {
                    self.stop.send_replace(true);
                    std::future::pending().await
                }
            }
        })
    }

    fn apply_text(
        &self,
        root: Option<String>,
        path: String,
        base_hash: Option<String>,
        text: String,
    ) -> PortFuture<'_, Result<Written, PortError>> {
        let hash = content_hash(text.as_bytes());
        let taken = self.takes(&path);
        self.writes.lock().unwrap().push((root, path, base_hash, text));
        Box::pin(async move {
            if self.user == User::StopsAtWrite {
                self.stop.send_replace(true);
                tokio::task::yield_now().await;
            }
            taken.map(|()| Written { hash: Some(hash), saved: true })
        })
    }

    fn change_file(
        &self,
        _root: Option<String>,
        path: String,
        base_hash: Option<String>,
        operation: FileOperation,
    ) -> PortFuture<'_, Result<Written, PortError>> {
        let taken = self.takes(&path);
        self.operations.lock().unwrap().push((path, base_hash, operation));
        Box::pin(async move { taken.map(|()| Written { hash: None, saved: true }) })
    }

    fn edit_made(&self, _request_id: &str, made: MadeEdit) -> PortFuture<'_, ()> {
        Box::pin(async move { self.made.lock().unwrap().push(made) })
    }

    fn run_command(
        &self,
        command: String,
        cwd: String,
        _call_id: Option<String>,
    ) -> PortFuture<'_, Result<Ran, PortError>> {
        self.commands.lock().unwrap().push((command, cwd));
        Box::pin(async { Ok(Ran { exit_code: 3, stdout: "out".to_owned(), stderr: "err".to_owned() }) })
    }

    fn start_command(&self, start: BackgroundStart) -> PortFuture<'_, Result<BackgroundNews, PortError>> {
        self.commands.lock().unwrap().push((start.command, start.cwd));
        Box::pin(async {
            Ok(BackgroundNews { printed: "out".to_owned(), skipped: 0, state: BackgroundState::Running })
        })
    }

    fn command_news(&self, _id: &str, _wait: NewsWait) -> PortFuture<'_, Option<BackgroundNews>> {
        Box::pin(async { None })
    }

    fn stop_command(&self, _id: &str) -> PortFuture<'_, Option<BackgroundNews>> {
        Box::pin(async { None })
    }

    fn end_commands(&self) -> PortFuture<'_, ()> {
        Box::pin(async {})
    }

    fn context_update(&self) -> PortFuture<'_, String> {
        Box::pin(async { String::new() })
    }

    fn fresh_id(&self) -> String {
        format!("id-{}", self.ids.fetch_add(1, Ordering::Relaxed))
    }

    fn stopped(&self) -> PortFuture<'_, ()> {
        let mut stopped = self.stop.subscribe();
        Box::pin(async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        })
    }
}
