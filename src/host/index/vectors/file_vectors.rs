//! What is kept of one file: its pieces, each with its vector.
//!
//! Never knows where a piece was cut, or why.

use super::super::stamp::FileStamp;
use super::vector::PackedVector;

/// Half of a SHA-256.
pub(crate) type PieceHash = [u8; 16];

/// What is kept of one file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileVectors {
    /// Which version was read.
    pub stamp: FileStamp,
    /// Whether no later change can have the same stamp.
    pub is_settled: bool,
    /// Of its bytes as they were read.
    pub hash: PieceHash,
    /// Its pieces, in order.
    pub pieces: Vec<PieceVector>,
}

/// A stretch of lines with its vector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PieceVector {
    /// First line, from 1.
    pub start: u32,
    /// Last line, inclusive.
    pub end: u32,
    /// Of the text that the model read.
    pub hash: PieceHash,
    /// What it said.
    pub vector: PackedVector,
}

impl FileVectors {
    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.vector.bytes() + size_of::<PieceVector>()).sum::<usize>() + 128
    }

    /// Its pieces as bytes.
    pub(super) fn pack(&self) -> Vec<u8> {
        let length = self.pieces.first().map_or(0, |piece| piece.vector.length());
        let mut packed = (length as u32).to_le_bytes().to_vec();
        // A model whose vectors change their length is read anew where it did.
        let alike = self.pieces.iter().filter(|piece| piece.vector.length() == length);
        for PieceVector { start, end, hash, vector } in alike {
            packed.extend_from_slice(&start.to_le_bytes());
            packed.extend_from_slice(&end.to_le_bytes());
            packed.extend_from_slice(hash);
            vector.put(&mut packed);
        }
        packed
    }

    /// The same back; `None` when the bytes are no pieces.
    pub(super) fn unpack(mut packed: &[u8]) -> Option<Vec<PieceVector>> {
        let rest = &mut packed;
        let length = take_number(rest)? as usize;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (start, end) = (take_number(rest)?, take_number(rest)?);
            let (hash, after) = rest.split_first_chunk::<16>()?;
            *rest = after;
            pieces.push(PieceVector { start, end, hash: *hash, vector: PackedVector::take(rest, length)? });
        }
        Some(pieces)
    }
}

fn take_number(rest: &mut &[u8]) -> Option<u32> {
    let (number, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_as_they_were_and_damage_is_seen() {
        let piece = |start: u32, numbers: &[f32]| PieceVector {
            start,
            end: start + 4,
            hash: [start as u8; 16],
            vector: PackedVector::of(numbers),
        };
        let stamp = FileStamp { size: 1, modified: 2, changed: 3 };
        let pieces = vec![piece(1, &[1.0, 0.5]), piece(6, &[-1.0, 0.25])];
        let file = FileVectors { stamp, is_settled: true, hash: [7; 16], pieces: pieces.clone() };
        let packed = file.pack();
        assert_eq!(FileVectors::unpack(&packed), Some(pieces));
        assert_eq!(FileVectors::unpack(&packed[..packed.len() - 1]), None);
        assert_eq!(FileVectors::unpack(&[]), None);
        let none = FileVectors { pieces: Vec::new(), ..file };
        assert_eq!(FileVectors::unpack(&none.pack()), Some(Vec::new()));
    }
}
