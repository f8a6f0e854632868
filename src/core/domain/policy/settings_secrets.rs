//! Which values of the settings are secrets: they are hidden wherever tokens are.
//!
//! Owns the rule, which goes by names first. Hiding a value that is an ordinary word would spoil every message that holds it,
//! so the rule says what is left alone, too. It looks at the whole of `initializationOptions`, at keys that nobody knows as well:
//!
//! 1. Under a name that tells of a secret (`apiKey`, `GITHUB_TOKEN`, `authorization`, `password`, `cookie` …), at any depth,
//!    every string of 6 bytes or more, unless it is a number of up to 9 digits. A name that says where a secret lies (`…_FILE`,
//!    `…Path`, `…_URL` …) or counts tokens (`maxTokens`) tells of none.
//! 2. In an `env` or among `headers`, at any depth, every string of 8 bytes or more, under whatever name, since users put keys
//!    there. Left alone are names that everybody knows (`PATH`, `HOME`, `LANG`, `Accept` …), and values that look ordinary:
//!    paths, addresses without a user or a query, numbers, and plain words of letters alone.
//! 3. The password in an address, wherever it stands.
//!
//! Of `Bearer …` and the like the part behind the word is hidden by itself, too. At most 200 values are taken; whoever has
//! more is told. Never reads the environment or a file, and never prints a value, not even in `Debug`.

use serde_json::{Map, Value};

use super::environment::may_inherit;

/// Values that are taken. Each is looked for in every message, and nobody has so many keys.
pub const MOST: usize = 200;

/// Bytes of the shortest secret under a telling name.
const SHORTEST_NAMED: usize = 6;

/// Bytes of the shortest secret in an environment or among headers.
const SHORTEST: usize = 8;

/// Parts of a name that tell of a secret, in small letters and without separators; beside those of the environment.
const TELLING: [&str; 5] = ["authorization", "bearer", "cookie", "accesskey", "privatekey"];

/// Ends of a name that say where something lies, what it is called or how much of it there is.
const ABOUT: [&str; 15] = [
    "path", "file", "dir", "url", "uri", "endpoint", "host", "port", "name", "id", "count", "limit",
    "tokens", "helper", "command",
];

/// Names of ordinary variables and headers.
const ORDINARY: [&str; 31] = [
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "SHELL",
    "USER",
    "LOGNAME",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "TMP",
    "TEMP",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "DISPLAY",
    "TZ",
    "HOSTNAME",
    "NODE_ENV",
    "NODE_OPTIONS",
    "RUST_LOG",
    "DEBUG",
    "NO_PROXY",
    "ACCEPT",
    "ACCEPT-LANGUAGE",
    "CONTENT-TYPE",
    "USER-AGENT",
    "ORIGIN",
    "REFERER",
    "HOST",
];

/// Beginnings of ordinary names.
const ORDINARY_BEGINNINGS: [&str; 3] = ["LC_", "XDG_", "RUST_"];

/// Secrets of the settings. Shows none of them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValues(Vec<String>);

impl std::fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretValues({})", self.0.len())
    }
}

impl SecretValues {
    /// The secrets in these options, at most `MOST`.
    pub fn of_options(options: &Value) -> Self {
        let mut found = Self::default();
        found.look(options, Context::Anywhere);
        // Those under telling names first, whatever their order is there.
        found.0.truncate(MOST);
        found
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether there may be more than were taken.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    fn look(&mut self, value: &Value, place: Context) {
        match value {
            Value::Object(fields) => self.look_at_fields(fields, place),
            Value::Array(items) => items.iter().for_each(|item| self.look(item, place)),
            Value::String(text) => self.judge(text, place),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn look_at_fields(&mut self, fields: &Map<String, Value>, place: Context) {
        // Some write an environment as a list of pairs.
        if let (Some(Value::String(name)), Some(value)) = (fields.get("name"), fields.get("value")) {
            self.look(value, place.below(name));
        }
        for (name, value) in fields {
            let inside = match name.as_str() {
                "env" | "headers" if place != Context::Secret => Context::Given,
                // The pair of above.
                "name" | "value" if fields.contains_key("name") && fields.contains_key("value") => {
                    Context::Anywhere
                }
                name => place.below(name),
            };
            self.look(value, inside);
        }
    }

    fn judge(&mut self, text: &str, place: Context) {
        let text = text.trim();
        let secret = match place {
            Context::Secret => text.len() >= SHORTEST_NAMED && !is_short_number(text),
            Context::Given => text.len() >= SHORTEST && !looks_ordinary(text),
            Context::Anywhere | Context::Ordinary => false,
        };
        if secret {
            self.add(text);
            if let Some((word, rest)) = text.split_once(' ')
                && word.bytes().all(|byte| byte.is_ascii_alphabetic())
                && rest.trim().len() >= SHORTEST_NAMED
            {
                self.add(rest.trim());
            }
        }
        if let Some(password) = password_of(text).filter(|password| password.len() >= SHORTEST_NAMED) {
            self.add(password);
        }
    }

    fn add(&mut self, text: &str) {
        if self.0.len() <= MOST && !self.0.iter().any(|known| known == text) {
            self.0.push(text.to_owned());
        }
    }
}

/// What the names above a value say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// They say nothing of it.
    Anywhere,
    /// In an environment or among headers.
    Given,
    /// The same, under a name that everybody knows.
    Ordinary,
    /// That it is a secret.
    Secret,
}

impl Context {
    /// Below one more name.
    fn below(self, name: &str) -> Self {
        match self {
            Self::Secret => Self::Secret,
            Self::Anywhere | Self::Given if tells_of_a_secret(name) => Self::Secret,
            Self::Given if is_ordinary(name) => Self::Ordinary,
            Self::Anywhere | Self::Given | Self::Ordinary => self,
        }
    }
}

/// Whether this is the name of a secret.
pub(crate) fn tells_of_a_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    if ABOUT.iter().any(|end| plain.ends_with(end)) {
        return false;
    }
    // `apiKey` and `api-key` as `API_KEY`.
    let mut upper = String::with_capacity(name.len() + 4);
    let mut was_small = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && was_small {
            upper.push('_');
        }
        was_small = letter.is_ascii_lowercase();
        upper.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' });
    }
    let upper = upper.strip_prefix("BREADBOARD_").unwrap_or(&upper);
    !may_inherit(upper) || upper == "KEY" || TELLING.iter().any(|part| plain.contains(part))
}

fn is_ordinary(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ORDINARY.contains(&name.as_str())
        || ORDINARY_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ["_HOME", "_DIR", "_PATH", "_FILE"].iter().any(|end| name.ends_with(end))
}

fn is_short_number(text: &str) -> bool {
    text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path, an address, a number, or plain words.
fn looks_ordinary(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_path =
        text.starts_with(['/', '~', '.', '\\']) && !text.contains(char::is_whitespace) && bytes.len() > 1
            || (bytes.len() > 2
                && bytes[0].is_ascii_alphabetic()
                && bytes[1] == b':'
                && matches!(bytes[2], b'\\' | b'/'));
    let is_address = text.split_once("://").is_some_and(|(scheme, rest)| {
        scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) && !rest.contains(['@', '?', '#'])
    });
    let is_number = bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
    // `production`, `debug,hyper=info`: letters of one kind, as words are written.
    let is_words = bytes.len() <= 24
        && bytes.iter().all(|byte| {
            byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_' | b',' | b'=' | b':' | b' ' | b'/')
        });
    is_path || is_address || is_number || is_words
}

/// The password of `scheme://user:password@host`.
fn password_of(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':').map_or(user, |(_, password)| password))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets(options: &Value) -> Vec<String> {
        let mut found: Vec<String> = SecretValues::of_options(options).iter().map(str::to_owned).collect();
        found.sort();
        found
    }

    #[test]
    fn telling_names_are_told_from_names_about_secrets() {
        for name in [
            "apiKey",
            "api_key",
            "OPENAI_API_KEY",
            "token",
            "authToken",
            "BREADBOARD_TOKEN",
            "Authorization",
            "x-api-key",
            "Proxy-Authorization",
            "client_secret",
            "password",
            "dbPassword",
            "Cookie",
            "Set-Cookie",
            "key",
            "privateKey",
            "X-Auth-Token",
            "GH_PAT",
            "credentials",
        ] {
            assert!(tells_of_a_secret(name), "{name}");
        }
        for name in [
            "keyboard",
            "maxTokens",
            "MAX_TOKENS",
            "tokenFile",
            "SSH_KEY_PATH",
            "token_url",
            "keys",
            "monkey",
            "name",
            "url",
            "credentialHelper",
            "keyId",
            "author",
            "LANG",
            "args",
            "command",
        ] {
            assert!(!tells_of_a_secret(name), "{name}");
        }
    }

    #[test]
    fn values_of_environments_and_headers_are_secrets_unless_they_are_ordinary() {
        let options = json!({
            "agents": { "a": { "command": "agent-program-1", "args": ["--verbose-mode-9"], "env": {
                "PATH": "/usr/bin:/bin-123456", "HOME": "/home/someone", "LANG": "en_US.UTF-8", "LC_ALL": "de_DE.UTF-8",
                "NODE_ENV": "production", "LEVEL": "debug,hyper=info", "BASE": "https://api.example.com/v1",
                "WORKERS": "12345678", "FLAG": "true", "ODD": "x9Fk-27ab-canary", "SHORT": "ab12",
                "API_KEY": "hunter", "TOKEN_FILE": "/run/token", "LIMIT_TOKENS": "128000" } } },
            "engine": { "kind": "acp", "env": { "THING": "engine-canary-7" } },
            "mcpServers": {
                "m": { "headers": { "Accept": "application/json-9", "Authorization": "Bearer mcp-canary-1", "X-Odd": "hdr-canary-2" } },
                "n": { "env": [{ "name": "SOMETHING", "value": "pair-canary-3" }, { "name": "LANG", "value": "en_US.UTF-8" }] } },
            "model": { "name": "gpt-4o-2024", "url": "https://me:url-canary-4@host/v1", "extra": { "apiKey": "deep-canary-5" } },
            "stateDir": "/tmp/state-12345678",
        });
        let expected = [
            "Bearer mcp-canary-1",
            "deep-canary-5",
            "engine-canary-7",
            "hdr-canary-2",
            "hunter",
            "mcp-canary-1",
            "pair-canary-3",
            "url-canary-4",
            "x9Fk-27ab-canary",
        ];
        assert_eq!(secrets(&options), expected);
    }

    #[test]
    fn numbers_switches_and_counts_are_left_alone_under_any_name() {
        let options = json!({ "token": "12345", "password": "true", "apiKey": 123_456_789, "maxTokens": "100000", "secret": null });
        assert_eq!(secrets(&options), Vec::<String>::new());
        assert_eq!(secrets(&json!({ "secret": ["one-12", { "deep": "two-34" }] })), ["one-12", "two-34"]);
        assert_eq!(secrets(&json!("https://a:b@c")), Vec::<String>::new());
    }

    #[test]
    fn what_is_taken_is_bounded_and_debug_shows_nothing() {
        let keys: Map<String, Value> =
            (0..300).map(|at| (format!("KEY{at}_TOKEN"), json!(format!("value-{at}")))).collect();
        let found = SecretValues::of_options(&json!({ "agents": { "a": { "env": keys } } }));
        assert!(found.is_full() && found.iter().count() == MOST);
        assert!(!format!("{found:?}").contains("value-"));
    }
}
