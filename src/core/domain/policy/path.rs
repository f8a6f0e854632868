//! Paths inside a workspace, as they come from a client or an agent.
//!
//! Owns the spelling: what is relative, normal and free of tricks. Never looks at a disk: where a symbolic link leads is
//! the edge's to check, with a directory handle that cannot be left.

use std::fmt;

pub use super::path_rules::PathRefused;
use super::path_rules::PathRules;

/// Longest path taken, in bytes: what Linux takes (`PATH_MAX`).
pub const MAX_BYTES: usize = 4_096;

/// A path relative to a workspace root: parts joined by `/`, none of them `.`, `..` or empty; `""` is the root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// The root itself.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Reads a path. `""` and `.` mean the root; `a//b`, `./a` and `a/` are normalised; everything that could lead out is
    /// refused, even where it would come back.
    pub fn parse(text: &str) -> Result<Self, PathRefused> {
        Self::parse_by(PathRules::here(), text)
    }

    /// The same by the rules of a system that need not be this one.
    pub(super) fn parse_by(rules: PathRules, text: &str) -> Result<Self, PathRefused> {
        if text.len() > MAX_BYTES {
            return Err(PathRefused::TooLong);
        }
        if text.contains('\0') {
            return Err(PathRefused::BadCharacter);
        }
        if is_uri(text) {
            return Err(PathRefused::Uri);
        }
        if text.starts_with(['/', '\\']) || has_drive(text) {
            return Err(PathRefused::Absolute);
        }
        // A backslash is an ordinary character on Unix and a separator on Windows, so a path must be harmless as both.
        if text.split(['/', '\\']).any(leads_upwards) {
            return Err(PathRefused::Parent);
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let path = parts.join("/");
        // `./C:/x` must not become what `C:/x` is refused for.
        if path.starts_with('\\') || has_drive(&path) {
            return Err(PathRefused::Absolute);
        }
        if is_uri(&path) {
            return Err(PathRefused::Uri);
        }
        if let Some(why) = parts.iter().find_map(|part| rules.refuses(part)) {
            return Err(why);
        }
        Ok(Self(path))
    }

    /// The path as text, `""` for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path for a directory handle, `.` for the root.
    pub fn for_handle(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Its parts, outermost first.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// Its last part; `None` for the root.
    pub fn file_name(&self) -> Option<&str> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// The directory it lies in; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned())))
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `..`, and what Windows makes of it: it drops dots and spaces at the end of a name, so `.. ` and `...` are suspicious.
fn leads_upwards(part: &str) -> bool {
    part.len() > 1 && part.starts_with(['.', ' ']) && part.chars().all(|c| matches!(c, '.' | ' '))
}

fn has_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

fn is_uri(text: &str) -> bool {
    text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) || text.contains("://")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PathRefused, WorkspacePath};

    fn parsed(text: &str) -> Result<String, PathRefused> {
        WorkspacePath::parse(text).map(|path| path.as_str().to_owned())
    }

    #[test]
    fn r000_30_relative_paths_are_normalised() {
        for (given, then) in [
            ("", ""),
            (".", ""),
            ("./", ""),
            ("a", "a"),
            ("a/", "a"),
            ("./a", "a"),
            ("a//b", "a/b"),
            ("a/./b", "a/b"),
            ("a b/ü.rs", "a b/ü.rs"),
            (".git/config", ".git/config"),
            ("..a/..b", "..a/..b"),
            ("~/x", "~/x"),
        ] {
            assert_eq!(parsed(given), Ok(then.to_owned()), "{given:?}");
        }
    }

    #[test]
    fn r000_36_what_could_lead_out_is_refused() {
        for (given, why) in [
            ("/etc/passwd", PathRefused::Absolute),
            ("//server/share", PathRefused::Absolute),
            ("\\\\server\\share", PathRefused::Absolute),
            ("C:\\x", PathRefused::Absolute),
            ("c:/x", PathRefused::Absolute),
            ("c:", PathRefused::Absolute),
            ("./C:/x", PathRefused::Absolute),
            (".//\\x", PathRefused::Absolute),
            ("..", PathRefused::Parent),
            ("../x", PathRefused::Parent),
            ("../ws-evil/x", PathRefused::Parent),
            ("a/../b", PathRefused::Parent),
            ("a/..", PathRefused::Parent),
            ("..\\x", PathRefused::Parent),
            ("a\\..\\x", PathRefused::Parent),
            (".. /x", PathRefused::Parent),
            ("a/.../x", PathRefused::Parent),
            ("file:///etc/passwd", PathRefused::Uri),
            ("FILE:x", PathRefused::Uri),
            ("./file:/etc/passwd", PathRefused::Uri),
            ("https://x/y", PathRefused::Uri),
            ("a\0b", PathRefused::BadCharacter),
        ] {
            assert_eq!(parsed(given), Err(why), "{given:?}");
        }
        assert_eq!(parsed(&"a/".repeat(2_049)), Err(PathRefused::TooLong));
    }

    #[test]
    fn a_path_knows_its_parts() {
        let path = WorkspacePath::parse("a/b/c.rs").unwrap();
        assert_eq!(path.components().collect::<Vec<_>>(), ["a", "b", "c.rs"]);
        assert_eq!(path.file_name(), Some("c.rs"));
        assert_eq!(path.parent().unwrap().as_str(), "a/b");
        assert_eq!(WorkspacePath::parse("a").unwrap().parent(), Some(WorkspacePath::root()));
        assert_eq!(WorkspacePath::root().parent(), None);
        assert_eq!(WorkspacePath::root().file_name(), None);
        assert_eq!(WorkspacePath::root().for_handle(), ".");
    }

    proptest! {
        #[test]
        fn r000_36_no_path_ever_leads_upwards(text in r"([./\\a :C~]|\.\./|file:|é){0,12}") {
            if let Ok(path) = WorkspacePath::parse(&text) {
                prop_assert!(!path.as_str().starts_with(['/', '\\']));
                prop_assert!(path.as_str().split(['/', '\\']).all(|part| part != ".."));
                prop_assert!(path.components().all(|part| part != "." && !part.is_empty()));
                prop_assert_eq!(WorkspacePath::parse(path.as_str()), Ok(path.clone()));
            }
        }
    }
}
