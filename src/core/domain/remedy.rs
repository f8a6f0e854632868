//! What can be done about a failure, for a program: whether the same may be sent again, and how one logs in.
//!
//! Owns the shapes that stand in the details of an error, in the events that tell of a failure and on its notice, all under
//! the same names. Never words anything, and never repeats anything.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cut;
use super::shown::{Kind, show};

/// Ways to log in that are kept; agents offer a few.
const METHODS: usize = 8;
/// Bytes of a name, a command or a description of an agent's.
const WORDS: usize = 300;

/// What can be done about a failure, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// Whether the same can be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How one logs in, where that is what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<Login>,
}

/// Whether what failed can be sent again as it is. A program may do so by itself only where `taken` is `no` and `when` is
/// `later`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// Whether whoever was asked has taken it.
    pub taken: PromptTaken,
    /// When sending it again can succeed.
    pub when: RetryWhen,
    /// Milliseconds that the answer asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

/// Whether whoever was asked has taken what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptTaken {
    /// Certainly not: it did not arrive, or was refused before anything was done about it.
    No,
    /// Nobody knows.
    Perhaps,
    /// Something was done about it.
    Yes,
}

/// When the same can succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RetryWhen {
    /// As time passes.
    Later,
    /// Once a person has changed something: a key, an address, a login.
    Changed,
    /// Never, as it is: the same is refused again in this session.
    Never,
}

/// How one logs in at an agent. What is absent it does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Login {
    /// The ways that the agent itself offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<LoginMethod>,
    /// What a person types in a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What is typed next, inside the program that `command` starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// The variable of the environment with a key that makes a login needless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

/// One way to log in that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginMethod {
    /// Its id, for the command `authenticate`.
    pub id: String,
    /// What to call it.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who does it.
    pub by: LoginBy,
    /// What is typed in a shell, where the agent named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Who does a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoginBy {
    /// The agent, once it is told to.
    Agent,
    /// A person, in a terminal.
    Terminal,
}

impl Retry {
    /// It was not taken.
    pub fn not_taken(when: RetryWhen) -> Self {
        Self { taken: PromptTaken::No, when, after_ms: None }
    }

    /// Nobody knows whether it was taken.
    pub fn perhaps_taken(when: RetryWhen) -> Self {
        Self { taken: PromptTaken::Perhaps, when, after_ms: None }
    }

    /// Something was done about it.
    pub fn taken(when: RetryWhen) -> Self {
        Self { taken: PromptTaken::Yes, when, after_ms: None }
    }

    /// The same, behind the wait that the answer asked for.
    pub fn after(self, wait: Option<Duration>) -> Self {
        let ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Self { after_ms: wait.filter(|wait| !wait.is_zero()).map(ms), ..self }
    }
}

impl From<Retry> for Remedy {
    fn from(retry: Retry) -> Self {
        Self { retry: Some(retry), login: None }
    }
}

impl Remedy {
    /// What stands among these fields; what does not fit is not there.
    pub fn of(fields: &Map<String, Value>) -> Self {
        fn read<T: serde::de::DeserializeOwned>(fields: &Map<String, Value>, name: &str) -> Option<T> {
            serde_json::from_value(fields.get(name)?.clone()).ok()
        }
        Self { retry: read(fields, "retry"), login: read::<Login>(fields, "login").map(Login::cut) }
    }

    /// What stands in the details of an error.
    pub(crate) fn of_details(details: Option<&Value>) -> Self {
        details.and_then(Value::as_object).map(Self::of).unwrap_or_default()
    }

    /// The fields, for an event or for the details of an error.
    pub fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            // A struct of these always serialises as an object.
            Ok(_) | Err(_) => Map::new(),
        }
    }
}

impl Login {
    /// The same, with the words of an agent cut to what names need.
    pub fn cut(mut self) -> Self {
        self.methods.truncate(METHODS);
        // An id that is cut names nothing.
        self.methods.retain(|method| method.id.len() <= WORDS);
        for method in &mut self.methods {
            method.name = cut::line(&method.name, WORDS);
            method.description = method.description.take().map(|text| cut::line(&text, WORDS));
        }
        // So does a command, and one that would not be shown as it is typed is not typed at all.
        let whole = |command: &String| {
            command.len() <= WORDS && matches!(show(command, Kind::Code), std::borrow::Cow::Borrowed(_))
        };
        for method in &mut self.methods {
            method.command = method.command.take().filter(whole);
        }
        self.command = self.command.filter(whole);
        self.inside = self.inside.filter(whole);
        self.variable = self.variable.filter(whole);
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_remedy_is_read_as_it_was_written_and_what_does_not_fit_is_not_there() {
        let login = Login {
            methods: vec![LoginMethod {
                id: "key".to_owned(),
                name: "API key".to_owned(),
                description: None,
                by: LoginBy::Agent,
                command: None,
            }],
            command: Some("gemini".to_owned()),
            inside: Some("/auth".to_owned()),
            variable: Some("GEMINI_API_KEY".to_owned()),
        };
        let retry = Retry::not_taken(RetryWhen::Later).after(Some(Duration::from_millis(12_500)));
        let remedy = Remedy { retry: Some(retry), login: Some(login) };
        let written = json!({
            "retry": { "taken": "no", "when": "later", "afterMs": 12_500 },
            "login": {
                "methods": [{ "id": "key", "name": "API key", "by": "agent" }],
                "command": "gemini",
                "inside": "/auth",
                "variable": "GEMINI_API_KEY",
            },
        });
        assert_eq!(Value::Object(remedy.fields()), written);
        assert_eq!(Remedy::of_details(Some(&written)), remedy);
        assert_eq!(Remedy::default().fields(), Map::new());
        let odd = json!({ "retry": { "taken": "maybe", "when": "later" }, "login": "codex login" });
        assert_eq!(Remedy::of_details(Some(&odd)), Remedy::default());
        assert_eq!(Retry::not_taken(RetryWhen::Later).after(Some(Duration::ZERO)).after_ms, None);
    }

    #[test]
    fn a_command_that_is_too_long_or_has_lines_is_none() {
        let long = "x".repeat(WORDS + 1);
        let method = |id: &str, command: &str| LoginMethod {
            id: id.to_owned(),
            name: long.clone(),
            description: None,
            by: LoginBy::Terminal,
            command: Some(command.to_owned()),
        };
        let login = Login {
            methods: vec![method("a", "sim login"), method("b", "sim\nlogin"), method(&long, "sim login")],
            command: Some(long.clone()),
            ..Login::default()
        };
        let cut = login.cut();
        let commands: Vec<_> = cut.methods.iter().map(|one| (&*one.id, one.command.as_deref())).collect();
        assert_eq!(commands, [("a", Some("sim login")), ("b", None)]);
        assert_eq!((cut.methods[0].name.len(), cut.command), (WORDS + '…'.len_utf8(), None));
    }
}
