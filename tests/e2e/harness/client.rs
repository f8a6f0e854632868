//! A client of `bb/events` and `bb/view` as wire.md tells one to be, and nothing more.
//!
//! Owns the events in the order they came, byte for byte, and a view that is only ever replaced or changed, never reduced.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// One session as a client knows it.
#[derive(Debug, Clone)]
pub struct Client {
    session: Value,
    /// Every event, as its bytes stood in the frames.
    pub events: Vec<String>,
    /// `{ epoch, seq, lanes }`, once there was one.
    pub view: Option<Value>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Events<'a> {
    session_id: Value,
    from_seq: u64,
    to_seq: u64,
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

impl Client {
    /// Of a session of which nothing is known.
    pub fn new(session: &Value) -> Self {
        Self { session: session.clone(), events: Vec::new(), view: None }
    }

    /// Number of the last event.
    pub fn seq(&self) -> u64 {
        self.events.len() as u64
    }

    /// Takes in frames in the order in which they came. A hole or a double in the events is a failure.
    pub fn take(&mut self, frames: &[Vec<u8>]) {
        for frame in frames {
            let read: Frame<'_> = serde_json::from_slice(frame).expect("a frame is a message");
            match (read.method.as_deref(), read.params) {
                (Some("bb/events"), Some(params)) => self.take_events(params.get()),
                (Some("bb/view"), Some(params)) => {
                    let params: Value = serde_json::from_str(params.get()).expect("params");
                    if params["sessionId"] == self.session {
                        self.take_view(&params);
                    }
                }
                _ => {}
            }
        }
    }

    fn take_events(&mut self, params: &str) {
        let batch: Events<'_> = serde_json::from_str(params).expect("params of bb/events");
        if batch.session_id != self.session {
            return;
        }
        assert_eq!(batch.from_seq, self.seq() + 1, "a hole or a double");
        for event in batch.events {
            self.events.push(event.get().to_owned());
            let seq: u64 = self.event(self.seq())["seq"].as_u64().expect("a number");
            assert_eq!(seq, self.seq(), "an event with another number than its place");
        }
        assert_eq!(batch.to_seq, self.seq(), "a batch that does not hold what it says");
    }

    /// The event of this number.
    pub fn event(&self, seq: u64) -> Value {
        serde_json::from_str(&self.events[seq as usize - 1]).expect("an event")
    }

    /// Takes in one `bb/view`.
    pub fn take_view(&mut self, params: &Value) {
        if let Some(snapshot) = params.get("snapshot") {
            assert_eq!(params["changes"], json!([]), "changes beside a snapshot");
            self.view = Some(snapshot.clone());
            return;
        }
        let view = self.view.as_mut().expect("changes came before any view");
        if params["toSeq"].as_u64() <= view["seq"].as_u64() {
            return;
        }
        assert_eq!(
            params["fromSeq"].as_u64(),
            view["seq"].as_u64().map(|seq| seq + 1),
            "the view has a hole"
        );
        view["seq"] = params["toSeq"].clone();
        for change in params["changes"].as_array().expect("changes") {
            let lane = change["lane"].as_str().expect("a lane");
            let blocks = view["lanes"][lane]["blocks"].as_array_mut().expect("blocks");
            let at = blocks.iter().position(|block| block["id"] == change["id"]);
            match (change["op"].as_str(), at) {
                (Some("put"), Some(at)) => blocks[at] = change["block"].clone(),
                (Some("put"), None) => blocks.push(change["block"].clone()),
                (Some("append"), Some(at)) => {
                    let text = format!(
                        "{}{}",
                        blocks[at]["text"].as_str().expect("a block with text"),
                        change["text"].as_str().expect("a text")
                    );
                    blocks[at]["text"] = Value::from(text);
                }
                (Some("remove"), Some(at)) => {
                    blocks.remove(at);
                }
                (Some("append" | "remove"), None) => {}
                (op, _) => panic!("a change does {op:?}"),
            }
        }
    }
}

/// The newest page of a view: what a snapshot holds of one.
pub fn newest_page(view: &Value) -> Value {
    const PAGE: usize = 50;
    let mut page = view.clone();
    for lane in page["lanes"].as_object_mut().expect("lanes").values_mut() {
        let blocks = lane["blocks"].as_array_mut().expect("blocks");
        let older = blocks.len().saturating_sub(PAGE);
        blocks.drain(..older);
        if older > 0 {
            lane["hasMore"] = Value::from(true);
        }
    }
    page
}
