//! The steps of a turn of our own agent, and what a turn is that only its steps are left of.
//!
//! Owns the meaning of the steps in their order. Pure: a turn that outlived its process is a value made from them. Never runs
//! one: that is the agent's, on an answer (decision 0016).

mod fold;
mod past;
mod reply;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::background::Background;

pub use fold::fold;
pub use past::{TurnPast, past};
pub use reply::{Call, Part, SpokenCall};

/// Something that happened in a turn, as much of it as going on takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum TurnStep {
    /// The model replied, and wants calls to be made.
    Replied {
        /// What of it the user saw as the answer.
        said: String,
        /// All of it, in order.
        parts: Vec<Part>,
    },
    /// A call asks the user.
    Asked(Box<AskedStep>),
    /// What was asked for was allowed, and begins.
    Performing {
        /// The engine's id of the request.
        request_id: String,
    },
    /// A call is over.
    Result {
        /// What the model is told.
        text: String,
    },
    /// What was said before went into a summary, which the model reads instead of it from here on.
    Compacted {
        /// The summary, in the model's own words.
        summary: String,
        /// Exchanges of this turn, the newest, that go on to be read whole.
        kept: usize,
    },
    /// The turn is over for the agent.
    Ended {
        /// What of the answer stands in no other step.
        said: String,
    },
}

/// A call that asks the user, and how the turn stood then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedStep {
    /// The engine's id of the request.
    pub request_id: String,
    /// What would happen.
    pub effect: EffectAsked,
    /// The call as the user sees it.
    pub call: CallInOutput,
    /// What the user saw of the answer since the last step.
    pub said: String,
    /// What the turn counted so far.
    pub tally: Tally,
}

/// What a call would do, as far as it can be told apart from something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum EffectAsked {
    /// A file is written.
    Write {
        /// The file as it was shown.
        path: String,
        /// Hash of the text that it was made from; `None` for a new file.
        base_hash: Option<String>,
        /// Hash of the text to be written.
        text_hash: String,
    },
    /// Files are changed together, or one goes or moves.
    Edit {
        /// The files as they were shown.
        paths: Vec<String>,
        /// Hash of all that would happen to them.
        hash: String,
    },
    /// A command is run.
    Command {
        /// The command line.
        command: String,
        /// Directory that it runs in.
        cwd: String,
        /// Hash of the command line as it is: the journal has it without secrets.
        hash: String,
        /// How long, where it runs in the background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<Background>,
    },
    /// A tool of a server is called.
    Tool {
        /// Which tool of which server, as it was shown.
        name: String,
        /// Hash of its definition and its arguments.
        hash: String,
    },
    /// The turn goes on past its budget.
    GoOn {
        /// What was used up, as it was shown.
        budget: String,
    },
}

/// A tool that began and has not ended, as the user sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallInOutput {
    /// Pairs its end with its beginning.
    pub call_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Its arguments, cut.
    pub args: Map<String, Value>,
}

/// What a turn counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Tokens in and out.
    pub tokens_used: u64,
    /// Files that were changed.
    pub files_modified: Vec<String>,
    /// Names of the tools that were used, each once.
    pub tools_used: Vec<String>,
    /// Replies of the model.
    #[serde(default)]
    pub steps: u64,
    /// What it cost, where that is known.
    #[serde(default)]
    pub cost: Option<f64>,
    /// How often the user let it go on past its budget.
    #[serde(default)]
    pub raised: u64,
}

/// One reply of the model, and what it was told of its calls so far, in their order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The reply.
    pub parts: Vec<Part>,
    /// What it was told.
    pub results: Vec<String>,
}

/// A turn that waits for an answer, and has nothing running.
#[derive(Debug, Clone, PartialEq)]
pub struct PausedTurn {
    /// What stands for everything before `exchanges`, earlier turns too, where it was summarised.
    pub summary: Option<String>,
    /// What was said with the model, oldest first. In the last one the next call is the one that asks.
    pub exchanges: Vec<Exchange>,
    /// The answer so far.
    pub said: String,
    /// What is asked.
    pub asked: AskedStep,
}

/// What is left of a turn whose process is gone.
#[derive(Debug, Clone, PartialEq)]
pub enum LeftTurn {
    /// It asked, and whether that was answered is the ledger's to say; nothing of it was begun.
    Asking(Box<PausedTurn>),
    /// This had begun, and how it ended is not known.
    Unfinished(EffectAsked),
    /// The model had the word, or a call that changes nothing ran.
    Between,
}
