//! What the files of the workspace are when a turn begins, as far as the turn may change them unseen.
//!
//! Owns how their contents can be had later: from git, where a file is as its index says; else from a copy, within a budget. The
//! copies are kept apart from what turns changed, once for all turns, and only what changed since the last look is read again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cap_std::fs::Dir;

use super::git_index::GitIndex;
use super::images::SessionPlace;
use super::tree::{FileStat, TreeLook};
use crate::confined::{Links, open_regular, read_bounded};
use crate::domain::undo::{FileImage, ImageForm};
use crate::platform::real_path;
use crate::workspace::git::Repository;
use crate::workspace::git_layout;
use crate::workspace::root::{Root, Roots};

/// Bytes of one copy: what people write by hand is smaller.
const MOST_OF_ONE: u64 = 1 << 20;

/// Bytes of all copies, of everything that git does not have: 32 MiB of sources are a large project.
const MOST_BYTES: u64 = 32 << 20;

/// Copies. Reading so many takes some hundred milliseconds, once.
const MOST_COPIES: usize = 10_000;

/// A file that was changed so shortly before the look, in nanoseconds, may be changed again under the same time: the clocks of file
/// systems go in steps of some milliseconds.
const STEP: i128 = 50_000_000;

/// The copies of this process, by file.
#[derive(Default)]
pub(super) struct Copies(HashMap<(PathBuf, Box<str>), (FileStat, FileImage)>);

/// What a turn began with.
pub(super) struct Baseline {
    pub(super) roots: Vec<RootBaseline>,
    /// What the look took.
    pub(super) took: LookCost,
}

/// What a look took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LookCost {
    pub(super) micros: u64,
    pub(super) files: u64,
    /// Bytes that were read to be copied.
    pub(super) copied: u64,
}

/// One folder as it was.
pub(super) struct RootBaseline {
    pub(super) name: String,
    pub(super) dir: Arc<Dir>,
    pub(super) path: PathBuf,
    /// Folders in it that are looked at by themselves.
    others: Vec<PathBuf>,
    pub(super) look: TreeLook,
    index: Option<(PathBuf, GitIndex)>,
    copies: HashMap<Box<str>, FileImage>,
    /// Files that may have changed again under the same time.
    pub(super) recent: Vec<Box<str>>,
}

/// What a file held when the turn began.
pub(super) enum BeforeContent {
    /// It was copied.
    Copied(FileImage),
    /// Git has it, under this id.
    InGit(String),
    /// Nobody knows.
    Unknown,
}

impl Baseline {
    /// Looks at all roots, but for our own state, where that lies in one. Copies are kept in `base`.
    pub(super) fn take(roots: &Roots, state_dir: &Path, base: &SessionPlace, copies: &mut Copies) -> Self {
        let begun = Instant::now();
        let mut taken = Vec::new();
        let mut cost = LookCost::default();
        let mut room = MOST_BYTES;
        let mut next = HashMap::new();
        for root in roots.iter() {
            let (Ok(dir), Ok(path)) = (root.dir(), root.path()) else { continue };
            let inner = roots.iter().filter_map(|other| beneath(other.path().ok()?, path));
            let others: Vec<PathBuf> = inner.chain(beneath(state_dir, path)).collect();
            let mut one = RootBaseline::look(root, dir, path, others);
            one.copy(base, copies, &mut next, &mut room, &mut cost);
            cost.files += one.look.files.len() as u64;
            taken.push(one);
        }
        copies.0 = next;
        cost.micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        Self { roots: taken, took: cost }
    }
}

/// Where a folder lies in another one, whatever links lead to them.
fn beneath(other: &Path, path: &Path) -> Option<PathBuf> {
    let real = |path: &Path| real_path(path).ok();
    let rest = real(other)?.strip_prefix(real(path)?).ok()?.to_owned();
    (rest != Path::new("")).then_some(rest)
}

impl RootBaseline {
    fn look(root: &Root, dir: Arc<Dir>, path: &Path, others: Vec<PathBuf>) -> Self {
        let named: Vec<&Path> = others.iter().map(PathBuf::as_path).collect();
        let look = TreeLook::take(&dir, path, &named);
        let index = index_of(path);
        let (name, path) = (root.name().to_owned(), path.to_owned());
        Self { name, dir, path, others, look, index, copies: HashMap::new(), recent: Vec::new() }
    }

    /// The folder as it is now.
    pub(super) fn look_again(&self) -> TreeLook {
        let named: Vec<&Path> = self.others.iter().map(PathBuf::as_path).collect();
        TreeLook::take(&self.dir, &self.path, &named)
    }

    /// Copies what git does not have, the newest first, since that is what people work on.
    fn copy(
        &mut self,
        base: &SessionPlace,
        copies: &mut Copies,
        next: &mut HashMap<(PathBuf, Box<str>), (FileStat, FileImage)>,
        room: &mut u64,
        cost: &mut LookCost,
    ) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i128);
        let is_recent = |stat: &FileStat| stat.changed + STEP > now;
        let in_git = |path: &str, stat: &FileStat| {
            !is_recent(stat)
                && self.index.as_ref().is_some_and(|(_, index)| index.unchanged(path, stat).is_some())
        };
        let mut wanted: Vec<&(Box<str>, FileStat)> = self
            .look
            .files
            .iter()
            .filter(|(path, stat)| stat.size <= MOST_OF_ONE && !in_git(path, stat))
            .collect();
        wanted.sort_by_key(|(_, stat)| std::cmp::Reverse(stat.modified));
        for (path, stat) in wanted {
            if is_recent(stat) {
                self.recent.push(path.clone());
            }
            if stat.size > *room || next.len() >= MOST_COPIES {
                continue;
            }
            let key = (self.path.clone(), path.clone());
            let known = copies.0.get(&key).filter(|(known, _)| known == stat && !is_recent(stat));
            let image = match known {
                Some((_, image)) => Some(image.clone()),
                None => self.copy_one(base, path, stat, cost),
            };
            let Some(image) = image else { continue };
            *room = room.saturating_sub(image.bytes);
            self.copies.insert(path.clone(), image.clone());
            next.insert(key, (*stat, image));
        }
    }

    fn copy_one(
        &self,
        base: &SessionPlace,
        path: &str,
        stat: &FileStat,
        cost: &mut LookCost,
    ) -> Option<FileImage> {
        let (file, _) = open_regular(&self.dir, Path::new(path), Links::Refused).ok()?;
        let bytes = read_bounded(file, MOST_OF_ONE, &|| false).ok()?;
        cost.copied += bytes.len() as u64;
        base.keep(&bytes, ImageForm::Disk, stat.mode).ok()
    }

    /// What a file held when the turn began. `stat` is what the system said of it then.
    pub(super) fn before(&self, path: &str, stat: &FileStat) -> BeforeContent {
        if let Some(image) = self.copies.get(path) {
            return BeforeContent::Copied(image.clone());
        }
        let id = self.index.as_ref().and_then(|(_, index)| index.unchanged(path, stat));
        id.map_or(BeforeContent::Unknown, BeforeContent::InGit)
    }

    /// A content that git has, of a file that was so large.
    pub(super) fn git_content(&self, id: &str, size: u64) -> Option<Vec<u8>> {
        let (top, _) = self.index.as_ref()?;
        let repository = Repository { directory: top.clone(), git_dir: None };
        let most = usize::try_from(size).ok()?;
        match repository.object(id, most, &|| false) {
            // What git changes on the way out (line ends, filters) has another size.
            Ok(blob) => (!blob.cut && blob.bytes.len() as u64 == size).then_some(blob.bytes),
            Err(error) => {
                tracing::debug!(message = error.message, "git does not give what a file held");
                None
            }
        }
    }
}

/// The index of the repository that a folder lies in, and the folder at its top.
fn index_of(path: &Path) -> Option<(PathBuf, GitIndex)> {
    let top = git_layout::top_of(path).ok()?;
    let real = real_path(path).ok()?;
    let inside = real.strip_prefix(&top).ok()?.to_str()?.replace(std::path::MAIN_SEPARATOR, "/");
    let prefix = if inside.is_empty() { String::new() } else { format!("{inside}/") };
    let index = GitIndex::read(&git_layout::git_dir_of(&top)?.join("index"), &prefix)?;
    Some((top, index))
}
