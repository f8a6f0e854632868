//! What one event says, in the words of the view: a piece of text, a whole message, a call, a result, a plan.
//!
//! Owns how each dialect writes these things, one file a dialect; a class has the same words whoever speaks, but for agents
//! (`acp`), whose sessions have a reducer of their own. Reads typed
//! fields straight from the payload's text. Never keeps state and never decides what is shown.

mod acp;
mod acp_tools;
mod breadboard;
mod breadboard_tools;
mod desktop;
mod loose;

use std::borrow::Cow;

use serde_json::Value;

pub(super) use acp::{
    Chunk, chunk, compaction as agent_compaction, ending, notice as agent_notice, plan as agent_plan,
};
pub(super) use acp_tools::{Standing, ToolNews, news as tool_news};

use super::block::PlanStepView;
use crate::domain::event::{EventClass, Origin, SessionEvent};

/// JSON of arguments that is kept.
const INPUT: usize = 2 * 1024;
const NAME: usize = 200;
const TITLE: usize = 300;
const PATH: usize = 4 * 1024;
const PLAN_STEPS: usize = 200;
const PLAN_FILES: usize = 50;
const PLAN_TEXT: usize = 1024;

/// How an engine numbers its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    /// Another number is another turn.
    Numbered,
    /// A run is one turn of ours; the number tells its steps apart and starts again with every run.
    Stepped,
}

/// How the engine that sent this event numbers its turns. What this server made itself has our own numbers.
pub(super) fn turns(event: &SessionEvent) -> Turns {
    if event.origin == Origin::Local || desktop::KINDS.contains(&event.kind.as_str()) {
        Turns::Numbered
    } else {
        Turns::Stepped
    }
}

/// What an event of the assistant's text, or of its reasoning, says. Ids are the engine's, as keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Speech<'a> {
    /// A piece of the turn's one answer.
    Token(&'a str),
    /// A line about what the agent is busy with, or a piece of reasoning.
    Thinking { phase: &'a str, message: &'a str },
    /// A message begins.
    Start { id: Option<Cow<'a, str>> },
    /// A piece of a message.
    Piece { id: Option<Cow<'a, str>>, text: Cow<'a, str> },
    /// A message has no more pieces.
    End { id: Option<Cow<'a, str>> },
    /// A message, whole. `again`: the engine made it from what it may have said already.
    Whole { id: Option<Cow<'a, str>>, text: Cow<'a, str>, again: bool },
    /// No words.
    Nothing,
}

/// What an event of class `transcript.assistant_stream` or `transcript.reasoning_stream` says.
pub(super) fn speech(event: &SessionEvent) -> Speech<'_> {
    match turns(event) {
        Turns::Numbered => desktop::speech(event),
        Turns::Stepped => breadboard::speech(event),
    }
}

/// The words of an engine's echo of a prompt. `None`: it has none.
pub(super) fn echo(event: &SessionEvent) -> Option<Cow<'_, str>> {
    breadboard::echo(event)
}

/// One line of what an engine tells its model under the type of a prompt. `None`: this is a prompt, or no prompt at all.
pub(super) fn remark(event: &SessionEvent) -> Option<String> {
    let may = event.class == EventClass::UserMessage && event.origin == Origin::Engine;
    may.then(|| breadboard::remark(event)).flatten()
}

/// A tool call, bounded.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Call {
    /// Key of the engine's id.
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) input: Option<Value>,
    /// What can be shown before there is a result.
    pub(super) preview: Option<String>,
}

/// What an event of class `tool.call` says.
pub(super) fn call(event: &SessionEvent) -> Call {
    match turns(event) {
        Turns::Numbered => desktop::call(event),
        Turns::Stepped => breadboard_tools::call(event),
    }
}

/// Which of the results of one call this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The only one.
    Only,
    /// How the tool ended. Its status is the truth.
    Execution,
    /// What the model reads about it.
    Transcript,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome<'a> {
    /// Key of the engine's id of the call.
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) shape: Shape,
    pub(super) failed: bool,
    /// The compact result, whole.
    pub(super) text: Option<Cow<'a, str>>,
    /// Path of the file that has everything.
    pub(super) artifact: Option<String>,
}

/// A plan or todo list, bounded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// Which list; lists of two scopes stand side by side.
    pub(super) scope: Option<String>,
    pub(super) steps: Vec<PlanStepView>,
    /// How things stood already, told at a connect: news for nobody.
    pub(super) standing: bool,
}

/// What an event of class `tool.result` says: how a call ended, how a plan stands, or both.
pub(super) fn result(event: &SessionEvent) -> (Option<Outcome<'_>>, Option<Plan>) {
    match turns(event) {
        Turns::Numbered => (Some(desktop::outcome(event)), None),
        Turns::Stepped => breadboard_tools::result(event),
    }
}

/// What an event of class `plan.update` or `todo.update` says.
pub(super) fn plan(event: &SessionEvent) -> Option<Plan> {
    match turns(event) {
        Turns::Numbered => Some(desktop::plan(event)),
        Turns::Stepped => breadboard_tools::todo(event),
    }
}

/// What a running tool prints.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Output {
    /// The execution, which may have an id of its own beside the call's; `exec` is its key.
    pub(super) exec: Option<String>,
    /// What is known of the call.
    pub(super) call: Call,
    pub(super) what: OutputWhat,
}

/// What happened to an execution.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OutputWhat {
    Began,
    Printed(String),
    /// With its exit code, where there is one.
    Ended(Option<i64>),
}

/// What an event of class `tool.output` says. `None`: nothing that the view has a word for.
pub(super) fn output(event: &SessionEvent) -> Option<Output> {
    breadboard_tools::output(event)
}

/// The arguments that say most about a call, the best first.
const TELLING: [&str; 6] = ["command", "file_path", "path", "query", "pattern", "url"];

/// One line: the name and the argument that says most.
fn title(name: &str, telling: &str) -> String {
    super::cut::line(&format!("{name} {}", telling.lines().next().unwrap_or_default()), TITLE)
}
