//! How a server is reached: a program on this machine, or an address.
//!
//! Owns what tells one definition from another, and how one is shown. Never shows the value of a variable or of a header.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::domain::edits::text::content_hash;
use crate::domain::policy::settings_secrets::tells_of_a_secret;

/// A server, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpDefinition {
    /// Its name here.
    pub name: String,
    /// The way to it.
    pub transport: McpTransport,
}

/// The way to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that we start, and talk to on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it.
        env: BTreeMap<String, String>,
    },
    /// An address that we call (the streamable HTTP transport).
    Http {
        /// The address.
        url: String,
        /// Headers of each request.
        headers: BTreeMap<String, String>,
    },
}

impl std::fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

impl McpTransport {
    /// The word for it on the wire.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
        }
    }

    /// One line for a person: the command line, or the address without what stands behind a `?`; the names of its variables or
    /// headers, without their values.
    pub fn shown(&self) -> String {
        let (mut line, with, names) = match self {
            Self::Stdio { command, args, env } => {
                let words = std::iter::once(command).chain(args).map(|word| quoted(word));
                (words.collect::<Vec<_>>().join(" "), "variables", env.keys())
            }
            Self::Http { url, headers } => {
                let address = url.split(['?', '#']).next().unwrap_or_default();
                let hidden = if address.len() < url.len() { "?…" } else { "" };
                (format!("{address}{hidden}"), "headers", headers.keys())
            }
        };
        let names: Vec<&str> = names.map(String::as_str).collect();
        if !names.is_empty() {
            line.push_str(&format!(" ({with}: {})", names.join(", ")));
        }
        line
    }
}

impl McpDefinition {
    /// What tells this definition from another one of the same name: all of it but the values of secrets, which change without
    /// anything else being started or called.
    pub fn digest(&self) -> String {
        let told = |values: &BTreeMap<String, String>| -> Map<String, Value> {
            let value = |(name, value): (&String, &String)| {
                let value = if tells_of_a_secret(name) { "" } else { value.as_str() };
                (name.clone(), Value::from(value))
            };
            values.iter().map(value).collect()
        };
        let whole = match &self.transport {
            McpTransport::Stdio { command, args, env } => {
                json!([self.name, "stdio", command, args, told(env)])
            }
            // Behind each name of a header there may be a secret.
            McpTransport::Http { url, headers } => {
                json!([self.name, "http", url, headers.keys().collect::<Vec<_>>()])
            }
        };
        content_hash(whole.to_string().as_bytes())
    }
}

/// A word of a command line, in quotes where it has more than plain letters.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,~".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("{word:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(args: &[&str], env: &[(&str, &str)]) -> McpDefinition {
        McpDefinition {
            name: "docs".to_owned(),
            transport: McpTransport::Stdio {
                command: "npx".to_owned(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            },
        }
    }

    #[test]
    fn a_definition_is_shown_without_the_values_of_its_variables_and_headers() {
        let line = stdio(&["-y", "a b"], &[("API_KEY", "canary-1"), ("LEVEL", "canary-2")]);
        assert_eq!(line.transport.shown(), "npx -y \"a b\" (variables: API_KEY, LEVEL)");
        let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer canary-3".to_owned())]);
        let http = McpTransport::Http { url: "https://h/mcp?key=canary-4".to_owned(), headers };
        assert_eq!(http.shown(), "https://h/mcp?… (headers: Authorization)");
        assert!(!format!("{http:?}{line:?}").contains("canary"));
    }

    #[test]
    fn whatever_changes_what_is_started_changes_the_digest_and_a_new_token_does_not() {
        let one = stdio(&["-y"], &[("API_KEY", "one"), ("LEVEL", "low")]).digest();
        assert_eq!(one, stdio(&["-y"], &[("API_KEY", "two"), ("LEVEL", "low")]).digest());
        assert_ne!(one, stdio(&["-y"], &[("API_KEY", "one"), ("LEVEL", "high")]).digest());
        assert_ne!(one, stdio(&["-y", "x"], &[("API_KEY", "one"), ("LEVEL", "low")]).digest());
        assert_ne!(one, stdio(&["-y"], &[("LEVEL", "low")]).digest());
    }
}
