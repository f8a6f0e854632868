//! Anthropic's messages.

use serde_json::{Value, json};

use super::super::bounds;
use super::super::conversation::{Conversation, Image, Message, Part, ToolResult};
use super::super::draft::{NewCall, StopReason};
use super::super::fault::ModelFault;
use super::super::json::Json;
use super::super::tuning::Tuning;
use super::{ReplyProgress, ReplyReader, reported};

/// API version, which every request must name.
pub(super) const VERSION: &str = "2023-06-01";

/// Longest replies by the beginning of a model's name, in tokens; a request must state one, and more than a model can is
/// refused.
const LENGTHS: [(&str, u32); 8] = [
    ("claude-3-opus", 4_096),
    ("claude-3-sonnet", 4_096),
    ("claude-3-haiku", 4_096),
    ("claude-3-5-", 8_192),
    ("claude-opus-4-0", 32_000),
    ("claude-opus-4-1", 32_000),
    ("claude-opus-4-2", 32_000),
    ("claude-2", 4_096),
];

/// What all other models can.
const LENGTH: u32 = 64_000;

pub(super) fn body(model: &str, conversation: &Conversation) -> Value {
    let mut messages = Vec::new();
    for message in &conversation.messages {
        match message {
            Message::User { text, images } if images.is_empty() => {
                messages.push(json!({ "role": "user", "content": text }));
            }
            Message::User { text, images } => {
                messages.push(json!({ "role": "user", "content": shown(text, images) }));
            }
            Message::Model(parts) => {
                let blocks: Vec<Value> = parts.iter().filter_map(block).collect();
                if !blocks.is_empty() {
                    messages.push(json!({ "role": "assistant", "content": blocks }));
                }
            }
            Message::Results(results) => {
                let blocks: Vec<Value> = results.iter().map(result).collect();
                messages.push(json!({ "role": "user", "content": blocks }));
            }
        }
    }
    let tools: Vec<Value> = conversation
        .tools
        .iter()
        .map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
        })
        .collect();
    let length =
        LENGTHS.iter().find(|(name, _)| model.starts_with(name)).map_or(LENGTH, |(_, length)| *length);
    // Tools and rules stand before everything else, so the mark behind the rules keeps both in the provider's cache.
    let system = json!([{ "type": "text", "text": conversation.system, "cache_control": CACHED }]);
    let mut body = json!({ "model": model, "stream": true, "max_tokens": length, "system": system });
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    cache(&mut messages);
    body["messages"] = Value::Array(messages);
    let Tuning { effort, temperature, .. } = conversation.tuning;
    match effort {
        // Reasoning takes no temperature, and its tokens are among those of the reply.
        Some(effort) if thinks(model) => {
            let budget = effort.tokens().min(length / 2);
            body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
        }
        Some(_) | None => {
            // Its scale ends at 1.
            if let Some(temperature) = temperature {
                body["temperature"] = json!(temperature.clamp(0.0, 1.0));
            }
        }
    }
    body
}

/// Whether a model of this name reasons when it is asked to.
fn thinks(model: &str) -> bool {
    !["claude-2", "claude-3-opus", "claude-3-sonnet", "claude-3-haiku", "claude-3-5-"]
        .iter()
        .any(|name| model.starts_with(name))
}

/// The mark up to which a provider keeps what it read.
const CACHED: Cached = Cached { kind: "ephemeral" };

#[derive(serde::Serialize)]
struct Cached {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// Messages at whose end what was read is kept: the last one for the next question, and the one before it, which was the last
/// one of the question before this.
const KEPT: usize = 2;

/// Marks the ends of the last questions and results. At most four marks are taken, of which the rules have one.
fn cache(messages: &mut [Value]) {
    let of_user = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in of_user.take(KEPT) {
        let content = &mut message["content"];
        if let Some(text) = content.as_str() {
            // A mark stands on a block.
            *content = json!([{ "type": "text", "text": text }]);
        }
        let last = content.as_array_mut().and_then(|blocks| blocks.last_mut());
        // Empty text takes none.
        if let Some(last) = last.filter(|block| block["text"] != "") {
            last["cache_control"] = json!(CACHED);
        }
    }
}

fn shown(text: &str, images: &[Image]) -> Vec<Value> {
    let seen = images.iter().map(|image| {
        json!({ "type": "image", "source": { "type": "base64", "media_type": image.mime, "data": &*image.data } })
    });
    let words = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
    seen.chain(words).collect()
}

fn result(result: &ToolResult) -> Value {
    let content = match result.images.as_slice() {
        [] => json!(result.text),
        images => Value::Array(shown(&result.text, images)),
    };
    json!({ "type": "tool_result", "tool_use_id": result.call_id, "content": content })
}

fn block(part: &Part) -> Option<Value> {
    match part {
        // Empty text is refused.
        Part::Text { text, .. } if text.is_empty() => None,
        Part::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        // So is reasoning without its signature.
        Part::Thinking { text, signature } => signature
            .as_ref()
            .map(|signature| json!({ "type": "thinking", "thinking": text, "signature": signature })),
        Part::Redacted { data } => Some(json!({ "type": "redacted_thinking", "data": data })),
        Part::Call(spoken) => Some(json!({ "type": "tool_use", "id": spoken.call.call_id,
            "name": spoken.call.name, "input": spoken.call.arguments_object() })),
    }
}

pub(super) fn event(event: Json<'_>, reply: &mut ReplyReader) -> Result<ReplyProgress, ModelFault> {
    let [kind, number, block, delta, used, message, error] =
        event.fields(["type", "index", "content_block", "delta", "usage", "message", "error"]);
    let kind = kind.and_then(Json::text).ok_or(ModelFault::Unreadable)?;
    match kind.as_str() {
        "message_start" => {
            if let Some(used) = message.and_then(|message| message.field("usage")) {
                usage(used, reply);
            }
        }
        "content_block_start" => {
            if let Some(block) = block {
                begin(block, place(number)?, reply)?;
            }
        }
        "content_block_delta" => {
            if let Some(delta) = delta {
                extend(delta, place(number)?, reply)?;
            }
        }
        "message_delta" => {
            if let Some(used) = used {
                usage(used, reply);
            }
            if let Some(reason) = delta.and_then(|delta| delta.field("stop_reason")?.text()) {
                reply.draft.stop = Some(match reason.as_str() {
                    "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
                    "refusal" => StopReason::Filter,
                    _ => StopReason::Done,
                });
            }
        }
        "message_stop" => return Ok(ReplyProgress::Complete),
        "error" => return Err(error.map_or(ModelFault::Reported(String::new()), reported)),
        _ => {}
    }
    Ok(ReplyProgress::More)
}

/// The provider's number of a block.
fn place(number: Option<Json<'_>>) -> Result<Option<u64>, ModelFault> {
    match number.map(Json::count) {
        None => Ok(None),
        Some(Some(number)) if number < bounds::PARTS as u64 => Ok(Some(number)),
        Some(Some(_) | None) => Err(ModelFault::CallIndex),
    }
}

fn begin(block: Json<'_>, number: Option<u64>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    let [kind, text, thinking, signature, data, id, name, input] =
        block.fields(["type", "text", "thinking", "signature", "data", "id", "name", "input"]);
    let text_of = |field: Option<Json<'_>>| field.and_then(Json::text);
    match text_of(kind).as_deref() {
        Some("text") => reply.text(text_of(text)),
        Some("thinking") => {
            reply.draft.begin_thinking()?;
            reply.thinking(text_of(thinking))?;
            match text_of(signature).filter(|signature| !signature.is_empty()) {
                Some(signature) => reply.draft.sign(&signature),
                None => Ok(()),
            }
        }
        Some("redacted_thinking") => reply.draft.redacted(text_of(data).unwrap_or_default()),
        Some("tool_use") => {
            // As a rule it is empty here and comes in pieces.
            let arguments = input.map(|input| input.raw()).filter(|input| !is_empty_object(input));
            let arguments = arguments.unwrap_or_default().to_owned();
            let (id, name) = (text_of(id), text_of(name).unwrap_or_default());
            reply.draft.call(number, NewCall { id, name, arguments, signature: None })
        }
        Some(_) | None => Ok(()),
    }
}

fn is_empty_object(text: &str) -> bool {
    text.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inside| inside.trim().is_empty())
}

fn extend(delta: Json<'_>, number: Option<u64>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    let [kind, text, thinking, signature, json] =
        delta.fields(["type", "text", "thinking", "signature", "partial_json"]).map(|field| field?.text());
    match kind.as_deref() {
        Some("text_delta") => reply.text(text),
        Some("thinking_delta") => reply.thinking(thinking),
        Some("signature_delta") => reply.draft.sign(&signature.unwrap_or_default()),
        Some("input_json_delta") => reply.draft.extend_call(number, &json.unwrap_or_default()),
        Some(_) | None => Ok(()),
    }
}

/// Counts come twice, and the later one is the whole. What was read from a cache is part of the question.
fn usage(used: Json<'_>, reply: &mut ReplyReader) {
    let [input, created, cached, output] = used
        .fields(["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"])
        .map(|count| count?.count());
    let usage = &mut reply.draft.usage;
    if let Some(input) = input {
        let read = cached.unwrap_or(0);
        usage.input = Some(input.saturating_add(created.unwrap_or(0)).saturating_add(read));
        usage.cached = Some(read);
    }
    usage.output = output.or(usage.output);
}
