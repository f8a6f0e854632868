//! What an editor without our plugin asks by LSP alone, and what it is given: offers, hints, words to go on with.
//!
//! Owns these shapes, in the loop's words. Never spells them as LSP: `editor::plain` does.

use serde_json::Value;

use crate::domain::edits::overlay::Position;

/// What such an editor can do, as it announced it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlainAbilities {
    /// `window.showDocument`.
    pub show_document: bool,
    /// `workspace.codeLens.refreshSupport`.
    pub refresh_lenses: bool,
    /// `workspace.inlayHint.refreshSupport`.
    pub refresh_hints: bool,
}

/// A request of standard LSP.
#[derive(Debug, Clone, PartialEq)]
pub enum StandardRequest {
    /// `textDocument/codeAction`.
    Actions {
        /// Document.
        uri: String,
        /// First and last place.
        range: (Position, Position),
        /// What other servers say of that place.
        problems: Vec<String>,
    },
    /// `textDocument/codeLens`.
    Lenses {
        /// Document.
        uri: String,
    },
    /// `textDocument/inlayHint`.
    Hints {
        /// Document.
        uri: String,
    },
    /// `textDocument/completion`.
    Words {
        /// Document.
        uri: String,
        /// Where the cursor is.
        at: Position,
    },
    /// `workspace/executeCommand`.
    Execute {
        /// One of the commands that were announced.
        command: String,
        /// Its first argument.
        argument: Value,
    },
}

/// The answer to one.
#[derive(Debug, Clone, PartialEq)]
pub enum StandardAnswer {
    /// To `Actions` and `Lenses`.
    Offers(Vec<CommandOffer>),
    /// To `Hints`.
    Hints(Vec<StateHint>),
    /// To `Words`.
    Words(Vec<WordOffered>),
    /// To `Execute`: it was begun.
    Begun,
}

/// A command that the user may run.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandOffer {
    /// What the user reads.
    pub title: String,
    /// The command.
    pub command: &'static str,
    /// Its argument.
    pub argument: Value,
    /// Where it belongs.
    pub range: (Position, Position),
    /// What it is for.
    pub kind: OfferKind,
}

/// What an offer is for; editors sort and filter by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferKind {
    /// Mends or answers something.
    QuickFix,
    /// Asks the agent for a change.
    Rewrite,
    /// Anything else.
    Other,
}

/// How something stands, behind a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateHint {
    /// Position in the document.
    pub at: Position,
    /// Text that is shown there.
    pub text: String,
}

/// A word that may be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordOffered {
    /// What is inserted, with the character that began it.
    pub word: String,
    /// What is replaced.
    pub range: (Position, Position),
    /// One line about it.
    pub detail: Option<String>,
    /// What it is.
    pub kind: WordKind,
    /// What was typed: the editor is not to sort these out again.
    pub typed: String,
}

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// A command of the engine.
    Command,
    /// A file.
    File,
    /// A folder.
    Folder,
    /// Something in a file.
    Symbol,
}
