//! Sessions that an engine holds, against the loop: made there, followed, asked, stopped, lost and found.

use std::sync::atomic::Ordering;

use breadboard_ls::testing::app::ports::*;
use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::event::EngineEvent;
use breadboard_ls::testing::protocol::request::CommandResult;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup, types};
use crate::journal::Faults;
use crate::tabs_client::uuid;

pub fn held() -> Setup {
    Setup { holds: true, ..Setup::default() }
}

/// The engine's side of the desk.
impl Desk {
    /// The next call that fits, taken out; waits for it.
    pub async fn called<T>(
        &self,
        fits: impl Fn(&EngineCall) -> bool,
        take: impl FnOnce(EngineCall) -> T,
    ) -> T {
        loop {
            {
                let mut calls = self.calls.0.lock().unwrap();
                if let Some(at) = calls.iter().position(&fits) {
                    return take(calls.remove(at));
                }
            }
            tokio::task::yield_now().await;
        }
    }

    pub async fn report(&self, report: EngineReport) {
        self.engine.send(report).await.unwrap();
    }

    /// The engine's event number `seq`; 0 for one without a number.
    pub async fn event(&self, seq: u64, kind: &str, payload: Value) {
        let event = EngineEvent {
            id: if seq == 0 { String::new() } else { seq.to_string() },
            kind: kind.to_owned(),
            turn: None,
            ts: Some(5_000),
            payload: payload.as_object().cloned().unwrap().into(),
            repaired: false,
        };
        let cursor = (seq > 0).then(|| EngineCursor { seq, id: seq.to_string() });
        self.report(EngineReport::Said { session_id: "s1".to_owned(), event, cursor }).await;
    }

    pub async fn link(&self, news: LinkNews) {
        self.report(EngineReport::Stream(StreamReport::Link { session_id: "s1".to_owned(), news })).await;
    }

    /// A session `s1` at the engine, its stream up.
    pub async fn held_session(&self) {
        let (created, ()) = tokio::join!(self.ask("bb/createSession", json!({})), self.make());
        assert_eq!(created.unwrap(), json!({"sessionId": "s1"}));
        self.link(LinkNews::Resumed(ResumedLink::Complete)).await;
        self.caught_up().await;
        self.calls.0.lock().unwrap().clear();
    }

    pub async fn make(&self) {
        let (wish, reply) = self
            .called(
                |call| matches!(call, EngineCall::MakeSession { .. }),
                |call| match call {
                    EngineCall::MakeSession { wish, reply, .. } => (wish, reply),
                    other => panic!("{other:?}"),
                },
            )
            .await;
        let made = EngineSession {
            session_id: "s1".to_owned(),
            status: "starting".to_owned(),
            ..Default::default()
        };
        self.report(EngineReport::SessionMade { wish, outcome: Ok(made), reply }).await;
    }

    /// An ask of the engine's, and the id that we gave it.
    pub async fn asked(&self, seq: u64, id: &str) -> String {
        self.event(
            seq,
            "permission_request",
            json!({"request_id": id, "category": "shell", "pattern": "python sort.py *", "seq": seq * 10,
                "items": [{"item_id": "i1", "category": "shell", "pattern": "python sort.py *",
                    "metadata": {"command": "python sort.py"}}],
                "summary": "python sort.py", "rule_suggestion": "python sort.py *", "default_scope": "project"}),
        )
        .await;
        let events = self.events("s1").await;
        events.last().unwrap()["permission"]["requestId"].as_str().unwrap().to_owned()
    }

    /// The next decision: its id at the engine, what was decided, and the way to answer it.
    pub async fn decided(&self, outcome: Result<(), CodedError>) -> (String, Ruling) {
        let (engine_request_id, decision, request_id, reply) = self
            .called(
                |call| matches!(call, EngineCall::Decide { .. }),
                |call| match call {
                    EngineCall::Decide { engine_request_id, decision, request_id, reply, .. } => {
                        (engine_request_id, decision, request_id, reply)
                    }
                    other => panic!("{other:?}"),
                },
            )
            .await;
        let session_id = "s1".to_owned();
        self.report(EngineReport::Stream(StreamReport::Answered { session_id, request_id, outcome, reply }))
            .await;
        (engine_request_id, decision.ruling)
    }

    pub async fn pending(&self) -> Value {
        self.caught_up().await;
        self.heard("bb/state").last().map_or(json!(0), |state| state["pendingPermissionCount"].clone())
    }

    /// A prompt that the engine works on, with its echo as event `seq`.
    pub async fn working(&self, text: &str, seq: u64) {
        let sent = self.prompt("s1", text).await;
        assert_eq!(sent["disposition"], "started");
        self.event(seq, "user_message", json!({"text": text})).await;
        self.caught_up().await;
    }
}

pub fn desk(dir: &tempfile::TempDir) -> Desk {
    Desk::at(dir.path(), held())
}

#[tokio::test]
async fn r000_21_a_session_is_made_at_the_engine_followed_from_its_beginning_and_then_prompted() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let params = json!({"configPath": "a.yaml", "task": "sort it", "permissionMode": "prompt", "model": "m"});
    let (created, ()) = tokio::join!(desk.ask("bb/createSession", params), desk.make());
    assert_eq!(created.unwrap(), json!({"sessionId": "s1"}));
    let calls = desk.calls.0.lock().unwrap();
    let attach = calls.iter().position(
        |call| matches!(call, EngineCall::Stream(StreamCall::Attach { session_id, cursor: None, .. }) if session_id == "s1"),
    );
    let start = calls
        .iter()
        .position(|call| matches!(call, EngineCall::StartTurn { prompt, .. } if prompt.text == "sort it"));
    assert!(attach.unwrap() < start.unwrap(), "fault 5: the stream is opened before the prompt: {calls:?}");
}

#[tokio::test]
async fn r000_63_without_trust_nothing_is_prompted_allowed_or_commanded_but_reading_and_denying_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { trusted: false, ..held() });
    let untrusted = |answer: Result<Value, CodedError>| {
        assert_eq!(answer.unwrap_err().code, ErrorCode::UntrustedWorkspace)
    };
    untrusted(desk.ask("bb/createSession", json!({"task": "sort it"})).await);
    desk.held_session().await;
    untrusted(desk.ask("bb/sendMessage", json!({"sessionId": "s1", "text": "x"})).await);
    untrusted(desk.ask("bb/command", json!({"sessionId": "s1", "command": "restore_checkpoint"})).await);
    desk.event(1, "user_message", json!({"text": "from another client"})).await;
    let request_id = desk.asked(2, "permission_1").await;
    let answer = |decision: &str| json!({"sessionId": "s1", "requestId": request_id, "decision": decision});
    untrusted(desk.ask("bb/approvePermission", answer("allow_once")).await);
    untrusted(desk.ask("bb/approvePermission", answer("allow_rule")).await);
    let (denied, decided) =
        tokio::join!(desk.ask("bb/approvePermission", answer("deny")), desk.decided(Ok(())));
    assert_eq!(denied.unwrap()["outcome"], "recorded");
    assert_eq!(decided, ("permission_1".to_owned(), Ruling::Deny));
}

#[tokio::test]
async fn r003_56_the_cursor_is_that_of_the_journal_and_goes_back_to_the_engine_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.event(2, "turn_start", json!({})).await;
    // The todo snapshot of a connect has no number and is no cursor (fault 4).
    desk.event(0, "tool_result", json!({"call_id": "todo:snapshot:connect:1", "todo": {"items": []}})).await;
    desk.caught_up().await;
    assert_eq!(desk.events("s1").await.len(), 4);
    desk.close().await;

    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..held() });
    let cursor = desk
        .called(
            |call| matches!(call, EngineCall::Stream(StreamCall::Attach { .. })),
            |call| match call {
                EngineCall::Stream(StreamCall::Attach { cursor, .. }) => cursor,
                other => panic!("{other:?}"),
            },
        )
        .await;
    assert_eq!(cursor, Some(EngineCursor { seq: 2, id: "2".to_owned() }));
    // The turn goes on: it was not cut by our restart.
    desk.link(LinkNews::Resumed(ResumedLink::Replayed { events: 1, from: 3, to: 3 })).await;
    desk.event(3, "run_finished", json!({"reason": "done"})).await;
    let events = desk.events("s1").await;
    assert_eq!(types(&events), ["local.prompt", "user_message", "turn_start", "tool_result", "run_finished"]);
}

#[tokio::test]
async fn r003_56_a_kill_at_any_moment_neither_doubles_nor_loses_an_event_of_the_engine() {
    for commits in 1..=9 {
        let dir = tempfile::tempdir().unwrap();
        let (open, faults) = Faults::over(dir.path());
        let desk = Desk::with_journal(open, held());
        desk.held_session().await;
        faults.killed_after.store(commits, Ordering::SeqCst);
        desk.prompt("s1", "one").await;
        let told = [
            ("user_message", json!({"text": "one"})),
            ("turn_start", json!({})),
            ("assistant.message.delta", json!({"item_id": "m", "delta": "a "})),
            ("assistant.message.delta", json!({"item_id": "m", "delta": "b "})),
            ("permission_request", json!({"request_id": "permission_1", "items": []})),
            ("assistant.message.delta", json!({"item_id": "n", "delta": "c "})),
        ];
        for (before, (kind, payload)) in (0_u64..).zip(told) {
            // So much apart that each is written as it comes.
            tokio::time::pause();
            tokio::time::advance(std::time::Duration::from_millis(100)).await;
            tokio::time::resume();
            desk.event(before + 1, kind, payload).await;
            desk.caught_up().await;
        }
        desk.close().await;

        let desk = Desk::at(dir.path(), Setup { first_id: 100, ..held() });
        let attached = async {
            let cursor = desk
                .called(
                    |call| matches!(call, EngineCall::Stream(StreamCall::Attach { .. })),
                    |call| match call {
                        EngineCall::Stream(StreamCall::Attach { cursor, .. }) => cursor,
                        other => panic!("{other:?}"),
                    },
                )
                .await;
            desk.link(LinkNews::Resumed(ResumedLink::Complete)).await;
            cursor
        };
        let (selected, cursor) =
            tokio::join!(desk.ask("bb/selectSession", json!({"sessionId": "s1"})), attached);
        selected.unwrap();
        let events = desk.events("s1").await;
        let last = events.iter().rev().find(|event| event["origin"] == "engine");
        assert_eq!(
            cursor.map(|cursor| cursor.id),
            last.map(|event| event["id"].as_str().unwrap().to_owned()),
            "killed after {commits} commits with {:?}",
            types(&events)
        );
        desk.close().await;
    }
}

#[tokio::test]
async fn a_prompt_that_never_reached_the_engine_ends_with_a_sentence_once_the_stream_shows_it() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.prompt("s1", "one").await;
    desk.caught_up().await;
    desk.close().await;

    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..held() });
    desk.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    let events = desk.events("s1").await;
    assert_eq!(types(&events), ["local.prompt", "local.turn_end"]);
    assert_eq!(events[1]["payload"]["reason"], "failed");
    // It may have got there: an engine takes a moment to begin.
    assert_eq!(
        events[1]["payload"]["message"],
        "breadboard-ls ended while this prompt was on its way, and the engine has not begun it so far; send it again if \
         no answer comes."
    );
}

#[tokio::test]
async fn another_clients_run_neither_begins_a_prompt_of_ours_nor_ends_it() {
    // Given a prompt on its way, and another client's prompt that the engine begins before it
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.prompt("s1", "ours").await;
    desk.event(1, "turn_start", json!({})).await;
    desk.event(2, "user_message", json!({"text": "theirs"})).await;
    // When that run is over
    desk.event(3, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    // Then ours still runs here
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
    // And it ends with its own run
    desk.event(4, "user_message", json!({"text": "ours"})).await;
    desk.event(5, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], false);
    let events = desk.events("s1").await;
    assert_eq!(
        types(&events),
        ["local.prompt", "turn_start", "user_message", "run_finished", "user_message", "run_finished"]
    );
}

#[tokio::test]
async fn a_prompt_that_waits_behind_another_clients_run_when_the_session_ends_is_said_to_be_undone() {
    // Given a prompt of ours behind one that another client sent
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.prompt("s1", "ours").await;
    desk.event(1, "turn_start", json!({})).await;
    desk.event(2, "user_message", json!({"text": "theirs"})).await;
    // When the engine is done with the session
    desk.link(LinkNews::Ended { status: "completed".to_owned(), configuration: None }).await;
    // Then ours is over, and nothing was done of it
    let events = desk.events("s1").await;
    let end = events.last().unwrap();
    assert_eq!((&end["type"], &end["payload"]["reason"]), (&json!("local.turn_end"), &json!("failed")));
    assert_eq!(
        end["payload"]["message"],
        "The engine ended this session before it began with this prompt; send it again in a new session."
    );
}

#[tokio::test]
async fn a_prompt_that_its_engine_tells_of_in_unknown_words_only_is_over_once_the_engine_is_quiet_behind_its_run()
 {
    // Given a prompt that the engine took, and another one behind it
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.prompt("s1", "fix it").await;
    desk.prompt("s1", "and that").await;
    let quiet =
        || EngineReport::Stream(StreamReport::QuietBehindAnother { session_id: "s1".to_owned(), turn: 1 });
    let started = |desk: &Desk| desk.engine_heard().iter().filter(|call| call.starts_with("start")).count();
    let stands = async |what: &str| {
        desk.report(quiet()).await;
        desk.caught_up().await;
        assert_eq!(started(&desk), 1, "{what}");
    };
    // When the engine begins a run with other words, then that may be another client's as long as it runs
    desk.event(1, "user_message", json!({"text": "Zadanie: napraw"})).await;
    stands("it runs").await;
    desk.event(2, "assistant_message", json!({"text": "Fixed."})).await;
    desk.event(3, "run_finished", json!({"reason": "done"})).await;
    // And while the stream does not stand, its silence says nothing
    desk.link(LinkNews::Connecting { retry: 1, error: Some("The engine is not reached.".to_owned()) }).await;
    stands("the stream does not stand").await;
    desk.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    // When it has begun nothing behind that, then the prompt is over, which is said, and the next one is sent
    desk.report(quiet()).await;
    desk.caught_up().await;
    let ends: Vec<Value> =
        desk.events("s1").await.into_iter().filter(|event| event["type"] == "local.turn_end").collect();
    let said = ends[0]["payload"]["message"].as_str().unwrap();
    assert_eq!(
        (ends.len(), &ends[0]["turn"], &ends[0]["payload"]["reason"]),
        (1, &json!(1), &json!("no_end"))
    );
    assert!(said.contains("that run is probably its answer"), "{said}");
    assert_eq!(started(&desk), 2);
    // And what is said of it once more ends nothing
    desk.report(quiet()).await;
    desk.caught_up().await;
    assert_eq!(desk.ask("bb/stop", json!({"sessionId": "s1"})).await.unwrap()["stopping"], true);
}

#[tokio::test]
async fn a_prompt_whose_run_begins_behind_anothers_is_not_given_up() {
    // Given a prompt behind another client's run, which ends
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.prompt("s1", "fix it").await;
    desk.event(1, "user_message", json!({"text": "another's"})).await;
    desk.event(2, "run_finished", json!({"reason": "done"})).await;
    // When its own begins, and the engine is quiet for a while
    desk.event(3, "user_message", json!({"text": "fix it"})).await;
    desk.report(EngineReport::Stream(StreamReport::QuietBehindAnother {
        session_id: "s1".to_owned(),
        turn: 1,
    }))
    .await;
    desk.event(4, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    // Then it ends with its own end
    let ends = desk.events("s1").await.into_iter().filter(|event| event["type"] == "local.turn_end").count();
    assert_eq!(ends, 0);
}

#[tokio::test]
async fn a_prompt_that_died_with_the_process_is_not_begun_by_another_clients_run() {
    // Given a prompt that was on its way when another client's began, and the process ended
    let dir = tempfile::tempdir().unwrap();
    let first = desk(&dir);
    first.held_session().await;
    first.prompt("s1", "ours").await;
    first.event(1, "user_message", json!({"text": "theirs"})).await;
    first.asked(2, "permission_1").await;
    first.caught_up().await;
    first.kill().await;
    // When the stream stands again
    let second = Desk::at(dir.path(), Setup { first_id: 100, ..held() });
    second.event(3, "turn_start", json!({})).await;
    second.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    // Then it is said that ours may be lost
    let events = second.events("s1").await;
    assert_eq!(
        types(&events),
        ["local.prompt", "user_message", "permission_request", "turn_start", "local.turn_end"]
    );
    assert_eq!(events[4]["payload"]["reason"], "failed");
    // And what the other client's run asks still waits
    let waits = second.ask("bb/permission/list", json!({})).await.unwrap();
    assert_eq!(waits["pending"].as_array().unwrap().len(), 1, "{waits}");
}

#[tokio::test]
async fn one_prompt_is_at_the_engine_and_the_next_goes_when_its_own_run_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    assert_eq!(desk.prompt("s1", "two").await["disposition"], "queued");
    desk.event(2, "completion", json!({"summary": {"reason": "done"}})).await;
    desk.caught_up().await;
    assert!(!desk.engine_heard().iter().any(|call| call.contains("two")), "a completion is not yet the end");
    desk.event(3, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    assert!(desk.engine_heard().contains(&"start 2 two".to_owned()), "{:?}", desk.engine_heard());
    // A late word about the run before it ends nothing.
    desk.event(4, "turn_completed", json!({})).await;
    desk.event(5, "user_message", json!({"text": "two"})).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
    desk.event(6, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], false);
}

#[tokio::test]
async fn r003_43_an_answer_is_settled_by_the_engines_event_and_not_by_its_taking_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    let request_id = desk.asked(2, "permission_1").await;
    let answer = json!({"sessionId": "s1", "requestId": request_id, "decision": "allow_once"});
    let (recorded, decided) =
        tokio::join!(desk.ask("bb/approvePermission", answer.clone()), desk.decided(Ok(())));
    assert_eq!(recorded.unwrap(), json!({"requestId": request_id, "outcome": "recorded"}));
    assert_eq!(decided, ("permission_1".to_owned(), Ruling::AllowOnce));
    assert_eq!(desk.pending().await, 1, "taken is not settled");
    // Answered twice: the first stands.
    let again = desk.ask("bb/approvePermission", answer).await.unwrap();
    assert_eq!((&again["outcome"], &again["resolution"]), (&json!("already_resolved"), &json!("allowed")));

    desk.event(
        3,
        "permission_response",
        json!({"request_id": "permission_1", "response": "once", "decision": "once"}),
    )
    .await;
    let events = desk.events("s1").await;
    assert_eq!(types(&events)[3..], ["permission_response", "local.permission_settled"]);
    assert_eq!(
        events[4]["payload"],
        json!({"requestId": request_id, "status": "allowed", "optionId": "allow_once", "resolvedBy": "user",
            "chosen": {"optionId": "allow_once", "label": events[2]["permission"]["options"][0]["label"]}})
    );
    assert_eq!(desk.pending().await, 0, "fault 8: an answered ask does not stay in the list");
}

#[tokio::test]
async fn r000_29_a_rule_goes_out_in_the_engines_words_as_shown_or_narrower_never_wider() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    let request_id = desk.asked(2, "permission_1").await;
    let answer = |update: Value| json!({"sessionId": "s1", "requestId": request_id, "decision": "allow_rule", "ruleUpdate": update});
    let wider = desk.ask("bb/approvePermission", answer(json!({"pattern": "python *"}))).await;
    assert_eq!(wider.unwrap_err().code, ErrorCode::InvalidParams);
    let narrower = answer(json!({"pattern": "python sort.py --dry *"}));
    let (recorded, decided) = tokio::join!(desk.ask("bb/approvePermission", narrower), desk.decided(Ok(())));
    recorded.unwrap();
    let rule = Ruling::AllowRule { pattern: "python sort.py --dry *".into(), scope: "project".into() };
    assert_eq!(decided.1, rule, "fault 2: a rule is no rejection");
    // And once the engine confirms it, the settlement has the rule as it was narrowed
    let confirmed = json!({"request_id": "permission_1", "response": "always", "decision": "always"});
    desk.event(3, "permission_response", confirmed).await;
    let settled = desk.events("s1").await.pop().unwrap();
    let rule = json!({"pattern": "python sort.py --dry *", "scope": "workspace", "holder": "engine", "keptBy": "breadboard",
        "keptIn": ".breadboard/permission_rules.json"});
    assert_eq!(settled["payload"]["chosen"]["rule"], rule, "{settled}");

    // It is listed as the engine's, and cannot be taken back here
    let listed = desk.ask("bb/permission/list", json!({"sessionId": "s1"})).await.unwrap();
    let [listed] = listed["rules"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    let id = listed["ruleId"].clone();
    let wanted = json!({"ruleId": id, "pattern": "python sort.py --dry *", "scope": "workspace", "holder": "engine",
        "keptBy": "breadboard", "keptIn": ".breadboard/permission_rules.json", "revocable": false, "sessionId": "s1"});
    assert_eq!(*listed, wanted);
    let refused = desk.ask("bb/permission/revoke", json!({"ruleId": id})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unsupported);
    let sentence = "`breadboard` keeps this rule in `.breadboard/permission_rules.json` of the workspace, so it can be taken back \
                    only there.";
    assert_eq!(refused.message, sentence);
}

#[tokio::test]
async fn an_answer_that_the_engine_refuses_leaves_the_ask_waiting_unless_the_engine_waits_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    let request_id = desk.asked(2, "permission_1").await;
    let answer = json!({"sessionId": "s1", "requestId": request_id, "decision": "allow_once"});
    let down = CodedError::new(ErrorCode::EngineUnreachable, "The engine does not answer; try again.");
    let (refused, _) =
        tokio::join!(desk.ask("bb/approvePermission", answer.clone()), desk.decided(Err(down.clone())));
    assert_eq!(refused.unwrap_err(), down);
    assert_eq!(desk.pending().await, 1);
    let stale = CodedError::new(ErrorCode::Conflict, "The engine waits for no answer.");
    let (refused, _) = tokio::join!(desk.ask("bb/approvePermission", answer), desk.decided(Err(stale)));
    assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(desk.pending().await, 0);
    let events = desk.events("s1").await;
    assert_eq!(events.last().unwrap()["payload"]["status"], "cancelled");
}

#[tokio::test]
async fn asks_of_one_engine_id_in_two_runs_are_two_asks_and_one_that_is_told_again_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    let first = desk.asked(2, "permission_1").await;
    // Told again, from the metadata of the session: the same number of the engine's.
    desk.event(
        0,
        "permission_request",
        json!({"request_id": "permission_1", "seq": 20, "pattern": "p", "category": "shell"}),
    )
    .await;
    assert_eq!(desk.pending().await, 1);
    desk.event(3, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    desk.working("two", 4).await;
    let second = desk.asked(5, "permission_1").await;
    assert_ne!(first, second);
    let old = json!({"sessionId": "s1", "requestId": first, "decision": "deny"});
    let old = desk.ask("bb/approvePermission", old).await.unwrap();
    assert_eq!((&old["outcome"], &old["resolution"]), (&json!("already_resolved"), &json!("cancelled")));
    assert_eq!(desk.pending().await, 1);
}

#[tokio::test]
async fn stop_denies_what_waits_first_because_the_engine_hears_no_stop_while_it_waits() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.asked(2, "permission_1").await;
    desk.calls.0.lock().unwrap().clear();
    let stopped = desk.ask("bb/stop", json!({"sessionId": "s1"})).await.unwrap();
    assert_eq!(stopped, json!({"sessionId": "s1", "stopping": true}));
    {
        let calls = desk.calls.0.lock().unwrap();
        assert!(
            matches!(&calls[0], EngineCall::Decide { decision, .. } if decision.ruling == Ruling::DenyAndStop),
            "{calls:?}"
        );
        assert!(matches!(&calls[1], EngineCall::Stop { .. }), "{calls:?}");
    }
    desk.event(3, "permission_response", json!({"request_id": "permission_1", "response": "reject"})).await;
    desk.event(4, "run_finished", json!({"reason": "stopped_by_user"})).await;
    let events = desk.events("s1").await;
    assert_eq!(types(&events)[3..], ["permission_response", "local.permission_settled", "run_finished"]);
    assert_eq!(events[4]["payload"]["status"], "denied");
}

#[tokio::test]
async fn r000_26_a_prompt_that_is_stopped_before_the_engine_begins_it_is_over_when_the_engine_says_so() {
    // Given a prompt at the engine that it has not begun
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.prompt("s1", "one").await;
    // When the engine cancels what nobody here asked it to stop, nothing is over
    desk.event(1, "turn_cancelled", json!({"turn_id": "turn-0"})).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], true);
    // When the user stops it and the engine takes it out of its queue
    let stopped = desk.ask("bb/stop", json!({"sessionId": "s1"})).await.unwrap();
    assert_eq!(stopped["stopping"], true);
    desk.event(2, "turn_cancelled", json!({"turn_id": "turn-1"})).await;
    // Then the turn is over and says why
    let events = desk.events("s1").await;
    assert_eq!(types(&events), ["local.prompt", "turn_cancelled", "turn_cancelled", "local.turn_end"]);
    let end = json!({"reason": "cancelled", "message": "The turn was stopped."});
    assert_eq!((&events[3]["payload"], &events[3]["turn"]), (&end, &json!(1)));
    assert_eq!(desk.heard("bb/state").last().unwrap()["running"], false);
}

#[tokio::test]
async fn a_session_is_deleted_at_the_engine_with_its_asks_denied_and_stays_when_that_fails() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.asked(2, "permission_1").await;
    let delete = async |outcome: Result<(), CodedError>| {
        let (asks, reply) = desk
            .called(
                |call| matches!(call, EngineCall::DeleteSession { .. }),
                |call| match call {
                    EngineCall::DeleteSession { asks, reply, .. } => (asks, reply),
                    other => panic!("{other:?}"),
                },
            )
            .await;
        assert_eq!(asks, ["permission_1"]);
        desk.report(EngineReport::SessionDeleted { session_id: "s1".to_owned(), outcome, reply }).await;
    };
    let slow = CodedError::new(ErrorCode::EngineRejected, "The engine did not delete it; try again.");
    let params = json!({"sessionId": "s1"});
    let (kept, ()) = tokio::join!(desk.ask("bb/deleteSession", params.clone()), delete(Err(slow.clone())));
    assert_eq!(kept.unwrap_err(), slow);
    assert_eq!(desk.events("s1").await.len(), 3);
    let (gone, ()) = tokio::join!(desk.ask("bb/deleteSession", params.clone()), delete(Ok(())));
    assert_eq!(gone.unwrap(), json!({"sessionId": "s1", "deleted": true}));
    assert_eq!(desk.ask("bb/selectSession", params).await.unwrap_err().code, ErrorCode::UnknownSession);
}

#[tokio::test]
async fn r003_58_r003_59_a_gap_is_said_on_the_connection_and_in_the_transcript_and_can_be_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.link(LinkNews::Gap { from: 2, to: Some(9), reason: "the engine keeps its last 1000 events".into() })
        .await;
    desk.event(10, "turn_start", json!({})).await;
    desk.caught_up().await;
    let told = desk.heard("bb/connection");
    let gap = told.iter().find(|news| news["gapDetected"] == true).unwrap();
    assert_eq!(
        gap["resume"],
        json!({"verdict": "lost", "from": 2, "to": 9, "reason": "The engine keeps its last 1000 events."})
    );
    let events = desk.events("s1").await;
    assert_eq!(types(&events)[2..], ["local.gap", "turn_start"]);
    assert_eq!(events[2]["class"], "run.error_or_gap");

    let rebuild = async |found: Vec<(EngineEvent, u64)>| {
        let (missing, reply) = desk
            .called(
                |call| matches!(call, EngineCall::Stream(StreamCall::Rebuild { .. })),
                |call| match call {
                    EngineCall::Stream(StreamCall::Rebuild { missing, reply, .. }) => (missing, reply),
                    other => panic!("{other:?}"),
                },
            )
            .await;
        desk.report(EngineReport::Stream(StreamReport::Rebuilt {
            session_id: "s1".to_owned(),
            outcome: Ok(found),
            reply,
        }))
        .await;
        missing
    };
    let found = |seq: u64| {
        let payload = json!({"text": "was missing"}).as_object().cloned().unwrap().into();
        let (id, kind) = (seq.to_string(), "assistant_message".to_owned());
        (EngineEvent { id, kind, turn: None, ts: None, payload, repaired: false }, seq)
    };
    let params = json!({"sessionId": "s1"});
    let (rebuilt, missing) =
        tokio::join!(desk.ask("bb/rebuild", params), rebuild(vec![found(8), found(9), found(10)]));
    assert_eq!(missing, (2, 9));
    let resume = rebuilt.unwrap()["resume"].clone();
    assert_eq!((&resume["verdict"], &resume["from"], &resume["to"]), (&json!("lost"), &json!(2), &json!(7)));
    let events = desk.events("s1").await;
    assert_eq!(
        types(&events)[4..],
        ["local.notice", "assistant_message", "assistant_message", "local.notice"],
        "10 was there already"
    );
}

#[tokio::test]
async fn after_a_gap_an_ask_that_was_answered_meanwhile_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.asked(2, "permission_1").await;
    desk.link(LinkNews::Waiting(vec!["permission_1".into()])).await;
    assert_eq!(desk.pending().await, 1);
    desk.link(LinkNews::Waiting(vec![])).await;
    assert_eq!(desk.pending().await, 0);
    let events = desk.events("s1").await;
    assert_eq!(events.last().unwrap()["payload"]["resolvedBy"], "engine");
}

#[tokio::test]
async fn a_session_that_is_gone_or_failed_ends_its_turn_keeps_its_history_and_takes_no_prompt() {
    let gone = "The engine was restarted and forgot this session.";
    let named = "The engine ended the session: failed. It was made with the configuration `a.yaml`; if that cannot start, make a session \
                 with another one.";
    let ended = |configuration: Option<&str>| LinkNews::Ended {
        status: "failed".into(),
        configuration: configuration.map(str::to_owned),
    };
    for (news, status, said) in [
        (LinkNews::Gone { reason: gone.into() }, "gone", gone),
        (ended(None), "failed", "The engine ended the session: failed."),
        (ended(Some("a.yaml")), "failed", named),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let desk = desk(&dir);
        desk.held_session().await;
        desk.working("one", 1).await;
        desk.asked(2, "permission_1").await;
        desk.link(news).await;
        let events = desk.events("s1").await;
        let tail: &[&str] = match status {
            "gone" => &["local.gap", "local.permission_settled", "local.turn_end"],
            _ => &["local.permission_settled", "local.turn_end"],
        };
        assert_eq!(types(&events)[3..], *tail);
        assert_eq!(events.last().unwrap()["payload"]["message"], said);
        let refused = desk.ask("bb/sendMessage", json!({"sessionId": "s1", "text": "on"})).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::EngineRejected);
        let why = if status == "gone" { "the engine no longer has it" } else { "it has failed" };
        let sentence = format!("This session takes no more prompts ({why}); create a new one to go on.");
        assert_eq!(refused.message, sentence);
        let told = desk.heard("bb/connection");
        let told = told.last().unwrap();
        assert_eq!((&told["status"], &told["lastError"]), (&json!("error"), &json!(said)));
        assert_eq!(desk.heard("bb/state").last().unwrap()["sessions"][0]["status"], status);
        // Selecting it asks nobody.
        let selected = desk.ask("bb/selectSession", json!({"sessionId": "s1"})).await.unwrap();
        assert_eq!(selected["seq"], 3 + tail.len());
        let verdict = match status {
            "gone" => {
                json!({"verdict": "lost", "from": 3, "reason": "The engine no longer has this session, so what happened \
                             there after 1970-01-01 00:00:05 UTC cannot be known."})
            }
            _ => json!({"verdict": "complete", "to": 5}),
        };
        assert_eq!(selected["resume"], verdict);
        desk.close().await;

        // Nor does another process call it complete, and it says it once.
        let desk = Desk::at(dir.path(), Setup { first_id: 100, ..held() });
        let selected = desk.ask("bb/selectSession", json!({"sessionId": "s1"})).await.unwrap();
        assert_eq!((&selected["resume"], &selected["seq"]), (&verdict, &json!(3 + tail.len())));
    }
}

#[tokio::test]
async fn selecting_a_session_of_the_engine_answers_with_the_verdict_of_its_stream() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.event(2, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    desk.close().await;

    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..held() });
    let streamed = async {
        desk.called(|call| matches!(call, EngineCall::Stream(StreamCall::Attach { .. })), drop).await;
        desk.event(3, "user_message", json!({"text": "from elsewhere"})).await;
        desk.link(LinkNews::Resumed(ResumedLink::Replayed { events: 1, from: 3, to: 3 })).await;
    };
    let (selected, ()) = tokio::join!(desk.ask("bb/selectSession", json!({"sessionId": "s1"})), streamed);
    let selected = selected.unwrap();
    assert_eq!(selected["seq"], 4, "what came with the resume is in the view");
    assert_eq!(selected["resume"], json!({"verdict": "replayed", "events": 1, "from": 3, "to": 3}));
}

#[tokio::test]
async fn what_is_not_known_yet_of_a_session_is_lost_with_the_reason_and_the_verdict_follows() {
    // Given a session of an earlier process
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    desk.working("one", 1).await;
    desk.event(2, "run_finished", json!({"reason": "done"})).await;
    desk.caught_up().await;
    desk.close().await;
    let desk = Desk::at(dir.path(), Setup { first_id: 100, ..held() });
    // When it is selected, and its engine keeps silent for longer than a person waits
    let silent = async {
        desk.called(|call| matches!(call, EngineCall::Stream(StreamCall::Attach { .. })), drop).await;
        let slow = "The engine has not answered for this session yet; it is still being tried.";
        desk.link(LinkNews::Connecting { retry: 0, error: Some(slow.into()) }).await;
    };
    let (selected, ()) = tokio::join!(desk.ask("bb/selectSession", json!({"sessionId": "s1"})), silent);
    // Then the answer has what is there, and does not claim that this is all
    let selected = selected.unwrap();
    assert_eq!(selected["seq"], 3);
    let reason = "The engine has not answered for this session yet; it is still being tried.";
    assert_eq!(selected["resume"], json!({"verdict": "lost", "reason": reason}));
    // And the verdict comes once it is known
    desk.event(3, "user_message", json!({"text": "from elsewhere"})).await;
    desk.link(LinkNews::Resumed(ResumedLink::Replayed { events: 1, from: 3, to: 3 })).await;
    desk.caught_up().await;
    let told = desk.heard("bb/connection").pop().unwrap();
    let wanted = json!({"status": "connected", "sessionId": "s1",
        "resume": {"verdict": "replayed", "events": 1, "from": 3, "to": 3}});
    assert_eq!(told, wanted);
}

#[tokio::test]
async fn the_list_is_the_engines_and_what_the_journal_has() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    let listed = async |sessions: Result<Vec<EngineSession>, CodedError>, whole: bool| {
        let reply = desk
            .called(
                |call| matches!(call, EngineCall::ListSessions { .. }),
                |call| match call {
                    EngineCall::ListSessions { reply } => reply,
                    other => panic!("{other:?}"),
                },
            )
            .await;
        let outcome = sessions.map(|sessions| ListedSessions { sessions, whole });
        desk.report(EngineReport::SessionsListed { outcome, reply }).await;
    };
    let other = EngineSession {
        session_id: "s2".into(),
        status: "running".into(),
        title: Some("theirs".into()),
        updated_at: Some(9_000),
        workspace: Some("/w".into()),
        ..Default::default()
    };
    let elsewhere =
        EngineSession { session_id: "s3".into(), workspace: Some("/other".into()), ..Default::default() };
    let (list, ()) = tokio::join!(
        desk.ask("bb/listSessions", json!({})),
        listed(Ok(vec![other.clone(), elsewhere]), true)
    );
    let list = list.unwrap();
    let ids: Vec<&str> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["sessionId"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["s2", "s1"]);
    let statuses = |list: Result<Value, CodedError>| -> Vec<Value> {
        let sessions = list.unwrap()["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|session| json!([session["sessionId"], session["status"]])).collect()
    };
    let both = [json!(["s2", "idle"]), json!(["s1", "idle"])];
    // A list that was cut says nothing of those that are not in it.
    let (list, ()) = tokio::join!(desk.ask("bb/listSessions", json!({})), listed(Ok(vec![]), false));
    assert_eq!(statuses(list), both);
    // Deleted by another client: it is listed as gone, and the one that is followed is left to its stream.
    let (list, ()) = tokio::join!(desk.ask("bb/listSessions", json!({})), listed(Ok(vec![]), true));
    assert_eq!(statuses(list), [json!(["s2", "gone"]), json!(["s1", "idle"])]);
    let (list, ()) = tokio::join!(desk.ask("bb/listSessions", json!({})), listed(Ok(vec![other]), true));
    assert_eq!(statuses(list), both);
    let down = CodedError::new(ErrorCode::EngineUnreachable, "The engine does not answer.");
    let (list, ()) = tokio::join!(desk.ask("bb/listSessions", json!({})), listed(Err(down), true));
    assert_eq!(list.unwrap()["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(desk.heard("bb/connection").last().unwrap()["status"], "error");
}

#[tokio::test]
async fn r000_62_a_token_that_streams_in_pieces_is_hidden_and_every_event_keeps_its_id() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask("bb/setCredentials", json!({"scope": "engine", "token": "canary-token-1"})).await.unwrap();
    desk.held_session().await;
    desk.working("one", 1).await;
    for (seq, piece) in (2..).zip(["it is can", "ary-", "token-1 ca", "n you", "\u{e9} see"]) {
        desk.event(seq, "assistant.message.delta", json!({"item_id": "m", "delta": piece})).await;
    }
    let events = desk.events("s1").await;
    let said: Vec<(&str, &str)> = events[2..]
        .iter()
        .map(|event| (event["id"].as_str().unwrap(), event["payload"]["delta"].as_str().unwrap()))
        .collect();
    let text: String = said.iter().map(|(_, text)| *text).collect();
    assert_eq!(text, "it is [redacted] can you\u{e9} see");
    assert_eq!(said.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["2", "3", "4", "5", "6"]);
}

#[tokio::test]
async fn r000_30_r000_31_files_of_a_session_are_those_of_its_own_folder_or_come_from_its_engine() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let theirs = |id: &str, workspace: Option<&str>| EngineSession {
        session_id: id.into(),
        workspace: workspace.map(Into::into),
        ..Default::default()
    };
    let listed = async {
        let reply = desk
            .called(
                |call| matches!(call, EngineCall::ListSessions { .. }),
                |call| match call {
                    EngineCall::ListSessions { reply } => reply,
                    other => panic!("{other:?}"),
                },
            )
            .await;
        let sessions = vec![theirs("ours", Some("/w")), theirs("unknown", None)];
        let outcome = Ok(ListedSessions { sessions, whole: true });
        desk.report(EngineReport::SessionsListed { outcome, reply }).await;
    };
    let (list, ()) = tokio::join!(desk.ask("bb/listSessions", json!({})), listed);
    assert_eq!(list.unwrap()["sessions"].as_array().unwrap().len(), 2);
    // Nobody knows where the other one works, so its engine is asked; the desk's engine never answers files.
    for method in ["bb/listFiles", "bb/readFileSnippet"] {
        let asked = async {
            desk.called(
                |call| {
                    matches!(
                        call,
                        EngineCall::Stream(StreamCall::ListFiles { .. })
                            | EngineCall::Stream(StreamCall::ReadFile { .. })
                    )
                },
                |call| call.refuse(CodedError::new(ErrorCode::NotFound, "asked")),
            )
            .await;
        };
        let params = json!({"sessionId": "unknown", "path": "a"});
        let (answer, ()) = tokio::join!(desk.ask(method, params), asked);
        assert_eq!(answer.unwrap_err().message, "asked");
        // This one works in a folder that is open: the workspace edge is asked, which the desk has not.
        let here = desk.ask(method, json!({"sessionId": "ours", "path": "a"})).await;
        assert_eq!(here.unwrap_err().code, ErrorCode::Internal);
    }
}

#[tokio::test]
async fn of_many_sessions_the_idle_one_used_longest_ago_gives_its_stream_away_and_gets_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let make = async |number: usize| {
        let made = async {
            let (wish, reply) = desk
                .called(
                    |call| matches!(call, EngineCall::MakeSession { .. }),
                    |call| match call {
                        EngineCall::MakeSession { wish, reply, .. } => (wish, reply),
                        other => panic!("{other:?}"),
                    },
                )
                .await;
            let session_id = format!("m{number}");
            let made = EngineSession { session_id, status: "running".into(), ..Default::default() };
            desk.report(EngineReport::SessionMade { wish, outcome: Ok(made), reply }).await;
        };
        let (created, ()) = tokio::join!(desk.ask("bb/createSession", json!({})), made);
        created.unwrap();
    };
    for number in 0..49 {
        make(number).await;
    }
    let forgotten = |desk: &Desk| -> Vec<String> {
        let calls = desk.calls.0.lock().unwrap();
        calls
            .iter()
            .filter_map(|call| match call {
                EngineCall::Forget { session_id } => Some(session_id.clone()),
                _ => None,
            })
            .collect()
    };
    assert_eq!(forgotten(&desk), ["m0"]);
    desk.calls.0.lock().unwrap().clear();
    let again = async {
        desk.called(|call| matches!(call, EngineCall::Stream(StreamCall::Attach { session_id, .. }) if session_id == "m0"), drop)
            .await;
        let news = LinkNews::Resumed(ResumedLink::Complete);
        desk.report(EngineReport::Stream(StreamReport::Link { session_id: "m0".into(), news })).await;
    };
    let (selected, ()) = tokio::join!(desk.ask("bb/selectSession", json!({"sessionId": "m0"})), again);
    assert_eq!(selected.unwrap()["resume"]["verdict"], "complete");
    assert_eq!(forgotten(&desk), ["m1"]);
}

#[tokio::test]
async fn a_model_of_the_engines_list_can_be_chosen_as_it_stands_there() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    let entry = json!({"provider": "openrouter", "name": "openrouter/some/model"});
    let set = desk.ask("bb/models/set", entry).await.unwrap();
    assert_eq!(set, json!({"models": [], "current": "openrouter/some/model"}));
    let set = desk.ask("bb/models/set", json!({"name": "some/model"})).await.unwrap();
    assert_eq!(set["current"], "some/model");
}

#[tokio::test]
async fn a_stream_that_stands_is_not_said_to_stand_again_at_every_prompt() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    let before = desk.heard("bb/connection").len();
    desk.prompt("s1", "one").await;
    // The adapter says again how it stands, since the loop asked for the stream before the prompt.
    desk.link(LinkNews::Resumed(ResumedLink::Complete)).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/connection").len(), before);
    let lost = ResumedLink::Lost { from: 4, to: Some(5), reason: "it was evicted".into() };
    desk.link(LinkNews::Resumed(lost)).await;
    desk.caught_up().await;
    assert_eq!(desk.heard("bb/connection").len(), before + 1);
}

#[tokio::test]
async fn r001_31_34_a_closed_tab_leaves_nothing_open_of_a_session_that_the_engine_keeps() {
    // Given a tab of a session that works
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    let tab = json!({"tabId": uuid(1), "sessionId": "s1"});
    desk.ask("bb/tab/open", tab).await.unwrap();
    desk.working("sort it", 1).await;
    let forgotten = || desk.engine_heard().iter().filter(|call| *call == "forget").count();
    // When it is closed
    desk.ask("bb/tab/close", json!({"tabId": uuid(1)})).await.unwrap();
    // Then it is stopped, and heard until it rests
    assert!(desk.engine_heard().contains(&"stop".to_owned()));
    desk.event(2, "turn_start", json!({"turn": 2})).await;
    desk.caught_up().await;
    assert_eq!(forgotten(), 0);
    desk.event(3, "run_finished", json!({"completed": false, "reason": "stopped_by_user"})).await;
    desk.caught_up().await;
    assert_eq!(forgotten(), 1);
    // And the session goes on where it was when somebody uses it again
    desk.calls.0.lock().unwrap().clear();
    let (selected, cursor) = tokio::join!(desk.ask("bb/selectSession", json!({"sessionId": "s1"})), async {
        let attach = |call: &EngineCall| matches!(call, EngineCall::Stream(StreamCall::Attach { .. }));
        let cursor = desk
            .called(attach, |call| match call {
                EngineCall::Stream(StreamCall::Attach { cursor, .. }) => cursor.map(|cursor| cursor.seq),
                other => panic!("{other:?}"),
            })
            .await;
        desk.link(LinkNews::Resumed(ResumedLink::Complete)).await;
        cursor
    });
    assert_eq!((selected.unwrap()["resume"]["verdict"].clone(), cursor), (json!("complete"), Some(3)));
    assert_eq!(forgotten(), 0);
}

#[tokio::test]
async fn selecting_a_session_whose_stream_stands_answers_at_once_and_asks_for_the_stream_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    let selected = desk.ask("bb/selectSession", json!({"sessionId": "s1"})).await.unwrap();
    assert_eq!(selected["resume"]["verdict"], "complete");
    desk.called(|call| matches!(call, EngineCall::Stream(StreamCall::Attach { .. })), drop).await;
}

#[tokio::test]
async fn r000_62_a_token_in_pieces_is_hidden_in_what_is_rebuilt_too() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask("bb/setCredentials", json!({"scope": "engine", "token": "canary-token-1"})).await.unwrap();
    desk.held_session().await;
    desk.link(LinkNews::Gap { from: 1, to: Some(3), reason: "they were evicted".into() }).await;
    // Requests are answered before reports are taken in.
    desk.caught_up().await;
    let piece = |seq: u64, text: &str| {
        let payload = json!({"item_id": "m", "delta": text}).as_object().cloned().unwrap().into();
        let (id, kind) = (seq.to_string(), "assistant.message.delta".to_owned());
        (EngineEvent { id, kind, turn: None, ts: None, payload, repaired: false }, seq)
    };
    let rebuild = async {
        let reply = desk
            .called(
                |call| matches!(call, EngineCall::Stream(StreamCall::Rebuild { .. })),
                |call| match call {
                    EngineCall::Stream(StreamCall::Rebuild { reply, .. }) => reply,
                    other => panic!("{other:?}"),
                },
            )
            .await;
        let outcome = Ok(vec![piece(1, "it is can"), piece(2, "ary-token-1"), piece(3, " and c")]);
        desk.report(EngineReport::Stream(StreamReport::Rebuilt {
            session_id: "s1".to_owned(),
            outcome,
            reply,
        }))
        .await;
    };
    let (rebuilt, ()) = tokio::join!(desk.ask("bb/rebuild", json!({"sessionId": "s1"})), rebuild);
    assert_eq!(rebuilt.unwrap()["resume"]["verdict"], "resynced");
    let events = desk.events("s1").await;
    let said: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "assistant.message.delta")
        .map(|event| &event["payload"]["delta"])
        .collect();
    assert_eq!(said, [&json!("it is [redacted]"), &json!(""), &json!(" and c")]);
}

#[tokio::test]
async fn a_command_that_the_engine_took_stands_in_the_transcript_and_one_that_only_reads_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.held_session().await;
    let refusal = CodedError::new(ErrorCode::Unsupported, "This engine has no such command.");
    let took = |status: &str| {
        Ok(CommandResult { session_id: "s1".to_owned(), status: status.to_owned(), detail: None })
    };
    for (name, words, outcome) in [
        ("set_model", "set_model large", took("accepted")),
        ("list_checkpoints", "list_checkpoints", took("ok")),
        ("run_tests", "run_tests", Err(refusal.clone())),
    ] {
        // When a command is given, and the engine answers
        let engine = async {
            let reply = desk
                .called(
                    |call| matches!(call, EngineCall::Command { .. }),
                    |call| match call {
                        EngineCall::Command { reply, .. } => reply,
                        other => panic!("{other:?}"),
                    },
                )
                .await;
            let (session_id, command) = ("s1".to_owned(), words.to_owned());
            let outcome = outcome.clone();
            let told = StreamReport::Commanded { session_id, command, outcome, reply };
            desk.report(EngineReport::Stream(told)).await;
        };
        let asked = json!({"sessionId": "s1", "command": name});
        let (answer, ()) = tokio::join!(desk.ask("bb/command", asked), engine);
        // Then the answer is the engine's
        assert_eq!(answer.is_ok(), outcome.is_ok(), "{name}");
    }
    // And the transcript has the one that changed something
    let events = desk.events("s1").await;
    assert_eq!(types(&events), ["local.command"]);
    let page = desk.ask("bb/view/page", json!({"sessionId": "s1", "lane": "chat"})).await.unwrap();
    assert_eq!(
        page["blocks"],
        json!([{"id": "command-1", "seq": 1, "kind": "command", "command": "set_model large", "status": "accepted"}])
    );
}
