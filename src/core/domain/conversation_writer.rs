//! A conversation as Markdown: what was said, done, asked and changed, for a chat document, a pager or a file.
//!
//! Owns which blocks are written and how. Thoughts and counts are left out. The same blocks give the same text. How a foreign text is
//! made safe where it is read is the caller's.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::domain::approval::{ChosenOption, Permission, PermissionStatus};
use crate::domain::fact::{PlanStep, TurnOutcome};
use crate::domain::view::{Block, BlockBody, ToolBlockStatus};

/// Said where a text goes on and is not here.
const CUT: &str = "> The rest of this answer is too long to be shown here.";

/// See the module.
pub struct ConversationWriter<'a> {
    /// Makes what was said, and diffs, safe where they are read.
    pub text: &'a dyn Fn(&str) -> String,
    /// The same for a line that the reducer made safe to show.
    pub line: &'a dyn Fn(&str) -> String,
    /// What a request that waits is about, by its id, where that can be shown whole.
    pub waiting: &'a dyn Fn(&str) -> Option<String>,
}

impl ConversationWriter<'_> {
    /// What these blocks say; of a prompt nothing, which its reader has.
    pub fn answer<'b>(&self, blocks: impl IntoIterator<Item = &'b Block>) -> String {
        let blocks: Vec<&Block> = blocks.into_iter().collect();
        let asked = waiting_patches(&blocks);
        let (mut text, mut was_line, mut last_diff) = (String::new(), false, "");
        for block in blocks {
            let diff = diff_of(&block.body, &asked).filter(|diff| *diff != last_diff);
            let said = self.said(&block.body);
            let said =
                said.as_deref().map(|said| said.trim_matches(['\n', '\r'])).filter(|said| !said.is_empty());
            if said.is_none() && diff.is_none() {
                continue;
            }
            let is_line = matches!(block.body, BlockBody::Tool { .. });
            if let Some(said) = said {
                // Lines about tools stand together.
                part(&mut text, said, if was_line && is_line { "\n" } else { "\n\n" });
            }
            if let Some(diff) = diff {
                part(&mut text, &self.fenced(diff), "\n\n");
                last_diff = diff;
            }
            was_line = is_line && diff.is_none();
        }
        text
    }

    fn said(&self, body: &BlockBody) -> Option<String> {
        match body {
            BlockBody::Assistant { text, truncated, .. } => {
                let said = (self.text)(text);
                Some(if *truncated { format!("{}\n\n{CUT}", said.trim_end()) } else { said })
            }
            BlockBody::Tool { name, status, title, .. } => {
                self.line(&format!("{}: {}", ended(*status), title.as_deref().unwrap_or(name)))
            }
            BlockBody::Permission { permission, status, chosen, problem, .. } => {
                self.asked(permission, *status, chosen.as_ref(), problem.as_deref())
            }
            BlockBody::Plan { steps } => {
                Some(steps.iter().map(|step| self.step(step)).collect::<Vec<_>>().join("\n"))
            }
            BlockBody::TurnEnd { outcome, text, .. } => self.line(match (outcome, text) {
                (_, Some(text)) => text,
                (TurnOutcome::Done, None) => return None,
                (TurnOutcome::Stopped, None) => "The turn was stopped.",
                (TurnOutcome::Failed, None) => "The turn failed.",
                (TurnOutcome::Cut, None) => "The turn was cut off.",
            }),
            BlockBody::Notice { text, .. } => self.line(text),
            BlockBody::Link { uri, label, .. } => self.line(&format!("{label} {uri}")),
            BlockBody::User { .. }
            | BlockBody::TurnStart { .. }
            | BlockBody::Reasoning { .. }
            | BlockBody::Patch { .. }
            | BlockBody::Changes { .. }
            | BlockBody::Command { .. }
            | BlockBody::Task { .. }
            | BlockBody::Checkpoint { .. }
            | BlockBody::Summary { .. }
            | BlockBody::Unknown { .. } => None,
        }
    }

    fn asked(
        &self,
        permission: &Permission,
        status: PermissionStatus,
        chosen: Option<&ChosenOption>,
        problem: Option<&str>,
    ) -> Option<String> {
        let how = match status {
            PermissionStatus::Pending => {
                let mut said = (self.waiting)(&permission.request_id).or_else(|| {
                    self.line(&format!("Asks, and cannot be shown here whole: {}", permission.title))
                })?;
                if let Some(problem) = problem.and_then(|problem| self.line(problem)) {
                    let _ = write!(said, "\n{problem}");
                }
                return Some(said);
            }
            PermissionStatus::Saving => "Saving first",
            PermissionStatus::Allowed => "Allowed",
            PermissionStatus::Denied => "Denied",
            PermissionStatus::Expired => "Not answered in time",
            PermissionStatus::Cancelled => "Not answered",
        };
        let with = chosen.map_or(String::new(), |chosen| format!(" ({})", chosen.label));
        self.line(&format!("{how}{with}: {}", permission.title))
    }

    /// A line about something, set apart from what the agent says.
    pub fn line(&self, said: &str) -> Option<String> {
        let said = (self.line)(&on_one_line(said));
        (!said.is_empty()).then(|| format!("> {said}"))
    }

    fn step(&self, step: &PlanStep) -> String {
        let mark = if step.is_done() { "x" } else { " " };
        format!("- [{mark}] {}", (self.line)(&on_one_line(&step.text)))
    }

    /// In a fence that is longer than any in the text.
    fn fenced(&self, diff: &str) -> String {
        let diff = (self.text)(diff.trim_end_matches('\n'));
        let longest = diff.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.saturating_add(1).max(3));
        format!("{fence}diff\n{diff}\n{fence}")
    }
}

fn part(text: &mut String, said: &str, before: &str) {
    if !text.is_empty() {
        text.push_str(before);
    }
    text.push_str(said);
}

fn on_one_line(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn ended(status: ToolBlockStatus) -> &'static str {
    match status {
        ToolBlockStatus::Running => "Running",
        ToolBlockStatus::Ok => "Done",
        ToolBlockStatus::Failed => "Failed",
        ToolBlockStatus::Denied => "Not allowed",
        ToolBlockStatus::Cancelled => "Stopped",
    }
}

/// Patches whose request waits: the request shows them.
fn waiting_patches<'b>(blocks: &[&'b Block]) -> BTreeSet<&'b str> {
    let waits = |block: &&'b Block| {
        let BlockBody::Permission { permission, status: PermissionStatus::Pending, .. } = &block.body else {
            return None;
        };
        permission.patch_id.as_deref()
    };
    blocks.iter().filter_map(waits).collect()
}

/// What a block changed, or would have changed. Of a call that runs the request that it waits for shows it.
fn diff_of<'b>(body: &'b BlockBody, asked: &BTreeSet<&str>) -> Option<&'b str> {
    let mut found = None;
    if let BlockBody::Tool { status, diff, .. } = body
        && *status != ToolBlockStatus::Running
    {
        found = diff.as_deref();
    }
    if let BlockBody::Patch { patch_id, diff, .. } = body
        && !asked.contains(patch_id.as_str())
    {
        found = diff.as_deref();
    }
    found.filter(|diff| !diff.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn blocks(bodies: &[Value]) -> Vec<Block> {
        let block = |(at, body): (usize, &Value)| {
            let mut value = json!({ "id": at.to_string(), "seq": 1 });
            value.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
            serde_json::from_value(value).unwrap()
        };
        bodies.iter().enumerate().map(block).collect()
    }

    fn written(bodies: &[Value]) -> String {
        let (same, upper) = (|text: &str| text.to_owned(), |line: &str| line.replace('!', "?"));
        let waiting = |id: &str| (id == "shown").then(|| "> **Asks:** all of it".to_owned());
        ConversationWriter { text: &same, line: &upper, waiting: &waiting }.answer(&blocks(bodies))
    }

    fn permission(id: &str, status: &str) -> Value {
        json!({ "kind": "permission", "status": status, "permission": { "requestId": id, "digest": "d", "title": "Write a.rs!",
            "options": [], "subject": { "kind": "edit", "files": [] }, "patchId": "p" } })
    }

    #[test]
    fn what_was_said_and_done_is_written_and_thoughts_are_not() {
        let said = written(&[
            json!({ "kind": "user", "text": "ask" }),
            json!({ "kind": "turn-start" }),
            json!({ "kind": "reasoning", "text": "hm", "streaming": false }),
            json!({ "kind": "tool", "name": "read", "status": "ok", "title": "Read a.rs\nb" }),
            json!({ "kind": "tool", "name": "grep", "status": "failed" }),
            json!({ "kind": "assistant", "text": "So it is.\n", "streaming": false, "truncated": true }),
            json!({ "kind": "plan", "steps": [{ "text": "one", "status": "completed" }, { "text": "two" }] }),
            json!({ "kind": "notice", "level": "warning", "text": "Look\nout!" }),
            json!({ "kind": "link", "uri": "file:///log", "label": "The log" }),
            json!({ "kind": "turn-end", "outcome": "cut" }),
        ]);
        let wanted = "> Done: Read a.rs b\n> Failed: grep\n\nSo it is.\n\n> The rest of this answer is too long to be shown here.\n\n\
                      - [x] one\n- [ ] two\n\n> Look out?\n\n> The log file:///log\n\n> The turn was cut off.";
        assert_eq!(said, wanted);
    }

    #[test]
    fn a_change_is_written_once_and_not_beside_the_question_about_it() {
        let patch = json!({ "kind": "patch", "patchId": "p", "files": [], "diff": "-```\n+5\n" });
        let call =
            |status| json!({ "kind": "tool", "name": "patch", "status": status, "diff": "-```\n+5\n" });
        let waits = [patch.clone(), call("running"), permission("shown", "pending")];
        assert_eq!(written(&waits), "> Running: patch\n\n> **Asks:** all of it");
        let made = [patch, permission("shown", "allowed"), call("ok"), call("ok")];
        let fence = "````diff\n-```\n+5\n````";
        assert_eq!(
            written(&made),
            format!("{fence}\n\n> Allowed: Write a.rs?\n\n> Done: patch\n> Done: patch")
        );
        let denied = [call("denied"), call("cancelled")];
        assert_eq!(written(&denied), format!("> Not allowed: patch\n\n{fence}\n\n> Stopped: patch"));
    }

    #[test]
    fn how_a_request_stands_is_a_line() {
        let rows = [
            ("hidden", "pending", "Asks, and cannot be shown here whole"),
            ("r", "saving", "Saving first"),
            ("r", "denied", "Denied"),
            ("r", "expired", "Not answered in time"),
            ("r", "cancelled", "Not answered"),
        ];
        for (id, status, how) in rows {
            assert_eq!(written(&[permission(id, status)]), format!("> {how}: Write a.rs?"));
        }
        let mut again = permission("shown", "pending");
        again["problem"] = json!("It was not saved!");
        assert_eq!(written(&[again]), "> **Asks:** all of it\n> It was not saved?");
        let mut chosen = permission("r", "allowed");
        chosen["chosen"] = json!({ "optionId": "a", "label": "Allow once" });
        assert_eq!(written(&[chosen]), "> Allowed (Allow once): Write a.rs?");
    }
}
