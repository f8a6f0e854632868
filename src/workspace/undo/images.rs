//! Contents of files under their hashes, and the records of turns beside them: `undo/<session>/` of the state directory.
//!
//! Owns the names in there, that a content is whole or absent, and how much is kept: bytes of all sessions together, and an age.
//! Never in a folder of the user's, never in a repository. What is kept is readable by the user alone.

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::domain::edits::text::content_hash;
use crate::domain::policy::redact::Redactor;
use crate::domain::undo::{FileImage, ImageForm, TurnRecord};
use crate::platform::{private, until_free};
use crate::protocol::turn::TurnStorage;

/// What is kept, if nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeptLimits {
    /// Bytes of everything that is kept; the oldest turns go first.
    pub all: u64,
    /// Bytes of the contents of one turn.
    pub turn: u64,
    /// Bytes of one content. What is larger is changed by programs and not by hand.
    pub file: u64,
    /// How long anything is kept.
    pub age: Duration,
}

/// 256 MiB hold some thousands of turns of hand-written files; 14 days are longer than anybody waits to take one back.
pub(super) const LIMITS: KeptLimits =
    KeptLimits { all: 256 << 20, turn: 64 << 20, file: 8 << 20, age: Duration::from_secs(14 * 24 * 60 * 60) };

/// The place of what is kept of one session.
#[derive(Debug, Clone)]
pub(super) struct SessionPlace {
    directory: PathBuf,
    /// What is never written here.
    secrets: Arc<Redactor>,
}

/// Where everything is kept.
pub(super) fn place_of_all(state_dir: &Path) -> PathBuf {
    state_dir.join("undo")
}

impl SessionPlace {
    /// That of this session. Ids of sessions are an engine's, so only their hash names a directory.
    pub(super) fn of(state_dir: &Path, session_id: &str) -> Self {
        let hash = content_hash(session_id.as_bytes());
        let name = hash.trim_start_matches("sha256:").get(..32).unwrap_or_default().to_owned();
        Self { directory: place_of_all(state_dir).join(name), secrets: Arc::default() }
    }

    /// That of copies that are made when turns begin, for all sessions.
    pub(super) fn of_copies(state_dir: &Path) -> Self {
        Self { directory: place_of_all(state_dir).join("copies"), secrets: Arc::default() }
    }

    /// The same place, in which no content is kept that holds one of these.
    pub(super) fn hiding(self, secrets: Arc<Redactor>) -> Self {
        Self { secrets, ..self }
    }

    fn image(&self, hash: &str) -> Option<PathBuf> {
        let digits = hash.strip_prefix("sha256:")?;
        let is_hash = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| self.directory.join("images").join(digits))
    }

    fn record(&self, turn: u64) -> PathBuf {
        self.directory.join(format!("{turn}.json"))
    }

    /// Keeps a content; the same one is kept once. `PermissionDenied`: it holds a secret.
    pub(super) fn keep(&self, bytes: &[u8], form: ImageForm, mode: Option<u32>) -> io::Result<FileImage> {
        if matches!(self.secrets.scrub(bytes), Cow::Owned(_)) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it holds a token"));
        }
        let hash = content_hash(bytes);
        let image = FileImage { bytes: bytes.len() as u64, form, mode, hash };
        let path = self.image(&image.hash).ok_or(io::ErrorKind::InvalidInput)?;
        match OpenOptions::new().write(true).open(&path) {
            // As new as what needs it.
            Ok(file) if file.metadata()?.len() == image.bytes => file.set_modified(SystemTime::now())?,
            Ok(_) | Err(_) => write_whole(&path, bytes)?,
        }
        Ok(image)
    }

    /// A content that was kept, whole or not at all.
    pub(super) fn content(&self, image: &FileImage) -> Option<Vec<u8>> {
        let bytes = fs::read(self.image(&image.hash)?).ok()?;
        (content_hash(&bytes) == image.hash).then_some(bytes)
    }

    /// Writes the record of a turn, in place of the one before.
    pub(super) fn save(&self, record: &TurnRecord) -> io::Result<()> {
        let json = serde_json::to_vec(record).map_err(|_| io::ErrorKind::InvalidData)?;
        write_whole(&self.record(record.turn), &json)
    }

    /// The record of a turn.
    pub(super) fn load(&self, turn: u64) -> Option<TurnRecord> {
        serde_json::from_slice(&fs::read(self.record(turn)).ok()?).ok()
    }

    /// Takes out the record of a turn; its contents go when room is made.
    pub(super) fn drop_record(&self, turn: u64) {
        // It may not be there.
        let _ = fs::remove_file(self.record(turn));
    }

    /// The turns of which something is kept, newest first.
    pub(super) fn turns(&self) -> Vec<u64> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let number = |name: &std::ffi::OsStr| name.to_str()?.strip_suffix(".json")?.parse::<u64>().ok();
        let mut turns: Vec<u64> = entries.flatten().filter_map(|entry| number(&entry.file_name())).collect();
        turns.sort_unstable_by(|one, other| other.cmp(one));
        turns
    }

    /// Everything of the session goes.
    pub(super) fn remove(&self) {
        match fs::remove_dir_all(&self.directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, "what was kept of a deleted session stays for a while"),
        }
    }
}

/// Under another name first, so that what has the name is whole.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    private::create_folder(parent)?;
    let partial = parent.join(format!(".{}.partial", uuid::Uuid::new_v4()));
    let written =
        private::create_file(&partial, private::new_file()).and_then(|mut file| file.write_all(bytes));
    let placed = written.and_then(|()| until_free(|| fs::rename(&partial, path)));
    if placed.is_err() {
        // The failure before is the one to tell.
        let _ = fs::remove_file(&partial);
    }
    placed
}

/// One file of what is kept.
struct KeptEntry {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

fn files_in(directory: &Path, into: &mut Vec<KeptEntry>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            files_in(&entry.path(), into);
        } else {
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            into.push(KeptEntry { path: entry.path(), bytes: metadata.len(), modified });
        }
    }
}

/// What is kept of all sessions.
pub(super) fn storage(state_dir: Option<&Path>, limits: &KeptLimits) -> TurnStorage {
    let mut files = Vec::new();
    if let Some(state_dir) = state_dir {
        files_in(&place_of_all(state_dir), &mut files);
    }
    TurnStorage {
        bytes: files.iter().map(|file| file.bytes).sum(),
        budget_bytes: limits.all,
        max_age_ms: u64::try_from(limits.age.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Makes room: what is older than things are kept goes, and above the budget the oldest, until three quarters of it are left.
pub(super) fn make_room(state_dir: &Path, limits: &KeptLimits, now: SystemTime) {
    let mut files = Vec::new();
    files_in(&place_of_all(state_dir), &mut files);
    files.sort_by_key(|file| file.modified);
    let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let too_many = bytes > limits.all;
    for file in files {
        let is_old = now.duration_since(file.modified).is_ok_and(|age| age > limits.age);
        let is_above = too_many && bytes > limits.all / 4 * 3;
        if !is_old && !is_above {
            break;
        }
        if fs::remove_file(&file.path).is_ok() {
            bytes -= file.bytes;
        }
        // Only an empty one goes.
        let mut above = file.path.parent();
        while let Some(directory) = above.filter(|directory| **directory != *place_of_all(state_dir)) {
            if fs::remove_dir(directory).is_err() {
                break;
            }
            above = directory.parent();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_kept_once_and_a_damaged_one_is_none() {
        let state = tempfile::tempdir().unwrap();
        let place = SessionPlace::of(state.path(), "../../evil");
        let image = place.keep(b"abc", ImageForm::Disk, Some(0o644)).unwrap();
        assert_eq!(place.keep(b"abc", ImageForm::Disk, Some(0o644)).unwrap(), image);
        assert_eq!(place.content(&image).as_deref(), Some(&b"abc"[..]));
        assert_eq!(storage(Some(state.path()), &LIMITS).bytes, 3);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1, "nothing but our own directory");
        fs::write(place.image(&image.hash).unwrap(), "abd").unwrap();
        assert_eq!(place.content(&image), None);
        assert_eq!(place.content(&FileImage { hash: "sha256:../../x".to_owned(), ..image }), None);
    }

    #[test]
    fn above_the_budget_the_oldest_go_and_what_is_old_goes_in_any_case() {
        let state = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let limits = KeptLimits { all: 100, ..LIMITS };
        let keep = |session: &str, byte: u8, age: Duration| {
            let place = SessionPlace::of(state.path(), session);
            let image = place.keep(&[byte; 40], ImageForm::Disk, None).unwrap();
            let file = OpenOptions::new().write(true).open(place.image(&image.hash).unwrap()).unwrap();
            file.set_modified(now - age).unwrap();
            (place, image)
        };
        let (old, middle, new) = (
            keep("a", 1, Duration::from_secs(30)),
            keep("b", 2, Duration::from_secs(20)),
            keep("c", 3, Duration::from_secs(10)),
        );
        make_room(state.path(), &limits, now);
        let is_there = |(place, image): &(SessionPlace, FileImage)| place.content(image).is_some();
        assert_eq!([&old, &middle, &new].map(is_there), [false, false, true]);
        make_room(state.path(), &limits, now + limits.age + Duration::from_secs(1));
        assert!(!is_there(&new));
        assert_eq!(storage(Some(state.path()), &limits).bytes, 0);
    }
}
