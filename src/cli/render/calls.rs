//! Tool calls and plans as lines.
//!
//! Owns what was said of each call and of each step of a plan, so that nothing is said twice. Never shows a result.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::super::terminal::{Tone, marked_line, visible_line};
use crate::domain::approval::PermissionStatus;
use crate::domain::fact::{Answered, Fact, PlanStep, ToolStep};
use crate::domain::shown::without_colours;
use crate::domain::view::{Block, BlockBody, ToolBlockStatus};

/// Characters of what a call is about.
const ABOUT: usize = 160;
/// Characters of a reason, and of a step.
const REASON: usize = 200;
/// Words of engines for what a tool is that say nothing.
const NO_NAMES: [&str; 4] = ["tool", "other", "think", "unknown"];

/// What is said of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// It began, or says anew what it does.
    Begins(String),
    /// It ended.
    Ended {
        /// How the line looks.
        tone: Tone,
        /// What it did, and how that went.
        text: String,
        /// The file that it read.
        read: Option<String>,
    },
}

/// The calls and plans of a turn.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// What was said of a call, by its block; `None` once it ended.
    said: HashMap<String, Option<String>>,
    /// Those that run, oldest first.
    running: Vec<String>,
    /// Those that were denied while they ran.
    denied: Vec<String>,
    /// How many ended.
    ended: usize,
    plans: HashMap<String, Vec<PlanStep>>,
}

impl Calls {
    /// What to say of a call that the view shows so. `fact` is what brought it there.
    pub(super) fn tool(&mut self, fact: &Fact<'_>, block: &Block) -> Option<Line> {
        let BlockBody::Tool { name, status, title, input, diff, preview, exit_code, .. } = &block.body else {
            return None;
        };
        let said = self.said.get(&block.id);
        if said == Some(&None) {
            return None;
        }
        let args = input.as_ref().and_then(Value::as_object);
        let call = call(name, title.as_deref(), args, diff.as_deref());
        let (tone, text) = match status {
            ToolBlockStatus::Running => {
                if said == Some(&Some(call.clone())) {
                    return None;
                }
                if self.said.insert(block.id.clone(), Some(call.clone())).is_none() {
                    self.running.push(block.id.clone());
                }
                return Some(Line::Begins(call));
            }
            // A call may be well whose command was not.
            ToolBlockStatus::Ok => match exit_code.filter(|code| *code != 0) {
                Some(code) => (Tone::Warn, format!("· {call}{} [exit code {code}]", count(fact))),
                None => (Tone::Dim, format!("· {call}{}", count(fact))),
            },
            ToolBlockStatus::Failed => (Tone::Bad, format!("✗ {call} failed{}", why(preview.as_deref()))),
            ToolBlockStatus::Denied | ToolBlockStatus::Cancelled => match refusal(fact) {
                Some(word) => (Tone::Warn, format!("· {call}: {word}")),
                None if *status == ToolBlockStatus::Denied || self.denied.contains(&block.id) => {
                    (Tone::Warn, format!("· {call}: denied"))
                }
                None => (Tone::Dim, format!("· {call}: did not end")),
            },
        };
        self.said.insert(block.id.clone(), None);
        self.ended += 1;
        self.running.retain(|id| *id != block.id);
        let read = args.filter(|_| *status == ToolBlockStatus::Ok && name == "read_file").and_then(path_of);
        Some(Line::Ended { tone, text, read: read.map(|path| marked_line(path, REASON)) })
    }

    /// How many calls ended.
    pub(super) fn ended(&self) -> usize {
        self.ended
    }

    /// A request was answered. Where that was a denial and ended no call, it was about the newest one that runs: such an engine
    /// names no call when it asks.
    pub(super) fn answered(&mut self, fact: &Fact<'_>) {
        if refusal(fact).is_some() {
            self.denied.extend(self.running.last().cloned());
        }
    }

    /// A plan as it stands: all of it when its steps are other ones than before, else the steps that stand otherwise.
    pub(super) fn plan(&mut self, id: &str, steps: &[PlanStep]) -> Option<String> {
        let before = self.plans.insert(id.to_owned(), steps.to_vec()).unwrap_or_default();
        let same =
            before.len() == steps.len() && before.iter().zip(steps).all(|(old, new)| old.text == new.text);
        let changed =
            |at: usize, step: &PlanStep| !same || before.get(at).is_some_and(|old| old.status != step.status);
        let lines: Vec<String> = steps
            .iter()
            .enumerate()
            .filter(|(at, step)| changed(*at, step))
            .map(|(_, step)| {
                format!("  {} {}", mark(step.status.as_deref()), marked_line(&step.text, REASON))
            })
            .collect();
        (!lines.is_empty()).then(|| format!("plan:\n{}", lines.join("\n")))
    }
}

/// How a step stands.
fn mark(status: Option<&str>) -> &'static str {
    match status {
        Some("done" | "completed") => "[x]",
        Some("running" | "in_progress") => "[>]",
        Some("failed" | "cancelled" | "blocked") => "[-]",
        Some(_) | None => "[ ]",
    }
}

/// What a call is: its title, with its name where the title does not say it, or its name and the argument that says most.
fn call(name: &str, title: Option<&str>, args: Option<&Map<String, Value>>, diff: Option<&str>) -> String {
    let name = marked_line(name, ABOUT);
    // A title of one word, such as `WriteFile`, is another name of the tool and says nothing of what it does.
    let word = title.filter(|title| title.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let aim = args.and_then(told).or_else(|| changed(diff?));
    if let (Some(word), Some(aim)) = (word, aim)
        && !aim.contains(word)
    {
        return format!("{word} {}", marked_line(aim, ABOUT));
    }
    let about = title.map(str::to_owned).or_else(|| argument(args?).map(str::to_owned));
    let about = about.map(|about| marked_line(&about, ABOUT)).filter(|about| !about.is_empty());
    match about {
        None => name,
        Some(about)
            if NO_NAMES.contains(&name.as_str()) || about.to_lowercase().contains(&name.to_lowercase()) =>
        {
            about
        }
        Some(about) => format!("{name} {about}"),
    }
}

/// The argument that says what a call is about.
fn told(args: &Map<String, Value>) -> Option<&str> {
    ["query", "pattern", "symbol", "command"]
        .iter()
        .find_map(|key| args.get(*key).and_then(Value::as_str))
        .or_else(|| path_of(args))
}

fn argument(args: &Map<String, Value>) -> Option<&str> {
    told(args).or_else(|| args.values().find_map(Value::as_str))
}

/// The first file that a diff changes.
fn changed(diff: &str) -> Option<&str> {
    diff.lines().find_map(|line| line.strip_prefix("+++ ")).filter(|path| *path != "/dev/null")
}

fn path_of(args: &Map<String, Value>) -> Option<&str> {
    ["path", "file_path", "filePath", "absolute_path"]
        .iter()
        .find_map(|key| args.get(*key).and_then(Value::as_str))
}

/// How much a call found, where the engine counts it.
fn count(fact: &Fact<'_>) -> String {
    let Fact::ToolResult(news) = fact else { return String::new() };
    let ToolStep::Result(outcome) = &news.step else { return String::new() };
    let count = outcome.count.as_deref();
    count.map(|count| format!(" → {}", visible_line(count, REASON))).unwrap_or_default()
}

/// Why a call failed: the first line of what it gave, and the exit code at its end.
fn why(preview: Option<&str>) -> String {
    let Some(preview) = preview else { return String::new() };
    let error = serde_json::from_str::<Value>(preview).ok();
    let error = error.as_ref().and_then(|given| given.get("error")).and_then(Value::as_str);
    let given = without_colours(error.unwrap_or(preview));
    let mut lines = given.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return String::new() };
    let code = lines.next_back().filter(|last| last.starts_with("[exit code "));
    let code = code.map(|code| format!(" {code}")).unwrap_or_default();
    format!(": {}{code}", marked_line(first, REASON))
}

/// How an answer kept a call from running.
fn refusal(fact: &Fact<'_>) -> Option<&'static str> {
    match fact {
        Fact::Answered(Answered::Settled { status: PermissionStatus::Denied, .. }) => Some("denied"),
        Fact::Answered(Answered::Settled { status: PermissionStatus::Expired, .. }) => {
            Some("denied, since nobody answered in time")
        }
        Fact::Answered(Answered::Confirmed(answer)) if !answer.allowed => Some("denied"),
        _ => None,
    }
}
