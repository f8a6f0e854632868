//! A script: who the agent is, what it does on every method, and what it does on each prompt. `docs/simulate.md` describes
//! the format for people.
//!
//! Owns the format. Never plays it.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::demo;
use super::steps::Step;
use crate::simulate::script_json::read;

/// The whole script.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object or a list of steps")]
pub(crate) struct Script {
    /// Who the agent is.
    pub agent: Profile,
    /// What it does on a method, beside its answer. `start` and `eof` stand for the ends of the process.
    pub on: HashMap<String, Vec<Step>>,
    /// One a prompt. Those with `when` answer every prompt that contains it; the others answer in order, each once.
    pub prompts: Vec<Prompt>,
}

/// What happens on one prompt.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Prompt {
    /// The prompt must contain this; nothing: the next prompt in order.
    pub when: Option<String>,
    /// The steps go on after `session/cancel`.
    pub deaf: bool,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// What happens before the answer of a cancelled turn.
    pub on_cancel: Vec<Step>,
}

/// Who the agent is and what it can do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Profile {
    /// The protocol version it answers; nothing: 1, whatever it was asked.
    pub protocol_version: Option<Value>,
    /// `agentCapabilities`, as they are. What they do not have is answered "method not found".
    pub capabilities: Value,
    /// `agentInfo`.
    pub info: Value,
    /// `authMethods`.
    pub auth_methods: Value,
    /// Sessions need `authenticate` first.
    pub auth_required: bool,
    /// `modes` of a session.
    pub modes: Option<Value>,
    /// `configOptions` of a session.
    pub config_options: Option<Value>,
    /// Told after a session was made or loaded.
    pub commands: Option<Value>,
    /// Sessions on one page of `session/list`.
    pub page: usize,
    /// Begin of every session id.
    pub id_prefix: String,
    /// What does not end it.
    pub ignores: Vec<Ignored>,
    /// Methods that it has and refuses.
    pub refuses: Vec<String>,
}

/// What may be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ignored {
    /// The end of its stdin: the process outlives it.
    Eof,
    /// SIGTERM.
    Term,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            protocol_version: None,
            capabilities: json!({
                "loadSession": true,
                "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"close": {}, "list": {}, "resume": {}},
            }),
            info: json!({
                "name": "simulated-agent",
                "title": "Simulated agent",
                "version": env!("CARGO_PKG_VERSION"),
            }),
            auth_methods: json!([]),
            auth_required: false,
            modes: None,
            config_options: None,
            commands: None,
            page: 50,
            id_prefix: "sim-".to_owned(),
            ignores: Vec::new(),
            refuses: Vec::new(),
        }
    }
}

impl Script {
    /// The built-in conversation.
    ///
    /// # Errors
    /// None; a test reads it.
    pub(crate) fn demo() -> Result<Self, String> {
        Self::parse(demo::SCRIPT)
    }

    /// Reads a script: an object, or a list of the steps of every prompt.
    ///
    /// # Errors
    /// One sentence: what is wrong, and where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("The script is no JSON: {error}."))?;
        if !value.is_array() {
            return read(value);
        }
        // One list of steps: it answers every prompt.
        let prompt = Prompt { when: Some(String::new()), steps: read(value)?, ..Prompt::default() };
        Ok(Self { prompts: vec![prompt], ..Self::default() })
    }

    /// Which of its prompts answers this text; `used` knows which of those in order were.
    pub(crate) fn answering(&self, text: &str, used: &mut usize) -> Option<&Prompt> {
        let named = self.prompts.iter().find(|p| p.when.as_ref().is_some_and(|when| text.contains(when)));
        named.or_else(|| {
            let next = self.prompts.iter().filter(|p| p.when.is_none()).nth(*used)?;
            *used += 1;
            Some(next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_answer_by_words_first_and_then_in_order_each_once() {
        let script = Script::parse(
            r#"{"prompts": [{"steps": [{"exit": 1}]}, {"when": "fix", "steps": [{"exit": 2}]}, {"steps": [{"exit": 3}]}]}"#,
        )
        .expect("a script");
        let mut used = 0;
        let mut codes = Vec::new();
        for text in ["hello", "fix it", "again", "fix", "more"] {
            codes.push(script.answering(text, &mut used).map(|prompt| prompt.steps.clone()));
        }
        assert_eq!(
            codes,
            [
                Some(vec![Step::Exit(1)]),
                Some(vec![Step::Exit(2)]),
                Some(vec![Step::Exit(3)]),
                Some(vec![Step::Exit(2)]),
                None
            ]
        );
    }

    #[test]
    fn a_list_of_steps_answers_every_prompt() {
        let script = Script::parse(r#"[{"say": "hi"}]"#).expect("a script");
        let mut used = 0;
        assert_eq!(script.answering("a", &mut used), script.answering("b", &mut used));
        assert!(script.answering("", &mut used).is_some());
    }

    #[test]
    fn the_built_in_conversation_is_a_script() {
        assert!(Script::demo().is_ok_and(|script| !script.prompts.is_empty()));
    }

    #[test]
    fn what_is_misspelt_is_refused() {
        for (given, path, reason) in [
            ("7", "", "invalid type: integer `7`, expected an object or a list of steps"),
            (
                "{\"prompt\": []}",
                "`prompt`",
                "unknown field `prompt`, expected one of `agent`, `on`, `prompts`",
            ),
            (
                "{\"prompts\": [{\"step\": []}]}",
                "`prompts[0].step`",
                "unknown field `step`, expected one of `when`, `deaf`, `steps`, `on_cancel`",
            ),
            ("{\"on\": {\"start\": 7}}", "`on.start`", "invalid type: integer `7`, expected a sequence"),
            (
                "{\"agent\": {\"ignores\": [\"hup\"]}}",
                "`agent.ignores[0]`",
                "unknown variant `hup`, expected `eof` or `term`",
            ),
        ] {
            let script =
                if path.is_empty() { "The script".to_owned() } else { format!("{path} of the script") };
            assert_eq!(Script::parse(given), Err(format!("{script} cannot be read: {reason}.")));
        }
        assert!(Script::parse("{").is_err_and(|sentence| sentence.starts_with("The script is no JSON")));
    }
}
