//! What `.gitignore` files leave out, from the root down to one directory.
//!
//! Owns the reading of these files (through the root's handle, bounded) and their order: the deepest one that says
//! something wins. Never looks outside the root, so a global ignore file of the user's does not count.

use std::io::Read;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::root::open_regular;
use crate::domain::policy::path::WorkspacePath;

/// Most bytes of one `.gitignore`: far above any written by hand; what lies behind is not obeyed.
const MAX_BYTES: u64 = 1_024 * 1_024;

/// The rules for the entries of one directory.
#[derive(Debug)]
pub struct Ignored {
    /// Outermost first.
    levels: Vec<Gitignore>,
    /// Whether the directory itself is left out, and with it everything in it.
    all: bool,
}

impl Ignored {
    /// Reads the rules from the root down to `place`, a directory relative to `dir`.
    pub fn read(dir: &Dir, place: &Path) -> Self {
        let mut rules = Self { levels: Vec::new(), all: false };
        let mut here = PathBuf::new();
        rules.descend(dir, &here);
        for part in place.components().filter(|part| matches!(part, std::path::Component::Normal(_))) {
            here.push(part);
            if rules.names(&here, true) {
                rules.all = true;
                break;
            }
            rules.descend(dir, &here);
        }
        rules
    }

    /// Whether this entry, relative to the root, is left out.
    pub fn names(&self, path: &Path, is_directory: bool) -> bool {
        if self.all {
            return true;
        }
        for level in self.levels.iter().rev() {
            match level.matched(path, is_directory) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }

    fn descend(&mut self, dir: &Dir, here: &Path) {
        let place = here.join(".gitignore");
        let Ok((file, _)) = open_regular(dir, &place, &WorkspacePath::root()) else { return };
        let mut bytes = Vec::new();
        if file.take(MAX_BYTES).read_to_end(&mut bytes).is_err() {
            return;
        }
        let mut builder = GitignoreBuilder::new(here);
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line that is no pattern is skipped, as git does.
            let _ = builder.add_line(None, line);
        }
        if let Ok(level) = builder.build() {
            self.levels.push(level);
        }
    }
}
