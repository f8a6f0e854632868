//! The option of a session that chooses its model.
//!
//! Owns how it is found among the others. Never sets it: `commands` does.

use crate::domain::dialect::acp::results::ConfigChoice;
use crate::domain::dialect::acp::state::AgentState;
use crate::protocol::request::ModelEntry;

/// The option of a session that chooses the model, where its agent has one.
pub(super) fn model_option(state: &AgentState) -> Option<ModelOption> {
    let options = state.config_options.as_ref()?;
    let option = options.iter().find(|option| option.category.as_deref() == Some("model"))?;
    let entry = |choice: &ConfigChoice| {
        let name = if choice.name.is_empty() { &choice.value } else { &choice.name };
        ModelEntry::named(choice.value.clone(), name.clone(), choice.group.clone())
    };
    Some(ModelOption {
        id: option.id.clone(),
        current: option.current_value.as_str().unwrap_or_default().to_owned(),
        models: option.options.iter().map(entry).collect(),
    })
}

/// The option of a session that chooses the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelOption {
    pub(super) id: String,
    pub(super) current: String,
    pub(super) models: Vec<ModelEntry>,
}

impl ModelOption {
    pub(super) fn offers(&self, model: &str) -> bool {
        self.models.iter().any(|entry| entry.id == model)
    }
}
