//! Files, paths and addresses by name: Markdown that is imported, paths of clients and agents, refs and addresses of diffs.
//!
//! What is imported is text; a path that is taken stays inside and is taken again as itself; a ref that is taken is no option
//! and has no second meaning, and comes back as itself.

use breadboard_core::domain::edits::diff_uri::DiffDocument;
use breadboard_core::domain::edits::reference::Reference;
use breadboard_core::domain::edits::text::{decode, decode_as, encode, mark};
use breadboard_core::domain::policy::path::WorkspacePath;
use breadboard_core::domain::policy::uri::{push_encoded, spelling};
use breadboard_core::domain::spec::markdown::{MARKDOWN_BYTES, import};
use encoding_rs::{BIG5, Encoding, ISO_2022_JP, KOI8_R, SHIFT_JIS, UTF_16LE, WINDOWS_1252};

use super::pieces::number_of;

const GUESSES: [&Encoding; 6] = [WINDOWS_1252, SHIFT_JIS, BIG5, KOI8_R, ISO_2022_JP, UTF_16LE];

/// See the module.
pub fn run(data: &[u8]) {
    let guess = GUESSES[number_of(data) as usize % GUESSES.len()];
    if let Ok(imported) = import(data, |_| guess) {
        assert!(data.len() as u64 <= MARKDOWN_BYTES);
        assert!(!imported.content.contains('\0'));
        assert_eq!(imported.warning.is_some(), imported.content.is_empty());
        if let Ok(text) = std::str::from_utf8(data) {
            assert_eq!(imported.content, text.strip_prefix('\u{FEFF}').unwrap_or(text));
        }
    }
    if let Ok(decoded) = decode(data, |_| guess)
        && !decoded.malformed
        && let Ok(bytes) = encode(&decoded.text, decoded.format)
    {
        let bare =
            if decoded.format.bom { &bytes[mark(&bytes).map_or(0, |(_, length)| length)..] } else { &bytes };
        let text =
            decoded.text.strip_prefix('\u{FEFF}').filter(|_| decoded.format.bom).unwrap_or(&decoded.text);
        assert_eq!(decode_as(bare, decoded.format).text, text, "what is written is read as something else");
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(path) = WorkspacePath::parse(text) {
        stays_inside(&path);
        assert_eq!(WorkspacePath::parse(path.as_str()).as_ref(), Ok(&path));
    }
    if let Ok(reference) = Reference::parse(text) {
        assert_eq!(Reference::parse(&reference.to_string()), Ok(reference.clone()));
        if let Reference::Git(name) | Reference::Checkpoint(name) = reference {
            assert!(!name.starts_with('-') && !name.contains([':', '\n', '\0', ' ']));
        }
    }
    if let Ok(document) = DiffDocument::parse(text) {
        stays_inside(&document.path);
        assert_eq!(DiffDocument::parse(&document.to_string()).as_ref(), Ok(&document));
    }
    let mut encoded = String::new();
    push_encoded(&mut encoded, text);
    assert_eq!(spelling(&encoded), text.as_bytes());
}

fn stays_inside(path: &WorkspacePath) {
    assert!(!path.as_str().starts_with('/') && !path.as_str().contains('\0'), "{path:?}");
    assert!(path.components().all(|part| !matches!(part, "" | "." | "..")), "{path:?}");
}
