//! Tests of the jobs of the workspace edge: their bounds, and that each is answered.

use std::sync::{Arc, mpsc};

use serde_json::json;
use tokio::runtime::Handle;

use super::{WAITING, WorkspaceFiles};
use crate::app::inbox::{Answer, Reply};
use crate::app::ports::{
    Applied, FileJob, FileJobDone, Files, TurnJob, TurnJobDone, TurnOpened, TurnTold, TurnWatch,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::overlay::Overlay;
use crate::domain::edits::text::content_hash;
use crate::process::this_program;
use crate::protocol::request::{AttachmentPutResult, ListFilesParams, ListFilesResult};
use crate::protocol::standing::CommandBounds;
use crate::workspace::root::tests::folder;

fn submit<T>(files: &WorkspaceFiles, job: impl FnOnce(Reply<T>) -> FileJob) -> Answer<T> {
    let (reply, answer) = Reply::new();
    files.submit(job(reply), Arc::new(Overlay::new()));
    answer
}

fn listing(reply: Reply<ListFilesResult>) -> FileJob {
    let params = ListFilesParams {
        session_id: Some("s".to_owned()),
        tab_id: None,
        path: String::new(),
        root: None,
        gitignore: None,
    };
    FileJob::List { params, reply }
}

fn attachment(reply: Reply<AttachmentPutResult>) -> FileJob {
    FileJob::StoreAttachment {
        session_id: "s".to_owned(),
        name: "n".to_owned(),
        mime: None,
        uri: None,
        base64: Some("YWJj".to_owned()),
        reply,
    }
}

#[tokio::test]
async fn every_job_is_answered() {
    let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (done, heard) = mpsc::channel();
    let files = WorkspaceFiles::new(Handle::current(), this_program(), move |job| done.send(job).unwrap());
    assert_eq!(
        submit(&files, listing).await.unwrap().unwrap_err().code,
        ErrorCode::NotFound,
        "no folder is open yet"
    );
    files.set_folders(&[folder("ws", root.path())]);
    files.set_state_dir(state.path().to_owned());
    let write = |reply| FileJob::Write {
        turn: None,
        root: Some("ws".to_owned()),
        path: "a".to_owned(),
        base_hash: None,
        text: "abc".to_owned(),
        reply,
    };
    let written = submit(&files, write).await.unwrap();
    assert_eq!(written, Ok(Applied { applied_hash: content_hash(b"abc"), saved: true }));
    let listed = submit(&files, listing).await.unwrap();
    let entries = json!([{ "path": "a", "name": "a", "type": "file", "size": 3 }]);
    assert_eq!(json!(listed.unwrap()), json!({ "path": "", "entries": entries, "truncated": false }));
    #[cfg(unix)]
    {
        let run = |reply| FileJob::Run {
            background: None,
            command: "cat a".to_owned(),
            cwd: ".".to_owned(),
            call: None,
            bounds: CommandBounds::default(),
            reply,
        };
        let ran = submit(&files, run).await.unwrap().unwrap();
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "abc"));
    }
    let answer = submit(&files, attachment);
    let job = tokio::task::spawn_blocking(move || heard.recv().unwrap()).await.unwrap();
    let FileJobDone::Stored { session_id, outcome, reply } = job else { panic!("{job:?}") };
    assert_eq!((session_id.as_str(), outcome.map(|stored| stored.bytes)), ("s", Ok(3)));
    reply.refuse(CodedError::internal());
    assert_eq!(answer.await.unwrap(), Err(CodedError::internal()));
}

// One thread that the test itself holds: nothing begins before every job was submitted.
#[tokio::test(flavor = "current_thread")]
async fn past_the_bound_a_job_is_refused_at_once() {
    let root = tempfile::tempdir().unwrap();
    let (done, heard) = mpsc::channel();
    let files = WorkspaceFiles::new(Handle::current(), this_program(), move |job| done.send(job).unwrap());
    files.set_folders(&[folder("ws", root.path())]);
    let taken: Vec<Answer<ListFilesResult>> = (0..WAITING).map(|_| submit(&files, listing)).collect();
    let mut refused = submit(&files, listing);
    assert_eq!(refused.try_recv().unwrap().unwrap_err().code, ErrorCode::Overloaded);
    drop(submit(&files, attachment));
    let FileJobDone::Stored { outcome, .. } = heard.try_recv().unwrap() else { panic!() };
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Overloaded);
    for answer in taken {
        assert!(answer.await.unwrap().is_ok());
    }
    assert!(submit(&files, listing).await.unwrap().is_ok(), "places are free again");
}

#[tokio::test]
async fn a_write_right_behind_the_beginning_of_its_turn_is_one_of_its_changes() {
    let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (done, heard) = mpsc::channel();
    let files = WorkspaceFiles::new(Handle::current(), this_program(), move |job| done.send(job).unwrap());
    files.set_folders(&[folder("ws", root.path())]);
    files.set_state_dir(state.path().to_owned());
    // The write and the beginning are made on two threads, whichever comes first.
    for turn in 1..=50 {
        let begin = |ready| {
            let (session_id, text, watch) = ("s".to_owned(), String::new(), TurnWatch::BeforeCommands);
            let turn = TurnOpened { session_id, turn, number: turn, at: 0, text, watch };
            FileJob::Turn(TurnJob::Begin { turn, ready })
        };
        let write = |reply| FileJob::Write {
            turn: Some("s".to_owned()),
            root: Some("ws".to_owned()),
            path: format!("a{turn}"),
            base_hash: None,
            text: "abc".to_owned(),
            reply,
        };
        let begun = submit(&files, begin);
        submit(&files, write).await.unwrap().unwrap();
        begun.await.unwrap().unwrap();
        let end = TurnJob::End { session_id: "s".to_owned() };
        files.submit(FileJob::Turn(end), Arc::new(Overlay::new()));
        // Of a turn without a change nothing would be told at all, so the next one would be heard of.
        let FileJobDone::Turn(TurnJobDone::Ended { told: TurnTold { turn: told, files, .. }, .. }) =
            heard.recv_timeout(std::time::Duration::from_secs(20)).unwrap()
        else {
            panic!("no turn ended")
        };
        assert_eq!((told, files.len()), (turn, 1));
    }
}
