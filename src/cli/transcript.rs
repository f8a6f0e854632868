//! A conversation as Markdown, for somebody who reads it in a terminal, in a pager or in a file.
//!
//! Owns what of it is written: who said what, what was done and how it ended. Thoughts and counts are left out. Every foreign text
//! passes `terminal::visible` here. Never asks the server for anything.

use super::terminal::{marked, visible, visible_code};
use crate::domain::fact::{PlanStep, TurnOutcome};
use crate::domain::view::{Block, BlockBody};

/// The whole, with its title.
pub(super) fn markdown(title: &str, blocks: &[Block]) -> String {
    let mut parts = vec![format!("# {}", visible_code(title))];
    parts.extend(blocks.iter().filter_map(|block| part(&block.body)));
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

fn part(body: &BlockBody) -> Option<String> {
    match body {
        BlockBody::User { text, .. } => Some(format!("## You\n\n{}\n\n## Agent", visible(text.trim()))),
        BlockBody::Assistant { text, truncated, .. } => {
            let text = visible(text.trim());
            let rest =
                "\n\n> The rest of this answer is too long to be shown here; an editor shows all of it.";
            (!text.is_empty()).then(|| format!("{text}{}", if *truncated { rest } else { "" }))
        }
        BlockBody::Tool { name, title, status, diff, .. } => {
            let did = visible_code(title.as_deref().unwrap_or(name));
            let did = format!("- {did} ({})", status.word());
            Some(match diff.as_deref().filter(|diff| !diff.is_empty()) {
                Some(diff) => format!("{did}\n\n{}", fenced(diff)),
                None => did,
            })
        }
        BlockBody::Permission { permission, status, .. } => {
            Some(format!("- Asked: {} ({})", marked(&permission.title), status.as_str()))
        }
        BlockBody::Patch { diff: Some(diff), .. } => Some(fenced(diff)),
        BlockBody::Plan { steps } => {
            let mark = |step: &PlanStep| if step.is_done() { 'x' } else { ' ' };
            let steps: Vec<_> =
                steps.iter().map(|step| format!("- [{}] {}", mark(step), visible_code(&step.text))).collect();
            (!steps.is_empty()).then(|| steps.join("\n"))
        }
        BlockBody::Notice { text, .. } => Some(quoted(text)),
        BlockBody::TurnEnd { outcome, text, .. } => {
            let otherwise = match outcome {
                TurnOutcome::Done => return None,
                TurnOutcome::Stopped => "The turn was stopped.",
                TurnOutcome::Failed => "The turn failed.",
                TurnOutcome::Cut => "The turn was cut off.",
            };
            Some(quoted(text.as_deref().unwrap_or(otherwise)))
        }
        BlockBody::Link { uri, label, .. } if uri.is_empty() => Some(format!("- {}", visible_code(label))),
        BlockBody::Link { uri, label, .. } => {
            Some(format!("- [{}](<{}>)", visible_code(label), visible_code(uri)))
        }
        BlockBody::TurnStart { .. }
        | BlockBody::Reasoning { .. }
        | BlockBody::Patch { diff: None, .. }
        | BlockBody::Changes { .. }
        | BlockBody::Command { .. }
        | BlockBody::Task { .. }
        | BlockBody::Checkpoint { .. }
        | BlockBody::Summary { .. }
        | BlockBody::Unknown { .. } => None,
    }
}

fn quoted(text: &str) -> String {
    format!("> {}", visible(text.trim()).replace('\n', "\n> "))
}

/// In a fence that is longer than any in the text.
fn fenced(diff: &str) -> String {
    let diff = visible(diff.trim_end_matches('\n'));
    let longest = diff.split(|ch| ch != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    format!("{fence}diff\n{diff}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_written_as_markdown_that_a_terminal_does_not_obey() {
        let bodies = [
            BlockBody::User {
                text: "Five, please\u{1b}[2J".to_owned(),
                message_id: None,
                attachment_ids: Vec::new(),
                context: Vec::new(),
                context_notes: Vec::new(),
                context_seq: None,
            },
            BlockBody::Reasoning { text: "Hm.".to_owned(), streaming: false },
            BlockBody::Plan {
                steps: ["done", "pending"]
                    .map(|status| PlanStep {
                        text: "read".to_owned(),
                        status: Some(status.to_owned()),
                        files: Vec::new(),
                    })
                    .to_vec(),
            },
            BlockBody::Patch {
                patch_id: "p".to_owned(),
                files: Vec::new(),
                rationale: None,
                diff: Some("-```\n+5\n".to_owned()),
            },
            BlockBody::Assistant { text: "It is five.\n".to_owned(), streaming: false, truncated: true },
            BlockBody::TurnEnd {
                outcome: TurnOutcome::Stopped,
                text: None,
                duration_ms: None,
                input_tokens: None,
                output_tokens: None,
                total_tokens: None,
                cost: None,
            },
        ];
        let blocks = bodies.into_iter().enumerate();
        let blocks: Vec<Block> =
            blocks.map(|(at, body)| Block { id: at.to_string(), turn: Some(1), seq: 1, body }).collect();
        let whole = "# Five\n\n## You\n\nFive, please⟨U+001B⟩[2J\n\n## Agent\n\n- [x] read\n- [ ] read\n\n\
                     ````diff\n-```\n+5\n````\n\nIt is five.\n\n\
                     > The rest of this answer is too long to be shown here; an editor shows all of it.\n\n\
                     > The turn was stopped.\n";
        assert_eq!(markdown("Five", &blocks), whole);
    }
}
