//! The three stages an event passes inside the server: `EngineEvent` → `NormalizedEvent` → `SessionEvent`.
//!
//! Owns the one normalised vocabulary (class, pane, origin). Never decodes an engine's bytes and never
//! gives out a `seq`: the loop does.

use std::borrow::Cow;

use super::approval::Permission;
use super::payload::Payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One message as an engine said it, before it has a class. Ids, order and payload are the engine's own.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineEvent {
    /// The engine's resume token, opaque; empty where the engine has none (desktop, embedded, acp).
    pub id: String,
    /// The engine's own word for the message.
    pub kind: String,
    /// The engine's turn number, where it gives one.
    pub turn: Option<u64>,
    /// Milliseconds since the Unix epoch, where the engine gives a time.
    pub ts: Option<i64>,
    /// The message without its envelope.
    pub payload: Payload,
    /// True when the text was not strictly JSON and was repaired (wire.md section 3).
    pub repaired: bool,
}

/// An event that has been given its class and panes, and lacks only its `seq`.
#[derive(Debug, Clone, PartialEq)]
pub struct NormalizedEvent {
    /// The engine's resume token, or `""`.
    pub id: String,
    /// The raw type, or a `local.*` type.
    pub kind: String,
    /// Turn number.
    pub turn: Option<u64>,
    /// Milliseconds since the Unix epoch.
    pub ts: Option<i64>,
    /// The payload, untouched.
    pub payload: Payload,
    /// Whether the text had to be repaired.
    pub repaired: bool,
    /// Who made the event.
    pub origin: Origin,
    /// The normalised class.
    pub class: EventClass,
    /// Panes in which it belongs.
    pub pane: Cow<'static, [Pane]>,
    /// What is asked, on `permission.request`; filled by the loop, which owns request ids.
    pub permission: Option<Box<Permission>>,
}

/// One journalled event, as every client sees it (`Event` of wire.md section 3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct SessionEvent {
    /// The engine's resume token: opaque, never parsed, compared as a number or regenerated. `""` for local events
    /// and for engines without one.
    pub id: String,
    /// The raw type of the message, or one of the `local.*` types.
    #[serde(rename = "type")]
    pub kind: String,
    /// Turn number; turns restart per engine run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<i64>,
    /// When this server took it in, by its own clock, on what an engine says of the end of a turn.
    #[serde(default, rename = "receivedAt", skip_serializing_if = "Option::is_none")]
    pub received_at: Option<i64>,
    /// The engine's payload, untouched but for repairs that `repaired` announces.
    pub payload: Payload,
    /// Ours: per session from 1, without holes, the same at every replay of the same journal.
    pub seq: u64,
    /// The normalised class.
    pub class: EventClass,
    /// Panes in which the event belongs.
    pub pane: Cow<'static, [Pane]>,
    /// Who made the event.
    pub origin: Origin,
    /// True when the engine's text was repaired to become JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
    /// What is asked, on events of class `permission.request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Box<Permission>>,
}

impl NormalizedEvent {
    /// A server-made event: empty id, origin `local`.
    pub fn local(kind: LocalKind, turn: Option<u64>, ts: i64, payload: impl Into<Payload>) -> Self {
        Self {
            id: String::new(),
            kind: kind.as_str().to_owned(),
            turn,
            ts: Some(ts),
            payload: payload.into(),
            repaired: false,
            origin: Origin::Local,
            class: kind.class(),
            pane: Cow::Borrowed(kind.panes()),
            permission: None,
        }
    }

    /// The last stage: the event with its place in the session.
    pub fn sequenced(self, seq: u64) -> SessionEvent {
        SessionEvent {
            id: self.id,
            kind: self.kind,
            turn: self.turn,
            ts: self.ts,
            received_at: None,
            payload: self.payload,
            seq,
            class: self.class,
            pane: self.pane,
            origin: self.origin,
            repaired: self.repaired,
            permission: self.permission,
        }
    }
}

impl SessionEvent {
    /// As JSON, field by field what `Serialize` gives. This is done for every event, so the names stand here as text and the
    /// payload is copied without another look at it. Empty when it cannot be written, which strings, numbers, maps and
    /// lists always can.
    pub fn to_json(&self) -> Vec<u8> {
        const NAMES: usize = 224;
        let mut out = Vec::with_capacity(self.payload.raw().map_or(0, str::len) + NAMES);
        if self.write_json(&mut out).is_err() {
            out.clear();
        }
        out
    }

    fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        field(out, "{\"id\":", &self.id)?;
        field(out, ",\"type\":", &self.kind)?;
        if let Some(turn) = &self.turn {
            field(out, ",\"turn\":", turn)?;
        }
        if let Some(ts) = &self.ts {
            field(out, ",\"ts\":", ts)?;
        }
        if let Some(at) = &self.received_at {
            field(out, ",\"receivedAt\":", at)?;
        }
        match self.payload.raw() {
            Some(raw) => {
                out.extend_from_slice(b",\"payload\":");
                out.extend_from_slice(raw.as_bytes());
            }
            None => field(out, ",\"payload\":", &self.payload)?,
        }
        field(out, ",\"seq\":", &self.seq)?;
        field(out, ",\"class\":", &self.class)?;
        field(out, ",\"pane\":", &self.pane)?;
        field(out, ",\"origin\":", &self.origin)?;
        if self.repaired {
            out.extend_from_slice(b",\"repaired\":true");
        }
        if let Some(permission) = &self.permission {
            field(out, ",\"permission\":", permission)?;
        }
        out.push(b'}');
        Ok(())
    }
}

fn field(out: &mut Vec<u8>, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
    out.extend_from_slice(name.as_bytes());
    serde_json::to_writer(out, value)
}

/// The fields of an event that say what it is, borrowed from either of its last two stages.
#[derive(Debug, Clone, Copy)]
pub struct EventRef<'a> {
    /// The raw type.
    pub kind: &'a str,
    /// The normalised class.
    pub class: EventClass,
    /// Who made it.
    pub origin: Origin,
    /// Turn number.
    pub turn: Option<u64>,
    /// The payload, untouched.
    pub payload: &'a Payload,
}

impl<'a> From<&'a NormalizedEvent> for EventRef<'a> {
    fn from(event: &'a NormalizedEvent) -> Self {
        let NormalizedEvent { kind, class, origin, turn, payload, .. } = event;
        Self { kind, class: *class, origin: *origin, turn: *turn, payload }
    }
}

impl<'a> From<&'a SessionEvent> for EventRef<'a> {
    fn from(event: &'a SessionEvent) -> Self {
        let SessionEvent { kind, class, origin, turn, payload, .. } = event;
        Self { kind, class: *class, origin: *origin, turn: *turn, payload }
    }
}

/// Who made an event: the engine, word for word, or this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// `id`, `type`, `turn`, `ts` and `payload` are the engine's own.
    Engine,
    /// Made by this server; never a resume cursor.
    Local,
}

/// Where a client shows an event (seed 003).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pane {
    /// The transcript.
    Chat,
    /// The task tree.
    Tasks,
    /// Files and patches.
    Files,
    /// The run summary: checkpoints, links, results.
    Run,
    /// Everything a developer of agents wants to see.
    Debug,
}

/// The normalised class of an event: seed 003's table, then our additive classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EventClass {
    /// A prompt of the user.
    #[serde(rename = "transcript.user_message")]
    UserMessage,
    /// A piece, or the whole, of an assistant message.
    #[serde(rename = "transcript.assistant_stream")]
    AssistantStream,
    /// A piece of reasoning, a thought summary or a thinking phase.
    #[serde(rename = "transcript.reasoning_stream")]
    ReasoningStream,
    /// A tool began.
    #[serde(rename = "tool.call")]
    ToolCall,
    /// A tool ended.
    #[serde(rename = "tool.result")]
    ToolResult,
    /// Additive: a piece of a running tool's output.
    #[serde(rename = "tool.output")]
    ToolOutput,
    /// The engine waits for an answer.
    #[serde(rename = "permission.request")]
    PermissionRequest,
    /// An ask was answered or settled.
    #[serde(rename = "permission.response")]
    PermissionResponse,
    /// The list of checkpoints.
    #[serde(rename = "checkpoint.list")]
    CheckpointList,
    /// A checkpoint was restored.
    #[serde(rename = "checkpoint.restored")]
    CheckpointRestored,
    /// A task changed.
    #[serde(rename = "task.event")]
    TaskEvent,
    /// The skills there are.
    #[serde(rename = "skills.catalog")]
    SkillsCatalog,
    /// The skills chosen.
    #[serde(rename = "skills.selection")]
    SkillsSelection,
    /// One node of the conversation tree.
    #[serde(rename = "ctree.node")]
    CtreeNode,
    /// The whole conversation tree.
    #[serde(rename = "ctree.snapshot")]
    CtreeSnapshot,
    /// A reward changed.
    #[serde(rename = "reward.update")]
    RewardUpdate,
    /// A link to a log or artifact.
    #[serde(rename = "run.log_link")]
    RunLogLink,
    /// A turn ended; at least one per turn.
    #[serde(rename = "run.finished")]
    RunFinished,
    /// Something failed, or events are missing.
    #[serde(rename = "run.error_or_gap")]
    RunErrorOrGap,
    /// A turn began.
    #[serde(rename = "turn.start")]
    TurnStart,
    /// Additive: a plan or todo list.
    #[serde(rename = "plan.update")]
    PlanUpdate,
    /// Additive: a list of things to do, whole.
    #[serde(rename = "todo.update")]
    TodoUpdate,
    /// Additive: a conversation was made shorter so that it fits the model.
    #[serde(rename = "context.compaction")]
    ContextCompaction,
    /// Additive: how a search goes.
    #[serde(rename = "retrieval.status")]
    RetrievalStatus,
    /// Additive: a patch waits for a decision.
    #[serde(rename = "patch.proposed")]
    PatchProposed,
    /// Additive: tokens, cost, limits.
    #[serde(rename = "usage.update")]
    UsageUpdate,
    /// Additive: hello, modes, state of the session.
    #[serde(rename = "session.lifecycle")]
    SessionLifecycle,
    /// Additive: a sentence for the user.
    #[serde(rename = "notice")]
    Notice,
    /// Additive: what a turn changed in the files of the workspace, or taking it back.
    #[serde(rename = "turn.changes")]
    TurnChanges,
    /// Whatever we have no word for; kept raw.
    #[serde(rename = "unknown_event")]
    UnknownEvent,
}

/// The closed list of server-made event types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalKind {
    /// A prompt goes to the engine: `{ messageId, text, attachmentIds?, engine, model?, folders? }`, where `folders` are those of the
    /// workspace, `{ path, name? }`, for an agent, which names files by their whole paths.
    Prompt,
    /// What went with the prompt before it: `{ messageId, command?, items, notes }`; an item is `{ kind, label, uri?, text?, isPart? }`.
    /// With `update: true` it is what changed of it while its turn ran, as the engine was told.
    Context,
    /// An ask was settled: `{ requestId, status, optionId?, resolvedBy, chosen?, client? }`, where `chosen` is the option that the user
    /// took and the rule that was saved with it, `{ optionId, label, rule? }`, and `client` the client at which that was,
    /// `{ name, version }`, both as a `permission` block has them.
    PermissionSettled,
    /// An ask was answered with what saves first: `{ requestId, problem? }`. With a `problem` that failed, and the ask waits again.
    PermissionSaving,
    /// Events are missing: `{ from?, to?, reason }`.
    Gap,
    /// A turn ended without the engine's own end, or was stopped and the engine does not say so: `{ reason, message }`, where
    /// the reason is `failed`, `no_end`, `interrupted` or `cancelled`.
    TurnEnd,
    /// The agent process ended: `{ generation, code? }`.
    AgentExited,
    /// A sentence for the user: `{ level, text }`.
    Notice,
    /// The engine took a command of the user that changes or runs something: `{ command, status }`.
    Command,
    /// A command that we run for an agent in a terminal of its own printed more, or ended: `{ terminalId, began?, text?, skipped?,
    /// ended?, exitCode?, signal? }`, where `began` stands on the first news of a terminal, `text` is what came since, in whole lines
    /// until the end, and `skipped` counts the bytes left out before it.
    Terminal,
    /// A command that we run for our own engine printed more: `{ callId, text, stream }`, where `text` is whole lines and `stream` is
    /// `stdout` or `stderr`. The result of its call has all of it, or as much as is kept. With `lost: true` its process is gone with
    /// the one that ran it, `text` says so, and no result comes.
    CommandOutput,
    /// What a turn changed in the files, whoever wrote it, or what was taken back, or marked: `{ promptSeq?, ofRevert?, files,
    /// uncovered?, text }`, as a `changes` block has it. Without a `promptSeq` these are the changes of a revert, which is named by
    /// the `seq` of this event.
    Changes,
    /// A block of the session that this one branched off, or continues, as it stands in the chat: `{ block }`, without `id` and `seq`.
    Earlier,
}

impl LocalKind {
    /// All of them.
    const ALL: [Self; 13] = [
        Self::Prompt,
        Self::Context,
        Self::PermissionSettled,
        Self::PermissionSaving,
        Self::Gap,
        Self::TurnEnd,
        Self::AgentExited,
        Self::Notice,
        Self::Command,
        Self::Terminal,
        Self::CommandOutput,
        Self::Changes,
        Self::Earlier,
    ];

    /// The kind that a `type` names.
    pub fn of(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|local| local.as_str() == kind)
    }

    /// The `type` on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "local.prompt",
            Self::Context => "local.context",
            Self::PermissionSettled => "local.permission_settled",
            Self::PermissionSaving => "local.permission_saving",
            Self::Gap => "local.gap",
            Self::TurnEnd => "local.turn_end",
            Self::AgentExited => "local.agent_exited",
            Self::Notice => "local.notice",
            Self::Command => "local.command",
            Self::Terminal => "local.terminal",
            Self::CommandOutput => "local.command_output",
            Self::Changes => "local.changes",
            Self::Earlier => "local.earlier",
        }
    }

    fn class(self) -> EventClass {
        match self {
            Self::Prompt => EventClass::UserMessage,
            Self::PermissionSettled | Self::PermissionSaving => EventClass::PermissionResponse,
            Self::Gap | Self::AgentExited => EventClass::RunErrorOrGap,
            Self::TurnEnd => EventClass::RunFinished,
            Self::Context | Self::Notice | Self::Command | Self::Earlier => EventClass::Notice,
            Self::Terminal | Self::CommandOutput => EventClass::ToolOutput,
            Self::Changes => EventClass::TurnChanges,
        }
    }

    fn panes(self) -> &'static [Pane] {
        match self {
            Self::Prompt
            | Self::Context
            | Self::PermissionSettled
            | Self::PermissionSaving
            | Self::Notice
            | Self::Command
            | Self::Terminal
            | Self::CommandOutput
            | Self::Earlier => &[Pane::Chat],
            Self::Gap | Self::TurnEnd | Self::AgentExited => &[Pane::Chat, Pane::Run],
            Self::Changes => &[Pane::Chat, Pane::Files],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_text_of_an_event_is_what_serde_makes_of_it() {
        let least = json!({"id": "", "type": "t", "payload": {}, "seq": 1, "class": "notice", "pane": [], "origin": "local"});
        let most = json!({"id": "7\"", "type": "t\n", "turn": 2, "ts": -3, "receivedAt": 5, "payload": {"a": [1.5, "é"]}, "seq": 4,
            "class": "permission.request", "pane": ["chat", "run"], "origin": "engine", "repaired": true,
            "permission": {"requestId": "r", "digest": "d", "title": "x", "subject": {"kind": "tool", "name": "x"}, "options": []}});
        for json in [least, most] {
            let mut event: SessionEvent = serde_json::from_value(json).unwrap();
            assert_eq!(event.to_json(), serde_json::to_vec(&event).unwrap());
            event.payload.insert("built".to_owned(), json!("here"));
            assert_eq!(event.to_json(), serde_json::to_vec(&event).unwrap());
        }
    }
}
