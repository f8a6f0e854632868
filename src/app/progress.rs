//! `$/progress` for a running turn, with `window/workDoneProgress/cancel` (LSP 3.17, Work Done Progress).
//!
//! Owns the tokens. Best effort: an editor that does not read, or refuses the token, misses the progress and nothing else.

use serde_json::{Value, json};

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
        if !self.abilities.work_done_progress {
            return;
        }
        let token = format!("bb-turn-{}", self.ambient.fresh_id());
        let message: String =
            prompt.trim().lines().next().unwrap_or_default().chars().take(MESSAGE_CHARS).collect();
        if let Some(live) = self.live_mut(session_id) {
            live.progress = Some(Progress { token: token.clone(), begun: false, message });
        }
        let pending = PendingAsk::ProgressCreated { session_id: session_id.to_owned(), token: token.clone() };
        self.ask_editor("window/workDoneProgress/create", &json!({ "token": token }), pending);
    }

    pub(super) fn progress_created(&mut self, session_id: &str, token: &str, accepted: bool) {
        let Some(live) = self.live_mut(session_id) else { return };
        // The turn may be over by now, or another one may run.
        let Some(progress) = live.progress.as_mut().filter(|progress| progress.token == token) else {
            return;
        };
        if !accepted {
            live.progress = None;
            return;
        }
        progress.begun = true;
        let value = json!({ "kind": "begin", "title": "BreadBoard", "message": show(&progress.message, Kind::Sentence),
            "cancellable": true });
        self.progress(token, &value);
    }

    /// A tool was called.
    pub(super) fn report_progress(&mut self, session_id: &str, name: &str) {
        let Some(progress) = self.live_mut(session_id).and_then(|live| live.progress.clone()) else { return };
        if progress.begun {
            let message: String = name.chars().take(MESSAGE_CHARS).collect();
            self.progress(
                &progress.token,
                &json!({ "kind": "report", "message": show(&message, Kind::Code) }),
            );
        }
    }

    /// A turn is over.
    pub(super) fn end_progress(&mut self, session_id: &str) {
        let Some(progress) = self.live_mut(session_id).and_then(|live| live.progress.take()) else { return };
        if progress.begun {
            self.progress(&progress.token, &json!({ "kind": "end" }));
        }
    }

    /// The user pressed cancel on the progress.
    pub(super) fn progress_cancelled(&mut self, token: &str) {
        let session_id = self
            .sessions
            .iter()
            .find(|(_, session)| {
                session
                    .live
                    .as_ref()
                    .and_then(|live| live.progress.as_ref())
                    .is_some_and(|progress| progress.token == token)
            })
            .map(|(id, _)| id.clone());
        if let Some(session_id) = session_id {
            // The same as `bb/stop`.
            if let Err(error) = self.stop(&session_id) {
                tracing::warn!(?error, "a cancelled progress could not stop its turn");
            }
        }
    }

    fn progress(&self, token: &str, value: &Value) {
        self.progress_of(&Value::from(token), value);
    }

    /// One `$/progress`, under a token of ours or of the client's.
    pub(super) fn progress_of(&self, token: &Value, value: &Value) {
        let sent = self
            .outbox
            .push(wire_out::notification("$/progress", &json!({ "token": token, "value": value })));
        if !sent {
            tracing::debug!("a progress message did not fit into the outbox");
        }
    }
}
