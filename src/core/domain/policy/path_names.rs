//! When two paths name the same file by the rules of a system alone: letters of either case, composed and taken apart, prefixes.
//!
//! Owns the rules, as values, so that those of every system are tested on each. Never looks at a disk: a volume may be stricter than
//! its system is by default, so what is the same here may be two files there; whoever grants something asks the disk as well.

/// How a system compares the names of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathNames {
    /// Linux: byte by byte.
    Exact,
    /// macOS (APFS and HFS+ as they are delivered): without case, in any normal form of Unicode; `/var`, `/tmp` and `/etc` are links
    /// into `/private`.
    MacOs,
    /// Windows: without case; both slashes; `\\?\` before a path means the same path.
    Windows,
}

impl PathNames {
    /// Those of the system that this program runs on.
    pub const fn here() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Exact
        }
    }

    /// A resolved path without the prefix that Windows gives it; `None` where there is none, or where without it another path would
    /// be meant: names that end with a dot or a space, and devices.
    pub fn plain(self, path: &str) -> Option<String> {
        if self != Self::Windows {
            return None;
        }
        let rest = path.strip_prefix(r"\\?\")?;
        let (plain, names) = match rest.get(..4) {
            Some(share) if share.eq_ignore_ascii_case(r"UNC\") => (format!(r"\\{}", &rest[4..]), &rest[4..]),
            _ if has_drive_root(rest) => (rest.to_owned(), &rest[3..]),
            _ => return None,
        };
        let is_plain = |name: &str| name.is_empty() || super::path_rules::means_itself_on_windows(name);
        names.split('\\').all(is_plain).then_some(plain)
    }

    /// The name of a file as a person would type it: on macOS, which finds it in any normal form and keeps the one that it was made
    /// with, composed. Elsewhere another form is another file.
    pub fn typed(self, name: String) -> String {
        use unicode_normalization::UnicodeNormalization;
        match self {
            Self::MacOs if !name.is_ascii() => name.nfc().collect(),
            Self::MacOs | Self::Exact | Self::Windows => name,
        }
    }

    /// Whether both name the same file.
    pub fn same(self, one: &str, other: &str) -> bool {
        one == other || (self != Self::Exact && self.parts(one) == self.parts(other))
    }

    /// What of an absolute path lies below an absolute folder, as it is spelled there; `None` where it is not below it. `Some("")`:
    /// it is the folder.
    pub fn below<'a>(self, folder: &str, path: &'a str) -> Option<&'a str> {
        let folder = self.parts(folder);
        let mut rest = self.without_prefix(path);
        for wanted in &folder {
            let (part, behind) = self.first(rest)?;
            if self.folded(part) != *wanted {
                return None;
            }
            rest = behind;
        }
        Some(rest.trim_start_matches(|c| self.separates(c)))
    }

    /// The names of a path, in the form in which they are compared.
    fn parts(self, path: &str) -> Vec<String> {
        let mut parts = Vec::new();
        let mut rest = self.without_prefix(path);
        while let Some((part, behind)) = self.first(rest) {
            parts.push(self.folded(part));
            rest = behind;
        }
        parts
    }

    /// The first name of a path that is more than `.`, and what stands behind it.
    fn first(self, path: &str) -> Option<(&str, &str)> {
        let path = path.trim_start_matches(|c| self.separates(c));
        let end = path.find(|c| self.separates(c)).unwrap_or(path.len());
        match path.split_at(end) {
            ("", _) => None,
            (".", rest) => self.first(rest),
            found => Some(found),
        }
    }

    fn separates(self, c: char) -> bool {
        c == '/' || (self == Self::Windows && c == '\\')
    }

    fn without_prefix(self, path: &str) -> &str {
        match self {
            Self::Exact => path,
            Self::MacOs => {
                let is_link = |rest: &str| {
                    self.first(rest).is_some_and(|(name, _)| ["var", "tmp", "etc"].contains(&name))
                };
                path.strip_prefix("/private")
                    .filter(|rest| rest.starts_with('/') && is_link(rest))
                    .unwrap_or(path)
            }
            Self::Windows => {
                let Some(rest) = path.strip_prefix(r"\\?\").or_else(|| path.strip_prefix("//?/")) else {
                    return path;
                };
                match rest.get(..4) {
                    Some(share)
                        if share.eq_ignore_ascii_case(r"UNC\") || share.eq_ignore_ascii_case("UNC/") =>
                    {
                        &rest[4..]
                    }
                    _ => rest,
                }
            }
        }
    }

    fn folded(self, name: &str) -> String {
        match self {
            Self::Exact => name.to_owned(),
            Self::MacOs => folded_by_macos(name),
            Self::Windows => name.chars().map(capital_of_windows).collect(),
        }
    }
}

/// No letter beyond ASCII is the same as one within it there.
fn capital_of_windows(c: char) -> char {
    one(c.to_uppercase()).filter(|capital| c.is_ascii() || !capital.is_ascii()).unwrap_or(c)
}

/// Without case, in one normal form, and without the characters that HFS+ ignores: `.GIT` and `.g\u{200c}it` are both `.git`. What it
/// takes for the same is the most that any system does.
pub(super) fn folded_by_macos(name: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let is_ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    // By way of the capital, which some small letters (`ſ`, `ς`) have in common with others; letter by letter, so that `ß` stays one.
    let capital = |c: char| one(c.to_uppercase()).unwrap_or(c);
    let small = |c: char| one(c.to_lowercase()).unwrap_or(c);
    name.nfd().filter(|c| !is_ignored(c)).map(|c| small(capital(c))).nfc().collect()
}

/// The only character of a mapping.
fn one(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next();
    if mapped.next().is_some() { None } else { first }
}

fn has_drive_root(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == br":\"
}

#[cfg(test)]
mod tests {
    use super::PathNames::{Exact, MacOs, Windows};

    #[test]
    fn the_prefix_of_windows_is_taken_away_where_the_path_means_the_same_without_it() {
        for (given, plain) in [
            (r"\\?\C:\Users\me\a.txt", Some(r"C:\Users\me\a.txt")),
            (r"\\?\c:\", Some(r"c:\")),
            (r"\\?\UNC\server\share\x", Some(r"\\server\share\x")),
            (r"C:\x", None),
            (r"\\server\share", None),
            (r"\\?\C:\dir.\x", None),
            (r"\\?\C:\x\nul.txt", None),
            (r"\\?\Volume{6a}\x", None),
            (r"\\?\GLOBALROOT\Device", None),
            (r"\\?\C:", None),
        ] {
            assert_eq!(Windows.plain(given).as_deref(), plain, "{given}");
            assert_eq!(MacOs.plain(given).or(Exact.plain(given)), None);
        }
    }

    #[test]
    fn names_are_the_same_by_the_rules_of_each_system() {
        // (one, other, on Linux, on macOS, on Windows)
        for (one, other, exact, macos, windows) in [
            ("/a/b", "/a/b", true, true, true),
            ("/a/b", "/a/./b/", false, true, true),
            ("/a/B", "/A/b", false, true, true),
            ("/a/Größe", "/a/gro\u{308}ße", false, true, false),
            ("/a/\u{e9}", "/a/e\u{301}", false, true, false),
            ("/a/\u{c9}", "/a/\u{e9}", false, true, true),
            ("/a/.\u{17f}sh", "/a/.ssh", false, true, false),
            ("/a/.g\u{200c}it", "/a/.git", false, true, false),
            ("/a/straße", "/a/STRASSE", false, false, false),
            ("/private/tmp/x", "/tmp/x", false, true, false),
            ("/private/other/x", "/other/x", false, false, false),
            (r"C:\ws\a", "c:/WS/a", false, false, true),
            (r"\\?\C:\ws\a", r"c:\ws\A", false, false, true),
            (r"\\?\UNC\s\sh\a", r"\\S\SH\A", false, false, true),
            ("/a/b", "/a/bc", false, false, false),
        ] {
            let found = (Exact.same(one, other), MacOs.same(one, other), Windows.same(one, other));
            assert_eq!(found, (exact, macos, windows), "{one} {other}");
            assert_eq!(MacOs.same(one, other), MacOs.same(other, one));
        }
    }

    #[test]
    fn a_name_that_was_taken_apart_is_composed_where_both_find_the_file() {
        let apart = "Gro\u{308}ße.rs";
        assert_eq!(MacOs.typed(apart.to_owned()), "Größe.rs");
        assert_eq!(
            (Exact.typed(apart.to_owned()), Windows.typed(apart.to_owned())),
            (apart.into(), apart.into())
        );
    }

    #[test]
    fn what_lies_below_a_folder_is_told_as_it_is_spelled_and_only_by_whole_names() {
        for (names, folder, path, rest) in [
            (Windows, r"C:\ws", r"c:\WS\Src\a.txt", Some(r"Src\a.txt")),
            (Windows, r"C:\ws", r"\\?\C:\ws\a", Some("a")),
            (Windows, r"C:\ws", "C:/ws", Some("")),
            (Windows, r"C:\ws", r"C:\ws-evil\a", None),
            (Windows, r"C:\ws", r"D:\ws\a", None),
            (Windows, r"\\s\share", r"\\?\UNC\S\share\a", Some("a")),
            (MacOs, "/Users/me/ws", "/users/ME/Ws/A", Some("A")),
            (MacOs, "/private/tmp/ws", "/tmp/ws/a", Some("a")),
            (MacOs, "/tmp/ws", "/private/tmp/ws/a", Some("a")),
            (MacOs, "/tmp/ws", "/tmp/ws2/a", None),
            (Exact, "/ws", "/ws/a/b", Some("a/b")),
            (Exact, "/ws", "/WS/a", None),
            (Exact, "/ws", "/", None),
        ] {
            assert_eq!(names.below(folder, path), rest, "{folder} {path}");
        }
    }
}
