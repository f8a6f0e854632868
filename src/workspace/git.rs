//! One file of a commit, read by the `git` program from a repository that nobody vouches for.
//!
//! Owns what git may do there, once `git_layout` has let it in: look up a commit, a tree entry and a blob. No filter, no hook,
//! no program of the repository's settings and no network take part; time and output are bounded. Never writes and never takes
//! a lock.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::runtime::Handle;

use super::git_layout::{Refused, own, top_of};
use super::root::{cause, short};
use super::run::streams;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::environment::may_inherit;
use crate::process::{Contained, Directory, Hold, Job, NotStarted, this_program};

/// How long one look may take. A blob of some megabytes takes milliseconds; a repository on a dead network disk for ever.
const TIME: Duration = Duration::from_secs(10);

/// How often it is checked whether anybody still waits.
const WATCH: Duration = Duration::from_millis(100);

/// Bytes of complaints that are looked at.
const COMPLAINTS: u64 = 4 * 1_024;

/// Bytes of the answers that are no blob: one id, one tree entry with its path.
const SHORT_ANSWER: usize = 16 * 1_024;

/// Settings that win over those of the repository: nothing of it is started, and a repository that lies open in the files
/// of another one is not taken for one.
const SETTINGS: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.alternateRefsCommand=",
    "core.attributesFile=/dev/null",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
];

/// The environment of each look: no network, no lock, no objects swapped for others, paths as they are.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The directory that paths are relative to; the repository is the one it lies in.
    pub directory: PathBuf,
    /// The repository's own directory, where it is not to be looked for.
    pub git_dir: Option<PathBuf>,
}

/// What a commit has under a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// There is nothing under it.
    Absent,
    /// A file.
    File(Blob),
    /// A symbolic link; its text is where it leads.
    Link(Blob),
}

/// Bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blob {
    /// The bytes, or the first of them.
    pub bytes: Vec<u8>,
    /// Whether there are more.
    pub cut: bool,
}

impl Repository {
    /// What `revision` has under `path`, its first `most` bytes. On a thread that may wait, of a runtime.
    pub(super) fn entry(
        &self,
        revision: &str,
        path: &str,
        most: usize,
        is_abandoned: &dyn Fn() -> bool,
    ) -> Result<Entry, CodedError> {
        if is_abandoned() {
            return Err(nobody_waits());
        }
        let top = self.top()?;
        let look = |words: &[&str], most| {
            let work = self.look(words, top.as_deref(), std::env::vars_os(), most, is_abandoned);
            Handle::current().block_on(work)
        };
        let commit = format!("{revision}^{{commit}}");
        let found = look(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit], SHORT_ANSWER)?;
        let commit = match (found.code, std::str::from_utf8(&found.stdout)) {
            (Some(0), Ok(id)) => id.trim(),
            _ => return Err(self.without_commit(revision, &found)),
        };
        let found = look(&["ls-tree", "-z", commit, "--", path], SHORT_ANSWER)?;
        if found.code != Some(0) {
            return Err(unreadable(path));
        }
        let Some((mode, kind, id)) = tree_entry(&found.stdout) else { return Ok(Entry::Absent) };
        match kind {
            "blob" => {}
            "tree" => {
                return Err(CodedError::new(
                    ErrorCode::NotFound,
                    format!("`{}` is a directory there; name a file in it.", short(path)),
                ));
            }
            _ => {
                return Err(CodedError::new(
                    ErrorCode::NotFound,
                    format!("`{}` is a repository of its own there; name a file in it.", short(path)),
                ));
            }
        }
        let found = look(&["cat-file", "blob", id], most)?;
        if found.code != Some(0) && !found.cut {
            return Err(unreadable(path));
        }
        let blob = Blob { bytes: found.stdout, cut: found.cut };
        Ok(if mode == "120000" { Entry::Link(blob) } else { Entry::File(blob) })
    }

    /// Where the repository begins, once it is known to be this folder's own.
    pub(super) fn top(&self) -> Result<Option<PathBuf>, CodedError> {
        match &self.git_dir {
            Some(git_dir) => own(git_dir).map(|()| None).map_err(refused),
            None => top_of(&self.directory).map(Some).map_err(refused),
        }
    }

    /// The first `most` bytes of an object that an index names. On a thread that may wait, of a runtime.
    pub(super) fn object(
        &self,
        id: &str,
        most: usize,
        is_abandoned: &dyn Fn() -> bool,
    ) -> Result<Blob, CodedError> {
        let top = self.top()?;
        let words = ["cat-file", "blob", id];
        let work = self.look(&words, top.as_deref(), std::env::vars_os(), most, is_abandoned);
        let found = Handle::current().block_on(work)?;
        if found.code != Some(0) && !found.cut {
            return Err(unreadable(id));
        }
        Ok(Blob { bytes: found.stdout, cut: found.cut })
    }

    fn without_commit(&self, revision: &str, found: &FoundBlob) -> CodedError {
        let refuse = |message: String| CodedError::new(ErrorCode::NotFound, message);
        if found.complaint.contains("dubious ownership") {
            return refuse(
                "The git repository belongs to another user; allow it with git's setting `safe.directory`."
                    .to_owned(),
            );
        }
        if found.complaint.contains("not a git repository")
            || found.complaint.contains("cannot use bare repository")
        {
            return without_repository();
        }
        refuse(format!(
            "The git repository has no commit `{}`; name a branch, a tag or a commit that it has.",
            short(revision)
        ))
    }

    /// Starts git once, with these words.
    pub(super) async fn look(
        &self,
        words: &[&str],
        top: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        most: usize,
        is_abandoned: &dyn Fn() -> bool,
    ) -> Result<FoundBlob, CodedError> {
        let (mut process, stdout, stderr) = self.start(words, top, environment).await.map_err(|why| {
            let cause = match &why {
                NotStarted::Failed(error) => cause(error),
                NotStarted::NoDirectory(_) | NotStarted::DirectoryReplaced(_) => "no such folder".to_owned(),
            };
            CodedError::new(
                ErrorCode::Unsupported,
                format!("The program `git` could not be started ({cause}); install it."),
            )
        })?;
        let work = async {
            let (stdout, complaint) =
                tokio::join!(start_of(stdout, most as u64 + 1), start_of(stderr, COMPLAINTS));
            let cut = stdout.len() > most;
            // It may still want to write, and nobody reads.
            let code = if cut { None } else { process.exited().await.code };
            (stdout, complaint, cut, code)
        };
        let abandoned = async {
            let mut watch = tokio::time::interval(WATCH);
            while !is_abandoned() {
                watch.tick().await;
            }
        };
        let (mut stdout, complaint, cut, code) = tokio::select! {
            // First: what nobody waits for ends also when git is quick.
            biased;
            () = abandoned => return Err(nobody_waits()),
            done = work => done,
            () = tokio::time::sleep(TIME) => return Err(CodedError::new(
                ErrorCode::Overloaded,
                "git did not answer within ten seconds; try again when the disk is less busy.",
            )),
        };
        // It and whatever it started are killed where the process is dropped, however this function ends.
        stdout.truncate(most);
        Ok(FoundBlob { code, stdout, cut, complaint: String::from_utf8_lossy(&complaint).into_owned() })
    }

    /// Starts git under guardians, with its output and its complaints to be read.
    async fn start(
        &self,
        words: &[&str],
        top: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(Contained, ChildStdout, ChildStderr), NotStarted> {
        let set = |(name, value): (&str, &str)| (OsString::from(name), OsString::from(value));
        let mut env: Vec<_> = ENVIRONMENT.into_iter().map(set).collect();
        if let Some(git_dir) = &self.git_dir {
            env.push(("GIT_DIR".into(), git_dir.into()));
            env.push(("GIT_WORK_TREE".into(), self.directory.as_path().into()));
        }
        // git must not find another repository than the one that was looked at.
        if let Some(above) = top.and_then(Path::parent) {
            env.push(("GIT_CEILING_DIRECTORIES".into(), above.into()));
        }
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let args = std::iter::once("--no-pager").chain(settings).chain(words.iter().copied());
        let job = Job {
            program: "git".to_owned(),
            args: args.map(str::to_owned).collect(),
            inherited: inherited(environment).collect(),
            env,
            cwd: Directory::open(&self.directory).map_err(NotStarted::Failed)?,
            guard: this_program(),
            hold: Hold::Guardians,
            confinement: None,
        };
        let (streams, (stdout, stderr)) = streams().map_err(NotStarted::Failed)?;
        Ok((Contained::spawn(&job, streams).await?, stdout, stderr))
    }
}

/// What git said.
pub(super) struct FoundBlob {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    cut: bool,
    complaint: String,
}

async fn start_of(pipe: impl AsyncRead + Unpin, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before a broken pipe is what there is; the exit code says the rest.
    let _ = pipe.take(most).read_to_end(&mut bytes).await;
    bytes
}

/// No secret, nothing that steers git, and no program by a path relative to where it runs.
fn inherited(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    environment.into_iter().filter_map(|(name, value)| {
        let shown = name.to_string_lossy().to_ascii_uppercase();
        if !may_inherit(&shown) || shown.starts_with("GIT_") {
            return None;
        }
        if shown == "PATH" {
            return Some((name, absolute_only(&value)));
        }
        Some((name, value))
    })
}

fn absolute_only(path: &OsStr) -> OsString {
    let absolute = std::env::split_paths(path).filter(|entry: &PathBuf| Path::is_absolute(entry));
    std::env::join_paths(absolute).unwrap_or_default()
}

/// `<mode> <type> <id>\t<path>\0`.
fn tree_entry(line: &[u8]) -> Option<(&str, &str, &str)> {
    let head = line.split(|byte| *byte == b'\t').next()?;
    let mut words = std::str::from_utf8(head).ok()?.split(' ');
    Some((words.next()?, words.next()?, words.next()?))
}

fn nobody_waits() -> CodedError {
    CodedError::new(ErrorCode::Cancelled, "Nobody waits for this any more.")
}

fn refused(why: Refused) -> CodedError {
    match why {
        Refused::None => without_repository(),
        Refused::Elsewhere(what) => CodedError::new(
            ErrorCode::PathOutsideWorkspace,
            format!(
                "The git repository keeps files elsewhere ({what}), and nothing there says that they are this folder's; \
                 compare the file with `disk` or `buffer`, or open the folder of the other repository."
            ),
        ),
        Refused::Unreadable(what) => CodedError::new(
            ErrorCode::NotFound,
            format!(
                "The git repository cannot be read ({what}): it has a file that is not regular, or far too many; run `git fsck` \
                 and `git gc` in it."
            ),
        ),
    }
}

fn without_repository() -> CodedError {
    CodedError::new(
        ErrorCode::NotFound,
        "The file lies in no git repository; compare it with `disk` or `buffer`.",
    )
}

fn unreadable(path: &str) -> CodedError {
    CodedError::new(
        ErrorCode::NotFound,
        format!(
            "git could not read `{}` of that commit here; fetch the commit whole and try again.",
            short(path)
        ),
    )
}

#[cfg(all(test, unix))]
#[path = "git_tests.rs"]
pub(crate) mod tests;
