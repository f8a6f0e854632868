//! `bb/init` and the life of sessions: create, list, select, delete.

use std::collections::BTreeMap;

use crate::app::client::{ClientId, Hears};
use crate::app::inbox::Reply;
use crate::app::live::LinkState;
use crate::app::ports::{Connectivity, EngineCall, NewSession, SessionReply, SessionWork, TurnJob};
use crate::app::prompter::Prompter;
use crate::app::record::{Record, SessionEnd, Settler};
use crate::app::sessions::Session;
use crate::app::state::App;
use crate::app::subscription::{Audience, EventFlow, ViewCopy};
use crate::domain::approval::PermissionStatus;
use crate::domain::coded_error::CodedError;
use crate::domain::sentence::sentence;
use crate::domain::shown::{Kind, show};
use crate::protocol::notification::ConnectionParams;
use crate::protocol::request::*;
use crate::protocol::settings::EngineKind;
use crate::protocol::version::{SERVER_NAME, SERVER_VERSION, WIRE_VERSION};

impl App {
    pub(in crate::app) fn init(
        &mut self,
        client: ClientId,
        params: InitParams,
    ) -> Result<InitResult, CodedError> {
        self.read_news();
        let subscribe = params.subscribe.unwrap_or_default();
        let hears = Hears {
            events: subscribe.events.unwrap_or(true),
            view: subscribe.view.unwrap_or(true),
            tabs: subscribe.tabs.unwrap_or(true),
        };
        if let Some(known) = self.clients.get_mut(client) {
            known.hears = hears;
            known.latency_wish = subscribe.max_latency_ms.or(known.latency_wish);
        }
        if hears.tabs {
            self.pump_all(client);
        } else {
            self.forget_messages(client);
        }
        self.batch();
        let mut resume = BTreeMap::new();
        if let Some(seen) = params.last_seen {
            for (session_id, seq) in seen.sessions.unwrap_or_default() {
                let epoch = seen.epochs.get(&session_id).unwrap_or(&seen.epoch);
                let verdict = self.resume_from(client, &session_id, seq, epoch);
                resume.insert(session_id, verdict);
            }
        }
        let (status, last_error) = self.connection_status();
        let news = ConnectionParams {
            status,
            session_id: None,
            retry_count: None,
            last_error,
            cause: None,
            gap_detected: None,
            resume: None,
        };
        self.connection_to(client, news);
        Ok(InitResult {
            v: WIRE_VERSION,
            server: ServerIdentity { name: SERVER_NAME.to_owned(), version: SERVER_VERSION.to_owned() },
            epoch: self.journal.as_ref().map(|journal| journal.epoch().to_owned()).unwrap_or_default(),
            engine: EngineStatus {
                kind: self.settings.engine.kind,
                status,
                capabilities: self.engine_capabilities(),
                model: self.current_model(),
            },
            sessions: self.summaries(),
            active_session_id: self.clients.get(client).and_then(|client| client.active.clone()),
            workspace_trusted: self.clients.trusts(client),
            resume,
        })
    }

    /// How the engine is reached, and why not.
    fn connection_status(&self) -> (ConnectionStatus, Option<String>) {
        match (&self.engines.main, &self.engines.connectivity) {
            (Err(error), _) | (Ok(_), Some(Connectivity::Failed { error, .. })) => {
                (ConnectionStatus::Error, Some(error.message.clone()))
            }
            (Ok(engine), None | Some(Connectivity::Connecting { .. }))
                if engine.traits().resume.is_followed() =>
            {
                (ConnectionStatus::Connecting, None)
            }
            (Ok(_), _) => (ConnectionStatus::Connected, None),
        }
    }

    fn engine_capabilities(&self) -> Vec<String> {
        match (&self.engines.main, &self.engines.connectivity) {
            (Ok(_), Some(Connectivity::Connected { capabilities })) => capabilities.clone(),
            (Ok(engine), _) => engine.capabilities(),
            (Err(_), _) => Vec::new(),
        }
    }

    /// What a client has of a session, against what there is; the difference follows as notifications.
    fn resume_from(&mut self, client: ClientId, session_id: &str, seq: u64, epoch: &str) -> Resume {
        let lost = |reason: &str| Resume {
            verdict: ResumeVerdict::Lost,
            events: None,
            from: None,
            to: None,
            reason: Some(sentence(reason)),
        };
        if self.load(session_id).is_err() {
            return lost("there is no such session any more");
        }
        if self.live_mut(session_id).is_none_or(|live| live.epoch != epoch) {
            return lost("these numbers belong to another journal; select the session for its view");
        }
        self.flush(session_id);
        let Some(live) = self.live_mut(session_id) else { return lost("the session could not be read") };
        let head = live.flushed;
        if seq > head {
            return lost("the journal ends before the number seen; select the session for its view");
        }
        self.subscribe(client, session_id);
        if let Some(follows) = self.clients.subscription(client, session_id) {
            follows.audience = Audience::Present;
        }
        if seq + 1 < self.first_kept(session_id) {
            self.follow(session_id);
            return lost("the events after the number seen were removed; select the session for its view");
        }
        self.follow(session_id);
        let ours = if seq == head {
            Resume { verdict: ResumeVerdict::Complete, events: Some(0), from: None, to: None, reason: None }
        } else {
            if let Some(follows) = self.clients.subscription(client, session_id) {
                follows.events = EventFlow::Behind { next_seq: seq + 1 };
                follows.view = ViewCopy::Stale;
            }
            self.catch_up(client, session_id);
            Resume {
                verdict: ResumeVerdict::Replayed,
                events: Some(head - seq),
                from: Some(seq + 1),
                to: Some(head),
                reason: None,
            }
        };
        self.worth_of_replay(session_id, ours)
    }

    pub(in crate::app) fn create_session(
        &mut self,
        client: ClientId,
        params: CreateSessionParams,
        reply: Reply<SessionResult>,
    ) {
        let by = Prompter::Client(client);
        let task = params.task.filter(|task| !task.trim().is_empty());
        // Before anything is made: a refusal leaves nothing behind.
        let kind = if params.agent.is_some() { EngineKind::Acp } else { self.settings.engine.kind };
        let fits = task.as_deref().map_or(Ok(()), |task| self.may_prompt(by, kind, task));
        let engine = match self.engine_for(kind).and_then(|engine| fits.map(|()| engine)) {
            Ok(engine) => engine,
            Err(error) => return reply.refuse(error),
        };
        if kind == EngineKind::Acp
            && let Err(error) = self.may_run(by, kind)
        {
            // An agent is a program: it is started for its first session.
            return reply.refuse(error);
        }
        if engine.traits().sessions.is_elsewhere() {
            let wish = NewSession {
                config_path: params.config_path.filter(|path| !path.trim().is_empty()),
                model: params.model,
                permission_mode: params.permission_mode,
                task,
                workspace: self.workspace.folders.first().and_then(|folder| folder.path.clone()),
                agent: params.agent,
                client: Some(client),
            };
            return self.make_session(kind, wish, SessionReply::Client(reply));
        }
        let made = self.create_session_here(client, params.model, task);
        reply.settle(made);
    }

    pub(in crate::app) fn create_session_here(
        &mut self,
        client: ClientId,
        model: Option<String>,
        task: Option<String>,
    ) -> Result<SessionResult, CodedError> {
        let session_id = self.ambient.fresh_id();
        let now = self.ambient.now_ms();
        let record = Record::new(session_id.clone(), now, model, self.settings.engine.kind);
        self.sessions.insert(session_id.clone(), Session::new(record));
        self.hold(&session_id)?;
        self.load(&session_id)?;
        self.attach(client, &session_id);
        if let Some(live) = self.live_mut(&session_id) {
            live.pending.record_changed = true;
        }
        self.flush(&session_id);
        if let Some(task) = task {
            let prompt = SendMessageParams {
                session_id: session_id.clone(),
                text: task,
                attachment_ids: None,
                message_id: None,
                context: None,
            };
            self.send_message(client, prompt)?;
        }
        Ok(SessionResult { session_id })
    }

    /// `bb/listSessions`: an engine that holds sessions is asked first. What was said is found in what the journal has.
    pub(in crate::app) fn answer_list(
        &mut self,
        params: &ListSessionsParams,
        reply: Reply<ListSessionsResult>,
    ) {
        if let Some(query) = params.query.as_deref().filter(|query| !query.trim().is_empty()) {
            self.read_news();
            return self.find_sessions(query, reply);
        }
        match &self.engines.main {
            Ok(engine) if engine.traits().sessions.is_elsewhere() => {
                engine.call(EngineCall::ListSessions { reply: Some(reply) });
            }
            Ok(_) | Err(_) => {
                self.read_news();
                reply.answer(self.list_sessions());
            }
        }
    }

    pub(in crate::app) fn list_sessions(&self) -> ListSessionsResult {
        ListSessionsResult { sessions: self.summaries(), ..ListSessionsResult::default() }
    }

    pub(in crate::app) fn select_session(
        &mut self,
        client: ClientId,
        session_id: &str,
        reply: Reply<SelectSessionResult>,
    ) {
        self.read_news();
        if let Err(error) = self.load(session_id) {
            return reply.refuse(error);
        }
        // From now on the client hears what comes, also while the answer waits for the engine.
        self.attach(client, session_id);
        if self.known(session_id).is_ok_and(|session| self.is_followed(&session.record)) {
            return self.select_held(client, session_id, reply);
        }
        let answer = self.selected(client, session_id);
        reply.settle(answer);
    }

    /// The answer of `bb/selectSession` as things stand.
    pub(in crate::app) fn selected(
        &mut self,
        client: ClientId,
        session_id: &str,
    ) -> Result<SelectSessionResult, CodedError> {
        // The view stands at the head; what is older than it must not follow as a notification.
        self.flush(session_id);
        // Whoever sees the session sees first who works on it.
        self.tell_news();
        if let Some(follows) = self.clients.subscription(client, session_id) {
            // A client that is behind with events still gets every one it has not been sent.
            follows.view = ViewCopy::Current;
        }
        let view = self.snapshot(session_id)?;
        let resume = self.worth(session_id, view.seq)?;
        Ok(SelectSessionResult { session_id: session_id.to_owned(), seq: view.seq, view, resume })
    }

    pub(in crate::app) fn delete_session(&mut self, session_id: String, reply: Reply<DeleteSessionResult>) {
        let session = match self.known(&session_id) {
            Ok(session) => session,
            Err(error) => return reply.refuse(error),
        };
        if self.lives_at_engine(&session.record) {
            let asks = session
                .live
                .as_ref()
                .map(|live| live.asks.values().map(|ask| ask.engine_request_id.clone()).collect());
            let asks = asks.unwrap_or_default();
            let call = EngineCall::DeleteSession { session_id: session_id.clone(), asks, reply };
            return self.call_engine(&session_id, call);
        }
        reply.settle(self.delete_here(&session_id));
    }

    /// Takes a session out of the journal and the list.
    pub(in crate::app) fn delete_here(
        &mut self,
        session_id: &str,
    ) -> Result<DeleteSessionResult, CodedError> {
        self.hold(session_id)?;
        self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::Delete);
        self.end_progress(session_id);
        self.call_engine(session_id, EngineCall::Forget { session_id: session_id.to_owned() });
        if let Some(mcp) = &self.mcp {
            mcp.forget(session_id);
        }
        self.flush(session_id);
        self.journal()?.delete_session(session_id).map_err(|error| journal_failed(&error))?;
        self.leases.ours.remove(session_id);
        self.drop_unwritten(session_id);
        self.drop_artifacts(session_id);
        self.turn_job(None, TurnJob::Forget { session_id: session_id.to_owned() });
        self.session_gone(session_id);
        Ok(DeleteSessionResult { session_id: session_id.to_owned(), deleted: true })
    }

    /// The session in front of a client, which hears it from now on.
    pub(in crate::app) fn attach(&mut self, client: ClientId, session_id: &str) {
        self.subscribe(client, session_id);
        self.come_back(client, session_id);
        if let Some(client) = self.clients.get_mut(client) {
            client.active = Some(session_id.to_owned());
        }
        self.state_changed = true;
    }

    /// All sessions of the workspace: those that are pinned, then the others, each newest first.
    pub(in crate::app) fn summaries(&self) -> Vec<SessionSummary> {
        let mut sessions: Vec<&Session> = self.sessions.values().collect();
        sessions.sort_by(|a, b| {
            b.record
                .pinned
                .cmp(&a.record.pinned)
                .then_with(|| b.record.updated_at.cmp(&a.record.updated_at))
                .then_with(|| a.record.session_id.cmp(&b.record.session_id))
        });
        sessions
            .into_iter()
            .map(|session| {
                let live = session.live.as_ref();
                // What waits at the engine can be answered once the session is open here.
                let asks = live.map_or(0, |live| live.asks.len() as u64);
                let is_open_here = live.is_some_and(|live| live.link != LinkState::Detached);
                let work = session.listed.filter(|_| !is_open_here).unwrap_or(
                    match (session.record.turn.open(), asks) {
                        (None, 0) => SessionWork::Idle,
                        (Some(_), 0) => SessionWork::Running,
                        (_, _) => SessionWork::Waiting,
                    },
                );
                let held = session.record.held.as_ref();
                let over = held.and_then(|held| held.over.as_ref()).map(SessionEnd::status);
                let status = over.unwrap_or(match work {
                    SessionWork::Idle => "idle",
                    SessionWork::Running => "running",
                    SessionWork::Waiting => "waiting",
                });
                SessionSummary {
                    session_id: session.record.session_id.clone(),
                    title: session
                        .record
                        .title
                        .as_deref()
                        .map(|title| show(title, Kind::Sentence).into_owned()),
                    status: Some(status.to_owned()),
                    updated_at: Some(session.record.updated_at),
                    seq: session.live.as_ref().map(|live| live.head),
                    engine: Some(session.record.engine),
                    agent: held.and_then(|held| held.agent.clone()),
                    pending_permission_count: (asks > 0).then_some(asks),
                    held_by: self
                        .leases
                        .elsewhere
                        .contains(&session.record.session_id)
                        .then_some(HeldBy::OtherWindow),
                    pinned: session.record.pinned,
                    branched_from: session.record.branched_from.clone(),
                }
            })
            .collect()
    }
}

/// Another window works on the session.
pub(in crate::app) fn held_elsewhere() -> CodedError {
    CodedError::new(
        crate::domain::coded_error::ErrorCode::Conflict,
        "Another window works on this session; follow it here, stop it, or wait until its turn is over.",
    )
}

/// A journal error as a refusal.
pub(in crate::app) fn journal_failed(error: &crate::app::ports::JournalError) -> CodedError {
    use crate::app::ports::JournalError;
    let why = match error {
        JournalError::Full => "the disk of the state directory is full".to_owned(),
        JournalError::Failed(why) => why.clone(),
        JournalError::HeldElsewhere => return held_elsewhere(),
    };
    CodedError::new(
        crate::domain::coded_error::ErrorCode::Internal,
        format!("The journal could not be used ({why}); free some space or run `breadboard-ls doctor`."),
    )
}
