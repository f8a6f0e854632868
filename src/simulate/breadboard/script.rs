//! What the simulated agent does: per prompt a list of steps, read from a file. `docs/simulate.md` describes the format
//! for people.
//!
//! Owns the format. Never runs a step: `runner` does.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::python_json;
use crate::simulate::script_json::{MOST_ROUNDS, at_most, given, only, read};

/// The whole script.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object or a list")]
pub struct Script {
    /// One a prompt. Those with `when` answer every prompt that contains it; the others answer in order, once a session.
    pub prompts: Vec<Prompt>,
}

/// What happens on one prompt.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prompt {
    /// The prompt must contain this; nothing: the next prompt in order.
    pub when: Option<String>,
    /// Only the steps: no `turn_start` and `user_message` before them, no `completion`, `log_link`, `run_finished` after.
    pub bare: bool,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "ScriptLine")]
pub enum Step {
    /// An event.
    Event(EventStep),
    /// A frame with this text behind `data: `, whatever it is. `$seq` and `$sid` in it become number and session id.
    Raw {
        /// The text, without line breaks.
        text: String,
        /// It takes the next number and a place in the log. Otherwise it goes to the open streams alone, with no `id:` line.
        logged: bool,
    },
    /// Asks for permission and waits for the answer.
    Ask {
        /// Payload of the request; ids and items are filled in where they are missing.
        request: Map<String, Value>,
        /// What happens when everything asked for is allowed.
        on_allow: Vec<Step>,
        /// What happens otherwise.
        on_deny: Vec<Step>,
    },
    /// The session fails with this sentence, and its streams end.
    Error(String),
    /// The steps again and again.
    Repeat {
        /// How often.
        times: u64,
        /// Steps that are repeated.
        steps: Vec<Step>,
    },
    /// So many `ctree_node` events of about three kilobytes.
    Ctree(u64),
    /// The agent writes a file of the workspace; a checkpoint remembers what it was.
    Write {
        /// Relative to the workspace.
        path: String,
        /// The new text.
        content: String,
    },
    /// Waits until a test lets this name go (`Simulator::release`); for ever on the command line.
    Hold(String),
    /// Waits before the next step.
    Delay {
        /// Milliseconds.
        ms: u64,
    },
    /// The session ends with this status, and its streams with it.
    End(String),
}

/// An event of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct EventStep {
    /// The event type; any word.
    pub kind: String,
    /// JSON text of the payload, sent as it is. It may be what strict JSON is not (`NaN`, lone surrogates).
    pub payload: String,
    /// The turn; nothing: that of the last `turn_start`; `Some(None)`: null.
    pub turn: Option<Option<i64>>,
    /// Milliseconds to wait before.
    pub delay_ms: u64,
    /// Bytes of padding that the payload gets as a member `pad`.
    pub pad_bytes: usize,
    /// More members of the envelope, such as `classification`.
    pub envelope: Map<String, Value>,
}

impl EventStep {
    /// An event without anything special.
    pub fn new(kind: &str, payload: &Value) -> Self {
        Self {
            kind: kind.to_owned(),
            payload: python_json::text(payload),
            turn: None,
            delay_ms: 0,
            pad_bytes: 0,
            envelope: Map::new(),
        }
    }
}

impl From<EventStep> for Step {
    fn from(event: EventStep) -> Self {
        Self::Event(event)
    }
}

impl Script {
    /// Reads a script: a JSON document (`{"prompts":[…]}`, or the list alone), or JSON lines.
    ///
    /// # Errors
    /// A sentence that says where and what.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut script = match serde_json::from_str(text) {
            Ok(Value::Array(entries)) => json!({"prompts": entries}),
            Ok(one @ Value::Object(_)) if one.get("prompts").is_none() => json!({"prompts": [one]}),
            Ok(script) => script,
            Err(_) => json!({"prompts": lines(text)?}),
        };
        let is_prompt = |entry: &Value| {
            entry.is_array() || (entry.get("steps").is_some() && entry.get("repeat").is_none())
        };
        match script.get_mut("prompts") {
            Some(Value::Array(entries)) if entries.iter().any(is_prompt) => {
                for entry in entries.iter_mut().filter(|entry| entry.is_array()) {
                    *entry = json!({"steps": entry.take()});
                }
            }
            // A bare list of steps is what happens on the first prompt.
            Some(entries @ Value::Array(_)) => *entries = json!([{"steps": entries.take()}]),
            _ => {}
        }
        read(script)
    }

    /// Reads a fixture: JSON lines, each one step.
    pub(super) fn fixture(text: &str) -> Result<Vec<Step>, String> {
        read(lines(text)?.into())
    }
}

fn lines(text: &str) -> Result<Vec<Value>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| format!("Line {}: {error}.", at + 1)))
        .collect()
}

/// A step as it is written: the word for what happens, and what belongs to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct ScriptLine {
    r#type: Option<String>,
    ask: Option<Map<String, Value>>,
    raw: Option<String>,
    error: Option<String>,
    #[serde(default, deserialize_with = "at_most::<MOST_ROUNDS, _>")]
    repeat: Option<u64>,
    #[serde(default, deserialize_with = "at_most::<MOST_ROUNDS, _>")]
    ctree: Option<u64>,
    write: Option<String>,
    hold: Option<String>,
    end: Option<String>,
    /// Alone it is a step.
    delay_ms: Option<u64>,
    // What belongs to them.
    #[serde(default, deserialize_with = "given")]
    payload: Option<Value>,
    payload_text: Option<String>,
    #[serde(default, deserialize_with = "given")]
    turn: Option<Option<i64>>,
    #[serde(default)]
    pad_bytes: usize,
    #[serde(default)]
    envelope: Map<String, Value>,
    #[serde(default)]
    on_allow: Vec<Step>,
    #[serde(default)]
    on_deny: Vec<Step>,
    log: Option<bool>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    content: String,
}

impl TryFrom<ScriptLine> for Step {
    type Error = &'static str;

    fn try_from(line: ScriptLine) -> Result<Self, &'static str> {
        if line.raw.as_ref().is_some_and(|text| text.contains(['\n', '\r'])) {
            return Err("`raw` has a line break, and one frame is one line");
        }
        let delay = if line.r#type.is_some() { None } else { line.delay_ms };
        only([
            line.r#type.map(|kind| {
                let payload = line.payload.as_ref().map_or_else(|| "{}".to_owned(), python_json::text);
                Self::Event(EventStep {
                    kind,
                    payload: line.payload_text.unwrap_or(payload),
                    turn: line.turn,
                    delay_ms: line.delay_ms.unwrap_or_default(),
                    pad_bytes: line.pad_bytes,
                    envelope: line.envelope,
                })
            }),
            line.ask.map(|request| Self::Ask { request, on_allow: line.on_allow, on_deny: line.on_deny }),
            line.raw.map(|text| Self::Raw { text, logged: line.log.unwrap_or(true) }),
            line.error.map(Self::Error),
            line.repeat.map(|times| Self::Repeat { times, steps: line.steps }),
            line.ctree.map(Self::Ctree),
            line.write.map(|path| Self::Write { path, content: line.content }),
            line.hold.map(Self::Hold),
            line.end.map(Self::End),
            delay.map(|ms| Self::Delay { ms }),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_a_list_and_lines_say_the_same() {
        let step = Step::Event(EventStep::new("warning", &json!({"message": "é"})));
        let line = r#"{"type":"warning","payload":{"message":"é"}}"#;
        let expected = Script { prompts: vec![Prompt { steps: vec![step], ..Prompt::default() }] };
        for text in [
            format!(r#"{{"prompts":[{{"steps":[{line}]}}]}}"#),
            format!(r#"{{"prompts":[[{line}]]}}"#),
            format!("[[{line}]]"),
            format!("[{line}]"),
            format!("{line}\n\n"),
            format!(r#"{{"steps":[{line}]}}"#),
        ] {
            assert_eq!(Script::parse(&text).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn every_kind_of_step_is_read() {
        let text = r#"{"when":"go","bare":true,"steps":[
            {"type":"a","payload_text":"{\"x\":NaN}","turn":null,"delay_ms":3,"pad_bytes":9,"envelope":{"family":"f"}},
            {"ask":{"category":"shell"},"on_allow":[{"ctree":2}],"on_deny":[{"end":"failed"}]},
            {"raw":"{"},{"raw":"x","log":false},{"error":"no"},{"repeat":2,"steps":[{"delay_ms":1}]},
            {"write":"a.txt","content":"b"},{"hold":"h"}]}"#;
        let one_line = text.replace('\n', " ");
        let event = EventStep {
            kind: "a".into(),
            payload: "{\"x\":NaN}".into(),
            turn: Some(None),
            delay_ms: 3,
            pad_bytes: 9,
            envelope: json!({"family": "f"}).as_object().cloned().unwrap(),
        };
        let steps = vec![
            Step::Event(event),
            Step::Ask {
                request: json!({"category": "shell"}).as_object().cloned().unwrap(),
                on_allow: vec![Step::Ctree(2)],
                on_deny: vec![Step::End("failed".into())],
            },
            Step::Raw { text: "{".into(), logged: true },
            Step::Raw { text: "x".into(), logged: false },
            Step::Error("no".into()),
            Step::Repeat { times: 2, steps: vec![Step::Delay { ms: 1 }] },
            Step::Write { path: "a.txt".into(), content: "b".into() },
            Step::Hold("h".into()),
        ];
        let prompt = Prompt { when: Some("go".into()), bare: true, steps };
        assert_eq!(Script::parse(&one_line), Ok(Script { prompts: vec![prompt] }));
    }

    #[test]
    fn what_is_no_script_is_refused_with_its_place() {
        for (text, path, reason) in [
            ("[7]", "prompts[0].steps[0]", "invalid type: integer `7`, expected an object"),
            (r#"{"prompts":1}"#, "prompts", "invalid type: integer `1`, expected a sequence"),
            (r#"[{"steps":1}]"#, "prompts[0].steps", "invalid type: integer `1`, expected a sequence"),
            (
                r#"[[{"repeat":1000001,"steps":[]}]]"#,
                "prompts[0].steps[0].repeat",
                "1000001 is more than 1000000",
            ),
            (
                r#"[[{"raw":"a\nb"}]]"#,
                "prompts[0].steps[0]",
                "`raw` has a line break, and one frame is one line",
            ),
            (r#"[[{"ask":1}]]"#, "prompts[0].steps[0].ask", "invalid type: integer `1`, expected a map"),
            (r#"[[{"delay_ms":1},{}]]"#, "prompts[0].steps[1]", "this step says nothing that happens"),
            (
                r#"[[{"ask":{},"on_deny":[{"end":1}]}]]"#,
                "prompts[0].steps[0].on_deny[0].end",
                "invalid type: integer `1`, expected a string",
            ),
        ] {
            let sentence = format!("`{path}` of the script cannot be read: {reason}.");
            assert_eq!(Script::parse(text), Err(sentence), "{text}");
        }
        let misspelt = Script::parse(r#"[[{"typ":"a"}]]"#).unwrap_err();
        assert!(
            misspelt.contains("steps[0].typ` of the script cannot be read: unknown field `typ`"),
            "{misspelt}"
        );
        assert!(Script::parse("{}\nx").is_err_and(|sentence| sentence.starts_with("Line 2: ")));
    }
}
