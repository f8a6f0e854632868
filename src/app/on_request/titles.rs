//! `bb/session/rename` and `bb/session/pin`: what a session is called, and where it stands.
//!
//! Owns what a title may be. A title that somebody gave is not made anew from a prompt: that is done only where there is none.

use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::request::{
    SessionPinParams, SessionPinResult, SessionRenameParams, SessionRenameResult,
};

/// Characters of a title: more is a text, and lists show its beginning only.
const LONGEST: usize = 200;

impl App {
    pub(in crate::app) fn rename_session(
        &mut self,
        params: SessionRenameParams,
    ) -> Result<SessionRenameResult, CodedError> {
        let SessionRenameParams { session_id, title } = params;
        let title = title_in(&title).ok_or_else(|| {
            CodedError::new(
                ErrorCode::InvalidParams,
                "The title is blank; give the session a name of at least one letter.",
            )
        })?;
        self.load(&session_id)?;
        self.record_mut(&session_id)?.title = Some(title.clone());
        self.flush(&session_id);
        self.state_changed = true;
        Ok(SessionRenameResult { session_id, title })
    }

    pub(in crate::app) fn pin_session(
        &mut self,
        params: SessionPinParams,
    ) -> Result<SessionPinResult, CodedError> {
        let SessionPinParams { session_id, pinned } = params;
        self.load(&session_id)?;
        self.record_mut(&session_id)?.pinned = pinned;
        self.flush(&session_id);
        self.state_changed = true;
        Ok(SessionPinResult { session_id, pinned })
    }
}

/// The title on one line, without what no line shows.
fn title_in(text: &str) -> Option<String> {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let title: String = line.trim().chars().take(LONGEST).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::title_in;

    #[test]
    fn a_title_is_one_line_with_something_on_it() {
        assert_eq!(title_in("  The retries\nof uploads ").as_deref(), Some("The retries of uploads"));
        assert_eq!(title_in(" \n\t"), None);
        assert_eq!(title_in(&"x".repeat(300)).map(|title| title.len()), Some(200));
    }
}
