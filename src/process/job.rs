//! What to start, and how it ended.
//!
//! Owns the shapes that callers fill in and read, and why nothing was started. Never starts anything.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::Directory;
use crate::domain::policy::confinement::Confinement;
use crate::domain::policy::environment::may_inherit;

/// One end of a pipe or a file, to be a stream of a program.
#[cfg(unix)]
pub(crate) type Stream = std::os::fd::OwnedFd;
/// One end of a pipe or a file, to be a stream of a program.
#[cfg(windows)]
pub(crate) type Stream = std::os::windows::io::OwnedHandle;

/// Stdin, stdout and stderr.
pub(crate) type Streams = [Stream; 3];

/// What to start, and where.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// A path, or a name that is looked up in the program's `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it inherits, without those that are ours or secret (`domain::policy::environment`).
    pub inherited: Vec<(OsString, OsString)>,
    /// Variables beside these, and over them.
    pub env: Vec<(OsString, OsString)>,
    /// Directory to start in.
    pub cwd: Directory,
    /// The executable of `breadboard-ls`: `this_program()`, in tests the built binary.
    #[cfg_attr(windows, allow(dead_code))]
    pub guard: PathBuf,
    /// What holds it together beside its guardians; on Windows the job object is enough.
    #[cfg_attr(windows, allow(dead_code))]
    pub hold: Hold,
    /// The files that it may see and change; `None`: all of the user's.
    pub confinement: Option<Confinement>,
}

/// Whether a program that was to be confined is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Confined {
    /// It was not to be.
    #[default]
    NotWanted,
    /// It is; only Linux can.
    #[cfg_attr(windows, allow(dead_code))]
    Yes,
    /// This system cannot.
    Impossible,
}

/// What holds a tree of processes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Its guardians and the overseer: for programs that we choose ourselves and that run for milliseconds.
    Guardians,
    /// A cgroup besides, where one can be had. Joining one takes the kernel some ten milliseconds.
    Cgroup,
}

impl Job {
    /// The whole environment of the program; the later of two values counts.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.inherited
            .iter()
            .filter(|(name, _)| may_inherit(&name.to_string_lossy()))
            .chain(&self.env)
            .map(|(name, value)| (name, value))
    }
}

/// How a program ended. Both are `None` when its guardians were killed with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Why nothing was started.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// There is no such directory.
    NoDirectory(PathBuf),
    /// Another directory lies at this path now.
    DirectoryReplaced(PathBuf),
    /// The system refused.
    Failed(io::Error),
}

impl NotStarted {
    /// One sentence for a person.
    pub(crate) fn sentence(&self, program: &str) -> String {
        match self {
            Self::NoDirectory(path) => format!(
                "The folder `{}` does not exist, so nothing was started in it; choose another.",
                path.display()
            ),
            Self::DirectoryReplaced(path) => format!(
                "The folder `{}` was replaced since it was opened, so nothing was started in it; open the folder again.",
                path.display()
            ),
            Self::Failed(error) => match error.kind() {
                io::ErrorKind::NotFound => format!(
                    "The program `{program}` was not found; install it, or correct the command in the settings."
                ),
                io::ErrorKind::PermissionDenied => format!(
                    "The program `{program}` may not be run; make it executable, or correct the command in the settings."
                ),
                // Our own words, where the system said nothing.
                io::ErrorKind::Other if error.raw_os_error().is_none() => format!(
                    "The program `{program}` could not be started ({error}); try again, or correct the command in the settings."
                ),
                kind => format!(
                    "The program `{program}` could not be started ({kind}); try again, or correct the command in the settings."
                ),
            },
        }
    }
}
