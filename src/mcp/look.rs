//! Looks at the files of the workspace that name tool servers.
//!
//! Owns when a look begins and whether what it saw is still news: looks run beside each other (a turn, a list and a change of trust each
//! begin one), and one that began before another may end after it. Never reads a file itself.

use std::path::{Path, PathBuf};

use super::found::{self, FoundServer};
use super::pool::{McpPool, PoolState};
use super::pool_entry::{NoServer, PoolEntry, replace};
use super::variables::filled_in;
use crate::app::ports::Secret;
use crate::protocol::mcp::McpSource;

/// A look that began and has not ended.
struct FileLook {
    number: u64,
    folder: PathBuf,
}

impl McpPool {
    /// Looks at the files of the workspace. One whose content changed is another one, which the user has not allowed.
    pub(super) async fn look_at_files(&self) {
        let Some(look) = self.begin_look() else { return };
        let folder = look.folder.clone();
        let Ok(found) = tokio::task::spawn_blocking(move || found::look(&folder)).await else { return };
        self.end_look(&look, found);
    }

    /// A look, where servers may run at all. Its number is taken before anything is read: what a later one reads is as new or newer.
    fn begin_look(&self) -> Option<FileLook> {
        let mut state = self.state();
        let folder = state.folder.clone().filter(|_| state.may_run)?;
        Some(FileLook { number: state.looks.begin(), folder })
    }

    /// Puts what a look found in the place of what stood, unless a look that began later was faster.
    fn end_look(&self, look: &FileLook, found: Vec<FoundServer>) {
        let mut state = self.state();
        if state.folder.as_ref() != Some(&look.folder) || !state.may_run || !state.looks.is_news(look.number)
        {
            return;
        }
        let mut secrets = Vec::new();
        let entries: Vec<PoolEntry> = found
            .into_iter()
            .map(|found| self.found_entry(&state, found, &look.folder, &mut secrets))
            .collect();
        // A loop that takes nothing more is busy: what stands stays, and the next look finds these again.
        if !secrets.is_empty() && !(self.hide)(secrets) {
            return;
        }
        let before = std::mem::take(&mut state.found);
        replace(&before, &entries, state.may_run);
        state.found = entries;
        state.looks.stands(look.number);
    }

    fn found_entry(
        &self,
        state: &PoolState,
        found: FoundServer,
        folder: &Path,
        secrets: &mut Vec<Secret>,
    ) -> PoolEntry {
        let FoundServer { name, file, digest, shown, definition } = found;
        let server = definition.map_err(NoServer::Broken).and_then(|definition| {
            if !state.allowed.contains(&digest) {
                return Err(NoServer::Unasked(format!(
                    "The file `{file}` of this workspace names the tool server `{name}` ({shown}), which was not started; allow it \
                     in the list of tool servers if you trust it."
                )));
            }
            let (filled, taken) = filled_in(definition, &self.variable).map_err(NoServer::Broken)?;
            secrets.extend(taken.into_iter().map(Secret));
            Ok(self.kept_or_new(&state.found, filled, digest.clone(), folder))
        });
        PoolEntry { name, source: McpSource::Workspace, server, found: Some((digest, shown)) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::app::ports::McpServers;
    use crate::mcp::PoolHandle;

    /// A pool whose servers may run in this folder. No runtime drives it, so that a look ends when the test says so.
    fn pool(runtime: &tokio::runtime::Runtime, folder: &Path) -> Arc<McpPool> {
        let pool = McpPool::new(runtime.handle().clone(), PathBuf::from("guard"), |_| None, |_| true);
        let mut state = pool.state();
        (state.folder, state.may_run) = (Some(folder.to_owned()), true);
        drop(state);
        pool
    }

    fn named(pool: &Arc<McpPool>) -> Vec<String> {
        PoolHandle(Arc::clone(pool)).standing(None).into_iter().map(|server| server.name).collect()
    }

    #[test]
    fn what_a_list_showed_is_not_taken_back_by_a_look_that_began_before_it() {
        // Given a look that read the folder while no file was in it, and takes long to end
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let folder = tempfile::tempdir().expect("a folder");
        let pool = pool(&runtime, folder.path());
        let slow = pool.begin_look().expect("servers may run");
        let seen = found::look(&slow.folder);
        // And a list that was asked for once the file was there
        let servers = r#"{ "mcpServers": { "docs": { "command": "docs" } } }"#;
        std::fs::write(folder.path().join(".mcp.json"), servers).expect("a file");
        runtime.block_on(pool.look_at_files());
        assert_eq!(named(&pool), ["docs"]);
        // When the first one ends
        pool.end_look(&slow, seen);
        // Then the server that was listed is there to be allowed
        assert_eq!(named(&pool), ["docs"]);
        // And one that begins now says what is there now
        std::fs::remove_file(folder.path().join(".mcp.json")).expect("it is gone");
        runtime.block_on(pool.look_at_files());
        assert_eq!(named(&pool), Vec::<String>::new());
    }

    #[test]
    fn looks_that_end_in_their_order_are_all_believed() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let folder = tempfile::tempdir().expect("a folder");
        let pool = pool(&runtime, folder.path());
        let (first, second) = (pool.begin_look().expect("a look"), pool.begin_look().expect("a look"));
        let servers = |name: &str| {
            let text = format!(r#"{{ "mcpServers": {{ "{name}": {{ "command": "docs" }} }} }}"#);
            std::fs::write(folder.path().join(".mcp.json"), text).expect("a file");
            found::look(folder.path())
        };
        pool.end_look(&first, servers("one"));
        assert_eq!(named(&pool), ["one"]);
        pool.end_look(&second, servers("two"));
        assert_eq!(named(&pool), ["two"]);
    }
}
