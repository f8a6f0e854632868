//! A look at all files of a folder: which there are, and what the system says of each.
//!
//! Owns which files count: not those that ignore files leave out, no repository's own, no links. Reads no file but ignore files.

use std::path::Path;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, DirEntry, Metadata};

use crate::confined::IgnoreRules;
use crate::platform::typed_name;

/// Most files of a look. A tree beyond that (a home directory opened as a workspace) is looked at in part, which is said.
pub(super) const MOST_FILES: usize = 250_000;

/// How long a look may take. Ten times what 100,000 files take on a slow disk; a network disk that is slower is looked at in part.
const LONGEST: Duration = Duration::from_secs(10);

/// What the system says of a file. Two that are equal are the same bytes, but for a file that was written right before the look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStat {
    pub(super) size: u64,
    /// Nanoseconds since the Unix epoch.
    pub(super) modified: i128,
    /// The same of its inode: no program can set it.
    pub(super) changed: i128,
    pub(super) inode: u64,
    pub(super) mode: Option<u32>,
}

/// All files of a folder at one time.
#[derive(Debug, Default)]
pub(super) struct TreeLook {
    /// By path, in order.
    pub(super) files: Vec<(Box<str>, FileStat)>,
    /// Folders, in order.
    pub(super) folders: Vec<Box<str>>,
    /// Whether there are more.
    pub(super) is_cut: bool,
    /// Files and folders that an ignore file leaves out.
    pub(super) ignored: u64,
    /// Names that are no text, and so no path here.
    pub(super) unnamed: u64,
}

impl TreeLook {
    /// Looks at a folder, which lies at `path` and is open as `dir`. `others` are folders in it that are looked at by themselves.
    pub(super) fn take(dir: &Dir, path: &Path, others: &[&Path]) -> Self {
        let mut look = Self::default();
        let never = || false;
        let mut rules = IgnoreRules::of_folder(dir, path, &never);
        let begun = Instant::now();
        // The next one last.
        let mut waiting = vec![String::new()];
        while let Some(folder) = waiting.pop() {
            if look.files.len() >= MOST_FILES || begun.elapsed() > LONGEST {
                look.is_cut = true;
                break;
            }
            rules.enter(&folder);
            let place = if folder.is_empty() { "." } else { folder.as_str() };
            let Ok(entries) = dir.read_dir(place) else { continue };
            for entry in entries.flatten() {
                look.entry(&folder, &entry, others, &rules, &mut waiting);
            }
        }
        look.files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        look.folders.sort_unstable();
        look
    }

    fn entry(
        &mut self,
        folder: &str,
        entry: &DirEntry,
        others: &[&Path],
        rules: &IgnoreRules<'_>,
        waiting: &mut Vec<String>,
    ) {
        let Some(name) = typed_name(entry.file_name()) else {
            self.unnamed += 1;
            return;
        };
        let Ok(kind) = entry.file_type() else { return };
        if name == ".git" || is_partial(&name) || !(kind.is_dir() || kind.is_file()) {
            return;
        }
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if rules.leaves_out(&path, kind.is_dir()) {
            self.ignored += 1;
        } else if kind.is_dir() {
            if !others.contains(&Path::new(&path)) {
                self.folders.push(path.as_str().into());
                waiting.push(path);
            }
        } else if let Ok(metadata) = entry.metadata() {
            self.files.push((path.into_boxed_str(), FileStat::of(&metadata)));
        }
    }

    /// What it says of a file.
    pub(super) fn file(&self, path: &str) -> Option<&FileStat> {
        let at = self.files.binary_search_by(|(known, _)| (**known).cmp(path)).ok()?;
        self.files.get(at).map(|(_, stat)| stat)
    }

    /// Whether there was such a folder.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.folders.binary_search_by(|known| (**known).cmp(path)).is_ok()
    }
}

/// A file of ours that is on its way to its place.
fn is_partial(name: &str) -> bool {
    name.starts_with(".breadboard-") && name.ends_with(".partial")
}

impl FileStat {
    /// That of a file.
    #[cfg(unix)]
    pub(super) fn of(metadata: &Metadata) -> Self {
        use cap_std::fs::MetadataExt;
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            mode: Some(metadata.mode() & 0o7777),
        }
    }

    /// That of a file.
    #[cfg(not(unix))]
    pub(super) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        let since = modified.and_then(|modified| modified.duration_since(std::time::UNIX_EPOCH).ok());
        let modified = since.map_or(0, |since| since.as_nanos() as i128);
        Self { size: metadata.len(), modified, changed: modified, inode: 0, mode: None }
    }
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn a_look_sees_hidden_files_and_none_that_are_left_out_or_of_a_repository() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in ["a", ".env", "src/b", "target/c", ".git/HEAD", "sub/.git/HEAD", "sub/d", "other/e"] {
            write(path);
        }
        std::fs::write(root.path().join(".gitignore"), "target\n").unwrap();
        let dir = Dir::open_ambient_dir(root.path(), ambient_authority()).unwrap();
        let look = TreeLook::take(&dir, root.path(), &[Path::new("other")]);
        let files: Vec<&str> = look.files.iter().map(|(path, _)| &**path).collect();
        assert_eq!(files, [".env", ".gitignore", "a", "src/b", "sub/d"]);
        assert_eq!(
            (look.is_cut, look.ignored, look.has_folder("src"), look.has_folder("target")),
            (false, 1, true, false)
        );
        // And a file that was written again is another one, whatever its time says.
        let before = *look.file("a").unwrap();
        let file = std::fs::File::options().write(true).open(root.path().join("a")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::io::Write::write_all(&mut &file, b"y").unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_nanos(before.modified as u64))
            .unwrap();
        let after = TreeLook::take(&dir, root.path(), &[]);
        // The standard library of Windows tells of no other time.
        if cfg!(unix) {
            assert_ne!(after.file("a"), Some(&before));
        }
    }
}
