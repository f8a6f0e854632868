//! A client of the loop that this front made: a socket, or the one that the HTTP routes ask through.
//!
//! Owns its name there. It is gone from the loop when this is dropped. Never waits for a turn: the loop answers what it accepted.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::ClientId;
use crate::app::inbox::{EditorEvent, EditorReply, Event, Inbox, StartUp};
use crate::app::ports::Outbox;
use crate::protocol::Request;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};

/// How long an answer may take. An engine that makes a session starts a process for it, which takes seconds at most; a
/// client waits no longer than this in any case.
const LONGEST: Duration = Duration::from_secs(120);

/// See the module.
#[derive(Debug)]
pub(super) struct LoopClient {
    inbox: Inbox,
    client: ClientId,
}

impl LoopClient {
    /// Connects a client with this outbox.
    pub(super) fn connect(
        inbox: &Inbox,
        client: ClientId,
        outbox: Arc<dyn Outbox>,
        start: StartUp,
    ) -> Result<Self, DesktopRefusal> {
        let inbox = inbox.clone();
        inbox.send(Event::ClientConnected { client, outbox }).map_err(|_| busy())?;
        let connected = Self { inbox, client };
        connected.tell(EditorEvent::Initialize(Box::new(start)))?;
        connected.tell(EditorEvent::Initialized)?;
        Ok(connected)
    }

    /// Hands over what is no request.
    pub(super) fn tell(&self, event: EditorEvent) -> Result<(), DesktopRefusal> {
        self.inbox.send(Event::Editor { client: self.client, event }).map_err(|_| busy())
    }

    /// Hands over a request, and waits for its answer.
    pub(super) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, DesktopRefusal> {
        let (reply, answer) = EditorReply::new();
        let event = Event::Request { client: self.client, request, reply };
        if let Err(refused) = self.inbox.offer(event) {
            refused.refuse_overloaded();
        }
        let answer = match tokio::time::timeout(LONGEST, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => return Err(internal()),
            Err(_) => {
                return Err(DesktopRefusal::new(
                    RefusalCode::ModelError,
                    "The engine did not answer in two minutes; look whether it runs, and ask again.",
                ));
            }
        };
        let value: Value = answer.map_err(DesktopRefusal::of)?;
        serde_json::from_value(value).map_err(|error| {
            tracing::error!(%error, "an answer of the loop could not be read");
            internal()
        })
    }
}

impl Drop for LoopClient {
    fn drop(&mut self) {
        // The loop is gone as well, then.
        let _ = self.inbox.send(Event::ClientGone { client: self.client });
    }
}

fn busy() -> DesktopRefusal {
    DesktopRefusal::new(RefusalCode::RateLimited, "The host is busy; try again in a moment.")
}

fn internal() -> DesktopRefusal {
    DesktopRefusal::new(
        RefusalCode::Internal,
        "The host failed inside while it handled this; nothing else is affected, try again and report it if it stays.",
    )
}
