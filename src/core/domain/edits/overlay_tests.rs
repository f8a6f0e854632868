//! Tests of the overlay: positions, order, what is not known.

use proptest::prelude::*;
use ropey::Rope;

use super::{ChangeRefused, ContentChange, Overlay, Position, PositionEncoding, char_at};

const URI: &str = "file:///w/a.rs";
const ALL: [PositionEncoding; 3] = [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32];

#[test]
fn buffers_of_another_editor_are_seen_where_the_own_has_none_however_a_file_is_spelled() {
    // Given two editors, with one file open in both
    let (mut own, mut other) = (Overlay::new(), Overlay::new());
    own.open("file:///w/a%2Ers", "rust", 1, "own");
    other.open("file:///w/a.rs", "rust", 2, "other's");
    other.open("file:///w/b.rs", "rust", 3, "only there");
    // When the one is laid beneath the other
    own.lay_beneath(&other);
    // Then what is open in both is its own
    let seen: Vec<(&str, String)> = own.iter().map(|(uri, open)| (uri, open.text.to_string())).collect();
    assert_eq!(seen, [("file:///w/a%2Ers", "own".to_owned()), ("file:///w/b.rs", "only there".to_owned())]);
    assert_eq!(own.bytes(), "ownonly there".len());
}

fn at(line: u32, character: u32) -> Position {
    Position { line, character }
}

fn replace(start: Position, end: Position, text: &str) -> ContentChange {
    ContentChange { range: Some((start, end)), text: text.to_owned() }
}

/// The text after the changes, or why they were refused.
fn changed(
    text: &str,
    encoding: PositionEncoding,
    changes: &[ContentChange],
) -> Result<String, ChangeRefused> {
    let mut overlay = Overlay::new();
    overlay.open(URI, "rust", 1, text);
    let outcome = overlay.change(URI, 2, changes, encoding);
    let bytes: usize = overlay.iter().map(|(_, document)| document.text.len_bytes()).sum();
    assert_eq!(overlay.bytes(), bytes);
    match outcome {
        Ok(()) => Ok(overlay.get(URI).map(|document| document.text.to_string()).unwrap()),
        Err(refused) => {
            assert!(overlay.get(URI).is_none(), "a refused change makes the document unknown");
            Err(refused)
        }
    }
}

#[test]
fn characters_are_counted_in_the_negotiated_encoding() {
    // `a😀é|b`: the bar stands after 7 bytes, 4 UTF-16 units, 3 scalar values.
    for (encoding, character) in
        [(PositionEncoding::Utf8, 7), (PositionEncoding::Utf16, 4), (PositionEncoding::Utf32, 3)]
    {
        let here = at(1, character);
        assert_eq!(
            changed("x\na😀éb\n", encoding, &[replace(here, here, "|")]),
            Ok("x\na😀é|b\n".to_owned()),
            "{encoding:?}"
        );
    }
}

#[test]
fn a_position_inside_a_code_point_counts_as_its_start() {
    for (encoding, inside) in [(PositionEncoding::Utf8, 3), (PositionEncoding::Utf16, 2)] {
        assert_eq!(
            changed("a😀b", encoding, &[replace(at(0, inside), at(0, inside), "|")]),
            Ok("a|😀b".to_owned()),
            "{encoding:?}"
        );
    }
}

#[test]
fn a_character_past_the_end_of_its_line_means_the_end_of_the_line() {
    for encoding in ALL {
        for (text, then) in [("ab\ncd", "ab|\ncd"), ("ab\r\ncd", "ab|\r\ncd"), ("ab\rcd", "ab|\rcd")] {
            assert_eq!(
                changed(text, encoding, &[replace(at(0, 99), at(0, 99), "|")]),
                Ok(then.to_owned()),
                "{encoding:?} {text:?}"
            );
        }
    }
}

#[test]
fn the_end_of_the_text_can_be_written_to() {
    for encoding in ALL {
        for end in [at(2, 0), at(1, 0), at(1, 5)] {
            let then = changed("ab\n", encoding, &[replace(end, end, "c")]);
            assert_eq!(then, Ok("ab\nc".to_owned()), "{encoding:?} {end:?}");
        }
        assert_eq!(changed("", encoding, &[replace(at(0, 0), at(0, 0), "c")]), Ok("c".to_owned()));
    }
}

#[test]
fn changes_apply_one_after_the_other() {
    let changes = [
        replace(at(0, 0), at(1, 0), ""),
        replace(at(0, 1), at(0, 2), "EE"),
        ContentChange { range: None, text: "new\r\n".to_owned() },
        replace(at(0, 3), at(1, 0), "!"),
    ];
    assert_eq!(changed("ab\ncde\n", PositionEncoding::Utf16, &changes[..1]), Ok("cde\n".to_owned()));
    assert_eq!(changed("ab\ncde\n", PositionEncoding::Utf16, &changes[..2]), Ok("cEEe\n".to_owned()));
    assert_eq!(changed("ab\ncde\n", PositionEncoding::Utf16, &changes), Ok("new!".to_owned()));
}

#[test]
fn an_end_beyond_the_text_means_all_the_rest() {
    for end in [at(3, 0), at(2, 1), at(99, 0), at(u32::MAX, u32::MAX)] {
        for encoding in ALL {
            let then = changed("ab\ncd\n", encoding, &[replace(at(0, 1), end, "x")]);
            assert_eq!(then, Ok("ax".to_owned()), "{encoding:?} {end:?}");
        }
    }
}

#[test]
fn a_change_that_does_not_fit_makes_the_document_unknown() {
    for (start, end) in
        [(at(0, 2), at(0, 1)), (at(1, 0), at(0, 0)), (at(9, 0), at(9, 0)), (at(2, 1), at(2, 1))]
    {
        assert_eq!(
            changed("ab\n", PositionEncoding::Utf16, &[replace(start, end, "x")]),
            Err(ChangeRefused::BadRange),
            "{start:?} {end:?}"
        );
    }
}

#[test]
fn only_open_documents_change_and_a_snapshot_stays() {
    let mut overlay = Overlay::new();
    let whole = ContentChange { range: None, text: "new".to_owned() };
    assert_eq!(
        overlay.change(URI, 1, std::slice::from_ref(&whole), PositionEncoding::Utf8),
        Err(ChangeRefused::NotOpen)
    );
    overlay.open(URI, "rust", 1, "old");
    let before = overlay.clone();
    overlay.change(URI, 7, &[whole], PositionEncoding::Utf8).unwrap();
    let seen = |overlay: &Overlay| overlay.get(URI).map(|d| (d.version, d.text.to_string()));
    assert_eq!(seen(&before), Some((1, "old".to_owned())));
    assert_eq!(seen(&overlay), Some((7, "new".to_owned())));
    overlay.close(URI);
    assert_eq!(seen(&overlay), None);
    assert_eq!((overlay.iter().count(), overlay.bytes()), (0, 0));
}

/// An editor that opened version 3 with this text.
fn opened(text: &str) -> Overlay {
    let mut overlay = Overlay::new();
    overlay.open(URI, "rust", 3, text);
    overlay
}

/// One change of the overlay: a letter in front.
fn front(overlay: &mut Overlay, version: i64, text: &str) -> Result<(), ChangeRefused> {
    let changes = [replace(at(0, 0), at(0, 0), text)];
    overlay.change(URI, version, &changes, PositionEncoding::Utf8)
}

fn text(overlay: &Overlay) -> Option<String> {
    overlay.get(URI).map(|document| document.text.to_string())
}

#[test]
fn a_change_behind_a_later_one_makes_the_document_unknown_and_it_stays_open() {
    // Given version 5, which came before version 4
    let mut overlay = opened("x");
    assert_eq!(front(&mut overlay, 5, "five "), Ok(()));
    // When version 4 comes
    let late = front(&mut overlay, 4, "four ");
    // Then neither text is believed, and no later change of a place brings it back
    assert_eq!((late, text(&overlay)), (Err(ChangeRefused::OutOfOrder), None));
    assert_eq!(front(&mut overlay, 6, "six "), Err(ChangeRefused::NotOpen));
    assert_eq!((overlay.hides(URI), overlay.is_empty(), overlay.bytes()), (true, false, 0));
    assert!(overlay.hides("file:///w/%61.rs"), "however it is spelled");
    assert!(!overlay.hides("file:///w/b.rs"));
}

#[test]
fn an_unknown_document_is_known_again_with_its_whole_text_when_that_is_not_late_too() {
    let mut overlay = opened("x");
    overlay.give_up(URI);
    assert_eq!(front(&mut overlay, 7, "seven "), Err(ChangeRefused::NotOpen));
    let whole = |text: &str| ContentChange { range: None, text: text.to_owned() };
    let mut change = |version, changes: &[ContentChange]| {
        let outcome = overlay.change(URI, version, changes, PositionEncoding::Utf8);
        (outcome, text(&overlay), overlay.hides(URI))
    };
    assert_eq!(change(6, &[whole("six")]), (Err(ChangeRefused::NotOpen), None, true));
    let changes = [
        whole("not this"),
        replace(at(9, 9), at(0, 0), "!"),
        whole("eight"),
        replace(at(0, 0), at(0, 1), "E"),
    ];
    assert_eq!(change(8, &changes), (Ok(()), Some("Eight".to_owned()), false));
    assert_eq!(overlay.get(URI).map(|document| document.language_id.as_str()), Some("rust"));
    assert_eq!(overlay.bytes(), "Eight".len());
    overlay.give_up(URI);
    overlay.open(URI, "rust", 1, "opened again");
    assert_eq!((text(&overlay).as_deref(), overlay.hides(URI)), (Some("opened again"), false));
}

#[test]
fn an_editor_without_versions_or_with_one_twice_keeps_the_order_itself() {
    for versions in [[0, 0, 0], [4, 4, 4], [3, 3, 4], [9, 0, 0]] {
        let mut overlay = opened("x");
        for version in versions {
            assert_eq!(front(&mut overlay, version, "-"), Ok(()), "{versions:?}");
        }
        assert_eq!(text(&overlay).as_deref(), Some("---x"), "{versions:?}");
    }
}

#[test]
fn what_was_saved_hides_nothing_until_it_is_changed_again() {
    let mut overlay = opened("x");
    overlay.give_up_all();
    overlay.saved(URI);
    assert!(!overlay.hides(URI) && !overlay.is_empty());
    assert_eq!(front(&mut overlay, 4, "y"), Err(ChangeRefused::NotOpen));
    assert!(overlay.hides(URI));
    // Another editor that knows nothing of it sees it so too
    let mut other = Overlay::new();
    other.lay_beneath(&overlay);
    assert!(other.hides(URI));
    overlay.close(URI);
    assert!(!overlay.hides(URI) && overlay.is_empty());
}

/// Byte offset of a position by the letter of LSP 3.17, on a plain string.
fn naive(text: &str, position: Position, encoding: PositionEncoding) -> Option<usize> {
    let mut starts = vec![0];
    let bytes = text.as_bytes();
    for at in 0..bytes.len() {
        if bytes[at] == b'\n' || (bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
            starts.push(at + 1);
        }
    }
    let line = position.line as usize;
    if line == starts.len() && position.character == 0 {
        return Some(text.len());
    }
    let start = *starts.get(line)?;
    let end = starts.get(line + 1).copied().unwrap_or(text.len());
    let content = text[start..end].trim_end_matches(['\r', '\n']);
    let mut left = position.character as usize;
    let mut offset = start;
    for c in content.chars() {
        let width = match encoding {
            PositionEncoding::Utf8 => c.len_utf8(),
            PositionEncoding::Utf16 => c.len_utf16(),
            PositionEncoding::Utf32 => 1,
        };
        if left < width {
            break;
        }
        left -= width;
        offset += c.len_utf8();
    }
    Some(offset)
}

proptest! {
    #[test]
    fn the_overlay_agrees_with_a_plain_string(
        text in "[aé😀\r\n]{0,24}",
        edits in proptest::collection::vec(((0..6_u32, 0..8_u32), (0..6_u32, 0..8_u32), "[b漢\r\n]{0,4}"), 1..5),
        which in 0..3_usize,
    ) {
        let encoding = ALL[which];
        let mut model = Some(text.clone());
        let mut changes = Vec::new();
        for ((line, character), (end_line, end_character), new) in edits {
            let (start, end) = (at(line, character), at(end_line, end_character));
            changes.push(replace(start, end, &new));
            model = model.and_then(|mut text| {
                let from = naive(&text, start, encoding)?;
                let to = naive(&text, end, encoding).unwrap_or(text.len());
                (from <= to).then(|| {
                    text.replace_range(from..to, &new);
                    text
                })
            });
        }
        prop_assert_eq!(changed(&text, encoding, &changes).ok(), model);
    }

    #[test]
    fn every_place_has_one_position(text in "[aé😀\r\n]{0,24}", line in 0..9_u32, character in 0..9_u32) {
        for encoding in ALL {
            let rope = Rope::from_str(&text);
            let place = char_at(&rope, at(line, character), encoding).map(|place| rope.char_to_byte(place));
            prop_assert_eq!(place, naive(&text, at(line, character), encoding));
        }
    }
}
