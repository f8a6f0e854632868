//! The tools of the agent: what a model may ask for.
//!
//! Owns names, schemas, bounds and the messages around a call. Never decides about trust alone: the loop of the server
//! refuses on its own as well.

mod background;
mod edit_file;
mod list_files;
mod outline;
mod plan;
mod propose_patch;
mod read_file;
mod run_command;
mod search_symbols;
mod search_text;
mod served;
mod vector_search;

use std::sync::atomic::AtomicBool;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::models::{Call, ToolSpec};
use super::ports::WorkspaceView;
use super::proposal::{ProposalRefusal, blocking};
use super::request::AnsweredAsk;
use super::retrieval::RetrievalError;
use super::turn_output::TurnOutput;
use crate::domain::agent_mode::AgentMode;
pub(crate) use plan::{NAME as PLAN, in_words as plan_in_words};
pub(crate) use served::offered as served_tools;

/// Bytes of a tool's result that a model gets; the rest is cut and said to be.
pub(crate) const RESULT_LIMIT: usize = 16 * 1024;

/// What a tool found or did, as text for the model and, cut alike, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolAnswer {
    /// One line: how much, where.
    pub summary: String,
    /// The result.
    pub text: String,
    /// Whether this is the end of the call for the user.
    pub end: CallEnd,
}

/// Whether a call is over for the user when its model is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// It is.
    Now,
    /// It is a command that goes on in the background.
    Later,
}

impl ToolAnswer {
    /// What a call came to.
    pub(crate) fn new(summary: String, text: String) -> Self {
        Self { summary, text, end: CallEnd::Now }
    }
}

/// Tools for this turn: those that write or run only where the workspace is trusted.
pub(crate) fn offered(trusted: bool) -> Vec<ToolSpec> {
    let mut tools = vec![
        list_files::spec(),
        read_file::spec(),
        search_text::spec(),
        search_symbols::spec(),
        outline::spec(),
        plan::spec(),
    ];
    if trusted {
        tools.push(edit_file::spec());
        tools.push(propose_patch::spec());
        tools.push(run_command::spec());
        tools.push(background::output_spec());
        tools.push(background::stop_spec());
    }
    tools
}

/// A search by meaning, where the user has a model for it and trusts the workspace.
pub(crate) fn by_meaning(view: &WorkspaceView) -> Option<ToolSpec> {
    vector_search::spec(view)
}

/// Whether a tool may be used in this mode. One that is not known to look only may do anything.
pub(crate) fn fits(mode: AgentMode, name: &str) -> bool {
    let looks = [
        list_files::NAME,
        read_file::NAME,
        search_text::NAME,
        search_symbols::NAME,
        vector_search::NAME,
        outline::NAME,
    ];
    match mode {
        AgentMode::Agent => true,
        AgentMode::Plan => name == plan::NAME || looks.contains(&name),
        AgentMode::Ask => looks.contains(&name),
    }
}

/// Runs one call and says so; gives what the model is told.
pub(crate) async fn run(voice: &mut TurnOutput<'_>, call: &Call) -> String {
    let args = match &call.arguments {
        Value::Object(args) => args.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("arguments".to_owned(), other.clone())]),
    };
    if call.name == plan::NAME {
        let told = plan::run(voice, args).await;
        let told = told.map_or_else(|refusal| told_to_model(&refusal), |told| told.summary);
        voice.step_result(&told).await;
        return told;
    }
    if let Some(tool) = served::named(voice, &call.name) {
        return served::run(voice, tool, args).await;
    }
    let call_id = voice.tool_started(&call.name, shown_args(&args)).await;
    let outcome = match call.name.as_str() {
        list_files::NAME => list_files::run(voice, args).await,
        read_file::NAME => read_file::run(voice, args).await,
        search_text::NAME => search_text::run(voice, args).await,
        search_symbols::NAME => search_symbols::run(voice, args).await,
        vector_search::NAME => vector_search::run(voice, args).await,
        outline::NAME => outline::run(voice, args).await,
        edit_file::NAME => edit_file::run(voice, args, None).await,
        propose_patch::NAME => propose_patch::run(voice, args, None).await,
        run_command::NAME => run_command::run(voice, args, None).await,
        background::OUTPUT => background::output(voice, args).await,
        background::STOP => background::stop(voice, args).await,
        _ => Err(ProposalRefusal {
            code: "unknown_tool".to_owned(),
            message: "There is no tool of this name; use one of those that were offered.".to_owned(),
        }),
    };
    end(voice, &call_id, outcome).await
}

/// Goes on with a call that asked in an earlier process and was answered since; gives what the model is told.
pub(crate) async fn go_on(
    voice: &mut TurnOutput<'_>,
    call: &Call,
    call_id: &str,
    before: AnsweredAsk,
) -> String {
    let args = match &call.arguments {
        Value::Object(args) => args.clone(),
        _ => Map::new(),
    };
    if let Some(tool) = served::named(voice, &call.name) {
        return served::go_on(voice, tool, args, call_id, before).await;
    }
    let outcome = match call.name.as_str() {
        edit_file::NAME => edit_file::run(voice, args, Some(before)).await,
        propose_patch::NAME => propose_patch::run(voice, args, Some(before)).await,
        run_command::NAME => run_command::run(voice, args, Some(before)).await,
        _ => Err(ProposalRefusal {
            code: "conflict".to_owned(),
            message: "This tool asks for nothing, so it was not run; call it again.".to_owned(),
        }),
    };
    end(voice, call_id, outcome).await
}

/// A call is over: for the user, then in the steps, which are written with what the user was shown, then for the model.
async fn end(
    voice: &mut TurnOutput<'_>,
    call_id: &str,
    outcome: Result<ToolAnswer, ProposalRefusal>,
) -> String {
    let (told, shown) = match outcome {
        Ok(ToolAnswer { summary, text, end }) => {
            let text = cut(&text, RESULT_LIMIT);
            let told = if text.is_empty() { summary.clone() } else { format!("{summary}\n{text}") };
            let shown = (end == CallEnd::Now).then(|| Ok(json!({ "summary": summary, "text": text })));
            (told, shown)
        }
        Err(refusal) => (told_to_model(&refusal), Some(Err(refusal.message))),
    };
    if let Some(shown) = shown {
        voice.tool_ended(call_id, shown).await;
    }
    voice.step_result(&told).await;
    told
}

fn told_to_model(refusal: &ProposalRefusal) -> String {
    format!("Error ({}): {}", refusal.code, refusal.message)
}

/// Reads arguments; a refusal says what is wrong with them.
fn arguments<T: DeserializeOwned>(args: Map<String, Value>) -> Result<T, ProposalRefusal> {
    serde_json::from_value(Value::Object(args)).map_err(|error| ProposalRefusal {
        code: "invalid_params".to_owned(),
        message: format!("The arguments do not fit the tool: {error}."),
    })
}

/// Runs blocking retrieval work that ends soon after this future is dropped.
pub(crate) async fn search<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T, RetrievalError> + Send + 'static,
) -> Result<T, ProposalRefusal> {
    blocking(move |cancel| work(cancel).map_err(ProposalRefusal::from)).await
}

/// A path as it is shown, with the root's name where several roots are open.
pub(crate) fn shown(root: Option<&str>, path: &str) -> String {
    match root {
        Some(root) => format!("{root}/{path}"),
        None => path.to_owned(),
    }
}

/// At most `limit` bytes of a text, with a last line that says how much is missing.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(limit)];
    let kept = kept.rfind('\n').map_or(kept, |end| &kept[..=end]);
    format!("{kept}[… {} more bytes; ask for less at a time]", text.len() - kept.len())
}

/// Arguments as the user sees them: a whole file in them is shown by the patch, not twice.
fn shown_args(args: &Map<String, Value>) -> Map<String, Value> {
    let short = |value: &Value| match value {
        Value::String(text) => Value::String(cut(text, 2_048)),
        Value::Array(_) | Value::Object(_) if value.to_string().len() > 4_096 => json!("[…]"),
        other => other.clone(),
    };
    args.iter().map(|(key, value)| (key.clone(), short(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_tools_are_offered_only_in_a_trusted_workspace() {
        let names = |trusted| offered(trusted).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(
            names(false),
            ["list_files", "read_file", "search_text", "search_symbols", "outline", "plan"]
        );
        assert_eq!(
            names(true)[6..],
            ["edit_file", "propose_patch", "run_command", "command_output", "stop_command"]
        );
    }

    #[test]
    fn a_long_result_is_cut_at_a_line_and_says_so() {
        let text = "0123456789\n".repeat(10);
        assert_eq!(cut(&text, 25), "0123456789\n0123456789\n[… 88 more bytes; ask for less at a time]");
        assert_eq!(cut("ééé", 3), "é[… 4 more bytes; ask for less at a time]");
    }
}
