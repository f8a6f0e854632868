//! The checkpoints of a session, in the run lane (R003-49).
//!
//! Owns what a list and a going back make of their blocks. The lane, like every lane, has the oldest first, so that a later
//! checkpoint comes behind. Never removes a block: what the engine dropped says
//! `pruned`.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane};
use super::notices;
use crate::domain::cut;
use crate::domain::event::SessionEvent;
use crate::domain::fact::{self, NoticeLevel, Restored, RestoredWhat};

/// Checkpoints that can still change. Of a longer list the newest are shown; a user who goes further back asks by id.
const CHECKPOINTS: usize = 200;
const TITLE: usize = 200;

/// The checkpoints that the engine has, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Checkpoints {
    known: Vec<ListedCheckpoint>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ListedCheckpoint {
    id: String,
    seq: u64,
    turn: Option<u64>,
    title: String,
    status: CheckpointStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum CheckpointStatus {
    /// One can go back to it.
    Available,
    /// The last one that was gone back to.
    Restored,
    /// The engine has it no more.
    Pruned,
}

impl Checkpoints {
    /// The whole list, oldest first.
    pub(super) fn list(
        &mut self,
        event: &SessionEvent,
        listed: Vec<fact::Checkpoint>,
        changes: &mut Vec<Change>,
    ) {
        let mut now: Vec<ListedCheckpoint> = Vec::new();
        let older = listed.len().saturating_sub(CHECKPOINTS);
        for fact::Checkpoint { id, title } in listed.into_iter().skip(older) {
            let before = self.known.iter().find(|known| known.id == id);
            let status = match before.map(|known| known.status) {
                Some(CheckpointStatus::Restored) => CheckpointStatus::Restored,
                Some(CheckpointStatus::Available | CheckpointStatus::Pruned) | None => {
                    CheckpointStatus::Available
                }
            };
            let (seq, turn) = before.map_or((event.seq, event.turn), |known| (known.seq, known.turn));
            let checkpoint = ListedCheckpoint { title, id, seq, turn, status };
            if now.iter().all(|other| other.id != checkpoint.id) {
                now.push(checkpoint);
            }
        }
        for gone in self.known.iter_mut().filter(|known| now.iter().all(|other| other.id != known.id)) {
            gone.turn_to(CheckpointStatus::Pruned, changes);
        }
        for checkpoint in now.iter().filter(|checkpoint| !self.known.contains(checkpoint)) {
            changes.push(checkpoint.put());
        }
        self.known = now;
    }

    /// The user went back.
    pub(super) fn restored(&mut self, event: &SessionEvent, back: Restored, changes: &mut Vec<Change>) {
        let Restored { id, what, prunes } = back;
        let at = match self.known.iter().position(|known| known.id == id) {
            Some(at) => at,
            None => {
                // The list that had it was never asked for: nothing is known of what came later.
                let title = cut::line(&format!("Checkpoint {id}"), TITLE);
                let status = CheckpointStatus::Available;
                if self.known.len() >= CHECKPOINTS {
                    self.known.remove(0);
                }
                self.known.push(ListedCheckpoint {
                    id: id.clone(),
                    seq: event.seq,
                    turn: event.turn,
                    title,
                    status,
                });
                self.known.len() - 1
            }
        };
        for (place, checkpoint) in self.known.iter_mut().enumerate() {
            if place == at {
                checkpoint.turn_to(CheckpointStatus::Restored, changes);
            } else if place > at && prunes {
                checkpoint.turn_to(CheckpointStatus::Pruned, changes);
            } else if checkpoint.status == CheckpointStatus::Restored {
                checkpoint.turn_to(CheckpointStatus::Available, changes);
            }
        }
        let what = match what {
            RestoredWhat::Conversation => "The conversation was",
            RestoredWhat::Both => "The files and the conversation were",
            RestoredWhat::Files => "The files were",
        };
        let text = format!("{what} set back to checkpoint {}.", cut::line(&id, TITLE));
        let body = notices::sentence(NoticeLevel::Info, text);
        let notice = Block { id: format!("n-{}", event.seq), turn: event.turn, seq: event.seq, body };
        changes.push(Change::put(Lane::Chat, notice));
    }
}

impl ListedCheckpoint {
    fn turn_to(&mut self, status: CheckpointStatus, changes: &mut Vec<Change>) {
        if self.status != status {
            self.status = status;
            changes.push(self.put());
        }
    }

    fn put(&self) -> Change {
        let status = match self.status {
            CheckpointStatus::Available => "available",
            CheckpointStatus::Restored => "restored",
            CheckpointStatus::Pruned => "pruned",
        };
        let body = BlockBody::Checkpoint {
            checkpoint_id: self.id.clone(),
            title: self.title.clone(),
            status: status.to_owned(),
        };
        Change::put(
            Lane::Run,
            Block { id: format!("checkpoint-{}", self.id), turn: self.turn, seq: self.seq, body },
        )
    }
}
