//! The permission requests of an agent, before the user sees them: completed with what the files hold now that the agent would
//! write over without saying so.
//!
//! Owns which files are read for an ask. Never reads one: `client_side` does, through the loop.

use serde_json::{Map, Value};

use super::agent::Agent;
use super::ask::{AskKind, PERMISSION};
use super::client_request::{Then, ToAsk};
use super::client_side::Job;
use super::writes::ToldCalls;
use crate::domain::dialect::acp::before::{FILES_BEFORE, FoundText, files_before};
use crate::domain::dialect::acp::decode::RpcId;
use crate::domain::edits::told::ToldEdit;
use crate::domain::payload::Payload;

/// Files that are read for one ask; agents ask for one or a few. Of more it is said that they were not read.
const FILES: usize = 16;

impl Agent {
    /// The agent asks. Where it gives a file a whole text and does not say what is there, that is read first.
    pub(super) fn asks(
        &mut self,
        session_id: &str,
        id: RpcId,
        method: &str,
        mut params: Payload,
        repaired: bool,
    ) {
        if params.get(FILES_BEFORE).is_some() {
            params.remove(FILES_BEFORE);
        }
        let edits = self.edits_asked_for(session_id, method, &params);
        let paths: Vec<String> = untold(&edits).into_iter().take(FILES).collect();
        if paths.is_empty() || self.rpc.is_waited_for(&id) || self.rpc.wanted.is_full() {
            return self.asks_with(session_id, id, method, params, repaired, Vec::new());
        }
        let to_ask = ToAsk { method: method.to_owned(), params, repaired, then: Then::Permit };
        self.order(session_id, id, Job::Look { paths }, Some(Box::new(to_ask)));
    }

    /// The same, with what was found in files.
    pub(super) fn asks_with(
        &mut self,
        session_id: &str,
        id: RpcId,
        method: &str,
        mut params: Payload,
        repaired: bool,
        mut found: Vec<(String, FoundText)>,
    ) {
        // The call may have told more meanwhile, and what is shown is what counts.
        let edits = self.edits_asked_for(session_id, method, &params);
        for path in untold(&edits) {
            if !found.iter().any(|(known, _)| *known == path) {
                found.push((path, FoundText::Unread("Look at it before you allow this.".to_owned())));
            }
        }
        if !found.is_empty() {
            params.insert(FILES_BEFORE.to_owned(), files_before(&found));
        }
        let edits = edits.into_iter().map(|edit| with_text(edit, &found)).collect();
        self.asks_user(session_id, id, method, params, repaired, AskKind::of(method, edits));
    }

    fn edits_asked_for(&self, session_id: &str, method: &str, params: &Payload) -> Vec<ToldEdit> {
        if method != PERMISSION {
            return Vec::new();
        }
        let nothing = Map::new();
        let call = params.get("toolCall").and_then(Value::as_object).unwrap_or(&nothing);
        let turn = self.sessions.get(session_id).and_then(|session| session.turn.as_ref());
        turn.map_or_else(|| ToldCalls::default().edits(call), |turn| turn.told.edits(call))
    }
}

/// The files that get a whole text, each once.
fn untold(edits: &[ToldEdit]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for edit in edits.iter().filter(|edit| edit.lacks_old()) {
        if !paths.contains(&edit.path) {
            paths.push(edit.path.clone());
        }
    }
    paths
}

fn with_text(edit: ToldEdit, found: &[(String, FoundText)]) -> ToldEdit {
    let of_file = found.iter().find(|(path, _)| *path == edit.path);
    match of_file {
        Some((_, FoundText::Text(text))) if edit.lacks_old() => edit.replacing(text),
        Some(_) | None => edit,
    }
}
