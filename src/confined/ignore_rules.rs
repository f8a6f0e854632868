//! What ignore files leave out, from the top of the repository down to one directory.
//!
//! Owns their order. `.ignore` wins over `.gitignore`, this over `info/exclude`, this over the excludes of the user; within each the
//! deepest file that says something. Patterns of a repository end where another one begins. Descends from directory to
//! directory and keeps only what is in force there.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use ignore::Match;

use super::ignore_file::{self, Budget, IgnoreFile};
use super::user_excludes;

/// Directories above a folder in which the top of its repository is looked for.
const MOST_ABOVE: usize = 64;

/// The rules in one directory of a folder.
pub struct IgnoreRules<'a> {
    dir: &'a Dir,
    /// For what is said about a file.
    shown: PathBuf,
    is_stopped: &'a dyn Fn() -> bool,
    budget: Budget,
    /// Of the directories above the folder in the same repository, then of the folder, then down to `here`.
    levels: Vec<Level>,
    /// How many of them lie above the folder.
    above: usize,
    /// Relative to the folder.
    here: PathBuf,
    /// Whether `here` or a directory above it is left out, and so all in it.
    all: bool,
    user: Option<IgnoreFile>,
}

/// The ignore files of one directory.
struct Level {
    /// From this directory to the folder; empty for the folder and below.
    to_folder: PathBuf,
    /// From the folder to this directory; empty for the folder and above.
    from_folder: PathBuf,
    ignore: Option<IgnoreFile>,
    gitignore: Option<IgnoreFile>,
    exclude: Option<IgnoreFile>,
    /// Whether a repository begins here.
    is_top: bool,
    /// Whether the directory is left out by those above it.
    left_out: bool,
}

impl<'a> IgnoreRules<'a> {
    /// The rules at the top of a folder, which lies at `path` and is open as `dir`. `is_stopped` ends readings early.
    pub fn of_folder(dir: &'a Dir, path: &Path, is_stopped: &'a dyn Fn() -> bool) -> Self {
        let mut rules = Self {
            dir,
            shown: path.to_owned(),
            is_stopped,
            budget: Budget::default(),
            levels: Vec::new(),
            above: 0,
            here: PathBuf::new(),
            all: false,
            user: None,
        };
        if let Some((file, path)) = user_excludes::open(&|name| std::env::var_os(name)) {
            rules.user = ignore_file::from_file(file, &path, &mut rules.budget, is_stopped);
        }
        if dir.symlink_metadata(".git").is_err() {
            rules.read_above(path);
        }
        let level = rules.level(dir, Path::new(""), path, PathBuf::new());
        rules.levels.push(level);
        rules
    }

    /// A folder may be a part of a repository whose top lies above it.
    fn read_above(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        let above: Vec<&Path> = real.ancestors().skip(1).take(MOST_ABOVE).collect();
        let Some(top) = above.iter().position(|at| at.join(".git").symlink_metadata().is_ok()) else {
            return;
        };
        for at in above[..=top].iter().rev() {
            let Ok(dir) = Dir::open_ambient_dir(at, ambient_authority()) else { continue };
            let to_folder = real.strip_prefix(at).unwrap_or(Path::new("")).to_owned();
            let mut level = self.level(&dir, Path::new(""), at, to_folder);
            level.is_top |= *at == above[top];
            self.levels.push(level);
        }
        // Whether they leave out the folder itself is not asked: the user opened it.
        self.above = self.levels.len();
    }

    fn level(&mut self, dir: &Dir, from_folder: &Path, shown: &Path, to_folder: PathBuf) -> Level {
        let mut read = |name: &str| {
            ignore_file::read(
                dir,
                &from_folder.join(name),
                &shown.join(name),
                &mut self.budget,
                self.is_stopped,
            )
        };
        let (ignore, gitignore) = (read(".ignore"), read(".gitignore"));
        let is_top = dir.symlink_metadata(from_folder.join(".git")).is_ok();
        let exclude = if is_top { read(".git/info/exclude") } else { None };
        Level {
            to_folder,
            from_folder: from_folder.to_owned(),
            ignore,
            gitignore,
            exclude,
            is_top,
            left_out: false,
        }
    }

    /// Goes to a directory, relative to the folder; reads the ignore files on the way that were not read yet.
    pub fn enter(&mut self, directory: &Path) {
        while !directory.starts_with(&self.here) {
            self.leave();
        }
        let parts: Vec<OsString> = directory
            .strip_prefix(&self.here)
            .unwrap_or(Path::new(""))
            .components()
            .filter_map(|part| match part {
                Component::Normal(part) => Some(part.to_owned()),
                Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => None,
            })
            .collect();
        for part in parts {
            self.descend(&part);
        }
    }

    fn descend(&mut self, part: &OsStr) {
        let next = self.here.join(part);
        let left_out = self.leaves_out(&next, true);
        let shown = self.shown.join(&next);
        let dir = self.dir;
        let mut level = if left_out {
            // Nothing in it can be taken back, so its files are not read.
            Level {
                to_folder: PathBuf::new(),
                from_folder: next.clone(),
                ignore: None,
                gitignore: None,
                exclude: None,
                is_top: false,
                left_out,
            }
        } else {
            self.level(dir, &next, &shown, PathBuf::new())
        };
        level.left_out = left_out;
        self.all = left_out;
        self.levels.push(level);
        self.here = next;
    }

    fn leave(&mut self) {
        if self.levels.len() > self.above + 1
            && let Some(level) = self.levels.pop()
        {
            for file in [level.ignore, level.gitignore, level.exclude].iter().flatten() {
                self.budget.release(file);
            }
        }
        self.here.pop();
        self.all = self.levels.last().is_some_and(|level| level.left_out);
    }

    /// Whether an entry of the directory that was entered last is left out. `path` is relative to the folder.
    pub fn leaves_out(&self, path: &Path, is_directory: bool) -> bool {
        if self.all {
            return true;
        }
        let (mut ignore, mut gitignore, mut exclude) = (Verdict::None, Verdict::None, Verdict::None);
        let mut other_repository = false;
        for level in self.levels.iter().rev() {
            let relative = level.relative(path);
            ignore = ignore.or(&level.ignore, &relative, is_directory);
            if !other_repository {
                gitignore = gitignore.or(&level.gitignore, &relative, is_directory);
                exclude = exclude.or(&level.exclude, &relative, is_directory);
            }
            other_repository |= level.is_top;
        }
        // They speak for the top of the repository.
        let relative = self.levels.first().map_or_else(|| path.to_owned(), |level| level.relative(path));
        let user = Verdict::None.or(&self.user, &relative, is_directory);
        [ignore, gitignore, exclude, user].into_iter().find(|verdict| *verdict != Verdict::None)
            == Some(Verdict::LeftOut)
    }
}

impl Level {
    /// A path of the folder as this directory sees it.
    fn relative(&self, path: &Path) -> PathBuf {
        self.to_folder.join(path.strip_prefix(&self.from_folder).unwrap_or(path))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    None,
    LeftOut,
    Kept,
}

impl Verdict {
    fn or(self, file: &Option<IgnoreFile>, path: &Path, is_directory: bool) -> Self {
        match (self, file) {
            (Self::None, Some(file)) => match file.matcher.matched(path, is_directory) {
                Match::None => Self::None,
                Match::Ignore(_) => Self::LeftOut,
                Match::Whitelist(_) => Self::Kept,
            },
            (verdict, _) => verdict,
        }
    }
}
