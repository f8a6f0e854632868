//! The JSON text of what leaves the loop.
//!
//! Owns the shape of JSON-RPC messages out. Event batches are spliced in as bytes, so that each event is serialised
//! once in its life.

use serde::Serialize;
use serde_json::Value;

use super::ports::BatchRow;
use crate::protocol::notification::EventsParams;
use crate::protocol::server_message::ServerNotification;

/// A notification of ours.
pub(crate) fn told<M: ServerNotification>(params: &M) -> Vec<u8> {
    let params = params.to_json();
    let mut out = Vec::with_capacity(params.len() + 64);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":""#);
    out.extend_from_slice(M::METHOD.as_bytes());
    out.extend_from_slice(br#"","params":"#);
    out.extend_from_slice(&params);
    out.push(b'}');
    out
}

/// A notification of the standard.
pub(crate) fn notification<P: Serialize>(method: &str, params: &P) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a P,
    }
    // Params are our own types, whose serialisation cannot fail.
    serde_json::to_vec(&Notification { jsonrpc: "2.0", method, params }).unwrap_or_default()
}

/// A request of ours to the editor.
pub(crate) fn request(id: &str, method: &str, params: &Value) -> Vec<u8> {
    #[derive(Serialize)]
    struct OutgoingRequest<'a> {
        jsonrpc: &'static str,
        id: &'a str,
        method: &'a str,
        params: &'a Value,
    }
    serde_json::to_vec(&OutgoingRequest { jsonrpc: "2.0", id, method, params }).unwrap_or_default()
}

/// `bb/events` around a batch as it stands in the journal.
pub fn events(session_id: &str, epoch: &str, batch: &BatchRow) -> Vec<u8> {
    let mut out = Vec::with_capacity(batch.events.len() + 192);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":""#);
    out.extend_from_slice(EventsParams::METHOD.as_bytes());
    out.extend_from_slice(br#"","params":{"sessionId":"#);
    push_string(&mut out, session_id);
    out.extend_from_slice(br#","epoch":"#);
    push_string(&mut out, epoch);
    out.extend_from_slice(
        format!(r#","fromSeq":{},"toSeq":{},"events":["#, batch.from_seq, batch.to_seq).as_bytes(),
    );
    out.extend_from_slice(&batch.events);
    out.extend_from_slice(b"]}}");
    out
}

fn push_string(out: &mut Vec<u8>, text: &str) {
    // Memory takes everything.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_told_is_a_notification() {
        let batch = EventsParams {
            session_id: "s".to_owned(),
            epoch: "e".to_owned(),
            from_seq: 1,
            to_seq: 0,
            events: Vec::new(),
        };
        let sent: Value = serde_json::from_slice(&told(&batch)).unwrap();
        let params = json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 0, "events": []});
        assert_eq!(sent, json!({"jsonrpc": "2.0", "method": "bb/events", "params": params}));
    }

    #[test]
    fn a_spliced_batch_is_the_notification_it_claims_to_be() {
        let batch = BatchRow { from_seq: 4, to_seq: 5, events: br#"{"seq":4},{"seq":5}"#.to_vec() };
        let sent: Value = serde_json::from_slice(&events("s\"1", "e", &batch)).unwrap();
        assert_eq!(
            sent,
            json!({"jsonrpc": "2.0", "method": "bb/events", "params": {
                "sessionId": "s\"1", "epoch": "e", "fromSeq": 4, "toSeq": 5, "events": [{"seq": 4}, {"seq": 5}]
            }})
        );
    }
}
