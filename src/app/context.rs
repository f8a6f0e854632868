//! The context of a prompt: wanted by its words, found by the workspace edge, told to the engine with it.
//!
//! Owns which turn waits for it and what becomes of the turn meanwhile. Nothing here waits: a prompt is in the journal before its
//! context is looked for, and begins when that is there or its time is over (decision 0021).

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::client::ClientId;
use super::editor_asks::PendingAsk;
use super::inbox::{Answer, Reply};
use super::ports::{
    ContextDone, ContextFor, ContextJob, FileJob, McpFetched, McpWanted, SessionHome, TurnBegun,
};
use super::prompter::Prompter;
use super::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::context::budget::{CONTEXT_BYTES, fit};
use crate::domain::context::choice::{ContextChoice, EditorTells, WantedContext, wanted};
use crate::domain::context::item::{ContextKind, PromptContext};
use crate::domain::context::mention::PromptMention;
use crate::domain::context::shape::UserContext;
use crate::domain::edits::overlay::PositionEncoding;
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::domain::mcp::{PromptCall, prompt_call, prompt_named};
use crate::protocol::context::{ContextPreviewParams, ContextPreviewResult, ContextProvideParams};

/// Bytes of what is typed so far that a preview looks at.
const TYPED: usize = 64 * 1024;

impl App {
    /// `bb/context/preview`.
    pub(super) fn context_preview(
        &mut self,
        client: ClientId,
        params: ContextPreviewParams,
        reply: Reply<ContextPreviewResult>,
    ) {
        let ContextPreviewParams { session_id, tab_id, text, context } = params;
        let session_id = session_id.or_else(|| self.tabs.session_shown(tab_id.as_deref()?));
        let text = text.filter(|text| text.len() <= TYPED).unwrap_or_default();
        let by = Prompter::Client(client);
        match self.context_wanted(by, session_id.as_deref(), &text, context.as_ref()) {
            Some(wanted) => self.look_for_context(by, wanted, ContextFor::Preview { reply }),
            None => reply.answer(ContextPreviewResult::default()),
        }
    }

    /// What is to be looked for with a prompt; `None`: nothing, and it goes out at once.
    pub(super) fn context_wanted(
        &self,
        by: Prompter,
        session_id: Option<&str>,
        text: &str,
        choice: Option<&ContextChoice>,
    ) -> Option<WantedContext> {
        if self.workspace.folders.is_empty() {
            return None;
        }
        let editor = match self.prompting(by) {
            Some((_, true)) => EditorTells::Everything,
            Some((_, false)) | None => EditorTells::OpenDocuments,
        };
        let state = session_id
            .and_then(|session_id| self.known(session_id).ok())
            .and_then(|session| session.record.held.as_ref()?.snapshot.as_deref());
        let commands = state.and_then(|snapshot| snapshot.state.commands.as_deref()).unwrap_or_default();
        let found = wanted(text, choice, editor, |name| commands.iter().any(|command| command.name == name));
        match self.served_prompt(session_id, text) {
            Some(call) => Some(WantedContext { served: Some(call), ..found.unwrap_or_default() }),
            None => found,
        }
    }

    /// The prompt of a tool server that a text begins with.
    fn served_prompt(&self, session_id: Option<&str>, text: &str) -> Option<PromptCall> {
        let mcp = self.mcp.as_ref()?;
        let (server, prompt) = prompt_named(text)?;
        prompt_call(text, &mcp.prompt(session_id, server, prompt)?)
    }

    /// Asks tool servers for what a prompt names there.
    fn ask_servers(
        &self,
        by: Prompter,
        wanted: &WantedContext,
        purpose: &ContextFor,
    ) -> Option<Answer<Vec<McpFetched>>> {
        // A preview shows what there is; nobody is to wait for it.
        let ContextFor::Turn { session_id, .. } = purpose else { return None };
        let named = wanted.mentions.iter().filter_map(|mention| match mention {
            PromptMention::Resource { server, uri } => {
                Some(McpWanted::Resource { server: server.clone(), uri: uri.clone() })
            }
            PromptMention::Path { .. } | PromptMention::Symbol(_) | PromptMention::Kind(_) => None,
        });
        let called = wanted.served.clone().map(McpWanted::Prompt);
        let wants: Vec<McpWanted> = named.chain(called).collect();
        let mcp = self.mcp.as_ref().filter(|_| !wants.is_empty())?;
        if self.trusts(by) {
            return Some(mcp.fetch(session_id, wants));
        }
        let why = |wanted: McpWanted| {
            let sentence = match &wanted {
                McpWanted::Resource { server, uri } => format!(
                    "`@{server}:{uri}` was not read, since no tool server runs in a workspace that is not trusted."
                ),
                McpWanted::Prompt(_) => "No tool server runs in a workspace that is not trusted.".to_owned(),
            };
            (wanted, Err(sentence))
        };
        let (reply, answer) = Reply::new();
        reply.answer(wants.into_iter().map(why).collect());
        Some(answer)
    }

    /// The client that prompts, and whether it answers for what is in front of its user.
    fn prompting(&self, by: Prompter) -> Option<(ClientId, bool)> {
        match by {
            Prompter::Client(id) => Some((id, self.clients.get(id)?.abilities.context_provide)),
            Prompter::Left { .. } | Prompter::Nobody => None,
        }
    }

    /// A turn waits for the context of its prompt.
    pub(super) fn gather(
        &mut self,
        by: Prompter,
        session_id: &str,
        (begun, looked_at): (TurnBegun, Option<Answer<()>>),
        wanted: WantedContext,
    ) {
        self.gathering.insert(session_id.to_owned(), begun.turn);
        let purpose =
            ContextFor::Turn { session_id: session_id.to_owned(), begun: Box::new(begun), looked_at };
        self.look_for_context(by, wanted, purpose);
    }

    pub(super) fn look_for_context(&mut self, by: Prompter, wanted: WantedContext, purpose: ContextFor) {
        let client = match by {
            Prompter::Client(client) => Some(client),
            Prompter::Left { .. } | Prompter::Nobody => None,
        };
        let editor = self.ask_for_context(by, &wanted);
        let encoding = client
            .and_then(|client| self.clients.get(client))
            .map_or_else(PositionEncoding::default, |client| client.encoding);
        let lists = Arc::clone(&self.settings.standing.files);
        let served = self.ask_servers(by, &wanted, &purpose);
        let job = ContextJob { wanted, encoding, trusted: self.trusts(by), lists, editor, served, purpose };
        let buffers = self.clients.buffers(client);
        self.files.submit(FileJob::Context(Box::new(job)), buffers);
    }

    /// Asks the editor for what only it knows.
    fn ask_for_context(&mut self, by: Prompter, wanted: &WantedContext) -> Option<Answer<UserContext>> {
        let (client, _) = self.prompting(by).filter(|(_, answers)| *answers)?;
        let wants = wants_of(wanted);
        if wants.is_empty() {
            return None;
        }
        let (reply, answer) = Reply::new();
        self.ask_client(client, &ContextProvideParams { wants }, PendingAsk::ContextProvided { reply });
        Some(answer)
    }

    /// The context of a prompt is there, or as much of it as came in time.
    pub(super) fn context_found(&mut self, done: ContextDone) {
        let ContextDone { purpose, wanted, found } = done;
        let context = self.fitted(&wanted, found);
        match purpose {
            ContextFor::Preview { reply } => reply.answer(ContextPreviewResult {
                items: context.chips(),
                notes: context.notes,
                context: context.shape,
            }),
            ContextFor::Turn { session_id, begun, looked_at } => {
                self.context_of_turn(&session_id, *begun, looked_at, (&wanted, context));
            }
            ContextFor::Update { session_id, turn, reply } => {
                self.context_looked_at_again(&session_id, turn, context, reply);
            }
        }
    }

    fn context_of_turn(
        &mut self,
        session_id: &str,
        mut begun: TurnBegun,
        looked_at: Option<Answer<()>>,
        (wanted, context): (&WantedContext, PromptContext),
    ) {
        let turn = begun.turn;
        if self.gathering.get(session_id) != Some(&turn) {
            // It was stopped meanwhile, or its session is gone.
            return;
        }
        self.gathering.remove(session_id);
        if self.known(session_id).ok().and_then(|session| session.record.turn.open()) != Some(turn) {
            return;
        }
        if let Some(why) = context.failure {
            return self.turn_over(session_id, turn, Some(why.into()), false);
        }
        self.context_was_told(session_id, (turn, &begun.prompt.message_id), wanted, &context);
        let now = self.ambient.now_ms();
        let mut payload = Map::new();
        payload.insert("messageId".to_owned(), begun.prompt.message_id.clone().into());
        if let Some(command) = context.command {
            payload.insert("command".to_owned(), command.slashed().into());
        }
        if let Some(served) = &context.served {
            payload.insert("served".to_owned(), served.as_str().into());
        }
        payload.insert("items".to_owned(), json!(context.items));
        payload.insert("notes".to_owned(), json!(context.notes));
        self.record_event(session_id, NormalizedEvent::local(LocalKind::Context, Some(turn), now, payload));
        if self.traits_of(session_id).sessions != SessionHome::Engine {
            // An engine that tells every client what was asked gets the words as they were typed.
            begun.prompt.text = context.words(&begun.prompt.text);
        }
        begun.prompt.context = Box::new(context);
        self.turn_ready(session_id, &mut begun);
        self.start_at_engine(session_id, begun, looked_at);
    }

    /// A turn that waits for its context is stopped: nothing of it is at the engine.
    pub(super) fn stop_gathering(&mut self, session_id: &str) -> bool {
        let Some(turn) = self.gathering.remove(session_id) else { return false };
        let why = "The turn was stopped before its prompt was sent to the engine.".into();
        self.turn_over(session_id, turn, Some(why), true);
        true
    }

    /// Without secrets, without what the user took away, and within the budget.
    fn fitted(&self, wanted: &WantedContext, found: PromptContext) -> PromptContext {
        let mut found = without_secrets(self, found);
        let (served, failure) = (found.served.take(), found.failure.take());
        let PromptContext { items, mut notes, shape, .. } = found;
        let items: Vec<_> = items.into_iter().filter(|item| wanted.choice.takes(item)).collect();
        let (items, left_out) = fit(items, CONTEXT_BYTES);
        notes.extend(left_out);
        let mut shape = shape;
        shape.command = wanted.command.map(|command| command.slashed().to_owned());
        let has = |kind| items.iter().any(|item| item.kind == kind);
        if !has(ContextKind::ActiveEditor) && !has(ContextKind::Selection) && !has(ContextKind::Scope) {
            shape.active_editor = None;
        }
        if !has(ContextKind::Diagnostics) {
            shape.diagnostics.clear();
        }
        if !has(ContextKind::OpenEditors) {
            shape.open_editors.clear();
        }
        if !has(ContextKind::Terminal) {
            shape.terminal_output = None;
        }
        if !has(ContextKind::Git) {
            shape.git_context = None;
        }
        PromptContext { command: wanted.command, items, notes, shape, served, failure }
    }
}

fn without_secrets(app: &App, found: PromptContext) -> PromptContext {
    if !app.redactor.knows_any() {
        return found;
    }
    let Ok(bytes) = serde_json::to_vec(&found) else { return PromptContext::default() };
    serde_json::from_slice(&app.redactor.scrub(&bytes)).unwrap_or_default()
}

/// What the editor is asked for.
fn wants_of(wanted: &WantedContext) -> Vec<String> {
    use ContextKind::{
        ActiveEditor, Dependent, Diagnostics, Import, OpenEditors, Scope, Selection, Source, Terminal, Test,
    };
    let any = |kinds: &[ContextKind]| kinds.iter().any(|kind| wanted.kinds.contains(kind));
    let wants = [
        ("active_editor", any(&[ActiveEditor, Selection, Scope, Test, Source, Import, Dependent])),
        ("selection", any(&[Selection, Scope])),
        ("visible_range", any(&[ActiveEditor])),
        ("open_editors", any(&[OpenEditors])),
        ("diagnostics", any(&[Diagnostics])),
        ("terminal_output", any(&[Terminal])),
    ];
    wants.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(name, _)| name.to_owned()).collect()
}

/// What the editor answered. A part that is not what the protocol says is left out, and the others count.
pub(super) fn provided(outcome: Result<Value, Value>) -> Result<UserContext, CodedError> {
    let unusable = || {
        CodedError::new(
            ErrorCode::EngineRejected,
            "The editor could not say what is in front of you, so the prompt went without it.",
        )
    };
    let Ok(Value::Object(answer)) = outcome else { return Err(unusable()) };
    Ok(UserContext {
        active_editor: part(&answer, "active_editor"),
        open_editors: list(&answer, "open_editors"),
        diagnostics: list(&answer, "diagnostics"),
        terminal_output: part(&answer, "terminal_output"),
        ..UserContext::default()
    })
}

fn part<T: DeserializeOwned>(answer: &Map<String, Value>, name: &str) -> Option<T> {
    T::deserialize(answer.get(name)?).ok()
}

fn list<T: DeserializeOwned>(answer: &Map<String, Value>, name: &str) -> Vec<T> {
    /// An editor may have thousands of problems; nobody reads more than these.
    const MOST: usize = 500;
    let items = answer.get(name).and_then(Value::as_array);
    items.into_iter().flatten().take(MOST).filter_map(|item| T::deserialize(item).ok()).collect()
}
