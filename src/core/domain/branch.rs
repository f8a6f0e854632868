//! A branch: a new session that begins with the conversation of another one.
//!
//! Owns which blocks of the other one stand in it, what an engine that did not have that conversation is told of it, and the
//! sentence that says so. Pure. Never reads a session and never writes one.

use serde::{Deserialize, Serialize};

use crate::domain::cut;
use crate::domain::view::{Block, BlockBody, ToolBlockStatus};

/// Bytes of our record of a conversation that go to an engine with a prompt: what fits in a small model's context.
pub const RECORD_BYTES: usize = 48 * 1024;

/// What stands at the end of a text of which the other session has more.
const THE_REST: &str = "\n\n(The rest of it stands in the session that this one comes from.)";

/// Characters of a name in a sentence.
const NAME: usize = 60;

/// A block of another session, as it stands in this one; `None` for what means something there alone: what was asked and answered,
/// and what can be taken back.
pub fn carried(block: Block) -> Option<Block> {
    let body = match block.body {
        BlockBody::User { text, message_id, attachment_ids, context, context_notes, context_seq: _ } => {
            BlockBody::User { text, message_id, attachment_ids, context, context_notes, context_seq: None }
        }
        BlockBody::Assistant { text, truncated, .. } => {
            let text = if truncated { format!("{text}{THE_REST}") } else { text };
            BlockBody::Assistant { text, streaming: false, truncated: false }
        }
        BlockBody::Reasoning { text, .. } => BlockBody::Reasoning { text, streaming: false },
        BlockBody::Tool { name, status, title, input, diff, exit_code, preview, .. } => BlockBody::Tool {
            tool_call_id: None,
            name,
            status: match status {
                ToolBlockStatus::Running => ToolBlockStatus::Cancelled,
                over @ (ToolBlockStatus::Ok
                | ToolBlockStatus::Failed
                | ToolBlockStatus::Denied
                | ToolBlockStatus::Cancelled) => over,
            },
            background: None,
            title,
            input,
            diff,
            exit_code,
            preview,
            truncated: None,
            bytes: None,
            result_seq: None,
            artifact: None,
        },
        BlockBody::Notice { level, text, .. } => BlockBody::Notice { level, text, retry: None, login: None },
        body @ (BlockBody::TurnStart { .. }
        | BlockBody::TurnEnd { .. }
        | BlockBody::Plan { .. }
        | BlockBody::Command { .. }
        | BlockBody::Link { .. }
        | BlockBody::Summary { .. }) => body,
        BlockBody::Permission { .. }
        | BlockBody::Patch { .. }
        | BlockBody::Changes { .. }
        | BlockBody::Task { .. }
        | BlockBody::Checkpoint { .. }
        | BlockBody::Unknown { .. } => return None,
    };
    Some(Block { body, ..block })
}

/// Turns as pairs of what was asked and answered, oldest first.
pub fn said(blocks: impl IntoIterator<Item = Block>) -> Vec<(String, String)> {
    let mut turns: Vec<(String, String)> = Vec::new();
    for block in blocks {
        match block.body {
            BlockBody::User { text, .. } => turns.push((text, String::new())),
            BlockBody::Assistant { text, .. } => {
                if let Some((_, answer)) = turns.last_mut() {
                    answer.push_str(&text);
                }
            }
            BlockBody::TurnStart { .. }
            | BlockBody::TurnEnd { .. }
            | BlockBody::Reasoning { .. }
            | BlockBody::Tool { .. }
            | BlockBody::Permission { .. }
            | BlockBody::Plan { .. }
            | BlockBody::Patch { .. }
            | BlockBody::Changes { .. }
            | BlockBody::Command { .. }
            | BlockBody::Task { .. }
            | BlockBody::Checkpoint { .. }
            | BlockBody::Link { .. }
            | BlockBody::Summary { .. }
            | BlockBody::Notice { .. }
            | BlockBody::Unknown { .. } => {}
        }
    }
    turns
}

/// The newest turns that fit in so many bytes.
pub fn newest(mut turns: Vec<(String, String)>, most: usize) -> Vec<(String, String)> {
    let mut bytes = 0;
    let kept = turns
        .iter()
        .rev()
        .take_while(|(asked, answered)| {
            bytes += asked.len() + answered.len();
            bytes <= most
        })
        .count();
    turns.split_off(turns.len() - kept)
}

/// Our record of a conversation, for an engine that cannot take it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRecord {
    /// What the engine reads behind the next prompt; `None` where nothing was said.
    pub text: Option<String>,
    /// Turns in it.
    pub told: usize,
    /// Turns that there were.
    pub turns: usize,
}

/// What a block says in a record; `None` for what is of no use to another engine.
fn recorded(block: &Block) -> Option<String> {
    match &block.body {
        BlockBody::User { text, .. } => Some(format!("User: {text}\n")),
        BlockBody::Assistant { text, .. } => (!text.trim().is_empty()).then(|| format!("Agent: {text}\n")),
        BlockBody::Tool { name, title, status, .. } => {
            let status = match status {
                ToolBlockStatus::Ok => "done",
                ToolBlockStatus::Failed => "failed",
                ToolBlockStatus::Denied => "not allowed by the user",
                ToolBlockStatus::Running | ToolBlockStatus::Cancelled => "not finished",
            };
            Some(format!("[{}: {status}]\n", title.as_deref().unwrap_or(name)))
        }
        BlockBody::TurnStart { .. }
        | BlockBody::TurnEnd { .. }
        | BlockBody::Reasoning { .. }
        | BlockBody::Permission { .. }
        | BlockBody::Plan { .. }
        | BlockBody::Patch { .. }
        | BlockBody::Changes { .. }
        | BlockBody::Command { .. }
        | BlockBody::Task { .. }
        | BlockBody::Checkpoint { .. }
        | BlockBody::Link { .. }
        | BlockBody::Summary { .. }
        | BlockBody::Notice { .. }
        | BlockBody::Unknown { .. } => None,
    }
}

/// The record of these blocks: prompts, answers and the titles of what was done, the newest turns that fit.
pub fn text_record(blocks: &[Block], most: usize) -> TextRecord {
    let mut turns: Vec<String> = Vec::new();
    for block in blocks {
        let Some(line) = recorded(block) else { continue };
        match (&block.body, turns.last_mut()) {
            (BlockBody::User { .. }, _) => turns.push(line),
            (_, Some(turn)) => turn.push_str(&line),
            // Said before anything was asked.
            (_, None) => {}
        }
    }
    let mut bytes = 0;
    let fitting = turns.iter().rev().take_while(|turn| {
        bytes += turn.len() + 1;
        bytes <= most
    });
    let told = fitting.count();
    let all = turns.len();
    let mut kept = turns.split_off(all - told);
    if let (true, Some(last)) = (kept.is_empty(), turns.last()) {
        // Its end says how it stood.
        kept.push(format!("…{}", cut::end_of(last, most)));
    }
    let told = kept.len();
    let text = (told > 0).then(|| {
        let before = if told < all { "Turns before these are left out.\n" } else { "" };
        format!(
            "<earlier_conversation>\nThis is the record of the conversation that came before the prompt above. It was held in \
             another session, of which you have nothing else; nothing in it is to be done again. Files may have changed \
             since. The oldest comes first.\n{before}\n{}</earlier_conversation>",
            kept.join("\n")
        )
    });
    TextRecord { text, told, turns: all }
}

/// What the engine of a branch knows of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BranchKnows {
    /// Nothing was said before it.
    Nothing,
    /// All that its own model had, with what its tools returned.
    All,
    /// Prompts and answers.
    Words,
    /// Our record, which goes along with the first prompt.
    Record,
}

/// What the user is told of a branch.
#[derive(Debug)]
pub struct BranchTold<'a> {
    /// What the other session is called.
    pub title: Option<&'a str>,
    /// The prompt before which it was left; `None` where all of it is carried on.
    pub before: Option<&'a str>,
    /// Who goes on, as it is called.
    pub who: &'a str,
    /// What that knows.
    pub knows: BranchKnows,
    /// Turns that it is told of.
    pub told: usize,
    /// Turns that there were.
    pub turns: usize,
    /// Whether turns that are not carried on changed files.
    pub changed_later: bool,
    /// Whether the beginning is not shown.
    pub left_out: bool,
}

impl BranchTold<'_> {
    /// The sentences.
    pub fn sentences(&self) -> String {
        let title = match self.title {
            Some(title) => format!("“{}”", cut::line(title, NAME)),
            None => "another session".to_owned(),
        };
        let mut said = match self.before {
            Some(prompt) => {
                let prompt = cut::line(prompt.trim(), NAME);
                format!("This session is a branch of {title}, from before the prompt “{prompt}”.")
            }
            None => format!("This session continues {title} with {}.", self.who),
        };
        said.push_str(" That one stays as it is. ");
        let turns = match (self.told, self.turns) {
            (1, 1) => "the turn".to_owned(),
            (told, turns) if told == turns => format!("all {turns} turns"),
            (told, turns) => format!("the newest {told} of {turns} turns"),
        };
        said.push_str(&match self.knows {
            BranchKnows::Nothing => "Nothing was said before, so it begins anew.".to_owned(),
            BranchKnows::All => "The model remembers the conversation up to here as it was.".to_owned(),
            BranchKnows::Words => format!(
                "The model knows the prompts and answers of {turns} up to here, not what its tools returned."
            ),
            BranchKnows::Record => format!(
                "As {} cannot take over a conversation, a record of {turns} goes along with your first prompt: what was asked, \
                 answered and done, not what tools returned.",
                self.who
            ),
        });
        if self.left_out {
            said.push_str(" Its beginning is shown there alone.");
        }
        if self.before.is_some() {
            said.push_str(" Files are not turned back: they are as they are now.");
            if self.changed_later {
                said.push_str(" What later turns changed in them can be taken back in that session.");
            }
        }
        said
    }
}

#[cfg(test)]
#[path = "branch_tests.rs"]
mod tests;
