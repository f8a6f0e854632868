//! Files of a session's workspace: listing, text, bytes. Nothing outside is ever read.
//!
//! Text is not byte-faithful, as with the engine: line ends become LF, broken UTF-8 becomes U+FFFD. Bytes are.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::answer::{self, HttpAnswer, HttpRefusal};
use super::server::AskedRequest;
use super::session::SimulatedSession;

/// What `snippet` and `tail_lines` carry unless `max_bytes` says otherwise.
const SNIPPET_BYTES: usize = 80_000;
const HEAD_LINES: usize = 200;
const TAIL_LINES: usize = 80;
/// Between head and tail of a snippet. A client cannot tell it from text.
const MARKER: &str = "\n\u{2026} (truncated) \u{2026}\n";

/// `GET …/files`: one level, folders first, then by name without case. Nothing is hidden.
pub(super) fn list(session: &SimulatedSession, asked: &AskedRequest) -> HttpAnswer {
    let wanted = asked.parameter("path").unwrap_or_else(|| ".".to_owned());
    let path = match resolve(&session.workspace, &wanted) {
        Ok(path) => path,
        Err(refusal) => return *refusal,
    };
    let Ok(metadata) = std::fs::metadata(&path) else { return answer::refused(404, "path not found") };
    let prefix = relative(&wanted);
    if metadata.is_file() {
        return answer::ok(&json!([entry(&prefix, &metadata)]));
    }
    let Ok(read) = std::fs::read_dir(&path) else { return answer::refused(404, "path not found") };
    // A link shows what it leads to, even outside; reading it is refused.
    let mut found: Vec<(bool, String, Value)> = read
        .filter_map(|item| {
            let item = item.ok()?;
            let metadata = std::fs::metadata(item.path()).or_else(|_| item.metadata()).ok()?;
            let name = item.file_name().to_string_lossy().into_owned();
            let full = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            Some((metadata.is_file(), name.to_lowercase(), entry(&full, &metadata)))
        })
        .collect();
    found.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
    answer::ok(&found.into_iter().map(|(_, _, entry)| entry).collect::<Value>())
}

fn entry(path: &str, metadata: &std::fs::Metadata) -> Value {
    if metadata.is_dir() {
        json!({"path": path, "type": "directory", "size": null, "updated_at": null})
    } else {
        json!({"path": path, "type": "file", "size": metadata.len(), "updated_at": null})
    }
}

/// `GET …/files/content`.
pub(super) fn content(session: &SimulatedSession, asked: &AskedRequest) -> HttpAnswer {
    let Some(wanted) = asked.parameter("path") else {
        return answer::unprocessable("missing", &["query", "path"], "Field required", Value::Null);
    };
    let mut numbers = [None, None, None];
    for (slot, name) in numbers.iter_mut().zip(["head_lines", "tail_lines", "max_bytes"]) {
        match asked.parameter(name).map(|word| word.parse::<usize>()) {
            Some(Ok(number)) => *slot = Some(number),
            Some(Err(_)) => {
                let message = "Input should be a valid integer";
                return answer::unprocessable(
                    "int_parsing",
                    &["query", name],
                    message,
                    json!(asked.parameter(name)),
                );
            }
            None => {}
        }
    }
    let path = match resolve(&session.workspace, &wanted) {
        Ok(path) => path,
        Err(refusal) => return *refusal,
    };
    if relative(&wanted).is_empty() {
        return answer::refused(400, "file path required");
    }
    // A directory is not found, too.
    let Ok(bytes) = std::fs::read(&path) else { return answer::refused(404, "file not found") };
    let [head, tail, max] = numbers;
    let (text, truncated) = match asked.parameter("mode").as_deref() {
        Some("snippet") => snippet(&bytes, head.unwrap_or(HEAD_LINES), tail.unwrap_or(TAIL_LINES), max),
        None | Some("cat") => cat(&bytes, tail, max),
        // Every other word is a `cat` without bounds.
        Some(_) => (decoded(&bytes), false),
    };
    answer::ok(&json!({
        "path": relative(&wanted), "content": text, "truncated": truncated, "total_bytes": bytes.len(),
    }))
}

/// `max_bytes` keeps the last bytes and may begin within a line or a character.
fn cat(bytes: &[u8], tail: Option<usize>, max: Option<usize>) -> (String, bool) {
    let max = max.or_else(|| tail.map(|_| SNIPPET_BYTES)).unwrap_or(usize::MAX);
    let kept = bytes.get(bytes.len().saturating_sub(max)..).unwrap_or_default();
    let text = decoded(kept);
    let cut = kept.len() < bytes.len();
    match tail {
        None => (text, cut),
        Some(count) => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let from = lines.len().saturating_sub(count);
            (lines.get(from..).unwrap_or_default().concat(), cut || from > 0)
        }
    }
}

/// Whole when it fits the bytes, whatever the lines say.
fn snippet(bytes: &[u8], head: usize, tail: usize, max: Option<usize>) -> (String, bool) {
    let text = decoded(bytes);
    if bytes.len() <= max.unwrap_or(SNIPPET_BYTES) {
        return (text, false);
    }
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.get(..head.min(lines.len())).unwrap_or_default().join("\n");
    let last = lines.get(lines.len().saturating_sub(tail)..).unwrap_or_default().join("\n");
    if head == 0 {
        return (last, true);
    }
    (format!("{first}{MARKER}{last}"), true)
}

fn decoded(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

/// `GET …/download`: the exact bytes, or a range of them.
pub(super) fn download(session: &SimulatedSession, asked: &AskedRequest) -> HttpAnswer {
    let Some(artifact) = asked.parameter("artifact") else {
        return answer::unprocessable("missing", &["query", "artifact"], "Field required", Value::Null);
    };
    let outside = || answer::refused(400, "artifact path outside workspace");
    let target = session.workspace.join(&artifact);
    let Some(root) = session.workspace.canonicalize().ok() else {
        return answer::refused(404, "artifact not found");
    };
    let climbs = target.components().any(|part| part == Component::ParentDir);
    let Ok(real) = target.canonicalize() else {
        return if climbs || !target.starts_with(&session.workspace) {
            outside()
        } else {
            answer::refused(404, "artifact not found")
        };
    };
    if !real.starts_with(&root) {
        return outside();
    }
    let Ok(bytes) = std::fs::read(&real) else { return answer::refused(404, "artifact not found") };
    match asked.header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) {
        None => answer::bytes(200, "application/octet-stream", bytes),
        Some((from, to)) => {
            let from = from.parse().unwrap_or(0_usize);
            let to = to.parse().map_or(bytes.len(), |to: usize| to.saturating_add(1)).min(bytes.len());
            let Some(part) = bytes.get(from..to).filter(|part| !part.is_empty()) else {
                return answer::bytes(416, "text/plain; charset=utf-8", "");
            };
            let mut response = answer::bytes(206, "application/octet-stream", part.to_vec());
            if let Ok(range) = format!("bytes {from}-{}/{}", to - 1, bytes.len()).parse() {
                response.headers_mut().insert("content-range", range);
            }
            response
        }
    }
}

/// The place of a path in the workspace; a path that leaves it, links followed, is refused.
fn resolve(workspace: &Path, wanted: &str) -> Result<PathBuf, HttpRefusal> {
    let path = Path::new(wanted);
    if path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Err(Box::new(answer::refused(400, "file paths must be workspace-relative")));
    }
    let Ok(root) = workspace.canonicalize() else {
        return Err(Box::new(answer::refused(409, "workspace is not ready")));
    };
    let target = root.join(path);
    match target.canonicalize() {
        Ok(real) if real.starts_with(&root) => Ok(real),
        Ok(_) => Err(Box::new(answer::refused(400, "invalid path"))),
        // Not there: the caller says so.
        Err(_) => Ok(target),
    }
}

/// The path as the engine writes it: with slashes, empty for the workspace itself.
fn relative(wanted: &str) -> String {
    let parts = Path::new(wanted).components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cat_keeps_the_end_and_snippet_both_ends() {
        let text = b"a\r\nb\nc\n";
        assert_eq!(cat(text, None, None), ("a\nb\nc\n".into(), false));
        assert_eq!(cat(text, None, Some(3)), ("\nc\n".into(), true));
        assert_eq!(cat(text, Some(1), None), ("c\n".into(), true));
        assert_eq!(cat("é!".as_bytes(), None, Some(2)), ("\u{fffd}!".into(), true));
        assert_eq!(snippet(text, 1, 1, None), ("a\nb\nc\n".into(), false));
        assert_eq!(snippet(text, 1, 1, Some(2)), (format!("a{MARKER}c"), true));
        assert_eq!(snippet(text, 0, 2, Some(2)), ("b\nc".into(), true));
    }
}
