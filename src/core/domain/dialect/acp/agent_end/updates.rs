//! What happens in a session as updates for the client, made from the changes of its view.
//!
//! Owns what the client was told of each block, so that a text comes in pieces and a call in what changed of it, live and where a
//! history is told again. The protocol takes nothing back: a text that turns out otherwise is told once more, whole. Bounded: a
//! block is forgotten when nothing more can come of it.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value, json};

use super::call;
use crate::domain::fact::{NoticeLevel, PlanStep, TurnOutcome};
use crate::domain::view::{Block, BlockBody, Change, ChangeOp, Lane};

/// Prompts of this client that are not told back to it. One is under way at a time.
const OWN_PROMPTS: usize = 16;

/// Calls that may still change, or that a request for permission may name. Engines have dozens at a time.
const CALLS: usize = 512;

/// Texts that may still change. One or two are open at a time, and a prompt is told once more with what goes with it.
const TEXTS: usize = 16;

/// A text as it was told.
#[derive(Debug)]
struct ToldText {
    kind: &'static str,
    text: String,
}

/// What the client was told of a session.
#[derive(Debug, Default)]
pub struct SpokenUpdates {
    root: String,
    notices: bool,
    /// Texts that may still grow, as they were told.
    texts: HashMap<String, ToldText>,
    /// Their blocks, the oldest first.
    text_order: VecDeque<String>,
    /// Calls, as they were told.
    calls: HashMap<String, Map<String, Value>>,
    /// Blocks of calls, the oldest first.
    call_order: VecDeque<String>,
    /// The newest block of each call, by the engine's id.
    by_call: HashMap<String, String>,
    own: VecDeque<String>,
    /// What of a failure the chat said, for the answer to the prompt.
    failure: Option<String>,
    /// How turns ended, by the block that says it.
    end: Option<(String, TurnOutcome, Option<String>)>,
}

impl SpokenUpdates {
    /// Of a session in this folder, for a client that shows notices or does not.
    pub fn new(root: &str, notices: bool) -> Self {
        Self { root: root.to_owned(), notices, ..Self::default() }
    }

    /// The client itself asked this, and is not told it again.
    pub fn asked(&mut self, message_id: &str) {
        if self.own.len() >= OWN_PROMPTS {
            self.own.pop_front();
        }
        self.own.push_back(message_id.to_owned());
    }

    /// The call that a request for permission names, as the client knows it.
    pub fn call_of(&self, tool_call_id: Option<&str>) -> Option<&str> {
        self.by_call.get(tool_call_id?).map(String::as_str)
    }

    /// How the turn of this prompt ended, once its end stands in the view.
    pub fn end_of(&self, prompt_seq: u64) -> Option<(TurnOutcome, Option<&str>)> {
        let (id, outcome, text) = self.end.as_ref()?;
        (*id == format!("end-{prompt_seq}")).then_some((*outcome, text.as_deref()))
    }

    /// What was said of a failure and not told yet.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// The updates that a change comes to.
    pub fn of(&mut self, change: &Change) -> Vec<Value> {
        match (change.lane, change.op) {
            (Lane::Chat, ChangeOp::Put) => {
                change.block.as_ref().map(|block| self.put(block)).unwrap_or_default()
            }
            (Lane::Chat, ChangeOp::Append) => {
                self.append(&change.id, change.text.as_deref().unwrap_or_default())
            }
            (Lane::Tasks, ChangeOp::Put) => {
                change.block.as_ref().map(|block| self.task(block)).unwrap_or_default()
            }
            (Lane::Chat | Lane::Tasks | Lane::Run | Lane::Debug, _) => Vec::new(),
        }
    }

    fn put(&mut self, block: &Block) -> Vec<Value> {
        match &block.body {
            BlockBody::User { text, message_id, .. } => {
                let own = message_id.as_ref().is_some_and(|id| self.own.contains(id));
                let known = self.texts.contains_key(&block.id);
                self.remember("user_message_chunk", &block.id, text.clone());
                if own || known { Vec::new() } else { vec![chunk("user_message_chunk", text, &block.id)] }
            }
            BlockBody::Assistant { text, .. } => self.text("agent_message_chunk", &block.id, text),
            BlockBody::Reasoning { text, .. } => self.text("agent_thought_chunk", &block.id, text),
            BlockBody::Tool { tool_call_id, .. } => {
                if let Some(call) = tool_call_id {
                    self.by_call.insert(call.clone(), block.id.clone());
                }
                call::fields(&self.root, &block.body, false)
                    .map(|fields| self.call(&block.id, fields))
                    .unwrap_or_default()
            }
            BlockBody::Plan { steps } => vec![plan(steps)],
            BlockBody::Notice { level, text, .. } => self.notice(*level, text),
            BlockBody::Link { picture: Some(picture), .. } => picture_of(picture).into_iter().collect(),
            BlockBody::TurnEnd { outcome, text, .. } => {
                self.end = Some((block.id.clone(), *outcome, text.clone()));
                Vec::new()
            }
            BlockBody::TurnStart { .. } => {
                self.failure = None;
                Vec::new()
            }
            BlockBody::Permission { .. }
            | BlockBody::Patch { .. }
            | BlockBody::Changes { .. }
            | BlockBody::Command { .. }
            | BlockBody::Task { .. }
            | BlockBody::Checkpoint { .. }
            | BlockBody::Link { .. }
            | BlockBody::Summary { .. }
            | BlockBody::Unknown { .. } => Vec::new(),
        }
    }

    fn append(&mut self, id: &str, more: &str) -> Vec<Value> {
        let Some(told) = self.texts.get_mut(id).filter(|_| !more.is_empty()) else { return Vec::new() };
        told.text.push_str(more);
        vec![chunk(told.kind, more, id)]
    }

    fn text(&mut self, kind: &'static str, id: &str, text: &str) -> Vec<Value> {
        let told = self.texts.get(id).map(|told| told.text.as_str()).unwrap_or_default();
        let (more, of) = match text.strip_prefix(told) {
            Some(more) => (more.to_owned(), id.to_owned()),
            // Told otherwise before: visibly another message.
            None => (text.to_owned(), format!("{id}-again")),
        };
        self.remember(kind, id, text.to_owned());
        if more.is_empty() { Vec::new() } else { vec![chunk(kind, &more, &of)] }
    }

    fn remember(&mut self, kind: &'static str, id: &str, text: String) {
        if self.texts.insert(id.to_owned(), ToldText { kind, text }).is_some() {
            return;
        }
        self.text_order.push_back(id.to_owned());
        if self.text_order.len() > TEXTS
            && let Some(oldest) = self.text_order.pop_front()
        {
            self.texts.remove(&oldest);
        }
    }

    /// The whole call the first time, then what changed of it.
    fn call(&mut self, id: &str, fields: Map<String, Value>) -> Vec<Value> {
        let told = self.calls.insert(id.to_owned(), fields.clone());
        let (kind, fields) = match told {
            None => {
                self.call_order.push_back(id.to_owned());
                if self.call_order.len() > CALLS
                    && let Some(oldest) = self.call_order.pop_front()
                {
                    self.calls.remove(&oldest);
                    self.by_call.retain(|_, block| *block != oldest);
                }
                ("tool_call", fields)
            }
            Some(told) => {
                let changed: Map<String, Value> =
                    fields.into_iter().filter(|(name, value)| told.get(name) != Some(value)).collect();
                if changed.is_empty() {
                    return Vec::new();
                }
                ("tool_call_update", changed)
            }
        };
        let mut update =
            Map::from_iter([("sessionUpdate".to_owned(), json!(kind)), ("toolCallId".to_owned(), json!(id))]);
        update.extend(fields);
        vec![Value::Object(update)]
    }

    /// A call that only a request for permission tells of.
    pub fn asked_call(&mut self, id: &str, title: &str) -> Vec<Value> {
        let fields = Map::from_iter([
            ("title".to_owned(), json!(title)),
            ("kind".to_owned(), json!("other")),
            ("status".to_owned(), json!("pending")),
        ]);
        self.call(id, fields)
    }

    /// How such a call ended.
    pub fn asked_call_over(&mut self, id: &str, allowed: bool) -> Vec<Value> {
        let Some(mut fields) = self.calls.get(id).cloned() else { return Vec::new() };
        fields.insert("status".to_owned(), json!(if allowed { "completed" } else { "failed" }));
        self.call(id, fields)
    }

    fn task(&mut self, block: &Block) -> Vec<Value> {
        let BlockBody::Task { title, status, .. } = &block.body else { return Vec::new() };
        let status = match status.as_str() {
            "completed" => "completed",
            "failed" => "failed",
            "queued" => "pending",
            _ => "in_progress",
        };
        let fields = Map::from_iter([
            ("title".to_owned(), json!(title)),
            ("kind".to_owned(), json!("other")),
            ("status".to_owned(), json!(status)),
        ]);
        self.call(&format!("task-{}", block.id), fields)
    }

    /// A failure is kept for the answer to the prompt, which says it where every client shows it.
    fn notice(&mut self, level: NoticeLevel, text: &str) -> Vec<Value> {
        if level == NoticeLevel::Error {
            self.failure = Some(text.to_owned());
        }
        vec![said(self.notices, level, text)]
    }
}

/// A sentence for the user, as a client of this kind shows it.
pub fn said(notices: bool, level: NoticeLevel, text: &str) -> Value {
    let severity = match level {
        NoticeLevel::Info => "info",
        NoticeLevel::Warning => "warning",
        NoticeLevel::Error => "error",
    };
    if notices {
        return json!({ "sessionUpdate": "notice", "severity": severity, "title": text });
    }
    let kind = if level == NoticeLevel::Info { "agent_thought_chunk" } else { "agent_message_chunk" };
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": format!("\n\n{text}\n\n") } })
}

/// The mode that a session is in.
pub fn mode(id: &str) -> Value {
    json!({ "sessionUpdate": "current_mode_update", "currentModeId": id })
}

/// All options of a session as they stand.
pub fn options(options: &[Value]) -> Value {
    json!({ "sessionUpdate": "config_option_update", "configOptions": options })
}

/// The commands that a prompt may begin with.
pub fn commands(commands: Vec<Value>) -> Value {
    json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands })
}

/// What a session is called.
pub fn title(title: &str) -> Value {
    json!({ "sessionUpdate": "session_info_update", "title": title })
}

/// An update with the session that it belongs to.
pub fn of_session(session_id: &str, update: &Value) -> Value {
    json!({ "sessionId": session_id, "update": update })
}

fn chunk(kind: &str, text: &str, message_id: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text }, "messageId": message_id })
}

fn plan(steps: &[PlanStep]) -> Value {
    let entry = |step: &PlanStep| {
        let status = match step.status.as_deref() {
            Some("done" | "completed" | "complete") => "completed",
            Some("running" | "in_progress" | "active") => "in_progress",
            _ => "pending",
        };
        json!({ "content": step.text, "priority": "medium", "status": status })
    };
    json!({ "sessionUpdate": "plan", "entries": steps.iter().map(entry).collect::<Vec<_>>() })
}

/// A picture as it stands in a `data:` address.
fn picture_of(address: &str) -> Option<Value> {
    let (mime, data) = address.strip_prefix("data:")?.split_once(";base64,")?;
    let content = json!({ "type": "image", "mimeType": mime, "data": data });
    Some(json!({ "sessionUpdate": "agent_message_chunk", "content": content }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(id: &str, body: BlockBody) -> Change {
        Change::put(Lane::Chat, Block { id: id.to_owned(), turn: None, seq: 1, body })
    }

    fn assistant(text: &str, streaming: bool) -> BlockBody {
        BlockBody::Assistant { text: text.to_owned(), streaming, truncated: false }
    }

    #[test]
    fn i14_6_a_text_comes_in_pieces_and_one_that_ends_otherwise_is_told_whole() {
        let mut updates = SpokenUpdates::new("/w", false);
        let told = |text: &str, id: &str| vec![chunk("agent_message_chunk", text, id)];
        assert_eq!(updates.of(&put("a-1", assistant("He", true))), told("He", "a-1"));
        assert_eq!(updates.of(&Change::append(Lane::Chat, "a-1", "llo".to_owned())), told("llo", "a-1"));
        assert_eq!(updates.of(&put("a-1", assistant("Hello you", false))), told(" you", "a-1"));
        assert_eq!(updates.of(&put("a-1", assistant("Hello you", false))), Vec::<Value>::new());
        assert_eq!(updates.of(&put("a-1", assistant("Bye", false))), told("Bye", "a-1-again"));
    }

    #[test]
    fn i14_6_the_clients_own_prompt_is_not_told_back_and_anothers_is_once() {
        let user = |id: &str| BlockBody::User {
            text: "hi".to_owned(),
            message_id: Some(id.to_owned()),
            attachment_ids: Vec::new(),
            context: Vec::new(),
            context_notes: Vec::new(),
            context_seq: None,
        };
        let mut updates = SpokenUpdates::new("/w", false);
        updates.asked("mine");
        assert_eq!(updates.of(&put("u-1", user("mine"))), Vec::<Value>::new());
        assert_eq!(updates.of(&put("u-2", user("other"))), vec![chunk("user_message_chunk", "hi", "u-2")]);
        assert_eq!(updates.of(&put("u-2", user("other"))), Vec::<Value>::new());
    }
}
