//! A file that changed on the disk, as an editor tells it or as it was changed from here.
//!
//! Owns the shape, and what two changes of one file come to. Never looks at a disk.

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedFile {
    /// Its address, `file:` where it lies on this machine.
    pub uri: String,
    /// How it changed.
    pub kind: WatchedFileChange,
}

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchedFileChange {
    /// It is new.
    Created,
    /// Its text changed.
    Modified,
    /// It is gone.
    Deleted,
}

impl WatchedFileChange {
    /// The kind of an LSP `FileChangeType`.
    pub fn of_number(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::Created),
            2 => Some(Self::Modified),
            3 => Some(Self::Deleted),
            _ => None,
        }
    }

    /// The word of seed 002 (R002-53).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }

    /// What both come to, for somebody who heard of neither.
    pub fn and(self, later: Self) -> Self {
        match (self, later) {
            (Self::Created, Self::Modified) => Self::Created,
            (Self::Deleted, Self::Created) => Self::Modified,
            (_, later) => later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WatchedFileChange::{Created, Deleted, Modified};

    #[test]
    fn two_changes_come_to_one() {
        assert_eq!(Created.and(Modified), Created);
        assert_eq!(Deleted.and(Created), Modified);
        // Somebody may have read it in between.
        assert_eq!(Created.and(Deleted), Deleted);
        assert_eq!(Modified.and(Deleted), Deleted);
    }
}
