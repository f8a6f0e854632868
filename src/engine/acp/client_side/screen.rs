//! The output of one terminal, bounded: what came last is kept.
//!
//! Owns the cut, which is between characters. Never reads a stream.

use std::collections::VecDeque;

/// The last bytes of an output.
#[derive(Debug)]
pub(super) struct Screen {
    kept: VecDeque<u8>,
    most: usize,
    is_cut: bool,
}

impl Screen {
    /// Keeps at most so many bytes.
    pub(super) fn new(most: usize) -> Self {
        Self { kept: VecDeque::new(), most, is_cut: false }
    }

    /// Takes what was printed next.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(self.most)..];
        let over = (self.kept.len() + kept.len()).saturating_sub(self.most);
        self.is_cut |= over > 0 || kept.len() < bytes.len();
        self.kept.drain(..over);
        self.kept.extend(kept);
    }

    /// The text, and whether its beginning was left out. Half characters at a cut, and at the end when the rest is still to come,
    /// are left out; other bytes that are no UTF-8 become U+FFFD.
    pub(super) fn text(&self, is_complete: bool) -> (String, bool) {
        let bytes: Vec<u8> = self.kept.iter().copied().collect();
        let rest_of_one = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        let bytes = &bytes[if self.is_cut { rest_of_one } else { 0 }..];
        let bytes = if is_complete { bytes } else { &bytes[..bytes.len() - begun(bytes)] };
        (String::from_utf8_lossy(bytes).into_owned(), self.is_cut)
    }
}

/// Bytes at the end that begin a character.
fn begun(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|length| {
            std::str::from_utf8(&bytes[bytes.len() - length..])
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Screen;

    fn shown(most: usize, pieces: &[&[u8]], is_complete: bool) -> (String, bool) {
        let mut screen = Screen::new(most);
        pieces.iter().for_each(|piece| screen.push(piece));
        screen.text(is_complete)
    }

    #[test]
    fn the_beginning_gives_way_and_no_character_is_halved() {
        let euro = "€".as_bytes();
        for (most, pieces, is_complete, text, is_cut) in [
            (9, &[&b"one"[..], b" two"][..], true, "one two", false),
            (3, &[b"one", b" two"], true, "two", true),
            (3, &[b"one two"], true, "two", true),
            (0, &[b"x"], true, "", true),
            (0, &[], true, "", false),
            (3, &[euro, euro], true, "€", true),
            (4, &[euro, euro], true, "€", true),
            (5, &[euro, b"ab"], true, "€ab", false),
            (4, &[euro, b"ab"], true, "ab", true),
            (9, &[b"a", &euro[..2]], false, "a", false),
            (9, &[b"a", &euro[..2]], true, "a\u{fffd}", false),
            (9, &[b"a", &euro[..2], &euro[2..]], false, "a€", false),
            (9, &[b"\x80a\xff"], false, "\u{fffd}a\u{fffd}", false),
        ] {
            assert_eq!(shown(most, pieces, is_complete), (text.to_owned(), is_cut), "{most} {pieces:?}");
        }
    }
}
