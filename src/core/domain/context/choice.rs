//! What a user, or his client, wants with a prompt: more than goes by itself, or less.
//!
//! Owns that choice and which things are looked for on it. Never looks for one.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::{ContextItem, ContextKind};
use super::mention::{PromptMention, mentions};
use super::slash::SlashSet;
use crate::domain::mcp::PromptCall;

/// Names of things in one prompt that count. A prompt that names more is a list, and no longer says what matters.
const MOST_MENTIONS: usize = 32;

/// What is taken away from the context of a prompt, and what is added to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextChoice {
    /// Ids of things that do not go, as a preview gives them; a kind takes away all of that kind; `*` takes away everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// What goes besides: a kind (`git`, `diff`, `terminal`, ...) or a mention without its `@`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
}

impl ContextChoice {
    /// Whether this thing goes.
    pub fn takes(&self, item: &ContextItem) -> bool {
        let id = item.id();
        !self.excludes(item.kind) && !self.exclude.contains(&id)
    }

    fn excludes(&self, kind: ContextKind) -> bool {
        self.exclude.iter().any(|given| given == "*" || given == kind.as_str())
    }
}

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WantedContext {
    /// Kinds that are looked for where there are any.
    pub kinds: BTreeSet<ContextKind>,
    /// Things that are named.
    pub mentions: Vec<PromptMention>,
    /// The command of ours that the prompt begins with.
    pub command: Option<SlashSet>,
    /// The prompt of a tool server that it begins with.
    pub served: Option<PromptCall>,
    /// What is left out of what is found.
    pub choice: ContextChoice,
}

/// Whether an editor can tell us what is in front of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditorTells {
    /// It answers `bb/context/provide`.
    Everything,
    /// It speaks LSP only: what is open is known, and what goes with a prompt is what the prompt names.
    OpenDocuments,
}

/// What goes without a word (R002-95): the file in front, what is marked in it, problems, open files; and the branch.
const ALWAYS: [ContextKind; 5] = [
    ContextKind::ActiveEditor,
    ContextKind::Selection,
    ContextKind::Diagnostics,
    ContextKind::OpenEditors,
    ContextKind::Git,
];

/// What is looked for with this prompt; `None`: nothing. `own` says whether the engine has a command of this name itself.
pub fn wanted(
    text: &str,
    choice: Option<&ContextChoice>,
    editor: EditorTells,
    own: impl Fn(&str) -> bool,
) -> Option<WantedContext> {
    let command = SlashSet::read(text).map(|(set, _)| set).filter(|set| !own(set.name()));
    let mut kinds = BTreeSet::new();
    if editor == EditorTells::Everything || choice.is_some() {
        kinds.extend(ALWAYS);
    }
    if let Some(set) = command {
        if set.goes_alone() {
            kinds = BTreeSet::from([ContextKind::Selection]);
        } else {
            kinds.extend(ALWAYS);
        }
        kinds.extend(set.adds());
    }
    let mut named = mentions(text);
    let choice = choice.cloned().unwrap_or_default();
    for given in &choice.include {
        match kind_named(given) {
            Some(kind) => drop(kinds.insert(kind)),
            None => named.extend(PromptMention::read(given)),
        }
    }
    named.truncate(MOST_MENTIONS);
    for mention in &named {
        kinds.extend(mention.kind());
    }
    named.retain(|mention| mention.kind().is_none());
    kinds.retain(|kind| !choice.excludes(*kind));
    if choice.exclude.iter().any(|given| given == "*") {
        named.clear();
    }
    if kinds.is_empty() && named.is_empty() && command.is_none() {
        return None;
    }
    Some(WantedContext { kinds, mentions: named, command, served: None, choice })
}

/// A kind by its word on the wire, of those that need no name.
fn kind_named(word: &str) -> Option<ContextKind> {
    use ContextKind::{
        ActiveEditor, Dependent, Diagnostics, Diff, Git, Import, OpenEditors, Scope, Selection, Source,
        Terminal, Test,
    };
    [
        ActiveEditor,
        Selection,
        Scope,
        Diagnostics,
        Terminal,
        Diff,
        Git,
        OpenEditors,
        Test,
        Source,
        Import,
        Dependent,
    ]
    .into_iter()
    .find(|kind| kind.as_str() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, choice: Option<ContextChoice>, editor: EditorTells) -> Option<Vec<&'static str>> {
        let wanted = wanted(text, choice.as_ref(), editor, |_| false)?;
        Some(wanted.kinds.into_iter().map(ContextKind::as_str).collect())
    }

    #[test]
    fn r002_95_what_goes_without_a_word() {
        let always = vec!["selection", "diagnostics", "active_editor", "git", "open_editors"];
        assert_eq!(kinds("hello", None, EditorTells::Everything), Some(always.clone()));
        assert_eq!(kinds("hello", Some(ContextChoice::default()), EditorTells::OpenDocuments), Some(always));
        assert_eq!(kinds("hello", None, EditorTells::OpenDocuments), None);
    }

    #[test]
    fn r002_96_97_98_99_each_command_adds_its_set_and_explain_takes_the_rest_away() {
        let set = |text| kinds(text, None, EditorTells::Everything).unwrap_or_default();
        assert!(["diagnostics", "terminal", "diff"].iter().all(|kind| set("/fix it").contains(kind)));
        assert!(["test", "source", "terminal"].iter().all(|kind| set("/test").contains(kind)));
        assert_eq!(set("/explain"), ["selection", "scope"]);
        assert!(["active_editor", "import", "dependent"].iter().all(|kind| set("/refactor").contains(kind)));
    }

    #[test]
    fn a_command_that_the_engine_has_itself_is_the_engines() {
        let wanted = wanted("/fix", None, EditorTells::OpenDocuments, |name| name == "fix");
        assert_eq!(wanted, None);
    }

    #[test]
    fn what_is_taken_away_does_not_go_and_what_is_added_does() {
        let choice = ContextChoice {
            exclude: vec!["git".to_owned(), "open_editors".to_owned()],
            include: vec!["diff".to_owned(), "src/a.rs".to_owned(), "@symbol:Door".to_owned()],
        };
        let wanted = wanted("look at @problems", Some(&choice), EditorTells::Everything, |_| false).unwrap();
        let kinds: Vec<_> = wanted.kinds.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(kinds, ["selection", "diagnostics", "diff", "active_editor"]);
        assert_eq!(
            wanted.mentions,
            [
                PromptMention::Path { path: "src/a.rs".to_owned(), lines: None },
                PromptMention::Symbol("Door".to_owned()),
            ]
        );
        let nothing = ContextChoice { exclude: vec!["*".to_owned()], include: Vec::new() };
        assert_eq!(super::wanted("see @a.rs", Some(&nothing), EditorTells::Everything, |_| false), None);
    }
}
