//! What `bb/openDiff` and `bb/textDocument` travel as, from ref to text.
//!
//! Owns the job, its sides and where downloaded artifacts lie. A side that lies at the engine is downloaded first;
//! everything else is read by the workspace edge, which answers.

use std::path::{Path, PathBuf};

use super::client::ClientId;
use super::inbox::Reply;
use crate::domain::coded_error::CodedError;
use crate::domain::edits::reference::Reference;
use crate::domain::edits::text::content_hash;
use crate::domain::policy::path::WorkspacePath;
use crate::protocol::request::{OpenDiffResult, TextDocumentResult};

/// One side of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffSide {
    /// Where its text comes from, as the client said it.
    pub reference: Reference,
    /// What had to be found out before it can be read.
    pub found: Found,
}

/// What the loop found out about a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing; the ref says all.
    Nothing,
    /// The artifact, downloaded for this job: whoever reads it deletes it.
    Downloaded(PathBuf),
    /// The patch.
    Patch(PatchText),
}

/// A patch as its event told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchText {
    /// Unified diff.
    pub diff: String,
    /// The file it changes, as the engine named it.
    pub file_path: String,
    /// `sha256:<hex>` of the text it was made from.
    pub base_hash: Option<String>,
}

/// Which root the path is relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffRoot {
    /// The workspace folder of this name; `None` for the first.
    Named(Option<String>),
    /// The folder where the session works; it must be one of the workspace, and the one that is named here, if one is.
    At(PathBuf, Option<String>),
    /// The session works in a folder that nobody told us.
    Unknown,
}

/// One diff, or one side of it as a document.
#[derive(Debug)]
pub struct DiffJob {
    /// Whose buffers are meant.
    pub client: ClientId,
    /// Id of the session.
    pub session_id: String,
    /// Which root.
    pub root: DiffRoot,
    /// Relative to it.
    pub path: WorkspacePath,
    /// Before, or the only one.
    pub left: DiffSide,
    /// What is made of it.
    pub purpose: DiffFor,
}

/// What a diff is read for.
#[derive(Debug)]
pub enum DiffFor {
    /// `bb/openDiff`: both sides are compared.
    Comparison {
        /// The side after the change.
        right: DiffSide,
        /// Where the answer goes.
        reply: Reply<OpenDiffResult>,
    },
    /// `bb/textDocument`: the one side as a document.
    Document {
        /// Where the answer goes.
        reply: Reply<TextDocumentResult>,
    },
}

impl DiffJob {
    /// Answers that it could not be read.
    pub fn refuse(self, error: CodedError) {
        match self.purpose {
            DiffFor::Comparison { reply, .. } => reply.refuse(error),
            DiffFor::Document { reply } => reply.refuse(error),
        }
    }

    /// Whether nobody waits for it any more.
    pub fn is_abandoned(&self) -> bool {
        match &self.purpose {
            DiffFor::Comparison { reply, .. } => reply.is_abandoned(),
            DiffFor::Document { reply } => reply.is_abandoned(),
        }
    }

    /// Its sides.
    pub fn sides_mut(&mut self) -> impl Iterator<Item = &mut DiffSide> {
        let right = match &mut self.purpose {
            DiffFor::Comparison { right, .. } => Some(right),
            DiffFor::Document { .. } => None,
        };
        std::iter::once(&mut self.left).chain(right)
    }

    /// The artifact that has to be downloaded next.
    pub fn wanted_artifact(&mut self) -> Option<String> {
        self.sides_mut().find_map(|side| match (&side.reference, &side.found) {
            (Reference::Artifact(path), Found::Nothing) => Some(path.clone()),
            _ => None,
        })
    }
}

/// Where artifacts of a session lie. A session id is the engine's word, so what could be more than a name is hashed.
pub(super) fn artifact_folder(state_dir: &Path, session_id: &str) -> PathBuf {
    state_dir.join("artifacts").join(safe_name(session_id))
}

/// The name as it is where it can only be a name, else its hash.
fn safe_name(name: &str) -> String {
    let plain = !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if plain { name.to_owned() } else { hash(name) }
}

/// A short hash of a name.
pub(super) fn hash(name: &str) -> String {
    content_hash(name.as_bytes()).trim_start_matches("sha256:").chars().take(32).collect()
}

/// Name of the file that keeps an artifact: the last part of its path, as any file system takes it.
pub(super) fn artifact_name(artifact_path: &str) -> String {
    /// Characters; of four bytes each they still fit a name, with what a download adds to it while it runs.
    const MOST: usize = 50;
    let last = artifact_path.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    let harmless = |c: char| {
        if c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ' | '+' | '(' | ')') { c } else { '_' }
    };
    // The end has the extension. A name never begins or ends with a dot or a space: hidden here, dropped on Windows.
    let skip = last.chars().count().saturating_sub(MOST);
    let name: String = last.chars().skip(skip).map(harmless).collect();
    let name = name.trim_matches(['.', ' ']);
    if name.is_empty() { "artifact".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r000_33_36_the_name_of_an_artifact_is_only_a_name() {
        for (path, name) in [
            ("logs/run 1/out.txt", "out.txt"),
            ("/abs/report.tar.gz", "report.tar.gz"),
            ("..\\..\\evil.exe", "evil.exe"),
            ("../..", "artifact"),
            ("", "artifact"),
            ("a/b/", "b"),
            (".bashrc", "bashrc"),
            ("a:b*?.md", "a_b__.md"),
            ("x\n.md", "x_.md"),
            ("Übung.md", "Übung.md"),
        ] {
            assert_eq!(artifact_name(path), name, "{path:?}");
        }
        let long = artifact_name(&format!("{}.json", "ü".repeat(300)));
        assert!(long.ends_with(".json") && long.len() <= 100, "{long}");
    }

    #[test]
    fn r000_36_a_session_id_cannot_lead_out_of_the_artifacts() {
        let state = Path::new("state");
        assert_eq!(artifact_folder(state, "5f-a_1"), state.join("artifacts/5f-a_1"));
        for id in ["..", "../x", "/etc", "a/b", "C:", "", &"a".repeat(65)] {
            let folder = artifact_folder(state, id);
            let name = folder.file_name().unwrap().to_str().unwrap();
            assert_eq!(
                (folder.parent().unwrap(), name.len()),
                (state.join("artifacts").as_path(), 32),
                "{id}"
            );
        }
    }
}
