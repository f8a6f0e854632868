//! What happens to a tool call, and the plans that some tools keep.
//!
//! Owns the steps of a call and the forms in which engines tell its results. Never knows a tool by name.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::session::Picture;
use crate::domain::background::Background;

/// What one event says of a tool call. Ids are the engine's, as keys; `None` says nothing of that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolNews<'a> {
    /// The call.
    pub id: Option<String>,
    /// Its execution, which may have an id of its own.
    pub exec: Option<String>,
    /// Name of the tool.
    pub name: Option<String>,
    /// One line: what it does.
    pub title: Option<String>,
    /// Its arguments, bounded.
    pub input: Option<Value>,
    /// What it changes, as a diff, bounded.
    pub diff: Option<String>,
    /// What happened to it.
    pub step: ToolStep<'a>,
    /// It is a command that runs in the background, for so long.
    pub background: Option<Background>,
    /// Pictures that it gave back.
    pub pictures: Vec<Picture>,
    /// A list of things to do that it carries or keeps.
    pub plan: Option<Plan>,
}

/// What happened to a tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ToolStep<'a> {
    /// It is announced.
    #[default]
    Called,
    /// Its execution began.
    Began,
    /// It printed this.
    Printed {
        /// Stream that it was printed to.
        stream: PrintStream,
        /// Text that was printed.
        text: String,
    },
    /// Its execution ended, with its exit code where there is one.
    Ended(Option<i64>),
    /// Its process is gone with the one that ran it; nothing more comes of it.
    Lost {
        /// Why, in one sentence.
        why: String,
    },
    /// One of its results came.
    Result(ToolOutcome<'a>),
    /// It is told anew, whatever happened to it; the news is found by the call's id, in its turn and after it.
    Update(Box<ToolState>),
}

/// Where a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrintStream {
    /// Its output.
    Output,
    /// Its errors.
    Errors,
}

/// A result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome<'a> {
    /// Which of its results.
    pub shape: Shape,
    /// Whether it failed.
    pub failed: bool,
    /// How its command ended, where it ran one.
    pub exit: Option<i64>,
    /// The compact result, whole.
    pub text: Option<Cow<'a, str>>,
    /// How much it found, in words.
    pub count: Option<String>,
    /// Path of the file that has everything.
    pub artifact: Option<String>,
}

/// Which of the results of one call this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The only one.
    Only,
    /// How the tool ended. Its status is the truth.
    Execution,
    /// What the model reads about it.
    Transcript,
}

/// How a tool call stands, where an engine tells it anew with each change. `None` fields stay as they were.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolState {
    /// It begins, perhaps under the id of a call of an earlier turn.
    pub begins: bool,
    /// How far it is.
    pub progress: Option<ToolProgress>,
    /// Its content, whole and without differences: it takes the place of what was there.
    pub content: Option<String>,
    /// What its output says, for a call without content.
    pub output: Option<String>,
    /// What it printed more.
    pub printed: Option<String>,
    /// Exit code of its command; `Some(None)`: it has none because it was stopped.
    pub exit: Option<Option<i64>>,
    /// Terminals that its content shows, as keys, in order. `None` where nothing is said of its content.
    pub terminals: Option<Vec<String>>,
    /// It is a tool that keeps a list of things to do.
    pub keeps_plan: bool,
}

/// How far a tool call is, in the engine's judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolProgress {
    /// It waits or runs.
    Open,
    /// It ended well.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

/// A plan or a list of things to do, bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Which list; lists of two scopes stand side by side.
    pub scope: Option<String>,
    /// Its steps.
    pub steps: Vec<PlanStep>,
    /// How things stood already, told at a connect: news for nobody.
    pub standing: bool,
}

/// One step of a plan block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PlanStepView")]
pub struct PlanStep {
    /// What.
    pub text: String,
    /// `pending`, `running`, `done` …, where the engine says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Files of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl PlanStep {
    /// Whether it is done, in the words of the engines that have plans.
    pub fn is_done(&self) -> bool {
        matches!(self.status.as_deref(), Some("done" | "completed"))
    }
}
