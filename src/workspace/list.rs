//! `bb/listFiles`: the entries of one directory.
//!
//! Never follows a link of the listed directory, and never descends.

use std::collections::BinaryHeap;

use cap_std::fs::DirEntry;

use super::root::{Roots, parse, refusal, short};
use crate::confined::IgnoreRules;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::path::WorkspacePath;
use crate::domain::shown::{Kind, show};
use crate::protocol::request::{FileEntry, FileKind, ListFilesParams, ListFilesResult};

/// Most entries of an answer: about 1 MiB of JSON, what an editor still shows at once.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// One entry on its way into the answer; ordered as in the answer: directories first, then the bytes of the name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FoundEntry {
    after_directories: bool,
    name: Vec<u8>,
    kind: FileKind,
    shown: String,
    size: Option<u64>,
}

/// Lists a directory. `is_abandoned` is asked now and then, so that a huge directory nobody waits for is left.
pub(super) fn list(
    roots: &Roots,
    params: &ListFilesParams,
    is_abandoned: impl Fn() -> bool,
) -> Result<ListFilesResult, CodedError> {
    let path = parse(&params.path)?;
    let root = roots.choose(params.root.as_deref())?;
    let place = root.find(&path)?;
    let dir = root.dir()?;
    if !dir.metadata(&place).map_err(|error| refusal(&error, &path))?.is_dir() {
        return Err(CodedError::new(
            ErrorCode::NotFound,
            format!("`{}` is not a directory; name the directory it lies in.", short(path.as_str())),
        ));
    }
    let below = place.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    let rules = match params.gitignore {
        Some(true) => {
            let mut rules = IgnoreRules::of_folder(&dir, root.path()?, &is_abandoned);
            rules.enter(&below);
            Some(rules)
        }
        Some(false) | None => None,
    };
    let opened = dir.open_dir(&place).map_err(|error| refusal(&error, &path))?;
    // The heap keeps the first `MAX_ENTRIES` in order and drops the rest, however many there are.
    let mut first = BinaryHeap::new();
    let mut truncated = false;
    for (count, entry) in opened.entries().map_err(|error| refusal(&error, &path))?.enumerate() {
        if count % 1_024 == 1_023 && is_abandoned() {
            break;
        }
        // An entry that went away meanwhile is not there.
        let Ok(found) = entry.and_then(|entry| look(&entry)) else { continue };
        let full = if below == "." { found.shown.clone() } else { format!("{below}/{}", found.shown) };
        if rules.as_ref().is_some_and(|rules| rules.leaves_out(&full, found.kind == FileKind::Directory)) {
            continue;
        }
        first.push(found);
        if first.len() > MAX_ENTRIES {
            first.pop();
            truncated = true;
        }
    }
    let entries = first.into_sorted_vec().into_iter().map(|found| entry(&path, found)).collect();
    Ok(ListFilesResult { path: path.as_str().to_owned(), entries, truncated })
}

fn look(entry: &DirEntry) -> std::io::Result<FoundEntry> {
    let file_type = entry.file_type()?;
    let kind = if file_type.is_symlink() {
        FileKind::Symlink
    } else if file_type.is_dir() {
        FileKind::Directory
    } else {
        // Pipes, sockets and devices have no word on the wire; they are files without a size.
        FileKind::File
    };
    let size = if file_type.is_file() { Some(entry.metadata()?.len()) } else { None };
    let name = entry.file_name();
    Ok(FoundEntry {
        after_directories: kind != FileKind::Directory,
        name: name.as_encoded_bytes().to_vec(),
        kind,
        shown: name.to_string_lossy().into_owned(),
        size,
    })
}

fn entry(directory: &WorkspacePath, found: FoundEntry) -> FileEntry {
    let path = if directory.is_root() { found.shown.clone() } else { format!("{directory}/{}", found.shown) };
    FileEntry { path, name: show(&found.shown, Kind::Code).into_owned(), kind: found.kind, size: found.size }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{MAX_ENTRIES, list};
    use crate::domain::coded_error::{CodedError, ErrorCode};
    use crate::protocol::request::{FileEntry, FileKind, ListFilesParams, ListFilesResult};
    use crate::workspace::root::Roots;
    use crate::workspace::root::tests::folder;

    fn listed(root: &Path, path: &str, gitignore: Option<bool>) -> Result<ListFilesResult, CodedError> {
        let params = ListFilesParams {
            session_id: Some("s".to_owned()),
            tab_id: None,
            path: path.to_owned(),
            root: None,
            gitignore,
        };
        list(&Roots::open(&[folder("ws", root)]), &params, || false)
    }

    fn names(root: &Path, path: &str, gitignore: Option<bool>) -> Vec<String> {
        listed(root, path, gitignore).unwrap().entries.into_iter().map(|entry| entry.path).collect()
    }

    fn write(root: &Path, path: &str, text: &str) {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn r000_30_entries_are_typed_sized_and_in_order() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "src/b.rs", "12345");
        write(root.path(), "src/B.rs", "");
        write(root.path(), "src/zoo/x", "");
        std::os::unix::fs::symlink("b.rs", root.path().join("src/link")).unwrap();
        std::os::unix::fs::symlink("/etc", root.path().join("src/out")).unwrap();
        let entry = |name: &str, kind, size| FileEntry {
            path: format!("src/{name}"),
            name: name.to_owned(),
            kind,
            size,
        };
        assert_eq!(
            listed(root.path(), "./src//", None),
            Ok(ListFilesResult {
                path: "src".to_owned(),
                entries: vec![
                    entry("zoo", FileKind::Directory, None),
                    entry("B.rs", FileKind::File, Some(0)),
                    entry("b.rs", FileKind::File, Some(5)),
                    entry("link", FileKind::Symlink, None),
                    entry("out", FileKind::Symlink, None),
                ],
                truncated: false,
            })
        );
        assert_eq!(names(root.path(), "", None), ["src"]);
        assert_eq!(names(root.path(), ".", None), ["src"]);
    }

    #[cfg(unix)]
    #[test]
    fn r000_36_what_is_no_directory_of_the_workspace_is_refused() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "file", "");
        std::os::unix::fs::symlink("/etc", root.path().join("out")).unwrap();
        for (path, code) in [
            ("file", ErrorCode::NotFound),
            ("file/x", ErrorCode::NotFound),
            ("missing", ErrorCode::NotFound),
            ("out", ErrorCode::PathOutsideWorkspace),
            ("out/ssl", ErrorCode::PathOutsideWorkspace),
            ("..", ErrorCode::PathOutsideWorkspace),
            ("/etc", ErrorCode::PathOutsideWorkspace),
        ] {
            let refused = listed(root.path(), path, None).unwrap_err();
            assert_eq!(refused.code, code, "{path}: {}", refused.message);
        }
    }

    #[test]
    fn r000_30_gitignore_counts_from_the_root_down_and_the_deepest_wins() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), ".gitignore", "*.log\n/target/\nbuild/\n");
        write(root.path(), "target/x", "");
        write(root.path(), "a.log", "");
        write(root.path(), "a.rs", "");
        write(root.path(), "sub/.gitignore", "!keep.log\n/only-here\n");
        write(root.path(), "sub/keep.log", "");
        write(root.path(), "sub/drop.log", "");
        write(root.path(), "sub/only-here", "");
        write(root.path(), "sub/build/deep/x", "");
        write(root.path(), "sub/target/x", "");
        assert_eq!(names(root.path(), "", Some(true)), ["sub", ".gitignore", "a.rs"]);
        assert_eq!(names(root.path(), "", Some(false)), ["sub", "target", ".gitignore", "a.log", "a.rs"]);
        assert_eq!(names(root.path(), "sub", Some(true)), ["sub/target", "sub/.gitignore", "sub/keep.log"]);
        assert_eq!(names(root.path(), "sub/build/deep", Some(true)), Vec::<String>::new());
        assert_eq!(names(root.path(), "sub/build/deep", None), ["sub/build/deep/x"]);
    }

    #[test]
    fn r000_30_more_than_ten_thousand_entries_are_cut_in_order() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..MAX_ENTRIES {
            std::fs::File::create(root.path().join(format!("f{number:05}"))).unwrap();
        }
        assert!(!listed(root.path(), "", None).unwrap().truncated);
        std::fs::create_dir(root.path().join("zoo")).unwrap();
        let result = listed(root.path(), "", None).unwrap();
        assert!(result.truncated);
        assert_eq!(result.entries.len(), MAX_ENTRIES);
        assert_eq!(result.entries[0].name, "zoo");
        assert_eq!(result.entries[MAX_ENTRIES - 1].name, format!("f{:05}", MAX_ENTRIES - 2));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_not_utf8_is_shown_lossily() {
        use std::os::unix::ffi::OsStrExt;
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
        assert_eq!(names(root.path(), "", None), ["caf\u{fffd}"]);
    }
}
