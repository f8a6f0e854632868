//! How one turn speaks: every message goes through here, and what was said is remembered for the turn's end.
//!
//! Owns the rule that the final message is the tokens put together and that every tool that began also ends. Never
//! decides what to say.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::ports::TurnPort;
use crate::domain::dialect::desktop::message::{
    FinalMetadata, RetrieveStage, ServerError, ServerErrorCode, ServerMessage, ThinkingPhase, ToolStatus,
};

/// A tool that began and has not ended.
#[derive(Debug, Clone)]
struct CallInOutput {
    call_id: String,
    tool_name: String,
    args: Map<String, Value>,
}

/// What was said and done in this turn.
#[derive(Debug, Default)]
struct OutputRecord {
    text: String,
    tokens_used: u64,
    files_modified: BTreeSet<String>,
    tools_used: Vec<String>,
    open: Vec<CallInOutput>,
}

/// The mouth of one turn.
pub(crate) struct TurnOutput<'a> {
    port: &'a dyn TurnPort,
    record: OutputRecord,
}

impl<'a> TurnOutput<'a> {
    /// A turn that has said nothing yet.
    pub(crate) fn new(port: &'a dyn TurnPort) -> Self {
        Self { port, record: OutputRecord::default() }
    }

    /// The world of this turn.
    pub(crate) fn port(&self) -> &'a dyn TurnPort {
        self.port
    }

    /// The answer so far.
    pub(crate) fn text(&self) -> &str {
        &self.record.text
    }

    /// Counts what the provider counted.
    pub(crate) fn count_tokens(&mut self, tokens: u64) {
        self.record.tokens_used = self.record.tokens_used.saturating_add(tokens);
    }

    /// A file was changed.
    pub(crate) fn file_modified(&mut self, path: &str) {
        self.record.files_modified.insert(path.to_owned());
    }

    /// Any other message.
    pub(crate) async fn say(&self, message: ServerMessage) {
        self.port.say(message).await;
    }

    /// What the agent is busy with.
    pub(crate) async fn thinking(&self, phase: ThinkingPhase, message: impl Into<String>) {
        self.say(ServerMessage::Thinking { phase, message: message.into() }).await;
    }

    /// How a search goes.
    pub(crate) async fn retrieving(
        &self,
        stage: RetrieveStage,
        results_count: u64,
        message: impl Into<String>,
    ) {
        self.say(ServerMessage::RetrieveStatus { stage, results_count, message: message.into() }).await;
    }

    /// A piece of the answer.
    pub(crate) async fn token(&mut self, token: String) {
        if token.is_empty() {
            return;
        }
        self.say(ServerMessage::Token { token: token.clone(), cumulative_text: None }).await;
        // After the await, so that a turn that is dropped in it has not counted what was not said.
        self.record.text.push_str(&token);
    }

    /// A piece of our own prose, line by line.
    pub(crate) async fn lines(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.token(line.to_owned()).await;
        }
    }

    /// A tool begins; gives the id that pairs its end with it.
    pub(crate) async fn tool_started(&mut self, tool_name: &str, args: Map<String, Value>) -> String {
        let call = CallInOutput { call_id: self.port.fresh_id(), tool_name: tool_name.to_owned(), args };
        self.say(execute(&call, ToolStatus::Started, Value::Null)).await;
        if !self.record.tools_used.iter().any(|name| name == tool_name) {
            self.record.tools_used.push(tool_name.to_owned());
        }
        let call_id = call.call_id.clone();
        self.record.open.push(call);
        call_id
    }

    /// A tool ended. `Err` is one sentence.
    pub(crate) async fn tool_ended(&mut self, call_id: &str, outcome: Result<Value, String>) {
        let Some(call) = self.record.open.iter().find(|call| call.call_id == call_id).cloned() else {
            return;
        };
        let (status, result) = match outcome {
            Ok(result) => (ToolStatus::Completed, result),
            Err(error) => (ToolStatus::Failed, json!({ "error": error })),
        };
        self.say(execute(&call, status, result)).await;
        self.record.open.retain(|call| call.call_id != call_id);
    }

    /// The turn ends with its answer.
    pub(crate) async fn end(mut self, success: bool) {
        self.close_tools("The turn ended first.").await;
        self.finish(success, false).await;
    }

    /// The user stopped the turn.
    pub(crate) async fn end_stopped(mut self) {
        self.close_tools("The user stopped the turn.").await;
        self.finish(false, true).await;
    }

    /// The turn ends with an error.
    pub(crate) async fn end_failed(
        mut self,
        code: ServerErrorCode,
        message: String,
        details: Map<String, Value>,
        recoverable: bool,
    ) {
        self.close_tools("The turn failed first.").await;
        self.say(ServerMessage::Error { error: ServerError { code, message, details, recoverable } }).await;
    }

    async fn close_tools(&mut self, why: &str) {
        for call in std::mem::take(&mut self.record.open) {
            self.say(execute(&call, ToolStatus::Failed, json!({ "error": why }))).await;
        }
    }

    async fn finish(self, success: bool, cancelled: bool) {
        let OutputRecord { text, tokens_used, files_modified, tools_used, .. } = self.record;
        let metadata = FinalMetadata {
            tokens_used,
            files_modified: files_modified.len() as u64,
            tools_used,
            success,
            cancelled,
        };
        self.port.say(ServerMessage::MessageFinal { message: text, metadata }).await;
    }
}

fn execute(call: &CallInOutput, status: ToolStatus, result: Value) -> ServerMessage {
    ServerMessage::ToolExecute {
        call_id: call.call_id.clone(),
        tool_name: call.tool_name.clone(),
        args: call.args.clone(),
        status,
        result,
    }
}
