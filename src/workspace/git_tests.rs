//! What git is asked for one file, on repositories that want more than that.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use super::*;

/// A repository with one commit of these files.
pub(crate) fn repository(at: &Path, files: &[(&str, &[u8])]) {
    git(at, &["init", "-q", "-b", "main"]);
    commit(at, files, "first");
}

pub(crate) fn commit(at: &Path, files: &[(&str, &[u8])], message: &str) {
    for (name, bytes) in files {
        let path = at.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    git(at, &["add", "-A"]);
    git(at, &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", message]);
}

pub(crate) fn git(at: &Path, words: &[&str]) {
    let done = Command::new("git").current_dir(at).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

pub(crate) fn on_a_waiting_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::task::spawn_blocking(work).await.unwrap() })
}

fn entry(at: &Path, revision: &str, path: &str) -> Result<Entry, CodedError> {
    let (directory, revision, path) = (at.to_owned(), revision.to_owned(), path.to_owned());
    on_a_waiting_thread(move || {
        Repository { directory, git_dir: None }.entry(&revision, &path, 100, &|| false)
    })
}

fn file(text: &str) -> Result<Entry, CodedError> {
    Ok(Entry::File(Blob { bytes: text.as_bytes().to_vec(), cut: false }))
}

#[test]
fn r000_32_a_file_is_read_as_the_commit_has_it() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path(), &[("a.txt", b"one\r\n"), ("d/-b *.txt", b"two\n")]);
    commit(dir.path(), &[("a.txt", b"three\n"), ("long", &[b'x'; 101])], "second");
    assert_eq!(entry(dir.path(), "HEAD~1", "a.txt"), file("one\r\n"));
    assert_eq!(entry(dir.path(), "main", "a.txt"), file("three\n"));
    assert_eq!(entry(dir.path(), "HEAD", "d/-b *.txt"), file("two\n"));
    assert_eq!(entry(&dir.path().join("d"), "HEAD", "-b *.txt"), file("two\n"), "relative to the directory");
    assert_eq!(entry(dir.path(), "HEAD", "none"), Ok(Entry::Absent));
    assert_eq!(entry(dir.path(), "HEAD~1", "long"), Ok(Entry::Absent));
    let cut = Entry::File(Blob { bytes: vec![b'x'; 100], cut: true });
    assert_eq!(entry(dir.path(), "HEAD", "long"), Ok(cut));
}

#[test]
fn r000_36_what_there_is_not_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let said = |revision: &str, path: &str| {
        let refused = entry(dir.path(), revision, path).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound);
        refused.message
    };
    assert!(said("HEAD", "a").contains("no git repository"));
    git(dir.path(), &["init", "-q"]);
    assert!(said("HEAD", "a").contains("no commit `HEAD`"), "a repository without a commit");
    commit(dir.path(), &[("d/a", b"x")], "first");
    assert!(said("nowhere", "d/a").contains("no commit `nowhere`"));
    assert!(said("HEAD^{tree}", "d/a").contains("no commit"), "a tree is no commit");
    assert!(said("HEAD", "d").contains("a directory"));
}

#[test]
fn r000_36_a_folder_that_only_looks_like_a_repository_is_none() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path(), &[("a", b"x")]);
    let bare = dir.path().join("bare");
    git(dir.path(), &["clone", "-q", "--bare", ".", "bare"]);
    let refused = entry(&bare, "HEAD", "a").unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound, "{refused:?}");
}

#[test]
fn r000_36_nothing_that_a_repository_sets_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("started");
    let repo = dir.path().join("repo");
    std::fs::create_dir(&repo).unwrap();
    repository(&repo, &[("a", b"x\n"), (".gitattributes", b"* filter=evil diff=evil text\n")]);
    let touch = format!("touch '{}'", marker.display());
    let hook = repo.join(".git/evil");
    std::fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).unwrap();
    git(&repo, &["config", "core.bare", "false"]);
    for name in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "core.alternateRefsCommand",
        "core.askPass",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.smudge",
        "filter.evil.clean",
        "filter.evil.process",
        "credential.helper",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "pager.cat-file",
        "alias.cat-file",
        "alias.rev-parse",
    ] {
        git(&repo, &["config", name, &touch]);
    }
    git(&repo, &["config", "core.hooksPath", ".git"]);
    // The blob is missing, and the repository says from where to fetch it.
    let id = Command::new("git").current_dir(&repo).args(["rev-parse", "HEAD:a"]).output().unwrap().stdout;
    let id = String::from_utf8(id).unwrap();
    let object = repo.join(".git/objects").join(&id[..2]).join(id[2..].trim());
    assert_eq!(entry(&repo, "HEAD", "a"), file("x\n"));
    std::fs::remove_file(&object).unwrap();
    git(&repo, &["config", "extensions.partialClone", "evil"]);
    git(&repo, &["config", "remote.evil.promisor", "true"]);
    git(&repo, &["config", "remote.evil.url", &format!("ext::sh -c {}", touch.replace(' ', "% "))]);
    git(&repo, &["config", "protocol.ext.allow", "always"]);
    let refused = entry(&repo, "HEAD", "a").unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound, "{refused:?}");
    assert!(!marker.exists());
}

#[test]
fn what_steers_git_or_is_secret_is_not_inherited() {
    let given = [
        ("PATH", "/bin:.:rel/bin:/usr/bin"),
        ("HOME", "/h"),
        ("GIT_DIR", "/elsewhere"),
        ("GIT_EXTERNAL_DIFF", "x"),
        ("GIT_CONFIG_COUNT", "1"),
        ("BREADBOARD_API_TOKEN", "t"),
        ("NPM_TOKEN", "t"),
    ];
    let given = given.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let kept: Vec<_> = inherited(given).collect();
    let wanted = [("PATH", "/bin:/usr/bin"), ("HOME", "/h")];
    assert_eq!(kept, wanted.map(|(name, value)| (OsStr::new(name).into(), OsStr::new(value).into())));
}

#[test]
fn nobody_who_does_not_wait_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_owned();
    let outcome = on_a_waiting_thread(move || {
        Repository { directory: at, git_dir: None }.entry("HEAD", "a", 1, &|| true)
    });
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Cancelled);
}
