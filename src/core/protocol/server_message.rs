//! What the server sends of its own accord: the one place that knows which messages there are.
//!
//! Owns the table. From it come the name that each is sent under, what is announced, `schemas/` and PROTOCOL.md, so a message
//! that is not here cannot be sent. Never knows when one is.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::ContextProvideParams;
use super::contract_row::{Direction, MethodRow};
use super::editor_request::{DocumentSaveParams, DocumentSaveResult};
use super::notification::{ConnectionParams, EventsParams, StateParams, ViewParams};
use super::tab::TabParams;
use super::terminal::{TerminalRunParams, TerminalRunResult};
use crate::domain::context::shape::UserContext;

/// A notification of the server, by its params.
pub trait ServerNotification: Serialize {
    /// LSP method name.
    const METHOD: &'static str;

    /// The params as JSON text. Made here, where it is built for speed: some are told with every batch of events.
    fn to_json(&self) -> Vec<u8>;
}

/// A request of the server that is ours and not standard LSP, by its params.
pub trait ServerRequest: Serialize {
    /// LSP method name.
    const METHOD: &'static str;
}

macro_rules! requests {
    ($($params:ty => $result:ty, $method:literal, $summary:literal;)*) => {
        $(impl ServerRequest for $params {
            const METHOD: &'static str = $method;
        })*

        fn request_rows() -> Vec<MethodRow> {
            vec![$(MethodRow {
                method: $method,
                direction: Direction::Asks,
                summary: $summary,
                refusals: &[],
                params: <$params>::json_schema,
                result: Some(<$result>::json_schema),
            },)*]
        }
    };
}

macro_rules! notifications {
    ($($params:ty, $method:literal, $summary:literal;)*) => {
        $(impl ServerNotification for $params {
            const METHOD: &'static str = $method;

            fn to_json(&self) -> Vec<u8> {
                // Our own types, whose serialisation cannot fail.
                serde_json::to_vec(self).unwrap_or_default()
            }
        })*

        /// Notifications that the server sends.
        pub const NOTIFICATIONS: &[&str] = &[$($method,)*];

        fn notification_rows() -> Vec<MethodRow> {
            vec![$(MethodRow {
                method: $method,
                direction: Direction::ToEditor,
                summary: $summary,
                refusals: &[],
                params: <$params>::json_schema,
                result: None,
            },)*]
        }
    };
}

requests! {
    TerminalRunParams => TerminalRunResult, "bb/terminal/run",
        "Has the editor run a command that the user, or a rule, allowed.";
    DocumentSaveParams => DocumentSaveResult, "bb/document/save",
        "Asks the editor to save a document, with the hooks that it has. Needs `experimental.breadboard.documentSave: true`.";
    ContextProvideParams => UserContext, "bb/context/provide",
        "Asks the editor what is in front of the user. Needs `experimental.breadboard.contextProvide: true`.";
}

notifications! {
    ConnectionParams, "bb/connection", "The state of the engine connection changed, or events are missing.";
    StateParams, "bb/state", "The list of sessions, or the state of one, changed.";
    EventsParams, "bb/events", "A batch of events of an attached session.";
    ViewParams, "bb/view", "Changes of the view of an attached session.";
    TabParams, "bb/tab", "One message of a tab.";
}

/// Their rows of the contract.
pub(super) fn rows() -> Vec<MethodRow> {
    let mut rows = request_rows();
    rows.extend(notification_rows());
    rows
}
