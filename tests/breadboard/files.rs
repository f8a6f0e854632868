//! Files, artifacts, and events read again.

use std::path::{Path, PathBuf};

use breadboard_ls::testing::app::inbox::Reply;
use breadboard_ls::testing::app::ports::{
    Artifact, DownloadFor, Engine, EngineCall, EngineReport, StreamCall, StreamReport,
};
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::protocol::request::{ListFilesParams, ReadFileSnippetParams};
use breadboard_ls::testing::simulate::breadboard::{HoldPoint, Simulator, SimulatorOptions};
use serde_json::{Value, json};

use crate::desk::{Desk, seen, simulator};

async fn list(desk: &Desk, id: &str, path: &str) -> Result<Value, CodedError> {
    let params = ListFilesParams {
        session_id: Some(id.to_owned()),
        tab_id: None,
        path: path.to_owned(),
        root: None,
        gitignore: None,
    };
    desk.ask(|reply| EngineCall::Stream(StreamCall::ListFiles { params, reply })).await
}

async fn read(desk: &Desk, id: &str, path: &str, more: Value) -> Result<Value, CodedError> {
    let mut params = json!({ "sessionId": id, "path": path });
    params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let params: ReadFileSnippetParams = serde_json::from_value(params).expect("params");
    desk.ask(|reply| EngineCall::Stream(StreamCall::ReadFile { params, reply })).await
}

async fn download(desk: &mut Desk, id: &str, path: &str, to: &Path) -> Result<Artifact, CodedError> {
    let (reply, _answer) = Reply::new();
    let purpose = DownloadFor::Client { reply, progress: None };
    let (session_id, artifact_path, to) = (id.to_owned(), path.to_owned(), to.to_owned());
    desk.engine.call(EngineCall::Stream(StreamCall::Download { session_id, artifact_path, to, purpose }));
    ended(desk).await
}

async fn ended(desk: &mut Desk) -> Result<Artifact, CodedError> {
    desk.wait(|report| match report {
        EngineReport::Stream(StreamReport::Downloaded { outcome, .. }) => Some(outcome),
        _ => None,
    })
    .await
}

async fn session(engine: &Simulator) -> (Desk, String, PathBuf) {
    let mut desk = Desk::connected(engine).await;
    let id = desk.make().await;
    let workspace = engine.workspace(&id).expect("a workspace");
    (desk, id, workspace)
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_30_a_directory_of_the_engine_is_listed() {
    let engine = simulator(SimulatorOptions::default());
    let (desk, id, workspace) = session(&engine).await;
    std::fs::create_dir_all(workspace.join("src/zoo")).expect("a directory");
    std::fs::write(workspace.join("src/b.rs"), "12345").expect("a file");
    assert_eq!(
        list(&desk, &id, "./src/").await,
        Ok(json!({
            "path": "src",
            "entries": [
                { "path": "src/zoo", "name": "zoo", "type": "directory" },
                { "path": "src/b.rs", "name": "b.rs", "type": "file", "size": 5 },
            ],
            "truncated": false,
        }))
    );
    for (path, code) in [
        ("nowhere", ErrorCode::NotFound),
        ("src/b.rs", ErrorCode::NotFound),
        ("../x", ErrorCode::PathOutsideWorkspace),
        ("/etc", ErrorCode::PathOutsideWorkspace),
    ] {
        assert_eq!(list(&desk, &id, path).await.expect_err("is refused").code, code, "{path}");
    }
    assert_eq!(list(&desk, "nobody", "").await.expect_err("is refused").code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_31_ranges_are_true_and_line_ends_are_kept() {
    let engine = simulator(SimulatorOptions::default());
    let (desk, id, workspace) = session(&engine).await;
    std::fs::write(workspace.join("a.txt"), "1\r\n2\r\n3\r\n4\r\n5").expect("a file");
    let result = |content: &str, truncated: bool, ranges: Value| {
        json!({
            "path": "a.txt", "content": content, "totalBytes": 13, "truncated": truncated, "ranges": ranges,
            "source": "engine",
        })
    };
    let whole = json!([{ "startLine": 1, "endLine": 5 }]);
    assert_eq!(read(&desk, &id, "a.txt", json!({})).await, Ok(result("1\r\n2\r\n3\r\n4\r\n5", false, whole)));
    let ends = json!([{ "startLine": 1, "endLine": 1 }, { "startLine": 5, "endLine": 5 }]);
    assert_eq!(
        read(&desk, &id, "a.txt", json!({ "headLines": 1, "tailLines": 1 })).await,
        Ok(result("1\r\n⋯\n5", true, ends))
    );
    let two = json!([{ "startLine": 1, "endLine": 2 }]);
    assert_eq!(
        read(&desk, &id, "a.txt", json!({ "maxBytes": 6 })).await,
        Ok(result("1\r\n2\r\n", true, two))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_31_of_a_huge_file_only_the_ends_are_asked_for() {
    let engine = simulator(SimulatorOptions::default());
    let (desk, id, workspace) = session(&engine).await;
    let text: String = (1..=700_000).map(|line| format!("{line:07}\n")).collect();
    std::fs::write(workspace.join("huge"), &text).expect("a file");
    let answer = read(&desk, &id, "huge", json!({ "headLines": 2, "tailLines": 2, "maxBytes": 1_000 })).await;
    assert_eq!(
        answer,
        Ok(json!({
            "path": "huge", "content": "0000001\n0000002\n⋯\n0699999\n0700000\n", "totalBytes": text.len(),
            "truncated": true, "ranges": [{ "startLine": 1, "endLine": 2 }], "source": "engine",
        }))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_36_what_cannot_be_read_is_refused() {
    let engine = simulator(SimulatorOptions::default());
    let (desk, id, workspace) = session(&engine).await;
    std::fs::create_dir(workspace.join("d")).expect("a directory");
    std::fs::write(workspace.join("d/only"), "x").expect("a file");
    std::fs::write(workspace.join("bin"), [0, 1, 2]).expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/hosts", workspace.join("out")).expect("a link");
    for (path, code) in [
        ("nowhere", ErrorCode::NotFound),
        ("", ErrorCode::NotFound),
        ("d", ErrorCode::NotFound),
        ("bin", ErrorCode::NotText),
        ("../x", ErrorCode::PathOutsideWorkspace),
        #[cfg(unix)]
        ("out", ErrorCode::PathOutsideWorkspace),
    ] {
        let refused = read(&desk, &id, path, json!({})).await.expect_err("is refused");
        assert_eq!(refused.code, code, "{path}: {}", refused.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_33_an_artifact_comes_byte_for_byte() {
    let engine = simulator(SimulatorOptions::default());
    let (mut desk, id, workspace) = session(&engine).await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 253) as u8).collect();
    std::fs::write(workspace.join("blob"), &bytes).expect("a file");
    let place = tempfile::tempdir().expect("a place");
    let to = place.path().join("deep/blob");
    let artifact = download(&mut desk, &id, "blob", &to).await.expect("an artifact");
    assert!(std::fs::read(&to).expect("bytes") == bytes, "the bytes are the same");
    let sha256 = {
        use sha2::Digest;
        format!("{:x}", sha2::Sha256::digest(&bytes))
    };
    assert_eq!(artifact, Artifact { path: to.clone(), bytes: bytes.len() as u64, sha256 });
    for (path, code) in [
        ("nowhere", ErrorCode::NotFound),
        ("/etc/passwd", ErrorCode::PathOutsideWorkspace),
        (" ", ErrorCode::InvalidParams),
    ] {
        let refused = download(&mut desk, &id, path, &to).await.expect_err("is refused");
        assert_eq!(refused.code, code, "{path}: {}", refused.message);
    }
    let blocked = place.path().join("deep/blob/below");
    let refused = download(&mut desk, &id, "blob", &blocked).await.expect_err("is no directory");
    assert!(refused.message.contains("could not be written"), "{}", refused.message);
    let names: Vec<_> = std::fs::read_dir(place.path().join("deep")).expect("a directory").collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_33_a_download_that_nobody_waits_for_ends() {
    let engine = simulator(SimulatorOptions::default());
    let (mut desk, id, workspace) = session(&engine).await;
    std::fs::write(workspace.join("blob"), "x").expect("a file");
    let place = tempfile::tempdir().expect("a place");
    engine.hold_answers("/download", HoldPoint::BeforeAnswer);
    let (reply, answer) = Reply::new();
    let purpose = DownloadFor::Client { reply, progress: None };
    let to = place.path().join("blob");
    desk.engine.call(EngineCall::Stream(StreamCall::Download {
        session_id: id,
        artifact_path: "blob".to_owned(),
        to,
        purpose,
    }));
    seen(&engine, "/download", 1).await;
    drop(answer);
    assert_eq!(ended(&mut desk).await.expect_err("is cancelled").code, ErrorCode::Cancelled);
    assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 0);
    engine.release_answers();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_log_still_has_of_a_stretch_comes_back() {
    let engine = simulator(SimulatorOptions::default());
    let (mut desk, id, _) = session(&engine).await;
    let emitted =
        |number: u64| engine.emit(&id, "warning", &json!({ "message": number })).expect("a session");
    let warnings: Vec<u64> = (0..8).map(emitted).collect();
    let last = warnings[7];
    engine.evict(&id, last - 4);
    let (reply, _answer) = Reply::new();
    desk.engine.call(EngineCall::Stream(StreamCall::Rebuild {
        session_id: id.clone(),
        missing: (last - 6, last - 2),
        reply,
    }));
    let found = rebuilt(&mut desk).await.expect("something");
    let numbers: Vec<u64> = found.iter().map(|(_, seq)| *seq).collect();
    assert_eq!(numbers, [last - 3, last - 2]);
    // The engine may say something of its own between two of them.
    assert!(
        found.iter().all(|(event, seq)| (event.kind == "warning") == warnings.contains(seq)),
        "{found:?}"
    );
    let (reply, _answer) = Reply::new();
    desk.engine.call(EngineCall::Stream(StreamCall::Rebuild { session_id: id, missing: (1, 2), reply }));
    let nothing_left = rebuilt(&mut desk).await.map(|events| events.len());
    assert_eq!(nothing_left, Ok(0));
}

async fn rebuilt(
    desk: &mut Desk,
) -> Result<Vec<(breadboard_ls::testing::domain::event::EngineEvent, u64)>, CodedError> {
    desk.wait(|report| match report {
        EngineReport::Stream(StreamReport::Rebuilt { outcome, .. }) => Some(outcome),
        _ => None,
    })
    .await
}
