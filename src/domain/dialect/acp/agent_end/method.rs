//! The methods, by who calls them.
//!
//! Owns their names alone.

pub(crate) use super::super::decode::{CANCEL as CANCEL_REQUEST, PROMPT, UPDATE};

/// The client says hello.
pub(crate) const INITIALIZE: &str = "initialize";
/// It logs in.
pub(crate) const AUTHENTICATE: &str = "authenticate";
/// A session is made.
pub(crate) const NEW: &str = "session/new";
/// A session is opened and its history told again.
pub(crate) const LOAD: &str = "session/load";
/// A session is opened, and nothing is told again.
pub(crate) const RESUME: &str = "session/resume";
/// Sessions are listed.
pub(crate) const LIST: &str = "session/list";
/// The client lets a session go.
pub(crate) const CLOSE: &str = "session/close";
/// A session is deleted.
pub(crate) const DELETE: &str = "session/delete";
/// The turn is stopped; a notification.
pub(crate) const CANCEL: &str = "session/cancel";
/// The mode is set.
pub(crate) const SET_MODE: &str = "session/set_mode";
/// An option is set.
pub(crate) const SET_OPTION: &str = "session/set_config_option";
/// We ask for permission.
pub(crate) const ASK: &str = "session/request_permission";
/// We read a file as the client's editor has it.
pub(crate) const READ_FILE: &str = "fs/read_text_file";
/// We write a file through the client's editor.
pub(crate) const WRITE_FILE: &str = "fs/write_text_file";
