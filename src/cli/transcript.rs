//! A conversation as Markdown, for somebody who reads it in a terminal, in a pager or in a file.
//!
//! Owns its headings, and that every foreign text passes `terminal::visible`. What is written of which block is the core's
//! `conversation_writer`. Never asks the server for anything.

use super::terminal::{marked, visible, visible_code};
use crate::domain::conversation_writer::ConversationWriter;
use crate::domain::view::{Block, BlockBody};

/// The whole, with its title.
pub(super) fn markdown(title: &str, blocks: &[Block]) -> String {
    let mut parts = vec![format!("# {}", visible_code(title))];
    let mut rest = blocks;
    while !rest.is_empty() {
        let answer = rest.iter().take_while(|block| prompt(block).is_none()).count();
        let (said, then) = rest.split_at(answer);
        parts.push(written(said));
        if let Some(text) = then.first().and_then(prompt) {
            parts.push(format!("## You\n\n{}\n\n## Agent", visible(text.trim())));
        }
        rest = then.get(1..).unwrap_or_default();
    }
    parts.retain(|part| !part.is_empty());
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

fn prompt(block: &Block) -> Option<&str> {
    match &block.body {
        BlockBody::User { text, .. } => Some(text),
        _ => None,
    }
}

fn written(blocks: &[Block]) -> String {
    let title = |id: &str| {
        blocks.iter().find_map(|block| match &block.body {
            BlockBody::Permission { permission, .. } if permission.request_id == id => {
                Some(format!("> Asks: {}", marked(&permission.title)))
            }
            _ => None,
        })
    };
    let text = |said: &str| visible(said).into_owned();
    let line = |said: &str| marked(said).into_owned();
    ConversationWriter { text: &text, line: &line, waiting: &title }.answer(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fact::{PlanStep, TurnOutcome};

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
                     > The rest of this answer is too long to be shown here.\n\n\
                     > The turn was stopped.\n";
        assert_eq!(markdown("Five", &blocks), whole);
    }
}
