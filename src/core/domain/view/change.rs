//! Making and applying changes.
//!
//! Owns what `put`, `append` and `remove` mean. A client does exactly this and nothing else.

use super::block::{Block, BlockBody, Change, ChangeOp, Lane, LaneView, View, ViewLanes};

impl Change {
    /// Inserts at the end of the lane, or replaces the block of the same id.
    pub fn put(lane: Lane, block: Block) -> Self {
        Self { lane, op: ChangeOp::Put, id: block.id.clone(), block: Some(block), after: None, text: None }
    }

    /// The same, but inserts behind this block.
    pub fn behind(self, id: Option<String>) -> Self {
        Self { after: id, ..self }
    }

    /// Adds text to the text of a block.
    pub fn append(lane: Lane, id: &str, text: impl Into<String>) -> Self {
        Self {
            lane,
            op: ChangeOp::Append,
            id: id.to_owned(),
            block: None,
            after: None,
            text: Some(text.into()),
        }
    }

    /// Takes a block away.
    pub fn remove(lane: Lane, id: &str) -> Self {
        Self { lane, op: ChangeOp::Remove, id: id.to_owned(), block: None, after: None, text: None }
    }
}

impl Block {
    /// As the journal keeps it. `None` does not happen to our own types.
    pub fn to_json(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    /// Adds to the block's text. `false` when its kind has none; nothing happens then.
    pub fn append_text(&mut self, more: &str) -> bool {
        match &mut self.body {
            BlockBody::User { text, .. }
            | BlockBody::Assistant { text, .. }
            | BlockBody::Reasoning { text, .. }
            | BlockBody::Summary { text, .. }
            | BlockBody::Notice { text, .. } => {
                text.push_str(more);
                true
            }
            BlockBody::TurnStart { .. }
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
            | BlockBody::Unknown { .. } => false,
        }
    }
}

impl BlockBody {
    /// Whether one block may come behind a block of this kind when others stand there already (`Change::after`).
    pub(super) fn may_be_followed_late(&self) -> bool {
        matches!(self, Self::TurnEnd { .. })
    }

    /// Whether a block of this kind has the `seq` of its first `put` in every later one. The others are replaced by newer events
    /// under the same id.
    pub(super) fn keeps_its_seq(&self) -> bool {
        match self {
            Self::User { .. }
            | Self::TurnStart { .. }
            | Self::TurnEnd { .. }
            | Self::Assistant { .. }
            | Self::Reasoning { .. }
            | Self::Tool { .. } => true,
            Self::Permission { .. }
            | Self::Plan { .. }
            | Self::Patch { .. }
            | Self::Changes { .. }
            | Self::Command { .. }
            | Self::Task { .. }
            | Self::Checkpoint { .. }
            | Self::Link { .. }
            | Self::Summary { .. }
            | Self::Notice { .. }
            | Self::Unknown { .. } => false,
        }
    }
}

impl ViewLanes {
    /// One lane.
    pub fn lane(&self, lane: Lane) -> &LaneView {
        match lane {
            Lane::Chat => &self.chat,
            Lane::Tasks => &self.tasks,
            Lane::Run => &self.run,
            Lane::Debug => &self.debug,
        }
    }

    /// One lane, to be changed.
    pub(crate) fn lane_mut(&mut self, lane: Lane) -> &mut LaneView {
        match lane {
            Lane::Chat => &mut self.chat,
            Lane::Tasks => &mut self.tasks,
            Lane::Run => &mut self.run,
            Lane::Debug => &mut self.debug,
        }
    }
}

/// Applies changes as a client does. A change of a block that the view does not hold (it is on an older page) does
/// nothing, unless it is a `put`, which then inserts at the end, or behind the block that it names.
pub fn apply_changes(view: &mut View, changes: &[Change]) {
    for change in changes {
        let blocks = &mut view.lanes.lane_mut(change.lane).blocks;
        // The newest blocks change most.
        let at = blocks.iter().rposition(|block| block.id == change.id);
        match (change.op, at) {
            (ChangeOp::Put, Some(at)) => {
                if let Some(block) = &change.block {
                    blocks[at] = block.clone();
                }
            }
            (ChangeOp::Put, None) => insert(blocks, change),
            (ChangeOp::Append, Some(at)) => {
                blocks[at].append_text(change.text.as_deref().unwrap_or_default());
            }
            (ChangeOp::Remove, Some(at)) => {
                blocks.remove(at);
            }
            (ChangeOp::Append | ChangeOp::Remove, None) => {}
        }
    }
}

/// Puts a new block at its place: at the end, or behind the one that it names, where that is held.
pub fn insert(blocks: &mut Vec<Block>, change: &Change) {
    let at = match &change.after {
        None => Some(blocks.len()),
        Some(after) => blocks.iter().rposition(|block| block.id == *after).map(|at| at + 1),
    };
    if let (Some(at), Some(block)) = (at, &change.block) {
        blocks.insert(at, block.clone());
    }
}
