//! Differences in the protocol's shape: the lines before and the lines after, a pair for each place that changes.
//!
//! Owns the way from a unified diff to such pairs. Never reads a file: what a diff leaves out between its hunks is not there.

use serde_json::{Value, json};

use crate::domain::edits::patch::{self, FilePatch, Hunk, LineKind};

/// Pairs of one diff that are told; a client draws each as an editor of its own.
const PAIRS: usize = 64;

/// A file that a diff changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPlace {
    /// Its absolute path.
    pub path: String,
    /// First line that changes, from 1.
    pub line: Option<u64>,
}

/// The contents that show a diff, and the places that it changes. `named` is the path of a diff that names none; a new file has
/// no lines before. Empty where the diff cannot be read.
pub fn contents(
    root: &str,
    diff: &str,
    named: Option<&str>,
    is_new: bool,
) -> (Vec<Value>, Vec<ChangedPlace>) {
    let Ok(files) = patch::parse(diff) else { return (Vec::new(), Vec::new()) };
    let mut contents = Vec::new();
    let mut places = Vec::new();
    for file in &files {
        let Some(path) = path_of(file, named).map(|path| absolute(root, path)) else { continue };
        let is_new = is_new || (file.old_path.is_none() && file.new_path.is_some());
        places.push(ChangedPlace { path: path.clone(), line: file.hunks.first().map(first_line) });
        let room = PAIRS.saturating_sub(contents.len());
        contents.extend(file.hunks.iter().take(room).map(|hunk| pair(&path, hunk, is_new)));
    }
    (contents, places)
}

/// A path of a workspace as the protocol wants it.
pub fn absolute(root: &str, path: &str) -> String {
    if path.starts_with('/') || path.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/") {
        return path.to_owned();
    }
    format!("{}/{path}", root.trim_end_matches('/'))
}

fn path_of<'a>(file: &'a FilePatch, named: Option<&'a str>) -> Option<&'a str> {
    file.new_path.as_deref().or(file.old_path.as_deref()).or(named)
}

/// The first line that goes or comes, by its number after the change.
fn first_line(hunk: &Hunk) -> u64 {
    let context = hunk.lines.iter().take_while(|line| line.kind == LineKind::Context).count();
    hunk.new_start.max(1) + context as u64
}

fn pair(path: &str, hunk: &Hunk, is_new: bool) -> Value {
    let side = |without: LineKind| -> String {
        hunk.lines.iter().filter(|line| line.kind != without).map(|line| line.text.as_str()).collect()
    };
    let mut content = json!({ "type": "diff", "path": path, "newText": side(LineKind::Removed) });
    if !is_new {
        content["oldText"] = json!(side(LineKind::Added));
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_of_a_diff_is_a_pair_with_the_lines_around_it() {
        let diff = "--- a/src/x.rs\n+++ b/src/x.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9,1 +9,2 @@\n y\n+z\n";
        let (contents, places) = contents("/w/", diff, None, false);
        let told = |old: &str, new: &str| json!({"type": "diff", "path": "/w/src/x.rs", "oldText": old, "newText": new});
        assert_eq!(contents, [told("a\nb\n", "a\nc\n"), told("y\n", "y\nz\n")]);
        assert_eq!(places, [ChangedPlace { path: "/w/src/x.rs".to_owned(), line: Some(2) }]);
    }

    #[test]
    fn a_new_file_has_nothing_before_and_a_diff_without_a_name_takes_the_one_given() {
        let (told, _) = contents("/w", "@@ -0,0 +1,1 @@\n+new\n", Some("n.txt"), true);
        assert_eq!(told, [json!({"type": "diff", "path": "/w/n.txt", "newText": "new\n"})]);
        assert_eq!(contents("/w", "no diff", Some("n"), false), (vec![], vec![]));
    }
}
