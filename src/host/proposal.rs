//! A change of one or several files, from the wish to the written files.
//!
//! Owns the path of a patch: read the bases, compute the texts, say `patch.proposed`, ask, look at trust again, hand over what
//! was allowed. Never writes: `written_files` has the port do it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::ports::Answer;
use super::request::AnsweredAsk;
use super::turn_output::TurnOutput;
pub(crate) use super::wished_file::{ProposalRefusal, ProposedChange};
use super::wished_file::{WishedChange, WishedFile};
use super::written_files::{self, ChangeMade};
pub(crate) use super::written_files::{AppliedFile, StuckChange};
use crate::domain::approval::{MadeEnd, MadeFile};
use crate::domain::dialect::desktop::message::{PatchProposed, RiskLevel, ServerMessage};
use crate::domain::edits::text::content_hash;
use crate::domain::steps::EffectAsked;

/// Files of one change: more nobody reviews at once, and a model can propose again.
const FILES: usize = 64;

/// A wished change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// The files, as the model or the user named them, each once, with what happens to each.
    pub files: Vec<(String, ProposedChange)>,
    /// Why the change is proposed, for the user.
    pub rationale: String,
    /// How to check.
    pub acceptance_criteria: Vec<String>,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Allowed, and written.
    Applied {
        /// What was done, file by file, in order.
        files: Vec<AppliedFile>,
        /// What had to be repaired in the diffs.
        warnings: Vec<String>,
    },
    /// Allowed, but a file could not be changed, and not all that was written before could be taken back.
    Stuck(StuckChange),
    /// The user, or a rule, denied it; nothing was changed.
    Denied,
    /// The user decided change by change: what stands in the files, and what does not.
    InPart(String),
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
        let refusal = ProposalRefusal::untrusted();
        if let Some(before) = &before {
            port.edit_made(&before.request_id, Err(refusal.message.clone())).await;
        }
        return Err(refusal);
    }
    let Proposal { files, rationale, acceptance_criteria } = proposal;
    let shown = before.as_ref().map(|before| before.effect.clone());
    let wished = blocking(move |cancel| {
        let files = files.into_iter();
        let made = files.map(|(path, change)| WishedFile::of(&view, &path, change, cancel));
        let made = made.collect::<Result<Vec<_>, _>>().and_then(together);
        match (made, shown) {
            (Ok(files), Some(shown)) if shown != effect(&files) => Err(changed_since(&files)),
            (made, _) => made,
        }
    })
    .await;
    let wished = match (wished, &before) {
        (Ok(wished), _) => wished,
        (Err(refusal), None) => return Err(refusal),
        // It was allowed, and is not what it was.
        (Err(refusal), Some(before)) => {
            port.edit_made(&before.request_id, Err(refusal.message.clone())).await;
            return Err(refusal);
        }
    };
    let request_id = match before {
        Some(before) => before.request_id,
        None => {
            let patch = patch_of(port.fresh_id(), &wished, rationale, acceptance_criteria);
            match allowed(voice, patch, &wished).await {
                Ok(request_id) => request_id,
                Err(outcome) => return Ok(outcome),
            }
        }
    };
    let names: Vec<FileName> = wished.iter().map(FileName::of).collect();
    let outcome = write_allowed(voice, wished, &request_id).await;
    let made = match &outcome {
        Ok(outcome) => Ok(names.into_iter().map(|name| name.with_end(outcome)).collect()),
        Err(refusal) => Err(refusal.message.clone()),
    };
    port.edit_made(&request_id, made).await;
    outcome
}

/// Asks about a change: the id of the request by which the whole of it is allowed, or what became of it otherwise.
async fn allowed(
    voice: &mut TurnOutput<'_>,
    patch: PatchProposed,
    wished: &[WishedFile],
) -> Result<String, Outcome> {
    match ask_about(voice, patch, wished, effect(wished)).await {
        (request_id, Answer::Allowed) => Ok(request_id),
        (_, Answer::Denied) => Err(Outcome::Denied),
        (_, Answer::InPart { note, is_written }) => {
            for file in wished.iter().filter(|_| is_written) {
                voice.file_modified(file.shown());
            }
            Err(Outcome::InPart(note))
        }
    }
}

/// Writes what was allowed. A stop waits until that is done and told.
async fn write_allowed(
    voice: &mut TurnOutput<'_>,
    wished: Vec<WishedFile>,
    request_id: &str,
) -> Result<Outcome, ProposalRefusal> {
    // Trust may have gone while the question was open.
    if !voice.port().workspace().trusted {
        return Err(ProposalRefusal::untrusted());
    }
    voice.step_performing(request_id).await;
    voice.writing().await;
    Ok(match written_files::write(voice, wished).await? {
        ChangeMade::Whole { files, warnings } => Outcome::Applied { files, warnings },
        ChangeMade::InPart(stuck) => Outcome::Stuck(stuck),
    })
}

/// A file of a change, as whoever keeps the edit knows it.
struct FileName {
    root: Option<String>,
    path: String,
    shown: String,
}

impl FileName {
    fn of(file: &WishedFile) -> Self {
        let path = match &file.wish {
            WishedChange::Rename { to, .. } => to.clone(),
            WishedChange::Text(_) | WishedChange::Delete => file.base.path.clone(),
        };
        Self { root: file.base.root.clone(), path, shown: file.shown().to_owned() }
    }

    /// With what came of it.
    fn with_end(self, outcome: &Outcome) -> MadeFile {
        let Self { root, path, shown } = self;
        let is_it = |file: &&AppliedFile| file.path == shown;
        let left = |why: String| MadeEnd::Left { why };
        let end = match outcome {
            Outcome::Applied { files, .. } => match files.iter().find(is_it) {
                Some(file) => MadeEnd::Made { hash: file.hash.clone() },
                None => left("It was not reached.".to_owned()),
            },
            Outcome::Stuck(StuckChange { at, standing, .. }) => {
                match standing.iter().find(|(file, _)| file.path == shown) {
                    Some((file, why)) => MadeEnd::Stands { hash: file.hash.clone(), why: why.clone() },
                    None if at.0 == shown => left(at.1.message.clone()),
                    None => left(format!("{} could not be changed, so this file holds what it held.", at.0)),
                }
            }
            Outcome::Denied | Outcome::InPart(_) => left("It was not allowed.".to_owned()),
        };
        MadeFile { root, path, end }
    }
}

/// Files that can be decided on together.
fn together(files: Vec<WishedFile>) -> Result<Vec<WishedFile>, ProposalRefusal> {
    let invalid = |message: &str| Err(ProposalRefusal::new("invalid_params", message));
    if files.is_empty() {
        return invalid("A change needs at least one file.");
    }
    if files.len() > FILES {
        return invalid("A change has at most 64 files; propose the others afterwards.");
    }
    if files.iter().any(|file| file.base.root != files[0].base.root) {
        return invalid(
            "The files are in several folders of the workspace; propose one change for each folder.",
        );
    }
    let mut paths: Vec<&str> = Vec::new();
    for file in &files {
        let moved = Some(file.shown()).filter(|shown| *shown != file.base.shown);
        for path in [Some(file.base.shown.as_str()), moved].into_iter().flatten() {
            if paths.contains(&path) {
                return invalid("A file stands twice in the change; give all of what happens to it once.");
            }
            paths.push(path);
        }
    }
    Ok(files)
}

fn patch_of(
    patch_id: String,
    files: &[WishedFile],
    rationale: String,
    acceptance_criteria: Vec<String>,
) -> PatchProposed {
    let (mut diff, mut hunks) = (String::new(), Vec::new());
    for file in files {
        let one = file.diff();
        diff.push_str(&one.unified);
        hunks.extend(one.hunks);
    }
    let first = files.first();
    PatchProposed {
        patch_id,
        file_path: first.map(|file| file.shown().to_owned()).unwrap_or_default(),
        diff,
        rationale,
        acceptance_criteria,
        requires_approval: true,
        hunks,
        base_hash: first.filter(|_| files.len() == 1).and_then(|file| file.base.hash.clone()),
        warnings: files.iter().flat_map(|file| file.warnings.clone()).collect(),
    }
}

/// Says what would be written, and waits for the answer to that.
async fn ask_about(
    voice: &mut TurnOutput<'_>,
    patch: PatchProposed,
    files: &[WishedFile],
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
    if !patch.acceptance_criteria.is_empty() {
        args.insert("acceptance_criteria".to_owned(), json!(patch.acceptance_criteria));
    }
    if !patch.warnings.is_empty() {
        args.insert("warnings".to_owned(), json!(patch.warnings));
    }
    let bases: Map<String, Value> = files
        .iter()
        .filter_map(|file| Some((file.shown().to_owned(), json!(file.base.hash.as_ref()?))))
        .collect();
    if !bases.is_empty() {
        args.insert("base_hashes".to_owned(), Value::Object(bases));
    }
    let deletes = matches!(files, [only] if only.wish == WishedChange::Delete);
    voice.proposes(patch).await;
    let request_id = port.fresh_id();
    voice.step_asked(&request_id, effect).await;
    voice
        .say(ServerMessage::ToolRequestApproval {
            request_id: request_id.clone(),
            tool_name: if deletes { "delete_file" } else { "write_file" }.to_owned(),
            args,
            risk_level: RiskLevel::Medium,
            call_id: voice.call_id(),
            served_by: None,
        })
        .await;
    let answer = port.answer(&request_id).await;
    (request_id, answer)
}

/// What a change would do, as a step keeps it.
fn effect(files: &[WishedFile]) -> EffectAsked {
    match files {
        [WishedFile { base, wish: WishedChange::Text(text), .. }] => EffectAsked::Write {
            path: base.shown.clone(),
            base_hash: base.hash.clone(),
            text_hash: content_hash(text.as_bytes()),
        },
        files => EffectAsked::Edit {
            paths: files.iter().map(|file| file.base.shown.clone()).collect(),
            hash: content_hash(files.iter().map(WishedFile::fingerprint).collect::<String>().as_bytes()),
        },
    }
}

fn changed_since(files: &[WishedFile]) -> ProposalRefusal {
    let paths: Vec<String> = files.iter().map(|file| format!("`{}`", file.base.shown)).collect();
    let is = if paths.len() == 1 { "is not what it was" } else { "are not all what they were" };
    ProposalRefusal::new(
        "conflict",
        format!(
            "{} {is} when this change was shown, so nothing was written; read it again.",
            paths.join(", ")
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
    // Boxed, with the outcome on a channel, so that the runtime's own code is built once and not for each kind of work.
    let (outcome, ended) = oneshot::channel();
    let work: Box<dyn FnOnce() + Send> = Box::new(move || {
        // Nobody waits any more after a stop.
        let _ = outcome.send(work(&cancel));
    });
    tokio::task::spawn_blocking(work);
    match ended.await {
        Ok(outcome) => outcome,
        Err(_) => Err(ProposalRefusal::new(
            "internal",
            "The work on the file failed inside breadboard-ls; try again.",
        )),
    }
}
