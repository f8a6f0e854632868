//! Paths in the heads of diffs, told relative to the folders of the workspace as a prompt named them.
//!
//! Owns the folders of the last prompt. Never changes a line of a hunk, and leaves a path outside of the folders as it is.

use serde::{Deserialize, Serialize};

use crate::domain::fact::PromptFolder;

/// The folders.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DiffPaths(Vec<PromptFolder>);

impl DiffPaths {
    /// A prompt named these. One that names none changes nothing.
    pub(super) fn hear(&mut self, folders: Vec<PromptFolder>) {
        if !folders.is_empty() {
            self.0 = folders;
        }
    }

    /// The diff with the paths of its heads relative: of two lines that name a file, before its first hunk.
    pub(super) fn told(&self, diff: String) -> String {
        if self.0.is_empty() {
            return diff;
        }
        let (mut told, mut left) = (String::with_capacity(diff.len()), (0, 0));
        for line in diff.split_inclusive('\n') {
            let of_hunk = left != (0, 0);
            match line.as_bytes().first() {
                Some(b' ') if of_hunk => left = (less(left.0), less(left.1)),
                Some(b'-') if of_hunk => left.0 = less(left.0),
                Some(b'+') if of_hunk => left.1 = less(left.1),
                Some(b'@') => left = lines_of(line).unwrap_or_default(),
                Some(b'-' | b'+') if line.starts_with("--- ") || line.starts_with("+++ ") => {
                    told.push_str(&self.head(line));
                    continue;
                }
                Some(_) | None => {}
            }
            told.push_str(line);
        }
        told
    }

    fn head(&self, line: &str) -> String {
        let (mark, path) = line.split_at("--- ".len());
        // What leads up may lead anywhere.
        if path.contains("/../") {
            return line.to_owned();
        }
        let inside = self.0.iter().find_map(|folder| {
            Some((
                path.strip_prefix(folder.path.as_str())?.strip_prefix(['/', '\\'])?,
                folder.name.as_deref(),
            ))
        });
        match inside {
            Some((inside, Some(name))) => format!("{mark}{name}/{inside}"),
            Some((inside, None)) => format!("{mark}{inside}"),
            None => line.to_owned(),
        }
    }
}

fn less(lines: u64) -> u64 {
    lines.saturating_sub(1)
}

/// Lines before and after of the hunk that begins with this line: `@@ -1,2 +1,3 @@`.
fn lines_of(line: &str) -> Option<(u64, u64)> {
    let mut ranges = line.strip_prefix("@@ -")?.split(' ');
    let count = |range: &str| match range.split_once(',') {
        Some((_, lines)) => lines.parse().ok(),
        None => Some(1),
    };
    Some((count(ranges.next()?)?, count(ranges.next()?.strip_prefix('+')?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_diffs_are_relative_inside_of_the_folders_and_as_they_are_elsewhere() {
        // Given one folder, or two with names
        let folder = |path: &str, name: Option<&str>| PromptFolder {
            path: path.to_owned(),
            name: name.map(str::to_owned),
        };
        let one = DiffPaths(vec![folder("/w", None)]);
        let two = DiffPaths(vec![folder("/w/app", Some("app")), folder("/w/lib", Some("lib"))]);
        let hunk = "@@ -1 +1 @@\n--- /w/app/x\n+++ /w/app/x\n";
        for (paths, head, told) in [
            (&one, "--- /w/app/a\n+++ /w/app/a\n", "--- app/a\n+++ app/a\n"),
            (&one, "--- /dev/null\n+++ /w/a\n", "--- /dev/null\n+++ a\n"),
            (&one, "--- /etc/a\n+++ /etc/a\n", "--- /etc/a\n+++ /etc/a\n"),
            (&one, "--- /w2/a\n+++ /w/../a\n", "--- /w2/a\n+++ /w/../a\n"),
            (&two, "--- /w/lib/a\n+++ /w/app/a\n", "--- lib/a\n+++ app/a\n"),
            (&two, "--- /w/a\n+++ /w/a\n", "--- /w/a\n+++ /w/a\n"),
            (&DiffPaths::default(), "--- /w/a\n+++ /w/a\n", "--- /w/a\n+++ /w/a\n"),
        ] {
            // When a diff of two files is told, then their heads are relative, and no line of a hunk changes
            let diff = format!("{head}{hunk}{head}{hunk}");
            assert_eq!(paths.told(diff), format!("{told}{hunk}{told}{hunk}"));
        }
    }
}
