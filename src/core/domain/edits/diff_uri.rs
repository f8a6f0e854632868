//! `bb-diff:` URIs: one side of a diff as a document that an editor can open at any time.
//!
//! Owns the spelling: `bb-diff:/<session>/<root>/<ref>/<path>`. The URI says everything, so that nothing has to be kept for
//! it. Never reads a document, and never trusts a URI: paths are confined again when the text is read.

use std::fmt;

use super::reference::Reference;
use crate::domain::policy::path::WorkspacePath;
use crate::domain::policy::uri::{push_encoded, spelling};

/// The scheme.
pub const SCHEME: &str = "bb-diff";

/// Longest URI, in bytes: the longest path with every byte encoded, twice, and the rest.
const MOST_BYTES: usize = 32 * 1_024;

/// What a `bb-diff:` URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffDocument {
    /// Session.
    pub session_id: String,
    /// Name of the root; `None` for the first.
    pub root: Option<String>,
    /// Where the text comes from.
    pub reference: Reference,
    /// The file.
    pub path: WorkspacePath,
}

/// The text is no `bb-diff:` URI of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDiffUri;

impl DiffDocument {
    /// Reads a URI. Editors take URIs apart, decode their parts and encode them again in a way of their own; so all of it
    /// is decoded first, and what could then be mistaken for a separator is written in a second way that they leave alone.
    pub fn parse(uri: &str) -> Result<Self, NoDiffUri> {
        if uri.len() > MOST_BYTES {
            return Err(NoDiffUri);
        }
        let (scheme, rest) = uri.split_once(':').ok_or(NoDiffUri)?;
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err(NoDiffUri);
        }
        let rest = String::from_utf8(spelling(rest)).map_err(|_| NoDiffUri)?;
        // Some write an empty authority.
        let rest = rest.strip_prefix("//").unwrap_or(&rest);
        let rest = rest.strip_prefix('/').ok_or(NoDiffUri)?;
        let mut parts = rest.splitn(4, '/');
        let mut part = || parts.next().ok_or(NoDiffUri);
        let (session_id, root, reference, path) = (part()?, part()?, part()?, part()?);
        let path = WorkspacePath::parse(path).map_err(|_| NoDiffUri)?;
        // Two separators in a row would be read as an empty authority the next time.
        if path.is_root() || session_id.is_empty() {
            return Err(NoDiffUri);
        }
        Ok(Self {
            session_id: without_marks(session_id).ok_or(NoDiffUri)?,
            root: if root == NO_ROOT { None } else { Some(without_marks(root).ok_or(NoDiffUri)?) },
            reference: Reference::parse(&without_marks(reference).ok_or(NoDiffUri)?)
                .map_err(|_| NoDiffUri)?,
            path,
        })
    }
}

/// Stands for the first root; no name is written so.
const NO_ROOT: &str = "~";

impl fmt::Display for DiffDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut uri = format!("{SCHEME}:/");
        push_marked(&mut uri, &self.session_id);
        uri.push('/');
        match &self.root {
            Some(root) => push_marked(&mut uri, root),
            None => uri.push_str(NO_ROOT),
        }
        uri.push('/');
        push_marked(&mut uri, &self.reference.to_string());
        for part in self.path.components() {
            uri.push('/');
            push_encoded(&mut uri, part);
        }
        f.write_str(&uri)
    }
}

/// Every byte but letters, digits, `-` and `_` as `~` and two hex digits: no character in it means anything in a URI.
fn push_marked(uri: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("~{byte:02X}"));
        }
    }
}

fn without_marks(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'~' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(digit(rest.next()?)? * 16 + digit(rest.next()?)?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn document(session: &str, root: Option<&str>, reference: &str, path: &str) -> DiffDocument {
        DiffDocument {
            session_id: session.to_owned(),
            root: root.map(str::to_owned),
            reference: Reference::parse(reference).unwrap(),
            path: WorkspacePath::parse(path).unwrap(),
        }
    }

    #[test]
    fn r000_32_a_uri_ends_with_the_path_so_that_an_editor_knows_the_language() {
        let document = document("s-1", Some("my ws"), "git:feature/x~1", "src/ü b%2F.rs");
        let uri = document.to_string();
        assert_eq!(uri, "bb-diff:/s-1/my~20ws/git~3Afeature~2Fx~7E1/src/%C3%BC%20b%252F.rs");
        assert_eq!(DiffDocument::parse(&uri), Ok(document));
    }

    #[test]
    fn r000_32_36_what_is_no_uri_of_ours_is_refused() {
        for uri in [
            "",
            "bb-diff",
            "bb-diff:",
            "bb-diff:/s/~/disk",
            "bb-diff:/s/~/disk/",
            "bb-diff:s/~/disk/a",
            "bb-diff:/s/~/what/a",
            "bb-diff:/s/~/git~3A-x/a",
            "bb-diff:/s/~/disk/../a",
            "bb-diff:/s/~/disk/%2e%2e/a",
            "bb-diff:/s/~/disk/a/..%2f..%2fb",
            "bb-diff:/s/~/disk//etc/passwd",
            "bb-diff:/s/~/disk/%2Fetc/passwd",
            "bb-diff:/s/~/disk/C:/x",
            "bb-diff:/s/~/disk/a%00",
            "bb-diff:/s/~/disk/%FF",
            "bb-diff:/s~F/~/disk/a",
            "bb-diff:/s/~GG/disk/a",
            "file:/s/~/disk/a",
            &format!("bb-diff:/s/~/disk/{}", "a/".repeat(20_000)),
        ] {
            assert_eq!(DiffDocument::parse(uri), Err(NoDiffUri), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn r000_32_every_document_survives_its_uri_and_an_editors_own_spelling_of_it(
            session in "[ -~é]{1,8}",
            root in prop::option::of("[ -~é./]{0,8}"),
            name in "[!-~é]{1,8}",
            path in "[ -~é]{1,8}(/[ -~é]{1,8}){0,2}",
        ) {
            let (Ok(reference), Ok(path)) =
                (Reference::parse(&format!("artifact:{name}")), WorkspacePath::parse(&path)) else { return Ok(()) };
            prop_assume!(!path.is_root());
            let document = DiffDocument { session_id: session, root, reference, path };
            let uri = document.to_string();
            prop_assert_eq!(DiffDocument::parse(&uri), Ok(document.clone()));
            // Decoded and encoded again, everything but slashes, as some editors do.
            let decoded = String::from_utf8(spelling(uri.strip_prefix("bb-diff:/").unwrap())).unwrap();
            let mut again = "bb-diff:".to_owned();
            for part in decoded.split('/') {
                again.push('/');
                push_encoded(&mut again, part);
            }
            prop_assert_eq!(DiffDocument::parse(&again), Ok(document));
        }

        #[test]
        fn r000_36_no_uri_makes_a_document_outside(uri in "bb-diff:(/|%2F|%2f|\\.\\.|%2E|~|disk|a|C:|\\\\){0,12}") {
            if let Ok(document) = DiffDocument::parse(&uri) {
                prop_assert!(document.path.components().all(|part| part != ".." && part != "."));
                prop_assert!(!document.path.as_str().starts_with(['/', '\\']));
            }
        }
    }
}
