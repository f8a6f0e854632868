//! A decision on a permission request, as an engine is told it.

use serde_json::Value;

/// A decision on an ask: the option that was chosen, and what that means in words that every engine has.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineDecision {
    /// What it means.
    pub ruling: Ruling,
    /// The engine's id of the option; `None` where none was chosen, or none says no.
    pub option_id: Option<String>,
    /// What the user filled in, where the ask has an `input`.
    pub content: Option<Value>,
    /// Which part of an edit was made, although it is denied as a whole.
    pub part: Option<PartMade>,
}

impl EngineDecision {
    /// Whether the engine may do what it asked for.
    pub fn allows(&self) -> bool {
        self.ruling.allows()
    }
}

impl Ruling {
    /// Whether the engine may do what it asked for.
    pub fn allows(&self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowRule { .. } => true,
            Self::Deny | Self::DenyAndStop | Self::Cancelled => false,
        }
    }
}

impl From<Ruling> for EngineDecision {
    /// A ruling that needs no option.
    fn from(ruling: Ruling) -> Self {
        Self { ruling, option_id: None, content: None, part: None }
    }
}

/// What the server made of an edit that was accepted in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartMade {
    /// What stands in which file and what does not, for the engine.
    pub note: String,
    /// Whether anything was written; else no file was as it had to be.
    pub is_written: bool,
    /// What was decided on each change, for an engine that makes the accepted ones itself.
    pub hunks: Vec<HunkRuling>,
}

/// What was decided on one change of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkRuling {
    /// Its file.
    pub file_path: String,
    /// Its id, which is made of what it changes.
    pub id: String,
    /// Whether it may be made.
    pub accepted: bool,
    /// Its lines, where the user changed them first.
    pub content: Option<String>,
}

/// What a decision means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// This one time. Also for a rule that the server keeps, or that the agent keeps by the option's id.
    AllowOnce,
    /// And whatever the rule covers from now on, which the engine keeps.
    AllowRule {
        /// What the rule covers.
        pattern: String,
        /// Where it holds, in the engine's word.
        scope: String,
    },
    /// It is denied.
    Deny,
    /// No, and stop the turn: the only way to stop one that waits for this answer.
    DenyAndStop,
    /// Nobody decided: it was stopped, or its time was over.
    Cancelled,
}
