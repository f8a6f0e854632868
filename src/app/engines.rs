//! Which engine a session belongs to: the one that the settings name, or an agent beside it.
//!
//! Owns the engines, what is known of how they are reached, and the way from a session to its engine. Never keeps state of a
//! session.

use std::collections::BTreeMap;

use super::ports::{AgentProcess, Connectivity, Engine, EngineCall, EngineTraits, SessionHome};
use super::record::Record;
use super::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::Dialect;
use crate::protocol::settings::EngineKind;

/// The engines of this workspace.
pub(super) struct Engines {
    /// The one that the settings name, or why there is none.
    pub(super) main: Result<Box<dyn Engine>, CodedError>,
    /// Whether that one answers; `None` for one that needs no connection.
    pub(super) connectivity: Option<Connectivity>,
    /// The agents that stand beside an engine of another kind.
    pub(super) agents: Option<Box<dyn Engine>>,
    /// Agents that were used since the start, by name: one process each.
    pub(super) processes: BTreeMap<String, AgentProcess>,
}

/// None, until the settings are known.
impl Default for Engines {
    fn default() -> Self {
        Self {
            main: Err(CodedError::internal()),
            connectivity: None,
            agents: None,
            processes: BTreeMap::new(),
        }
    }
}

impl App {
    /// The engine of this kind, or why there is none. Agents are there beside whatever the settings name.
    pub(super) fn engine_for(&self, kind: EngineKind) -> Result<&dyn Engine, CodedError> {
        if kind == self.settings.engine.kind {
            return self.engines.main.as_deref().map_err(Clone::clone);
        }
        match (kind, &self.engines.agents) {
            (EngineKind::Acp, Some(agents)) => Ok(agents.as_ref()),
            _ => Err(CodedError::new(
                ErrorCode::Unsupported,
                "This session lives at another engine than the one in use; choose that engine, or create a new session.",
            )),
        }
    }

    /// The engine of a session.
    pub(super) fn engine_of(&self, session_id: &str) -> Result<&dyn Engine, CodedError> {
        self.engine_for(self.known(session_id)?.record.engine)
    }

    /// How the engine of a session works.
    pub(super) fn traits_of(&self, session_id: &str) -> EngineTraits {
        self.known(session_id).map(|session| self.traits_for(session.record.engine)).unwrap_or_default()
    }

    /// How an engine of this kind works.
    pub(super) fn traits_for(&self, kind: EngineKind) -> EngineTraits {
        self.engine_for(kind).map(|engine| engine.traits()).unwrap_or_default()
    }

    /// The dialect of a session's events.
    pub(super) fn dialect_of(&self, session_id: &str) -> Dialect {
        self.known(session_id).map_or(Dialect::Desktop, |session| session.record.engine.dialect())
    }

    /// Every engine that there is.
    pub(super) fn engines(&self) -> impl Iterator<Item = &dyn Engine> {
        self.engines.main.iter().chain(self.engines.agents.iter()).map(|engine| &**engine)
    }

    /// Hands a call to the engine of a session, or answers with the reason why there is none.
    pub(super) fn call_engine(&self, session_id: &str, call: EngineCall) {
        match self.engine_of(session_id) {
            Ok(engine) => engine.call(call),
            Err(error) => call.refuse(error),
        }
    }

    /// Whether this session lives at an engine that is in use, and more of it may come.
    pub(super) fn lives_at_engine(&self, record: &Record) -> bool {
        self.traits_for(record.engine).sessions.is_elsewhere()
            && self.is_ours(record)
            && record.held.as_ref().is_none_or(|held| held.over.is_none())
    }

    /// Whether this session lives at an engine that may be on another machine.
    pub(super) fn is_at_engine(&self, record: &Record) -> bool {
        self.traits_for(record.engine).sessions == SessionHome::Engine && self.lives_at_engine(record)
    }

    /// Whether the stream of this session can be followed.
    pub(super) fn is_followed(&self, record: &Record) -> bool {
        self.traits_for(record.engine).resume.is_followed() && self.lives_at_engine(record)
    }

    /// Whether this session belongs to the engine that is in use: an address tells apart two of one kind.
    pub(super) fn is_ours(&self, record: &Record) -> bool {
        record.engine == EngineKind::Acp
            || record.engine == self.settings.engine.kind
                && record.held.as_ref().is_none_or(|held| {
                    plain(held.origin.as_deref()) == plain(self.settings.engine.url.as_deref())
                })
    }
}

/// An address in one spelling.
fn plain(url: Option<&str>) -> Option<String> {
    let url = url?.trim();
    let one = url::Url::parse(url).map_or_else(|_| url.to_owned(), String::from);
    Some(one.trim_end_matches('/').to_owned())
}
