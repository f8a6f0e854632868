//! What stands in the files that an agent asks to write, where the agent does not say it, and where a part that it says stands
//! in its file: read for the ask and put beside its request, so that every replay shows the same.
//!
//! Owns the field beside the request and what a difference replaces. Never reads a file.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::domain::dialect::loose::Members;

/// The field beside a request. An agent's own field of this name is taken out before.
pub const FILES_BEFORE: &str = "filesBefore";

/// What was found of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundText {
    /// It has this text.
    Text(String),
    /// It is not there.
    Nothing,
    /// It could not be read, for this reason.
    Unread(String),
}

/// Lines that are shown above and below of a part.
const AROUND: usize = 3;

/// Where the part of a text that a difference replaces stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPart {
    /// Which of the differences that the call tells, from 0.
    pub difference: usize,
    /// `None`: it does not stand there exactly once.
    pub place: Option<PartPlace>,
}

/// What stands around a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartPlace {
    /// The line, from 1, with which `above` begins.
    line: u64,
    /// Some lines, and the beginning of the line in which the part begins.
    above: String,
    /// The rest of the line in which the part ends, and some lines.
    below: String,
}

impl PartPlace {
    /// Of the only place where this text has that part.
    pub fn of(text: &str, part: &str) -> Option<Self> {
        let mut places = text.match_indices(part);
        let (begins, _) = places.next().filter(|_| places.next().is_none())?;
        let ends = begins + part.len();
        let line_begins = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line_ends = |at: usize| text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        let mut first = line_begins(begins);
        let mut last = if part.ends_with('\n') { ends } else { line_ends(ends) };
        for _ in 0..AROUND {
            first = first.checked_sub(1).map_or(0, line_begins);
            last = line_ends(last);
        }
        let line = text[..first].matches('\n').count() + 1;
        Some(Self {
            line: u64::try_from(line).unwrap_or(u64::MAX),
            above: text[first..begins].to_owned(),
            below: text[ends..last].to_owned(),
        })
    }
}

/// What was found, as it stands beside a request: `[{ path, text | new | problem }]`, and of parts
/// `[{ difference, line, above, below }]`, without a line where it does not stand in its file exactly once.
pub fn files_before(found: &[(String, FoundText)], parts: &[FoundPart]) -> Value {
    let files = found.iter().map(|(path, found)| match found {
        FoundText::Text(text) => json!({ "path": path, "text": text }),
        FoundText::Nothing => json!({ "path": path, "new": true }),
        FoundText::Unread(problem) => json!({ "path": path, "problem": problem }),
    });
    let parts = parts.iter().map(|part| match &part.place {
        Some(PartPlace { line, above, below }) => {
            json!({ "difference": part.difference, "line": line, "above": above, "below": below })
        }
        None => json!({ "difference": part.difference }),
    });
    Value::Array(files.chain(parts).collect())
}

/// What a difference replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced<'a> {
    /// Nothing: the file is new.
    Nothing,
    /// This text.
    Text(&'a str),
    /// This part of the file.
    Part {
        /// The line, from 1, with which `above` begins.
        line: u64,
        /// What stands above it.
        above: &'a str,
        /// What is replaced.
        part: &'a str,
        /// What stands below it.
        below: &'a str,
    },
    /// This text, which the file has not, or more than once.
    Unplaced(&'a str),
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
    let Some(part) = difference.string("oldText").filter(|old| !old.is_empty()) else {
        return Replaced::Nothing;
    };
    let Some(found) = found else { return Replaced::Text(part) };
    let line = found.member("line").and_then(Value::as_u64);
    match (line, found.string("above"), found.string("below")) {
        (Some(line), Some(above), Some(below)) => Replaced::Part { line, above, part, below },
        _ => Replaced::Unplaced(part),
    }
}

/// Where a difference has what was found of its file.
const FOUND: &str = "found";

/// Whether a piece of a call's content is a difference that tells what it changes.
pub(super) fn tells_a_difference(piece: &Value) -> bool {
    piece.string("type") == Some("diff")
        && piece.string("path").is_some()
        && piece.string("newText").is_some()
}

/// The call with what was found beside its request, in each difference of which something was found.
pub(super) fn with_found<'a>(
    call: &'a Map<String, Value>,
    request: &Map<String, Value>,
) -> Cow<'a, Map<String, Value>> {
    let (Some(found), Some(content)) = (request.list(FILES_BEFORE), call.list("content")) else {
        return Cow::Borrowed(call);
    };
    let mut differences = 0_u64;
    let mut pieces = Vec::new();
    for piece in content {
        let mut piece = piece.clone();
        let told = piece.string("oldText").is_some_and(|old| !old.is_empty());
        let of_piece = found.iter().find(|found| match told {
            true => found.member("difference").and_then(Value::as_u64) == Some(differences),
            false => found.string("path").is_some() && found.string("path") == piece.string("path"),
        });
        differences += u64::from(tells_a_difference(&piece));
        let is_difference = piece.string("type") == Some("diff");
        if let (true, Some(of_piece), Some(fields)) = (is_difference, of_piece, piece.as_object_mut()) {
            fields.insert(FOUND.to_owned(), of_piece.clone());
        }
        pieces.push(piece);
    }
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
        let request = Map::from_iter([(FILES_BEFORE.to_owned(), files_before(&found, &[]))]);
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

    #[test]
    fn a_part_is_placed_where_its_file_has_it_once_and_nowhere_else() {
        let text = "1\n2\n3\n4\nfive is here\n6\n7\n8\n9\n";
        let place = |line, above: &str, below: &str| {
            Some(PartPlace { line, above: above.to_owned(), below: below.to_owned() })
        };
        for (part, wanted) in [
            ("is", place(2, "2\n3\n4\nfive ", " here\n6\n7\n8\n")),
            ("five is here\n", place(2, "2\n3\n4\n", "6\n7\n8\n")),
            ("1\n", place(1, "", "2\n3\n4\n")),
            ("9\n", place(6, "6\n7\n8\n", "")),
            ("\n9", place(5, "five is here\n6\n7\n8", "\n")),
            ("\n", None),
            ("ten", None),
        ] {
            assert_eq!(PartPlace::of(text, part), wanted, "{part:?}");
        }
    }

    #[test]
    fn a_difference_has_the_place_that_was_found_for_it_and_for_no_other() {
        // Given a call with two parts of one file, of which one was placed, behind a text that is no difference
        let text = json!({ "type": "content", "path": "a", "newText": "x" });
        let part = |old: &str| json!({ "type": "diff", "path": "a", "oldText": old, "newText": "x" });
        let call = Map::from_iter([("content".to_owned(), json!([text, part("b"), part("c"), part("d")]))]);
        let place = PartPlace::of("a\nb\n", "b");
        let parts = [FoundPart { difference: 0, place }, FoundPart { difference: 1, place: None }];
        let request = Map::from_iter([(FILES_BEFORE.to_owned(), files_before(&[], &parts))]);
        // When what was found is put to it
        let whole = with_found(&call, &request);
        // Then each says what it replaces, and where
        let placed = Replaced::Part { line: 1, above: "a\n", part: "b", below: "\n" };
        let wanted = [placed, Replaced::Unplaced("c"), Replaced::Text("d")];
        let content = whole["content"].as_array().expect("a list");
        assert_eq!(content[1..].iter().map(replaced).collect::<Vec<_>>(), wanted);
    }
}
