//! A chat as a text document, for editors that know nothing of us: `*.bb.md`, in which the user types and the answer streams.
//!
//! Owns what is a prompt in it, what an answer looks like, and when an editor is sent an edit. Never acts: what is in a document
//! is text until the user runs a command on it (decision 0024).

mod answer;
mod mention;
mod sections;
mod subject;
mod sync;

pub use answer::answer_of;
pub use mention::{Mention, best_paths, mention_at, symbol_typed};
pub use sections::{ChatText, Speaker};
pub use subject::whole_subject;
pub use sync::{ChatSync, ChatWait, NextEdit};

/// What the name of such a document ends with.
const ENDING: &str = ".bb.md";

/// Whether a URI is that of a chat document.
pub fn is_chat(uri: &str) -> bool {
    uri.ends_with(ENDING)
}
