//! The checkpoints of a session, in the run lane (R003-49).
//!
//! Owns what a list and a going back make of their blocks. The engine's list is newest first by whole seconds, and in no
//! order within one; the number in its ids says which came first. The lane, like every lane, has the oldest first, so that
//! a later checkpoint comes behind. Never removes a block: what the engine dropped says
//! `pruned`.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane, NoticeLevel};
use super::cut;
use super::fingerprint::key;
use crate::domain::event::SessionEvent;

/// Checkpoints that can still change. Of a longer list the newest are shown; a user who goes further back asks by id.
const CHECKPOINTS: usize = 200;
const TITLE: usize = 200;

/// The checkpoints that the engine has, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Checkpoints {
    known: Vec<Checkpoint>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Checkpoint {
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

#[derive(Deserialize)]
struct List {
    checkpoints: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    checkpoint_id: String,
    #[serde(default)]
    preview: Option<String>,
    #[serde(default)]
    tracked_files: Option<serde_json::Number>,
    #[serde(default)]
    additions: Option<serde_json::Number>,
    #[serde(default)]
    deletions: Option<serde_json::Number>,
}

#[derive(Deserialize)]
struct WentBack {
    checkpoint_id: String,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    prune: Option<bool>,
}

impl Checkpoints {
    /// The whole list. `false`: it is no list, and nothing changed.
    pub(super) fn list(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) -> bool {
        let Some(mut list) = event.payload.read::<List>() else { return false };
        list.order();
        let mut now: Vec<Checkpoint> = Vec::new();
        let older = list.checkpoints.len().saturating_sub(CHECKPOINTS);
        for listed in list.checkpoints.into_iter().skip(older) {
            let id = key(&listed.checkpoint_id);
            let before = self.known.iter().find(|known| known.id == id);
            let status = match before.map(|known| known.status) {
                Some(CheckpointStatus::Restored) => CheckpointStatus::Restored,
                Some(CheckpointStatus::Available | CheckpointStatus::Pruned) | None => {
                    CheckpointStatus::Available
                }
            };
            let (seq, turn) = before.map_or((event.seq, event.turn), |known| (known.seq, known.turn));
            let checkpoint = Checkpoint { title: listed.title(), id, seq, turn, status };
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
        true
    }

    /// The user went back. `false`: to no checkpoint that we could name.
    pub(super) fn restored(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) -> bool {
        let Some(back) = event.payload.read::<WentBack>() else { return false };
        let id = key(&back.checkpoint_id);
        let at = match self.known.iter().position(|known| known.id == id) {
            Some(at) => at,
            None => {
                // The list that had it was never asked for: nothing is known of what came later.
                let title = cut::line(&format!("Checkpoint {id}"), TITLE);
                let status = CheckpointStatus::Available;
                if self.known.len() >= CHECKPOINTS {
                    self.known.remove(0);
                }
                self.known.push(Checkpoint {
                    id: id.clone(),
                    seq: event.seq,
                    turn: event.turn,
                    title,
                    status,
                });
                self.known.len() - 1
            }
        };
        let prunes = back.prune.unwrap_or(true);
        for (place, checkpoint) in self.known.iter_mut().enumerate() {
            if place == at {
                checkpoint.turn_to(CheckpointStatus::Restored, changes);
            } else if place > at && prunes {
                checkpoint.turn_to(CheckpointStatus::Pruned, changes);
            } else if checkpoint.status == CheckpointStatus::Restored {
                checkpoint.turn_to(CheckpointStatus::Available, changes);
            }
        }
        let what = match back.mode.as_deref() {
            Some("conversation") => "The conversation was",
            Some("both") => "The files and the conversation were",
            Some(_) | None => "The files were",
        };
        let text = format!("{what} set back to checkpoint {}.", cut::line(&id, TITLE));
        let body = BlockBody::Notice { level: NoticeLevel::Info, text };
        let notice = Block { id: format!("n-{}", event.seq), turn: event.turn, seq: event.seq, body };
        changes.push(Change::put(Lane::Chat, notice));
        true
    }
}

impl Checkpoint {
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

impl List {
    /// Oldest first: by the number in their ids, or, where one has none, the engine's order from its end.
    fn order(&mut self) {
        self.checkpoints.reverse();
        if self.checkpoints.iter().all(|listed| number(&listed.checkpoint_id).is_some()) {
            self.checkpoints.sort_by_key(|listed| number(&listed.checkpoint_id));
        }
    }
}

/// 12 of `ckpt-12`.
fn number(id: &str) -> Option<u64> {
    id.strip_prefix("ckpt-")?.parse().ok()
}

impl Listed {
    /// The engine's preview and what changed since the checkpoint before.
    fn title(&self) -> String {
        let preview = self.preview.as_deref().and_then(|preview| preview.lines().next()).map(str::trim);
        let mut title = match preview.filter(|preview| !preview.is_empty()) {
            Some(preview) => cut::line(preview, TITLE),
            None => cut::line(&format!("Checkpoint {}", self.checkpoint_id), TITLE),
        };
        let mut counts = Vec::new();
        counts.extend(self.tracked_files.as_ref().map(|files| format!("{files} files")));
        counts.extend(self.additions.as_ref().map(|lines| format!("+{lines}")));
        counts.extend(self.deletions.as_ref().map(|lines| format!("-{lines}")));
        if !counts.is_empty() {
            title.push_str(&format!(" ({})", counts.join(", ")));
        }
        title
    }
}
