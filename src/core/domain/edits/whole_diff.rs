//! Diffs of files that go or get another path, as git writes them.
//!
//! Owns the lines above the hunks. The hunks are those of `diff`. Never reads one: that is `patch`, with `git_header`.

use imara_diff::InternedInput;

use super::changes::changes;
use super::diff::{TextDiff, file_header, hunks, push_path, write_hunk};

/// A file that goes, with the text that it has.
pub fn deleted_diff(path: &str, old: &str) -> TextDiff {
    let mut unified = String::new();
    begin(&mut unified, path, path);
    unified.push_str("deleted file mode 100644\n");
    with_hunks(unified, old, "", |unified| file_header(unified, path, true, false))
}

/// A file that gets another path, and another text where there is one.
pub fn renamed_diff(from: &str, to: &str, old: &str, new: Option<&str>) -> TextDiff {
    let mut unified = String::new();
    begin(&mut unified, from, to);
    for (mark, path) in [("rename from ", from), ("rename to ", to)] {
        unified.push_str(mark);
        push_path(&mut unified, "", path);
        unified.push('\n');
    }
    with_hunks(unified, old, new.unwrap_or(old), |unified| {
        for (mark, side, path) in [("--- ", "a/", from), ("+++ ", "b/", to)] {
            unified.push_str(mark);
            push_path(unified, side, path);
            unified.push('\n');
        }
    })
}

fn begin(unified: &mut String, from: &str, to: &str) {
    unified.push_str("diff --git ");
    push_path(unified, "a/", from);
    unified.push(' ');
    push_path(unified, "b/", to);
    unified.push('\n');
}

fn with_hunks(mut unified: String, old: &str, new: &str, names: impl FnOnce(&mut String)) -> TextDiff {
    let input = InternedInput::new(old, new);
    let hunks = hunks(&input, &changes(&input).changes);
    if !hunks.is_empty() {
        names(&mut unified);
    }
    hunks.iter().for_each(|hunk| write_hunk(&mut unified, hunk));
    TextDiff { unified, hunks }
}

#[cfg(test)]
mod tests {
    use super::super::git_header::HeaderChange;
    use super::super::patch::parse;
    use super::*;

    #[test]
    fn r002_78_what_goes_or_moves_is_written_as_git_writes_it_and_read_again() {
        let gone = deleted_diff("a b", "x\ny");
        assert_eq!(
            gone.unified,
            "diff --git a/a b b/a b\ndeleted file mode 100644\n--- a/a b\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n\\ No newline \
             at end of file\n"
        );
        let moved = renamed_diff("x\ty", "z", "1\n", Some("2\n"));
        assert_eq!(
            moved.unified,
            "diff --git \"a/x\\ty\" b/z\nrename from \"x\\ty\"\nrename to z\n--- \"a/x\\ty\"\n+++ b/z\n@@ -1,1 +1,1 @@\n-1\n+2\n"
        );
        let all = [
            gone.unified,
            moved.unified,
            renamed_diff("m", "n o", "", None).unified,
            deleted_diff("e", "").unified,
        ];
        let read = parse(&all.concat()).unwrap();
        let seen: Vec<_> = read
            .iter()
            .map(|file| {
                (file.old_path.as_deref(), file.new_path.as_deref(), file.header.change, file.hunks.len())
            })
            .collect();
        use HeaderChange::{Deleted, Renamed};
        assert_eq!(
            seen,
            [
                (Some("a b"), None, Deleted, 1),
                (Some("x\ty"), Some("z"), Renamed, 1),
                (Some("m"), Some("n o"), Renamed, 0),
                (Some("e"), None, Deleted, 0),
            ]
        );
    }
}
