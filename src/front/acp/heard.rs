//! What the loop tells, as updates of the client's sessions.
//!
//! Owns the order: what was said of a turn is written before its end is answered, and each event is told once, however it comes.
//! What does not come as a notification is read from the journal.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::front::AcpFront;
use super::outbox::LoopEar;
use super::root::OpenRoot;
use super::session::{AcpSession, EventNews};
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::acp::agent_end::method;
use crate::domain::dialect::acp::agent_end::updates::{of_session, said, title};
use crate::domain::event::SessionEvent;
use crate::domain::fact::NoticeLevel;
use crate::domain::view::{Change, coalesce};
use crate::protocol::Request;
use crate::protocol::notification::{ConnectionParams, EventsParams, StateParams};
use crate::protocol::request::{ConnectionStatus, EventsReadParams, EventsReadResult};

/// Events that are read at once.
const PAGE: u64 = 500;

/// A message of the loop, before its params are looked at.
#[derive(Deserialize)]
struct HeardFromLoop<'a> {
    method: String,
    id: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl AcpFront {
    /// Hears a loop until it is gone.
    pub(super) async fn listen(self: Rc<Self>, open: Rc<OpenRoot>, mut ear: LoopEar) {
        while let Some(message) = ear.next().await {
            self.heard(&open, &message).await;
            if ear.owes_drained() {
                open.root.drained();
            }
        }
    }

    async fn heard(self: &Rc<Self>, open: &Rc<OpenRoot>, message: &[u8]) {
        let Ok(message) = serde_json::from_slice::<HeardFromLoop<'_>>(message) else { return };
        let params = message.params.map_or("{}", RawValue::get);
        if let Some(id) = message.id {
            return self.asked_by_loop(open, id, &message.method, params);
        }
        match message.method.as_str() {
            "bb/events" => {
                if let Ok(batch) = serde_json::from_str::<EventsParams>(params) {
                    self.events(batch).await;
                }
            }
            "bb/state" => {
                if let Ok(state) = serde_json::from_str::<StateParams>(params) {
                    self.titles(&state).await;
                }
            }
            "bb/connection" => {
                if let Ok(connection) = serde_json::from_str::<ConnectionParams>(params) {
                    self.connection(open, connection).await;
                }
            }
            _ => {}
        }
    }

    fn asked_by_loop(self: &Rc<Self>, open: &Rc<OpenRoot>, id: String, method: &str, params: &str) {
        let params: Value = serde_json::from_str(params).unwrap_or_default();
        let (front, open) = (Rc::clone(self), Rc::clone(open));
        if method == "workspace/applyEdit" {
            tokio::task::spawn_local(async move {
                let outcome = front.apply_edit(&open, &params).await;
                open.root.answered(id, Ok(outcome));
            });
            return;
        }
        let refused = serde_json::json!({ "code": -32601, "message": "This client has no such method." });
        open.root.answered(id, Err(refused));
    }

    async fn events(self: &Rc<Self>, batch: EventsParams) {
        let session = self.sessions.borrow().get(&batch.session_id).cloned();
        let Some(session) = session else { return };
        session.newest.set(session.newest.get().max(batch.to_seq));
        if session.behind.get() {
            return;
        }
        let next = session.seq.get() + 1;
        if batch.from_seq > next {
            return self.catch_up(&session).await;
        }
        let fresh: Vec<SessionEvent> = batch.events.into_iter().filter(|event| event.seq >= next).collect();
        self.take(&session, &fresh, true).await;
    }

    /// Reads what was not told, and asks what waits.
    pub(super) async fn catch_up(self: &Rc<Self>, session: &Rc<AcpSession>) {
        if let Err(error) = self.read_missed(session).await {
            session.begin_after(session.newest.get());
            self.tell_update(session, &said(self.abilities().notices, NoticeLevel::Warning, &error.message))
                .await;
        }
        self.ask_what_waits(session).await;
    }

    /// Reads what was not told from the journal, up to what the loop told last.
    ///
    /// # Errors
    /// It is not there any more.
    pub(super) async fn read_missed(self: &Rc<Self>, session: &Rc<AcpSession>) -> Result<(), CodedError> {
        session.behind.set(true);
        let outcome = loop {
            let from_seq = session.seq.get() + 1;
            let session_id = session.id.clone();
            let read = Request::EventsRead(EventsReadParams { session_id, from_seq, limit: Some(PAGE) });
            let page = match session.root.root.call::<EventsReadResult>(read).await {
                Ok(page) => page,
                Err(error) => break Err(error),
            };
            let is_last = page.events.is_empty()
                || (!page.has_more
                    && session.newest.get() <= page.events.last().map_or(0, |event| event.seq));
            self.take(session, &page.events, false).await;
            if is_last {
                break Ok(());
            }
        };
        session.behind.set(false);
        outcome
    }

    /// Takes events in and tells what they come to. `live`: the engine waits for what they ask.
    async fn take(self: &Rc<Self>, session: &Rc<AcpSession>, events: &[SessionEvent], live: bool) {
        let mut changes = Vec::new();
        for event in events {
            let (changed, news) = session.take(event);
            changes.extend(changed);
            if news.is_any() {
                self.tell_changes(session, std::mem::take(&mut changes)).await;
                self.heed(session, news, live).await;
            }
        }
        self.tell_changes(session, changes).await;
    }

    async fn heed(self: &Rc<Self>, session: &Rc<AcpSession>, news: EventNews, live: bool) {
        if let Some((message_id, seq)) = &news.begun {
            session.turn_begins(message_id, *seq);
        }
        if let Some(permission) = news.asks.filter(|_| live) {
            self.ask_client(session, &permission.request_id);
        }
        if let Some((request_id, allowed)) = &news.settled {
            self.ask_settled(session, request_id, *allowed).await;
        }
        if let Some(reason) = &news.over {
            self.turn_over(session, reason.as_deref()).await;
        }
        if news.choices && live {
            let (front, session) = (Rc::clone(self), Rc::clone(session));
            tokio::task::spawn_local(async move { front.tell_choices(&session).await });
        }
    }

    async fn tell_changes(&self, session: &Rc<AcpSession>, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        for change in coalesce(changes) {
            let told = session.updates.borrow_mut().of(&change);
            for update in &told {
                self.tell_update(session, update).await;
            }
        }
    }

    /// Tells an update of a session, where the client wants to hear of it.
    pub(super) async fn tell_update(&self, session: &AcpSession, update: &Value) {
        if !session.mute.get() {
            self.wire.tell(method::UPDATE, &of_session(&session.id, update)).await;
        }
    }

    async fn titles(&self, state: &StateParams) {
        for summary in &state.sessions {
            let session = self.sessions.borrow().get(&summary.session_id).cloned();
            let (Some(session), Some(named)) = (session, &summary.title) else { continue };
            let before = session.title.borrow_mut().replace(named.clone());
            if before.as_ref() != Some(named) {
                self.tell_update(&session, &title(named)).await;
            }
        }
    }

    /// Why an engine is not there, in the sessions that wait for it.
    async fn connection(&self, open: &Rc<OpenRoot>, connection: ConnectionParams) {
        let Some(why) = connection.last_error.filter(|_| connection.status == ConnectionStatus::Error) else {
            return;
        };
        let concerned = |session: &Rc<AcpSession>| {
            let named = connection.session_id.as_ref().is_none_or(|id| *id == session.id);
            named && session.is_busy() && Rc::ptr_eq(&session.root, open)
        };
        let waiting: Vec<Rc<AcpSession>> =
            self.sessions.borrow().values().filter(|session| concerned(session)).cloned().collect();
        for session in waiting {
            self.tell_update(&session, &said(self.abilities().notices, NoticeLevel::Info, &why)).await;
        }
    }
}
