//! What happens in a session as text for a person.
//!
//! Owns what is shown and how, and how the parts of an answer are kept apart; every foreign text passes `terminal::visible`
//! here, and what the server made safe `terminal::marked`. Reads the changes of the view, so that a terminal is told the same
//! as every other client; what is asked is `ask`'s, calls and plans are `calls`'. Never writes and never decides.

mod ask;
mod calls;
mod markdown;
mod places;
mod table;
mod turn_end;
mod went_along;

use std::collections::HashMap;

pub(super) use self::ask::{Choice, choices, kept};
use self::calls::{Calls, Line};
use self::markdown::Markdown;
pub(super) use self::places::Places;
use super::own_words::own_words;
use super::terminal::{TerminalLook, Tone, diff, marked, marked_line, visible, visible_line};
use crate::domain::approval::PermissionStatus;
use crate::domain::context::item::ContextChip;
use crate::domain::dialect::desktop::message::BY_WORDS;
use crate::domain::fact::{Answered, Fact, NoticeLevel, Patch};
use crate::domain::shown::ShownPieces;
use crate::domain::view::{Block, BlockBody, Change, ChangeOp, Lane};
use crate::protocol::settings::EngineKind;

/// Characters of a progress line; the console cuts it to the width of the terminal.
const LINE: usize = 200;
/// Characters of one sentence.
const SENTENCE: usize = 1_000;
/// Files remembered for the closing line; more are counted only.
const FILES: usize = 8;
/// Bytes of the answer remembered for the closing line, which looks for file names in it.
const REMEMBERED: usize = 256 << 10;

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RenderPiece {
    /// Part of the answer, for stdout as it is.
    Answer(String),
    /// A whole line, or lines, beside the answer, for stderr; without the last newline.
    Note(String),
    /// What is going on right now; replaces the last such line.
    Progress(String),
}

/// Where the pieces will be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeenSoFar {
    /// Colours of stdout.
    pub out: TerminalLook,
    /// Colours of stderr.
    pub err: TerminalLook,
    /// Whether both are the same screen, so that a note must not land in the middle of a line of the answer.
    pub one_screen: bool,
}

/// Where the answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RenderPlace {
    /// Nothing of it was shown.
    Before,
    /// Within a line.
    Within,
    /// Behind a line.
    Between,
    /// Behind a line, and something else happened since: a blank line parts what follows.
    Apart,
}

/// How the turn ended, as the view says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerEnding {
    /// Whether it did what it was for.
    pub success: bool,
    /// One sentence, safe to show.
    pub text: String,
}

/// Turns what happens in one turn into pieces.
#[derive(Debug)]
pub(super) struct Renderer {
    seen: SeenSoFar,
    /// The answer as it comes, made safe to show.
    pieces: ShownPieces,
    /// What of the answer is not drawn yet, where it is drawn and not passed on as it is.
    markdown: Option<Markdown>,
    place: RenderPlace,
    /// The answer ends with a blank line.
    blank: bool,
    /// What was shown of each text of the answer, by its block.
    texts: HashMap<String, String>,
    /// The reasoning that goes on, by its last line.
    thought: String,
    calls: Calls,
    /// Sentences that were said, each once.
    told: Vec<String>,
    /// One of them said that something failed.
    failure_told: bool,
    ending: Option<AnswerEnding>,
    shown_diff: Option<String>,
    answer: String,
    read: Vec<String>,
    read_more: usize,
    /// How long the turn took and what it spent, where it ended well.
    spent: Option<String>,
}

impl Renderer {
    /// Nothing shown yet.
    pub(super) fn new(seen: SeenSoFar) -> Self {
        Self {
            seen,
            pieces: ShownPieces::default(),
            markdown: seen.out.colour.then(Markdown::default),
            place: RenderPlace::Before,
            blank: false,
            texts: HashMap::new(),
            thought: String::new(),
            calls: Calls::default(),
            told: Vec::new(),
            failure_told: false,
            ending: None,
            shown_diff: None,
            answer: String::new(),
            read: Vec::new(),
            read_more: 0,
            spent: None,
        }
    }

    /// Draws these places of the answer as links, where it is drawn.
    pub(super) fn linking(mut self, places: Places) -> Self {
        self.markdown = self.markdown.map(|_| Markdown::with(places));
        self
    }

    /// How the turn ended, once the view says so.
    pub(super) fn ending(&self) -> Option<&AnswerEnding> {
        self.ending.as_ref()
    }

    /// Whether nothing of an answer came.
    pub(super) fn is_silent(&self) -> bool {
        self.place == RenderPlace::Before && self.markdown.as_ref().is_none_or(Markdown::is_empty)
    }

    /// What to show for one event, which says `fact` and changes the view so; often nothing.
    pub(super) fn draw(&mut self, fact: &Fact<'_>, changes: &[Change]) -> Vec<RenderPiece> {
        let mut pieces = Vec::new();
        match fact {
            Fact::Patch(patch) => self.patch(&mut pieces, *patch),
            // That words alone did it is nothing to tell.
            Fact::Search { message, .. } if is_ranked_by_a_model(message) => {
                self.part(&mut pieces);
                self.note(&mut pieces, self.seen.err.paint(Tone::Dim, &visible_line(message, SENTENCE)));
            }
            Fact::Search { message, .. } => progress(&mut pieces, message),
            Fact::Answered(Answered::Settled { status, by: Some(by), .. }) if *by != "user" => {
                let is_answered = matches!(status, PermissionStatus::Allowed | PermissionStatus::Denied);
                let line = match *by {
                    // The engine says that it was answered; by whom, another client for instance, is its to say.
                    "engine" if is_answered => format!("· {} elsewhere", status.as_str()),
                    by => format!("· {} by {}", status.as_str(), visible_line(by, LINE)),
                };
                self.note(&mut pieces, self.seen.err.paint(Tone::Dim, &line));
            }
            _ => {}
        }
        let ended = self.calls.ended();
        for change in changes {
            match (change.lane, change.op, &change.block, &change.text) {
                (Lane::Chat, ChangeOp::Put, Some(block), _) => self.chat(&mut pieces, fact, block),
                (Lane::Chat, ChangeOp::Append, _, Some(more)) => self.append(&mut pieces, &change.id, more),
                (
                    Lane::Run,
                    ChangeOp::Put,
                    Some(Block { body: BlockBody::Summary { success, text, .. }, .. }),
                    _,
                ) => {
                    self.ending = Some(AnswerEnding { success: *success, text: marked(text).into_owned() });
                }
                (_, _, _, _) => {}
            }
        }
        if self.calls.ended() == ended {
            self.calls.answered(fact);
        }
        pieces
    }

    fn chat(&mut self, pieces: &mut Vec<RenderPiece>, fact: &Fact<'_>, block: &Block) {
        match &block.body {
            BlockBody::Assistant { text, truncated, .. } => {
                self.text(pieces, &block.id, text);
                if *truncated {
                    self.tell(
                        pieces,
                        NoticeLevel::Warning,
                        "The rest of the answer is not shown, because it is too long.",
                    );
                }
            }
            BlockBody::Reasoning { text, streaming: true } => {
                self.thought.clear();
                self.think(pieces, text);
            }
            BlockBody::Tool { .. } => {
                let Some(line) = self.calls.tool(fact, block) else { return };
                self.part(pieces);
                match line {
                    Line::Begins(call) => pieces.push(RenderPiece::Progress(call)),
                    Line::Ended { tone, text, read } => {
                        self.note(pieces, self.seen.err.paint(tone, &text));
                        self.remember(read);
                    }
                }
            }
            BlockBody::Plan { steps } => {
                if let Some(lines) = self.calls.plan(&block.id, steps) {
                    self.part(pieces);
                    self.note(pieces, self.seen.err.paint(Tone::Dim, &lines));
                }
            }
            BlockBody::Notice { level, text, .. } => self.tell(pieces, *level, text),
            // In the chat it is a picture.
            BlockBody::Link { label, .. } => {
                self.part(pieces);
                self.note(pieces, self.seen.err.paint(Tone::Dim, &visible_line(label, LINE)));
            }
            BlockBody::User { context, context_notes, .. } => self.went_along(pieces, context, context_notes),
            BlockBody::TurnStart { engine, model, .. } => {
                let named = engine.as_ref().filter(|engine| *engine != EngineKind::Embedded.as_str());
                if let Some(who) = model.as_ref().or(named) {
                    progress(pieces, &format!("Waiting for {who}."));
                }
            }
            BlockBody::TurnEnd { .. } => self.spent = turn_end::line(&block.body),
            // A permission needs an answer, so the driver asks for `permission` itself; a patch is shown whole, by its fact; the
            // rest is not for a terminal.
            BlockBody::Reasoning { .. }
            | BlockBody::Permission { .. }
            | BlockBody::Patch { .. }
            | BlockBody::Changes { .. }
            | BlockBody::Command { .. }
            | BlockBody::Task { .. }
            | BlockBody::Checkpoint { .. }
            | BlockBody::Summary { .. }
            | BlockBody::Unknown { .. } => {}
        }
    }

    /// What went with the prompt, and what was left out of it.
    fn went_along(&mut self, pieces: &mut Vec<RenderPiece>, context: &[ContextChip], left_out: &[String]) {
        for line in
            went_along::line(context).into_iter().chain(left_out.iter().map(|note| marked_line(note, LINE)))
        {
            if !self.told.contains(&line) {
                self.note(pieces, self.seen.err.paint(Tone::Dim, &line));
                self.told.push(line);
            }
        }
    }

    /// A sentence of our own between the pieces; `line` must be safe to show.
    pub(super) fn remark(&mut self, tone: Tone, line: &str) -> Vec<RenderPiece> {
        let mut pieces = Vec::new();
        self.note(&mut pieces, self.seen.err.paint(tone, line));
        pieces
    }

    /// The same for a sentence that may be said only once.
    pub(super) fn remark_once(&mut self, level: NoticeLevel, line: &str) -> Vec<RenderPiece> {
        let mut pieces = Vec::new();
        self.tell(&mut pieces, level, line);
        pieces
    }

    /// How a turn ended that did not go well, unless that was said already.
    pub(super) fn ended_badly(&mut self, sentence: &str) -> Vec<RenderPiece> {
        if self.failure_told { Vec::new() } else { self.remark_once(NoticeLevel::Warning, sentence) }
    }

    /// The last pieces: the end of the last line, the files that were read but that the answer does not name, and what the turn
    /// spent.
    pub(super) fn close(&mut self) -> Vec<RenderPiece> {
        let mut pieces = Vec::new();
        self.end_line(&mut pieces);
        let unnamed: Vec<&str> =
            self.read.iter().map(String::as_str).filter(|path| !self.answer.contains(path)).collect();
        if !unnamed.is_empty() {
            let more =
                if self.read_more > 0 { format!(" and {} more", self.read_more) } else { String::new() };
            let line = format!("also read: {}{more}", unnamed.join(", "));
            pieces.push(RenderPiece::Note(self.seen.err.paint(Tone::Dim, &line)));
        }
        // For a person who looks on; a log has no use for it.
        if let Some(spent) = self.spent.take().filter(|_| self.seen.one_screen) {
            pieces.push(RenderPiece::Note(self.seen.err.paint(Tone::Dim, &spent)));
        }
        pieces
    }

    /// A text of the answer as it stands. What was shown of it is not shown again.
    fn text(&mut self, pieces: &mut Vec<RenderPiece>, id: &str, whole: &str) {
        let Some(shown) = self.texts.get(id) else {
            // One that says nothing yet parts nothing.
            if !whole.is_empty() {
                self.part(pieces);
                self.texts.insert(id.to_owned(), whole.to_owned());
                self.say(pieces, whole);
            }
            return;
        };
        let more = match unsaid(shown, whole) {
            Some("") => return,
            Some(more) => more.to_owned(),
            None => {
                self.part(pieces);
                whole.to_owned()
            }
        };
        self.texts.insert(id.to_owned(), whole.to_owned());
        self.say(pieces, &more);
    }

    fn append(&mut self, pieces: &mut Vec<RenderPiece>, id: &str, more: &str) {
        match self.texts.get_mut(id) {
            Some(shown) => {
                shown.push_str(more);
                self.say(pieces, more);
            }
            None => self.think(pieces, more),
        }
    }

    /// Reasoning is shown as it goes on, by the end of its last line.
    fn think(&mut self, pieces: &mut Vec<RenderPiece>, more: &str) {
        self.thought.push_str(more);
        let line = self.thought.trim_end().rsplit('\n').next().unwrap_or_default();
        let start = line.char_indices().rev().nth(LINE).map_or(0, |(at, _)| at);
        let line = line.get(start..).unwrap_or_default().to_owned();
        progress(pieces, &line);
        if !more.ends_with('\n') {
            self.thought = line;
        }
    }

    fn say(&mut self, pieces: &mut Vec<RenderPiece>, text: &str) {
        let text = if self.place == RenderPlace::Apart { text.trim_start_matches('\n') } else { text };
        if text.is_empty() {
            return;
        }
        let shown = self.pieces.push(text);
        self.say_shown(pieces, shown);
    }

    /// Text of the answer that is safe to show.
    fn say_shown(&mut self, pieces: &mut Vec<RenderPiece>, shown: String) {
        if self.answer.len() < REMEMBERED {
            self.answer.push_str(&shown);
        }
        let shown = match &mut self.markdown {
            Some(markdown) => markdown.push(&shown),
            None => shown,
        };
        self.put(pieces, shown);
    }

    /// Text of the answer as it is shown.
    fn put(&mut self, pieces: &mut Vec<RenderPiece>, mut shown: String) {
        if shown.is_empty() {
            return;
        }
        if self.place == RenderPlace::Apart && !self.blank {
            shown.insert(0, '\n');
        }
        self.blank = shown.ends_with("\n\n") || (shown == "\n" && self.place == RenderPlace::Between);
        self.place = if shown.ends_with('\n') { RenderPlace::Between } else { RenderPlace::Within };
        pieces.push(RenderPiece::Answer(shown));
    }

    /// Something else happens: what is said next stands apart from what was said.
    fn part(&mut self, pieces: &mut Vec<RenderPiece>) {
        self.end_line(pieces);
        if self.place == RenderPlace::Between {
            self.place = RenderPlace::Apart;
        }
    }

    fn end_line(&mut self, pieces: &mut Vec<RenderPiece>) {
        let joining = self.pieces.finish();
        self.say_shown(pieces, joining);
        let rest = self.markdown.as_mut().map(Markdown::finish).unwrap_or_default();
        self.put(pieces, rest);
        if self.place == RenderPlace::Within {
            pieces.push(RenderPiece::Answer("\n".to_owned()));
            self.place = RenderPlace::Between;
        }
    }

    fn note(&mut self, pieces: &mut Vec<RenderPiece>, lines: String) {
        if self.seen.one_screen {
            self.end_line(pieces);
        }
        pieces.push(RenderPiece::Note(lines));
    }

    /// A sentence beside the answer, unless it was said.
    fn tell(&mut self, pieces: &mut Vec<RenderPiece>, level: NoticeLevel, text: &str) {
        let line = marked_line(&own_words(text), SENTENCE);
        if line.is_empty() || self.told.iter().any(|told| told.contains(&line)) {
            return;
        }
        let (tone, prefix) = match level {
            NoticeLevel::Error => (Tone::Bad, "error: "),
            NoticeLevel::Warning => (Tone::Warn, ""),
            NoticeLevel::Info => (Tone::Dim, ""),
        };
        self.failure_told |= level == NoticeLevel::Error;
        self.note(pieces, self.seen.err.paint(tone, &format!("{prefix}{line}")));
        self.told.push(line);
    }

    fn patch(&mut self, pieces: &mut Vec<RenderPiece>, patch: Patch<'_>) {
        let path = visible_line(patch.file_path, 500);
        let why = match Some(patch.rationale).filter(|why| !why.trim().is_empty()) {
            Some(why) => format!(": {}", visible_line(why, 500)),
            None => String::new(),
        };
        self.part(pieces);
        self.note(pieces, self.seen.err.paint(Tone::Strong, &format!("Proposed change of {path}{why}")));
        pieces.push(RenderPiece::Answer(diff(self.seen.out, patch.diff)));
        (self.place, self.blank) = (RenderPlace::Apart, false);
        // As a request shows it: its hunks, safe to show.
        let hunks = patch.diff.find("@@").and_then(|at| patch.diff.get(at..)).unwrap_or_default();
        self.shown_diff = Some(visible(hunks).into_owned());
    }

    fn remember(&mut self, read: Option<String>) {
        let Some(path) = read.filter(|path| !self.read.contains(path)) else { return };
        if self.read.len() < FILES { self.read.push(path) } else { self.read_more += 1 }
    }
}

/// What of `whole` was not shown, when it begins with what was; `None` when it is another text. Engines trim what they said when
/// they say it once more, so space around it makes no difference.
fn unsaid<'a>(shown: &str, whole: &'a str) -> Option<&'a str> {
    if let Some(more) = whole.strip_prefix(shown) {
        return Some(more);
    }
    let said = shown.trim();
    let mut more = whole.trim_start().strip_prefix(said)?;
    if said.is_empty() || more.trim().is_empty() {
        return Some(more.trim_start());
    }
    // Lines that were ended are not ended again.
    let space = shown.get(shown.trim_end().len()..).unwrap_or_default();
    for _ in space.matches('\n') {
        let Some(next) = more.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n') else { break };
        more = next;
    }
    Some(more)
}

/// Whether a model of the user's had a part in the order of what was found, or was to have one.
fn is_ranked_by_a_model(message: &str) -> bool {
    message.split_once(" ranked by ").is_some_and(|(_, by)| by.trim_end_matches('.') != BY_WORDS)
}

fn progress(pieces: &mut Vec<RenderPiece>, text: &str) {
    let line = visible_line(text, LINE);
    if !line.is_empty() {
        pieces.push(RenderPiece::Progress(line));
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
