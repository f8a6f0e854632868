//! Reading the bytes of a front: its head, its records, and what is left where bytes are wrong.
//!
//! Owns the spelling of both, and how reading goes on behind damage. Never touches a file and never decides what becomes of
//! a record.
//!
//! A record is the length and CRC-32 of a body, then the body. The head has a page of the file for itself, so that a kill
//! cannot leave half of it.

use crc32fast::Hasher;

use super::front::{LARGEST, WaitingFront};
use crate::app::ports::{BatchRow, EngineCursor};

/// Name and version of the shape.
const MAGIC: &[u8; 8] = b"bbfront2";

/// Where records begin: behind a page, which is also the unit in which a system may leave a killed write half done.
pub(super) const BEGIN: usize = 4_096;

/// Longest id of a session or of a cursor that a record holds.
pub(super) const LONGEST_ID: usize = 1_024;

/// Bytes of a body beside its events: two ids with their lengths, three numbers, a flag.
const LARGEST_BODY: usize = LARGEST + 2 * (8 + LONGEST_ID) + 3 * 8 + 1;

/// Bytes of the smallest body: an empty id, two numbers, a flag.
const SMALLEST_BODY: usize = 8 + 2 * 8 + 1;

/// How often, on average, a byte may be summed in vain while looking for the next record. Bytes of events never look like a
/// record, so only a file made for it needs more than two; the rest of such a file counts as damage.
const IN_VAIN: usize = 16;

/// Sessions whose last event the head names.
pub(super) const HEADS: usize = 16;

/// What the head says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// Name of the database that it belongs to.
    pub(super) identity: String,
    /// Transactions that the database had seen when this was written.
    pub(super) commits: u64,
    /// Bytes that the file has; 0 where the system did not give them in advance.
    pub(super) size: u64,
    /// The last event in the database of the sessions that were written last, newest last.
    pub(super) heads: Vec<(String, u64)>,
}

/// Whose file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FrontOwner {
    /// It is empty.
    Nobody,
    /// The head as it stands there.
    Known(Head),
    /// Its head cannot be read.
    Unknown,
}

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontScan {
    /// Whose it is.
    pub(super) owner: FrontOwner,
    /// Every record that is whole, in order.
    pub(super) records: Vec<WaitingFront>,
    /// Whether there are bytes that are no part of a record, but for one whose writing was cut by a kill.
    pub(super) spoiled: bool,
    /// Whether the writing of the last record was cut by a kill.
    pub(super) torn: bool,
    /// Where the last whole record ends.
    pub(super) end: usize,
}

/// Reads a file. Takes time in proportion to its length, whatever it holds.
pub(super) fn scan(bytes: &[u8]) -> FrontScan {
    let written = written(bytes);
    // A file that was just made has its size and nothing else.
    if written == 0 {
        return FrontScan {
            owner: FrontOwner::Nobody,
            records: Vec::new(),
            spoiled: false,
            torn: false,
            end: 0,
        };
    }
    let owner = read_head(bytes).map_or(FrontOwner::Unknown, FrontOwner::Known);
    let begin = BEGIN.min(bytes.len());
    let padding = match &owner {
        FrontOwner::Known(head) => &bytes[write_head(head).len().min(begin)..begin],
        FrontOwner::Nobody | FrontOwner::Unknown => &[],
    };
    let spoiled = owner == FrontOwner::Unknown || padding.iter().any(|byte| *byte != 0);
    let mut scan = FrontScan { owner, records: Vec::new(), spoiled, torn: false, end: begin };
    read_records(bytes, written, &mut scan);
    scan
}

/// Where the zeros begin that a file ends with. Most of a file is zeros, so they are compared by the page.
fn written(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    for page in bytes.rchunks(BEGIN) {
        if page != &[0; BEGIN][..page.len()] {
            return end - page.iter().rev().take_while(|byte| **byte == 0).count();
        }
        end -= page.len();
    }
    0
}

fn read_records(bytes: &[u8], written: usize, scan: &mut FrontScan) {
    let mut in_vain = bytes.len().saturating_mul(IN_VAIN);
    let mut at = scan.end;
    while at < written {
        if let Some((record, length)) = record_at(&bytes[at..], &mut in_vain) {
            scan.records.push(record);
            at += length;
            scan.end = at;
            continue;
        }
        if is_torn(bytes, at, written) {
            scan.torn = true;
            return;
        }
        scan.spoiled = true;
        let next = (at + 1..written).find(|next| begins_record(&bytes[*next..], &mut in_vain));
        let Some(next) = next else { return };
        at = next;
    }
}

/// Whether a record was being written here when the process was killed: the system stops between two pages, so its end is
/// missing from one on. Nobody was told of it.
fn is_torn(bytes: &[u8], at: usize, written: usize) -> bool {
    let stopped = written.next_multiple_of(BEGIN).min(bytes.len());
    // Events fill the page to its end. Only the numbers before them may end with zeros.
    if written != stopped && (written + 64 < stopped || at + 256 < stopped) {
        return false;
    }
    let Some(length) = bytes[at..].first_chunk::<4>() else { return true };
    let length = u32::from_le_bytes(*length) as usize;
    at + 8 > stopped || (plausible(length) && at + 8 + length > stopped)
}

fn plausible(length: usize) -> bool {
    (SMALLEST_BODY..=LARGEST_BODY).contains(&length)
}

fn begins_record(bytes: &[u8], in_vain: &mut usize) -> bool {
    // Most bytes are refused by the lengths alone; what those let pass is summed.
    let length = bytes.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    let id =
        bytes.get(8..16).and_then(|id| id.first_chunk::<8>()).map_or(u64::MAX, |id| u64::from_le_bytes(*id));
    plausible(length) && id <= LONGEST_ID as u64 && record_at(bytes, in_vain).is_some()
}

/// The record that begins here, and its bytes. `in_vain` goes down by what was summed for nothing.
fn record_at(bytes: &[u8], in_vain: &mut usize) -> Option<(WaitingFront, usize)> {
    let (length, after) = bytes.split_first_chunk::<4>()?;
    let (checksum, after) = after.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    if !plausible(length) {
        return None;
    }
    let body = after.get(..length)?;
    let left = in_vain.checked_sub(length)?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        *in_vain = left;
        return None;
    }
    Some((read_body(body)?, 8 + length))
}

fn read_body(mut body: &[u8]) -> Option<WaitingFront> {
    let session_id = take_text(&mut body)?;
    let (from_seq, to_seq) = (take_number(&mut body)?, take_number(&mut body)?);
    if from_seq == 0 || to_seq < from_seq {
        return None;
    }
    let (has_cursor, after_flag) = body.split_first()?;
    body = after_flag;
    let cursor = match has_cursor {
        0 => None,
        _ => Some(EngineCursor { seq: take_number(&mut body)?, id: take_text(&mut body)? }),
    };
    Some(WaitingFront { session_id, batch: BatchRow { from_seq, to_seq, events: body.to_vec() }, cursor })
}

/// A record as it stands in the file.
pub(super) fn write_record(one: &WaitingFront) -> std::io::Result<Vec<u8>> {
    let mut record = Vec::with_capacity(super::front::RECORD + one.batch.events.len());
    // Room for length and checksum.
    record.extend_from_slice(&[0; 8]);
    put_text(&mut record, &one.session_id);
    record.extend_from_slice(&one.batch.from_seq.to_le_bytes());
    record.extend_from_slice(&one.batch.to_seq.to_le_bytes());
    record.push(u8::from(one.cursor.is_some()));
    if let Some(cursor) = &one.cursor {
        record.extend_from_slice(&cursor.seq.to_le_bytes());
        put_text(&mut record, &cursor.id);
    }
    let length = record.len() - 8 + one.batch.events.len();
    let mut checksum = Hasher::new();
    checksum.update(&record[8..]);
    checksum.update(&one.batch.events);
    record[..4].copy_from_slice(&u32::try_from(length).map_err(std::io::Error::other)?.to_le_bytes());
    record[4..8].copy_from_slice(&checksum.finalize().to_le_bytes());
    record.extend_from_slice(&one.batch.events);
    Ok(record)
}

/// The head as it stands in the file, at most `BEGIN` bytes: of the sessions only as many as fit, the newest.
pub(super) fn write_head(head: &Head) -> Vec<u8> {
    let mut body = Vec::with_capacity(1_024);
    put_text(&mut body, &head.identity);
    body.extend_from_slice(&head.commits.to_le_bytes());
    body.extend_from_slice(&head.size.to_le_bytes());
    let mut room = BEGIN.saturating_sub(MAGIC.len() + 16 + body.len());
    let fits = |(id, _): &&(String, u64)| {
        room = room.saturating_sub(16 + id.len());
        room > 0
    };
    let heads: Vec<&(String, u64)> = head.heads.iter().rev().take_while(fits).collect();
    body.extend_from_slice(&(heads.len() as u64).to_le_bytes());
    for (id, seq) in heads.into_iter().rev() {
        put_text(&mut body, id);
        body.extend_from_slice(&seq.to_le_bytes());
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&u32::try_from(body.len()).unwrap_or(0).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

fn read_head(bytes: &[u8]) -> Option<Head> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let mut body = rest.get(..(u32::from_le_bytes(*length) as usize).min(BEGIN))?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let identity = take_text(&mut body)?;
    let (commits, size) = (take_number(&mut body)?, take_number(&mut body)?);
    let count = take_number(&mut body)?;
    let mut heads = Vec::new();
    for _ in 0..count.min(BEGIN as u64) {
        heads.push((take_text(&mut body)?, take_number(&mut body)?));
    }
    Some(Head { identity, commits, size, heads })
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn take_number(body: &mut &[u8]) -> Option<u64> {
    let (number, after) = body.split_first_chunk::<8>()?;
    *body = after;
    Some(u64::from_le_bytes(*number))
}

fn take_text(body: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take_number(body)?).ok()?;
    let (text, after) = body.split_at_checked(length)?;
    *body = after;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(session_id: &str, seq: u64, length: usize) -> WaitingFront {
        let events = format!("{{\"seq\":{seq},\"text\":\"{}\"}}", "x".repeat(length)).into_bytes();
        let cursor = seq.is_multiple_of(2).then(|| EngineCursor { seq, id: format!("id-{seq}") });
        WaitingFront {
            session_id: session_id.into(),
            batch: BatchRow { from_seq: seq, to_seq: seq, events },
            cursor,
        }
    }

    fn head() -> Head {
        Head { identity: "i".into(), commits: 7, size: 0, heads: vec![("s".into(), 3), ("t".into(), 4)] }
    }

    /// A file with these records, and where each begins.
    fn file(head: &Head, records: &[WaitingFront]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = write_head(head);
        bytes.resize(BEGIN, 0);
        let mut begins = Vec::new();
        for one in records {
            begins.push(bytes.len());
            bytes.extend(write_record(one).unwrap());
        }
        (bytes, begins)
    }

    #[test]
    fn a_whole_file_is_read_whole_with_or_without_room_behind() {
        let records = [one("s", 1, 5), one("ü", 2, 3_000), one("s", 3, 2_000)];
        let (bytes, _) = file(&head(), &records);
        for room in [0, 1, 10_000] {
            let mut bytes = bytes.clone();
            let end = bytes.len();
            bytes.resize(end + room, 0);
            let expected = FrontScan {
                owner: FrontOwner::Known(head()),
                records: records.to_vec(),
                spoiled: false,
                torn: false,
                end,
            };
            assert_eq!(scan(&bytes), expected, "{room}");
        }
    }

    #[test]
    fn behind_damage_of_any_byte_the_other_records_are_read_and_the_damage_is_known() {
        let records = [one("s", 1, 40), one("t", 2, 40), one("s", 3, 40), one("t", 4, 40)];
        let (mut bytes, begins) = file(&head(), &records);
        let end = bytes.len();
        bytes.resize(end + 600, 0);
        for at in 0..bytes.len() {
            for bit in [0x01, 0x10, 0x80] {
                let mut wrong = bytes.clone();
                wrong[at] ^= bit;
                let found = scan(&wrong);
                assert!(found.spoiled, "{at} {bit}");
                let hit = (BEGIN..end)
                    .contains(&at)
                    .then(|| begins.iter().rposition(|begin| *begin <= at).unwrap());
                let left: Vec<_> = records.iter().enumerate().filter(|(n, _)| Some(*n) != hit).collect();
                assert_eq!(
                    found.records.iter().collect::<Vec<_>>(),
                    left.iter().map(|(_, one)| *one).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn a_write_that_a_kill_cut_between_two_pages_is_no_damage() {
        let records = [one("s", 1, 100), one("s", 2, 20_000)];
        let (whole, begins) = file(&head(), &records);
        for stopped in (begins[1].next_multiple_of(BEGIN)..whole.len()).step_by(BEGIN) {
            let mut bytes = whole[..stopped].to_vec();
            bytes.resize(1 << 20, 0);
            let found = scan(&bytes);
            assert_eq!((found.spoiled, found.records.len(), found.end), (false, 1, begins[1]), "{stopped}");
        }
        // Anywhere else it is.
        for stopped in [begins[1] + 9, begins[1] + 5_000, whole.len() - 1] {
            let mut bytes = whole[..stopped].to_vec();
            bytes.resize(1 << 20, 0);
            assert!(scan(&bytes).spoiled, "{stopped}");
        }
    }

    #[test]
    fn the_head_names_as_many_sessions_as_fit_and_the_newest() {
        let heads: Vec<(String, u64)> =
            (0..HEADS as u64).map(|n| (format!("{n}-{}", "x".repeat(900)), n)).collect();
        let bytes = write_head(&Head { heads: heads.clone(), ..head() });
        assert!(bytes.len() <= BEGIN);
        let read = read_head(&bytes).unwrap().heads;
        assert!(read.len() >= 3 && heads.ends_with(&read), "{}", read.len());
    }

    #[test]
    fn a_file_that_was_made_to_take_long_does_not() {
        // At every eighth byte the beginning of a record of the largest size, with a wrong sum.
        let mut bytes = write_head(&head());
        bytes.resize(BEGIN, 0);
        while bytes.len() < 4 << 20 {
            bytes.extend_from_slice(&u32::try_from(LARGEST_BODY).unwrap().to_le_bytes());
            bytes.extend_from_slice(&[0; 4]);
        }
        let begun = std::time::Instant::now();
        let found = scan(&bytes);
        assert!(found.spoiled && found.records.is_empty());
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
