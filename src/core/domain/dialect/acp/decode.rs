//! The Agent Client Protocol, version 1: one line of an agent, and the event that it becomes.
//!
//! Owns the envelope (JSON-RPC 2.0, one message a line) and which word names an event. Reads every line as exactly one
//! [`AcpLine`] and loses nothing of it: parameters stay the text that came. Never pairs an answer with its request, and
//! never gives a word a meaning. What we say: `acp_out`; what answers hold: `acp_results`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::domain::event::EngineEvent;
use crate::domain::payload::Payload;
use crate::domain::remedy::Remedy;
use crate::domain::wire::lenient_json::{is_strict, repair};

/// The method of the one answer that is an event: a turn is over.
pub const PROMPT: &str = "session/prompt";
/// The agent withdraws a request of its own.
pub const CANCEL: &str = "$/cancel_request";
/// The notification that carries updates of a session.
pub const UPDATE: &str = "session/update";
/// The type of the event that says where an agent's own log is. It is ours: an agent's message of this name is `unknown`.
pub const LOG: &str = "agent/log";
/// The type of an event that is no message of the protocol: a line that is no JSON, or one that bears a word of ours.
pub const UNKNOWN: &str = "unknown";

/// The id of a request: `null`, a number or a string. The two directions count on their own, so an id means something
/// only together with who asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RpcId {
    /// JSON text; a string in one spelling, a number as it came.
    json: String,
}

impl RpcId {
    /// An id of ours.
    pub fn number(number: u64) -> Self {
        Self { json: number.to_string() }
    }

    /// `null`: also what an answer without an id has, as some agents give it to a line that they could not read.
    pub fn null() -> Self {
        Self { json: "null".to_owned() }
    }

    /// The number, where it is one that we could have given.
    pub fn as_number(&self) -> Option<u64> {
        self.json.parse().ok()
    }

    /// As JSON text.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// From JSON text; `None` when it is no JSON or of another kind.
    pub fn from_json(json: &str) -> Option<Self> {
        Self::from_raw(serde_json::from_str(json).ok()?)
    }

    fn from_raw(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        match text.as_bytes().first()? {
            b'n' | b'-' | b'0'..=b'9' => Some(Self { json: text.to_owned() }),
            b'"' => {
                let string: String = serde_json::from_str(text).ok()?;
                Some(Self { json: Value::String(string).to_string() })
            }
            _ => None,
        }
    }
}

impl Serialize for RpcId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.json.clone()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// One line of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AcpLine {
    /// It asks, and waits for an answer with this id.
    Request {
        /// Its id, to be sent back.
        id: RpcId,
        /// What it asks.
        method: String,
        /// With which parameters; `{ "params": … }` where they are no object.
        params: Payload,
    },
    /// It tells.
    Notification {
        /// Method that it names.
        method: String,
        /// With which parameters; `{ "params": … }` where they are no object.
        params: Payload,
    },
    /// It answers.
    Answer {
        /// The id of our request; `null` where the line has none.
        id: RpcId,
        /// The result (`{ "result": … }` where it is no object, `{}` for `null`), or the error.
        outcome: Result<Payload, AcpError>,
    },
    /// No message: no JSON, a list of messages, or an object without method and result.
    Unreadable {
        /// The line; bytes that are not UTF-8 as U+FFFD.
        raw: String,
    },
}

/// An error of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AcpError {
    /// Its number; `-32603` where there is none.
    pub code: i64,
    /// What it says, with what its data says beyond that; its JSON where it says nothing.
    pub message: String,
    /// More about it.
    pub data: Option<Value>,
    /// All of it, as it came.
    pub whole: Payload,
}

/// Seconds that an agent may ask to wait; one that asks for more is waited for so long.
const LONGEST_WAIT: f64 = 600.0;

impl AcpError {
    /// The agent wants a login first.
    pub const AUTH_REQUIRED: i64 = -32000;
    /// Nobody knows the method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Nobody can read the parameters.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something else failed.
    pub const INTERNAL: i64 = -32603;
    /// The user or this server does not want it done. No code of the protocol's own, so that no agent reads a login or a
    /// missing file into it.
    pub const REFUSED: i64 = -32001;
    /// The request was taken back.
    pub const REQUEST_CANCELLED: i64 = -32800;
    /// The file is not there.
    pub const NOT_FOUND: i64 = -32002;

    /// How long it asks to wait, where its data says so: in milliseconds, or in seconds as HTTP does.
    pub fn wait(&self) -> Option<Duration> {
        let data = self.data.as_ref()?;
        let number = |names: [&str; 2]| names.iter().find_map(|name| data.get(name)?.as_f64());
        let milliseconds = number(["retryAfterMs", "retry_after_ms"]);
        let wait = milliseconds.or_else(|| Some(number(["retryAfter", "retry_after"])? * 1e3))?;
        Duration::try_from_secs_f64((wait / 1e3).min(LONGEST_WAIT)).ok().filter(|wait| !wait.is_zero())
    }

    fn read(raw: &RawValue) -> Self {
        #[derive(Deserialize)]
        struct LineShape {
            #[serde(default)]
            code: Value,
            #[serde(default)]
            message: Value,
            #[serde(default)]
            data: Option<Value>,
        }
        let shape: Option<LineShape> = serde_json::from_str(raw.get()).ok();
        let (code, message, data) =
            shape.map_or((Value::Null, Value::Null, None), |shape| (shape.code, shape.message, shape.data));
        let message = match message {
            Value::String(text) if !text.trim().is_empty() => with_details(&text, data.as_ref()),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => raw.get().trim().to_owned(),
        };
        let code = code.as_i64().unwrap_or(Self::INTERNAL);
        Self { code, message, data, whole: object_or(raw, "error") }
    }
}

/// What an error says, with the details of its data: many agents keep the reason there and say only that something failed.
pub(super) fn with_details(message: &str, data: Option<&Value>) -> String {
    let details = match data {
        Some(Value::String(text)) => Some(text.as_str()),
        Some(data) => ["details", "message"].iter().find_map(|name| data.get(name)?.as_str()),
        None => None,
    };
    let (message, details) = (message.trim(), details.unwrap_or_default().trim());
    if details.is_empty() || message.contains(details) {
        message.to_owned()
    } else if details.contains(message) {
        details.to_owned()
    } else {
        format!("{}: {details}", message.trim_end_matches(['.', ':']))
    }
}

/// A line and whether its text had to be repaired to be JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadLine {
    /// What it says.
    pub line: AcpLine,
    /// Whether it was repaired (wire.md section 3).
    pub repaired: bool,
}

/// Reads one line, with or without its line end. Total: what is no message is `Unreadable`, whole.
pub fn read_line(bytes: &[u8]) -> ReadLine {
    let bytes = bytes.trim_ascii();
    let strict = std::str::from_utf8(bytes).ok().filter(|text| is_strict(text)).and_then(read);
    if let Some(line) = strict {
        return ReadLine { line, repaired: false };
    }
    if let Some(line) = repair(bytes).as_deref().filter(|text| text.as_bytes() != bytes).and_then(read) {
        return ReadLine { line, repaired: true };
    }
    let raw = String::from_utf8_lossy(bytes).into_owned();
    ReadLine { line: AcpLine::Unreadable { raw }, repaired: false }
}

#[derive(Deserialize)]
struct RpcEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// `null` counts as being there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn read(text: &str) -> Option<AcpLine> {
    // A struct would also be read from a list, by position.
    if !text.starts_with('{') {
        return None;
    }
    let envelope: RpcEnvelope<'_> = serde_json::from_str(text).ok()?;
    let id = match envelope.id {
        Some(raw) => Some(RpcId::from_raw(raw)?),
        None => None,
    };
    if let Some(method) = envelope.method {
        let method: String = serde_json::from_str(method.get()).ok()?;
        let params = envelope.params.map(|raw| object_or(raw, "params")).unwrap_or_default();
        return Some(match id {
            Some(id) => AcpLine::Request { id, method, params },
            None => AcpLine::Notification { method, params },
        });
    }
    let outcome = match (envelope.error, envelope.result) {
        (Some(error), _) => Err(AcpError::read(error)),
        (None, Some(result)) if result.get() == "null" => Ok(Payload::default()),
        (None, Some(result)) => Ok(object_or(result, "result")),
        // A result that was `undefined` is left out by JavaScript; the id says that it is an answer.
        (None, None) if id.as_ref().is_some_and(|id| *id != RpcId::null()) => Ok(Payload::default()),
        (None, None) => return None,
    };
    Some(AcpLine::Answer { id: id.unwrap_or_else(RpcId::null), outcome })
}

/// The object as it came; anything else under `name`.
fn object_or(raw: &RawValue, name: &str) -> Payload {
    Payload::from_raw(raw.to_owned()).unwrap_or_else(|| {
        let value = serde_json::from_str(raw.get()).unwrap_or(Value::Null);
        Payload::from(Map::from_iter([(name.to_owned(), value)]))
    })
}

/// The agent's id of the session that parameters are about. It is no identity outside of that agent.
pub fn session_of(params: &Payload) -> Option<String> {
    #[derive(Deserialize)]
    struct Of {
        #[serde(rename = "sessionId")]
        session_id: String,
    }
    params.read::<Of>().map(|of| of.session_id)
}

/// The event of a `session/update`, and the agent's id of its session. `None` when there is no session, no update, or a
/// word that cannot be one of an update: then [`method_event`] keeps the whole.
pub fn update_event(params: &Payload) -> Option<(String, EngineEvent)> {
    #[derive(Deserialize)]
    struct Update<'a> {
        #[serde(rename = "sessionId")]
        session_id: String,
        #[serde(borrow)]
        update: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct KnownWord {
        #[serde(rename = "sessionUpdate")]
        word: String,
    }
    // From a text, so that the update keeps its own.
    let text = params.to_text();
    let update: Update<'_> = serde_json::from_str(&text).ok()?;
    let payload = Payload::from_raw(update.update.to_owned())?;
    let KnownWord { word } = payload.read()?;
    is_update_word(&word).then(|| (update.session_id, event(word, payload)))
}

/// The event of any other notification or request. A method that bears the name of an update, of an answer of ours or of
/// an event of this server is `unknown`, whole: no agent makes those.
pub fn method_event(method: &str, params: Payload) -> EngineEvent {
    let ours = method.starts_with("local.") || method == PROMPT || method == LOG;
    let speakable = method.contains('/') && !ours;
    if speakable {
        return event(method.to_owned(), params);
    }
    let params = serde_json::from_str(&params.to_text()).unwrap_or(Value::Null);
    let whole = Map::from_iter([("method".to_owned(), json!(method)), ("params".to_owned(), params)]);
    event(UNKNOWN.to_owned(), whole.into())
}

/// The event of a request that a user answers. Until it has its class its `id` says how it is answered; `normalize` makes
/// that the id of the ask. A request that is answered without a user is a [`method_event`].
pub fn ask_event(method: &str, params: Payload, generation: u64, id: &RpcId) -> EngineEvent {
    EngineEvent { id: ask_id(generation, id), ..method_event(method, params) }
}

/// The id of an ask: processes and agents repeat the ids of their requests.
pub fn ask_id(generation: u64, id: &RpcId) -> String {
    format!("{generation}:{}", id.json())
}

/// Which process asked, and under which id; `None` when it is no id of [`ask_id`].
pub fn asked_by(ask_id: &str) -> Option<(u64, RpcId)> {
    let (generation, id) = ask_id.split_once(':')?;
    Some((generation.parse().ok()?, RpcId::from_json(id)?))
}

/// The event of the answer to `session/prompt`: the result as it came, or `{ "error": … }`, with the `sentence` that says what
/// happened and what to do. A failure has that as data, too.
pub fn prompt_event(
    outcome: &Result<Payload, AcpError>,
    told: Option<(&str, Option<&Remedy>)>,
) -> EngineEvent {
    let sentence = told.map(|(sentence, _)| ("sentence".to_owned(), Value::from(sentence)));
    let payload = match outcome {
        Ok(result) if sentence.is_none() => result.clone(),
        Ok(result) => Map::from(result.clone()).into_iter().chain(sentence).collect::<Map<_, _>>().into(),
        Err(error) => {
            let error = serde_json::from_str(&error.whole.to_text()).unwrap_or(Value::Null);
            let remedy = told.and_then(|(_, remedy)| remedy).map(Remedy::fields).into_iter().flatten();
            let error = [("error".to_owned(), error)].into_iter();
            error.chain(sentence).chain(remedy).collect::<Map<_, _>>().into()
        }
    };
    event(PROMPT.to_owned(), payload)
}

/// The event that says where the log of an agent is.
pub fn log_event(uri: &str, label: &str) -> EngineEvent {
    event(
        LOG.to_owned(),
        Map::from_iter([("uri".to_owned(), json!(uri)), ("label".to_owned(), json!(label))]).into(),
    )
}

/// The event of a line that is no message.
pub fn unreadable_event(raw: &str) -> EngineEvent {
    event(UNKNOWN.to_owned(), Map::from_iter([("raw".to_owned(), json!(raw))]).into())
}

/// An update is named by a plain word: methods have a slash, events of this server a dot.
fn is_update_word(word: &str) -> bool {
    !word.is_empty() && word != UNKNOWN && !word.contains(['/', '.'])
}

/// Turn, time and repairs are known to the caller.
fn event(kind: String, payload: Payload) -> EngineEvent {
    EngineEvent { id: String::new(), kind, turn: None, ts: None, payload, repaired: false }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
