//! The outline of one file.
//!
//! Never searches: that is `symbol_search`.

use std::sync::atomic::AtomicBool;

use super::content::SEARCH_LIMIT;
use super::read::whole_text;
use super::symbols::symbols_of;
use super::{RetrievalError, Symbol};
use crate::host::ports::WorkspaceView;

/// The definitions of a file in order: of its open buffer, else of the disk. Empty for a language without grammar, and
/// for a file larger than a search reads (1 MiB).
pub(crate) fn outline(
    view: &WorkspaceView,
    path: &str,
    cancel: &AtomicBool,
) -> Result<Vec<Symbol>, RetrievalError> {
    let (path, text) = whole_text(view, path, cancel)?;
    if text.len() as u64 > SEARCH_LIMIT {
        return Ok(Vec::new());
    }
    symbols_of(&path, &text, cancel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::retrieval::SymbolKind;
    use crate::host::retrieval::walk::tests::{Fixture, GO_ON};

    #[test]
    fn the_outline_is_that_of_the_open_buffer() {
        let fixture = Fixture::new(&[("a.rs", "fn disk() {}\n")]);
        let view = fixture.view_with(&[("a.rs", "\npub fn buffer() {\n}\n")]);
        let symbol = Symbol {
            name: "buffer".into(),
            kind: SymbolKind::Function,
            start_line: 2,
            end_line: 3,
            container: None,
            signature: "pub fn buffer() {".into(),
        };
        assert_eq!(outline(&view, "a.rs", &GO_ON), Ok(vec![symbol]));
        assert_eq!(outline(&view, "b.rs", &GO_ON), Err(RetrievalError::NotFound("b.rs".into())));
    }
}
