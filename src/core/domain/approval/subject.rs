//! What a permission request is about: the change, the command, the tool or the question, in words that belong to no engine.
//!
//! Owns the shape that clients draw, how it is made safe to show, and how it is cut to what a view may carry. The whole
//! subject stays in the ledger. Never reads an engine's payload: the dialects make subjects.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::change::FileChange;
use super::form::InputForm;
use crate::domain::cut;
use crate::domain::json_size::json_bytes;
use crate::domain::shown::{Kind, cut_marked, show};

/// Files that a cut subject names. More are in the whole one.
const FILES: usize = 64;
/// Bytes of the diffs of a cut subject, all files together: about what a person reads in a card.
const DIFFS: usize = 16 * 1024;
/// Bytes of a command, a question or a reason in a cut subject.
const WORDS: usize = 8 * 1024;
/// Bytes of the arguments of a tool in a cut subject.
const INPUT: usize = 8 * 1024;
/// Bytes of the variables of a command in a cut subject.
const VARIABLES: usize = 4 * 1024;

/// What would be done if a permission request were allowed. Text is safe to show once it is on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Kind and fields.
    #[serde(flatten)]
    pub action: Action,
    /// Why the engine wants it, where it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How the user can check an edit, in the engine's words, where it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    /// True when something was cut; `bb/permission/get` has all of it, and nothing may be allowed before that was shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// True when the engine never told what exactly it would do; then it can be allowed once only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// True for a command that goes on running after its turn, until it is stopped or its window is closed; then it can be allowed
    /// once only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// The kinds of subjects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Action {
    /// Files would be changed.
    Edit {
        /// Each file once, in the engine's order.
        files: Vec<FileChange>,
    },
    /// A command would run.
    Command {
        /// The command line, exact.
        command: String,
        /// Relative to the workspace root, `.` for the root; absolute outside of it.
        cwd: String,
        /// Variables that are set for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<Map<String, Value>>,
    },
    /// Another tool would be used.
    Tool {
        /// Its name, in the engine's words.
        name: String,
        /// The user's server of tools that it belongs to, where it is one of those.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<String>,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    /// The user is asked something.
    Question {
        /// What.
        text: String,
        /// What is to be filled in, or the address to visit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<InputForm>,
    },
}

impl Subject {
    /// One that the engine told completely.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            reason: None,
            acceptance_criteria: Vec::new(),
            truncated: false,
            unknown: false,
            kept: false,
        }
    }

    /// One of which the engine did not tell what exactly would be done.
    pub fn unknown(action: Action) -> Self {
        Self { unknown: true, ..Self::new(action) }
    }

    /// The same, with a reason that says something.
    pub fn because(self, reason: Option<&str>) -> Self {
        let reason = reason.filter(|reason| !reason.trim().is_empty()).map(str::to_owned);
        Self { reason: reason.or(self.reason), ..self }
    }

    /// One of files that would be changed: unknown where the text of one was not told.
    pub fn editing(files: Vec<FileChange>) -> Self {
        let unknown = files.iter().any(FileChange::is_untold);
        Self { unknown, ..Self::new(Action::Edit { files }) }
    }

    /// What the user is asked to fill in.
    pub fn form(&self) -> Option<&InputForm> {
        match &self.action {
            Action::Question { input, .. } => input.as_ref(),
            Action::Edit { .. } | Action::Command { .. } | Action::Tool { .. } => None,
        }
    }

    /// The subject as clients see it. Must be called once.
    pub fn shown(mut self) -> Self {
        make_safe(&mut self.reason, Kind::Lines);
        for criterion in &mut self.acceptance_criteria {
            *criterion = show(criterion, Kind::Lines).into_owned();
        }
        match &mut self.action {
            Action::Edit { files } => files.iter_mut().for_each(FileChange::make_safe),
            Action::Command { command, cwd, env } => {
                *command = show(command, Kind::Code).into_owned();
                *cwd = show(cwd, Kind::Code).into_owned();
                if let Some(env) = env {
                    *env = safe_map(std::mem::take(env));
                }
            }
            Action::Tool { name, server, input } => {
                *name = show(name, Kind::Code).into_owned();
                make_safe(server, Kind::Code);
                *input = input.take().map(safe_value);
            }
            Action::Question { text, input } => {
                *text = show(text, Kind::Lines).into_owned();
                *input = input.take().map(InputForm::shown);
            }
        }
        self
    }

    /// Gives each path to `place`, which says where it is: relative to a root, and in which.
    pub fn placed(mut self, place: impl Fn(&str) -> (String, Option<String>)) -> Self {
        match &mut self.action {
            Action::Edit { files } => files.iter_mut().for_each(|file| file.place(&place)),
            Action::Command { cwd, .. } => *cwd = place(cwd).0,
            Action::Tool { .. } | Action::Question { .. } => {}
        }
        self
    }

    /// What a view carries of it: some ten kilobytes. What was left out is said by `truncated`.
    pub fn cut(mut self) -> Self {
        let mut cut = false;
        if let Some(reason) = &mut self.reason {
            cut |= cut_words(reason, WORDS);
        }
        let mut left = WORDS;
        for criterion in &mut self.acceptance_criteria {
            cut |= cut_words(criterion, left);
            left = left.saturating_sub(criterion.len());
        }
        match &mut self.action {
            Action::Edit { files } => {
                cut |= files.len() > FILES;
                files.truncate(FILES);
                let mut left = DIFFS;
                for file in files {
                    file.cut(&mut left);
                    cut |= file.truncated;
                }
            }
            Action::Command { command, cwd, env } => {
                cut |= cut_words(command, WORDS) | cut_words(cwd, WORDS);
                if let Some(variables) = env.take() {
                    let whole = Value::Object(variables);
                    cut |= json_bytes(&whole) > VARIABLES;
                    *env = match cut::value(Cow::Owned(whole), VARIABLES) {
                        Value::Object(variables) => Some(variables),
                        Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::String(_)
                        | Value::Array(_) => None,
                    };
                }
            }
            Action::Tool { name, input, .. } => {
                cut |= cut_words(name, WORDS);
                if let Some(whole) = input.take() {
                    cut |= json_bytes(&whole) > INPUT;
                    *input = Some(cut::value(Cow::Owned(whole), INPUT));
                }
            }
            Action::Question { text, .. } => cut |= cut_words(text, WORDS),
        }
        self.truncated |= cut;
        self
    }

    /// Every text of it, for redaction.
    pub fn for_each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        self.reason.iter_mut().chain(&mut self.acceptance_criteria).for_each(&mut *change);
        match &mut self.action {
            Action::Edit { files } => files.iter_mut().for_each(|file| file.for_each_text(change)),
            Action::Command { command, cwd, env } => {
                change(command);
                change(cwd);
                env.iter_mut().flat_map(Map::values_mut).for_each(|value| texts_of(value, change));
            }
            Action::Tool { name, server, input } => {
                change(name);
                server.iter_mut().for_each(&mut *change);
                input.iter_mut().for_each(|value| texts_of(value, change));
            }
            Action::Question { text, input } => {
                change(text);
                if let Some(form) = input {
                    change(&mut form.message);
                    form.url.iter_mut().for_each(&mut *change);
                    form.schema.iter_mut().for_each(|value| texts_of(value, change));
                }
            }
        }
    }
}

/// Cuts a text that is safe to show; `true` when something was cut.
fn cut_words(text: &mut String, most: usize) -> bool {
    let is_long = text.len() > most;
    if is_long {
        *text = cut_marked(std::mem::take(text), most);
    }
    is_long
}

fn make_safe(text: &mut Option<String>, kind: Kind) {
    *text = text.take().map(|text| show(&text, kind).into_owned());
}

/// A value with every text and name in it made safe to show.
fn safe_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(show(&text, Kind::Lines).into_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(safe_value).collect()),
        Value::Object(map) => Value::Object(safe_map(map)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn safe_map(map: Map<String, Value>) -> Map<String, Value> {
    map.into_iter().map(|(name, value)| (show(&name, Kind::Code).into_owned(), safe_value(value))).collect()
}

fn texts_of(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts_of(item, change)),
        Value::Object(map) => map.values_mut().for_each(|value| texts_of(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
#[path = "subject_tests.rs"]
mod tests;
