//! The steps of a script: one JSON object each, told apart by its first word.
//!
//! Owns their format. Never runs one: `player` does.

use serde_json::{Map, Value, json};

use super::process::ChildPlan;

/// Most rounds of one `repeat`: a million lines already take a while to read.
const MOST_ROUNDS: u64 = 1_000_000;
/// Largest line that a script may ask for, in MiB.
const MOST_MIB: u64 = 256;
/// How deep steps may nest, so that a file cannot exhaust the stack.
const DEEPEST: usize = 16;
/// How long a child lives that nobody ends: longer than any test, shorter than a working day.
const CHILD_SECONDS: u64 = 600;

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
    /// Waits.
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
        /// What.
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
    pub on: Vec<(String, Vec<Step>)>,
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
    /// Nothing.
    ForEver,
}

/// The words by which steps are known, for a sentence.
const WORDS: &str = "say, chunk, think, thought, update, tool_call, tool_call_update, plan, ask, request, notify, line, half, \
    bytes, mib, stderr, wait, sleep_ms, answer, error, exit, signal, close_stdout, spawn, write, repeat";

/// The options of a permission request that names none.
pub(super) fn usual_options() -> Value {
    json!([
        {"optionId": "allow_once", "name": "Allow", "kind": "allow_once"},
        {"optionId": "allow_always", "name": "Always allow", "kind": "allow_always"},
        {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
    ])
}

/// Reads a list of steps.
///
/// # Errors
/// One sentence that names the step.
pub(super) fn steps(value: &Value) -> Result<Vec<Step>, String> {
    steps_at(value, 0)
}

fn steps_at(value: &Value, depth: usize) -> Result<Vec<Step>, String> {
    if depth > DEEPEST {
        return Err(format!("Steps nest deeper than {DEEPEST}; write them one after the other."));
    }
    let items = value.as_array().ok_or_else(|| format!("Steps are a list; this is {}.", short(value)))?;
    items.iter().map(|item| step(item, depth)).collect()
}

fn step(value: &Value, depth: usize) -> Result<Step, String> {
    let members =
        value.as_object().ok_or_else(|| format!("A step is an object; this is {}.", short(value)))?;
    let (word, what) = members.iter().next().ok_or("A step is empty; write what happens.")?;
    let wrong = |needed: &str| format!("`{word}` needs {needed}; this is {}.", short(value));
    let text = || what.as_str().map(str::to_owned).ok_or_else(|| wrong("a text"));
    let number = || what.as_u64().ok_or_else(|| wrong("a whole number"));
    let said = |kind| -> Result<Step, String> {
        Ok(Step::Say { text: text()?, kind, message_id: own(members, "message") })
    };
    Ok(match word.as_str() {
        "say" => said("agent_message_chunk")?,
        "think" => said("agent_thought_chunk")?,
        "chunk" => one_chunk(&text()?, "agent_message_chunk", members),
        "thought" => one_chunk(&text()?, "agent_thought_chunk", members),
        "update" => Step::Update { body: what.clone(), session: own(members, "session") },
        "tool_call" | "tool_call_update" => {
            let mut body = Map::from_iter([("sessionUpdate".to_owned(), json!(word))]);
            body.extend(what.as_object().ok_or_else(|| wrong("an object"))?.clone());
            Step::Update { body: body.into(), session: own(members, "session") }
        }
        "plan" => Step::Update {
            body: json!({"sessionUpdate": "plan", "entries": what}),
            session: own(members, "session"),
        },
        "ask" => {
            let mut params =
                what.as_object().ok_or_else(|| wrong("the params of a permission request"))?.clone();
            params.entry("options").or_insert_with(usual_options);
            Step::Request(request("session/request_permission".to_owned(), params.into(), members, depth)?)
        }
        "request" => {
            let params = members.get("params").cloned().unwrap_or_else(|| json!({}));
            Step::Request(request(text()?, params, members, depth)?)
        }
        "notify" => Step::Notify {
            method: text()?,
            params: members.get("params").cloned().unwrap_or_else(|| json!({})),
        },
        "line" => Step::Bytes(format!("{}\n", raw(what)).into_bytes()),
        "half" => Step::Bytes(raw(what).into_bytes()),
        "bytes" => {
            Step::Bytes(serde_json::from_value(what.clone()).map_err(|_| wrong("numbers from 0 to 255"))?)
        }
        "mib" => {
            let mib = number()?;
            if mib > MOST_MIB {
                return Err(wrong(&format!("{MOST_MIB} at most")));
            }
            Step::Mib { mib, junk: flag(members, "junk") }
        }
        "stderr" => Step::Stderr {
            text: text()?,
            times: members.get("times").and_then(Value::as_u64).unwrap_or(1).min(MOST_ROUNDS),
        },
        "sleep_ms" => Step::Wait(Wait::Time(number()?)),
        "wait" => Step::Wait(match (what.as_str(), what.get("file").and_then(Value::as_str)) {
            (Some("cancel"), _) => Wait::Cancel,
            (Some("for_ever"), _) => Wait::ForEver,
            (_, Some(path)) => Wait::File(path.to_owned()),
            _ => return Err(wrong("\"cancel\", \"for_ever\" or {\"file\": path}")),
        }),
        "answer" => {
            let answer = if what == "default" { None } else { Some(Ok(result(what))) };
            Step::Answer { answer, id: members.get("id").cloned() }
        }
        "error" => Step::Answer { answer: Some(Err(error(what))), id: members.get("id").cloned() },
        "exit" => Step::Exit(i32::try_from(number()?).map_err(|_| wrong("a small number"))?),
        "signal" => Step::Signal(i32::try_from(number()?).map_err(|_| wrong("a small number"))?),
        "close_stdout" => Step::CloseStdout,
        "spawn" => Step::Spawn(child(what)),
        "write" => Step::Write { path: text()?, content: own(members, "content").unwrap_or_default() },
        "repeat" => {
            let times = number()?;
            if times > MOST_ROUNDS {
                return Err(wrong(&format!("{MOST_ROUNDS} at most")));
            }
            let inner = members.get("steps").ok_or_else(|| wrong("`steps`"))?;
            Step::Repeat { times, steps: steps_at(inner, depth + 1)? }
        }
        _ => return Err(format!("There is no step `{word}`; there are {WORDS}.")),
    })
}

fn request(
    method: String,
    params: Value,
    members: &Map<String, Value>,
    depth: usize,
) -> Result<Request, String> {
    let on = match members.get("on") {
        None => Vec::new(),
        Some(Value::Object(branches)) => branches
            .iter()
            .map(|(key, inner)| Ok((key.clone(), steps_at(inner, depth + 1)?)))
            .collect::<Result<_, String>>()?,
        Some(other) => return Err(format!("`on` is an object of steps; this is {}.", short(other))),
    };
    Ok(Request {
        method,
        params,
        id: members.get("id").cloned(),
        waits: members.get("wait") != Some(&Value::Bool(false)),
        name: own(members, "as"),
        on,
    })
}

fn one_chunk(text: &str, kind: &str, members: &Map<String, Value>) -> Step {
    let mut body = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    if let (Some(id), Some(body)) = (members.get("message"), body.as_object_mut()) {
        body.insert("messageId".to_owned(), id.clone());
    }
    Step::Update { body, session: own(members, "session") }
}

fn own(members: &Map<String, Value>, key: &str) -> Option<String> {
    members.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn flag(members: &Map<String, Value>, key: &str) -> bool {
    members.get(key) == Some(&Value::Bool(true))
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

fn child(what: &Value) -> ChildPlan {
    let set = |key: &str| what.get(key) == Some(&Value::Bool(true));
    ChildPlan {
        ignores_term: set("ignores_term"),
        own_group: set("own_group"),
        holds_output: set("holds_output"),
        seconds: what.get("seconds").and_then(Value::as_u64).unwrap_or(CHILD_SECONDS),
    }
}

/// A value cut to what fits in a sentence.
pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_nobody_knows_is_refused_with_all_that_are_known() {
        let refused = steps(&json!([{"sya": "x"}])).expect_err("refused");
        assert!(refused.starts_with("There is no step `sya`; there are say, chunk,"), "{refused}");
        // Every word of the sentence is a step.
        for word in WORDS.split(", ") {
            let refused = steps(&json!([{word: null}])).err().unwrap_or_default();
            assert!(!refused.starts_with("There is no step"), "{word}");
        }
    }

    #[test]
    fn wrong_steps_are_one_sentence() {
        for (given, sentence) in [
            (json!(7), "Steps are a list; this is 7."),
            (json!(["x"]), "A step is an object; this is \"x\"."),
            (json!([{}]), "A step is empty; write what happens."),
            (json!([{"say": 7}]), "`say` needs a text; this is {\"say\":7}."),
            (json!([{"mib": 9999}]), "`mib` needs 256 at most; this is {\"mib\":9999}."),
            (json!([{"repeat": 2}]), "`repeat` needs `steps`; this is {\"repeat\":2}."),
            (json!([{"bytes": [256]}]), "`bytes` needs numbers from 0 to 255; this is {\"bytes\":[256]}."),
            (json!([{"ask": {}, "on": []}]), "`on` is an object of steps; this is []."),
        ] {
            assert_eq!(steps(&given), Err(sentence.to_owned()));
        }
        let deep = (0..20).fold(json!([]), |inner, _| json!([{"repeat": 1, "steps": inner}]));
        assert_eq!(
            steps(&deep),
            Err("Steps nest deeper than 16; write them one after the other.".to_owned())
        );
    }

    #[test]
    fn short_forms_stand_for_whole_messages() {
        let read = steps(&json!([
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
                    on: vec![("else".to_owned(), vec![Step::Exit(3)])],
                }),
                Step::Bytes(b"{\"jsonrpc\":\"2.0\"}\n".to_vec()),
            ]
        );
    }
}
