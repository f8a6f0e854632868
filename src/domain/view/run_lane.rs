//! The run lane: how turns end, what failed, how a search goes, where logs are.
//!
//! Never holds state: what it replaces it names by turn or by its own name. The end of a run that takes several events:
//! `run_summary`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::block::{Block, BlockBody, NoticeLevel};
use super::cut;
use super::fingerprint::key;
use super::reducer::TurnName;
use crate::domain::event::{LocalKind, Origin, SessionEvent};
use crate::domain::wire::breadboard_words::is;

/// One sentence; what is longer belongs in a log.
const SENTENCE: usize = 4 * 1024;
/// JSON of the engine's counts; more than that is not counts.
const DETAILS: usize = 4 * 1024;
/// A link that is longer leads nowhere.
const LINK: usize = 2 * 1024;
const LABEL: usize = 200;

/// The summary of a turn. A second end of the same turn replaces it.
pub(super) fn summary(event: &SessionEvent, turn: TurnName) -> Block {
    let (success, text, details) = match event.origin {
        Origin::Local => {
            let text = text(&event.payload, "message").unwrap_or("The turn ended.");
            (false, text, None)
        }
        Origin::Engine => {
            let metadata = event.payload.get("metadata");
            let flag = |name: &str| metadata.and_then(|map| map.get(name)).and_then(Value::as_bool);
            let success = flag("success").unwrap_or(true);
            let text = if flag("cancelled").unwrap_or(false) {
                "The turn was stopped."
            } else if success {
                "The turn is done."
            } else {
                "The turn failed."
            };
            (success, text, metadata.map(|map| cut::value(Cow::Borrowed(map), DETAILS)))
        }
    };
    Block {
        id: format!("s-{}-{}", turn.label, turn.index),
        turn: event.turn,
        seq: event.seq,
        body: BlockBody::Summary { success, text: cut::line(text, SENTENCE), details },
    }
}

/// How a search goes: one block a stage and turn.
pub(super) fn retrieval(event: &SessionEvent, turn: TurnName) -> Block {
    let stage = key(text(&event.payload, "stage").unwrap_or_default());
    let message = text(&event.payload, "message").unwrap_or_default();
    Block {
        id: format!("retrieval-{}-{}-{stage}", turn.label, turn.index),
        turn: event.turn,
        seq: event.seq,
        body: BlockBody::Notice { level: NoticeLevel::Info, text: cut::line(message, SENTENCE) },
    }
}

/// A link to a log or an artifact (R003-50): one row a target.
pub(super) fn link(event: &SessionEvent) -> Option<Block> {
    let url =
        text(&event.payload, "url").or_else(|| text(&event.payload, "uri")).filter(|url| !url.is_empty())?;
    let uri = target(url);
    let label = ["label", "title", "name"].into_iter().find_map(|name| text(&event.payload, name));
    let last = uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri);
    let label = label.map_or_else(|| format!("Log {last}"), str::to_owned);
    Some(Block {
        id: format!("link-{}", key(url)),
        turn: event.turn,
        seq: event.seq,
        body: BlockBody::Link { uri: cut::line(uri, LINK), label: cut::line(&label, LABEL) },
    })
}

/// Where a URL of the engine leads. Its file URLs put the first directory of a relative path where a host belongs; such a
/// one is said as the path it is, so that nobody opens a place that it does not mean.
fn target(url: &str) -> &str {
    match url.strip_prefix("file://") {
        Some(path) if path.starts_with('/') || path.starts_with("localhost/") => url,
        Some(path) => path,
        None => url,
    }
}

/// Whether this end of a turn is ours and says that the turn failed.
pub(super) fn is_failure(event: &SessionEvent) -> bool {
    event.kind == LocalKind::TurnEnd.as_str() && text(&event.payload, "reason") == Some("failed")
}

/// Whether events are missing here; that says nothing of the turn.
pub(super) fn is_gap(event: &SessionEvent) -> bool {
    event.kind == LocalKind::Gap.as_str() || is(&event.kind, "stream_gap")
}

/// What failed or is missing.
pub(super) fn failure(event: &SessionEvent) -> Block {
    let payload = &event.payload;
    if is(&event.kind, "stream_gap") {
        let text = match text(payload, "reason").or_else(|| text(payload, "message")) {
            Some(reason) => {
                format!("Some events are missing here: {reason}. Rebuild the session to read them again.")
            }
            None => "Some events are missing here. Rebuild the session to read them again.".to_owned(),
        };
        return notice_block(event, NoticeLevel::Warning, &text);
    }
    let said = payload
        .get("error")
        .and_then(Value::as_object)
        .and_then(|error| text(error, "message"))
        .or_else(|| text(payload, "message"))
        .or_else(|| text(payload, "error"));
    let sentence = if let Some(said) = said {
        said.to_owned()
    } else if event.kind == LocalKind::Gap.as_str() {
        match text(payload, "reason") {
            Some(reason) => format!("Some events are missing here: {reason}"),
            None => "Some events are missing here.".to_owned(),
        }
    } else if event.kind == LocalKind::AgentExited.as_str() {
        match payload.get("code").and_then(Value::as_i64) {
            Some(code) => format!("The agent process ended with code {code}."),
            None => "The agent process ended.".to_owned(),
        }
    } else {
        "The engine reported an error without saying which; the raw event has more.".to_owned()
    };
    notice_block(event, NoticeLevel::Error, &sentence)
}

/// A sentence of the server, or a warning of the engine.
pub(super) fn notice(event: &SessionEvent) -> Block {
    if is(&event.kind, "warning") {
        let said = text(&event.payload, "message").unwrap_or("The engine warns without saying of what.");
        return notice_block(event, NoticeLevel::Warning, said);
    }
    let level = match text(&event.payload, "level") {
        Some("error") => NoticeLevel::Error,
        Some("warning") => NoticeLevel::Warning,
        Some(_) | None => NoticeLevel::Info,
    };
    notice_block(event, level, text(&event.payload, "text").unwrap_or_default())
}

fn notice_block(event: &SessionEvent, level: NoticeLevel, sentence: &str) -> Block {
    Block {
        id: format!("n-{}", event.seq),
        turn: event.turn,
        seq: event.seq,
        body: BlockBody::Notice { level, text: cut::line(sentence, SENTENCE) },
    }
}

fn text<'a>(payload: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    payload.get(name).and_then(Value::as_str)
}
