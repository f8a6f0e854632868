//! A session of the client's: what it was told, the turn that it waits for, and what it was asked.
//!
//! Owns this state and the words between events and updates. Never sends anything.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;
use tokio::sync::oneshot;

use super::message::RpcFault;
use super::root::OpenRoot;
use crate::domain::approval::{Permission, PermissionStatus};
use crate::domain::dialect::acp::agent_end::updates::SpokenUpdates;
use crate::domain::dialect::{Dialect, fact};
use crate::domain::event::SessionEvent;
use crate::domain::fact::{Answered, Fact, Prompt, TurnReport};
use crate::domain::view::{Change, ViewState};

/// A session.
pub(super) struct AcpSession {
    pub(super) id: String,
    pub(super) root: Rc<OpenRoot>,
    dialect: Dialect,
    view: RefCell<ViewState>,
    pub(super) updates: RefCell<SpokenUpdates>,
    /// The last event that was taken in.
    pub(super) seq: Cell<u64>,
    /// The last event that the loop told of.
    pub(super) newest: Cell<u64>,
    /// Events are being read from the journal: those that the loop tells meanwhile come that way too.
    pub(super) behind: Cell<bool>,
    /// The client does not want to hear what is taken in.
    pub(super) mute: Cell<bool>,
    pub(super) turn: RefCell<Option<AcpTurn>>,
    /// Requests for permission that the client was asked or will be, with our id of it once it is on its way.
    pub(super) asks: RefCell<HashMap<String, Option<u64>>>,
    /// What the client was told of modes, options and commands.
    pub(super) offered: RefCell<OfferedChoices>,
    pub(super) title: RefCell<Option<String>>,
    /// Why the tool servers that the client named are not used, which it has not been told.
    pub(super) about_servers: RefCell<Option<String>>,
}

/// Modes, options and commands as the client knows them.
#[derive(Default, Clone, PartialEq)]
pub(super) struct OfferedChoices {
    pub(super) modes: Option<Value>,
    pub(super) options: Vec<Value>,
    pub(super) commands: Vec<Value>,
}

/// A prompt that the client waits for.
pub(super) struct AcpTurn {
    /// Its id.
    pub(super) message_id: String,
    /// Where its end goes.
    pub(super) done: oneshot::Sender<Result<Value, RpcFault>>,
    pub(super) phase: AcpTurnPhase,
    /// The client wants it stopped.
    pub(super) cancelled: bool,
}

/// How far a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcpTurnPhase {
    /// It has not been handed over.
    Preparing,
    /// It was, and waits behind another turn or for its engine.
    Sent,
    /// Its turn runs; the number of the event that began it.
    Begun(u64),
}

/// What an event means beyond the view.
#[derive(Default)]
pub(super) struct EventNews {
    /// A prompt of this client went to the engine.
    pub(super) begun: Option<(String, u64)>,
    /// The engine asks.
    pub(super) asks: Option<Box<Permission>>,
    /// A request was settled, and whether it was allowed.
    pub(super) settled: Option<(String, bool)>,
    /// A turn is over, with the engine's word for why.
    pub(super) over: Option<Option<String>>,
    /// Modes or commands changed.
    pub(super) choices: bool,
}

impl EventNews {
    /// Whether anything follows from the event.
    pub(super) fn is_any(&self) -> bool {
        self.begun.is_some()
            || self.asks.is_some()
            || self.settled.is_some()
            || self.over.is_some()
            || self.choices
    }
}

impl AcpSession {
    /// A session of which nothing was taken in.
    pub(super) fn new(id: &str, root: &Rc<OpenRoot>, dialect: Dialect, notices: bool) -> Self {
        Self {
            id: id.to_owned(),
            root: Rc::clone(root),
            dialect,
            view: RefCell::new(ViewState::default().speaking(dialect)),
            updates: RefCell::new(SpokenUpdates::new(&root.root.path, notices)),
            seq: Cell::new(0),
            newest: Cell::new(0),
            behind: Cell::new(false),
            mute: Cell::new(false),
            turn: RefCell::default(),
            asks: RefCell::default(),
            offered: RefCell::default(),
            title: RefCell::default(),
            about_servers: RefCell::default(),
        }
    }

    /// What was before this event is not there any more.
    pub(super) fn begin_after(&self, seq: u64) {
        // No more turns than events: ids of later ones are new.
        *self.view.borrow_mut() = ViewState::after(seq).speaking(self.dialect);
        self.seq.set(seq);
    }

    /// Takes an event in.
    pub(super) fn take(&self, event: &SessionEvent) -> (Vec<Change>, EventNews) {
        self.seq.set(event.seq);
        let news = news_of(self.dialect, event);
        (self.view.borrow_mut().apply(event), news)
    }

    /// The prompt under way is this one, and its turn began with this event.
    pub(super) fn turn_begins(&self, message_id: &str, seq: u64) {
        if let Some(turn) = self.turn.borrow_mut().as_mut().filter(|turn| turn.message_id == message_id) {
            turn.phase = AcpTurnPhase::Begun(seq);
        }
    }

    /// Whether the client waits for a turn.
    pub(super) fn is_busy(&self) -> bool {
        self.turn.borrow().is_some()
    }
}

fn news_of(dialect: Dialect, event: &SessionEvent) -> EventNews {
    let mut news = EventNews { asks: event.permission.clone(), ..EventNews::default() };
    match fact(dialect, event) {
        Fact::Prompt(Prompt::Sent { message_id: Some(id), .. }) => {
            news.begun = Some((id.to_owned(), event.seq))
        }
        Fact::Answered(Answered::Settled { request_id, status, .. }) => {
            news.settled = Some((request_id.to_owned(), status == PermissionStatus::Allowed));
        }
        Fact::TurnEnded(end) => {
            let last = !matches!(&end.report, TurnReport::Part(report) if !report.last);
            news.over = last.then(|| Some(end.reason.into_owned()));
        }
        Fact::TurnClosed(closed) => news.over = Some(Some(closed.reason.to_owned())),
        Fact::Mode(_) | Fact::Commands(_) => news.choices = true,
        _ => {}
    }
    news
}
