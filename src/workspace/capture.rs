//! What a command printed, bounded: its first and its last part.

use std::collections::VecDeque;

/// Bytes kept of the start, and again of the end: a compiler's first error and its summary fit, a log does not fill
/// memory.
pub(super) const KEPT: usize = 64 * 1_024;

/// One stream of a command.
#[derive(Debug, Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Capture {
    /// Takes what was printed next.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..over);
        self.left_out += over as u64;
    }

    /// The text; bytes that are not UTF-8 become U+FFFD, and what was left out is named where it was.
    pub(super) fn text(&self) -> String {
        let (one, two) = self.tail.as_slices();
        let tail = [one, two].concat();
        if self.left_out == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&tail);
        format!("{head}\n[… {} bytes left out …]\n{tail}", self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::{Capture, KEPT};

    #[test]
    fn up_to_both_parts_nothing_is_left_out() {
        let mut capture = Capture::default();
        let mut printed = "é".repeat(KEPT - 1);
        for piece in printed.as_bytes().chunks(1_001) {
            capture.push(piece);
        }
        capture.push(b"yz");
        printed.push_str("yz");
        assert_eq!(capture.text(), printed);
    }

    #[test]
    fn the_middle_gives_way_to_its_size() {
        let mut capture = Capture::default();
        capture.push(&[b'a'; KEPT]);
        capture.push(&[b'b'; 7]);
        capture.push(&[b'c'; KEPT]);
        let expected = format!("{}\n[… 7 bytes left out …]\n{}", "a".repeat(KEPT), "c".repeat(KEPT));
        assert_eq!(capture.text(), expected);
    }
}
