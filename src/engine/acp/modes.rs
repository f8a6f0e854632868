//! The modes of a session: which there are, which is in use, and how another one is chosen.
//!
//! Owns how they are found: newer agents have an option of the category `mode`, older ones a list of modes. Never sets one:
//! `start_mode` and `commands` do.

use serde_json::Value;

use crate::domain::dialect::acp::encode::{self, ConfigValue};
use crate::domain::dialect::acp::results::{self, ConfigOptions};
use crate::domain::dialect::acp::state::{AgentChange, AgentState};
use crate::domain::payload::Payload;

/// The modes of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Modes {
    /// The id of the one in use; empty when the agent does not say.
    pub(super) current: String,
    /// Ids and names.
    offered: Vec<(String, String)>,
    /// The option that chooses it, in newer agents.
    option: Option<String>,
}

/// A mode that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModeChange {
    pub(super) id: String,
    option: Option<String>,
}

/// Modes of a session; `None` when its agent names none.
pub(super) fn modes(state: &AgentState) -> Option<Modes> {
    let option = state.mode_option().map(|option| Modes {
        current: option.current_value.as_str().unwrap_or_default().to_owned(),
        offered: option.options.iter().map(|choice| (choice.value.clone(), choice.name.clone())).collect(),
        option: Some(option.id.clone()),
    });
    let listed = || {
        state.modes.as_ref().filter(|modes| !modes.available_modes.is_empty()).map(|modes| Modes {
            current: modes.current_mode_id.clone(),
            offered: modes.available_modes.iter().map(|mode| (mode.id.clone(), mode.name.clone())).collect(),
            option: None,
        })
    };
    option.or_else(listed)
}

impl Modes {
    pub(super) fn offers(&self, id: &str) -> bool {
        self.offered.iter().any(|(offered, _)| offered == id)
    }

    /// Whether the option with this id chooses the mode.
    pub(super) fn is_chosen_by(&self, option: &str) -> bool {
        self.option.as_deref() == Some(option)
    }

    /// What to call a mode in a sentence.
    pub(super) fn name<'a>(&'a self, id: &'a str) -> &'a str {
        let named = self.offered.iter().find(|(offered, name)| offered == id && !name.trim().is_empty());
        named.map_or(id, |(_, name)| name)
    }

    /// Ids of all, as a list in a sentence.
    pub(super) fn ids(&self) -> String {
        let ids: Vec<String> = self.offered.iter().map(|(id, _)| format!("`{id}`")).collect();
        ids.join(", ")
    }

    pub(super) fn change_to(&self, id: &str) -> ModeChange {
        ModeChange { id: id.to_owned(), option: self.option.clone() }
    }
}

impl ModeChange {
    /// A mode of an agent that has told none, or lists them.
    pub(super) fn listed(id: &str) -> Self {
        Self { id: id.to_owned(), option: None }
    }

    /// The request that asks for it, of a session with this id of the agent's.
    pub(super) fn request(&self, at_agent: &str) -> (&'static str, Value) {
        match &self.option {
            Some(option) => {
                let value = ConfigValue::Choice(self.id.clone());
                ("session/set_config_option", encode::set_config_option(at_agent, option, &value))
            }
            None => ("session/set_mode", encode::set_mode(at_agent, &self.id)),
        }
    }

    /// What the agent's answer to that says.
    pub(super) fn taken(&self, answer: &Payload) -> AgentChange {
        match results::read::<ConfigOptions>(answer) {
            options @ ConfigOptions { config_options: Some(_) } if self.option.is_some() => {
                AgentChange::OptionsSet(options)
            }
            _ => AgentChange::ModeSet(self.id.clone()),
        }
    }
}
