//! Guesses the encoding of bytes that have no mark and are not UTF-8.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

/// How much is looked at, in bytes; more does not change the guess for text and costs time.
const PROBE: usize = 256 * 1_024;

/// The likely encoding of pieces of one file.
pub(super) fn guess<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    for piece in pieces {
        detector.feed(&piece[..piece.len().min(PROBE)], false);
    }
    detector.feed(b"", true);
    // The bytes were seen not to be UTF-8.
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::guess;

    #[test]
    fn western_and_japanese_texts_are_told_apart() {
        assert_eq!(guess([&b"Le caf\xe9 est tr\xe8s agr\xe9able \xe0 midi"[..]]).name(), "windows-1252");
        let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。ファイルを読む。");
        assert_eq!(guess([&japanese[..]]).name(), "Shift_JIS");
    }
}
