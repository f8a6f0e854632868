//! What stands in the files that an agent asks to write, where the agent does not say it: read for the ask and put beside its
//! request, so that every replay shows the same.
//!
//! Owns the field beside the request and what a difference replaces. Never reads a file.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::domain::dialect::loose::Members;

/// The field beside a request. An agent's own field of this name is taken out before.
pub(crate) const FILES_BEFORE: &str = "filesBefore";

/// What was found of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundText {
    /// It has this text.
    Text(String),
    /// It is not there.
    Nothing,
    /// It could not be read, for this reason.
    Unread(String),
}

/// What was found, as it stands beside a request: `[{ path, text | new | problem }]`.
pub(crate) fn files_before(found: &[(String, FoundText)]) -> Value {
    let files = found.iter().map(|(path, found)| match found {
        FoundText::Text(text) => json!({ "path": path, "text": text }),
        FoundText::Nothing => json!({ "path": path, "new": true }),
        FoundText::Unread(problem) => json!({ "path": path, "problem": problem }),
    });
    Value::Array(files.collect())
}

/// What a difference replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced<'a> {
    /// Nothing: the file is new.
    Nothing,
    /// This text.
    Text(&'a str),
    /// Nobody could tell, for this reason.
    Unread(&'a str),
}

/// What this difference replaces. An empty text means a new file where only the agent says it.
pub(super) fn replaced(difference: &Value) -> Replaced<'_> {
    let found = difference.member(FOUND);
    if let Some(problem) = found.and_then(|found| found.string("problem")) {
        return Replaced::Unread(problem);
    }
    if let Some(text) = found.and_then(|found| found.string("text")) {
        return Replaced::Text(text);
    }
    match difference.string("oldText").filter(|old| !old.is_empty()) {
        Some(old) => Replaced::Text(old),
        None => Replaced::Nothing,
    }
}

/// Where a difference has what was found of its file.
const FOUND: &str = "found";

/// The call with what was found beside its request, in each difference that tells no text.
pub(super) fn with_found<'a>(
    call: &'a Map<String, Value>,
    request: &Map<String, Value>,
) -> Cow<'a, Map<String, Value>> {
    let (Some(found), Some(content)) = (request.list(FILES_BEFORE), call.list("content")) else {
        return Cow::Borrowed(call);
    };
    let pieces = content.iter().map(|piece| {
        let mut piece = piece.clone();
        let told = piece.string("oldText").is_some_and(|old| !old.is_empty());
        let of_file = found.iter().find(|found| found.string("path") == piece.string("path"));
        if piece.string("type") == Some("diff")
            && !told
            && let (Some(of_file), Some(fields)) = (of_file, piece.as_object_mut())
        {
            fields.insert(FOUND.to_owned(), of_file.clone());
        }
        piece
    });
    let pieces = pieces.collect();
    let mut call = call.clone();
    call.insert("content".to_owned(), Value::Array(pieces));
    Cow::Owned(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_counts_where_the_agent_tells_no_text_and_nowhere_else() {
        // Given what was found of three files
        let found = [
            ("a".to_owned(), FoundText::Text("old".to_owned())),
            ("empty".to_owned(), FoundText::Text(String::new())),
            ("new".to_owned(), FoundText::Nothing),
            ("blob".to_owned(), FoundText::Unread("It is not text.".to_owned())),
        ];
        let request = Map::from_iter([(FILES_BEFORE.to_owned(), files_before(&found))]);
        for (path, told, replaces) in [
            ("a", json!(null), Replaced::Text("old")),
            ("a", json!(""), Replaced::Text("old")),
            ("a", json!("said"), Replaced::Text("said")),
            ("empty", json!(null), Replaced::Text("")),
            ("new", json!(null), Replaced::Nothing),
            ("blob", json!(null), Replaced::Unread("It is not text.")),
            ("other", json!(null), Replaced::Nothing),
        ] {
            // When a call has a difference of one of them
            let difference = json!({ "type": "diff", "path": path, "oldText": told, "newText": "x" });
            let call = Map::from_iter([("content".to_owned(), json!([difference]))]);
            let whole = with_found(&call, &request);
            // Then that is what it replaces
            assert_eq!(replaced(&whole["content"][0]), replaces, "{path} {told}");
        }
    }
}
