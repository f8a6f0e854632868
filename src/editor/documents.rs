//! Reads `textDocument/did*`: from raw params to typed changes of the overlay.
//!
//! Owns the reading, with every URI in the editor's own spelling. Never guesses: a change that cannot be read makes its
//! document unknown, so that no stale text is ever shown for the real one.

use serde_json::Value;

use crate::app::inbox::{DocumentEvent, WhyLost};
use crate::domain::edits::overlay::{ContentChange, Position};
use crate::domain::edits::watched_file::{WatchedFile, WatchedFileChange};

/// Reads `textDocument/didOpen`.
pub(super) fn read_open(params: &Value) -> DocumentEvent {
    let document = &params["textDocument"];
    let opened = || {
        Some(DocumentEvent::Opened {
            uri: uri(params)?,
            language_id: document.get("languageId").and_then(Value::as_str).unwrap_or("plaintext").to_owned(),
            version: version(document),
            text: document.get("text")?.as_str()?.to_owned(),
        })
    };
    opened().unwrap_or_else(|| lost(uri(params)))
}

/// Reads `textDocument/didChange`.
pub(super) fn read_change(params: &Value) -> DocumentEvent {
    let changed = || {
        let changes = params.get("contentChanges")?.as_array()?;
        Some(DocumentEvent::Changed {
            uri: uri(params)?,
            version: version(&params["textDocument"]),
            changes: changes.iter().map(read_content_change).collect::<Option<_>>()?,
        })
    };
    changed().unwrap_or_else(|| lost(uri(params)))
}

/// Reads `textDocument/didSave`. Without its document it says nothing.
pub(super) fn read_save(params: &Value) -> Option<DocumentEvent> {
    uri(params).map(|uri| DocumentEvent::Saved { uri })
}

/// Reads `textDocument/didClose`.
pub(super) fn read_close(params: &Value) -> DocumentEvent {
    match uri(params) {
        Some(uri) => DocumentEvent::Closed { uri },
        None => lost(None),
    }
}

fn lost(uri: Option<String>) -> DocumentEvent {
    DocumentEvent::Lost { uri, why: WhyLost::Unreadable }
}

fn uri(params: &Value) -> Option<String> {
    params.pointer("/textDocument/uri")?.as_str().map(str::to_owned)
}

fn version(document: &Value) -> i64 {
    document.get("version").and_then(Value::as_i64).unwrap_or(0)
}

fn read_content_change(change: &Value) -> Option<ContentChange> {
    let range = match change.get("range") {
        None | Some(Value::Null) => None,
        Some(range) => Some((read_position(range.get("start")?)?, read_position(range.get("end")?)?)),
    };
    Some(ContentChange { range, text: change.get("text")?.as_str()?.to_owned() })
}

fn read_position(position: &Value) -> Option<Position> {
    let number = |key: &str| u32::try_from(position.get(key)?.as_u64()?).ok();
    Some(Position { line: number("line")?, character: number("character")? })
}

/// The changes of `workspace/didChangeWatchedFiles`; one that says nothing that is known is left out.
pub(super) fn read_watched_changes(params: &Value) -> Option<Vec<WatchedFile>> {
    let read = |change: &Value| {
        let kind = WatchedFileChange::of_number(change.get("type")?.as_u64()?)?;
        Some(WatchedFile { uri: change.get("uri")?.as_str()?.to_owned(), kind })
    };
    Some(params.get("changes")?.as_array()?.iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(event: DocumentEvent) -> String {
        format!("{event:?}")
    }

    #[test]
    fn the_spelling_of_the_editor_is_kept() {
        let uri = "file:///c%3A/A B.rs";
        let opened = read_open(
            &json!({ "textDocument": { "uri": uri, "languageId": "rust", "version": 3, "text": "x" } }),
        );
        assert_eq!(
            said(opened),
            said(DocumentEvent::Opened {
                uri: uri.to_owned(),
                language_id: "rust".to_owned(),
                version: 3,
                text: "x".to_owned()
            })
        );
    }

    #[test]
    fn changes_with_and_without_a_range_are_read() {
        let changed = read_change(&json!({
            "textDocument": { "uri": "u", "version": 4 },
            "contentChanges": [
                { "range": { "start": { "line": 1, "character": 2 }, "end": { "line": 3, "character": 4 } }, "text": "a" },
                { "text": "b" },
            ],
        }));
        let position = |line, character| Position { line, character };
        assert_eq!(
            said(changed),
            said(DocumentEvent::Changed {
                uri: "u".to_owned(),
                version: 4,
                changes: vec![
                    ContentChange { range: Some((position(1, 2), position(3, 4))), text: "a".to_owned() },
                    ContentChange { range: None, text: "b".to_owned() },
                ]
            })
        );
    }

    #[test]
    fn changes_of_watched_files_are_read_and_odd_ones_left_out() {
        let read = read_watched_changes(&json!({ "changes": [
            { "uri": "file:///a", "type": 1 }, { "uri": "file:///b", "type": 9 }, { "type": 2 }, { "uri": "file:///c", "type": 3 },
        ] }));
        let changed = |uri: &str, kind| WatchedFile { uri: uri.to_owned(), kind };
        let wanted = [
            changed("file:///a", WatchedFileChange::Created),
            changed("file:///c", WatchedFileChange::Deleted),
        ];
        assert_eq!(read.as_deref(), Some(&wanted[..]));
        assert_eq!(read_watched_changes(&json!({})), None);
    }

    #[test]
    fn what_cannot_be_read_makes_its_document_unknown() {
        let lost = |uri: Option<&str>| said(super::lost(uri.map(str::to_owned)));
        assert_eq!(said(read_open(&json!({ "textDocument": { "uri": "u" } }))), lost(Some("u")));
        assert_eq!(
            said(read_change(&json!({ "textDocument": { "uri": "u" }, "contentChanges": [
                { "range": { "start": { "line": -1, "character": 0 } }, "text": "" }] }))),
            lost(Some("u"))
        );
        assert_eq!(said(read_change(&json!({}))), lost(None));
        assert_eq!(said(read_close(&json!([]))), lost(None));
    }
}
