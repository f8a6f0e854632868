//! What an agent wants its client to do: files and terminals, where a setting gives them.

use std::path::Path;
use std::time::Duration;

use breadboard_ls::testing::app::inbox::Reply;
use breadboard_ls::testing::app::ports::{
    AgentCall, AgentReport, Applied, ClientRequest, Engine, EngineCall, EngineReport, TerminalPiece, TextPart,
};
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::dialect::{Dialect, normalize};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::desk::{Desk, Layout, PATIENCE, Told, end};

fn given() -> Value {
    json!({ "fileSystem": true, "terminals": true })
}

async fn playing(given: Value, steps: Value) -> Desk {
    let script = json!({ "prompts": [{ "steps": steps }] });
    let mut desk = Desk::laid(Layout { script, given, ..Layout::default() });
    desk.make("a").await;
    desk.start("a", 1, "go");
    desk
}

fn reads(id: u64) -> Value {
    json!({ "request": "fs/read_text_file", "params": { "path": "/w/a.txt", "line": 2, "limit": 1 }, "id": id })
}

fn writes(id: u64) -> Value {
    json!({ "request": "fs/write_text_file", "params": { "path": "/w/a.txt", "content": "new" }, "id": id })
}

fn runs(id: u64, command: &str) -> Value {
    json!({ "request": "terminal/create", "params": { "command": command }, "id": id, "as": "t" })
}

fn of_terminal(id: u64, method: &str) -> Value {
    json!({ "request": method, "params": { "terminalId": "$t.terminalId" }, "id": id })
}

fn part(content: &str) -> TextPart {
    let text = str::to_owned;
    TextPart {
        content: text(content),
        hash: text("h1"),
        root: text("w"),
        path: text("a.txt"),
        unsaved: false,
    }
}

impl Desk {
    /// The next file that is read: which lines of it, and who waits.
    async fn read(&mut self) -> (Option<u64>, Option<u64>, Reply<TextPart>) {
        self.wait(|report| match report {
            EngineReport::Wants {
                session_id,
                want: ClientRequest::ReadText { path, line, limit, reply },
            } => {
                assert_eq!((session_id.as_str(), path.as_path()), ("a", Path::new("/w/a.txt")));
                Some((line, limit, reply))
            }
            _ => None,
        })
        .await
    }

    /// The next ask: its id, its title and its payload.
    async fn ask_shown(&mut self) -> (String, String, Value) {
        self.wait(|report| match report {
            EngineReport::Said { event, .. } => {
                let payload = Value::Object(event.payload.clone().into());
                normalize(Dialect::Acp, event).ask.map(|ask| (ask.engine_request_id, ask.title, payload))
            }
            _ => None,
        })
        .await
    }

    /// Waits for the process that wrote its id into this file of the workspace.
    async fn process(&self, file: &str) -> Pid {
        let path = self.workspace().join(file);
        let written = async {
            loop {
                let pid = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
                if let Some(pid) = pid.and_then(Pid::from_raw) {
                    return pid;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, written).await.expect("it runs")
    }
}

async fn gone(pid: Pid) {
    let gone = async {
        while test_kill_process(pid).is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("it ends");
}

/// Says its process id and stays.
const STAYS: &str = "echo $$ > new && mv new up && exec sleep 600";

#[tokio::test(flavor = "multi_thread")]
async fn c_what_no_setting_gives_is_neither_offered_nor_done() {
    for (given, fs, terminal) in [
        (json!({}), false, false),
        (json!({ "fileSystem": true }), true, false),
        (json!({ "terminals": true }), false, true),
    ] {
        // Given an agent that asks for what it was not offered
        let mut steps = Vec::new();
        if !fs {
            steps.extend([reads(11), writes(12)]);
        }
        if !terminal {
            steps.extend([runs(13, "true"), of_terminal(14, "terminal/output")]);
        }
        let wanted = steps.len();
        let mut desk = playing(given, Value::from(steps)).await;
        // When it does, then each is an event of the turn that nobody is asked about
        let (told, failure) = desk.turn("a").await;
        assert_eq!((told.len(), told.last(), failure), (wanted + 1, Some(&end("a", 1, "end_turn")), None));
        // And it hears that nobody knows the method
        let sent = desk.sent();
        let refused = sent.iter().filter(|(what, code)| what.starts_with("error ") && *code == json!(-32601));
        assert_eq!(refused.count(), wanted);
        let hello = desk.until_sent("initialize").await;
        let can = &hello[0]["clientCapabilities"];
        assert_eq!(can["fs"], json!({ "readTextFile": fs, "writeTextFile": fs }));
        assert_eq!(can["terminal"], json!(terminal));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c_a_read_is_not_asked_and_answers_with_the_lines_or_why_not() {
    let mut desk = playing(given(), json!([reads(11), reads(12), reads(13)])).await;
    let (line, limit, reply) = desk.read().await;
    assert_eq!((line, limit), (Some(2), Some(1)));
    reply.answer(part("two\n"));
    let refusals = [(ErrorCode::NotFound, -32002), (ErrorCode::PathOutsideWorkspace, -32001)];
    for (code, _) in refusals {
        desk.read().await.2.refuse(CodedError::new(code, "No."));
    }
    assert_eq!(desk.turn("a").await.1, None);
    assert_eq!(desk.until_sent("answer 11").await, [json!({ "content": "two\n" })]);
    for (id, (_, code)) in [12, 13].into_iter().zip(refusals) {
        assert_eq!(desk.until_sent(&format!("error {id}")).await, [json!(code)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c_a_write_shows_what_it_replaces_and_is_done_once_it_is_allowed() {
    let mut desk = playing(given(), json!([writes(11), writes(12)])).await;
    // Given a file that is read before the user is asked
    let (line, limit, reply) = desk.read().await;
    assert_eq!((line, limit), (None, None));
    reply.answer(part("old"));
    let (ask, title, payload) = desk.ask_shown().await;
    assert_eq!(title, "Write /w/a.txt (3 bytes)");
    assert_eq!((&payload["content"], &payload["oldText"]), (&json!("new"), &json!("old")));
    // When it is allowed, then it is written over what was shown
    desk.answer("a", &ask, "allow_once", true);
    let reply = desk
        .wait(|report| match report {
            EngineReport::Wants {
                want: ClientRequest::ApplyText { root, path, base_hash, text, reply },
                ..
            } => {
                assert_eq!((root.as_deref(), path.as_str()), (Some("w"), "a.txt"));
                assert_eq!((base_hash.as_deref(), text.as_str()), (Some("h1"), "new"));
                Some(reply)
            }
            _ => None,
        })
        .await;
    reply.answer(Applied { applied_hash: "h2".to_owned(), saved: true });
    assert_eq!(desk.until_sent("answer 11").await, [json!({})]);
    // And a new file replaces nothing; denied, nothing is written
    let refusal = CodedError::new(ErrorCode::NotFound, "There is none.");
    desk.read().await.2.refuse(refusal.with_details(json!({ "root": "w", "path": "a.txt" })));
    let (ask, _, payload) = desk.ask_shown().await;
    assert_eq!(payload.get("oldText"), Some(&Value::Null));
    desk.answer("a", &ask, "deny", false);
    let report = desk
        .wait(|report| match report {
            EngineReport::Wants { .. } => panic!("nobody allowed it: {report:?}"),
            EngineReport::TurnEnded { failure, .. } => Some(failure),
            _ => None,
        })
        .await;
    assert_eq!(report, None);
    assert_eq!(desk.until_sent("error 12").await, [json!(-32001)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_05_a_stop_cancels_what_the_user_was_asked_and_what_he_was_to_be_asked() {
    let wanted = json!([
        { "request": "terminal/create", "params": { "command": "touch ran" }, "id": 11, "wait": false },
        { "request": "fs/write_text_file", "params": { "path": "/w/a.txt", "content": "x" }, "id": 12 },
        { "wait": "cancel" },
    ]);
    let mut desk = playing(given(), wanted).await;
    // Given a command that the user is asked about, and a write whose base is being read
    let (mut asked, mut base) = (None, None);
    while asked.is_none() || base.is_none() {
        match desk.next().await {
            EngineReport::Wants { want: ClientRequest::ReadText { reply, .. }, .. } => base = Some(reply),
            EngineReport::Said { event, .. } => {
                asked = asked.or(normalize(Dialect::Acp, event).ask.map(|ask| ask.engine_request_id));
            }
            _ => {}
        }
    }
    // When the turn is stopped
    desk.stop("a");
    // Then both are answered as cancelled, and the write is an event that asks nobody
    for id in [11, 12] {
        assert_eq!(desk.until_sent(&format!("error {id}")).await, [json!(-32800)]);
    }
    let (told, _) = desk.turn("a").await;
    let write = json!({ "path": "/w/a.txt", "content": "x", "sessionId": "sim-1" });
    let write = Told::Event("a".to_owned(), "fs/write_text_file".to_owned(), Some(1), write);
    assert_eq!(told, [write, end("a", 1, "cancelled")]);
    // And what comes later changes nothing
    base.expect("a read").answer(part("old"));
    desk.answer("a", &asked.expect("an ask"), "allow_once", true);
    desk.command("a", "logout", json!({})).await.expect_err("it has no logout");
    assert!(!desk.workspace().join("ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_63_without_trust_nothing_is_read_written_or_run() {
    let steps = json!([{ "wait": { "file": "go" } }, reads(11), writes(12), runs(13, "touch ran")]);
    let mut desk = playing(given(), steps).await;
    desk.until_sent("session/prompt").await;
    desk.engine.call(EngineCall::SetTrust { trusted: false });
    // Whether it still comes to ask or not: it is ended, and nothing of what it wants is done.
    std::fs::write(desk.workspace().join("go"), "").expect("a file");
    let (_, exit) = desk.exit().await;
    assert!(exit.message.contains("not trusted any more"), "{}", exit.message);
    let sent = desk.methods();
    assert!(!sent.iter().any(|method| method.starts_with("answer 1")), "{sent:?}");
    assert!(!desk.workspace().join("ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn c_nothing_begins_outside_of_a_turn_and_no_command_runs_outside_of_the_workspace() {
    let outside =
        json!({ "request": "terminal/create", "params": { "command": "touch ran", "cwd": "/" }, "id": 11 });
    let misshapen = json!({ "request": "terminal/create", "params": { "command": 7 }, "id": 12 });
    let mut desk = playing(given(), json!([outside, misshapen, { "answer": "end_turn" }, reads(13)])).await;
    let (told, _) = desk.turn("a").await;
    assert_eq!(told.len(), 3, "two events that ask nobody, and the end: {told:?}");
    for (id, code) in [(11, -32001), (12, -32602), (13, -32800)] {
        assert_eq!(desk.until_sent(&format!("error {id}")).await, [json!(code)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c_a_terminal_is_asked_about_with_its_folder_and_then_runs() {
    let mut desk = playing(
        given(),
        json!([
            runs(11, "pwd; exit 3"),
            of_terminal(12, "terminal/wait_for_exit"),
            of_terminal(13, "terminal/output"),
            of_terminal(14, "terminal/kill"),
            of_terminal(15, "terminal/release"),
            of_terminal(16, "terminal/output"),
            runs(17, "touch ran"),
        ]),
    )
    .await;
    let workspace = desk.workspace().canonicalize().expect("a folder").display().to_string();
    let (ask, title, payload) = desk.ask_shown().await;
    assert_eq!(title, format!("Run pwd; exit 3 in {workspace}"));
    assert_eq!(payload["cwd"], json!(workspace));
    desk.answer("a", &ask, "allow_once", true);
    let (ask, _, _) = desk.ask_shown().await;
    desk.answer("a", &ask, "deny", false);
    assert_eq!(desk.turn("a").await.1, None);
    let exit = json!({ "exitCode": 3, "signal": null });
    let shown = json!({ "output": format!("{workspace}\n"), "truncated": false, "exitStatus": exit });
    for (what, answer) in [
        ("answer 11", json!({ "terminalId": "terminal-1" })),
        ("answer 12", exit),
        ("answer 13", shown),
        ("answer 14", json!({})),
        ("answer 15", json!({})),
        ("error 16", json!(-32002)),
        ("error 17", json!(-32001)),
    ] {
        assert_eq!(desk.until_sent(what).await, [answer], "{what}");
    }
    assert!(!desk.workspace().join("ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn c_an_agent_that_ends_leaves_no_command_of_its_terminals_alive() {
    let steps = json!([
        runs(11, STAYS),
        { "request": "terminal/wait_for_exit", "params": { "terminalId": "$t.terminalId" }, "id": 12, "wait": false },
        { "wait": { "file": "up" } },
        { "wait": { "file": "die" } },
        { "exit": 3 },
    ]);
    let mut desk = playing(given(), steps).await;
    let (ask, _, _) = desk.ask_shown().await;
    desk.answer("a", &ask, "allow_once", true);
    let pid = desk.process("up").await;
    std::fs::write(desk.workspace().join("die"), "").expect("a file");
    let (_, exit) = desk.exit().await;
    assert_eq!(exit.code, Some(3));
    gone(pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c_a_terminal_outlives_its_turn_and_ends_with_its_session() {
    let mut desk = playing(given(), json!([runs(11, STAYS), { "wait": { "file": "up" } }])).await;
    let (ask, _, _) = desk.ask_shown().await;
    desk.make("b").await;
    desk.answer("a", &ask, "allow_once", true);
    assert_eq!(desk.turn("a").await.1, None);
    let pid = desk.process("up").await;
    assert!(test_kill_process(pid).is_ok());
    desk.engine.call(EngineCall::Agent(AgentCall::CloseSession { session_id: "a".to_owned() }));
    gone(pid).await;
    desk.start("b", 1, "the process is still there");
    assert_eq!(desk.turn("b").await.1, None);
    assert_eq!(desk.methods().iter().filter(|method| *method == "initialize").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn d21_what_a_terminal_prints_is_told_while_it_runs_and_its_end_before_the_agent_hears_of_it() {
    let steps = json!([
        runs(11, "echo out; echo err >&2; printf half; while [ ! -e go ]; do sleep 0.02; done; echo; exit 3"),
        of_terminal(12, "terminal/wait_for_exit"),
        { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed" } },
    ]);
    let mut desk = playing(given(), steps).await;
    let (ask, _, _) = desk.ask_shown().await;
    desk.answer("a", &ask, "allow_once", true);
    // Given a command that printed two lines and half of a third one
    let piece = |piece: TerminalPiece| TerminalPiece { terminal_id: "terminal-1".to_owned(), ..piece };
    let empty = || {
        piece(TerminalPiece {
            terminal_id: String::new(),
            began: false,
            text: String::new(),
            skipped: 0,
            exit: None,
        })
    };
    assert_eq!(desk.piece().await, TerminalPiece { began: true, ..empty() });
    let mut lines = String::new();
    while lines.len() < 8 {
        lines.push_str(&desk.piece().await.text);
    }
    // Then the whole lines are told while it runs
    assert_eq!(lines, "out\nerr\n");
    // When it ends, then the rest and the exit code come before anything that the agent does with them
    std::fs::write(desk.workspace().join("go"), "").expect("a file");
    let mut rest = String::new();
    let exit = loop {
        let piece = desk.piece().await;
        rest.push_str(&piece.text);
        if let Some(exit) = piece.exit {
            break exit;
        }
    };
    assert_eq!((rest.as_str(), exit), ("half\n", (Some(3), None)));
    assert_eq!(desk.turn("a").await.0.len(), 2, "the update and the end of the turn come behind it");
}

impl Desk {
    /// The next news of a terminal; nothing that the agent says of its tools may come before.
    async fn piece(&mut self) -> TerminalPiece {
        self.wait(|report| match report {
            EngineReport::Agent(AgentReport::Terminal { session_id, piece }) => {
                assert_eq!(session_id, "a");
                Some(piece)
            }
            EngineReport::Said { event, .. } => {
                assert_ne!(event.kind, "tool_call_update");
                None
            }
            _ => None,
        })
        .await
    }
}

fn asks_edit(old: Option<&str>, new: &str) -> Value {
    let change = json!({ "type": "diff", "path": "/w/a.txt", "oldText": old, "newText": new });
    json!({ "ask": { "toolCall": { "toolCallId": "c", "kind": "edit", "content": [change] } } })
}

fn no_file() -> CodedError {
    let refusal = CodedError::new(ErrorCode::NotFound, "There is none.");
    refusal.with_details(json!({ "root": "w", "path": "a.txt" }))
}

/// What becomes of a write once its base is read.
#[derive(Debug, PartialEq, Eq)]
enum Wrote {
    /// The user is asked.
    Asked(String),
    /// It is done, with this text.
    Done(String),
    /// The turn ended: it was refused.
    Refused,
}

impl Desk {
    async fn write_with(&mut self, base: Option<TextPart>) -> Wrote {
        let reply = self.read().await.2;
        match base {
            Some(part) => reply.answer(part),
            None => {
                reply.refuse(no_file());
            }
        }
        self.wait(|report| match report {
            EngineReport::Wants { want: ClientRequest::ApplyText { text, reply, .. }, .. } => {
                reply.answer(Applied { applied_hash: "h2".to_owned(), saved: true });
                Some(Wrote::Done(text))
            }
            EngineReport::Said { event, .. } => {
                normalize(Dialect::Acp, event).ask.map(|ask| Wrote::Asked(ask.engine_request_id))
            }
            EngineReport::TurnEnded { .. } => Some(Wrote::Refused),
            _ => None,
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_a_write_that_makes_what_was_just_allowed_is_not_asked_again_and_any_other_is() {
    let done = || Wrote::Done("new".to_owned());
    // Given a permission for an edit that the user allows (or not), and what is in the file then
    for (told, allows, now, wanted) in [
        (asks_edit(Some("old"), "new"), true, Some("old"), Some(done())),
        (asks_edit(None, "new"), true, None, Some(done())),
        (asks_edit(Some("ol"), "ne"), true, Some("olw"), Some(done())),
        // opencode has written the disk itself by then
        (asks_edit(Some("old"), "new"), true, Some("new"), Some(done())),
        (asks_edit(Some("old"), "new"), false, Some("old"), None),
        (asks_edit(Some("old"), "newer"), true, Some("old"), None),
        (asks_edit(Some("old"), "new"), true, Some("typed"), None),
        (asks_edit(None, "new"), true, Some("typed"), None),
    ] {
        let mut desk = playing(given(), json!([told, writes(11)])).await;
        let file = desk.read().await.2;
        match told["ask"]["toolCall"]["content"][0]["oldText"].is_null() {
            true => file.refuse(no_file()),
            false => file.answer(part(now.unwrap_or("old"))),
        }
        let ask = desk.asked().await;
        desk.answer("a", &ask, if allows { "allow_once" } else { "reject_once" }, allows);
        // When the agent writes
        let wrote = desk.write_with(now.map(part)).await;
        // Then nobody is asked twice about one edit, and everybody is about another one
        match wanted {
            Some(wanted) => assert_eq!(wrote, wanted, "{told} {now:?}"),
            None => assert!(matches!(wrote, Wrote::Asked(_)), "{told} {now:?}: {wrote:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_a_file_is_read_for_an_ask_that_does_not_say_what_is_there_and_what_was_found_goes_with_it() {
    // Given a permission to give a file a whole text, with a field of ours in it that the agent made up
    let mut told = asks_edit(None, "new");
    told["ask"]["filesBefore"] = json!([{ "path": "/w/a.txt", "text": "made up" }]);
    for (now, wanted) in [("old", Wrote::Done("new".to_owned())), ("typed", Wrote::Asked("1:11".to_owned()))]
    {
        let mut desk = playing(given(), json!([told, writes(11)])).await;
        // When the file is read before the user is asked
        desk.read().await.2.answer(part("old"));
        // Then the ask says what is there
        let (ask, title, payload) = desk.ask_shown().await;
        assert_eq!(title, "Edit /w/a.txt");
        assert_eq!(payload["filesBefore"], json!([{ "path": "/w/a.txt", "text": "old" }]));
        desk.answer("a", &ask, "allow_once", true);
        // And the write of it is asked about once more only where something else is there by then
        assert_eq!(desk.write_with(Some(part(now))).await, wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_an_ask_replaces_is_shown_where_it_stands_in_its_file() {
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    for (old, now, diff, reason) in [
        ("6", text, "@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n", None),
        (
            text,
            text,
            "@@ -1,9 +1,1 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n-8\n-9\n+six\n\\ No newline at end of file\n",
            None,
        ),
        (
            "6",
            "6\n6\n",
            "@@ -1,1 +1,1 @@\n-6\n+six\n",
            Some(
                "The file as it is now does not have what this replaces exactly once, so these lines are counted from 1.",
            ),
        ),
    ] {
        // Given a permission for an edit of a part of a file, as some agents tell it
        let mut desk = playing(given(), json!([asks_edit(Some(old), "six")])).await;
        // When the file is read before the user is asked
        desk.read().await.2.answer(part(now));
        // Then the ask shows where in the file that is, or says that nobody knows
        let ask = desk
            .wait(|report| match report {
                EngineReport::Said { event, .. } => normalize(Dialect::Acp, event).ask,
                _ => None,
            })
            .await;
        let subject = serde_json::to_value(&ask.subject).unwrap();
        assert_eq!((&subject["files"][0]["diff"], &subject["reason"]), (&json!(diff), &json!(reason)));
        desk.answer("a", &ask.engine_request_id, "reject_once", false);
        desk.turn("a").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_05_a_stop_while_a_file_is_read_for_an_ask_answers_it_as_cancelled() {
    let steps = json!([
        { "ask": { "toolCall": asks_edit(None, "new")["ask"]["toolCall"] }, "id": 11, "wait": false },
        { "wait": "cancel" },
    ]);
    // Given an ask whose file is being read
    let mut desk = playing(given(), steps).await;
    let look = desk.read().await.2;
    // When the turn is stopped
    desk.stop("a");
    // Then it is answered as cancelled, and what comes later asks nobody
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    assert_eq!(desk.until_sent("answer 11").await, [cancelled]);
    look.answer(part("old"));
    let (told, _) = desk.turn("a").await;
    assert_eq!(told.last(), Some(&end("a", 1, "cancelled")));
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_what_was_allowed_counts_for_one_write_of_that_file_in_that_turn() {
    let script = json!({ "prompts": [
        { "steps": [asks_edit(Some("old"), "new"), writes(11), writes(12)] },
        { "steps": [asks_edit(Some("old"), "new")] },
        { "steps": [writes(13)] },
    ] });
    let mut desk = Desk::laid(Layout { script, given: given(), ..Layout::default() });
    desk.make("a").await;
    desk.start("a", 1, "go");
    let ask = desk.asked().await;
    desk.answer("a", &ask, "allow_once", true);
    assert_eq!(desk.write_with(Some(part("old"))).await, Wrote::Done("new".to_owned()));
    let Wrote::Asked(again) = desk.write_with(Some(part("old"))).await else { panic!("nobody was asked") };
    desk.answer("a", &again, "deny", false);
    desk.turn("a").await;
    desk.start("a", 2, "allow it");
    let ask = desk.asked().await;
    desk.answer("a", &ask, "allow_once", true);
    desk.turn("a").await;
    desk.start("a", 3, "write it");
    assert!(matches!(desk.write_with(Some(part("old"))).await, Wrote::Asked(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_unsaved_text_that_the_agent_never_read_is_not_written_over() {
    let unsaved = |text: &str, hash: &str| TextPart { unsaved: true, hash: hash.to_owned(), ..part(text) };
    // Given an agent that read the disk, and a buffer in which the user typed
    let mut desk = playing(given(), json!([asks_edit(Some("old"), "new"), writes(11)])).await;
    let ask = desk.asked().await;
    desk.answer("a", &ask, "allow_once", true);
    // When it writes what was allowed, then it is refused with a reason, and nobody is asked
    assert_eq!(desk.write_with(Some(unsaved("typed old", "h7"))).await, Wrote::Refused);
    assert_eq!(desk.until_sent("error 11").await, [json!(-32001)]);
    // Given one that read that text through us, then the user is asked; and refused again after more was typed
    let mut desk = playing(given(), json!([reads(10), writes(11), writes(12)])).await;
    desk.read().await.2.answer(unsaved("typed old", "h7"));
    let Wrote::Asked(ask) = desk.write_with(Some(unsaved("typed old", "h7"))).await else {
        panic!("nobody was asked")
    };
    desk.answer("a", &ask, "deny", false);
    assert_eq!(desk.write_with(Some(unsaved("typed more", "h8"))).await, Wrote::Refused);
}
