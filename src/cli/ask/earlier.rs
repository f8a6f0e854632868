//! What a session said shortly before it is taken up.
//!
//! Owns how much of it is read. It is not shown again: in the middle of a turn the view needs it, to know what of the answer was there
//! before.

use serde_json::json;

use super::super::client::{Client, ClientError};
use super::ANSWER;
use crate::domain::event::SessionEvent;
use crate::protocol::request::EventsReadResult;

/// Events that are read: of a turn that has more, what was said at its beginning may be said again at its end.
const MOST: u64 = 2_000;

/// The last events of a session up to this one. What cannot be read is no reason not to go on.
pub(super) fn events(
    client: &mut Client,
    session_id: &str,
    up_to: u64,
) -> Result<Vec<SessionEvent>, ClientError> {
    let mut from = up_to.saturating_sub(MOST) + 1;
    let mut events: Vec<SessionEvent> = Vec::new();
    while from <= up_to {
        let params = json!({ "sessionId": session_id, "fromSeq": from, "limit": up_to - from + 1 });
        let read = match client.request("bb/events/read", params, ANSWER) {
            Err(ClientError::Refused(_)) => break,
            read => read?,
        };
        let Ok(EventsReadResult { events: page, .. }) = serde_json::from_value(read) else { break };
        let Some(last) = page.last().map(|event| event.seq) else { break };
        events.extend(page.into_iter().filter(|event| event.seq <= up_to));
        from = last + 1;
    }
    Ok(events)
}
