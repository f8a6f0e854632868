//! Blocks that changed since the last checkpoint, and pages over them and the stored ones.
//!
//! Owns the place (`ord`) of every block in its lane, given once, at its first `put`. Behind the end of a turn one place stays
//! free for what is told of the turn later. Never reads the store: stored blocks come through a function. Bounded by the loop, which makes a checkpoint when `bytes` or `len` reach its limit.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, ChangeOp, Lane};
use super::reducer::ViewState;
use crate::domain::json_size::json_bytes;

/// About what the names, the numbers and the punctuation of a block come to in JSON.
const NAMES: usize = 160;

/// Gives a block of an earlier checkpoint with its place.
pub(super) type Stored<'a> = dyn FnMut(Lane, &str) -> Option<(u64, Block)> + 'a;

/// The changed blocks by lane and place. Serialised it is only the next place of each lane, since a checkpoint, the one time
/// it is written, stores the blocks themselves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DirtyBlocks {
    next_ord: BTreeMap<Lane, u64>,
    #[serde(skip)]
    blocks: BTreeMap<(Lane, u64), Dirty>,
    #[serde(skip)]
    places: BTreeMap<Lane, HashMap<String, u64>>,
    #[serde(skip)]
    bytes: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct Dirty {
    id: String,
    block: Option<Block>,
}

impl DirtyBlocks {
    /// A checkpoint as the journal keeps it: the state and the next places. `None` does not happen to our own types.
    pub fn checkpoint(&self, view: &ViewState) -> Option<Vec<u8>> {
        serde_json::to_vec(&(view, self)).ok()
    }

    /// Nothing changed yet; the next block of each lane takes the place given here.
    pub fn after(next_ord: BTreeMap<Lane, u64>) -> Self {
        Self { next_ord, ..Self::default() }
    }

    /// Takes in changes as a client does. `stored` gives a block of an earlier checkpoint, the one at `checkpoint`, with its
    /// place; it is asked once a block and checkpoint, and not for blocks that were made since.
    pub fn absorb(&mut self, changes: &[Change], checkpoint: u64, stored: &mut Stored<'_>) {
        for change in changes {
            let known = self.place(change.lane, &change.id);
            match change.op {
                ChangeOp::Put => {
                    let Some(block) = change.block.clone() else { continue };
                    let live = known.is_some_and(|ord| self.entry(change.lane, ord).is_some());
                    let held = match known {
                        Some(ord) if live => Some(ord),
                        // Removed and put again: it goes to the end.
                        Some(_) => None,
                        None if block.seq > checkpoint && block.body.keeps_its_seq() => {
                            debug_assert!(stored(change.lane, &change.id).is_none(), "{} is new", change.id);
                            None
                        }
                        None => stored(change.lane, &change.id).map(|(ord, _)| ord),
                    };
                    if let Some(ord) = held.or_else(|| self.new_place(change, &block.body, stored)) {
                        self.set(change.lane, ord, &change.id, Some(block));
                    }
                }
                ChangeOp::Append => {
                    let text = change.text.as_deref().unwrap_or_default();
                    let ord = match known {
                        Some(ord) => ord,
                        None => {
                            let Some((ord, block)) = stored(change.lane, &change.id) else { continue };
                            self.set(change.lane, ord, &change.id, Some(block));
                            ord
                        }
                    };
                    let dirty = self.blocks.get_mut(&(change.lane, ord));
                    if let Some(block) = dirty.and_then(|dirty| dirty.block.as_mut())
                        && block.append_text(text)
                    {
                        self.bytes += text.len();
                    }
                }
                ChangeOp::Remove => {
                    let ord = known.or_else(|| stored(change.lane, &change.id).map(|(ord, _)| ord));
                    if let Some(ord) = ord {
                        self.set(change.lane, ord, &change.id, None);
                    }
                }
            }
        }
    }

    /// A changed block, by id. `None` also when it did not change or was removed.
    pub fn get(&self, lane: Lane, id: &str) -> Option<(u64, &Block)> {
        let ord = self.place(lane, id)?;
        self.entry(lane, ord).map(|block| (ord, block))
    }

    /// Place of a block that changed, removed ones included.
    pub fn place(&self, lane: Lane, id: &str) -> Option<u64> {
        self.places.get(&lane).and_then(|places| places.get(id)).copied()
    }

    /// Changed blocks of a lane with a place below `before_ord`, newest first, until `limit` live ones are given; removed
    /// ones among them come as `None`.
    pub fn page(
        &self,
        lane: Lane,
        before_ord: Option<u64>,
        limit: usize,
    ) -> Vec<(u64, &str, Option<&Block>)> {
        let mut rows = Vec::new();
        let mut live = 0;
        for ((_, ord), dirty) in self.blocks.range((lane, 0)..(lane, before_ord.unwrap_or(u64::MAX))).rev() {
            if live == limit {
                break;
            }
            live += usize::from(dirty.block.is_some());
            rows.push((*ord, dirty.id.as_str(), dirty.block.as_ref()));
        }
        rows
    }

    /// One page of a lane over changed and stored blocks: oldest first, each with its place, and whether there are older
    /// ones. `stored(before_ord, limit)` gives stored blocks of the lane, newest first.
    pub fn merged_page(
        &self,
        lane: Lane,
        before_ord: Option<u64>,
        limit: usize,
        stored: &mut dyn FnMut(Option<u64>, usize) -> Vec<(u64, Block)>,
    ) -> (Vec<(u64, Block)>, bool) {
        // One more than wanted tells whether there are older ones. Each stored block that changed since may be hidden, so
        // that many more are asked for.
        let changed = self.places.get(&lane).map_or(0, HashMap::len);
        let mut rows: BTreeMap<u64, Block> = stored(before_ord, limit + 1 + changed)
            .into_iter()
            .filter(|(_, block)| self.place(lane, &block.id).is_none())
            .collect();
        for (ord, _, block) in self.page(lane, before_ord, limit + 1) {
            if let Some(block) = block {
                rows.insert(ord, block.clone());
            }
        }
        let has_more = rows.len() > limit;
        let mut newest: Vec<(u64, Block)> = rows.into_iter().rev().take(limit).collect();
        newest.reverse();
        (newest, has_more)
    }

    /// Every block that changed, for the checkpoint: lane, place, id, and the block or `None` when it was removed.
    pub fn iter(&self) -> impl Iterator<Item = (Lane, u64, &str, Option<&Block>)> {
        self.blocks.iter().map(|((lane, ord), dirty)| (*lane, *ord, dirty.id.as_str(), dirty.block.as_ref()))
    }

    /// How many blocks changed.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether none did.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// About the bytes that went into the changed blocks, those that were replaced included; for deciding on a checkpoint.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The blocks are stored: forgets them, and keeps the next places.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.places.clear();
        self.bytes = 0;
    }

    fn entry(&self, lane: Lane, ord: u64) -> Option<&Block> {
        self.blocks.get(&(lane, ord)).and_then(|dirty| dirty.block.as_ref())
    }

    /// Where a new block goes: to the end, or to the place that the end of its turn left free for it.
    fn new_place(&mut self, change: &Change, body: &BlockBody, stored: &mut Stored<'_>) -> Option<u64> {
        if let Some(after) = &change.after {
            let end = match self.place(change.lane, after) {
                Some(ord) => self.entry(change.lane, ord).map(|_| ord),
                None => stored(change.lane, after).map(|(ord, _)| ord),
            };
            return end.map(|ord| ord + 1);
        }
        let next = self.next_ord.entry(change.lane).or_insert(0);
        let ord = *next;
        *next += if body.may_be_followed_late() { 2 } else { 1 };
        Some(ord)
    }

    fn set(&mut self, lane: Lane, ord: u64, id: &str, block: Option<Block>) {
        self.bytes += block.as_ref().map_or(64, weight);
        let old = self.place(lane, id);
        // In its place again, as nearly always: its id and its place are known.
        if old == Some(ord)
            && let Some(dirty) = self.blocks.get_mut(&(lane, ord))
        {
            dirty.block = block;
            return;
        }
        if let Some(old) = old {
            self.blocks.remove(&(lane, old));
        }
        self.blocks.insert((lane, ord), Dirty { id: id.to_owned(), block });
        self.places.entry(lane).or_default().insert(id.to_owned(), ord);
    }
}

/// About the bytes of a block's JSON. Of what comes with nearly every event only the texts are counted: to make JSON of it
/// would cost more than everything else that is done with it.
fn weight(block: &Block) -> usize {
    let texts = match &block.body {
        BlockBody::Assistant { text, .. } | BlockBody::Reasoning { text, .. } => text.len(),
        BlockBody::Unknown { kind, preview } => kind.len() + preview.len(),
        BlockBody::Tool { name, title, input, preview, artifact, .. } => {
            let texts = [Some(name), title.as_ref(), preview.as_ref(), artifact.as_ref()];
            texts.into_iter().flatten().map(String::len).sum::<usize>() + input.as_ref().map_or(0, json_bytes)
        }
        BlockBody::Notice { text, .. } => text.len(),
        BlockBody::Link { uri, label, picture } => {
            uri.len() + label.len() + picture.as_ref().map_or(0, String::len)
        }
        BlockBody::User { .. }
        | BlockBody::TurnStart { .. }
        | BlockBody::TurnEnd { .. }
        | BlockBody::Permission { .. }
        | BlockBody::Plan { .. }
        | BlockBody::Patch { .. }
        | BlockBody::Changes { .. }
        | BlockBody::Command { .. }
        | BlockBody::Task { .. }
        | BlockBody::Checkpoint { .. }
        | BlockBody::Summary { .. } => return json_bytes(block),
    };
    NAMES + block.id.len() + texts
}
