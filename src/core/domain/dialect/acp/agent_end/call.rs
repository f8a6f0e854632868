//! A tool call of ours as the client draws it.
//!
//! Owns kind, status, content and places of a call, made from its block. An update carries what changed and nothing else.

use serde_json::{Map, Value, json};

use super::diffs::{ChangedPlace, absolute, contents};
use crate::domain::shown::without_colours;
use crate::domain::view::{BlockBody, ToolBlockStatus};

/// The fields of a call, whole: `toolCallId` aside. `None`: the block is no tool call.
pub fn fields(root: &str, body: &BlockBody, waits: bool) -> Option<Map<String, Value>> {
    let BlockBody::Tool { name, status, title, input, diff, preview, exit_code, .. } = body else {
        return None;
    };
    let kind = if diff.is_some() { "edit" } else { kind_of(name) };
    let (mut content, mut places) =
        diff.as_deref().map(|diff| contents(root, diff, None, false)).unwrap_or_default();
    if content.is_empty()
        && let Some(diff) = diff
    {
        content.push(text(fenced("diff", diff)));
    }
    if let Some(preview) = preview.as_deref().filter(|preview| !preview.is_empty()) {
        let plain = without_colours(preview);
        content.push(text(if kind == "execute" { fenced("", &plain) } else { plain.into_owned() }));
    }
    if places.is_empty() {
        places.extend(place_of(root, input.as_ref()));
    }
    let mut fields = Map::new();
    fields.insert(
        "title".to_owned(),
        json!(title.as_deref().filter(|title| !title.is_empty()).unwrap_or(name)),
    );
    fields.insert("kind".to_owned(), json!(kind));
    fields.insert("status".to_owned(), json!(status_of(*status, waits)));
    fields.insert("content".to_owned(), Value::Array(content));
    fields.insert("locations".to_owned(), Value::Array(places.iter().map(location).collect()));
    if let Some(input) = input {
        fields.insert("rawInput".to_owned(), input.clone());
    }
    if let Some(code) = exit_code {
        fields.insert("rawOutput".to_owned(), json!({ "exitCode": code }));
    }
    Some(fields)
}

/// A text as content of a call.
pub fn text(text: String) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

/// A text that stays as it is where Markdown is drawn.
pub fn fenced(language: &str, body: &str) -> String {
    let longest = body.split(|ch| ch != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if body.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{body}{end}{fence}")
}

/// A place as the client follows it.
pub fn location(place: &ChangedPlace) -> Value {
    match place.line {
        Some(line) => json!({ "path": place.path, "line": line }),
        None => json!({ "path": place.path }),
    }
}

/// The protocol has no word for what was stopped or not allowed: it did not do what it was for.
fn status_of(status: ToolBlockStatus, waits: bool) -> &'static str {
    match status {
        ToolBlockStatus::Running if waits => "pending",
        ToolBlockStatus::Running => "in_progress",
        ToolBlockStatus::Ok => "completed",
        ToolBlockStatus::Failed | ToolBlockStatus::Denied | ToolBlockStatus::Cancelled => "failed",
    }
}

fn place_of(root: &str, input: Option<&Value>) -> Option<ChangedPlace> {
    let input = input?.as_object()?;
    let path =
        ["path", "file_path", "filePath", "abs_path"].iter().find_map(|name| input.get(*name)?.as_str())?;
    let line = ["start_line", "line", "offset"].iter().find_map(|name| input.get(*name)?.as_u64());
    Some(ChangedPlace { path: absolute(root, path), line: line.filter(|line| *line > 0) })
}

/// The kind of a tool, by the words in its name.
fn kind_of(name: &str) -> &'static str {
    const KINDS: [(&str, &[&str]); 8] = [
        ("search", &["search", "grep", "glob", "find", "list", "ls"]),
        ("edit", &["edit", "write", "patch", "create", "replace", "apply"]),
        ("execute", &["run", "bash", "shell", "exec", "execute", "terminal"]),
        ("delete", &["delete", "remove", "rm"]),
        ("move", &["move", "rename", "mv"]),
        ("fetch", &["fetch", "web", "http", "browse"]),
        ("think", &["think", "plan", "todo"]),
        ("read", &["read", "view", "cat", "open", "outline"]),
    ];
    let words: Vec<String> =
        name.split(|ch: char| !ch.is_alphanumeric()).map(str::to_ascii_lowercase).collect();
    let of = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    KINDS.iter().find(|(_, known)| of(known)).map_or("other", |(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_has_the_kind_that_its_name_says() {
        let rows = [
            ("read_file", "read"),
            ("search_text", "search"),
            ("list_files", "search"),
            ("propose_patch", "edit"),
            ("run_command", "execute"),
            ("outline", "read"),
            ("teleport", "other"),
        ];
        for (name, kind) in rows {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }

    #[test]
    fn no_text_gets_out_of_its_fence() {
        assert_eq!(fenced("", "a"), "```\na\n```");
        assert_eq!(fenced("diff", "x ```` y\n"), "`````diff\nx ```` y\n`````");
    }
}
