//! Why the engine takes no prompt in a session that it has: it accepts a configuration that it cannot start, and the session
//! fails afterwards.
//!
//! Owns one bounded reading of the session's summary and of the beginning of its log. Never changes anything at the engine.

use std::time::Duration;

use serde_json::{Map, Value};

use super::EngineParts;
use super::client::From;
use super::link::LARGEST_EVENT;
use crate::domain::configuration;
use crate::domain::dialect::breadboard::decode::decode;
use crate::domain::dialect::{Dialect, fact, normalize};
use crate::domain::fact::Fact;
use crate::domain::wire::sse::{SseDecoder, SseItem};

/// Longest silence within the log, which comes at once, in one piece.
const SILENCE: Duration = Duration::from_secs(1);

/// Most bytes of the log that are read: what a session says before it fails to start is short.
const MOST_BYTES: usize = 256 << 10;

/// Longest name of a configuration in a sentence, in characters.
const NAME: usize = 200;

/// One sentence on a session that takes no prompts: with the configuration and the engine's own reason where it failed.
pub(super) async fn why_over(shared: &EngineParts, session_id: &str) -> String {
    const OVER: &str = "The session is over at the engine; make a new one and send the prompt there.";
    let Ok(summary) = shared.client.session(session_id).await else { return OVER.to_owned() };
    if summary.get("status").and_then(Value::as_str) != Some("failed") {
        return OVER.to_owned();
    }
    let Some(made_with) = summary.get("metadata").and_then(Value::as_object).and_then(configuration_of)
    else {
        return OVER.to_owned();
    };
    configuration::failed(&made_with, first_failure(shared, session_id).await.as_deref())
}

/// The configuration that a session was made with, from what the engine knows of it.
pub(super) fn configuration_of(metadata: &Map<String, Value>) -> Option<String> {
    let name = metadata.get("config_path")?.as_str()?.trim();
    (!name.is_empty()).then(|| name.chars().take(NAME).collect())
}

/// The first failure in the log of a session, in the engine's words.
async fn first_failure(shared: &EngineParts, session_id: &str) -> Option<String> {
    let mut stream = shared.client.events(session_id, From::Start).await.ok()?;
    let mut decoder = SseDecoder::new(LARGEST_EVENT);
    let (mut failure, mut bytes) = (None, 0);
    while failure.is_none() && bytes < MOST_BYTES {
        let chunk = tokio::time::timeout(SILENCE, stream.next()).await.ok()??.ok()?;
        bytes += chunk.len();
        decoder.feed(&chunk, &mut |item| {
            let SseItem::Frame(frame) = item else { return };
            let normalized = normalize(Dialect::Breadboard, decode(&frame).event);
            if let (None, Fact::Failure(notice)) = (&failure, fact(Dialect::Breadboard, &normalized.event)) {
                failure = Some(notice.text);
            }
        });
    }
    failure
}
