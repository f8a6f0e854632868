//! A script: who the agent is, what it does on every method, and what it does on each prompt. `docs/simulate.md` describes
//! the format for people.
//!
//! Owns the format. Never plays it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::demo;
use super::steps::{Step, short, steps};

/// The whole script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Script {
    /// Who the agent is.
    pub agent: Profile,
    /// What it does on a method, beside its answer. `start` and `eof` stand for the ends of the process.
    pub on: HashMap<String, Vec<Step>>,
    /// One a prompt. Those with `when` answer every prompt that contains it; the others answer in order, each once.
    pub prompts: Vec<Prompt>,
}

/// What happens on one prompt.
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, PartialEq)]
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
    /// The process outlives its stdin.
    pub ignores_eof: bool,
    /// SIGTERM does nothing to it.
    pub ignores_term: bool,
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
            ignores_eof: false,
            ignores_term: false,
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
        let members = match &value {
            Value::Array(_) => {
                // One list of steps: it answers every prompt.
                return Ok(Self {
                    agent: Profile::default(),
                    on: HashMap::new(),
                    prompts: vec![Prompt {
                        when: Some(String::new()),
                        deaf: false,
                        steps: steps(&value)?,
                        on_cancel: Vec::new(),
                    }],
                });
            }
            Value::Object(members) => members,
            other => {
                return Err(format!("A script is an object or a list of steps; this is {}.", short(other)));
            }
        };
        only(members, &["agent", "on", "prompts"], "a script")?;
        let on = object(members, "on")?
            .map(|on| on.iter().map(|(method, inner)| Ok((method.clone(), steps(inner)?))).collect())
            .transpose()
            .map_err(|sentence: String| format!("`on`: {sentence}"))?
            .unwrap_or_default();
        let prompts = match members.get("prompts") {
            None => Vec::new(),
            Some(Value::Array(prompts)) => prompts.iter().map(prompt).collect::<Result<_, _>>()?,
            Some(other) => return Err(format!("`prompts` is a list; this is {}.", short(other))),
        };
        let agent = object(members, "agent")?.map(profile).transpose()?.unwrap_or_default();
        Ok(Self { agent, on, prompts })
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

fn prompt(value: &Value) -> Result<Prompt, String> {
    let members =
        value.as_object().ok_or_else(|| format!("A prompt is an object; this is {}.", short(value)))?;
    only(members, &["when", "deaf", "steps", "on_cancel"], "a prompt")?;
    let list = |key| members.get(key).map(steps).transpose().map(Option::unwrap_or_default);
    Ok(Prompt {
        when: members.get("when").and_then(Value::as_str).map(str::to_owned),
        deaf: members.get("deaf") == Some(&Value::Bool(true)),
        steps: list("steps")?,
        on_cancel: list("on_cancel")?,
    })
}

fn profile(members: &Map<String, Value>) -> Result<Profile, String> {
    const KNOWN: &[&str] = &[
        "protocolVersion",
        "capabilities",
        "info",
        "authMethods",
        "authRequired",
        "modes",
        "configOptions",
        "commands",
        "page",
        "idPrefix",
        "ignores",
    ];
    only(members, KNOWN, "`agent`")?;
    let usual = Profile::default();
    let given = |key: &str, usual: Value| members.get(key).cloned().unwrap_or(usual);
    let ignores = |what: &str| {
        members.get("ignores").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == what))
    };
    Ok(Profile {
        protocol_version: members.get("protocolVersion").cloned(),
        capabilities: given("capabilities", usual.capabilities),
        info: given("info", usual.info),
        auth_methods: given("authMethods", usual.auth_methods),
        auth_required: members.get("authRequired") == Some(&Value::Bool(true)),
        modes: members.get("modes").cloned(),
        config_options: members.get("configOptions").cloned(),
        commands: members.get("commands").cloned(),
        page: members
            .get("page")
            .and_then(Value::as_u64)
            .and_then(|page| usize::try_from(page.max(1)).ok())
            .unwrap_or(usual.page),
        id_prefix: members.get("idPrefix").and_then(Value::as_str).map_or(usual.id_prefix, str::to_owned),
        ignores_eof: ignores("eof"),
        ignores_term: ignores("term"),
    })
}

fn object<'a>(members: &'a Map<String, Value>, key: &str) -> Result<Option<&'a Map<String, Value>>, String> {
    match members.get(key) {
        None => Ok(None),
        Some(Value::Object(inner)) => Ok(Some(inner)),
        Some(other) => Err(format!("`{key}` is an object; this is {}.", short(other))),
    }
}

/// A word that nobody reads is a mistake that a test would not notice.
fn only(members: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), String> {
    match members.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!("`{key}` is nothing of {what}; there are {}.", known.join(", "))),
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
        for (given, sentence) in [
            ("7", "A script is an object or a list of steps; this is 7."),
            ("{\"prompt\": []}", "`prompt` is nothing of a script; there are agent, on, prompts."),
            (
                "{\"prompts\": [{\"step\": []}]}",
                "`step` is nothing of a prompt; there are when, deaf, steps, on_cancel.",
            ),
            ("{\"on\": {\"start\": 7}}", "`on`: Steps are a list; this is 7."),
            ("{\"agent\": []}", "`agent` is an object; this is []."),
        ] {
            assert_eq!(Script::parse(given), Err(sentence.to_owned()));
        }
        assert!(Script::parse("{").is_err_and(|sentence| sentence.starts_with("The script is no JSON")));
    }
}
