//! The four slash commands that are ours (R002-96 to -99): what each adds to the context, and what it asks of an engine.
//!
//! Owns their names and sets. A command of the same name that the engine has itself goes before: then nothing here applies.

use serde::{Deserialize, Serialize};

use super::kind::ContextKind;

/// A command of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlashSet {
    /// `/fix`.
    Fix,
    /// `/test`.
    Test,
    /// `/explain`.
    Explain,
    /// `/refactor`.
    Refactor,
}

impl SlashSet {
    /// All of them, with a sentence for a menu.
    pub const ALL: [Self; 4] = [Self::Fix, Self::Test, Self::Explain, Self::Refactor];

    /// Its name, without the slash.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Test => "test",
            Self::Explain => "explain",
            Self::Refactor => "refactor",
        }
    }

    /// With the slash, as `context.command` has it (ruling 11).
    pub fn slashed(self) -> &'static str {
        match self {
            Self::Fix => "/fix",
            Self::Test => "/test",
            Self::Explain => "/explain",
            Self::Refactor => "/refactor",
        }
    }

    /// The command of this name, with its slash or without it (ruling 11).
    pub fn named(name: &str) -> Option<Self> {
        let name = name.strip_prefix('/').unwrap_or(name);
        Self::ALL.into_iter().find(|set| set.name() == name)
    }

    /// The command that a prompt begins with, and the rest of it.
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let text = text.trim();
        let rest = text.strip_prefix('/')?;
        let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let set = Self::ALL.into_iter().find(|set| set.name() == name)?;
        Some((set, rest.trim()))
    }

    /// What it asks for, as an instruction.
    pub fn instruction(self) -> &'static str {
        match self {
            Self::Fix => "Find out what is wrong here and fix it.",
            Self::Test => "Write tests for this, or mend the ones that there are.",
            Self::Explain => "Explain this.",
            Self::Refactor => "Improve how this is written without changing what it does.",
        }
    }

    /// The prompt in words, for an engine that has no such command.
    pub(crate) fn spelled_out(self, rest: &str) -> String {
        match rest {
            "" => self.instruction().to_owned(),
            rest => format!("{}\n\n{rest}", self.instruction()),
        }
    }

    /// What it adds to what always goes.
    pub fn adds(self) -> &'static [ContextKind] {
        match self {
            Self::Fix => &[ContextKind::Diagnostics, ContextKind::Terminal, ContextKind::Diff],
            Self::Test => &[ContextKind::Test, ContextKind::Source, ContextKind::Terminal],
            Self::Explain => &[ContextKind::Scope],
            Self::Refactor => &[ContextKind::Import, ContextKind::Dependent],
        }
    }

    /// Whether nothing else goes (R002-98).
    pub(crate) fn goes_alone(self) -> bool {
        self == Self::Explain
    }

    /// Whether the text of the file in front of the user goes, and not only its name.
    pub fn takes_whole_file(self) -> bool {
        match self {
            Self::Fix | Self::Test | Self::Refactor => true,
            Self::Explain => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r002_41_a_command_is_known_with_its_slash_and_at_the_beginning_only() {
        assert_eq!(SlashSet::read("/fix"), Some((SlashSet::Fix, "")));
        assert_eq!(SlashSet::read("  /test\nthe parser "), Some((SlashSet::Test, "the parser")));
        for other in ["fix", "/fixed", "/fix/it", "please /fix", "/", "", "//fix"] {
            assert_eq!(SlashSet::read(other), None, "{other:?}");
        }
        assert_eq!(SlashSet::named("fix"), Some(SlashSet::Fix));
        assert_eq!(SlashSet::named("/fix").map(SlashSet::slashed), Some("/fix"));
    }

    #[test]
    fn an_engine_without_the_command_gets_words() {
        assert_eq!(
            SlashSet::Fix.spelled_out("the login"),
            "Find out what is wrong here and fix it.\n\nthe login"
        );
        assert_eq!(SlashSet::Explain.spelled_out(""), "Explain this.");
    }
}
