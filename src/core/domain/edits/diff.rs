//! The difference of two texts as a unified diff.
//!
//! Owns how we write a diff: git style headers, three lines of context, line ends inside the lines, so that a change of
//! line ends is a change. Never reads one: that is `patch`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use imara_diff::InternedInput;

use super::changes::{Change, changes};
use super::patch::{Hunk, LineKind};
use crate::domain::dialect::desktop::message::PatchHunk;

/// Lines of context around a change.
pub(super) const CONTEXT: u32 = 3;

/// The line that says that the line before it has no line end.
pub(crate) const NO_NEWLINE: &str = "\\ No newline at end of file";

/// Two texts compared.
#[derive(Debug, Clone, PartialEq)]
pub struct TextDiff {
    /// The whole diff with its two header lines; empty when the texts are equal.
    pub unified: String,
    /// Its hunks, in order.
    pub hunks: Vec<PatchHunk>,
}

/// Compares two texts of the file `path`. `old` is `None` for a file that does not exist yet.
pub fn unified_diff(path: &str, old: Option<&str>, new: &str) -> TextDiff {
    let input = InternedInput::new(old.unwrap_or(""), new);
    let hunks = hunks(&input, &changes(&input).changes);
    let mut unified = String::new();
    if !hunks.is_empty() {
        file_header(&mut unified, path, old.is_some(), true);
        for hunk in &hunks {
            write_hunk(&mut unified, hunk);
        }
    }
    TextDiff { unified, hunks }
}

/// Two parts of a file with the line end that both of them lack: they end where they were cut out, so that nothing is known of
/// how the file ends. A part with a line end beside one without is a change of that.
pub(crate) fn cut_out<'a>(old: &'a str, new: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    let ended = |part: &'a str| match part.is_empty() {
        true => Cow::Borrowed(part),
        false => Cow::Owned(format!("{part}\n")),
    };
    if old.is_empty() || old.ends_with('\n') || new.ends_with('\n') {
        return (Cow::Borrowed(old), Cow::Borrowed(new));
    }
    (ended(old), ended(new))
}

/// The hunks of two texts, one below the other, without the lines that name the file. So many lines of the file stand above the
/// texts.
pub(crate) fn diff_body(above: u64, old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut body = String::new();
    for hunk in hunks(&input, &changes(&input).changes) {
        let (old_start, new_start) = (hunk.old_start + above, hunk.new_start + above);
        write_hunk(&mut body, &PatchHunk { old_start, new_start, ..hunk });
    }
    body
}

/// The same as one hunk that takes the whole old text out and puts the whole new one in, without comparing them.
pub(crate) fn replacing_body(above: u64, old: &str, new: &str) -> String {
    let mut content = String::with_capacity(old.len() + new.len());
    let mut lines = |mark, text: &str| {
        let mut count = 0;
        for line in text.split_inclusive('\n') {
            body_line(&mut content, mark, line);
            count += 1;
        }
        count
    };
    let (old_lines, new_lines) = (lines('-', old), lines('+', new));
    let mut body = String::new();
    let (old_start, new_start) = (above + u64::from(old_lines > 0), above + u64::from(new_lines > 0));
    write_hunk(&mut body, &PatchHunk { old_start, old_lines, new_start, new_lines, content });
    body
}

/// A hunk that was read, written again with the counts of its body.
pub(crate) fn hunk_body(hunk: &Hunk) -> String {
    let mut content = String::new();
    let (mut old_lines, mut new_lines) = (0, 0);
    for line in &hunk.lines {
        let (mark, old, new) = match line.kind {
            LineKind::Context => (' ', 1, 1),
            LineKind::Removed => ('-', 1, 0),
            LineKind::Added => ('+', 0, 1),
        };
        body_line(&mut content, mark, &line.text);
        old_lines += old;
        new_lines += new;
    }
    let mut body = String::new();
    let (old_start, new_start) = (hunk.old_start, hunk.new_start);
    write_hunk(&mut body, &PatchHunk { old_start, old_lines, new_start, new_lines, content });
    body
}

/// Lines that a diff adds and removes. Inside a hunk every line counts as what its first character says, so that an added
/// line `++ x` is not taken for a header; outside, nothing counts.
pub fn changed_lines(diff: &str) -> (u64, u64) {
    let (mut added, mut removed) = (0, 0);
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    for line in diff.lines() {
        if old_left == 0 && new_left == 0 {
            if let Some((old, new)) = hunk_lengths(line) {
                (old_left, new_left) = (old, new);
            }
            continue;
        }
        match line.as_bytes().first() {
            Some(b'+') => {
                added += 1;
                new_left = new_left.saturating_sub(1);
            }
            Some(b'-') => {
                removed += 1;
                old_left = old_left.saturating_sub(1);
            }
            Some(b'\\') => {}
            Some(_) | None => {
                old_left = old_left.saturating_sub(1);
                new_left = new_left.saturating_sub(1);
            }
        }
    }
    (added, removed)
}

/// Lengths from `@@ -a,b +c,d @@`; a length that is not written is 1.
fn hunk_lengths(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let length = |range: &str| {
        let (start, length) = range.split_once(',').unwrap_or((range, "1"));
        start.parse::<u64>().ok().and_then(|_| length.parse().ok())
    };
    let old = length(words.next()?)?;
    let new = length(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

/// The hunks of these changes: each with its context, and near ones together.
pub(super) fn hunks(input: &InternedInput<&str>, changes: &[Change]) -> Vec<PatchHunk> {
    let (before_len, after_len) = (input.before.len() as u32, input.after.len() as u32);
    let mut hunks = Vec::new();
    let mut group: Vec<Change> = Vec::new();
    let mut groups = Vec::new();
    for (before, after) in changes {
        if let Some((last, _)) = group.last()
            && before.start - last.end > 2 * CONTEXT
        {
            groups.push(std::mem::take(&mut group));
        }
        group.push((before.clone(), after.clone()));
    }
    groups.extend((!group.is_empty()).then_some(group));

    for group in groups {
        let (Some((first_before, first_after)), Some((last_before, last_after))) =
            (group.first(), group.last())
        else {
            continue;
        };
        let lead = CONTEXT.min(first_before.start);
        let trail = CONTEXT.min(before_len - last_before.end);
        let old = (first_before.start - lead)..(last_before.end + trail);
        let new = (first_after.start - lead)..(last_after.end + trail).min(after_len);
        let mut content = String::new();
        let mut at = old.start;
        for (before, after) in &group {
            for index in at..before.start {
                body_line(&mut content, ' ', input.interner[input.before[index as usize]]);
            }
            for index in before.clone() {
                body_line(&mut content, '-', input.interner[input.before[index as usize]]);
            }
            for index in after.clone() {
                body_line(&mut content, '+', input.interner[input.after[index as usize]]);
            }
            at = before.end;
        }
        for index in at..old.end {
            body_line(&mut content, ' ', input.interner[input.before[index as usize]]);
        }
        hunks.push(PatchHunk {
            old_start: start_line(&old),
            old_lines: u64::from(old.end - old.start),
            new_start: start_line(&new),
            new_lines: u64::from(new.end - new.start),
            content,
        });
    }
    hunks
}

/// The two lines that name the file, each side `/dev/null` where there is none.
pub(super) fn file_header(into: &mut String, path: &str, is_before: bool, is_after: bool) {
    for (mark, side, is_there) in [("---", "a/", is_before), ("+++", "b/", is_after)] {
        if is_there {
            header(into, mark, side, path);
        } else {
            into.push_str(mark);
            into.push_str(" /dev/null\n");
        }
    }
}

/// One hunk with its `@@` line.
pub(super) fn write_hunk(into: &mut String, hunk: &PatchHunk) {
    // Writing to a String cannot fail.
    let _ =
        writeln!(into, "@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
    into.push_str(&hunk.content);
}

/// An empty range is named by the line before it, as every diff tool does.
fn start_line(range: &Range<u32>) -> u64 {
    u64::from(if range.is_empty() { range.start } else { range.start + 1 })
}

fn body_line(into: &mut String, mark: char, line: &str) {
    into.push(mark);
    into.push_str(line);
    if !line.ends_with('\n') {
        into.push('\n');
        into.push_str(NO_NEWLINE);
        into.push('\n');
    }
}

fn header(into: &mut String, mark: &str, side: &str, path: &str) {
    into.push_str(mark);
    into.push(' ');
    push_path(into, side, path);
    into.push('\n');
}

/// A path that could break the line it stands in is quoted as git quotes it.
pub(super) fn push_path(into: &mut String, side: &str, path: &str) {
    let quoted = path.chars().any(|c| c.is_control() || c == '"' || c == '\\');
    if quoted {
        into.push('"');
    }
    into.push_str(side);
    for c in path.chars() {
        match c {
            '"' | '\\' if quoted => {
                into.push('\\');
                into.push(c);
            }
            '\n' => into.push_str("\\n"),
            '\t' => into.push_str("\\t"),
            '\r' => into.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(into, "\\{:03o}", u32::from(c));
            }
            c => into.push(c),
        }
    }
    if quoted {
        into.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_inside_hunks_only() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n--- b\n+++ c\n+d\n\
                    \\ No newline at end of file\n@@ -9 +10,0 @@ fn\n-e\n--- not in a hunk\n";
        assert_eq!(changed_lines(diff), (2, 2));
        assert_eq!(changed_lines(""), (0, 0));
        assert_eq!(changed_lines("@@ -x +y @@\n+a"), (0, 0));
    }

    #[test]
    fn a_text_that_is_too_long_to_compare_is_taken_out_and_put_in_whole() {
        let body = replacing_body(0, "a\nb\n", "a\nc");
        assert_eq!(body, "@@ -1,2 +1,2 @@\n-a\n-b\n+a\n+c\n\\ No newline at end of file\n");
        assert_eq!(changed_lines(&body), (2, 2));
        assert_eq!(replacing_body(0, "", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
    }

    #[test]
    fn r002_78_79_one_changed_line_has_three_lines_of_context() {
        let diff =
            unified_diff("src/a.rs", Some("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), "1\n2\n3\n4\nV\n6\n7\n8\n9\n");
        assert_eq!(
            diff.unified,
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8\n"
        );
        assert_eq!(
            diff.hunks,
            vec![PatchHunk {
                old_start: 2,
                old_lines: 7,
                new_start: 2,
                new_lines: 7,
                content: " 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8\n".to_owned()
            }]
        );
    }

    #[test]
    fn far_changes_are_two_hunks_and_near_ones_are_one() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let far = unified_diff("a", Some(&old), &old.replace("\n2\n", "\nx\n").replace("\n19\n", "\ny\n"));
        let near = unified_diff("a", Some(&old), &old.replace("\n2\n", "\nx\n").replace("\n8\n", "\ny\n"));
        assert_eq!((far.hunks.len(), near.hunks.len()), (2, 1));
        assert_eq!(
            far.hunks.iter().map(|h| (h.old_start, h.old_lines)).collect::<Vec<_>>(),
            vec![(1, 5), (16, 5)]
        );
    }

    #[test]
    fn a_new_file_comes_from_dev_null_and_a_missing_line_end_is_said() {
        let diff = unified_diff("n.txt", None, "a\nb");
        assert_eq!(
            diff.unified,
            "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn a_path_cannot_forge_a_header_line() {
        let diff = unified_diff("a\n+++ b/evil", Some("x\n"), "y\n");
        assert_eq!(diff.unified.lines().filter(|line| line.starts_with("+++ ")).count(), 1);
    }

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(unified_diff("a", Some("x\n"), "x\n"), TextDiff { unified: String::new(), hunks: vec![] });
    }
}
