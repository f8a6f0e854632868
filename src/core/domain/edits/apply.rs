//! Putting a change into a text.
//!
//! Owns where a hunk belongs and which line ends the result has. A hunk goes where it says, else where its old lines
//! are found and are unique; anything else is a conflict. Never guesses, never writes.

use imara_diff::{Algorithm, Diff, InternedInput};

use super::nearest;
use super::patch::{Hunk, LineKind};
use super::place::{HunkPlaces, body};

/// Why a change does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Which hunk or edit, from 1.
    pub number: usize,
    /// One sentence.
    pub reason: String,
}

/// Whether the line numbers of hunks are those of the text that they are put into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineNumbers {
    /// They were made from it, as far as anybody knows: where the lines of a hunk stand at its number, they are the ones meant.
    Hold,
    /// They were made from another text, or from a part of it: the lines of a hunk count alone, and must stand there once.
    Unsure,
}

/// One exact replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// What is there, once.
    pub old_text: String,
    /// What comes instead.
    pub new_text: String,
}

/// The text with all hunks applied.
pub fn apply_hunks(old: &str, hunks: &[Hunk]) -> Result<String, Conflict> {
    apply_numbered(old, hunks, LineNumbers::Hold)
}

/// The same, of hunks whose numbers may be those of another text.
pub(crate) fn apply_numbered(old: &str, hunks: &[Hunk], numbers: LineNumbers) -> Result<String, Conflict> {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let places = HunkPlaces::of(&lines);
    let mut placed = Vec::with_capacity(hunks.len());
    let mut moved = numbers == LineNumbers::Unsure;
    for (index, hunk) in hunks.iter().enumerate() {
        let place = places.locate(hunk, moved).map_err(|reason| Conflict { number: index + 1, reason })?;
        moved |= place.moved;
        placed.push((index, place));
    }
    // What an engine told in another order is put in the order of the file.
    placed.sort_by_key(|(index, place)| (place.at, *index));
    let mut out = String::with_capacity(old.len() + 256);
    let mut done = 0usize;
    for (index, place) in placed {
        let hunk = &hunks[index];
        if place.at < done {
            return Err(Conflict { number: index + 1, reason: "It overlaps the hunk before it.".to_owned() });
        }
        out.extend(lines[done..place.at].iter().copied());
        let count = hunk.old_lines().count();
        if place.exact {
            for line in hunk.lines.iter().filter(|line| line.kind != LineKind::Removed) {
                out.push_str(&line.text);
            }
        } else {
            write_with_own_line_ends(&mut out, &lines, place.at, count, hunk);
        }
        done = place.at + count;
    }
    out.extend(lines[done..].iter().copied());
    Ok(out)
}

/// The text with all edits applied, in order. Each `old_text` must occur exactly once. Line ends of an edit follow those
/// of the file.
pub fn apply_edits(old: &str, edits: &[TextEdit]) -> Result<String, Conflict> {
    let crlf = mostly_crlf(old);
    let mut text = old.to_owned();
    for (index, edit) in edits.iter().enumerate() {
        let refuse = |reason: String| Conflict { number: index + 1, reason };
        if edit.old_text.is_empty() {
            return Err(refuse("old_text is empty, so there is no place for it.".to_owned()));
        }
        let mut wanted = edit.old_text.clone();
        let mut by = edit.new_text.clone();
        if !text.contains(&wanted) && crlf && !wanted.contains('\r') {
            wanted = wanted.replace('\n', "\r\n");
        }
        if crlf && !by.contains('\r') {
            by = by.replace('\n', "\r\n");
        }
        let found = occurrences(&text, &wanted);
        match found.as_slice() {
            [at] => text.replace_range(*at..*at + wanted.len(), &by),
            [] => return Err(refuse(nearest::not_found(&text, &wanted))),
            many => return Err(refuse(nearest::several(&text, many))),
        }
    }
    Ok(text)
}

/// The new text with the line ends of the old one: a line that stays keeps its own, a new one takes those of its
/// neighbour. For whole files that a model wrote, which knows nothing of line ends.
pub fn keep_line_ends(old: &str, new: &str) -> String {
    if old.is_empty() || new.contains('\r') {
        return new.to_owned();
    }
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    // A carriage return that no line feed follows is a character of its line.
    let body = |line: &str| line[..line.len() - ending(line).len()].to_owned();
    let bare = |text: &[&str]| text.iter().map(|line| body(line) + "\n").collect::<String>();
    let (before, after) = (bare(&old_lines), bare(&new_lines));
    let input = InternedInput::new(before.as_str(), after.as_str());
    let diff = Diff::compute(Algorithm::Histogram, &input);
    // Which old line each new line is, when it is one.
    let mut origin: Vec<Option<usize>> = vec![None; new_lines.len()];
    let (mut at_old, mut at_new) = (0usize, 0usize);
    for hunk in diff.hunks() {
        while at_new < hunk.after.start as usize {
            origin[at_new] = Some(at_old);
            (at_old, at_new) = (at_old + 1, at_new + 1);
        }
        (at_old, at_new) = (hunk.before.end as usize, hunk.after.end as usize);
    }
    while at_new < new_lines.len() {
        origin[at_new] = Some(at_old);
        (at_old, at_new) = (at_old + 1, at_new + 1);
    }
    let mut out = String::with_capacity(new.len() + new_lines.len());
    let mut neighbour = ending(old_lines[0]);
    for (index, line) in new_lines.iter().enumerate() {
        let own = origin[index].and_then(|at| old_lines.get(at)).map(|old| ending(old));
        if let Some(own) = own
            && !own.is_empty()
        {
            neighbour = own;
        }
        out.push_str(&body(line));
        let last = index + 1 == new_lines.len();
        match own {
            Some("") if last => {}
            Some(own) if !own.is_empty() => out.push_str(own),
            Some(_) | None if last && !line.ends_with('\n') => {}
            Some(_) | None => out.push_str(if neighbour.is_empty() { "\n" } else { neighbour }),
        }
    }
    out
}

/// The diff was written without regard to line ends: lines that stay keep theirs, new ones take those of the line before
/// them, and the end of the file stays as it was.
fn write_with_own_line_ends(out: &mut String, lines: &[&str], at: usize, count: usize, hunk: &Hunk) {
    let mut own = lines[at..at + count].iter();
    let mut neighbour =
        lines[..=at].iter().rev().map(|line| ending(line)).find(|end| !end.is_empty()).unwrap_or(
            "
",
        );
    let at_end = at + count == lines.len();
    let bare_end = at_end && lines.last().is_some_and(|line| !line.ends_with('\n'));
    let mut written: Vec<(String, &str)> = Vec::new();
    for line in &hunk.lines {
        match line.kind {
            LineKind::Context | LineKind::Removed => {
                let have = own.next().copied().unwrap_or("");
                if !ending(have).is_empty() {
                    neighbour = ending(have);
                }
                if line.kind == LineKind::Context {
                    written.push((body(have).to_owned(), neighbour));
                }
            }
            LineKind::Added => written.push((body(&line.text).to_owned(), neighbour)),
        }
    }
    let last = written.len().saturating_sub(1);
    let says_bare = hunk.lines.iter().any(|line| line.kind == LineKind::Added && !line.text.ends_with('\n'));
    for (index, (text, end)) in written.into_iter().enumerate() {
        out.push_str(&text);
        if !(index == last && at_end && (bare_end || says_bare)) {
            out.push_str(end);
        }
    }
}

fn ending(line: &str) -> &'static str {
    if line.ends_with("\r\n") {
        "\r\n"
    } else if line.ends_with('\n') {
        "\n"
    } else {
        ""
    }
}

fn mostly_crlf(text: &str) -> bool {
    let crlf = text.matches("\r\n").count();
    crlf > 0 && crlf * 2 >= text.matches('\n').count()
}

fn occurrences(text: &str, wanted: &str) -> Vec<usize> {
    // Overlapping places count too: `aa` in `aaa` has two, so neither may be chosen.
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(wanted)) {
        found.push(from + at);
        from += at + text[from + at..].chars().next().map_or(1, char::len_utf8);
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::diff::unified_diff;
    use super::super::patch::parse;
    use super::*;

    fn apply(old: &str, diff: &str) -> Result<String, Conflict> {
        apply_hunks(old, &parse(diff).unwrap()[0].hunks)
    }

    fn edit(old: &str, new: &str) -> TextEdit {
        TextEdit { old_text: old.to_owned(), new_text: new.to_owned() }
    }

    #[test]
    fn a_hunk_with_a_wrong_line_number_goes_where_its_lines_are_unique() {
        let old = "a\nb\nc\nd\ne\n";
        assert_eq!(apply(old, "@@ -90,2 +90,2 @@\n c\n-d\n+D\n"), Ok("a\nb\nc\nD\ne\n".to_owned()));
    }

    #[test]
    fn r002_84_a_hunk_that_fits_at_several_places_is_a_conflict() {
        let conflict = apply("x\ny\nx\ny\n", "@@ -9,1 +9,1 @@\n-x\n+z\n");
        assert_eq!(
            conflict,
            Err(Conflict {
                number: 1,
                reason: "Its lines are not at line 9 but at several other places.".to_owned()
            })
        );
    }

    #[test]
    fn after_a_moved_hunk_a_later_one_must_be_unique_too() {
        let old = "new\nhead\nsame\nmid\nsame\n";
        let diff = "@@ -1,1 +1,1 @@\n-head\n+HEAD\n@@ -3,1 +3,1 @@\n-same\n+SAME\n";
        assert_eq!(apply(old, diff).map_err(|conflict| conflict.number), Err(2));
    }

    #[test]
    fn r002_84_hunks_of_another_text_must_be_unique_though_their_number_fits() {
        let hunks = parse("@@ -1,1 +1,1 @@\n-same\n+SAME\n").unwrap().remove(0).hunks;
        let twice = "same\nmid\nsame\n";
        assert_eq!(apply_numbered(twice, &hunks, LineNumbers::Hold), Ok("SAME\nmid\nsame\n".to_owned()));
        assert_eq!(
            apply_numbered(twice, &hunks, LineNumbers::Unsure).map_err(|conflict| conflict.number),
            Err(1)
        );
        let once = "first\nsame\n";
        assert_eq!(apply_numbered(once, &hunks, LineNumbers::Unsure), Ok("first\nSAME\n".to_owned()));
    }

    #[test]
    fn hunks_that_were_told_in_another_order_go_where_their_lines_are() {
        let old = "a\nb\nc\nd\ne\n";
        let diff = "@@ -5,1 +5,1 @@\n-e\n+E\n@@ -1,1 +1,1 @@\n-a\n+A\n";
        assert_eq!(apply(old, diff), Ok("A\nb\nc\nd\nE\n".to_owned()));
        let twice = "@@ -1,1 +1,1 @@\n-a\n+A\n@@ -1,1 +1,1 @@\n-a\n+B\n";
        assert_eq!(apply(old, twice).map_err(|conflict| conflict.number), Err(2));
    }

    #[test]
    fn an_addition_without_surroundings_is_a_conflict_in_a_file_with_text() {
        assert!(apply("a\n", "@@ -0,0 +1,1 @@\n+b\n").is_err());
        assert_eq!(apply("", "@@ -0,0 +1,1 @@\n+b\n"), Ok("b\n".to_owned()));
    }

    #[test]
    fn a_crlf_file_stays_crlf_under_a_diff_with_bare_line_ends() {
        let old = "a\r\nb\r\nc\r\n";
        assert_eq!(
            apply(old, "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n"),
            Ok("a\r\nB\r\nB2\r\nc\r\n".to_owned())
        );
    }

    #[test]
    fn mixed_line_ends_stay_outside_the_changed_lines() {
        let old = "a\r\nb\nc\r\nd\n";
        assert_eq!(apply(old, "@@ -2,1 +2,1 @@\n-b\n+B\n"), Ok("a\r\nB\nc\r\nd\n".to_owned()));
        assert_eq!(keep_line_ends(old, "a\nB\nc\nd\n"), "a\r\nB\r\nc\r\nd\n");
    }

    #[test]
    fn a_missing_final_line_end_stays_missing() {
        assert_eq!(apply("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n"), Ok("a\nB".to_owned()));
        assert_eq!(apply("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n"), Ok("a\nb\nc".to_owned()));
        assert_eq!(apply_edits("a\r\nb", &[edit("b", "x\ny")]), Ok("a\r\nx\r\ny".to_owned()));
    }

    #[test]
    fn an_edit_must_fit_exactly_once() {
        assert_eq!(apply_edits("one two", &[edit("two", "2"), edit("one", "1")]), Ok("1 2".to_owned()));
        assert_eq!(
            apply_edits("aaa", &[edit("aa", "b")]),
            Err(Conflict {
                number: 1,
                reason: "old_text occurs 2 times, at the lines 1, 1; give more of its surroundings."
                    .to_owned()
            })
        );
        assert_eq!(apply_edits("x", &[edit("x", "y"), edit("x", "z")]).map_err(|c| c.number), Err(2));
        assert_eq!(apply_edits("a\r\nb\r\nc\r\n", &[edit("a\nb\n", "A\n")]), Ok("A\r\nc\r\n".to_owned()));
    }

    fn texts() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just("a"),
            Just("b"),
            Just("--- c"),
            Just("+++ d"),
            Just(""),
            Just("é @@ "),
            Just("\\ x")
        ];
        let end = prop_oneof![3 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
        (proptest::collection::vec((line, end), 0..24), any::<bool>()).prop_map(|(lines, ended)| {
            let mut text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
            if !ended && text.ends_with('\n') {
                text.pop();
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
        #[test]
        fn applying_the_diff_of_two_texts_gives_the_second(old in texts(), new in texts()) {
            let diff = unified_diff("f", Some(&old), &new);
            let result = if diff.unified.is_empty() {
                Ok(old.clone())
            } else {
                let files = parse(&diff.unified).unwrap();
                prop_assert_eq!(files.len(), 1);
                prop_assert_eq!(&files[0].warnings, &Vec::<String>::new());
                apply_hunks(&old, &files[0].hunks)
            };
            prop_assert_eq!(result, Ok(new));
        }
    }
}
