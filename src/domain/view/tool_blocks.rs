//! Tool calls that run, and the blocks they become.
//!
//! Owns the pairing of a result with its call. Never keeps a call that ended.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, BlockBody, Change, Lane, ToolBlockStatus};
use super::cut;
use super::fingerprint::key;
use crate::domain::event::SessionEvent;

/// Calls that run at one time. An engine that opens more than this never closes them; the oldest then shows as cancelled, and
/// a result that still comes for it makes a block of its own.
const RUNNING: usize = 128;
/// What fits in a transcript without hiding what stands around it; the whole is in the event.
const PREVIEW: usize = 4 * 1024;
/// JSON of arguments.
const INPUT: usize = 2 * 1024;
const NAME: usize = 200;
const TITLE: usize = 300;

/// The tool calls that run, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ToolBlocks {
    running: Vec<RunningTool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RunningTool {
    call: String,
    block: Block,
}

impl ToolBlocks {
    /// A call began, or says again how it runs.
    pub(super) fn call(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let block = new_block(event, ToolBlockStatus::Running);
        let call = call_key(event);
        let running = call.as_ref().and_then(|call| self.running.iter_mut().find(|tool| tool.call == *call));
        if let Some(tool) = running {
            tool.block.body = block.body;
            changes.push(Change::put(Lane::Chat, tool.block.clone()));
            return;
        }
        if self.running.len() >= RUNNING {
            let oldest = self.running.remove(0);
            changes.push(Change::put(Lane::Chat, cancelled(oldest.block)));
        }
        let call = call.unwrap_or_else(|| block.id.clone());
        self.running.push(RunningTool { call, block: block.clone() });
        changes.push(Change::put(Lane::Chat, block));
    }

    /// A call ended.
    pub(super) fn result(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let status = match text(&event.payload, "status") {
            Some("failed") => ToolBlockStatus::Failed,
            Some(_) | None => ToolBlockStatus::Ok,
        };
        let mut block = match self.position(event) {
            Some(at) => self.running.remove(at).block,
            None => new_block(event, status),
        };
        close(&mut block, status, event);
        changes.push(Change::put(Lane::Chat, block));
    }

    /// The turn ended: what still runs never gets a result.
    pub(super) fn cancel_all(&mut self, changes: &mut Vec<Change>) {
        for tool in self.running.drain(..) {
            changes.push(Change::put(Lane::Chat, cancelled(tool.block)));
        }
    }

    /// The call that a result belongs to: by call id, else the oldest that runs under the same name.
    fn position(&self, event: &SessionEvent) -> Option<usize> {
        match call_key(event) {
            Some(call) => self.running.iter().position(|tool| tool.call == call),
            None => {
                let wanted = name(&event.payload);
                self.running.iter().position(
                    |tool| matches!(&tool.block.body, BlockBody::Tool { name, .. } if *name == wanted),
                )
            }
        }
    }
}

fn call_key(event: &SessionEvent) -> Option<String> {
    text(&event.payload, "call_id").filter(|id| !id.is_empty()).map(key)
}

fn text<'a>(payload: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    payload.get(name).and_then(Value::as_str)
}

fn name(payload: &Map<String, Value>) -> String {
    cut::line(text(payload, "tool_name").unwrap_or("tool"), NAME)
}

/// The id holds the `seq` because engines repeat their call ids from turn to turn, and a block id is never given twice.
fn new_block(event: &SessionEvent, status: ToolBlockStatus) -> Block {
    let id = match call_key(event) {
        Some(call) => format!("t-{call}-{}", event.seq),
        None => format!("t-{}", event.seq),
    };
    let args = event.payload.get("args").filter(|args| !args.is_null());
    let name = name(&event.payload);
    Block {
        id,
        turn: event.turn,
        seq: event.seq,
        body: BlockBody::Tool {
            title: args.and_then(|args| title(&name, args)),
            name,
            status,
            input: args.map(|args| cut::value(args, INPUT)),
            preview: None,
            truncated: None,
            bytes: None,
            result_seq: None,
        },
    }
}

/// One line: the name and the argument that says most.
fn title(name: &str, args: &Value) -> Option<String> {
    ["command", "file_path", "path", "query", "pattern", "url"]
        .into_iter()
        .find_map(|key| args.get(key).and_then(Value::as_str))
        .map(|what| cut::line(&format!("{name} {}", what.lines().next().unwrap_or_default()), TITLE))
}

fn close(block: &mut Block, ended: ToolBlockStatus, event: &SessionEvent) {
    if let BlockBody::Tool { status, preview, truncated, bytes, result_seq, .. } = &mut block.body {
        *status = ended;
        let Some(result) = event.payload.get("result").filter(|result| !result.is_null()) else { return };
        let json;
        let whole = match result.as_str().or_else(|| result.get("error").and_then(Value::as_str)) {
            Some(text) => text,
            None => {
                json = result.to_string();
                &json
            }
        };
        let start = cut::start_of(whole, PREVIEW);
        *preview = Some(start.to_owned());
        *truncated = (start.len() < whole.len()).then_some(true);
        *bytes = Some(whole.len() as u64);
        *result_seq = Some(event.seq);
    }
}

fn cancelled(mut block: Block) -> Block {
    if let BlockBody::Tool { status, .. } = &mut block.body {
        *status = ToolBlockStatus::Cancelled;
    }
    block
}
