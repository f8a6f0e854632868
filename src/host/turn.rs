//! One turn with a model: ask, run the tools it calls, ask again, until it answers.
//!
//! Owns the loop and its end; how far it goes is `budget`'s, how much its model reads `compaction`'s. Every turn ends with exactly one `assistant.message_final` or `server.error`,
//! stopped or not. Never touches the world but through `TurnPort`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::compaction::{Fill, Prompted, compact};
use super::go_on;
use super::instructions::Instructions;
use super::models::failure::FailureAbout;
use super::models::{Call, Conversation, Image, ModelError};
use super::planner;
use super::ports::TurnPort;
use super::proposal::blocking;
use super::question::{images, unseen, words};
use super::recall::{self, CallsUnderWay};
use super::reply::{TurnMoment, gap, reply};
use super::request::{ModelInUse, TurnRequest};
use super::rules::rules;
use super::tools;
use super::turn_output::{SentenceLevel, TurnOutput};
use crate::domain::agent_mode::AgentMode;
use crate::domain::dialect::desktop::message::ServerErrorCode;
use crate::domain::remedy::Remedy;
use crate::domain::steps::EffectAsked;

/// Tool calls in one reply; the model is told about the others.
const CALLS_PER_STEP: usize = 16;

/// How long a stop waits for a change that is being written, so that it is made whole or not at all.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// How a turn ended by itself.
enum ReplyEnd {
    /// With its answer.
    Answered { success: bool },
    /// With an error of the model.
    Failed(ModelError),
}

/// Runs one turn to its end.
pub(crate) async fn run(port: &dyn TurnPort, request: TurnRequest) {
    let mut voice = match &request.goes_on {
        Some(goes_on) => TurnOutput::going_on(port, &goes_on.from),
        None => TurnOutput::new(port),
    };
    let write = voice.write();
    let stopped = async {
        port.stopped().await;
        // What it waits for beyond that, such as an editor that does not answer, stays undone.
        let _ = tokio::time::timeout(WRITE_TIME, write.lock()).await;
    };
    let end = {
        let drive = drive(&mut voice, request);
        tokio::pin!(drive);
        tokio::select! {
            biased;
            () = stopped => None,
            end = &mut drive => Some(end),
        }
    };
    match end {
        None => voice.end_stopped().await,
        Some(ReplyEnd::Answered { success }) => voice.end(success).await,
        Some(ReplyEnd::Failed(error)) => {
            let mut details = Remedy::from(error.retry).fields();
            if let Some(status) = error.status {
                details.insert("status".to_owned(), json!(status));
            }
            let recoverable = error.is_recoverable();
            voice.end_failed(ServerErrorCode::ModelError, error.message, details, recoverable).await;
        }
    }
}

async fn drive(voice: &mut TurnOutput<'_>, request: TurnRequest) -> ReplyEnd {
    match (&request.model, &request.goes_on) {
        (None, Some(goes_on)) => {
            let call_id = &goes_on.from.asked.call.call_id;
            let success = planner::go_on(voice, &request, call_id, goes_on.answered()).await;
            ReplyEnd::Answered { success }
        }
        (None, None) => ReplyEnd::Answered { success: planner::answer(voice, &request).await },
        (Some(Err(error)), _) => ReplyEnd::Failed(error.clone()),
        (Some(Ok(model)), _) => converse(voice, model, &request).await,
    }
}

async fn converse(voice: &mut TurnOutput<'_>, model: &ModelInUse, request: &TurnRequest) -> ReplyEnd {
    let sees = model.tuning.sees;
    voice.set_sees(sees);
    if let Some(unseen) = unseen(&request.attachments, &model.target.name, sees) {
        voice.notice(SentenceLevel::Warning, unseen).await;
    }
    let (mut talk, begun) = Talk::begin(voice, model, request).await;
    let mut begun = begun;
    let mut goes_on = request.goes_on.as_ref();
    // An answer that was awaited between two steps.
    if let Some(from) =
        goes_on.filter(|goes_on| matches!(goes_on.from.asked.effect, EffectAsked::GoOn { .. }))
    {
        goes_on = None;
        if let Some(CallsUnderWay { results, .. }) = begun.take().filter(|begun| !begun.calls.is_empty()) {
            talk.conversation.results(results);
        }
        if !go_on::answered(voice, &from.from.asked.call.call_id, &from.answer).await {
            return stops_here(voice, request).await;
        }
    }
    loop {
        let CallsUnderWay { calls, results } = match begun.take() {
            Some(begun) => begun,
            None => match talk.next(voice, model, request).await {
                Ok(calls) => CallsUnderWay { calls, results: Vec::new() },
                // What its earlier replies led to was done.
                Err(ReplyEnd::Failed(error)) if talk.moment == TurnMoment::Later => {
                    return ReplyEnd::Failed(error.within_a_turn());
                }
                Err(end) => return end,
            },
        };
        talk.moment = TurnMoment::Later;
        let told = results.len();
        let mut results: Vec<ToldCall> =
            results.into_iter().map(|(call, text)| (call, text, Vec::new())).collect();
        let mut answered = goes_on.take();
        for (index, call) in calls.into_iter().enumerate().skip(told) {
            let text = match answered.take() {
                Some(goes_on) => {
                    let call_id = &goes_on.from.asked.call.call_id;
                    tools::go_on(voice, &call, call_id, goes_on.answered()).await
                }
                None => run_call(voice, &call, index, request.mode).await,
            };
            results.push((call, text, voice.take_shown()));
        }
        talk.told(voice, results).await;
    }
}

/// The end of a turn that used up what it may.
async fn stops_here(voice: &mut TurnOutput<'_>, request: &TurnRequest) -> ReplyEnd {
    let used = request.budget.used_up(voice.spent()).unwrap_or_else(|| "what it may".to_owned());
    voice.lines(&format!("{}{}", gap(voice.text()), go_on::last_words(&used))).await;
    ReplyEnd::Answered { success: false }
}

/// A call, what its model is told of it, and what it sees.
type ToldCall = (Call, String, Vec<Image>);

/// The conversation of a turn as it goes on.
struct Talk {
    conversation: Conversation,
    prompted: Prompted,
    fill: Fill,
    instructions: Instructions,
    moment: TurnMoment,
}

impl Talk {
    /// Everything up to the prompt, or up to where an earlier process came.
    async fn begin(
        voice: &mut TurnOutput<'_>,
        model: &ModelInUse,
        request: &TurnRequest,
    ) -> (Self, Option<CallsUnderWay>) {
        let view = voice.port().workspace();
        let looked = view.clone();
        let (mut instructions, repository) =
            blocking(move |cancel| Ok(Instructions::of_folders(&looked, cancel))).await.unwrap_or_default();
        if let Some(news) = instructions.news() {
            voice.notice_once(news).await;
        }
        let sees = model.tuning.sees;
        let mut offered = tools::offered(view.trusted);
        offered.extend(tools::by_meaning(&view));
        offered.retain(|tool| tools::fits(request.mode, &tool.name));
        let mut rules = rules(&view, request.mode, &repository);
        // What such a tool does is not known, so that it belongs to the mode that may do anything.
        if request.mode == AgentMode::Agent {
            tools::served_tools(voice, &view, &mut rules, &mut offered).await;
        }
        let mut conversation = Conversation::new(&rules, &offered).tuned(model.tuning);
        let TurnRequest { text, earlier, attachments, context, .. } = request;
        recall::earlier(&mut conversation, earlier, sees);
        let prompted =
            Prompted { words: words(text, attachments, context, sees), images: images(attachments, sees) };
        conversation.user_shows(&prompted.words, prompted.images.clone());
        let (begun, moment) = match &request.goes_on {
            Some(goes_on) => {
                (Some(recall::taken_up(&mut conversation, &goes_on.from, &prompted)), TurnMoment::Later)
            }
            None => (None, TurnMoment::First),
        };
        (Self { conversation, prompted, fill: Fill::default(), instructions, moment }, begun)
    }

    /// The calls that the model wants next, or how the turn ends without any.
    async fn next(
        &mut self,
        voice: &mut TurnOutput<'_>,
        model: &ModelInUse,
        request: &TurnRequest,
    ) -> Result<Vec<Call>, ReplyEnd> {
        if let Some(used) = request.budget.used_up(voice.spent())
            && !go_on::may_go_on(voice, &used).await
        {
            return Err(stops_here(voice, request).await);
        }
        if self.conversation.has_past() && self.fill.is_full(&self.conversation, model.tuning.window) {
            self.compact(voice, model).await;
        }
        voice.step_begins(&request.budget).await;
        let reply = match reply(voice, model, &self.conversation, self.moment).await {
            // What is known of its name may be wrong.
            Err(error) if error.about == FailureAbout::TooLong && self.conversation.has_past() => {
                self.compact(voice, model).await;
                reply(voice, model, &self.conversation, self.moment).await
            }
            other => other,
        }
        .map_err(ReplyEnd::Failed)?;
        voice.count(model, &reply);
        self.fill.replied(reply.usage, self.conversation.bytes());
        voice.fills(self.fill.tokens(&self.conversation), model.tuning.window);
        if let (true, Some(why)) = (reply.calls.is_empty(), reply.ended_early) {
            voice.lines(&format!("{}{why}", gap(voice.text()))).await;
            return Err(ReplyEnd::Answered { success: false });
        }
        if reply.calls.is_empty() {
            if voice.text().is_empty() {
                voice.token("The model gave an empty answer; ask again.".to_owned()).await;
                return Err(ReplyEnd::Answered { success: false });
            }
            return Err(ReplyEnd::Answered { success: true });
        }
        voice.step_replied(&reply).await;
        self.conversation.replied(&reply);
        Ok(reply.calls)
    }

    async fn compact(&mut self, voice: &mut TurnOutput<'_>, model: &ModelInUse) {
        compact(voice, model, &mut self.conversation, &self.prompted, &mut self.fill).await;
    }

    /// The calls of a reply are over: the model is told, with what changed in the editor meanwhile, and with the instructions of the
    /// folders that they went to.
    async fn told(&mut self, voice: &mut TurnOutput<'_>, mut results: Vec<ToldCall>) {
        let paths: Vec<String> = results.iter().flat_map(|(call, ..)| paths_of(call)).collect();
        let view = voice.port().workspace();
        let mut instructions = std::mem::take(&mut self.instructions);
        let looked = blocking(move |cancel| {
            let words = paths.iter().map(|path| instructions.on_the_way_to(&view, path, cancel)).collect();
            Ok((instructions, words))
        });
        let (instructions, repository): (_, String) = looked.await.unwrap_or_default();
        self.instructions = instructions;
        if let Some(news) = self.instructions.news() {
            voice.notice_once(news).await;
        }
        if let Some((_, last, _)) = results.last_mut() {
            last.push_str(&repository);
            last.push_str(&voice.port().context_update().await);
        }
        self.conversation.results_show(results);
    }
}

/// The files that a call names.
fn paths_of(call: &Call) -> Vec<String> {
    let named = |value: &Value| {
        let path = value.get("path").or_else(|| value.get("file_path")).and_then(Value::as_str);
        path.map(|path| path.trim_start_matches("./").to_owned())
    };
    let several = call.arguments.get("files").and_then(Value::as_array).into_iter().flatten();
    named(&call.arguments).into_iter().chain(several.filter_map(named)).collect()
}

/// Runs one call of a reply, unless there were too many or the mode has no such tool; gives what the model is told.
async fn run_call(voice: &mut TurnOutput<'_>, call: &Call, index: usize, mode: AgentMode) -> String {
    let refused = if index >= CALLS_PER_STEP {
        "Error (overloaded): This call was not run, because a reply may hold at most 16."
    } else if !tools::fits(mode, &call.name) {
        "Error (unsupported): This tool is not there in the mode that the user chose; say what you would do instead."
    } else {
        return tools::run(voice, call).await;
    };
    voice.step_result(refused).await;
    refused.to_owned()
}

/// Arguments of a tool message.
pub(crate) fn args(pairs: &[(&str, Value)]) -> Map<String, Value> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}
