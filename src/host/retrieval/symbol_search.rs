//! Search of definitions by name, over the whole workspace.
//!
//! Parses only files in which every word of the name stands; never keeps an index, so it is never out of date.

use std::sync::atomic::AtomicBool;

use super::kinds::is_test_path;
use super::paths::label;
use super::symbols::symbols_of;
use super::terms::words;
use super::walk::WalkedTree;
use super::workers::spread;
use super::{RetrievalError, Symbol};
use crate::host::ports::WorkspaceView;

/// How well a name fits, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    OtherCase,
    Prefix,
    Words,
    Substring,
}

/// The best `limit` definitions whose name fits: the name itself, then in another case, as a prefix, word by word
/// (`red door`, `redDoor` find `RedDoor` and `red_door_of`), within. `Type::name` and `Type.name` ask for a
/// container too. Gives root name (where several are open), path and definition; ties are in order of path and line,
/// tests last.
pub(crate) fn search_symbols(
    view: &WorkspaceView,
    name: &str,
    limit: usize,
    cancel: &AtomicBool,
) -> Result<Vec<(Option<String>, String, Symbol)>, RetrievalError> {
    let wanted = WantedSymbol::read(name);
    if wanted.words.is_empty() {
        return Ok(Vec::new());
    }
    let tree = WalkedTree::walk(view, cancel)?;
    let parsed = spread(tree.files.len(), cancel, |at| {
        let file = &tree.files[at];
        let text = tree.text(file, cancel)?;
        let lower = text.to_ascii_lowercase();
        if !wanted.words.iter().all(|word| lower.contains(word.as_str())) {
            return None;
        }
        let symbols = symbols_of(&file.rel, &text, cancel).ok()?;
        let fitting: Vec<(Fit, Symbol)> =
            symbols.into_iter().filter_map(|symbol| Some((wanted.fit(&symbol)?, symbol))).collect();
        (!fitting.is_empty()).then_some(fitting)
    })?;
    let mut all: Vec<(Fit, bool, usize, Symbol)> = Vec::new();
    for (at, fitting) in parsed {
        let test = is_test_path(&tree.files[at].rel);
        all.extend(fitting.into_iter().map(|(fit, symbol)| (fit, test, at, symbol)));
    }
    all.sort_by_key(|(fit, test, at, symbol)| (*fit, *test, *at, symbol.start_line));
    all.truncate(limit);
    let named = |at: usize| (label(view, tree.files[at].root), tree.files[at].rel.clone());
    Ok(all
        .into_iter()
        .map(|(_, _, at, symbol)| {
            let (root, path) = named(at);
            (root, path, symbol)
        })
        .collect())
}

struct WantedSymbol {
    name: String,
    container: Option<String>,
    /// In lower case.
    words: Vec<String>,
}

impl WantedSymbol {
    fn read(name: &str) -> Self {
        let name = name.trim().trim_end_matches("()");
        let mut parts = name.rsplit("::").flat_map(|part| part.rsplit(['.', '#']));
        let last = parts.next().unwrap_or_default().to_owned();
        let container = parts.next().filter(|part| !part.is_empty()).map(str::to_lowercase);
        let mut found = Vec::new();
        words(&last, |_, word| found.push(word.to_lowercase()));
        Self { name: last, container, words: found }
    }

    fn fit(&self, symbol: &Symbol) -> Option<Fit> {
        if let Some(container) = &self.container
            && symbol.container.as_deref().map(str::to_lowercase).as_deref() != Some(container.as_str())
        {
            return None;
        }
        if symbol.name == self.name {
            return Some(Fit::Exact);
        }
        let (name, wanted) = (symbol.name.to_lowercase(), self.name.to_lowercase());
        if name == wanted {
            return Some(Fit::OtherCase);
        }
        if name.starts_with(&wanted) {
            return Some(Fit::Prefix);
        }
        let mut have = Vec::new();
        words(&symbol.name, |_, word| have.push(word.to_lowercase()));
        // In order, each wanted word the start of one that is there.
        let mut rest = have.iter();
        if self.words.iter().all(|word| rest.any(|other| other.starts_with(word.as_str()))) {
            return Some(Fit::Words);
        }
        name.contains(&wanted).then_some(Fit::Substring)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::retrieval::walk::tests::{Fixture, GO_ON};

    fn names(view: &WorkspaceView, name: &str) -> Vec<String> {
        let found = search_symbols(view, name, 20, &GO_ON).unwrap();
        found
            .into_iter()
            .map(|(_, path, symbol)| format!("{path}:{} {}", symbol.start_line, symbol.name))
            .collect()
    }

    #[test]
    fn better_fits_come_first_and_containers_choose() {
        let fixture = Fixture::new(&[
            (
                "a.rs",
                "fn an_overguarded() {}\nfn guard_all() {}\nfn frame_guard() {}\nstruct Guard;\nfn guard() {}\n",
            ),
            ("b.py", "class Guard:\n    def open(self): pass\nclass Door:\n    def open(self): pass\n"),
            ("tests/a.rs", "fn guard() {}\n"),
        ]);
        let view = fixture.view();
        assert_eq!(
            names(&view, "guard"),
            [
                "a.rs:5 guard",
                "tests/a.rs:1 guard",
                "a.rs:4 Guard",
                "b.py:1 Guard",
                "a.rs:2 guard_all",
                "a.rs:3 frame_guard",
                "a.rs:1 an_overguarded",
            ]
        );
        assert_eq!(names(&view, "Door.open"), ["b.py:4 open"]);
        assert_eq!(names(&view, "frameGuard"), ["a.rs:3 frame_guard"]);
        assert_eq!(names(&view, "frame guard"), ["a.rs:3 frame_guard"]);
        assert_eq!(names(&view, "::"), Vec::<String>::new());
    }

    #[test]
    fn definitions_of_open_buffers_are_found() {
        let fixture = Fixture::new(&[("a.rs", "fn old() {}")]);
        let view = fixture.view_with(&[("a.rs", "fn fresh() {}")]);
        assert_eq!(names(&view, "fresh"), ["a.rs:1 fresh"]);
        assert_eq!(names(&view, "old"), Vec::<String>::new());
        assert_eq!(search_symbols(&view, "fresh", 9, &AtomicBool::new(true)), Err(RetrievalError::Cancelled));
    }
}
