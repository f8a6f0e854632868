//! The host as its routes and sockets see it: its workspaces, its gate, its counts and its bounds.
//!
//! Owns which workspace a session belongs to. Never adds a folder: those are named when the host is started.

use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, watch};

use super::attendance::Attendance;
use super::counts::Counts;
use super::gate::Gate;
use super::loop_client::LoopClient;
use super::outbox::DeafOutbox;
use super::pairing::PairingDesk;
use crate::app::inbox::{EditorAbilities, Folder, Inbox, StartUp};
use crate::protocol::Request;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};
use crate::protocol::request::{ListSessionsResult, NoParams, SessionSummary};
use crate::protocol::settings::Overrides;

/// Sockets at a time. A person has a few editors; fifty clients of a load test fit.
pub(super) const SOCKETS: usize = 128;

/// Searches at a time: each uses all cores.
const SEARCHES: usize = 2;

/// A folder that the host serves, and the loop that works on it.
pub(crate) struct HostedFolder {
    /// Where it is, without links.
    pub path: PathBuf,
    /// Its URI.
    pub uri: String,
    /// The way to its loop.
    pub inbox: Inbox,
    /// Flags and environment.
    pub overrides: Overrides,
}

/// A workspace of the host.
pub(super) struct HostedWorkspace {
    pub(super) id: String,
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) trusted: bool,
    pub(super) uri: String,
    pub(super) inbox: Inbox,
    pub(super) attendance: Attendance,
    overrides: Overrides,
    service: LoopClient,
}

/// See the module.
pub(crate) struct DesktopHost {
    pub(super) workspaces: Vec<Arc<HostedWorkspace>>,
    pub(super) gate: Gate,
    pub(super) pairing: Arc<PairingDesk>,
    pub(super) counts: Arc<Counts>,
    pub(super) sockets: Arc<Semaphore>,
    pub(super) searches: Arc<Semaphore>,
    pub(super) stop: watch::Receiver<bool>,
}

/// Until the host ends.
pub(super) async fn ended(stop: &mut watch::Receiver<bool>) {
    // Its sender lives as long as the host.
    let _ = stop.wait_for(|stops| *stops).await;
}

impl DesktopHost {
    /// With these folders. `stop` turns true when the host ends.
    ///
    /// # Errors
    /// One sentence when a loop does not take its first client.
    pub(crate) fn new(
        folders: Vec<HostedFolder>,
        gate: Gate,
        pairing: Arc<PairingDesk>,
        stop: watch::Receiver<bool>,
    ) -> Result<Arc<Self>, String> {
        let open = |folder| HostedWorkspace::open(folder).map(Arc::new).map_err(|refusal| refusal.message);
        Ok(Arc::new(Self {
            workspaces: folders.into_iter().map(open).collect::<Result<_, _>>()?,
            gate,
            pairing,
            counts: Arc::default(),
            sockets: Arc::new(Semaphore::new(SOCKETS)),
            searches: Arc::new(Semaphore::new(SEARCHES)),
            stop,
        }))
    }

    /// The workspace of this id.
    pub(super) fn workspace(&self, id: &str) -> Result<&Arc<HostedWorkspace>, DesktopRefusal> {
        self.workspaces.iter().find(|workspace| workspace.id == id).ok_or_else(|| {
            DesktopRefusal::new(
                RefusalCode::NotFound,
                "There is no such workspace; list the workspaces and choose one.",
            )
        })
    }

    /// The workspace that is named, or the first one.
    pub(super) fn workspace_or_first(
        &self,
        id: Option<&str>,
    ) -> Result<&Arc<HostedWorkspace>, DesktopRefusal> {
        match id {
            Some(id) => self.workspace(id),
            None => self
                .workspaces
                .first()
                .ok_or_else(|| DesktopRefusal::new(RefusalCode::NotFound, "This host has no workspace.")),
        }
    }

    /// A session, and the workspace that it belongs to.
    pub(super) async fn session(
        &self,
        session_id: &str,
    ) -> Result<(Arc<HostedWorkspace>, SessionSummary), DesktopRefusal> {
        for workspace in &self.workspaces {
            let found = workspace.sessions().await?.into_iter().find(|found| found.session_id == session_id);
            if let Some(found) = found {
                return Ok((Arc::clone(workspace), found));
            }
        }
        Err(DesktopRefusal::new(
            RefusalCode::NotFound,
            "There is no such session; list the sessions and choose one.",
        ))
    }
}

impl HostedWorkspace {
    fn open(folder: HostedFolder) -> Result<Self, DesktopRefusal> {
        let HostedFolder { path, uri, inbox, overrides } = folder;
        let name =
            path.file_name().map_or_else(|| "workspace".into(), |name| name.to_string_lossy()).into_owned();
        let start = start_up(&uri, &name, &path, &overrides, EditorAbilities::default());
        let client = inbox.name_client();
        // The first client opens the workspace; it stays, so that the folders stay its own.
        let service = LoopClient::connect(&inbox, client, Arc::new(DeafOutbox), start)?;
        Ok(Self {
            id: workspace_id(&path),
            trusted: overrides.workspace_trusted == Some(true),
            path,
            name,
            uri,
            inbox,
            attendance: Attendance::default(),
            overrides,
            service,
        })
    }

    /// What the loop learns of a client of this workspace.
    pub(super) fn start_up(&self, abilities: EditorAbilities) -> StartUp {
        start_up(&self.uri, &self.name, &self.path, &self.overrides, abilities)
    }

    /// Asks the loop for no client in particular.
    pub(super) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, DesktopRefusal> {
        self.service.ask(request).await
    }

    /// Its sessions, newest first.
    pub(super) async fn sessions(&self) -> Result<Vec<SessionSummary>, DesktopRefusal> {
        let listed: ListSessionsResult = self.ask(Request::ListSessions(NoParams {})).await?;
        Ok(listed.sessions)
    }
}

fn start_up(
    uri: &str,
    name: &str,
    path: &std::path::Path,
    overrides: &Overrides,
    editor: EditorAbilities,
) -> StartUp {
    let folder = Folder { uri: uri.to_owned(), name: name.to_owned(), path: Some(path.to_owned()) };
    StartUp { overrides: overrides.clone(), folders: vec![folder], editor, ..StartUp::default() }
}

/// Names a workspace: made of its folder, so that it is the same after a restart.
fn workspace_id(path: &std::path::Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("ws_{hex}")
}
