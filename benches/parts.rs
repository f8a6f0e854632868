//! What one event costs on its way through the pure core, and that it costs the same late in a session as early.
//!
//!     cargo bench --bench parts

use std::hint::black_box;

use breadboard_ls::domain::delivery::batch::Batcher;
use breadboard_ls::domain::edits::diff::unified_diff;
use breadboard_ls::domain::event::SessionEvent;
use breadboard_ls::domain::normalize::{Dialect, normalize};
use breadboard_ls::domain::policy::redact::Redactor;
use breadboard_ls::domain::view::{DirtyBlocks, ViewState};
use breadboard_ls::domain::wire::desktop::ServerMessage;
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

fn edits(criterion: &mut Criterion) {
    let old: String = (0..10_000).map(|line| format!("line number {line}\n")).collect();
    let new = old.replace("number 5000\n", "number five thousand\n");
    criterion.bench_function("diff_10000_lines_1_changed", |bench| {
        bench.iter(|| black_box(unified_diff("a.txt", Some(&old), &new)));
    });
}

criterion_group!(parts, stages, slope, edits);
criterion_main!(parts);
