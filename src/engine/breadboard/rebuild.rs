//! What the engine still has of a stretch of events that went missing.
//!
//! Owns one reading of its log, from the start to the end of the stretch. Never says that something came back that did
//! not: what the log no longer holds is not in the answer, which may be empty.

use std::sync::Arc;
use std::time::Duration;

use super::EngineParts;
use super::client::From;
use super::engine_error::EngineError;
use super::link::LARGEST_EVENT;
use crate::app::inbox::Reply;
use crate::app::ports::{EngineReport, StreamReport};
use crate::domain::dialect::breadboard::decode::decode;
use crate::domain::event::EngineEvent;
use crate::domain::wire::sse::{SseDecoder, SseItem};
use crate::protocol::request::RebuildResult;

/// Bytes of events in one answer; the rest can be asked for again.
const MOST_BYTES: usize = 64 << 20;

/// Silence after which the log is taken to be read to its end; it comes at once, in one piece.
const SILENCE: Duration = Duration::from_secs(2);

/// Longest reading.
const IN_ALL: Duration = Duration::from_secs(60);

/// Reads again.
pub(super) async fn run(
    shared: Arc<EngineParts>,
    session_id: String,
    missing: (u64, u64),
    reply: Reply<RebuildResult>,
) {
    let outcome = match tokio::time::timeout(IN_ALL, read(&shared, &session_id, missing)).await {
        Ok(outcome) => outcome.map_err(|trouble| shared.told(&trouble)),
        Err(_) => Err(shared.told(&EngineError::TimedOut { sent: true })),
    };
    shared.report(EngineReport::Stream(StreamReport::Rebuilt { session_id, outcome, reply })).await;
}

async fn read(
    shared: &EngineParts,
    session_id: &str,
    (first, last): (u64, u64),
) -> Result<Vec<(EngineEvent, u64)>, EngineError> {
    let mut stream = shared.client.events(session_id, From::Start).await?;
    let mut decoder = SseDecoder::new(LARGEST_EVENT);
    let mut found = Vec::new();
    let (mut bytes, mut over) = (0, false);
    while !over {
        let Ok(chunk) = tokio::time::timeout(SILENCE, stream.next()).await else { break };
        let Some(chunk) = chunk else { break };
        decoder.feed(&chunk?, &mut |item| {
            let SseItem::Frame(frame) = item else { return };
            let decoded = decode(&frame);
            let Some(seq) = decoded.seq else { return };
            if (first..=last).contains(&seq) && bytes < MOST_BYTES {
                bytes += frame.data.len();
                found.push((decoded.event, seq));
            }
            over |= seq >= last;
        });
    }
    Ok(found)
}
