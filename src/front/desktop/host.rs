//! The host as its routes and sockets see it: its workspaces, its gate, its counts and its bounds.
//!
//! Owns which workspace a session belongs to. Never adds a folder: those are named when the host is started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, watch};

use super::attendance::Attendance;
use super::counts::Counts;
use super::gate::Gate;
use super::loop_client::LoopClient;
use super::outbox::DeafOutbox;
use super::pairing::PairingDesk;
use super::policy_file::KeptPolicy;
use crate::app::inbox::{EditorAbilities, Folder, Inbox, StartUp};
use crate::domain::approval::NamedClient;
use crate::host::index::{IndexTask, Indexes};
use crate::protocol::Request;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};
use crate::protocol::request::{ListSessionsParams, ListSessionsResult, SessionSummary};
use crate::protocol::settings::Overrides;

/// Sockets at a time. A person has a few editors; fifty clients of a load test fit.
pub(super) const SOCKETS: usize = 128;

/// Searches at a time: each uses all cores.
const SEARCHES: usize = 2;

/// Sessions of which it is remembered where they live. Past it they are looked for again.
const HOMES: usize = 16_384;

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
    /// The indexes of its loop.
    pub indexes: Indexes,
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
    pub(super) policy: KeptPolicy,
    pub(super) indexes: Indexes,
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
    homes: Mutex<BTreeMap<String, usize>>,
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
        state_dir: &Path,
        gate: Gate,
        pairing: Arc<PairingDesk>,
        stop: watch::Receiver<bool>,
    ) -> Result<Arc<Self>, String> {
        let open = |folder| {
            HostedWorkspace::open(folder, state_dir).map(Arc::new).map_err(|refusal| refusal.message)
        };
        let workspaces: Vec<_> = folders.into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Arc::new(Self {
            workspaces,
            gate,
            pairing,
            counts: Arc::default(),
            sockets: Arc::new(Semaphore::new(SOCKETS)),
            searches: Arc::new(Semaphore::new(SEARCHES)),
            stop,
            homes: Mutex::default(),
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

    /// The workspace of a session. One that was met before is known at once, without a word with its engine.
    pub(super) async fn home_of(&self, session_id: &str) -> Result<Arc<HostedWorkspace>, DesktopRefusal> {
        let known = self.homes().get(session_id).copied();
        match known.and_then(|at| self.workspaces.get(at)) {
            Some(workspace) => Ok(Arc::clone(workspace)),
            None => self.session(session_id).await.map(|(workspace, _)| workspace),
        }
    }

    /// A session as its engine has it now, and the workspace that it belongs to. All workspaces are asked at once, so that a slow
    /// engine of another one is not waited for.
    pub(super) async fn session(
        &self,
        session_id: &str,
    ) -> Result<(Arc<HostedWorkspace>, SessionSummary), DesktopRefusal> {
        let known = self.homes().get(session_id).copied();
        let wanted = |at: &usize| known.is_none_or(|known| known == *at);
        let asked = (0..self.workspaces.len()).filter(wanted).map(|at| async move {
            let sessions = self.workspaces[at].sessions().await?;
            Ok::<_, DesktopRefusal>(
                sessions.into_iter().find(|found| found.session_id == session_id).map(|found| (at, found)),
            )
        });
        let mut answers: FuturesUnordered<_> = asked.collect();
        let mut failed = None;
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(Some((at, found))) => {
                    self.lives_in(session_id, at);
                    return Ok((Arc::clone(&self.workspaces[at]), found));
                }
                Ok(None) => {}
                Err(refusal) => failed = Some(refusal),
            }
        }
        self.homes().remove(session_id);
        Err(failed.unwrap_or_else(no_session))
    }

    /// The sessions of these workspaces, each with its place among all. They are asked at once.
    pub(super) async fn sessions_of(
        &self,
        wanted: Option<&str>,
    ) -> Result<Vec<(Arc<HostedWorkspace>, SessionSummary)>, DesktopRefusal> {
        if let Some(id) = wanted {
            self.workspace(id)?;
        }
        let places = (0..self.workspaces.len())
            .filter(|at| wanted.is_none_or(|wanted| wanted == self.workspaces[*at].id));
        let asked = places.map(|at| async move { (at, self.workspaces[at].sessions().await) });
        let mut sessions = Vec::new();
        for (at, listed) in futures::future::join_all(asked).await {
            for session in listed? {
                self.lives_in(&session.session_id, at);
                sessions.push((Arc::clone(&self.workspaces[at]), session));
            }
        }
        Ok(sessions)
    }

    /// A session was deleted.
    pub(super) fn forget(&self, session_id: &str) {
        self.homes().remove(session_id);
    }

    fn lives_in(&self, session_id: &str, at: usize) {
        let mut homes = self.homes();
        if homes.len() >= HOMES {
            homes.clear();
        }
        homes.insert(session_id.to_owned(), at);
    }

    fn homes(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_session() -> DesktopRefusal {
    DesktopRefusal::new(RefusalCode::NotFound, "There is no such session; list the sessions and choose one.")
}

impl HostedWorkspace {
    fn open(folder: HostedFolder, state_dir: &Path) -> Result<Self, DesktopRefusal> {
        let HostedFolder { path, uri, inbox, overrides, indexes } = folder;
        let name =
            path.file_name().map_or_else(|| "workspace".into(), |name| name.to_string_lossy()).into_owned();
        let start = start_up(&uri, &name, &path, &overrides, EditorAbilities::default());
        let client = inbox.name_client();
        let id = workspace_id(&path);
        let policy = KeptPolicy::hold(state_dir, &id, &path)
            .map_err(|why| DesktopRefusal::new(RefusalCode::Conflict, why))?;
        // The first client opens the workspace; it stays, so that the folders stay its own.
        let service = LoopClient::connect(&inbox, client, Arc::new(DeafOutbox), start)?;
        indexes.want(&path, IndexTask::Refresh);
        Ok(Self {
            policy,
            id,
            trusted: overrides.workspace_trusted == Some(true),
            path,
            name,
            uri,
            inbox,
            attendance: Attendance::default(),
            indexes,
            overrides,
            service,
        })
    }

    /// What the loop learns of a client of this workspace.
    pub(super) fn start_up(&self, named: Option<NamedClient>, abilities: EditorAbilities) -> StartUp {
        StartUp { named, ..start_up(&self.uri, &self.name, &self.path, &self.overrides, abilities) }
    }

    /// Asks the loop for no client in particular.
    pub(super) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, DesktopRefusal> {
        self.service.ask(request).await
    }

    /// Its sessions, newest first.
    pub(super) async fn sessions(&self) -> Result<Vec<SessionSummary>, DesktopRefusal> {
        let listed: ListSessionsResult =
            self.ask(Request::ListSessions(ListSessionsParams::default())).await?;
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
