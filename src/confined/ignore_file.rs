//! One ignore file: read within bounds and made into a matcher.
//!
//! Owns the bounds and the sentence for what lies behind them, said once a file and process. The matcher gets lines, never a
//! name: it opens nothing.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::open::{Links, NotOpened, NotRead, open_regular, read_bounded};
use crate::domain::policy::ignore_line::{IgnorePattern, translate};
use crate::domain::policy::rearranging::rearranges;

/// Most bytes of one file: far above any that was written by hand.
const MAX_BYTES: u64 = 1 << 20;

/// Most patterns of one file.
const MAX_PATTERNS: usize = 10_000;

/// Longest line, in bytes: longer than any path.
const MAX_LINE: usize = 4_096;

/// Memory of the patterns that are in force at the same time, by `weight`: a file of 10,000 fits, a hundred nested ones do not.
const MAX_WEIGHT: usize = 48 << 20;

/// Patterns that one search or listing compiles in all: about a second of work. A tree with more in thousands of files means
/// to keep the search busy.
const MAX_COMPILED: usize = 50_000;

/// Files in force at the same time. Each entry of a directory is held against all of them.
const MAX_FILES: usize = 64;

/// Files whose remarks are remembered; a tree with more is not said file by file.
const MAX_SAID: usize = 1_000;

static SAID: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// What may still be taken.
#[derive(Debug)]
pub(super) struct IgnoreBudget {
    weight: usize,
    compiled: usize,
    files: usize,
}

impl Default for IgnoreBudget {
    fn default() -> Self {
        Self { weight: MAX_WEIGHT, compiled: MAX_COMPILED, files: MAX_FILES }
    }
}

impl IgnoreBudget {
    /// Gives back what a file took that is no longer in force.
    pub(super) fn release(&mut self, file: &IgnoreFile) {
        self.weight += file.weight;
        self.files += 1;
    }
}

/// The patterns of a file.
#[derive(Debug)]
pub(super) struct IgnoreFile {
    /// For paths relative to the directory that the file speaks for.
    pub matcher: Gitignore,
    /// Memory, as the budget counts it.
    weight: usize,
}

/// What of a file is not obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remark {
    NotRegular,
    TooLarge,
    TooMany,
    TooLong,
    TooHeavy,
    TooBusy,
    TooDeep,
    Unusable,
}

impl Remark {
    fn sentence(self) -> &'static str {
        match self {
            Self::NotRegular => "is not a regular file, so it is not read",
            Self::TooLarge => "is larger than 1 MiB; the patterns behind that are not obeyed",
            Self::TooMany => "has more than 10,000 patterns; the rest is not obeyed",
            Self::TooLong => "has lines of more than 4 KiB, which are not obeyed",
            Self::TooHeavy => {
                "has, with the files above it, patterns that take more than 48 MiB; the rest is not obeyed"
            }
            Self::TooBusy => {
                "comes after 50,000 patterns of other files, so not all of it is obeyed in this search"
            }
            Self::TooDeep => "lies below 64 others, so it is not obeyed",
            Self::Unusable => "has patterns that cannot be used together, so it is not obeyed",
        }
    }
}

/// Reads an ignore file beneath a handle. `shown` is its whole path, for what is said of it. `None`: there is none, or it is
/// not obeyed.
pub(super) fn read(
    dir: &Dir,
    place: &Path,
    shown: &Path,
    budget: &mut IgnoreBudget,
    is_stopped: &dyn Fn() -> bool,
) -> Option<IgnoreFile> {
    let file = match open_regular(dir, place, Links::Refused) {
        Ok((file, _)) => file,
        Err(NotOpened::NotRegular) => {
            say(shown, Remark::NotRegular);
            return None;
        }
        // Most directories have none; a directory of that name is none.
        Err(NotOpened::Failed(_) | NotOpened::Directory) => return None,
    };
    from_file(file, shown, budget, is_stopped)
}

/// The same of an open file.
pub(super) fn from_file(
    file: impl Read,
    shown: &Path,
    budget: &mut IgnoreBudget,
    is_stopped: &dyn Fn() -> bool,
) -> Option<IgnoreFile> {
    if budget.files == 0 {
        say(shown, Remark::TooDeep);
        return None;
    }
    let mut file = file.take(MAX_BYTES + 1);
    let bytes = match read_bounded(&mut file, MAX_BYTES + 1, is_stopped) {
        Ok(bytes) => bytes,
        Err(NotRead::Stopped | NotRead::TooLarge | NotRead::Failed(_)) => return None,
    };
    let mut patterns = Patterns { builder: GitignoreBuilder::new(""), count: 0, weight: 0, remark: None };
    patterns.take(bytes, budget);
    if let Some(remark) = patterns.remark {
        say(shown, remark);
    }
    if patterns.count == 0 || is_stopped() {
        return None;
    }
    budget.compiled -= patterns.count;
    match patterns.builder.build() {
        Ok(matcher) => {
            budget.weight -= patterns.weight;
            budget.files -= 1;
            Some(IgnoreFile { matcher, weight: patterns.weight })
        }
        Err(error) => {
            tracing::debug!(%error, "an ignore file could not be compiled");
            say(shown, Remark::Unusable);
            None
        }
    }
}

struct Patterns {
    builder: GitignoreBuilder,
    count: usize,
    weight: usize,
    /// The first of them.
    remark: Option<Remark>,
}

impl Patterns {
    fn take(&mut self, mut bytes: Vec<u8>, budget: &IgnoreBudget) {
        if bytes.len() as u64 > MAX_BYTES {
            self.remark = Some(Remark::TooLarge);
            // Half a pattern is another pattern.
            let end = memchr::memrchr(b'\n', &bytes[..MAX_BYTES as usize]).map_or(0, |at| at + 1);
            bytes.truncate(end);
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.len() > MAX_LINE {
                self.remark.get_or_insert(Remark::TooLong);
                continue;
            }
            let Some(pattern) = translate(&String::from_utf8_lossy(line)) else { continue };
            if self.count >= MAX_PATTERNS {
                self.remark.get_or_insert(Remark::TooMany);
                return;
            }
            if self.count >= budget.compiled {
                self.remark.get_or_insert(Remark::TooBusy);
                return;
            }
            let weight = weight(&pattern);
            if self.weight + weight > budget.weight {
                self.remark.get_or_insert(Remark::TooHeavy);
                return;
            }
            // A line that the matcher cannot read is skipped.
            if self.builder.add_line(None, &pattern.line).is_ok() {
                self.count += 1;
                self.weight += weight;
            }
        }
    }
}

/// Bytes that a compiled pattern takes, as measured: a name stands in tables, a wildcard becomes a part of an automaton.
fn weight(pattern: &IgnorePattern) -> usize {
    768 + pattern.line.len() * if pattern.is_wild { 500 } else { 8 }
}

/// Says it in the log, which the editor shows; once a file.
fn say(file: &Path, remark: Remark) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() >= MAX_SAID || !said.insert(file.to_owned()) {
        return;
    }
    let shown: String = file
        .to_string_lossy()
        .chars()
        .flat_map(|c| {
            let odd = c.is_control() || rearranges(c);
            let escaped: Vec<char> = if odd { c.escape_unicode().collect() } else { vec![c] };
            escaped
        })
        .take(400)
        .collect();
    tracing::warn!("The ignore file `{shown}` {}.", remark.sentence());
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{GitignoreBuilder, Patterns, from_file};
    use super::{IgnoreBudget, MAX_BYTES, MAX_COMPILED, MAX_FILES, MAX_PATTERNS, MAX_WEIGHT, Remark};

    fn taken(text: &[u8], budget: &IgnoreBudget) -> (usize, Option<Remark>) {
        let mut patterns = Patterns { builder: GitignoreBuilder::new(""), count: 0, weight: 0, remark: None };
        patterns.take(text.to_vec(), budget);
        (patterns.count, patterns.remark)
    }

    #[test]
    fn what_lies_behind_a_bound_is_left_out_and_named() {
        let budget = IgnoreBudget::default();
        let names = |count: usize| (0..count).map(|n| format!("name{n}\n")).collect::<String>();
        assert_eq!(taken(names(MAX_PATTERNS).as_bytes(), &budget), (MAX_PATTERNS, None));
        let more = taken(names(MAX_PATTERNS + 1).as_bytes(), &budget);
        assert_eq!(more, (MAX_PATTERNS, Some(Remark::TooMany)));

        let line = "#".repeat(1_023) + "\n";
        let exact = line.repeat(MAX_BYTES as usize / 1_024 - 1) + &"#".repeat(1_021) + "\nx";
        assert_eq!((exact.len() as u64, taken(exact.as_bytes(), &budget)), (MAX_BYTES - 1, (1, None)));
        let over = format!("{exact}xyz");
        assert_eq!(taken(over.as_bytes(), &budget), (0, Some(Remark::TooLarge)), "no half a pattern");

        let long = format!("a\n{}\n*.log\n", "x".repeat(4_097));
        assert_eq!(taken(long.as_bytes(), &budget), (2, Some(Remark::TooLong)));
        let wild = "a*b?cdefghijklmnopqrst\n".repeat(MAX_PATTERNS);
        let (count, remark) = taken(wild.as_bytes(), &budget);
        assert_eq!((count, remark), (MAX_WEIGHT / (768 + 25 * 500), Some(Remark::TooHeavy)));
        let spent = IgnoreBudget { compiled: 3, ..IgnoreBudget::default() };
        assert_eq!(taken(names(9).as_bytes(), &spent), (3, Some(Remark::TooBusy)));
    }

    #[test]
    fn a_file_takes_from_the_budget_and_gives_back_what_is_no_longer_in_force() {
        let mut budget = IgnoreBudget::default();
        let file = from_file(&b"a*b*\nname\n"[..], Path::new("x"), &mut budget, &|| false).unwrap();
        let weight = 2 * 768 + "**/a*b*".len() * 500 + "**/name".len() * 8;
        assert_eq!((budget.weight, budget.compiled), (MAX_WEIGHT - weight, MAX_COMPILED - 2));
        budget.release(&file);
        assert_eq!((budget.weight, budget.files), (MAX_WEIGHT, MAX_FILES));
        let mut spent = IgnoreBudget { files: 0, ..IgnoreBudget::default() };
        assert!(from_file(&b"a\n"[..], Path::new("x"), &mut spent, &|| false).is_none(), "too deep");
        assert!(from_file(&b"a\n"[..], Path::new("x"), &mut budget, &|| true).is_none(), "stopped");
    }

    #[test]
    fn a_byte_order_mark_and_line_ends_of_windows_are_no_part_of_a_pattern() {
        let mut budget = IgnoreBudget::default();
        let text = b"\xef\xbb\xbfone\r\ntwo\r\n".as_slice();
        let file = from_file(text, Path::new("x"), &mut budget, &|| false).unwrap();
        assert!(file.matcher.matched("one", false).is_ignore());
        assert!(file.matcher.matched("two", false).is_ignore());
    }
}
