//! One socket's place in the loop: its client, its session, and what is in front of its user.
//!
//! Owns what reader and writer of a socket share. It leaves the session when both are done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::host::HostedWorkspace;
use super::loop_client::LoopClient;
use crate::app::ClientId;
use crate::domain::approval::NamedClient;
use crate::domain::context::shape::UserContext;
use crate::protocol::Request;
use crate::protocol::desktop::refusal::DesktopRefusal;

/// See the module.
pub(super) struct SessionLink {
    pub(super) workspace: Arc<HostedWorkspace>,
    pub(super) session_id: String,
    pub(super) id: ClientId,
    /// ClientNews when others come and go.
    pub(super) others_changed: Arc<Notify>,
    client: LoopClient,
    context: Mutex<UserContext>,
}

impl SessionLink {
    pub(super) fn new(
        workspace: Arc<HostedWorkspace>,
        session_id: String,
        (id, client): (ClientId, LoopClient),
        named: NamedClient,
    ) -> Self {
        let others_changed = workspace.attendance.join(id, &session_id, named);
        Self { workspace, session_id, id, others_changed, client, context: Mutex::default() }
    }

    /// Asks the loop as this client.
    pub(super) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, DesktopRefusal> {
        self.client.ask(request).await
    }

    /// The loop's client.
    pub(super) fn client(&self) -> &LoopClient {
        &self.client
    }

    /// What is in front of the user.
    pub(super) fn context(&self) -> MutexGuard<'_, UserContext> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SessionLink {
    fn drop(&mut self) {
        self.workspace.attendance.leave(self.id);
    }
}
