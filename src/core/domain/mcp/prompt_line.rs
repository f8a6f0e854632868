//! A prompt that begins with a command of a server: `/server:prompt`, and what is written behind it.
//!
//! Owns how the words become arguments: `name=value` by name, the others in order, and the last argument takes what is left.
//! A value with blanks stands in double quotes.

use std::collections::BTreeMap;

use super::offer::McpPrompt;

/// A prompt of a server that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptCall {
    /// The server.
    pub server: String,
    /// Its prompt.
    pub prompt: String,
    /// The arguments, or a sentence about what is wrong with them.
    pub arguments: Result<BTreeMap<String, String>, String>,
}

/// The server and the prompt that a text begins with the command of.
pub fn prompt_named(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let command = rest.split(char::is_whitespace).next()?;
    command.split_once(':')
}

/// The call of this prompt that a text is, which begins with its command.
pub fn prompt_call(text: &str, prompt: &McpPrompt) -> Option<PromptCall> {
    let (server, name) = prompt_named(text)?;
    let rest = text.trim().split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
    let arguments = arguments(prompt, rest).map_err(|why| format!("`/{server}:{name}` {why}"));
    Some(PromptCall { server: server.to_owned(), prompt: name.to_owned(), arguments })
}

fn arguments(prompt: &McpPrompt, rest: &str) -> Result<BTreeMap<String, String>, String> {
    let mut given = BTreeMap::new();
    let mut left = rest.trim();
    while !left.is_empty() {
        if let Some((name, value, after)) = named(prompt, left) {
            given.insert(name.to_owned(), value);
            left = after;
            continue;
        }
        let mut free = prompt.arguments.iter().filter(|argument| !given.contains_key(&argument.name));
        let Some(next) = free.next() else {
            return Err(format!("takes {}; leave out `{left}`.", takes(prompt)));
        };
        let is_last = free.next().is_none();
        let (value, after) =
            if is_last && !left.starts_with('"') { (left.to_owned(), "") } else { word(left) };
        given.insert(next.name.clone(), value);
        left = after;
    }
    let missing = prompt.arguments.iter().find(|each| each.required && !given.contains_key(&each.name));
    match missing {
        Some(argument) => Err(format!("needs `{}`; it takes {}.", argument.name, takes(prompt))),
        None => Ok(given),
    }
}

fn takes(prompt: &McpPrompt) -> String {
    prompt.hint().map_or_else(|| "nothing".to_owned(), |hint| format!("`{hint}`"))
}

/// An argument that is given by its name, and what follows it.
fn named<'a>(prompt: &'a McpPrompt, text: &'a str) -> Option<(&'a str, String, &'a str)> {
    let (name, value) = text.split_once('=')?;
    let argument = prompt.arguments.iter().find(|argument| argument.name == name)?;
    let (value, after) = word(value);
    Some((&argument.name, value, after))
}

/// The first word, with or without quotes, and what follows it.
fn word(text: &str) -> (String, &str) {
    if let Some((inside, after)) = text.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
        return (inside.to_owned(), after.trim_start());
    }
    let (first, after) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first.to_owned(), after.trim_start())
}

#[cfg(test)]
mod tests {
    use super::super::offer::McpArgument;
    use super::*;

    fn read(text: &str) -> Option<PromptCall> {
        let argument = |name: &str, required| McpArgument { name: name.to_owned(), required };
        let review = McpPrompt {
            name: "review".to_owned(),
            description: String::new(),
            arguments: vec![argument("file", true), argument("focus", false)],
        };
        let plain = McpPrompt { name: "plain".to_owned(), description: String::new(), arguments: Vec::new() };
        let prompt = match prompt_named(text)? {
            ("docs", "review") => review,
            ("docs", "plain") => plain,
            _ => return None,
        };
        prompt_call(text, &prompt)
    }

    fn given(text: &str) -> Result<Vec<(String, String)>, String> {
        read(text).expect("a prompt").arguments.map(|map| map.into_iter().collect())
    }

    #[test]
    fn words_behind_a_command_are_its_arguments_in_order_or_by_name() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(given("/docs:plain"), Ok(vec![]));
        assert_eq!(given("/docs:review a.rs"), Ok(vec![pair("file", "a.rs")]));
        let both = Ok(vec![pair("file", "a b.rs"), pair("focus", "the error paths")]);
        assert_eq!(given("/docs:review \"a b.rs\" the error paths"), both);
        assert_eq!(given("/docs:review focus=\"the error paths\" file=\"a b.rs\""), both);
    }

    #[test]
    fn what_does_not_fit_is_said_and_what_is_no_command_is_left_alone() {
        assert_eq!(
            given("/docs:review"),
            Err("`/docs:review` needs `file`; it takes `file [focus]`.".to_owned())
        );
        assert_eq!(given("/docs:plain now"), Err("`/docs:plain` takes nothing; leave out `now`.".to_owned()));
        for text in ["/docs:other", "/review a", "docs:review", "see /docs:plain", "/", ""] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
