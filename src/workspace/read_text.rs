//! `FileJob::ReadText`: some lines of a text for an agent, as the editor has them.
//!
//! Owns the choice between buffer and disk, and how much an agent gets at once. Never reads outside a root: the path is followed
//! first, so that not even an open buffer shows what lies outside.

use std::path::Path;

use serde_json::json;

use super::charset::guess;
use super::root::{Roots, refusal, short};
use super::snippet::open_document;
use super::write::current;
use crate::app::ports::TextPart;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::overlay::Overlay;
use crate::domain::edits::text::{content_hash, decode};

/// Bytes that an agent gets at once. It travels in one line of JSON, and no model reads more.
const MOST_BYTES: usize = 8 << 20;

/// Lines from `line` (1 without one), `limit` of them (all the rest without one). A line past the end is an empty text.
pub(super) fn read_text(
    roots: &Roots,
    overlay: &Overlay,
    path: &Path,
    line: Option<u64>,
    limit: Option<u64>,
) -> Result<TextPart, CodedError> {
    let (root, path) = roots.holding(path)?;
    let place = root.locate(&path)?;
    let (text, hash, unsaved) = match (open_document(root, &path, place.as_deref(), overlay), &place) {
        (Some((_, document)), _) => {
            let text = document.text.to_string();
            let hash = content_hash(text.as_bytes());
            // What cannot be read from disk is not there.
            let saved = place.as_deref().and_then(|place| {
                let bytes = current(&*root.dir().ok()?, place, &path).ok()?.bytes;
                decode(&bytes, |bytes| guess([bytes])).ok()
            });
            let unsaved = saved.is_none_or(|saved| saved.text != text);
            (text, hash, unsaved)
        }
        (None, Some(place)) => {
            let bytes = current(&*root.dir()?, place, &path)?.bytes;
            let decoded = decode(&bytes, |bytes| guess([bytes])).map_err(|_| {
                CodedError::new(
                    ErrorCode::NotText,
                    format!("`{}` is not text, so it cannot be read as text.", short(path.as_str())),
                )
            })?;
            (decoded.text, content_hash(&bytes), false)
        }
        (None, None) => {
            return Err(refusal(&std::io::ErrorKind::NotFound.into(), &path)
                .with_details(json!({ "root": root.name(), "path": path.as_str() })));
        }
    };
    let content = lines(&text, line, limit);
    if content.len() > MOST_BYTES {
        return Err(CodedError::new(
            ErrorCode::TooLarge,
            format!(
                "`{}` is larger than 8 MiB; read it in parts, with `line` and `limit`.",
                short(path.as_str())
            ),
        )
        .with_details(json!({ "size": content.len(), "maxBytes": MOST_BYTES })));
    }
    Ok(TextPart {
        content: content.to_owned(),
        hash,
        root: root.name().to_owned(),
        path: path.as_str().to_owned(),
        unsaved,
    })
}

fn lines(text: &str, line: Option<u64>, limit: Option<u64>) -> &str {
    let start = after_lines(text, line.unwrap_or(1).saturating_sub(1));
    let rest = &text[start..];
    match limit {
        Some(limit) => &rest[..after_lines(rest, limit)],
        None => rest,
    }
}

/// Where the text goes on after so many lines.
fn after_lines(text: &str, lines: u64) -> usize {
    match usize::try_from(lines) {
        Ok(0) => 0,
        Ok(lines) => {
            memchr::memchr_iter(b'\n', text.as_bytes()).nth(lines - 1).map_or(text.len(), |end| end + 1)
        }
        Err(_) => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::{MOST_BYTES, read_text};
    use crate::app::ports::TextPart;
    use crate::domain::coded_error::{CodedError, ErrorCode};
    use crate::domain::edits::overlay::Overlay;
    use crate::domain::edits::text::content_hash;
    use crate::workspace::root::Roots;
    use crate::workspace::root::tests::folder;

    fn whole(roots: &Roots, overlay: &Overlay, path: &Path) -> Result<TextPart, CodedError> {
        read_text(roots, overlay, path, None, None)
    }

    #[test]
    fn an_agent_reads_the_lines_that_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        std::fs::write(&file, "1\r\n2\n3").unwrap();
        let roots = Roots::open(&[folder("ws", dir.path())]);
        let read = |line, limit| read_text(&roots, &Overlay::new(), &file, line, limit).unwrap();
        let hash = content_hash(b"1\r\n2\n3");
        let part = |content: &str| TextPart {
            content: content.to_owned(),
            hash: hash.clone(),
            root: "ws".to_owned(),
            path: "a".to_owned(),
            unsaved: false,
        };
        for (line, limit, content) in [
            (None, None, "1\r\n2\n3"),
            (Some(0), Some(1), "1\r\n"),
            (Some(1), Some(1), "1\r\n"),
            (Some(2), None, "2\n3"),
            (Some(2), Some(1), "2\n"),
            (Some(3), Some(9), "3"),
            (Some(4), None, ""),
            (Some(u64::MAX), Some(u64::MAX), ""),
            (None, Some(0), ""),
        ] {
            assert_eq!(read(line, limit), part(content), "{line:?} {limit:?}");
        }
    }

    #[test]
    fn the_open_buffer_wins_over_the_disk_and_its_hash_is_the_base_of_a_write() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a b");
        std::fs::write(&file, "saved").unwrap();
        let roots = Roots::open(&[folder("ws", dir.path())]);
        let mut overlay = Overlay::new();
        let uri = format!("file://{}/a%20b", dir.path().display());
        overlay.open(&uri, "plaintext", 1, "typed");
        let part = whole(&roots, &overlay, &file).unwrap();
        assert_eq!((part.content.as_str(), part.hash, part.unsaved), ("typed", content_hash(b"typed"), true));
        std::fs::write(&file, "typed").unwrap();
        assert!(!whole(&roots, &overlay, &file).unwrap().unsaved);
        std::fs::write(&file, "saved").unwrap();
        overlay.close(&uri);
        assert_eq!(whole(&roots, &overlay, &file).unwrap().content, "saved");
    }

    #[cfg(unix)]
    #[test]
    fn r000_36_an_agent_reads_nothing_outside_the_workspace_not_even_an_open_buffer() {
        use std::os::unix::fs::symlink;
        let parent = tempfile::tempdir().unwrap();
        let (inside, outside) = (parent.path().join("ws"), parent.path().join("ws-evil"));
        std::fs::create_dir_all(inside.join("inner/d")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "out").unwrap();
        std::fs::write(inside.join("inner/d/file"), "in").unwrap();
        symlink(&outside, inside.join("link")).unwrap();
        symlink(&inside, parent.path().join("alias")).unwrap();
        let alias = parent.path().join("alias");
        let roots = Roots::open(&[folder("ws", &alias), folder("inner", &alias.join("inner"))]);
        let mut overlay = Overlay::new();
        overlay.open(&format!("file://{}", outside.join("file").display()), "plaintext", 1, "out");
        overlay.open(&format!("file://{}", inside.join("link/file").display()), "plaintext", 1, "out");
        for path in [
            outside.join("file"),
            inside.join("link/file"),
            inside.join("../ws-evil/file"),
            inside.join("none/../../ws-evil/file"),
            Path::new("inner/d/file").to_owned(),
            Path::new("/etc/passwd").to_owned(),
        ] {
            let refused = whole(&roots, &overlay, &path).unwrap_err();
            assert_eq!(refused.code, ErrorCode::PathOutsideWorkspace, "{path:?}");
        }
        // By the name of the folder, by its real one, and in the inner of two.
        for base in [&alias, &inside] {
            let part = whole(&roots, &overlay, &base.join("inner/d/file")).unwrap();
            assert_eq!((part.content, part.root, part.path), ("in".into(), "inner".into(), "d/file".into()));
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_a_missing_file_says_where_it_would_be() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("bin"), b"\0\x01").unwrap();
        let large = "x".repeat(MOST_BYTES) + "\nend";
        std::fs::write(dir.path().join("large"), &large).unwrap();
        let roots = Roots::open(&[folder("ws", dir.path())]);
        let overlay = Overlay::new();
        let refused = |name: &str| whole(&roots, &overlay, &dir.path().join(name)).unwrap_err();
        assert_eq!(refused("bin").code, ErrorCode::NotText);
        assert_eq!(refused("large").code, ErrorCode::TooLarge);
        assert_eq!(refused("").code, ErrorCode::NotFound);
        let missing = refused("new/file.rs");
        assert_eq!(
            (missing.code, missing.details),
            (ErrorCode::NotFound, Some(json!({ "root": "ws", "path": "new/file.rs" })))
        );
        let end = read_text(&roots, &overlay, &dir.path().join("large"), Some(2), None).unwrap();
        assert_eq!(end.content, "end");
    }
}
