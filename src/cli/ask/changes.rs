//! What a turn changed, said in one line below its answer.
//!
//! Owns the line. That a turn changed nothing is not said.

use std::time::Duration;

use serde_json::json;

use super::super::terminal::{Tone, marked};
use super::turn::AskTurn;
use crate::domain::approval::ChangeKind;
use crate::protocol::turn::{TurnChangesResult, TurnFile};

/// Longest wait for the look at the files behind a turn.
const LOOK: Duration = Duration::from_secs(15);

/// Files that the line names.
const NAMED: usize = 5;

impl AskTurn {
    /// Tells which files the turns behind this event changed.
    pub(super) fn tell_changes(&mut self, since: u64) {
        let params = json!({ "sessionId": self.session_id });
        // Nothing changed, or an older server: there is nothing to say.
        let Ok(answer) = self.client.request("bb/turn/changes", params, LOOK) else { return };
        let Ok(changes) = serde_json::from_value::<TurnChangesResult>(answer) else { return };
        if changes.turn <= since {
            return;
        }
        if let Some(line) = line(&changes) {
            self.say(Tone::Dim, &line);
        }
        for uncovered in changes.uncovered.iter().take(NAMED) {
            self.say(Tone::Warn, &marked(&uncovered.message));
        }
    }
}

fn line(changes: &TurnChangesResult) -> Option<String> {
    let mut named: Vec<String> = changes.files.iter().take(NAMED).map(file).collect();
    let more = changes.files.len().saturating_sub(NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let take_back = if changes.files.iter().any(|file| file.can_revert) {
        "; `breadboard-ls undo` takes it back"
    } else {
        ""
    };
    (!named.is_empty()).then(|| format!("Changed: {}{take_back}.", named.join(", ")))
}

fn file(file: &TurnFile) -> String {
    let path = marked(&file.file_path);
    match file.change {
        ChangeKind::Create => format!("{path} (new)"),
        ChangeKind::Delete => format!("{path} (deleted)"),
        ChangeKind::Rename => {
            format!("{path} (was {})", marked(file.old_path.as_deref().unwrap_or_default()))
        }
        ChangeKind::Modify => format!("{path} +{} -{}", file.added, file.removed),
    }
}
