//! `breadboard-ls schema` on the real binary: what it writes is what the repository shows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file beneath a folder: its path from there, and its text.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a schema is text");
            found.insert(path.strip_prefix(root).expect("it is beneath").to_path_buf(), text);
        }
    }
    found
}

#[test]
fn the_schemas_that_are_written_are_those_of_the_repository() {
    let written = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
        .args(["schema", "--out"])
        .arg(written.path())
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas"));
    let made = files(written.path());
    assert!(kept.len() > 40, "the repository has its schemas");
    assert_eq!(made.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>());
    for (name, text) in &kept {
        assert_eq!(made.get(name), Some(text), "{}", name.display());
    }
}
