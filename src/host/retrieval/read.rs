//! Reading by name: lines of a file, names in a directory.
//!
//! Owns the bounds of what is read. Reads ignored and hidden files too, because the caller named them; never reads
//! through a link that leaves the root.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::RetrievalError;
use super::content::{READ_LIMIT, load, refusal};
use super::lines::misleading;
use super::paths::{OpenBuffers, label, may_be_read, open_root, resolve_index};
use crate::domain::policy::file_lists::FileUse;
use crate::host::ports::WorkspaceView;
use crate::platform::typed_name;

/// Most entries of one directory that are looked at; a larger one is data.
const MOST_ENTRIES: usize = 20_000;

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadText {
    /// The path; with the root's name in front where several roots are open.
    pub path: String,
    /// The lines, with their line ends.
    pub text: String,
    /// First line, from 1; 0 when there are no lines.
    pub start_line: u64,
    /// Last line, inclusive; 0 when there are no lines.
    pub end_line: u64,
    /// Lines of the whole file.
    pub total_lines: u64,
    /// Whether `max_bytes` cut the text: `end_line` is then the last line of which something is there.
    pub truncated: bool,
}

/// The text of a file by name: the open buffer, else the disk. Gives the shown path with it.
pub(super) fn whole_text(
    view: &WorkspaceView,
    path: &str,
    cancel: &AtomicBool,
) -> Result<(String, String), RetrievalError> {
    let (root, rel) = resolve_index(view, path)?;
    if !may_be_read(view, root, &rel) {
        return Err(RetrievalError::Kept(path.to_owned()));
    }
    let shown = shown_path(view, root, &rel);
    if let Some(document) = OpenBuffers::of(view).get(root, &rel) {
        return Ok((shown, String::from(&document.text)));
    }
    let dir = open_root(&view.roots[root]).ok_or_else(|| RetrievalError::NotFound(path.to_owned()))?;
    let rel = if rel.is_empty() { "." } else { &rel };
    Ok((shown, load(&dir, rel, READ_LIMIT, path, cancel)?))
}

/// Lines `start..=end` of a file, `end` to the last when not given, at most `max_bytes` of text. Lines past the end
/// give an empty text, not an error, and so `total_lines` tells where the end is.
pub(crate) fn read_lines(
    view: &WorkspaceView,
    path: &str,
    start: u64,
    end: Option<u64>,
    max_bytes: usize,
    cancel: &AtomicBool,
) -> Result<ReadText, RetrievalError> {
    let (path, text) = whole_text(view, path, cancel)?;
    let start = start.max(1);
    let mut read =
        ReadText { path, text: String::new(), start_line: 0, end_line: 0, total_lines: 0, truncated: false };
    for line in text.split_inclusive('\n') {
        read.total_lines += 1;
        let at = read.total_lines;
        if at < start || end.is_some_and(|end| at > end) || read.truncated {
            continue;
        }
        let room = max_bytes - read.text.len();
        if line.len() > room {
            read.truncated = true;
            // Whole lines, but for a first one that alone is too long.
            if read.start_line != 0 {
                continue;
            }
            read.text.push_str(&line[..line.floor_char_boundary(room)]);
        } else {
            read.text.push_str(line);
        }
        if read.start_line == 0 {
            read.start_line = at;
        }
        read.end_line = at;
    }
    Ok(read)
}

/// Names in a directory, directories first, then by name, at most `limit`. Empty path or `.`: the root, or the roots
/// where several are open. `.git` and links are left out.
pub(crate) fn list_dir(
    view: &WorkspaceView,
    path: &str,
    limit: usize,
    cancel: &AtomicBool,
) -> Result<Vec<(String, bool)>, RetrievalError> {
    if view.roots.len() > 1 && matches!(path, "" | "." | "./") {
        return Ok(view.roots.iter().take(limit).map(|root| (root.name.clone(), true)).collect());
    }
    let (root, rel) = resolve_index(view, path)?;
    let missing = || RetrievalError::NotFound(path.to_owned());
    let dir = open_root(&view.roots[root]).ok_or_else(missing)?;
    let entries =
        dir.read_dir(if rel.is_empty() { "." } else { &rel }).map_err(|error| refusal(&error, path))?;
    // `false` sorts first, so the key says "is no directory".
    let mut names: BTreeMap<(bool, String), ()> = BTreeMap::new();
    for entry in entries.flatten().take(MOST_ENTRIES) {
        if cancel.load(Ordering::Relaxed) {
            return Err(RetrievalError::Cancelled);
        }
        let Ok(kind) = entry.file_type() else { continue };
        let Some(name) = typed_name(entry.file_name()) else { continue };
        if name == ".git" || name.chars().any(misleading) || !(kind.is_dir() || kind.is_file()) {
            continue;
        }
        names.insert((!kind.is_dir(), name), ());
    }
    for (at, open, _) in OpenBuffers::of(view).iter() {
        let beneath = if rel.is_empty() { Some(open) } else { open.strip_prefix(&format!("{rel}/")) };
        if let Some(name) = beneath.filter(|name| at == root && !name.is_empty() && !name.contains('/')) {
            names.insert((true, name.to_owned()), ());
        }
    }
    let inner = |name: &str| if rel.is_empty() { name.to_owned() } else { format!("{rel}/{name}") };
    // A folder is named as long as it is not kept whole.
    let is_told = |(no_dir, name): &(bool, String)| match no_dir {
        true => view.lists.forbids(&inner(name), FileUse::Read).is_none(),
        false => view.lists.never_touches(&inner(name)).is_none(),
    };
    let shown = |name: String| shown_path(view, root, &inner(&name));
    Ok(names.into_keys().filter(is_told).take(limit).map(|(no_dir, name)| (shown(name), !no_dir)).collect())
}

fn shown_path(view: &WorkspaceView, root: usize, rel: &str) -> String {
    match label(view, root) {
        Some(name) if rel.is_empty() => name,
        Some(name) => format!("{name}/{rel}"),
        None => rel.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::retrieval::walk::tests::{Fixture, GO_ON, view_of};

    #[test]
    fn lines_are_exact_and_bounded() {
        let fixture = Fixture::new(&[("a.txt", "one\r\ntwö\nthree")]);
        let view = fixture.view();
        let read = |start, end, max| read_lines(&view, "a.txt", start, end, max, &GO_ON).unwrap();
        let whole = |text: &str, start_line, end_line, truncated| ReadText {
            path: "a.txt".into(),
            text: text.into(),
            start_line,
            end_line,
            total_lines: 3,
            truncated,
        };
        assert_eq!(read(1, None, 100), whole("one\r\ntwö\nthree", 1, 3, false));
        assert_eq!(read(2, Some(2), 100), whole("twö\n", 2, 2, false));
        assert_eq!(read(2, None, 6), whole("twö\n", 2, 2, true));
        assert_eq!(read(2, None, 3), whole("tw", 2, 2, true));
        assert_eq!(read(9, None, 100), whole("", 0, 0, false));
    }

    #[test]
    fn the_open_buffer_is_read_and_binary_is_refused() {
        let fixture = Fixture::new(&[("a.rs", "disk\n")]);
        fixture.write("b.bin", b"\0\x01\x02");
        let view = fixture.view_with(&[("a.rs", "buffer\n")]);
        assert_eq!(read_lines(&view, "a.rs", 1, None, 99, &GO_ON).unwrap().text, "buffer\n");
        assert_eq!(
            read_lines(&view, "b.bin", 1, None, 99, &GO_ON),
            Err(RetrievalError::NotText("b.bin".into()))
        );
        assert_eq!(
            read_lines(&view, "no.rs", 1, None, 99, &GO_ON),
            Err(RetrievalError::NotFound("no.rs".into()))
        );
        assert_eq!(read_lines(&view, "", 1, None, 99, &GO_ON), Err(RetrievalError::NotText(String::new())));
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_root_and_pipes_are_not_read() {
        let outside = Fixture::new(&[("secret", "s")]);
        let fixture = Fixture::new(&[("in.txt", "inside\n")]);
        std::os::unix::fs::symlink(outside.path("secret"), fixture.path("out")).unwrap();
        std::os::unix::fs::symlink(outside.path(""), fixture.path("dir")).unwrap();
        std::os::unix::fs::symlink("in.txt", fixture.path("ok")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(fixture.path("pipe")).status().unwrap();
        assert!(made.success());
        let view = fixture.view();
        let read = |path: &str| read_lines(&view, path, 1, None, 99, &GO_ON).map(|read| read.text);
        assert_eq!(read("out"), Err(RetrievalError::OutsideWorkspace("out".into())));
        assert_eq!(read("dir/secret"), Err(RetrievalError::OutsideWorkspace("dir/secret".into())));
        assert_eq!(read("ok"), Ok("inside\n".into()));
        assert_eq!(read("pipe"), Err(RetrievalError::NotText("pipe".into())));
        assert_eq!(list_dir(&view, "dir", 9, &GO_ON), Err(RetrievalError::OutsideWorkspace("dir".into())));
        assert_eq!(list_dir(&view, "", 9, &GO_ON), Ok(vec![("in.txt".into(), false)]));
    }

    #[test]
    fn a_directory_lists_directories_first_and_open_buffers_too() {
        let fixture = Fixture::new(&[("s/z/a.rs", ""), ("s/a.rs", ""), ("s/.git/config", "")]);
        let view = fixture.view_with(&[("s/new.rs", "")]);
        let names =
            [("s/z", true), ("s/a.rs", false), ("s/new.rs", false)].map(|(name, dir)| (name.to_owned(), dir));
        assert_eq!(list_dir(&view, "s", 9, &GO_ON).unwrap(), names);
        assert_eq!(list_dir(&view, "s/", 2, &GO_ON).unwrap(), names[..2]);
        let both = view_of(&[&fixture.path("s"), &fixture.path("s/z")]);
        assert_eq!(list_dir(&both, "", 9, &GO_ON).unwrap(), [("s".to_owned(), true), ("z".to_owned(), true)]);
        assert_eq!(list_dir(&both, "z", 9, &GO_ON).unwrap(), [("z/a.rs".to_owned(), false)]);
    }
}
