//! What git gives to a context: branch, changed files, the newest commits; and what is not committed, compared by ourselves.
//!
//! Owns how many files are compared. git only tells what the last commit has; what a file is now is read as every other file is,
//! open buffers first, so that no filter of a repository runs.

use std::collections::BTreeMap;

use super::ContextLook;
use super::written;
use crate::domain::context::item::{ContextItem, ContextKind, PromptContext};
use crate::domain::edits::diff::unified_diff;
use crate::domain::policy::guarded_path::guarded_part;
use crate::workspace::git::Repository;
use crate::workspace::git_state::Questions;

/// Files that are compared.
const COMPARED: usize = 12;

/// Bytes of a file that is compared.
const COMPARED_BYTES: usize = 512 * 1024;

/// The state of the repository that the first folder lies in.
pub(super) async fn state(look: &ContextLook) -> PromptContext {
    let mut found = PromptContext::default();
    let Some(root) = look.view.roots.first() else { return found };
    let repository = Repository { directory: root.path.clone(), git_dir: None };
    // No repository, or one that belongs to somebody else: there is nothing to tell.
    let Ok(top) = repository.top() else { return found };
    let questions = Questions { repository: &repository, top: top.as_deref(), is_over: &look.git_over };
    let Ok(git) = questions.state().await else { return found };
    if look.wants(ContextKind::Diff) {
        let mut changed: Vec<String> = git.staged_files.iter().chain(&git.modified_files).cloned().collect();
        changed.sort();
        changed.dedup();
        changed.retain(|path| guarded_part(path).is_none());
        if changed.len() > COMPARED {
            found.notes.push(format!(
                "{} files are not committed; the changes of the first {COMPARED} of them went with the prompt.",
                changed.len()
            ));
            changed.truncate(COMPARED);
        }
        let before = questions.committed(&changed).await.unwrap_or_default();
        found.items.extend(compared(look, &changed, &before));
    }
    if look.wants(ContextKind::Git) {
        found.items.extend(written::git(&git));
        found.shape.git_context = Some(git);
    }
    found
}

fn compared(
    look: &ContextLook,
    changed: &[String],
    before: &BTreeMap<String, String>,
) -> Option<ContextItem> {
    let mut text = String::new();
    let mut files = 0;
    for path in changed {
        let now = look.search.file(&look.view, path, &look.cancel).map(|file| file.text).unwrap_or_default();
        if now.len() > COMPARED_BYTES {
            continue;
        }
        let diff = unified_diff(path, before.get(path).map(String::as_str), &now);
        if !diff.unified.is_empty() {
            files += 1;
            text.push_str(&diff.unified);
        }
    }
    written::diff(files, text)
}
