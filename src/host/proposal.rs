//! A change of one file, from the wish to the written text.
//!
//! Owns the path of a patch: read the base, compute the text, say `patch.proposed`, ask, look at trust again, write.
//! Never writes by itself: the port does, and only what was allowed.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use url::Url;

use super::ports::{Answer, Root, WorkspaceView, Written};
use super::request::AnsweredAsk;
use super::retrieval::{self, RetrievalError};
use super::turn_output::TurnOutput;
use crate::confined::{Links, NotOpened, NotRead, open_regular, read_bounded};
use crate::domain::dialect::desktop::message::{PatchProposed, RiskLevel, ServerMessage};
use crate::domain::edits::apply::{Conflict, TextEdit, apply_edits, apply_hunks, keep_line_ends};
use crate::domain::edits::diff::unified_diff;
use crate::domain::edits::patch;
use crate::domain::edits::text::content_hash;
use crate::domain::steps::EffectAsked;

/// Largest text a patch may make; the same as the largest file that is read by name.
const TEXT_LIMIT: usize = 16 << 20;

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
}

/// A wished change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// The file, as the model or the user named it.
    pub path: String,
    /// Why.
    pub rationale: String,
    /// How to check.
    pub acceptance_criteria: Vec<String>,
    /// What.
    pub change: ProposedChange,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Written.
    Applied {
        /// The file as it is shown.
        path: String,
        /// Hash after.
        hash: String,
        /// Whether it is on disk.
        saved: bool,
        /// Lines added.
        added: usize,
        /// Lines removed.
        removed: usize,
        /// What had to be repaired in the diff.
        warnings: Vec<String>,
    },
    /// The user, or a rule, denied it; nothing was changed.
    Denied,
    /// The user decided change by change: what stands in the file, and what does not.
    InPart(String),
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
    fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    /// What every writing tool answers in a workspace without trust.
    pub(crate) fn untrusted() -> Self {
        Self::new(
            "untrusted_workspace",
            "The workspace is not trusted, so nothing may be changed or run; the user must trust it first.",
        )
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

/// Proposes a change, asks, and writes it when it is allowed. One that was asked for before, by a process that is gone, is made
/// again, and written only if it is the same.
pub(crate) async fn propose(
    voice: &mut TurnOutput<'_>,
    proposal: Proposal,
    before: Option<AnsweredAsk>,
) -> Result<Outcome, ProposalRefusal> {
    let port = voice.port();
    if before.as_ref().is_some_and(|before| before.answer != Answer::Allowed) {
        return Ok(Outcome::Denied);
    }
    let view = port.workspace();
    if !view.trusted {
        return Err(ProposalRefusal::untrusted());
    }
    let Proposal { path, rationale, acceptance_criteria, change } = proposal;
    let shown = before.as_ref().map(|before| before.effect.clone());
    let (base, text, warnings) = blocking(move |cancel| {
        let base = read_base(&view, &path, cancel)?;
        if shown.as_ref().is_some_and(|shown| !is_base_of(shown, &base)) {
            return Err(changed_since(&base));
        }
        let (text, warnings) = changed(&base, change)?;
        if shown.is_some_and(|shown| shown != effect(&base, &text)) {
            return Err(changed_since(&base));
        }
        Ok((base, text, warnings))
    })
    .await?;
    if text.len() > TEXT_LIMIT {
        return Err(ProposalRefusal::new(
            "too_large",
            "The new text is larger than 16 MiB; make a smaller change.",
        ));
    }
    if base.text.as_deref() == Some(text.as_str()) {
        return Err(ProposalRefusal::new(
            "conflict",
            format!("The change leaves `{}` as it is, so there is nothing to do.", base.shown),
        ));
    }
    let diff = unified_diff(&base.shown, base.text.as_deref(), &text);
    let count = |mark: char| {
        diff.hunks.iter().flat_map(|hunk| hunk.content.lines()).filter(|line| line.starts_with(mark)).count()
    };
    let (added, removed) = (count('+'), count('-'));
    let patch = PatchProposed {
        patch_id: port.fresh_id(),
        file_path: base.shown.clone(),
        diff: diff.unified,
        rationale,
        acceptance_criteria,
        requires_approval: true,
        hunks: diff.hunks,
        base_hash: base.hash.clone(),
        warnings: warnings.clone(),
    };
    let request_id = match before {
        Some(before) => before.request_id,
        None => match ask_about(voice, patch, effect(&base, &text)).await {
            (_, Answer::Denied) => return Ok(Outcome::Denied),
            (_, Answer::InPart { note, is_written }) => {
                if is_written {
                    voice.file_modified(&base.shown);
                }
                return Ok(Outcome::InPart(note));
            }
            (request_id, Answer::Allowed) => request_id,
        },
    };
    // Trust may have gone while the question was open.
    if !port.workspace().trusted {
        return Err(ProposalRefusal::untrusted());
    }
    voice.step_performing(&request_id).await;
    let Written { hash, saved } = port
        .apply_text(base.root, base.path, base.hash, text)
        .await
        .map_err(|error| ProposalRefusal { code: error.code, message: error.message })?;
    voice.file_modified(&base.shown);
    Ok(Outcome::Applied { path: base.shown, hash, saved, added, removed, warnings })
}

/// Says what would be written, and waits for the answer to that.
async fn ask_about(
    voice: &mut TurnOutput<'_>,
    patch: PatchProposed,
    effect: EffectAsked,
) -> (String, Answer) {
    let port = voice.port();
    let mut args: Map<String, Value> = [
        ("file_path".to_owned(), json!(patch.file_path)),
        ("reason".to_owned(), json!(patch.rationale)),
        ("patch_id".to_owned(), json!(patch.patch_id)),
        ("diff".to_owned(), json!(patch.diff)),
    ]
    .into_iter()
    .collect();
    if !patch.warnings.is_empty() {
        args.insert("warnings".to_owned(), json!(patch.warnings));
    }
    voice.proposes(patch).await;
    let request_id = port.fresh_id();
    voice.step_asked(&request_id, effect).await;
    voice
        .say(ServerMessage::ToolRequestApproval {
            request_id: request_id.clone(),
            tool_name: "write_file".to_owned(),
            args,
            risk_level: RiskLevel::Medium,
            call_id: voice.call_id(),
        })
        .await;
    let answer = port.answer(&request_id).await;
    (request_id, answer)
}

/// What a change would do, as a step keeps it.
fn effect(base: &Base, text: &str) -> EffectAsked {
    EffectAsked::Write {
        path: base.shown.clone(),
        base_hash: base.hash.clone(),
        text_hash: content_hash(text.as_bytes()),
    }
}

/// Whether what was shown was made from this text of the file.
fn is_base_of(shown: &EffectAsked, base: &Base) -> bool {
    match shown {
        EffectAsked::Write { path, base_hash, .. } => *path == base.shown && *base_hash == base.hash,
        EffectAsked::Command { .. } => false,
    }
}

fn changed_since(base: &Base) -> ProposalRefusal {
    ProposalRefusal::new(
        "conflict",
        format!(
            "`{}` is not what it was when this change was shown, so nothing was written; read it again.",
            base.shown
        ),
    )
}

/// Runs blocking work on its own thread. Its flag is set when this future is dropped, as at a stop.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T, ProposalRefusal> + Send + 'static,
) -> Result<T, ProposalRefusal> {
    struct CancelOnDrop(Arc<AtomicBool>);
    impl Drop for CancelOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let cancel = Arc::new(AtomicBool::new(false));
    let _guard = CancelOnDrop(Arc::clone(&cancel));
    match tokio::task::spawn_blocking(move || work(&cancel)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ProposalRefusal::new(
            "internal",
            "The work on the file failed inside breadboard-ls; try again.",
        )),
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
                    "A patch changes one file; propose one patch a file.",
                ));
            };
            if file.new_path.is_none() && !file.hunks.is_empty() && file.old_path.is_some() {
                return Err(ProposalRefusal::new(
                    "unsupported",
                    "A patch cannot delete a file; use a command for that.",
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
fn read_disk(root: &Root, rel: &str, cancel: &AtomicBool) -> Result<Option<Vec<u8>>, ProposalRefusal> {
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
