//! Diffs of models and engines: reading them, putting them into texts, and what we write ourselves.
//!
//! The hunks of a diff that was read, put into the text that they come from, give the text that they lead to. A diff of our
//! own is read without a repair and gives the new text. A replacement gives it too, however the editor counts. Input: a diff;
//! or two texts with a zero byte between them.

use breadboard_core::domain::edits::apply::{TextEdit, apply_edits, apply_hunks, keep_line_ends};
use breadboard_core::domain::edits::diff::unified_diff;
use breadboard_core::domain::edits::overlay::{ContentChange, Overlay, PositionEncoding};
use breadboard_core::domain::edits::patch::{FilePatch, Hunk, LineKind, parse};
use breadboard_core::domain::edits::replace::replacement;

/// Furthest line at which a text is built for a hunk.
const MOST_LINES: u64 = 4_096;

/// See the module.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match text.split_once('\0') {
        None => foreign(&text),
        Some((old, new)) => {
            our_own(old, new);
            by_replacement(old, new);
            by_edit(old, new);
            line_ends(old, new);
            if let Ok(files) = parse(new) {
                // Whether it fits is not known; what it gives is text, or a conflict that names a hunk.
                for file in files {
                    if let Err(conflict) = apply_hunks(old, &file.hunks) {
                        assert!((1..=file.hunks.len()).contains(&conflict.number));
                    }
                }
            }
        }
    }
}

fn foreign(diff: &str) {
    let Ok(files) = parse(diff) else { return };
    assert!(files.iter().any(FilePatch::says_something));
    for file in files {
        assert!(file.hunks.iter().all(|hunk| !hunk.lines.is_empty()), "an empty hunk");
        if let Some((before, after)) = texts_of(&file) {
            assert_eq!(apply_hunks(&before, &file.hunks), Ok(after), "{file:?}");
        }
    }
}

/// The text that the hunks come from and the one that they lead to, with lines of their own between them. `None` where there
/// is no such text: hunks that overlap, show nothing of what is there, or have a line without end in the middle.
fn texts_of(file: &FilePatch) -> Option<(String, String)> {
    let (mut before, mut after, mut line) = (String::new(), String::new(), 1);
    for (index, hunk) in file.hunks.iter().enumerate() {
        let is_last = index + 1 == file.hunks.len();
        if hunk.old_lines().next().is_none() || hunk.old_start < line || hunk.old_start > MOST_LINES {
            return None;
        }
        while line < hunk.old_start {
            let filler = format!("\u{1}line {line}\n");
            before.push_str(&filler);
            after.push_str(&filler);
            line += 1;
        }
        for (side, text) in [(LineKind::Added, &mut before), (LineKind::Removed, &mut after)] {
            let lines: Vec<&str> =
                hunk.lines.iter().filter(|line| line.kind != side).map(|line| line.text.as_str()).collect();
            let bare = lines.iter().position(|line| !line.ends_with('\n'));
            if bare.is_some_and(|at| !is_last || at + 1 < lines.len()) {
                return None;
            }
            text.extend(lines);
        }
        line += hunk.old_lines().count() as u64;
    }
    Some((before, after))
}

fn our_own(old: &str, new: &str) {
    let diff = unified_diff("a\tb/ü", Some(old), new);
    if old == new {
        assert_eq!((diff.unified.as_str(), diff.hunks.len()), ("", 0));
        return;
    }
    let files = parse(&diff.unified).expect("a diff of our own");
    let [file] = files.as_slice() else { panic!("one file became {}", files.len()) };
    assert_eq!((file.hunks.len(), file.warnings.as_slice()), (diff.hunks.len(), [].as_slice()));
    assert_eq!(apply_hunks(old, &file.hunks).as_deref(), Ok(new));
    let said = |hunk: &Hunk| (hunk.old_start, hunk.new_start);
    let expected: Vec<_> = diff.hunks.iter().map(|hunk| (hunk.old_start, hunk.new_start)).collect();
    assert_eq!(file.hunks.iter().map(said).collect::<Vec<_>>(), expected);
}

fn by_replacement(old: &str, new: &str) {
    for encoding in [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32] {
        let (start, end, text) = replacement(old, new, encoding);
        let mut overlay = Overlay::new();
        overlay.open("u", "l", 1, old);
        let change = ContentChange { range: Some((start, end)), text: text.to_owned() };
        overlay.change("u", 2, &[change], encoding).expect("the range lies in the text");
        assert_eq!(overlay.get("u").map(|open| open.text.to_string()).as_deref(), Some(new), "{encoding:?}");
    }
}

/// One exact replacement: the first line of the old text by the new one.
fn by_edit(old: &str, new: &str) {
    let wanted = old.split_inclusive('\n').next().unwrap_or_default();
    let edit = TextEdit { old_text: wanted.to_owned(), new_text: new.to_owned() };
    match apply_edits(old, &[edit]) {
        Ok(result) => {
            // The line was there once, and what stood behind it still does.
            assert!(result.ends_with(&old[wanted.len()..]));
            assert_eq!(old.matches(wanted).count(), 1);
        }
        Err(conflict) => assert!(wanted.is_empty() || conflict.number == 1),
    }
}

fn line_ends(old: &str, new: &str) {
    let kept = keep_line_ends(old, new);
    let bare = |text: &str| -> Vec<String> {
        text.split_inclusive('\n').map(|line| line.trim_end_matches(['\r', '\n']).to_owned()).collect()
    };
    assert_eq!(bare(&kept), bare(new), "more than line ends changed");
    if !old.contains('\r') {
        assert!(!kept.contains('\r') || new.contains('\r'));
    }
}
