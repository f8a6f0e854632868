//! How one turn speaks: every message goes through here, and what was said is remembered for the turn's end.
//!
//! Owns the rule that the final message is the tokens put together and that every tool that began also ends. Never
//! decides what to say.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::budget::{TurnBudget, TurnSpent};
use super::models::{Finished, Image};
pub(crate) use super::ports::SentenceLevel;
use super::ports::TurnPort;
use super::request::ModelInUse;
use crate::domain::dialect::desktop::message::{
    FinalMetadata, PatchProposed, RetrieveStage, ServerError, ServerErrorCode, ServerMessage, SessionState,
    ToolStatus,
};
use crate::domain::steps::{AskedStep, CallInOutput, EffectAsked, PausedTurn, Tally, TurnStep};

/// Bytes of an answer that a model hears of again with later prompts, which is more than one writes at a time; of a longer one its
/// two ends. The chat has all of it.
const REMEMBERED: usize = 32 * 1024;

/// What was said and done in this turn.
#[derive(Debug, Default)]
struct OutputRecord {
    text: String,
    /// Bytes of `text` that stand in a step.
    journalled: usize,
    spent: TurnSpent,
    files_modified: BTreeSet<String>,
    tools_used: Vec<String>,
    open: Vec<CallInOutput>,
    /// How far the turn is, and what waits in it.
    state: SessionState,
    /// Images of the call that runs.
    shown: Vec<Image>,
    /// Whether the model sees them.
    sees: bool,
}

/// The mouth of one turn.
pub(crate) struct TurnOutput<'a> {
    port: &'a dyn TurnPort,
    record: OutputRecord,
    /// Held while an allowed change is written and until that is told: a stop waits for it, so that none is made in part.
    write: Arc<Mutex<()>>,
    writing: Option<OwnedMutexGuard<()>>,
}

impl<'a> TurnOutput<'a> {
    /// A turn that has said nothing yet.
    pub(crate) fn new(port: &'a dyn TurnPort) -> Self {
        let state = SessionState { current_step: 1, total_steps: 1, ..SessionState::default() };
        Self::with(port, OutputRecord { state, ..OutputRecord::default() })
    }

    fn with(port: &'a dyn TurnPort, record: OutputRecord) -> Self {
        Self { port, record, write: Arc::default(), writing: None }
    }

    /// A turn that an earlier process began, as it stood when it asked.
    pub(crate) fn going_on(port: &'a dyn TurnPort, turn: &PausedTurn) -> Self {
        let Tally { tokens_used, files_modified, tools_used, steps, cost, raised } = turn.asked.tally.clone();
        let record = OutputRecord {
            text: turn.said.clone(),
            journalled: turn.said.len(),
            spent: TurnSpent { steps, tokens: tokens_used, cost, raised },
            files_modified: files_modified.into_iter().collect(),
            tools_used,
            open: vec![turn.asked.call.clone()],
            state: SessionState {
                pending_approvals: vec![turn.asked.request_id.clone()],
                current_step: 1,
                total_steps: 1,
                ..SessionState::default()
            },
            shown: Vec::new(),
            sees: false,
        };
        Self::with(port, record)
    }

    /// What is held while a change is written.
    pub(crate) fn write(&self) -> Arc<Mutex<()>> {
        Arc::clone(&self.write)
    }

    /// An allowed change is written from here on, until its call ends.
    pub(crate) async fn writing(&mut self) {
        self.writing = None;
        self.writing = Some(Arc::clone(&self.write).lock_owned().await);
    }

    /// The world of this turn.
    pub(crate) fn port(&self) -> &'a dyn TurnPort {
        self.port
    }

    /// The answer so far.
    pub(crate) fn text(&self) -> &str {
        &self.record.text
    }

    /// What the turn used so far.
    pub(crate) fn spent(&self) -> &TurnSpent {
        &self.record.spent
    }

    /// The user lets it go on for as long again.
    pub(crate) fn raise_budget(&mut self) {
        self.record.spent.raised += 1;
    }

    /// Counts what the provider counted of a reply, and what it cost.
    pub(crate) fn count(&mut self, model: &ModelInUse, reply: &Finished) {
        let spent = &mut self.record.spent;
        spent.tokens = spent.tokens.saturating_add(reply.tokens_used);
        let cost = reply.usage.cost.or_else(|| Some(model.tuning.price?.of(reply.usage)));
        if let Some(cost) = cost {
            spent.cost = Some(spent.cost.unwrap_or(0.0) + cost);
        }
        self.record.state.tokens_used = Some(spent.tokens).filter(|tokens| *tokens > 0);
        self.record.state.cost = spent.cost;
    }

    /// How much the model reads again with the next question, of what it can.
    pub(crate) fn fills(&mut self, tokens: u64, window: u64) {
        self.record.state.context_tokens = Some(tokens);
        self.record.state.context_window = Some(window);
    }

    /// A step of the loop begins: the model is asked. The first one is the turn's own beginning, and goes without saying.
    pub(crate) async fn step_begins(&mut self, budget: &TurnBudget) {
        let spent = &mut self.record.spent;
        spent.steps += 1;
        let step = spent.steps;
        // Without a bound it is the step that it is at.
        let of = budget.steps_allowed(spent.raised).unwrap_or(step);
        (self.record.state.current_step, self.record.state.total_steps) = (step, of);
        if step > 1 {
            self.say_state().await;
        }
    }

    /// A sentence for the user that is no part of the answer.
    pub(crate) async fn notice(&mut self, level: SentenceLevel, text: String) {
        self.port.notice(level, text).await;
    }

    /// The same, once in a session.
    pub(crate) async fn notice_once(&mut self, text: String) {
        if self.port.is_news(&text) {
            self.port.notice(SentenceLevel::Info, text).await;
        }
    }

    /// The model sees this with what it is told of the call that runs.
    pub(crate) fn shows(&mut self, image: Image) {
        self.record.shown.push(image);
    }

    /// What the model sees of the call that is over.
    pub(crate) fn take_shown(&mut self) -> Vec<Image> {
        std::mem::take(&mut self.record.shown)
    }

    /// Whether the model of this turn sees images.
    pub(crate) fn sees(&self) -> bool {
        self.record.sees
    }

    /// The model of this turn sees images, or does not.
    pub(crate) fn set_sees(&mut self, sees: bool) {
        self.record.sees = sees;
    }

    /// A step that stands for itself.
    pub(crate) async fn step(&mut self, step: TurnStep) {
        self.port.step(step).await;
    }

    /// A patch is proposed, which waits for a decision.
    pub(crate) async fn proposes(&mut self, patch: PatchProposed) {
        self.record.state.pending_patches.push(patch.patch_id.clone());
        self.say(ServerMessage::PatchProposed(patch)).await;
    }

    /// Nothing waits any more.
    pub(crate) async fn settled(&mut self) {
        let state = &mut self.record.state;
        let waited = !(state.pending_approvals.is_empty() && state.pending_patches.is_empty());
        state.pending_approvals.clear();
        state.pending_patches.clear();
        if waited {
            self.say_state().await;
        }
    }

    async fn say_state(&self) {
        self.say(ServerMessage::SessionState { state: self.record.state.clone() }).await;
    }

    /// A file was changed; gives whether it is the first time in this turn.
    pub(crate) fn file_modified(&mut self, path: &str) -> bool {
        let applied = std::mem::take(&mut self.record.state.pending_patches);
        self.record.state.applied_patches.extend(applied);
        self.record.files_modified.insert(path.to_owned())
    }

    /// What this turn changed in a file was taken back.
    pub(crate) fn file_taken_back(&mut self, path: &str) {
        self.record.files_modified.remove(path);
    }

    /// The last patch that was applied was taken back in all of its files.
    pub(crate) fn patch_taken_back(&mut self) {
        self.record.state.applied_patches.pop();
    }

    /// The model replied and wants calls to be made.
    pub(crate) async fn step_replied(&mut self, reply: &Finished) {
        let said = self.unjournalled();
        self.port.step(TurnStep::Replied { said, parts: reply.parts() }).await;
    }

    /// The tool that began last asks the user.
    pub(crate) async fn step_asked(&mut self, request_id: &str, effect: EffectAsked) {
        let Some(call) = self.record.open.last().cloned() else { return };
        let tally = Tally {
            tokens_used: self.record.spent.tokens,
            steps: self.record.spent.steps,
            cost: self.record.spent.cost,
            raised: self.record.spent.raised,
            files_modified: self.record.files_modified.iter().cloned().collect(),
            tools_used: self.record.tools_used.clone(),
        };
        let said = self.unjournalled();
        let request_id = request_id.to_owned();
        self.record.state.pending_approvals = vec![request_id.clone()];
        let asked = AskedStep { request_id, effect, call, said, tally };
        self.port.step(TurnStep::Asked(Box::new(asked))).await;
        self.say_state().await;
    }

    /// What was asked for is allowed, and is done next.
    pub(crate) async fn step_performing(&self, request_id: &str) {
        self.port.step(TurnStep::Performing { request_id: request_id.to_owned() }).await;
    }

    /// A call is over, and was told so: the two are written together.
    pub(crate) async fn step_result(&mut self, text: &str) {
        self.port.step(TurnStep::Result { text: text.to_owned() }).await;
        self.settled().await;
    }

    /// What of the answer is in no step yet.
    fn unjournalled(&mut self) -> String {
        let said = self.record.text.get(self.record.journalled..).unwrap_or_default().to_owned();
        self.record.journalled = self.record.text.len();
        said
    }

    /// Any other message.
    pub(crate) async fn say(&self, message: ServerMessage) {
        self.port.say(message).await;
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

    /// The call that runs, as the user sees it.
    pub(crate) fn call(&self) -> Option<CallInOutput> {
        self.record.open.last().cloned()
    }

    /// Its id: calls run one after the other.
    pub(crate) fn call_id(&self) -> Option<String> {
        self.record.open.last().map(|call| call.call_id.clone())
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
        self.writing = None;
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

    /// The call that runs goes on without the turn: it is a command in the background, whose end somebody else says.
    pub(crate) fn goes_on_apart(&mut self, call_id: &str) {
        self.record.open.retain(|call| call.call_id != call_id);
    }

    /// It did not, after all.
    pub(crate) fn did_not_go_on(&mut self, call: CallInOutput) {
        self.record.open.push(call);
    }

    async fn close_tools(&mut self, why: &str) {
        self.settled().await;
        self.port.end_commands().await;
        for call in std::mem::take(&mut self.record.open) {
            self.say(execute(&call, ToolStatus::Failed, json!({ "error": why }))).await;
        }
        let said = remembered(self.unjournalled());
        self.port.step(TurnStep::Ended { said }).await;
    }

    async fn finish(self, success: bool, cancelled: bool) {
        let OutputRecord {
            text,
            spent: TurnSpent { tokens: tokens_used, .. },
            files_modified,
            tools_used,
            ..
        } = self.record;
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
        background: None,
    }
}

/// An answer as the model hears of it again with later prompts.
fn remembered(said: String) -> String {
    if said.len() <= REMEMBERED {
        return said;
    }
    let (start, end) =
        (said.floor_char_boundary(REMEMBERED / 2), said.ceil_char_boundary(said.len() - REMEMBERED / 2));
    format!("{}\n\n(The middle of this answer is left out.)\n\n{}", &said[..start], &said[end..])
}
