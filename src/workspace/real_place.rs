//! Where a path leads now, with every link followed, whether or not something is there yet.
//!
//! Owns the walk. Never opens a file and never says whether a place may be touched: that is the policy's.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::app::ports::RealPlace;
use crate::domain::policy::judgement::PlaceKind;

/// Links that are followed in one path; what has more goes in a circle, or wants to.
const LINKS: usize = 40;

/// Where an absolute path leads. `None`: it cannot be told, as when links go in a circle, something may not be looked at, or
/// a link leads into what is another place for each process (`/proc`, `/dev`).
pub(crate) fn real_place(path: &Path) -> Option<RealPlace> {
    if !path.is_absolute() {
        return None;
    }
    let mut at = PathBuf::new();
    let mut rest: VecDeque<OsString> = VecDeque::new();
    let mut links = 0;
    let mut kind = PlaceKind::Folder;
    push(&mut rest, path);
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            at.pop();
            continue;
        }
        // Beneath what is not there everything is not there, and beneath a file is nothing.
        if kind == PlaceKind::File {
            return None;
        }
        at.push(&part);
        // A drive or a share alone is no place yet; its root comes next.
        if matches!(Path::new(&part).components().next(), Some(Component::Prefix(_))) {
            continue;
        }
        if ["/proc", "/dev", "/sys"].iter().any(|own| at.starts_with(own)) {
            return None;
        }
        match at.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                let target = at.read_link().ok().filter(|_| links <= LINKS)?;
                at.pop();
                for part in parts(&target).into_iter().rev() {
                    rest.push_front(part);
                }
                kind = PlaceKind::Folder;
            }
            Ok(metadata) if metadata.is_dir() => kind = PlaceKind::Folder,
            Ok(metadata) if metadata.is_file() => kind = PlaceKind::File,
            // A device, a pipe, a socket.
            Ok(_) => return None,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => kind = PlaceKind::Nothing,
            Err(_) => return None,
        }
        // `missing/..` is no place.
        if kind == PlaceKind::Nothing && rest.iter().any(|part| part == "..") {
            return None;
        }
    }
    Some(RealPlace { path: at, kind })
}

fn push(rest: &mut VecDeque<OsString>, path: &Path) {
    rest.extend(parts(path));
}

/// The parts of a path; an absolute one begins with its root, which replaces what stood before when it is pushed.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |part: Component<'_>| match part {
        Component::CurDir => None,
        Component::Prefix(_) | Component::RootDir | Component::ParentDir | Component::Normal(_) => {
            Some(part.as_os_str().to_owned())
        }
    };
    path.components().filter_map(part).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_to_where_they_lead_also_to_what_is_not_there_yet() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/f"), "").unwrap();
        symlink("d", root.join("to-d")).unwrap();
        symlink("/etc/passwd", root.join("out")).unwrap();
        symlink("new", root.join("to-new")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("/proc/self/cwd", root.join("here")).unwrap();
        let told = |path: &str| {
            real_place(&root.join(path)).map(|place| {
                let path = place.path.strip_prefix(&root).map(Path::to_owned).unwrap_or(place.path);
                (path.to_string_lossy().into_owned(), place.kind)
            })
        };
        let found = |path: &str, kind| Some((path.to_owned(), kind));
        assert_eq!(told("to-d/f"), found("d/f", PlaceKind::File));
        assert_eq!(told("to-d/../d/./f"), found("d/f", PlaceKind::File));
        assert_eq!(told("."), found("", PlaceKind::Folder));
        assert_eq!(told("out"), found("/etc/passwd", PlaceKind::File));
        assert_eq!(told("to-new"), found("new", PlaceKind::Nothing));
        assert_eq!(told("d/x/y"), found("d/x/y", PlaceKind::Nothing));
        for nowhere in ["loop", "here", "here/x", "d/f/x", "x/../y"] {
            assert_eq!(told(nowhere), None, "{nowhere}");
        }
        assert_eq!(real_place(Path::new("relative")), None);
    }
}
