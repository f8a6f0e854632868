//! The reader of front files.
//!
//! Of any bytes, only records are read that stand there as they would be written. A file that was damaged in one place gives
//! everything but the record that was hit, in its order.

use breadboard_ls::testing::app::ports::{BatchRow, EngineCursor};
use breadboard_ls::testing::store::front_records::{Record, read, write};

use crate::entries::pieces::number_of;

/// See the module.
pub fn run(data: &[u8]) {
    let head = bytes_of(&[]);
    foreign_bytes(&head, data);
    // The corpus has whole files: their head is ours already.
    foreign_bytes(&[], data);
    damaged(&head, &records(data), number_of(data));
}

/// The file of these records.
fn bytes_of(records: &[Record]) -> Vec<u8> {
    write(records).expect("records are written")
}

fn foreign_bytes(head: &[u8], data: &[u8]) {
    let file = [head, data].concat();
    let own_head = bytes_of(&[]).len();
    for record in &read(&file) {
        let written = bytes_of(std::slice::from_ref(record));
        let record_bytes = &written[own_head..];
        assert!(
            file.windows(record_bytes.len()).any(|window| window == record_bytes),
            "nobody wrote this: {record:?}"
        );
    }
}

/// Records that follow from bytes: a line each, some with a cursor. Events are text, so they hold no zeros.
fn records(data: &[u8]) -> Vec<Record> {
    let mut head = 0;
    let lines = data.split(|byte| *byte == b'\n').take(8);
    let record = |line: &[u8]| {
        let from_seq = head + 1;
        head += 1 + line.len() as u64 % 5;
        let cursor =
            (!line.len().is_multiple_of(3)).then(|| EngineCursor { seq: head, id: format!("{head}#") });
        let session_id = String::from_utf8_lossy(&line[..line.len().min(3)]).into_owned();
        let events = line.iter().map(|byte| if *byte == 0 { b'0' } else { *byte }).collect();
        Record { session_id, batch: BatchRow { from_seq, to_seq: head, events }, cursor }
    };
    lines.map(record).collect()
}

/// One byte changed, or the end cut off, where `choice` says.
fn damaged(head: &[u8], written: &[Record], choice: u64) {
    let whole = bytes_of(written);
    assert_eq!(read(&whole), written, "what was written is not read");
    if whole.len() == head.len() {
        return;
    }
    let at = head.len() + (choice >> 16) as usize % (whole.len() - head.len());
    let hit = (0..written.len()).take_while(|count| bytes_of(&written[..count + 1]).len() <= at).count();
    let mut bytes = whole.clone();
    let expected = if choice.is_multiple_of(2) {
        bytes.truncate(at);
        written[..hit].to_vec()
    } else {
        bytes[at] ^= 1 << (choice >> 8 & 7);
        [&written[..hit], &written[hit + 1..]].concat()
    };
    let found = read(&bytes);
    // A length that was hit may make the last record look like one that was being written: it is the damaged one, or all
    // behind it are still found.
    assert!(
        found == expected || found == written[..hit],
        "not everything but the record that was hit: {found:?} instead of {expected:?}"
    );
}
