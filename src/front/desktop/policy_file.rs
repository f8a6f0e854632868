//! The policy of a workspace on disk, in the state directory of the host.
//!
//! Owns the file: replaced whole or not at all, for its owner alone, and read strictly. Never decides what a policy may say.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::platform::{is_held, private, until_free};
use crate::protocol::desktop::body::{PolicyBody, PolicyChange};

/// Bytes of the file: every list at its longest, several times.
const BYTES: u64 = 4 << 20;

/// The policy of a workspace, and the right to change it, which one host has at a time: another would go on by an older one.
#[derive(Debug)]
pub(super) struct KeptPolicy {
    pub(super) file: PathBuf,
    /// Locked as long as this host serves the workspace. `None` where the file system has no locks.
    _right: Option<File>,
    /// One change at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
}

impl KeptPolicy {
    /// That of the workspace of this id, which is this folder. Blocking.
    ///
    /// # Errors
    /// One sentence: another host has it, or the state directory cannot be written.
    pub(super) fn hold(state_dir: &Path, workspace_id: &str, folder: &Path) -> Result<Self, String> {
        let policies = state_dir.join("policies");
        let lock = policies.join(format!("{workspace_id}.lock"));
        let mut options = OpenOptions::new();
        options.create(true);
        let opened = private::create_folder(&policies).and_then(|()| private::create_file(&lock, options));
        let another = || {
            format!(
                "Another host serves {} with this state directory already; use that one, end it, or give this one a directory of its \
                 own with --state-dir.",
                folder.display()
            )
        };
        let opened = opened.map_err(|error| match is_held(&error) {
            // Windows does not open a file that another host has.
            true => another(),
            false => format!(
                "{} cannot be written: {error}; make room, or name another directory with --state-dir.",
                lock.display()
            ),
        })?;
        let right = match opened.try_lock() {
            Ok(()) => Some(opened),
            Err(TryLockError::WouldBlock) => return Err(another()),
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "this file system has no locks, so another host could serve the same workspace");
                None
            }
        };
        let file = policies.join(format!("{workspace_id}.json"));
        Ok(Self { file, _right: right, turn: tokio::sync::Mutex::default() })
    }
}

/// What the file says; `None`: there is none.
///
/// # Errors
/// One sentence: it cannot be read, or holds something else.
pub(super) fn read(file: &Path) -> Result<Option<PolicyChange>, String> {
    let failed = |why: &dyn std::fmt::Display| {
        format!(
            "The policy in {} cannot be read: {why}. Correct the file, or delete it and set the policy anew.",
            file.display()
        )
    };
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let mut text = String::new();
    opened.take(BYTES + 1).read_to_string(&mut text).map_err(|error| failed(&error))?;
    if text.len() as u64 > BYTES {
        return Err(failed(&"it is larger than any policy"));
    }
    // An object: a list of its values in their order is no policy.
    let object: Map<String, Value> = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    serde_json::from_value(Value::Object(object)).map(Some).map_err(|error| failed(&error))
}

/// Writes it in place of the one before. Blocking.
///
/// # Errors
/// The disk refuses; then the one before is there as it was.
pub(super) fn keep(file: &Path, policy: &PolicyBody) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    private::create_folder(folder)?;
    let new = file.with_extension("new");
    let mut options = OpenOptions::new();
    options.create(true).truncate(true);
    let mut opened = private::create_file(&new, options)?;
    opened.write_all(serde_json::to_string_pretty(policy)?.as_bytes())?;
    opened.sync_all()?;
    drop(opened);
    until_free(|| fs::rename(&new, file))?;
    // That it has another content now is on the disk, too. Only some systems let a folder be opened.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_at_a_time_has_the_policy_of_a_workspace() {
        let place = tempfile::tempdir().unwrap();
        let hold = || KeptPolicy::hold(place.path(), "w", Path::new("/code/app"));
        let held = hold().unwrap();
        assert_eq!(held.file, place.path().join("policies/w.json"));
        let why = hold().unwrap_err();
        assert!(
            why.starts_with("Another host serves /code/app with this state directory already; use that one"),
            "{why}"
        );
        assert!(KeptPolicy::hold(place.path(), "another", Path::new("/code/b")).is_ok());
        drop(held);
        assert!(hold().is_ok());
    }

    #[test]
    fn what_is_no_policy_is_said_to_be_none_and_a_missing_file_is_nothing() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("w.json");
        assert_eq!(read(&file), Ok(None));
        for bad in
            ["", "[]", "{", r#"{"blocked_globs":"x"}"#, r#"{"unknown":[]}"#, r#"{"command_approval":"auto"}"#]
        {
            fs::write(&file, bad).unwrap();
            let why = read(&file).unwrap_err();
            assert!(why.contains("w.json") && why.contains("delete it"), "{bad}: {why}");
        }
        fs::write(&file, r#"{"blocked_globs":["*.key"]}"#).unwrap();
        assert_eq!(read(&file).unwrap().unwrap().blocked_globs, Some(vec!["*.key".to_owned()]));
    }
}
