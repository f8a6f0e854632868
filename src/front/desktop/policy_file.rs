//! The policy of a workspace on disk, in the state directory of the host.
//!
//! Owns the file: replaced whole or not at all, for its owner alone, and read strictly. Never decides what a policy may say.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::platform::{private, until_free};
use crate::protocol::desktop::body::{PolicyBody, PolicyChange};

/// Bytes of the file: every list at its longest, several times.
const BYTES: u64 = 4 << 20;

/// The policy of a workspace, and the right to change it.
#[derive(Debug)]
pub(super) struct KeptPolicy {
    pub(super) file: PathBuf,
    /// One change at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
}

impl KeptPolicy {
    /// That of the workspace of this id.
    pub(super) fn of(state_dir: &Path, workspace_id: &str) -> Self {
        let file = state_dir.join("policies").join(format!("{workspace_id}.json"));
        Self { file, turn: tokio::sync::Mutex::default() }
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
