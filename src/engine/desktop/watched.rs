//! Files that changed here, on their way to the host, so that it takes them into its index without a rebuild (R002-101).
//!
//! Owns what waits to be told: a moment's changes of a folder go as one message, on the socket of a session of that folder, or where
//! none stands by the route for them. Told once: the index is the host's help to itself, and no turn waits for it. Never says the
//! text of a file, only its hash.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

use super::DesktopParts;
use super::order::LinkOrder;
use super::sessions::workspace_of;
use crate::domain::dialect::desktop::say;
use crate::domain::edits::watched_file::{WatchedFile, WatchedFileChange};
use crate::host::retrieval::file_hashes;

/// How long more is waited for, once something changed: a checkout changes many files.
const TOGETHER: Duration = Duration::from_millis(300);

/// Files that are told one by one. Where more change in a moment, the host is asked to compare all that it has.
const MOST_FILES: usize = 1_000;

/// Changes of each folder that wait.
#[derive(Default)]
pub(super) struct WatchedFiles {
    waiting: HashMap<PathBuf, WaitingChanges>,
}

/// Changes of a folder that wait.
enum WaitingChanges {
    /// These, by their paths relative to the folder.
    Files(BTreeMap<String, WatchedFileChange>),
    /// More than are told one by one.
    Many,
}

impl WatchedFiles {
    /// Takes a change; whether it is the first of its folder that waits.
    fn take(&mut self, folder: &Path, path: String, kind: WatchedFileChange) -> bool {
        let is_first = !self.waiting.contains_key(folder);
        let waiting = self.waiting.entry(folder.to_owned()).or_insert(WaitingChanges::Files(BTreeMap::new()));
        let WaitingChanges::Files(files) = waiting else { return is_first };
        let both = files.get(&path).map_or(kind, |before| before.and(kind));
        files.insert(path, both);
        if files.len() > MOST_FILES {
            *waiting = WaitingChanges::Many;
        }
        is_first
    }
}

/// Files changed, each in a folder that is open here or not.
pub(super) fn changed(parts: &Arc<DesktopParts>, changes: &[WatchedFile]) {
    let folders = parts.folders();
    for change in changes {
        let path = Url::parse(&change.uri).ok().and_then(|url| url.to_file_path().ok());
        let Some(path) = path else { continue };
        let inside =
            folders.iter().find_map(|folder| Some((folder, path.strip_prefix(folder).ok()?.to_str()?)));
        let Some((folder, inside)) = inside.filter(|(_, inside)| !inside.is_empty()) else { continue };
        one_changed(parts, folder, inside, change.kind);
    }
}

/// A file of this folder changed.
pub(super) fn one_changed(parts: &Arc<DesktopParts>, folder: &Path, path: &str, kind: WatchedFileChange) {
    let path = path.replace('\\', "/");
    if parts.state().watched.take(folder, path, kind) {
        let (parts, folder) = (Arc::clone(parts), folder.to_owned());
        parts.runtime.clone().spawn(async move {
            tokio::time::sleep(TOGETHER).await;
            tell(&parts, folder).await;
        });
    }
}

async fn tell(parts: &Arc<DesktopParts>, folder: PathBuf) {
    let Some(waiting) = parts.state().watched.waiting.remove(&folder) else { return };
    let files = match waiting {
        WaitingChanges::Files(files) => files,
        WaitingChanges::Many => return by_route(parts, &folder, "refresh", &json!({})).await,
    };
    let read = {
        let folder = folder.clone();
        tokio::task::spawn_blocking(move || read(&folder, files)).await
    };
    let Ok(changes) = read else { return };
    let standing = parts.standing_in(&folder);
    let told = standing.is_some_and(|session_id| {
        let order = LinkOrder::FilesChanged { folder: folder.clone(), changes: changes.clone() };
        parts.links.order(parts, &session_id, order).is_ok()
    });
    if !told {
        not_on_a_socket(parts, &folder, &changes).await;
    }
}

/// Tells by the route what no socket could take.
pub(super) async fn not_on_a_socket(parts: &Arc<DesktopParts>, folder: &Path, changes: &[Value]) {
    by_route(parts, folder, "incremental", &json!({ "changes": changes })).await;
}

/// A host that has no such route, or does not know the folder, has nothing to keep up to date.
async fn by_route(parts: &Arc<DesktopParts>, folder: &Path, route: &str, body: &Value) {
    let Ok(Some(workspace)) = workspace_of(parts, folder).await else { return };
    let path = ["v1", "workspaces", workspace.id.as_str(), "index", route];
    if let Err(trouble) = parts.client.ask(Method::POST, &path, Some(body)).await {
        tracing::debug!(route, ?trouble, "the host was not told which files changed");
    }
}

/// The changes as the host reads them. Blocking.
fn read(folder: &Path, files: BTreeMap<String, WatchedFileChange>) -> Vec<Value> {
    let moment = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    // A file that is gone has none.
    let hashes = file_hashes(folder, files.keys().map(String::as_str));
    let one = |((path, kind), hash): ((String, WatchedFileChange), Option<String>)| {
        say::file_change(kind, &path, hash.as_deref(), &moment)
    };
    files.into_iter().zip(hashes).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moments_changes_wait_together_and_very_many_become_one_comparison() {
        let mut watched = WatchedFiles::default();
        let folder = Path::new("/w");
        assert!(watched.take(folder, "a".to_owned(), WatchedFileChange::Created));
        assert!(!watched.take(folder, "a".to_owned(), WatchedFileChange::Modified));
        let Some(WaitingChanges::Files(files)) = watched.waiting.get(folder) else { panic!("many") };
        assert_eq!(files.iter().collect::<Vec<_>>(), [(&"a".to_owned(), &WatchedFileChange::Created)]);
        for at in 0..=MOST_FILES {
            watched.take(folder, format!("b{at}"), WatchedFileChange::Modified);
        }
        assert!(matches!(watched.waiting.get(folder), Some(WaitingChanges::Many)));
    }
}
