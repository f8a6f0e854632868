//! Ollama's `/api/chat`: a JSON object a line.

use serde_json::{Value, json};

use super::super::bounds;
use super::super::conversation::{Conversation, Image, Message, Part, calls_of, text_of, thinking_of};
use super::super::draft::{NewCall, StopReason, TokenUsage};
use super::super::fault::ModelFault;
use super::super::json::Json;
use super::super::tuning::Tuning;
use super::{ReplyProgress, ReplyReader, SHOWN_BY_TOOLS, arguments_text, reported};

pub(super) fn body(model: &str, conversation: &Conversation) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": conversation.system })];
    for message in &conversation.messages {
        match message {
            Message::User { text, images } => messages.push(shown(text, images)),
            Message::Model(parts) => messages.push(assistant(parts)),
            Message::Results(results) => {
                messages.extend(results.iter().map(
                    |result| json!({ "role": "tool", "tool_name": result.name, "content": result.text }),
                ));
                let images: Vec<Image> = results.iter().flat_map(|result| result.images.clone()).collect();
                if !images.is_empty() {
                    messages.push(shown(SHOWN_BY_TOOLS, &images));
                }
            }
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
    let mut body = json!({ "model": model, "stream": true });
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    body["messages"] = Value::Array(messages);
    let Tuning { effort, temperature, window, .. } = conversation.tuning;
    // Its own default is a few thousand tokens, and it forgets the beginning without a word.
    body["options"] = json!({ "num_ctx": window });
    if let Some(temperature) = temperature {
        body["options"]["temperature"] = json!(temperature);
    }
    if let Some(effort) = effort {
        body["think"] = json!(effort.as_str());
    }
    body
}

fn shown(text: &str, images: &[Image]) -> Value {
    let mut message = json!({ "role": "user", "content": text });
    if !images.is_empty() {
        message["images"] = images.iter().map(|image| json!(&*image.data)).collect();
    }
    message
}

fn assistant(parts: &[Part]) -> Value {
    let mut message = json!({ "role": "assistant", "content": text_of(parts) });
    let thinking = thinking_of(parts);
    if !thinking.is_empty() {
        message["thinking"] = Value::String(thinking);
    }
    let calls: Vec<Value> = calls_of(parts)
        .map(|spoken| {
            json!({ "function": { "name": spoken.call.name, "arguments": spoken.call.arguments_object() } })
        })
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

pub(super) fn event(event: Json<'_>, reply: &mut ReplyReader) -> Result<ReplyProgress, ModelFault> {
    if !event.is_object() {
        return Err(ModelFault::Unreadable);
    }
    let [error, message, done, reason, input, output] =
        event.fields(["error", "message", "done", "done_reason", "prompt_eval_count", "eval_count"]);
    if let Some(error) = error {
        return Err(reported(error));
    }
    if let Some(message) = message {
        let [thinking, thinking_too, content, calls] =
            message.fields(["thinking", "reasoning_content", "content", "tool_calls"]);
        reply.thinking(thinking.or(thinking_too).and_then(Json::text))?;
        reply.text(content.and_then(Json::text))?;
        let calls =
            calls.map_or(Some(Vec::new()), |calls| calls.items(bounds::CALLS)).ok_or(ModelFault::Calls)?;
        for call in calls {
            let [id, function] = call.fields(["id", "function"]);
            let [name, arguments] =
                function.map_or([None; 2], |function| function.fields(["name", "arguments"]));
            let (id, name) = (id.and_then(Json::text), name.and_then(Json::text).unwrap_or_default());
            let arguments = arguments_text(arguments);
            reply.draft.call(None, NewCall { id, name, arguments, signature: None })?;
        }
    }
    if !done.is_some_and(Json::is_true) {
        return Ok(ReplyProgress::More);
    }
    let [input, output] = [input, output].map(|count| count?.count());
    reply.draft.usage = TokenUsage { input, output, ..TokenUsage::default() };
    reply.draft.stop = Some(match reason.and_then(Json::text).as_deref() {
        Some("length") => StopReason::Length,
        Some(_) | None => StopReason::Done,
    });
    Ok(ReplyProgress::Complete)
}
