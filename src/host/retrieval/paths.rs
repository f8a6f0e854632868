//! Paths: which root a path means, and which open buffer lies where.
//!
//! Decides from the text of a path alone whether it leaves the workspace; links are refused later, when the path is
//! opened beneath its root.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::RetrievalError;
use super::lines::misleading;
use crate::domain::edits::overlay::OpenDocument;
use crate::domain::policy::file_lists::FileUse;
use crate::domain::policy::path::{PathRefused, WorkspacePath};
use crate::host::ports::{Root, WorkspaceView};
use crate::platform::{real_path, same_path, strip_base};

/// The root a path means and the path beneath it, `/`-separated, empty for the root itself.
///
/// Takes `root-name/rel` where several roots are open, a path relative to a root, and an absolute path inside a root.
/// Where a path fits several roots, the first in which it exists wins, else the first. Refuses `..` and everything
/// outside.
pub(crate) fn resolve<'a>(view: &'a WorkspaceView, path: &str) -> Result<(&'a Root, String), RetrievalError> {
    let (at, rel) = resolve_index(view, path)?;
    Ok((&view.roots[at], rel))
}

/// The same, with the place of the root among the roots.
///
/// What the user's lists never let be touched is refused, also where a link leads to it.
pub(super) fn resolve_index(view: &WorkspaceView, path: &str) -> Result<(usize, String), RetrievalError> {
    let (at, rel) = resolve_anywhere(view, path)?;
    match real_paths(view, at, &rel).iter().any(|rel| view.lists.never_touches(rel).is_some()) {
        true => Err(RetrievalError::Kept(path.to_owned())),
        false => Ok((at, rel)),
    }
}

/// Whether the user's lists let this file be read, also where it is a link to another one.
pub(super) fn may_be_read(view: &WorkspaceView, root: usize, rel: &str) -> bool {
    real_paths(view, root, rel).iter().all(|rel| view.lists.forbids(rel, FileUse::Read).is_none())
}

/// A path as it is named and as it is without links, where anybody asks.
fn real_paths(view: &WorkspaceView, root: usize, rel: &str) -> Vec<String> {
    if view.lists.is_open() {
        return Vec::new();
    }
    let real = open_root(&view.roots[root]).and_then(|dir| dir.canonicalize(rel).ok());
    let real = real.map(|real| real.to_string_lossy().into_owned());
    [rel.to_owned()].into_iter().chain(real).collect()
}

fn resolve_anywhere(view: &WorkspaceView, path: &str) -> Result<(usize, String), RetrievalError> {
    let outside = || RetrievalError::OutsideWorkspace(path.to_owned());
    if path.chars().any(misleading) {
        return Err(RetrievalError::NotFound(path.to_owned()));
    }
    // `A::go` is a name of the code, also where `A:` is a drive.
    if path.get(1..3) == Some("::") {
        return Err(RetrievalError::NotFound(path.to_owned()));
    }
    let given = Path::new(path);
    if given.components().any(|part| matches!(part, Component::ParentDir))
        || path.split(['/', '\\']).any(|part| part == "..")
    {
        return Err(outside());
    }
    if given.is_absolute()
        || given.has_root()
        || matches!(given.components().next(), Some(Component::Prefix(_)))
    {
        return beneath(view, given).ok_or_else(outside);
    }
    let whole = WorkspacePath::parse(path).map_err(|refused| match refused {
        PathRefused::Parent => outside(),
        // Absolute paths were looked at above; what else looks like one may be a name of the code, such as `A::go`.
        PathRefused::Absolute
        | PathRefused::Uri
        | PathRefused::BadCharacter
        | PathRefused::TooLong
        | PathRefused::Device
        | PathRefused::DroppedEnd
        | PathRefused::Stream
        | PathRefused::ShortName => RetrievalError::NotFound(path.to_owned()),
    })?;
    let whole = whole.as_str();
    let mut candidates = Vec::new();
    if view.roots.len() > 1 {
        let (first, rest) = whole.split_once('/').unwrap_or((whole, ""));
        let named = view.roots.iter().enumerate().filter(|(_, root)| root.name == first);
        candidates.extend(named.map(|(at, _)| (at, rest.to_owned())));
    }
    candidates.extend((0..view.roots.len()).map(|at| (at, whole.to_owned())));
    let buffers = OpenBuffers::of(view);
    let there = candidates.iter().position(|(at, rel)| exists(view, &buffers, *at, rel)).unwrap_or(0);
    candidates.into_iter().nth(there).ok_or_else(|| RetrievalError::NotFound(path.to_owned()))
}

fn exists(view: &WorkspaceView, buffers: &OpenBuffers, root: usize, rel: &str) -> bool {
    buffers.get(root, rel).is_some()
        || rel.is_empty()
        || open_root(&view.roots[root]).is_some_and(|dir| dir.symlink_metadata(rel).is_ok())
}

/// The innermost root that an absolute path lies in, by whole components, so that `/a/bc` is not in `/a/b`.
fn beneath(view: &WorkspaceView, path: &Path) -> Option<(usize, String)> {
    let mut best: Option<(usize, usize, String)> = None;
    for (at, root) in view.roots.iter().enumerate() {
        let canonical = real_path(&root.path).ok();
        for base in std::iter::once(&root.path).chain(canonical.as_ref()) {
            let Some(rest) = strip_base(path, base) else { continue };
            let Some(parts) = parts_of(&rest) else { continue };
            let depth = base.components().count();
            if best.as_ref().is_none_or(|(deepest, ..)| depth > *deepest) {
                best = Some((depth, at, parts.join("/")));
            }
        }
    }
    best.map(|(_, at, rel)| (at, rel))
}

/// The normal components of a relative path as text; `None` when one is not Unicode or not normal.
fn parts_of(path: &Path) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts)
}

/// A handle of a root's directory; opens beneath it cannot leave it.
pub(super) fn open_root(root: &Root) -> Option<Dir> {
    Dir::open_ambient_dir(&root.path, ambient_authority()).ok()
}

/// The root's name where paths need it.
pub(super) fn label(view: &WorkspaceView, root: usize) -> Option<String> {
    (view.roots.len() > 1).then(|| view.roots[root].name.clone())
}

/// Open buffers by root and path.
pub(super) struct OpenBuffers(BTreeMap<(usize, String), Arc<OpenDocument>>);

impl OpenBuffers {
    /// The buffers of a view that lie in one of its roots.
    pub(super) fn of(view: &WorkspaceView) -> Self {
        let mut found = BTreeMap::new();
        for (uri, document) in view.overlay.iter() {
            let Some(path) = url::Url::parse(uri).ok().and_then(|uri| uri.to_file_path().ok()) else {
                continue;
            };
            if path.components().any(|part| matches!(part, Component::ParentDir)) {
                continue;
            }
            // In the spelling of the disk, which is that of the index; the editor's may differ in case.
            let spelled = if cfg!(any(windows, target_os = "macos")) { real_path(&path).ok() } else { None };
            let place = spelled.and_then(|path| beneath(view, &path)).or_else(|| beneath(view, &path));
            if let Some(place) = place {
                found.insert(place, Arc::clone(document));
            }
        }
        Self(found)
    }

    /// The buffer at a place.
    pub(super) fn get(&self, root: usize, rel: &str) -> Option<&Arc<OpenDocument>> {
        let named = self.0.get(&(root, rel.to_owned()));
        let is_it = |(at, name): &&(usize, String)| *at == root && same_path(Path::new(name), Path::new(rel));
        named.or_else(|| self.0.keys().find(is_it).and_then(|key| self.0.get(key)))
    }

    /// Every buffer, in order of its place.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &str, &Arc<OpenDocument>)> {
        self.0.iter().map(|((root, rel), document)| (*root, rel.as_str(), document))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::retrieval::walk::tests::{Fixture, view_of};

    fn rel(view: &WorkspaceView, path: &str) -> Result<(String, String), RetrievalError> {
        resolve(view, path).map(|(root, rel)| (root.name.clone(), rel))
    }

    #[test]
    fn paths_outside_are_refused_and_a_sibling_with_the_same_prefix_is_outside() {
        let fixture = Fixture::new(&[("app/a.rs", "a"), ("app-secret/b.rs", "b")]);
        let view = view_of(&[&fixture.path("app")]);
        for path in ["../app-secret/b.rs", "src/../../x", "..", "a/..", "/etc/passwd", "..\\x"] {
            assert_eq!(rel(&view, path), Err(RetrievalError::OutsideWorkspace(path.into())), "{path}");
        }
        let sibling = fixture.path("app-secret/b.rs").display().to_string();
        assert_eq!(rel(&view, &sibling), Err(RetrievalError::OutsideWorkspace(sibling.clone())));
        let inside = fixture.path("app/a.rs").display().to_string();
        assert_eq!(rel(&view, &inside), Ok(("app".into(), "a.rs".into())));
        assert_eq!(rel(&view, "./a.rs"), Ok(("app".into(), "a.rs".into())));
        assert_eq!(rel(&view, ""), Ok(("app".into(), String::new())));
        assert_eq!(rel(&view, "a\n.rs"), Err(RetrievalError::NotFound("a\n.rs".into())));
    }

    #[test]
    fn with_several_roots_a_name_leads_to_its_root_and_a_plain_path_to_where_it_exists() {
        let fixture = Fixture::new(&[("one/a.rs", "a"), ("two/b.rs", "b"), ("one/two/c.rs", "c")]);
        let view = view_of(&[&fixture.path("one"), &fixture.path("two")]);
        assert_eq!(rel(&view, "two/b.rs"), Ok(("two".into(), "b.rs".into())));
        assert_eq!(rel(&view, "b.rs"), Ok(("two".into(), "b.rs".into())));
        assert_eq!(rel(&view, "two/c.rs"), Ok(("one".into(), "two/c.rs".into())));
        assert_eq!(rel(&view, "two/new.rs"), Ok(("two".into(), "new.rs".into())));
        assert_eq!(resolve(&WorkspaceView::default(), "a"), Err(RetrievalError::NotFound("a".into())));
    }
}
