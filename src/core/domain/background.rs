//! A command that runs on while its agent does something else.
//!
//! Owns how long it may run, and the words for that in a question.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a command in the background may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Background {
    /// Until its turn ends, at the latest.
    Turn,
    /// Until it is stopped, or its session or its window is closed; by the user's word.
    Kept,
}

impl Background {
    /// The background that a word on the wire names.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "turn" => Some(Self::Turn),
            "kept" => Some(Self::Kept),
            _ => None,
        }
    }

    /// What whoever is asked has to know.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Turn => "It runs in the background and ends with the turn.",
            Self::Kept => {
                "It goes on running in the background after the turn, until you stop it or close this window."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_words_on_the_wire_are_those_that_are_read() {
        for background in [Background::Turn, Background::Kept] {
            let word = serde_json::to_value(background).unwrap();
            assert_eq!(Background::named(word.as_str().unwrap()), Some(background));
        }
        assert_eq!(Background::named("for ever"), None);
    }
}
