//! `$/progress` for a running turn, with `window/workDoneProgress/cancel` (LSP 3.17, Work Done Progress).
//!
//! Owns the tokens. Best effort: an editor that does not read, or refuses the token, misses the progress and nothing else.

use serde_json::{Value, json};

use super::client::{Client, ClientId};
use super::editor_asks::PendingAsk;
use super::live::Progress;
use super::state::App;
use super::wire_out;
use crate::domain::shown::{Kind, show};

/// Characters of a message in a status line.
const MESSAGE_CHARS: usize = 60;

impl App {
    /// A turn begins.
    pub(super) fn begin_progress(&mut self, session_id: &str, prompt: &str) {
        for client in self.windows_of(session_id) {
            let Some(window) =
                self.clients.get_mut(client).filter(|client| client.abilities.work_done_progress)
            else {
                continue;
            };
            let token = format!("bb-turn-{}", self.ambient.fresh_id());
            let message: String =
                prompt.trim().lines().next().unwrap_or_default().chars().take(MESSAGE_CHARS).collect();
            let progress = Progress { token: token.clone(), begun: false, message };
            window.progress.insert(session_id.to_owned(), progress);
            let pending =
                PendingAsk::ProgressCreated { session_id: session_id.to_owned(), token: token.clone() };
            self.ask_editor(client, "window/workDoneProgress/create", &json!({ "token": token }), pending);
        }
    }

    pub(super) fn progress_created(
        &mut self,
        client: ClientId,
        session_id: &str,
        token: &str,
        outcome: Result<Value, Value>,
    ) {
        let Some(window) = self.clients.get_mut(client) else { return };
        // The turn may be over by now, or another one may run.
        let Some(progress) = window.progress.get_mut(session_id).filter(|progress| progress.token == token)
        else {
            return;
        };
        if outcome.is_err() {
            window.progress.remove(session_id);
            return;
        }
        progress.begun = true;
        let value = json!({ "kind": "begin", "title": "BreadBoard", "message": show(&progress.message, Kind::Sentence),
            "cancellable": true });
        window.tell_progress(&Value::from(token), &value);
    }

    /// A tool was called.
    pub(super) fn report_progress(&mut self, session_id: &str, name: &str) {
        for (_, client) in self.clients.iter() {
            if let Some(progress) = client.progress.get(session_id).filter(|progress| progress.begun) {
                let message: String = name.chars().take(MESSAGE_CHARS).collect();
                let value = json!({ "kind": "report", "message": show(&message, Kind::Code) });
                client.tell_progress(&Value::from(progress.token.as_str()), &value);
            }
        }
    }

    /// A turn is over.
    pub(super) fn end_progress(&mut self, session_id: &str) {
        for (_, client) in self.clients.iter_mut() {
            if let Some(progress) = client.progress.remove(session_id).filter(|progress| progress.begun) {
                client.tell_progress(&Value::from(progress.token), &json!({ "kind": "end" }));
            }
        }
    }

    /// The user pressed cancel on the progress.
    pub(super) fn progress_cancelled(&mut self, client: ClientId, token: &str) {
        let shown = self.clients.get(client).into_iter().flat_map(|client| &client.progress);
        let session_id =
            shown.filter(|(_, progress)| progress.token == token).map(|(id, _)| id.clone()).next();
        if let Some(session_id) = session_id {
            // The same as `bb/stop`.
            if let Err(error) = self.stop(&session_id) {
                tracing::warn!(?error, "a cancelled progress could not stop its turn");
            }
        }
    }
}

impl Client {
    /// One `$/progress`, under a token of ours or of the client's.
    pub(super) fn tell_progress(&self, token: &Value, value: &Value) {
        let sent =
            self.push(wire_out::notification("$/progress", &json!({ "token": token, "value": value })));
        if !sent {
            tracing::debug!("a progress message did not fit into the outbox");
        }
    }
}
