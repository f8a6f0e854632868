//! The BreadBoard dialect's text in the words of the view: messages whole and in pieces, reasoning, echoes of prompts.
//!
//! Owns the field names and their old and new spellings. Never guesses which message a text belongs to.

use std::borrow::Cow;

use serde::Deserialize;

use super::Speech;
use super::loose::{Inside, Plain, Words};
use crate::domain::event::{EventClass, SessionEvent};
use crate::domain::view::cut;
use crate::domain::view::fingerprint::{key, short};

/// How a message begins that only repeats the results of its step, which stand in their own blocks.
const REPEATED_RESULTS: &str = "\n\nTool execution results:";
/// The longest name of a tag in front of the engine's own words.
const TAG: usize = 40;
/// One line of such words.
const REMARK: usize = 300;

/// Every text event. `delta` is a string; an object with `text` is read too.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow)]
    item_id: Plain<'a>,
    #[serde(borrow)]
    message_id: Plain<'a>,
    #[serde(borrow)]
    delta: Words<'a>,
    #[serde(borrow)]
    text: Words<'a>,
    #[serde(borrow)]
    message: Inside<Message<'a>>,
    #[serde(borrow)]
    source: Plain<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Plain<'a>,
    #[serde(borrow)]
    role: Plain<'a>,
    #[serde(borrow)]
    content: Words<'a>,
}

pub(super) fn speech<'a>(event: &'a SessionEvent) -> Speech<'a> {
    let Some(fields) = read::<Fields<'_>>(event) else { return Speech::Nothing };
    let id = fields.item_id.text().or_else(|| fields.message_id.text());
    // Two streams of reasoning may share an item; each is a text of its own.
    let named = |id: Option<Cow<'a, str>>| match stream(event) {
        "" => id.map(short),
        stream => id.map(|id| Cow::Owned(key(&format!("{stream}{id}")))),
    };
    let last = last_word(&event.kind);
    if last == "start" {
        return Speech::Start { id: named(id) };
    }
    if last == "end" {
        return Speech::End { id: named(id) };
    }
    if fields.delta.0.is_some() || last == "delta" {
        return match fields.delta.0.or(fields.text.0) {
            Some(text) => Speech::Piece { id: named(id), text },
            None => Speech::Nothing,
        };
    }
    let message = fields.message.0.unwrap_or_default();
    if message.role.text().is_some_and(|role| role != "assistant") {
        return Speech::Nothing;
    }
    match fields.text.0.or(message.content.0) {
        Some(text) if text.starts_with(REPEATED_RESULTS) => Speech::Nothing,
        Some(text) => Speech::Whole {
            id: named(id.or_else(|| message.id.text())),
            text,
            again: fields.source.text().is_some(),
        },
        None => Speech::Nothing,
    }
}

fn stream(event: &SessionEvent) -> &'static str {
    match event.class == EventClass::ReasoningStream && event.kind.contains("summary") {
        true => "summary:",
        false => "",
    }
}

pub(super) fn echo(event: &SessionEvent) -> Option<Cow<'_, str>> {
    let fields = read::<Fields<'_>>(event)?;
    fields.text.0.or(fields.message.0.unwrap_or_default().content.0)
}

/// What the engine tells its model in the middle of a run, under the type of a prompt: a tag in capitals, then what is
/// wrong. The echo of a prompt has no number of a step.
pub(super) fn remark(event: &SessionEvent) -> Option<String> {
    event.turn?;
    let said = echo(event)?;
    let (tag, rest) = said.trim_start().strip_prefix('<')?.split_once('>')?;
    let capitals = tag.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if tag.len() > TAG || !capitals || !(tag.ends_with("_ERROR") || tag.ends_with("_VIOLATION")) {
        return None;
    }
    let mut words = tag.to_ascii_lowercase().replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let first = rest.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("</"));
    Some(match first {
        Some(first) => cut::line(&format!("{words}: {first}"), REMARK),
        None => format!("{words}."),
    })
}

/// Reads the fields; a text that names one twice is read as a map, where the last one stands.
pub(super) fn read<'a, T: Deserialize<'a>>(event: &'a SessionEvent) -> Option<T> {
    event.payload.read().or_else(|| T::deserialize(&*event.payload).ok())
}

/// The last word of a type in either spelling: `delta` of `assistant.message.delta` and of `assistant_delta`.
pub(super) fn last_word(kind: &str) -> &str {
    kind.rsplit(['.', '_']).next().unwrap_or_default()
}
