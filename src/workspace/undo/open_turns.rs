//! The turns that run, and what is known of their changes so far.
//!
//! Owns the record of each, which is on disk before a file is changed, so that a kill loses nothing of it; when its files are
//! looked at, and which changes are another session's. Never tells anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use url::Url;

use crate::app::ports::{TurnOpened, TurnTold, TurnWatch};
use crate::domain::policy::redact::Redactor;
use crate::domain::undo::{BeforeSource, ChangedBy, ChangesKind, ImageForm, TurnRecord};

use super::baseline::{Baseline, Copies, LookCost};
use super::contents::UndoDesk;
use super::found;
use super::images::{LIMITS, SessionPlace, make_room};
use super::shown;
use super::turn_so_far::{FileWrite, ImageContent, OpenTurn};

/// How long a write waits for the beginning of its turn to be kept: far longer than a busy disk takes for one small file. Past it the
/// write is made all the same, and cannot be taken back.
const BEGINNING: Duration = Duration::from_secs(10);

/// The turns that run, by session.
#[derive(Default)]
pub(in crate::workspace) struct OpenTurns {
    turns: Mutex<BTreeMap<String, OpenTurn>>,
    /// Sessions whose turn was said to begin and is not in `turns` yet, each as often as that was said. At most as many as jobs may wait.
    coming: Mutex<Vec<String>>,
    came: Condvar,
    copies: Mutex<Copies>,
    secrets: Mutex<Arc<Redactor>>,
}

/// What a write of ours is about to replace.
pub(in crate::workspace) struct ReplacedFile<'a> {
    /// Name of the root.
    pub root: &'a str,
    /// Relative to it.
    pub path: &'a str,
    /// The bytes that are there, and their permission bits; `None`: nothing is.
    pub before: Option<(&'a [u8], Option<u32>)>,
    /// The bytes that will be there; `None`: the file goes.
    pub after: Option<&'a [u8]>,
}

impl OpenTurns {
    fn turns(&self) -> MutexGuard<'_, BTreeMap<String, OpenTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on no content is kept that holds one of these.
    pub(in crate::workspace) fn hide(&self, secrets: Redactor) {
        *self.secrets.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(secrets);
    }

    pub(super) fn secrets(&self) -> Arc<Redactor> {
        Arc::clone(&self.secrets.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn coming(&self) -> MutexGuard<'_, Vec<String>> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn is going to begin: a write of it waits until it has, however late the thread comes to it.
    pub(super) fn is_coming(&self, session_id: &str) {
        self.coming().push(session_id.to_owned());
    }

    /// That turn has begun, or never will.
    pub(super) fn has_come(&self, session_id: &str) {
        let mut coming = self.coming();
        if let Some(at) = coming.iter().position(|one| one == session_id) {
            coming.swap_remove(at);
        }
        self.came.notify_all();
    }

    /// A turn begins.
    pub(super) fn begin(&self, desk: &UndoDesk<'_>, turn: TurnOpened) {
        let Some(place) = desk.place(&turn.session_id) else { return };
        let record = TurnRecord {
            session_id: turn.session_id.clone(),
            turn: turn.turn,
            kind: ChangesKind::Turn,
            of: None,
            number: Some(turn.number),
            at: turn.at,
            text: turn.text,
            running: true,
            files: Vec::new(),
            uncovered: Vec::new(),
        };
        if let Err(error) = place.save(&record) {
            tracing::warn!(%error, "what a turn changes cannot be kept");
            return;
        }
        let baseline = match turn.watch {
            TurnWatch::AtOnce => self.look(desk),
            TurnWatch::BeforeCommands => None,
        };
        let mut open = OpenTurn::new(place, record);
        open.baseline = baseline;
        let mut turns = self.turns();
        open.is_shared = !turns.is_empty();
        turns.values_mut().for_each(|other| other.is_shared = true);
        turns.insert(turn.session_id, open);
    }

    /// Looks at what the files are. Nothing else waits for it but what it is for.
    fn look(&self, desk: &UndoDesk<'_>) -> Option<Baseline> {
        let state_dir = desk.state_dir?;
        let base = SessionPlace::of_copies(state_dir).hiding(self.secrets());
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let baseline = Baseline::take(desk.roots, state_dir, &base, &mut copies);
        let LookCost { micros, files, copied } = baseline.took;
        tracing::debug!(micros, files, copied, "looked at the files before a turn");
        Some(baseline)
    }

    /// A command is about to run.
    pub(super) fn before_command(&self, desk: &UndoDesk<'_>, session_id: &str) {
        if self.turns().get(session_id).is_none_or(|open| open.baseline.is_some()) {
            return;
        }
        let baseline = self.look(desk);
        if let Some(open) = self.turns().get_mut(session_id) {
            open.baseline = baseline;
        }
    }

    /// A write of ours is about to be made. On the thread that makes it, so that it is kept first.
    pub(in crate::workspace) fn writes(
        &self,
        state_dir: Option<&Path>,
        session_id: &str,
        replaced: &ReplacedFile<'_>,
    ) {
        let waits = |coming: &mut Vec<String>| coming.iter().any(|one| one == session_id);
        drop(self.came.wait_timeout_while(self.coming(), BEGINNING, waits));
        let disk = |bytes, mode| ImageContent { bytes, form: ImageForm::Disk, mode };
        let mode = replaced.before.and_then(|(_, mode)| mode);
        self.take(
            state_dir,
            session_id,
            &FileWrite {
                root: replaced.root,
                path: replaced.path,
                by: ChangedBy::Server,
                source: BeforeSource::WrittenHere,
                before: replaced.before.map(|(bytes, mode)| disk(bytes, mode)),
                after: replaced.after.map(|bytes| disk(bytes, mode)),
            },
        );
    }

    /// An edit of ours goes to an editor.
    pub(super) fn edited(
        &self,
        desk: &UndoDesk<'_>,
        session_id: &str,
        root: Option<&str>,
        path: &str,
        (before, after): (&str, &str),
    ) {
        let Ok(root) = desk.root_name(root) else { return };
        let content = |text| ImageContent { bytes: str::as_bytes(text), form: ImageForm::Buffer, mode: None };
        let change = FileWrite {
            root: &root,
            path,
            by: ChangedBy::Server,
            source: BeforeSource::Buffer,
            before: Some(content(before)),
            after: Some(content(after)),
        };
        self.take(desk.state_dir, session_id, &change);
    }

    /// The user saved a file in an editor.
    pub(super) fn saved(&self, desk: &UndoDesk<'_>, uri: &str) {
        let Some(path) = Url::parse(uri).ok().and_then(|uri| uri.to_file_path().ok()) else { return };
        let Ok((root, path)) = desk.roots.holding(&path) else { return };
        for open in self.turns().values_mut() {
            open.saved.insert((root.name().to_owned(), path.as_str().to_owned()));
        }
    }

    fn take(&self, state_dir: Option<&Path>, session_id: &str, change: &FileWrite<'_>) {
        let Some(state_dir) = state_dir else { return };
        let mut turns = self.turns();
        if !turns.contains_key(session_id)
            && let Some(open) =
                OpenTurn::found(SessionPlace::of(state_dir, session_id).hiding(self.secrets()))
        {
            turns.insert(session_id.to_owned(), open);
        }
        if let Some(open) = turns.get_mut(session_id) {
            open.take(change);
        }
    }

    /// Changes a record wherever it is: in memory of a turn that runs, else on disk.
    pub(super) fn amend<T>(
        &self,
        place: &SessionPlace,
        (session_id, turn): (&str, u64),
        amend: impl FnOnce(&mut TurnRecord) -> T,
    ) -> Option<T> {
        let mut turns = self.turns();
        if let Some(open) = turns.get_mut(session_id).filter(|open| open.record.turn == turn) {
            let amended = amend(&mut open.record);
            open.save();
            return Some(amended);
        }
        drop(turns);
        let mut record = place.load(turn)?;
        let amended = amend(&mut record);
        match place.save(&record) {
            Ok(()) => Some(amended),
            Err(error) => {
                tracing::warn!(%error, "the record of a turn cannot be written");
                None
            }
        }
    }

    /// A turn is over: what it changed is settled. `None`: nothing.
    pub(super) fn end(&self, desk: &UndoDesk<'_>, session_id: &str) -> Option<TurnTold> {
        let place = desk.place(session_id)?;
        let mut open = self.turns().remove(session_id).or_else(|| OpenTurn::found(place))?;
        if let (Some(baseline), Some(state_dir)) = (open.baseline.take(), desk.state_dir) {
            let found = found::compare(&baseline, &SessionPlace::of_copies(state_dir));
            let others = self.written_by_others();
            open.take_found(found, &others);
        }
        open.settle(desk);
        open.record.running = false;
        if open.record.is_empty() {
            open.place.drop_record(open.record.turn);
            return None;
        }
        open.save();
        if let Some(state_dir) = desk.state_dir {
            make_room(state_dir, &LIMITS, std::time::SystemTime::now());
        }
        Some(shown::told_of(desk, &open.record))
    }

    /// What turns of other sessions that run wrote: the file, and what it holds since.
    fn written_by_others(&self) -> BTreeSet<(String, String, String)> {
        let turns = self.turns();
        let files = turns.values().flat_map(|open| &open.record.files);
        let written = files.filter_map(|file| {
            let hash = file.after.as_ref().map(|image| image.hash.clone()).unwrap_or_default();
            (file.by == ChangedBy::Server).then(|| (file.root.clone(), file.path.clone(), hash))
        });
        written.collect()
    }

    /// A session is gone.
    pub(super) fn forget(&self, desk: &UndoDesk<'_>, session_id: &str) {
        self.turns().remove(session_id);
        if let Some(place) = desk.place(session_id) {
            place.remove();
        }
    }
}
