//! Where state is kept: one directory a user, closed to everyone else.
//!
//! Owns the choice of the directory and its mode. Never opens what lies in it.

use std::io;
use std::path::{Path, PathBuf};

/// The name of our directory inside the platform's place for state.
const DIRECTORY: &str = "breadboard-ls";

/// Whose conventions for state hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and the other Unixes: XDG.
    Unix,
    /// macOS: Application Support.
    MacOs,
    /// Windows: the local application data.
    Windows,
}

impl Platform {
    /// The platform this was built for.
    pub const fn current() -> Self {
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
pub fn default_state_dir(platform: Platform, variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
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
pub fn resolve_state_dir(given: Option<&str>) -> Option<PathBuf> {
    match given.filter(|given| !given.is_empty()) {
        Some(given) => std::path::absolute(given).ok(),
        None => default_state_dir(Platform::current(), &|name| std::env::var(name).ok()),
    }
}

/// Makes the directory where it is missing and closes it to other users. Refuses a directory that several users share
/// (`/tmp` and its kind), since closing that one would lock them out.
pub(super) fn prepare(state_dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state_dir)?;
        let mode = std::fs::metadata(state_dir)?.permissions().mode();
        if mode & 0o1000 != 0 {
            return Err(io::Error::other("it is shared with other users; choose a directory of its own"));
        }
        if mode & 0o077 != 0 {
            std::fs::set_permissions(state_dir, std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
    #[cfg(not(unix))]
    {
        std::fs::create_dir_all(state_dir)
    }
}
