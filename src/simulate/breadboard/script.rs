//! What the simulated agent does: per prompt a list of steps, read from a file. `docs/simulate.md` describes the format
//! for people.
//!
//! Owns the format. Never runs a step: `runner` does.

use serde_json::{Map, Value};

use super::python_json;

/// Most rounds of one `repeat` and most nodes of one `ctree`: a million already take minutes to send.
const MOST_ROUNDS: u64 = 1_000_000;
/// How deep steps may nest, so that a file cannot exhaust the stack.
const DEEPEST: usize = 16;

/// The whole script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// One a prompt. Those with `when` answer every prompt that contains it; the others answer in order, once a session.
    pub prompts: Vec<Prompt>,
}

/// What happens on one prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// The prompt must contain this; nothing: the next prompt in order.
    pub when: Option<String>,
    /// Only the steps: no `turn_start` and `user_message` before them, no `completion`, `log_link`, `run_finished` after.
    pub bare: bool,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq)]
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
        /// What.
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
    /// Waits.
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
        let entries = match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(entries)) => entries,
            Ok(Value::Object(mut document)) => match document.remove("prompts") {
                Some(Value::Array(entries)) => entries,
                Some(_) => return Err("`prompts` is not a list; make it one.".to_owned()),
                None => vec![Value::Object(document)],
            },
            Ok(_) => return Err("A script is an object or a list; this is neither.".to_owned()),
            Err(_) => lines(text)?,
        };
        Ok(Self { prompts: prompts(entries)? })
    }

    /// Reads a fixture: JSON lines, each one step.
    pub(super) fn fixture(text: &str) -> Result<Vec<Step>, String> {
        lines(text)?
            .iter()
            .enumerate()
            .map(|(at, step)| parse_step(step, &format!("Line {}", at + 1), 0))
            .collect()
    }
}

fn lines(text: &str) -> Result<Vec<Value>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| format!("Line {}: {error}.", at + 1)))
        .collect()
}

fn prompts(entries: Vec<Value>) -> Result<Vec<Prompt>, String> {
    let is_prompt =
        |entry: &Value| entry.is_array() || (entry.get("steps").is_some() && entry.get("repeat").is_none());
    // A bare list of steps is what happens on the first prompt.
    if !entries.iter().any(is_prompt) {
        return Ok(vec![Prompt {
            steps: steps(&Value::Array(entries), "The script", 0)?,
            ..Prompt::default()
        }]);
    }
    let read = |(at, entry): (usize, &Value)| {
        let place = format!("Prompt {}", at + 1);
        let when = entry.get("when").and_then(Value::as_str).map(str::to_owned);
        let bare = entry.get("bare").and_then(Value::as_bool).unwrap_or(false);
        Ok(Prompt { when, bare, steps: steps(entry.get("steps").unwrap_or(entry), &place, 0)? })
    };
    entries.iter().enumerate().map(read).collect()
}

fn steps(value: &Value, place: &str, depth: usize) -> Result<Vec<Step>, String> {
    let list = value.as_array().ok_or_else(|| format!("{place}: `steps` is not a list; make it one."))?;
    list.iter()
        .enumerate()
        .map(|(at, step)| parse_step(step, &format!("{place}, step {}", at + 1), depth))
        .collect()
}

fn parse_step(value: &Value, place: &str, depth: usize) -> Result<Step, String> {
    if depth > DEEPEST {
        return Err(format!("{place}: steps nest deeper than {DEEPEST}; flatten them."));
    }
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| value.get(name).and_then(Value::as_u64);
    let nested = |name: &str| match value.get(name) {
        None => Ok(Vec::new()),
        Some(list) => steps(list, place, depth + 1),
    };
    let rounds = |name: &str| match number(name) {
        Some(rounds) if rounds <= MOST_ROUNDS => Ok(rounds),
        _ => Err(format!("{place}: `{name}` is no number up to {MOST_ROUNDS}; give one.")),
    };
    if value.get("repeat").is_some() {
        return Ok(Step::Repeat { times: rounds("repeat")?, steps: nested("steps")? });
    }
    if value.get("ctree").is_some() {
        return Ok(Step::Ctree(rounds("ctree")?));
    }
    if let Some(request) = value.get("ask") {
        let request = request.as_object().cloned();
        let request = request.ok_or_else(|| format!("{place}: `ask` is not an object; make it one."))?;
        return Ok(Step::Ask { request, on_allow: nested("on_allow")?, on_deny: nested("on_deny")? });
    }
    if let Some(raw) = text("raw") {
        if raw.contains(['\n', '\r']) {
            return Err(format!("{place}: `raw` has a line break; one frame is one line."));
        }
        let logged = value.get("log").and_then(Value::as_bool).unwrap_or(true);
        return Ok(Step::Raw { text: raw, logged });
    }
    if let Some(message) = text("error") {
        return Ok(Step::Error(message));
    }
    if let Some(path) = text("write") {
        return Ok(Step::Write { path, content: text("content").unwrap_or_default() });
    }
    if let Some(name) = text("hold") {
        return Ok(Step::Hold(name));
    }
    if let Some(status) = text("end") {
        return Ok(Step::End(status));
    }
    if let Some(kind) = text("type") {
        return Ok(Step::Event(event(value, kind, text("payload_text"))));
    }
    match number("delay_ms") {
        Some(ms) => Ok(Step::Delay { ms }),
        None => Err(format!(
            "{place}: this is no step; it needs one of type, ask, raw, error, repeat, ctree, write, hold, end, delay_ms."
        )),
    }
}

fn event(value: &Value, kind: String, payload_text: Option<String>) -> EventStep {
    let payload = value.get("payload").map_or_else(|| "{}".to_owned(), python_json::text);
    let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    EventStep {
        kind,
        payload: payload_text.unwrap_or(payload),
        turn: value.get("turn").map(Value::as_i64),
        delay_ms: number("delay_ms"),
        pad_bytes: usize::try_from(number("pad_bytes")).unwrap_or(0),
        envelope: value.get("envelope").and_then(Value::as_object).cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_a_list_and_lines_say_the_same() {
        let step = Step::Event(EventStep::new("warning", &json!({"message": "é"})));
        let line = r#"{"type":"warning","payload":{"message":"é"}}"#;
        let expected = Script { prompts: vec![Prompt { steps: vec![step], ..Prompt::default() }] };
        for text in [
            format!(r#"{{"prompts":[{{"steps":[{line}]}}]}}"#),
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
        for (text, sentence) in [
            ("7", "A script is an object or a list; this is neither."),
            (r#"{"prompts":1}"#, "`prompts` is not a list; make it one."),
            (r#"[{"steps":1}]"#, "Prompt 1: `steps` is not a list; make it one."),
            (
                r#"[[{"repeat":1000001,"steps":[]}]]"#,
                "Prompt 1, step 1: `repeat` is no number up to 1000000; give one.",
            ),
            (r#"[[{"raw":"a\nb"}]]"#, "Prompt 1, step 1: `raw` has a line break; one frame is one line."),
            (r#"[[{"ask":1}]]"#, "Prompt 1, step 1: `ask` is not an object; make it one."),
        ] {
            assert_eq!(Script::parse(text), Err(sentence.to_owned()));
        }
        assert!(
            Script::parse("[[{}]]")
                .is_err_and(|sentence| sentence.starts_with("Prompt 1, step 1: this is no step"))
        );
        assert!(Script::parse("{}\nx").is_err_and(|sentence| sentence.starts_with("Line 2: ")));
        let deep = (0..20)
            .fold("{\"delay_ms\":1}".to_owned(), |inner, _| format!("{{\"repeat\":1,\"steps\":[{inner}]}}"));
        assert!(
            Script::parse(&format!("[[{deep}]]")).is_err_and(|sentence| sentence.contains("nest deeper"))
        );
    }
}
