//! The context of a prompt on the wire: what an editor is asked for, and what a person is shown of it.
//!
//! Owns these shapes; what a context is made of is in `domain::context`. Never gathers one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::context::choice::ContextChoice;
use crate::domain::context::item::ContextChip;
use crate::domain::context::shape::UserContext;

/// Params of `bb/context/provide`. An editor that takes longer than 400 ms is not waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextProvideParams {
    /// What is wanted, of `active_editor`, `selection`, `visible_range`, `open_editors`, `diagnostics` and `terminal_output`. What
    /// is not wanted, or not known, is left out of the answer.
    pub wants: Vec<String>,
}

/// Params of `bb/context/preview`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextPreviewParams {
    /// Id of the session, where there is one.
    pub session_id: Option<String>,
    /// Id of a tab, whose session is meant.
    pub tab_id: Option<String>,
    /// What is typed so far: its mentions and its slash command count.
    pub text: Option<String>,
    /// What is taken away and added.
    pub context: Option<ContextChoice>,
}

/// Result of `bb/context/preview`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextPreviewResult {
    /// What would go with the prompt, most important first.
    pub items: Vec<ContextChip>,
    /// What would be left out and why, one sentence each.
    pub notes: Vec<String>,
    /// The same in the words of the desktop protocol (seed 002).
    pub context: UserContext,
}
