//! The lines that git writes above the hunks of a file: renames, modes, new and deleted files, binary ones.
//!
//! Owns their spelling, and that of quoted paths. Never believes a path: whoever uses one confines it.

/// What the lines above the hunks of a file say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitHeader {
    /// What happens to the file beside its text.
    pub change: HeaderChange,
    /// Its mode before, as git writes it, where that changes.
    pub old_mode: Option<String>,
    /// Its mode after, where that changes or the file is new.
    pub new_mode: Option<String>,
    /// It is no text, so there are no hunks of it.
    pub is_binary: bool,
}

/// What happens to a file beside its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeaderChange {
    /// Nothing was said.
    #[default]
    Unsaid,
    /// It is new.
    New,
    /// It goes.
    Deleted,
    /// It gets another path.
    Renamed,
    /// It is made from another, which stays.
    Copied,
}

/// What one line above the hunks said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// Something of the file that is no path.
    Header,
    /// The path before.
    OldPath(String),
    /// The path after.
    NewPath(String),
    /// Nothing that is known.
    Nothing,
}

impl GitHeader {
    /// Whether it says something that stands without hunks.
    pub(super) fn says_something(&self) -> bool {
        self.change != HeaderChange::Unsaid || self.new_mode.is_some() || self.is_binary
    }

    /// Reads a line above the hunks.
    pub(super) fn read(&mut self, line: &str) -> Told {
        let line = line.trim_end_matches(['\n', '\r']);
        let mode = |rest: &str| Some(rest.trim().to_owned()).filter(|mode| is_mode(mode));
        if let Some(rest) = line.strip_prefix("old mode ") {
            self.old_mode = mode(rest);
        } else if let Some(rest) = line.strip_prefix("new mode ") {
            self.new_mode = mode(rest);
        } else if let Some(rest) = line.strip_prefix("new file mode ") {
            (self.change, self.new_mode) = (HeaderChange::New, mode(rest));
        } else if let Some(rest) = line.strip_prefix("deleted file mode ") {
            (self.change, self.old_mode) = (HeaderChange::Deleted, mode(rest));
        } else if let Some(rest) = line.strip_prefix("rename from ") {
            self.change = HeaderChange::Renamed;
            return Told::OldPath(unquoted(rest));
        } else if let Some(rest) = line.strip_prefix("rename to ") {
            self.change = HeaderChange::Renamed;
            return Told::NewPath(unquoted(rest));
        } else if let Some(rest) = line.strip_prefix("copy from ") {
            self.change = HeaderChange::Copied;
            return Told::OldPath(unquoted(rest));
        } else if let Some(rest) = line.strip_prefix("copy to ") {
            self.change = HeaderChange::Copied;
            return Told::NewPath(unquoted(rest));
        } else if line == "GIT binary patch"
            || (line.starts_with("Binary files ") && line.ends_with(" differ"))
        {
            self.is_binary = true;
        } else {
            return Told::Nothing;
        }
        Told::Header
    }
}

fn is_mode(text: &str) -> bool {
    text.len() == 6 && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'))
}

/// The two paths of a line `diff --git a/x b/y`. Where a path has spaces the line can be read in several ways; then only the one
/// counts in which both are the same. `None`: it cannot be told, and other lines have to say it.
pub(super) fn paths_of(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("diff --git ")?.trim_end_matches(['\n', '\r']);
    let without = |text: &str, side: &str| text.strip_prefix(side).unwrap_or(text).to_owned();
    if rest.starts_with('"') {
        let end = end_of_quoted(rest)?;
        let second = rest.get(end..)?.strip_prefix(' ')?;
        return Some((without(&unquoted(&rest[..end]), "a/"), without(&unquoted(second), "b/")));
    }
    let same =
        rest.match_indices(' ').map(|(at, _)| (&rest[..at], &rest[at + 1..])).find(|(old, new)| {
            match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
                (Some(old), Some(new)) => old == new,
                (_, _) => old == new,
            }
        });
    let only = || rest.split_once(' ').filter(|(_, new)| !new.contains(' '));
    let (old, new) = same.or_else(only)?;
    Some((without(&unquoted(old), "a/"), without(&unquoted(new), "b/")))
}

/// Where the quoted text at the beginning ends.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// A path as it is, where git wrote it between quotes with its escapes.
pub(super) fn unquoted(text: &str) -> String {
    let Some(inside) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return text.to_owned();
    };
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 11,
            Some(b'f') => 12,
            Some(b'r') => b'\r',
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next) = rest.next_if(|next| matches!(next, b'0'..=b'7')) else { break };
                    value = value * 8 + u32::from(next - b'0');
                }
                // An escape of three digits can say more than a byte has; such a path is not one that git wrote.
                u8::try_from(value).unwrap_or(b'?')
            }
            Some(other) => other,
            None => b'\\',
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r002_78_paths_of_git_are_read_with_spaces_quotes_and_escapes() {
        let paths = |line: &str| paths_of(line);
        let same = |path: &str| Some((path.to_owned(), path.to_owned()));
        assert_eq!(paths("diff --git a/x.rs b/x.rs\n"), same("x.rs"));
        assert_eq!(paths("diff --git a/with space b/with space"), same("with space"));
        assert_eq!(paths("diff --git a/x b/y"), Some(("x".to_owned(), "y".to_owned())));
        assert_eq!(paths("diff --git a/one two b/three four"), None);
        assert_eq!(
            paths("diff --git \"a/\\303\\244 \\\"q\\\"\" \"b/\\303\\244 \\\"q\\\"\""),
            same("ä \"q\"")
        );
        assert_eq!(paths("diff --git \"a/open b/open"), None);
        assert_eq!(unquoted("\"tab\\there\\\\\""), "tab\there\\");
        assert_eq!(unquoted("\"\\777\""), "?");
        assert_eq!(unquoted("plain"), "plain");
    }

    #[test]
    fn what_is_no_mode_is_not_taken_for_one() {
        let mut header = GitHeader::default();
        assert_eq!(header.read("new mode 100755\n"), Told::Header);
        assert_eq!(header.new_mode.as_deref(), Some("100755"));
        header.read("new mode evil; rm\n");
        assert_eq!(header.new_mode, None);
        assert!(!GitHeader::default().says_something());
    }
}
