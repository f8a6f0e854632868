//! The nouns of the view: `View`, `Block`, `Change` (wire.md section 3).
//!
//! Never holds reducer state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::approval::{ChosenOption, NamedClient, Permission, PermissionStatus};
use crate::domain::background::Background;
use crate::domain::context::item::ContextChip;
use crate::domain::fact::{ChangedFileSummary, Cost, NoticeLevel, PlanStep, TurnOutcome};
use crate::domain::remedy::{Login, Retry};

/// The newest page of each lane at one `seq` of one `epoch`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Opaque name of the journal.
    pub epoch: String,
    /// The view holds every event up to this one.
    pub seq: u64,
    /// The four lanes.
    pub lanes: ViewLanes,
}

/// The lanes of a view.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViewLanes {
    /// The transcript.
    pub chat: LaneView,
    /// The task tree.
    pub tasks: LaneView,
    /// The run summary.
    pub run: LaneView,
    /// Raw lanes for developers of agents.
    pub debug: LaneView,
}

/// One page of a lane, oldest block first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaneView {
    /// Blocks in order.
    pub blocks: Vec<Block>,
    /// Whether `bb/view/page` has older ones.
    pub has_more: bool,
}

/// The four lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// The transcript.
    Chat,
    /// The task tree.
    Tasks,
    /// The run summary.
    Run,
    /// Raw events.
    Debug,
}

impl Lane {
    /// All lanes, in wire order.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Tasks, Self::Run, Self::Debug];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Tasks => "tasks",
            Self::Run => "run",
            Self::Debug => "debug",
        }
    }
}

/// One change of the view. `put` replaces by `id`, or inserts: at the end, or behind the block that `after` names; `append`
/// adds `text` to the block's `text`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Which lane.
    pub lane: Lane,
    /// What to do.
    pub op: ChangeOp,
    /// Block id, unique in its lane.
    pub id: String,
    /// The block, on `put`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// On `put`: the block goes behind this one where the lane does not hold it yet, and nowhere where it does not hold this
    /// one (both are on an older page). Told of what belongs to a turn and came when the next one had begun. Without it the
    /// block goes to the end. At most one block names another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The text, on `append`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeOp {
    /// Replace by id, or insert: at the end, or behind the block that `after` names.
    Put,
    /// Add text to a block.
    Append,
    /// Take a block away.
    Remove,
}

/// One thing to draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Unique in its lane.
    pub id: String,
    /// Turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// `seq` of the event that made it.
    pub seq: u64,
    /// Kind and fields.
    #[serde(flatten)]
    pub body: BlockBody,
}

/// The kinds of blocks and their fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum BlockBody {
    /// A prompt; put once more when it is known what goes with it, and immutable then.
    User {
        /// What was asked.
        text: String,
        /// Id of the prompt, the client's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        /// Attachments that went with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachment_ids: Vec<String>,
        /// What went with it beside them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context: Vec<ContextChip>,
        /// What was left out of that and why, one sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context_notes: Vec<String>,
        /// `seq` of the event that has all of it: `bb/eventBody` gives it whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_seq: Option<u64>,
    },
    /// A turn begins: who answers, and since when. One a turn, behind its prompt.
    #[serde(rename = "turn-start")]
    TurnStart {
        /// Milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<i64>,
        /// Who answers: the name of the agent, or the kind of the engine. Absent where another client asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        engine: Option<String>,
        /// The model, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The turn ended. One a turn, below its answer.
    #[serde(rename = "turn-end")]
    TurnEnd {
        /// How.
        outcome: TurnOutcome,
        /// One sentence that says why, where the transcript does not say it already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// How long it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// Tokens that the model read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_tokens: Option<u64>,
        /// Tokens that it wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_tokens: Option<u64>,
        /// All tokens, as the engine sums them up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total_tokens: Option<u64>,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// The assistant's text.
    Assistant {
        /// Markdown so far.
        text: String,
        /// Whether more may come.
        streaming: bool,
        /// True when `text` was cut; the whole is in the events.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// The assistant's reasoning.
    Reasoning {
        /// Text so far.
        text: String,
        /// Whether more may come.
        streaming: bool,
    },
    /// A tool call.
    Tool {
        /// The engine's id of the call, as a permission names it; absent where the engine gives none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<String>,
        /// Name of the tool.
        name: String,
        /// How it stands.
        status: ToolBlockStatus,
        /// It is a command that runs in the background, for so long: `turn` or `kept`. While its status is `running`,
        /// `bb/command` `stop_command` ends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<Background>,
        /// One line for the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its arguments, cut like a preview.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// What it changes, or would change, as a unified diff, cut like a preview. It stays when the result comes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// How its command ended, where it ran one and the engine tells it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// The compact result, with the colours of what a program printed (`ESC [ … m`) and nothing else that a terminal obeys.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
        /// True when `preview` or `diff` is not all; `bb/eventBody` of `resultSeq` has the rest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        truncated: Option<bool>,
        /// Size of the whole result in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        /// `seq` of the event with the whole result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_seq: Option<u64>,
        /// Path of the file with the whole result, for `bb/downloadArtifact`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
    },
    /// An approval card.
    Permission {
        /// What is asked.
        permission: Box<Permission>,
        /// How it stands.
        status: PermissionStatus,
        /// The option that the user chose, and the rule that was saved with it. Absent where somebody or something else settled it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<ChosenOption>,
        /// The client at which the user answered, where it has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<NamedClient>,
        /// Why it waits again after it was answered: one sentence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// A plan.
    Plan {
        /// Steps in order.
        steps: Vec<PlanStep>,
    },
    /// A proposed patch.
    Patch {
        /// Id of the patch.
        patch_id: String,
        /// Its files.
        files: Vec<PatchFileSummary>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rationale: Option<String>,
        /// The diff, cut like a preview.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    /// What a turn changed in the files, whoever wrote it, below its end, or what a revert did.
    Changes {
        /// Names the turn, or the revert, in `bb/turn/*`.
        prompt_seq: u64,
        /// The turn that was taken back, of a revert.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of_revert: Option<u64>,
        /// The files, as they stood when this was told; `bb/turn/changes` tells how they stand.
        files: Vec<ChangedFileSummary>,
        /// Files, and groups of files, that cannot be taken back; `bb/turn/changes` tells which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uncovered: Option<u64>,
        /// One sentence.
        text: String,
    },
    /// A command of the user that the engine took (`bb/command`), where it changes or runs something.
    Command {
        /// Its name and its arguments.
        command: String,
        /// The engine's word for how it stands.
        status: String,
    },
    /// A task.
    Task {
        /// The engine's id.
        task_id: String,
        /// Its parent; `orphans` when the parent is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_id: Option<String>,
        /// One line.
        title: String,
        /// `queued`, `running`, `completed` or `failed`.
        status: String,
    },
    /// A checkpoint.
    Checkpoint {
        /// The engine's id.
        checkpoint_id: String,
        /// One line.
        title: String,
        /// How it stands.
        status: String,
    },
    /// A link to a log or an artifact, or, in the chat, a picture.
    Link {
        /// Where; empty where the engine does not say.
        uri: String,
        /// What the link says; of a picture its name, type and size.
        label: String,
        /// A picture of at most 256 KiB as `data:image/…;base64,…`, to be drawn as an image and never as a document.
        /// A larger one is in its event alone (`bb/eventBody` of `seq`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        picture: Option<String>,
    },
    /// How a turn ended.
    Summary {
        /// Whether it succeeded.
        success: bool,
        /// One line: why it ended.
        text: String,
        /// Counts that the engine gave, untouched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A sentence for the user.
    Notice {
        /// How loud.
        level: NoticeLevel,
        /// What.
        text: String,
        /// Of a failure: whether the same can be sent again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry: Option<Retry>,
        /// How one logs in, where that is what is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<Box<Login>>,
    },
    /// Something we have no word for.
    Unknown {
        /// The raw type.
        #[serde(rename = "type")]
        kind: String,
        /// The start of its raw text.
        preview: String,
    },
}

/// How a tool block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolBlockStatus {
    /// Not ended yet.
    Running,
    /// Ended well.
    Ok,
    /// Ended badly.
    Failed,
    /// The user did not allow it.
    Denied,
    /// It was stopped, or the turn ended first.
    Cancelled,
}

impl ToolBlockStatus {
    /// In a word for a person.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "done",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One file of a patch block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchFileSummary {
    /// Relative to the workspace root.
    pub file_path: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}
