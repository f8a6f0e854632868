//! What engines say to the loop, per session in order.

use super::{
    AgentReport, ClientRequest, Connectivity, EngineCursor, EngineSession, ListedSessions, NewSession,
    SessionReply, StreamReport,
};
use crate::app::inbox::Reply;
use crate::domain::approval::MadeEdit;
use crate::domain::coded_error::CodedError;
use crate::domain::event::EngineEvent;
use crate::domain::remedy::Remedy;
use crate::domain::steps::TurnStep;
use crate::protocol::request::{DeleteSessionResult, ListSessionsResult};

/// Events of one report. Reports wait in a bounded queue, so this also bounds how many events do.
pub(crate) const EVENTS_A_REPORT: usize = 64;

/// Why a turn ended without the engine's own end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    /// One sentence.
    pub message: String,
    /// What can be done about it.
    pub remedy: Remedy,
}

impl TurnFailure {
    /// A failure, and what can be done about it.
    pub fn new(message: impl Into<String>, remedy: impl Into<Remedy>) -> Self {
        Self { message: message.into(), remedy: remedy.into() }
    }
}

impl From<String> for TurnFailure {
    fn from(message: String) -> Self {
        Self { message, remedy: Remedy::default() }
    }
}

impl From<&str> for TurnFailure {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<CodedError> for TurnFailure {
    fn from(error: CodedError) -> Self {
        let remedy = error.remedy();
        Self { message: error.message, remedy }
    }
}

/// What an engine says. Per session in order.
#[derive(Debug)]
pub enum EngineReport {
    /// One event.
    Said {
        /// Id of the session.
        session_id: String,
        /// The event.
        event: EngineEvent,
        /// The engine's place of it, where it has one.
        cursor: Option<EngineCursor>,
    },
    /// Some events that came together, in order; not more than `EVENTS_A_REPORT`.
    SaidMany {
        /// Id of the session.
        session_id: String,
        /// Each event with the engine's place of it, where it has one.
        events: Vec<(EngineEvent, Option<EngineCursor>)>,
    },
    /// Whether the engine answers at all: at the start, and whenever that changed or a try failed again.
    Connectivity(Connectivity),
    /// A session was made, or not.
    SessionMade {
        /// What was asked for.
        wish: NewSession,
        /// The session.
        outcome: Result<EngineSession, CodedError>,
        /// Who waits.
        reply: SessionReply,
    },
    /// The sessions that the engine holds.
    SessionsListed {
        /// What it lists.
        outcome: Result<ListedSessions, CodedError>,
        /// Where the answer goes.
        reply: Option<Reply<ListSessionsResult>>,
    },
    /// A session was deleted at the engine, or was not there any more, or could not be.
    SessionDeleted {
        /// Id of the session.
        session_id: String,
        /// The session was deleted, or why not.
        outcome: Result<(), CodedError>,
        /// Where the answer goes.
        reply: Reply<DeleteSessionResult>,
    },
    /// Something that the adapter noticed and the user should know, such as a silence: `local.notice`, and into the log.
    Noticed {
        /// Id of the session.
        session_id: String,
        /// `info`, `warning` or `error`.
        level: &'static str,
        /// One sentence.
        text: String,
        /// What can be done about it.
        remedy: Remedy,
    },
    /// A step of a turn was taken: journalled with what is said after it, and before anything that is wanted after it.
    Stepped {
        /// Id of the session.
        session_id: String,
        /// Which turn.
        turn: u64,
        /// The step.
        step: TurnStep,
    },
    /// What came of an edit that was allowed as a whole, of an engine whose edits are written here.
    EditMade {
        /// Id of the session.
        session_id: String,
        /// The engine's id of the request that was allowed.
        request_id: String,
        /// The edit that was made.
        made: MadeEdit,
    },
    /// A turn is over; always the last report of a turn.
    TurnEnded {
        /// Id of the session.
        session_id: String,
        /// Which turn.
        turn: u64,
        /// `Some` when it ended without the engine's own end.
        failure: Option<TurnFailure>,
        /// The engine was told to stop it before it ended, whatever it says of its end. Only of an engine whose own end may
        /// not say so.
        cancelled: bool,
    },
    /// What only engines say whose sessions are streams.
    Stream(StreamReport),
    /// What only agents say.
    Agent(AgentReport),
    /// A command that ran in the background is over, and that was said.
    BackgroundOver {
        /// Session.
        session_id: String,
        /// Its call.
        call_id: String,
    },
    /// The engine asks the editor's side to do something; the ask was allowed before.
    Wants {
        /// Id of the session.
        session_id: String,
        /// What the agent asks its client to do.
        want: ClientRequest,
    },
}

impl EngineReport {
    /// About how many bytes its events have: what there is to do with them.
    pub fn bytes(&self) -> usize {
        let of = |event: &EngineEvent| event.payload.raw().map_or(0, str::len);
        match self {
            Self::Said { event, .. } => of(event),
            Self::SaidMany { events, .. } => events.iter().map(|(event, _)| of(event)).sum(),
            _ => 0,
        }
    }

    /// What it counts for in one turn of the loop: the events in it, and one for any other news.
    pub fn events(&self) -> usize {
        if let Self::SaidMany { events, .. } = self { events.len() } else { 1 }
    }
}
