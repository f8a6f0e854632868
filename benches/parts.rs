//! What one event costs on its way through the pure core, and that it costs the same late in a session as early.
//!
//!     cargo bench --bench parts

#[path = "end_to_end/mix.rs"]
#[allow(dead_code, reason = "the frames alone are of use here")]
mod mix;

use std::hint::black_box;

use breadboard_ls::testing::domain::approval::{FileChange, Subject};
use breadboard_ls::testing::domain::delivery::batch::Batcher;
use breadboard_ls::testing::domain::dialect::breadboard::decode::decode;
use breadboard_ls::testing::domain::dialect::desktop::message::ServerMessage;
use breadboard_ls::testing::domain::dialect::{Dialect, normalize};
use breadboard_ls::testing::domain::edits::apply::apply_hunks;
use breadboard_ls::testing::domain::edits::diff::unified_diff;
use breadboard_ls::testing::domain::edits::patch::parse;
use breadboard_ls::testing::domain::event::{EngineEvent, SessionEvent};
use breadboard_ls::testing::domain::policy::redact::Redactor;
use breadboard_ls::testing::domain::view::{DirtyBlocks, ViewState};
use breadboard_ls::testing::domain::wire::sse::{SseDecoder, SseFrame, SseItem};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const EVENTS: u64 = 1_000;

fn token(seq: u64) -> SessionEvent {
    let message = ServerMessage::Token { token: format!("word{} ", seq % 100), cumulative_text: None };
    normalize(Dialect::Desktop, message.into_event(Some(1), 1)).event.sequenced(seq)
}

/// A session that has had so many tokens already.
fn after(tokens: u64) -> ViewState {
    let mut state = ViewState::default();
    for seq in 1..=tokens {
        state.apply(&token(seq));
    }
    state
}

fn stages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("per_event");
    group.throughput(Throughput::Elements(EVENTS));
    group.bench_function("normalise", |bench| {
        bench.iter(|| (1..=EVENTS).for_each(|seq| drop(black_box(token(seq)))));
    });
    let events: Vec<SessionEvent> = (1..=EVENTS).map(token).collect();
    group.bench_function("serialise", |bench| {
        bench.iter(|| events.iter().for_each(|event| drop(black_box(serde_json::to_vec(event)))));
    });
    let texts: Vec<Vec<u8>> =
        events.iter().map(|event| serde_json::to_vec(event).unwrap_or_default()).collect();
    group.bench_function("batch", |bench| {
        bench.iter(|| {
            let mut batcher = Batcher::new(4, 64, 262_144);
            for (seq, text) in (1..).zip(&texts) {
                black_box(batcher.push(text, seq));
                while let Some(batch) = batcher.take(seq) {
                    black_box(batch);
                }
            }
        });
    });
    let mut redactor = Redactor::default();
    redactor.add("sk-this-is-not-in-any-event");
    group.bench_function("redact", |bench| {
        bench.iter(|| texts.iter().for_each(|text| drop(black_box(redactor.scrub(text)))));
    });
    group.finish();
}

/// The slope: the same thousand events at the start of a session and after a million (the text of the block is capped, so
/// nothing may grow).
fn slope(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reduce_1000_tokens");
    group.throughput(Throughput::Elements(EVENTS));
    for before in [0, 10_000, 1_000_000] {
        let state = after(before);
        let events: Vec<SessionEvent> = (before + 1..=before + EVENTS).map(token).collect();
        group.bench_function(format!("after_{before}"), |bench| {
            bench.iter_batched(
                || (state.clone(), DirtyBlocks::default()),
                |(mut state, mut dirty)| {
                    for event in &events {
                        let changes = state.apply(event);
                        dirty.absorb(&changes, 0, &mut |_, _| None);
                    }
                    (state, dirty)
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// A thousand events as each dialect streams them, from the payload's own text: pieces of an answer, and of a tool's output.
fn dialects(criterion: &mut Criterion) {
    let piece = |kind: &str, payload: String| EngineEvent {
        id: String::new(),
        kind: kind.to_owned(),
        turn: Some(1),
        ts: Some(0),
        payload: serde_json::from_str(&payload).unwrap_or_default(),
        repaired: false,
    };
    let breadboard = |seq: u64| match seq % 4 {
        0 => piece("tool.exec.stdout.delta", format!(r#"{{"exec_id":"e","delta":"line {seq}\n"}}"#)),
        _ => piece("assistant.message.delta", format!(r#"{{"item_id":"msg_1","delta":"word{seq} "}}"#)),
    };
    let acp = |seq: u64| match seq % 4 {
        0 => piece(
            "tool_call_update",
            format!(r#"{{"toolCallId":"c","status":"in_progress","title":"t{seq}"}}"#),
        ),
        _ => piece(
            "agent_message_chunk",
            format!(r#"{{"messageId":"m","content":{{"type":"text","text":"word{seq} "}}}}"#),
        ),
    };
    let mut group = criterion.benchmark_group("normalise_and_reduce_1000");
    group.throughput(Throughput::Elements(EVENTS));
    let streams: [(&str, Dialect, Vec<EngineEvent>); 2] = [
        ("breadboard", Dialect::Breadboard, (1..=EVENTS).map(breadboard).collect()),
        ("acp", Dialect::Acp, (1..=EVENTS).map(acp).collect()),
    ];
    for (name, dialect, events) in streams {
        group.bench_function(name, |bench| {
            bench.iter_batched(
                || (ViewState::default().speaking(dialect), events.clone()),
                |(mut state, events)| {
                    for (seq, event) in (1..).zip(events) {
                        black_box(state.apply(&normalize(dialect, event).event.sequenced(seq)));
                    }
                    state
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// A thousand events of the stream that `end_to_end` measures, from the bytes that come: as text that is walked once, and as text
/// with a tab in it, which is read field by field. `decoded` is the reading alone; `through` goes on to the view and to the bytes
/// that are stored and sent, so the two of them say what the walk is worth to an event as a whole.
fn engine_stream(criterion: &mut Criterion) {
    let walked = mix::Mix::new().stream(EVENTS);
    let fields = String::from_utf8_lossy(&walked).replace("\ndata: {", "\ndata: {\t").into_bytes();
    let each = |stream: &[u8], take: &mut dyn FnMut(&SseFrame<'_>)| {
        SseDecoder::new(1 << 20).feed(stream, &mut |item| {
            if let SseItem::Frame(frame) = item {
                take(&frame);
            }
        });
    };
    let mut group = criterion.benchmark_group("engine_stream_1000");
    group.throughput(Throughput::Elements(EVENTS));
    for (name, stream) in [("walked", &walked), ("field_by_field", &fields)] {
        group.bench_function(format!("decoded/{name}"), |bench| {
            bench.iter(|| each(stream, &mut |frame| drop(black_box(decode(frame)))));
        });
        group.bench_function(format!("through/{name}"), |bench| {
            bench.iter(|| {
                let mut state = ViewState::default().speaking(Dialect::Breadboard);
                let mut seq = 0;
                each(stream, &mut |frame| {
                    seq += 1;
                    let event = normalize(Dialect::Breadboard, decode(frame).event).event.sequenced(seq);
                    black_box(state.apply(&event));
                    black_box(event.to_json());
                });
            });
        });
    }
    group.finish();
}

fn edits(criterion: &mut Criterion) {
    let old: String = (0..10_000).map(|line| format!("line number {line}\n")).collect();
    let new = old.replace("number 5000\n", "number five thousand\n");
    criterion.bench_function("diff_10000_lines_1_changed", |bench| {
        bench.iter(|| black_box(unified_diff("a.txt", Some(&old), &new)));
    });
}

/// A patch of 100,000 lines, a change in every tenth: read, made into what a card shows, and applied; and applied to a text in
/// which everything moved, so that each hunk is looked for.
fn patches(criterion: &mut Criterion) {
    let old: String = (0..85_000).map(|line| format!("line number {line}\n")).collect();
    let new: String = (0..85_000)
        .map(
            |line| if line % 10 == 0 { format!("changed {line}\n") } else { format!("line number {line}\n") },
        )
        .collect();
    let diff: String = (0..8_500)
        .map(|hunk| {
            let at = hunk * 10;
            let context = |lines: std::ops::Range<usize>| -> String {
                lines.map(|line| format!(" line number {line}\n")).collect()
            };
            let changed = format!("-line number {at}\n+changed {at}\n");
            // Each hunk shows nine of the ten lines that are its own, and more of those behind.
            format!("@@ -{0},10 +{0},10 @@\n{changed}{1}", at + 1, context(at + 1..at + 10))
        })
        .collect();
    let diff = format!("--- a/a.txt\n+++ b/a.txt\n{diff}");
    let hunks = parse(&diff).unwrap_or_default().remove(0).hunks;
    assert_eq!(apply_hunks(&old, &hunks).as_deref(), Ok(new.as_str()));
    let moved = format!("typed\n{old}");
    let mut group = criterion.benchmark_group(format!("patch_of_{}_lines", diff.lines().count()));
    group.sample_size(10);
    group.bench_function("parsed", |bench| bench.iter(|| black_box(parse(&diff))));
    group.bench_function("shown", |bench| {
        bench.iter(|| black_box(Subject::editing(FileChange::of_diff(&diff, None)).shown().cut()));
    });
    group.bench_function("applied", |bench| bench.iter(|| black_box(apply_hunks(&old, &hunks))));
    group.bench_function("applied_to_a_text_that_moved", |bench| {
        bench.iter(|| black_box(apply_hunks(&moved, &hunks)));
    });
    group.finish();
}

criterion_group!(parts, stages, slope, dialects, engine_stream, edits, patches);
criterion_main!(parts);
