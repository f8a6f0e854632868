//! Commands of our own agent that run in the background, with the real binary: started, read, waited for, stopped; ended with the turn
//! or kept by the user's word (issue "To build" 5).

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Options, PATIENCE, Server};
use crate::model::{Gate, Model, Reply, Step, calls, calls_with_id, says, says_and_waits};

/// A command that says who it is, waits for files of the workspace, and leaves a process behind.
const SERVER: &str = "sleep 600 & echo pids $$ $!; while ! test -e go; do sleep 0.02; done; echo ready; \
                      while ! test -e more; do sleep 0.02; done; echo more; sleep 600";

fn starts(command: &str, more: Value) -> Reply {
    let mut arguments = json!({ "command": command, "reason": "to try it", "background": true });
    if let (Some(all), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    calls("run_command", arguments)
}

/// The processes of the command, as the chat shows them.
fn pids(server: &mut Server, session: &str) -> Vec<String> {
    let began = Instant::now();
    loop {
        let events = server.events(session);
        let printed = events.iter().filter(|event| event["type"] == "local.command_output");
        let line =
            printed.filter_map(|event| event["payload"]["text"].as_str()?.strip_prefix("pids ")).next();
        if let Some(line) = line.and_then(|line| line.lines().next()) {
            return line.split_whitespace().map(str::to_owned).collect();
        }
        assert!(began.elapsed() < PATIENCE, "no pids: {events:#?}");
        server.ask("bb/listSessions", json!({}));
    }
}

fn until_gone(pids: &[String]) {
    let began = Instant::now();
    let is_there = |pid: &String| Path::new("/proc").join(pid).exists();
    while pids.iter().any(is_there) {
        assert!(began.elapsed() < PATIENCE, "{pids:?} are still there");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// The block of the command, as the newest view has it.
fn block(server: &mut Server, session: &str) -> Value {
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
    let mut calls = blocks.into_iter().filter(|block| block["name"] == "run_command");
    calls.next_back().expect("the call of a command")
}

fn until_block(server: &mut Server, session: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let block = block(server, session);
        if fits(&block) {
            return block;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: {block}");
    }
}

fn allow(server: &mut Server, session: &str) -> Value {
    let ask = server.wait_ask(session);
    server.decide(session, &ask, "allow_once");
    ask
}

#[test]
fn a_command_in_the_background_is_read_waited_for_and_stopped_while_the_turn_goes_on() {
    // Given a model that starts a server, waits for a word of it, has it say more, and stops it
    let model = Model::start(vec![
        starts(SERVER, json!({})),
        calls_with_id("command_output", json!({ "wait_for": "ready" })),
        Reply::Stream(vec![Step::Call("list_files", json!({ "path": "." }))]),
        calls_with_id("command_output", json!({ "wait_for": "more" })),
        calls_with_id("stop_command", json!({})),
        calls_with_id("command_output", json!({})),
        says("It works."),
    ]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    server.prompt(&session, "try it");
    // Then it is asked about as any command, with what it is
    let ask = allow(&mut server, &session);
    let subject = &ask["permission"]["subject"];
    assert_eq!((&subject["kind"], &subject["command"]), (&json!("command"), &json!(SERVER)));
    assert_eq!(subject["reason"], "to try it\nIt runs in the background and ends with the turn.");
    model.asked();
    let started = model.asked().tool_result();
    assert!(started.starts_with("It runs in the background with the id "), "{started}");
    let pids = pids(&mut server, &session);
    server.write("go", "");
    // And while it runs its card says so, and the model does something else
    let heard = model.asked().tool_result();
    assert!(heard.starts_with("It runs.") && heard.contains("ready"), "{heard}");
    let running = block(&mut server, &session);
    assert_eq!(
        (&running["status"], &running["background"]),
        (&json!("running"), &json!("turn")),
        "{running}"
    );
    model.asked();
    server.write("more", "");
    // And what was read once is not told again
    let more = model.asked().tool_result();
    assert!(more.starts_with("It runs.") && more.contains("more") && !more.contains("ready"), "{more}");
    let stopped = model.asked().tool_result();
    assert!(stopped.starts_with("It was stopped as you asked."), "{stopped}");
    until_gone(&pids);
    assert!(model.asked().tool_result().starts_with("It was stopped as you asked.\nIt printed nothing new."));
    assert_eq!(server.wait_end(&session)["payload"]["message"], "It works.");
    let end = block(&mut server, &session);
    assert_eq!(end["status"], "ok");
    let shown = end["preview"].as_str().expect("a preview");
    assert!(shown.contains("The command was stopped by the agent.") && shown.contains("more"), "{shown}");
}

#[test]
fn a_command_in_the_background_ends_with_its_turn_however_that_ends() {
    for stops in [false, true] {
        let gate = Gate::default();
        let model =
            Model::start(vec![starts(SERVER, json!({})), says_and_waits("It runs", &gate, ", that is all.")]);
        let mut server = Server::ready(model.chosen(true));
        let session = server.session();
        server.prompt(&session, "try it");
        allow(&mut server, &session);
        model.asked();
        model.asked();
        let pids = pids(&mut server, &session);
        // When the turn ends by itself, or is stopped
        if stops {
            server.ask("bb/stop", json!({ "sessionId": session }));
        } else {
            gate.open();
        }
        let end = server.wait_end(&session);
        assert_eq!(end["payload"]["metadata"]["success"], json!(!stops));
        // Then it is gone before that is said, with what it left running, and the chat says why
        until_gone(&pids);
        let events = server.events(&session);
        let told = events.iter().rposition(|event| event["class"] == "tool.result").expect("its end");
        let over = events.iter().rposition(|event| event["class"] == "run.finished").expect("the end");
        assert!(told < over, "{events:#?}");
        let summary = &events[told]["payload"]["result"]["summary"];
        assert_eq!(summary, "The command was stopped with its turn.");
    }
}

#[test]
fn a_command_is_kept_by_the_users_word_alone_and_stopped_by_the_user() {
    // Given a user who lets every build be done without asking, and a command that is to be kept
    let model = Model::start(vec![
        starts(SERVER, json!({ "keep": true })),
        says("It stays."),
        calls_with_id("command_output", json!({ "wait_for": "more" })),
        says("It said more."),
    ]);
    let mut options = model.chosen(true);
    options.options["approvals"] =
        json!({ "mode": "listed", "patterns": [{ "pattern": "sleep *", "answer": "always" }] });
    let mut server = Server::ready(options);
    let session = server.session();
    server.prompt(&session, "serve it");
    // Then that is asked all the same, once, and says what it is
    let ask = allow(&mut server, &session);
    let permission = &ask["permission"];
    assert_eq!(permission["subject"]["kept"], true);
    let reason = permission["subject"]["reason"].as_str().expect("a reason");
    assert!(reason.ends_with(
        "goes on running in the background after the turn, until you stop it or close this window."
    ));
    let options = permission["options"].as_array().expect("options");
    let kinds: Vec<&str> = options.iter().filter_map(|option| option["kind"].as_str()).collect();
    assert_eq!(kinds, ["allow_once", "deny"], "no rule covers it");
    server.wait_end(&session);
    model.asked();
    model.asked();
    let pids = pids(&mut server, &session);
    // And it runs on after the turn, which its card says; the next turn reads it
    let kept = block(&mut server, &session);
    assert_eq!((&kept["status"], &kept["background"]), (&json!("running"), &json!("kept")), "{kept}");
    server.write("go", "");
    server.write("more", "");
    server.turn(&session, "and now?");
    model.asked();
    assert!(model.asked().tool_result().contains("more"));
    // When the user stops it, it is gone with what it left running, and the card says who did it
    let call_id = kept["toolCallId"].clone();
    let stop = json!({ "sessionId": session, "command": "stop_command", "args": { "toolCallId": call_id } });
    server.ask("bb/command", stop);
    until_gone(&pids);
    let end = until_block(&mut server, &session, "its end", |block| block["status"] != "running");
    let shown = end["preview"].as_str().expect("a preview");
    assert!(shown.starts_with("The command was stopped by the user.") && shown.contains("more"), "{shown}");
    let nameless = json!({ "sessionId": session, "command": "stop_command" });
    assert_eq!(server.refused("bb/command", nameless)["data"]["code"], "invalid_params");
}

#[test]
fn what_the_user_lets_be_run_without_asking_is_asked_about_when_it_is_to_be_kept() {
    // Given a setting that answers a command, which is called twice: once for the turn, once to be kept
    let model = Model::start(vec![
        starts("sleep 600", json!({})),
        starts("sleep 600", json!({ "keep": true })),
        says("It was not kept."),
    ]);
    let mut options = model.chosen(true);
    options.options["approvals"] =
        json!({ "mode": "listed", "patterns": [{ "pattern": "sleep *", "answer": "always" }] });
    let mut server = Server::ready(options);
    let session = server.session();
    server.prompt(&session, "serve it");
    // Then the setting answers the first, which runs, and the user is asked about the other one
    let answered = server.wait_ask(&session)["permission"]["policy"]["answer"].clone();
    let ask = server.wait_event(&session, "the one to be kept", |event| {
        event["class"] == "permission.request" && event["permission"]["subject"]["kept"] == true
    });
    assert_eq!(
        (answered, ask["permission"]["policy"]["answer"] == "always"),
        (json!("always"), false),
        "{ask}"
    );
    model.asked();
    let started = model.asked().tool_result();
    assert!(started.contains("background"), "{started}");
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    let refused = model.asked().tool_result();
    assert!(refused.contains("denied"), "{refused}");
}

#[test]
fn a_kept_command_is_gone_with_its_window_and_the_next_one_says_so() {
    let model = Model::start(vec![
        starts(SERVER, json!({ "keep": true })),
        says("It stays."),
        calls_with_id("command_output", json!({})),
        says("It is gone."),
    ]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    server.prompt(&session, "serve it");
    allow(&mut server, &session);
    server.wait_end(&session);
    model.asked();
    model.asked();
    let pids = pids(&mut server, &session);
    // When its window is killed
    server.kill();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    let mut server = Server::start_in(workspace, state, model.chosen(true));
    server.shake_hands();
    server.ask("bb/init", json!({}));
    // Then it is gone, its card says so, and the model hears it
    until_gone(&pids);
    let lost = until_block(&mut server, &session, "its end", |block| block["status"] != "running");
    assert_eq!(lost["status"], "cancelled", "{lost}");
    let shown = lost["preview"].as_str().expect("a preview");
    assert!(shown.ends_with("It ended with the window that ran it."), "{shown}");
    server.turn(&session, "and now?");
    model.asked();
    assert!(model.asked().tool_result().starts_with("Error (not_found): There is no command"));
}

#[test]
fn trust_that_is_taken_back_ends_what_was_kept_and_a_session_that_is_deleted_takes_it_along() {
    for deletes in [false, true] {
        let model = Model::start(vec![starts(SERVER, json!({ "keep": true })), says("It stays.")]);
        let mut server = Server::ready(model.chosen(true));
        let session = server.session();
        server.prompt(&session, "serve it");
        allow(&mut server, &session);
        server.wait_end(&session);
        model.asked();
        model.asked();
        let pids = pids(&mut server, &session);
        if deletes {
            server.ask("bb/deleteSession", json!({ "sessionId": session }));
        } else {
            server.notify("bb/workspaceTrust", json!({ "trusted": false }));
        }
        until_gone(&pids);
        if !deletes {
            let end = until_block(&mut server, &session, "its end", |block| block["status"] != "running");
            let shown = end["preview"].as_str().expect("a preview");
            assert!(shown.contains("not trusted any more"), "{shown}");
        }
    }
}

/// Commands in the background see what the others see (R002-89), and what they print is bounded.
#[test]
fn a_command_in_the_background_is_confined_and_its_flood_is_cut() {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a home");
    std::fs::write(home.path().join("letter"), "LETTER").expect("a letter");
    let flood = format!(
        "sleep 1; cat '{}'; yes 0123456789012345678901234567890123456789 | head -n 20000; echo last",
        home.path().join("letter").display()
    );
    let model = Model::start(vec![
        starts(&flood, json!({})),
        calls_with_id("command_output", json!({ "wait_seconds": 60 })),
        says("Read."),
    ]);
    let options: Options = model.chosen(true).env("HOME", home.path().to_str().expect("a path"));
    let mut server = Server::ready(options);
    let session = server.session();
    server.prompt(&session, "flood");
    allow(&mut server, &session);
    server.wait_end(&session);
    model.asked();
    let told = [model.asked().tool_result(), model.asked().tool_result()];
    assert!(told.iter().all(|text| text.len() <= 17 * 1024), "{:?}", told.each_ref().map(String::len));
    let all = told.concat();
    assert!(
        all.contains("It ended with exit code 0.")
            && all.contains("last\n")
            && all.contains(" bytes before]"),
        "{all}"
    );
    if std::path::Path::new("/sys/kernel/security/landlock").exists() || all.contains("ermission denied") {
        assert!(!all.contains("LETTER"), "{all}");
    }
}
