//! Looking for the context of a prompt: what the editor says, what the files say, what git says.
//!
//! Owns the time that each may take: a prompt waits for a second at most, for what it names at a tool server a little longer, and
//! whatever is late is left out and said. Never
//! starts git in a workspace that is not trusted, never reads outside a root, and never reads a file of secrets. Decision 0021.

mod files;
mod repository;
mod served;
mod written;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::app::inbox::{Answer, Folder};
use crate::app::ports::{ContextDone, ContextJob};
use crate::domain::context::choice::WantedContext;
use crate::domain::context::item::{ContextKind, PromptContext};
use crate::domain::context::shape::UserContext;
use crate::domain::edits::overlay::{Overlay, PositionEncoding};
use crate::domain::policy::file_lists::FileLists;
use crate::host::ports::{CodeSearch, Root, WorkspaceView};

/// How long an editor is waited for. It answers from memory; one that is busy for longer would hold the prompt up.
const EDITOR_TIME: Duration = Duration::from_millis(400);

/// How long files are looked through. A tree of ten thousand takes a part of it.
const FILES_TIME: Duration = Duration::from_millis(700);

/// How long git is waited for, at the same time.
const GIT_TIME: Duration = Duration::from_millis(900);

/// The workspace as a search sees it.
pub(super) fn view(
    folders: Vec<Folder>,
    overlay: Arc<Overlay>,
    trusted: bool,
    lists: Arc<FileLists>,
) -> WorkspaceView {
    let root = |folder: Folder| Some(Root { name: folder.name, uri: folder.uri, path: folder.path? });
    let roots = folders.into_iter().filter_map(root).collect();
    WorkspaceView { roots, overlay, trusted, lists, ..WorkspaceView::default() }
}

/// No context, and why.
pub(super) fn without(job: ContextJob, why: String) -> ContextDone {
    let found = PromptContext { notes: vec![why], ..PromptContext::default() };
    ContextDone { purpose: job.purpose, wanted: job.wanted, found }
}

/// What one look shares.
struct ContextLook {
    wanted: WantedContext,
    encoding: PositionEncoding,
    view: WorkspaceView,
    search: Arc<dyn CodeSearch>,
    /// Ends every search.
    cancel: AtomicBool,
    /// Ends every question to git.
    git_over: AtomicBool,
}

impl ContextLook {
    fn wants(&self, kind: ContextKind) -> bool {
        self.wanted.kinds.contains(&kind)
    }
}

/// Looks for everything that is wanted; what is late is left out.
pub(super) async fn gather(job: ContextJob, view: WorkspaceView, search: Arc<dyn CodeSearch>) -> ContextDone {
    let ContextJob { wanted, encoding, trusted, lists, editor, served, purpose } = job;
    let (cancel, git_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let look = Arc::new(ContextLook { wanted: wanted.clone(), encoding, view, search, cancel, git_over });
    let git = async {
        // What git shows of changes may be of any file.
        if !trusted || !lists.is_open() || !(look.wants(ContextKind::Git) || look.wants(ContextKind::Diff)) {
            return PromptContext::default();
        }
        let of_git = Arc::clone(&look);
        let asking =
            tokio::task::spawn_blocking(move || Handle::current().block_on(repository::state(&of_git)));
        match timeout(GIT_TIME, asking).await {
            Ok(asked) => asked.unwrap_or_default(),
            Err(_) => {
                look.git_over.store(true, Ordering::Relaxed);
                let late =
                    "git did not answer in time, so the prompt went without the state of the repository.";
                PromptContext { notes: vec![late.to_owned()], ..PromptContext::default() }
            }
        }
    };
    let files = async {
        let (told, late) = told(editor).await;
        let of_files = Arc::clone(&look);
        let reading = tokio::task::spawn_blocking(move || files::look(&of_files, told));
        tokio::pin!(reading);
        let read = match timeout(FILES_TIME, &mut reading).await {
            Ok(read) => read,
            Err(_) => {
                // A search ends soon after it is told to, with what it has.
                look.cancel.store(true, Ordering::Relaxed);
                reading.await
            }
        };
        let mut found = read.unwrap_or_default();
        found.notes.extend(late);
        found
    };
    let (mut found, of_git, of_servers) = tokio::join!(files, git, served::given(served));
    found.items.extend(of_servers.items);
    found.notes.extend(of_servers.notes);
    (found.served, found.failure) = (of_servers.served, of_servers.failure);
    found.items.extend(of_git.items);
    found.notes.extend(of_git.notes);
    found.shape.git_context = of_git.shape.git_context;
    ContextDone { purpose, wanted, found }
}

/// What the editor says, and a sentence where it says nothing.
async fn told(editor: Option<Answer<UserContext>>) -> (UserContext, Option<String>) {
    let Some(answer) = editor else { return (UserContext::default(), None) };
    match timeout(EDITOR_TIME, answer).await {
        Ok(Ok(Ok(told))) => (told, None),
        Ok(Ok(Err(why))) => (UserContext::default(), Some(why.message)),
        Ok(Err(_)) | Err(_) => (
            UserContext::default(),
            Some(
                "The editor did not say in time what is in front of you, so the prompt went without it."
                    .to_owned(),
            ),
        ),
    }
}
