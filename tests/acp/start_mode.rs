//! The mode that a session begins in: agents are put into the one of the setting, and what they change themselves is said.

use breadboard_ls::testing::app::inbox::Reply;
use breadboard_ls::testing::app::ports::{AgentCall, Engine, EngineCall};
use breadboard_ls::testing::domain::coded_error::ErrorCode;
use serde_json::{Value, json};

use crate::desk::{Desk, Layout, Told, end, piece};

/// An agent that lists two modes.
fn listed(current: &str) -> Value {
    json!({ "modes": { "currentModeId": current, "availableModes":
        [{ "id": "careful", "name": "Ask first" }, { "id": "free", "name": "Edit freely" }] } })
}

/// One that has them as an option.
fn as_an_option(current: &str) -> Value {
    json!({ "configOptions": [{ "id": "how", "name": "Mode", "category": "mode", "type": "select",
        "currentValue": current,
        "options": [{ "value": "careful", "name": "Ask first" }, { "value": "free", "name": "Edit freely" }] }] })
}

fn laid(agent: Value, steps: Value, given: Value) -> Desk {
    let script = json!({ "agent": agent, "prompts": [{ "when": "", "steps": steps }] });
    Desk::laid(Layout { script, given, ..Layout::default() })
}

fn careful() -> Value {
    json!({ "mode": "careful" })
}

fn notice(text: &str) -> Told {
    Told::Notice("a".to_owned(), text.to_owned())
}

fn notices(told: Vec<Told>) -> Vec<Told> {
    told.into_iter().filter(|told| matches!(told, Told::Notice(..))).collect()
}

/// A command that the agent takes.
async fn take(desk: &mut Desk, command: &str, args: Value) {
    let (reply, answer) = Reply::new();
    let args = args.as_object().cloned().expect("an object");
    let (session_id, command) = ("a".to_owned(), command.to_owned());
    desk.engine.call(EngineCall::Command { session_id, command, args, reply });
    desk.until_answered(answer).await.expect("is taken");
}

async fn turn(desk: &mut Desk, number: u64) -> Vec<Told> {
    desk.start("a", number, "go");
    let (told, failure) = desk.turn("a").await;
    assert_eq!(failure, None);
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_put_into_its_mode_before_the_first_prompt_goes_out() {
    for (agent, method, at) in [
        (listed("free"), "session/set_mode", "/modes/currentModeId"),
        (as_an_option("free"), "session/set_config_option", "/configOptions/0/currentValue"),
    ] {
        let mut desk = laid(agent, json!([{ "chunk": "done" }]), careful());
        desk.make("a").await;
        let told = turn(&mut desk, 1).await;
        assert_eq!(told, [piece("a", 1, "done"), end("a", 1, "end_turn")]);
        assert_eq!(desk.methods(), ["initialize", "session/new", method, "session/prompt"]);
        assert_eq!(json!(desk.told_of["a"]).pointer(at), Some(&json!("careful")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_begins_in_its_mode_is_asked_for_no_other() {
    for given in [careful(), json!({ "mode": "agent" })] {
        let mut desk = laid(listed("careful"), json!([]), given);
        desk.make("a").await;
        assert_eq!(notices(turn(&mut desk, 1).await), []);
        assert_eq!(desk.methods(), ["initialize", "session/new", "session/prompt"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_opened_again_is_put_back_and_what_the_user_had_chosen_is_said_to_be_gone() {
    // given: the user has chosen another mode, and the agent forgets it with its process
    let mut desk = laid(listed("free"), json!([]), careful());
    desk.make("a").await;
    take(&mut desk, "set_mode", json!({ "modeId": "free" })).await;
    turn(&mut desk, 1).await;
    // when: it is restarted
    let (reply, answer) = Reply::new();
    desk.engine.call(EngineCall::Agent(AgentCall::Restart { agent: Some("sim".to_owned()), reply }));
    desk.until_answered(answer).await.expect("starts again");
    let told = turn(&mut desk, 2).await;
    // then
    let methods = desk.methods();
    assert_eq!(
        methods[methods.len() - 4..],
        ["initialize", "session/resume", "session/set_mode", "session/prompt"]
    );
    assert_eq!(
        desk.sent().iter().filter(|(method, _)| method == "session/set_mode").count(),
        3,
        "at the beginning, by the user, and again"
    );
    assert_eq!(
        notices(told),
        [notice(
            "The agent `sim` opened this session again, and it is in the mode “Ask first” as at its beginning; choose another \
             one if you want it."
        )]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_nobody_here_asked_for_is_said_and_one_that_was_asked_for_is_not() {
    let change =
        |mode: &str| json!({ "update": { "sessionUpdate": "current_mode_update", "currentModeId": mode } });
    let mut desk = laid(
        listed("careful"),
        json!([change("free"), change("free"), change("careful"), { "chunk": "done" }]),
        careful(),
    );
    desk.make("a").await;
    assert_eq!(
        notices(turn(&mut desk, 1).await),
        [notice(
            "The agent `sim` changed to its mode “Edit freely” by itself and may edit and run there without asking; choose \
             another mode if you do not want that."
        )]
    );
    take(&mut desk, "set_mode", json!({ "modeId": "free" })).await;
    let mut desk = laid(listed("careful"), json!([change("free")]), json!({ "mode": "agent" }));
    desk.make("a").await;
    take(&mut desk, "set_mode", json!({ "modeId": "free" })).await;
    assert_eq!(notices(turn(&mut desk, 1).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_does_without_asking_is_said_once_where_no_mode_is_known() {
    // given: no setting, an agent that is none of those that are known
    let mut desk = laid(listed("free"), json!([]), json!({ "mode": "ask" }));
    // when
    let at_agent = desk.make("a").await;
    let told = turn(&mut desk, 1).await;
    // then
    assert_eq!(
        notices(told),
        [notice(
            "The agent `sim` may edit files and run commands without asking; what it asks is up to its own settings."
        )]
    );
    // when: it is opened again
    desk.engine.call(EngineCall::Agent(AgentCall::CloseSession { session_id: "a".to_owned() }));
    desk.exit().await;
    desk.remember("a", &at_agent);
    // then
    assert_eq!(notices(turn(&mut desk, 2).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_does_without_asking_is_not_said_where_the_user_chose_the_mode() {
    for (agent, command, args) in [
        (listed("free"), "set_mode", json!({ "modeId": "careful" })),
        (as_an_option("free"), "set_config_option", json!({ "configId": "how", "value": "careful" })),
    ] {
        for given in [json!({ "mode": "ask" }), json!({ "mode": "none-such" })] {
            // given: an agent whose asking mode is not known
            let mut desk = laid(agent.clone(), json!([]), given);
            desk.make("a").await;
            // when: the user chooses one before the first prompt
            take(&mut desk, command, args.clone()).await;
            // then
            assert_eq!(notices(turn(&mut desk, 1).await), []);
        }
    }
    // but: a mode that the agent refuses is none
    let mut agent = listed("free");
    agent["refuses"] = json!(["session/set_mode"]);
    let mut desk = laid(agent, json!([]), json!({ "mode": "ask" }));
    desk.make("a").await;
    desk.command("a", "set_mode", json!({ "modeId": "careful" })).await.expect_err("is refused");
    assert_eq!(notices(turn(&mut desk, 1).await).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_is_not_there_or_refused_is_said_and_the_prompt_goes_out() {
    let refusing = |mut agent: Value, method: &str| {
        agent["refuses"] = json!([method]);
        agent
    };
    for (agent, said) in [
        (
            json!({}),
            "The agent `sim` has no mode `careful` (it names none), so it may edit files and run commands without asking; \
             what it asks is up to its own settings.",
        ),
        (
            json!({ "modes": { "currentModeId": "x", "availableModes": [{ "id": "x" }, { "id": "y" }] } }),
            "The agent `sim` has no mode `careful` (it has `x`, `y`), so it may edit files and run commands without asking; \
             what it asks is up to its own settings.",
        ),
        (
            refusing(listed("free"), "session/set_mode"),
            "The agent `sim` did not take the mode `careful` (not now), so it may edit files and run commands without asking; \
             choose a mode of it before you go on.",
        ),
        (
            refusing(as_an_option("free"), "session/set_config_option"),
            "The agent `sim` did not take the mode `careful` (not now), so it may edit files and run commands without asking; \
             choose a mode of it before you go on.",
        ),
    ] {
        let mut desk = laid(agent, json!([{ "chunk": "done" }]), careful());
        desk.make("a").await;
        let told = turn(&mut desk, 1).await;
        assert_eq!(told, [notice(said), piece("a", 1, "done"), end("a", 1, "end_turn")]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_the_agent_does_not_list_is_refused_with_those_that_it_does() {
    let mut desk = laid(listed("careful"), json!([]), careful());
    desk.make("a").await;
    let refused =
        desk.command("a", "set_mode", json!({ "modeId": "nonsense" })).await.expect_err("is refused");
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (
            ErrorCode::InvalidParams,
            "The agent `sim` has no mode `nonsense`; choose one of `careful`, `free`."
        )
    );
    assert!(!desk.methods().contains(&"session/set_mode".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_is_set_by_the_option_of_an_agent_that_has_one_and_a_refused_one_is_news_when_it_comes() {
    // given: an agent with its modes as an option, and no other way to set them
    let mut desk = laid(as_an_option("careful"), json!([]), careful());
    desk.make("a").await;
    // when
    take(&mut desk, "set_mode", json!({ "modeId": "free" })).await;
    // then
    assert_eq!(
        desk.until_sent("session/set_config_option").await,
        [json!({ "sessionId": "sim-1", "configId": "how", "value": "free" })]
    );
    assert_eq!(json!(desk.told_of["a"]).pointer("/configOptions/0/currentValue"), Some(&json!("free")));
    // given: an agent that refuses, and goes there by itself later
    let change = json!({ "update": { "sessionUpdate": "current_mode_update", "currentModeId": "free" } });
    let mut agent = listed("careful");
    agent["refuses"] = json!(["session/set_mode"]);
    let mut desk = laid(agent, json!([change]), careful());
    desk.make("a").await;
    // when
    desk.command("a", "set_mode", json!({ "modeId": "free" })).await.expect_err("is refused");
    // then
    assert_eq!(
        notices(turn(&mut desk, 1).await),
        [notice(
            "The agent `sim` changed to its mode “Edit freely” by itself and may edit and run there without asking; choose \
             another mode if you do not want that."
        )]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_is_told_twice_is_the_same_in_both_places() {
    // given: an agent that lists its modes and has an option for them, and changes only what it was asked to change
    let mut agent = listed("free");
    agent["configOptions"] = as_an_option("free")["configOptions"].clone();
    let mut desk = laid(agent, json!([]), json!({ "mode": "agent" }));
    desk.make("a").await;
    for (command, args) in [
        ("set_mode", json!({ "modeId": "careful" })),
        ("set_config_option", json!({ "configId": "how", "value": "free" })),
    ] {
        let mode = args.get("modeId").or(args.get("value")).cloned();
        // when
        take(&mut desk, command, args).await;
        // then
        let said = json!(desk.told_of["a"]);
        let both =
            ["/modes/currentModeId", "/configOptions/0/currentValue"].map(|at| said.pointer(at).cloned());
        assert_eq!(both, [mode.clone(), mode]);
    }
}
