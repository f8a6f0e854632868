//! The paths of all files of the workspace, for a person who types a part of one.
//!
//! Owns which files are named: none that is ignored or hidden, none behind a link, and a bounded number. Never opens one.

use std::collections::VecDeque;

use super::root::{Root, Roots};
use crate::confined::IgnoreRules;
use crate::platform::typed_name;

/// Most paths. In a larger tree those nearest to the root are named: nobody types what nobody knows.
const MOST: usize = 30_000;
/// Most directories that wait to be looked at.
const WAITING: usize = 10_000;

/// The paths of the files, and of the directories with a slash behind them; with the name of the folder before them where several are
/// open.
pub(super) fn paths(roots: &Roots) -> Vec<String> {
    let mut found = Vec::new();
    let several = roots.are_several();
    for root in roots.iter() {
        let before = if several { format!("{}/", root.name()) } else { String::new() };
        walk(root, &before, &mut found);
    }
    found
}

fn walk(root: &Root, before: &str, found: &mut Vec<String>) {
    let (Ok(dir), Ok(path)) = (root.dir(), root.path()) else { return };
    let never = || false;
    let mut rules = IgnoreRules::of_folder(&dir, path, &never);
    let mut waiting = VecDeque::from([String::new()]);
    while let Some(directory) = waiting.pop_front() {
        rules.enter(&directory);
        let place = if directory.is_empty() { "." } else { directory.as_str() };
        // What cannot be listed is not named; the rest is.
        let Ok(entries) = dir.read_dir(place) else { continue };
        for entry in entries.flatten() {
            let (Some(name), Ok(kind)) = (typed_name(entry.file_name()), entry.file_type()) else { continue };
            let relative = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            if name.starts_with('.')
                || name.chars().any(char::is_control)
                || rules.leaves_out(&relative, kind.is_dir())
            {
                continue;
            }
            if found.len() >= MOST {
                return;
            }
            if kind.is_dir() {
                found.push(format!("{before}{relative}/"));
                if waiting.len() < WAITING {
                    waiting.push_back(relative);
                }
            } else if kind.is_file() {
                found.push(format!("{before}{relative}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root::tests::folder;

    #[test]
    fn every_file_is_named_but_those_that_are_ignored_hidden_or_linked() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/lib.rs", ""),
            ("a.txt", ""),
            (".git/config", ""),
            (".gitignore", "target\n"),
            ("target/x", ""),
            ("src/.hidden", ""),
        ] {
            let at = root.path().join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, text).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", root.path().join("link")).unwrap();
        let mut one = paths(&Roots::open(&[folder("ws", root.path())]));
        one.sort();
        assert_eq!(one, ["a.txt", "src/", "src/lib.rs"]);
        let mut two =
            paths(&Roots::open(&[folder("ws", root.path()), folder("other", &root.path().join("src"))]));
        two.sort();
        assert_eq!(two, ["other/lib.rs", "ws/a.txt", "ws/src/", "ws/src/lib.rs"]);
    }
}
