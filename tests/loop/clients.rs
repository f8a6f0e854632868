//! Several clients at one loop: each hears what it follows in its own way and time, nothing is lost or doubled, and what belongs
//! to one window stays there.

use breadboard_ls::testing::app::Event;
use breadboard_ls::testing::app::inbox::{
    Answer, DocumentEvent, EditorAbilities, EditorEvent, Reply, StartUp,
};
use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::edits::overlay::PositionEncoding;
use breadboard_ls::testing::domain::edits::text::content_hash;
use serde_json::{Value, json};

use crate::clients_runs::Chat;
use crate::desk::{Desk, Setup, Window, types};
use crate::tabs::make;

pub const ABLE: EditorAbilities = EditorAbilities {
    work_done_progress: false,
    apply_edit: true,
    document_changes: true,
    change_annotations: false,
    configuration: false,
    register_configuration: false,
    register_watched_files: false,
    terminal_run: true,
    document_save: false,
    context_provide: false,
    answers_by_itself: false,
    plain: None,
};

/// A desk whose first client counts in UTF-16, takes edits and runs commands.
fn desk(dir: &tempfile::TempDir) -> Desk {
    Desk::at(dir.path(), Setup { abilities: ABLE, ..Setup::default() })
}

/// A client that counts in bytes.
fn in_bytes(editor: EditorAbilities) -> StartUp {
    StartUp { encoding: PositionEncoding::Utf8, editor, ..StartUp::default() }
}

async fn hears(window: &Window, events: bool, view: bool) {
    window.ask("bb/init", json!({"subscribe": {"events": events, "view": view}})).await.unwrap();
}

async fn select(window: &Window, session_id: &str) -> Value {
    window.ask("bb/selectSession", json!({"sessionId": session_id})).await.unwrap()
}

pub fn open(window: &Window, path: &str, version: i64, text: &str) {
    window.tell(EditorEvent::Document(DocumentEvent::Opened {
        uri: format!("file:///w/{path}"),
        language_id: "text".to_owned(),
        version,
        text: text.to_owned(),
    }));
}

pub fn answered(window: &Window, id: &str, outcome: Result<Value, Value>) {
    window.tell(EditorEvent::Answered { id: id.to_owned(), outcome });
}

impl Desk {
    async fn wants<T>(&self, session_id: &str, make: impl FnOnce(Reply<T>) -> ClientRequest) -> Answer<T> {
        let (reply, answer) = Reply::new();
        let report = EngineReport::Wants { session_id: session_id.to_owned(), want: make(reply) };
        self.engine.send(report).await.unwrap();
        answer
    }

    pub async fn wants_text(&self, session_id: &str, path: &str, old: &str, new: &str) -> Answer<Applied> {
        let (path, text) = (path.to_owned(), new.to_owned());
        let base_hash = Some(content_hash(old.as_bytes()));
        self.wants(session_id, |reply| ClientRequest::ApplyText { root: None, path, base_hash, text, reply })
            .await
    }

    /// The edge answers with what is on disk of a file that an edit is for.
    pub async fn disk_has(&self, text: &str) {
        self.caught_up().await;
        let job = {
            let mut jobs = self.jobs.0.lock().unwrap();
            let at = jobs.iter().position(|job| matches!(job, FileJob::Read { .. })).expect("a read");
            jobs.remove(at)
        };
        let FileJob::Read { edit, .. } = job else { unreachable!("it was found as one") };
        let file = FileText { text: text.to_owned(), hash: content_hash(text.as_bytes()) };
        let done = FileJobDone::Read { edit, outcome: Ok(Some(file)) };
        self.inbox.send(Event::FileJobDone(done)).unwrap();
        self.caught_up().await;
    }

    async fn wants_run(&self, session_id: &str, command: &str) -> Answer<CommandRan> {
        let (command, cwd) = (command.to_owned(), ".".to_owned());
        let (call_id, background) = (None, None);
        self.wants(session_id, |reply| ClientRequest::RunCommand { command, cwd, call_id, background, reply })
            .await
    }
}

/// The id of the permission request that waits in a session.
async fn waiting(window: &Window, session_id: &str) -> String {
    let listed = window.ask("bb/permission/list", json!({"sessionId": session_id})).await.unwrap();
    listed["pending"][0]["permission"]["requestId"].as_str().unwrap().to_owned()
}

/// The chat as `bb/selectSession` and `bb/view` told it, each block as its kind and its status or text.
fn chat(window: &Window, selected: &Value) -> Vec<(String, String)> {
    let mut chat = Chat::default();
    chat.take(&selected["view"]);
    window.heard("bb/view").iter().for_each(|told| chat.apply(told));
    let word = |block: &Value| {
        let status = block.get("status").or(block.get("text"));
        status.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    chat.blocks.iter().map(|block| (block["kind"].as_str().unwrap().to_owned(), word(block))).collect()
}

#[tokio::test]
async fn two_clients_hear_one_session_each_what_it_asked_for_and_a_permission_is_settled_for_both() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    // Given a client that hears events, and one that hears views and is trusted too
    hears(&desk.window, true, false).await;
    let session = desk.session().await;
    let other = desk.connect(true, in_bytes(EditorAbilities::default()));
    hears(&other, false, true).await;
    let selected = select(&other, &session).await;
    // When one prompts, the engine asks, and the other allows
    desk.prompt(&session, "one").await;
    desk.token(&session, "Hel").await;
    desk.token(&session, "lo").await;
    desk.ask_to_run(&session, "r1", "make").await;
    desk.caught_up().await;
    let request = waiting(&other, &session).await;
    let allow = json!({"sessionId": session, "requestId": request, "decision": "allow_once"});
    let recorded = other.ask("bb/approvePermission", allow.clone()).await.unwrap();
    desk.finish(&session, 1, "Hello").await;
    // Then each heard all of it in its own way
    let stored = desk.events(&session).await;
    assert_eq!(
        types(&stored),
        [
            "local.prompt",
            "assistant.token",
            "assistant.token",
            "command.request_approval",
            "local.permission_settled",
            "assistant.message_final"
        ]
    );
    assert_eq!((desk.heard_events(&session), desk.heard("bb/view")), (stored, Vec::new()));
    let said = |kind: &str, word: &str| (kind.to_owned(), word.to_owned());
    assert_eq!(
        chat(&other, &selected),
        [
            said("user", "one"),
            said("turn-start", ""),
            said("assistant", "Hello"),
            said("permission", "allowed"),
            said("turn-end", "")
        ]
    );
    assert_eq!(other.heard("bb/events"), Vec::<Value>::new());
    // And it is settled for the one that comes late, once
    assert_eq!(
        (recorded["outcome"].as_str(), recorded["resolvedBy"].as_str()),
        (Some("recorded"), Some("user"))
    );
    let late = desk.ask("bb/approvePermission", allow).await.unwrap();
    assert_eq!(
        late,
        json!({"requestId": request, "outcome": "already_resolved", "resolution": "allowed", "resolvedBy": "user"})
    );
    assert_eq!(desk.engine_heard(), ["start 1 one", "answer r1 true"]);
}

#[tokio::test]
async fn each_client_has_a_session_in_front_a_state_and_an_answer_to_init_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let (mine, theirs) = (desk.session().await, desk.session().await);
    let other = desk.connect(false, in_bytes(EditorAbilities::default()));
    select(&other, &theirs).await;
    select(&desk.window, &mine).await;
    let front = |init: Value| (init["activeSessionId"].clone(), init["workspaceTrusted"].clone());
    assert_eq!(front(desk.ask("bb/init", json!({})).await.unwrap()), (json!(mine), json!(true)));
    assert_eq!(front(other.ask("bb/init", json!({})).await.unwrap()), (json!(theirs), json!(false)));
    desk.prompt(&mine, "one").await;
    desk.caught_up().await;
    let state = |window: &Window| {
        let last = window.heard("bb/state").pop().unwrap();
        (last["activeSessionId"].clone(), last["running"].clone())
    };
    assert_eq!(state(&desk.window), (json!(mine), json!(true)));
    assert_eq!(state(&other), (json!(theirs), json!(false)));
    // What is in front of nobody any more is in front of neither
    desk.ask("bb/deleteSession", json!({"sessionId": theirs})).await.unwrap();
    desk.caught_up().await;
    assert_eq!(state(&other), (Value::Null, Value::Null));
    assert_eq!(state(&desk.window), (json!(mine), json!(true)));
}

#[tokio::test]
async fn an_edit_goes_to_the_client_that_has_the_file_open_in_its_own_encoding() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let (old, new) = ("ü😀 red\n", "ü😀 blue\n");
    // Given a prompt of a client that takes no edits, and a file that is open in the other one, which counts in UTF-16
    let prompter = desk.connect(true, in_bytes(EditorAbilities::default()));
    let session = desk.session().await;
    prompter.prompt(&session, "one").await;
    open(&desk.window, "a.txt", 7, old);
    let edit = desk.wants_text(&session, "a.txt", old, new).await;
    desk.disk_has(old).await;
    // Then that one is asked, and the position is in its units
    let change = |version: Value, start: u32, end: u32| {
        json!({"label": "BreadBoard", "edit": {"documentChanges": [{
            "textDocument": {"uri": "file:///w/a.txt", "version": version},
            "edits": [{"range": {"start": {"line": 0, "character": start}, "end": {"line": 0, "character": end}},
                "newText": "blue"}]
        }]}})
    };
    let [(id, asked)] = <[_; 1]>::try_from(desk.window.asked("workspace/applyEdit")).unwrap();
    assert_eq!(asked, change(json!(7), 4, 7));
    assert_eq!(prompter.asked("workspace/applyEdit"), []);
    answered(&desk.window, &id, Ok(json!({"applied": true})));
    // And where it has not saved it by itself, that is said
    desk.disk_has(old).await;
    let applied_hash = content_hash(new.as_bytes());
    assert_eq!(edit.await.unwrap(), Ok(Applied { applied_hash, saved: false }));

    // Given another client that prompts, takes edits, counts in bytes, and has the same text open
    desk.finish(&session, 1, "").await;
    desk.caught_up().await;
    let bytes = desk.connect(true, in_bytes(ABLE));
    open(&bytes, "a.txt", 3, old);
    bytes.prompt(&session, "two").await;
    let edit = desk.wants_text(&session, "a.txt", old, new).await;
    desk.disk_has(old).await;
    // Then it is the one, though it came later
    let [(id, asked)] = <[_; 1]>::try_from(bytes.asked("workspace/applyEdit")).unwrap();
    assert_eq!(asked, change(json!(3), 7, 10));
    assert_eq!(desk.window.asked("workspace/applyEdit").len(), 1);
    answered(&bytes, &id, Ok(json!({"applied": true})));
    desk.disk_has(new).await;
    assert!(edit.await.unwrap().unwrap().saved);
}

#[tokio::test]
async fn of_two_unsaved_texts_of_a_file_that_of_the_prompting_client_counts_and_the_other_stays() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let other = desk.connect(true, in_bytes(ABLE));
    open(&desk.window, "a.txt", 1, "first\n");
    // Spelled in another way, and still the same file
    other.tell(EditorEvent::Document(DocumentEvent::Opened {
        uri: "file:///w/%61.txt".to_owned(),
        language_id: "text".to_owned(),
        version: 1,
        text: "second\n".to_owned(),
    }));
    open(&other, "b.txt", 1, "only here\n");
    for (window, own, foreign) in [(&desk.window, "first\n", "second\n"), (&other, "second\n", "first\n")] {
        let turn = window.prompt(&session, own).await;
        assert_eq!(turn["disposition"], "started");
        let read = desk.wants(&session, |reply| ClientRequest::ReadText {
            path: "/w/a.txt".into(),
            line: None,
            limit: None,
            reply,
        });
        let _unanswered = read.await;
        let stale = desk.wants_text(&session, "a.txt", foreign, "new\n").await;
        assert_eq!(stale.await.unwrap().unwrap_err().code, ErrorCode::Conflict);
        let fresh = desk.wants_text(&session, "a.txt", own, "new\n").await;
        desk.disk_has("old\n").await;
        // What the turn reads is its client's text, and what nobody else has open is there too
        let buffers = desk.buffers.0.lock().unwrap().pop().unwrap();
        let texts: Vec<String> = buffers.iter().map(|(_, document)| document.text.to_string()).collect();
        assert_eq!(texts.iter().filter(|text| *text != "only here\n").collect::<Vec<_>>(), [own]);
        assert_eq!(texts.len(), 2);
        let (id, _) = window.asked("workspace/applyEdit").pop().unwrap();
        answered(window, &id, Ok(json!({"applied": false})));
        assert_eq!(fresh.await.unwrap().unwrap_err().code, ErrorCode::Conflict);
        let turn = desk.events(&session).await.iter().filter(|event| event["type"] == "local.prompt").count();
        desk.finish(&session, turn as u64, "").await;
        desk.caught_up().await;
    }
    assert_eq!(
        (desk.window.asked("workspace/applyEdit").len(), other.asked("workspace/applyEdit").len()),
        (1, 1)
    );
}

#[tokio::test]
async fn a_file_that_is_open_nowhere_is_edited_in_no_other_window_than_the_prompting_one() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let unable = desk.connect(true, in_bytes(EditorAbilities::default()));
    unable.prompt(&session, "one").await;
    let _written = desk.wants_text(&session, "a.txt", "a\n", "b\n").await;
    desk.caught_up().await;
    let jobs = std::mem::take(&mut *desk.jobs.0.lock().unwrap());
    assert!(matches!(jobs.as_slice(), [FileJob::Write { path, .. }] if path == "a.txt"), "{jobs:?}");
    desk.finish(&session, 1, "").await;
    desk.caught_up().await;
    desk.prompt(&session, "two").await;
    let _read = desk.wants_text(&session, "a.txt", "a\n", "b\n").await;
    desk.caught_up().await;
    let jobs = std::mem::take(&mut *desk.jobs.0.lock().unwrap());
    assert!(matches!(jobs.as_slice(), [FileJob::Read { path, .. }] if path == "a.txt"), "{jobs:?}");
}

#[tokio::test]
async fn a_command_runs_in_the_terminal_of_the_prompting_client_else_of_one_that_has_one() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let unable = desk.connect(true, in_bytes(EditorAbilities::default()));
    let able = desk.connect(true, in_bytes(ABLE));
    let asked = || [&desk.window, &unable, &able].map(|window| window.asked("bb/terminal/run").len());
    for (turn, (window, expected)) in
        [(&desk.window, [1, 0, 0]), (&unable, [2, 0, 0]), (&able, [2, 0, 1])].into_iter().enumerate()
    {
        window.prompt(&session, &format!("{turn}")).await;
        let _running = desk.wants_run(&session, "make").await;
        desk.caught_up().await;
        assert_eq!(asked(), expected);
        desk.finish(&session, turn as u64 + 1, "").await;
        desk.caught_up().await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_back_no_other_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let slow = desk.connect(true, StartUp::default());
    select(&slow, &session).await;
    desk.prompt(&session, "one").await;
    desk.caught_up().await;
    for room in [0, 2, 0, 3] {
        slow.takes(room);
        for at in 0..40 {
            desk.token(&session, &format!("{room}-{at} ")).await;
        }
        desk.caught_up().await;
        // The other one heard everything meanwhile, without a snapshot
        let stored = desk.events(&session).await;
        assert_eq!(desk.heard_events(&session), stored);
        assert!(slow.heard_events(&session).len() < stored.len());
    }
    slow.drain();
    desk.finish(&session, 1, "end").await;
    let stored = desk.events(&session).await;
    assert_eq!(slow.heard_events(&session), stored);
    assert_eq!(desk.heard_events(&session), stored);
    let snapshots = |window: &Window| {
        window.heard("bb/view").iter().filter(|view| view.get("snapshot").is_some()).count()
    };
    assert_eq!(snapshots(&desk.window), 0);
    assert!(snapshots(&slow) > 0);
}

#[tokio::test]
async fn a_client_that_is_gone_in_a_turn_takes_nothing_along() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let other = desk.connect(true, in_bytes(EditorAbilities::default()));
    hears(&other, true, true).await;
    let selected = select(&other, &session).await;
    desk.prompt(&session, "one").await;
    desk.prompt(&session, "two").await;
    desk.token(&session, "Hello").await;
    desk.ask_to_run(&session, "r1", "make").await;
    let run = desk.wants_run(&session, "make").await;
    desk.caught_up().await;
    assert_eq!(desk.window.asked("bb/terminal/run").len(), 1);
    // When the client that prompted is gone, with a command in its terminal and a permission that waits
    desk.window.clone().leave();
    // Then the engine hears that it is not known what became of the command, and nobody else is asked to run it
    let refused = run.await.unwrap().unwrap_err();
    assert_eq!(
        refused,
        CodedError::new(
            ErrorCode::EngineRejected,
            "The editor that ran the command disconnected before it ended, so it is not known how it ended; look at what it \
             did before you run it again."
        )
    );
    assert_eq!(other.asked("bb/terminal/run"), []);
    let heard_before = desk.paper.messages.lock().unwrap().len();
    // And the turn goes on, with the trust that its client had; the other one answers
    let again = desk.wants_run(&session, "make").await;
    desk.caught_up_by(&other).await;
    let job = desk.jobs.0.lock().unwrap().pop();
    assert!(matches!(&job, Some(FileJob::Run { command, .. }) if command == "make"), "{job:?}");
    drop((job, again));
    let request = waiting(&other, &session).await;
    let deny = json!({"sessionId": session, "requestId": request, "decision": "deny"});
    assert_eq!(other.ask("bb/approvePermission", deny).await.unwrap()["outcome"], "recorded");
    desk.finish(&session, 1, "Hello").await;
    desk.caught_up_by(&other).await;
    // And so does its queue
    desk.finish(&session, 2, "Bye").await;
    let stored = desk.events_by(&other, &session).await;
    assert_eq!(
        types(&stored),
        [
            "local.prompt",
            "assistant.token",
            "command.request_approval",
            "local.permission_settled",
            "assistant.message_final",
            "local.prompt",
            "assistant.message_final"
        ]
    );
    assert_eq!(other.heard_events(&session), stored);
    assert_eq!(desk.engine_heard(), ["start 1 one", "answer r1 false", "start 2 two"]);
    let said = |kind: &str, word: &str| (kind.to_owned(), word.to_owned());
    assert_eq!(
        chat(&other, &selected),
        [
            said("user", "one"),
            said("turn-start", ""),
            said("assistant", "Hello"),
            said("permission", "denied"),
            said("turn-end", ""),
            said("user", "two"),
            said("turn-start", ""),
            said("assistant", "Bye"),
            said("turn-end", "")
        ]
    );
    // And nothing is sent to who is gone, and whoever comes finds all of it
    assert_eq!(desk.paper.messages.lock().unwrap().len(), heard_before);
    let late = desk.connect(false, StartUp::default());
    let found = select(&late, &session).await;
    assert_eq!(found["seq"], json!(stored.len()));
    assert_eq!(chat(&late, &found), chat(&other, &selected));
}

#[tokio::test]
async fn an_edit_that_its_editor_took_along_is_neither_said_to_be_done_nor_made_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let other = desk.connect(true, in_bytes(ABLE));
    open(&desk.window, "a.txt", 1, "a\n");
    open(&other, "a.txt", 1, "a\n");
    other.prompt(&session, "one").await;
    let edit = desk.wants_text(&session, "a.txt", "a\n", "b\n").await;
    desk.disk_has("a\n").await;
    assert_eq!(other.asked("workspace/applyEdit").len(), 1);
    other.leave();
    let refused = edit.await.unwrap().unwrap_err();
    assert_eq!(
        refused,
        CodedError::new(
            ErrorCode::Conflict,
            "The editor that was to apply the edit disconnected before it said whether it did; read the file again before you \
             go on."
        )
    );
    assert_eq!(desk.window.asked("workspace/applyEdit"), []);
}

#[tokio::test]
async fn a_turn_runs_with_the_trust_of_its_prompter_and_a_decision_with_that_of_who_decides() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let untrusted = desk.connect(false, in_bytes(ABLE));
    // Given a turn of a client that is not trusted
    untrusted.prompt(&session, "one").await;
    let run = desk.wants_run(&session, "make").await;
    assert_eq!(run.await.unwrap().unwrap_err().code, ErrorCode::UntrustedWorkspace);
    desk.finish(&session, 1, "").await;
    desk.caught_up().await;
    // And one of a client that is
    desk.prompt(&session, "two").await;
    desk.ask_to_run(&session, "r2", "make").await;
    desk.caught_up().await;
    let request = waiting(&untrusted, &session).await;
    let decide = |decision: &str| json!({"sessionId": session, "requestId": request, "decision": decision});
    // Then the one that is not trusted may not allow, and may deny
    let refused = untrusted.ask("bb/approvePermission", decide("allow_once")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UntrustedWorkspace);
    assert_eq!(untrusted.ask("bb/approvePermission", decide("deny")).await.unwrap()["outcome"], "recorded");
    let _run = desk.wants_run(&session, "make").await;
    desk.caught_up().await;
    assert_eq!(desk.window.asked("bb/terminal/run").len(), 1);
    // And trust that its client takes back ends it for the turn, whatever others think
    untrusted.tell(EditorEvent::WorkspaceTrust { trusted: true });
    desk.tell(EditorEvent::WorkspaceTrust { trusted: false });
    let run = desk.wants_run(&session, "make").await;
    assert_eq!(run.await.unwrap().unwrap_err().code, ErrorCode::UntrustedWorkspace);
}

#[tokio::test]
async fn trust_that_the_last_window_takes_back_ends_it_for_turns_of_those_who_left() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let other = desk.connect(true, StartUp::default());
    other.prompt(&session, "one").await;
    other.leave();
    let _running = desk.wants_run(&session, "make").await;
    desk.caught_up().await;
    assert_eq!(desk.window.asked("bb/terminal/run").len(), 1);
    desk.tell(EditorEvent::WorkspaceTrust { trusted: false });
    let run = desk.wants_run(&session, "make").await;
    assert_eq!(run.await.unwrap().unwrap_err().code, ErrorCode::UntrustedWorkspace);
    // Nor does trust that is given anew reach back to it.
    desk.tell(EditorEvent::WorkspaceTrust { trusted: true });
    let run = desk.wants_run(&session, "make").await;
    assert_eq!(run.await.unwrap().unwrap_err().code, ErrorCode::UntrustedWorkspace);
}

#[tokio::test]
async fn who_edits_a_prompt_that_waits_or_lets_the_queue_go_on_has_prompted_it() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let untrusted = desk.connect(false, StartUp::default());
    // Given a prompt of a trusted client that another one changed while it waited
    desk.prompt(&session, "one").await;
    desk.prompt(&session, "two").await;
    let edit = json!({"sessionId": session, "messageId": "two", "text": "something else"});
    untrusted.ask("bb/queue/edit", edit).await.unwrap();
    desk.finish(&session, 1, "").await;
    desk.caught_up().await;
    let run = desk.wants_run(&session, "make").await;
    assert_eq!(run.await.unwrap().unwrap_err().code, ErrorCode::UntrustedWorkspace);
    desk.finish(&session, 2, "").await;
    desk.caught_up().await;
    // And one that it lets go on after a stop
    desk.prompt(&session, "three").await;
    desk.prompt(&session, "four").await;
    desk.ask("bb/stop", json!({"sessionId": session})).await.unwrap();
    desk.finish(&session, 3, "").await;
    desk.caught_up().await;
    untrusted.ask("bb/queue/resume", json!({"sessionId": session})).await.unwrap();
    let run = desk.wants_run(&session, "make").await;
    assert_eq!(run.await.unwrap().unwrap_err().code, ErrorCode::UntrustedWorkspace);
    assert_eq!(
        desk.engine_heard(),
        ["start 1 one", "start 2 something else", "start 3 three", "stop", "start 4 four"]
    );
}

#[tokio::test]
async fn tabs_belong_to_the_client_that_opened_them_and_wait_for_it() {
    const MINE: &str = "11111111-1111-4111-8111-111111111111";
    const THEIRS: &str = "22222222-2222-4222-8222-222222222222";
    const PROMPT: &str = "33333333-3333-4333-8333-333333333333";
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let other = desk.connect(true, StartUp::default());
    // Given a session that is shown in a tab of each of two clients
    desk.ask("bb/tab/open", json!({"tabId": MINE})).await.unwrap();
    let session = desk.ask("bb/listSessions", json!({})).await.unwrap()["sessions"][0]["sessionId"].clone();
    other.ask("bb/tab/open", json!({"tabId": THEIRS, "sessionId": session})).await.unwrap();
    let session = session.as_str().unwrap().to_owned();
    // Then neither knows the other's tab
    let foreign = json!({"tabId": MINE, "messageId": PROMPT, "text": "hi"});
    assert_eq!(other.ask("bb/tab/prompt", foreign.clone()).await.unwrap_err().code, ErrorCode::UnknownTab);
    let attach = json!({"tabs": [{"tabId": MINE}]});
    assert_eq!(
        other.ask("bb/tab/attach", attach.clone()).await.unwrap(),
        json!({"tabs": [{"tabId": MINE, "index": 0, "mode": "unknown"}]})
    );
    // When one prompts and hides its tab
    other.ask("bb/tab/prompt", json!({"tabId": THEIRS, "messageId": PROMPT, "text": "hi"})).await.unwrap();
    other.ask("bb/tab/visibility", json!({"tabId": THEIRS, "visible": false})).await.unwrap();
    desk.token(&session, "Hello").await;
    desk.caught_up().await;
    // Then the other one's tab goes on
    let kinds = |window: &Window| -> Vec<Value> {
        window.heard("bb/tab").iter().map(|message| message["kind"].clone()).collect()
    };
    let chunk = "response-chunk";
    assert_eq!(kinds(&desk.window), ["session-created", chunk, chunk, chunk]);
    assert_eq!(kinds(&other), ["session-created", "snapshot", chunk, chunk]);
    // When the client that prompted is gone, and comes back after the end of its turn
    other.leave();
    desk.finish(&session, 1, "Hello").await;
    desk.caught_up().await;
    let back = desk.connect(true, StartUp::default());
    let attached = back.ask("bb/tab/attach", json!({"tabs": [{"tabId": THEIRS}]})).await.unwrap();
    assert_eq!(attached["tabs"][0]["mode"], "snapshot");
    desk.caught_up().await;
    // Then it finds its answer complete
    let found = back.heard("bb/tab").pop().unwrap();
    let blocks = found["view"]["lanes"]["chat"]["blocks"].as_array().unwrap();
    let ids: Vec<&Value> = blocks.iter().map(|block| &block["id"]).collect();
    assert_eq!(
        found["messages"],
        json!([{"messageId": PROMPT, "turn": 1, "blockIds": ids, "status": "complete", "stopReason": "end_turn"}])
    );
    assert_eq!(kinds(&desk.window), ["session-created", chunk, chunk, chunk, chunk, "response-complete"]);
}

#[tokio::test]
async fn the_shortest_wait_that_a_client_asked_for_counts_while_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask("bb/init", json!({"subscribe": {"maxLatencyMs": 1000}})).await.unwrap();
    let session = desk.session().await;
    desk.prompt(&session, "one").await;
    let hasty = desk.connect(true, StartUp::default());
    hasty.ask("bb/init", json!({"subscribe": {"maxLatencyMs": 0}})).await.unwrap();
    for _ in 0..20 {
        desk.token(&session, "x").await;
        desk.caught_up().await;
    }
    assert_eq!(desk.heard_events(&session).len(), 21);
    hasty.leave();
    for _ in 0..20 {
        desk.token(&session, "x").await;
        desk.caught_up().await;
    }
    assert!(desk.heard_events(&session).len() < 41, "nothing waited");
}

#[tokio::test]
async fn a_token_that_one_client_gave_is_hidden_from_all_that_come_later() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask("bb/setCredentials", json!({"scope": "model", "token": "sk-secret-1"})).await.unwrap();
    desk.caught_up().await;
    let late = desk.connect(true, StartUp::default());
    desk.caught_up().await;
    let known = late.paper.hidden.lock().unwrap().clone();
    assert_eq!(&*known.scrub(b"it is sk-secret-1"), b"it is [redacted]");
}

#[tokio::test]
async fn only_the_client_that_opened_the_workspace_changes_its_folders() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let other = desk.connect(true, StartUp::default());
    let gone = || EditorEvent::FoldersChanged { added: Vec::new(), removed: vec!["file:///w".to_owned()] };
    let folders = || {
        let calls = desk.calls.0.lock().unwrap();
        calls.iter().filter(|call| matches!(call, EngineCall::SetFolders(_))).count()
    };
    desk.caught_up().await;
    let before = folders();
    other.tell(gone());
    desk.caught_up().await;
    assert_eq!(folders(), before);
    desk.window.clone().leave();
    other.tell(gone());
    desk.caught_up_by(&other).await;
    assert_eq!(folders(), before + 1);
}

#[tokio::test]
async fn a_tab_that_is_closed_stops_no_session_that_another_client_follows() {
    const TAB: &str = "11111111-1111-4111-8111-111111111111";
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask("bb/tab/open", json!({"tabId": TAB})).await.unwrap();
    let session = desk.ask("bb/listSessions", json!({})).await.unwrap()["sessions"][0]["sessionId"].clone();
    let session = session.as_str().unwrap();
    let other = desk.connect(true, StartUp::default());
    select(&other, session).await;
    desk.prompt(session, "one").await;
    desk.ask("bb/tab/close", json!({"tabId": TAB})).await.unwrap();
    desk.finish(session, 1, "done").await;
    let stored = desk.events(session).await;
    assert_eq!(types(&stored), ["local.prompt", "assistant.message_final"]);
    assert_eq!(desk.engine_heard(), ["start 1 one"]);
    // With nobody else it ends with its tab, as ever.
    other.leave();
    desk.ask("bb/tab/open", json!({"tabId": TAB, "sessionId": session})).await.unwrap();
    desk.prompt(session, "two").await;
    desk.ask("bb/tab/close", json!({"tabId": TAB})).await.unwrap();
    desk.caught_up().await;
    assert_eq!(desk.engine_heard()[..3], ["start 1 one", "start 2 two", "stop"]);
}

#[tokio::test]
async fn an_agents_turn_ends_when_its_client_takes_trust_back_and_the_turns_of_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let other = desk.connect(true, StartUp::default());
    // Given a turn of each of two clients at an agent
    let mut sessions = Vec::new();
    for window in [&desk.window, &other] {
        let made = window.ask("bb/createSession", json!({"agent": "a"}));
        let at_agent = format!("at-{}", sessions.len());
        let (created, session) = tokio::join!(made, async {
            desk.caught_up().await;
            make(&desk, &at_agent).await
        });
        assert_eq!(created.unwrap(), json!({"sessionId": session}));
        window.prompt(&session, "go").await;
        sessions.push(session);
    }
    desk.calls.0.lock().unwrap().clear();
    // When one takes trust back
    desk.tell(EditorEvent::WorkspaceTrust { trusted: false });
    desk.caught_up().await;
    // Then its turn is stopped, and the agents, which the other still trusts, are not ended
    let words = |desk: &Desk| -> Vec<String> {
        let calls = desk.calls.0.lock().unwrap();
        let word = |call: &EngineCall| match call {
            EngineCall::Stop { session_id } => Some(format!("stop {session_id}")),
            EngineCall::SetTrust { trusted } => Some(format!("trust {trusted}")),
            _ => None,
        };
        calls.iter().filter_map(word).collect()
    };
    assert_eq!(words(&desk), ["trust true".to_owned(), format!("stop {}", sessions[0])]);
    // And nothing new is begun on its word
    let again = json!({"sessionId": sessions[1], "text": "more"});
    assert_eq!(desk.ask("bb/sendMessage", again).await.unwrap_err().code, ErrorCode::UntrustedWorkspace);
    other.tell(EditorEvent::WorkspaceTrust { trusted: false });
    desk.caught_up().await;
    assert_eq!(words(&desk).last().unwrap(), "trust false");
}

#[tokio::test]
async fn a_session_that_is_made_for_a_client_that_left_is_there_for_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let other = desk.connect(true, StartUp::default());
    let created = other.ask("bb/createSession", json!({"agent": "a", "task": "go"}));
    let (created, session) = tokio::join!(created, async {
        desk.caught_up().await;
        other.clone().leave();
        make(&desk, "at").await
    });
    assert_eq!(created, Ok(json!({"sessionId": session})));
    let listed = desk.ask("bb/listSessions", json!({})).await.unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], json!(session));
    // What it was to begin with was never promised, and nobody is left to trust it.
    assert_eq!(desk.events(&session).await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_loop_closes_with_its_last_client_only() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let session = desk.session().await;
    let other = desk.connect(true, StartUp::default());
    let shut_down = |window: &Window| {
        let (reply, answer) = Reply::new();
        desk.inbox.send(Event::Shutdown { client: window.client, reply }).unwrap();
        answer
    };
    desk.prompt(&session, "one").await;
    desk.prompt(&session, "two").await;
    assert_eq!(shut_down(&desk.window).await.unwrap(), Ok(()));
    desk.window.clone().leave();
    desk.finish(&session, 1, "").await;
    desk.caught_up_by(&other).await;
    assert_eq!(desk.engine_heard(), ["start 1 one", "start 2 two"]);
    other.prompt(&session, "three").await;
    assert_eq!(shut_down(&other).await.unwrap(), Ok(()));
    desk.finish(&session, 2, "").await;
    desk.caught_up_by(&other).await;
    assert_eq!(desk.engine_heard(), ["start 1 one", "start 2 two"]);
}
