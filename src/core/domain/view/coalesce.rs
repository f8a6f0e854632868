//! Making a list of changes shorter without changing what it does (R003-53).
//!
//! Never drops a change that a client could see the lack of: applying the result gives the same view, whatever blocks the
//! view held before. Proved for random changes in `tests/reducers.rs`.

use std::collections::{BTreeMap, HashMap};

use super::block::{Change, ChangeOp, Lane};

/// The same effect in fewer changes. Blocks keep the places that their first `put` gave them.
pub fn coalesce(changes: Vec<Change>) -> Vec<Change> {
    let mut kept: Vec<Option<Change>> = Vec::with_capacity(changes.len());
    // Where the last change of each block stands in `kept`.
    let mut last: BTreeMap<Lane, HashMap<String, usize>> = BTreeMap::new();
    for change in changes {
        // A text that streams changes one block again and again: most changes are about the block of the one before.
        let newest = kept.last().and_then(Option::as_ref);
        let again = newest.is_some_and(|newest| newest.lane == change.lane && newest.id == change.id);
        let before = if again {
            Some(kept.len() - 1)
        } else {
            last.get(&change.lane).and_then(|last| last.get(&change.id)).copied()
        };
        let change = match before.and_then(|at| kept[at].as_mut()) {
            Some(earlier) => match merge(earlier, change) {
                Some(change) => change,
                None => continue,
            },
            None => change,
        };
        // A put or a remove makes an append before it pointless; a remove also a put.
        let replaces = match (before.and_then(|at| kept[at].as_ref()).map(|earlier| earlier.op), change.op) {
            (Some(ChangeOp::Append), ChangeOp::Put | ChangeOp::Remove) => true,
            (Some(ChangeOp::Put), ChangeOp::Remove) => true,
            (Some(ChangeOp::Remove), ChangeOp::Remove) => true,
            (Some(_) | None, ChangeOp::Put | ChangeOp::Append | ChangeOp::Remove) => false,
        };
        if replaces && let Some(at) = before {
            kept[at] = None;
        }
        let last = last.entry(change.lane).or_default();
        if let Some(after) = &change.after {
            // Whether that block is there decides here, so what was done to it before stays.
            last.remove(after);
        }
        last.insert(change.id.clone(), kept.len());
        kept.push(Some(change));
    }
    kept.into_iter().flatten().collect()
}

/// Takes `later` into `earlier` and gives nothing back; gives `later` back where that would mean something else.
fn merge(earlier: &mut Change, later: Change) -> Option<Change> {
    match (earlier.op, later.op) {
        (ChangeOp::Append, ChangeOp::Append) => {
            let more = later.text.as_deref().unwrap_or_default();
            earlier.text.get_or_insert_default().push_str(more);
            None
        }
        (ChangeOp::Put, ChangeOp::Append) => {
            if let Some(block) = &mut earlier.block {
                block.append_text(later.text.as_deref().unwrap_or_default());
            }
            None
        }
        // It is held from the first one on. Behind a block that is not there it may not be.
        (ChangeOp::Put, ChangeOp::Put) if earlier.after.is_none() => {
            earlier.block = later.block;
            None
        }
        (ChangeOp::Append | ChangeOp::Put, ChangeOp::Remove)
        | (ChangeOp::Put, ChangeOp::Put)
        | (ChangeOp::Append, ChangeOp::Put)
        | (ChangeOp::Remove, ChangeOp::Put | ChangeOp::Append | ChangeOp::Remove) => Some(later),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::view::{Block, BlockBody};

    fn block(id: &str, text: &str) -> Block {
        let body = BlockBody::Assistant { text: text.into(), streaming: true, truncated: false };
        Block { id: id.into(), turn: None, seq: 1, body }
    }

    #[test]
    fn deltas_of_one_block_become_one_change_and_keep_their_place() {
        let put = |id: &str, text: &str| Change::put(Lane::Chat, block(id, text));
        let append = |id: &str, text: &str| Change::append(Lane::Chat, id, text);
        assert_eq!(
            coalesce(vec![
                append("old", "a"),
                put("x", "1"),
                append("old", "b"),
                append("x", "2"),
                put("y", ""),
                put("x", "3")
            ]),
            [append("old", "ab"), put("x", "3"), put("y", "")]
        );
        assert_eq!(
            coalesce(vec![append("x", "a"), put("y", ""), put("x", "b")]),
            [put("y", ""), put("x", "b")]
        );
        assert_eq!(
            coalesce(vec![put("x", ""), Change::remove(Lane::Chat, "x"), put("x", "again")]),
            [Change::remove(Lane::Chat, "x"), put("x", "again")]
        );
        assert_eq!(
            coalesce(vec![put("x", ""), Change::append(Lane::Run, "x", "other lane")]),
            [put("x", ""), Change::append(Lane::Run, "x", "other lane")]
        );
    }
}
