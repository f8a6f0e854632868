//! What the loop remembers of a session between turns and across restarts.
//!
//! Owns the record's shape on disk. Never holds what can be derived from the journal: the head, the view, the events.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ports::{AgentProcess, Attachment, SessionRow};
use super::turn::TurnState;
use crate::domain::agent_mode::AgentMode;
use crate::domain::approval::{
    AskRoot, NamedClient, OfferedRule, Permission, PermissionRule, PermissionStatus, Proposal, RootedRule,
    RuleHolder,
};
use crate::domain::delivery::queue::PromptQueue;
use crate::domain::dialect::acp::state::AgentState;
use crate::protocol::request::BranchedFrom;
use crate::protocol::settings::EngineKind;

/// One session as the journal keeps it. Fields may be added with a default; none may change its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Id of the session.
    pub session_id: String,
    /// First line of the first prompt.
    pub title: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: i64,
    /// Milliseconds since the Unix epoch.
    pub updated_at: i64,
    /// Number of the last turn that was opened.
    pub last_turn: u64,
    /// How the turn stands; found open on start, it was interrupted, or goes on at its engine.
    pub turn: TurnState,
    /// Prompts that wait.
    pub queue: PromptQueue,
    /// Rules the user saved for this session. Those of records before rules belonged to a folder are not read.
    #[serde(default)]
    pub rooted_rules: Vec<RootedRule>,
    /// Rules that the user allowed and that others keep, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_elsewhere: Vec<KeptRule>,
    /// Model asked for by `bb/createSession`.
    pub model: Option<String>,
    /// Attachments stored for later prompts.
    pub attachments: Vec<Attachment>,
    /// Which engine it belongs to. Records of the first version are the embedded engine's.
    #[serde(default = "embedded")]
    pub engine: EngineKind,
    /// What is known of it at the engine, where the engine holds sessions.
    #[serde(default)]
    pub held: Option<RemoteSession>,
    /// What the engine has to hear of the last turn with the next prompt: something of it that was begun may have been done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// What the agent has to hear with the next prompt, in order: its protocol has no other place for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why events of it may be missing since the journal was damaged on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// URI of the chat document that it was prompted from last: what is asked there goes on in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The mode of its turns, where our own agent is in it.
    #[serde(default)]
    pub mode: AgentMode,
    /// Calls whose commands go on after their turn, in the window that has the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_commands: Vec<String>,
    /// Whether the user pinned it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The session whose conversation it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branched_from: Option<BranchedFrom>,
    /// Our record of that conversation, until a turn ended whose engine was given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_be_told: Option<String>,
}

/// A rule that an engine or an agent keeps, as far as it was told here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptRule {
    /// What it covers, in its keeper's words.
    pub rule: OfferedRule,
    /// Who keeps it: the kind of the engine, or the name of the agent.
    pub keeper: String,
}

fn embedded() -> EngineKind {
    EngineKind::Embedded
}

/// How a session stands at its agent, as far as it was told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentSnapshot {
    /// Modes, options, models, commands and usage.
    pub state: AgentState,
    /// The process that told it.
    pub process: AgentProcess,
}

/// A session as the engine that holds it has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RemoteSession {
    /// Where it works; `None` when another client made it and the engine does not say.
    pub workspace: Option<PathBuf>,
    /// Address of the engine: another one may have a session of the same name.
    #[serde(default)]
    pub origin: Option<String>,
    /// Why nothing more comes; `None` while it lives.
    #[serde(default)]
    pub over: Option<SessionEnd>,
    /// Name of the agent that it belongs to, where the engine is an agent process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's own id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_agent: Option<String>,
    /// What is known of it at its agent, and of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Box<AgentSnapshot>>,
    /// Stretches that are missing, by the engine's numbers, newest last; what `bb/rebuild` asks for.
    #[serde(default)]
    pub missing: Vec<(u64, Option<u64>)>,
    /// How the newest run of it stands that was given up or ended.
    #[serde(default)]
    pub last_run: LastRun,
}

/// Whether the engine told of the end of a run that is over here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LastRun {
    /// It did, or there was none.
    #[default]
    Ended,
    /// It was given up without, and the engine may work on it still: an end that comes may be its.
    GivenUp,
}

/// Why nothing more comes of a session at its engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "camelCase")]
pub(crate) enum SessionEnd {
    /// The engine ended it, and everything that it said was heard or is known to be missing.
    Ended {
        /// The engine's word for how.
        status: String,
    },
    /// The engine does not have it any more: deleted by somebody else, or lost with the engine's process.
    Gone {
        /// When the last of it was heard, in milliseconds since the Unix epoch.
        heard: i64,
        /// The transcript says so.
        told: bool,
    },
}

impl SessionEnd {
    /// How it stands, in one word.
    pub(crate) fn status(&self) -> &str {
        match self {
            Self::Ended { status } => status,
            Self::Gone { .. } => "gone",
        }
    }

    /// Why it takes no prompt, as the middle of a sentence.
    pub(crate) fn because(&self) -> String {
        match self {
            Self::Ended { status } => format!("it has {status}"),
            Self::Gone { .. } => "the engine no longer has it".to_owned(),
        }
    }

    /// What nobody heard, as the end of a sentence. `None`: everything was heard.
    pub(crate) fn unheard(&self) -> Option<String> {
        let Self::Gone { heard, .. } = self else { return None };
        let since = u64::try_from(*heard).ok().map(std::time::Duration::from_millis).unwrap_or_default();
        let at = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + since).to_string();
        let at = at.trim_end_matches('Z').replace('T', " ");
        Some(format!(
            "the engine no longer has this session, so what happened there after {at} UTC cannot be known"
        ))
    }
}

impl Record {
    /// A session that has not begun.
    pub(super) fn new(session_id: String, now: i64, model: Option<String>, engine: EngineKind) -> Self {
        Self {
            session_id,
            title: None,
            created_at: now,
            updated_at: now,
            last_turn: 0,
            turn: TurnState::Idle,
            queue: PromptQueue::default(),
            rooted_rules: Vec::new(),
            kept_elsewhere: Vec::new(),
            model,
            attachments: Vec::new(),
            engine,
            held: None,
            left: None,
            notes: Vec::new(),
            kept_commands: Vec::new(),
            damage: None,
            chat: None,
            mode: AgentMode::default(),
            pinned: false,
            branched_from: None,
            to_be_told: None,
        }
    }

    /// How its engine ended it, if it did.
    pub(super) fn over(&self) -> Option<&SessionEnd> {
        self.held.as_ref().and_then(|held| held.over.as_ref())
    }

    /// The row that the journal stores.
    pub(super) fn row(&self, workspace: &str) -> SessionRow {
        SessionRow {
            session_id: self.session_id.clone(),
            workspace: workspace.to_owned(),
            updated_at: self.updated_at,
            // A record holds strings, numbers and lists only, which always serialise.
            record: serde_json::to_vec(self).unwrap_or_default(),
        }
    }
}

/// One ask of the ledger: what was shown, and how it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ask {
    /// What clients may see, whole; they were sent it cut.
    pub permission: Permission,
    /// The rules that its options would save, in the engine's own characters, by option.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, OfferedRule>,
    /// The folder that it is about.
    #[serde(default)]
    pub root: AskRoot,
    /// Name of that folder, where it is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_name: Option<String>,
    /// The engine's own id; engines repeat theirs.
    pub engine_request_id: String,
    /// The engine's own number of it: with the id it tells one ask from a later one.
    #[serde(default)]
    pub engine_seq: Option<u64>,
    /// Who asks: the kind of the engine, or the name of the agent.
    #[serde(default)]
    pub source: String,
    /// Number of the agent's process that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Milliseconds since the Unix epoch; 0 in ledgers of the first version.
    #[serde(default)]
    pub asked_at: i64,
    /// How it stands.
    pub status: PermissionStatus,
    /// Who settled it.
    pub resolved_by: Option<Settler>,
    /// The option that was answered with, while the engine has not confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The rule that was narrowed with that answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_rule: Option<PermissionRule>,
    /// Who answered, where it was not the user, while the engine has not confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_by: Option<Settler>,
    /// The client at which the user answered, where it has a name; from the answer on, whether it is confirmed or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<NamedClient>,
    /// What was answered, while the engine has not confirmed it.
    #[serde(default)]
    pub answered: Option<PermissionStatus>,
    /// The edit, where it can be decided hunk by hunk, in the engine's own characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    /// Whether this process sent that answer. One of a process that is gone may never have arrived: it can be given again.
    #[serde(skip)]
    pub sent: bool,
}

impl Ask {
    /// The rule that comes of an answer with this option; `saved` is what it was narrowed to.
    pub(super) fn rule_of(&self, option_id: &str, saved: Option<&PermissionRule>) -> Option<OfferedRule> {
        let offered = self.rules.get(option_id)?;
        Some(match saved {
            Some(PermissionRule { pattern, scope }) => OfferedRule {
                pattern: pattern.clone(),
                scope: Some(*scope),
                holder: offered.holder,
                // One of another scope may lie elsewhere.
                kept_in: offered.kept_in.clone().filter(|_| offered.scope == Some(*scope)),
            },
            None => offered.clone(),
        })
    }

    /// The rule of ours that answers such a request: the one that its options would save.
    pub(super) fn server_rule(&self) -> Option<PermissionRule> {
        self.rules.values().filter(|rule| rule.holder == RuleHolder::Server).find_map(OfferedRule::saved)
    }
}

/// Who, or what, settled an ask (`resolvedBy` on the wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Settler {
    /// `bb/approvePermission`.
    User,
    /// The same of a client that may answer without a person, which nobody here can know.
    Client,
    /// A rule the user saved.
    Rule,
    /// What the user set to be done, or refused, without asking.
    Setting,
    /// `bb/stop`.
    Stop,
    /// The turn ended first.
    TurnEnd,
    /// The process that asked is gone.
    Restart,
    /// `bb/deleteSession`.
    Delete,
    /// The engine, or another of its clients.
    Engine,
    /// The process that asked ended.
    Exit,
    /// Nobody answered in time.
    Expiry,
}

impl Settler {
    /// Whether somebody answered at a client of this server.
    pub(super) fn is_at_a_client(self) -> bool {
        matches!(self, Self::User | Self::Client)
    }

    /// The word on the wire.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Client => "client",
            Self::Rule => "rule",
            Self::Setting => "setting",
            Self::Stop => "stop",
            Self::TurnEnd => "turn_end",
            Self::Restart => "restart",
            Self::Delete => "delete",
            Self::Engine => "engine",
            Self::Exit => "exit",
            Self::Expiry => "expiry",
        }
    }
}
