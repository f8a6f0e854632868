//! Events in: from the bytes of the engine's stream to events, on one thread, against the Node peer on the same bytes.
//!
//! Pass-through is all that an event needs to be stored and sent: decode, read the envelope, check the payload, give it
//! its class. Typed reads the fields of its type from the payload on top, as the reducers do. A map of the payload, which
//! nothing in the server needs for every event, and the view have rows of their own.

use std::hint::black_box;
use std::time::Instant;

use breadboard_ls::testing::domain::dialect::breadboard::decode::decode;
use breadboard_ls::testing::domain::dialect::{Dialect, fact, normalize};
use breadboard_ls::testing::domain::view::{DirtyBlocks, ViewState};
use breadboard_ls::testing::domain::wire::sse::{SseDecoder, SseItem};

use super::length::Length;
use super::mix::{self, Mix};
use super::peer;
use super::table::{Figure, Table, Target, median};

const EVENTS: u64 = 100_000;
const CHUNK: usize = 16 << 10;
const LARGEST: usize = 32 << 20;

/// How far an event is taken.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Frames,
    Pass,
    Typed,
    Mapped,
    Reduced,
}

/// The mixed stream.
pub fn ingest(table: &mut Table, length: Length) {
    let rounds = length.pick(7, 3);
    let bytes = Mix::new().stream(EVENTS);
    let mean = bytes.len() as u64 / EVENTS;
    assert!((mix::MEAN as u64 - 10..mix::MEAN as u64 + 10).contains(&mean), "{mean} bytes an event");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &bytes).expect("a file");
    let peer = peer::ingest(file.path(), rounds).map(median);
    let rate = |depth| median((0..rounds).map(|_| EVENTS as f64 / seconds(&bytes, depth, EVENTS)).collect());
    let figures = [
        (Depth::Frames, "ingest: frames of the stream only, events/s", None),
        (Depth::Pass, "ingest: envelope and pass-through, events/s", Some(3.0)),
        (Depth::Typed, "ingest: typed by the event's type, events/s", Some(1.75)),
        (Depth::Mapped, "ingest: a map of each payload instead, events/s", None),
        (Depth::Reduced, "ingest: typed and reduced into the view, events/s", None),
    ];
    for (depth, what, over) in figures {
        let ours = rate(depth);
        let target = |over: f64| {
            Target::at_least(format!("at least {over}x the peer"), ours, peer.map(|peer| over * peer))
        };
        table.add(Figure {
            what: what.to_owned(),
            ours,
            peer,
            floor: None,
            targets: over.map(target).into_iter().collect(),
        });
    }
}

/// One event of 4 MiB at a time.
pub fn large(table: &mut Table, length: Length) {
    let rounds = length.pick(7, 3);
    let mut bytes = Vec::new();
    (1..=16).for_each(|seq| mix::large(seq, 4 << 20, &mut bytes));
    let rate =
        |depth| median((0..rounds).map(|_| bytes.len() as f64 / 1e6 / seconds(&bytes, depth, 16)).collect());
    let decode = rate(Depth::Frames);
    table.add(Figure {
        what: "4-MiB events: decode, MB/s".to_owned(),
        ours: decode,
        peer: None,
        floor: None,
        targets: vec![Target::at_least("at least 1000", decode, Some(1_000.0))],
    });
    table.add(Figure {
        what: "4-MiB events: decode, envelope and check of the payload, MB/s".to_owned(),
        ours: rate(Depth::Pass),
        peer: None,
        floor: None,
        targets: Vec::new(),
    });
}

fn seconds(bytes: &[u8], depth: Depth, expected: u64) -> f64 {
    let mut decoder = SseDecoder::new(LARGEST);
    let mut view = ViewState::default().speaking(Dialect::Breadboard);
    let mut dirty = DirtyBlocks::default();
    let mut seq = 0;
    let begun = Instant::now();
    for chunk in bytes.chunks(CHUNK) {
        decoder.feed(chunk, &mut |item| {
            let SseItem::Frame(frame) = item else { panic!("an event is too large") };
            seq += 1;
            if depth == Depth::Frames {
                black_box(frame.data.len());
                return;
            }
            let event = normalize(Dialect::Breadboard, decode(&frame).event).event;
            match depth {
                Depth::Frames | Depth::Pass => drop(black_box(event)),
                Depth::Typed => {
                    let event = event.sequenced(seq);
                    black_box(fact(Dialect::Breadboard, &event));
                }
                Depth::Mapped => {
                    black_box(event.payload.len());
                }
                Depth::Reduced => {
                    let changes = view.apply(&event.sequenced(seq));
                    dirty.absorb(&changes, 0, &mut |_, _| None);
                    if dirty.bytes() > 8 << 20 {
                        dirty.clear();
                    }
                }
            }
        });
    }
    let took = begun.elapsed().as_secs_f64();
    assert_eq!(seq, expected, "every event came");
    took
}
