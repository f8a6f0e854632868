//! What changes of the context of a prompt while its turn runs (R002-43): problems, and the last command of the terminal.
//!
//! Owns what an engine was told of these last. Looked for again when the engine asks between two steps, by the same way as for the
//! prompt, so that what the user took away stays away; told only where it differs. What the view shows stays what went with the
//! prompt; each update stands in the journal.

use serde_json::{Map, Value, json};

use super::inbox::Reply;
use super::ports::{ContextFor, ContextUpdate, SessionHome};
use super::prompter::Prompter;
use super::state::App;
use crate::domain::context::choice::WantedContext;
use crate::domain::context::item::{ContextItem, ContextKind, PromptContext};
use crate::domain::context::shape::UserContext;
use crate::domain::event::{LocalKind, NormalizedEvent};

/// What changes because of what a turn does; what is in front of the user is his own doing.
const CHANGING: [ContextKind; 2] = [ContextKind::Diagnostics, ContextKind::Terminal];

/// What the engine of a turn was told last.
#[derive(Debug)]
pub(super) struct ToldContext {
    turn: u64,
    message_id: String,
    /// What is looked for again.
    wanted: WantedContext,
    items: Vec<ContextItem>,
}

impl App {
    /// A turn begins with this context. Our own agent and a desktop host hear of more while it runs.
    pub(super) fn context_was_told(
        &mut self,
        session_id: &str,
        (turn, message_id): (u64, &str),
        wanted: &WantedContext,
        context: &PromptContext,
    ) {
        let asks_again = match self.traits_of(session_id).sessions {
            SessionHome::Here | SessionHome::Engine => true,
            SessionHome::Agent => false,
        };
        let kinds = CHANGING.into_iter().filter(|kind| wanted.kinds.contains(kind)).collect();
        let wanted = WantedContext { kinds, choice: wanted.choice.clone(), ..WantedContext::default() };
        let told = ToldContext {
            turn,
            message_id: message_id.to_owned(),
            items: changing(context).collect(),
            wanted,
        };
        let Some(live) = self.live_mut(session_id) else { return };
        live.told_context = Some(Box::new(told)).filter(|told| asks_again && !told.wanted.kinds.is_empty());
    }

    /// The engine asks what changed. Empty: nothing, or nobody can say.
    pub(super) fn update_context(&mut self, session_id: &str, reply: Reply<ContextUpdate>) {
        let open = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        let told = self.live_mut(session_id).and_then(|live| live.told_context.as_ref());
        let Some((turn, wanted)) =
            told.filter(|told| Some(told.turn) == open).map(|told| (told.turn, told.wanted.clone()))
        else {
            return reply.answer(ContextUpdate::default());
        };
        let by = self.clients.prompters.of_turn(session_id);
        if !self.tells_context(by) {
            return reply.answer(ContextUpdate::default());
        }
        let session_id = session_id.to_owned();
        self.look_for_context(by, wanted, ContextFor::Update { session_id, turn, reply });
    }

    fn tells_context(&self, by: Prompter) -> bool {
        match by {
            Prompter::Client(id) => {
                self.clients.get(id).is_some_and(|client| client.abilities.context_provide)
            }
            Prompter::Left { .. } | Prompter::Nobody => false,
        }
    }

    /// What there is now.
    pub(super) fn context_looked_at_again(
        &mut self,
        session_id: &str,
        turn: u64,
        now: PromptContext,
        reply: Reply<ContextUpdate>,
    ) {
        let told = self.live_mut(session_id).and_then(|live| live.told_context.as_mut());
        let Some(told) = told.filter(|told| told.turn == turn) else {
            return reply.answer(ContextUpdate::default());
        };
        let items: Vec<ContextItem> = changing(&now).collect();
        let changed: Vec<ContextItem> =
            items.iter().filter(|item| !told.items.contains(item)).cloned().collect();
        let had_problems = told.items.iter().any(|item| item.kind == ContextKind::Diagnostics);
        let has_problems = items.iter().any(|item| item.kind == ContextKind::Diagnostics);
        // An editor that did not answer in time says nothing about them.
        let is_solved = had_problems && !has_problems && now.notes.is_empty();
        if changed.is_empty() && !is_solved {
            return reply.answer(ContextUpdate::default());
        }
        told.items.retain(|item| {
            let is_gone = is_solved && item.kind == ContextKind::Diagnostics;
            !(is_gone || items.iter().any(|new| new.kind == item.kind))
        });
        told.items.extend(items);
        let mut payload = Map::new();
        payload.insert("messageId".to_owned(), told.message_id.clone().into());
        payload.insert("items".to_owned(), json!(changed));
        payload.insert("notes".to_owned(), json!(now.notes));
        payload.insert("update".to_owned(), true.into());
        let at = self.ambient.now_ms();
        self.record_event(session_id, NormalizedEvent::local(LocalKind::Context, Some(turn), at, payload));
        let parts = parts(&now.shape, &changed, is_solved);
        reply.answer(ContextUpdate { words: words(&changed, is_solved), parts });
    }
}

/// The parts of the shape that changed, each whole.
fn parts(shape: &UserContext, changed: &[ContextItem], is_solved: bool) -> Map<String, Value> {
    let is_changed = |kind| changed.iter().any(|item| item.kind == kind);
    let mut parts = Map::new();
    if is_solved || is_changed(ContextKind::Diagnostics) {
        parts.insert("diagnostics".to_owned(), json!(shape.diagnostics));
    }
    if is_changed(ContextKind::Terminal) {
        parts.insert("terminal_output".to_owned(), json!(shape.terminal_output));
    }
    parts
}

fn changing(context: &PromptContext) -> impl Iterator<Item = ContextItem> {
    context.items.iter().filter(|item| CHANGING.contains(&item.kind)).cloned()
}

/// As the model reads it, behind what it hears of its calls.
fn words(changed: &[ContextItem], is_solved: bool) -> String {
    let solved = is_solved.then(|| "Problems: the editor shows none any more.".to_owned());
    let parts: Vec<String> = changed.iter().map(ContextItem::as_text).chain(solved).collect();
    format!(
        "\n\nChanged in the editor meanwhile (added by breadboard-ls, not typed by the user):\n\n{}",
        parts.join("\n\n")
    )
}
