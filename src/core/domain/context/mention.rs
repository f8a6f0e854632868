//! What a prompt names with `@`: a file, a folder, a symbol, problems. The same in every client, since it is plain text.
//!
//! `@src/a.rs`, `@src/a.rs:10-20`, `@"with blanks.md"`, `@src/`, `@symbol:Door::open`, `@problems`, `@selection`, `@terminal`,
//! `@diff`, `@git`, `@docs:memo://one` (a resource of the tool server `docs`). A mention stands at the start of a word; in backquotes nothing is one. Owns this syntax; never resolves it.

use super::kind::ContextKind;
use crate::domain::mcp::is_server_name;

/// One mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptMention {
    /// A file or a folder, as it was typed.
    Path {
        /// Without lines.
        path: String,
        /// First and last line, from 1.
        lines: Option<(u64, u64)>,
    },
    /// A symbol by name.
    Symbol(String),
    /// A resource of a tool server.
    Resource {
        /// The server.
        server: String,
        /// Its address there.
        uri: String,
    },
    /// Something that needs no name.
    Kind(ContextKind),
}

/// The words that need no name.
const WORDS: [(&str, ContextKind); 8] = [
    ("problems", ContextKind::Diagnostics),
    ("diagnostics", ContextKind::Diagnostics),
    ("selection", ContextKind::Selection),
    ("file", ContextKind::ActiveEditor),
    ("terminal", ContextKind::Terminal),
    ("diff", ContextKind::Diff),
    ("git", ContextKind::Git),
    ("open", ContextKind::OpenEditors),
];

impl PromptMention {
    /// Reads one, with its `@` or without.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix('@').unwrap_or(text).trim();
        if let Some(name) = text.strip_prefix("symbol:").or_else(|| text.strip_prefix('#')) {
            return (!name.is_empty()).then(|| Self::Symbol(name.to_owned()));
        }
        if let Some((_, kind)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Some(Self::Kind(*kind));
        }
        if let Some((server, uri)) = resource(text.trim_matches('"')) {
            return Some(Self::Resource { server: server.to_owned(), uri: uri.to_owned() });
        }
        let path = text.strip_prefix("file:").or_else(|| text.strip_prefix("folder:")).unwrap_or(text);
        let path = path.trim_matches('"');
        let (path, lines) = with_lines(path);
        // A URI of another scheme, and a bare `@name` of a person, are no path; whether there is such a file is looked at later.
        (!path.is_empty() && !path.contains("://")).then(|| Self::Path { path: path.to_owned(), lines })
    }

    /// The kind, of one that needs no name.
    pub fn kind(&self) -> Option<ContextKind> {
        match self {
            Self::Kind(kind) => Some(*kind),
            Self::Path { .. } | Self::Symbol(_) | Self::Resource { .. } => None,
        }
    }
}

/// A tool server and the address of one of its resources: `docs:memo://one`.
fn resource(text: &str) -> Option<(&str, &str)> {
    let (server, uri) = text.split_once(':')?;
    let (scheme, rest) = uri.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    (is_server_name(server) && is_scheme && !rest.is_empty()).then_some((server, uri))
}

/// A path, and the lines behind it: `:10`, `:10-20`.
fn with_lines(text: &str) -> (&str, Option<(u64, u64)>) {
    let Some((path, lines)) = text.rsplit_once(':') else { return (text, None) };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.trim_start_matches('L').parse::<u64>().ok().filter(|line| *line > 0);
    match (number(first), number(last)) {
        (Some(first), Some(last)) if last >= first && !path.is_empty() => (path, Some((first, last))),
        (_, _) => (text, None),
    }
}

/// Every mention of a prompt, once each, in order.
pub fn mentions(text: &str) -> Vec<PromptMention> {
    let mut found: Vec<PromptMention> = Vec::new();
    let mut in_fence = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            continue;
        }
        if !in_fence {
            in_line(line, &mut found);
        }
    }
    found
}

fn in_line(line: &str, found: &mut Vec<PromptMention>) {
    let mut in_code = false;
    let mut before = ' ';
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        if character == '`' {
            in_code = !in_code;
        }
        if character == '@' && !in_code && (before.is_whitespace() || matches!(before, '(' | '[' | ',' | ';'))
        {
            let word = word_of(after);
            if let Some(mention) = PromptMention::read(word).filter(|mention| !found.contains(mention)) {
                found.push(mention);
            }
            before = word.chars().next_back().unwrap_or('@');
            rest = &after[word.len()..];
            continue;
        }
        before = character;
        rest = after;
    }
}

/// The word behind an `@`: up to white space, without what ends a sentence; in quotes up to their end.
fn word_of(text: &str) -> &str {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.find('"').map_or("", |end| &text[..end + 2]);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(path: &str, lines: Option<(u64, u64)>) -> PromptMention {
        PromptMention::Path { path: path.to_owned(), lines }
    }

    #[test]
    fn r002_39_40_files_folders_symbols_and_problems_are_named() {
        let text = "Compare @src/a.rs:10-20 with (@\"my notes.md\"), see @src/ and @symbol:Door::open. Why @problems?\n\
                    @b.rs:7, again @b.rs:7";
        assert_eq!(
            mentions(text),
            [
                path("src/a.rs", Some((10, 20))),
                path("my notes.md", None),
                path("src/", None),
                PromptMention::Symbol("Door::open".to_owned()),
                PromptMention::Kind(ContextKind::Diagnostics),
                path("b.rs", Some((7, 7))),
            ]
        );
    }

    #[test]
    fn a_resource_is_named_by_its_server_and_its_address() {
        let resource = |server: &str, uri: &str| {
            vec![PromptMention::Resource { server: server.to_owned(), uri: uri.to_owned() }]
        };
        assert_eq!(mentions("see @docs:memo://one, please"), resource("docs", "memo://one"));
        assert_eq!(mentions("@\"my-docs:file:///a b.md\""), resource("my-docs", "file:///a b.md"));
        for text in ["@https://a.b/c", "@docs:one", "@docs:://x", "@docs:memo://"] {
            assert!(
                !mentions(text).iter().any(|mention| matches!(mention, PromptMention::Resource { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn an_address_code_and_a_lone_sign_are_no_mentions() {
        for text in ["a@b.c", "`@a.rs`", "```\n@a.rs\n```", "@", "@ a", "@\"open", "@https://a.b/c"] {
            assert_eq!(mentions(text), [], "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in r#"([@"`:\-a1é \n./#]|symbol:){0,40}"#) {
            let found = mentions(&text);
            prop_assert!(found.len() <= text.matches('@').count());
        }
    }
}
