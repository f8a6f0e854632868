//! What a system makes of the name of a file, beyond what it says: devices, streams, names that are cut or shortened.
//!
//! Owns the rules of each system, as values, so that those of Windows are tested on every one. Never looks at a disk.

use std::fmt;

/// Why a text is no path inside a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathRefused {
    /// It begins at the root of the file system, at a drive or at a share.
    Absolute,
    /// It has a part `..`, or one that some systems read as such.
    Parent,
    /// It is a URI.
    Uri,
    /// It has a character that no path can have.
    BadCharacter,
    /// It is longer than `MAX_BYTES`.
    TooLong,
    /// On Windows: it names a device, as `NUL` and `com1.txt` do.
    Device,
    /// On Windows: a part ends with dots or spaces, which the system drops.
    DroppedEnd,
    /// On Windows: it names a stream of a file, or a drive in the middle.
    Stream,
    /// On Windows: a part is a short name, such as `GIT~1`, of a file with another one.
    ShortName,
}

impl PathRefused {
    /// The rest of a sentence that begins with the path.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Absolute => "is absolute",
            Self::Parent => "has a part that leads upwards",
            Self::Uri => "is a URI",
            Self::BadCharacter => "has a character that paths cannot have",
            Self::TooLong => "is longer than 4,096 bytes",
            Self::Device => "names a device of Windows",
            Self::DroppedEnd => "has a part that ends with a dot or a space, which Windows drops",
            Self::Stream => "has a colon, which on Windows names a stream of a file",
            Self::ShortName => "has a short name with `~`, which on Windows means another file",
        }
    }
}

impl fmt::Display for PathRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRules {
    /// Linux and macOS: a name is what it says.
    Posix,
    /// Windows (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
    Windows,
}

/// Names that are devices in every folder, with any ending behind them. `COM` and `LPT` take a digit.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
/// The digits behind `COM` and `LPT`; the raised ones count as well.
const DIGITS: [char; 13] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '¹', '²', '³'];

impl PathRules {
    /// Those of the system that this program runs on.
    pub(crate) const fn here() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Posix }
    }

    /// Whether a part of a path means another file, or no file at all.
    pub(super) fn refuses(self, part: &str) -> Option<PathRefused> {
        match self {
            Self::Posix => None,
            Self::Windows => refused_by_windows(part),
        }
    }
}

/// Whether a name that the system has resolved can be said to it again: it drops no end of it and finds no device.
pub(super) fn means_itself_on_windows(name: &str) -> bool {
    !name.ends_with(['.', ' ']) && !is_device(name)
}

fn refused_by_windows(part: &str) -> Option<PathRefused> {
    if part.contains(':') {
        return Some(PathRefused::Stream);
    }
    if part.contains(['<', '>', '"', '|', '?', '*', '\\']) || part.contains(|c: char| c < ' ') {
        return Some(PathRefused::BadCharacter);
    }
    // `.` is taken out before; what is left of dots leads upwards and is refused before.
    if part.ends_with(['.', ' ']) {
        return Some(PathRefused::DroppedEnd);
    }
    if is_device(part) {
        return Some(PathRefused::Device);
    }
    is_short_name(part).then_some(PathRefused::ShortName)
}

/// `nul`, `nul.txt` and `nul .tar.gz` are all the same device.
fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end_matches(' ').to_lowercase();
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    let is_port = port.is_some_and(|rest| {
        let mut letters = rest.chars();
        letters.next().is_some_and(|digit| DIGITS.contains(&digit)) && letters.next().is_none()
    });
    is_port || DEVICES.contains(&stem.as_str())
}

/// A second name that the system gives to files with longer ones: at most eight letters with `~` and a number, and an ending of at
/// most three. `GIT~1` is `.git`, whatever a list of names says of it.
fn is_short_name(part: &str) -> bool {
    let (stem, ending) = part.split_once('.').unwrap_or((part, ""));
    let fits = stem.chars().count() <= 8 && ending.chars().count() <= 3 && !ending.contains('.');
    let numbered = stem.rsplit_once('~').is_some_and(|(name, number)| {
        !name.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    });
    fits && numbered
}
