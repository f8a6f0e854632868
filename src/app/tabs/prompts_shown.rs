//! The prompts of a tab as its snapshot has them, each with the blocks that are its answer.
//!
//! Owns which prompt stands above the page of a snapshot. Never sends anything.

use super::BegunPrompt;
use crate::app::state::App;
use crate::domain::tabs::SentBlocks;
use crate::domain::view::{Block, BlockBody, Lane, LaneView};
use crate::protocol::request::QueueItem;
use crate::protocol::tab::{TabPrompt, TabPromptStatus};

/// Blocks that are read at once to find the prompt above a page.
const PAGE: usize = 50;
/// Pages that are read. The first blocks of a snapshot that has more than these above it, all of one answer, are nobody's.
const PAGES: usize = 20;

impl App {
    /// The prompt that the first blocks of this page answer, by its message id: none where the page begins with a prompt, where
    /// another client's stands above it, or where blocks say their turn themselves.
    pub(super) fn prompt_above(&mut self, session_id: &str, page: &LaneView) -> Option<String> {
        if self.blocks_name_turns(session_id) || !page.has_more {
            return None;
        }
        let first = page.blocks.first().filter(|block| !is_prompt(block))?;
        let mut before = first.id.clone();
        for _ in 0..PAGES {
            let (blocks, has_more) = self.lane_page(session_id, Lane::Chat, Some(&before), PAGE).ok()?;
            if let Some(prompt) = blocks.iter().rfind(|block| is_prompt(block)) {
                let BlockBody::User { message_id, .. } = &prompt.body else { return None };
                return message_id.clone();
            }
            before = blocks.first().filter(|_| has_more)?.id.clone();
        }
        None
    }
}

fn is_prompt(block: &Block) -> bool {
    matches!(block.body, BlockBody::User { .. })
}

/// The prompts of a tab: those that were begun, then those that wait. `told` is what its client has of the view.
pub(super) fn prompts_shown(begun: &[BegunPrompt], told: &SentBlocks, queue: &[QueueItem]) -> Vec<TabPrompt> {
    let begun = begun.iter().map(|asked| TabPrompt {
        message_id: asked.message_id.clone(),
        turn: Some(asked.turn),
        block_ids: Some(told.blocks_of(&asked.message_id)),
        status: match asked.stop_reason {
            Some(_) => TabPromptStatus::Complete,
            None => TabPromptStatus::Running,
        },
        stop_reason: asked.stop_reason.clone(),
    });
    let waiting = queue.iter().map(|item| TabPrompt {
        message_id: item.message_id.clone(),
        turn: None,
        block_ids: None,
        status: TabPromptStatus::Waiting,
        stop_reason: None,
    });
    begun.chain(waiting).collect()
}
