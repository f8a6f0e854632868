//! What one event says, in words that belong to no engine.
//!
//! Owns the types between the dialects, which make facts (`dialect::fact`), and everybody who reads events: the reducer, the
//! loop, the command line. Text is borrowed from the event where it stands there as it is, so that a flood of pieces builds
//! nothing. Never knows a field name of an engine.

use serde_json::Value;

mod decision;
mod notice;
mod session;
mod speech;
mod task;
mod terminal;
mod tool;
mod turn;
mod turn_changes;

pub use self::decision::{Answered, Confirmed, Patch};
pub use self::notice::Notice;
pub use self::notice::NoticeLevel;
pub use self::session::{
    Checkpoint, Commands, CommandsOf, Compaction, Link, Picture, Restored, RestoredWhat, Usage, UsageOf,
};
pub use self::speech::{Prompt, PromptFolder, Text, TextOf, TextPart, Voice};
pub use self::task::{TaskNews, TaskStatus};
pub use self::terminal::{TerminalEnd, TerminalNews};
pub use self::tool::{
    Plan, PlanStep, PrintStream, Shape, ToolNews, ToolOutcome, ToolProgress, ToolState, ToolStep,
};
pub use self::turn::{Cost, TurnOutcome};
pub use self::turn::{RunReason, RunReport, Spent, TurnClosed, TurnEnd, TurnReport};
pub use self::turn_changes::ChangedFileSummary;
pub use self::turn_changes::TurnChanges;

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
    /// A command in a terminal that we run for an agent printed something, or ended.
    Terminal(TerminalNews<'a>),
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
    /// Tokens, cost or limits, or how far the engine's loop is.
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
    /// A picture.
    Picture(Picture),
    /// A node of the conversation tree. They are most of a stream and are not looked into.
    TreeNode,
    /// The whole conversation tree; how many nodes it has.
    Tree {
        /// Nodes, where the engine counts them.
        nodes: Option<u64>,
    },
    /// The engine took a command of the user.
    Command {
        /// Its name and its arguments.
        command: &'a str,
        /// The engine's word for how it stands.
        status: &'a str,
    },
    /// What a turn changed in the files, as its block shows it.
    Changes(TurnChanges<'a>),
    /// A block of the session that this one comes from, as JSON.
    Earlier(&'a Value),
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
