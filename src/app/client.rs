//! A client: one connected editor, and everything that belongs to its window and to no other.
//!
//! Owns what is sent to it, what it can do, what it has open, what it follows and what it was asked. Sessions, rules, leases
//! and engines are shared by all clients and are not in here. What happens when one comes or goes is in `on_client`.
//! Tests: `tests/loop/clients.rs`.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::editor_asks::PendingAsk;
use super::inbox::EditorAbilities;
use super::live::Progress;
use super::plain::PlainEditor;
use super::ports::Outbox;
use super::prompter::Prompters;
use super::subscription::Subscription;
use super::tell::Unsaid;
use crate::domain::approval::NamedClient;
use crate::domain::coded_error::CodedError;
use crate::domain::edits::overlay::{Overlay, PositionEncoding};
use crate::protocol::notification::ConnectionParams;

/// Names a client for as long as it is connected. `Inbox::name_client` gives each name once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

impl ClientId {
    /// The client that connected as this one, counted from 0.
    pub(super) fn numbered(number: u64) -> Self {
        Self(number)
    }
}

/// What a client asked to hear.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hears {
    /// `bb/events`.
    pub(super) events: bool,
    /// `bb/view`.
    pub(super) view: bool,
    /// `bb/tab`.
    pub(super) tabs: bool,
}

/// One connected editor.
pub(super) struct Client {
    /// The one writer of its connection.
    pub(super) outbox: Arc<dyn Outbox>,
    pub(super) hears: Hears,
    /// Whether it uses the `bb/*` surface; a plain LSP editor is not sent `bb/state`.
    pub(super) greeted: bool,
    /// Whether `bb/state` changed since it was sent.
    pub(super) state_changed: bool,
    /// `maxLatencyMs` of `bb/init`: what the client said itself stands above every setting.
    pub(super) latency_wish: Option<u64>,
    /// Whether the user trusts the workspace in this window.
    pub(super) trusted: bool,
    pub(super) encoding: PositionEncoding,
    /// What it calls itself.
    pub(super) named: Option<NamedClient>,
    pub(super) abilities: EditorAbilities,
    /// Its open buffers.
    pub(super) overlay: Arc<Overlay>,
    /// Buffers whose unsaved text is not known, and that the user was told so; see `on_document`.
    pub(super) unknown_buffers: BTreeSet<String>,
    /// The session in front.
    pub(super) active: Option<String>,
    /// What it follows, by session.
    pub(super) follows: BTreeMap<String, Subscription>,
    /// Requests of ours that it has not answered.
    pub(super) asks: HashMap<String, PendingAsk>,
    pub(super) last_ask: u64,
    /// Sentences for the user that did not fit into the outbox.
    pub(super) unsaid: Unsaid,
    /// Connection news that did not fit into the outbox, at most one a session and kind.
    pub(super) connection_news: VecDeque<ConnectionParams>,
    /// Tokens of downloads whose progress was begun.
    pub(super) downloads: Vec<Value>,
    /// The work-done progress of turns that run, by session.
    pub(super) progress: BTreeMap<String, Progress>,
    /// What it has instead of a plugin of ours; `None` of one that has it, or uses `bb/*` itself.
    pub(super) plain: Option<Box<PlainEditor>>,
}

impl Client {
    pub(super) fn new(outbox: Arc<dyn Outbox>) -> Self {
        Self {
            outbox,
            hears: Hears { events: true, view: true, tabs: true },
            greeted: false,
            state_changed: false,
            latency_wish: None,
            trusted: false,
            encoding: PositionEncoding::default(),
            named: None,
            abilities: EditorAbilities::default(),
            overlay: Arc::new(Overlay::new()),
            unknown_buffers: BTreeSet::new(),
            active: None,
            follows: BTreeMap::new(),
            asks: HashMap::new(),
            last_ask: 0,
            unsaid: Unsaid::default(),
            connection_news: VecDeque::new(),
            downloads: Vec::new(),
            progress: BTreeMap::new(),
            plain: None,
        }
    }

    /// What it can do was announced. One without a plugin of ours understands nothing but LSP.
    pub(super) fn can(&mut self, abilities: EditorAbilities) {
        self.abilities = abilities;
        if abilities.plain.is_some() && !self.greeted {
            self.plain = Some(Box::default());
            self.hears = Hears { events: false, view: false, tabs: false };
        }
    }

    /// It uses the `bb/*` surface, and has its own way to show everything.
    pub(super) fn greet(&mut self) {
        self.greeted = true;
        if let Some(mut plain) = self.plain.take() {
            for (method, params, pending) in plain.take_later() {
                // It saves no document for us, so nothing comes back.
                drop(self.ask(method, &params, pending));
            }
            plain.leaves();
            self.hears = Hears { events: true, view: true, tabs: true };
        }
    }
}

/// All clients that are connected, in the order in which they came, and whose prompts are worked on.
#[derive(Default)]
pub(super) struct Clients {
    connected: BTreeMap<ClientId, Client>,
    pub(super) prompters: Prompters,
    /// The buffers of all clients as each of them sees them; made when they are asked for.
    seen: BTreeMap<Option<ClientId>, Arc<Overlay>>,
    /// Whether the embedded agent has not seen the buffers, or the trust, as they are.
    pub(super) scopes_changed: bool,
}

impl Clients {
    pub(super) fn insert(&mut self, id: ClientId, client: Client) {
        self.connected.insert(id, client);
        self.buffers_changed();
    }

    pub(super) fn remove(&mut self, id: ClientId) -> Option<Client> {
        self.buffers_changed();
        self.connected.remove(&id)
    }

    pub(super) fn get(&self, id: ClientId) -> Option<&Client> {
        self.connected.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        self.connected.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ClientId, &Client)> {
        self.connected.iter().map(|(id, client)| (*id, client))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (ClientId, &mut Client)> {
        self.connected.iter_mut().map(|(id, client)| (*id, client))
    }

    pub(super) fn ids(&self) -> Vec<ClientId> {
        self.connected.keys().copied().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.connected.len()
    }

    /// Whether a client has the trust of its user.
    pub(super) fn trusts(&self, id: ClientId) -> bool {
        self.get(id).is_some_and(|client| client.trusted)
    }

    /// Whether any client that is connected has it.
    pub(super) fn anyone_trusts(&self) -> bool {
        self.connected.values().any(|client| client.trusted)
    }

    /// How a client follows a session; `None`: it does not.
    pub(super) fn subscription(&mut self, id: ClientId, session_id: &str) -> Option<&mut Subscription> {
        self.get_mut(id)?.follows.get_mut(session_id)
    }

    /// Everyone who follows a session.
    pub(super) fn followers(&self, session_id: &str) -> impl Iterator<Item = (ClientId, &Subscription)> {
        self.iter().filter_map(move |(id, client)| Some((id, client.follows.get(session_id)?)))
    }

    /// The same, to be changed.
    pub(super) fn followers_mut(&mut self, session_id: &str) -> impl Iterator<Item = &mut Subscription> {
        self.connected.values_mut().filter_map(move |client| client.follows.get_mut(session_id))
    }

    /// Clients that follow a session and have not been told all of it.
    pub(super) fn behind(&self, session_id: &str) -> Vec<ClientId> {
        self.followers(session_id).filter(|(_, follows)| follows.owes()).map(|(id, _)| id).collect()
    }

    /// Whether a `bb/selectSession` waits for the stream of a session.
    pub(super) fn is_selected(&self, session_id: &str) -> bool {
        self.followers(session_id).any(|(_, follows)| !follows.selecting.is_empty())
    }

    /// A session is gone, for every client.
    pub(super) fn forget_session(&mut self, session_id: &str) {
        self.prompters.forget(session_id);
        for client in self.connected.values_mut() {
            client.progress.remove(session_id);
            if client.active.as_deref() == Some(session_id) {
                client.active = None;
            }
            let selecting = client.follows.remove(session_id).map(|follows| follows.selecting);
            for reply in selecting.unwrap_or_default() {
                reply.refuse(CodedError::unknown_session(session_id));
            }
        }
    }

    /// Clients in the order in which they are asked to do something for a session: the one that prompted its turn first, then
    /// as they came.
    pub(super) fn for_session(&self, session_id: &str) -> Vec<ClientId> {
        self.first(self.prompters.client_of(session_id))
    }

    fn first(&self, first: Option<ClientId>) -> Vec<ClientId> {
        let others = self.connected.keys().copied().filter(|id| Some(*id) != first);
        first.filter(|id| self.connected.contains_key(id)).into_iter().chain(others).collect()
    }

    /// A buffer was opened, changed or closed.
    pub(super) fn buffers_changed(&mut self) {
        self.seen.clear();
        self.scopes_changed = true;
    }

    /// The open buffers of all clients as one of them sees them: its own first, then those of the others as they came.
    pub(super) fn buffers(&mut self, seen_by: Option<ClientId>) -> Arc<Overlay> {
        let mut having = self.connected.values().filter(|client| !client.overlay.is_empty());
        match (having.next(), having.next()) {
            (None, _) => {
                return self
                    .connected
                    .values()
                    .next()
                    .map_or_else(Arc::default, |client| client.overlay.clone());
            }
            (Some(only), None) => return only.overlay.clone(),
            (Some(_), Some(_)) => {}
        }
        if let Some(seen) = self.seen.get(&seen_by) {
            return seen.clone();
        }
        let mut merged = Overlay::new();
        for id in self.first(seen_by) {
            if let Some(client) = self.get(id) {
                merged.lay_beneath(&client.overlay);
            }
        }
        let merged = Arc::new(merged);
        self.seen.insert(seen_by, merged.clone());
        merged
    }
}
