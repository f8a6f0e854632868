//! How a session of an agent stands: its modes, options, models, commands, usage and title.
//!
//! Owns what of an agent's results and updates is kept, folded in the order in which they came. Bounded: an agent's lists are
//! cut, since nobody chooses from more. Never sends anything and never judges a value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::dialect::acp::results::{
    self, ConfigOption, ConfigOptions, SessionModels, SessionModes, SessionResult,
};
use crate::domain::dialect::loose::Members;
use crate::domain::payload::Payload;

/// Entries of one list. Agents list some hundred models; past this the rest is left out.
const ENTRIES: usize = 1_000;
/// Bytes of one name or description.
const TEXT: usize = 2 * 1024;
/// Bytes of JSON of a value that an option has now.
const VALUE: usize = 4 * 1024;

/// What is known of a session of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentState {
    /// Modes, where it has any.
    pub modes: Option<SessionModes>,
    /// Options, where it has any.
    pub config_options: Option<Vec<ConfigOption>>,
    /// Models, as older agents name them.
    pub models: Option<SessionModels>,
    /// Commands that a prompt may begin with.
    pub commands: Option<Vec<AgentCommand>>,
    /// What was used.
    pub usage: Option<AgentUsage>,
    /// The agent's title of the session.
    pub title: Option<String>,
}

/// A command that a prompt may begin with, as `/name`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// What to write behind it; `None` when it takes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Tokens in the agent's context, and what the session cost so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentUsage {
    /// Tokens in the context.
    pub used: u64,
    /// Tokens that fit there.
    pub size: u64,
    /// Cost, where the agent counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<AgentCost>,
}

/// An amount of money.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCost {
    /// How much.
    pub amount: f64,
    /// ISO 4217.
    pub currency: String,
}

/// What an agent's answer to a request of ours says of a session. Answers are no events, so this is how they are told.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentChange {
    /// The session is open: the result of `session/new`, `session/load` or `session/resume`.
    Opened(SessionResult),
    /// It took an option: the answer to `session/set_config_option`.
    OptionsSet(ConfigOptions),
    /// It took a mode, which its answer does not name.
    ModeSet(String),
}

impl AgentState {
    /// What the agent calls the model that it uses.
    pub fn model(&self) -> Option<&str> {
        let by_option = self
            .config_options
            .iter()
            .flatten()
            .find(|option| option.category.as_deref() == Some("model") || option.id == "model");
        let chosen = by_option.and_then(|option| {
            let value = option.current_value.as_str()?;
            let choice = option.options.iter().find(|choice| choice.value == value);
            Some(choice.map(|choice| choice.name.as_str()).filter(|name| !name.is_empty()).unwrap_or(value))
        });
        let by_list = || {
            let models = self.models.as_ref()?;
            let id = models.current_model_id.as_str();
            let model = models.available_models.iter().find(|model| model.model_id == id);
            Some(model.map(|model| model.name.as_str()).filter(|name| !name.is_empty()).unwrap_or(id))
        };
        chosen.or_else(by_list).filter(|model| !model.is_empty())
    }

    /// Takes in what an answer says.
    pub fn apply(&mut self, change: AgentChange) {
        match change {
            AgentChange::Opened(result) => self.opened(result),
            AgentChange::OptionsSet(result) => self.options_set(result),
            AgentChange::ModeSet(mode_id) => self.mode_set(&mode_id),
        }
    }

    /// The result of `session/new`, `session/load` or `session/resume`. What it does not name stays as it was, since some
    /// agents name less when a session is opened again.
    pub fn opened(&mut self, result: SessionResult) {
        self.modes = result.modes.map(bounded_modes).or_else(|| self.modes.take());
        self.config_options =
            result.config_options.map(bounded_options).or_else(|| self.config_options.take());
        self.models = result.models.map(bounded_models).or_else(|| self.models.take());
    }

    /// The answer to `session/set_config_option`, which has all options. Some agents tell the mode as an option and in a
    /// list, and change only the one of the two that was asked for: the other follows here.
    pub(crate) fn options_set(&mut self, result: ConfigOptions) {
        let Some(options) = result.config_options else { return };
        self.config_options = Some(bounded_options(options));
        let now = self.mode_option().and_then(|option| option.current_value.as_str()).map(str::to_owned);
        if let (Some(now), Some(modes)) = (now, &mut self.modes)
            && modes.available_modes.iter().any(|mode| mode.id == now)
        {
            modes.current_mode_id = now;
        }
    }

    /// The agent took `session/set_mode`; its answer names no mode. Its option for the mode follows, where it has both.
    pub(crate) fn mode_set(&mut self, mode_id: &str) {
        let mode_id = short(mode_id);
        let mut options = self.config_options.iter_mut().flatten();
        let option = options.find(|option| option.is_for_the_mode() && option.offers(&mode_id));
        match (option, &mut self.modes) {
            (Some(option), None) => option.current_value = Value::from(mode_id),
            (Some(option), Some(modes)) => {
                option.current_value = Value::from(mode_id.clone());
                modes.current_mode_id = mode_id;
            }
            (None, modes) => modes.get_or_insert_default().current_mode_id = mode_id,
        }
    }

    /// The option that chooses the mode, in newer agents.
    pub fn mode_option(&self) -> Option<&ConfigOption> {
        self.config_options.iter().flatten().find(|option| option.is_for_the_mode())
    }

    /// An update of the session, by its word. `true`: something changed.
    pub fn hear(&mut self, word: &str, update: &Payload) -> bool {
        let before = self.clone();
        match word {
            "available_commands_update" => {
                if let Some(commands) = update.read::<CommandsUpdate>().and_then(CommandsUpdate::read) {
                    self.commands = Some(commands);
                }
            }
            "current_mode_update" => {
                if let Some(mode) = text(update, "currentModeId") {
                    self.mode_set(mode);
                }
            }
            "config_option_update" => self.options_set(results::read(update)),
            "session_info_update" => match update.get("title") {
                Some(Value::String(title)) => self.title = Some(short(title)),
                // `null` takes the title away; absent leaves it.
                Some(Value::Null) => self.title = None,
                _ => {}
            },
            "usage_update" => {
                if let Some(usage) = usage(update) {
                    self.usage = Some(usage);
                }
            }
            _ => return false,
        }
        *self != before
    }
}

/// Whether an update tells how the session stands, and not of what was said and done.
pub fn is_standing(word: &str) -> bool {
    matches!(
        word,
        "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update"
            | "usage_update"
    )
}

/// Whether an update of this kind can tell of another mode.
pub fn tells_mode(word: &str) -> bool {
    matches!(word, "current_mode_update" | "config_option_update")
}

/// What a `usage_update` counts; `None` when it counts nothing.
pub fn usage(update: &Payload) -> Option<AgentUsage> {
    let count = |name: &str| update.get(name).and_then(Value::as_u64);
    let (used, size) = (count("used"), count("size"));
    let cost = update.get("cost").and_then(|cost| {
        let amount = cost.get("amount").and_then(Value::as_f64)?;
        let currency = cost.string("currency").unwrap_or_default();
        Some(AgentCost { amount, currency: short(currency) })
    });
    (used.is_some() || size.is_some() || cost.is_some()).then(|| AgentUsage {
        used: used.unwrap_or(0),
        size: size.unwrap_or(0),
        cost,
    })
}

#[derive(Deserialize)]
struct CommandsUpdate {
    #[serde(rename = "availableCommands", default)]
    available: Value,
}

impl CommandsUpdate {
    fn read(self) -> Option<Vec<AgentCommand>> {
        let Value::Array(commands) = self.available else { return None };
        let said = |command: &Value, name: &str| command.string(name).map(short);
        let command = |command: &Value| {
            Some(AgentCommand {
                name: said(command, "name").filter(|name| !name.is_empty())?,
                description: said(command, "description").unwrap_or_default(),
                hint: command.get("input").and_then(|input| said(input, "hint")),
            })
        };
        Some(commands.iter().filter_map(command).take(ENTRIES).collect())
    }
}

fn bounded_modes(mut modes: SessionModes) -> SessionModes {
    modes.available_modes.truncate(ENTRIES);
    modes.current_mode_id = short(&modes.current_mode_id);
    for mode in &mut modes.available_modes {
        mode.id = short(&mode.id);
        mode.name = short(&mode.name);
        mode.description = mode.description.take().map(|text| short(&text));
    }
    modes
}

fn bounded_models(mut models: SessionModels) -> SessionModels {
    models.available_models.truncate(ENTRIES);
    models.current_model_id = short(&models.current_model_id);
    for model in &mut models.available_models {
        model.model_id = short(&model.model_id);
        model.name = short(&model.name);
        model.description = model.description.take().map(|text| short(&text));
    }
    models
}

fn bounded_options(mut options: Vec<ConfigOption>) -> Vec<ConfigOption> {
    options.truncate(ENTRIES);
    for option in &mut options {
        option.id = short(&option.id);
        option.name = short(&option.name);
        option.description = option.description.take().map(|text| short(&text));
        option.category = option.category.take().map(|text| short(&text));
        option.kind = short(&option.kind);
        if option.current_value.to_string().len() > VALUE {
            option.current_value = Value::Null;
        }
        option.options.truncate(ENTRIES);
        for choice in &mut option.options {
            choice.value = short(&choice.value);
            choice.name = short(&choice.name);
            choice.description = choice.description.take().map(|text| short(&text));
            choice.group = choice.group.take().map(|text| short(&text));
        }
    }
    options
}

fn text<'a>(update: &'a Payload, name: &str) -> Option<&'a str> {
    update.string(name)
}

/// The text, cut between two characters.
fn short(text: &str) -> String {
    let end = (0..=text.len().min(TEXT)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn payload(value: Value) -> Payload {
        value.as_object().cloned().unwrap().into()
    }

    #[test]
    fn a_session_stands_as_its_results_and_updates_say_in_their_order() {
        let mut state = AgentState::default();
        state.opened(results::read(&payload(json!({
            "sessionId": "s",
            "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]},
            "configOptions": [{"id": "model", "name": "Model", "type": "select", "currentValue": "a"}],
            "models": {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}]},
        }))));
        // Opened again, an agent names less.
        state.opened(SessionResult::default());
        let heard = [
            (
                "available_commands_update",
                json!({"availableCommands": [{"name": "greet", "description": "d", "input": {"hint": "who"}}, {"description": "no name"}]}),
                true,
            ),
            ("current_mode_update", json!({"currentModeId": "code"}), true),
            ("current_mode_update", json!({"currentModeId": "code"}), false),
            (
                "config_option_update",
                json!({"configOptions": [{"id": "model", "type": "select", "currentValue": "b"}]}),
                true,
            ),
            ("config_option_update", json!({"configOptions": 7}), false),
            ("session_info_update", json!({"title": "T"}), true),
            ("session_info_update", json!({"updatedAt": "x"}), false),
            (
                "usage_update",
                json!({"used": 5, "size": 10, "cost": {"amount": 0.5, "currency": "USD"}}),
                true,
            ),
            ("usage_update", json!({"used": "many"}), false),
            ("agent_message_chunk", json!({}), false),
        ];
        for (word, update, changed) in heard {
            assert_eq!(state.hear(word, &payload(update.clone())), changed, "{word} {update}");
        }
        let expected: AgentState = serde_json::from_value(json!({
            "modes": {"currentModeId": "code", "availableModes": [{"id": "ask", "name": "Ask"}]},
            "configOptions": [{"id": "model", "name": "", "type": "select", "currentValue": "b"}],
            "models": {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}]},
            "commands": [{"name": "greet", "description": "d", "hint": "who"}],
            "usage": {"used": 5, "size": 10, "cost": {"amount": 0.5, "currency": "USD"}},
            "title": "T",
        }))
        .unwrap();
        assert_eq!(state, expected);
        let again: AgentState = serde_json::from_slice(&serde_json::to_vec(&state).unwrap()).unwrap();
        assert_eq!(again, state);
        assert!(state.hear("session_info_update", &payload(json!({"title": null}))));
        assert_eq!(state.title, None);
    }

    #[test]
    fn what_an_agent_lists_is_bounded() {
        let long = "é".repeat(TEXT);
        let many: Vec<Value> = (0..5_000).map(|_| json!({"name": long, "description": long})).collect();
        let mut state = AgentState::default();
        assert!(state.hear("available_commands_update", &payload(json!({"availableCommands": many}))));
        let commands = state.commands.unwrap();
        assert_eq!((commands.len(), commands[0].name.len()), (ENTRIES, TEXT));
    }
}
