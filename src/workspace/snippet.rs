//! `bb/readFileSnippet`: some lines of a file, from its open buffer or from the disk.
//!
//! Owns what is read: a huge file is never read whole, only its two ends. Its lines are counted only up to
//! `COUNTED_BYTES`; in a larger file the range of a tail is left out. Never reads a pipe, a socket or a device.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use serde_json::json;
use url::Url;

use super::charset::guess;
use super::root::{Root, Roots, open_regular, parse, refusal, short};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::lines::{Seen, Selection, Unit, Wanted, count_stream, select};
use crate::domain::edits::overlay::{OpenDocument, Overlay};
use crate::domain::edits::text::{self, TextFormat};
use crate::domain::policy::path::WorkspacePath;
use crate::platform::{real_path, same_path};
use crate::protocol::request::{ReadFileSnippetParams, ReadFileSnippetResult, SnippetSource};

/// Bytes of content when the client does not say.
pub(super) const DEFAULT_BYTES: u64 = 64 * 1_024;

/// Most bytes of content, whatever the client says.
pub(super) const MOST_BYTES: u64 = 1_024 * 1_024;

/// Largest file whose lines are counted for a tail: some 20 ms of reading from the page cache.
pub(super) const COUNTED_BYTES: u64 = 64 * 1_024 * 1_024;

/// Reads some lines.
pub(super) fn snippet(
    roots: &Roots,
    params: &ReadFileSnippetParams,
    overlay: &Overlay,
) -> Result<ReadFileSnippetResult, CodedError> {
    let path = parse(&params.path)?;
    let root = roots.choose(params.root.as_deref())?;
    let max_bytes = params.max_bytes.unwrap_or(DEFAULT_BYTES).min(MOST_BYTES);
    let wanted = Wanted {
        max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX),
        head: params.head_lines,
        tail: params.tail_lines,
    };
    // First of all the path is followed, so that not even an open buffer shows what lies outside.
    let place = root.locate(&path)?;
    if let Some((_, document)) = open_document(root, &path, place.as_deref(), overlay) {
        let buffer = document.text.to_string();
        let selected = select(Seen::Whole(&buffer), wanted);
        return Ok(result(&path, selected, buffer.len() as u64, SnippetSource::Buffer, None));
    }
    let Some(place) = place else { return Err(refusal(&io::ErrorKind::NotFound.into(), &path)) };
    let (mut file, metadata) = open_regular(&*root.dir()?, &place, &path)?;
    match read(&mut file, metadata.len(), wanted) {
        Ok(part) => {
            Ok(result(&path, part.selection, part.total, SnippetSource::Disk, part.format.odd_name()))
        }
        Err(Unreadable::NotText { size }) => Err(CodedError::new(
            ErrorCode::NotText,
            format!("`{}` is not text; open it in a program made for it.", short(path.as_str())),
        )
        .with_details(json!({ "size": size }))),
        Err(Unreadable::Failed(error)) => Err(refusal(&error, &path)),
    }
}

fn result(
    path: &WorkspacePath,
    selected: Selection,
    total_bytes: u64,
    source: SnippetSource,
    encoding: Option<&str>,
) -> ReadFileSnippetResult {
    ReadFileSnippetResult {
        path: path.as_str().to_owned(),
        content: selected.content,
        total_bytes,
        truncated: selected.truncated,
        ranges: selected.ranges,
        source,
        encoding: encoding.map(str::to_owned),
    }
}

/// The open buffer of a file. URIs are compared by the path they mean, not by their spelling; the file counts under the
/// name it was asked by and under the one it really has.
pub(super) fn open_document<'a>(
    root: &Root,
    path: &WorkspacePath,
    place: Option<&Path>,
    overlay: &'a Overlay,
) -> Option<(&'a str, &'a OpenDocument)> {
    if path.is_root() {
        return None;
    }
    let base = root.path().ok()?;
    let real_base = real_path(base).ok();
    let mut names: Vec<PathBuf> = Vec::new();
    for base in [Some(base), real_base.as_deref()].into_iter().flatten() {
        names.push(base.join(path.as_str()));
        names.extend(place.map(|place| base.join(place)));
    }
    overlay.iter().find_map(|(uri, document)| {
        let opened = Url::parse(uri).ok()?.to_file_path().ok()?;
        names.iter().any(|name| same_path(name, &opened)).then_some((uri, &**document))
    })
}

struct SnippetPart {
    selection: Selection,
    total: u64,
    format: TextFormat,
}

enum Unreadable {
    NotText { size: u64 },
    Failed(io::Error),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Reads what is wanted of a file that says to have `size` bytes.
fn read(source: &mut (impl Read + Seek), size: u64, wanted: Wanted) -> Result<SnippetPart, Unreadable> {
    // Twice the bound gives more than the bound of UTF-8 in every encoding; two windows make the whole of a small file.
    // An even length keeps UTF-16 aligned.
    let window = 2 * wanted.max_bytes as u64 + 64;
    let limit = if size == 0 { 2 * MOST_BYTES } else { 2 * window };
    if size <= limit {
        let bytes = up_to(source, limit + 1)?;
        // A file of /proc says 0 and has more; one that grows meanwhile is as long as what was read.
        if bytes.len() as u64 <= limit {
            let total = bytes.len() as u64;
            let decoded = text::decode(&bytes, |bytes| guess([bytes]))
                .map_err(|text::NotText| Unreadable::NotText { size: total })?;
            let selection = select(Seen::Whole(&decoded.text), wanted);
            return Ok(SnippetPart { selection, total, format: decoded.format });
        }
        source.seek(SeekFrom::Start(0))?;
    }
    let front = up_to(source, window)?;
    let back = match wanted.tail {
        Some(_) => {
            source.seek(SeekFrom::Start(size.saturating_sub(window + size % 2)))?;
            up_to(source, window + size % 2)?
        }
        None => Vec::new(),
    };
    let (front, back) = without_hole(front, back);
    let (format, skip) = format_of(&front, &back).ok_or(Unreadable::NotText { size })?;
    let lines = if wanted.tail.is_some() && size <= COUNTED_BYTES {
        source.seek(SeekFrom::Start(skip as u64))?;
        Some(count_stream(source, unit(format.encoding))?)
    } else {
        None
    };
    let front = text::decode_as(&front[skip..], format).text;
    let back = text::decode_as(whole_characters(&back, format.encoding), format).text;
    let selection = select(Seen::Ends { front: &front, back: &back, lines }, wanted);
    Ok(SnippetPart { selection, total: size, format })
}

fn up_to(source: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The ends of a file without the hole between them: a sparse file reads as zeros there, and is still a text. Zeros
/// anywhere else stay.
fn without_hole(mut front: Vec<u8>, mut back: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let before = memchr::memchr(0, &front).filter(|at| *at > 0 && front[*at..].iter().all(|byte| *byte == 0));
    if let Some(before) = before {
        let after = memchr::memrchr(0, &back).map_or(0, |at| at + 1);
        if back[..after].iter().all(|byte| *byte == 0) {
            front.truncate(before);
            back.drain(..after);
        }
    }
    (front, back)
}

/// The format of a file by its two ends, and the length of its mark; `None` when it is no text.
fn format_of(front: &[u8], back: &[u8]) -> Option<(TextFormat, usize)> {
    if let Some((encoding, length)) = text::mark(front) {
        return Some((TextFormat { encoding, bom: true }, length));
    }
    if text::is_binary(front) {
        return None;
    }
    let utf8 =
        |bytes: &[u8]| std::str::from_utf8(bytes).err().is_none_or(|error| error.error_len().is_none());
    let encoding =
        if utf8(front) && utf8(whole_characters(back, UTF_8)) { UTF_8 } else { guess([front, back]) };
    Some((TextFormat { encoding, bom: false }, 0))
}

/// Bytes from the middle of a file without the rest of a character at their start.
fn whole_characters<'a>(bytes: &'a [u8], encoding: &'static Encoding) -> &'a [u8] {
    if encoding != UTF_8 {
        return bytes;
    }
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &bytes[rest..]
}

fn unit(encoding: &'static Encoding) -> Unit {
    if encoding == UTF_16LE {
        Unit::LittleEndian
    } else if encoding == UTF_16BE {
        Unit::BigEndian
    } else {
        Unit::Byte
    }
}

#[cfg(test)]
#[path = "snippet_tests.rs"]
mod tests;
