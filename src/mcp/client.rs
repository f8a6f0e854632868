//! Who we are to a server, and what of its notifications is heard.
//!
//! Owns the news that its lists changed. Nothing that a server asks of its client is done: it gets no model, no form and no folder.

use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::mpsc;

use crate::protocol::version::{SERVER_NAME, SERVER_VERSION};

/// The client of one connection.
#[derive(Debug)]
pub(super) struct McpClient {
    /// Full means that somebody will look again anyway.
    changed: mpsc::Sender<()>,
}

impl McpClient {
    /// A client, and where the news comes out.
    pub(super) fn new() -> (Self, mpsc::Receiver<()>) {
        let (changed, news) = mpsc::channel(1);
        (Self { changed }, news)
    }

    fn tell(&self) {
        // Nobody listens any more when the connection ends.
        let _ = self.changed.try_send(());
    }
}

impl ClientHandler for McpClient {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new(SERVER_NAME, SERVER_VERSION);
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell();
    }
}
