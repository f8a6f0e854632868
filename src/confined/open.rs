//! Opening a regular file beneath a handle, and reading it in pieces.
//!
//! Never waits for a pipe, and never reads a file that is a window into the kernel instead of a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cap_std::fs::{Dir, Metadata, OpenOptions};

/// Bytes that are read before it is looked whether anybody still wants them.
const PIECE: usize = 64 * 1_024;

/// What happens to a name whose last part is a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// It is followed, within the handle's directory.
    Followed,
    /// It is not opened.
    Refused,
}

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// The system, or the handle, refused.
    Failed(io::Error),
    /// It is a directory.
    Directory,
    /// It is a link that is not followed, a pipe, a socket, a device, or a file of `/proc` or its like.
    NotRegular,
}

/// Opens a regular file.
///
/// # Errors
/// `NotRegular` for everything that could block, have an effect or show the state of a process.
pub(crate) fn open_regular(dir: &Dir, place: &Path, links: Links) -> Result<(File, Metadata), NotOpened> {
    let mut options = OpenOptions::new();
    options.read(true);
    set_flags(&mut options, links);
    #[cfg(not(unix))]
    if links == Links::Refused && dir.symlink_metadata(place).is_ok_and(|found| found.is_symlink()) {
        return Err(NotOpened::NotRegular);
    }
    let file = match dir.open_with(place, &options) {
        Ok(file) => file,
        Err(error) if is_refused_link(&error, links) => return Err(NotOpened::NotRegular),
        // A socket cannot be opened.
        Err(error) if dir.symlink_metadata(place).is_ok_and(|found| is_special(&found)) => {
            tracing::debug!(%error, "a special file was not opened");
            return Err(NotOpened::NotRegular);
        }
        // Where the system opens no directory as a file, it says that it may not be read.
        #[cfg(not(unix))]
        Err(_) if dir.metadata(place).is_ok_and(|found| found.is_dir()) => return Err(NotOpened::Directory),
        Err(error) => return Err(NotOpened::Failed(error)),
    };
    let metadata = file.metadata().map_err(NotOpened::Failed)?;
    if metadata.is_dir() {
        return Err(NotOpened::Directory);
    }
    let file = file.into_std();
    if !metadata.is_file() || is_pseudo(&file) {
        return Err(NotOpened::NotRegular);
    }
    Ok((file, metadata))
}

fn is_special(metadata: &Metadata) -> bool {
    !(metadata.is_file() || metadata.is_dir() || metadata.is_symlink())
}

/// Opening a pipe without a writer would wait for ever.
#[cfg(unix)]
fn set_flags(options: &mut OpenOptions, links: Links) {
    use cap_std::fs::OpenOptionsExt;
    use rustix::fs::OFlags;
    let flags = match links {
        Links::Followed => OFlags::NONBLOCK,
        Links::Refused => OFlags::NONBLOCK | OFlags::NOFOLLOW,
    };
    options.custom_flags(flags.bits().cast_signed());
}

/// Here it is looked whether a name is a link before it is opened.
#[cfg(not(unix))]
fn set_flags(_: &mut OpenOptions, _: Links) {}

#[cfg(unix)]
fn is_refused_link(error: &io::Error, links: Links) -> bool {
    links == Links::Refused && error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_refused_link(_: &io::Error, _: Links) -> bool {
    false
}

/// Whether an open file is none of a disk but of the kernel: `/proc`, `/sys` and their like.
#[cfg(target_os = "linux")]
pub(crate) fn is_pseudo(file: &File) -> bool {
    /// `f_type` of file systems whose files are made up when they are read (statfs(2)).
    const PSEUDO: [u32; 17] = [
        0x0000_9fa0, // proc
        0x6265_6572, // sysfs
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x7363_6673, // securityfs
        0x6265_6570, // configfs
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0x0000_1cd1, // devpts
        0xcafe_4a11, // bpf
        0x6165_676c, // pstore
        0xde5e_81e4, // efivarfs
        0xf97c_ff8c, // selinuxfs
        0x4341_5d53, // smackfs
        0x6e73_6673, // nsfs
        0x6573_5543, // fusectl
        0x4249_4e4d, // binfmt_misc
    ];
    // The type is a word of 32 bits, whose sign some architectures keep.
    rustix::fs::fstatfs(file).is_ok_and(|found| PSEUDO.contains(&(found.f_type as u32)))
}

/// Only Linux has such files under a path.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_pseudo(_: &File) -> bool {
    false
}

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum NotRead {
    /// Nobody wants it any more.
    Stopped,
    /// It has more than the limit.
    TooLarge,
    /// The system refused.
    Failed(io::Error),
}

/// All bytes of a file that has at most `limit`. `is_stopped` is asked before each piece of 64 KiB.
///
/// # Errors
/// `TooLarge` when there is a byte more than `limit`, also in a file that says it is smaller.
pub(crate) fn read_bounded(
    mut file: impl Read,
    limit: u64,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Vec<u8>, NotRead> {
    let mut bytes = Vec::new();
    loop {
        if is_stopped() {
            return Err(NotRead::Stopped);
        }
        let room = limit + 1 - bytes.len() as u64;
        let piece = room.min(PIECE as u64);
        let read = (&mut file).take(piece).read_to_end(&mut bytes).map_err(NotRead::Failed)?;
        if bytes.len() as u64 > limit {
            return Err(NotRead::TooLarge);
        }
        if (read as u64) < piece {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{NotRead, PIECE, read_bounded};

    /// Endless, and counts what was taken.
    struct Endless<'a>(&'a AtomicUsize);

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.fetch_add(buffer.len(), Ordering::Relaxed);
            buffer.fill(b'a');
            Ok(buffer.len())
        }
    }

    #[test]
    fn exactly_the_limit_is_read_and_one_byte_more_is_too_much() {
        let read = |length: usize, limit| read_bounded(&vec![7; length][..], limit, &|| false);
        for limit in [0, 1, PIECE as u64 - 1, PIECE as u64, 3 * PIECE as u64] {
            assert_eq!(read(limit as usize, limit).unwrap().len() as u64, limit);
            assert!(matches!(read(limit as usize + 1, limit), Err(NotRead::TooLarge)), "{limit}");
        }
    }

    #[test]
    fn a_reading_that_was_stopped_takes_no_further_piece() {
        let taken = AtomicUsize::new(0);
        let outcome = read_bounded(Endless(&taken), 1 << 30, &|| taken.load(Ordering::Relaxed) >= 3 * PIECE);
        assert!(matches!(outcome, Err(NotRead::Stopped)));
        assert_eq!(taken.load(Ordering::Relaxed), 3 * PIECE);
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_opened() {
        use super::{Links, NotOpened, open_regular};
        use cap_std::ambient_authority;
        use cap_std::fs::Dir;
        use std::path::Path;
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        std::fs::create_dir(at("dir")).unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("out")).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let opened = |dir: &Path, name: &str, links| {
            let dir = Dir::open_ambient_dir(dir, ambient_authority()).unwrap();
            match open_regular(&dir, Path::new(name), links) {
                Ok(_) => "opened",
                Err(NotOpened::Failed(_)) => "failed",
                Err(NotOpened::Directory) => "directory",
                Err(NotOpened::NotRegular) => "not regular",
            }
        };
        for (name, followed, refused) in [
            ("file", "opened", "opened"),
            ("dir", "directory", "directory"),
            ("link", "opened", "not regular"),
            ("out", "failed", "not regular"),
            ("pipe", "not regular", "not regular"),
            ("socket", "not regular", "not regular"),
            ("none", "failed", "failed"),
        ] {
            assert_eq!(opened(root.path(), name, Links::Followed), followed, "{name}");
            assert_eq!(opened(root.path(), name, Links::Refused), refused, "{name}");
        }
        if cfg!(target_os = "linux") {
            assert_eq!(opened(Path::new("/proc/self"), "status", Links::Followed), "not regular");
            assert_eq!(opened(Path::new("/sys/kernel"), "uevent_seqnum", Links::Followed), "not regular");
        }
    }
}
