//! The state of a repository: its branch, what changed, the newest commits, and the texts of the last commit.
//!
//! Owns these questions to git. Each is one of git's inner commands that looks at its own files only: none reads a file of the
//! workspace through a filter of the repository's, none writes, none starts another program (`git`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::git::{FoundBlob, Repository};
use crate::domain::coded_error::CodedError;
use crate::domain::context::shape::{GitContext, RecentCommit};

/// Bytes of one answer.
const ANSWER: usize = 256 * 1_024;

/// Files that are named of each kind.
const FILES: usize = 50;

/// Commits that are named.
const COMMITS: &str = "-n5";

/// Bytes of a file of the last commit that are compared.
const BLOB: usize = 512 * 1_024;

/// Questions to one repository.
pub(super) struct Questions<'a> {
    pub(super) repository: &'a Repository,
    /// Where it begins.
    pub(super) top: Option<&'a Path>,
    /// Whether nobody waits any more.
    pub(super) is_over: &'a AtomicBool,
}

impl Questions<'_> {
    /// Branch, changes and commits.
    pub(super) async fn state(&self) -> Result<GitContext, CodedError> {
        let (branch, staged, modified, commits) = tokio::join!(
            self.branch(),
            self.ask(&["diff-index", "--cached", "--name-only", "--relative", "-z", "HEAD", "--"]),
            self.ask(&["diff-files", "--name-only", "--relative", "-z", "--"]),
            self.ask(&[
                "log",
                COMMITS,
                "--no-show-signature",
                "--no-color",
                "--format=%H%x1f%an%x1f%at%x1f%s",
                "HEAD",
                "--",
            ]),
        );
        Ok(GitContext {
            branch: branch?,
            staged_files: names(&staged?),
            modified_files: names(&modified?),
            recent_commits: commits?.map(|said| commits_of(&said)).unwrap_or_default(),
        })
    }

    /// What the last commit has of these files; a file that it does not have is not among them.
    pub(super) async fn committed(&self, files: &[String]) -> Result<BTreeMap<String, String>, CodedError> {
        let mut words = vec!["ls-tree", "-z", "HEAD", "--"];
        words.extend(files.iter().map(String::as_str));
        let Some(listed) = self.ask(&words).await? else { return Ok(BTreeMap::new()) };
        let mut texts = BTreeMap::new();
        for (id, path) in listed.split('\0').filter_map(blob_of) {
            let found = self.look(&["cat-file", "blob", id], BLOB).await?;
            // One that is too large ends git before it ended itself, and is left out.
            if found.code == Some(0)
                && let Ok(text) = String::from_utf8(found.stdout)
            {
                texts.insert(path.to_owned(), text);
            }
        }
        Ok(texts)
    }

    async fn branch(&self) -> Result<String, CodedError> {
        let named = self.ask(&["symbolic-ref", "--short", "-q", "HEAD"]).await?;
        let found = match named {
            Some(branch) => Some(branch),
            None => self.ask(&["rev-parse", "--short", "-q", "HEAD"]).await?,
        };
        Ok(found.map(|branch| branch.trim().to_owned()).unwrap_or_default())
    }

    async fn look(&self, words: &[&str], most: usize) -> Result<FoundBlob, CodedError> {
        let is_over = || self.is_over.load(Ordering::Relaxed);
        self.repository.look(words, self.top, std::env::vars_os(), most, &is_over).await
    }

    /// What git answers; `None` where it has nothing to say, as of a repository without a commit.
    async fn ask(&self, words: &[&str]) -> Result<Option<String>, CodedError> {
        let FoundBlob { code, stdout, .. } = self.look(words, ANSWER).await?;
        Ok((code == Some(0)).then(|| String::from_utf8_lossy(&stdout).into_owned()))
    }
}

fn names(said: &Option<String>) -> Vec<String> {
    let said = said.as_deref().unwrap_or_default();
    said.split('\0').filter(|name| !name.is_empty()).take(FILES).map(str::to_owned).collect()
}

fn commits_of(said: &str) -> Vec<RecentCommit> {
    said.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(4, '\u{1f}');
            let (sha, author, at, message) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
            let since = std::time::Duration::from_secs(at.parse().ok()?);
            Some(RecentCommit {
                sha: sha.to_owned(),
                message: message.to_owned(),
                author: author.to_owned(),
                timestamp: humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH.checked_add(since)?)
                    .to_string(),
            })
        })
        .collect()
}

/// `<mode> blob <id>\t<path>`.
fn blob_of(line: &str) -> Option<(&str, &str)> {
    let (head, path) = line.split_once('\t')?;
    let mut words = head.split(' ');
    let (_, kind, id) = (words.next()?, words.next()?, words.next()?);
    (kind == "blob").then_some((id, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r002_38_a_commit_is_told_with_its_time_in_iso_8601() {
        let said = "abc\u{1f}Kevin\u{1f}1767085900\u{1f}Add a door\nbroken";
        assert_eq!(
            commits_of(said),
            [RecentCommit {
                sha: "abc".to_owned(),
                message: "Add a door".to_owned(),
                author: "Kevin".to_owned(),
                timestamp: "2025-12-30T09:11:40Z".to_owned(),
            }]
        );
        assert_eq!(blob_of("100644 blob 12ab\ta b.rs"), Some(("12ab", "a b.rs")));
        assert_eq!(blob_of("160000 commit 12ab\tsub"), None);
    }
}
