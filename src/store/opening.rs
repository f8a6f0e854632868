//! Opening the front of a window: what of an earlier process is taken in, kept apart, and said.
//!
//! Owns the order of that, in which a kill at any moment leaves something that the next start understands. What is wrong is
//! judged in `loss`, what follows on in `leftover`. Never throws a file away.
//!
//! **A front that cannot be opened** is left where it lies, since what it holds was told, and the journal works on without one:
//! refusing the database with it would take every session from the user for a few last events. It says so, and the next
//! start tries again. By then the database may have gone on without it, so what it holds is sorted first: see `leftover`.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::aside::{AsideReason, free_name};
use super::database::Database;
use super::failure::Failure;
use super::fold::FoldedFolder;
use super::forgotten;
use super::front::{self, FoundFront, Front, FrontFiles, WaitingFront};
use super::front_scan::{FrontOwner, Head};
use super::intake::Intake;
use super::leases;
use super::leftover;
use super::loss::{self, Damage, Loss, Stand};
use crate::app::ports::JournalError;

/// The intake of a database, and the epoch that holds from now on where numbers may be given anew.
pub(super) struct OpenedStore {
    pub(super) intake: Intake,
    pub(super) new_epoch: Option<String>,
}

/// What an earlier process left in the front.
struct LeftBehind {
    front: Front,
    /// The name that front and database share, or will share.
    identity: String,
    /// The head of the front, where it is this database's.
    known: Option<Head>,
    damage: Vec<Damage>,
}

impl LeftBehind {
    fn judge(found: FoundFront, stand: &Stand) -> Self {
        let damage = loss::judge(&found, stand);
        let FoundFront { file, mut scan, .. } = found;
        if damage.contains(&Damage::FrontForeign) {
            // It may hold events whose numbers happen to fit.
            scan.records.clear();
        }
        let known = match &scan.owner {
            FrontOwner::Known(head) if !damage.contains(&Damage::FrontForeign) => Some(head.clone()),
            FrontOwner::Known(_) | FrontOwner::Nobody | FrontOwner::Unknown => None,
        };
        let head = known.clone().unwrap_or_else(|| Head {
            identity: stand.identity.clone().unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string()),
            ..Head::default()
        });
        let identity = head.identity.clone();
        Self { front: Front::go_on(file, head, scan), identity, known, damage }
    }
}

/// An epoch that just began.
struct Renewed {
    epoch: String,
    /// Whether the database has it.
    outcome: Result<(), JournalError>,
}

impl Intake {
    /// Opens the front of a window and takes in what an earlier process left. What the user has to know of it is said.
    pub(super) fn open(
        place: FrontFiles<'_>,
        database: &mut Database,
        warnings: &mut Vec<String>,
    ) -> OpenedStore {
        let window = place.window;
        let mut intake = Self {
            folder: Some(FoldedFolder::new(place.database)),
            passed_over: true,
            ..Self::without_front()
        };
        intake.leases.window = Some(window);
        let (stand, found) = match intake.look(database, place) {
            Ok(looked) => looked,
            Err(reason) => {
                warnings.push(format!(
                    "The last events of a window that was killed may be missing, because {} could not be used ({reason}); it was left as it is: make it usable, or move it away, and restart.",
                    place.front.display()
                ));
                return intake.opened_without_front(database);
            }
        };
        let LeftBehind { mut front, identity, known, damage } = LeftBehind::judge(found, &stand);
        let begins_anew = known.is_none();
        let loss = database.run(|connection| {
            let sorted = leftover::sort(connection, &mut front, &intake.forgotten)?;
            Loss::find(connection, window, damage, sorted, known.as_ref(), &front)
        });
        let loss = match loss {
            Ok(loss) => loss,
            Err(error) => {
                warnings.push(format!(
                    "The last events of a window that was killed may be missing, because the journal could not be read ({}).",
                    reason(error)
                ));
                return intake.opened_without_front(database);
            }
        };
        let mut new_epoch = None;
        if loss.is_any() {
            let written = intake.renew(database, front.waiting(), &loss);
            new_epoch = Some(written.epoch);
            match intake.keep_what_is_left(place, front, loss, written.outcome, warnings) {
                Some(begun) => front = begun,
                None => return OpenedStore { intake, new_epoch },
            }
        }
        intake.front = Some(front);
        intake.passed_over = false;
        if !begins_anew {
            // Where the disk is full it waits on, and is read from there.
            let _ = database.run(|connection| intake.empty(connection));
        }
        if (begins_anew || stand.identity.is_none()) && !intake.is_named(database, place, identity) {
            new_epoch = Some(intake.without_named_front(database, place, warnings));
        }
        OpenedStore { intake, new_epoch }
    }

    /// Where the database stands, and what lies in the file of the front; or why one of the two cannot be told.
    fn look(
        &mut self,
        database: &mut Database,
        place: FrontFiles<'_>,
    ) -> Result<(Stand, FoundFront), String> {
        let window = place.window;
        let looked = database
            .run(|connection| Ok((Stand::read(connection, window)?, forgotten::all(connection, window)?)));
        let (stand, forgotten) = looked.map_err(reason)?;
        self.commits = stand.commits;
        self.forgotten = forgotten;
        Ok((stand, front::find(place.front).map_err(|error| error.to_string())?))
    }

    /// The front could not be given its name. It stays as it is, and the next start tries again. What it holds is not shown, so
    /// numbers are given anew: gives the new epoch.
    fn without_named_front(
        &mut self,
        database: &mut Database,
        place: FrontFiles<'_>,
        warnings: &mut Vec<String>,
    ) -> String {
        warnings.push(format!(
            "{} could not be made; the last events before a kill may be lost. Make room in the state directory and restart.",
            place.front.display()
        ));
        self.front = None;
        self.passed_over = true;
        self.renew(database, &[], &Loss::default()).epoch
    }

    /// The journal works on without a front. What that holds is not known here, so numbers may be given anew.
    fn opened_without_front(mut self, database: &mut Database) -> OpenedStore {
        let renewed = self.renew(database, &[], &Loss::default());
        OpenedStore { intake: self, new_epoch: Some(renewed.epoch) }
    }

    /// What a window that is no more worked on is free, unless its events still wait for room in the database.
    pub(super) fn free_leases(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let Some(window) = self.leases.window else { return Ok(()) };
        if self.front.as_ref().is_some_and(|front| !front.waiting().is_empty()) {
            self.leases.held = leases::of_window(connection, window)?.into_iter().collect();
            return Ok(());
        }
        if leases::of_window(connection, window)?.is_empty() {
            return Ok(());
        }
        self.change(connection, |transaction| leases::release_all(transaction, window))
    }

    /// Gives the front its head and the database its front, in an order in which a kill leaves nothing that looks like damage.
    fn is_named(&mut self, database: &mut Database, place: FrontFiles<'_>, identity: String) -> bool {
        if self.front.take().is_none_or(|front| !front.waiting().is_empty()) {
            return false;
        }
        let head = Head { identity: identity.clone(), ..Head::default() };
        let begun = front::find(place.front).and_then(|found| Front::begin(found.file, head));
        let Ok(mut front) = begun else { return false };
        if database.run(|connection| Stand::name(connection, place.window, &identity)).is_err() {
            return false;
        }
        front.note(self.commits, &BTreeMap::new());
        self.front = Some(front);
        true
    }

    /// What follows on goes into the database, and with it a new epoch: numbers may be given anew. Where it cannot be
    /// written, the epoch holds for this process alone, and the next start finds the same damage.
    fn renew(&mut self, database: &mut Database, waiting: &[WaitingFront], loss: &Loss) -> Renewed {
        let epoch = uuid::Uuid::new_v4().simple().to_string();
        let window = self.leases.window.unwrap_or(0);
        let outcome = database.run(|connection| loss::settle(connection, waiting, loss, &epoch, window));
        if let Ok(commits) = outcome {
            self.commits = commits;
        }
        Renewed { epoch, outcome: outcome.map(drop) }
    }

    /// Keeps apart what was not taken in, says so, and begins the file anew. `None`: it stays as it is, and is not used.
    fn keep_what_is_left(
        &mut self,
        place: FrontFiles<'_>,
        front: Front,
        loss: Loss,
        written: Result<(), JournalError>,
        warnings: &mut Vec<String>,
    ) -> Option<Front> {
        let sentence = loss.sentence(place);
        if let Err(error) = written {
            warnings.push(format!(
                "{sentence} What is left of it could not be read back ({}); make room in the state directory and restart.",
                reason(error)
            ));
            return None;
        }
        let (mut handle, identity) = front.into_parts();
        if loss.spoils_the_file() || (!loss.damage.is_empty() && !loss.strays.is_empty()) {
            let moved = free_name(place.front, AsideReason::Stray).and_then(|apart| {
                std::fs::rename(place.front, &apart)?;
                Ok((apart, front::find(place.front)?.file))
            });
            match moved {
                Ok((apart, fresh)) => {
                    handle = fresh;
                    warnings.push(format!(
                        "{sentence} What was left of the file was kept as {}, which you may delete.",
                        apart.display()
                    ));
                }
                Err(error) => {
                    warnings.push(format!(
                        "{sentence} The file could not be kept under another name ({error}); make room in the state directory and restart."
                    ));
                    return None;
                }
            }
        } else if loss.strays.is_empty() {
            warnings.push(sentence);
        } else {
            let said = leftover::keep_apart(place.front, loss.strays);
            let is_kept = said.is_ok();
            warnings.push(said.unwrap_or_else(|said| said));
            if !is_kept {
                return None;
            }
        }
        Front::begin(handle, Head { identity, commits: self.commits, ..Head::default() }).ok()
    }
}

fn reason(error: JournalError) -> String {
    match error {
        JournalError::Full => "the disk is full".to_owned(),
        JournalError::Failed(reason) => reason,
        JournalError::HeldElsewhere => "another window works on it".to_owned(),
    }
}
