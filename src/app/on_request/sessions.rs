//! `bb/init` and the life of sessions: create, list, select, delete.

use std::collections::BTreeMap;

use super::prompts::fits_a_prompt;
use crate::app::live::Flow;
use crate::app::ports::EngineCall;
use crate::app::record::{Record, Settler};
use crate::app::state::{App, Session};
use crate::domain::approval::PermissionStatus;
use crate::protocol::WireError;
use crate::protocol::notification::ConnectionParams;
use crate::protocol::request::*;
use crate::protocol::version::{SERVER_NAME, SERVER_VERSION, WIRE_VERSION};

impl App {
    pub(in crate::app) fn init(&mut self, params: InitParams) -> Result<InitResult, WireError> {
        let subscribe = params.subscribe.unwrap_or_default();
        self.hears.events = subscribe.events.unwrap_or(true);
        self.hears.view = subscribe.view.unwrap_or(true);
        if let Some(ms) = subscribe.max_latency_ms {
            self.latency_wish = Some(ms);
            self.batch_by(self.delivery);
        }
        let mut resume = BTreeMap::new();
        if let Some(seen) = params.last_seen {
            for (session_id, seq) in seen.sessions.unwrap_or_default() {
                let verdict = self.resume_from(&session_id, seq, seen.epoch == self.epoch);
                resume.insert(session_id, verdict);
            }
        }
        let (status, last_error) = match &self.engine {
            Ok(_) => (ConnectionStatus::Connected, None),
            Err(error) => (ConnectionStatus::Error, Some(error.message.clone())),
        };
        self.connection(ConnectionParams {
            status,
            session_id: None,
            retry_count: None,
            last_error,
            gap_detected: None,
            resume: None,
        });
        Ok(InitResult {
            v: WIRE_VERSION,
            server: ServerIdentity { name: SERVER_NAME.to_owned(), version: SERVER_VERSION.to_owned() },
            epoch: self.epoch.clone(),
            engine: EngineStatus {
                kind: self.settings.engine.kind,
                status,
                capabilities: self
                    .engine
                    .as_ref()
                    .map_or_else(|_| Vec::new(), |engine| engine.capabilities()),
                model: self.current_model(),
            },
            sessions: self.summaries(),
            active_session_id: self.active.clone(),
            workspace_trusted: self.trusted,
            resume,
        })
    }

    /// What a client has of a session, against what there is; the difference follows as notifications.
    fn resume_from(&mut self, session_id: &str, seq: u64, same_epoch: bool) -> Resume {
        let lost = |reason: &str| Resume {
            verdict: ResumeVerdict::Lost,
            events: None,
            from: None,
            to: None,
            reason: Some(reason.to_owned()),
        };
        if !same_epoch {
            return lost("these numbers belong to another journal; select the session for its view");
        }
        if self.load(session_id).is_err() {
            return lost("there is no such session any more");
        }
        self.flush(session_id);
        let Some(live) = self.live_mut(session_id) else { return lost("the session could not be read") };
        let head = live.flushed;
        if seq > head {
            return lost("the journal ends before the number seen; select the session for its view");
        }
        live.attached = true;
        if seq == head {
            return Resume {
                verdict: ResumeVerdict::Complete,
                events: Some(0),
                from: None,
                to: None,
                reason: None,
            };
        }
        live.flow = Flow::Behind { next_seq: seq + 1 };
        live.view_stale = true;
        self.catch_up(session_id);
        Resume {
            verdict: ResumeVerdict::Replayed,
            events: Some(head - seq),
            from: Some(seq + 1),
            to: Some(head),
            reason: None,
        }
    }

    pub(in crate::app) fn create_session(
        &mut self,
        params: CreateSessionParams,
    ) -> Result<SessionResult, WireError> {
        if let Err(error) = &self.engine {
            return Err(error.clone());
        }
        let task = params.task.filter(|task| !task.trim().is_empty());
        if let Some(task) = &task {
            // Before anything is made: a refusal leaves nothing behind.
            fits_a_prompt(task)?;
        }
        let session_id = self.ambient.fresh_id();
        let now = self.ambient.now_ms();
        let record = Record::new(session_id.clone(), now, params.model);
        self.sessions.insert(session_id.clone(), Session { record, live: None });
        self.load(&session_id)?;
        self.attach(&session_id);
        if let Some(live) = self.live_mut(&session_id) {
            live.record_changed = true;
        }
        self.flush(&session_id);
        if let Some(task) = task {
            self.send_message(SendMessageParams {
                session_id: session_id.clone(),
                text: task,
                attachment_ids: None,
                message_id: None,
            })?;
        }
        Ok(SessionResult { session_id })
    }

    pub(in crate::app) fn list_sessions(&self) -> ListSessionsResult {
        ListSessionsResult { sessions: self.summaries() }
    }

    pub(in crate::app) fn select_session(
        &mut self,
        session_id: &str,
    ) -> Result<SelectSessionResult, WireError> {
        self.load(session_id)?;
        // The view stands at the head; what is older than it must not follow as a notification.
        self.flush(session_id);
        self.attach(session_id);
        let head = match self.live_mut(session_id) {
            Some(live) => {
                // Its flow stays: a client that is behind still gets every event it has not been sent.
                live.view_stale = false;
                live.head
            }
            None => 0,
        };
        let view = self.snapshot(session_id)?;
        let resume = Resume {
            verdict: ResumeVerdict::Complete,
            events: None,
            from: None,
            to: Some(head),
            reason: None,
        };
        Ok(SelectSessionResult { session_id: session_id.to_owned(), seq: head, view, resume })
    }

    pub(in crate::app) fn delete_session(
        &mut self,
        session_id: &str,
    ) -> Result<DeleteSessionResult, WireError> {
        self.known(session_id)?;
        self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::Delete);
        self.end_progress(session_id);
        if let Ok(engine) = &self.engine {
            engine.call(EngineCall::Forget { session_id: session_id.to_owned() });
        }
        self.flush(session_id);
        self.journal()?.delete_session(session_id).map_err(|error| journal_failed(&error))?;
        self.drop_unwritten(session_id);
        self.sessions.remove(session_id);
        self.loaded.remove(session_id);
        if self.active.as_deref() == Some(session_id) {
            self.active = None;
        }
        self.state_changed = true;
        Ok(DeleteSessionResult { session_id: session_id.to_owned(), deleted: true })
    }

    /// The session in front, heard by the client.
    pub(in crate::app) fn attach(&mut self, session_id: &str) {
        if let Some(live) = self.live_mut(session_id) {
            live.attached = true;
        }
        self.active = Some(session_id.to_owned());
        self.state_changed = true;
    }

    /// All sessions of the workspace, newest first.
    pub(in crate::app) fn summaries(&self) -> Vec<SessionSummary> {
        let mut sessions: Vec<&Session> = self.sessions.values().collect();
        sessions.sort_by(|a, b| {
            b.record
                .updated_at
                .cmp(&a.record.updated_at)
                .then_with(|| a.record.session_id.cmp(&b.record.session_id))
        });
        sessions
            .into_iter()
            .map(|session| {
                let asks = session.live.as_ref().map_or(0, |live| live.asks.len() as u64);
                let status = match (session.record.open_turn, asks) {
                    (None, _) => "idle",
                    (Some(_), 0) => "running",
                    (Some(_), _) => "waiting",
                };
                SessionSummary {
                    session_id: session.record.session_id.clone(),
                    title: session.record.title.clone(),
                    status: Some(status.to_owned()),
                    updated_at: Some(session.record.updated_at),
                    seq: session.live.as_ref().map(|live| live.head),
                    pending_permission_count: (asks > 0).then_some(asks),
                }
            })
            .collect()
    }
}

/// A journal error as a refusal.
pub(in crate::app) fn journal_failed(error: &crate::app::ports::JournalError) -> WireError {
    use crate::app::ports::JournalError;
    let why = match error {
        JournalError::Full => "the disk of the state directory is full".to_owned(),
        JournalError::Failed(why) => why.clone(),
    };
    WireError::new(
        crate::protocol::ErrorCode::Internal,
        format!("The journal could not be used ({why}); free some space or run `breadboard-ls doctor`."),
    )
}
