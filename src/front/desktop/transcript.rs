//! Blocks of the loop's view as entries of a history.
//!
//! Owns what a person reads of each block. Pure.

use crate::domain::fact::TurnOutcome;
use crate::domain::view::{Block, BlockBody};
use crate::protocol::desktop::body::{HistoryEntry, HistoryRole};

/// Bytes of the texts of a snapshot: it goes as one frame, which a client has to hold whole.
const SNAPSHOT: usize = 512 << 10;

/// Bytes of one text in there.
const ENTRY: usize = 64 << 10;

/// The entry of a block; `None` of one that says nothing to a person.
pub(super) fn entry(block: &Block) -> Option<HistoryEntry> {
    let (role, content) = words(&block.body)?;
    let streaming = matches!(
        &block.body,
        BlockBody::Assistant { streaming: true, .. } | BlockBody::Reasoning { streaming: true, .. }
    );
    Some(HistoryEntry { id: block.id.clone(), role, content, seq: block.seq, streaming, truncated: None })
}

/// The newest entries that fit in a snapshot, oldest first, and whether older ones were left out. What is long is cut, and says
/// so: the history has it whole.
pub(super) fn newest(blocks: &[Block]) -> (Vec<HistoryEntry>, bool) {
    let (mut entries, mut bytes, mut is_cut) = (Vec::new(), 0, false);
    for mut entry in blocks.iter().rev().filter_map(entry) {
        if entry.content.len() > ENTRY {
            entry.content.truncate(entry.content.floor_char_boundary(ENTRY));
            entry.truncated = Some(true);
        }
        bytes += entry.content.len();
        if bytes > SNAPSHOT {
            is_cut = true;
            break;
        }
        entries.push(entry);
    }
    entries.reverse();
    (entries, is_cut)
}

fn words(body: &BlockBody) -> Option<(HistoryRole, String)> {
    let lines = |first: &str, second: Option<&str>| match second.filter(|second| !second.is_empty()) {
        Some(second) => format!("{first}\n{second}"),
        None => first.to_owned(),
    };
    Some(match body {
        BlockBody::User { text, .. } => (HistoryRole::User, text.clone()),
        BlockBody::Assistant { text, .. } => (HistoryRole::Assistant, text.clone()),
        BlockBody::Reasoning { text, .. } => (HistoryRole::Reasoning, text.clone()),
        BlockBody::Tool { name, title, status, preview, diff, .. } => {
            let first = format!("{} ({})", title.as_deref().unwrap_or(name), status.word());
            (HistoryRole::Tool, lines(&first, preview.as_deref().or(diff.as_deref())))
        }
        BlockBody::Permission { permission, status, client, .. } => {
            let by = client.as_ref().map_or_else(String::new, |client| format!(" by {}", client.name));
            (HistoryRole::Approval, format!("{} ({}{by})", permission.title, status.as_str()))
        }
        BlockBody::Plan { steps } => {
            let steps: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
            (HistoryRole::Notice, steps.join("\n"))
        }
        BlockBody::Patch { files, rationale, diff, .. } => {
            let files: Vec<&str> = files.iter().map(|file| file.file_path.as_str()).collect();
            let first = lines(&files.join(", "), rationale.as_deref());
            (HistoryRole::Tool, lines(&first, diff.as_deref()))
        }
        BlockBody::Command { command, status } => (HistoryRole::Tool, format!("{command} ({status})")),
        BlockBody::Changes { text, .. }
        | BlockBody::Summary { text, .. }
        | BlockBody::Notice { text, .. } => (HistoryRole::Notice, text.clone()),
        BlockBody::TurnEnd { outcome, text, .. } if *outcome != TurnOutcome::Done => (
            HistoryRole::Notice,
            text.clone().unwrap_or_else(|| "The turn did not end as it should.".to_owned()),
        ),
        BlockBody::TurnStart { .. } | BlockBody::TurnEnd { .. } => return None,
        BlockBody::Task { title, status, .. } => (HistoryRole::Notice, format!("{title} ({status})")),
        BlockBody::Checkpoint { title, .. } => (HistoryRole::Notice, title.clone()),
        BlockBody::Link { uri, label, .. } => (HistoryRole::Notice, lines(label, Some(uri))),
        BlockBody::Unknown { preview, .. } => (HistoryRole::Notice, preview.clone()),
    })
}
