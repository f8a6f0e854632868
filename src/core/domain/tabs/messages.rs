//! From changes of the transcript to messages of a tab.
//!
//! Owns which prompt a block belongs to and which of a text a client has. Never numbers or sends a message.

use std::collections::{BTreeMap, VecDeque};

use crate::domain::approval::{ChosenOption, NamedClient, Permission, PermissionStatus};
use crate::domain::fingerprint::Fingerprint;
use crate::domain::view::{Block, BlockBody, Change, ChangeOp, Lane};

/// Blocks that may still change; engines keep far fewer open. A change of an older one comes as the whole block.
const BLOCKS: usize = 512;

/// Prompts whose late words still find them.
const PROMPTS: usize = 64;

/// What a client of a tab is to be told; `message_id` is the prompt that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Words of the answer.
    Text {
        /// Prompt.
        message_id: Option<String>,
        /// Block of the view.
        block_id: String,
        /// What to add.
        text: String,
    },
    /// A block that is not a piece of text; with `append` its text is to be added.
    Block {
        /// Prompt.
        message_id: Option<String>,
        /// The block.
        block: Box<Block>,
        /// Whether to add.
        append: bool,
    },
    /// A tool call.
    Tool {
        /// Prompt.
        message_id: Option<String>,
        /// The call.
        block: Box<Block>,
    },
    /// An ask.
    Permission {
        /// Prompt.
        message_id: Option<String>,
        /// What is asked.
        permission: Box<Permission>,
        /// How it stands.
        status: PermissionStatus,
        /// What the user chose.
        chosen: Option<ChosenOption>,
        /// At which client.
        client: Option<NamedClient>,
        /// Why it waits again.
        problem: Option<String>,
    },
    /// What cannot be said by adding: only a snapshot is right.
    Anew,
}

/// What a client of a tab has of the transcript.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentBlocks {
    /// Whether blocks name turns of ours; else what comes belongs to the last prompt.
    by_turn: bool,
    prompts: BTreeMap<u64, String>,
    /// The prompt that was begun last.
    last: Option<String>,
    blocks: VecDeque<KnownBlock>,
}

#[derive(Debug, Clone, PartialEq)]
struct KnownBlock {
    id: String,
    message_id: Option<String>,
    turn: Option<u64>,
    seq: u64,
    text: OpenTextMessage,
}

/// What of a block's text was told.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OpenTextMessage {
    Answer(Fingerprint),
    Reasoning(Fingerprint),
    /// It has none that grows.
    None,
}

impl SentBlocks {
    /// Of a session whose engine numbers turns as we do, or not.
    pub fn new(by_turn: bool) -> Self {
        Self { by_turn, ..Self::default() }
    }

    /// A client has exactly these blocks, oldest first. `before` is the prompt that stands above them, on an older page.
    pub fn restart(&mut self, blocks: &[Block], before: Option<String>) {
        self.blocks.clear();
        self.last = before;
        for block in blocks {
            let message_id = self.prompt_of(block);
            self.know(block, message_id);
        }
    }

    /// A turn began for a prompt.
    pub fn begin(&mut self, turn: u64, message_id: &str) {
        self.prompts.insert(turn, message_id.to_owned());
        while self.prompts.len() > PROMPTS {
            self.prompts.pop_first();
        }
    }

    /// The prompt that a turn began for.
    pub fn prompt(&self, turn: u64) -> Option<&str> {
        self.prompts.get(&turn).map(String::as_str)
    }

    /// The blocks of a prompt that a client has, oldest first: what was asked, and what is its answer.
    pub fn blocks_of(&self, message_id: &str) -> Vec<String> {
        let of = self.blocks.iter().filter(|block| block.message_id.as_deref() == Some(message_id));
        of.map(|block| block.id.clone()).collect()
    }

    /// What these changes are for a client. Blocks that an event from `first_seq` on made are new to it.
    pub fn news(&mut self, changes: &[Change], first_seq: u64) -> Vec<News> {
        let mut news = Vec::new();
        for change in changes.iter().filter(|change| change.lane == Lane::Chat) {
            match (change.op, &change.block, &change.text) {
                (ChangeOp::Put, Some(block), _) => {
                    news.extend(self.put(block, change.after.as_deref(), first_seq));
                }
                (ChangeOp::Append, _, Some(text)) => news.extend(self.append(&change.id, text)),
                (ChangeOp::Remove, ..) => return vec![News::Anew],
                (ChangeOp::Put | ChangeOp::Append, ..) => {}
            }
        }
        news
    }

    fn put(&mut self, block: &Block, after: Option<&str>, first_seq: u64) -> Option<News> {
        let known = self.blocks.iter().rposition(|known| known.id == block.id);
        // What comes late belongs to the prompt of the block that it stands behind.
        let of = known.or_else(|| self.blocks.iter().rposition(|known| Some(known.id.as_str()) == after));
        let message_id = match of.and_then(|at| self.blocks.get(at)) {
            Some(known) => known.message_id.clone(),
            None => self.prompt_of(block),
        };
        let told = match known.and_then(|at| self.blocks.get(at)).map(|known| known.text) {
            Some(OpenTextMessage::Answer(print) | OpenTextMessage::Reasoning(print)) => Some(print),
            Some(OpenTextMessage::None) => None,
            // Nothing of a new one was told, and who knows what of an old one.
            None => (block.seq >= first_seq).then(Fingerprint::default),
        };
        if let Some(at) = known {
            self.blocks.remove(at);
        }
        self.know(block, message_id.clone());
        let whole =
            |message_id| Some(News::Block { message_id, block: Box::new(block.clone()), append: false });
        match &block.body {
            BlockBody::Assistant { text, truncated: false, .. } => {
                match told.and_then(|told| told.rest_of(text)) {
                    Some("") if known.is_some() => None,
                    // Its place is told, though it has no words yet.
                    Some("") | None => whole(message_id),
                    Some(rest) => {
                        Some(News::Text { message_id, block_id: block.id.clone(), text: rest.to_owned() })
                    }
                }
            }
            BlockBody::Tool { .. } => Some(News::Tool { message_id, block: Box::new(block.clone()) }),
            BlockBody::Permission { permission, status, chosen, client, problem } => Some(News::Permission {
                message_id,
                permission: permission.clone(),
                status: *status,
                chosen: chosen.clone(),
                client: client.clone(),
                problem: problem.clone(),
            }),
            BlockBody::Assistant { .. }
            | BlockBody::User { .. }
            | BlockBody::TurnStart { .. }
            | BlockBody::TurnEnd { .. }
            | BlockBody::Reasoning { .. }
            | BlockBody::Plan { .. }
            | BlockBody::Patch { .. }
            | BlockBody::Changes { .. }
            | BlockBody::Command { .. }
            | BlockBody::Task { .. }
            | BlockBody::Checkpoint { .. }
            | BlockBody::Link { .. }
            | BlockBody::Summary { .. }
            | BlockBody::Notice { .. }
            | BlockBody::Unknown { .. } => whole(message_id),
        }
    }

    /// More of a text. One that the client does not hold, being on an older page, does not change for it.
    fn append(&mut self, id: &str, more: &str) -> Option<News> {
        let known = self.blocks.iter_mut().rfind(|known| known.id == id)?;
        let message_id = known.message_id.clone();
        match &mut known.text {
            OpenTextMessage::Answer(print) => {
                print.feed(more);
                Some(News::Text { message_id, block_id: id.to_owned(), text: more.to_owned() })
            }
            OpenTextMessage::Reasoning(print) => {
                print.feed(more);
                let body = BlockBody::Reasoning { text: more.to_owned(), streaming: true };
                let block = Block { id: id.to_owned(), turn: known.turn, seq: known.seq, body };
                Some(News::Block { message_id, block: Box::new(block), append: true })
            }
            OpenTextMessage::None => None,
        }
    }

    /// The prompt of a block that was not there before.
    fn prompt_of(&mut self, block: &Block) -> Option<String> {
        if let BlockBody::User { message_id, .. } = &block.body {
            self.last.clone_from(message_id);
            if let (Some(turn), Some(message_id)) = (block.turn, message_id) {
                self.begin(turn, message_id);
            }
            return message_id.clone();
        }
        if self.by_turn { self.prompts.get(&block.turn?).cloned() } else { self.last.clone() }
    }

    fn know(&mut self, block: &Block, message_id: Option<String>) {
        let text = match &block.body {
            BlockBody::Assistant { text, .. } => OpenTextMessage::Answer(Fingerprint::of(text)),
            BlockBody::Reasoning { text, .. } => OpenTextMessage::Reasoning(Fingerprint::of(text)),
            BlockBody::User { .. }
            | BlockBody::TurnStart { .. }
            | BlockBody::TurnEnd { .. }
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
            | BlockBody::Unknown { .. } => OpenTextMessage::None,
        };
        if self.blocks.len() >= BLOCKS {
            self.blocks.pop_front();
        }
        let (id, turn, seq) = (block.id.clone(), block.turn, block.seq);
        self.blocks.push_back(KnownBlock { id, message_id, turn, seq, text });
    }
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
