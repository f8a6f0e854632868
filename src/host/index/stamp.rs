//! Which version of a file this is, as far as its directory tells.
//!
//! Never looks at a file's content.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::Metadata;

/// For so long after a change another one may leave the same times: file systems count in steps of up to two seconds.
const UNSETTLED: i64 = 2_000_000_000;

/// Size and times of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// When its content changed: nanoseconds since the Unix epoch.
    pub modified: i64,
    /// When anything of it changed, where the system tells: the same.
    pub changed: i64,
}

impl FileStamp {
    /// As the metadata says; `None` where they have no time.
    pub(crate) fn of(meta: &Metadata) -> Option<Self> {
        let modified = nanoseconds(meta.modified().ok()?.into_std());
        Some(Self { size: meta.len(), modified, changed: changed(meta).unwrap_or(modified) })
    }

    /// Whether a later change would have another stamp, if it was read at this time.
    pub(crate) fn is_settled(&self, read_at: SystemTime) -> bool {
        nanoseconds(read_at).saturating_sub(self.modified.max(self.changed)) > UNSETTLED
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(unix)]
fn changed(meta: &Metadata) -> Option<i64> {
    use cap_std::fs::MetadataExt;
    meta.ctime().checked_mul(1_000_000_000)?.checked_add(meta.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<i64> {
    None
}
