//! What the files of the workspace give to a context: the one in front, those that a prompt names, those that belong to them.
//!
//! Owns how much of each goes. Blocking: it runs on a thread of its own and ends with what it has when it is told to.

use std::ops::Range;

use super::ContextLook;
use super::written;
use crate::domain::context::item::{ContextItem, ContextKind, PromptContext};
use crate::domain::context::mention::PromptMention;
use crate::domain::context::shape::{
    ActiveEditor, ContextDiagnostic, ContextMention, OpenEditor, UserContext,
};
use crate::domain::edits::overlay::{Position, char_at};
use crate::domain::edits::text::content_hash;
use crate::domain::policy::guarded_path::guarded_part;
use crate::host::ports::FileFound;

/// Files of each kind that belong to another.
const RELATED: usize = 5;

/// Bytes of a file that goes because it belongs to another.
const RELATED_BYTES: usize = 8 * 1024;

/// Lines of a file that is open with unsaved text, where nobody says which of them can be seen.
const LINES_SEEN: u64 = 200;

/// Open files that are named.
const OPEN: usize = 50;

/// One look through the files.
struct FilesLook<'a> {
    look: &'a ContextLook,
    found: PromptContext,
}

/// What the files give, beside what the editor says.
pub(super) fn look(look: &ContextLook, told: UserContext) -> PromptContext {
    let mut files = FilesLook { look, found: PromptContext::default() };
    files.mentioned();
    let UserContext { active_editor, open_editors, diagnostics, terminal_output, .. } = told;
    if let Some(active) = active_editor {
        files.active(active);
    }
    if look.wants(ContextKind::Diagnostics) {
        files.diagnostics(diagnostics);
    }
    if look.wants(ContextKind::OpenEditors) {
        files.open(open_editors);
    }
    if let Some(terminal) = terminal_output.filter(|_| look.wants(ContextKind::Terminal)) {
        files.found.items.extend(written::terminal(&terminal));
        files.found.shape.terminal_output = Some(terminal);
    }
    files.found
}

impl FilesLook<'_> {
    fn add(
        &mut self,
        kind: ContextKind,
        label: String,
        uri: Option<&str>,
        text: Option<String>,
        is_part: bool,
    ) {
        let is_there = |item: &ContextItem| item.kind == kind && item.label == label;
        if !self.found.items.iter().any(is_there) {
            self.found.items.push(ContextItem { kind, label, uri: uri.map(str::to_owned), text, is_part });
        }
    }

    /// A file, unless it looks like one of secrets: then that is said, and nothing of it is read.
    fn file(&mut self, path: &str) -> Option<FileFound> {
        if guarded_part(path).is_some() {
            self.secret(path);
            return None;
        }
        let found = self.look.search.file(&self.look.view, path, &self.look.cancel).ok()?;
        if guarded_part(&found.rel).is_some() {
            self.secret(&found.rel);
            return None;
        }
        Some(found)
    }

    fn secret(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let note = format!("`{name}` looks like a file of secrets, so nothing of it went with the prompt.");
        if !self.found.notes.contains(&note) {
            self.found.notes.push(note);
        }
    }

    /// Everything that the prompt names.
    fn mentioned(&mut self) {
        for mention in &self.look.wanted.mentions {
            match mention {
                PromptMention::Path { path, lines } => self.path(path, *lines),
                PromptMention::Symbol(name) => self.symbol(name),
                PromptMention::Resource { .. } | PromptMention::Kind(_) => {}
            }
        }
    }

    fn path(&mut self, path: &str, lines: Option<(u64, u64)>) {
        if let Some(found) = self.file(path) {
            let (label, text) = match lines {
                Some((first, last)) => {
                    (format!("{}:{first}-{last}", found.path), lines_of(&found.text, first, last))
                }
                None => (found.path.clone(), found.text.clone()),
            };
            let is_part = lines.is_some() || found.is_unsaved;
            self.add(ContextKind::File, label, Some(&found.uri), Some(text), is_part);
            self.found.shape.mentions.push(ContextMention::File { path: found.path });
            return;
        }
        if guarded_part(path).is_some() {
            return;
        }
        match self.look.search.folder(&self.look.view, path, &self.look.cancel) {
            Ok(names) => {
                let names: Vec<String> =
                    names.into_iter().filter(|name| guarded_part(name).is_none()).collect();
                let label = format!("{}/", path.trim_end_matches('/'));
                self.add(ContextKind::Folder, label, None, Some(names.join("\n")), true);
                let path = path.trim_end_matches('/').to_owned();
                self.found.shape.mentions.push(ContextMention::Folder { path });
            }
            // A word behind an `@` that looks like a path and is none is said; a name of a person is not.
            Err(_) if path.contains(['/', '.']) => {
                let note = format!("There is no `{path}` in the workspace, so the prompt went without it.");
                self.found.notes.push(note);
            }
            Err(_) => {}
        }
    }

    fn symbol(&mut self, name: &str) {
        let found = match self.look.search.symbol(&self.look.view, name, &self.look.cancel) {
            Ok(Some(found)) => found,
            Ok(None) => {
                let note = format!(
                    "There is no definition `{name}` in the workspace, so the prompt went without it."
                );
                return self.found.notes.push(note);
            }
            Err(why) => return self.found.notes.push(why),
        };
        let Some(file) = self.file(&found.path) else { return };
        let label = format!("{} ({}:{})", found.name, file.path, found.start_line);
        let text = lines_of(&file.text, found.start_line, found.end_line);
        self.add(ContextKind::Symbol, label, Some(&file.uri), Some(text), true);
        self.found.shape.mentions.push(ContextMention::Symbol {
            name: found.name,
            file_path: file.path,
            line: found.start_line,
        });
    }

    /// The file in front of the user, what is marked in it, and what belongs to it.
    fn active(&mut self, told: ActiveEditor) {
        let Some(file) = self.file(&as_path(&told.file_path)) else { return };
        let command = self.look.wanted.command;
        let marked = told.selection.filter(|selection| !selection.is_empty());
        if self.look.wants(ContextKind::ActiveEditor) {
            let whole = command.is_some_and(|command| command.takes_whole_file());
            // The disk has not what the user sees, and no engine reads a buffer: then the text goes along.
            let text = match (whole, file.is_unsaved) {
                (true, _) => Some(file.text.clone()),
                (false, true) => {
                    let seen = told.visible_range.map_or((1, LINES_SEEN), |seen| (seen.start, seen.end));
                    Some(lines_of(&file.text, seen.0, seen.1))
                }
                (false, false) => None,
            };
            let label = if file.is_unsaved { format!("{} (unsaved)", file.path) } else { file.path.clone() };
            let is_part = file.is_unsaved;
            self.add(ContextKind::ActiveEditor, label, Some(&file.uri), text, is_part);
        }
        if let Some(marked) = marked.filter(|_| self.look.wants(ContextKind::Selection)) {
            let label = format!("{}:{}-{}", file.path, marked.start.line, marked.last_line());
            let text = self
                .marked(&file.text, marked.start.line, marked.start.character)
                .zip(self.marked(&file.text, marked.end.line, marked.end.character))
                .and_then(|(start, end)| slice(&file.text, start..end));
            self.add(ContextKind::Selection, label, Some(&file.uri), text, true);
        } else if self.look.wants(ContextKind::Scope)
            && let Some(cursor) = told.selection.map(|selection| selection.start.line)
        {
            self.scope(&file, cursor);
        }
        self.related(&file);
        self.found.shape.active_editor = Some(ActiveEditor {
            file_path: file.path.clone(),
            content_hash: Some(content_hash(file.text.as_bytes())),
            ..told
        });
    }

    fn marked(&self, text: &str, line: u64, character: u64) -> Option<usize> {
        let position = Position {
            line: u32::try_from(line.checked_sub(1)?).ok()?,
            character: u32::try_from(character).unwrap_or(u32::MAX),
        };
        char_at(&ropey::Rope::from_str(text), position, self.look.encoding)
    }

    /// The innermost definition around a line (R002-98).
    fn scope(&mut self, file: &FileFound, line: u64) {
        let outline = self.look.search.outline(&self.look.view, &file.path, &self.look.cancel);
        let around =
            outline.into_iter().filter(|symbol| (symbol.start_line..=symbol.end_line).contains(&line));
        let Some(symbol) = around.min_by_key(|symbol| symbol.end_line - symbol.start_line) else {
            let first = line.saturating_sub(LINES_SEEN / 2).max(1);
            let last = line + LINES_SEEN / 2;
            let label = format!("{}:{first}-{last}", file.path);
            let text = lines_of(&file.text, first, last);
            return self.add(ContextKind::Scope, label, Some(&file.uri), Some(text), true);
        };
        let label = format!("{} ({}:{}-{})", symbol.name, file.path, symbol.start_line, symbol.end_line);
        let text = lines_of(&file.text, symbol.start_line, symbol.end_line);
        self.add(ContextKind::Scope, label, Some(&file.uri), Some(text), true);
    }

    /// Tests, what is tested, what is used and what uses it.
    fn related(&mut self, file: &FileFound) {
        let kinds = [ContextKind::Test, ContextKind::Source, ContextKind::Import, ContextKind::Dependent];
        if !kinds.iter().any(|kind| self.look.wants(*kind)) {
            return;
        }
        let related = match self.look.search.related(&self.look.view, file, RELATED, &self.look.cancel) {
            Ok(related) => related,
            Err(_) => {
                let note = "The workspace is too large to find in time what belongs to the file, so the prompt went without it.";
                return self.found.notes.push(note.to_owned());
            }
        };
        let whole = [(ContextKind::Test, related.tests), (ContextKind::Source, related.sources)];
        for (kind, paths) in whole.into_iter().filter(|(kind, _)| self.look.wants(*kind)) {
            for path in paths {
                let Some(other) = self.file(&path) else { continue };
                let (text, is_cut) = beginning(&other.text, RELATED_BYTES);
                self.add(kind, other.path, Some(&other.uri), Some(text), is_cut || other.is_unsaved);
            }
        }
        for path in related.imports.iter().filter(|_| self.look.wants(ContextKind::Import)) {
            let Some(other) = self.file(path) else { continue };
            let outline = self.look.search.outline(&self.look.view, &other.path, &self.look.cancel);
            let lines: Vec<String> =
                outline.iter().map(|symbol| format!("{}: {}", symbol.start_line, symbol.signature)).collect();
            let text = (!lines.is_empty()).then(|| beginning(&lines.join("\n"), RELATED_BYTES).0);
            let is_part = text.is_some();
            self.add(ContextKind::Import, other.path, Some(&other.uri), text, is_part);
        }
        for (path, lines) in
            related.dependents.into_iter().filter(|_| self.look.wants(ContextKind::Dependent))
        {
            let Some(other) = self.file(&path) else { continue };
            self.add(ContextKind::Dependent, other.path, Some(&other.uri), Some(lines.join("\n")), true);
        }
    }

    /// Problems of files that may be told of, those of the file in front first.
    fn diagnostics(&mut self, told: Vec<ContextDiagnostic>) {
        let mut kept = Vec::new();
        for diagnostic in told {
            if let Some(path) = self.shown(&diagnostic.file_path) {
                kept.push(ContextDiagnostic { file_path: path, ..diagnostic });
            }
        }
        let front = self.found.shape.active_editor.as_ref().map(|active| active.file_path.clone());
        kept.sort_by_key(|diagnostic| {
            (written::severity(&diagnostic.severity), Some(&diagnostic.file_path) != front.as_ref())
        });
        self.found.items.extend(written::diagnostics(&kept));
        self.found.shape.diagnostics = kept;
    }

    /// Files that are open: as the editor says, else as LSP told us.
    fn open(&mut self, told: Vec<OpenEditor>) {
        let told = if told.is_empty() { self.open_documents() } else { told };
        let mut kept = Vec::new();
        for open in told.into_iter().take(OPEN) {
            if let Some(path) = self.shown(&open.file_path) {
                kept.push(OpenEditor { file_path: path, ..open });
            }
        }
        self.found.items.extend(written::open_editors(&kept));
        self.found.shape.open_editors = kept;
    }

    fn open_documents(&self) -> Vec<OpenEditor> {
        let open = |(uri, _): (&str, _)| {
            let file = self.look.search.file(&self.look.view, &as_path(uri), &self.look.cancel).ok()?;
            Some(OpenEditor { file_path: file.path, is_dirty: file.is_unsaved, visible: false })
        };
        self.look.view.overlay.iter().take(OPEN).filter_map(open).collect()
    }

    /// A path as it is shown; `None` outside the workspace, and for a file of secrets.
    fn shown(&self, path: &str) -> Option<String> {
        let path = as_path(path);
        if guarded_part(&path).is_some() {
            return None;
        }
        let folder = self.look.view.roots.iter().find_map(|root| {
            let rest = std::path::Path::new(&path).strip_prefix(&root.path).ok()?.to_str()?.to_owned();
            Some(if self.look.view.roots.len() > 1 { format!("{}/{rest}", root.name) } else { rest })
        });
        match folder {
            Some(path) => Some(path),
            None if std::path::Path::new(&path).is_absolute() => None,
            None => crate::domain::policy::path::WorkspacePath::parse(&path)
                .ok()
                .map(|path| path.as_str().to_owned()),
        }
    }
}

/// The path of a `file:` URI; anything else as it stands.
fn as_path(path: &str) -> String {
    let of_uri = path.starts_with("file:").then(|| url::Url::parse(path).ok()?.to_file_path().ok());
    of_uri.flatten().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| path.to_owned())
}

/// Lines from `first` to `last`, from 1, inclusive.
fn lines_of(text: &str, first: u64, last: u64) -> String {
    let skip = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
    let take = usize::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(usize::MAX);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

/// The characters of a range.
fn slice(text: &str, range: Range<usize>) -> Option<String> {
    (range.start < range.end).then(|| text.chars().skip(range.start).take(range.end - range.start).collect())
}

/// Whole lines of at most `most` bytes, and whether there are more.
fn beginning(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() > most {
            break;
        }
        kept.push_str(line);
    }
    (kept, true)
}
