//! A spec that is written and sent (seed 004): the draft, what is dirty, what is offered and what is sent. The files
//! themselves are in `workspace::spec`, the wire is in `tests/e2e/create_spec.rs`.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use breadboard_ls::testing::app::Event;
use breadboard_ls::testing::app::ports::{
    Attachment, EngineCall, EngineReport, EngineSession, FileJob, FileJobDone, Preview, SpecFilesDone,
    SpecJob,
};
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::spec::images::ImageFault;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup};
use crate::journal::Faults;

async fn ready(desk: &Desk) -> Value {
    desk.ask("bb/createSpec/ready", json!({})).await.unwrap()
}

async fn autosave(desk: &Desk, description: &str) -> Value {
    desk.ask("bb/createSpec/autosave", json!({ "description": description })).await.unwrap()
}

async fn close_attempt(desk: &Desk, dirty: bool) -> Value {
    let params = json!({ "hasDirtyChanges": dirty });
    desk.ask("bb/createSpec/closeAttempt", params).await.unwrap()["shouldClose"].clone()
}

async fn submit(desk: &Desk, description: &str, uris: &[&str]) -> Result<Value, CodedError> {
    desk.ask("bb/createSpec/submit", json!({ "description": description, "imageUris": uris })).await
}

/// The description that the form opens with; opening makes it clean, so ask for it last.
async fn kept(desk: &Desk) -> Option<String> {
    let init = ready(desk).await;
    init["draft"]["formData"]["description"].as_str().map(str::to_owned)
}

/// The next job for files of a spec.
async fn job(desk: &Desk) -> SpecJob {
    loop {
        let taken = {
            let mut jobs = desk.jobs.0.lock().unwrap();
            let at = jobs.iter().position(|job| matches!(job, FileJob::Spec(_)));
            at.map(|at| jobs.remove(at))
        };
        match taken {
            Some(FileJob::Spec(job)) => return job,
            _ => tokio::task::yield_now().await,
        }
    }
}

fn done(desk: &Desk, done: SpecFilesDone) {
    desk.inbox.send(Event::FileJobDone(FileJobDone::Spec(done))).unwrap();
}

fn preview(uri: &str) -> Preview {
    Preview {
        uri: uri.to_owned(),
        name: uri.replace("file:///", ""),
        data_url: "data:image/png;base64,AA==".into(),
    }
}

/// Does the next preview, as the edge would do it.
async fn do_preview(desk: &Desk) -> Vec<String> {
    let SpecJob::Preview { uris, pick } = job(desk).await else { panic!("a preview is wanted") };
    let previews = uris.iter().map(|uri| preview(uri)).collect();
    done(desk, SpecFilesDone::Previewed { outcome: Ok(previews), pick });
    uris
}

async fn attach(desk: &Desk, uris: &[&str], count: u64) -> Value {
    let params = json!({ "uris": uris, "currentCount": count });
    let (answer, _) = tokio::join!(desk.ask("bb/createSpec/attachImages", params), do_preview(desk));
    answer.unwrap()
}

fn image(id: &str, uri: &str) -> Value {
    let name = uri.replace("file:///", "");
    json!({ "id": id, "uri": uri, "name": name, "dataUrl": "data:image/png;base64,AA==" })
}

fn stored(name: &str) -> Attachment {
    let path = PathBuf::from("/kept").join(name);
    Attachment { id: format!("att_{name}"), name: name.into(), mime: "image/png".into(), bytes: 1, path }
}

/// Texts and attachments of the prompts that the engine got.
fn prompts(desk: &Desk) -> Vec<(String, Vec<Attachment>)> {
    let calls = desk.calls.0.lock().unwrap();
    let prompts = calls.iter().filter_map(|call| match call {
        EngineCall::StartTurn { prompt, .. } => Some((prompt.text.clone(), prompt.attachments.clone())),
        _ => None,
    });
    prompts.collect()
}

fn code(answer: Result<Value, CodedError>) -> ErrorCode {
    answer.unwrap_err().code
}

#[tokio::test]
async fn r004_05_r004_12_r004_31_r004_32_a_form_opens_with_the_draft_that_was_kept_also_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    // Drafts need no trust and no session.
    let setup = Setup { trusted: false, holds: true, ..Setup::default() };
    let desk = Desk::at(dir.path(), setup);
    assert_eq!(ready(&desk).await, json!({ "shouldFocusPrimaryField": true }));
    assert_eq!(autosave(&desk, "first").await, json!({ "lastUpdated": 1_000 }));
    assert_eq!(autosave(&desk, " second\n").await, json!({ "lastUpdated": 1_001 }));
    let draft = json!({ "formData": { "description": " second\n" }, "lastUpdated": 1_001 });
    let init = json!({ "draft": draft, "shouldFocusPrimaryField": true });
    assert_eq!(ready(&desk).await, init);
    desk.kill().await;
    let desk = Desk::at(dir.path(), setup);
    assert_eq!(ready(&desk).await, init);
    desk.close().await;
    let elsewhere = Desk::at(dir.path(), Setup { folder: "file:///other", ..setup });
    assert_eq!(ready(&elsewhere).await, json!({ "shouldFocusPrimaryField": true }));
}

#[tokio::test]
async fn r004_14_closing_asks_whenever_the_text_is_neither_submitted_nor_as_it_was_opened_and_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    ready(&desk).await;
    assert_eq!(close_attempt(&desk, false).await, json!(true));
    assert_eq!(close_attempt(&desk, true).await, json!(false), "what is not saved yet, such as images");
    autosave(&desk, "text").await;
    assert_eq!(close_attempt(&desk, false).await, json!(false), "saved is not clean");
    assert_eq!(kept(&desk).await.as_deref(), Some("text"));
    assert_eq!(close_attempt(&desk, false).await, json!(true), "as it was opened");
    let last = json!({ "hasDirtyChanges": true, "description": "text, and the last words" });
    let answer = desk.ask("bb/createSpec/closeAttempt", last).await.unwrap();
    assert_eq!(answer, json!({ "shouldClose": false }));
    desk.kill().await;
    let desk = Desk::at(dir.path(), Setup::default());
    assert_eq!(close_attempt(&desk, false).await, json!(false), "also of a process before this one");
    assert_eq!(kept(&desk).await.as_deref(), Some("text, and the last words"));
}

#[tokio::test]
async fn only_discard_deletes_a_draft() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    attach(&desk, &["file:///a.png"], 0).await;
    autosave(&desk, "text").await;
    assert_eq!(desk.ask("bb/createSpec/discard", json!({})).await, Ok(json!({})));
    assert_eq!(close_attempt(&desk, false).await, json!(true));
    assert_eq!(code(submit(&desk, "x", &["file:///a.png"]).await), ErrorCode::InvalidParams);
    desk.ask("bb/createSpec/discard", json!({})).await.unwrap();
    desk.kill().await;
    let desk = Desk::at(dir.path(), Setup::default());
    assert_eq!(kept(&desk).await, None);
}

#[tokio::test]
async fn r004_06_r004_33_a_submitted_spec_is_a_prompt_of_the_active_session_and_its_draft_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let older = desk.session().await;
    let active = desk.session().await;
    autosave(&desk, " text\n").await;
    let sent = submit(&desk, " text\n", &[]).await.unwrap();
    let message_id = sent["messageId"].clone();
    let started = |session: &str, id: &Value| json!({ "sessionId": session, "messageId": id, "disposition": "started" });
    assert_eq!(sent, started(&active, &message_id));
    assert_eq!(prompts(&desk), [("text".to_owned(), vec![])]);
    assert_eq!(close_attempt(&desk, false).await, json!(true));
    assert_eq!(autosave(&desk, " text\n").await, json!({}), "a save that was on its way");
    assert_eq!(kept(&desk).await, None);
    let params = json!({ "description": "more", "imageUris": [], "sessionId": older, "messageId": "m" });
    for _ in 0..2 {
        let sent = desk.ask("bb/createSpec/submit", params.clone()).await.unwrap();
        assert_eq!(sent, started(&older, &json!("m")), "sent once, answered twice");
    }
    assert_eq!(prompts(&desk).len(), 2);
    let tab = json!({ "description": "more", "imageUris": [], "tabId": "t" });
    assert_eq!(code(desk.ask("bb/createSpec/submit", tab).await), ErrorCode::UnknownTab);
}

#[tokio::test]
async fn without_a_session_one_is_made_here_or_at_the_engine() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let sent = submit(&desk, "here", &[]).await.unwrap();
    let list = desk.ask("bb/listSessions", json!({})).await.unwrap();
    assert_eq!(list["sessions"][0]["sessionId"], sent["sessionId"]);
    assert_eq!(prompts(&desk), [("here".to_owned(), vec![])]);

    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { holds: true, ..Setup::default() });
    let answer_call = async {
        loop {
            let taken = {
                let mut calls = desk.calls.0.lock().unwrap();
                let at = calls.iter().position(|call| matches!(call, EngineCall::MakeSession { .. }));
                at.map(|at| calls.remove(at))
            };
            let Some(EngineCall::MakeSession { wish, reply, .. }) = taken else {
                tokio::task::yield_now().await;
                continue;
            };
            assert_eq!(wish.workspace, Some(PathBuf::from("/w")));
            let made = EngineSession {
                session_id: "held".to_owned(),
                status: "starting".to_owned(),
                workspace: Some("/w".into()),
                ..EngineSession::default()
            };
            let report = EngineReport::SessionMade { wish, outcome: Ok(made), reply };
            return desk.engine.send(report).await.unwrap();
        }
    };
    let (sent, ()) = tokio::join!(submit(&desk, "there", &[]), answer_call);
    let sent = sent.unwrap();
    assert_eq!((&sent["sessionId"], &sent["disposition"]), (&json!("held"), &json!("started")));
    assert_eq!(prompts(&desk), [("there".to_owned(), vec![])]);
    assert_eq!(kept(&desk).await, None);
}

#[tokio::test]
async fn where_the_active_session_is_of_a_former_engine_the_spec_gets_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let setup = Setup { holds: true, ..Setup::default() };
    let desk = Desk::at(dir.path(), setup);
    let answer_call = async |desk: &Desk| {
        loop {
            let taken = {
                let mut calls = desk.calls.0.lock().unwrap();
                let at = calls.iter().position(|call| matches!(call, EngineCall::MakeSession { .. }));
                at.map(|at| calls.remove(at))
            };
            let Some(EngineCall::MakeSession { wish, reply, .. }) = taken else {
                tokio::task::yield_now().await;
                continue;
            };
            let made = EngineSession {
                session_id: "former".to_owned(),
                status: "starting".to_owned(),
                workspace: Some("/w".into()),
                ..EngineSession::default()
            };
            let report = EngineReport::SessionMade { wish, outcome: Ok(made), reply };
            return desk.engine.send(report).await.unwrap();
        }
    };
    let (former, ()) = tokio::join!(desk.session(), answer_call(&desk));
    desk.kill().await;

    let desk = Desk::at(dir.path(), Setup::default());
    desk.ask("bb/selectSession", json!({ "sessionId": former })).await.unwrap();
    let named = json!({ "description": "text", "imageUris": [], "sessionId": former });
    assert_eq!(code(desk.ask("bb/createSpec/submit", named).await), ErrorCode::Unsupported);
    let sent = submit(&desk, "text", &[]).await.unwrap();
    assert_ne!(sent["sessionId"], json!(former));
    assert_eq!(prompts(&desk), [("text".to_owned(), vec![])]);
    assert_eq!(kept(&desk).await, None);
}

#[tokio::test]
async fn r004_36_a_spec_that_cannot_be_sent_says_why_and_its_draft_stays() {
    let dir = tempfile::tempdir().unwrap();
    let setup = Setup { trusted: false, holds: true, ..Setup::default() };
    let desk = Desk::at(dir.path(), setup);
    autosave(&desk, "tex").await;
    let refused = submit(&desk, "text", &[]).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UntrustedWorkspace);
    assert!(refused.message.contains("not trusted"), "{}", refused.message);
    let nobody = json!({ "description": "text", "imageUris": [], "sessionId": "nobody" });
    assert_eq!(code(desk.ask("bb/createSpec/submit", nobody).await), ErrorCode::UnknownSession);
    assert_eq!(close_attempt(&desk, false).await, json!(false));
    desk.kill().await;
    let desk = Desk::at(dir.path(), setup);
    assert_eq!(kept(&desk).await.as_deref(), Some("text"), "what was to be sent, also after a kill");
    let without = tempfile::tempdir().unwrap();
    let desk = Desk::at(without.path(), Setup { engine: false, ..Setup::default() });
    assert_eq!(code(submit(&desk, "text", &[]).await), ErrorCode::Unsupported);
    assert_eq!(kept(&desk).await.as_deref(), Some("text"));
}

#[tokio::test]
async fn r004_08_r004_10_r004_11_r004_55_what_a_client_may_not_submit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    desk.session().await;
    autosave(&desk, "text").await;
    attach(&desk, &["file:///a.png"], 0).await;
    let refused = async |text: &str, uris: &[&str]| {
        let error = submit(&desk, text, uris).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidParams);
        error.message
    };
    let blank = "The description is blank; describe what is to be specified, then submit again.";
    assert_eq!(refused(" \n\t", &[]).await, blank);
    assert_eq!(refused("", &["file:///a.png"]).await, blank, "images alone are no spec");
    let many = "A spec takes at most 5 images; remove some, then submit again.";
    assert_eq!(refused("x", &["file:///a.png"; 6]).await, many);
    let strange = "One of the images was not attached through breadboard-ls; attach it again, then submit.";
    for uri in ["file:///etc/passwd", "https://example.com/a.png", "data:image/png;base64,AA=="] {
        assert_eq!(refused("x", &["file:///a.png", uri]).await, strange, "{uri}");
    }
    assert_eq!((prompts(&desk), kept(&desk).await.as_deref()), (vec![], Some("text")));
}

#[tokio::test]
async fn r004_09_r004_30_r004_46_r004_47_images_are_offered_with_ids_that_stay_and_go_with_the_prompt() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let first = attach(&desk, &["file:///a.png", "file:///b.png"], 0).await;
    assert_eq!(first, json!({ "images": [image("id-1", "file:///a.png"), image("id-2", "file:///b.png")] }));
    desk.kill().await;
    // The webview lives on while its server is started again: what it was given still counts, under the same id.
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..Setup::default() });
    let again = attach(&desk, &["file:///b.png", "file:///c.png"], 1).await;
    assert_eq!(
        again,
        json!({ "images": [image("id-2", "file:///b.png"), image("id-100", "file:///c.png")] })
    );
    let session = desk.session().await;
    let (sent, uris) =
        tokio::join!(submit(&desk, "text", &["file:///c.png", "file:///a.png", "file:///c.png"]), async {
            let SpecJob::Keep { uris, sending } = job(&desk).await else { panic!("images are to be kept") };
            done(&desk, SpecFilesDone::Kept { outcome: Ok(vec![stored("c"), stored("a")]), sending });
            uris
        });
    assert_eq!(sent.unwrap()["sessionId"], json!(session));
    assert_eq!(uris, ["file:///c.png", "file:///a.png"], "each once");
    assert_eq!(prompts(&desk), [("text".to_owned(), vec![stored("c"), stored("a")])]);
    let events = desk.events(&session).await;
    assert_eq!(events[0]["payload"]["attachmentIds"], json!(["att_c", "att_a"]));
    assert_eq!(
        code(submit(&desk, "x", &["file:///a.png"]).await),
        ErrorCode::InvalidParams,
        "of another spec"
    );
}

#[tokio::test]
async fn an_image_that_cannot_be_kept_stops_the_submission_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    attach(&desk, &["file:///a.png"], 0).await;
    let gone = CodedError::new(ErrorCode::NotFound, "It is gone; attach another.");
    let (sent, ()) = tokio::join!(submit(&desk, "text", &["file:///a.png"]), async {
        let SpecJob::Keep { sending, .. } = job(&desk).await else { panic!("images are to be kept") };
        done(&desk, SpecFilesDone::Kept { outcome: Err(gone.clone()), sending });
    });
    assert_eq!(sent, Err(gone));
    assert_eq!(prompts(&desk), []);
    let list = desk.ask("bb/listSessions", json!({})).await.unwrap();
    assert_eq!(list, json!({ "sessions": [] }), "no session was made for it");
    assert_eq!(kept(&desk).await.as_deref(), Some("text"));
}

#[tokio::test]
async fn r004_29_r004_50_r004_57_r004_64_the_cap_holds_whatever_is_picked_counted_or_on_its_way() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let names: Vec<String> = (0..9).map(|at| format!("file:///{at}.png")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let capped = attach(&desk, &names[..4], 3).await;
    assert_eq!(capped["images"].as_array().unwrap().len(), 2);
    assert_eq!(capped["capped"], json!(true));
    let none = json!({ "images": [], "capped": true });
    for count in [5, 6, 4_000_000_000_u64] {
        let params = json!({ "uris": names, "currentCount": count });
        assert_eq!(desk.ask("bb/createSpec/attachImages", params).await, Ok(none.clone()), "{count}");
    }
    for count in [json!(-1), json!(2.5), json!("1"), json!(null)] {
        let params = json!({ "uris": names, "currentCount": count });
        assert_eq!(code(desk.ask("bb/createSpec/attachImages", params).await), ErrorCode::InvalidParams);
    }
    // Two picks at once share the room that there is, whoever is done first.
    let params = |uris: &[&str]| json!({ "uris": uris, "currentCount": 0 });
    let (one, two, ()) = tokio::join!(
        desk.ask("bb/createSpec/attachImages", params(&names[..3])),
        desk.ask("bb/createSpec/attachImages", params(&names[3..6])),
        async {
            let jobs = [job(&desk).await, job(&desk).await];
            for job in jobs.into_iter().rev() {
                let SpecJob::Preview { uris, pick } = job else { panic!("a preview is wanted") };
                let previews = uris.iter().map(|uri| preview(uri)).collect();
                done(&desk, SpecFilesDone::Previewed { outcome: Ok(previews), pick });
            }
        }
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    let count = |answer: &Value| answer["images"].as_array().unwrap().len();
    assert_eq!((count(&one), count(&two), &two["capped"]), (3, 2, &json!(true)));
    // What the form names is not given twice, and is counted.
    let held =
        json!({ "uris": [names[0], names[1], names[1]], "currentCount": 0, "currentUris": [names[0]] });
    let (answer, read) = tokio::join!(desk.ask("bb/createSpec/attachImages", held), do_preview(&desk));
    let answer = answer.unwrap();
    assert_eq!(
        (read.as_slice(), count(&answer), &answer["duplicates"]),
        (&[names[1].to_owned()][..], 1, &json!(2))
    );
    // A fault is a result, offers nothing and leaves its places.
    let params = json!({ "uris": [names[8]], "currentCount": 4 });
    let (answer, ()) = tokio::join!(desk.ask("bb/createSpec/attachImages", params), async {
        let SpecJob::Preview { pick, .. } = job(&desk).await else { panic!("a preview is wanted") };
        done(&desk, SpecFilesDone::Previewed { outcome: Err(ImageFault::TooLarge), pick });
    });
    assert_eq!(answer, Ok(json!({ "error": "One or more files exceed the 10 MB size limit." })));
    assert_eq!(code(submit(&desk, "x", &[names[8]]).await), ErrorCode::InvalidParams);
    assert_eq!(count(&attach(&desk, &names[8..], 4).await), 1);
    // A job that got lost leaves them too.
    let params = json!({ "uris": [names[7]], "currentCount": 4 });
    let (lost, ()) = tokio::join!(desk.ask("bb/createSpec/attachImages", params), async {
        drop(job(&desk).await);
    });
    assert_eq!(code(lost), ErrorCode::Internal);
    assert_eq!(count(&attach(&desk, &names[7..8], 4).await), 1);
}

#[tokio::test]
async fn a_draft_that_the_disk_does_not_take_is_said_and_stays_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let (open, faults) = Faults::over(dir.path());
    let desk = Desk::with_journal(open, Setup::default());
    autosave(&desk, "one").await;
    faults.full.store(true, Ordering::SeqCst);
    let refused = desk.ask("bb/createSpec/autosave", json!({ "description": "two" })).await.unwrap_err();
    assert!(refused.message.contains("disk of the state directory is full"), "{}", refused.message);
    assert_eq!(kept(&desk).await.as_deref(), Some("two"));
    faults.full.store(false, Ordering::SeqCst);
    autosave(&desk, "three").await;
    let large = "x".repeat((1 << 20) + 1);
    let refused = desk.ask("bb/createSpec/autosave", json!({ "description": large })).await;
    assert_eq!(code(refused), ErrorCode::TooLarge);
    desk.kill().await;
    let desk = Desk::at(dir.path(), Setup::default());
    assert_eq!(kept(&desk).await.as_deref(), Some("three"));
}
