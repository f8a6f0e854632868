//! Places in files (`src/lib.rs:8`) of an answer on a terminal, as links that open there (OSC 8).
//!
//! Owns which words are a place: those that name a file within the workspace that is there, with a line behind it. Never
//! changes what is read on the screen, and never follows a path out of the workspace.

use std::path::{Component, Path, PathBuf};

use url::Url;

use crate::platform::real_path;

/// Longest path that is looked for, in bytes.
const LONGEST: usize = 512;

/// The workspace whose files are linked.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Places {
    /// Its real path; `None` where nothing is linked.
    root: Option<PathBuf>,
}

impl Places {
    /// Links files below `root`.
    pub(in crate::cli) fn within(root: &Path) -> Self {
        Self { root: real_path(root).ok() }
    }

    /// The drawn text with its places as links. Colours in it stay where they are.
    pub(super) fn linked(&self, drawn: String) -> String {
        let Some(root) = &self.root else { return drawn };
        if !drawn.contains(':') {
            return drawn;
        }
        let mut linked = String::with_capacity(drawn.len());
        let mut rest = drawn.as_str();
        while !rest.is_empty() {
            let (word, behind) = rest.split_at(word_end(rest));
            match place(root, word) {
                Some((at, url)) => {
                    let (before, named) = word.split_at(at.start);
                    let (named, after) = named.split_at(at.end - at.start);
                    linked.push_str(&format!("{before}\x1b]8;;{url}\x1b\\{named}\x1b]8;;\x1b\\{after}"));
                }
                None => linked.push_str(word),
            }
            let (between, next) = behind.split_at(gap_end(behind));
            linked.push_str(between);
            rest = next;
        }
        linked
    }
}

/// Where a word ends: at white space or at a colour.
fn word_end(text: &str) -> usize {
    text.find(|letter: char| letter.is_whitespace() || letter == '\x1b').unwrap_or(text.len())
}

/// Where the white space and the one colour before the next word end.
fn gap_end(text: &str) -> usize {
    if text.starts_with('\x1b') {
        return text.find('m').map_or(text.len(), |at| at + 1);
    }
    text.find(|letter: char| !letter.is_whitespace()).unwrap_or(text.len())
}

/// The part of a word that names a place, and where that leads. The line is the fragment of the URL, as terminals read it.
fn place(root: &Path, word: &str) -> Option<(std::ops::Range<usize>, Url)> {
    let start = word.len() - word.trim_start_matches(['(', '[', '{', '"', '\'', '`', '<', '*']).len();
    let named = word.get(start..)?;
    let colon = named.find(':')?;
    let (path, numbers) = (named.get(..colon)?, named.get(colon + 1..)?);
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let line = digits(numbers);
    if path.is_empty() || path.len() > LONGEST || line == 0 || line > 9 {
        return None;
    }
    let mut end = line;
    if let Some(column) = numbers.get(line..).and_then(|rest| rest.strip_prefix([':', '-'])) {
        end += match digits(column) {
            0 => 0,
            more => more + 1,
        };
    }
    // What goes on with letters is something else, such as a scheme.
    if numbers.get(end..)?.starts_with(|letter: char| letter.is_alphanumeric()) {
        return None;
    }
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return None;
    }
    let file = real_path(&root.join(relative)).ok()?;
    if !file.starts_with(root) || !file.is_file() {
        return None;
    }
    let mut url = Url::from_file_path(&file).ok()?;
    url.set_fragment(numbers.get(..line));
    Some((start..start + colon + 1 + end, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, Places) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::write(root.join("src/my_lib.rs"), "").unwrap();
        let places = Places::within(place.path());
        (place, places)
    }

    #[test]
    fn a_file_that_is_there_with_a_line_is_a_link_and_nothing_else_is() {
        let (place, places) = workspace();
        let url = Url::from_file_path(place.path().canonicalize().unwrap().join("src/my_lib.rs")).unwrap();
        let link = |line: u32, text: &str| format!("\x1b]8;;{url}#{line}\x1b\\{text}\x1b]8;;\x1b\\");
        for (said, wanted) in [
            ("see src/my_lib.rs:8.\n", format!("see {}.\n", link(8, "src/my_lib.rs:8"))),
            ("(src/my_lib.rs:8:3), so", format!("({}), so", link(8, "src/my_lib.rs:8:3"))),
            ("src/my_lib.rs:8-12", link(8, "src/my_lib.rs:8-12")),
            ("./src/my_lib.rs:8:", format!("{}:", link(8, "./src/my_lib.rs:8"))),
            ("\x1b[36msrc/my_lib.rs:8\x1b[0m", format!("\x1b[36m{}\x1b[0m", link(8, "src/my_lib.rs:8"))),
        ] {
            assert_eq!(places.linked(said.to_owned()), wanted, "{said:?}");
        }
        for plain in [
            "src/my_lib.rs",
            "src/my_lib.rs:",
            "src/other.rs:8",
            "src:8",
            "src/../src/my_lib.rs:8",
            "/etc/passwd:1",
            "https://host:80/src",
            "src/my_lib.rs:8px",
            "src/my_lib.rs:1234567890",
            "12:30",
            ":8",
        ] {
            assert_eq!(places.linked(plain.to_owned()), plain);
        }
        assert_eq!(Places::default().linked("src/my_lib.rs:8".to_owned()), "src/my_lib.rs:8");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_workspace_is_no_place_in_it() {
        let (place, places) = workspace();
        std::os::unix::fs::symlink("/etc/hosts", place.path().join("hosts")).unwrap();
        assert_eq!(places.linked("hosts:1".to_owned()), "hosts:1");
    }
}
