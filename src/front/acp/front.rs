//! The front itself: what the client can do, its folders and its sessions, and which handler has which method.
//!
//! Owns this state, on one thread, and the rule that each request gets one answer. Handlers hand their command to the loop before
//! they wait for anything, so that commands keep the client's order.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use futures::FutureExt;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use super::AcpServing;
use super::message::{AcpClientMessage, RpcFault};
use super::root::{AcpRoot, OpenRoot, RootOptions};
use super::session::AcpSession;
use super::wire::{AcpWire, HiddenSecrets};
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::acp::agent_end::hello::{AcpClientAbilities, introduction};
use crate::domain::dialect::acp::agent_end::method;
use crate::domain::dialect::acp::decode::RpcId;
use crate::platform::real_path;
use crate::protocol::settings::EngineKind;
use crate::protocol::version::{SERVER_NAME, SERVER_VERSION};

/// Folders that one client may have sessions in; each has a loop.
const ROOTS: usize = 8;

/// Sessions that one client may have open.
const SESSIONS: usize = 128;

/// Requests that may wait for their answers.
const IN_FLIGHT: usize = 128;

/// See the module.
pub(super) struct AcpFront {
    pub(super) wire: AcpWire,
    serving: AcpServing,
    secrets: HiddenSecrets,
    /// `None` before `initialize`.
    abilities: Cell<Option<AcpClientAbilities>>,
    roots: RefCell<BTreeMap<PathBuf, Rc<OnceCell<Rc<OpenRoot>>>>>,
    pub(super) sessions: RefCell<HashMap<String, Rc<AcpSession>>>,
    in_flight: Cell<usize>,
    /// Sessions that were just answered for the first time: what they offer is told next.
    fresh: RefCell<Vec<Rc<AcpSession>>>,
}

impl AcpFront {
    pub(super) fn new(wire: AcpWire, serving: AcpServing, secrets: HiddenSecrets) -> Rc<Self> {
        Rc::new(Self {
            wire,
            serving,
            secrets,
            abilities: Cell::new(None),
            roots: RefCell::default(),
            sessions: RefCell::default(),
            in_flight: Cell::new(0),
            fresh: RefCell::default(),
        })
    }

    /// What the client can do.
    pub(super) fn abilities(&self) -> AcpClientAbilities {
        self.abilities.get().unwrap_or_default()
    }

    /// One message of the client.
    pub(super) async fn message(self: &Rc<Self>, message: AcpClientMessage) {
        match message {
            AcpClientMessage::Answer { id, outcome } => self.wire.answered(&id, outcome),
            AcpClientMessage::Notification { method, params } => self.notification(&method, &params),
            AcpClientMessage::Request { id, method, params } => {
                if self.in_flight.get() >= IN_FLIGHT {
                    let sentence =
                        format!("{IN_FLIGHT} requests wait for their answers; wait for one of them.");
                    return self.wire.answer(&id, &Err(RpcFault::request(sentence))).await;
                }
                self.in_flight.set(self.in_flight.get() + 1);
                let front = Rc::clone(self);
                let mut handling = Box::pin(async move { front.request(id, method, params).await });
                // Looked at here once, in its order: that hands its command over.
                if handling.as_mut().now_or_never().is_none() {
                    tokio::task::spawn_local(handling);
                }
            }
        }
    }

    async fn request(self: Rc<Self>, id: RpcId, method: String, params: Map<String, Value>) {
        let handled = AssertUnwindSafe(self.handle(&method, params)).catch_unwind().await;
        let outcome = handled.unwrap_or_else(|_| Err(RpcFault::internal()));
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        self.wire.answer(&id, &outcome).await;
        let fresh = std::mem::take(&mut *self.fresh.borrow_mut());
        for session in fresh {
            self.tell_what_it_has(&session).await;
        }
    }

    async fn handle(self: &Rc<Self>, name: &str, params: Map<String, Value>) -> Result<Value, RpcFault> {
        if name != method::INITIALIZE && self.abilities.get().is_none() {
            return Err(RpcFault::request("Say `initialize` first."));
        }
        match name {
            method::INITIALIZE => Ok(self.initialize(&params)),
            method::AUTHENTICATE => Err(RpcFault::params(
                "There is nothing to log in to here; `breadboard-ls doctor` says how the engine behind is logged in to.",
            )),
            method::NEW => self.new_session(&params).await,
            method::LOAD => self.open_session(&params, true).await,
            method::RESUME => self.open_session(&params, false).await,
            method::LIST => self.list_sessions(&params).await,
            method::CLOSE => self.close_session(&params).await,
            method::DELETE => self.delete_session(&params).await,
            method::PROMPT => self.prompt(&params).await,
            method::SET_MODE => self.set_mode(&params).await,
            method::SET_OPTION => self.set_option(&params).await,
            _ => Err(RpcFault::method(name)),
        }
    }

    fn initialize(&self, params: &Map<String, Value>) -> Value {
        self.abilities.set(Some(AcpClientAbilities::read(params)));
        let chosen =
            self.serving.overrides.engine.as_ref().map_or(EngineKind::Embedded, |engine| engine.kind);
        let starts_servers = chosen == EngineKind::Embedded;
        introduction(SERVER_NAME, SERVER_VERSION, self.looks_at_pictures(), starts_servers)
    }

    /// Our own engine reads text; others say themselves what they take, and what they do not take they are given as a link.
    pub(super) fn looks_at_pictures(&self) -> bool {
        let chosen = self.serving.overrides.engine.as_ref().map(|engine| engine.kind);
        matches!(chosen, Some(EngineKind::Acp | EngineKind::Breadboard))
    }

    fn notification(self: &Rc<Self>, name: &str, params: &Map<String, Value>) {
        if name == method::CANCEL
            && let Ok(session) = self.session_of(params)
        {
            self.cancel(&session);
        }
    }

    /// What the session offers is told behind the answer that is about to leave.
    pub(super) fn answered_first(&self, session: &Rc<AcpSession>) {
        self.fresh.borrow_mut().push(Rc::clone(session));
    }

    /// The session that the params name.
    pub(super) fn session_of(&self, params: &Map<String, Value>) -> Result<Rc<AcpSession>, RpcFault> {
        let id = text_of(params, "sessionId")?;
        let known = self.sessions.borrow().get(id).cloned();
        known.ok_or_else(|| RpcFault::from(CodedError::unknown_session(id)))
    }

    pub(super) fn has_room_for_session(&self) -> Result<(), RpcFault> {
        if self.sessions.borrow().len() < SESSIONS {
            return Ok(());
        }
        Err(RpcFault::request(format!("{SESSIONS} sessions are open here; close one first.")))
    }

    /// The folder that the params name, with its loop, which is started where it is not there yet.
    pub(super) async fn root_of(
        self: &Rc<Self>,
        params: &Map<String, Value>,
    ) -> Result<Rc<OpenRoot>, RpcFault> {
        let given = Path::new(text_of(params, "cwd")?);
        if !given.is_absolute() {
            return Err(RpcFault::params(
                "The folder of a session is an absolute path; give the whole path.",
            ));
        }
        let whole = real_path(given).ok().filter(|whole| whole.is_dir()).ok_or_else(|| {
            RpcFault::params("The folder of the session is not there, or is no folder; give another one.")
        })?;
        let cell = {
            let mut roots = self.roots.borrow_mut();
            if !roots.contains_key(&whole) && roots.len() >= ROOTS {
                let sentence = format!(
                    "Sessions in {ROOTS} folders are open here; start another breadboard-ls for this one."
                );
                return Err(RpcFault::request(sentence));
            }
            Rc::clone(roots.entry(whole.clone()).or_default())
        };
        let opened = cell.get_or_try_init(|| self.open_root(whole)).await?;
        Ok(Rc::clone(opened))
    }

    async fn open_root(self: &Rc<Self>, path: PathBuf) -> Result<Rc<OpenRoot>, CodedError> {
        let abilities = self.abilities();
        let options = RootOptions {
            overrides: &self.serving.overrides,
            edits: abilities.reads_files && abilities.writes_files,
            secrets: HiddenSecrets::clone(&self.secrets),
        };
        let (root, hello, ear) = AcpRoot::open((self.serving.start_loop)(), path, options).await?;
        let (engine, trusted) = (hello.engine.kind, hello.workspace_trusted);
        let opened = Rc::new(OpenRoot { root, engine, trusted, models: RefCell::default() });
        tokio::task::spawn_local(Rc::clone(self).listen(Rc::clone(&opened), ear));
        Ok(opened)
    }

    /// Folders that are open.
    pub(super) fn open_roots(&self) -> Vec<Rc<OpenRoot>> {
        self.roots.borrow().values().filter_map(|cell| cell.get().cloned()).collect()
    }

    /// The process ends.
    pub(super) async fn flush(&self) {
        futures::future::join_all(self.open_roots().iter().map(|open| open.root.flush())).await;
    }
}

/// A text of the params.
pub(super) fn text_of<'a>(params: &'a Map<String, Value>, name: &str) -> Result<&'a str, RpcFault> {
    let text = params.get(name).and_then(Value::as_str);
    text.ok_or_else(|| RpcFault::params(format!("The params have no `{name}`, or it is no text.")))
}

/// An answer that says nothing.
pub(super) fn nothing() -> Value {
    json!({})
}
