//! What an agent may write through us without another question, and what it may not write at all.
//!
//! Owns the edits that tool calls told and that the user allowed at the agent in this turn, and which texts the agent knows. A write counts as asked when it
//! makes exactly what was shown; one that would drop what the user has not saved, and the agent never read, is no question.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde_json::{Map, Value};

use super::client_side::{KnownFile, WriteBase};
use crate::domain::dialect::acp::{ToldByCall, told_edits};
use crate::domain::edits::told::ToldEdit;

/// Calls of one turn whose edits are remembered until the agent asks for them; agents ask before the next few.
const CALLS: usize = 64;
/// Edits of one turn that were allowed and not written yet; agents write each before they ask for the next few.
const ALLOWED: usize = 64;
/// Files of one session whose texts an agent is known to have read; what is past that it has to read again.
const KNOWN: usize = 1_024;

/// Edits that the user allowed at the agent, in one turn.
#[derive(Debug, Default)]
pub(super) struct AllowedEdits(Vec<ToldEdit>);

impl AllowedEdits {
    /// The user allowed these.
    pub(super) fn add(&mut self, edits: Vec<ToldEdit>) {
        self.0.extend(edits);
        let over = self.0.len().saturating_sub(ALLOWED);
        self.0.drain(..over);
    }

    /// Whether this write makes what was allowed, or leaves the file as that made it. It counts once.
    pub(super) fn covers(
        &mut self,
        path: &Path,
        folder: Option<&Path>,
        base: &WriteBase,
        text: &str,
    ) -> bool {
        let now = base.now.as_ref().map(|(now, _)| now.as_str());
        let same = |told: &ToldEdit| is_at(told, path, folder);
        let fits = |told: &ToldEdit| now == Some(text) || told.makes_of(now).as_deref() == Some(text);
        if !self.0.iter().any(|told| same(told) && fits(told)) {
            return false;
        }
        // An edit may have been told in two ways.
        self.0.retain(|told| !same(told));
        true
    }
}

/// What the tool calls of one turn told that they change, oldest first: an agent may ask for a call by its id alone.
#[derive(Debug, Default)]
pub(super) struct ToldCalls(Vec<(String, ToldByCall)>);

impl ToldCalls {
    /// News of a call.
    pub(super) fn hear(&mut self, call: &Map<String, Value>) {
        let Some(id) = call.get("toolCallId").and_then(Value::as_str) else { return };
        let told = told_edits(call);
        if told == ToldByCall::default() {
            return;
        }
        let at = self.0.iter().position(|(known, _)| known == id);
        let earlier = at.map(|at| self.0.remove(at).1).unwrap_or_default();
        if self.0.len() >= CALLS {
            self.0.remove(0);
        }
        self.0.push((id.to_owned(), told.after(earlier)));
    }

    /// The edits of the call that a request names, with what it says itself.
    pub(super) fn edits(&self, call: &Map<String, Value>) -> Vec<ToldEdit> {
        let id = call.get("toolCallId").and_then(Value::as_str);
        let earlier = self.0.iter().find(|(known, _)| Some(known.as_str()) == id);
        told_edits(call).after(earlier.map(|(_, told)| told.clone()).unwrap_or_default()).edits()
    }
}

/// Whether an edit is told of this file. A path that leads up may lead anywhere.
fn is_at(told: &ToldEdit, path: &Path, folder: Option<&Path>) -> bool {
    let named = Path::new(&told.path);
    let named = match folder {
        Some(folder) if named.is_relative() => folder.join(named),
        Some(_) | None => named.to_path_buf(),
    };
    let leads_up = path.components().any(|part| part == Component::ParentDir);
    named == path && named.is_absolute() && !leads_up
}

/// The texts that an agent read or wrote through us, by file.
#[derive(Debug, Default)]
pub(super) struct KnownTexts(BTreeMap<(String, String), String>);

impl KnownTexts {
    /// The agent knows this one.
    pub(super) fn add(&mut self, file: KnownFile) {
        if self.0.len() >= KNOWN {
            self.0.clear();
        }
        self.0.insert((file.root, file.path), file.hash);
    }

    /// Whether writing this text would drop something that the user typed and the agent has not read.
    pub(super) fn would_drop(&self, base: &WriteBase, text: &str) -> bool {
        let Some((now, hash)) = base.now.as_ref().filter(|_| base.unsaved) else { return false };
        now != text && self.0.get(&(base.root.clone(), base.path.clone())) != Some(hash)
    }
}
