//! The sessions that an agent has of this folder.
//!
//! Owns the reading of its pages. Nothing is started to be asked.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::oneshot;

use super::agent::Agent;
use super::own_request::OwnRequest;
use crate::app::ports::EngineSession;
use crate::domain::dialect::acp::decode::AcpError;
use crate::domain::dialect::acp::encode;
use crate::domain::dialect::acp::results::{ListResult, read};
use crate::domain::payload::Payload;

/// How long one page may take.
const SHORT: Duration = Duration::from_secs(10);

/// Sessions in one list of an agent; those of years fit.
const LISTED: usize = 2_000;

impl Agent {
    /// Lists what the agent has of this folder, where it runs and can; nothing is started for it.
    pub(super) fn list(&mut self, give: oneshot::Sender<Vec<EngineSession>>) {
        if self.process.is_ready() && self.process.can().session_capabilities.list {
            return self.list_page(None, Vec::new(), give);
        }
        // Nobody may wait any more.
        let _ = give.send(Vec::new());
    }

    fn list_page(
        &mut self,
        cursor: Option<&str>,
        so_far: Vec<EngineSession>,
        give: oneshot::Sender<Vec<EngineSession>>,
    ) {
        let cwd = self.folder().map(|folder| folder.to_string_lossy().into_owned());
        let params = encode::list_sessions(cwd.as_deref(), cursor);
        self.ask("session/list", &params, OwnRequest::List { so_far, give }, Some(SHORT));
    }

    pub(super) fn listed(
        &mut self,
        mut so_far: Vec<EngineSession>,
        outcome: Result<Payload, AcpError>,
        give: oneshot::Sender<Vec<EngineSession>>,
    ) {
        let page: ListResult = match outcome {
            Ok(result) => read(&result),
            Err(error) => {
                tracing::warn!(
                    agent = self.name(),
                    error = error.message,
                    "an agent did not list its sessions"
                );
                ListResult::default()
            }
        };
        let fresh = !page.sessions.is_empty();
        for listed in page.sessions {
            let ours = self.sessions.ours(&listed.session_id).map(str::to_owned);
            so_far.push(EngineSession {
                session_id: ours.unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
                status: "completed".to_owned(),
                title: listed.title,
                updated_at: listed.updated_at.as_deref().and_then(crate::engine::time::millis),
                workspace: listed.cwd.map(PathBuf::from),
                at_agent: Some((self.line.name.clone(), listed.session_id)),
                ..EngineSession::default()
            });
        }
        match page.next_cursor.filter(|_| fresh && so_far.len() < LISTED) {
            Some(cursor) => self.list_page(Some(&cursor), so_far, give),
            None => {
                // Nobody may wait any more.
                let _ = give.send(so_far);
                self.end_if_idle();
            }
        }
    }
}
