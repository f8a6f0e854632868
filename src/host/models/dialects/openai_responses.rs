//! OpenAI's responses, which newer models of OpenAI itself speak.

use serde_json::{Value, json};

use super::super::bounds;
use super::super::conversation::{Conversation, Delta, Image, Message, Part};
use super::super::draft::{NewCall, StopReason, TokenUsage};
use super::super::fault::ModelFault;
use super::super::json::Json;
use super::super::tuning::Tuning;
use super::{ReplyProgress, ReplyReader, reported};

/// The first version of the GPT family that is asked by this protocol.
const SINCE: u32 = 5;

/// Whether OpenAI offers this model by this protocol: GPT from version 5, and variants that have no other.
pub(super) fn is_spoken_by(name: &str) -> bool {
    let only_here = name.contains("-codex") || name.ends_with("-pro") || name.contains("-pro-");
    match name.strip_prefix("gpt-") {
        Some(rest) => {
            let version: String = rest.chars().take_while(char::is_ascii_digit).collect();
            only_here || version.parse().is_ok_and(|version: u32| version >= SINCE)
        }
        None => only_here || name.starts_with("codex-"),
    }
}

pub(super) fn body(model: &str, conversation: &Conversation) -> Value {
    let mut input = Vec::new();
    for message in &conversation.messages {
        match message {
            Message::User { text, images } if images.is_empty() => {
                input.push(json!({ "role": "user", "content": text }));
            }
            Message::User { text, images } => {
                input.push(json!({ "role": "user", "content": shown(text, images) }));
            }
            Message::Model(parts) => input.extend(parts.iter().filter_map(item)),
            Message::Results(results) => input.extend(results.iter().map(|result| {
                let output = match result.images.as_slice() {
                    [] => json!(result.text),
                    images => Value::Array(shown(&result.text, images)),
                };
                json!({ "type": "function_call_output", "call_id": result.call_id, "output": output })
            })),
        }
    }
    let tools: Vec<Value> = conversation
        .tools
        .iter()
        .map(|tool| {
            // Strict schemas know no optional argument.
            json!({ "type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.parameters, "strict": false })
        })
        .collect();
    // Nothing of a conversation is kept at the provider.
    let mut body =
        json!({ "model": model, "stream": true, "store": false, "instructions": conversation.system });
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    body["input"] = Value::Array(input);
    let Tuning { effort, temperature, .. } = conversation.tuning;
    if let Some(effort) = effort {
        body["reasoning"] = json!({ "effort": effort.as_str() });
    }
    if let Some(temperature) = temperature {
        body["temperature"] = json!(temperature);
    }
    body
}

fn shown(text: &str, images: &[Image]) -> Vec<Value> {
    let words = json!({ "type": "input_text", "text": text });
    let seen = images.iter().map(|image| {
        json!({ "type": "input_image", "image_url": format!("data:{};base64,{}", image.mime, image.data) })
    });
    std::iter::once(words).chain(seen).collect()
}

fn item(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text, .. } if text.is_empty() => None,
        Part::Text { text, .. } => Some(json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": text }] })),
        // Without its encrypted form the provider cannot know reasoning that it did not store.
        Part::Thinking { signature, .. } => signature
            .as_ref()
            .map(|sealed| json!({ "type": "reasoning", "summary": [], "encrypted_content": sealed })),
        Part::Redacted { .. } => None,
        Part::Call(spoken) => Some(json!({ "type": "function_call", "call_id": spoken.call.call_id,
            "name": spoken.call.name, "arguments": spoken.call.arguments_text() })),
    }
}

pub(super) fn event(event: Json<'_>, reply: &mut ReplyReader) -> Result<ReplyProgress, ModelFault> {
    let [kind, delta, number, item, response, arguments] =
        event.fields(["type", "delta", "output_index", "item", "response", "arguments"]);
    let kind = kind.and_then(Json::text).ok_or(ModelFault::Unreadable)?;
    match kind.as_str() {
        "response.output_text.delta" | "response.refusal.delta" => {
            reply.text(delta.and_then(Json::text))?;
        }
        // It goes back encrypted if at all, so it is passed on and not kept.
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
            if let Some(thought) = delta.and_then(Json::text).filter(|thought| !thought.is_empty()) {
                reply.deltas.push(Delta::Reasoning(thought));
            }
        }
        "response.output_item.added" => {
            if let Some(item) = item {
                begin(item, place(number)?, reply)?;
            }
        }
        "response.function_call_arguments.delta" => {
            let piece = delta.and_then(Json::text).unwrap_or_default();
            reply.draft.extend_call(place(number)?, &piece)?;
        }
        "response.function_call_arguments.done" => {
            if let Some(arguments) = arguments.and_then(Json::text) {
                reply.draft.complete_call(place(number)?, arguments)?;
            }
        }
        "response.output_item.done" => {
            if let Some(item) = item {
                end(item, place(number)?, reply)?;
            }
        }
        "response.completed" | "response.incomplete" => {
            finish(response.ok_or(ModelFault::Unreadable)?, reply)?;
            return Ok(ReplyProgress::Complete);
        }
        "response.failed" => {
            let error = response.and_then(|response| response.field("error"));
            return Err(error.map_or(ModelFault::Reported(String::new()), reported));
        }
        "error" => return Err(reported(event.field("error").unwrap_or(event))),
        _ => {}
    }
    Ok(ReplyProgress::More)
}

/// The provider's number of an item.
fn place(number: Option<Json<'_>>) -> Result<Option<u64>, ModelFault> {
    match number.map(Json::count) {
        None => Ok(None),
        Some(Some(number)) if number < bounds::PARTS as u64 => Ok(Some(number)),
        Some(Some(_) | None) => Err(ModelFault::CallIndex),
    }
}

fn begin(item: Json<'_>, number: Option<u64>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    let [kind, id, name, arguments] =
        item.fields(["type", "call_id", "name", "arguments"]).map(|field| field?.text());
    if kind.as_deref() != Some("function_call") {
        return Ok(());
    }
    let (name, arguments) = (name.unwrap_or_default(), arguments.unwrap_or_default());
    reply.draft.call(number, NewCall { id, name, arguments, signature: None })
}

fn end(item: Json<'_>, number: Option<u64>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    let [kind, arguments, sealed] =
        item.fields(["type", "arguments", "encrypted_content"]).map(|field| field?.text());
    match (kind.as_deref(), arguments, sealed) {
        (Some("function_call"), Some(arguments), _) => {
            if number.is_none_or(|number| !reply.draft.has_call(number)) {
                begin(item, number, reply)
            } else {
                reply.draft.complete_call(number, arguments)
            }
        }
        (Some("reasoning"), _, Some(sealed)) => {
            reply.draft.begin_thinking()?;
            reply.draft.sign(&sealed)
        }
        _ => Ok(()),
    }
}

fn finish(response: Json<'_>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    let [used, details, output] = response.fields(["usage", "incomplete_details", "output"]);
    if let Some(used) = used {
        let [input, output, total] =
            used.fields(["input_tokens", "output_tokens", "total_tokens"]).map(|count| count?.count());
        let cached =
            used.field("input_tokens_details").and_then(|details| details.field("cached_tokens")?.count());
        reply.draft.usage = TokenUsage { input, output, total, cached, cost: None };
    }
    let reason = details.and_then(|details| details.field("reason")?.text());
    reply.draft.stop = Some(match reason.as_deref() {
        Some("max_output_tokens") => StopReason::Length,
        Some("content_filter") => StopReason::Filter,
        Some(_) | None => StopReason::Done,
    });
    // The last event repeats the reply. A server that streams nothing before it is read from there.
    if reply.draft.is_empty()
        && let Some(output) = output
    {
        for item in output.items(bounds::PARTS).ok_or(ModelFault::Parts)? {
            begin(item, None, reply)?;
            let content =
                item.field("content").map_or(Some(Vec::new()), |content| content.items(bounds::PARTS));
            for piece in content.ok_or(ModelFault::Parts)? {
                let [kind, text] = piece.fields(["type", "text"]).map(|field| field?.text());
                if kind.as_deref() == Some("output_text") {
                    reply.text(text)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_spoken_by;

    #[test]
    fn newer_models_and_those_without_another_protocol_are_asked_by_this_one() {
        for name in ["gpt-5", "gpt-5.1-mini", "gpt-10", "gpt-4-codex", "o3-pro", "codex-mini-latest"] {
            assert!(is_spoken_by(name), "{name}");
        }
        for name in ["gpt-4o", "gpt-4.1", "gpt-3.5-turbo", "o3", "chatgpt-4o-latest", "gpt-oss-120b"] {
            assert!(!is_spoken_by(name), "{name}");
        }
    }
}
