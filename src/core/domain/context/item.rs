//! One thing that goes with a prompt, and all of them.
//!
//! Owns what is said of each to a person (`ContextChip`) and kept of it whole (`ContextItem`). Never decides what goes: that is
//! `choice` and `budget`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::kind::ContextKind;
use super::shape::UserContext;
use super::slash::SlashSet;

/// One thing that goes with a prompt, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextItem {
    /// What it is.
    pub kind: ContextKind,
    /// What a person reads of it: a path with lines, a name, a count.
    pub label: String,
    /// Where it lies, where it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its text; without, the engine is told of the file only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text is that of a part of the file, or is not what is on disk, so that a link does not stand for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
}

/// The same as a person sees it beside a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextChip {
    /// Names it in `exclude`: the kind, and for one of several `kind:label`.
    pub id: String,
    /// What it is.
    pub kind: ContextKind,
    /// What a person reads of it.
    pub label: String,
    /// Where it lies, where it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Bytes of text that go; 0 for a mere link.
    pub bytes: u64,
}

impl ContextItem {
    /// Names it in `exclude`.
    pub fn id(&self) -> String {
        if self.kind.is_one_of_many() {
            format!("{}:{}", self.kind.as_str(), self.label)
        } else {
            self.kind.as_str().to_owned()
        }
    }

    /// Bytes of its text.
    pub fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, String::len)
    }

    /// As a person sees it.
    pub fn chip(&self) -> ContextChip {
        ContextChip {
            id: self.id(),
            kind: self.kind,
            label: self.label.clone(),
            uri: self.uri.clone(),
            bytes: self.bytes() as u64,
        }
    }
}

/// Everything that goes with one prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptContext {
    /// The slash command of ours that the prompt begins with.
    pub command: Option<SlashSet>,
    /// What goes, most important first.
    pub items: Vec<ContextItem>,
    /// What was left out and why, one sentence each.
    pub notes: Vec<String>,
    /// The same in the words of the desktop protocol.
    pub shape: UserContext,
    /// What a tool server wrote in place of its command, which the prompt begins with.
    #[serde(default)]
    pub served: Option<String>,
    /// Why the prompt cannot go: what it begins with could not be had.
    #[serde(default)]
    pub failure: Option<String>,
}

impl PromptContext {
    /// Whether there is nothing to tell an engine.
    pub fn is_empty(&self) -> bool {
        self.command.is_none() && self.items.is_empty()
    }

    /// As a person sees it.
    pub fn chips(&self) -> Vec<ContextChip> {
        self.items.iter().map(ContextItem::chip).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn item(kind: ContextKind, label: &str, text: Option<&str>) -> ContextItem {
        ContextItem {
            kind,
            label: label.to_owned(),
            uri: Some(format!("file:///w/{label}")),
            text: text.map(str::to_owned),
            is_part: false,
        }
    }

    #[test]
    fn a_thing_is_named_by_its_kind_and_one_of_several_by_its_label_too() {
        assert_eq!(item(ContextKind::Selection, "a.rs:3-4", None).id(), "selection");
        assert_eq!(
            item(ContextKind::File, "a.rs", Some("xy")).chip(),
            ContextChip {
                id: "file:a.rs".to_owned(),
                kind: ContextKind::File,
                label: "a.rs".to_owned(),
                uri: Some("file:///w/a.rs".to_owned()),
                bytes: 2,
            }
        );
    }
}
