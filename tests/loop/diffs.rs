//! Diffs against the loop: what is checked, what is fetched first, and what the workspace edge is then asked for.

use std::path::PathBuf;

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::dialect::desktop::message::{PatchProposed, ServerMessage};
use breadboard_ls::testing::domain::edits::reference::Reference;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};

/// The side that it is compared with.
fn right(job: &DiffJob) -> Option<&DiffSide> {
    match &job.purpose {
        DiffFor::Comparison { right, .. } => Some(right),
        DiffFor::Document { .. } => None,
    }
}

impl Desk {
    /// The next diff that the workspace edge is asked for.
    async fn wanted_diff(&self) -> Box<DiffJob> {
        loop {
            {
                let mut jobs = self.jobs.0.lock().unwrap();
                if let Some(at) = jobs.iter().position(|job| matches!(job, FileJob::Diff(_))) {
                    let FileJob::Diff(job) = jobs.remove(at) else { unreachable!() };
                    return job;
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// What `bb/openDiff` asks of the workspace edge.
    async fn diff(&self, params: Value) -> Box<DiffJob> {
        tokio::select! {
            answer = self.ask("bb/openDiff", params) => panic!("{answer:?}"),
            job = self.wanted_diff() => job,
        }
    }

    async fn refused(&self, method: &str, params: Value) -> ErrorCode {
        self.ask(method, params).await.unwrap_err().code
    }
}

fn side(text: &str) -> DiffSide {
    DiffSide { reference: Reference::parse(text).unwrap(), found: Found::Nothing }
}

#[tokio::test]
async fn r000_32_a_diff_is_of_head_and_the_buffer_unless_it_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { trusted: false, ..Setup::default() });
    let session = desk.session().await;
    let job = desk.diff(json!({"sessionId": session, "filePath": "./src//a.rs"})).await;
    assert_eq!((job.path.as_str(), &job.root), ("src/a.rs", &DiffRoot::Named(None)));
    assert_eq!((&job.left, right(&job)), (&side("git:HEAD"), Some(&side("buffer"))));
    let params = json!({"sessionId": session, "filePath": "a", "root": "w", "beforeRef": "checkpoint:c", "afterRef": "disk"});
    let job = desk.diff(params).await;
    assert_eq!(job.root, DiffRoot::Named(Some("w".to_owned())));
    assert_eq!((&job.left, right(&job)), (&side("checkpoint:c"), Some(&side("disk"))));
    let uri = format!("bb-diff:/{session}/w/git~3Av1~2E0/src/a.rs");
    let job = tokio::select! {
        answer = desk.ask("bb/textDocument", json!({"uri": uri})) => panic!("{answer:?}"),
        job = desk.wanted_diff() => job,
    };
    assert_eq!((job.path.as_str(), &job.root), ("src/a.rs", &DiffRoot::Named(Some("w".to_owned()))));
    assert_eq!((&job.left, right(&job)), (&side("git:v1.0"), None));
}

#[tokio::test]
async fn r000_32_35_36_what_names_nothing_is_refused_in_the_order_of_the_wire() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    let diff = |session: &str, path: &str, before: &str| {
        desk.refused("bb/openDiff", json!({"sessionId": session, "filePath": path, "beforeRef": before}))
    };
    assert_eq!(diff("nobody", "../a", "svn:1").await, ErrorCode::InvalidParams);
    assert_eq!(diff("nobody", "../a", "disk").await, ErrorCode::UnknownSession);
    assert_eq!(diff(&session, "../a", "disk").await, ErrorCode::PathOutsideWorkspace);
    assert_eq!(diff(&session, "/etc/passwd", "disk").await, ErrorCode::PathOutsideWorkspace);
    assert_eq!(diff(&session, "", "disk").await, ErrorCode::NotFound);
    assert_eq!(diff(&session, "a", "patch:none").await, ErrorCode::NotFound);
    for uri in ["file:///w/a", "bb-diff:/", "bb-diff:/s/~/git~3A-x/a", "bb-diff:/s/~/disk/../a"] {
        assert_eq!(
            desk.refused("bb/textDocument", json!({"uri": uri})).await,
            ErrorCode::InvalidParams,
            "{uri}"
        );
    }
    let uri = "bb-diff:/nobody/~/disk/a";
    assert_eq!(desk.refused("bb/textDocument", json!({"uri": uri})).await, ErrorCode::UnknownSession);
    assert!(desk.jobs.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn r000_32_a_side_at_the_engine_is_downloaded_first() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    let params = json!({"sessionId": session, "filePath": "a", "beforeRef": "artifact:x/1.txt", "afterRef": "artifact:x/1.txt"});
    let engine = async {
        let mut places: Vec<PathBuf> = Vec::new();
        for _ in 0..2 {
            let wanted = desk.wanted_download().await;
            assert_eq!(wanted.artifact_path, "x/1.txt");
            places.push(wanted.to.clone());
            desk.downloaded(wanted, Ok(())).await;
        }
        let job = desk.wanted_diff().await;
        (places, job)
    };
    let (places, job) = tokio::select! {
        answer = desk.ask("bb/openDiff", params) => panic!("{answer:?}"),
        both = engine => both,
    };
    assert_ne!(places[0], places[1], "each side deletes its own");
    let found = |side: &DiffSide| side.found.clone();
    assert_eq!(found(&job.left), Found::Downloaded(places[0].clone()));
    assert_eq!(right(&job).map(found), Some(Found::Downloaded(places[1].clone())));

    let uri = format!("bb-diff:/{session}/~/artifact~3Ax/a");
    let engine = async {
        let wanted = desk.wanted_download().await;
        desk.downloaded(wanted, Err(CodedError::new(ErrorCode::NotFound, "There is no such artifact.")))
            .await;
    };
    let (answer, ()) = tokio::join!(desk.refused("bb/textDocument", json!({"uri": uri})), engine);
    assert_eq!(answer, ErrorCode::NotFound);
    assert!(desk.jobs.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn r000_32_a_patch_is_found_in_the_journal_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    let patch = |id: &str, diff: &str| {
        ServerMessage::PatchProposed(PatchProposed {
            patch_id: id.to_owned(),
            file_path: "a".to_owned(),
            diff: diff.to_owned(),
            rationale: String::new(),
            acceptance_criteria: vec![],
            requires_approval: true,
            hunks: vec![],
            base_hash: Some("sha256:0".to_owned()),
            warnings: vec![],
        })
    };
    let long = format!("@@ -1 +1 @@\n-{}\n+b\n", "x".repeat(40_000));
    desk.say(&session, patch("p1", "@@ -1 +1 @@\n-a\n+b\n")).await;
    desk.say(&session, patch("p2", &long)).await;
    desk.caught_up().await;
    let params =
        json!({"sessionId": session, "filePath": "a", "beforeRef": "patch:p1", "afterRef": "patch:p2"});
    let found = |diff: &str| {
        Found::Patch(PatchText {
            diff: diff.to_owned(),
            file_path: "a".to_owned(),
            base_hash: Some("sha256:0".to_owned()),
        })
    };
    let whole = (found("@@ -1 +1 @@\n-a\n+b\n"), Some(found(&long)));
    let job = desk.diff(params.clone()).await;
    assert_eq!((job.left.found.clone(), right(&job).map(|side| side.found.clone())), whole);
    desk.finish(&session, 1, "done").await;
    desk.caught_up().await;
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    let job = desk.diff(params).await;
    assert_eq!((job.left.found.clone(), right(&job).map(|side| side.found.clone())), whole);
}

#[tokio::test]
async fn r000_32_a_session_that_works_elsewhere_is_compared_there_and_never_in_the_first_folder() {
    for (workspace, named, root) in [
        (Some("/other"), None, DiffRoot::At("/other".into(), None)),
        (Some("/other"), Some("w"), DiffRoot::At("/other".into(), Some("w".to_owned()))),
        (None, None, DiffRoot::Unknown),
        (None, Some("w"), DiffRoot::Named(Some("w".to_owned()))),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let desk = Desk::at(dir.path(), Setup { holds: true, ..Setup::default() });
        let session = EngineSession {
            session_id: "s1".to_owned(),
            status: "running".to_owned(),
            workspace: workspace.map(PathBuf::from),
            ..EngineSession::default()
        };
        let engine = async {
            loop {
                let call = desk.calls.0.lock().unwrap().pop();
                if let Some(EngineCall::MakeSession { wish, reply, .. }) = call {
                    let wish = NewSession { workspace: None, ..wish };
                    return desk
                        .engine
                        .send(EngineReport::SessionMade { wish, outcome: Ok(session), reply })
                        .await;
                }
                tokio::task::yield_now().await;
            }
        };
        let (made, sent) = tokio::join!(desk.ask("bb/createSession", json!({})), engine);
        made.unwrap();
        sent.unwrap();
        let job = desk.diff(json!({"sessionId": "s1", "filePath": "a", "root": named})).await;
        assert_eq!(job.root, root);
    }
}
