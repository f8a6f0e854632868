//! `FileJob::Write`: a whole new text for one file, on disk.
//!
//! Owns atomicity: the new bytes are on disk under another name before they take the file's place, and only while its bytes
//! still are those the text was made from. Between the last look and the taking of the place another program could still
//! write; no file system offers more without locks. Never writes outside a root, and never through a broken link.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, Permissions};
use serde_json::json;

use super::charset::guess;
use super::root::{Root, Roots, open_regular, parse, refusal, short};
use super::undo::ReplacedFile;
use crate::app::ports::Applied;
use crate::domain::approval::FileMode;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::text::{self, PLAIN, TextFormat};
use crate::domain::policy::path::WorkspacePath;
use crate::platform::until_free;

/// Largest file that is replaced: above it nobody reviews a change as text, and it is held in memory twice.
pub(super) const MAX_BYTES: u64 = 64 * 1_024 * 1_024;

/// What is there now.
pub(super) struct Current {
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    permissions: Permissions,
}

impl Current {
    /// Its permission bits, where there are such.
    pub(super) fn bits(&self) -> Option<u32> {
        #[cfg(unix)]
        {
            use cap_std::fs::PermissionsExt;
            Some(self.permissions.mode() & 0o7777)
        }
        #[cfg(not(unix))]
        None
    }
}

/// Writes `text` over the file whose bytes have `base_hash`, or as a new file without one.
pub(super) fn write(
    roots: &Roots,
    root: Option<&str>,
    path: &str,
    base_hash: Option<&str>,
    text: &str,
    announce: &dyn Fn(&ReplacedFile<'_>),
) -> Result<Applied, CodedError> {
    let path = parse(path)?;
    let root = roots.choose(root)?;
    let Some(name) = path.file_name() else {
        return Err(CodedError::new(ErrorCode::NotFound, "The folder itself is no file; name a file in it."));
    };
    let place = root.locate(&path)?;
    let current = match &place {
        Some(place) => Some(current(&*root.dir()?, place, &path)?),
        None => None,
    };
    expect(current.as_ref(), base_hash, &path)?;
    let format = match &current {
        Some(current) => format_of(&current.bytes, &path)?,
        None => PLAIN,
    };
    let bytes = in_format(text, format, &path)?;
    let (parent, name) = match &place {
        Some(place) => parent_of(root, place, &path)?,
        None => (new_parent(root, &path)?, PathBuf::from(name)),
    };
    let applied_hash = text::content_hash(&bytes);
    let refuse = |error: io::Error| refusal(&error, &path);
    let partial = Partial::create(&parent, &bytes, current.as_ref()).map_err(refuse)?;
    announce(&ReplacedFile {
        root: root.name(),
        path: path.as_str(),
        before: current.as_ref().map(|current| (current.bytes.as_slice(), current.bits())),
        after: Some(&bytes),
    });
    if let Some(place) = &place {
        let now = self::current(&*root.dir()?, place, &path)?;
        expect(Some(&now), base_hash, &path)?;
        partial.replace(&name).map_err(refuse)?;
    } else {
        partial.appear(&name).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => conflict(&path, "exists already", None),
            _ => refuse(error),
        })?;
    }
    Ok(Applied { applied_hash, saved: true })
}

/// A text in the bytes of the file whose it becomes.
pub(super) fn encoded(text: &str, now: &Current, path: &WorkspacePath) -> Result<Vec<u8>, CodedError> {
    in_format(text, format_of(&now.bytes, path)?, path)
}

fn in_format(text: &str, format: TextFormat, path: &WorkspacePath) -> Result<Vec<u8>, CodedError> {
    text::encode(text, format).map_err(|refused| {
        CodedError::new(
            ErrorCode::Unsupported,
            format!(
                "`{}` is written in {}, which has no place for a character of the new text; convert the file to UTF-8 \
                 first.",
                short(path.as_str()),
                refused.encoding
            ),
        )
    })
}

impl Current {
    /// Whether it may be run; not known where a system has no such thing.
    pub(super) fn mode(&self) -> Option<FileMode> {
        #[cfg(unix)]
        {
            use cap_std::fs::PermissionsExt;
            let runs = self.permissions.mode() & 0o111 != 0;
            Some(if runs { FileMode::Executable } else { FileMode::Plain })
        }
        #[cfg(not(unix))]
        None
    }

    /// Lets whoever may read the file run it, or nobody.
    #[cfg_attr(not(unix), allow(unused_variables, clippy::unnecessary_wraps))]
    pub(super) fn set_mode(&self, dir: &Dir, place: &Path, mode: FileMode) -> io::Result<()> {
        #[cfg(unix)]
        {
            use cap_std::fs::PermissionsExt;
            let now = self.permissions.mode();
            let then = match mode {
                FileMode::Executable => now | (now & 0o444) >> 2,
                FileMode::Plain => now & !0o111,
            };
            dir.set_permissions(place, Permissions::from_mode(then))?;
        }
        Ok(())
    }
}

/// What is at a place, up to `MAX_BYTES`.
pub(super) fn current(dir: &Dir, place: &Path, path: &WorkspacePath) -> Result<Current, CodedError> {
    let (file, metadata) = open_regular(dir, place, path)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| refusal(&error, path))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CodedError::new(
            ErrorCode::TooLarge,
            format!("`{}` is larger than 64 MiB; change it with a command instead.", short(path.as_str())),
        )
        .with_details(json!({ "size": metadata.len(), "maxBytes": MAX_BYTES })));
    }
    Ok(Current { bytes, permissions: metadata.permissions() })
}

pub(super) fn expect(
    current: Option<&Current>,
    base_hash: Option<&str>,
    path: &WorkspacePath,
) -> Result<(), CodedError> {
    match (current, base_hash) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(conflict(path, "is gone", None)),
        (Some(current), None) => Err(conflict(path, "exists already", Some(&current.bytes))),
        (Some(current), Some(base)) if text::content_hash(&current.bytes) != base => {
            Err(conflict(path, "changed meanwhile", Some(&current.bytes)))
        }
        (Some(current), Some(_)) if current.permissions.readonly() => {
            Err(conflict(path, "is read-only", Some(&current.bytes)))
        }
        (Some(_), Some(_)) => Ok(()),
    }
}

pub(super) fn conflict(path: &WorkspacePath, what: &str, bytes: Option<&[u8]>) -> CodedError {
    let refused = CodedError::new(
        ErrorCode::Conflict,
        format!("`{}` {what}, so nothing was written; look at it and decide again.", short(path.as_str())),
    );
    match bytes {
        Some(bytes) => refused.with_details(json!({ "currentHash": text::content_hash(bytes) })),
        None => refused,
    }
}

/// The format of a file, when the whole of it can be read and so written back.
fn format_of(bytes: &[u8], path: &WorkspacePath) -> Result<TextFormat, CodedError> {
    match text::decode(bytes, |bytes| guess([bytes])) {
        Ok(decoded) if !decoded.malformed => Ok(decoded.format),
        Ok(_) | Err(text::NotText) => Err(CodedError::new(
            ErrorCode::NotText,
            format!("`{}` is not text in any known encoding, so it was left alone.", short(path.as_str())),
        )
        .with_details(json!({ "size": bytes.len() }))),
    }
}

pub(super) fn parent_of(
    root: &Root,
    place: &Path,
    path: &WorkspacePath,
) -> Result<(Dir, PathBuf), CodedError> {
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = root.dir()?.open_dir(parent).map_err(|error| refusal(&error, path))?;
    Ok((dir, place.file_name().map(PathBuf::from).unwrap_or_default()))
}

/// The directory of a new file, created where it is missing.
pub(super) fn new_parent(root: &Root, path: &WorkspacePath) -> Result<Dir, CodedError> {
    let dir = root.dir()?;
    let refuse = |error: io::Error| refusal(&error, path);
    if dir.symlink_metadata(path.as_str()).is_ok() {
        return Err(CodedError::new(
            ErrorCode::NotFound,
            format!("`{}` is a link that leads nowhere; remove it first.", short(path.as_str())),
        ));
    }
    let parent = path.parent().unwrap_or_else(WorkspacePath::root);
    if !parent.is_root() && root.locate(&parent)?.is_none() {
        dir.create_dir_all(parent.as_str()).map_err(refuse)?;
    }
    dir.open_dir(root.find(&parent)?).map_err(refuse)
}

/// New bytes beside their place; removed when they do not get there.
pub(super) struct Partial<'a> {
    dir: &'a Dir,
    name: PathBuf,
    done: bool,
}

impl<'a> Partial<'a> {
    pub(super) fn create(dir: &'a Dir, bytes: &[u8], like: Option<&Current>) -> io::Result<Self> {
        let name = PathBuf::from(format!(".breadboard-{}.partial", uuid::Uuid::new_v4()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let file = dir.open_with(&name, &options)?;
        let partial = Self { dir, name, done: false };
        if let Some(current) = like {
            // Before the first byte: what was private stays so.
            file.set_permissions(current.permissions.clone())?;
        }
        let mut file: File = file.into_std();
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(partial)
    }

    /// Gives it permission bits, where there are such.
    pub(super) fn set_mode(&self, mode: Option<u32>) -> io::Result<()> {
        #[cfg(unix)]
        if let Some(mode) = mode {
            use cap_std::fs::PermissionsExt;
            self.dir.set_permissions(&self.name, Permissions::from_mode(mode))?;
        }
        #[cfg(not(unix))]
        let _ = mode;
        Ok(())
    }

    /// Takes the place of a file.
    pub(super) fn replace(mut self, name: &Path) -> io::Result<()> {
        until_free(|| self.dir.rename(&self.name, self.dir, name))?;
        self.done = true;
        settle(self.dir)
    }

    /// Takes a place where nothing is: a link, unlike a rename, fails when something came meanwhile.
    pub(super) fn appear(mut self, name: &Path) -> io::Result<()> {
        match self.dir.hard_link(&self.name, self.dir, name) {
            Ok(()) => {
                until_free(|| self.dir.remove_file(&self.name))?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // A file system without hard links.
            Err(_) if self.dir.symlink_metadata(name).is_err() => {
                until_free(|| self.dir.rename(&self.name, self.dir, name))?;
            }
            Err(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        self.done = true;
        settle(self.dir)
    }
}

/// A new name itself survives a power cut only when the directory is on disk.
pub(super) fn settle(dir: &Dir) -> io::Result<()> {
    #[cfg(unix)]
    {
        let dir = dir.try_clone()?.into_std_file();
        // Some file systems cannot sync a directory; the bytes are on disk, so this is no failure.
        let _ = rustix::fs::fsync(&dir);
    }
    #[cfg(not(unix))]
    let _ = dir;
    Ok(())
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        if !self.done {
            // It may be gone already; the failure before is the one to tell.
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::write;
    use crate::app::ports::Applied;
    use crate::domain::coded_error::{CodedError, ErrorCode};
    use crate::domain::edits::text::content_hash;
    use crate::workspace::root::Roots;
    use crate::workspace::root::tests::folder;

    fn written(root: &Path, path: &str, base: Option<&[u8]>, text: &str) -> Result<Applied, CodedError> {
        let base = base.map(content_hash);
        write(&Roots::open(&[folder("ws", root)]), None, path, base.as_deref(), text, &|_| {})
    }

    fn code(outcome: Result<Applied, CodedError>) -> Option<ErrorCode> {
        outcome.err().map(|error| error.code)
    }

    fn applied(bytes: &[u8]) -> Result<Applied, CodedError> {
        Ok(Applied { applied_hash: content_hash(bytes), saved: true })
    }

    fn names(root: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_in_its_own_encoding_and_mark() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a");
        for (before, text, after) in [
            (&b"old\r\n"[..], "new\r\n", &b"new\r\n"[..]),
            (b"\xef\xbb\xbfold", "n\u{e9}w", b"\xef\xbb\xbfn\xc3\xa9w"),
            (b"\xff\xfeo\0", "n", b"\xff\xfen\0"),
            (b"caf\xe9 cr\xe8me \xe0 la carte", "\u{e9}", b"\xe9"),
            (b"", "x", b"x"),
        ] {
            std::fs::write(&file, before).unwrap();
            assert_eq!(written(root.path(), "a", Some(before), text), applied(after));
            assert_eq!(std::fs::read(&file).unwrap(), after);
        }
        assert_eq!(names(root.path()), ["a"], "nothing else is left behind");
    }

    #[test]
    fn what_changed_meanwhile_is_a_conflict_and_stays() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), "theirs").unwrap();
        assert_eq!(code(written(root.path(), "a", Some(b"base"), "mine")), Some(ErrorCode::Conflict));
        assert_eq!(code(written(root.path(), "a", None, "mine")), Some(ErrorCode::Conflict));
        assert_eq!(code(written(root.path(), "gone", Some(b"base"), "mine")), Some(ErrorCode::Conflict));
        assert_eq!(std::fs::read(root.path().join("a")).unwrap(), b"theirs");
        assert_eq!(names(root.path()), ["a"]);
    }

    #[test]
    fn a_new_file_comes_with_its_directories() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(written(root.path(), "x/y/new.rs", None, "fn\n"), applied(b"fn\n"));
        assert_eq!(std::fs::read(root.path().join("x/y/new.rs")).unwrap(), b"fn\n");
        assert_eq!(names(&root.path().join("x/y")), ["new.rs"]);
    }

    #[test]
    fn what_cannot_be_written_back_as_it_was_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let latin = b"caf\xe9 cr\xe8me \xe0 la carte";
        std::fs::write(root.path().join("latin"), latin).unwrap();
        std::fs::write(root.path().join("bin"), b"\0\x01").unwrap();
        std::fs::create_dir(root.path().join("dir")).unwrap();
        assert_eq!(code(written(root.path(), "latin", Some(latin), "日本")), Some(ErrorCode::Unsupported));
        assert_eq!(code(written(root.path(), "bin", Some(b"\0\x01"), "x")), Some(ErrorCode::NotText));
        assert_eq!(code(written(root.path(), "dir", None, "x")), Some(ErrorCode::NotFound));
        assert_eq!(code(written(root.path(), "", None, "x")), Some(ErrorCode::NotFound));
        assert_eq!(code(written(root.path(), "latin/x", None, "x")), Some(ErrorCode::NotFound));
        assert_eq!(std::fs::read(root.path().join("latin")).unwrap(), latin);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_links_are_followed_inside_only() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let parent = tempfile::tempdir().unwrap();
        let (root, outside) = (parent.path().join("ws"), parent.path().join("out"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "outside").unwrap();
        std::fs::write(root.join("tool.sh"), "old").unwrap();
        std::fs::set_permissions(root.join("tool.sh"), PermissionsExt::from_mode(0o750)).unwrap();
        symlink("tool.sh", root.join("link")).unwrap();
        symlink("../out/file", root.join("escape")).unwrap();
        symlink("../out", root.join("escape-dir")).unwrap();
        symlink("../out/new", root.join("broken-out")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();

        assert_eq!(written(&root, "link", Some(b"old"), "new"), applied(b"new"));
        assert!(root.join("link").symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(root.join("tool.sh")).unwrap(), b"new");
        let mode = std::fs::metadata(root.join("tool.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o750);

        for (path, base) in [
            ("escape", Some(&b"outside"[..])),
            ("escape-dir/file", Some(b"outside")),
            ("escape-dir/new", None),
            ("escape-dir/sub/new", None),
            ("broken-out", None),
            ("../out/new", None),
        ] {
            let outcome = code(written(&root, path, base, "evil"));
            assert_eq!(outcome, Some(ErrorCode::PathOutsideWorkspace), "{path}");
        }
        assert_eq!(code(written(&root, "broken", None, "x")), Some(ErrorCode::NotFound));
        assert_eq!(names(&outside), ["file"]);
        assert_eq!(std::fs::read(outside.join("file")).unwrap(), b"outside");
    }

    #[cfg(unix)]
    #[test]
    fn a_read_only_file_is_a_conflict() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), "old").unwrap();
        std::fs::set_permissions(root.path().join("a"), PermissionsExt::from_mode(0o444)).unwrap();
        assert_eq!(code(written(root.path(), "a", Some(b"old"), "new")), Some(ErrorCode::Conflict));
    }
}
