//! Bytes in pieces, as sockets and pipes give them.
//!
//! Where the cuts are follows from the bytes alone, so that an input needs no control bytes and a crash repeats itself.

use std::io::{self, BufRead, Read};

/// Bytes of filler in one piece.
const FILLER_PIECE: usize = 64 << 10;

/// A number that follows from bytes (FNV-1a).
pub fn number_of(data: &[u8]) -> u64 {
    data.iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Whether something that costs time is tried with these bytes: once in `times` inputs.
pub fn once_in(data: &[u8], times: u64) -> bool {
    (number_of(data) >> 32).is_multiple_of(times)
}

/// The sizes of the pieces.
#[derive(Debug, Clone)]
struct Sizes {
    state: u64,
    most: u64,
}

impl Sizes {
    fn of(data: &[u8]) -> Self {
        let state = number_of(data) | 1;
        Self { state, most: [1, 3, 17, 300][(state >> 40) as usize % 4] }
    }

    fn next(&mut self) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        1 + (self.state % self.most) as usize
    }
}

/// The pieces themselves.
pub fn pieces(data: &[u8]) -> Vec<&[u8]> {
    let mut sizes = Sizes::of(data);
    let mut rest = data;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(sizes.next().min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// A text cut into two where a character ends.
pub fn halves(text: &str) -> (&str, &str) {
    let at = number_of(text.as_bytes()) as usize % (text.len() + 1);
    text.split_at(text.floor_char_boundary(at))
}

/// A stream of the pieces.
pub struct Stream<'a> {
    rest: &'a [u8],
    /// `None`: all at once.
    sizes: Option<Sizes>,
    /// What is left of the piece that was shown.
    shown: usize,
    /// Bytes that still follow the data, the same piece again and again.
    filler: usize,
    filler_piece: &'static [u8],
}

impl<'a> Stream<'a> {
    /// All in one piece.
    pub fn whole(data: &'a [u8]) -> Self {
        Self { rest: data, sizes: None, shown: 0, filler: 0, filler_piece: &[] }
    }

    /// In pieces.
    pub fn cut(data: &'a [u8]) -> Self {
        Self { sizes: Some(Sizes::of(data)), ..Self::whole(data) }
    }

    /// Followed by so many bytes that nobody holds.
    pub fn filled(data: &'a [u8], filler: usize, byte: u8) -> Self {
        static SPACES: [u8; FILLER_PIECE] = [b' '; FILLER_PIECE];
        static LETTERS: [u8; FILLER_PIECE] = [b'x'; FILLER_PIECE];
        let filler_piece = if byte == b' ' { SPACES.as_slice() } else { LETTERS.as_slice() };
        Self { filler, filler_piece, ..Self::whole(data) }
    }

    /// The bytes that come next; none at the end.
    pub fn show(&mut self) -> &[u8] {
        if self.rest.is_empty() {
            return &self.filler_piece[..self.filler.min(FILLER_PIECE)];
        }
        if self.shown == 0 {
            let size = self.sizes.as_mut().map_or(self.rest.len(), Sizes::next);
            self.shown = size.min(self.rest.len());
        }
        &self.rest[..self.shown]
    }

    /// So many of them were taken.
    pub fn pass(&mut self, bytes: usize) {
        if self.rest.is_empty() {
            self.filler -= bytes;
        } else {
            self.rest = &self.rest[bytes..];
            self.shown -= bytes;
        }
    }
}

impl BufRead for Stream<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.show())
    }

    fn consume(&mut self, bytes: usize) {
        self.pass(bytes);
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let shown = self.show();
        let taken = shown.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&shown[..taken]);
        self.pass(taken);
        Ok(taken)
    }
}
