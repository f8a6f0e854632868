//! What is said to a model and what comes back, in our own words.
//!
//! Owns the translation to the provider library's messages. Never sends.

use genai::chat::{
    ChatMessage, ChatRequest, MessageContent, StopReason, StreamEnd, Tool, ToolCall, ToolResponse,
};
use serde_json::Value;

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does and when to use it.
    pub description: &'static str,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

/// One call of a tool by the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Pairs the result with the call.
    pub call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments; a string when they are no JSON.
    pub arguments: Value,
}

/// A piece of a reply.
#[derive(Debug)]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// The reply is complete; the last piece.
    Finished(Finished),
}

/// A complete reply.
#[derive(Debug, Default)]
pub struct Finished {
    /// Tools the model wants to be called.
    pub calls: Vec<Call>,
    /// Tokens in and out, as the provider counted them.
    pub tokens_used: u64,
    /// Why the provider ended the reply before the model did, as a sentence.
    pub ended_early: Option<&'static str>,
    content: Option<MessageContent>,
    reasoning: Option<String>,
}

impl Finished {
    pub(super) fn read(end: StreamEnd) -> Self {
        let calls = end
            .captured_tool_calls()
            .unwrap_or_default()
            .into_iter()
            .map(|call| Call {
                call_id: call.call_id.clone(),
                name: call.fn_name.clone(),
                arguments: call.fn_arguments.clone(),
            })
            .collect();
        let tokens_used = end.captured_usage.as_ref().map_or(0, |usage| {
            let sum = usage.prompt_tokens.unwrap_or(0).saturating_add(usage.completion_tokens.unwrap_or(0));
            u64::try_from(usage.total_tokens.unwrap_or(sum)).unwrap_or(0)
        });
        let ended_early = match end.captured_stop_reason {
            Some(StopReason::MaxTokens(_)) => {
                Some("The model reached its length limit, so the answer ends here; ask for the rest.")
            }
            Some(StopReason::ContentFilter(_)) => {
                Some("The provider's content filter ended the answer here.")
            }
            Some(_) | None => None,
        };
        Self {
            calls,
            tokens_used,
            ended_early,
            content: end.captured_content,
            reasoning: end.captured_reasoning_content,
        }
    }
}

/// The conversation of one turn.
#[derive(Debug, Clone)]
pub struct Conversation {
    request: ChatRequest,
}

impl Conversation {
    /// A conversation with these rules and tools.
    pub fn new(system: &str, tools: &[ToolSpec]) -> Self {
        let tools: Vec<Tool> = tools
            .iter()
            .map(|tool| {
                Tool::new(tool.name).with_description(tool.description).with_schema(tool.parameters.clone())
            })
            .collect();
        Self { request: ChatRequest::default().with_system(system).with_tools(tools) }
    }

    /// The user speaks.
    pub fn user(&mut self, text: &str) {
        self.request.messages.push(ChatMessage::user(text));
    }

    /// What the model said in an earlier turn.
    pub fn assistant(&mut self, text: &str) {
        self.request.messages.push(ChatMessage::assistant(text));
    }

    /// What the model said in this turn, with its tool calls.
    pub fn replied(&mut self, reply: &Finished) {
        let content = reply
            .content
            .clone()
            .unwrap_or_else(|| MessageContent::from_tool_calls(reply.calls.iter().map(tool_call).collect()));
        let told = content.contains_reasoning_content();
        let message = ChatMessage::assistant(content);
        let message = if told { message } else { message.with_reasoning_content(reply.reasoning.clone()) };
        self.request.messages.push(message);
    }

    /// Results of tools, in the order of the calls.
    pub fn results(&mut self, results: Vec<(Call, String)>) {
        let responses = results
            .into_iter()
            .map(|(call, text)| ToolResponse::new(call.call_id, text).with_fn_name(call.name))
            .collect();
        self.request.messages.push(ChatMessage::tool(MessageContent::from_tool_responses(responses)));
    }

    pub(super) fn request(&self) -> ChatRequest {
        self.request.clone()
    }
}

fn tool_call(call: &Call) -> ToolCall {
    ToolCall {
        call_id: call.call_id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: call.arguments.clone(),
        thought_signatures: None,
    }
}
