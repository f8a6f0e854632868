//! Gemini's `streamGenerateContent` as Server-Sent Events.

use serde_json::{Value, json};

use super::super::bounds;
use super::super::conversation::{Conversation, Image, Message, Part, ToolResult};
use super::super::draft::{NewCall, StopReason, TokenUsage};
use super::super::fault::ModelFault;
use super::super::json::Json;
use super::super::tuning::{ThinkingEffort, Tuning};
use super::{ReplyProgress, ReplyReader, arguments_text, reported};

/// Candidates that are looked at for the first one; we ask for one.
const CANDIDATES: usize = 16;

pub(super) fn body(model: &str, conversation: &Conversation) -> Value {
    let mut contents = Vec::new();
    for message in &conversation.messages {
        let (role, parts): (_, Vec<Value>) = match message {
            Message::User { text, images } => {
                ("user", std::iter::once(json!({ "text": text })).chain(images.iter().map(shown)).collect())
            }
            Message::Model(parts) => ("model", parts.iter().filter_map(part).collect()),
            Message::Results(results) => {
                let images = results.iter().flat_map(|result| &result.images).map(shown);
                ("user", results.iter().map(result).chain(images).collect())
            }
        };
        if !parts.is_empty() {
            contents.push(json!({ "role": role, "parts": parts }));
        }
    }
    let tools: Vec<Value> = conversation
        .tools
        .iter()
        .map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters })
        })
        .collect();
    let mut body = json!({ "systemInstruction": { "parts": [{ "text": conversation.system }] } });
    if !tools.is_empty() {
        body["tools"] = json!([{ "functionDeclarations": tools }]);
    }
    body["contents"] = Value::Array(contents);
    let Tuning { effort, temperature, .. } = conversation.tuning;
    let mut wanted = serde_json::Map::new();
    if let Some(temperature) = temperature {
        wanted.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(effort) = effort {
        // Models before the third count tokens, later ones have words, of which the middle one is not every model's.
        let thinking = match (model.contains("gemini-1") || model.contains("gemini-2"), effort) {
            (true, _) => json!({ "thinkingBudget": effort.tokens(), "includeThoughts": true }),
            (false, ThinkingEffort::Low) => json!({ "thinkingLevel": "low" }),
            (false, ThinkingEffort::Medium | ThinkingEffort::High) => json!({ "thinkingLevel": "high" }),
        };
        wanted.insert("thinkingConfig".to_owned(), thinking);
    }
    if !wanted.is_empty() {
        body["generationConfig"] = Value::Object(wanted);
    }
    body
}

fn shown(image: &Image) -> Value {
    json!({ "inlineData": { "mimeType": image.mime, "data": &*image.data } })
}

fn part(part: &Part) -> Option<Value> {
    let (mut value, signature) = match part {
        Part::Text { text, signature: None } if text.is_empty() => return None,
        Part::Text { text, signature } => (json!({ "text": text }), signature),
        // Its own summary of what it thought is not taken back; signatures stand on the other parts.
        Part::Thinking { .. } | Part::Redacted { .. } => return None,
        Part::Call(spoken) => {
            let mut call = json!({ "name": spoken.call.name, "args": spoken.call.arguments_object() });
            if let Some(id) = &spoken.provider_id {
                call["id"] = json!(id);
            }
            (json!({ "functionCall": call }), &spoken.signature)
        }
    };
    if let Some(signature) = signature {
        value["thoughtSignature"] = json!(signature);
    }
    Some(value)
}

fn result(result: &ToolResult) -> Value {
    let mut response = json!({ "name": result.name, "response": { "result": result.text } });
    if let Some(id) = &result.provider_id {
        response["id"] = json!(id);
    }
    json!({ "functionResponse": response })
}

pub(super) fn event(event: Json<'_>, reply: &mut ReplyReader) -> Result<ReplyProgress, ModelFault> {
    if !event.is_object() {
        return Err(ModelFault::Unreadable);
    }
    let [error, candidates, used, feedback] =
        event.fields(["error", "candidates", "usageMetadata", "promptFeedback"]);
    if let Some(error) = error {
        return Err(reported(error));
    }
    if let Some(used) = used {
        usage(used, reply);
    }
    if let Some(reason) = feedback.and_then(|feedback| feedback.field("blockReason")?.text()) {
        return Err(ModelFault::Reported(format!("it does not answer this question ({reason})")));
    }
    let candidates =
        candidates.map_or(Some(Vec::new()), |list| list.items(CANDIDATES)).ok_or(ModelFault::Parts)?;
    let Some(candidate) = candidates.first() else { return Ok(ReplyProgress::More) };
    let [content, reason] = candidate.fields(["content", "finishReason"]);
    let parts = content
        .and_then(|content| content.field("parts"))
        .map_or(Some(Vec::new()), |parts| parts.items(bounds::PARTS))
        .ok_or(ModelFault::Parts)?;
    parts.into_iter().try_for_each(|part| take(part, reply))?;
    // There is no other mark of the end.
    let Some(reason) = reason.and_then(Json::text) else { return Ok(ReplyProgress::More) };
    reply.draft.stop = Some(match reason.as_str() {
        "MAX_TOKENS" => StopReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            StopReason::Filter
        }
        _ => StopReason::Done,
    });
    Ok(ReplyProgress::Complete)
}

fn take(part: Json<'_>, reply: &mut ReplyReader) -> Result<(), ModelFault> {
    let [text, thought, signature, call] =
        part.fields(["text", "thought", "thoughtSignature", "functionCall"]);
    let (text, signature) = (text.and_then(Json::text), signature.and_then(Json::text));
    if let Some(call) = call {
        let [id, name, arguments] = call.fields(["id", "name", "args"]);
        let (id, name) = (id.and_then(Json::text), name.and_then(Json::text).unwrap_or_default());
        let arguments = arguments_text(arguments);
        return reply.draft.call(None, NewCall { id, name, arguments, signature });
    }
    if thought.is_some_and(Json::is_true) {
        return reply.thinking(text);
    }
    match signature {
        None => reply.text(text),
        Some(signature) => {
            let text = text.unwrap_or_default();
            reply.draft.signed_text(text.clone(), signature)?;
            if !text.is_empty() {
                reply.deltas.push(super::Delta::Text(text));
            }
            Ok(())
        }
    }
}

/// Counts come with every event, and the last one is the whole.
fn usage(used: Json<'_>, reply: &mut ReplyReader) {
    let [input, output, thoughts, total, cached] = used
        .fields([
            "promptTokenCount",
            "candidatesTokenCount",
            "thoughtsTokenCount",
            "totalTokenCount",
            "cachedContentTokenCount",
        ])
        .map(|count| count?.count());
    let output = output.map(|output| output.saturating_add(thoughts.unwrap_or(0))).or(thoughts);
    reply.draft.usage = TokenUsage { input, output, total, cached, cost: None };
}
