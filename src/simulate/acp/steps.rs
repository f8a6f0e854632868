//! The steps of a script: one JSON object each, told apart by the word that says what happens.
//!
//! Owns their format. Never runs one: `player` does.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Map, Value, json};

use super::process::ChildPlan;
use crate::simulate::script_json::{MOST_ROUNDS, at_most, given, only};

/// Largest line that a script may ask for, in MiB.
const MOST_MIB: u64 = 256;

/// One thing that the agent does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Streams a text in words.
    Say {
        /// The text.
        text: String,
        /// `agent_message_chunk` or another update with a content block.
        kind: &'static str,
        /// Its message, where the agent numbers messages.
        message_id: Option<String>,
    },
    /// One `session/update`.
    Update {
        /// The update, `sessionUpdate` and all.
        body: Value,
        /// Another session than the one that is playing.
        session: Option<String>,
    },
    /// A notification of any method.
    Notify {
        /// Its method.
        method: String,
        /// Its params; `sessionId` is filled in where a session is playing and none is named.
        params: Value,
    },
    /// A request to the client.
    Request(Request),
    /// Bytes on stdout as they are.
    Bytes(Vec<u8>),
    /// A line of so many MiB: a valid chunk, or junk.
    Mib {
        /// Its size.
        mib: u64,
        /// No JSON.
        junk: bool,
    },
    /// Text on stderr.
    Stderr {
        /// The line.
        text: String,
        /// How often.
        times: u64,
    },
    /// Waits before the next step.
    Wait(Wait),
    /// Answers what is being played.
    Answer {
        /// The answer; nothing: the one that would be given without a script.
        answer: Option<Result<Value, Value>>,
        /// Another id than that of the request.
        id: Option<Value>,
    },
    /// The process ends with this code.
    Exit(i32),
    /// The process dies by this signal.
    Signal(i32),
    /// stdout is closed; the process lives on.
    CloseStdout,
    /// Starts a child; `$child` is its process id.
    Spawn(ChildPlan),
    /// Writes a file, relative to the session's folder.
    Write {
        /// Its path.
        path: String,
        /// Its text.
        content: String,
    },
    /// The steps again and again.
    Repeat {
        /// How often.
        times: u64,
        /// Steps that are repeated.
        steps: Vec<Step>,
    },
}

/// A request to the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// Its method.
    pub method: String,
    /// Its params; `sessionId` is filled in where none is named.
    pub params: Value,
    /// Its id; nothing: the next number.
    pub id: Option<Value>,
    /// The next step comes after the answer.
    pub waits: bool,
    /// The name under which the result is kept; `answer` in any case.
    pub name: Option<String>,
    /// What follows, by what the answer says.
    pub on: HashMap<String, Vec<Step>>,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wait {
    /// So many milliseconds.
    Time(u64),
    /// `session/cancel`.
    Cancel,
    /// A file to exist.
    File(String),
    /// Nothing: until the process ends.
    ForEver,
}

/// The options of a permission request that names none.
pub(super) fn usual_options() -> Value {
    json!([
        {"optionId": "allow_once", "name": "Allow", "kind": "allow_once"},
        {"optionId": "allow_always", "name": "Always allow", "kind": "allow_always"},
        {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
    ])
}

/// A step as it is written: the word for what happens, and what belongs to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct StepLine {
    say: Option<String>,
    think: Option<String>,
    chunk: Option<String>,
    thought: Option<String>,
    #[serde(default, deserialize_with = "given")]
    update: Option<Value>,
    tool_call: Option<Map<String, Value>>,
    tool_call_update: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "given")]
    plan: Option<Value>,
    ask: Option<Map<String, Value>>,
    request: Option<String>,
    notify: Option<String>,
    #[serde(default, deserialize_with = "given")]
    line: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    half: Option<Value>,
    bytes: Option<Vec<u8>>,
    #[serde(default, deserialize_with = "at_most::<MOST_MIB, _>")]
    mib: Option<u64>,
    stderr: Option<String>,
    sleep_ms: Option<u64>,
    wait: Option<WaitWord>,
    #[serde(default, deserialize_with = "given")]
    answer: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    error: Option<Value>,
    exit: Option<i32>,
    signal: Option<i32>,
    close_stdout: Option<bool>,
    spawn: Option<ChildPlan>,
    write: Option<String>,
    #[serde(default, deserialize_with = "at_most::<MOST_ROUNDS, _>")]
    repeat: Option<u64>,
    // What belongs to them.
    message: Option<String>,
    session: Option<String>,
    params: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    id: Option<Value>,
    r#as: Option<String>,
    #[serde(default)]
    on: HashMap<String, Vec<Step>>,
    #[serde(default)]
    junk: bool,
    #[serde(default, deserialize_with = "at_most::<MOST_ROUNDS, _>")]
    times: Option<u64>,
    #[serde(default)]
    content: String,
    #[serde(default)]
    steps: Vec<Step>,
}

/// `wait` is a word of its own, and belongs to requests.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "there is \"cancel\", \"for_ever\", {\"file\": path}, and true or false of a request"
)]
enum WaitWord {
    ForAnswer(bool),
    File { file: String },
    Moment(Moment),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Moment {
    Cancel,
    ForEver,
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(StepLine::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Step {
    fn of(line: StepLine) -> Result<Self, &'static str> {
        let say = |text, kind| Self::Say { text, kind, message_id: line.message.clone() };
        let update = |body| Self::Update { body, session: line.session.clone() };
        let chunk = |text: String, kind| {
            let mut body = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
            if let Some(id) = &line.message {
                body["messageId"] = json!(id);
            }
            update(body)
        };
        let tool = |members: Map<String, Value>, kind| {
            let mut body = Map::from_iter([("sessionUpdate".to_owned(), json!(kind))]);
            body.extend(members);
            update(body.into())
        };
        let params = || line.params.clone().unwrap_or_else(|| json!({}));
        let (waits, wait) = match line.wait {
            Some(WaitWord::ForAnswer(waits)) => (waits, None),
            Some(WaitWord::File { file }) => (true, Some(Wait::File(file))),
            Some(WaitWord::Moment(Moment::Cancel)) => (true, Some(Wait::Cancel)),
            Some(WaitWord::Moment(Moment::ForEver)) => (true, Some(Wait::ForEver)),
            None => (true, None),
        };
        let request = |method: &str, params| {
            let (id, name, on) = (line.id.clone(), line.r#as.clone(), line.on.clone());
            Self::Request(Request { method: method.to_owned(), params, id, waits, name, on })
        };
        let answer = |answer| Self::Answer { answer, id: line.id.clone() };
        only([
            line.say.map(|text| say(text, "agent_message_chunk")),
            line.think.map(|text| say(text, "agent_thought_chunk")),
            line.chunk.map(|text| chunk(text, "agent_message_chunk")),
            line.thought.map(|text| chunk(text, "agent_thought_chunk")),
            line.update.map(update),
            line.tool_call.map(|members| tool(members, "tool_call")),
            line.tool_call_update.map(|members| tool(members, "tool_call_update")),
            line.plan.map(|entries| update(json!({"sessionUpdate": "plan", "entries": entries}))),
            line.ask.map(|mut params| {
                params.entry("options").or_insert_with(usual_options);
                request("session/request_permission", params.into())
            }),
            line.request.map(|method| request(&method, params())),
            line.notify.map(|method| Self::Notify { method, params: params() }),
            line.line.map(|what| Self::Bytes(format!("{}\n", raw(&what)).into_bytes())),
            line.half.map(|what| Self::Bytes(raw(&what).into_bytes())),
            line.bytes.map(Self::Bytes),
            line.mib.map(|mib| Self::Mib { mib, junk: line.junk }),
            line.stderr.map(|text| Self::Stderr { text, times: line.times.unwrap_or(1) }),
            line.sleep_ms.map(|ms| Self::Wait(Wait::Time(ms))),
            wait.map(Self::Wait),
            line.answer.map(|what| answer((what != "default").then(|| Ok(result(&what))))),
            line.error.map(|what| answer(Some(Err(error(&what))))),
            line.exit.map(Self::Exit),
            line.signal.map(Self::Signal),
            line.close_stdout.map(|_| Self::CloseStdout),
            line.spawn.map(Self::Spawn),
            line.write.map(|path| Self::Write { path, content: line.content }),
            line.repeat.map(|times| Self::Repeat { times, steps: line.steps }),
        ])
    }
}

/// A text is written as it is, anything else as its JSON.
fn raw(what: &Value) -> String {
    what.as_str().map_or_else(|| what.to_string(), str::to_owned)
}

/// A stop reason may stand for the whole result.
fn result(what: &Value) -> Value {
    match what {
        Value::String(reason) => json!({"stopReason": reason}),
        other => other.clone(),
    }
}

/// A text may stand for the whole error.
fn error(what: &Value) -> Value {
    match what {
        Value::String(message) => json!({"code": -32603, "message": message}),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::script_json;

    fn steps(given: Value) -> Result<Vec<Step>, String> {
        script_json::read(given)
    }

    #[test]
    fn wrong_steps_are_one_sentence() {
        let at = |path: &str, reason: &str| format!("`{path}` of the script cannot be read: {reason}.");
        for (given, sentence) in [
            (json!(["x"]), at("[0]", "invalid type: string \"x\", expected an object")),
            (json!([{}]), at("[0]", "this step says nothing that happens")),
            (
                json!([{"say": "a", "exit": 1}]),
                at("[0]", "this step says two things that happen; write one after the other"),
            ),
            (json!([{"say": 7}]), at("[0].say", "invalid type: integer `7`, expected a string")),
            (json!([{"mib": 9999}]), at("[0].mib", "9999 is more than 256")),
            (json!([{"repeat": 2_000_000}]), at("[0].repeat", "2000000 is more than 1000000")),
            (json!([{"bytes": [256]}]), at("[0].bytes[0]", "invalid value: integer `256`, expected u8")),
            (
                json!([{"ask": {}, "on": {"else": [{"exit": "x"}]}}]),
                at("[0].on.else[0].exit", "invalid type: string \"x\", expected i32"),
            ),
            (
                json!([{"wait": "a bit"}]),
                at(
                    "[0].wait",
                    "there is \"cancel\", \"for_ever\", {\"file\": path}, and true or false of a request",
                ),
            ),
        ] {
            assert_eq!(steps(given), Err(sentence));
        }
        let refused = steps(json!([{"exit": 1}, {"sya": "x"}])).expect_err("refused");
        let begin = at("[1].sya", "unknown field `sya`, expected one of `say`, `think`, `chunk`");
        assert!(refused.starts_with(begin.trim_end_matches('.')), "{refused}");
    }

    #[test]
    fn short_forms_stand_for_whole_messages() {
        let read = steps(json!([
            {"answer": "refusal"},
            {"answer": "default"},
            {"error": "no model", "id": 99},
            {"chunk": "a", "message": "m1", "session": "s2"},
            {"ask": {"toolCall": {"toolCallId": "c1"}}, "on": {"else": [{"exit": 3}]}},
            {"line": {"jsonrpc": "2.0"}},
        ]));
        assert_eq!(
            read.expect("they are steps"),
            [
                Step::Answer { answer: Some(Ok(json!({"stopReason": "refusal"}))), id: None },
                Step::Answer { answer: None, id: None },
                Step::Answer {
                    answer: Some(Err(json!({"code": -32603, "message": "no model"}))),
                    id: Some(json!(99)),
                },
                Step::Update {
                    body: json!({
                        "sessionUpdate": "agent_message_chunk",
                        "content": {"type": "text", "text": "a"},
                        "messageId": "m1",
                    }),
                    session: Some("s2".to_owned()),
                },
                Step::Request(Request {
                    method: "session/request_permission".to_owned(),
                    params: json!({"toolCall": {"toolCallId": "c1"}, "options": usual_options()}),
                    id: None,
                    waits: true,
                    name: None,
                    on: HashMap::from([("else".to_owned(), vec![Step::Exit(3)])]),
                }),
                Step::Bytes(b"{\"jsonrpc\":\"2.0\"}\n".to_vec()),
            ]
        );
    }
}
