//! What ignore files leave out, from the top of the repository down to one directory.
//!
//! Owns their order. `.ignore` wins over `.gitignore`, this over `info/exclude`, this over the excludes of the user; within
//! each the deepest file that says something. Patterns of a repository end where another one begins. Descends from directory to
//! directory and keeps only what is in force there.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use ignore::Match;

use super::ignore_file::{self, IgnoreBudget, IgnoreFile};
use super::user_excludes;

use crate::platform::real_path;

/// Directories above a folder in which the top of its repository is looked for.
const MOST_ABOVE: usize = 64;

/// The rules in one directory of a folder.
pub(crate) struct IgnoreRules<'a> {
    dir: &'a Dir,
    /// For what is said about a file.
    shown: PathBuf,
    is_stopped: &'a dyn Fn() -> bool,
    budget: IgnoreBudget,
    /// Of the directories above the folder in the same repository, then of the folder, then down to `here`.
    levels: Vec<Level>,
    /// How many of them lie above the folder.
    above: usize,
    /// Relative to the folder, with `/`.
    here: String,
    /// Whether `here` or a directory above it is left out, and so all in it.
    all: bool,
    user: Option<IgnoreFile>,
}

/// The ignore files of one directory.
struct Level {
    /// From this directory to the folder, with a slash behind it; empty for the folder and below.
    to_folder: String,
    /// Bytes of the path from the folder to this directory, with the slash behind it; 0 for the folder and above.
    from_folder: usize,
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
    pub(crate) fn of_folder(dir: &'a Dir, path: &Path, is_stopped: &'a dyn Fn() -> bool) -> Self {
        let mut rules = Self {
            dir,
            shown: path.to_owned(),
            is_stopped,
            budget: IgnoreBudget::default(),
            levels: Vec::new(),
            above: 0,
            here: String::new(),
            all: false,
            user: None,
        };
        if let Some((file, path)) = user_excludes::open(&|name| std::env::var_os(name)) {
            rules.user = ignore_file::from_file(file, &path, &mut rules.budget, is_stopped);
        }
        if dir.symlink_metadata(".git").is_err() {
            rules.read_above(path);
        }
        let level = rules.level(dir, "", path, String::new());
        rules.levels.push(level);
        rules
    }

    /// A folder may be a part of a repository whose top lies above it.
    fn read_above(&mut self, path: &Path) {
        let Ok(real) = real_path(path) else { return };
        let above: Vec<&Path> = real.ancestors().skip(1).take(MOST_ABOVE).collect();
        let Some(top) = above.iter().position(|at| at.join(".git").symlink_metadata().is_ok()) else {
            return;
        };
        for at in above[..=top].iter().rev() {
            let Ok(dir) = Dir::open_ambient_dir(at, ambient_authority()) else { continue };
            let to_folder = real.strip_prefix(at).unwrap_or(Path::new("")).components();
            let to_folder = to_folder.map(|part| part.as_os_str().to_string_lossy() + "/").collect();
            let mut level = self.level(&dir, "", at, to_folder);
            level.is_top |= *at == above[top];
            self.levels.push(level);
        }
        // Whether they leave out the folder itself is not asked: the user opened it.
        self.above = self.levels.len();
    }

    fn level(&mut self, dir: &Dir, from_folder: &str, shown: &Path, to_folder: String) -> Level {
        let here = Path::new(from_folder);
        let mut read = |name: &str| {
            ignore_file::read(dir, &here.join(name), &shown.join(name), &mut self.budget, self.is_stopped)
        };
        let (ignore, gitignore) = (read(".ignore"), read(".gitignore"));
        let is_top = dir.symlink_metadata(here.join(".git")).is_ok();
        let exclude = if is_top { read(".git/info/exclude") } else { None };
        let from_folder = if from_folder.is_empty() { 0 } else { from_folder.len() + 1 };
        Level { to_folder, from_folder, ignore, gitignore, exclude, is_top, left_out: false }
    }

    /// Goes to a directory, relative to the folder; reads the ignore files on the way that were not read yet.
    pub(crate) fn enter(&mut self, directory: &str) {
        let directory = if directory == "." { "" } else { directory };
        while !is_beneath(directory, &self.here) {
            self.leave();
        }
        let rest = directory[self.here.len()..].to_owned();
        for part in rest.split('/').filter(|part| !part.is_empty()) {
            self.descend(part);
        }
    }

    fn descend(&mut self, part: &str) {
        let next = if self.here.is_empty() { part.to_owned() } else { format!("{}/{part}", self.here) };
        let left_out = self.leaves_out(&next, true);
        let level = if left_out {
            // Nothing in it can be taken back, so its files are not read.
            let from_folder = next.len() + 1;
            Level {
                to_folder: String::new(),
                from_folder,
                ignore: None,
                gitignore: None,
                exclude: None,
                is_top: false,
                left_out,
            }
        } else {
            let (dir, shown) = (self.dir, self.shown.join(&next));
            self.level(dir, &next, &shown, String::new())
        };
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
        self.here.truncate(self.here.rfind('/').unwrap_or(0));
        self.all = self.levels.last().is_some_and(|level| level.left_out);
    }

    /// Whether an entry of the directory that was entered last is left out. `path` is relative to the folder, with `/`.
    pub(crate) fn leaves_out(&self, path: &str, is_directory: bool) -> bool {
        if self.all {
            return true;
        }
        let (mut ignore, mut gitignore, mut exclude) =
            (RuleVerdict::None, RuleVerdict::None, RuleVerdict::None);
        let mut other_repository = false;
        for level in self.levels.iter().rev() {
            if !level.is_silent() {
                let relative = level.relative(path);
                ignore = ignore.or(&level.ignore, &relative, is_directory);
                if !other_repository {
                    gitignore = gitignore.or(&level.gitignore, &relative, is_directory);
                    exclude = exclude.or(&level.exclude, &relative, is_directory);
                }
            }
            other_repository |= level.is_top;
        }
        // They speak for the top of the repository.
        let relative = self.levels.first().map_or(Cow::Borrowed(path), |level| level.relative(path));
        let user = RuleVerdict::None.or(&self.user, &relative, is_directory);
        [ignore, gitignore, exclude, user].into_iter().find(|verdict| *verdict != RuleVerdict::None)
            == Some(RuleVerdict::LeftOut)
    }
}

/// Whether a directory is another one or lies in it, by whole parts.
fn is_beneath(directory: &str, other: &str) -> bool {
    other.is_empty()
        || directory.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Level {
    fn is_silent(&self) -> bool {
        self.ignore.is_none() && self.gitignore.is_none() && self.exclude.is_none()
    }

    /// A path of the folder as this directory sees it.
    fn relative<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let beneath = path.get(self.from_folder..).unwrap_or(path);
        if self.to_folder.is_empty() {
            Cow::Borrowed(beneath)
        } else {
            Cow::Owned(format!("{}{beneath}", self.to_folder))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleVerdict {
    None,
    LeftOut,
    Kept,
}

impl RuleVerdict {
    fn or(self, file: &Option<IgnoreFile>, path: &str, is_directory: bool) -> Self {
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
