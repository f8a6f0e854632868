//! An allowed change on its way into its files: all of them, or none.
//!
//! Owns the order, and taking back what was written when a file after it cannot be: each file gets what it held when the change was
//! made, and only if it still is what was written. Never decides or asks, and never writes by itself: the port does.

use super::ports::{FileOperation, PortError, TurnPort, Written};
use super::turn_output::TurnOutput;
use super::wished_file::{ProposalRefusal, WishedChange, WishedFile};

/// What became of an allowed change.
pub(super) enum ChangeMade {
    /// All of it stands.
    Whole {
        /// What was done, file by file, in order.
        files: Vec<AppliedFile>,
        /// What had to be repaired in the diffs.
        warnings: Vec<String>,
    },
    /// Not all of it could be made, and not all of that taken back.
    InPart(StuckChange),
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppliedFile {
    /// The file as it is shown.
    pub path: String,
    /// What it was called, where it was renamed.
    pub old_path: Option<String>,
    /// Hash after; `None`: it is gone.
    pub hash: Option<String>,
    /// Whether it is on disk.
    pub saved: bool,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// A change of which a part stands in the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StuckChange {
    /// The file that could not be changed, and why; those that were to come after it are as they were.
    pub at: (String, ProposalRefusal),
    /// Files that were changed and could not be taken back, each with why.
    pub standing: Vec<(AppliedFile, String)>,
    /// Files that hold again what they held before.
    pub taken_back: Vec<String>,
    /// What had to be repaired in the diffs.
    pub warnings: Vec<String>,
}

/// A file of the change that was written.
struct WrittenFile {
    file: WishedFile,
    applied: AppliedFile,
    /// An earlier change of the turn was in it already.
    was_modified: bool,
}

/// Writes all files. When one cannot be, those before it are taken back.
pub(super) async fn write(
    voice: &mut TurnOutput<'_>,
    mut wished: Vec<WishedFile>,
) -> Result<ChangeMade, ProposalRefusal> {
    let is_one = wished.len() == 1;
    let warnings = wished.iter().flat_map(|file| file.warnings.clone()).collect();
    // A deleted file can only come back as a new one, so that nothing but deletions is done after one.
    wished.sort_by_key(|file| file.wish == WishedChange::Delete);
    let mut written: Vec<WrittenFile> = Vec::new();
    for file in wished {
        match write_file(voice, &file).await {
            Ok(applied) => {
                let was_modified = !voice.file_modified(file.shown());
                written.push(WrittenFile { file, applied, was_modified });
            }
            Err(refusal) if is_one => return Err(refusal),
            Err(refusal) => {
                let at = (file.shown().to_owned(), refusal);
                return take_back(voice, written, at, warnings).await;
            }
        }
    }
    Ok(ChangeMade::Whole { files: written.into_iter().map(|one| one.applied).collect(), warnings })
}

async fn write_file(voice: &TurnOutput<'_>, file: &WishedFile) -> Result<AppliedFile, ProposalRefusal> {
    let port = voice.port();
    let (added, removed) = counts(file);
    let path = file.shown().to_owned();
    let base = file.base.clone();
    let written = match &file.wish {
        WishedChange::Text(text) => port.apply_text(base.root, base.path, base.hash, text.clone()).await,
        WishedChange::Delete => {
            port.change_file(base.root, base.path, base.hash, FileOperation::Delete).await
        }
        WishedChange::Rename { to, text, .. } => {
            let operation = FileOperation::Move { to: to.clone(), text: text.clone() };
            port.change_file(base.root, base.path, base.hash, operation).await
        }
    };
    let Written { hash, saved } =
        written.map_err(|error| ProposalRefusal { code: error.code, message: error.message })?;
    let old_path = Some(base.shown).filter(|old| *old != path);
    Ok(AppliedFile { path, old_path, hash, saved, added, removed })
}

fn counts(file: &WishedFile) -> (usize, usize) {
    let diff = file.diff();
    let count = |mark: char| {
        diff.hunks.iter().flat_map(|hunk| hunk.content.lines()).filter(|line| line.starts_with(mark)).count()
    };
    (count('+'), count('-'))
}

/// Takes back what was written, the last first: a change that is made in part is one that nobody allowed.
async fn take_back(
    voice: &mut TurnOutput<'_>,
    written: Vec<WrittenFile>,
    at: (String, ProposalRefusal),
    warnings: Vec<String>,
) -> Result<ChangeMade, ProposalRefusal> {
    let (mut standing, mut taken_back) = (Vec::new(), Vec::new());
    for one in written.into_iter().rev() {
        let shown = one.file.shown().to_owned();
        match undo(voice.port(), &one).await {
            Ok(()) => {
                if !one.was_modified {
                    voice.file_taken_back(&shown);
                }
                taken_back.push(one.file.base.shown);
            }
            Err(error) => standing.push((one.applied, error.message)),
        }
    }
    standing.reverse();
    taken_back.reverse();
    if !standing.is_empty() {
        return Ok(ChangeMade::InPart(StuckChange { at, standing, taken_back, warnings }));
    }
    if !taken_back.is_empty() {
        voice.patch_taken_back();
    }
    let (path, ProposalRefusal { code, message }) = at;
    let before = match taken_back.is_empty() {
        true => String::new(),
        false => format!(" What was written before it was taken back: {}.", taken_back.join(", ")),
    };
    let message = format!("{path} could not be changed, so no file of this change was. {message}{before}");
    Err(ProposalRefusal { code, message })
}

/// Gives a file back what it held.
async fn undo(port: &dyn TurnPort, written: &WrittenFile) -> Result<(), PortError> {
    let WrittenFile { file: WishedFile { base, wish, .. }, applied, .. } = written;
    let (root, path, now) = (base.root.clone(), base.path.clone(), applied.hash.clone());
    match (wish, base.text.clone()) {
        (WishedChange::Text(_), Some(text)) => port.apply_text(root, path, now, text).await.map(drop),
        (WishedChange::Text(_), None) => {
            port.change_file(root, path, now, FileOperation::Delete).await.map(drop)
        }
        (WishedChange::Rename { to, text, .. }, old) => {
            let back = FileOperation::Move { to: path, text: text.as_ref().and(old) };
            port.change_file(root, to.clone(), now, back).await.map(drop)
        }
        (WishedChange::Delete, text) => {
            let again = port.apply_text(root, path, None, text.unwrap_or_default()).await?;
            match again.hash == base.hash {
                true => Ok(()),
                false => Err(PortError {
                    code: "conflict".to_owned(),
                    message: "It was made anew with the text that it had, but in UTF-8.".to_owned(),
                }),
            }
        }
    }
}
