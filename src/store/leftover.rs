//! What an earlier process left in the front, once the file can be read: what of it is taken in.
//!
//! Owns the sorting, and the file in which that is kept which has no place any more. Never writes the database or the front.
//!
//! Where the front of the start before could not be opened, the database may have gone on without it. So a record is taken in
//! only where it follows on the last event of its session, and none of a session after one that did not: a later one may
//! fit by its number and still belong to other events. What is in the database already needs no word: a kill between a
//! transaction and the emptying of the front leaves it. Nor does what belongs to a session that was deleted. The rest was
//! told and is nowhere else: it is kept apart and said.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::aside::{AsideReason, free_name};
use super::failure::Failure;
use super::front::{Front, WaitingFront};
use super::intake::last_event;
use super::row::at_most;
use crate::app::ports::BatchRow;

/// What becomes of a record that an earlier process left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftoverVerdict {
    /// It is what comes next in its session.
    Follows,
    /// The database has it, or its session was deleted.
    Settled,
    /// The database went on without it.
    Stray,
}

/// Lets only that wait in the front which is to be taken in, and gives what the database went on without. The file is not
/// changed.
pub(super) fn sort(
    connection: &Connection,
    front: &mut Front,
    forgotten: &HashSet<String>,
) -> Result<Vec<WaitingFront>, Failure> {
    let verdicts = judge(connection, front.waiting(), forgotten)?;
    let strays = std::iter::zip(front.waiting(), &verdicts)
        .filter(|(_, verdict)| **verdict == LeftoverVerdict::Stray)
        .map(|(one, _)| one.clone())
        .collect();
    let mut verdicts = verdicts.into_iter();
    front.keep(|_| verdicts.next() == Some(LeftoverVerdict::Follows));
    Ok(strays)
}

/// Writes strays into a file of their own, in the shape of the front, and gives the sentence that says so; as an error, the
/// sentence that says why not.
pub(super) fn keep_apart(file: &Path, strays: Vec<WaitingFront>) -> Result<String, String> {
    let left = format!(
        "Events of {} that an earlier window left in {} are not shown, because the journal went on without them",
        sessions_of(&strays),
        file.display()
    );
    match write_apart(file, strays) {
        Ok(apart) => Ok(format!("{left}; they were kept as {}, which you may delete.", apart.display())),
        Err(error) => Err(format!(
            "{left}, and could not be kept under another name ({error}); make room in the state directory and restart."
        )),
    }
}

/// What becomes of each record.
fn judge(
    connection: &Connection,
    waiting: &[WaitingFront],
    forgotten: &HashSet<String>,
) -> Result<Vec<LeftoverVerdict>, Failure> {
    /// What the next record of a session has to follow on; `None` after a stray one.
    type Heads<'a> = HashMap<&'a str, Option<u64>>;
    let mut heads = Heads::new();
    let mut verdicts = Vec::with_capacity(waiting.len());
    for one in waiting {
        let session_id = one.session_id.as_str();
        if forgotten.contains(session_id) {
            verdicts.push(LeftoverVerdict::Settled);
            continue;
        }
        let head = match heads.get(session_id) {
            Some(head) => *head,
            None => Some(last_event(connection, session_id)?),
        };
        let (head, verdict) = match head {
            Some(last) if one.batch.from_seq == last + 1 => {
                (Some(one.batch.to_seq), LeftoverVerdict::Follows)
            }
            Some(last) if is_stored(connection, one)? => (Some(last), LeftoverVerdict::Settled),
            _ => (None, LeftoverVerdict::Stray),
        };
        heads.insert(session_id, head);
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

fn write_apart(file: &Path, strays: Vec<WaitingFront>) -> io::Result<PathBuf> {
    let apart = free_name(file, AsideReason::Stray)?;
    let written = Front::write_apart(&apart, strays);
    if written.is_err() {
        // All of it is still in the front. Half of it would only look like more.
        let _ = std::fs::remove_file(&apart);
    }
    written.map(|()| apart)
}

pub(super) fn sessions_of(strays: &[WaitingFront]) -> String {
    let sessions: HashSet<&str> = strays.iter().map(|one| one.session_id.as_str()).collect();
    match strays {
        [one, ..] if sessions.len() == 1 => format!("session {}", one.session_id),
        _ => format!("{} sessions", sessions.len()),
    }
}

/// Whether the database has exactly this batch.
fn is_stored(connection: &Connection, one: &WaitingFront) -> Result<bool, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM batch WHERE session_id = ?1 AND from_seq = ?2 AND to_seq = ?3 AND events = ?4",
    )?;
    let BatchRow { from_seq, to_seq, events } = &one.batch;
    Ok(statement.exists(params![one.session_id, at_most(*from_seq), at_most(*to_seq), events])?)
}
