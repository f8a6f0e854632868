//! What a message means for the link that heard it, beside what is shown of it.
//!
//! Owns which messages end a turn, ask, or tell how a session stands, in the words of the seed and in those of its public source.
//! Reads leniently: what is not there is not known.

use serde_json::{Map, Value};

use super::place::HostPlace;
use crate::domain::dialect::loose::Members;
use crate::domain::event::EngineEvent;

/// Capabilities of a host that runs allowed commands itself; the second is our own host's.
const RUNS: [&str; 2] = ["server_runner", "host_runs_commands"];

/// Capabilities of a host that makes allowed changes itself; the second is our own host's.
const APPLIES: [&str; 2] = ["server_apply", "host_applies_patches"];

/// Capability of a host that numbers its sessions and tells again what followed a number: our own.
const REPLAYS: &str = "session_replay";

/// Capability of a host that takes what was decided on each change of an edit: our own.
const HUNKS: &str = "hunk_decisions";

/// Clients of a session that are told by name; a person has a few editors.
const CLIENTS: usize = 16;

/// Characters of a client's name.
const NAME: usize = 80;

/// What a message means for the link.
#[derive(Debug, Clone, PartialEq)]
pub enum HostNews {
    /// The host's part of the handshake.
    Hello(HostHello),
    /// How the session stands.
    State(HostState),
    /// A piece of the answer, and the whole so far where the host says it.
    Piece {
        /// The piece.
        piece: String,
        /// All pieces, as the host has them.
        so_far: Option<String>,
    },
    /// A change is proposed; by this name.
    Proposed(String),
    /// Something is asked.
    Asked(HostQuestion),
    /// The turn is over.
    Ended {
        /// The whole answer.
        message: String,
        /// Whether it was stopped.
        cancelled: bool,
    },
    /// Something failed; nothing of the turn may follow.
    Failed,
    /// A tool began or ended: what is said next is another message.
    Tool(ToolMoment),
    /// The host begins with a prompt; the id that its client gave it.
    Prompt(Option<String>),
    /// A question is settled.
    Settled(HostSettled),
    /// The host did not tell everything, and shows how the transcript stands instead.
    Behind,
    /// Anything else of a turn.
    Works,
    /// Nothing of a turn.
    Beside,
}

impl HostNews {
    /// Whether it says something of a turn, ours or another's.
    pub fn is_of_a_turn(&self) -> bool {
        !matches!(self, Self::Hello(_) | Self::State(_) | Self::Behind | Self::Settled(_) | Self::Beside)
    }
}

/// How far a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMoment {
    /// It began.
    Began,
    /// It ended: files and the terminal may be others now.
    Ended,
}

/// The host's part of the handshake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostHello {
    /// What it can do, in its own words.
    pub capabilities: Vec<String>,
}

/// How a session stands at its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostState {
    /// Whether a turn runs, where the host says so.
    pub running: Option<bool>,
    /// Ids of what waits for an answer.
    pub waiting: Vec<String>,
    /// Those of them that were asked for by a question of its own, as a change that is only proposed is not.
    pub questions: Vec<String>,
    /// How far this side was told, by the host's numbers.
    pub place: Option<HostPlace>,
    /// What became of what this side has, where it named it.
    pub resume: Option<HostResume>,
    /// The clients of the session, by the names that they gave.
    pub clients: Vec<String>,
}

/// What became of what a client has that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostResume {
    /// Everything that followed it was told.
    Whole,
    /// Something is missing; why, in the host's words.
    Lost(String),
}

/// How a question was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSettled {
    /// The host's id of it.
    pub request_id: String,
    /// Whether it was allowed.
    pub allowed: bool,
    /// The client that answered, where one did.
    pub by: Option<String>,
}

/// Who does what was allowed, and what they need for it.
#[derive(Debug, Clone, PartialEq)]
pub enum HostQuestion {
    /// A command.
    Command(AskedCommand),
    /// A change with its diff, by the name of its patch.
    Patch(String),
    /// A tool of the host, which does it itself.
    Tool,
}

/// A command that is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AskedCommand {
    /// The host's id of it.
    pub command_id: String,
    /// The exact line.
    pub command: String,
    /// Directory that it is to run in.
    pub directory: String,
    /// Variables, by name.
    pub environment: Vec<(String, String)>,
    /// The call that it belongs to.
    pub call_id: Option<String>,
}

impl HostHello {
    /// Whether the host runs allowed commands itself.
    pub fn runs(&self) -> bool {
        self.capabilities.iter().any(|word| RUNS.contains(&word.as_str()))
    }

    /// Whether the host takes what was decided on each change of an edit.
    pub fn takes_hunks(&self) -> bool {
        self.capabilities.iter().any(|word| word == HUNKS)
    }

    /// Whether the host tells again what followed a place, and where each message stands.
    pub fn replays(&self) -> bool {
        self.capabilities.iter().any(|word| word == REPLAYS)
    }

    /// Whether the host makes allowed changes itself.
    pub fn applies(&self) -> bool {
        self.capabilities.iter().any(|word| APPLIES.contains(&word.as_str()))
    }
}

impl HostNews {
    /// Reads a message.
    pub fn of(event: &EngineEvent) -> Self {
        let payload: &Map<String, Value> = &event.payload;
        let text = |name: &str| payload.string(name).map(str::to_owned);
        match event.kind.as_str() {
            "server.hello" => Self::Hello(hello(payload)),
            "session.state" => Self::State(state(payload)),
            "assistant.token" | "assistant.message_delta" => Self::Piece {
                piece: text("token").or_else(|| text("delta")).unwrap_or_default(),
                so_far: text("cumulative_text"),
            },
            "patch.proposed" => Self::Proposed(text("patch_id").or_else(|| text("id")).unwrap_or_default()),
            "tool.request_approval" | "command.request_approval" => Self::Asked(question(event)),
            "assistant.message_final" => Self::Ended {
                message: text("message").unwrap_or_default(),
                cancelled: payload
                    .object("metadata")
                    .and_then(|metadata| metadata.get("cancelled"))
                    .and_then(Value::as_bool)
                    .unwrap_or(false),
            },
            "server.error" | "error" => Self::Failed,
            "tool.execute" if payload.string("status") == Some("started") => Self::Tool(ToolMoment::Began),
            "assistant.tool_use" => Self::Tool(ToolMoment::Began),
            "tool.execute" | "assistant.tool_result" => Self::Tool(ToolMoment::Ended),
            "session.user_message" => Self::Prompt(text("message_id")),
            "approval.settled" => Self::Settled(HostSettled {
                request_id: text("request_id").unwrap_or_default(),
                allowed: payload.string("status") == Some("allowed"),
                by: payload.object("by").and_then(|by| by.string("name")).map(name),
            }),
            "session.snapshot" if payload.string("reason") == Some("behind") => Self::Behind,
            "server.pong" | "server.notice" | "session.snapshot" => Self::Beside,
            _ => Self::Works,
        }
    }
}

fn hello(payload: &Map<String, Value>) -> HostHello {
    let info = payload.object("server_info");
    let words = info.and_then(|info| info.get("capabilities")).and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    HostHello { capabilities: words.take(64).map(str::to_owned).collect() }
}

fn state(payload: &Map<String, Value>) -> HostState {
    let state = payload.object("state");
    let waiting = state.and_then(|state| state.get("pending_approvals")).and_then(Value::as_array);
    // A patch that waits is asked for under its own name, where nothing else asks for it.
    let patches = state.and_then(|state| state.get("pending_patches")).and_then(Value::as_array);
    let clients = state.and_then(|state| state.list("clients"));
    let ids = waiting.into_iter().flatten().chain(patches.into_iter().flatten());
    HostState {
        running: state.and_then(|state| state.get("running")).and_then(Value::as_bool),
        questions: waiting.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        waiting: ids.filter_map(Value::as_str).map(str::to_owned).collect(),
        place: state.and_then(|state| state.object("cursor")).and_then(HostPlace::read),
        resume: state.and_then(|state| state.object("resume")).map(resume),
        clients: clients
            .into_iter()
            .flatten()
            .filter_map(|client| client.string("name"))
            .take(CLIENTS)
            .map(name)
            .collect(),
    }
}

fn resume(resume: &Map<String, Value>) -> HostResume {
    match resume.string("verdict") {
        Some("complete" | "replayed" | "resynced") => HostResume::Whole,
        _ => HostResume::Lost(resume.string("reason").unwrap_or("the host does not say why").to_owned()),
    }
}

fn name(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(NAME).collect()
}

fn question(event: &EngineEvent) -> HostQuestion {
    let payload: &Map<String, Value> = &event.payload;
    if payload.string("tool").is_some() && payload.contains_key("arguments") {
        // The public source does what was allowed itself.
        return HostQuestion::Tool;
    }
    if let (true, Some(command)) = (event.kind == "command.request_approval", payload.string("command")) {
        let text = |name: &str| payload.string(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let variables = payload.object("environment").into_iter().flatten();
        return HostQuestion::Command(AskedCommand {
            command_id: text("command_id").or_else(|| text("request_id")).unwrap_or_default(),
            command: command.to_owned(),
            directory: text("working_directory").unwrap_or_else(|| ".".to_owned()),
            environment: variables
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            call_id: text("call_id"),
        });
    }
    let args = payload.object("args");
    let arg = |name: &str| args.and_then(|args| args.string(name));
    match (arg("patch_id"), arg("diff")) {
        (Some(patch_id), Some(_)) => HostQuestion::Patch(patch_id.to_owned()),
        (_, _) => HostQuestion::Tool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::dialect::desktop::decode::decode;
    use serde_json::json;

    fn news(message: &Value) -> HostNews {
        HostNews::of(&decode(&message.to_string()))
    }

    #[test]
    fn r002_54_55_a_hello_is_read_in_both_dialects() {
        let seed = news(&json!({ "type": "server.hello", "server_info": { "version": "0.1.0",
            "model": { "provider": "ollama", "model_name": "m", "capabilities": ["chat"] },
            "capabilities": ["agentic_rag", "server_runner"] } }));
        let HostNews::Hello(hello) = seed else { panic!("{seed:?}") };
        assert!(hello.runs() && !hello.applies());
        assert_eq!(news(&json!({ "type": "server.hello" })), HostNews::Hello(HostHello::default()));
    }

    #[test]
    fn r002_72_73_74_pieces_and_ends_are_told_apart_in_both_dialects() {
        let piece = |piece: &str, so_far: Option<&str>| HostNews::Piece {
            piece: piece.to_owned(),
            so_far: so_far.map(str::to_owned),
        };
        let rows = [
            (
                json!({ "type": "assistant.token", "token": "a", "cumulative_text": "xa" }),
                piece("a", Some("xa")),
            ),
            (json!({ "type": "assistant.message_delta", "delta": "a" }), piece("a", None)),
            (
                json!({ "type": "assistant.message_final", "message": "m", "metadata": { "success": true } }),
                HostNews::Ended { message: "m".to_owned(), cancelled: false },
            ),
            (
                json!({ "type": "server.error", "error": { "message": "m", "recoverable": true } }),
                HostNews::Failed,
            ),
            (json!({ "type": "error", "error": "No model." }), HostNews::Failed),
            (json!({ "type": "server.pong", "timestamp": 1 }), HostNews::Beside),
            (
                json!({ "type": "assistant.tool_use", "tool": "t", "arguments": {} }),
                HostNews::Tool(ToolMoment::Began),
            ),
            (json!({ "type": "tool.execute", "status": "completed" }), HostNews::Tool(ToolMoment::Ended)),
            (json!({ "type": "never heard" }), HostNews::Works),
        ];
        for (message, wanted) in rows {
            assert_eq!(news(&message), wanted, "{message}");
        }
    }

    #[test]
    fn r002_66_70_who_does_what_was_allowed_is_told_by_the_shape() {
        let command = news(
            &json!({ "type": "command.request_approval", "command_id": "c1", "command": "npm test",
            "working_directory": "/w", "environment": { "A": "1" }, "requires_approval": true, "reason": "r" }),
        );
        let wanted = AskedCommand {
            command_id: "c1".to_owned(),
            command: "npm test".to_owned(),
            directory: "/w".to_owned(),
            environment: vec![("A".to_owned(), "1".to_owned())],
            call_id: None,
        };
        assert_eq!(command, HostNews::Asked(HostQuestion::Command(wanted)));
        let elsewhere = json!({ "type": "command.request_approval", "request_id": "r", "tool": "run_command",
            "arguments": { "command": "ls" }, "message": "m" });
        assert_eq!(news(&elsewhere), HostNews::Asked(HostQuestion::Tool));
        let patch = json!({ "type": "tool.request_approval", "request_id": "r", "tool_name": "write_file",
            "args": { "file_path": "a", "patch_id": "p1", "diff": "@@ -1 +1 @@\n-a\n+b\n" }, "risk_level": "low" });
        assert_eq!(news(&patch), HostNews::Asked(HostQuestion::Patch("p1".to_owned())));
        let write = json!({ "type": "tool.request_approval", "request_id": "r", "tool_name": "delete_file",
            "args": { "file_path": "a", "reason": "old" }, "risk_level": "high" });
        assert_eq!(news(&write), HostNews::Asked(HostQuestion::Tool));
    }

    #[test]
    fn r002_77_how_a_session_stands_is_read() {
        let state = json!({ "type": "session.state", "state": { "pending_patches": ["p1"], "applied_patches": [],
            "pending_approvals": ["r1"], "current_step": 2, "total_steps": 5 } });
        let waiting = vec!["r1".to_owned(), "p1".to_owned()];
        let questions = vec!["r1".to_owned()];
        assert_eq!(news(&state), HostNews::State(HostState { waiting, questions, ..HostState::default() }));
        let ours = json!({ "type": "session.state", "state": { "pending_patches": [], "applied_patches": [], "pending_approvals": [],
            "current_step": 0, "total_steps": 0, "running": true, "cursor": { "epoch": "e", "seq": 9 },
            "clients": [{ "name": "Neo\u{7}vim", "version": "1" }], "resume": { "verdict": "lost", "reason": "It is gone." } } });
        let place = Some(HostPlace { epoch: "e".to_owned(), seq: 9 });
        let resume = Some(HostResume::Lost("It is gone.".to_owned()));
        let clients = vec!["Neovim".to_owned()];
        assert_eq!(
            news(&ours),
            HostNews::State(HostState {
                running: Some(true),
                place,
                resume,
                clients,
                ..HostState::default()
            })
        );
    }

    #[test]
    fn what_our_own_host_adds_is_read() {
        let settled = news(&json!({ "type": "approval.settled", "request_id": "r", "status": "allowed",
            "by": { "name": "Neovim", "version": "1" } }));
        let by = Some("Neovim".to_owned());
        assert_eq!(settled, HostNews::Settled(HostSettled { request_id: "r".to_owned(), allowed: true, by }));
        let prompt = news(&json!({ "type": "session.user_message", "message": "go", "message_id": "m1" }));
        assert_eq!(prompt, HostNews::Prompt(Some("m1".to_owned())));
        for (reason, wanted) in [("behind", HostNews::Behind), ("connected", HostNews::Beside)] {
            assert_eq!(news(&json!({ "type": "session.snapshot", "reason": reason })), wanted);
        }
        assert_eq!(
            news(&json!({ "type": "server.notice", "level": "info", "message": "m" })),
            HostNews::Beside
        );
    }
}
