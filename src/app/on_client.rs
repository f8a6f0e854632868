//! What happens when a client connects, is trusted or not, and is gone.
//!
//! Owns whose trust counts: that of the client that decides, or that prompted. Never ends a session: what a client that left had
//! begun goes on for the others, and is there when it comes back.

use std::sync::Arc;

use super::client::{Client, ClientId};
use super::ports::{EngineCall, Outbox, TurnScope, TurnScopes};
use super::prompter::Prompter;
use super::state::App;
use crate::domain::edits::overlay::Overlay;
use crate::protocol::settings::EngineKind;

impl App {
    pub(super) fn client_connected(&mut self, id: ClientId, outbox: Arc<dyn Outbox>) {
        if self.redactor.knows_any() {
            outbox.hide_all(&self.redactor);
        }
        self.clients.insert(id, Client::new(outbox));
    }

    /// What waits for the client is withdrawn, and what it began goes on: turns run, permissions wait for the others, and its
    /// tabs wait for it.
    pub(super) fn client_gone(&mut self, id: ClientId) {
        let Some(mut client) = self.clients.remove(id) else { return };
        if let Some(plain) = client.plain.take() {
            plain.leaves();
        }
        for unsaved in client.withdraw_asks() {
            self.not_saved(&unsaved);
        }
        self.unsaved.left(id);
        self.clients.prompters.left(id, client.trusted);
        self.leave_tabs(id, client.trusted);
        self.leases.forget_requests_of(id);
        if client.latency_wish.is_some() {
            self.batch();
        }
    }

    /// `bb/workspaceTrust`.
    pub(super) fn trust(&mut self, id: ClientId, trusted: bool) {
        let Some(client) = self.clients.get_mut(id) else { return };
        client.trusted = trusted;
        client.state_changed = true;
        let anyone = self.clients.anyone_trusts();
        if !anyone {
            self.clients.prompters.distrust();
            self.distrust_tabs();
        }
        self.clients.scopes_changed = true;
        self.publish_scopes();
        for engine in self.engines() {
            engine.call(EngineCall::SetTrust { trusted: anyone });
        }
        self.allow_mcp(anyone);
        if !trusted && anyone {
            self.end_agents_turns_of(id);
        }
    }

    /// The engines hear of trust for the whole workspace, and others still give it. An agent writes and runs by itself, so a
    /// turn that has no trust any more is stopped.
    fn end_agents_turns_of(&mut self, client: ClientId) {
        let of_client = self.clients.prompters.turns().filter(|(_, by)| *by == Prompter::Client(client));
        let of_agents = of_client.map(|(session_id, _)| session_id.clone()).filter(|session_id| {
            self.known(session_id).is_ok_and(|session| session.record.engine == EngineKind::Acp)
        });
        for session_id in of_agents.collect::<Vec<_>>() {
            self.stop_turn(&session_id, "the window that prompted it is not trusted any more");
            self.flush(&session_id);
        }
    }

    /// Whether what is done on somebody's word is trusted.
    pub(super) fn trusts(&self, by: Prompter) -> bool {
        match by {
            Prompter::Client(client) => self.clients.trusts(client),
            Prompter::Left { trusted } => trusted,
            Prompter::Nobody => self.clients.anyone_trusts(),
        }
    }

    /// Whether the turn of a session is trusted: by the client that prompted it.
    pub(super) fn turn_trusted(&self, session_id: &str) -> bool {
        self.trusts(self.clients.prompters.of_turn(session_id))
    }

    /// Open buffers as a client sees them.
    pub(super) fn buffers_for(&mut self, client: ClientId) -> Arc<Overlay> {
        self.clients.buffers(Some(client))
    }

    /// Shows the embedded agent buffers and trust as they are. Done once for all changes that came together: taking a picture
    /// of ten thousand buffers costs a millisecond.
    pub(super) fn publish_scopes(&mut self) {
        if !std::mem::take(&mut self.clients.scopes_changed) {
            return;
        }
        let files = &self.settings.standing.files;
        let shared = TurnScope {
            overlay: self.clients.buffers(None),
            trusted: self.clients.anyone_trusts(),
            files: Arc::clone(files),
        };
        let turns: Vec<(String, Prompter)> =
            self.clients.prompters.turns().map(|(session_id, by)| (session_id.clone(), by)).collect();
        let turns = turns.into_iter().map(|(session_id, by)| {
            let client = self.clients.prompters.client_of(&session_id);
            let (overlay, trusted) = (self.clients.buffers(client), self.trusts(by));
            let scope = TurnScope { overlay, trusted, files: Arc::clone(&self.settings.standing.files) };
            (session_id, scope)
        });
        let scopes = TurnScopes { shared, turns: turns.collect() };
        self.scopes.send_replace(Arc::new(scopes));
    }
}
