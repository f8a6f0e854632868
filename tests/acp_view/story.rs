//! A session of an agent, told line by line, as the server takes it in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use breadboard_ls::testing::domain::approval::{AskRoot, Permission, PermissionAsk, PermissionOptionKind};
use breadboard_ls::testing::domain::dialect::acp::decode::{
    self, AcpLine, ask_event, method_event, prompt_event, read_line, unreadable_event, update_event,
};
use breadboard_ls::testing::domain::dialect::{Dialect, completed, normalize};
use breadboard_ls::testing::domain::event::{
    EngineEvent, EventClass, LocalKind, NormalizedEvent, SessionEvent,
};
use breadboard_ls::testing::domain::fact::NoticeLevel;
use breadboard_ls::testing::domain::view::{
    Block, BlockBody, ToolBlockStatus, View, ViewLanes, ViewState, apply_changes,
};
use serde_json::{Value, json};

pub struct Story {
    pub events: Vec<SessionEvent>,
    pub view: View,
    pub turn: Option<u64>,
    state: ViewState,
    turns: u64,
    prompts: Vec<u64>,
    asks: BTreeMap<String, PermissionAsk>,
}

impl Story {
    pub fn new() -> Self {
        Self {
            events: Vec::new(),
            view: View { epoch: "e".into(), seq: 0, lanes: ViewLanes::default() },
            turn: None,
            state: ViewState::default().speaking(Dialect::Acp),
            turns: 0,
            prompts: Vec::new(),
            asks: BTreeMap::new(),
        }
    }

    /// A recording, both directions.
    pub fn recorded(name: &str) -> Self {
        let mut story = Self::new();
        story.replay(name);
        story
    }

    pub fn replay(&mut self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/acp/{name}.jsonl"));
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let message = &line["msg"];
            match line["dir"].as_str().unwrap() {
                "a2c" => self.says(&message.to_string()),
                "c2a" if message["method"] == "session/prompt" => {
                    let text = message["params"]["prompt"][0]["text"].as_str().unwrap();
                    self.asks_agent(text, message["id"].as_u64().unwrap());
                }
                "c2a" if message["result"]["outcome"].is_object() => {
                    let outcome = &message["result"]["outcome"];
                    self.answers(&message["id"].to_string(), outcome["optionId"].as_str());
                }
                // Others were ended by the recorder, when all was said.
                "meta" if message["exit_code"] == -9 => self.exits(-9),
                _ => {}
            }
        }
    }

    /// A prompt of the user, in a turn of its own.
    pub fn prompt(&mut self, text: &str) {
        let id = 100 + self.turns;
        self.asks_agent(text, id);
    }

    fn asks_agent(&mut self, text: &str, id: u64) {
        self.turns += 1;
        self.prompts.push(id);
        self.turn = Some(self.turns);
        self.local(LocalKind::Prompt, json!({"messageId": format!("m{}", self.turns), "text": text}));
    }

    /// The agent ends the turn.
    pub fn ends(&mut self, result: Value) {
        let id = *self.prompts.last().unwrap();
        self.says(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    }

    /// The agent sends an update.
    pub fn update(&mut self, update: Value) {
        let params = json!({"sessionId": "s", "update": update});
        self.says(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string());
    }

    pub fn chunk(&mut self, word: &str, message: Option<&str>, text: &str) {
        let mut update = json!({"sessionUpdate": word, "content": {"type": "text", "text": text}});
        if let Some(message) = message {
            update["messageId"] = json!(message);
        }
        self.update(update);
    }

    pub fn permission(&mut self, id: u64, call: Value) {
        let params = json!({"sessionId": "s", "toolCall": call, "options": [
            {"optionId": "once", "kind": "allow_once", "name": "Allow once"},
            {"optionId": "reject", "kind": "reject_once", "name": "Reject"}]});
        let line =
            json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params});
        self.says(&line.to_string());
    }

    /// One line of the agent.
    pub fn says(&mut self, line: &str) {
        let read = read_line(line.as_bytes());
        let event = match read.line {
            AcpLine::Notification { method, params } if method == decode::UPDATE => update_event(&params)
                .map_or_else(|| method_event(&method, params.clone()), |(_, event)| event),
            AcpLine::Notification { method, params } => method_event(&method, params),
            AcpLine::Request { id, method, params } if method == "session/request_permission" => {
                ask_event(&method, params, 1, &id)
            }
            AcpLine::Request { method, params, .. } => method_event(&method, params),
            AcpLine::Answer { id, outcome } => {
                if !self.prompts.iter().any(|prompt| id.as_number() == Some(*prompt)) {
                    return;
                }
                let event = EngineEvent { turn: self.turn.take(), ..prompt_event(&outcome, None) };
                self.take(event);
                return;
            }
            AcpLine::Unreadable { raw } => unreadable_event(&raw),
        };
        self.take(EngineEvent { turn: self.turn, repaired: read.repaired, ..event });
    }

    fn take(&mut self, event: EngineEvent) {
        let normalized = normalize(Dialect::Acp, event);
        let mut event = normalized.event;
        if let Some(ask) = normalized.ask {
            let told = self.state.told_of(ask.tool_call_id.as_deref());
            let earlier: Vec<SessionEvent> =
                self.events.iter().filter(|event| told.contains(&event.seq)).cloned().collect();
            let ask = completed(Dialect::Acp, ask, &earlier).limited();
            let request_id = format!("p-{}", ask.engine_request_id);
            event.permission =
                Some(Box::new(Permission::of(&ask, request_id, &AskRoot::AtEngine, None).cut()));
            self.asks.insert(ask.engine_request_id.clone(), ask);
        }
        self.push(event);
    }

    /// The user answers an ask; without an option it is cancelled.
    pub fn answers(&mut self, id: &str, option: Option<&str>) {
        let ask = &self.asks[&format!("1:{id}")];
        let chosen = option.map(|id| ask.options.iter().find(|option| option.option_id == id).unwrap().kind);
        let status = match chosen {
            Some(PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowRule) => "allowed",
            Some(PermissionOptionKind::Deny) => "denied",
            None => "cancelled",
        };
        self.local(
            LocalKind::PermissionSettled,
            json!({"requestId": format!("p-1:{id}"), "status": status, "resolvedBy": "user"}),
        );
    }

    /// The process ends by itself, and with it the turn.
    pub fn exits(&mut self, code: i64) {
        let message = format!("The agent ended with code {code}; send the prompt again to start it.");
        self.local(
            LocalKind::AgentExited,
            json!({"generation": 1, "code": code, "message": message, "expected": false}),
        );
        if self.turn.is_some() {
            self.local(LocalKind::TurnEnd, json!({"reason": "failed", "message": message}));
        }
        self.turn = None;
    }

    pub fn local(&mut self, kind: LocalKind, payload: Value) {
        let payload = payload.as_object().cloned().unwrap();
        self.push(NormalizedEvent::local(kind, self.turn, 0, payload));
    }

    fn push(&mut self, event: NormalizedEvent) {
        let event = event.sequenced(self.events.len() as u64 + 1);
        apply_changes(&mut self.view, &self.state.apply(&event));
        self.events.push(event);
    }

    pub fn chat(&self) -> &[Block] {
        &self.view.lanes.chat.blocks
    }

    /// Text and whether it streams, of every answer.
    pub fn answers_shown(&self) -> Vec<(&str, bool)> {
        self.bodies(|body| match body {
            BlockBody::Assistant { text, streaming, .. } => Some((text.as_str(), *streaming)),
            _ => None,
        })
    }

    pub fn reasonings(&self) -> Vec<(&str, bool)> {
        self.bodies(|body| match body {
            BlockBody::Reasoning { text, streaming } => Some((text.as_str(), *streaming)),
            _ => None,
        })
    }

    pub fn prompts_shown(&self) -> Vec<&str> {
        self.bodies(|body| match body {
            BlockBody::User { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    /// What each tool changed, where it changed anything.
    pub fn diffs(&self) -> Vec<&str> {
        self.bodies(|body| if let BlockBody::Tool { diff, .. } = body { diff.as_deref() } else { None })
    }

    /// Name, title, status and preview of every tool.
    pub fn tools(&self) -> Vec<(&str, &str, ToolBlockStatus, &str)> {
        self.bodies(|body| match body {
            BlockBody::Tool { name, title, status, preview, .. } => Some((
                name.as_str(),
                title.as_deref().unwrap_or_default(),
                *status,
                preview.as_deref().unwrap_or_default(),
            )),
            _ => None,
        })
    }

    pub fn notices(&self) -> Vec<(NoticeLevel, &str)> {
        self.bodies(|body| match body {
            BlockBody::Notice { level, text, .. } => Some((*level, text.as_str())),
            _ => None,
        })
    }

    /// Whether it succeeded, and the sentence, of every turn.
    pub fn summaries(&self) -> Vec<(bool, &str)> {
        let blocks = self.view.lanes.run.blocks.iter();
        let said = blocks.filter_map(|block| match &block.body {
            BlockBody::Summary { success, text, .. } => Some((*success, text.as_str())),
            _ => None,
        });
        said.collect()
    }

    pub fn classes(&self, class: EventClass) -> usize {
        self.events.iter().filter(|event| event.class == class).count()
    }

    fn bodies<'a, T>(&'a self, of: impl Fn(&'a BlockBody) -> Option<T>) -> Vec<T> {
        self.chat().iter().filter_map(|block| of(&block.body)).collect()
    }
}
