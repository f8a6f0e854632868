//! A folder that sessions of the client work in, with a loop of its own.
//!
//! Owns the way to that loop: its inbox, our name there, and which files it was told are open. A client may have sessions in
//! several folders; each folder has its own trust boundary, and so its own loop.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use super::outbox::{LoopEar, voice};
use super::wire::HiddenSecrets;
use crate::app::ClientId;
use crate::app::inbox::{
    DocumentEvent, EditorAbilities, EditorEvent, EditorReply, Event, Folder, Inbox, Reply, StartUp,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::overlay::PositionEncoding;
use crate::protocol::Request;
use crate::protocol::request::InitResult;
use crate::protocol::settings::{EngineKind, Overrides};

/// A folder and the way to its loop.
pub(super) struct AcpRoot {
    /// Its absolute path, as the client is told places in it.
    pub(super) path: String,
    /// The same as a `file:` address, without a slash at its end.
    pub(super) uri: String,
    inbox: Inbox,
    client: ClientId,
    /// Texts of the client's buffers, as the loop was told of them: version and text, by address.
    buffers: RefCell<BTreeMap<String, (i64, String)>>,
}

/// A folder with its loop, and its engine.
pub(super) struct OpenRoot {
    pub(super) root: AcpRoot,
    pub(super) engine: EngineKind,
    /// Whether the folder is trusted.
    pub(super) trusted: bool,
    /// The models of our own engine's provider, once it was asked.
    pub(super) models: RefCell<Option<KnownModels>>,
}

/// The models that there are, and the one in use.
#[derive(Clone, Default)]
pub(super) struct KnownModels {
    pub(super) all: Vec<(String, String)>,
    pub(super) current: Option<String>,
}

/// What a client of the loop is told to do.
pub(super) struct RootOptions<'a> {
    /// Environment and flags.
    pub(super) overrides: &'a Overrides,
    /// Whether the client writes files through its editor.
    pub(super) edits: bool,
    /// Where the loop's secrets are kept.
    pub(super) secrets: HiddenSecrets,
}

impl AcpRoot {
    /// Connects to a loop that was just started, as its first client.
    ///
    /// # Errors
    /// The folder has no address, or the loop is not there.
    pub(super) async fn open(
        inbox: Inbox,
        path: PathBuf,
        options: RootOptions<'_>,
    ) -> Result<(Self, InitResult, LoopEar), CodedError> {
        let address = Url::from_directory_path(&path).map_err(|()| {
            CodedError::new(ErrorCode::InvalidParams, "The folder is no absolute path; give the whole path.")
        })?;
        let uri = address.as_str().trim_end_matches('/').to_owned();
        let name =
            path.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned());
        let (voice, ear) = voice(options.secrets);
        let client = inbox.name_client();
        let folder = Folder { uri: uri.clone(), name, path: Some(path.clone()) };
        let editor = EditorAbilities {
            apply_edit: options.edits,
            answers_by_itself: true,
            ..EditorAbilities::default()
        };
        let start = StartUp {
            overrides: options.overrides.clone(),
            folders: vec![folder],
            encoding: PositionEncoding::Utf8,
            editor,
            ..StartUp::default()
        };
        let root = Self {
            path: path.to_string_lossy().into_owned(),
            uri,
            inbox,
            client,
            buffers: RefCell::default(),
        };
        root.send(Event::ClientConnected { client, outbox: Arc::new(voice) })?;
        root.tell(EditorEvent::Initialize(Box::new(start)))?;
        root.tell(EditorEvent::Initialized)?;
        let subscribe = json!({ "subscribe": { "events": true, "view": false, "tabs": false } });
        let hello: InitResult = root.call(Request::parse("bb/init", subscribe)?).await?;
        Ok((root, hello, ear))
    }

    /// Asks the loop, at once, and waits for its answer.
    ///
    /// # Errors
    /// The refusal.
    pub(super) async fn call<T: DeserializeOwned>(&self, request: Request) -> Result<T, CodedError> {
        let (reply, answer) = EditorReply::new();
        self.send(Event::Request { client: self.client, request, reply })?;
        let answered = answer.await.unwrap_or_else(|_| Err(CodedError::internal()))?;
        serde_json::from_value(answered).map_err(|error| {
            tracing::error!(%error, "an answer of the loop does not fit its type");
            CodedError::internal()
        })
    }

    /// The loop's request is answered.
    pub(super) fn answered(&self, id: String, outcome: Result<Value, Value>) {
        // A loop that is gone waits for nothing.
        let _ = self.tell(EditorEvent::Answered { id, outcome });
    }

    /// There is room for more of what the loop has to say.
    pub(super) fn drained(&self) {
        let _ = self.send(Event::OutboxDrained { client: self.client });
    }

    /// A file is open in the client's editor with this text.
    pub(super) fn buffer(&self, uri: &str, text: &str) {
        let mut buffers = self.buffers.borrow_mut();
        let version = match buffers.get(uri) {
            Some((_, told)) if told == text => return,
            Some((version, _)) => version + 1,
            None => 1,
        };
        buffers.insert(uri.to_owned(), (version, text.to_owned()));
        let (uri, text) = (uri.to_owned(), text.to_owned());
        let opened = DocumentEvent::Opened { uri, language_id: String::new(), version, text };
        let _ = self.tell(EditorEvent::Document(opened));
    }

    /// Whether the loop was told of a buffer of this file.
    pub(super) fn has_buffer(&self, uri: &str) -> bool {
        self.buffers.borrow().contains_key(uri)
    }

    /// The text of that buffer, as the loop was told.
    pub(super) fn buffer_text(&self, uri: &str) -> Option<String> {
        self.buffers.borrow().get(uri).map(|(_, text)| text.clone())
    }

    /// Nobody says any more what the buffers hold: the loop reads the files again.
    pub(super) fn forget_buffers(&self) {
        for uri in std::mem::take(&mut *self.buffers.borrow_mut()).into_keys() {
            let _ = self.tell(EditorEvent::Document(DocumentEvent::Closed { uri }));
        }
    }

    /// The process ends: the loop writes what waits.
    pub(super) async fn flush(&self) {
        let (reply, answer) = Reply::new();
        if self.send(Event::Exit { reply }).is_ok() {
            // Dropped or answered, it is over.
            let _ = answer.await;
        }
    }

    fn tell(&self, event: EditorEvent) -> Result<(), CodedError> {
        self.send(Event::Editor { client: self.client, event })
    }

    fn send(&self, event: Event) -> Result<(), CodedError> {
        self.inbox.send(event).map_err(|_| {
            CodedError::new(ErrorCode::Overloaded, "Too much waits to be handled; try again in a moment.")
        })
    }
}
