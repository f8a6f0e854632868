//! The names of the commands that an editor without our plugin can run (`workspace/executeCommand`).
//!
//! Owns the names. What each does is in `app::plain::commands`.

/// Sends the prompt of a chat document.
pub(crate) const SEND: &str = "breadboard.send";
/// Stops the turn of a chat.
pub(crate) const STOP: &str = "breadboard.stop";
/// Goes on with what the document could not show yet.
pub(crate) const SHOW: &str = "breadboard.showAnswer";
/// Opens a chat document.
pub(crate) const CHAT: &str = "breadboard.chat";
/// Asks: with a text at once, without one after the user typed it.
pub(crate) const ASK: &str = "breadboard.ask";
/// Asks what a place in a file does.
pub(crate) const EXPLAIN: &str = "breadboard.explain";
/// Asks to mend a place in a file.
pub(crate) const FIX: &str = "breadboard.fix";
/// Asks for tests of a place in a file.
pub(crate) const TEST: &str = "breadboard.test";
/// Sends the prompt in a comment.
pub(crate) const COMMENT: &str = "breadboard.sendComment";
/// Answers a permission request.
pub(crate) const ANSWER: &str = "breadboard.answer";
/// Decides on changes of a proposal.
pub(crate) const DECIDE: &str = "breadboard.decide";
/// Takes back what the last turn of a chat changed.
pub(crate) const UNDO: &str = "breadboard.undoTurn";

/// Makes an accepted change that the editor did not make, or leaves it out.
pub(crate) const MAKE: &str = "breadboard.makeChange";

/// All of them, as they are announced.
pub(crate) const COMMANDS: &[&str] =
    &[SEND, STOP, SHOW, CHAT, ASK, EXPLAIN, FIX, TEST, COMMENT, ANSWER, DECIDE, UNDO, MAKE];
