//! The context of a prompt as text, for an engine that takes nothing else.
//!
//! Owns its form: below the words of the user, each thing with its name and in a fence that it cannot end. Never shown in a
//! transcript: there the words stand as they were typed.

use super::item::{ContextItem, ContextKind, PromptContext};
use super::slash::SlashSet;

impl PromptContext {
    /// The words for an engine that has no slash commands of ours: an instruction in place of the command.
    pub fn words(&self, typed: &str) -> String {
        if let Some(served) = &self.served {
            return served.clone();
        }
        match (self.command, SlashSet::read(typed)) {
            (Some(set), Some((_, rest))) => set.spelled_out(rest),
            (_, _) => typed.to_owned(),
        }
    }

    /// What `/explain` asks about, as a question that names it: for an answer that is looked up by name.
    pub fn question_of(&self, words: &str) -> Option<String> {
        let asks = self.command == Some(SlashSet::Explain) && words == SlashSet::Explain.instruction();
        let named = |item: &&ContextItem| matches!(item.kind, ContextKind::Scope | ContextKind::Selection);
        let item = self.items.iter().find(named).filter(|_| asks)?;
        let path = || item.label.rsplit_once(':').map_or(item.label.as_str(), |(path, _)| path);
        let name = item.label.split_once(" (").map_or_else(path, |(name, _)| name);
        Some(format!("explain {name}"))
    }

    /// All of it as one text; empty where there is nothing.
    pub fn as_text(&self) -> String {
        if self.items.is_empty() {
            return String::new();
        }
        let items: Vec<String> = self.items.iter().map(ContextItem::as_text).collect();
        format!(
            "Context from the editor (added by breadboard-ls, not typed by the user):\n\n{}",
            items.join("\n\n")
        )
    }

    /// The same for an engine that tells every client what was asked: the words as they were typed, and what a command of ours means
    /// below them.
    pub fn with_typed_words(&self, typed: &str) -> String {
        let words = match self.command {
            _ if self.served.is_some() => {
                format!("{typed}\n\n{}", self.served.as_deref().unwrap_or_default())
            }
            Some(set) => format!("{typed}\n\n(`{}`: {})", set.slashed(), set.instruction()),
            None => typed.to_owned(),
        };
        self.with_words(&words)
    }

    /// Words and context in one text.
    pub fn with_words(&self, words: &str) -> String {
        match self.as_text() {
            text if text.is_empty() => words.to_owned(),
            text => format!("{words}\n\n{text}"),
        }
    }
}

impl ContextItem {
    /// What it is, for a model.
    pub fn title(&self) -> String {
        let label = &self.label;
        match self.kind {
            ContextKind::File => format!("File `{label}`"),
            ContextKind::Symbol => format!("Definition `{label}`"),
            ContextKind::Folder => format!("Folder `{label}`"),
            ContextKind::Resource => format!("Resource `{label}`"),
            ContextKind::Selection => format!("Selected in the editor: `{label}`"),
            ContextKind::Scope => format!("Around the cursor: `{label}`"),
            ContextKind::Diagnostics => format!("Problems ({label})"),
            ContextKind::Terminal => format!("Last command in the terminal: `{label}`"),
            ContextKind::Diff => format!("Changes that are not committed ({label})"),
            ContextKind::ActiveEditor => format!("File in front of the user: `{label}`"),
            ContextKind::Test => format!("Test `{label}`"),
            ContextKind::Source => format!("Tested file `{label}`"),
            ContextKind::Import => format!("Used by the file in front: `{label}`"),
            ContextKind::Dependent => format!("Uses the file in front: `{label}`"),
            ContextKind::Git => format!("Repository ({label})"),
            ContextKind::OpenEditors => format!("Open in the editor ({label})"),
        }
    }

    /// Title and text.
    pub fn as_text(&self) -> String {
        match &self.text {
            None => self.title(),
            Some(text) => {
                let fence = fence_for(text);
                let end = if text.ends_with('\n') { "" } else { "\n" };
                format!("{}:\n{fence}\n{text}{end}{fence}", self.title())
            }
        }
    }
}

/// A code fence longer than any in the text.
fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::super::item::tests::item;
    use super::*;

    #[test]
    fn words_stand_first_and_no_text_ends_its_fence() {
        let context = PromptContext {
            command: Some(SlashSet::Fix),
            items: vec![
                item(ContextKind::Selection, "a.md:1-3", Some("```\nx\n```")),
                item(ContextKind::ActiveEditor, "a.md", None),
            ],
            ..PromptContext::default()
        };
        assert_eq!(
            context.with_words(&context.words("/fix it")),
            "Find out what is wrong here and fix it.\n\nit\n\n\
             Context from the editor (added by breadboard-ls, not typed by the user):\n\n\
             Selected in the editor: `a.md:1-3`:\n````\n```\nx\n```\n````\n\n\
             File in front of the user: `a.md`"
        );
        let none = PromptContext::default();
        assert_eq!(none.with_words(&none.words("/fix it")), "/fix it");
    }
}
