//! Files that an agent reads and writes through us: the loop's judgement, then the real workspace.

use std::path::Path;
use std::sync::Arc;

use breadboard_ls::testing::app::inbox::{EditorAbilities, Folder};
use breadboard_ls::testing::app::ports::{Applied, Files, TextPart};
use breadboard_ls::testing::domain::coded_error::ErrorCode;
use breadboard_ls::testing::domain::edits::overlay::Overlay;
use breadboard_ls::testing::domain::edits::text::content_hash;
use breadboard_ls::testing::engine::acp::client_side::{ClientFiles, WriteBase};
use breadboard_ls::testing::workspace::WorkspaceFiles;
use tokio::runtime::Handle;

use crate::desk::{Desk, Setup};

/// A workspace with the jobs of a desk done in it.
struct Workspace {
    dir: tempfile::TempDir,
    files: WorkspaceFiles,
}

impl Workspace {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let guard = env!("CARGO_BIN_EXE_breadboard-ls").into();
        let files = WorkspaceFiles::new(Handle::current(), guard, |job| panic!("{job:?}"));
        let uri = format!("file://{}", dir.path().display());
        files.set_folders(&[Folder { uri, name: "ws".to_owned(), path: Some(dir.path().to_owned()) }]);
        Self { dir, files }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    async fn serving<T>(&self, desk: &Desk, wanted: impl Future<Output = T>) -> T {
        let serve = async {
            loop {
                for job in std::mem::take(&mut *desk.jobs.0.lock().unwrap()) {
                    self.files.submit(job, Arc::new(Overlay::new()));
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            answer = wanted => answer,
            () = serve => unreachable!("it never ends"),
        }
    }
}

fn no_editor_edits() -> Setup {
    Setup { abilities: EditorAbilities::default(), ..Setup::default() }
}

#[tokio::test]
async fn c_an_agent_reads_and_writes_through_the_loop_and_only_over_what_was_shown() {
    // Given a running turn in a trusted workspace
    let (state, workspace) = (tempfile::tempdir().unwrap(), Workspace::new());
    let desk = Desk::at(state.path(), no_editor_edits());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    let agent = ClientFiles::new(desk.engine.clone());
    let file = workspace.path().join("a.txt");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    // When it reads, then it gets the lines that it names
    let read = workspace.serving(&desk, agent.read(&session, &file, Some(2), Some(1))).await.unwrap();
    let hash = content_hash(b"one\ntwo\n");
    let part = TextPart {
        content: "two\n".into(),
        hash: hash.clone(),
        root: "ws".into(),
        path: "a.txt".into(),
        unsaved: false,
    };
    assert_eq!(read, part);
    // When it writes over what was shown, then that is on disk
    let base = workspace.serving(&desk, agent.base(&session, &file)).await.unwrap();
    let now = Some(("one\ntwo\n".to_owned(), hash));
    assert_eq!(base, WriteBase { root: "ws".into(), path: "a.txt".into(), now, unsaved: false });
    let written = workspace.serving(&desk, agent.write(&session, base.clone(), "three\n".to_owned())).await;
    assert_eq!(written, Ok(Applied { applied_hash: content_hash(b"three\n"), saved: true }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "three\n");
    // But not once more over the same base
    let late = workspace.serving(&desk, agent.write(&session, base, "four\n".to_owned())).await;
    assert_eq!(late.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "three\n");
    // And a new file has no base
    let new = workspace.path().join("x/new.txt");
    let base = workspace.serving(&desk, agent.base(&session, &new)).await.unwrap();
    assert_eq!(base, WriteBase { root: "ws".into(), path: "x/new.txt".into(), now: None, unsaved: false });
    workspace.serving(&desk, agent.write(&session, base, "new\n".to_owned())).await.unwrap();
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "new\n");
    // And outside the workspace there is nothing for it
    let outside = workspace.serving(&desk, agent.base(&session, Path::new("/etc/passwd"))).await;
    assert_eq!(outside.unwrap_err().code, ErrorCode::PathOutsideWorkspace);
}

#[tokio::test]
async fn r000_63_an_agent_reads_nothing_without_trust_and_nothing_outside_a_turn() {
    let (state, workspace) = (tempfile::tempdir().unwrap(), Workspace::new());
    let file = workspace.path().join("a.txt");
    std::fs::write(&file, "one\n").unwrap();
    for (trusted, in_turn, code) in
        [(false, true, ErrorCode::UntrustedWorkspace), (true, false, ErrorCode::Cancelled)]
    {
        let state = state.path().join(format!("{trusted}"));
        std::fs::create_dir(&state).unwrap();
        let desk = Desk::at(&state, Setup { trusted, ..no_editor_edits() });
        let session = desk.session().await;
        if in_turn {
            desk.prompt(&session, "one").await;
        }
        let agent = ClientFiles::new(desk.engine.clone());
        assert_eq!(agent.read(&session, &file, None, None).await.unwrap_err().code, code);
        assert!(desk.jobs.0.lock().unwrap().is_empty(), "nobody was sent to look");
    }
}
