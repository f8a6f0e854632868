//! A file that its owner alone can read, written whole.
//!
//! Owns the mode and the exchange: whoever reads it has what was there before or what is there now. Never knows what it holds.

use std::io::Write;
use std::path::Path;

use crate::platform::{private, until_free};

/// Writes the text in place of what the file held, and makes the folders above it.
///
/// # Errors
/// Whatever the file system refuses; the file is then as it was.
pub(super) fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(place) = file.parent().filter(|place| !place.as_os_str().is_empty()) {
        std::fs::create_dir_all(place)?;
    }
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", uuid::Uuid::new_v4()));
    let written = private::create_file(Path::new(&name), private::new_file()).and_then(|mut made| {
        made.write_all(text.as_bytes())?;
        made.sync_all()
    });
    // Closed before it is renamed: nothing else opens it until then on Windows.
    let written = written.and_then(|()| until_free(|| std::fs::rename(&name, file)));
    if written.is_err() {
        let _ = std::fs::remove_file(&name);
    }
    written
}
