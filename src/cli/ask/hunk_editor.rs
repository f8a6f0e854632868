//! The person's own editor, on one change.
//!
//! Owns which program that is: what the person's environment names, and never what a repository does. Its file is the
//! person's alone, and gone afterwards.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::interrupt;
use super::keyboard::Keyboard;

/// A folder of our own, until it is dropped.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn new() -> std::io::Result<Self> {
        let place = std::env::temp_dir().join(format!("breadboard-ls-{}", uuid::Uuid::new_v4()));
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&place)?;
        // The user's own directory for temporary files is theirs alone there.
        #[cfg(not(unix))]
        std::fs::create_dir(&place)?;
        Ok(Self(place))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // A folder that cannot be taken away is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the person made of the text. An `Err` is one sentence.
pub(super) fn edit(text: &str, keyboard: &Keyboard) -> Result<String, String> {
    let no_file = |error: std::io::Error| format!("The change could not be written for an editor ({error}).");
    let folder = OwnFolder::new().map_err(no_file)?;
    let file = folder.0.join("change.diff");
    std::fs::write(&file, text).map_err(no_file)?;
    let editor =
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var_os(name).filter(|word| !word.is_empty()));
    let editor = editor.unwrap_or_else(|| OsString::from(if cfg!(windows) { "notepad" } else { "vi" }));
    let named = editor.to_string_lossy().into_owned();
    let mut command = command(&editor, &file);
    command.stdin(keyboard.handle().unwrap_or_else(Stdio::inherit));
    // Ctrl-C is the editor's while it has the terminal.
    let ended = interrupt::leaving_to_others(|| command.status());
    match ended {
        Ok(status) if status.success() => {}
        Ok(_) => return Err(format!("`{named}` failed, so nothing was changed.")),
        Err(error) => {
            return Err(format!(
                "`{named}` could not be started ({error}); set EDITOR to a program that you have."
            ));
        }
    }
    let bytes =
        std::fs::read(&file).map_err(|error| format!("What was edited could not be read ({error})."))?;
    String::from_utf8(bytes)
        .map_err(|_| "What was edited is no UTF-8 text, so nothing was changed.".to_owned())
}

/// The editor may be named with arguments, as for git.
#[cfg(unix)]
fn command(editor: &std::ffi::OsStr, file: &Path) -> Command {
    let mut script = editor.to_owned();
    script.push(" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg("sh").arg(file);
    command
}

#[cfg(not(unix))]
fn command(editor: &std::ffi::OsStr, file: &Path) -> Command {
    let mut command = Command::new(editor);
    command.arg(file);
    command
}
