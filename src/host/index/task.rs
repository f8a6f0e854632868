//! What is still to be done for a folder.
//!
//! Owns the bound: however many changes are told, what waits stays small.

use std::collections::BTreeSet;

/// Changed files that are remembered one by one. Beyond it the whole folder is compared, which finds them too.
const MOST_FILES: usize = 1_024;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum IndexTask {
    /// Nothing is to be done.
    #[default]
    Nothing,
    /// These files changed: paths relative to the folder.
    Files(BTreeSet<String>),
    /// Every file is compared, and read where it changed.
    Refresh,
    /// What is known is forgotten, and every file is read.
    Rebuild,
}

impl IndexTask {
    /// Files that changed; a whole refresh where they are many.
    pub fn files(paths: impl IntoIterator<Item = String>) -> Self {
        let mut files = BTreeSet::new();
        for path in paths {
            files.insert(path);
            if files.len() > MOST_FILES {
                return Self::Refresh;
            }
        }
        if files.is_empty() { Self::Nothing } else { Self::Files(files) }
    }

    /// What does the work of both.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Rebuild, _) | (_, Self::Rebuild) => Self::Rebuild,
            (Self::Refresh, _) | (_, Self::Refresh) => Self::Refresh,
            (Self::Nothing, other) | (other, Self::Nothing) => other,
            (Self::Files(some), Self::Files(others)) => Self::files(some.into_iter().chain(others)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(count: usize) -> IndexTask {
        IndexTask::files((0..count).map(|at| format!("src/{at}.rs")))
    }

    #[test]
    fn a_storm_of_changes_waits_in_bounded_memory() {
        let mut waiting = IndexTask::Nothing;
        for at in 0..10_000 {
            waiting = waiting.and(IndexTask::files([format!("src/{at}.rs")]));
            assert!(!matches!(&waiting, IndexTask::Files(files) if files.len() > MOST_FILES));
        }
        assert_eq!(waiting, IndexTask::Refresh);
        assert_eq!(changed(10_000), IndexTask::Refresh);
    }

    #[test]
    fn what_is_wanted_more_wins() {
        assert_eq!(IndexTask::files([]), IndexTask::Nothing);
        assert_eq!(changed(1).and(IndexTask::Nothing), changed(1));
        assert_eq!(changed(2).and(changed(1)), changed(2));
        assert_eq!(changed(2).and(IndexTask::Refresh), IndexTask::Refresh);
        assert_eq!(IndexTask::Rebuild.and(changed(2)), IndexTask::Rebuild);
    }
}
