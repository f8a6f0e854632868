//! What a question without a model can mean.
//!
//! Owns the few forms that are understood. Everything else is a search.

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    /// "replace X with Y in Z", "rename X to Y in Z".
    Replace(Replacement),
    /// "list files in X".
    List {
        /// Folder; empty for the root.
        path: String,
    },
    /// "explain X", "what is X".
    Explain {
        /// A file or a symbol.
        what: String,
    },
    /// "what does this project do?"
    Overview,
    /// "delete X", "fix X", "run X": something to be done that takes a model.
    Act,
    /// Anything else.
    Find,
}

/// A wished replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    /// What is there.
    pub from: String,
    /// What comes instead.
    pub to: String,
    /// In which file.
    pub path: String,
    /// Only whole words: a name is renamed, not a part of another name.
    pub whole_words: bool,
}

/// Reads a question.
pub(super) fn read(question: &str) -> Intent {
    let text = question.trim();
    let text = strip_word(text, "please").unwrap_or(text);
    if let Some(rest) = strip_word(text, "replace")
        && let Some(wish) = replacement(rest, "with", false)
    {
        return Intent::Replace(wish);
    }
    if let Some(rest) = strip_word(text, "rename")
        && let Some(wish) = replacement(rest, "to", true)
    {
        return Intent::Replace(wish);
    }
    for start in ["list the files", "list all files", "list files", "list the folder", "ls"] {
        if let Some(rest) = strip_word(text, start) {
            let rest = ["in", "of", "under"].iter().find_map(|word| strip_word(rest, word)).unwrap_or(rest);
            return Intent::List {
                path: bare(rest).trim_start_matches("./").trim_end_matches('/').to_owned(),
            };
        }
    }
    if is_overview(text) {
        return Intent::Overview;
    }
    for start in ["explain", "describe", "outline", "what is", "what's", "what does"] {
        if let Some(rest) = strip_word(text, start) {
            let rest = bare(rest);
            let rest = rest.strip_suffix(" do").unwrap_or(rest);
            let rest = ["the", "a", "an"].iter().find_map(|word| strip_word(rest, word)).unwrap_or(rest);
            let rest = ["function", "struct", "class", "enum", "trait", "module", "file", "method", "type"]
                .iter()
                .find_map(|word| strip_word(rest, word))
                .unwrap_or(rest);
            let what = bare(rest);
            // Several words are a question about something, not a name.
            if !what.is_empty() && !what.contains(char::is_whitespace) {
                return Intent::Explain { what: what.to_owned() };
            }
        }
    }
    match ACTIONS.iter().any(|verb| strip_word(text, verb).is_some_and(|rest| !rest.is_empty())) {
        true => Intent::Act,
        false => Intent::Find,
    }
}

/// "what is this?", "what does this project do?", "explain this repository", "what is the project about?"
fn is_overview(text: &str) -> bool {
    let lower = bare(text).to_lowercase();
    let mut words: Vec<&str> = lower.split_whitespace().collect();
    if matches!(words.last(), Some(&"do" | &"about")) {
        words.pop();
    }
    let [start @ .., last] = words.as_slice() else { return false };
    let about_all =
        ["this", "project", "repository", "repo", "codebase", "code", "crate", "package", "workspace"];
    let start = match start {
        [start @ .., "this" | "the"] if *last != "this" => start,
        [..] if *last == "this" => start,
        [..] => return false,
    };
    about_all.contains(last)
        && matches!(
            start,
            ["what", "is" | "does"] | ["what's" | "explain" | "describe" | "summarize" | "summarise"]
        )
}

/// First words of a wish for a change. Only at the start: "where do we delete files" is a question.
const ACTIONS: [&str; 22] = [
    "add",
    "change",
    "commit",
    "create",
    "delete",
    "edit",
    "execute",
    "fix",
    "generate",
    "implement",
    "install",
    "make",
    "modify",
    "move",
    "refactor",
    "remove",
    "rename",
    "replace",
    "rewrite",
    "run",
    "update",
    "write",
];

/// What follows a word (or words) at the start, whatever its case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    let rest = &text[word.len()..];
    (head.eq_ignore_ascii_case(word) && (rest.is_empty() || rest.starts_with(char::is_whitespace)))
        .then(|| rest.trim_start())
}

fn replacement(text: &str, between: &str, whole_words: bool) -> Option<Replacement> {
    let (from, rest) = term(text, between, Search::First)?;
    let (to, rest) = term(rest, "in", Search::Last)?;
    let path = bare(rest).trim_start_matches("./");
    (!from.is_empty() && !path.is_empty() && !path.contains(char::is_whitespace)).then(|| Replacement {
        from,
        to,
        path: path.to_owned(),
        whole_words,
    })
}

#[derive(Clone, Copy)]
enum Search {
    First,
    Last,
}

/// One term and what follows the word after it. A quoted term ends at its quote, another at the word.
fn term<'a>(text: &'a str, word: &str, search: Search) -> Option<(String, &'a str)> {
    let text = text.trim_start();
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) {
        for (end, _) in text.char_indices().skip(1).filter(|(_, c)| *c == quote) {
            // The quote that ends the term is the one before the word; the term may hold others.
            if let Some(rest) = strip_word(text[end + 1..].trim_start(), word) {
                return Some((text[1..end].to_owned(), rest));
            }
        }
    }
    // ASCII lower case keeps every byte offset.
    let lower = text.to_ascii_lowercase();
    let mark = format!(" {word} ");
    let at = match search {
        Search::First => lower.find(&mark),
        Search::Last => lower.rfind(&mark),
    }?;
    Some((text[..at].trim().to_owned(), &text[at + mark.len()..]))
}

/// A term without quotes and without the sentence's end.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_suffix(['?', '!', '.']).unwrap_or(text).trim_end();
    let quoted = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    match quoted {
        Some(quote) if text.len() > 1 && text.ends_with(quote) => text[1..text.len() - 1].trim(),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(from: &str, to: &str, path: &str, whole_words: bool) -> Intent {
        Intent::Replace(Replacement {
            from: from.to_owned(),
            to: to.to_owned(),
            path: path.to_owned(),
            whole_words,
        })
    }

    fn explain(what: &str) -> Intent {
        Intent::Explain { what: what.to_owned() }
    }

    fn list(path: &str) -> Intent {
        Intent::List { path: path.to_owned() }
    }

    #[test]
    fn the_forms_are_understood() {
        let cases = [
            ("replace foo with bar in src/a.rs", replace("foo", "bar", "src/a.rs", false)),
            ("Please replace `a b` with \"c in d\" in './x.txt'.", replace("a b", "c in d", "x.txt", false)),
            ("replace 'it's' with 'its' in a.md", replace("it's", "its", "a.md", false)),
            ("replace \"old\" with \"\" in a.md", replace("old", "", "a.md", false)),
            ("rename Foo to Bar in src/lib.rs", replace("Foo", "Bar", "src/lib.rs", true)),
            ("replace x with y", Intent::Act),
            ("What does this project do?", Intent::Overview),
            ("what is this repo about?", Intent::Overview),
            ("what is this", Intent::Overview),
            ("Explain the codebase.", Intent::Overview),
            ("what is the overlay?", explain("overlay")),
            ("what does this test do?", Intent::Find),
            ("please delete src/main.rs", Intent::Act),
            ("where do we delete files?", Intent::Find),
            ("run", Intent::Find),
            ("list files in src/host", list("src/host")),
            ("List the files", list("")),
            ("ls ./src/", list("src")),
            ("explain src/main.rs", explain("src/main.rs")),
            ("what is `Overlay`?", explain("Overlay")),
            ("What does the function parse do?", explain("parse")),
            ("explain how redirects are refused", Intent::Find),
            ("where is the journal opened?", Intent::Find),
            ("listing bugs", Intent::Find),
        ];
        for (question, expected) in cases {
            assert_eq!(read(question), expected, "{question}");
        }
    }
}
