//! The answer that was given to an ask, as its card keeps it.
//!
//! Owns which option was chosen and which rule came of it. Absent where nobody here chose: a rule, the time, a stop or the engine
//! settled it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{OfferedRule, RuleHolder, RuleScope};

/// The option that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChosenOption {
    /// Its id, as the options of the request have it.
    pub option_id: String,
    /// What its button said.
    pub label: String,
    /// The rule that was saved with it, as it was narrowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<ChosenRule>,
}

/// A rule that was saved with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChosenRule {
    /// What it covers; what would not be seen in it is written out.
    pub pattern: String,
    /// Where it holds; absent where only its holder knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RuleScope>,
    /// Who keeps it.
    pub holder: RuleHolder,
    /// Name of the agent, or kind of the engine, that keeps it and is the only one to take it back; absent where this server does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
    /// Path of the file in the workspace in which its holder keeps it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
}

impl ChosenRule {
    /// A rule of an ask of this source, as it was saved.
    pub fn of(rule: &OfferedRule, source: &str) -> Self {
        let OfferedRule { pattern, scope, holder, kept_in } = rule.shown();
        let kept_by = (holder != RuleHolder::Server).then(|| source.to_owned());
        Self { pattern, scope, holder, kept_by, kept_in }
    }
}
