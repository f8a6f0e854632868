//! What the BreadBoard dialect's texts say: messages whole and in pieces, reasoning, echoes of prompts.
//!
//! Owns the field names and their old and new spellings. Never guesses which message a text belongs to.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::words::is;
use crate::domain::cut;
use crate::domain::dialect::loose::{Inside, Members, Plain, Words};
use crate::domain::event::{EngineEvent, EventClass, EventRef};
use crate::domain::fact::{Fact, Prompt, Text, TextOf, TextPart, Voice};
use crate::domain::fingerprint::short;

/// How a message begins that only repeats the results of its step, which stand in their own blocks.
const REPEATED_RESULTS: &str = "\n\nTool execution results:";
/// The longest name of a tag in front of the engine's own words.
const TAG: usize = 40;
/// One line of such words.
const REMARK: usize = 300;

/// Every text event. `delta` is a string; an object with `text` is read too.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TextFields<'a> {
    #[serde(borrow)]
    item_id: Plain<'a>,
    #[serde(borrow)]
    message_id: Plain<'a>,
    #[serde(borrow)]
    delta: Words<'a>,
    #[serde(borrow)]
    text: Words<'a>,
    #[serde(borrow)]
    message: Inside<SaidMessage<'a>>,
    #[serde(borrow)]
    source: Plain<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SaidMessage<'a> {
    #[serde(borrow)]
    id: Plain<'a>,
    #[serde(borrow)]
    role: Plain<'a>,
    #[serde(borrow)]
    content: Words<'a>,
}

/// What an event of the assistant's text, or of its reasoning, says.
pub(super) fn text<'a>(event: EventRef<'a>) -> Fact<'a> {
    let Some(fields) = read::<TextFields<'_>>(event) else { return Fact::Nothing };
    let id = fields.item_id.text().or_else(|| fields.message_id.text());
    let reasons = event.class == EventClass::ReasoningStream;
    let voice = if reasons { Voice::Reasoning } else { Voice::Answer };
    let said = |id: Option<Cow<'a, str>>, part| {
        Fact::Text(Text { voice, of: TextOf::Message { id: id.map(short), stream: stream(event) }, part })
    };
    let last = last_word(event.kind);
    if last == "start" {
        return said(id, TextPart::Start);
    }
    if last == "end" {
        return said(id, TextPart::End);
    }
    if fields.delta.0.is_some() || last == "delta" {
        return match fields.delta.0.or(fields.text.0) {
            Some(text) => said(id, TextPart::Piece(text)),
            None => Fact::Nothing,
        };
    }
    let message = fields.message.0.unwrap_or_default();
    if message.role.text().is_some_and(|role| role != "assistant") {
        return Fact::Nothing;
    }
    match fields.text.0.or(message.content.0) {
        Some(text) if text.starts_with(REPEATED_RESULTS) => Fact::Nothing,
        // Reasoning has no pieces before its whole.
        Some(text) if reasons => said(id.or_else(|| message.id.text()), TextPart::Piece(text)),
        Some(text) => {
            let again = fields.source.text().is_some();
            said(id.or_else(|| message.id.text()), TextPart::Whole { text, again })
        }
        None => Fact::Nothing,
    }
}

/// Two streams of reasoning may share an item, or name none; each is a text of its own.
fn stream(event: EventRef<'_>) -> &'static str {
    match event.class == EventClass::ReasoningStream && event.kind.contains("summary") {
        true => "summary",
        false => "",
    }
}

/// The engine tells of a prompt, or tells its model something under that type.
pub(super) fn prompt(event: EventRef<'_>) -> Fact<'_> {
    let fields = read::<TextFields<'_>>(event);
    let words = fields.and_then(|fields| fields.text.0.or(fields.message.0.unwrap_or_default().content.0));
    let remark = words.as_deref().filter(|_| event.turn.is_some()).and_then(remark);
    Fact::Prompt(Prompt::Echo { words, remark })
}

/// The words of a prompt that the engine tells of.
pub fn told_prompt(event: &EngineEvent) -> Option<String> {
    if !is(&event.kind, "user_message") {
        return None;
    }
    let payload: &Map<String, Value> = &event.payload;
    let inner = || payload.object("message")?.string("content");
    payload.string("text").or_else(inner).map(str::to_owned)
}

/// What the engine tells its model in the middle of a run, under the type of a prompt: a tag in capitals, then what is
/// wrong. The echo of a prompt has no number of a step.
fn remark(said: &str) -> Option<String> {
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
pub(super) fn read<'a, T: Deserialize<'a>>(event: EventRef<'a>) -> Option<T> {
    event.payload.read().or_else(|| T::deserialize(&**event.payload).ok())
}

/// The last word of a type in either spelling: `delta` of `assistant.message.delta` and of `assistant_delta`.
pub(super) fn last_word(kind: &str) -> &str {
    kind.rsplit(['.', '_']).next().unwrap_or_default()
}
