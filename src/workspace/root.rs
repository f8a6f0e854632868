//! The roots: one directory handle a folder, and how a path is found below it.
//!
//! Owns confinement: everything is opened relative to a handle that refuses to be left, by the kernel where it can. Links
//! inside a root are followed, also absolute ones that lead back into it; everything else is refused.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

use crate::app::inbox::Folder;
use crate::confined::{self, Links, NotOpened};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::path::WorkspacePath;
use crate::domain::policy::uri::push_encoded;
use crate::platform::{is_held, real_path, strip_base};

/// All roots, in order.
#[derive(Debug, Default)]
pub(super) struct Roots(Vec<Root>);

/// One root.
#[derive(Debug)]
pub(super) struct Root {
    name: String,
    uri: String,
    path: Option<PathBuf>,
    handle: Mutex<Option<OpenedEntry>>,
}

/// The directory of a root.
#[derive(Debug)]
struct OpenedEntry {
    dir: Arc<Dir>,
    /// Where its path led when it was opened, without links.
    real: Option<PathBuf>,
}

impl Roots {
    /// Opens the folders. One that cannot be opened now is tried again when it is asked for.
    pub(super) fn open(folders: &[Folder]) -> Self {
        let root = |folder: &Folder| {
            let root = Root {
                name: folder.name.clone(),
                uri: folder.uri.clone(),
                path: folder.path.clone(),
                handle: Mutex::new(None),
            };
            // A folder that is missing now says so when it is asked for.
            let _ = root.dir();
            root
        };
        Self(folders.iter().map(root).collect())
    }

    /// The root that is this directory, whatever links lead to it.
    pub(super) fn at(&self, directory: &Path) -> Option<&Root> {
        let real = real_path(directory).ok();
        self.0.iter().find(|root| {
            root.path
                .as_deref()
                .is_some_and(|path| path == directory || (real.is_some() && real_path(path).ok() == real))
        })
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Root> {
        self.0.iter()
    }

    /// Whether a name is needed to tell the roots apart.
    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// The root of this name; without a name the first.
    pub(super) fn choose(&self, name: Option<&str>) -> Result<&Root, CodedError> {
        match name {
            Some(name) => self.0.iter().find(|root| root.name == name).ok_or_else(|| {
                CodedError::new(
                    ErrorCode::NotFound,
                    format!("No folder `{}` is open; name one of the workspace's folders.", short(name)),
                )
            }),
            None => self.0.first().ok_or_else(|| {
                CodedError::new(ErrorCode::NotFound, "No folder is open; open one in the editor first.")
            }),
        }
    }
}

impl Root {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// URI of a path below it, in the editor's spelling of the folder.
    pub(super) fn uri_of(&self, path: &WorkspacePath) -> String {
        let mut uri = self.uri.trim_end_matches('/').to_owned();
        for part in path.components() {
            uri.push('/');
            push_encoded(&mut uri, part);
        }
        uri
    }

    /// Where it is.
    pub(super) fn path(&self) -> Result<&Path, CodedError> {
        self.path.as_deref().ok_or_else(|| {
            CodedError::new(
                ErrorCode::Unsupported,
                format!("The folder `{}` is not on this machine; open a local folder.", short(&self.name)),
            )
        })
    }

    /// Its handle: the directory that was opened first, whatever its path means later. Only when that directory was
    /// deleted is the path opened anew, and only if no link leads it elsewhere meanwhile.
    pub(super) fn dir(&self) -> Result<Arc<Dir>, CodedError> {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = handle.as_ref().filter(|opened| is_alive(&opened.dir)) {
            return Ok(Arc::clone(&opened.dir));
        }
        let path = self.path()?;
        let real = real_path(path).ok();
        if handle
            .as_ref()
            .is_some_and(|before| before.real.is_some() && real.is_some() && before.real != real)
        {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                format!(
                    "The folder `{}` was deleted, and its path leads to another place now; open it again.",
                    short(&self.name)
                ),
            ));
        }
        // What was found without links is opened, so that a link that comes in between is not followed.
        let found = real.as_deref().unwrap_or(path);
        let dir = Dir::open_ambient_dir(found, ambient_authority()).map_err(|error| {
            CodedError::new(
                ErrorCode::NotFound,
                format!(
                    "The folder `{}` cannot be opened ({}); open it again.",
                    short(&self.name),
                    cause(&error)
                ),
            )
        })?;
        Ok(Arc::clone(&handle.insert(OpenedEntry { dir: Arc::new(dir), real }).dir))
    }

    /// Where a path really is: relative to the root, without links. `Ok(None)`: there is nothing.
    pub(super) fn locate(&self, path: &WorkspacePath) -> Result<Option<PathBuf>, CodedError> {
        let dir = self.dir()?;
        match self.place_of(&dir, Path::new(path.for_handle())) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refusal(&error, path)),
        }
    }

    fn place_of(&self, dir: &Dir, path: &Path) -> io::Result<PathBuf> {
        let found = match dir.canonicalize(path) {
            Err(error) if is_escape(&error) => self.absolute_link(path).ok_or(error)?,
            found => found?,
        };
        Ok(if found.as_os_str().is_empty() { PathBuf::from(".") } else { found })
    }

    /// The same, with a refusal when there is nothing.
    pub(super) fn find(&self, path: &WorkspacePath) -> Result<PathBuf, CodedError> {
        self.locate(path)?.ok_or_else(|| refusal(&io::ErrorKind::NotFound.into(), path))
    }

    /// A link may lead back into the root by an absolute target, which no handle follows. The place it names is opened
    /// through the handle again, so a link that changes meanwhile leads nowhere.
    fn absolute_link(&self, path: &Path) -> Option<PathBuf> {
        let root = real_path(self.path.as_ref()?).ok()?;
        let target = real_path(&root.join(path)).ok()?;
        strip_base(&target, &root)
    }
}

/// A deleted directory has no name left.
#[cfg(unix)]
fn is_alive(dir: &Dir) -> bool {
    use cap_std::fs::MetadataExt;
    dir.dir_metadata().is_ok_and(|metadata| metadata.nlink() > 0)
}

#[cfg(not(unix))]
fn is_alive(_: &Dir) -> bool {
    true
}

/// Opens a regular file at a place that `locate` gave. Pipes, sockets, devices and files of the kernel are not read.
pub(super) fn open_regular(
    dir: &Dir,
    place: &Path,
    path: &WorkspacePath,
) -> Result<(File, Metadata), CodedError> {
    // Looked at before it is opened, because opening a device can already do something.
    let found = dir.metadata(place).map_err(|error| refusal(&error, path))?;
    if !found.is_dir() && !found.is_file() {
        return Err(not_regular(NotOpened::NotRegular, path));
    }
    confined::open_regular(dir, place, Links::Followed).map_err(|why| not_regular(why, path))
}

fn not_regular(why: NotOpened, path: &WorkspacePath) -> CodedError {
    let message = match why {
        NotOpened::Failed(error) => return refusal(&error, path),
        NotOpened::Directory => format!("`{}` is a directory; name a file in it.", short(path.as_str())),
        NotOpened::NotRegular => format!(
            "`{}` is a pipe, a socket, a device or a file of the system's own; name a regular file.",
            short(path.as_str())
        ),
    };
    CodedError::new(ErrorCode::NotFound, message)
}

/// Reads a path of a client.
pub(super) fn parse(path: &str) -> Result<WorkspacePath, CodedError> {
    WorkspacePath::parse(path).map_err(|refused| {
        CodedError::new(
            ErrorCode::PathOutsideWorkspace,
            format!("The path `{}` {refused}; give one relative to the workspace folder.", short(path)),
        )
    })
}

/// Whether the handle refused to be left. The system's own refusals carry its number, this one does not.
pub(super) fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

impl Roots {
    /// The root that holds an absolute path, and the path in it; of roots within each other the inner one. The path counts under
    /// the name of the folder and under the one it really has. Nothing is looked at but the folders themselves.
    pub(super) fn holding(&self, path: &Path) -> Result<(&Root, WorkspacePath), CodedError> {
        let inside = |root: &Root| {
            let named = root.path.clone()?;
            let real = real_path(&named).ok();
            [Some(named), real]
                .into_iter()
                .flatten()
                .find_map(|base| Some((base.components().count(), strip_base(path, &base)?)))
        };
        let held = self.0.iter().filter_map(|root| inside(root).map(|(depth, rest)| (depth, root, rest)));
        let Some((_, root, rest)) = held.max_by_key(|(depth, ..)| *depth) else {
            return Err(CodedError::new(
                ErrorCode::PathOutsideWorkspace,
                format!(
                    "`{}` is not in a folder of the workspace; give the absolute path of a file in one.",
                    short(&path.to_string_lossy())
                ),
            ));
        };
        let rest = if cfg!(windows) {
            rest.to_string_lossy().replace('\\', "/")
        } else {
            rest.to_string_lossy().into_owned()
        };
        Ok((root, parse(&rest)?))
    }
}

/// A file that was named by an absolute path through a folder of the workspace, by whatever links it came there.
pub(super) struct Named<'a> {
    root: &'a Root,
    /// Relative to the root; links and `..` may be in it.
    rest: PathBuf,
}

impl Roots {
    /// The folder through which an absolute path goes; `None` when it goes through none.
    pub(super) fn crossed(&self, path: &Path) -> Option<Named<'_>> {
        let bases: Vec<(&Root, PathBuf)> =
            self.0.iter().filter_map(|root| Some((root, real_path(root.path.as_deref()?).ok()?))).collect();
        let mut prefixes: Vec<&Path> = path.ancestors().collect();
        prefixes.reverse();
        prefixes.into_iter().find_map(|prefix| {
            let real = real_path(prefix).ok()?;
            let (root, inner) = bases
                .iter()
                .filter_map(|(root, base)| Some((*root, strip_base(&real, base)?)))
                .min_by_key(|(_, inner)| inner.components().count())?;
            Some(Named { root, rest: inner.join(path.strip_prefix(prefix).ok()?) })
        })
    }
}

impl Named<'_> {
    /// Opens it beneath the folder's handle.
    ///
    /// # Errors
    /// `NotOpened::Failed` with an error for which `is_escape` holds when it leads out of the folder.
    pub(super) fn open(&self) -> Result<(File, Metadata), NotOpened> {
        let dir = self.root.dir().map_err(|_| NotOpened::Failed(io::ErrorKind::NotFound.into()))?;
        let place = self.root.place_of(&dir, &self.rest).map_err(NotOpened::Failed)?;
        confined::open_regular(&dir, &place, Links::Followed)
    }
}

/// What a failed look at a path means for a client.
pub(super) fn refusal(error: &io::Error, path: &WorkspacePath) -> CodedError {
    let shown = if path.is_root() { "." } else { path.as_str() };
    let shown = short(shown);
    if is_escape(error) {
        return CodedError::new(
            ErrorCode::PathOutsideWorkspace,
            format!("`{shown}` is a link that leads out of the workspace; name a path inside it."),
        );
    }
    if is_held(error) {
        return CodedError::new(
            ErrorCode::Conflict,
            format!(
                "`{shown}` is open in another program, which lets nobody change it; close it there and try again."
            ),
        );
    }
    match error.kind() {
        io::ErrorKind::NotFound => CodedError::new(
            ErrorCode::NotFound,
            format!("There is no `{shown}` in the workspace; list the directory and choose one."),
        ),
        io::ErrorKind::NotADirectory => CodedError::new(
            ErrorCode::NotFound,
            format!("`{shown}` is not a directory, or lies below a file; name another path."),
        ),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => CodedError::new(
            ErrorCode::Overloaded,
            format!("The disk has no room for `{shown}`; free some and try again."),
        ),
        _ => CodedError::new(
            ErrorCode::NotFound,
            format!("`{shown}` cannot be reached ({}); check it and its permissions.", cause(error)),
        ),
    }
}

/// The system's word for a failure, without its number; our own words where the system said nothing.
pub(super) fn cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::Other if error.raw_os_error().is_none() => error.to_string(),
        kind => kind.to_string(),
    }
}

/// A client's text cut to what fits in a sentence.
pub(super) fn short(text: &str) -> String {
    let mut cut: String = text.chars().take(120).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::{Path, PathBuf};

    use super::{Roots, parse};
    use crate::app::inbox::Folder;
    use crate::domain::coded_error::ErrorCode;

    /// A folder of this name at this place.
    pub(crate) fn folder(name: &str, path: &Path) -> Folder {
        Folder {
            uri: url::Url::from_file_path(path).map_or_else(|()| path.display().to_string(), String::from),
            name: name.to_owned(),
            path: Some(path.to_owned()),
        }
    }

    #[test]
    fn r000_36_an_unknown_root_is_not_found_and_none_means_the_first() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let roots = Roots::open(&[folder("a", first.path()), folder("b", second.path())]);
        assert_eq!(roots.choose(None).unwrap().path(), Ok(first.path()));
        assert_eq!(roots.choose(Some("b")).unwrap().path(), Ok(second.path()));
        assert_eq!(roots.choose(Some("c")).unwrap_err().code, ErrorCode::NotFound);
        assert_eq!(Roots::default().choose(None).unwrap_err().code, ErrorCode::NotFound);
    }

    /// Wine makes no junctions; the workflow runs this on Windows itself.
    #[cfg(windows)]
    #[test]
    #[ignore = "makes junctions by cmd.exe, which Wine does not do"]
    fn r000_36_a_junction_that_leads_out_is_refused_and_one_that_stays_inside_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let (workspace, outside) = (place.path().join("ws"), place.path().join("outside"));
        for (folder, name) in [(workspace.join("real"), "own"), (outside.clone(), "secret")] {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), "x").unwrap();
        }
        for (link, target) in [("out", outside), ("in", workspace.join("real"))] {
            let made = std::process::Command::new("cmd")
                .args(["/c", "mklink", "/J"])
                .args([workspace.join(link), target])
                .output()
                .unwrap();
            assert!(made.status.success(), "{made:?}");
        }
        let roots = Roots::open(&[folder("ws", &workspace)]);
        let root = roots.choose(None).unwrap();
        let found = |path: &str| root.find(&parse(path).unwrap());
        assert_eq!(found("out/secret").unwrap_err().code, ErrorCode::PathOutsideWorkspace);
        assert_eq!(found("in/own"), Ok(PathBuf::from(r"real\own")));
    }

    #[test]
    fn a_folder_that_comes_later_is_opened_then() {
        let parent = tempfile::tempdir().unwrap();
        let late = parent.path().join("late");
        let roots = Roots::open(&[folder("late", &late)]);
        assert_eq!(roots.choose(None).unwrap().dir().unwrap_err().code, ErrorCode::NotFound);
        std::fs::create_dir(&late).unwrap();
        assert!(roots.choose(None).unwrap().dir().is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_made_anew_is_opened_anew_and_one_moved_away_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let ws = parent.path().join("ws");
        let make = |file: &str| {
            std::fs::create_dir(&ws).unwrap();
            std::fs::write(ws.join(file), "").unwrap();
        };
        make("first");
        let roots = Roots::open(&[folder("ws", &ws)]);
        let has = |file: &str| roots.choose(None).unwrap().dir().unwrap().exists(file);
        std::fs::remove_dir_all(&ws).unwrap();
        make("second");
        assert!(has("second"));
        std::fs::rename(&ws, parent.path().join("moved")).unwrap();
        make("third");
        assert!(has("second") && !has("third"));
    }

    #[cfg(unix)]
    #[test]
    fn r000_36_links_are_followed_inside_and_refused_outside() {
        use std::os::unix::fs::symlink;
        let parent = tempfile::tempdir().unwrap();
        let (inside, outside) = (parent.path().join("ws"), parent.path().join("ws-evil"));
        std::fs::create_dir_all(inside.join("d")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(inside.join("d/file"), "in").unwrap();
        std::fs::write(outside.join("file"), "out").unwrap();
        symlink("d/file", inside.join("relative")).unwrap();
        symlink(inside.join("d/file"), inside.join("absolute")).unwrap();
        symlink("../ws-evil/file", inside.join("out")).unwrap();
        symlink(&outside, inside.join("out-dir")).unwrap();
        symlink("/does/not/exist", inside.join("out-nowhere")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        symlink("missing", inside.join("broken")).unwrap();
        let roots = Roots::open(&[folder("ws", &inside)]);
        let located = |path: &str| {
            roots.choose(None).unwrap().locate(&parse(path).unwrap()).map_err(|error| error.code)
        };
        assert_eq!(located("relative"), Ok(Some(PathBuf::from("d/file"))));
        assert_eq!(located("absolute"), Ok(Some(PathBuf::from("d/file"))));
        for path in ["out", "out-dir", "out-dir/file", "out-nowhere"] {
            assert_eq!(located(path), Err(ErrorCode::PathOutsideWorkspace), "{path}");
        }
        assert_eq!(located("broken"), Ok(None));
        assert_eq!(located("loop"), Err(ErrorCode::NotFound));
        assert_eq!(located(""), Ok(Some(PathBuf::from("."))));
    }
}
