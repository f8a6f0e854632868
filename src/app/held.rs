//! Sessions that an engine holds: made, listed and deleted there, kept here.
//!
//! Owns what the loop believes of them. Never opens a stream itself: the engine's adapter does, and reports; what it
//! reports of the stream is in `link`.

use super::client::ClientId;
use super::inbox::Reply;
use super::live::{LinkState, Live, UseOfStream};
use super::on_request::turn_end;
use super::ports::{
    AgentCall, AgentSession, AttachedChange, AttachedTurn, Connectivity, EngineCall, EngineSession,
    ListedSessions, NewSession, SessionHome, SessionReply, StreamCall, StreamResume, TurnFailure,
};
use super::prompter::Prompter;
use super::record::{Ask, LastRun, Record, RemoteSession};
use super::sessions::Session;
use super::state::App;
use super::turn::{Stop, TurnState, Whose};
use crate::domain::approval::PermissionStatus;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::remedy::{Retry, RetryWhen};
use crate::domain::view::{Block, BlockBody, Lane};
use crate::protocol::notification::ConnectionParams;
use crate::protocol::request::*;
use crate::protocol::settings::EngineKind;

/// Streams open at one time: fewer than the adapter has places for, since one that was let go may take a moment to end.
const STREAMS: usize = 48;

/// Blocks that are looked at for the last thing in a transcript: notices of a break may stand behind it, a few.
const LAST_BLOCKS: usize = 8;

/// What is said of a prompt whose run cannot be told from another client's.
const UNCLAIMED: &str = "The engine took this prompt and never told of it in words that are known here. It has been silent since a run with other words ended, so that run is probably its answer; look at it before you send the prompt again.";

impl App {
    /// The engine answers, or does not.
    pub(super) fn reached(&mut self, reach: Connectivity) {
        let (status, retry, last_error) = match &reach {
            Connectivity::Connecting { retry } => (ConnectionStatus::Connecting, *retry, None),
            Connectivity::Connected { .. } => (ConnectionStatus::Connected, 0, None),
            Connectivity::Failed { retry, error } => {
                (ConnectionStatus::Error, *retry, Some(error.message.clone()))
            }
        };
        let told = matches!(reach, Connectivity::Connected { .. })
            && self.engines.connectivity.as_ref() == Some(&reach);
        self.engines.connectivity = Some(reach);
        if told {
            return;
        }
        self.connection(ConnectionParams {
            status,
            session_id: None,
            retry_count: (retry > 0).then_some(u64::from(retry)),
            last_error,
            cause: None,
            gap_detected: None,
            resume: None,
        });
    }

    /// Asks an engine for a session. `SessionMade` follows.
    pub(super) fn make_session(&mut self, kind: EngineKind, mut wish: NewSession, reply: SessionReply) {
        wish.model = wish.model.filter(|model| !model.trim().is_empty());
        // An agent has models of its own, and says so of one that it was asked for and does not have.
        if kind != EngineKind::Acp {
            wish.model = wish.model.or_else(|| self.chosen_model.as_ref().map(|model| model.name.clone()));
        }
        let session_id = self.ambient.fresh_id();
        match self.engine_for(kind) {
            Ok(engine) => engine.call(EngineCall::MakeSession { session_id, wish, reply }),
            Err(error) => reply.refuse(error),
        }
    }

    pub(super) fn session_made(
        &mut self,
        wish: NewSession,
        outcome: Result<EngineSession, CodedError>,
        reply: SessionReply,
    ) {
        if let SessionReply::Tab { tab_id, waits } = &reply {
            return self.session_made_for_tab(tab_id, &wish, outcome, waits);
        }
        let made = match (outcome, &reply) {
            (Ok(made), _) => made,
            (Err(error), SessionReply::Chat { uri }) => {
                return self.plain_session_made(wish.client, uri, Err(error));
            }
            (Err(error), _) => return reply.refuse(error),
        };
        let session_id = made.session_id.clone();
        self.know(made, Some(&wish));
        let attached = self.load(&session_id);
        if let Some(client) = wish.client {
            self.attach(client, &session_id);
        }
        if let Some(live) = self.live_mut(&session_id) {
            live.pending.record_changed = true;
        }
        self.flush(&session_id);
        self.follow(&session_id);
        // Where it left meanwhile nobody is there to prompt, and nothing was promised.
        let client = wish.client.filter(|client| self.clients.get(*client).is_some());
        match reply {
            SessionReply::Client(reply) => {
                let sent = attached.and_then(|()| self.send_task(client, &session_id, wish.task));
                reply.settle(sent.map(|()| SessionResult { session_id }));
            }
            SessionReply::Spec { prompt, reply } => match client {
                Some(client) => {
                    let sent = attached.and_then(|()| self.prompt_with_spec(client, &session_id, *prompt));
                    reply.settle(sent);
                }
                None => reply.refuse(CodedError::new(
                    ErrorCode::Cancelled,
                    "The editor that sent the spec has left, so it was not sent; its draft is kept.",
                )),
            },
            SessionReply::Branch { branch, reply } => {
                reply.settle(attached.map(|()| self.begin_branch(&session_id, *branch)));
            }
            SessionReply::Chat { uri } => {
                let made = attached.map(|()| session_id);
                self.plain_session_made(wish.client, &uri, made);
            }
            // Taken above.
            SessionReply::Tab { .. } => {}
        }
    }

    /// The first prompt of a new session, where there is one and somebody to hear the answer.
    fn send_task(
        &mut self,
        client: Option<ClientId>,
        session_id: &str,
        task: Option<String>,
    ) -> Result<(), CodedError> {
        let (Some(client), Some(text)) = (client, task) else { return Ok(()) };
        let prompt = SendMessageParams {
            session_id: session_id.to_owned(),
            text,
            attachment_ids: None,
            message_id: None,
            context: None,
        };
        self.send_message(client, prompt).map(drop)
    }

    /// A session of the engine, unless it is known. It is written once it is used.
    /// Gives our id of it. One that was just made is new, though an agent may have used its id before, in another process.
    pub(super) fn know(&mut self, made: EngineSession, wish: Option<&NewSession>) -> String {
        let model = wish.and_then(|wish| wish.model.clone());
        let workspace = wish.and_then(|wish| wish.workspace.clone());
        let now = self.ambient.now_ms();
        let engine = if made.at_agent.is_some() { EngineKind::Acp } else { self.settings.engine.kind };
        let origin = self.settings.engine.url.clone().filter(|_| engine != EngineKind::Acp);
        // An agent knows nothing of our ids.
        let listed = made.at_agent.as_ref().filter(|_| wish.is_none());
        let known = listed.and_then(|(agent, id)| self.of_agent(agent, id));
        let session_id = known.unwrap_or_else(|| made.session_id.clone());
        let session = self.sessions.known_or(session_id.clone(), || {
            let created = made.created_at.unwrap_or(now);
            let mut record = Record::new(made.session_id, created, model.or(made.model), engine);
            record.updated_at = made.updated_at.unwrap_or(created);
            record.title.clone_from(&made.title);
            record.held = Some(RemoteSession { origin, ..RemoteSession::default() });
            Session::new(record)
        });
        if let Some(held) = session.record.held.as_mut() {
            // One that was missed in an earlier list, and is back.
            if session.live.is_none() && matches!(made.status.as_str(), "starting" | "running") {
                held.over = None;
            }
            held.workspace = held.workspace.take().or(workspace).or(made.workspace);
            session.listed = made.work;
            if session.live.is_none() {
                // Another client named it, or prompted in it, since it was listed first.
                session.record.title = session.record.title.take().or(made.title);
                session.record.updated_at =
                    session.record.updated_at.max(made.updated_at.unwrap_or_default());
            }
            if let Some((agent, id)) = made.at_agent {
                held.agent = Some(agent);
                held.at_agent = Some(id);
            }
        }
        self.state_changed = true;
        session_id
    }

    /// Our id of a session that an agent knows by its own.
    pub(super) fn of_agent(&self, agent: &str, at_agent: &str) -> Option<String> {
        let of = |held: &RemoteSession| {
            held.agent.as_deref() == Some(agent) && held.at_agent.as_deref() == Some(at_agent)
        };
        let found = self.sessions.iter().find(|(_, session)| session.record.held.as_ref().is_some_and(of));
        found.map(|(id, _)| id.clone())
    }

    /// What an adapter needs to open a session of an agent again.
    pub(super) fn agent_session(&self, session_id: &str) -> Option<AgentSession> {
        let held = self.known(session_id).ok()?.record.held.as_ref()?;
        Some(AgentSession {
            session_id: session_id.to_owned(),
            agent: held.agent.clone()?,
            at_agent: held.at_agent.clone()?,
            workspace: held.workspace.clone(),
        })
    }

    pub(super) fn sessions_listed(
        &mut self,
        outcome: Result<ListedSessions, CodedError>,
        reply: Option<Reply<ListSessionsResult>>,
    ) {
        match outcome {
            Ok(listed) => {
                if listed.whole {
                    self.miss(&listed.sessions);
                }
                for session in listed.sessions {
                    // Those of another workspace belong to its own window.
                    let elsewhere = session.workspace.as_ref().is_some_and(|at| !self.is_a_folder(at));
                    if !elsewhere {
                        self.know(session, None);
                    }
                }
            }
            // What the journal has can be listed all the same; that the engine does not answer is said.
            Err(error)
                if matches!(error.code, ErrorCode::EngineUnreachable | ErrorCode::EngineUnauthorized) =>
            {
                self.reached(Connectivity::Failed { retry: 0, error });
            }
            // It answers, though not with a list.
            Err(error) => self.say("warning", &error.message),
        }
        if let Some(reply) = reply {
            reply.answer(self.list_sessions());
        }
    }

    /// Sessions that the engine does not list any more, deleted by another client or lost with its last process. Of one that
    /// is followed its stream tells, and one that is in use may be newer than the list.
    fn miss(&mut self, listed: &[EngineSession]) {
        let gone: Vec<String> = self
            .sessions
            .iter()
            .filter(|(id, session)| {
                session.live.is_none()
                    && session.record.held.is_some()
                    && self.is_at_engine(&session.record)
                    && !listed.iter().any(|other| other.session_id == **id)
            })
            .map(|(id, _)| id.clone())
            .collect();
        for session_id in gone {
            let end = self.gone_now(&session_id);
            let held = self.sessions.get_mut(&session_id).and_then(|session| session.record.held.as_mut());
            if let Some(held) = held {
                held.over = Some(end);
                self.state_changed = true;
            }
            self.tab_session_ended(&session_id);
        }
    }

    /// Whether a directory is one of the folders that the editor has open.
    pub(super) fn is_a_folder(&self, directory: &std::path::Path) -> bool {
        self.workspace.folders.iter().any(|folder| folder.path.as_deref() == Some(directory))
    }

    /// Lets the stream of the session go that was used longest ago and is idle, where too many are open. It is followed again,
    /// from what the journal has, when it is used again.
    fn rest_a_stream(&mut self, wanted: &str) {
        let streams = |live: &Live| !matches!(live.link, LinkState::Detached | LinkState::Over);
        let open = self.sessions.loaded().filter(|(id, _, live)| *id != wanted && streams(live));
        let open = open.map(|(id, session, live)| {
            let idle = !session.record.turn.is_open() && live.asks.is_empty();
            let in_front = self.clients.iter().any(|(_, client)| client.active.as_ref() == Some(id));
            let idle = idle && !in_front && !self.clients.is_selected(id);
            (idle, session.record.updated_at, id)
        });
        let open: Vec<_> = open.collect();
        if open.len() < STREAMS {
            return;
        }
        let oldest = open.into_iter().filter(|(idle, ..)| *idle).min_by_key(|(_, at, _)| *at);
        if let Some(session_id) = oldest.map(|(.., id)| id.clone()) {
            self.let_stream_go(&session_id);
        }
    }

    fn let_stream_go(&mut self, session_id: &str) {
        self.call_engine(session_id, EngineCall::Forget { session_id: session_id.to_owned() });
        self.release(session_id);
        if let Some(live) = self.live_mut(session_id) {
            live.link = LinkState::Detached;
        }
    }

    /// The tab of a session was closed. An agent is told, and ends it; of one that an engine keeps, what this process holds goes
    /// once nothing runs in it. Engines have no other close than to delete, which would take the history along.
    pub(super) fn close_session(&mut self, session_id: &str) {
        match self.traits_of(session_id).sessions {
            SessionHome::Engine => {
                if let Some(live) = self.live_mut(session_id) {
                    live.use_of_stream = UseOfStream::UntilTurnEnds;
                }
                self.rest_if_closed(session_id);
            }
            SessionHome::Agent | SessionHome::Here => {
                let call = AgentCall::CloseSession { session_id: session_id.to_owned() };
                self.call_engine(session_id, EngineCall::Agent(call));
            }
        }
    }

    /// Lets the stream of a session go whose tab was closed and in which nothing runs any more.
    pub(super) fn rest_if_closed(&mut self, session_id: &str) {
        let Ok(session) = self.known(session_id) else { return };
        let open = session.record.turn.is_open();
        let stands = |live: &&mut Live| {
            live.use_of_stream == UseOfStream::UntilTurnEnds
                && !matches!(live.link, LinkState::Detached | LinkState::Over)
        };
        if !open && self.live_mut(session_id).filter(stands).is_some() {
            self.let_stream_go(session_id);
        }
    }

    /// Asks the engine for the stream of a session, from what the journal has.
    pub(super) fn follow(&mut self, session_id: &str) {
        if !self.known(session_id).is_ok_and(|session| self.is_followed(&session.record)) {
            return;
        }
        // Another window that works on it hears the stream, and writes what it says.
        if self.hold(session_id).is_err() {
            return;
        }
        self.flush(session_id);
        self.rest_a_stream(session_id);
        let resume = self.traits_of(session_id).resume;
        let open_turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        let open_turn = open_turn.map(|number| AttachedTurn {
            number,
            allowed_last: self.allowed_last(session_id),
            undecided: self.undecided_changes(session_id),
        });
        let Some(live) = self.live_mut(session_id) else { return };
        live.link.open();
        live.use_of_stream = UseOfStream::Open;
        let cursor = live.cursor.clone().filter(|_| resume == StreamResume::Cursor);
        let call = StreamCall::Attach { session_id: session_id.to_owned(), cursor, open_turn };
        self.call_engine(session_id, EngineCall::Stream(call));
    }
}

impl App {
    /// The line of what was allowed, where it is the last thing in the transcript.
    fn allowed_last(&mut self, session_id: &str) -> Option<String> {
        let (page, _) = self.lane_page(session_id, Lane::Chat, None, LAST_BLOCKS).ok()?;
        let said = |block: &&Block| !matches!(block.body, BlockBody::Notice { .. });
        match &page.iter().rev().find(said)?.body {
            BlockBody::Permission { permission, status: PermissionStatus::Allowed, .. } => {
                Some(permission.title.clone())
            }
            _ => None,
        }
    }

    /// The changes that wait for the user under their own names, as the journal has them. One that was answered is done by whoever took
    /// the answer, or by nobody: the journal has the answer before anything is done.
    fn undecided_changes(&mut self, session_id: &str) -> Vec<AttachedChange> {
        let Some(live) = self.live_mut(session_id) else { return Vec::new() };
        let is_the_question = |ask: &&Ask| {
            ask.answered.is_none() && ask.permission.patch_id.as_ref() == Some(&ask.engine_request_id)
        };
        let changes = live.asks.values().filter(is_the_question).filter_map(|ask| {
            let proposal = ask.proposal.clone()?;
            Some(AttachedChange { id: ask.engine_request_id.clone(), proposal })
        });
        changes.collect()
    }
}

/// Runs, as the engine tells them: a run is what we call a turn.
impl App {
    /// The engine works: on the turn that we began, or on one that another client, or the engine itself, began.
    pub(super) fn run_begins(&mut self, session_id: &str, words: &str) {
        let open = self.known(session_id).is_ok_and(|session| session.record.turn.is_open());
        if !open {
            let Ok(record) = self.record_mut(session_id) else { return };
            record.last_turn += 1;
            record.turn = TurnState::running(record.last_turn);
            self.clients.prompters.turn_begins(session_id, Prompter::Nobody);
            self.begin_progress(session_id, words);
            self.state_changed = true;
        }
        // As they will be written: the view has our own prompt without secrets, too.
        let mut written = words.to_owned();
        self.redactor.scrub_text(&mut written);
        let whose = match self.live_mut(session_id) {
            _ if words.is_empty() => Whose::NotSaid,
            Some(live) if !live.view.may_be_echo(&written) => Whose::Anothers,
            _ => Whose::Ours,
        };
        self.change_turn(session_id, |turn| turn.prompt_begins(whose));
    }

    /// The engine works on the open turn.
    pub(super) fn turn_begun(&mut self, session_id: &str) {
        self.change_turn(session_id, TurnState::begins);
    }

    /// Changes the turn; the record is written again only where that changed something.
    fn change_turn(&mut self, session_id: &str, change: impl FnOnce(&mut TurnState)) {
        let Ok(session) = self.known(session_id) else { return };
        let mut turn = session.record.turn.clone();
        change(&mut turn);
        if turn != session.record.turn
            && let Ok(record) = self.record_mut(session_id)
        {
            record.turn = turn;
        }
    }

    /// The stream stands for the first time in this process, and everything that the engine did is known: a turn of the
    /// last process that the engine never began was lost on its way there.
    pub(super) fn settle_unsent(&mut self, session_id: &str) {
        let Ok(session) = self.known(session_id) else { return };
        if let TurnState::Unconfirmed(turn) = session.record.turn {
            let why = "breadboard-ls ended while this prompt was on its way, and the engine has not begun it so far; send it again if no answer comes.";
            self.turn_ended(session_id, turn.number, Some(why.into()));
        }
    }

    /// The engine took a prompt, told of another one, ended a run, and has begun nothing behind it for a while. It takes inputs
    /// in their order and at once, so that run was this prompt's, in words that nobody knows again. Where something runs, or
    /// the stream does not stand, there is nothing to conclude.
    pub(super) fn unclaimed(&mut self, session_id: &str, turn: u64) {
        let Ok(session) = self.known(session_id) else { return };
        let record = &session.record.turn;
        let passed = record.open() == Some(turn) && record.was_passed();
        let stands = self.live_mut(session_id).is_some_and(|live| matches!(live.link, LinkState::Up(_)));
        if !passed || !stands {
            return;
        }
        let now = self.ambient.now_ms();
        let failure = TurnFailure::new(UNCLAIMED, Retry::perhaps_taken(RetryWhen::Later));
        self.record_event(session_id, turn_end(turn, now, "no_end", &failure));
        self.change_turn(session_id, |turn| turn.ended(Some("no_end".to_owned())));
        self.turn_over(session_id, turn, None, false);
    }

    /// The engine ended a run. An end that belongs to the run before the one that is open ends nothing; but a newer engine
    /// takes a prompt that it has not begun out of its queue, and says no more of it than that it is `cancelled`.
    pub(super) fn run_ended(&mut self, session_id: &str, cancelled: bool) {
        self.last_run_is_over(session_id);
        let Ok(session) = self.known(session_id) else { return };
        match &session.record.turn {
            TurnState::Running(turn) | TurnState::Ended { turn, .. } => {
                self.turn_ended(session_id, turn.number, None);
            }
            TurnState::Sending(turn) | TurnState::Unconfirmed(turn) if cancelled && turn.stop != Stop::No => {
                self.turn_over(session_id, turn.number, None, true);
            }
            TurnState::Sending(_) | TurnState::Unconfirmed(_) => {
                self.change_turn(session_id, TurnState::run_before_ended);
            }
            TurnState::Idle | TurnState::Paused(_) => {}
        }
    }

    /// The engine works on no run that was given up here.
    pub(super) fn last_run_is_over(&mut self, session_id: &str) {
        if self.last_run(session_id) == LastRun::GivenUp
            && let Ok(record) = self.record_mut(session_id)
            && let Some(held) = record.held.as_mut()
        {
            held.last_run = LastRun::Ended;
        }
    }

    /// Whether the engine told of the end of the run before the one that is open.
    pub(super) fn last_run(&self, session_id: &str) -> LastRun {
        let held = self.known(session_id).ok().and_then(|session| session.record.held.as_ref());
        held.map(|held| held.last_run).unwrap_or_default()
    }
}
