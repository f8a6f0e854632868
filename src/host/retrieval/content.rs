//! Bytes of a file as text: opened beneath its root, bounded, decoded.
//!
//! Never opens a path in any other way than beneath the root's directory handle, so a link out of the root gives
//! nothing, even when it appears between the walk and the read.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::Dir;
use encoding_rs::Encoding;

use super::RetrievalError;
use crate::confined::{Links, NotOpened, NotRead, open_regular, read_bounded};

/// Largest file that a search reads; larger ones are data, not code.
pub(super) const SEARCH_LIMIT: u64 = 1 << 20;

/// Largest file that can be read by name.
pub(super) const READ_LIMIT: u64 = 16 << 20;

/// The text of a file beneath `dir`, or why there is none. `path` is how the caller named it. When `cancel` is set, no further
/// byte is read.
pub(super) fn load(
    dir: &Dir,
    rel: &str,
    limit: u64,
    path: &str,
    cancel: &AtomicBool,
) -> Result<String, RetrievalError> {
    let bytes = load_bytes(dir, rel, limit, path, cancel)?;
    decode(bytes).ok_or_else(|| RetrievalError::NotText(path.to_owned()))
}

/// The same before it is decoded.
pub(super) fn load_bytes(
    dir: &Dir,
    rel: &str,
    limit: u64,
    path: &str,
    cancel: &AtomicBool,
) -> Result<Vec<u8>, RetrievalError> {
    let is_stopped = || cancel.load(Ordering::Relaxed);
    if is_stopped() {
        return Err(RetrievalError::Cancelled);
    }
    let not_text = || RetrievalError::NotText(path.to_owned());
    let (file, meta) =
        open_regular(dir, Path::new(rel), Links::Followed).map_err(|refused| match refused {
            NotOpened::Failed(error) => refusal(&error, path),
            NotOpened::Directory | NotOpened::NotRegular => not_text(),
        })?;
    if meta.len() > limit {
        return Err(not_text());
    }
    read_bounded(file, limit, &is_stopped).map_err(|why| match why {
        NotRead::Stopped => RetrievalError::Cancelled,
        NotRead::TooLarge => not_text(),
        NotRead::Failed(error) => refusal(&error, path),
    })
}

/// What an I/O error means for the caller. cap-std answers an attempt to leave the directory with `PermissionDenied`
/// and no OS error; a file without read permission has one.
pub(super) fn refusal(error: &std::io::Error, path: &str) -> RetrievalError {
    let escapes = error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    if escapes {
        RetrievalError::OutsideWorkspace(path.to_owned())
    } else {
        RetrievalError::NotFound(path.to_owned())
    }
}

/// Text of bytes, `None` of a binary file. UTF-8, UTF-16 with a byte order mark, else the likeliest legacy encoding. A file counts as
/// binary when a zero byte or many control characters stand at its start.
pub(super) fn decode(bytes: Vec<u8>) -> Option<String> {
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        let (text, broken) = encoding.decode_without_bom_handling(&bytes[mark..]);
        return (!broken && !text.contains('\0')).then(|| text.into_owned());
    }
    let start = &bytes[..bytes.len().min(8_192)];
    let odd = start.iter().filter(|byte| matches!(byte, 1..=8 | 14..=26 | 28..=31 | 127)).count();
    if memchr::memchr(0, start).is_some() || odd * 50 > start.len() {
        return None;
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Some(text),
        Err(error) => error.into_bytes(),
    };
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(&bytes, true);
    let encoding = detector.guess(None, chardetng::Utf8Detection::Deny);
    let (text, broken) = encoding.decode_without_bom_handling(&bytes);
    (!broken).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_utf16_and_latin1_become_text() {
        assert_eq!(decode("grün".into()).as_deref(), Some("grün"));
        assert_eq!(decode(b"\xef\xbb\xbfgo".to_vec()).as_deref(), Some("go"));
        let mut little = vec![0xff, 0xfe];
        little.extend("wörter".encode_utf16().flat_map(u16::to_le_bytes));
        assert_eq!(decode(little).as_deref(), Some("wörter"));
        let mut big = vec![0xfe, 0xff];
        big.extend("wörter".encode_utf16().flat_map(u16::to_be_bytes));
        assert_eq!(decode(big).as_deref(), Some("wörter"));
        let latin: Vec<u8> = b"// gr\xfcn und sch\xf6n, die Stra\xdfe\n".to_vec();
        assert_eq!(decode(latin).as_deref(), Some("// grün und schön, die Straße\n"));
    }

    #[test]
    fn binary_is_not_text() {
        assert_eq!(decode(b"\x7fELF\x02\x01\x01\0\0\0".to_vec()), None);
        assert_eq!(decode((0..=31).cycle().take(4_000).filter(|b| *b != 0).collect()), None);
        assert_eq!(decode(Vec::new()).as_deref(), Some(""));
    }
}
