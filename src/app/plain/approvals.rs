//! Questions in front of the user of an editor without our plugin: `window/showMessageRequest`.
//!
//! Owns that one is in front at a time, that its first answer changes nothing, that an answer counts by its title alone, and that
//! nothing is allowed before all of it stood in a document. Whatever is no answer leaves the request open: it stays as an offer
//! and a mark. Never waits for the editor.

use serde_json::{Value, json};

use super::PlainAsk;
use crate::app::client::ClientId;
use crate::app::editor_asks::PendingAsk;
use crate::app::inbox::Reply;
use crate::app::record::Ask;
use crate::app::state::App;
use crate::app::wire_out;
use crate::domain::approval::{Decision, PermissionOption, PermissionOptionKind};
use crate::domain::chat_document::{ChatText, whole_subject};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::request::ApprovePermissionParams;

/// What the first answer says. Some editors select the first one before the user chose.
const DENY: &str = "Deny";

/// JSON-RPC: the editor has no such request.
const METHOD_NOT_FOUND: i64 = -32601;

/// The question in front of the user.
#[derive(Debug, Default)]
pub(super) enum PromptShown {
    /// None is.
    #[default]
    Free,
    /// This one, until the editor answers, whatever that is: a second one would hide it, or take its answer.
    Waits {
        session_id: String,
        request_id: String,
        /// Titles, and the options that they are.
        titles: Vec<(String, PermissionOption)>,
        /// The editor was told that it is settled.
        withdrawn: bool,
    },
    /// That of an undo, until the editor answers.
    Undo,
    /// The editor has no way to ask.
    Never,
}

impl PromptShown {
    /// Whether another one can be in front of the user, once the editor answered.
    pub(super) fn after(outcome: &Result<Value, Value>) -> Self {
        let has_none = outcome.as_ref().is_err_and(|error| error["code"] == json!(METHOD_NOT_FOUND));
        if has_none { Self::Never } else { Self::Free }
    }
}

/// A request that waits for the user.
pub(super) struct WaitingAsk {
    /// Document of its chat; empty where there is none.
    pub(super) uri: String,
    pub(super) session_id: String,
    pub(super) ask: Ask,
    /// Whether all of it stands in the document.
    pub(super) is_shown: bool,
    /// Whether it may still come to stand there without the user doing anything.
    comes: bool,
}

impl App {
    /// What waits for the user in the chats of an editor, oldest first.
    pub(super) fn waiting_asks(&self, client: ClientId) -> Vec<WaitingAsk> {
        let mut waiting = Vec::new();
        for (uri, chat) in self.plain(client).into_iter().flat_map(|plain| &plain.chats) {
            let Some(session_id) = &chat.session_id else { continue };
            let live = self.known(session_id).ok().and_then(|session| session.live.as_ref());
            for ask in live.into_iter().flat_map(|live| live.asks.values()) {
                if ask.answered.is_some() && ask.sent {
                    continue;
                }
                let whole = whole_subject(&ask.permission);
                let is_shown = whole.as_deref().is_some_and(|whole| self.shows(client, uri, whole));
                let comes = whole.is_some()
                    && self.document_text(client, uri).is_some()
                    && chat.sync.as_ref().is_some_and(|sync| !sync.is_held());
                let (uri, session_id) = (uri.clone(), session_id.clone());
                waiting.push(WaitingAsk { uri, session_id, ask: ask.clone(), is_shown, comes });
            }
        }
        waiting.sort_by_key(|waits| waits.ask.asked_at);
        waiting
    }

    /// Whether a text stands in the running answer of a document, as the editor has it.
    fn shows(&self, client: ClientId, uri: &str, whole: &str) -> bool {
        let Some(text) = self.document_text(client, uri) else { return false };
        let read = ChatText::read(&text);
        let nth = self.chat(client, uri).and_then(|chat| chat.sync.as_ref()).map(|sync| sync.nth());
        let wanted = whole.trim_matches('\n');
        match nth {
            Some(nth) => read.answer(nth).is_some_and(|section| read.said(section).contains(wanted)),
            None => read.answers().last().is_some_and(|section| read.said(section).contains(wanted)),
        }
    }

    /// Puts the next question in front of the user, where none is.
    pub(super) fn step_prompt(&mut self, client: ClientId) {
        let waiting = self.waiting_asks(client);
        let Some(plain) = self.plain_mut(client) else { return };
        plain.prompted.retain(|id| waiting.iter().any(|waits| waits.ask.permission.request_id == *id));
        match &mut plain.prompt {
            PromptShown::Never | PromptShown::Undo => return,
            PromptShown::Waits { request_id, withdrawn, .. } => {
                let is_settled = !waiting.iter().any(|waits| waits.ask.permission.request_id == *request_id);
                if is_settled && !std::mem::replace(withdrawn, true) {
                    let request_id = request_id.clone();
                    self.withdraw_prompt(client, &request_id);
                }
                return;
            }
            PromptShown::Free => {}
        }
        let is_new = |waits: &&WaitingAsk| !plain.prompted.contains(&waits.ask.permission.request_id);
        let Some(next) = waiting.iter().find(is_new) else { return };
        if next.is_shown || !next.comes {
            self.put_prompt(client, next);
        }
    }

    fn put_prompt(&mut self, client: ClientId, waits: &WaitingAsk) {
        let permission = &waits.ask.permission;
        let titles = titles(&permission.options, waits.is_shown);
        let how = if waits.is_shown {
            "All of it is in the chat document."
        } else {
            "It is not shown here whole, so it can only be denied; the code action \"Show the answer\" shows it."
        };
        let message = format!("{}\n{how}", permission.title);
        let actions: Vec<Value> = titles.iter().map(|(title, _)| json!({ "title": title })).collect();
        let (session_id, request_id) = (waits.session_id.clone(), permission.request_id.clone());
        if waits.is_shown
            && self
                .clients
                .get(client)
                .and_then(|client| client.abilities.plain)
                .is_some_and(|able| able.show_document)
        {
            let params = json!({ "uri": waits.uri, "external": false, "takeFocus": false });
            self.ask_plain(client, "window/showDocument", &params, PlainAsk::Told);
        }
        if let Some(plain) = self.plain_mut(client) {
            plain.prompted.insert(request_id.clone());
            plain.prompt =
                PromptShown::Waits { session_id, request_id: request_id.clone(), titles, withdrawn: false };
        }
        let params = json!({ "type": 3, "message": message, "actions": actions });
        self.ask_plain(client, "window/showMessageRequest", &params, PlainAsk::Prompted { request_id });
    }

    /// It was settled by another way: whoever still shows it may take it away.
    fn withdraw_prompt(&mut self, client: ClientId, request_id: &str) {
        let Some(editor) = self.clients.get(client) else { return };
        let is_prompt = |ask: &PendingAsk| matches!(ask, PendingAsk::Plain(PlainAsk::Prompted { request_id: asked }) if asked == request_id);
        let id = editor.asks.iter().find(|(_, ask)| is_prompt(ask)).map(|(id, _)| id.clone());
        if let Some(id) = id
            && !editor.push(wire_out::notification("$/cancelRequest", &json!({ "id": id })))
        {
            tracing::debug!(id, "a cancellation did not fit into the outbox");
        }
    }

    /// The editor answered a question. Only a title that was offered is an answer.
    pub(super) fn prompt_answered(
        &mut self,
        client: ClientId,
        request_id: &str,
        outcome: &Result<Value, Value>,
    ) {
        let Some(plain) = self.plain_mut(client).filter(|plain| !matches!(plain.prompt, PromptShown::Undo))
        else {
            return;
        };
        let PromptShown::Waits { session_id, request_id: asked, titles, withdrawn } =
            std::mem::take(&mut plain.prompt)
        else {
            return;
        };
        plain.prompt = PromptShown::after(outcome);
        let title = outcome.as_ref().ok().and_then(|answer| answer.get("title")).and_then(Value::as_str);
        let option = title.and_then(|title| titles.into_iter().find(|(offered, _)| offered == title));
        if withdrawn || asked != request_id {
            return;
        }
        if let Some((_, option)) = option
            && let Err(error) = self.answer_ask(client, &session_id, request_id, &option)
        {
            self.say_to(client, "error", &error.message);
        }
    }

    /// Answers a request that waits, by one of its options.
    pub(super) fn answer_ask(
        &mut self,
        client: ClientId,
        session_id: &str,
        request_id: &str,
        option: &PermissionOption,
    ) -> Result<(), CodedError> {
        let waits = self.waiting_ask(client, session_id, request_id)?;
        let is_no = option.kind == PermissionOptionKind::Deny;
        if !is_no && !waits.is_shown {
            return Err(not_shown());
        }
        let answer = ApprovePermissionParams {
            session_id: Some(session_id.to_owned()),
            tab_id: None,
            request_id: request_id.to_owned(),
            decision: if is_no { Decision::Deny } else { Decision::AllowOnce },
            option_id: Some(option.option_id.clone()).filter(|id| !id.is_empty()),
            rule_update: None,
            digest: Some(waits.ask.permission.digest),
            content: None,
        };
        let (reply, mut answered) = Reply::new();
        self.approve_permission(client, answer, reply);
        match answered.try_recv() {
            Ok(Err(error)) => Err(error),
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }

    pub(super) fn waiting_ask(
        &self,
        client: ClientId,
        session_id: &str,
        request_id: &str,
    ) -> Result<WaitingAsk, CodedError> {
        let is_it = |waits: &WaitingAsk| {
            waits.session_id == session_id && waits.ask.permission.request_id == request_id
        };
        self.waiting_asks(client).into_iter().find(is_it).ok_or_else(|| {
            CodedError::new(ErrorCode::UnknownRequest, "This was answered already, or is not asked any more.")
        })
    }
}

/// What can be answered: no first, and anything else only of what was shown.
pub(super) fn titles(options: &[PermissionOption], is_shown: bool) -> Vec<(String, PermissionOption)> {
    let no = options.iter().find(|option| option.kind == PermissionOptionKind::Deny).cloned();
    let no = no.unwrap_or_else(|| PermissionOption::plain("", DENY, PermissionOptionKind::Deny));
    let mut titles = vec![(title_of(&no), no)];
    for option in options.iter().filter(|_| is_shown) {
        let title = title_of(option);
        // Two of one title could not be told apart.
        if option.kind != PermissionOptionKind::Deny && titles.iter().all(|(known, _)| *known != title) {
            titles.push((title, option.clone()));
        }
    }
    titles
}

/// The label of an option, with the rule that it would save.
fn title_of(option: &PermissionOption) -> String {
    match &option.rule {
        Some(rule) if rule.pattern != option.label => format!("{} ({})", option.label, rule.pattern),
        Some(_) | None => option.label.clone(),
    }
}

pub(super) fn not_shown() -> CodedError {
    CodedError::new(
        ErrorCode::Conflict,
        "All of it has to stand in the chat document before it can be allowed; show the answer there first, or deny.",
    )
}
