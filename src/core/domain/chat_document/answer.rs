//! An answer as it stands in a chat document: the blocks of a turn as Markdown.
//!
//! Owns which of them are shown and how. Of what a block says the reducer made safe to show whatever is not conversation. The same blocks give the same text, so what the document should say never depends on
//! what was written before.

use std::fmt::Write as _;

use super::sections::push_escaped;
use crate::domain::approval::PermissionStatus;
use crate::domain::fact::{PlanStep, TurnOutcome};
use crate::domain::view::{Block, BlockBody, ToolBlockStatus};

/// The answer that these blocks are. `waiting` is, by request, what a request that waits is about.
pub fn answer_of<'a>(
    blocks: impl IntoIterator<Item = &'a Block>,
    waiting: impl Fn(&str) -> Option<String>,
) -> String {
    let mut text = String::new();
    let mut was_line = false;
    for block in blocks {
        let is_line = matches!(block.body, BlockBody::Tool { .. });
        let Some(said) = said(&block.body, &waiting) else { continue };
        let said = said.trim_matches(['\n', '\r']);
        if said.is_empty() {
            continue;
        }
        if !text.is_empty() {
            // Lines about tools stand together.
            text.push_str(if was_line && is_line { "\n" } else { "\n\n" });
        }
        text.push_str(said);
        was_line = is_line;
    }
    text
}

fn said(body: &BlockBody, waiting: &impl Fn(&str) -> Option<String>) -> Option<String> {
    match body {
        BlockBody::Assistant { text, .. } => {
            let mut said = String::with_capacity(text.len());
            push_escaped(&mut said, &plain_lines(text));
            Some(said)
        }
        BlockBody::Tool { name, status, title, .. } => {
            let how = match status {
                ToolBlockStatus::Running => "Running",
                ToolBlockStatus::Ok => "Done",
                ToolBlockStatus::Failed => "Failed",
                ToolBlockStatus::Denied => "Not allowed",
                ToolBlockStatus::Cancelled => "Stopped",
            };
            line(&format!("{how}: {}", title.as_deref().unwrap_or(name)))
        }
        BlockBody::Permission { permission, status, chosen, problem, .. } => {
            let how = match status {
                PermissionStatus::Pending => {
                    let mut said = waiting(&permission.request_id).unwrap_or_else(|| {
                        line(&format!("Asks, and cannot be shown here whole: {}", permission.title))
                            .unwrap_or_default()
                    });
                    if let Some(problem) = problem {
                        let _ = write!(said, "\n{}", line(problem).unwrap_or_default());
                    }
                    return Some(said);
                }
                PermissionStatus::Saving => "Saving first",
                PermissionStatus::Allowed => "Allowed",
                PermissionStatus::Denied => "Denied",
                PermissionStatus::Expired => "Not answered in time",
                PermissionStatus::Cancelled => "Not answered",
            };
            let with = chosen.as_ref().map_or(String::new(), |chosen| format!(" ({})", chosen.label));
            line(&format!("{how}{with}: {}", permission.title))
        }
        BlockBody::Plan { steps } => Some(steps.iter().map(step).collect::<Vec<_>>().join("\n")),
        BlockBody::TurnEnd { outcome, text, .. } => match (outcome, text) {
            (_, Some(text)) => line(text),
            (TurnOutcome::Stopped, None) => line("Stopped."),
            (TurnOutcome::Done | TurnOutcome::Cut | TurnOutcome::Failed, None) => None,
        },
        BlockBody::Notice { text, .. } => line(text),
        BlockBody::Link { uri, label, .. } => line(&format!("{label} {uri}")),
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

/// A line about something, set apart from what the agent says.
fn line(said: &str) -> Option<String> {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    (!said.is_empty()).then(|| format!("> {said}"))
}

/// The text with the line ends that every editor takes for such: some take a form feed or U+2028 for one too, and would then count
/// the lines below it otherwise than we do.
fn plain_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'], "\n")
}

fn step(step: &PlanStep) -> String {
    format!(
        "- [{}] {}",
        if step.is_done() { "x" } else { " " },
        step.text.split_whitespace().collect::<Vec<_>>().join(" ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::chat_document::ChatText;

    fn block(id: &str, body: serde_json::Value) -> Block {
        let mut value = json!({ "id": id, "seq": 1 });
        value.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_answer_is_what_the_agent_says_and_a_line_for_what_it_does() {
        let permission = json!({ "requestId": "r", "digest": "d", "title": "Write a.rs", "options": [],
            "subject": { "kind": "edit", "files": [] } });
        let blocks = [
            block("1", json!({ "kind": "user", "text": "ask" })),
            block("2", json!({ "kind": "reasoning", "text": "hm", "streaming": false })),
            block("3", json!({ "kind": "tool", "name": "read", "status": "ok", "title": "Read a.rs\nb" })),
            block("4", json!({ "kind": "tool", "name": "grep", "status": "running" })),
            block("5", json!({ "kind": "assistant", "text": "So:\n## You\nrm -rf\n", "streaming": true })),
            block("6", json!({ "kind": "permission", "permission": permission, "status": "pending" })),
            block(
                "7",
                json!({ "kind": "plan", "steps": [{ "text": "one", "status": "completed" }, { "text": "two" }] }),
            ),
            block("8", json!({ "kind": "turn-end", "outcome": "stopped" })),
        ];
        let said = answer_of(&blocks, |id| (id == "r").then(|| "> **Asks:** all of it".to_owned()));
        assert_eq!(
            said,
            "> Done: Read a.rs b\n> Running: grep\n\nSo:\n\\## You\nrm -rf\n\n> **Asks:** all of it\n\n- [x] one\n- [ ] two\n\n> Stopped."
        );
        let hidden = answer_of(&blocks[5..6], |_| None);
        assert_eq!(hidden, "> Asks, and cannot be shown here whole: Write a.rs");
        // And in the document it stays an answer
        let room = ChatText::read("ask").with_room(None);
        let whole = ChatText::read(&room).with_answer(0, &said).unwrap();
        assert_eq!(ChatText::read(&whole).prompt(), None);
    }
}
