//! Where state is kept: one directory a user, closed to everyone else.
//!
//! Owns the choice of the directory and its mode. Never opens what lies in it.

use std::io;
use std::path::{Path, PathBuf};

use crate::platform::private;

/// The name of our directory inside the platform's place for state.
const DIRECTORY: &str = "breadboard-ls";

/// Whose conventions for state hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Platform {
    /// Linux and the other Unixes: XDG.
    Unix,
    /// macOS: Application Support.
    MacOs,
    /// Windows: the local application data.
    Windows,
}

impl Platform {
    /// The platform this was built for.
    pub(super) const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Unix
        }
    }
}

/// The default state directory, from the environment as `variable` gives it. `None` when the environment does not say
/// where the user's home is.
pub(super) fn default_state_dir(
    platform: Platform,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = match platform {
        // The XDG specification has relative paths ignored.
        Platform::Unix => set("XDG_STATE_HOME")
            .filter(|path| path.has_root())
            .or_else(|| set("HOME").map(|home| home.join(".local").join("state"))),
        Platform::MacOs => set("HOME").map(|home| home.join("Library").join("Application Support")),
        Platform::Windows => set("LOCALAPPDATA")
            .or_else(|| set("USERPROFILE").map(|profile| profile.join("AppData").join("Local"))),
    };
    base.map(|base| base.join(DIRECTORY))
}

/// The state directory that holds for this process: the given one, made absolute, or the default. `None` when neither is
/// known.
pub(crate) fn resolve_state_dir(given: Option<&str>) -> Option<PathBuf> {
    match given.filter(|given| !given.is_empty()) {
        Some(given) => std::path::absolute(given).ok(),
        None => default_state_dir(Platform::current(), &|name| std::env::var(name).ok()),
    }
}

/// Makes the directory where it is missing, for this user alone. The mode of one that is there is never changed: whoever
/// names a directory may use it for more than this. Gives what the user should know of it.
///
/// # Errors
/// The directory cannot be made, belongs to another user, or lets every user write: then anybody could replace what lies in
/// it. (A group that may write is common where each user has one of its own, so that is only said.)
pub(super) fn prepare(state_dir: &Path) -> io::Result<Option<String>> {
    private::create_folder(state_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(state_dir)?;
        if !found.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        if found.mode() & 0o1002 != 0 {
            return Err(io::Error::other("it is shared with other users; choose a directory of its own"));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("it belongs to another user; choose a directory of your own"));
        }
        let shown = state_dir.display();
        Ok((found.mode() & 0o020 != 0).then(|| {
            format!(
                "Others of your group may write in the state directory {shown}, and so replace your sessions; close it with `chmod 700 {shown}`."
            )
        }))
    }
    #[cfg(not(unix))]
    {
        if !state_dir.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let shown = state_dir.display();
        Ok(private::is_changed_by_others(state_dir)?.then(|| {
            format!(
                "Others may write in the state directory {shown}, and so replace your sessions; close it with `icacls \"{shown}\" /inheritance:r /grant:r %USERNAME%:(OI)(CI)F`."
            )
        }))
    }
}
