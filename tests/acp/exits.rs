//! Agents that end, in whatever they were doing, and those that never begin.

use std::time::Duration;

use breadboard_ls::testing::app::inbox::Reply;
use breadboard_ls::testing::app::ports::{
    AgentCall, Engine, EngineCall, EngineReport, NewSession, SessionReply,
};
use breadboard_ls::testing::domain::coded_error::ErrorCode;
use breadboard_ls::testing::protocol::agent::AgentStatus;
use breadboard_ls::testing::protocol::tab::AgentRestartResult;
use serde_json::{Value, json};

use crate::desk::{Desk, Layout, Told, end, piece};
use crate::own_time::OwnTime;

/// Ends on the prompt `die`, answers every other one.
fn mortal() -> Value {
    json!({ "prompts": [
        { "when": "die", "steps": [{ "chunk": "half an ans" }, { "stderr": "boom: out of luck" }, { "exit": 7 }] },
        { "when": "", "steps": [{ "chunk": "fine" }] },
    ] })
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_55_an_exit_in_a_turn_is_told_with_code_words_and_every_session_of_the_process() {
    let mut desk = Desk::of(mortal());
    desk.make("a").await;
    desk.make("b").await;
    desk.start("a", 1, "die");
    let mut time = OwnTime::of_programs();
    let (told, exit) = desk.exit().await;
    let took = time.taken();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(told, [piece("a", 1, "half an ans")]);
    assert_eq!(exit.sessions, ["a", "b"]);
    assert_eq!((exit.generation, exit.code, exit.expected), (1, Some(7), false));
    assert_eq!(
        exit.message,
        "The agent `sim` ended with exit code 7 (its last words: boom: out of luck); send a prompt to start it anew."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_2_1_01_the_next_prompt_starts_a_new_process_and_says_that_the_half_answer_is_lost() {
    let mut desk = Desk::of(mortal());
    let at_agent = desk.make("a").await;
    desk.start("a", 1, "die");
    desk.exit().await;
    desk.remember("a", &at_agent);
    desk.start("a", 2, "again");
    let (told, failure) = desk.turn("a").await;
    let lost =
        "the agent `sim` ended in the middle of an answer and does not remember what it had said of it";
    assert_eq!(
        told,
        [
            Told::Rebound("a".to_owned(), Some(lost.to_owned())),
            piece("a", 2, "fine"),
            end("a", 2, "end_turn"),
        ]
    );
    assert_eq!(failure, None);
    let again = desk.until_sent("session/resume").await;
    let workspace = desk.workspace().display().to_string();
    assert_eq!(again, [json!({ "sessionId": at_agent, "cwd": workspace, "mcpServers": [] })]);
    assert_eq!((desk.process.generation, desk.process.status), (2, AgentStatus::Running));
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_55_a_killed_agent_between_turns_is_told_too_and_loses_nothing() {
    let mut desk = Desk::of(json!({ "prompts": [
        { "when": "", "steps": [{ "chunk": "x" }, { "answer": "end_turn" }, { "wait": { "file": "die" } }, { "signal": 9 }] },
    ] }));
    let at_agent = desk.make("a").await;
    desk.start("a", 1, "go");
    desk.turn("a").await;
    std::fs::write(desk.workspace().join("die"), "").expect("a file");
    let (_, exit) = desk.exit().await;
    assert_eq!((exit.sessions, exit.expected), (vec!["a".to_owned()], false));
    assert!(exit.message.contains("signal 9"), "{}", exit.message);
    std::fs::remove_file(desk.workspace().join("die")).expect("is there");
    desk.remember("a", &at_agent);
    desk.start("a", 2, "go");
    let (told, _) = desk.turn("a").await;
    assert_eq!(told.first(), Some(&Told::Rebound("a".to_owned(), None)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exit_before_hello_and_while_a_session_is_made_refuses_who_waits() {
    for moment in ["initialize", "session/new"] {
        let mut desk = Desk::of(json!({ "on": { moment: [{ "stderr": "no licence" }, { "exit": 3 }] } }));
        let refused = desk.try_make("sim", "a").await.expect_err("is refused");
        assert_eq!(refused.code, ErrorCode::AgentExited, "{moment}");
        assert!(refused.message.contains("exit code 3 (its last words: no licence)"), "{}", refused.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_57_the_loop_hears_of_each_session_that_an_agent_never_made() {
    let never = json!({ "on": { "session/new": [{ "exit": 3 }] } });
    let version = json!({ "agent": { "protocolVersion": 2 } });
    for (agent, script) in [("nowhere", json!({})), ("sim", never), ("sim", version)] {
        let mut desk = Desk::of(script);
        let mut answers = Vec::new();
        for tab in ["t1", "t2"] {
            let (waits, answer) = Reply::new();
            answers.push(answer);
            let wish = NewSession { agent: Some(agent.to_owned()), ..NewSession::default() };
            let reply = SessionReply::Tab { tab_id: tab.to_owned(), waits };
            desk.engine.call(EngineCall::MakeSession { session_id: format!("of-{tab}"), wish, reply });
        }
        for tab in ["t1", "t2"] {
            let (told, outcome) = desk
                .wait(|report| match report {
                    EngineReport::SessionMade {
                        outcome, reply: SessionReply::Tab { tab_id, .. }, ..
                    } => Some((tab_id, outcome)),
                    _ => None,
                })
                .await;
            assert_eq!(told, tab);
            assert!(outcome.is_err());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exit_answers_a_command_that_waits() {
    let modes = json!({ "currentModeId": "m", "availableModes": [{ "id": "m", "name": "M" }] });
    let mut desk =
        Desk::of(json!({ "agent": { "modes": modes }, "on": { "session/set_mode": [{ "exit": 3 }] } }));
    desk.make("a").await;
    let refused = desk.command("a", "set_mode", json!({ "modeId": "m" })).await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::AgentExited);
    let (_, exit) = desk.exit().await;
    assert_eq!(exit.sessions, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_closes_its_output_and_lives_on_is_ended() {
    let mut desk = Desk::of(json!({ "agent": { "ignores": ["eof"] },
        "prompts": [{ "steps": [{ "chunk": "x" }, { "close_stdout": true }, { "wait": "for_ever" }] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    let (told, exit) = desk.exit().await;
    assert_eq!(told, [piece("a", 1, "x")]);
    assert_eq!((exit.sessions, exit.expected), (vec!["a".to_owned()], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_is_refused_in_one_sentence() {
    for (version, said) in [(json!(2), "version 2"), (json!(99), "version 99"), (json!("x"), "no version")] {
        let mut desk = Desk::of(json!({ "agent": { "protocolVersion": version } }));
        let refused = desk.try_make("sim", "a").await.expect_err("is refused");
        assert_eq!(refused.code, ErrorCode::EngineRejected);
        assert!(
            refused.message.contains(&format!("speaks {said} of the Agent Client Protocol")),
            "{}",
            refused.message
        );
        assert_eq!(desk.methods(), ["initialize"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_is_said_so_and_a_prompt_for_it_ends() {
    let mut desk = Desk::of(json!({}));
    let refused = desk.try_make("nowhere", "a").await.expect_err("is refused");
    assert!(refused.message.contains("/nowhere/at/all"), "{}", refused.message);
    let refused = desk.try_make("nobody", "b").await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_58_a_restart_ends_the_process_and_opens_its_sessions_again() {
    let mut desk = Desk::of(mortal());
    desk.make("a").await;
    desk.make("b").await;
    let (reply, answer) = Reply::new();
    desk.engine.call(EngineCall::Agent(AgentCall::Restart { agent: Some("sim".to_owned()), reply }));
    let (_, exit) = desk.exit().await;
    assert_eq!((exit.generation, exit.sessions.len(), exit.expected), (1, 2, true));
    let mut again = Vec::new();
    while again.len() < 2 {
        again.extend(Told::of(desk.next().await));
    }
    assert_eq!(again, [Told::Rebound("a".to_owned(), None), Told::Rebound("b".to_owned(), None)]);
    assert_eq!(answer.await.expect("an answer"), Ok(AgentRestartResult { generation: 2 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn r001_58_a_restart_after_a_crash_opens_what_fell_with_it_again() {
    let mut desk = Desk::of(mortal());
    desk.make("a").await;
    desk.make("b").await;
    desk.start("a", 1, "die");
    desk.exit().await;
    let (reply, answer) = Reply::new();
    desk.engine.call(EngineCall::Agent(AgentCall::Restart { agent: Some("sim".to_owned()), reply }));
    assert_eq!(answer.await.expect("an answer"), Ok(AgentRestartResult { generation: 2 }));
    let lost =
        "the agent `sim` ended in the middle of an answer and does not remember what it had said of it";
    let mut rebound = Vec::new();
    while rebound.len() < 2 {
        rebound.extend(Told::of(desk.next().await));
    }
    assert_eq!(
        rebound,
        [Told::Rebound("a".to_owned(), Some(lost.to_owned())), Told::Rebound("b".to_owned(), None)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_63_an_untrusted_workspace_starts_no_agent() {
    let mut desk = Desk::laid(Layout { script: mortal(), trusted: false, ..Layout::default() });
    let refused = desk.try_make("sim", "a").await.expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::UntrustedWorkspace);
    desk.remember("b", "sim-9");
    desk.start("b", 1, "go");
    let (_, failure) = desk.turn("b").await;
    assert!(failure.expect("a sentence").contains("not trusted"));
    let refused = desk
        .ask(|reply| EngineCall::Agent(AgentCall::Restart { agent: Some("sim".to_owned()), reply }))
        .await;
    assert_eq!(refused.expect_err("is refused").code, ErrorCode::UntrustedWorkspace);
    assert_eq!(desk.methods(), Vec::<String>::new());
    desk.engine.call(EngineCall::SetTrust { trusted: true });
    desk.make("a").await;
    desk.start("a", 1, "go");
    assert_eq!(desk.turn("a").await.1, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_dropped_ends_its_processes() {
    let mut desk = Desk::of(json!({ "on": { "eof": [{ "write": "ended", "content": "" }] } }));
    desk.make("a").await;
    let log = desk.place.path().join("sim.jsonl");
    let text = std::fs::read_to_string(&log).expect("a log");
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let pid = first["msg"]["spawned_pid"].as_i64().expect("a process");
    let pid = rustix::process::Pid::from_raw(pid as i32).expect("a process");
    assert!(rustix::process::test_kill_process(pid).is_ok());
    let Desk { engine, mut reports, place: _place, .. } = desk;
    drop(engine);
    let gone = async {
        while rustix::process::test_kill_process(pid).is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("it ends");
    while let Some(report) = reports.recv().await {
        assert!(!matches!(report, EngineReport::TurnEnded { .. }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r000_63_trust_that_is_taken_back_ends_a_running_agent_and_lets_it_start_no_more() {
    let mut desk = Desk::of(json!({ "prompts": [{ "steps": [{ "chunk": "x" }, { "wait": "cancel" }] }] }));
    desk.make("a").await;
    desk.start("a", 1, "go");
    assert_eq!(desk.wait(Told::of).await, piece("a", 1, "x"));
    // When the editor says that the folder is not trusted any more
    desk.engine.call(EngineCall::SetTrust { trusted: false });
    // Then the process is gone with a sentence, and its turn with it
    let (told, exit) = desk.exit().await;
    assert_eq!(
        (told, exit.generation, exit.expected, exit.sessions),
        (vec![], 1, false, vec!["a".to_owned()])
    );
    assert!(exit.message.contains("not trusted any more"), "{}", exit.message);
    // And no prompt brings it back before trust does
    desk.start("a", 2, "go");
    let ended = |report| match report {
        EngineReport::TurnEnded { turn: 2, failure, .. } => failure.map(|failure| failure.message),
        _ => None,
    };
    let refused = desk.wait(ended).await;
    assert!(refused.contains("is not trusted"), "{refused}");
    desk.engine.call(EngineCall::SetTrust { trusted: true });
    desk.start("a", 3, "go");
    let rebound = desk.wait(Told::of).await;
    assert!(matches!(&rebound, Told::Rebound(session, Some(_)) if session == "a"), "{rebound:?}");
    assert_eq!(desk.wait(Told::of).await, piece("a", 3, "x"));
}
