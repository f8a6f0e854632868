//! The kinds of things that go with a prompt.
//!
//! Owns their order and their words on the wire. Never holds one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a thing is, in the order in which things are kept when there is not room for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// A file that the prompt names, or some lines of it.
    File,
    /// A definition that the prompt names.
    Symbol,
    /// The names in a folder that the prompt names.
    Folder,
    /// A resource of a tool server that the prompt names.
    Resource,
    /// What is marked in the editor.
    Selection,
    /// The definition around the cursor.
    Scope,
    /// Problems.
    Diagnostics,
    /// The last command in the editor's terminal.
    Terminal,
    /// What is not committed.
    Diff,
    /// The file in front of the user.
    ActiveEditor,
    /// A test of it.
    Test,
    /// What a test tests.
    Source,
    /// A file that it uses.
    Import,
    /// A file that uses it.
    Dependent,
    /// Branch, changed files and commits.
    Git,
    /// The files that are open.
    OpenEditors,
}

impl ContextKind {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Symbol => "symbol",
            Self::Folder => "folder",
            Self::Resource => "resource",
            Self::Selection => "selection",
            Self::Scope => "scope",
            Self::Diagnostics => "diagnostics",
            Self::Terminal => "terminal",
            Self::Diff => "diff",
            Self::ActiveEditor => "active_editor",
            Self::Test => "test",
            Self::Source => "source",
            Self::Import => "import",
            Self::Dependent => "dependent",
            Self::Git => "git",
            Self::OpenEditors => "open_editors",
        }
    }

    /// Whether there may be several, each named by what it is of.
    pub(super) fn is_one_of_many(self) -> bool {
        match self {
            Self::File
            | Self::Symbol
            | Self::Folder
            | Self::Resource
            | Self::Test
            | Self::Source
            | Self::Import
            | Self::Dependent => true,
            Self::Selection
            | Self::Scope
            | Self::Diagnostics
            | Self::Terminal
            | Self::Diff
            | Self::ActiveEditor
            | Self::Git
            | Self::OpenEditors => false,
        }
    }
}
