//! The mode that a session of an agent begins in, so that it asks before it edits and runs; and what is said of modes.
//!
//! Many agents begin in a mode in which they ask nobody. Whenever a session is opened, and before anything is sent to it, it
//! is put into the mode of the setting. Owns these steps and the sentences about what an agent does without asking. A mode
//! that the user chooses in an open session stays: `commands`.

use std::time::Duration;

use super::agent::Agent;
use super::agents::StartMode;
use super::modes::ModeChange;
use super::own_request::OwnRequest;
use super::sentence::one_line;
use super::session::{ModeWarning, Session, State};
use crate::domain::dialect::acp::decode::AcpError;
use crate::domain::payload::Payload;

/// How long a change of the mode may take.
const CHANGE: Duration = Duration::from_secs(30);

impl Agent {
    /// The agent opened the session; `first`: nothing of it was told here before. `true` when it was asked for another mode,
    /// and nothing may be sent until it answers.
    pub(super) fn prepares(&mut self, session_id: &str, first: bool) -> bool {
        let Some(session) = self.sessions.get_mut(session_id) else { return false };
        let chosen = session.mode_asked.take();
        let wanted = match &self.line.mode {
            StartMode::OfTheAgent => return false,
            StartMode::Asking(None) => {
                if first {
                    self.asks_as_it_likes(session_id);
                }
                return false;
            }
            StartMode::Asking(Some(mode)) | StartMode::Named(mode) => mode.clone(),
        };
        let modes = session.mode();
        let Some(modes) = modes.filter(|modes| modes.offers(&wanted)) else {
            if first {
                self.has_no_such_mode(session_id, &wanted);
            }
            return false;
        };
        let name = one_line(modes.name(&wanted));
        session.mode_asked = Some(wanted.clone());
        if chosen.is_some_and(|chosen| chosen != wanted) {
            let text = format!(
                "The agent `{}` opened this session again, and it is in the mode “{name}” as at its beginning; choose \
                 another one if you want it.",
                self.name()
            );
            self.notice(session_id, "info", text);
        }
        if modes.current == wanted {
            return false;
        }
        let Some(session) = self.sessions.get_mut(session_id) else { return false };
        let Some(at_agent) = session.at_agent.clone() else { return false };
        if session.state == State::Open {
            session.state = State::Preparing;
        }
        let change = modes.change_to(&wanted);
        let (method, params) = change.request(&at_agent);
        let asked = OwnRequest::StartMode { session_id: session_id.to_owned(), mode: Box::new(change) };
        self.ask(method, &params, asked, Some(CHANGE));
        true
    }

    /// The agent took that mode, or did not. What waited for it goes out in either case: the user is told.
    pub(super) fn start_mode_answered(
        &mut self,
        session_id: &str,
        mode: &ModeChange,
        outcome: Result<Payload, AcpError>,
    ) {
        match outcome {
            Ok(answer) => self.changed(session_id, mode.taken(&answer), None),
            Err(error) => {
                let text = format!(
                    "The agent `{}` did not take the mode `{}` ({}), so it may edit files and run commands without asking; \
                     choose a mode of it before you go on.",
                    self.name(),
                    mode.id,
                    one_line(&error.message)
                );
                self.notice(session_id, "warning", text);
            }
        }
        let Some(session) = self.sessions.get_mut(session_id) else { return self.end_if_idle() };
        if session.state == State::Preparing {
            session.state = State::Open;
            self.now_open(session_id);
        } else {
            self.end_if_idle();
        }
    }

    /// The agent told of another mode. Where nobody here asked for it, the user hears of it.
    pub(super) fn mode_changed(&mut self, session_id: &str) {
        let Some(session) = self.sessions.get(session_id) else { return };
        let Some(modes) = session.mode().filter(|_| session.state.is_open()) else { return };
        if session.mode_asked.as_ref() == Some(&modes.current) {
            return;
        }
        let (name, mode) = (self.name(), one_line(modes.name(&modes.current)));
        let asks = matches!(&self.line.mode, StartMode::Asking(Some(asks)) if *asks == modes.current);
        let (level, text) = if asks {
            ("info", format!("The agent `{name}` changed to its mode “{mode}” by itself."))
        } else {
            (
                "warning",
                format!(
                    "The agent `{name}` changed to its mode “{mode}” by itself and may edit and run there without asking; \
                     choose another mode if you do not want that."
                ),
            )
        };
        self.notice(session_id, level, text);
    }

    fn asks_as_it_likes(&mut self, session_id: &str) {
        let text = format!(
            "The agent `{}` may edit files and run commands without asking; what it asks is up to its own settings.",
            self.name()
        );
        self.warns_of_mode(session_id, ModeWarning { level: "info", text });
    }

    /// Says it with the first prompt: until then the user may choose a mode.
    fn warns_of_mode(&mut self, session_id: &str, warning: ModeWarning) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.mode_warning = Some(warning);
        }
    }

    /// The user chose the mode that the session works in.
    pub(super) fn mode_is_chosen(&mut self, session_id: &str) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.mode_warning = None;
        }
    }

    /// The first prompt goes out.
    pub(super) fn tell_mode(&mut self, session_id: &str) {
        let session = self.sessions.get_mut(session_id);
        if let Some(ModeWarning { level, text }) = session.and_then(|session| session.mode_warning.take()) {
            self.notice(session_id, level, text);
        }
    }

    fn has_no_such_mode(&mut self, session_id: &str, wanted: &str) {
        let modes = self.sessions.get(session_id).and_then(Session::mode);
        let has = modes.map_or("it names none".to_owned(), |modes| format!("it has {}", modes.ids()));
        let text = format!(
            "The agent `{}` has no mode `{wanted}` ({has}), so it may edit files and run commands without asking; what it \
             asks is up to its own settings.",
            self.name()
        );
        self.warns_of_mode(session_id, ModeWarning { level: "warning", text });
    }
}
