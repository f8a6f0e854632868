//! `FileJob::Read`: the whole text that an edit of the editor's is to replace.
//!
//! Owns nothing but the order of the steps. Never writes, and reads the same bytes and encodings that `write` would replace.

use super::charset::guess;
use super::root::{Roots, parse, short};
use super::write::current;
use crate::app::ports::FileText;
use crate::domain::approval::BaseFile;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::text::{content_hash, decode};

/// The text of a file and the hash of its bytes; `None` when there is no such file.
pub(super) fn read(roots: &Roots, root: Option<&str>, path: &str) -> Result<Option<FileText>, CodedError> {
    let path = parse(path)?;
    let root = roots.choose(root)?;
    let Some(place) = root.locate(&path)? else { return Ok(None) };
    let bytes = current(&*root.dir()?, &place, &path)?.bytes;
    let decoded = decode(&bytes, |bytes| guess([bytes])).map_err(|_| {
        CodedError::new(
            ErrorCode::NotText,
            format!("`{}` is not text, so it cannot be edited as text.", short(path.as_str())),
        )
    })?;
    Ok(Some(FileText { text: decoded.text, hash: content_hash(&bytes) }))
}

/// A file as the base of a change, whether it is text or not; `None` when there is none.
pub(super) fn read_base(
    roots: &Roots,
    root: Option<&str>,
    path: &str,
) -> Result<Option<BaseFile>, CodedError> {
    let path = parse(path)?;
    let root = roots.choose(root)?;
    let Some(place) = root.locate(&path)? else { return Ok(None) };
    let bytes = current(&*root.dir()?, &place, &path)?.bytes;
    let text = match decode(&bytes, |bytes| guess([bytes])) {
        Ok(decoded) if !decoded.malformed => Ok(decoded.text),
        Ok(_) | Err(_) => Err("It is not text in any known encoding.".to_owned()),
    };
    Ok(Some(BaseFile { text, hash: content_hash(&bytes) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root::tests::folder;

    #[test]
    fn the_text_comes_with_the_hash_of_its_bytes_and_nothing_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "\u{feff}x\r\n").unwrap();
        std::fs::write(dir.path().join("b"), [0u8, 1, 2]).unwrap();
        let roots = Roots::open(&[folder("ws", dir.path())]);
        let file = read(&roots, None, "a").unwrap().unwrap();
        assert_eq!((file.text.as_str(), file.hash), ("x\r\n", content_hash("\u{feff}x\r\n".as_bytes())));
        assert_eq!(read(&roots, None, "none").unwrap(), None);
        assert_eq!(read(&roots, None, "b").unwrap_err().code, ErrorCode::NotText);
        assert_eq!(read(&roots, None, "../a").unwrap_err().code, ErrorCode::PathOutsideWorkspace);
    }
}
