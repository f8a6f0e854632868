//! The smallest single range whose replacement turns one text into another, as an editor counts.
//!
//! Owns the way from two texts to one LSP `TextEdit`. A small range keeps cursors, folds and markers where they are.

use ropey::Rope;

use super::overlay::{Position, PositionEncoding};

/// What to replace in `old`, and by what: `(start, end, inserted)`. Whole characters only, and never between `\r` and
/// `\n`, since editors count those as one line end.
pub fn replacement<'a>(old: &str, new: &'a str, encoding: PositionEncoding) -> (Position, Position, &'a str) {
    let mut prefix = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    while !is_cut(old, prefix) || !is_cut(new, prefix) {
        prefix -= 1;
    }
    let most = old.len().min(new.len()) - prefix;
    let mut suffix = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(|(a, b)| a == b).count();
    while !is_cut(old, old.len() - suffix) || !is_cut(new, new.len() - suffix) {
        suffix -= 1;
    }
    let rope = Rope::from_str(old);
    let start = position_at(&rope, prefix, encoding);
    let end = position_at(&rope, old.len() - suffix, encoding);
    (start, end, &new[prefix..new.len() - suffix])
}

fn is_cut(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    text.is_char_boundary(at) && !(at > 0 && bytes[at - 1] == b'\r' && bytes.get(at) == Some(&b'\n'))
}

fn position_at(text: &Rope, byte: usize, encoding: PositionEncoding) -> Position {
    let char = text.byte_to_char(byte);
    let line = text.char_to_line(char);
    let start = text.line_to_char(line);
    let character = match encoding {
        PositionEncoding::Utf32 => char - start,
        PositionEncoding::Utf8 => byte - text.line_to_byte(line),
        PositionEncoding::Utf16 => text.char_to_utf16_cu(char) - text.char_to_utf16_cu(start),
    };
    Position {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        character: u32::try_from(character).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::edits::overlay::{ContentChange, Overlay};
    use proptest::prelude::*;

    #[test]
    fn only_the_changed_word_is_replaced() {
        let (start, end, text) = replacement("a\nb 𝄞 old c\n", "a\nb 𝄞 new c\n", PositionEncoding::Utf16);
        assert_eq!((start, end), (Position { line: 1, character: 5 }, Position { line: 1, character: 8 }));
        assert_eq!(text, "new");
    }

    proptest! {
        #[test]
        fn replacing_the_range_gives_the_new_text(
            old in "[ab𝄞é\r\n]{0,40}", new in "[ab𝄞é\r\n]{0,40}",
            encoding in prop_oneof![
                Just(PositionEncoding::Utf8), Just(PositionEncoding::Utf16), Just(PositionEncoding::Utf32)
            ],
        ) {
            let (start, end, text) = replacement(&old, &new, encoding);
            let mut overlay = Overlay::new();
            overlay.open("u", "l", 1, &old);
            let change = ContentChange { range: Some((start, end)), text: text.to_owned() };
            overlay.change("u", 2, &[change], encoding).unwrap();
            prop_assert_eq!(overlay.get("u").unwrap().text.to_string(), new);
        }
    }
}
