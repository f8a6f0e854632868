//! The conversation tree in the tasks lane: one closed group a run, with how many nodes it has (R003-27, ruling 30).
//!
//! Nodes are nineteen of twenty bytes of a stream and no tasks, so they are counted here and never shown one by one; the
//! newest stands in the debug lane, all of them in the events. Never reads a node.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane};
use crate::domain::event::SessionEvent;

/// The tree of the run that goes on, or of the last one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ConversationTree {
    group: Option<NodeGroup>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct NodeGroup {
    run: u64,
    seq: u64,
    turn: Option<u64>,
    nodes: u64,
    grows: bool,
}

impl ConversationTree {
    /// A node came.
    pub(super) fn node(&mut self, event: &SessionEvent, run: u64, changes: &mut Vec<Change>) {
        let group = self.of(event, run);
        group.nodes += 1;
        group.grows = true;
        group.put(changes);
    }

    /// The tree was saved, with so many nodes.
    pub(super) fn saved(
        &mut self,
        event: &SessionEvent,
        run: u64,
        nodes: Option<u64>,
        changes: &mut Vec<Change>,
    ) {
        let group = self.of(event, run);
        group.nodes = nodes.unwrap_or(group.nodes);
        group.put(changes);
    }

    /// The turn ended, and so did its tree.
    pub(super) fn close(&mut self, changes: &mut Vec<Change>) {
        if let Some(group) = self.group.as_mut().filter(|group| group.grows) {
            group.grows = false;
            group.put(changes);
        }
    }

    fn of(&mut self, event: &SessionEvent, run: u64) -> &mut NodeGroup {
        let known = self.group.take().filter(|group| group.run == run);
        let fresh = || NodeGroup { run, seq: event.seq, turn: event.turn, nodes: 0, grows: false };
        self.group.insert(known.unwrap_or_else(fresh))
    }
}

impl NodeGroup {
    fn put(&self, changes: &mut Vec<Change>) {
        let nodes = if self.nodes == 1 { "node" } else { "nodes" };
        let id = format!("tree-{}", self.run);
        let body = BlockBody::Task {
            task_id: id.clone(),
            parent_id: None,
            title: format!("Conversation tree: {} {nodes}", self.nodes),
            status: if self.grows { "running" } else { "completed" }.to_owned(),
        };
        changes.push(Change::put(Lane::Tasks, Block { id, turn: self.turn, seq: self.seq, body }));
    }
}
