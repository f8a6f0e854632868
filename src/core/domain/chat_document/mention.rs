//! What the user begins to type in a prompt: a command of the engine, or the path of a file.
//!
//! Owns which characters begin one, and which paths fit best. Never reads a directory, and never says what a mention means.

/// What is typed just before the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mention<'a> {
    /// `/word` at the beginning of a prompt.
    Command {
        /// Byte of the `/` in the line.
        start: usize,
        /// What follows it.
        typed: &'a str,
    },
    /// `@path` at the beginning of a word.
    Path {
        /// Byte of the `@` in the line.
        start: usize,
        /// What follows it.
        typed: &'a str,
    },
}

/// Reads the line up to the cursor. `begins` says whether nothing of the prompt stands above it.
pub fn mention_at(line: &str, begins: bool) -> Option<Mention<'_>> {
    let blank = line.char_indices().rev().find(|(_, c)| c.is_whitespace());
    let start = blank.map_or(0, |(at, c)| at + c.len_utf8());
    let word = &line[start..];
    if let Some(typed) = word.strip_prefix('@') {
        return Some(Mention::Path { start, typed });
    }
    let typed = word.strip_prefix('/')?;
    (begins && line[..start].trim().is_empty()).then_some(Mention::Command { start, typed })
}

/// Letters of a name before it is looked for: one is in everything.
const NAME: usize = 2;

/// The name of a definition that what is typed behind `@` may begin: `symbol:Door`, `#Door`, or a name alone. A path is none.
pub fn symbol_typed(typed: &str) -> Option<&str> {
    let name = typed.strip_prefix("symbol:").or_else(|| typed.strip_prefix('#'));
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$');
    match name {
        Some(name) => Some(name).filter(|name| !name.is_empty()),
        None => Some(typed).filter(|name| name.chars().count() >= NAME && name.chars().all(is_name)),
    }
}

/// The paths that fit best what was typed, best first: its characters occur in them in this order.
pub fn best_paths<'a>(paths: &'a [String], typed: &str, most: usize) -> Vec<&'a str> {
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    let mut found: Vec<(i64, &str)> =
        paths.iter().filter_map(|path| Some((fit(path, &typed)?, path.as_str()))).collect();
    found.sort_by(|(a, path), (b, other)| {
        b.cmp(a).then_with(|| path.len().cmp(&other.len())).then_with(|| path.cmp(other))
    });
    found.truncate(most);
    found.into_iter().map(|(_, path)| path).collect()
}

/// How well a path fits; `None`: not at all. Characters in a row count most, then those that begin a word, and the name of the
/// file more than its folders.
fn fit(path: &str, typed: &[char]) -> Option<i64> {
    let name = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    // The name first: what fits there fits best.
    let in_name = || fit_from(path, name, typed).map(|score| score + 8);
    in_name().or_else(|| fit_from(path, 0, typed))
}

fn fit_from(path: &str, from: usize, typed: &[char]) -> Option<i64> {
    let mut wanted = typed.iter();
    let mut next = wanted.next();
    let (mut score, mut row) = (0_i64, 0_i64);
    let mut before = path[..from].chars().next_back();
    for c in path[from..].chars() {
        let Some(want) = next else { break };
        if c.to_lowercase().eq(std::iter::once(*want)) {
            let begins = before.is_none_or(|before| {
                !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase())
            });
            row += 1;
            score += 1 + 2 * (row - 1) + if begins { 3 } else { 0 };
            next = wanted.next();
        } else {
            row = 0;
        }
        before = Some(c);
    }
    next.is_none().then_some(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_begins_a_prompt_and_a_path_begins_a_word() {
        for (line, begins, mention) in [
            ("/co", true, Some(Mention::Command { start: 0, typed: "co" })),
            ("  /", true, Some(Mention::Command { start: 2, typed: "" })),
            ("/co", false, None),
            ("see a/b", true, None),
            ("see @src/li", false, Some(Mention::Path { start: 4, typed: "src/li" })),
            ("ü @", true, Some(Mention::Path { start: 3, typed: "" })),
            ("mail a@b", true, None),
            ("", true, None),
            ("/compact now", true, None),
        ] {
            assert_eq!(mention_at(line, begins), mention, "{line:?}");
        }
    }

    #[test]
    fn a_name_may_be_that_of_a_definition_and_a_path_is_not() {
        for (typed, name) in [
            ("Do", Some("Do")),
            ("Door::op", Some("Door::op")),
            ("symbol:D", Some("D")),
            ("#D", Some("D")),
            ("symbol:", None),
            ("D", None),
            ("", None),
            ("src/do", None),
            ("do.rs", None),
        ] {
            assert_eq!(symbol_typed(typed), name, "{typed:?}");
        }
    }

    #[test]
    fn the_name_of_a_file_counts_more_than_its_folders_and_a_row_more_than_letters_apart() {
        let paths: Vec<String> =
            ["src/editor/server.rs", "src/app/saves.rs", "server/README.md", "src/domain/view/reducer.rs"]
                .map(str::to_owned)
                .into();
        assert_eq!(best_paths(&paths, "server", 9), ["src/editor/server.rs", "server/README.md"]);
        assert_eq!(best_paths(&paths, "SAV", 9)[0], "src/app/saves.rs");
        assert_eq!(best_paths(&paths, "edserv", 9), ["src/editor/server.rs"]);
        assert_eq!(best_paths(&paths, "", 2), ["server/README.md", "src/app/saves.rs"]);
        assert_eq!(best_paths(&paths, "zzz", 9), Vec::<&str>::new());
    }
}
