//! The methods, by who calls them.
//!
//! Owns their names alone.

pub use super::super::decode::{CANCEL as CANCEL_REQUEST, PROMPT, UPDATE};

/// The client says hello.
pub const INITIALIZE: &str = "initialize";
/// It logs in.
pub const AUTHENTICATE: &str = "authenticate";
/// A session is made.
pub const NEW: &str = "session/new";
/// A session is opened and its history told again.
pub const LOAD: &str = "session/load";
/// A session is opened, and nothing is told again.
pub const RESUME: &str = "session/resume";
/// Sessions are listed.
pub const LIST: &str = "session/list";
/// The client lets a session go.
pub const CLOSE: &str = "session/close";
/// A session is deleted.
pub const DELETE: &str = "session/delete";
/// The turn is stopped; a notification.
pub const CANCEL: &str = "session/cancel";
/// The mode is set.
pub const SET_MODE: &str = "session/set_mode";
/// An option is set.
pub const SET_OPTION: &str = "session/set_config_option";
/// We ask for permission.
pub const ASK: &str = "session/request_permission";
/// We read a file as the client's editor has it.
pub const READ_FILE: &str = "fs/read_text_file";
/// We write a file through the client's editor.
pub const WRITE_FILE: &str = "fs/write_text_file";
