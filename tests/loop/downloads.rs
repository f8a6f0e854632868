//! Artifacts of the engine's: asked for, told of while they come, kept and dropped.

use std::path::{Path, PathBuf};

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};

/// One `EngineCall::Stream(StreamCall::Download)`.
pub struct Wanted {
    pub session_id: String,
    pub artifact_path: String,
    pub to: PathBuf,
    pub purpose: DownloadFor,
}

impl Desk {
    /// The next download that the engine is asked for.
    pub async fn wanted_download(&self) -> Wanted {
        loop {
            {
                let mut calls = self.calls.0.lock().unwrap();
                if let Some(at) = calls
                    .iter()
                    .position(|call| matches!(call, EngineCall::Stream(StreamCall::Download { .. })))
                {
                    let EngineCall::Stream(StreamCall::Download { session_id, artifact_path, to, purpose }) =
                        calls.remove(at)
                    else {
                        unreachable!()
                    };
                    return Wanted { session_id, artifact_path, to, purpose };
                }
            }
            tokio::task::yield_now().await;
        }
    }

    pub async fn downloaded(&self, wanted: Wanted, outcome: Result<(), CodedError>) {
        let Wanted { session_id, artifact_path, to, purpose } = wanted;
        let outcome = outcome.map(|()| Artifact { path: to, bytes: 3, sha256: "abc".to_owned() });
        let report =
            EngineReport::Stream(StreamReport::Downloaded { session_id, artifact_path, outcome, purpose });
        self.engine.send(report).await.unwrap();
    }

    async fn downloading(&self, wanted: &Wanted, bytes: u64, total: Option<u64>) {
        let DownloadFor::Client { progress: Some(token), .. } = &wanted.purpose else {
            panic!("no progress")
        };
        self.engine
            .send(EngineReport::Stream(StreamReport::Downloading { token: token.clone(), bytes, total }))
            .await
            .unwrap();
    }

    /// Values of `$/progress` under a token.
    fn progress(&self, token: &Value) -> Vec<Value> {
        let heard = self.heard("$/progress");
        heard
            .iter()
            .filter(|params| params["token"] == *token)
            .map(|params| params["value"].clone())
            .collect()
    }
}

fn is_below(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) && !path.components().any(|part| part.as_os_str() == "..")
}

#[tokio::test]
async fn r000_33_an_artifact_comes_to_disk_and_its_progress_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    for token in [json!("t"), json!(7)] {
        let params = json!({"sessionId": session, "artifactPath": "../logs/out.txt", "workDoneToken": token});
        let engine = async {
            let wanted = desk.wanted_download().await;
            assert_eq!((&wanted.session_id, wanted.artifact_path.as_str()), (&session, "../logs/out.txt"));
            assert!(is_below(&wanted.to, &dir.path().join("artifacts").join(&session)), "{:?}", wanted.to);
            assert_eq!(wanted.to.file_name().unwrap(), "out.txt");
            assert!(desk.progress(&token).is_empty(), "nothing has come yet");
            desk.downloading(&wanted, 1 << 20, Some(4 << 20)).await;
            desk.downloading(&wanted, 9 << 20, Some(4 << 20)).await;
            let to = wanted.to.clone();
            desk.downloaded(wanted, Ok(())).await;
            to
        };
        let (answer, to) = tokio::join!(desk.ask("bb/downloadArtifact", params), engine);
        let uri = format!("file://{}", to.display());
        assert_eq!(
            answer,
            Ok(json!({"artifactPath": "../logs/out.txt", "uri": uri, "bytes": 3, "sha256": "abc"}))
        );
        assert_eq!(
            desk.progress(&token),
            [
                json!({"kind": "begin", "title": "Downloading", "cancellable": false, "percentage": 0}),
                json!({"kind": "report", "message": "1.0 MiB of 4.0 MiB", "percentage": 25}),
                json!({"kind": "report", "message": "9.0 MiB of 4.0 MiB", "percentage": 100}),
                json!({"kind": "end"}),
            ]
        );
    }
}

#[tokio::test]
async fn r000_33_36_a_download_that_fails_or_is_cancelled_ends_its_progress() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    let token = json!("t");
    let params = json!({"sessionId": session, "artifactPath": "a", "workDoneToken": token});
    let engine = async {
        let wanted = desk.wanted_download().await;
        desk.downloading(&wanted, 5, None).await;
        desk.downloaded(wanted, Err(CodedError::new(ErrorCode::NotFound, "There is no such artifact.")))
            .await;
    };
    let (answer, ()) = tokio::join!(desk.ask("bb/downloadArtifact", params.clone()), engine);
    assert_eq!(answer.unwrap_err().code, ErrorCode::NotFound);
    let kinds = |values: &[Value]| values.iter().map(|value| value["kind"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&desk.progress(&token)), ["begin", "report", "end"]);

    let asked = desk.ask("bb/downloadArtifact", params);
    let wanted = tokio::select! {
        _ = asked => panic!("nothing was downloaded yet"),
        wanted = desk.wanted_download() => wanted,
    };
    // The request is gone with its future, as a cancelled one is.
    let DownloadFor::Client { reply, .. } = &wanted.purpose else { panic!("another purpose") };
    assert!(reply.is_abandoned());
    desk.downloading(&wanted, 5, None).await;
    desk.downloaded(wanted, Err(CodedError::new(ErrorCode::Cancelled, "It was cancelled."))).await;
    desk.caught_up().await;
    assert_eq!(kinds(&desk.progress(&token)), ["begin", "report", "end", "begin", "report", "end"]);
}

#[tokio::test]
async fn r000_33_36_what_cannot_be_downloaded_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    for (params, code) in [
        (json!({"sessionId": session, "artifactPath": ""}), ErrorCode::InvalidParams),
        (json!({"sessionId": session, "artifactPath": "a\n"}), ErrorCode::InvalidParams),
        (json!({"sessionId": session, "artifactPath": "a".repeat(4_097)}), ErrorCode::InvalidParams),
        (json!({"sessionId": session, "artifactPath": "a", "workDoneToken": {}}), ErrorCode::InvalidParams),
        (json!({"sessionId": session, "artifactPath": "a", "workDoneToken": 1.5}), ErrorCode::InvalidParams),
        (json!({"sessionId": "nobody", "artifactPath": "a"}), ErrorCode::UnknownSession),
    ] {
        assert_eq!(desk.ask("bb/downloadArtifact", params.clone()).await.unwrap_err().code, code, "{params}");
    }
}

#[tokio::test]
async fn artifacts_go_with_their_session() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let session = desk.session().await;
    desk.ask("bb/deleteSession", json!({"sessionId": session})).await.unwrap();
    let jobs = std::mem::take(&mut *desk.jobs.0.lock().unwrap());
    let [FileJob::DropArtifacts { folder }] = jobs.as_slice() else { panic!("{jobs:?}") };
    assert_eq!(*folder, dir.path().join("artifacts").join(&session));
}
