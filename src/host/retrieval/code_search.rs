//! Retrieval for the context of a prompt.
//!
//! Owns nothing: it is the port's way to the searches that the agent's own tools use. Never writes.

use std::sync::atomic::AtomicBool;

use super::content::{READ_LIMIT, load};
use super::outline::outline;
use super::paths::{OpenBuffers, label, may_be_read, open_root, resolve_index};
use super::read::list_dir;
use super::related::related;
use super::search_symbols;
use super::{RetrievalError, Symbol};
use crate::domain::policy::uri::push_encoded;
use crate::host::ports::{CodeSearch, FileFound, RelatedFiles, SymbolFound, WorkspaceView};

/// Names of one folder.
const NAMES: usize = 200;

/// The searches of this room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retrieval;

impl CodeSearch for Retrieval {
    fn file(&self, view: &WorkspaceView, path: &str, cancel: &AtomicBool) -> Result<FileFound, String> {
        let (at, rel) = resolve_index(view, path).map_err(|why| why.to_string())?;
        if !may_be_read(view, at, &rel) {
            return Err(RetrievalError::Kept(path.to_owned()).to_string());
        }
        let root = &view.roots[at];
        let on_disk = open_root(root)
            .ok_or_else(|| format!("The folder `{}` cannot be read; open it again.", root.name))
            .and_then(|dir| load(&dir, &rel, READ_LIMIT, path, cancel).map_err(|why| why.to_string()));
        let (text, is_unsaved) = match OpenBuffers::of(view).get(at, &rel) {
            Some(document) => {
                let text = String::from(&document.text);
                let same = on_disk.is_ok_and(|disk| disk == text);
                (text, !same)
            }
            None => (on_disk?, false),
        };
        let shown = match label(view, at) {
            Some(root) => format!("{root}/{rel}"),
            None => rel.clone(),
        };
        let mut uri = root.uri.trim_end_matches('/').to_owned();
        for part in rel.split('/') {
            uri.push('/');
            push_encoded(&mut uri, part);
        }
        Ok(FileFound { root: root.name.clone(), path: shown, rel, uri, text, is_unsaved })
    }

    fn folder(&self, view: &WorkspaceView, path: &str, cancel: &AtomicBool) -> Result<Vec<String>, String> {
        let names = list_dir(view, path, NAMES, cancel).map_err(|why| why.to_string())?;
        Ok(names.into_iter().map(|(name, folder)| if folder { format!("{name}/") } else { name }).collect())
    }

    fn outline(&self, view: &WorkspaceView, path: &str, cancel: &AtomicBool) -> Vec<SymbolFound> {
        let found = outline(view, path, cancel).unwrap_or_default();
        found.into_iter().map(|symbol| shown(path.to_owned(), symbol)).collect()
    }

    fn symbol(
        &self,
        view: &WorkspaceView,
        name: &str,
        cancel: &AtomicBool,
    ) -> Result<Option<SymbolFound>, String> {
        let found = search_symbols(view, name, 1, cancel).map_err(|why| why.to_string())?;
        Ok(found.into_iter().next().map(placed))
    }

    fn symbols(
        &self,
        view: &WorkspaceView,
        name: &str,
        most: usize,
        cancel: &AtomicBool,
    ) -> Vec<SymbolFound> {
        let found = search_symbols(view, name, most, cancel).unwrap_or_default();
        found.into_iter().map(placed).collect()
    }

    fn related(
        &self,
        view: &WorkspaceView,
        file: &FileFound,
        most: usize,
        cancel: &AtomicBool,
    ) -> Result<RelatedFiles, String> {
        related(view, file, most, cancel).map_err(|why| why.to_string())
    }
}

fn placed((root, path, symbol): (Option<String>, String, Symbol)) -> SymbolFound {
    let path = root.map_or_else(|| path.clone(), |root| format!("{root}/{path}"));
    shown(path, symbol)
}

fn shown(path: String, symbol: Symbol) -> SymbolFound {
    let Symbol { name, kind, start_line, end_line, container, signature } = symbol;
    let name = container.map_or_else(|| name.clone(), |container| format!("{container}::{name}"));
    SymbolFound { path, name, kind: kind.as_str(), start_line, end_line, signature }
}
