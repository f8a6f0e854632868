//! The modes of our own agent: what a session's turns may do.
//!
//! Owns their names and what each is. That a mode is kept to is the agent's, whose tools are fewer in some.

use serde::{Deserialize, Serialize};

use super::dialect::acp::results::{SessionMode, SessionModes};

/// A mode of our own agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentMode {
    /// It looks and answers.
    Ask,
    /// It looks and plans.
    Plan,
    /// It does what is wanted; each change and command asks.
    #[default]
    Agent,
}

impl AgentMode {
    const ALL: [Self; 3] = [Self::Ask, Self::Plan, Self::Agent];

    /// Its id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Plan => "plan",
            Self::Agent => "agent",
        }
    }

    /// The mode of this id.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == id)
    }

    fn told(self) -> SessionMode {
        let (name, description) = match self {
            Self::Ask => ("Ask", "Looks at the code and answers; changes and runs nothing."),
            Self::Plan => ("Plan", "Looks at the code and plans; changes and runs nothing."),
            Self::Agent => ("Agent", "Works on the code; each change and each command asks you."),
        };
        SessionMode {
            id: self.as_str().to_owned(),
            name: name.to_owned(),
            description: Some(description.to_owned()),
        }
    }

    /// All modes, this one in use, as those of agents are told.
    pub fn modes(self) -> SessionModes {
        SessionModes {
            current_mode_id: self.as_str().to_owned(),
            available_modes: Self::ALL.into_iter().map(Self::told).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_found_by_its_id_and_one_is_in_use() {
        let modes = AgentMode::default().modes();
        let found: Vec<_> = modes.available_modes.iter().map(|mode| AgentMode::named(&mode.id)).collect();
        assert_eq!(found, AgentMode::ALL.map(Some));
        assert_eq!((modes.current_mode_id.as_str(), AgentMode::named("code")), ("agent", None));
    }
}
