//! Files that go, move and change their mode on disk, and what is refused.

use std::path::Path;

use super::*;
use crate::workspace::root::tests::folder;

fn changed(
    root: &Path,
    path: &str,
    base: Option<&[u8]>,
    kind: DiskChangeKind,
) -> Result<DiskChanged, CodedError> {
    let base_hash = base.map(content_hash);
    let wanted = DiskChange { root: None, path: path.to_owned(), base_hash, turn: None, kind };
    change(&Roots::open(&[folder("ws", root)]), &wanted, &Overlay::new(), &|_| {})
}

fn moved(to: &str, text: Option<&str>, mode: Option<FileMode>) -> DiskChangeKind {
    DiskChangeKind::Move { to: to.to_owned(), text: text.map(str::to_owned), mode }
}

fn code(outcome: Result<DiskChanged, CodedError>) -> Option<ErrorCode> {
    outcome.err().map(|error| error.code)
}

/// Every file beneath a folder, with what it holds; links with where they lead.
fn tree(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_symlink() {
                let leads = std::fs::read_link(&path).unwrap();
                found.push((name, leads.to_string_lossy().into_owned().into_bytes()));
            } else {
                found.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_file_goes_only_as_it_was_seen() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), b"\0bytes").unwrap();
    let other = changed(root.path(), "a", Some(b"other"), DiskChangeKind::Delete);
    assert_eq!(code(other), Some(ErrorCode::Conflict));
    assert_eq!(tree(root.path()), [("a".to_owned(), b"\0bytes".to_vec())]);
    let gone = changed(root.path(), "a", Some(b"\0bytes"), DiskChangeKind::Delete).unwrap();
    assert_eq!(gone.hash, None);
    assert_eq!(tree(root.path()), []);
    assert_eq!(code(changed(root.path(), "a", None, DiskChangeKind::Delete)), Some(ErrorCode::NotFound));
}

#[test]
fn a_file_moves_with_its_folders_encoding_and_mode_and_never_over_another() {
    let root = tempfile::tempdir().unwrap();
    let bytes = b"\xef\xbb\xbfold\r\n";
    std::fs::write(root.path().join("a"), bytes).unwrap();
    std::fs::write(root.path().join("b"), "theirs").unwrap();
    let over = changed(root.path(), "a", Some(bytes), moved("b", None, None));
    assert_eq!(code(over), Some(ErrorCode::Conflict));
    let over = changed(root.path(), "a", Some(bytes), moved("b", Some("new"), None));
    assert_eq!(code(over), Some(ErrorCode::Conflict));
    let made = changed(root.path(), "a", Some(bytes), moved("x/y/c", None, None)).unwrap();
    assert_eq!(made.hash, Some(content_hash(bytes)));
    let made = changed(root.path(), "x/y/c", Some(bytes), moved("d", Some("n\u{e9}w\r\n"), None)).unwrap();
    let then = b"\xef\xbb\xbfn\xc3\xa9w\r\n";
    assert_eq!(made.hash, Some(content_hash(then)));
    assert_eq!(
        tree(root.path()),
        [("b".to_owned(), b"theirs".to_vec()), ("d".to_owned(), then.to_vec())],
        "nothing else is left behind"
    );
}

#[test]
fn a_file_with_unsaved_text_in_an_editor_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "saved\n").unwrap();
    let roots = Roots::open(&[folder("ws", root.path())]);
    let uri = roots.choose(None).unwrap().uri_of(&parse("a").unwrap());
    let mut open = Overlay::new();
    open.open(&uri, "text", 1, "typed\n");
    for kind in [DiskChangeKind::Delete, moved("b", None, None)] {
        let wanted = DiskChange { root: None, path: "a".to_owned(), base_hash: None, turn: None, kind };
        let refused = change(&roots, &wanted, &open, &|_| {}).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
        assert!(refused.message.contains("unsaved"), "{}", refused.message);
    }
    open.open(&uri, "text", 2, "saved\n");
    let wanted = DiskChange {
        root: None,
        path: "a".to_owned(),
        base_hash: None,
        turn: None,
        kind: DiskChangeKind::Delete,
    };
    assert!(change(&roots, &wanted, &open, &|_| {}).is_ok());
}

#[cfg(unix)]
#[test]
fn a_mode_is_set_and_stays_with_a_file_that_moves() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let mode = |name: &str| std::fs::metadata(root.path().join(name)).unwrap().permissions().mode() & 0o777;
    std::fs::write(root.path().join("a"), "x").unwrap();
    std::fs::set_permissions(root.path().join("a"), PermissionsExt::from_mode(0o640)).unwrap();
    let made = changed(root.path(), "a", Some(b"x"), DiskChangeKind::Mode(FileMode::Executable)).unwrap();
    assert_eq!((made.mode_before, mode("a")), (Some(FileMode::Plain), 0o750));
    changed(root.path(), "a", Some(b"x"), moved("b", Some("y"), None)).unwrap();
    assert_eq!(mode("b"), 0o750);
    let made = changed(root.path(), "b", Some(b"y"), moved("c", None, Some(FileMode::Plain))).unwrap();
    assert_eq!((made.mode_before, mode("c")), (Some(FileMode::Executable), 0o640));
}

#[cfg(unix)]
#[test]
fn nothing_outside_goes_or_comes_by_any_path_or_link() {
    use std::os::unix::fs::symlink;
    // Given a folder with links out of it
    let parent = tempfile::tempdir().unwrap();
    let (root, outside) = (parent.path().join("ws"), parent.path().join("out"));
    std::fs::create_dir_all(root.join("in")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "outside").unwrap();
    std::fs::write(root.join("in/a"), "inside").unwrap();
    symlink("../out/file", root.join("escape")).unwrap();
    symlink("../out", root.join("escape-dir")).unwrap();
    symlink("../out/new", root.join("broken")).unwrap();
    symlink("in/a", root.join("link")).unwrap();
    let before = tree(&outside);
    let absolute = outside.join("file").to_string_lossy().into_owned();
    // When what leads out is to go, to be moved, or to be the place for something
    let out = [
        "escape",
        "escape-dir/file",
        "../out/file",
        "in/../../out/file",
        absolute.as_str(),
        "escape-dir/new",
        "broken",
    ];
    for path in out {
        for kind in [
            DiskChangeKind::Delete,
            moved("in/b", None, None),
            moved("in/b", Some("evil"), None),
            DiskChangeKind::Mode(FileMode::Executable),
        ] {
            assert!(changed(&root, path, None, kind).is_err(), "{path}");
        }
        for text in [None, Some("evil")] {
            assert!(changed(&root, "in/a", Some(b"inside"), moved(path, text, None)).is_err(), "{path}");
        }
    }
    // Then nothing changed on either side
    assert_eq!(tree(&outside), before);
    assert_eq!(std::fs::read(root.join("in/a")).unwrap(), b"inside");
    // And a link inside goes itself, not what it leads to
    changed(&root, "link", Some(b"inside"), moved("other", None, None)).unwrap();
    assert!(root.join("other").symlink_metadata().unwrap().is_symlink());
    changed(&root, "other", Some(b"inside"), DiskChangeKind::Delete).unwrap();
    assert!(root.join("other").symlink_metadata().is_err());
    assert_eq!(std::fs::read(root.join("in/a")).unwrap(), b"inside");
}
