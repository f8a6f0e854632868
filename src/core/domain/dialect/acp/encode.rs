//! What we say to an agent: the lines of the Agent Client Protocol, version 1, client to agent.
//!
//! Owns envelopes and parameters. Every function gives the whole value; nothing here is sent, and no field is added
//! beyond the schema. What goes into a prompt: `acp_blocks`. Test: `tests/acp_schema.rs` reads all of it with the types
//! of the protocol's owners.

use serde_json::{Map, Value, json};

use super::decode::RpcId;

/// The version that we speak. An agent that answers with another one is refused.
pub const PROTOCOL_VERSION: u64 = 1;

/// What an agent may ask of us. Everything off is what an agent gets that was not said to need more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// `fs/read_text_file`.
    pub read_text_file: bool,
    /// `fs/write_text_file`.
    pub write_text_file: bool,
    /// `terminal/*`.
    pub terminal: bool,
    /// `elicitation/create` with a form.
    pub elicitation_form: bool,
    /// `elicitation/create` with a page.
    pub elicitation_url: bool,
    /// Updates `notice`.
    pub notices: bool,
    /// Updates about a conversation that was made shorter.
    pub compaction: bool,
    /// Config options that are switches.
    pub boolean_options: bool,
}

/// An answer to `session/request_permission`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionOutcome<'a> {
    /// This option, by its id.
    Selected(&'a str),
    /// None: the turn was cancelled, or nobody can answer any more.
    Cancelled,
}

/// An answer to `elicitation/create`.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// With what was filled in; `None` for a page.
    Accept(Option<Value>),
    /// The user declines to fill anything in.
    Decline,
    /// Nobody answered.
    Cancel,
}

/// A value for `session/set_config_option`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigValue {
    /// One of the choices.
    Choice(String),
    /// A switch.
    Switch(bool),
}

/// A request, as one line without its end.
pub fn request(id: &RpcId, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// A notification, as one line without its end.
pub fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// The answer to a request of the agent, as one line without its end.
pub fn answer(id: &RpcId, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// A refusal of a request of the agent, as one line without its end.
pub fn error_answer(id: &RpcId, code: i64, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

/// Parameters of `initialize`.
pub fn initialize(capabilities: ClientCapabilities, client_version: &str) -> Value {
    let mut session = Map::new();
    if capabilities.notices {
        session.insert("notices".to_owned(), json!({}));
    }
    if capabilities.compaction {
        session.insert("compaction".to_owned(), json!({}));
    }
    if capabilities.boolean_options {
        session.insert("configOptions".to_owned(), json!({"boolean": {}}));
    }
    let mut elicitation = Map::new();
    if capabilities.elicitation_form {
        elicitation.insert("form".to_owned(), json!({}));
    }
    if capabilities.elicitation_url {
        elicitation.insert("url".to_owned(), json!({}));
    }
    let mut client = Map::from_iter([
        (
            "fs".to_owned(),
            json!({"readTextFile": capabilities.read_text_file, "writeTextFile": capabilities.write_text_file}),
        ),
        ("terminal".to_owned(), json!(capabilities.terminal)),
    ]);
    // Absent is unsupported, and an empty object may be read as support.
    for (name, members) in [("session", session), ("elicitation", elicitation)] {
        if !members.is_empty() {
            client.insert(name.to_owned(), Value::Object(members));
        }
    }
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": client,
        "clientInfo": {"name": "breadboard-ls", "title": "BreadBoard", "version": client_version},
    })
}

/// Parameters of `authenticate`.
pub fn authenticate(method_id: &str) -> Value {
    json!({"methodId": method_id})
}

/// Parameters of `session/new`. `cwd` is absolute.
pub fn new_session(cwd: &str) -> Value {
    json!({"cwd": cwd, "mcpServers": []})
}

/// Parameters of `session/load` and `session/resume`. `cwd` is absolute.
pub fn open_session(at_agent: &str, cwd: &str) -> Value {
    json!({"sessionId": at_agent, "cwd": cwd, "mcpServers": []})
}

/// Parameters of `session/list`.
pub fn list_sessions(cwd: Option<&str>, cursor: Option<&str>) -> Value {
    let mut params = Map::new();
    for (name, value) in [("cwd", cwd), ("cursor", cursor)] {
        if let Some(value) = value {
            params.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(params)
}

/// Parameters of `session/close`, `session/delete` and `session/cancel`.
pub fn of_session(at_agent: &str) -> Value {
    json!({"sessionId": at_agent})
}

/// Parameters of `session/prompt`; the blocks are those of `acp_blocks::prompt_blocks`.
pub fn prompt(at_agent: &str, blocks: Vec<Value>) -> Value {
    json!({"sessionId": at_agent, "prompt": blocks})
}

/// Parameters of `session/set_mode`.
pub fn set_mode(at_agent: &str, mode_id: &str) -> Value {
    json!({"sessionId": at_agent, "modeId": mode_id})
}

/// Parameters of `session/set_config_option`.
pub fn set_config_option(at_agent: &str, config_id: &str, value: &ConfigValue) -> Value {
    match value {
        ConfigValue::Choice(value) => json!({"sessionId": at_agent, "configId": config_id, "value": value}),
        ConfigValue::Switch(value) => {
            json!({"sessionId": at_agent, "configId": config_id, "type": "boolean", "value": value})
        }
    }
}

/// Result of `session/request_permission`.
pub fn permission(outcome: PermissionOutcome<'_>) -> Value {
    match outcome {
        PermissionOutcome::Selected(option_id) => {
            json!({"outcome": {"outcome": "selected", "optionId": option_id}})
        }
        PermissionOutcome::Cancelled => json!({"outcome": {"outcome": "cancelled"}}),
    }
}

/// Result of `elicitation/create`.
pub fn elicitation(answer: ElicitationAnswer) -> Value {
    match answer {
        ElicitationAnswer::Accept(Some(content)) => json!({"action": "accept", "content": content}),
        ElicitationAnswer::Accept(None) => json!({"action": "accept"}),
        ElicitationAnswer::Decline => json!({"action": "decline"}),
        ElicitationAnswer::Cancel => json!({"action": "cancel"}),
    }
}

/// Result of `fs/read_text_file`.
pub fn file_content(content: &str) -> Value {
    json!({"content": content})
}

/// Result of `fs/write_text_file`. The protocol has no word for a text that stands in the editor unsaved.
pub fn written(saved: bool) -> Value {
    if saved { json!({}) } else { json!({"_meta": {"breadboard": {"saved": false, "message": NOT_SAVED}}}) }
}

const NOT_SAVED: &str =
    "Changed in the editor, not saved: commands read the old text from the disk until the user saves it.";

/// Result of everything that only succeeds: `terminal/kill`, `terminal/release`.
pub fn done() -> Value {
    json!({})
}

/// Result of `terminal/create`.
pub fn terminal_created(terminal_id: &str) -> Value {
    json!({"terminalId": terminal_id})
}

/// Result of `terminal/output`; `exit` once the command ended.
pub fn terminal_output(output: &str, truncated: bool, exit: Option<(Option<u32>, Option<&str>)>) -> Value {
    match exit {
        Some((code, signal)) => {
            json!({"output": output, "truncated": truncated, "exitStatus": terminal_exit(code, signal)})
        }
        None => json!({"output": output, "truncated": truncated}),
    }
}

/// Result of `terminal/wait_for_exit`.
pub fn terminal_exit(code: Option<u32>, signal: Option<&str>) -> Value {
    json!({"exitCode": code, "signal": signal})
}
