//! OpenAI's chat completions, as OpenAI and servers that are compatible with it stream them.

use serde_json::{Value, json};

use super::super::bounds;
use super::super::conversation::{
    Conversation, Image, Message, Part, ToolResult, calls_of, text_of, thinking_of,
};
use super::super::draft::{NewCall, StopReason, TokenUsage};
use super::super::fault::ModelFault;
use super::super::json::Json;
use super::super::tuning::Tuning;
use super::{ReplyProgress, ReplyReader, SHOWN_BY_TOOLS, arguments_text, reported};

/// The data of the event behind the last one.
pub(super) const END: &[u8] = b"[DONE]";

/// Choices that are looked at for the first one; we ask for one.
const CHOICES: usize = 16;

pub(super) fn body(model: &str, conversation: &Conversation) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": conversation.system })];
    for message in &conversation.messages {
        match message {
            Message::User { text, images } if images.is_empty() => {
                messages.push(json!({ "role": "user", "content": text }));
            }
            Message::User { text, images } => {
                messages.push(json!({ "role": "user", "content": shown(text, images) }));
            }
            Message::Model(parts) => messages.push(assistant(parts)),
            Message::Results(results) => told(results, &mut messages),
        }
    }
    let tools: Vec<Value> = conversation
        .tools
        .iter()
        .map(|tool| {
            json!({ "type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters } })
        })
        .collect();
    let mut body = json!({ "model": model, "stream": true, "stream_options": { "include_usage": true } });
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    body["messages"] = Value::Array(messages);
    let Tuning { effort, temperature, .. } = conversation.tuning;
    if let Some(effort) = effort {
        body["reasoning_effort"] = json!(effort.as_str());
    }
    if let Some(temperature) = temperature {
        body["temperature"] = json!(temperature);
    }
    body
}

fn shown(text: &str, images: &[Image]) -> Vec<Value> {
    let words = json!({ "type": "text", "text": text });
    let seen = images.iter().map(|image| {
        let url = format!("data:{};base64,{}", image.mime, image.data);
        json!({ "type": "image_url", "image_url": { "url": url } })
    });
    std::iter::once(words).chain(seen).collect()
}

/// What was told of each call. This protocol shows images of the user only, so those of results come behind all of them.
fn told(results: &[ToolResult], messages: &mut Vec<Value>) {
    messages.extend(
        results
            .iter()
            .map(|result| json!({ "role": "tool", "tool_call_id": result.call_id, "content": result.text })),
    );
    let images: Vec<Image> = results.iter().flat_map(|result| result.images.clone()).collect();
    if !images.is_empty() {
        messages.push(json!({ "role": "user", "content": shown(SHOWN_BY_TOOLS, &images) }));
    }
}

fn assistant(parts: &[Part]) -> Value {
    let mut message = json!({ "role": "assistant", "content": text_of(parts) });
    let calls: Vec<Value> = calls_of(parts)
        .map(|spoken| {
            json!({ "type": "function", "id": spoken.call.call_id, "function": {
                "name": spoken.call.name, "arguments": spoken.call.arguments_text() } })
        })
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    // Some reasoning models refuse a call without the reasoning that led to it.
    let thinking = thinking_of(parts);
    if !thinking.is_empty() {
        message["reasoning_content"] = Value::String(thinking);
    }
    message
}

pub(super) fn event(event: Json<'_>, reply: &mut ReplyReader) -> Result<ReplyProgress, ModelFault> {
    if !event.is_object() {
        return Err(ModelFault::Unreadable);
    }
    let [error, choices, used, object] = event.fields(["error", "choices", "usage", "object"]);
    if let Some(error) = error {
        return Err(reported(error));
    }
    if object.and_then(Json::text).as_deref() == Some("error") {
        return Err(reported(event));
    }
    if let Some(used) = used {
        reply.draft.usage = usage(used);
    }
    let choices =
        choices.map_or(Some(Vec::new()), |choices| choices.items(CHOICES)).ok_or(ModelFault::Parts)?;
    let Some(choice) = choices.first() else { return Ok(ReplyProgress::More) };
    let [delta, reason, used] = choice.fields(["delta", "finish_reason", "usage"]);
    if let Some(used) = used {
        reply.draft.usage = usage(used);
    }
    if let Some(delta) = delta {
        take(delta, reply)?;
    }
    if let Some(reason) = reason.and_then(Json::text) {
        reply.draft.stop = Some(match reason.as_str() {
            "length" => StopReason::Length,
            "content_filter" => StopReason::Filter,
            _ => StopReason::Done,
        });
    }
    Ok(ReplyProgress::More)
}

fn take(delta: Json<'_>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    let [thought, thought_too, content, refusal, calls] =
        delta.fields(["reasoning_content", "reasoning", "content", "refusal", "tool_calls"]);
    reply.thinking(thought.or(thought_too).and_then(Json::text))?;
    if let Some(content) = content {
        match content.text() {
            Some(text) => reply.text(Some(text))?,
            None => chunks(content, reply)?,
        }
    }
    reply.text(refusal.and_then(Json::text))?;
    let calls =
        calls.map_or(Some(Vec::new()), |calls| calls.items(bounds::CALLS)).ok_or(ModelFault::Calls)?;
    calls.into_iter().try_for_each(|call| take_call(call, reply))
}

/// Content in parts, as Mistral sends it: text, and reasoning that is a list of texts.
fn chunks(content: Json<'_>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    for chunk in content.items(bounds::PARTS).ok_or(ModelFault::Parts)? {
        let [text, thinking] = chunk.fields(["text", "thinking"]);
        reply.text(text.and_then(Json::text))?;
        let thoughts = thinking.map_or(Some(Vec::new()), |thoughts| thoughts.items(bounds::PARTS));
        for thought in thoughts.ok_or(ModelFault::Parts)? {
            reply.thinking(thought.field("text").and_then(Json::text))?;
        }
    }
    Ok(())
}

fn take_call(call: Json<'_>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    let [index, id, function] = call.fields(["index", "id", "function"]);
    let number = match index {
        // Some compatible servers give none: an id then begins a call, and what has no id continues the last one.
        None => None,
        Some(index) => match index.count() {
            Some(index) if index <= bounds::CALLS as u64 => Some(index),
            Some(_) | None => return Err(ModelFault::CallIndex),
        },
    };
    let [name, arguments] = function.map_or([None; 2], |function| function.fields(["name", "arguments"]));
    let id = id.and_then(Json::text);
    let name = name.and_then(Json::text).unwrap_or_default();
    let arguments = arguments_text(arguments);
    let begins = match number {
        Some(number) => !reply.draft.has_call(number),
        None => id.is_some() || !name.is_empty(),
    };
    if begins {
        return reply.draft.call(number, NewCall { id, name, arguments, signature: None });
    }
    if id.is_some() || !name.is_empty() {
        reply.draft.name_call(number, id, &name)?;
    }
    reply.draft.extend_call(number, &arguments)
}

fn usage(used: Json<'_>) -> TokenUsage {
    let [input, output, total, hit] = used
        .fields(["prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens"])
        .map(|count| count?.count());
    let [details, cost] = used.fields(["prompt_tokens_details", "cost"]);
    let cached = details.and_then(|details| details.field("cached_tokens")?.count()).or(hit);
    // Some routers say what it cost.
    let cost =
        cost.and_then(|cost| cost.raw().parse::<f64>().ok()).filter(|cost| cost.is_finite() && *cost >= 0.0);
    TokenUsage { input, output, total, cached, cost }
}
