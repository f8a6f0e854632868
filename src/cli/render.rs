//! Events of a session as text for a person.
//!
//! Owns what is shown and how; every foreign text passes `terminal::visible` here, and what the server made safe `terminal::marked`. Never writes and never decides: it turns
//! an event into pieces, the console puts them where they belong.

use serde_json::{Map, Value};

use super::terminal::{Look, Tone, diff, marked, visible, visible_code, visible_line};
use crate::domain::approval::{Permission, PermissionOptionKind};
use crate::domain::event::{EventClass, SessionEvent};

/// Characters of a progress line or of one tool's argument.
const LINE: usize = 72;
/// Characters of the raw details of an ask that we have no words for. What is longer says so; the title stays whole.
const DETAILS: usize = 4_000;
/// Files remembered for the closing line; more are counted only.
const FILES: usize = 8;
/// Bytes of the answer remembered for the closing line, which looks for file names in it.
const REMEMBERED: usize = 256 << 10;

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Part of the answer, for stdout as it is.
    Answer(String),
    /// A whole line, or lines, beside the answer, for stderr; without the last newline.
    Note(String),
    /// What is going on right now; replaces the last such line.
    Progress(String),
}

/// Where the pieces will be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Colours of stdout.
    pub out: Look,
    /// Colours of stderr.
    pub err: Look,
    /// Whether both are the same screen, so that a note must not land in the middle of a line of the answer.
    pub one_screen: bool,
}

/// Turns the events of one turn into pieces.
#[derive(Debug)]
pub struct Renderer {
    seen: Seen,
    mid_line: bool,
    answer: String,
    said: bool,
    shown_diff: Option<String>,
    read: Vec<String>,
    read_more: usize,
}

impl Renderer {
    /// Nothing shown yet.
    pub fn new(seen: Seen) -> Self {
        Self {
            seen,
            mid_line: false,
            answer: String::new(),
            said: false,
            shown_diff: None,
            read: Vec::new(),
            read_more: 0,
        }
    }

    /// What to show for one event; often nothing.
    pub fn draw(&mut self, event: &SessionEvent) -> Vec<Piece> {
        let payload = &event.payload;
        let mut pieces = Vec::new();
        match event.class {
            EventClass::AssistantStream => {
                if let Some(text) = spoken(payload) {
                    self.say(&mut pieces, text);
                }
            }
            EventClass::ReasoningStream | EventClass::RetrievalStatus => {
                if let Some(text) = text(payload, "message").or_else(|| spoken(payload)) {
                    progress(&mut pieces, text);
                }
            }
            EventClass::ToolCall => {
                let (name, argument) = tool(payload);
                progress(&mut pieces, &join(&name, &argument));
            }
            EventClass::ToolResult => self.tool_result(&mut pieces, payload),
            EventClass::PlanUpdate => self.plan(&mut pieces, payload),
            EventClass::PatchProposed => self.patch(&mut pieces, payload),
            EventClass::Notice => {
                let line = visible_line(text(payload, "text").unwrap_or_default(), 1_000);
                match text(payload, "level") {
                    Some("error") => self.note(&mut pieces, self.seen.err.paint(Tone::Bad, &line)),
                    Some("warning") => self.note(&mut pieces, self.seen.err.paint(Tone::Warn, &line)),
                    Some(_) | None => self.note(&mut pieces, self.seen.err.paint(Tone::Dim, &line)),
                }
            }
            EventClass::RunErrorOrGap => {
                let line = visible_line(trouble(event), 1_000);
                self.note(&mut pieces, self.seen.err.paint(Tone::Bad, &format!("error: {line}")));
            }
            EventClass::RunFinished => self.finish(&mut pieces, event),
            EventClass::PermissionResponse => {
                if let (Some(status), Some(by)) = (text(payload, "status"), text(payload, "resolvedBy"))
                    && by != "user"
                {
                    let line = format!("· {} by {}", visible_line(status, LINE), visible_line(by, LINE));
                    self.note(&mut pieces, self.seen.err.paint(Tone::Dim, &line));
                }
            }
            // A permission needs an answer, so the driver asks for `permission` itself; the rest is not for a terminal.
            EventClass::PermissionRequest
            | EventClass::UserMessage
            | EventClass::ToolOutput
            | EventClass::CheckpointList
            | EventClass::CheckpointRestored
            | EventClass::TaskEvent
            | EventClass::SkillsCatalog
            | EventClass::SkillsSelection
            | EventClass::CtreeNode
            | EventClass::CtreeSnapshot
            | EventClass::RewardUpdate
            | EventClass::RunLogLink
            | EventClass::TurnStart
            | EventClass::TodoUpdate
            | EventClass::ContextCompaction
            | EventClass::UsageUpdate
            | EventClass::SessionLifecycle
            | EventClass::UnknownEvent => {}
        }
        pieces
    }

    /// What is asked, whole: the title, then the diff or the command, then the rule that could be saved. Nothing of it is
    /// cut, since an allowing answer covers all of it; only raw details that merely repeat the ask may be.
    pub fn permission(&mut self, permission: &Permission, payload: &Map<String, Value>) -> Vec<Piece> {
        let err = self.seen.err;
        let mut lines = err.paint(Tone::Warn, &format!("Permission needed: {}", marked(&permission.title)));
        let args = payload.get("args").and_then(Value::as_object);
        let field = |name: &str| text(payload, name).or_else(|| args.and_then(|args| text(args, name)));
        if let Some(reason) = field("reason") {
            lines.push_str(&indented("why: ", &visible(reason)));
        }
        if let Some(patch) = field("diff") {
            if !self.seen.one_screen || self.shown_diff.as_deref() != Some(patch) {
                lines.push('\n');
                lines.push_str(diff(err, patch).trim_end_matches('\n'));
            }
        } else if let Some(command) = field("command") {
            lines.push_str(&indented("command: ", &visible_code(command)));
            if let Some(directory) = field("working_directory") {
                lines.push_str(&indented("in: ", &visible_code(directory)));
            }
            if let Some(environment) =
                payload.get("environment").filter(|env| env.as_object().is_some_and(|env| !env.is_empty()))
            {
                lines.push_str(&indented("environment: ", &visible_code(&environment.to_string())));
            }
        } else {
            let details = Value::Object(payload.clone()).to_string();
            lines.push_str(&indented("details: ", &visible_line(&details, DETAILS)));
        }
        if let Some(rule) = permission.rule.as_ref().filter(|_| offers_rule(permission)) {
            lines.push_str(&indented("a rule would cover: ", &marked(&rule.pattern)));
        }
        let mut pieces = Vec::new();
        self.note(&mut pieces, lines);
        pieces
    }

    /// A sentence of our own between the pieces; `line` must be safe to show.
    pub fn remark(&mut self, tone: Tone, line: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.note(&mut pieces, self.seen.err.paint(tone, line));
        pieces
    }

    /// The last pieces: the end of the last line, and the files that were read but that the answer does not name.
    pub fn close(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.mid_line {
            pieces.push(Piece::Answer("\n".to_owned()));
            self.mid_line = false;
        }
        let unnamed: Vec<&str> =
            self.read.iter().map(String::as_str).filter(|path| !self.answer.contains(path)).collect();
        if !unnamed.is_empty() {
            let more =
                if self.read_more > 0 { format!(" and {} more", self.read_more) } else { String::new() };
            let line = format!("also read: {}{more}", unnamed.join(", "));
            pieces.push(Piece::Note(self.seen.err.paint(Tone::Dim, &line)));
        }
        pieces
    }

    fn say(&mut self, pieces: &mut Vec<Piece>, text: &str) {
        let text = visible(text).into_owned();
        if text.is_empty() {
            return;
        }
        self.said = true;
        self.mid_line = !text.ends_with('\n');
        if self.answer.len() < REMEMBERED {
            self.answer.push_str(&text);
        }
        pieces.push(Piece::Answer(text));
    }

    fn note(&mut self, pieces: &mut Vec<Piece>, lines: String) {
        if self.mid_line && self.seen.one_screen {
            pieces.push(Piece::Answer("\n".to_owned()));
            self.mid_line = false;
        }
        pieces.push(Piece::Note(lines));
    }

    fn tool_result(&mut self, pieces: &mut Vec<Piece>, payload: &Map<String, Value>) {
        let (name, argument) = tool(payload);
        let call = join(&name, &argument);
        let result = payload.get("result").unwrap_or(&Value::Null);
        let err = self.seen.err;
        if text(payload, "status") == Some("failed") {
            let why = result
                .get("error")
                .and_then(|error| error.as_str().or_else(|| error.get("message")?.as_str()));
            let why = why.map(|why| format!(": {}", visible_line(why, 200))).unwrap_or_default();
            self.note(pieces, err.paint(Tone::Bad, &format!("✗ {call} failed{why}")));
            return;
        }
        let count = match (text_in(result, "summary"), results(result)) {
            (Some(summary), _) => format!(" → {}", visible_line(summary, 200)),
            (None, Some(1)) => " → 1 result".to_owned(),
            (None, Some(count)) => format!(" → {count} results"),
            (None, None) => String::new(),
        };
        self.note(pieces, err.paint(Tone::Dim, &format!("· {call}{count}")));
        if name == "read_file"
            && let Some(path) = payload.get("args").and_then(Value::as_object).and_then(path_of)
        {
            let path = visible_line(path, 200);
            if !self.read.contains(&path) {
                if self.read.len() < FILES { self.read.push(path) } else { self.read_more += 1 }
            }
        }
    }

    fn plan(&mut self, pieces: &mut Vec<Piece>, payload: &Map<String, Value>) {
        let steps = payload.get("steps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let lines: Vec<String> = steps
            .iter()
            .filter_map(|step| step.get("description")?.as_str())
            .enumerate()
            .map(|(index, step)| format!("  {}. {}", index + 1, visible_line(step, 200)))
            .collect();
        if !lines.is_empty() {
            self.note(pieces, self.seen.err.paint(Tone::Dim, &format!("plan:\n{}", lines.join("\n"))));
        }
    }

    fn patch(&mut self, pieces: &mut Vec<Piece>, payload: &Map<String, Value>) {
        let Some(patch) = text(payload, "diff") else { return };
        let path = visible_line(text(payload, "file_path").unwrap_or_default(), 500);
        let why = match text(payload, "rationale").filter(|why| !why.trim().is_empty()) {
            Some(why) => format!(": {}", visible_line(why, 500)),
            None => String::new(),
        };
        self.note(pieces, self.seen.err.paint(Tone::Strong, &format!("Proposed change of {path}{why}")));
        if self.mid_line {
            pieces.push(Piece::Answer("\n".to_owned()));
            self.mid_line = false;
        }
        pieces.push(Piece::Answer(diff(self.seen.out, patch)));
        self.shown_diff = Some(patch.to_owned());
    }

    fn finish(&mut self, pieces: &mut Vec<Piece>, event: &SessionEvent) {
        // An engine that does not stream says everything at its end.
        if let Some(message) = text(&event.payload, "message")
            && event.kind == "assistant.message_final"
            && !self.said
        {
            self.say(pieces, message);
        }
        if event.kind == "local.turn_end" {
            let message = text(&event.payload, "message").or_else(|| text(&event.payload, "reason"));
            let line = visible_line(message.unwrap_or_default(), 1_000);
            if !line.is_empty() {
                self.note(pieces, self.seen.err.paint(Tone::Warn, &line));
            }
        }
    }
}

/// Whether "and from now on" can be answered.
pub fn offers_rule(permission: &Permission) -> bool {
    permission.options.iter().any(|option| option.kind == PermissionOptionKind::AllowRule)
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.get(name).and_then(Value::as_str)
}

fn text_in<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.as_object().and_then(|map| text(map, name))
}

/// The piece of text in a streamed message, under the names that the engines' dialects use.
fn spoken(payload: &Map<String, Value>) -> Option<&str> {
    text(payload, "token").or_else(|| text(payload, "text")).or_else(|| {
        payload.get("content").and_then(|content| content.as_str().or_else(|| content.get("text")?.as_str()))
    })
}

fn trouble(event: &SessionEvent) -> &str {
    let payload = &event.payload;
    let inner =
        payload.get("error").and_then(|error| error.as_str().or_else(|| error.get("message")?.as_str()));
    inner.or_else(|| text(payload, "message")).or_else(|| text(payload, "reason")).unwrap_or(&event.kind)
}

fn progress(pieces: &mut Vec<Piece>, text: &str) {
    let line = visible_line(text, LINE);
    if !line.is_empty() {
        pieces.push(Piece::Progress(line));
    }
}

/// Name of a tool and the one argument that says most about the call.
fn tool(payload: &Map<String, Value>) -> (String, String) {
    let name = text(payload, "tool_name").or_else(|| text(payload, "title")).unwrap_or("tool");
    let args = payload.get("args").and_then(Value::as_object);
    let argument = args.and_then(|args| {
        ["query", "pattern", "symbol", "command"]
            .iter()
            .find_map(|key| text(args, key))
            .or_else(|| path_of(args))
            .or_else(|| args.values().find_map(Value::as_str))
    });
    (visible_line(name, LINE), argument.map(|argument| visible_line(argument, LINE)).unwrap_or_default())
}

fn path_of(args: &Map<String, Value>) -> Option<&str> {
    ["path", "file_path", "filePath"].iter().find_map(|key| text(args, key))
}

fn join(name: &str, argument: &str) -> String {
    if argument.is_empty() { name.to_owned() } else { format!("{name} \"{argument}\"") }
}

/// How many results a tool's result holds, where it is a list or has one.
fn results(result: &Value) -> Option<usize> {
    match result {
        Value::Array(items) => Some(items.len()),
        Value::Object(map) => ["results", "matches", "places", "symbols", "entries", "files"]
            .iter()
            .find_map(|key| map.get(*key)?.as_array().map(Vec::len)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// `text`, safe to show, after a label, its further lines under its first, so that no line of it can pass for one of ours.
fn indented(label: &str, text: &str) -> String {
    format!("\n  {label}{}", text.trim_end().replace('\n', "\n  | "))
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
