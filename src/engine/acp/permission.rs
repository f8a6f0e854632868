//! The permission requests of an agent, before the user sees them: completed with what the files hold now that the agent would
//! write over without saying so, and with the place of what it would replace.
//!
//! Owns which files are read for an ask. Never reads one: `client_side` does, through the loop.

use serde_json::{Map, Value};

use super::agent::Agent;
use super::ask::{AskKind, PERMISSION};
use super::client_request::{Then, ToAsk};
use super::client_side::Job;
use super::writes::ToldCalls;
use crate::domain::dialect::acp::before::{FILES_BEFORE, FoundPart, FoundText, PartPlace, files_before};
use crate::domain::dialect::acp::decode::RpcId;
use crate::domain::edits::told::{ToldChange, ToldEdit};
use crate::domain::payload::Payload;

/// Files that are read for one ask; agents ask for one or a few. Of more it is said that they were not read.
const FILES: usize = 16;

impl Agent {
    /// The agent asks. Where it gives a file a whole text and does not say what is there, or says a text that may be a part of the
    /// file, the file is read first.
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
        let paths: Vec<String> = files_of(&edits, needs_its_file).into_iter().take(FILES).collect();
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
        let parts = parts_of(&edits, &found);
        let untold = files_of(&edits, ToldEdit::lacks_old);
        found.retain(|(path, _)| untold.contains(path));
        for path in untold {
            if !found.iter().any(|(known, _)| *known == path) {
                found.push((path, FoundText::Unread("Look at it before you allow this.".to_owned())));
            }
        }
        if !found.is_empty() || !parts.is_empty() {
            params.insert(FILES_BEFORE.to_owned(), files_before(&found, &parts));
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

/// The files of some edits, each once.
fn files_of(edits: &[ToldEdit], of_those: impl Fn(&ToldEdit) -> bool) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for edit in edits.iter().filter(|edit| of_those(edit)) {
        if !paths.contains(&edit.path) {
            paths.push(edit.path.clone());
        }
    }
    paths
}

/// A diff says itself where it belongs.
fn needs_its_file(edit: &ToldEdit) -> bool {
    match edit.change {
        ToldChange::Replaced { .. } => true,
        ToldChange::Patched(_) => false,
    }
}

/// The places of the parts that are replaced. A text that is the whole of its file has none, and one of a file that could not be
/// read.
fn parts_of(edits: &[ToldEdit], found: &[(String, FoundText)]) -> Vec<FoundPart> {
    let part = |(difference, edit): (usize, &ToldEdit)| {
        let ToldChange::Replaced { old: Some(old), .. } = &edit.change else { return None };
        let text = found.iter().find_map(|(path, found)| match found {
            FoundText::Text(text) if *path == edit.path => Some(text),
            FoundText::Text(_) | FoundText::Nothing | FoundText::Unread(_) => None,
        })?;
        let is_part = !old.is_empty() && text != old;
        is_part.then(|| FoundPart { difference, place: PartPlace::of(text, old) })
    };
    edits.iter().enumerate().filter_map(part).collect()
}

fn with_text(edit: ToldEdit, found: &[(String, FoundText)]) -> ToldEdit {
    let of_file = found.iter().find(|(path, _)| *path == edit.path);
    match of_file {
        Some((_, FoundText::Text(text))) if edit.lacks_old() => edit.replacing(text),
        Some(_) | None => edit,
    }
}
