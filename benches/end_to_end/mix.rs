//! The stream that is measured: events as the BreadBoard engine sends them, 668 bytes each in the mean.
//!
//! Of twenty events thirteen are pieces of an answer, one is a call of a tool, one its result, one the use of tokens, and
//! four are nodes of the engine's context tree, which have most of the bytes, as on real runs.

/// The one session of the source.
pub const SESSION: &str = "5f0c1b9e-6a63-4d0e-9f5b-3b1f3f0e7a11";

/// Mean bytes of an event on the wire, from `id:` to the empty line.
pub const MEAN: usize = 668;

const CYCLE: u64 = 20;

/// Stands for the number of the cycle, twelve digits.
const CYCLE_MARK: &str = "@@";

/// The frames, rendered but for their numbers.
pub struct Mix {
    tails: Vec<Vec<String>>,
}

impl Mix {
    pub fn new() -> Self {
        let delta = |kind: &str| {
            tail(kind, r#"{"item_id":"msg_@@","delta":"some words of an answer, as they come "}"#)
        };
        let mut kinds: Vec<String> = Vec::new();
        kinds.push(delta("assistant.reasoning.delta"));
        kinds.extend((0..12).map(|_| delta("assistant.message.delta")));
        let arguments = r#"{\"path\":\"src/delivery/retry.rs\",\"old\":\"let delay = base;\",\"new\":\"let delay = base * 2;\"}"#;
        kinds.push(tail(
            "tool_call",
            &format!(
                r#"{{"call":{{"id":"call_@@","type":"function","function":{{"name":"apply_patch","arguments":"{arguments}"}}}},"call_id":"call_@@","tool":"apply_patch","action":"edit"}}"#
            ),
        ));
        kinds.push(tail(
            "tool_result",
            &format!(
                r#"{{"tool":"apply_patch","success":true,"status":"ok","error":false,"metadata":{{"is_write":true,"write_targets":["src/delivery/retry.rs"]}},"result":{{"text":"{}"}},"call_id":"call_@@"}}"#,
                "one line of the file as it is now\\n".repeat(12)
            ),
        ));
        kinds.push(tail(
            "limits_update",
            r#"{"provider":"p","observed_at_ms":1795212325021,"buckets":[{"name":"tokens","limit":100000,"remaining":99000,"reset_at_ms":1795212385021}]}"#,
        ));
        let node = |at: usize, padding: usize| {
            tail(
                "ctree_node",
                &format!(
                    r#"{{"node":{{"id":"ctn_@@{at}","kind":"message","node_type":"message","title":"a step","status":"done","turn":1,"payload":{{"text":"{}"}},"parent_id":"ctn_@@0","constraints":[],"targets":["a.rs","b.rs"],"provenance":{{"by":"engine"}}}},"snapshot":{{"schema_version":"0.2","node_count":12,"event_count":40}}}}"#,
                    "x".repeat(padding)
                ),
            )
        };
        // What the nodes must have, so that the mean is right at numbers of six digits.
        let small: usize = kinds.iter().map(|kind| bytes(kind)).sum();
        let nodes = MEAN * CYCLE as usize - small;
        let padding = nodes / 4 - bytes(&node(0, 0));
        kinds.extend((0..4).map(|at| node(at, padding)));
        assert_eq!(kinds.len() as u64, CYCLE);
        let pieces = |kind: String| kind.split(CYCLE_MARK).map(str::to_owned).collect();
        Self { tails: kinds.into_iter().map(pieces).collect() }
    }

    /// The frame of event `seq`, from 1. The first begins a turn.
    pub fn frame(&self, seq: u64, out: &mut Vec<u8>) {
        head(seq, out);
        if seq == 1 {
            out.extend_from_slice(tail("turn_start", r#"{"turn":1}"#).as_bytes());
            return;
        }
        let cycle = format!("{:012}", seq / CYCLE);
        let pieces = &self.tails[(seq % CYCLE) as usize];
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(cycle.as_bytes());
            }
            out.extend_from_slice(piece.as_bytes());
        }
    }

    /// Events `1..=count`.
    pub fn stream(&self, count: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(MEAN * count as usize + (64 << 10));
        (1..=count).for_each(|seq| self.frame(seq, &mut out));
        out
    }
}

/// One frame with a payload of its own.
pub fn frame(seq: u64, kind: &str, payload: &str, out: &mut Vec<u8>) {
    head(seq, out);
    out.extend_from_slice(tail(kind, payload).as_bytes());
}

/// A node of the context tree with `bytes` bytes of text.
pub fn large(seq: u64, bytes: usize, out: &mut Vec<u8>) {
    let text = "0123456789abcdef".repeat(bytes / 16);
    frame(
        seq,
        "ctree_node",
        &format!(r#"{{"node":{{"id":"ctn_{seq}","payload":{{"text":"{text}"}}}}}}"#),
        out,
    );
}

fn head(seq: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!("id: {seq}\ndata: {{\"id\":\"00000000-0000-4000-8000-{seq:012}\",\"seq\":{seq}").as_bytes(),
    );
}

fn tail(kind: &str, payload: &str) -> String {
    format!(
        ",\"type\":\"{kind}\",\"session_id\":\"{SESSION}\",\"turn\":1,\"timestamp\":1795212325021,\
         \"timestamp_ms\":1795212325021,\"protocol_version\":\"1.0\",\"payload\":{payload}}}\n\n"
    )
}

/// Bytes of a frame with this tail at numbers of six digits.
fn bytes(tail: &str) -> usize {
    let mut first = Vec::new();
    head(100_000, &mut first);
    first.len() + tail.len() + tail.matches(CYCLE_MARK).count() * (12 - CYCLE_MARK.len())
}
