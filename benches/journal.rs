//! What the journal costs: one commit of 1 and of 64 events of 200 bytes, and a read of 1,000 batches.

use std::hint::black_box;

use breadboard_ls::testing::app::ports::{BatchRow, Commit, Journal};
use breadboard_ls::testing::store::SqliteJournal;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const EVENT_BYTES: usize = 200;

/// The text of `count` events, comma-joined, each of `EVENT_BYTES`.
fn events(count: usize) -> Vec<u8> {
    let shell = r#"{"text":""}"#.len();
    let event = format!(r#"{{"text":"{}"}}"#, "x".repeat(EVENT_BYTES - shell));
    vec![event; count].join(",").into_bytes()
}

fn commit(from_seq: u64, count: u64, events: &[u8]) -> Commit {
    let batch = BatchRow { from_seq, to_seq: from_seq + count - 1, events: events.to_vec() };
    Commit {
        session_id: "5f0c1b9e-6a63-4d0e-9f5b-3b1f3f0e7a11".into(),
        batch: Some(batch),
        ..Commit::default()
    }
}

fn journal(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("journal");
    for count in [1_u64, 64] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut journal = SqliteJournal::open(Some(directory.path()));
        let text = events(usize::try_from(count).expect("small"));
        let mut next = 1;
        group.throughput(Throughput::Elements(count));
        group.bench_function(format!("commit {count} x {EVENT_BYTES} B"), |bencher| {
            bencher.iter(|| {
                journal.commit(&commit(next, count, &text)).expect("a commit");
                next += count;
            });
        });
    }

    let directory = tempfile::tempdir().expect("a directory");
    let mut journal = SqliteJournal::open(Some(directory.path()));
    let text = events(64);
    for batch in 0..1_000 {
        journal.commit(&commit(batch * 64 + 1, 64, &text)).expect("a commit");
    }
    group.throughput(Throughput::Elements(64_000));
    group.bench_function("read 1000 batches of 64", |bencher| {
        bencher.iter(|| {
            let rows = journal.batches("5f0c1b9e-6a63-4d0e-9f5b-3b1f3f0e7a11", 1, usize::MAX).expect("rows");
            assert_eq!(black_box(rows).len(), 1_000);
        });
    });
    group.finish();
}

criterion_group!(benches, journal);
criterion_main!(benches);
