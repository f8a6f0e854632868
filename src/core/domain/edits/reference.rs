//! A ref of `bb/openDiff`: where the text of one side comes from (wire.md section 2).
//!
//! Owns its spelling, and what is refused in it before any program sees it. Never looks anything up.

use std::fmt;

/// Longest revision, checkpoint or patch id, in bytes. Branch names are file names; ids are UUIDs or shorter.
const MOST_BYTES: usize = 255;

/// Longest path of an artifact, in bytes: what Linux takes (`PATH_MAX`).
const MOST_PATH_BYTES: usize = 4_096;

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The file on disk.
    Disk,
    /// The open buffer; the file on disk where it is not open.
    Buffer,
    /// A commit of the user's own repository.
    Git(String),
    /// A checkpoint of the engine's.
    Checkpoint(String),
    /// An artifact of the engine's, by its path.
    Artifact(String),
    /// A patch as it would leave the file.
    Patch(String),
}

/// Why a text is no ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceRefused {
    /// None of the words there are.
    UnknownWord,
    /// The word needs something behind its colon.
    Empty,
    /// Too long.
    TooLong,
    /// What is behind the colon has a character, or a beginning, that means more than a name.
    BadName,
}

impl ReferenceRefused {
    /// The rest of a sentence that begins with the ref.
    pub fn reason(self) -> &'static str {
        match self {
            Self::UnknownWord => {
                "is none of `disk`, `buffer`, `git:<rev>`, `checkpoint:<id>`, `artifact:<path>` and `patch:<id>`"
            }
            Self::Empty => "names nothing behind its colon",
            Self::TooLong => "is too long",
            Self::BadName => "has a character that such a name cannot have",
        }
    }
}

impl fmt::Display for ReferenceRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl Reference {
    /// Reads a ref.
    pub fn parse(text: &str) -> Result<Self, ReferenceRefused> {
        let (word, name) = match text.split_once(':') {
            Some((word, name)) => (word, Some(name)),
            None => (text, None),
        };
        match (word, name) {
            ("disk", None) => Ok(Self::Disk),
            ("buffer", None) => Ok(Self::Buffer),
            ("git", Some(rev)) => checked(rev, MOST_BYTES, is_revision).map(Self::Git),
            ("checkpoint", Some(id)) => checked(id, MOST_BYTES, is_id).map(Self::Checkpoint),
            ("artifact", Some(path)) => checked(path, MOST_PATH_BYTES, is_printable).map(Self::Artifact),
            ("patch", Some(id)) => checked(id, MOST_BYTES, is_printable).map(Self::Patch),
            ("git" | "checkpoint" | "artifact" | "patch", None) => Err(ReferenceRefused::Empty),
            (_, _) => Err(ReferenceRefused::UnknownWord),
        }
    }
}

fn checked(name: &str, most: usize, fits: fn(&str) -> bool) -> Result<String, ReferenceRefused> {
    if name.is_empty() {
        return Err(ReferenceRefused::Empty);
    }
    if name.len() > most {
        return Err(ReferenceRefused::TooLong);
    }
    if fits(name) { Ok(name.to_owned()) } else { Err(ReferenceRefused::BadName) }
}

/// A revision must not be read as an option (`-`), as a path in a tree or a search (`:`), as a range (`..`) or as a pattern
/// (git's own rules for names, `git-check-ref-format`, have the same characters). A search through the whole history
/// (`^{/text}`) is no name either.
fn is_revision(rev: &str) -> bool {
    !rev.starts_with('-')
        && !rev.contains("..")
        && !rev.contains("{/")
        && !rev
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || matches!(c, ':' | '?' | '*' | '[' | '\\'))
}

fn is_id(id: &str) -> bool {
    !id.starts_with('-')
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_printable(name: &str) -> bool {
    !name.chars().any(char::is_control)
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk => f.write_str("disk"),
            Self::Buffer => f.write_str("buffer"),
            Self::Git(rev) => write!(f, "git:{rev}"),
            Self::Checkpoint(id) => write!(f, "checkpoint:{id}"),
            Self::Artifact(path) => write!(f, "artifact:{path}"),
            Self::Patch(id) => write!(f, "patch:{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Reference, ReferenceRefused};

    #[test]
    fn r000_32_every_ref_is_read_and_said_again() {
        for (text, reference) in [
            ("disk", Reference::Disk),
            ("buffer", Reference::Buffer),
            ("git:HEAD~2", Reference::Git("HEAD~2".to_owned())),
            ("git:feature/ü@{1}", Reference::Git("feature/ü@{1}".to_owned())),
            ("checkpoint:ckpt-1", Reference::Checkpoint("ckpt-1".to_owned())),
            ("artifact:logs/a:b c.txt", Reference::Artifact("logs/a:b c.txt".to_owned())),
            ("patch:7f", Reference::Patch("7f".to_owned())),
        ] {
            assert_eq!(Reference::parse(text), Ok(reference.clone()), "{text}");
            assert_eq!(reference.to_string(), text);
        }
    }

    #[test]
    fn r000_32_36_what_is_no_ref_is_refused() {
        use ReferenceRefused::{BadName, Empty, TooLong, UnknownWord};
        for (text, why) in [
            ("", UnknownWord),
            ("HEAD", UnknownWord),
            ("Disk", UnknownWord),
            ("disk:a", UnknownWord),
            ("svn:1", UnknownWord),
            ("git", Empty),
            ("git:", Empty),
            ("patch:", Empty),
            ("git:--upload-pack=x", BadName),
            ("git:HEAD:secret", BadName),
            ("git::/fix", BadName),
            ("git:HEAD^{/fix}", BadName),
            ("git:a..b", BadName),
            ("git:a b", BadName),
            ("git:a\nb", BadName),
            ("checkpoint:../x", BadName),
            ("checkpoint:-x", BadName),
            ("artifact:a\0b", BadName),
            (&format!("git:{}", "a".repeat(256)), TooLong),
        ] {
            assert_eq!(Reference::parse(text), Err(why), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn r000_32_what_is_read_is_said_again(text in "(disk|buffer|git|checkpoint|artifact|patch)?:?[ -~é\n]{0,12}") {
            if let Ok(reference) = Reference::parse(&text) {
                prop_assert_eq!(reference.to_string(), text);
            }
        }
    }
}
