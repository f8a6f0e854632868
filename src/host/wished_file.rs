//! One file of a change that is wished: what it is now, and what it would be.
//!
//! Owns reading the base, the open buffer before the disk, and the text that a wish makes of it. Never asks and never writes.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use url::Url;

use super::ports::{Root, WorkspaceView};
use super::retrieval::{self, RetrievalError};
use crate::confined::{Links, NotOpened, NotRead, open_regular, read_bounded};
use crate::domain::edits::apply::{Conflict, TextEdit, apply_edits, apply_hunks, keep_line_ends};
use crate::domain::edits::diff::{TextDiff, unified_diff};
use crate::domain::edits::patch;
use crate::domain::edits::text::content_hash;
use crate::domain::edits::whole_diff::{deleted_diff, renamed_diff};

/// What every tool that writes or runs answers in a workspace without trust.
pub(crate) const UNTRUSTED: &str =
    "The workspace is not trusted, so nothing may be changed or run; the user must trust it first.";

/// Largest text a patch may make; the same as the largest file that is read by name.
pub(super) const TEXT_LIMIT: usize = 16 << 20;

/// How the new text is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProposedChange {
    /// Exact replacements.
    Edits(Vec<TextEdit>),
    /// A unified diff of this one file.
    Diff(String),
    /// The whole new text.
    NewContent(String),
    /// The whole new text, made from exactly this base.
    Rewritten {
        /// Hash of the base.
        base_hash: Option<String>,
        /// The text, its line ends included.
        text: String,
    },
    /// The file goes.
    Delete,
    /// The file gets another path, in the same folder of the workspace.
    Rename {
        /// Where to, as the model named it.
        to: String,
        /// Exact replacements in its text; none: it stays.
        edits: Vec<TextEdit>,
    },
}

/// Why nothing was proposed or written: a stable code and one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProposalRefusal {
    /// For instance `conflict`.
    pub code: String,
    /// One sentence.
    pub message: String,
}

impl ProposalRefusal {
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    /// What every writing tool answers in a workspace without trust.
    pub(crate) fn untrusted() -> Self {
        Self::new("untrusted_workspace", UNTRUSTED)
    }
}

impl From<RetrievalError> for ProposalRefusal {
    fn from(error: RetrievalError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// A file as it is before the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    /// Name of the root, where several are open.
    pub root: Option<String>,
    /// Relative to the root.
    pub path: String,
    /// As it is shown: with the root's name where several are open.
    pub shown: String,
    /// Its text; `None` when there is no such file.
    pub text: Option<String>,
    /// Hash of the buffer's text or of the file's bytes.
    pub hash: Option<String>,
}

/// Reads a file as the base of a change: the open buffer, else the disk. Blocking.
pub(crate) fn read_base(
    view: &WorkspaceView,
    path: &str,
    cancel: &AtomicBool,
) -> Result<Base, ProposalRefusal> {
    let (root, rel) = retrieval::resolve(view, path)?;
    if rel.is_empty() {
        return Err(ProposalRefusal::new(
            "invalid_params",
            "A patch needs the path of a file, not of a folder.",
        ));
    }
    let several = view.roots.len() > 1;
    let name = several.then(|| root.name.clone());
    let shown = if several { format!("{}/{rel}", root.name) } else { rel.clone() };
    let (text, hash) = match open_buffer(view, root, &rel) {
        Some(text) => {
            let hash = content_hash(text.as_bytes());
            (Some(text), Some(hash))
        }
        None => match read_disk(root, &rel, cancel)? {
            // The bytes are read first: if the file changes in between, its hash no longer fits and the write is refused.
            Some(bytes) => {
                let text = retrieval::read_lines(view, path, 1, None, TEXT_LIMIT, cancel)?.text;
                (Some(text), Some(content_hash(&bytes)))
            }
            None => (None, None),
        },
    };
    Ok(Base { root: name, path: rel, shown, text, hash })
}

/// A file with what is to become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WishedFile {
    /// As it is now.
    pub base: Base,
    /// What is done.
    pub wish: WishedChange,
    /// What had to be repaired in the diff that says so, one sentence each.
    pub warnings: Vec<String>,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WishedChange {
    /// It gets this text, or comes with it.
    Text(String),
    /// It goes.
    Delete,
    /// It gets another path, and perhaps another text.
    Rename {
        /// The new path, relative to the root.
        to: String,
        /// As it is shown.
        shown: String,
        /// The new text, where it changes.
        text: Option<String>,
    },
}

impl WishedFile {
    /// The file as it is, and what a wish makes of it. Blocking.
    pub(super) fn of(
        view: &WorkspaceView,
        path: &str,
        change: ProposedChange,
        cancel: &AtomicBool,
    ) -> Result<Self, ProposalRefusal> {
        let base = read_base(view, path, cancel)?;
        let (wish, warnings) = wish(view, &base, change, cancel)?;
        let file = Self { base, wish, warnings };
        if file.text().is_some_and(|text| text.len() > TEXT_LIMIT) {
            return Err(ProposalRefusal::new(
                "too_large",
                "The new text is larger than 16 MiB; make a smaller change.",
            ));
        }
        if matches!(&file.wish, WishedChange::Text(text) if file.base.text.as_deref() == Some(text.as_str()))
        {
            return Err(ProposalRefusal::new(
                "conflict",
                format!("The change leaves `{}` as it is, so there is nothing to do.", file.base.shown),
            ));
        }
        Ok(file)
    }

    /// The text that it gets.
    fn text(&self) -> Option<&str> {
        match &self.wish {
            WishedChange::Text(text) => Some(text),
            WishedChange::Delete => None,
            WishedChange::Rename { text, .. } => text.as_deref(),
        }
    }

    /// As it is shown once all is done.
    pub(super) fn shown(&self) -> &str {
        match &self.wish {
            WishedChange::Text(_) | WishedChange::Delete => &self.base.shown,
            WishedChange::Rename { shown, .. } => shown,
        }
    }

    /// The change as a diff, git style, and its hunks.
    pub(super) fn diff(&self) -> TextDiff {
        let old = self.base.text.as_deref();
        match &self.wish {
            WishedChange::Text(text) => unified_diff(&self.base.shown, old, text),
            WishedChange::Delete => deleted_diff(&self.base.shown, old.unwrap_or_default()),
            WishedChange::Rename { shown, text, .. } => {
                renamed_diff(&self.base.shown, shown, old.unwrap_or_default(), text.as_deref())
            }
        }
    }

    /// What tells this change from any other: the path, what was there, and what comes.
    pub(super) fn fingerprint(&self) -> String {
        let then = match &self.wish {
            WishedChange::Text(text) => content_hash(text.as_bytes()),
            WishedChange::Delete => "deleted".to_owned(),
            WishedChange::Rename { shown, text, .. } => {
                format!(
                    "{shown:?} {}",
                    text.as_ref().map_or(String::new(), |text| content_hash(text.as_bytes()))
                )
            }
        };
        format!("{:?} {} {then}\n", self.base.shown, self.base.hash.as_deref().unwrap_or("new"))
    }
}

fn wish(
    view: &WorkspaceView,
    base: &Base,
    change: ProposedChange,
    cancel: &AtomicBool,
) -> Result<(WishedChange, Vec<String>), ProposalRefusal> {
    let there = || match base.text {
        Some(_) => Ok(()),
        None => Err(ProposalRefusal::from(RetrievalError::NotFound(base.shown.clone()))),
    };
    match change {
        ProposedChange::Delete => there().map(|()| (WishedChange::Delete, Vec::new())),
        ProposedChange::Rename { to, edits } => {
            there()?;
            let target = read_base(view, &to, cancel)?;
            if target.text.is_some() {
                return Err(ProposalRefusal::new(
                    "conflict",
                    format!("`{}` exists already; choose another path.", target.shown),
                ));
            }
            if target.root != base.root {
                return Err(ProposalRefusal::new(
                    "unsupported",
                    "A file is renamed within its folder of the workspace; make a new one and delete the old one instead.",
                ));
            }
            let text = match edits.is_empty() {
                true => None,
                false => Some(changed(base, ProposedChange::Edits(edits))?.0),
            };
            Ok((WishedChange::Rename { to: target.path, shown: target.shown, text }, Vec::new()))
        }
        change => changed(base, change).map(|(text, warnings)| (WishedChange::Text(text), warnings)),
    }
}

fn changed(base: &Base, change: ProposedChange) -> Result<(String, Vec<String>), ProposalRefusal> {
    let conflict = |what: &str, conflict: Conflict| {
        ProposalRefusal::new(
            "conflict",
            format!(
                "{what} {} does not fit `{}`: {} Read the file and try again.",
                conflict.number, base.shown, conflict.reason
            ),
        )
    };
    match change {
        ProposedChange::Rewritten { base_hash, text } if base_hash == base.hash => Ok((text, Vec::new())),
        ProposedChange::Delete | ProposedChange::Rename { .. } => {
            Err(ProposalRefusal::new("internal", "A file that goes or moves has no text of its own."))
        }
        ProposedChange::Rewritten { .. } => Err(ProposalRefusal::new(
            "conflict",
            format!("`{}` changed while the patch was made; ask again.", base.shown),
        )),
        ProposedChange::NewContent(text) => {
            let text = match &base.text {
                Some(old) => keep_line_ends(old, &text),
                None => text,
            };
            Ok((text, Vec::new()))
        }
        ProposedChange::Edits(edits) => match &base.text {
            Some(old) => Ok((apply_edits(old, &edits).map_err(|c| conflict("Edit", c))?, Vec::new())),
            None => Err(RetrievalError::NotFound(base.shown.clone()).into()),
        },
        ProposedChange::Diff(diff) => {
            let files = patch::parse(&diff).map_err(|why| ProposalRefusal::new("invalid_params", why))?;
            let [file] = files.as_slice() else {
                return Err(ProposalRefusal::new(
                    "invalid_params",
                    "A diff changes one file; give several files one by one in `files`.",
                ));
            };
            if file.new_path.is_none() && !file.hunks.is_empty() && file.old_path.is_some() {
                return Err(ProposalRefusal::new(
                    "unsupported",
                    "This diff deletes a file; say so with `delete` instead.",
                ));
            }
            let named = file.new_path.as_deref().or(file.old_path.as_deref());
            if let Some(named) = named
                && !(base.shown.ends_with(named) || named.ends_with(&base.path))
            {
                return Err(ProposalRefusal::new(
                    "invalid_params",
                    format!("The diff names another file than `{}`; make the two agree.", base.shown),
                ));
            }
            let old = base.text.as_deref().unwrap_or("");
            Ok((apply_hunks(old, &file.hunks).map_err(|c| conflict("Hunk", c))?, file.warnings.clone()))
        }
    }
}

fn open_buffer(view: &WorkspaceView, root: &Root, rel: &str) -> Option<String> {
    let wanted = root.path.join(rel);
    let is_it =
        |uri: &str| Url::parse(uri).ok().and_then(|url| url.to_file_path().ok()).is_some_and(|p| p == wanted);
    view.overlay.iter().find(|(uri, _)| is_it(uri)).map(|(_, document)| document.text.to_string())
}

/// The bytes of a file beneath its root, `None` when there is none. A link out of the root is refused by the handle.
/// The bytes of a file on disk; `None`: there is none. Blocking.
pub(super) fn read_disk(
    root: &Root,
    rel: &str,
    cancel: &AtomicBool,
) -> Result<Option<Vec<u8>>, ProposalRefusal> {
    let gone = || RetrievalError::NotFound(rel.to_owned());
    let not_text = || RetrievalError::NotText(rel.to_owned());
    let dir =
        cap_std::fs::Dir::open_ambient_dir(&root.path, cap_std::ambient_authority()).map_err(|_| gone())?;
    let file = match open_regular(&dir, Path::new(rel), Links::Followed) {
        Ok((file, _)) => file,
        // A link that points nowhere is no free place for a new file.
        Err(NotOpened::Failed(error))
            if error.kind() == ErrorKind::NotFound && dir.symlink_metadata(rel).is_err() =>
        {
            return Ok(None);
        }
        Err(NotOpened::Failed(_)) => return Err(RetrievalError::OutsideWorkspace(rel.to_owned()).into()),
        Err(NotOpened::Directory | NotOpened::NotRegular) => return Err(not_text().into()),
    };
    let bytes = read_bounded(file, TEXT_LIMIT as u64, &|| cancel.load(Ordering::Relaxed));
    bytes.map(Some).map_err(|why| match why {
        NotRead::Stopped => RetrievalError::Cancelled.into(),
        NotRead::TooLarge => not_text().into(),
        NotRead::Failed(_) => gone().into(),
    })
}
