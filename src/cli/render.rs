//! Facts of a session as text for a person.
//!
//! Owns what is shown and how; every foreign text passes `terminal::visible` here, and what the server made safe
//! `terminal::marked`. Never writes, never decides and never reads a payload: it turns a fact into pieces, the console puts
//! them where they belong.

use serde_json::{Map, Value};

use super::terminal::{Look, Tone, diff, marked, marked_diff, visible, visible_line};
use crate::domain::approval::{Action, ChangeKind, FileChange, Permission, PermissionOptionKind};
use crate::domain::event::Origin;
use crate::domain::fact::{
    Answered, Fact, Notice, NoticeLevel, Patch, Plan, Shape, Text, TextPart, ToolNews, ToolProgress,
    ToolStep, TurnReport, Voice,
};

/// Characters of a progress line or of one tool's argument.
const LINE: usize = 72;
/// What is said of a request whose engine does not tell all of what it would do.
const UNKNOWN: &str = "The agent did not tell exactly what it would do, so it can be allowed once only.";
/// Files remembered for the closing line; more are counted only.
const FILES: usize = 8;
/// Bytes of the answer remembered for the closing line, which looks for file names in it.
const REMEMBERED: usize = 256 << 10;

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Part of the answer, for stdout as it is.
    Answer(String),
    /// A whole line, or lines, beside the answer, for stderr; without the last newline.
    Note(String),
    /// What is going on right now; replaces the last such line.
    Progress(String),
}

/// Where the pieces will be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    /// Colours of stdout.
    pub out: Look,
    /// Colours of stderr.
    pub err: Look,
    /// Whether both are the same screen, so that a note must not land in the middle of a line of the answer.
    pub one_screen: bool,
}

/// Turns the events of one turn into pieces.
#[derive(Debug)]
pub(super) struct Renderer {
    seen: Seen,
    mid_line: bool,
    answer: String,
    said: bool,
    /// Pieces of a message came, whose whole repeats them.
    in_pieces: bool,
    shown_diff: Option<String>,
    read: Vec<String>,
    read_more: usize,
}

impl Renderer {
    /// Nothing shown yet.
    pub(super) fn new(seen: Seen) -> Self {
        Self {
            seen,
            mid_line: false,
            answer: String::new(),
            said: false,
            in_pieces: false,
            shown_diff: None,
            read: Vec::new(),
            read_more: 0,
        }
    }

    /// What to show for one event; often nothing.
    pub(super) fn draw(&mut self, origin: Origin, fact: &Fact<'_>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        match fact {
            Fact::Text(text) => self.text(&mut pieces, text),
            Fact::Search { message, .. } => progress(&mut pieces, message),
            Fact::ToolCall(news) => progress(&mut pieces, &call(news)),
            Fact::ToolResult(news) => self.tool_result(&mut pieces, news),
            Fact::Plan(plan) => self.plan(&mut pieces, plan),
            Fact::Patch(patch) => self.patch(&mut pieces, *patch),
            Fact::Notice(Notice { level, text }) => {
                let tone = match level {
                    NoticeLevel::Error => Tone::Bad,
                    NoticeLevel::Warning => Tone::Warn,
                    NoticeLevel::Info => Tone::Dim,
                };
                self.note(&mut pieces, self.seen.err.paint(tone, &visible_line(text, 1_000)));
            }
            Fact::Failure(Notice { text, .. })
            | Fact::Gap(Notice { text, .. })
            | Fact::Exited { text, .. } => {
                let line = visible_line(text, 1_000);
                self.note(&mut pieces, self.seen.err.paint(Tone::Bad, &format!("error: {line}")));
            }
            Fact::TurnEnded(end) => self.finish(&mut pieces, origin, &end.report),
            Fact::TurnClosed(closed) => {
                if let Some(notice) = &closed.notice {
                    let line = visible_line(&notice.text, 1_000);
                    self.note(&mut pieces, self.seen.err.paint(Tone::Warn, &line));
                }
            }
            Fact::Answered(Answered::Settled { status, by: Some(by), .. }) if *by != "user" => {
                let line = format!("· {} by {}", status.as_str(), visible_line(by, LINE));
                self.note(&mut pieces, self.seen.err.paint(Tone::Dim, &line));
            }
            // A permission needs an answer, so the driver asks for `permission` itself; the rest is not for a terminal.
            Fact::Ask { .. }
            | Fact::Answered(_)
            | Fact::Prompt(_)
            | Fact::ToolOutput(_)
            | Fact::TurnBegan
            | Fact::Usage(_)
            | Fact::Reward(_)
            | Fact::Mode(_)
            | Fact::Commands(_)
            | Fact::Task(_)
            | Fact::Checkpoints(_)
            | Fact::Restored(_)
            | Fact::Compaction(_)
            | Fact::Link(_)
            | Fact::TreeNode
            | Fact::Tree { .. }
            | Fact::Nothing
            | Fact::Unknown => {}
        }
        pieces
    }

    /// What is asked: the title, then the change, the command, the arguments or the question, then the rule that could be
    /// saved. Nothing of it is cut here, since an allowing answer covers all of it.
    pub(super) fn permission(&mut self, permission: &Permission) -> Vec<Piece> {
        let (err, subject) = (self.seen.err, &permission.subject);
        let mut lines = err.paint(Tone::Warn, &format!("Permission needed: {}", marked(&permission.title)));
        if let Some(reason) = &subject.reason {
            lines.push_str(&indented("why: ", &marked(reason)));
        }
        match &subject.action {
            Action::Edit { files } => files.iter().for_each(|file| self.file(&mut lines, file)),
            Action::Command { command, cwd, env } => {
                lines.push_str(&indented("command: ", &marked(command)));
                lines.push_str(&indented("in: ", &marked(cwd)));
                for (name, value) in env.iter().flatten() {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    lines.push_str(&indented("with: ", &marked(&format!("{name}={value}"))));
                }
            }
            Action::Tool { name, input } => {
                lines.push_str(&indented("tool: ", &marked(name)));
                match input {
                    Some(Value::Object(fields)) => {
                        for (name, value) in fields {
                            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                            lines.push_str(&indented(&format!("{name}: "), &marked(&value)));
                        }
                    }
                    Some(other) => lines.push_str(&indented("with: ", &marked(&other.to_string()))),
                    None => {}
                }
            }
            Action::Question { text, input } => {
                if marked(text) != marked(&permission.title) {
                    lines.push_str(&indented("question: ", &marked(text)));
                }
                if let Some(url) = input.as_ref().and_then(|form| form.url.as_deref()) {
                    lines.push_str(&indented("address: ", &marked(url)));
                }
            }
        }
        if subject.truncated {
            lines.push_str(&indented("", "This is not all of it."));
        }
        if subject.unknown {
            lines.push_str(&indented("", UNKNOWN));
        }
        if let Some(rule) = permission.options.iter().find_map(|option| option.rule.as_ref()) {
            lines.push_str(&indented("a rule would cover: ", &marked(&rule.pattern)));
        }
        let mut pieces = Vec::new();
        self.note(&mut pieces, lines);
        pieces
    }

    fn file(&self, lines: &mut String, file: &FileChange) {
        let what = match file.change {
            ChangeKind::Modify => "change: ",
            ChangeKind::Create => "new file: ",
            ChangeKind::Delete => "delete: ",
            ChangeKind::Rename => "rename: ",
        };
        let root = file.root.as_ref().map(|root| format!("{root}: ")).unwrap_or_default();
        let from = file.old_path.as_ref().map(|old| format!("{old} → ")).unwrap_or_default();
        let counts = match (file.added, file.removed) {
            (Some(added), Some(removed)) => format!(" (+{added} −{removed})"),
            (Some(added), None) => format!(" (+{added})"),
            (None, _) => String::new(),
        };
        lines.push_str(&indented(
            what,
            &format!("{}{counts}", marked(&format!("{root}{from}{}", file.file_path))),
        ));
        if let Some(diff) = &file.diff
            && (!self.seen.one_screen || self.shown_diff.as_ref() != Some(diff))
        {
            lines.push('\n');
            lines.push_str(marked_diff(self.seen.err, diff).trim_end_matches('\n'));
        }
    }

    /// A sentence of our own between the pieces; `line` must be safe to show.
    pub(super) fn remark(&mut self, tone: Tone, line: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.note(&mut pieces, self.seen.err.paint(tone, line));
        pieces
    }

    /// The last pieces: the end of the last line, and the files that were read but that the answer does not name.
    pub(super) fn close(&mut self) -> Vec<Piece> {
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

    fn text(&mut self, pieces: &mut Vec<Piece>, text: &Text<'_>) {
        match (text.voice, &text.part) {
            (_, TextPart::Start | TextPart::End) => {}
            (Voice::Reasoning, TextPart::Piece(words) | TextPart::Whole { text: words, .. }) => {
                progress(pieces, words);
            }
            (Voice::Answer, TextPart::Piece(words)) => {
                self.in_pieces = true;
                self.say(pieces, words);
            }
            (Voice::Answer, TextPart::Whole { text, .. }) => {
                if !std::mem::take(&mut self.in_pieces) {
                    self.say(pieces, text);
                }
            }
        }
    }

    fn tool_result(&mut self, pieces: &mut Vec<Piece>, news: &ToolNews<'_>) {
        let (failed, why, count) = match &news.step {
            // It repeats the result of the execution, for the model.
            ToolStep::Result(outcome) if outcome.shape == Shape::Transcript => return,
            ToolStep::Result(outcome) => (outcome.failed, outcome.text.as_deref(), outcome.count.as_deref()),
            ToolStep::Update(state) => {
                let failed = state.progress == Some(ToolProgress::Failed);
                (failed, state.content.as_deref().or(state.output.as_deref()), None)
            }
            ToolStep::Called | ToolStep::Began | ToolStep::Printed(_) | ToolStep::Ended(_) => return,
        };
        let (call, err) = (call(news), self.seen.err);
        if failed {
            let why = why.filter(|why| !why.is_empty());
            let why = why.map(|why| format!(": {}", visible_line(why, 200))).unwrap_or_default();
            self.note(pieces, err.paint(Tone::Bad, &format!("✗ {call} failed{why}")));
            return;
        }
        let count = count.map(|count| format!(" → {}", visible_line(count, 200))).unwrap_or_default();
        self.note(pieces, err.paint(Tone::Dim, &format!("· {call}{count}")));
        if news.name.as_deref() == Some("read_file")
            && let Some(path) = news.input.as_ref().and_then(Value::as_object).and_then(path_of)
        {
            let path = visible_line(path, 200);
            if !self.read.contains(&path) {
                if self.read.len() < FILES { self.read.push(path) } else { self.read_more += 1 }
            }
        }
    }

    fn plan(&mut self, pieces: &mut Vec<Piece>, plan: &Plan) {
        let steps = plan.steps.iter().enumerate();
        let lines: Vec<String> = steps
            .map(|(index, step)| format!("  {}. {}", index + 1, visible_line(&step.text, 200)))
            .collect();
        if !lines.is_empty() {
            self.note(pieces, self.seen.err.paint(Tone::Dim, &format!("plan:\n{}", lines.join("\n"))));
        }
    }

    fn patch(&mut self, pieces: &mut Vec<Piece>, patch: Patch<'_>) {
        let path = visible_line(patch.file_path, 500);
        let why = match Some(patch.rationale).filter(|why| !why.trim().is_empty()) {
            Some(why) => format!(": {}", visible_line(why, 500)),
            None => String::new(),
        };
        self.note(pieces, self.seen.err.paint(Tone::Strong, &format!("Proposed change of {path}{why}")));
        if self.mid_line {
            pieces.push(Piece::Answer("\n".to_owned()));
            self.mid_line = false;
        }
        pieces.push(Piece::Answer(diff(self.seen.out, patch.diff)));
        // As a request shows it: its hunks, safe to show.
        let hunks = patch.diff.find("@@").and_then(|at| patch.diff.get(at..)).unwrap_or_default();
        self.shown_diff = Some(visible(hunks).into_owned());
    }

    fn finish(&mut self, pieces: &mut Vec<Piece>, origin: Origin, report: &TurnReport<'_>) {
        let TurnReport::Whole { answer, text, told, .. } = report else { return };
        // An engine that does not stream says everything at its end.
        if let Some(answer) = answer.filter(|_| !self.said) {
            self.say(pieces, answer);
        }
        // Only a turn without the engine's own end is closed by us.
        if origin == Origin::Local || told.is_some() {
            let line = visible_line(text, 1_000);
            if !line.is_empty() {
                self.note(pieces, self.seen.err.paint(Tone::Warn, &line));
            }
        }
    }
}

/// Whether "and from now on" can be answered.
pub(super) fn offers_rule(permission: &Permission) -> bool {
    permission.options.iter().any(|option| option.kind == PermissionOptionKind::AllowRule)
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.get(name).and_then(Value::as_str)
}

fn progress(pieces: &mut Vec<Piece>, text: &str) {
    let line = visible_line(text, LINE);
    if !line.is_empty() {
        pieces.push(Piece::Progress(line));
    }
}

/// Name of a tool and the one argument that says most about the call; of a call that names itself, that.
fn call(news: &ToolNews<'_>) -> String {
    if let (ToolStep::Update(_), Some(title)) = (&news.step, &news.title) {
        return visible_line(title, LINE);
    }
    let name = visible_line(news.name.as_deref().unwrap_or("tool"), LINE);
    let args = news.input.as_ref().and_then(Value::as_object);
    let argument = args.and_then(|args| {
        ["query", "pattern", "symbol", "command"]
            .iter()
            .find_map(|key| text(args, key))
            .or_else(|| path_of(args))
            .or_else(|| args.values().find_map(Value::as_str))
    });
    match argument.map(|argument| visible_line(argument, LINE)).filter(|argument| !argument.is_empty()) {
        Some(argument) => format!("{name} \"{argument}\""),
        None => name,
    }
}

fn path_of(args: &Map<String, Value>) -> Option<&str> {
    ["path", "file_path", "filePath"].iter().find_map(|key| text(args, key))
}

/// `text`, safe to show, after a label, its further lines under its first, so that no line of it can pass for one of ours.
fn indented(label: &str, text: &str) -> String {
    format!("\n  {label}{}", text.trim_end().replace('\n', "\n  | "))
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
