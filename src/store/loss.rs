//! What is missing of the journal when it is opened: how that is seen, said and remembered.
//!
//! Owns the judgement about the front and the database as a pair, the new epoch that follows on every loss, and what each
//! session's transcript has yet to say. Never repairs anything and never throws a file away.
//!
//! What counts is whether everything that was told is still there. Three things speak for it: the front belongs to this
//! database, no byte of it is wrong or missing, and the database has come at least as far as the front's head says. Where one
//! of them does not hold, numbers that were told may be given anew, so the epoch changes: a client then takes none of its
//! numbers for ours.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::failure::Failure;
use super::front::{FoundFront, Front, FrontFiles, WaitingFront};
use super::front_scan::{FrontOwner, Head};
use super::intake::last_event;
use super::leases::{self, Leases};
use super::leftover::sessions_of;
use super::write;
use crate::app::ports::Commit;

/// Sessions that are told of a loss whose extent nobody knows: those that were used last.
const PERHAPS: i64 = 3;

/// What the database says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stand {
    /// Its name in the front's head; `None` before it had a front.
    pub(super) identity: Option<String>,
    /// Transactions that it has seen.
    pub(super) commits: u64,
}

impl Stand {
    pub(super) fn read(connection: &Connection, window: u32) -> Result<Self, Failure> {
        let value = |key: &str| -> rusqlite::Result<Option<String>> {
            let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
            statement.query_row([key], |row| row.get(0)).optional()
        };
        let commits = value("commits")?.and_then(|commits| commits.parse().ok()).unwrap_or(0);
        Ok(Self { identity: value(&front_key(window))?, commits })
    }

    /// From now on the database knows the front of this window.
    pub(super) fn name(connection: &Connection, window: u32, identity: &str) -> Result<(), Failure> {
        connection.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)",
            [front_key(window).as_str(), identity],
        )?;
        Ok(())
    }
}

fn front_key(window: u32) -> String {
    format!("front:{window}")
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Damage {
    /// There is no front, but there was one.
    FrontGone,
    /// It is shorter than it was made.
    FrontCut,
    /// It has bytes that are no part of it.
    FrontSpoiled,
    /// It is the front of another database.
    FrontForeign,
    /// The database lacks transactions that it had.
    DatabaseBehind,
}

/// What is wrong with a front and its database.
pub(super) fn judge(found: &FoundFront, stand: &Stand) -> Vec<Damage> {
    let mut damage = Vec::new();
    if found.scan.spoiled {
        damage.push(Damage::FrontSpoiled);
    }
    match (&found.scan.owner, &stand.identity) {
        (FrontOwner::Nobody, None) | (FrontOwner::Unknown, _) => {}
        (FrontOwner::Nobody, Some(_)) => damage.push(Damage::FrontGone),
        // It was made, and the process killed before the database knew of it.
        (FrontOwner::Known(head), None) if head.commits == 0 && found.scan.records.is_empty() => {}
        (FrontOwner::Known(head), identity) if Some(&head.identity) != identity.as_ref() => {
            damage.push(Damage::FrontForeign);
        }
        (FrontOwner::Known(head), _) => {
            if found.length < head.size {
                damage.push(Damage::FrontCut);
            }
            if head.commits > stand.commits {
                damage.push(Damage::DatabaseBehind);
            }
        }
    }
    damage
}

/// Everything that is to be said of one opening.
#[derive(Debug, Default)]
pub(super) struct Loss {
    /// What is wrong.
    pub(super) damage: Vec<Damage>,
    /// Told events that are in the front, but do not follow on what the database has.
    pub(super) strays: Vec<WaitingFront>,
    /// A sentence for the transcript of each session that is concerned.
    cards: BTreeMap<String, String>,
}

impl Loss {
    /// Looks for the sessions that are concerned; `front` holds what is going to be taken in.
    pub(super) fn find(
        connection: &Connection,
        window: u32,
        damage: Vec<Damage>,
        strays: Vec<WaitingFront>,
        head: Option<&Head>,
        front: &Front,
    ) -> Result<Self, Failure> {
        let mut loss = Self { damage, strays, cards: BTreeMap::new() };
        if !loss.is_any() {
            return Ok(loss);
        }
        let mut concerned: Vec<String> = Vec::new();
        if loss.damage.iter().any(|damage| *damage != Damage::DatabaseBehind) {
            // Nobody knows of whom the missing bytes were; most likely of those that the window worked on.
            concerned.extend(front.waiting().iter().map(|one| one.session_id.clone()));
            concerned.extend(leases::of_window(connection, window)?);
            concerned.extend(newest_sessions(connection)?);
        }
        let perhaps = "the last ones may be gone, because the journal was damaged on disk.";
        loss.cards.extend(concerned.into_iter().map(|id| (id, perhaps.to_owned())));
        for (session_id, told) in head.map_or(&[][..], |head| &head.heads) {
            let last = front.head(session_id).map_or_else(|| last_event(connection, session_id), Ok)?;
            if last < *told {
                loss.cards.insert(
                    session_id.clone(),
                    format!(
                        "those with the numbers {} to {told} are gone from the journal on disk.",
                        last + 1
                    ),
                );
            }
        }
        for one in &loss.strays {
            let sentence = format!(
                "those from number {} on do not follow on what the journal on disk still has; they were kept apart.",
                one.batch.from_seq
            );
            loss.cards.entry(one.session_id.clone()).or_insert(sentence);
        }
        let mut known = connection.prepare_cached("SELECT 1 FROM session WHERE session_id = ?1")?;
        let mut gone = Vec::new();
        for session_id in loss.cards.keys() {
            if !known.exists([session_id])? {
                gone.push(session_id.clone());
            }
        }
        gone.iter().for_each(|session_id| drop(loss.cards.remove(session_id)));
        Ok(loss)
    }

    /// Whether anything that was told may be missing.
    pub(super) fn is_any(&self) -> bool {
        !self.damage.is_empty() || !self.strays.is_empty()
    }

    /// Whether the file of the front has to be kept as it is.
    pub(super) fn spoils_the_file(&self) -> bool {
        self.damage.iter().any(|damage| match damage {
            Damage::FrontCut | Damage::FrontSpoiled | Damage::FrontForeign => true,
            Damage::FrontGone | Damage::DatabaseBehind => false,
        })
    }

    /// The sentence for the user, without what became of the file.
    pub(super) fn sentence(&self, place: FrontFiles<'_>) -> String {
        let (file, front) = (place.database.display(), place.front.display());
        let mut parts: Vec<String> = self
            .damage
            .iter()
            .map(|damage| match damage {
                Damage::FrontGone => format!("{front} was removed or emptied, and may have held the last events"),
                Damage::FrontCut => format!("{front} was cut, and the last events may be gone"),
                Damage::FrontSpoiled => format!("{front} holds bytes that cannot be read, and some of the last events may be gone"),
                Damage::FrontForeign => format!(
                    "{front} belongs to another database than {file}, so one of the two was removed or replaced"
                ),
                Damage::DatabaseBehind => {
                    format!("{file} went back to an earlier state, because its log was cut or removed")
                }
            })
            .collect();
        if !self.strays.is_empty() {
            parts.push(format!("events of {} do not follow on what is left", sessions_of(&self.strays)));
        }
        format!("The journal was damaged on disk: {}.", parts.join("; "))
    }
}

/// What waits in the front goes into the database with the new epoch and what the transcripts have to say, all in one.
pub(super) fn settle(
    connection: &mut Connection,
    waiting: &[WaitingFront],
    loss: &Loss,
    epoch: &str,
    window: u32,
) -> Result<u64, Failure> {
    // Two transactions: killed in between, the next start finds the same damage again.
    let commits = write::with_room(connection, None, |connection| {
        write::write(connection, &Leases::default(), waiting, &Commit::default())
    })?;
    write::with_room(connection, None, |connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let went_back = loss.damage.contains(&Damage::DatabaseBehind);
        leases::renew_epochs(&transaction, epoch, if went_back { None } else { Some(window) })?;
        for (session_id, sentence) in &loss.cards {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('loss:' || ?1, ?2)")?
                .execute(params![session_id, sentence])?;
        }
        Ok(transaction.commit()?)
    })?;
    Ok(commits)
}

/// What the transcripts have yet to say, by session.
pub(super) fn unsaid(connection: &Connection) -> Result<Vec<(String, String)>, Failure> {
    let mut statement = connection.prepare(
        "SELECT substr(key, length('loss:') + 1), value FROM meta WHERE key >= 'loss:' AND key < 'loss;'",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The transcript of this session says it.
pub(super) fn said(transaction: &Connection, session_id: &str) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM meta WHERE key = 'loss:' || ?1", [session_id])?;
    Ok(())
}

/// The sessions that were used last.
fn newest_sessions(connection: &Connection) -> Result<Vec<String>, Failure> {
    let mut statement = connection
        .prepare_cached("SELECT session_id FROM session ORDER BY updated_at DESC, rowid DESC LIMIT ?1")?;
    let ids = statement.query_map([PERHAPS], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}
