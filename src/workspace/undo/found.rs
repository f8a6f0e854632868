//! What changed in the files since a turn began, whoever wrote it: found by comparing two looks.
//!
//! Owns what counts as a change of the turn, and what is said where it is not known what a file held. Never guesses: a file that
//! the user saved while the turn ran, or that another session's turn wrote, is not taken for this turn's.

use std::collections::BTreeSet;
use std::path::Path;

use crate::confined::{Links, open_regular, read_bounded};
use crate::domain::undo::{BeforeSource, UncoveredReason};

use super::baseline::{Baseline, BeforeContent, RootBaseline};
use super::images::{LIMITS, SessionPlace};
use super::tree::{FileStat, TreeLook};

/// Files that are looked at after a turn. A command that changed more, such as a change of branches, is told in one line.
const MOST: usize = 2_000;

/// Contents that are asked of git after a turn: each takes some milliseconds.
const MOST_OF_GIT: usize = 300;

/// A file that changed.
pub(super) struct FoundChange {
    pub(super) root: String,
    pub(super) path: String,
    pub(super) before: Option<FoundContent>,
    pub(super) after: Option<FoundContent>,
    pub(super) source: BeforeSource,
    /// Folders above it that were not there before.
    pub(super) new_folders: u32,
}

/// What a file holds.
pub(super) struct FoundContent {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: Option<u32>,
}

/// What cannot be taken back.
pub(super) struct FoundUncovered {
    pub(super) root: String,
    /// The file, or how many.
    pub(super) what: Result<String, u64>,
    pub(super) reason: UncoveredReason,
    pub(super) message: String,
}

/// What two looks differ by.
#[derive(Default)]
pub(super) struct Found {
    pub(super) changes: Vec<FoundChange>,
    pub(super) uncovered: Vec<FoundUncovered>,
}

/// Compares what is there now with what a turn began with.
pub(super) fn compare(baseline: &Baseline, base: &SessionPlace) -> Found {
    let mut found = Found::default();
    let mut from_git = 0;
    for root in &baseline.roots {
        let now = root.look_again();
        let changed = changed_paths(root, &now);
        if root.look.is_cut || now.is_cut {
            found.uncovered.push(FoundUncovered {
                root: root.name.clone(),
                what: Err(0),
                reason: UncoveredReason::NotWatched,
                message: format!(
                    "The folder `{}` has too many files to look at all of them, so changes of some are not known.",
                    root.name
                ),
            });
        }
        let more = changed.len().saturating_sub(MOST);
        if more > 0 {
            found.uncovered.push(FoundUncovered {
                root: root.name.clone(),
                what: Err(more as u64),
                reason: UncoveredReason::Budget,
                message: format!("{more} more files changed in `{}` than can be taken back.", root.name),
            });
        }
        for path in changed.into_iter().take(MOST) {
            found.one(root, &now, path, base, &mut from_git);
        }
    }
    found
}

/// Paths of which the system says another thing than before.
fn changed_paths<'a>(root: &'a RootBaseline, now: &'a TreeLook) -> BTreeSet<&'a str> {
    let (was, is) = (&root.look.files, &now.files);
    let mut changed: BTreeSet<&str> = root.recent.iter().map(|path| &**path).collect();
    let (mut left, mut right) = (was.iter().peekable(), is.iter().peekable());
    // Of a look that was cut it is not known what is not there.
    let all = !root.look.is_cut && !now.is_cut;
    loop {
        match (left.peek(), right.peek()) {
            (Some((one, stat)), Some((other, now))) if one == other => {
                if stat != now {
                    changed.insert(one);
                }
                (left.next(), right.next());
            }
            (Some((one, _)), Some((other, _))) if one < other => {
                if all {
                    changed.insert(one);
                }
                left.next();
            }
            (Some(_), Some((other, _))) | (None, Some((other, _))) => {
                if all {
                    changed.insert(other);
                }
                right.next();
            }
            (Some((one, _)), None) => {
                if all {
                    changed.insert(one);
                }
                left.next();
            }
            (None, None) => return changed,
        }
    }
}

impl Found {
    fn one(
        &mut self,
        root: &RootBaseline,
        now: &TreeLook,
        path: &str,
        base: &SessionPlace,
        from_git: &mut usize,
    ) {
        let (was, is) = (root.look.file(path), now.file(path));
        let uncovered = |reason, message: String| FoundUncovered {
            root: root.name.clone(),
            what: Ok(path.to_owned()),
            reason,
            message,
        };
        let after = match is.map(|stat| content_now(root, path, stat)) {
            None => None,
            Some(Ok(content)) => Some(content),
            Some(Err((reason, message))) => return self.uncovered.push(uncovered(reason, message)),
        };
        let (before, source) = match was.map(|stat| (stat, root.before(path, stat))) {
            None => (None, BeforeSource::Copy),
            Some((stat, BeforeContent::Copied(image))) => match base.content(&image) {
                Some(bytes) => (Some(FoundContent { bytes, mode: stat.mode }), BeforeSource::Copy),
                None => return self.uncovered.push(unknown(root, path)),
            },
            Some((stat, BeforeContent::InGit(id))) if *from_git < MOST_OF_GIT => {
                *from_git += 1;
                match root.from_git(&id, stat.size).filter(|_| stat.size <= LIMITS.file) {
                    Some(bytes) => (Some(FoundContent { bytes, mode: stat.mode }), BeforeSource::Git),
                    None => return self.uncovered.push(unknown(root, path)),
                }
            }
            Some((_, BeforeContent::InGit(_))) => {
                let message = format!(
                    "More than {MOST_OF_GIT} files that git has changed, so `{path}` cannot be taken back here; git can."
                );
                return self.uncovered.push(uncovered(UncoveredReason::Budget, message));
            }
            Some((_, BeforeContent::Unknown)) => return self.uncovered.push(unknown(root, path)),
        };
        let same =
            |one: &FoundContent, other: &FoundContent| one.bytes == other.bytes && one.mode == other.mode;
        if let (Some(before), Some(after)) = (&before, &after)
            && same(before, after)
        {
            return;
        }
        let folders =
            Path::new(path).ancestors().skip(1).filter_map(Path::to_str).filter(|at| !at.is_empty());
        let new_folders = folders.take_while(|folder| !root.look.has_folder(folder)).count();
        self.changes.push(FoundChange {
            root: root.name.clone(),
            path: path.to_owned(),
            new_folders: if before.is_none() { u32::try_from(new_folders).unwrap_or_default() } else { 0 },
            before,
            after,
            source,
        });
    }
}

fn unknown(root: &RootBaseline, path: &str) -> FoundUncovered {
    FoundUncovered {
        root: root.name.clone(),
        what: Ok(path.to_owned()),
        reason: UncoveredReason::UnknownBefore,
        message: format!(
            "`{path}` changed, and what it held before is not known: it is not in git as it was, and was too large to be copied, or there was no room."
        ),
    }
}

fn content_now(
    root: &RootBaseline,
    path: &str,
    stat: &FileStat,
) -> Result<FoundContent, (UncoveredReason, String)> {
    if stat.size > LIMITS.file {
        let most = LIMITS.file >> 20;
        let message = format!("`{path}` is larger than {most} MiB, so it cannot be taken back here.");
        return Err((UncoveredReason::TooLarge, message));
    }
    let unreadable = || (UncoveredReason::Unreadable, format!("`{path}` changed and cannot be read."));
    let (file, _) = open_regular(&root.dir, Path::new(path), Links::Refused).map_err(|_| unreadable())?;
    let bytes = read_bounded(file, LIMITS.file, &|| false).map_err(|_| unreadable())?;
    Ok(FoundContent { bytes, mode: stat.mode })
}
