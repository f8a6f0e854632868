//! A sentence for the user, and how loud it is.
//!
//! Owns the levels, and what can be done about it beside it. Never words anything: whoever makes a notice does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::remedy::Remedy;

/// A sentence and how loud it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How loud.
    pub level: NoticeLevel,
    /// One sentence.
    pub text: String,
    /// What can be done about it.
    pub remedy: Remedy,
}

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    /// For information.
    Info,
    /// To be seen.
    Warning,
    /// Something failed.
    Error,
}

impl Notice {
    /// A sentence.
    pub fn new(level: NoticeLevel, text: impl Into<String>) -> Self {
        Self { level, text: text.into(), remedy: Remedy::default() }
    }

    /// The same, with what can be done about it.
    pub fn with(self, remedy: Remedy) -> Self {
        Self { remedy, ..self }
    }
}
