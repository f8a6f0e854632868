//! What one event says, in words that belong to no engine.
//!
//! Owns the types between the dialects, which make facts (`dialect::fact`), and everybody who reads events: the reducer, the
//! loop, the command line. Text is borrowed from the event where it stands there as it is, so that a flood of pieces builds
//! nothing. Never knows a field name of an engine.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::approval::PermissionStatus;

/// What one event says.
#[derive(Debug, PartialEq)]
pub enum Fact<'a> {
    /// A prompt.
    Prompt(Prompt<'a>),
    /// Words of the assistant.
    Text(Text<'a>),
    /// A tool call is announced, or says again how it runs.
    ToolCall(ToolNews<'a>),
    /// A running tool prints, or its execution begins or ends.
    ToolOutput(ToolNews<'a>),
    /// A tool call has a result.
    ToolResult(ToolNews<'a>),
    /// A plan or a list of things to do, whole.
    Plan(Plan),
    /// A patch waits for a decision.
    Patch(Patch<'a>),
    /// The engine waits for an answer; what it asks stands in the event's `permission`.
    Ask {
        /// The tool call that waits, where the request tells it.
        call: Option<Box<ToolNews<'a>>>,
    },
    /// A permission request was answered.
    Answered(Answered<'a>),
    /// A turn began.
    TurnBegan,
    /// A turn ended, with what there is to say of it.
    TurnEnded(Box<TurnEnd<'a>>),
    /// A turn is over; its report, where there is one, is an event of its own.
    TurnClosed(TurnClosed),
    /// Tokens, cost or limits.
    Usage(Usage),
    /// A reward, in one sentence.
    Reward(String),
    /// The mode of the session changed; its name.
    Mode(&'a str),
    /// What the engine offers: commands or skills.
    Commands(Commands),
    /// News of a task.
    Task(Box<TaskNews>),
    /// The checkpoints that there are, oldest first.
    Checkpoints(Vec<Checkpoint>),
    /// A checkpoint was restored.
    Restored(Restored),
    /// A conversation is made shorter.
    Compaction(Compaction),
    /// How a search goes.
    Search {
        /// Which of its stages.
        stage: &'a str,
        /// One sentence.
        message: &'a str,
    },
    /// A link to a log or an artifact.
    Link(Link<'a>),
    /// A node of the conversation tree. They are most of a stream and are not looked into.
    TreeNode,
    /// The whole conversation tree; how many nodes it has.
    Tree {
        /// Nodes, where the engine counts them.
        nodes: Option<u64>,
    },
    /// A sentence for the user.
    Notice(Notice),
    /// Events are missing.
    Gap(Notice),
    /// Something failed.
    Failure(Notice),
    /// The process of the engine ended.
    Exited {
        /// Somebody wanted it to.
        expected: bool,
        /// One sentence.
        text: String,
    },
    /// It says nothing, under a type that is known.
    Nothing,
    /// There is no word for it, or its fields do not fit its type.
    Unknown,
}

/// A prompt, by who tells of it.
#[derive(Debug, PartialEq)]
pub enum Prompt<'a> {
    /// Ours, as it goes to the engine.
    Sent {
        /// Its words.
        text: &'a str,
        /// The client's id of it.
        message_id: Option<&'a str>,
        /// What goes with it.
        attachment_ids: Vec<String>,
    },
    /// The engine tells of a prompt that it took, ours or another client's.
    Echo {
        /// Its words, where there are any.
        words: Option<Cow<'a, str>>,
        /// One line of what the engine tells its model under the type of a prompt.
        remark: Option<String>,
    },
    /// A piece of a prompt of a history that is told again.
    History {
        /// The engine's id of the message, as key.
        id: Option<String>,
        /// Its words; none in a piece without content.
        words: Option<Cow<'a, str>>,
    },
}

/// Whose words a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Voice {
    /// The answer.
    Answer,
    /// Reasoning, or what the agent is busy with.
    Reasoning,
}

/// Words of the assistant.
#[derive(Debug, PartialEq)]
pub struct Text<'a> {
    /// Whose.
    pub voice: Voice,
    /// Which text they belong to.
    pub of: TextOf<'a>,
    /// How much of it.
    pub part: TextPart<'a>,
}

/// Which text a piece belongs to.
#[derive(Debug, Clone, PartialEq)]
pub enum TextOf<'a> {
    /// The turn has one answer, and reasoning beside it.
    Turn {
        /// What the reasoning is about.
        phase: &'a str,
    },
    /// A message by id, or what is open in this step. Several may be open, and the whole may follow.
    Message(Option<Cow<'a, str>>),
    /// A message by id, or the run of pieces that is not interrupted. One is open at a time, and no whole follows.
    Run(Option<Cow<'a, str>>),
}

/// How much of a text an event has.
#[derive(Debug, Clone, PartialEq)]
pub enum TextPart<'a> {
    /// It begins.
    Start,
    /// A piece.
    Piece(Cow<'a, str>),
    /// It has no more pieces.
    End,
    /// All of it.
    Whole {
        /// All of it.
        text: Cow<'a, str>,
        /// The engine made it from what it may have said already.
        again: bool,
    },
}

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
    /// What it would change, before there is a result.
    pub preview: Option<String>,
    /// What happened to it.
    pub step: ToolStep<'a>,
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
    Printed(String),
    /// Its execution ended, with its exit code where there is one.
    Ended(Option<i64>),
    /// One of its results came.
    Result(ToolOutcome<'a>),
    /// It is told anew, whatever happened to it; the news is found by the call's id, in its turn and after it.
    Update(Box<ToolState>),
}

/// A result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome<'a> {
    /// Which of its results.
    pub shape: Shape,
    /// Whether it failed.
    pub failed: bool,
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
    /// Its content, whole: it takes the place of what was there.
    pub content: Option<String>,
    /// What its output says, for a call without content.
    pub output: Option<String>,
    /// What it printed more.
    pub printed: Option<String>,
    /// Exit code of its command; `Some(None)`: it has none because it was stopped.
    pub exit: Option<Option<i64>>,
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

/// A proposed patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch<'a> {
    /// The engine's id of it.
    pub id: &'a str,
    /// The file that it changes.
    pub file_path: &'a str,
    /// Why.
    pub rationale: &'a str,
    /// As a unified diff.
    pub diff: &'a str,
}

/// An answer to a permission request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered<'a> {
    /// The loop settled the request.
    Settled {
        /// Our id of it.
        request_id: &'a str,
        /// How.
        status: PermissionStatus,
        /// By whom.
        by: Option<&'a str>,
    },
    /// The engine tells what it was answered.
    Confirmed(Confirmed),
    /// It does not say which request it means.
    Unnamed,
}

/// What an engine was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// The engine's id of the ask. It begins again with every input, so it means the newest open ask of that id.
    pub engine_request_id: String,
    /// Whether everything that was asked is allowed. One refused item, or a word we do not know, makes it false.
    pub allowed: bool,
    /// The engine's words, each once, in their order, with `, ` between.
    pub words: String,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd<'a> {
    /// Why, in one word that means the same for every engine, or in the engine's own.
    pub reason: Cow<'a, str>,
    /// What is said of it.
    pub report: TurnReport<'a>,
}

/// What is said of the end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnReport<'a> {
    /// All of it, in one event.
    Whole {
        /// The whole answer.
        answer: Option<&'a str>,
        /// Whether the turn did what it was for.
        success: bool,
        /// One sentence.
        text: Cow<'a, str>,
        /// How loud the chat says it too, once a turn.
        told: Option<NoticeLevel>,
        /// What the engine counted.
        details: Option<Value>,
    },
    /// One of several events that tell of the end of one run.
    Part(Box<RunReport>),
}

/// What one of several events adds to the report of a run. `None` fields stay as they were.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunReport {
    /// The run is over with it.
    pub last: bool,
    /// Whether the run is done.
    pub completed: Option<bool>,
    /// Why it ended.
    pub reason: Option<RunReason>,
    /// The engine's own word for that.
    pub word: Option<String>,
    /// Somebody stopped it.
    pub stopped: Option<bool>,
    /// Steps that it may have at most.
    pub most_steps: Option<u64>,
    /// What went wrong, in one line.
    pub error: Option<String>,
    /// What a client may want to show, under the engine's own names.
    pub details: Map<String, Value>,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunReason {
    /// Somebody stopped it.
    Stopped,
    /// It came to its limit of steps.
    StepLimit,
    /// The engine broke.
    Broken,
    /// The agent said that it was done.
    SaidDone,
    /// The model ended, in its own words.
    Model(String),
    /// Another reason, in words.
    Other(String),
}

/// A turn is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnClosed {
    /// It was cancelled, perhaps before it began.
    pub cancelled: bool,
    /// How it ended, where that is not well.
    pub notice: Option<Notice>,
    /// Why, in the words of `TurnEnd::reason`.
    pub reason: &'static str,
}

/// Tokens, cost or limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// Which of the counts of a run it replaces.
    pub of: UsageOf,
    /// One sentence.
    pub notice: Notice,
    /// How full the model's context is, for the report at the end of the turn.
    pub context: Option<Value>,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageOf {
    /// What was used.
    Usage,
    /// What is left.
    Limits,
}

/// What the engine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// Which of its lists.
    pub of: CommandsOf,
    /// One sentence.
    pub text: String,
}

/// A list of what an engine offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandsOf {
    /// Everything there is.
    Catalog,
    /// What is chosen of it.
    Selection,
}

/// News of a task. Ids are keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskNews {
    /// The task; `None` when the event names none.
    pub id: Option<String>,
    /// The task that it belongs to.
    pub parent: Option<String>,
    /// What it does.
    pub title: Option<String>,
    /// What to call it while nothing says what it does.
    pub label: Option<String>,
    /// How it stands.
    pub status: Option<TaskStatus>,
    /// The status is how it stood at some time, not what happened now.
    pub snapshot: bool,
    /// It begins, or begins again.
    pub again: bool,
    /// Which attempt.
    pub attempt: Option<u64>,
    /// The engine was asked to stop.
    pub stop_requested: bool,
    /// What the task was answered.
    pub answered: Option<Confirmed>,
}

/// How a task stands, in the order of precedence (R003-47), weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TaskStatus {
    /// It waits.
    Queued,
    /// It is done.
    Completed,
    /// It runs.
    Running,
    /// It failed, or was stopped.
    Failed,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id, as key.
    pub id: String,
    /// One line.
    pub title: String,
}

/// A checkpoint was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Which, as key.
    pub id: String,
    /// What of it.
    pub what: RestoredWhat,
    /// Later ones are gone.
    pub prunes: bool,
}

/// What was set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredWhat {
    /// The files.
    Files,
    /// What was said.
    Conversation,
    /// Both.
    Both,
}

/// A conversation is made shorter so that it fits the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The engine's id of it, as key, where several may be under way.
    pub id: Option<String>,
    /// It begins.
    pub begins: bool,
    /// One sentence.
    pub notice: Notice,
}

/// A link to a log or an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its name, as key.
    pub id: String,
    /// Where it leads.
    pub uri: &'a str,
    /// What it is called.
    pub label: String,
}

/// A sentence and how loud it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How loud.
    pub level: NoticeLevel,
    /// One sentence.
    pub text: String,
}

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    /// For information.
    Info,
    /// To be seen.
    Warning,
    /// Something failed.
    Error,
}

impl Notice {
    /// A sentence.
    pub fn new(level: NoticeLevel, text: impl Into<String>) -> Self {
        Self { level, text: text.into() }
    }
}
