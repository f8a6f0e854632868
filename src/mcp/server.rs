//! One server: started when it may run, started again when it ended, a bounded number of times.
//!
//! ```text
//!          it may run            greeted              ended, or not to run any more
//!  Stopped ─────────▶ Starting ─────────▶ Ready ─────────────────────▶ Failed / Stopped
//!                        ▲  └── not greeted ─────────▶ Failed              │
//!                        └────────── somebody needs it, or restarts it ────┘
//! ```
//!
//! Owns these steps. A start is a task of its own: who waits for it may go away. Never decides whether it may run.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::connection::McpConnection;
use super::http;
use super::program::Program;
use super::stdio::StdioProcess;
use crate::domain::mcp::{McpDefinition, McpOffer, McpTransport};

/// How long a server may take to start. One that `npx` fetches first takes most of a minute the first time.
const START: Duration = Duration::from_secs(60);

/// Starts by themselves within `RECENT`; whoever wants more says so.
const STARTS: usize = 4;

/// See `STARTS`.
const RECENT: Duration = Duration::from_secs(300);

/// Between two looks at what a server offers, when it says that this changed.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// How a server stands.
#[derive(Clone)]
pub(super) enum ServerStanding {
    /// It does not run.
    Stopped,
    /// It is being started.
    Starting,
    /// It is used.
    Ready(Arc<McpConnection>),
    /// It could not be started or ended; one sentence.
    Failed(String),
}

/// What every server is started with.
#[derive(Clone)]
pub(super) struct StartMeans {
    pub(super) runtime: Handle,
    /// The executable of `breadboard-ls`.
    pub(super) guard: PathBuf,
}

/// A server.
pub(super) struct McpServer {
    pub(super) definition: McpDefinition,
    /// What tells its definition from others.
    pub(super) digest: String,
    folder: PathBuf,
    means: StartMeans,
    standing: watch::Sender<ServerStanding>,
    /// What it offered last, also after its end.
    offered: Mutex<Arc<McpOffer>>,
    starts: Mutex<VecDeque<Instant>>,
    /// Changed: whatever runs is to end.
    stop: watch::Sender<u64>,
}

impl McpServer {
    /// One that does not run.
    pub(super) fn new(
        definition: McpDefinition,
        digest: String,
        folder: PathBuf,
        means: StartMeans,
    ) -> Arc<Self> {
        Arc::new(Self {
            definition,
            digest,
            folder,
            means,
            standing: watch::channel(ServerStanding::Stopped).0,
            offered: Mutex::default(),
            starts: Mutex::default(),
            stop: watch::channel(0).0,
        })
    }

    /// How it stands.
    pub(super) fn standing(&self) -> ServerStanding {
        self.standing.borrow().clone()
    }

    /// What it offers, or offered last.
    pub(super) fn offer(&self) -> Arc<McpOffer> {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        if let ServerStanding::Ready(connection) = &*self.standing.borrow() {
            *offered = connection.offer();
        }
        Arc::clone(&offered)
    }

    /// Starts it, where it does not run and was not started too often.
    pub(super) fn ensure(self: &Arc<Self>) {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        starts.retain(|at| now.duration_since(*at) < RECENT);
        let may = starts.len() < STARTS;
        let begins = self.standing.send_if_modified(|standing| match standing {
            ServerStanding::Starting => false,
            ServerStanding::Ready(connection) if connection.is_open() => false,
            ServerStanding::Stopped | ServerStanding::Ready(_) | ServerStanding::Failed(_) if may => {
                *standing = ServerStanding::Starting;
                true
            }
            ServerStanding::Failed(_) => false,
            ServerStanding::Stopped | ServerStanding::Ready(_) => {
                *standing = ServerStanding::Failed(format!(
                    "The tool server `{}` ended {STARTS} times within {} minutes, so it is not started again by itself; restart it \
                     when it is mended.",
                    self.definition.name,
                    RECENT.as_secs() / 60
                ));
                true
            }
        });
        if begins && matches!(*self.standing.borrow(), ServerStanding::Starting) {
            starts.push_back(now);
            self.means.runtime.spawn(Arc::clone(self).start(self.stop.subscribe()));
        }
    }

    /// Ends it and starts it anew, however often it ended.
    pub(super) fn restart(self: &Arc<Self>) {
        self.stop();
        self.starts.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.ensure();
    }

    /// Ends it.
    pub(super) fn stop(&self) {
        self.stop.send_modify(|stops| *stops += 1);
        if let ServerStanding::Ready(connection) = self.standing.send_replace(ServerStanding::Stopped) {
            connection.close(format!("The tool server `{}` was ended.", self.definition.name));
        }
    }

    /// Waits while it is being started, for `most` at the longest.
    pub(super) async fn settled(&self, most: Duration) -> ServerStanding {
        let mut standing = self.standing.subscribe();
        let settled = standing.wait_for(|standing| !matches!(standing, ServerStanding::Starting));
        match timeout(most, settled).await {
            Ok(Ok(standing)) => standing.clone(),
            Ok(Err(_)) | Err(_) => self.standing(),
        }
    }

    /// The connection, started if need be.
    ///
    /// # Errors
    /// One sentence.
    pub(super) async fn connected(self: &Arc<Self>) -> Result<Arc<McpConnection>, String> {
        self.ensure();
        match self.settled(START).await {
            ServerStanding::Ready(connection) => Ok(connection),
            ServerStanding::Failed(why) => Err(why),
            ServerStanding::Starting | ServerStanding::Stopped => {
                Err(format!("The tool server `{}` does not run.", self.definition.name))
            }
        }
    }

    async fn start(self: Arc<Self>, mut stop: watch::Receiver<u64>) {
        let opened = tokio::select! {
            biased;
            _ = stop.changed() => return,
            opened = timeout(START, self.open()) => opened,
        };
        let opened = opened.unwrap_or_else(|_| {
            Err(format!(
                "The tool server `{}` did not say hello within {} s; check its setting, then restart it.",
                self.definition.name,
                START.as_secs()
            ))
        });
        match opened {
            Ok((connection, news, process)) => {
                let connection = Arc::new(connection);
                if self.became(ServerStanding::Ready(Arc::clone(&connection))) {
                    self.keep(connection, news, process, stop).await;
                } else {
                    end(&connection, process).await;
                }
            }
            Err(why) => {
                self.became(ServerStanding::Failed(why));
            }
        }
    }

    /// The start came to this, unless it was stopped meanwhile.
    fn became(&self, outcome: ServerStanding) -> bool {
        self.standing.send_if_modified(|standing| {
            let waits = matches!(standing, ServerStanding::Starting);
            if waits {
                *standing = outcome;
            }
            waits
        })
    }

    async fn open(&self) -> Result<(McpConnection, mpsc::Receiver<()>, Option<StdioProcess>), String> {
        let name = &self.definition.name;
        match &self.definition.transport {
            McpTransport::Stdio { command, args, env } => {
                let guard = self.means.guard.clone();
                let program = Program { name, command, args, env, folder: &self.folder, guard };
                let (mut process, transport) = StdioProcess::start(program).await?;
                let opened = tokio::select! {
                    biased;
                    opened = McpConnection::open(name, transport) => opened,
                    // Its own words say more than that it is gone.
                    ended = process.ended() => Err(format!("{ended} Check its setting, then restart it.")),
                };
                match opened {
                    Ok((connection, news)) => Ok((connection, news, Some(process))),
                    Err(why) => {
                        // It closed its pipe: then it is about to end, and to say why.
                        let soon = timeout(Duration::from_millis(500), process.ended()).await;
                        Err(soon.map_or(why, |ended| format!("{ended} Check its setting, then restart it.")))
                    }
                }
            }
            McpTransport::Http { url, headers } => {
                let (name, url, headers) = (name.clone(), url.clone(), headers.clone());
                let made = {
                    let name = name.clone();
                    tokio::task::spawn_blocking(move || http::transport(&name, &url, &headers)).await
                };
                let transport =
                    made.map_err(|_| format!("The tool server `{name}` could not be called; try again."))??;
                let (connection, news) = McpConnection::open(&name, transport).await?;
                Ok((connection, news, None))
            }
        }
    }

    /// Watches a connection until it is over.
    async fn keep(
        &self,
        connection: Arc<McpConnection>,
        mut news: mpsc::Receiver<()>,
        mut process: Option<StdioProcess>,
        mut stop: watch::Receiver<u64>,
    ) {
        let ended = loop {
            tokio::select! {
                biased;
                _ = stop.changed() => break None,
                why = over(&mut process) => break Some(why),
                why = connection.until_closed() => break Some(why),
                Some(()) = news.recv() => {
                    // What it offered before is offered until it says what else.
                    let _ = connection.look().await;
                    sleep(BETWEEN_LOOKS).await;
                }
            }
        };
        self.offer();
        if let Some(why) = &ended {
            connection.close(why.clone());
            self.standing.send_if_modified(|standing| {
                let is_this = matches!(standing, ServerStanding::Ready(now) if Arc::ptr_eq(now, &connection));
                if is_this {
                    *standing =
                        ServerStanding::Failed(format!("{why} It is started again when it is needed."));
                }
                is_this
            });
        }
        end(&connection, process).await;
    }
}

/// Ends when the process does; a server at an address has none.
async fn over(process: &mut Option<StdioProcess>) -> String {
    match process {
        Some(process) => process.ended().await,
        None => std::future::pending().await,
    }
}

async fn end(connection: &McpConnection, process: Option<StdioProcess>) {
    connection.close("It was ended.".to_owned());
    if let Some(mut process) = process {
        process.end().await;
    }
}
