//! Where a repository keeps its files, looked at before git is let into it.
//!
//! Owns the proof that they are this folder's: `.git` is a directory here, or names one that names this folder in turn, as that
//! of a worktree or a submodule does; and nothing in it borrows from elsewhere or would hold git up. A repository that nobody
//! vouches for could otherwise show the commits of another one. Never runs git and never writes.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::confined::read_bounded;
use crate::platform::real_path;

/// Bytes of a file that names another: longer than any path.
const MAX_POINTER: u64 = 16 * 1_024;

/// Bytes of a repository's settings. Nobody writes more, and git would read them at every start.
const MAX_CONFIG: u64 = 1 << 20;

/// Entries of a repository that are looked at. git packs its objects long before there are so many.
const MOST_ENTRIES: usize = 100_000;

/// Depth of its directories: names of branches may have parts.
const MOST_DEEP: usize = 64;

/// Why a repository is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// There is none.
    None,
    /// It keeps something elsewhere: what does.
    Elsewhere(&'static str),
    /// Something in it is no file that git could read in time, or there is too much of it.
    Unreadable(&'static str),
}

/// The directory that holds the `.git` of the nearest repository above a directory, itself included.
///
/// # Errors
/// `Refused` when there is none, or when it is not proved that its files are its own.
pub(super) fn top_of(directory: &Path) -> Result<PathBuf, Refused> {
    let real = real_path(directory).map_err(|_| Refused::None)?;
    for at in real.ancestors() {
        let Ok(found) = fs::symlink_metadata(at.join(".git")) else { continue };
        prove(at, &found)?;
        return Ok(at.to_owned());
    }
    Err(Refused::None)
}

/// The repository's own directory of this folder, which `top_of` gave: of a worktree that with its index.
pub(super) fn git_dir_of(top: &Path) -> Option<PathBuf> {
    let named = top.join(".git");
    if named.is_dir() {
        return Some(named);
    }
    let text = pointer(&named)?;
    real_path(&top.join(text.strip_prefix("gitdir:")?.trim())).ok()
}

fn prove(at: &Path, found: &Metadata) -> Result<(), Refused> {
    let named = at.join(".git");
    if found.is_dir() {
        return own(&named);
    }
    if found.is_symlink() {
        let real = real_path(&named).map_err(|_| Refused::Elsewhere(".git"))?;
        return if real.is_dir() && real.starts_with(at) {
            own(&real)
        } else {
            Err(Refused::Elsewhere(".git"))
        };
    }
    if !found.is_file() {
        return Err(Refused::Unreadable(".git"));
    }
    let text = pointer(&named).ok_or(Refused::Unreadable(".git"))?;
    let target = text.strip_prefix("gitdir:").ok_or(Refused::Unreadable(".git"))?.trim();
    let git_dir = real_path(&at.join(target)).map_err(|_| Refused::Elsewhere(".git"))?;
    match pointer(&git_dir.join("commondir")) {
        Some(common) => {
            let common =
                real_path(&git_dir.join(common.trim())).map_err(|_| Refused::Elsewhere("commondir"))?;
            // The repository lists its worktrees, and says of each where it is.
            let listed = git_dir.parent() == Some(&common.join("worktrees"));
            if !listed || !names(&git_dir, pointer(&git_dir.join("gitdir")), &named) {
                return Err(Refused::Elsewhere(".git"));
            }
            harmless(&git_dir)?;
            own(&common)
        }
        None => {
            let worktree = setting(&git_dir.join("config"), "core", "worktree");
            if !git_dir.starts_with(at) && !names(&git_dir, worktree, at) {
                return Err(Refused::Elsewhere(".git"));
            }
            own(&git_dir)
        }
    }
}

/// Whether what `git_dir` says about its place means `place`.
fn names(git_dir: &Path, said: Option<String>, place: &Path) -> bool {
    let real = |path: &Path| Some(real_path(path.parent()?).ok()?.join(path.file_name()?));
    let Some(said) = said.map(|said| git_dir.join(said.trim())) else { return false };
    // The `.git` of a worktree is a file, a submodule's folder may have been named by a link: only the place counts.
    match real_path(&said) {
        Ok(found) if place.file_name() != Some(OsStr::new(".git")) => found == place,
        Ok(_) | Err(_) => real(&said).as_deref() == Some(place),
    }
}

/// A repository's own directory: nothing of it lies elsewhere.
pub(super) fn own(git_dir: &Path) -> Result<(), Refused> {
    if fs::symlink_metadata(git_dir.join("commondir")).is_ok() {
        return Err(Refused::Elsewhere("commondir"));
    }
    harmless(git_dir)?;
    let objects = git_dir.join("objects");
    let alternates = objects.join("info/alternates");
    if fs::symlink_metadata(&alternates).is_ok() {
        let text = pointer(&alternates).ok_or(Refused::Unreadable("objects/info/alternates"))?;
        let inside = |line: &str| real_path(&objects.join(line)).is_ok_and(|real| real.starts_with(git_dir));
        if !text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).all(inside) {
            return Err(Refused::Elsewhere("objects/info/alternates"));
        }
    }
    Ok(())
}

/// Nothing that git looks at leads out, waits for a writer or has no end.
fn harmless(git_dir: &Path) -> Result<(), Refused> {
    let mut left = MOST_ENTRIES;
    look(git_dir, git_dir, &mut left, Depth::Top)?;
    let config = git_dir.join("config");
    let Ok(text) = small(&config, MAX_CONFIG) else {
        return if fs::symlink_metadata(&config).is_ok() {
            Err(Refused::Unreadable("config"))
        } else {
            Ok(())
        };
    };
    for include in values(&text, "include", "path") {
        let path = match include.strip_prefix("~/") {
            // The user's own.
            Some(_) => continue,
            None => git_dir.join(include),
        };
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Refused::Unreadable("config"));
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Depth {
    Top,
    Below(usize),
}

fn look(git_dir: &Path, at: &Path, left: &mut usize, depth: Depth) -> Result<(), Refused> {
    let Ok(entries) = fs::read_dir(at) else { return Ok(()) };
    for entry in entries.flatten() {
        *left = left.checked_sub(1).ok_or(Refused::Unreadable("objects"))?;
        let (name, path) = (entry.file_name(), entry.path());
        let Ok(kind) = entry.file_type() else { continue };
        let what = part(&name, depth);
        if kind.is_dir() {
            match depth {
                Depth::Top if is_read(&name) => look(git_dir, &path, left, Depth::Below(1))?,
                Depth::Top => {}
                Depth::Below(deep) if deep < MOST_DEEP => look(git_dir, &path, left, Depth::Below(deep + 1))?,
                Depth::Below(_) => return Err(Refused::Unreadable(what)),
            }
        } else if kind.is_symlink() {
            // Hooks are linked to where they are kept, and never run by us.
            let is_hooks = matches!(depth, Depth::Top) && name == "hooks";
            let leads_out = || !real_path(&path).is_ok_and(|real| real.starts_with(git_dir));
            if !is_hooks && leads_out() {
                return Err(Refused::Elsewhere(what));
            }
        } else if waits(&kind) {
            return Err(Refused::Unreadable(what));
        }
    }
    Ok(())
}

/// Directories of a repository that git reads for a file of a commit.
fn is_read(name: &OsStr) -> bool {
    ["objects", "refs", "info", "logs", "reftable"].iter().any(|known| name == *known)
}

/// A word for the sentence; never a name from the disk.
fn part(name: &OsStr, depth: Depth) -> &'static str {
    match depth {
        Depth::Top => ["HEAD", "config", "packed-refs", "objects", "refs", "info", "logs", "reftable"]
            .into_iter()
            .find(|known| name == *known)
            .unwrap_or("a file in `.git`"),
        Depth::Below(_) => "a file in `.git`",
    }
}

/// Pipes and devices. A socket, as git's own watcher has, cannot be opened at all.
#[cfg(unix)]
fn waits(kind: &fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn waits(_: &fs::FileType) -> bool {
    false
}

/// The text of a small file that is no link.
fn pointer(path: &Path) -> Option<String> {
    fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    small(path, MAX_POINTER).ok()
}

fn small(path: &Path, most: u64) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let bytes = read_bounded(options.open(path)?, most, &|| false).map_err(|_| io::ErrorKind::InvalidData)?;
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn setting(config: &Path, section: &str, name: &str) -> Option<String> {
    values(&small(config, MAX_CONFIG).ok()?, section, name).pop()
}

/// The values of a name in sections of a kind, conditional ones (`includeIf`) among them.
fn values(config: &str, section: &str, name: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in config.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let kind = head.split([']', ' ', '"']).next().unwrap_or_default().to_ascii_lowercase();
            inside = kind == section || section == "include" && kind == "includeif";
        }
        // A value may stand on the line of its section.
        let line = line.rsplit(']').next().unwrap_or_default();
        if inside
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case(name)
        {
            found.push(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

#[cfg(all(test, unix))]
#[path = "git_layout_tests.rs"]
mod tests;
