//! The reader of front files.
//!
//! Of any bytes, only records are read that stand there as they would be written. A file that was damaged in one place gives
//! only what was written, in its order, and everything before the damage. Reading changes nothing that counts.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use breadboard_ls::app::ports::{BatchRow, EngineCursor};
use breadboard_ls::store::front_records::{Record, append, read};
use tempfile::TempDir;

use super::pieces::number_of;

const EPOCH: &str = "e";

thread_local! {
    static PLACE: OnceCell<TempDir> = const { OnceCell::new() };
}

/// See the module.
pub fn run(data: &[u8]) {
    PLACE.with(|place| {
        let place = place.get_or_init(|| tempfile::tempdir().expect("a directory for the files")).path();
        let head = bytes_of(place, &[]);
        foreign_bytes(place, &head, data);
        // The corpus has whole files: their head is ours already.
        foreign_bytes(place, &[], data);
        damaged(place, &head, &records(data), number_of(data));
    });
}

/// The file of these records.
fn bytes_of(place: &Path, records: &[Record]) -> Vec<u8> {
    let path = place.join("written");
    let _ = fs::remove_file(&path);
    append(&path, EPOCH, records).expect("records are written");
    fs::read(path).expect("a file that was written")
}

fn found_in(place: &Path, bytes: &[u8]) -> (Vec<Record>, PathBuf) {
    let path = place.join("read");
    fs::write(&path, bytes).expect("a file");
    (read(&path, EPOCH).expect("the file is read"), path)
}

fn foreign_bytes(place: &Path, head: &[u8], data: &[u8]) {
    let file = [head, data].concat();
    let (found, path) = found_in(place, &file);
    assert_eq!(read(&path, EPOCH).expect("the file is read again"), found, "the second reading is another");
    let own_head = bytes_of(place, &[]).len();
    for record in &found {
        let written = bytes_of(place, std::slice::from_ref(record));
        let record_bytes = &written[own_head..];
        assert!(
            file.windows(record_bytes.len()).any(|window| window == record_bytes),
            "nobody wrote this: {record:?}"
        );
    }
}

/// Records that follow from bytes: a line each, some with a cursor.
fn records(data: &[u8]) -> Vec<Record> {
    let mut head = 0;
    let lines = data.split(|byte| *byte == b'\n').take(8);
    let record = |line: &[u8]| {
        let from_seq = head + 1;
        head += 1 + line.len() as u64 % 5;
        let cursor =
            (!line.len().is_multiple_of(3)).then(|| EngineCursor { seq: head, id: format!("{head}#") });
        let session_id = String::from_utf8_lossy(&line[..line.len().min(3)]).into_owned();
        Record { session_id, batch: BatchRow { from_seq, to_seq: head, events: line.to_vec() }, cursor }
    };
    lines.map(record).collect()
}

/// One byte changed, or the end cut off, where `choice` says.
fn damaged(place: &Path, head: &[u8], written: &[Record], choice: u64) {
    let whole = bytes_of(place, written);
    assert_eq!(found_in(place, &whole).0, written, "what was written is not read");
    if whole.len() == head.len() {
        return;
    }
    let at = head.len() + (choice >> 16) as usize % (whole.len() - head.len());
    let mut bytes = whole.clone();
    if choice.is_multiple_of(2) {
        bytes.truncate(at);
    } else {
        bytes[at] ^= 1 << (choice >> 8 & 7);
    }
    let found = found_in(place, &bytes).0;
    let before =
        (0..written.len()).take_while(|count| bytes_of(place, &written[..count + 1]).len() <= at).count();
    assert!(found.starts_with(&written[..before]), "what stood before the damage is gone: {found:?}");
    let mut rest = written.iter();
    for record in &found {
        assert!(rest.any(|one| one == record), "not what was written, or not in its order: {record:?}");
    }
    assert!(found.len() < written.len(), "the damage was not seen");
}
