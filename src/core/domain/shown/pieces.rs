//! A text that comes in pieces, each made safe to show as it comes.
//!
//! Owns what a piece needs of its neighbours: an accent stands on the letter before it, and what joins two pictures or two words
//! stands between both. So the end of the last piece is looked at again, and what joins waits for what it joins. Never shows
//! anything twice.

use super::characters::joins;
use super::{Kind, show};

/// Characters of the pieces before that are looked at again: a letter with all marks that it may have.
const LOOKED_AT_AGAIN: usize = 8;
/// Characters that wait. More in a row join nothing, and are shown as what they are.
const WAITING: usize = 8;

/// The text so far, as far as what comes next depends on it.
#[derive(Debug, Default)]
pub struct ShownPieces {
    before: String,
    waiting: String,
}

impl ShownPieces {
    /// What can be shown now that this came, read as text of several lines.
    pub fn push(&mut self, piece: &str) -> String {
        self.waiting.push_str(piece);
        let joining = self.waiting.chars().rev().take_while(|c| joins(*c)).take(WAITING + 1);
        let bytes: usize = joining.clone().map(char::len_utf8).sum();
        let waits = if joining.count() > WAITING { 0 } else { bytes };
        let rest = self.waiting.split_off(self.waiting.len() - waits);
        let ready = std::mem::replace(&mut self.waiting, rest);
        self.shown(&ready)
    }

    /// The text is over, or something else comes between: what waited joins nothing.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.waiting);
        let shown = self.shown(&rest);
        self.before.clear();
        shown
    }

    fn shown(&mut self, ready: &str) -> String {
        if ready.is_empty() {
            return String::new();
        }
        let whole = format!("{}{ready}", self.before);
        let shown = show(&whole, Kind::Lines);
        // Where what was shown would look another way now, the piece is read by itself.
        let new = shown.strip_prefix(show(&self.before, Kind::Lines).as_ref()).map(str::to_owned);
        let new = new.unwrap_or_else(|| show(ready, Kind::Lines).into_owned());
        let from = whole.char_indices().rev().nth(LOOKED_AT_AGAIN - 1).map_or(0, |(at, _)| at);
        self.before = whole.get(from..).unwrap_or_default().to_owned();
        new
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As it is shown when it comes in pieces that end at these characters.
    fn in_pieces(text: &str, ends: &[usize]) -> String {
        let mut pieces = ShownPieces::default();
        let (mut out, mut piece) = (String::new(), String::new());
        for (at, c) in text.chars().enumerate() {
            piece.push(c);
            if ends.contains(&at) {
                out.push_str(&pieces.push(&std::mem::take(&mut piece)));
            }
        }
        out + &pieces.push(&piece) + &pieces.finish()
    }

    #[test]
    fn a_text_is_shown_as_a_whole_wherever_its_pieces_end() {
        for text in [
            "A family \u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466} and a heart \u{2764}\u{fe0f}.",
            "cafe\u{301} and n\u{303}",
            "\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947} \u{926}\u{941}\u{928}\u{93f}\u{92f}\u{93e}",
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            "Voici\u{a0}: un\u{202f}; deux\u{a0}!",
        ] {
            assert_eq!(show(text, Kind::Lines), text, "it needs no mark as a whole");
            let count = text.chars().count();
            assert_eq!(in_pieces(text, &(0..count).collect::<Vec<_>>()), text);
            for end in 0..count {
                assert_eq!(in_pieces(text, &[end]), text, "{text:?} with a piece that ends at {end}");
            }
        }
    }

    #[test]
    fn what_joins_nothing_is_written_out_however_much_of_it_comes() {
        assert_eq!(in_pieces("a\u{200d}b", &[0, 1]), "a⟨U+200D⟩b");
        assert_eq!(in_pieces("a\u{a0}", &[0, 1]), "a⟨U+00A0⟩");
        let many = "\u{200d}".repeat(100);
        let mut pieces = ShownPieces::default();
        let shown = pieces.push(&many);
        assert!(pieces.waiting.is_empty() && shown == show(&many, Kind::Lines), "{shown}");
    }

    proptest! {
        #[test]
        fn nothing_that_hides_gets_through_between_two_pieces(
            text in "[a \u{301}\u{200d}\u{202e}\u{1f469}\u{fe0f}⟨\u{1b}]{0,20}", end in 0_usize..20
        ) {
            let shown = in_pieces(&text, &[end]);
            let obeyed = shown.contains(['\u{202e}', '\u{1b}']);
            prop_assert!(!obeyed, "{}", shown);
            prop_assert_eq!(super::super::reveal(&shown), Some(text));
        }
    }
}
