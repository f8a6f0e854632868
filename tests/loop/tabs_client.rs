//! A client of tabs by the rules of seed 001: it ignores what it saw, routes by message id, and a snapshot replaces what it has.

use std::collections::BTreeMap;

use breadboard_ls::testing::app::ports::EngineReport;
use breadboard_ls::testing::domain::dialect::desktop::message::ServerMessage;
use serde_json::{Value, json};

use crate::desk::Desk;

/// The nth tab or message id: a UUID v4.
pub fn uuid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// The engine says something in a turn of its session.
pub async fn say_in(desk: &Desk, session_id: &str, turn: u64, message: ServerMessage) {
    let event = message.into_event(Some(turn), 5_000);
    let said = EngineReport::Said { session_id: session_id.to_owned(), event, cursor: None };
    desk.engine.send(said).await.unwrap();
}

/// What one view has of one tab.
#[derive(Debug, Clone, Default)]
pub struct TabClient {
    pub tab_id: String,
    pub epoch: Option<String>,
    pub last: u64,
    /// The transcript, oldest block first.
    pub blocks: Vec<Value>,
    /// Whether `blocks` begins with the first one there is.
    pub whole: bool,
    /// Text by message id, as a plain client of the seed joins it.
    pub text: BTreeMap<String, String>,
    /// Why answers are complete.
    pub complete: BTreeMap<String, String>,
    pub queue: Vec<String>,
    /// Kinds of the messages that counted, in order.
    pub kinds: Vec<String>,
    pub snapshots: usize,
}

impl TabClient {
    pub fn new(tab_id: &str) -> Self {
        Self { tab_id: tab_id.to_owned(), whole: true, ..Self::default() }
    }

    /// Everything on the paper from `from` on.
    pub fn read(&mut self, desk: &Desk, from: usize) -> usize {
        let messages = desk.paper.messages.lock().unwrap();
        for message in messages.iter().skip(from) {
            if message["method"] == "bb/tab" && message["params"]["tabId"] == self.tab_id.as_str() {
                self.take(&message["params"]);
            }
        }
        messages.len()
    }

    /// One message.
    pub fn take(&mut self, message: &Value) {
        let epoch = message["epoch"].as_str().unwrap();
        if self.epoch.as_deref() != Some(epoch) {
            self.epoch = Some(epoch.to_owned());
            self.last = 0;
        }
        let index = message["index"].as_u64().unwrap();
        if index <= self.last {
            return;
        }
        let kind = message["kind"].as_str().unwrap();
        // What a view never saw of another one is in the snapshot that it gets.
        assert!(index == self.last + 1 || kind == "snapshot", "a hole behind {}: {message}", self.last);
        self.last = index;
        self.kinds.push(kind.to_owned());
        let message_id = message["messageId"].as_str().map(str::to_owned);
        match kind {
            "session-created" | "agent-exited" | "error" => {}
            "response-chunk" => {
                if let Some(text) = message["text"].as_str() {
                    self.text.entry(message_id.unwrap_or_default()).or_default().push_str(text);
                    self.add(message["blockId"].as_str().unwrap(), text, "assistant");
                }
                for block in message["blocks"].as_array().into_iter().flatten() {
                    if message["append"] == true {
                        self.add(block["id"].as_str().unwrap(), block["text"].as_str().unwrap(), "reasoning");
                    } else {
                        self.put(block.clone());
                    }
                }
            }
            "tool" => self.put(message["block"].clone()),
            "permission" => {
                let id = &message["permission"]["requestId"];
                let known = self.blocks.iter_mut().find(|block| block["permission"]["requestId"] == *id);
                match known {
                    Some(block) => block["status"] = message["status"].clone(),
                    // Settled and not known here, it stands on an older page.
                    None if message["status"] != "pending" => {}
                    None => {
                        self.blocks.push(json!({"kind": "permission", "permission": message["permission"],
                        "status": message["status"]}))
                    }
                }
            }
            "response-complete" => {
                let reason = message["stopReason"].as_str().unwrap().to_owned();
                if let Some(message_id) = message_id {
                    let before = self.complete.insert(message_id, reason);
                    assert_eq!(before, None, "complete twice: {message}");
                }
            }
            "queue" => self.queue = ids(&message["items"]),
            "snapshot" => {
                self.snapshots += 1;
                let chat = &message["view"]["lanes"]["chat"];
                self.blocks = chat["blocks"].as_array().unwrap().clone();
                self.whole = chat["hasMore"] == false;
                self.queue = ids(&message["queue"]);
                for prompt in message["messages"].as_array().unwrap() {
                    if prompt["status"] == "complete" {
                        let id = prompt["messageId"].as_str().unwrap().to_owned();
                        self.complete.insert(id, prompt["stopReason"].as_str().unwrap().to_owned());
                    }
                }
            }
            other => panic!("a kind that there is not: {other}"),
        }
    }

    fn add(&mut self, id: &str, text: &str, kind: &str) {
        match self.blocks.iter_mut().find(|block| block["id"] == id) {
            Some(block) => block["text"] = json!(format!("{}{text}", block["text"].as_str().unwrap())),
            // What an older page holds does not change here.
            None if kind == "assistant" => self.blocks.push(json!({"id": id, "kind": kind, "text": text})),
            None => panic!("nothing to add to: {id}"),
        }
    }

    fn put(&mut self, block: Value) {
        match self.blocks.iter_mut().find(|known| known["id"] == block["id"]) {
            Some(known) => *known = block,
            None => self.blocks.push(block),
        }
    }

    /// The transcript as far as this view has it.
    pub fn transcript(&self) -> Vec<String> {
        transcript(&self.blocks)
    }

    /// Asserts that this view shows exactly what the server has.
    pub async fn assert_level(&self, desk: &Desk, told: &str) {
        let page = json!({"tabId": self.tab_id, "lane": "chat", "limit": 500});
        let truth = desk.ask("bb/view/page", page).await.unwrap();
        let truth = transcript(truth["blocks"].as_array().unwrap());
        let seen = self.transcript();
        let from = if self.whole { 0 } else { truth.len().saturating_sub(seen.len()) };
        assert_eq!(seen, truth[from..], "{told}");
    }
}

fn ids(items: &Value) -> Vec<String> {
    let items = items.as_array().into_iter().flatten();
    items.map(|item| item["messageId"].as_str().unwrap().to_owned()).collect()
}

/// What a user sees of blocks.
pub fn transcript(blocks: &[Value]) -> Vec<String> {
    let line = |block: &Value| match block["kind"].as_str().unwrap() {
        "permission" => format!("permission {} {}", block["permission"]["requestId"], block["status"]),
        kind @ ("user" | "assistant" | "reasoning") => format!("{kind} {} {}", block["id"], block["text"]),
        kind => format!("{kind} {block}"),
    };
    blocks.iter().map(line).collect()
}
