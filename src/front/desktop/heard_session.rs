//! What a socket hears of its session, once its handshake is done.
//!
//! Owns what each message of the loop is in the words of the client, and the answers to what the loop asks of one. Never writes.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::link::SessionLink;
use super::outbox::SocketOutbox;
use super::translate::{ClientNews, Translator};
use crate::app::inbox::EditorEvent;
use crate::domain::fact::NoticeLevel;
use crate::protocol::context::ContextProvideParams;
use crate::protocol::desktop::host_message::HostMessage;
use crate::protocol::notification::{ConnectionParams, EventsParams};
use crate::protocol::request::{ConnectionStatus, Resume};
use crate::protocol::server_message::{ServerNotification as _, ServerRequest as _};

/// A message of the loop.
#[derive(Deserialize)]
struct LoopMessage<'a> {
    id: Option<String>,
    method: String,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// See the module.
pub(super) struct HeardSession {
    pub(super) link: Arc<SessionLink>,
    pub(super) outbox: Arc<SocketOutbox>,
    pub(super) translator: Translator,
    pub(super) resume: Option<Resume>,
    pub(super) has_places: bool,
    /// When a piece that waits is told as it is.
    pub(super) quiet_at: Option<Instant>,
}

impl HeardSession {
    /// The next message of the loop, in the words of the client; `None` when there is none.
    pub(super) fn next(&mut self) -> Option<Vec<ClientNews>> {
        let message = self.outbox.take()?;
        let mut told = Vec::new();
        match serde_json::from_slice::<LoopMessage<'_>>(&message) {
            Ok(message) => self.take(&message, &mut told),
            Err(error) => tracing::error!(%error, "a message of the loop could not be read"),
        }
        Some(told)
    }

    fn take(&mut self, message: &LoopMessage<'_>, told: &mut Vec<ClientNews>) {
        let params = message.params.get();
        match (message.method.as_str(), &message.id) {
            ("bb/view", _) => {
                if let Ok(params) = serde_json::from_str(params) {
                    let before = self.translator.cursor.seq;
                    told.extend(self.translator.view(params));
                    let now = self.translator.cursor.seq;
                    // A piece that waits to be a larger one is not told yet.
                    let is_told = now > before && self.translator.owes().is_none();
                    told.extend(is_told.then_some(ClientNews::UpTo(now)));
                }
            }
            (EventsParams::METHOD, _) => {
                if let Ok(params) = serde_json::from_str(params) {
                    told.extend(self.translator.events(&params));
                }
            }
            (ConnectionParams::METHOD, _) => told.extend(connection(params)),
            ("window/showMessage", _) => told.extend(sentence(params)),
            (ContextProvideParams::METHOD, Some(id)) => {
                let context = serde_json::to_value(&*self.link.context()).unwrap_or_default();
                self.answer(id, Ok(context));
            }
            (_, Some(id)) => {
                self.answer(id, Err(json!({ "message": "this client cannot do that" })));
            }
            (_, None) => {}
        }
    }

    fn answer(&self, id: &str, outcome: Result<Value, Value>) {
        let answered = EditorEvent::Answered { id: id.to_owned(), outcome };
        if self.link.client().tell(answered).is_err() {
            tracing::warn!("the loop took no answer of a socket");
        }
    }
}

fn notice(level: NoticeLevel, message: String) -> ClientNews {
    ClientNews::Message(Box::new(HostMessage::Notice { level, message, code: None }))
}

fn connection(params: &str) -> Option<ClientNews> {
    let news: ConnectionParams = serde_json::from_str(params).ok()?;
    let is_bad = news.status == ConnectionStatus::Error || news.gap_detected == Some(true);
    let why = news.last_error.or_else(|| news.resume.and_then(|resume| resume.reason));
    is_bad.then(|| {
        notice(NoticeLevel::Error, why.unwrap_or_else(|| "The engine cannot be reached.".to_owned()))
    })
}

fn sentence(params: &str) -> Option<ClientNews> {
    #[derive(Deserialize)]
    struct Shown {
        #[serde(rename = "type")]
        kind: u64,
        message: String,
    }
    let shown: Shown = serde_json::from_str(params).ok()?;
    let level = match shown.kind {
        1 => NoticeLevel::Error,
        2 => NoticeLevel::Warning,
        _ => NoticeLevel::Info,
    };
    Some(notice(level, shown.message))
}
