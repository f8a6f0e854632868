//! The user's lists of files: which an agent may read, which it may change, and which it may never touch.
//!
//! Owns what a pattern covers. One that allows is read strictly, one that forbids generously: in any case, at any depth, and with
//! everything beneath. Paths come resolved, relative to their folder, without links. Never looks at a disk, never decides what is
//! asked: that is `standing`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path_names::folded_by_macos;

/// Patterns of one list. A person writes a dozen; a judgement looks at all of them.
const PATTERNS: usize = 256;

/// Characters of a pattern.
const PATTERN: usize = 512;

/// What covers every file.
const EVERYTHING: &str = "**/*";

/// The lists. Patterns are relative to the workspace folder: `*` and `?` stand within a name, `**` for any folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FileLists {
    /// Files that may be read. Default: all.
    pub read: Vec<String>,
    /// Files that may be changed. Default: all.
    pub change: Vec<String>,
    /// Files that are never touched, whatever the others say.
    pub never: Vec<String>,
}

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// It is read.
    Read,
    /// It is changed, made or removed.
    Change,
}

/// Why lists are not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPattern {
    /// The pattern, shortened.
    pub pattern: String,
    /// What is wrong with it, as the rest of a sentence.
    pub why: &'static str,
}

impl Default for FileLists {
    fn default() -> Self {
        let all = || vec![EVERYTHING.to_owned()];
        Self { read: all(), change: all(), never: Vec::new() }
    }
}

impl FileLists {
    /// Those that keep everything: what is forbidden is not known.
    pub fn none() -> Self {
        Self { never: vec![EVERYTHING.to_owned()], ..Self::default() }
    }

    /// Whether they keep nothing from anybody.
    pub fn is_open(&self) -> bool {
        let has_all = |list: &[String]| list.iter().any(|pattern| pattern.as_str() == EVERYTHING);
        self.never.is_empty() && has_all(&self.read) && has_all(&self.change)
    }

    /// Why this may not be done to a file, as the rest of a sentence that begins with its name.
    pub fn forbids(&self, path: &str, how: FileUse) -> Option<String> {
        if let Some(pattern) = self.never_touches(path) {
            return Some(format!("is never touched (`{pattern}`)"));
        }
        let (list, why) = match how {
            FileUse::Read => (&self.read, "is none of the files that may be read"),
            FileUse::Change => (&self.change, "is none of the files that may be changed"),
        };
        let path: Vec<&str> = parts(path).collect();
        // The folder itself is no file.
        let is_allowed = path.is_empty()
            || list.iter().any(|pattern| covers(&pattern.split('/').collect::<Vec<_>>(), &path));
        (!is_allowed).then(|| why.to_owned())
    }

    /// The pattern that forbids to touch a file or a folder at all.
    pub fn never_touches(&self, path: &str) -> Option<&str> {
        if self.never.is_empty() {
            return None;
        }
        let path: Vec<String> = parts(path).map(plain).collect();
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        self.never.iter().map(String::as_str).find(|pattern| is_beneath(pattern, &path))
    }

    /// Whether every pattern means something here.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), BadPattern> {
        [&self.read, &self.change, &self.never].into_iter().try_for_each(|list| check(list))
    }
}

/// Whether every pattern of one list means something here.
///
/// # Errors
/// The first that does not.
pub fn check(list: &[String]) -> Result<(), BadPattern> {
    let bad = |pattern: &str, why| Err(BadPattern { pattern: pattern.chars().take(80).collect(), why });
    if list.len() > PATTERNS {
        return bad("", "is one of more than 256");
    }
    for pattern in list {
        let why = if pattern.trim().is_empty() || pattern.trim() != pattern {
            "is empty, or begins or ends with a blank"
        } else if pattern.chars().count() > PATTERN || pattern.chars().any(char::is_control) {
            "is longer than 512 characters, or has characters that no name has"
        } else if pattern.contains(['[', ']', '{', '}', '\\', '!']) {
            "has brackets, braces, `\\` or `!`, which say nothing here; write one pattern for each"
        } else if pattern.split('/').any(|part| part == ".." || part == ".") || pattern.starts_with('~') {
            "leads out of the folder; patterns begin at the workspace folder"
        } else if pattern.split('/').any(|part| part.contains("**") && part != "**") {
            "has `**` beside other characters; it stands alone between slashes"
        } else {
            continue;
        };
        return bad(pattern, why);
    }
    Ok(())
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".")
}

/// A name as any system may read it: without case, in one normal form, and without what Windows drops at its end or takes for a stream.
fn plain(part: &str) -> String {
    let name = part.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    folded_by_macos(if name.is_empty() { part } else { name })
}

/// Whether a pattern covers the whole of a path.
fn covers(pattern: &[&str], path: &[&str]) -> bool {
    run(pattern, path, |part| *part == "**", |pattern, part| fits(pattern, part))
}

/// Whether a pattern covers a path, or a folder that it lies in, at any depth unless it begins with `/`.
fn is_beneath(pattern: &str, path: &[&str]) -> bool {
    let pattern = folded_by_macos(pattern);
    let is_anchored = pattern.starts_with('/');
    let mut wanted: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    // `folder/**` is the folder with everything in it.
    while wanted.len() > 1 && wanted.last() == Some(&"**") {
        wanted.pop();
    }
    let mut starts = if is_anchored { 0..1 } else { 0..path.len().max(1) };
    starts.any(|from| (from..path.len()).any(|to| covers(&wanted, &path[from..=to])))
}

/// Whether a name fits, where `*` stands for any characters and `?` for one.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    run(&pattern, &name, |c| *c == '*', |wanted, c| *wanted == '?' || wanted == c)
}

/// Whether a row of things is covered by a row of wishes, of which some stand for any number. Goes back to the last of these only,
/// so that no pattern takes longer than the product of both.
fn run<T>(wanted: &[T], row: &[T], is_many: impl Fn(&T) -> bool, is_one: impl Fn(&T, &T) -> bool) -> bool {
    let (mut at, mut here) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while here < row.len() {
        if at < wanted.len() && is_many(&wanted[at]) {
            last = Some((at, here));
            at += 1;
        } else if at < wanted.len() && is_one(&wanted[at], &row[here]) {
            at += 1;
            here += 1;
        } else if let Some((many, from)) = last {
            last = Some((many, from + 1));
            at = many + 1;
            here = from + 1;
        } else {
            return false;
        }
    }
    wanted[at..].iter().all(is_many)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(read: &[&str], change: &[&str], never: &[&str]) -> FileLists {
        let owned = |list: &[&str]| list.iter().map(|pattern| (*pattern).to_owned()).collect();
        FileLists { read: owned(read), change: owned(change), never: owned(never) }
    }

    #[test]
    fn the_default_keeps_nothing_and_says_so() {
        let open = FileLists::default();
        assert!(open.is_open());
        for path in ["a", "a/b.rs", ".git/config", ".env"] {
            assert_eq!(open.forbids(path, FileUse::Change), None, "{path}");
        }
    }

    #[test]
    fn what_is_never_touched_is_so_in_any_case_at_any_depth_and_with_everything_beneath() {
        let kept = lists(&["**/*"], &["**/*"], &[".git/**", "node_modules/**", "*.key", "/secret", "a/*/c"]);
        for path in [
            ".git",
            ".git/config",
            ".GIT/config",
            "sub/.git/hooks/x",
            "sub/../.git/config",
            ".git./config",
            ".git::$INDEX_ALLOCATION/config",
            "web/node_modules/left/index.js",
            "deep/down/server.KEY",
            "secret/plan.md",
            "a/b/c/d",
        ] {
            assert!(kept.forbids(path, FileUse::Read).is_some(), "{path}");
        }
        for path in ["git/config", "src/a.rs", "keys.rs", "sub/secret", "a/c", ".gitignore"] {
            assert_eq!(kept.forbids(path, FileUse::Read), None, "{path}");
        }
    }

    #[test]
    fn what_is_allowed_is_exactly_what_the_pattern_says() {
        let some = lists(&["src/**", "*.md"], &["src/*.rs"], &[]);
        let allows = |path: &str, how| some.forbids(path, how).is_none();
        for path in ["src/a.rs", "src/deep/b.rs", "README.md", ""] {
            assert!(allows(path, FileUse::Read), "{path}");
        }
        for path in ["docs/a.md", "Src/a.rs", "src2/a.rs", "a.rs"] {
            assert!(!allows(path, FileUse::Read), "{path}");
        }
        assert!(allows("src/a.rs", FileUse::Change));
        assert!(!allows("src/deep/b.rs", FileUse::Change) && !allows("README.md", FileUse::Change));
    }

    #[test]
    fn a_pattern_that_would_mean_nothing_or_something_else_is_refused() {
        for pattern in
            ["", " a", "a\n", "*.{ts,js}", "[ab]", "!a", "a\\b", "../x", "./x", "~/x", "a**", "a/**b/c"]
        {
            assert!(lists(&["**/*"], &["**/*"], &[pattern]).check().is_err(), "{pattern:?}");
        }
        assert_eq!(lists(&["src/**"], &["**/*"], &["/a/?.md", "*.key"]).check(), Ok(()));
        assert!(check(&vec!["a".to_owned(); 257]).is_err());
    }

    #[test]
    fn a_pattern_of_many_stars_ends_soon() {
        let pattern = "*a".repeat(120) + "b";
        assert!(!fits(&pattern, &"a".repeat(4_000)));
        let deep = vec!["a"; 2_000];
        assert!(!covers(&[["**", "a"].repeat(60), vec!["b"]].concat(), &deep));
    }
}
