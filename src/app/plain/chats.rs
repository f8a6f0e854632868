//! Prompts of chat documents on their way to a session, and answers on their way into the documents.
//!
//! Owns which session a chat goes on in. Never sends a prompt that the user did not send by a command.

use serde_json::{Value, json};

use super::chat::{ChatTurn, PlainChat};
use super::{COMMAND_US, PlainAsk};
use crate::app::client::ClientId;
use crate::app::editor_asks::PendingAsk;
use crate::app::ports::{NewSession, SessionReply};
use crate::app::prompter::Prompter;
use crate::app::state::App;
use crate::domain::chat_document::{ChatSync, ChatText, ChatWait, NextEdit, is_chat, whole_subject};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::view::Change;
use crate::protocol::request::SendMessageParams;
use crate::protocol::settings::EngineKind;

/// Characters of an answer that is told in a message, where no document can show it.
const TOLD: usize = 4_000;

impl App {
    /// Sends what a chat document asks, or `asked`, which is then written into it.
    pub(super) fn send_chat(
        &mut self,
        client: ClientId,
        uri: &str,
        asked: Option<String>,
        origin: Option<String>,
    ) -> Result<(), CodedError> {
        let text = self.document_text(client, uri).ok_or_else(|| {
            CodedError::new(ErrorCode::NotFound, "The chat document is not open; open it and send again.")
        })?;
        let read = ChatText::read(&text);
        let prompt = asked.clone().or_else(|| read.prompt().map(std::borrow::Cow::into_owned));
        let Some(prompt) = prompt else {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "There is nothing to send; type what you want to ask at the end of the document.",
            ));
        };
        let versioned = self.clients.get(client).is_some_and(|client| client.abilities.document_changes);
        let sync = ChatSync::new(&read, asked, versioned);
        self.begin_chat(client, uri, prompt, Some(sync), origin)
    }

    /// Asks where no document can be shown: the answer comes as a message.
    pub(super) fn send_without_document(
        &mut self,
        client: ClientId,
        prompt: String,
        origin: Option<String>,
    ) -> Result<(), CodedError> {
        self.begin_chat(client, "", prompt, None, origin)
    }

    fn begin_chat(
        &mut self,
        client: ClientId,
        uri: &str,
        prompt: String,
        sync: Option<ChatSync>,
        origin: Option<String>,
    ) -> Result<(), CodedError> {
        let session_id = self.session_of_chat(client, uri);
        let Some(plain) = self.plain_mut(client) else { return Ok(()) };
        let chat = plain.chats.entry(uri.to_owned()).or_insert_with(PlainChat::default);
        if chat.is_busy() {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "The agent still answers in this chat; stop it, or send again when it is done.",
            ));
        }
        chat.begin(prompt.clone(), sync);
        chat.origin = origin;
        match session_id {
            Some(session_id) => self.prompt_chat(client, uri, session_id),
            None => self.make_chat_session(client, uri, &prompt),
        }
        Ok(())
    }

    /// The session that a chat goes on in: the last one that was prompted from it and still takes prompts.
    fn session_of_chat(&mut self, client: ClientId, uri: &str) -> Option<String> {
        let known = self.chat(client, uri).and_then(|chat| chat.session_id.clone());
        let last = || {
            let mut of_chat: Vec<_> = self
                .sessions
                .values()
                .filter(|session| !uri.is_empty() && session.record.chat.as_deref() == Some(uri))
                .collect();
            of_chat.sort_by_key(|session| session.record.updated_at);
            of_chat.last().map(|session| session.record.session_id.clone())
        };
        known.or_else(last).filter(|session_id| self.goes_on(session_id).is_ok())
    }

    fn make_chat_session(&mut self, client: ClientId, uri: &str, prompt: &str) {
        let kind = self.settings.engine.kind;
        let by = Prompter::Client(client);
        let made = self.may_prompt(by, kind, prompt).and_then(|()| {
            let elsewhere = self.engine_for(kind)?.traits().sessions.is_elsewhere();
            if !elsewhere {
                return self.create_session_here(client, None, None).map(|made| Some(made.session_id));
            }
            if kind == EngineKind::Acp {
                self.may_run(by, kind)?;
            }
            Ok(None)
        });
        match made {
            Ok(Some(session_id)) => self.prompt_chat(client, uri, session_id),
            Ok(None) => {
                let workspace = self.workspace.folders.first().and_then(|folder| folder.path.clone());
                let wish = NewSession { workspace, client: Some(client), ..NewSession::default() };
                self.make_session(kind, wish, SessionReply::Chat { uri: uri.to_owned() });
            }
            Err(error) => self.fail_chat(client, uri, &error),
        }
    }

    /// The engine made the session of a chat, or did not.
    pub(in crate::app) fn plain_session_made(
        &mut self,
        client: Option<ClientId>,
        uri: &str,
        made: Result<String, CodedError>,
    ) {
        let Some(client) = client else { return };
        match made {
            Ok(session_id) => self.prompt_chat(client, uri, session_id),
            Err(error) => self.fail_chat(client, uri, &error),
        }
    }

    fn prompt_chat(&mut self, client: ClientId, uri: &str, session_id: String) {
        let Some(chat) = self.chat_mut(client, uri) else { return };
        let ChatTurn::Begins(text) = std::mem::replace(&mut chat.turn, ChatTurn::Runs) else { return };
        chat.session_id = Some(session_id.clone());
        let prompt = SendMessageParams {
            session_id: session_id.clone(),
            text,
            attachment_ids: None,
            message_id: None,
            context: None,
        };
        if let Err(error) = self.send_message(client, prompt) {
            return self.fail_chat(client, uri, &error);
        }
        if let Ok(record) = self.record_mut(&session_id)
            && !uri.is_empty()
        {
            record.chat = Some(uri.to_owned());
        }
    }

    fn fail_chat(&mut self, client: ClientId, uri: &str, error: &CodedError) {
        if let Some(chat) = self.chat_mut(client, uri) {
            chat.fail(&error.message);
        }
    }

    /// Changes of a session's view, for the chats that show its turn.
    pub(in crate::app) fn plain_hears(&mut self, session_id: &str, changes: &[Change]) {
        for (_, client) in self.clients.iter_mut() {
            let chats = client.plain.iter_mut().flat_map(|plain| plain.chats.values_mut());
            for chat in chats.filter(|chat| chat.session_id.as_deref() == Some(session_id)) {
                match chat.turn {
                    ChatTurn::Runs => chat.hears(changes),
                    ChatTurn::Over | ChatTurn::Idle => chat.hears_later(changes),
                    ChatTurn::Begins(_) => {}
                }
            }
        }
    }

    /// A document was opened, changed, saved or closed.
    pub(in crate::app) fn plain_document_changed(&mut self, client: ClientId, uri: &str) {
        if !is_chat(uri) || self.plain(client).is_none() {
            return;
        }
        let now = self.now_us();
        let text = self.document_text(client, uri);
        if let Some(chat) = self.chat_mut(client, uri) {
            if let (Some(sync), Some(text)) = (&mut chat.sync, &text) {
                sync.changed(&ChatText::read(text), now);
            }
            chat.touch();
        }
        if text.is_some() {
            self.chat_opened(client, uri);
        }
    }

    /// The text of an open document of an editor.
    pub(super) fn document_text(&self, client: ClientId, uri: &str) -> Option<String> {
        Some(self.clients.get(client)?.overlay.get(uri)?.text.to_string())
    }

    /// Whether an editor takes an edit at this moment: it says so, or its user just ran a command.
    pub(in crate::app) fn takes_edits(&self, client: ClientId, now: u64) -> bool {
        let announced = self.clients.get(client).is_some_and(|client| client.abilities.apply_edit);
        let commanded = self.plain(client).and_then(|plain| plain.commanded_us);
        announced || commanded.is_some_and(|at| now < at.saturating_add(COMMAND_US))
    }

    /// Brings the documents of an editor on, as far as they lag behind.
    pub(super) fn step_chats(&mut self, client: ClientId) {
        let now = self.now_us();
        let due = |(uri, chat): (&String, &PlainChat)| {
            (chat.turn != ChatTurn::Idle && chat.is_due(now)).then(|| uri.clone())
        };
        let uris: Vec<String> =
            self.plain(client).into_iter().flat_map(|plain| plain.chats.iter().filter_map(due)).collect();
        for uri in uris {
            self.step_chat(client, &uri, now);
        }
    }

    fn step_chat(&mut self, client: ClientId, uri: &str, now: u64) {
        let session_id = self.chat(client, uri).and_then(|chat| chat.session_id.clone());
        let asks = session_id.as_deref().map(|id| self.subjects_that_wait(id)).unwrap_or_default();
        let is_open = session_id.as_deref().is_some_and(|id| {
            self.known(id).is_ok_and(|session| {
                session.record.turn.is_open() || !session.record.queue.items().is_empty()
            })
        });
        let may_edit = self.takes_edits(client, now);
        let text = self.document_text(client, uri);
        let version =
            self.clients.get(client).and_then(|client| client.overlay.get(uri)).map(|open| open.version);
        let Some(chat) = self.chat_mut(client, uri) else { return };
        if chat.turn == ChatTurn::Runs && !is_open {
            chat.turn = ChatTurn::Over;
        }
        chat.refresh(|request_id| {
            asks.iter().find(|(id, _)| id == request_id).map(|(_, shown)| shown.clone())
        });
        let next = match (&mut chat.sync, &text) {
            (Some(sync), Some(text)) => sync.next(&ChatText::read(text), &chat.wanted, may_edit, now),
            (Some(_), None) | (None, _) => NextEdit::None(ChatWait::Gone),
        };
        match next {
            NextEdit::Edit(new) => {
                if let (Some(sync), Some(version)) = (&mut chat.sync, version) {
                    sync.sent_for(version);
                }
                chat.looked(Some(now));
                self.edit_chat(client, uri, text.as_deref().unwrap_or_default(), &new);
            }
            NextEdit::At(due) => chat.looked(Some(due)),
            NextEdit::None(why) => {
                chat.looked(None);
                if chat.turn == ChatTurn::Over {
                    self.chat_over(client, uri, why);
                }
            }
        }
    }

    /// A turn is over, and its document says all that it will say for now.
    fn chat_over(&mut self, client: ClientId, uri: &str, why: ChatWait) {
        let Some(chat) = self.chat_mut(client, uri) else { return };
        match why {
            ChatWait::Level => (chat.turn, chat.sync) = (ChatTurn::Idle, None),
            ChatWait::ForCommand => {
                // Nothing more comes of it but by the user's command; said once.
                chat.turn = ChatTurn::Idle;
                self.say_to(
                    client,
                    "info",
                    "The answer is ready; run the code action \"Show the answer\" in the chat document.",
                );
            }
            ChatWait::Gone => {
                (chat.turn, chat.sync) = (ChatTurn::Idle, None);
                let whole = std::mem::take(&mut chat.wanted);
                let mut told: String = whole.chars().take(TOLD).collect();
                if told.len() < whole.len() {
                    told.push_str("\n(The answer goes on; ask in a chat document to see all of it.)");
                }
                if !told.is_empty() {
                    self.say_to(client, "info", &told);
                }
            }
        }
    }

    /// The requests of a session that wait, each with all that it is about, where that can be shown.
    pub(super) fn subjects_that_wait(&self, session_id: &str) -> Vec<(String, String)> {
        let live = self.known(session_id).ok().and_then(|session| session.live.as_ref());
        let asks = live.into_iter().flat_map(|live| live.asks.values());
        asks.filter_map(|ask| Some((ask.permission.request_id.clone(), whole_subject(&ask.permission)?)))
            .collect()
    }

    pub(super) fn ask_plain(
        &mut self,
        client: ClientId,
        method: &'static str,
        params: &Value,
        ask: PlainAsk,
    ) {
        self.ask_editor(client, method, params, PendingAsk::Plain(ask));
    }

    /// Stops the turn of a chat.
    pub(super) fn stop_chat(&mut self, client: ClientId, uri: &str) -> Result<(), CodedError> {
        let session_id = self.chat(client, uri).and_then(|chat| chat.session_id.clone());
        match session_id {
            Some(session_id) => self.stop(&session_id).map(drop),
            None => Err(CodedError::new(ErrorCode::NotFound, "Nothing runs in this chat.")),
        }
    }

    /// A place in a document, as LSP has it.
    pub(super) fn span(
        range: (crate::domain::edits::overlay::Position, crate::domain::edits::overlay::Position),
    ) -> Value {
        let place = |at: crate::domain::edits::overlay::Position| json!({ "line": at.line, "character": at.character });
        json!({ "start": place(range.0), "end": place(range.1) })
    }
}
