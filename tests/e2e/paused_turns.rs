//! `kill -9` while our own agent waits for an answer: the next process shows the same request, and the answer continues the turn
//! (ruling 19, R001-60, R001-68; ARCHITECTURE.md, invariant 30).

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Options, PATIENCE, Server};
use crate::model::{Gate, Model, Reply, Step, calls, says, says_and_waits};

/// `two` becomes `2`, behind a word and a look at the file.
fn looks_then_patches() -> Vec<Reply> {
    let edit = json!({ "file_path": "a.txt", "rationale": "digits are shorter",
                       "edits": [{ "old_text": "two", "new_text": "2" }] });
    vec![
        Reply::Stream(vec![
            Step::Text("Let me look.".to_owned()),
            Step::Call("read_file", json!({ "path": "a.txt" })),
            Step::Call("propose_patch", edit),
        ]),
        says("All done."),
    ]
}

fn command(line: &str) -> Reply {
    calls("run_command", json!({ "command": line, "reason": "to see" }))
}

/// A server that is killed and started again in the same folders.
struct Story {
    model: Model,
    server: Server,
    session: String,
}

impl Story {
    /// A trusted workspace with `a.txt`, and a prompt.
    fn begin(replies: Vec<Reply>) -> Self {
        let model = Model::start(replies);
        let mut server = Server::ready(model.chosen(true));
        server.write("a.txt", "one\ntwo\n");
        let session = server.session();
        server.prompt(&session, "make it shorter");
        Self { model, server, session }
    }

    /// `kill -9`, and a new process.
    fn killed(self) -> Self {
        self.killed_and(|model| model.chosen(true))
    }

    fn killed_and(mut self, options: impl FnOnce(&Model) -> Options) -> Self {
        self.server.kill();
        let (workspace, state) = (Arc::clone(&self.server.workspace), Arc::clone(&self.server.state));
        let server = opened(Server::start_in(workspace, state, options(&self.model)), &self.session);
        Self { server, ..self }
    }

    /// Another window of the same workspace.
    fn window(&self) -> Server {
        let (workspace, state) = (Arc::clone(&self.server.workspace), Arc::clone(&self.server.state));
        opened(Server::start_in(workspace, state, self.model.chosen(true)), &self.session)
    }

    /// The only request that waits, as `bb/permission/list` has it.
    fn waiting(&mut self) -> Value {
        waiting(&mut self.server)
    }

    /// Answers it, with the digest that was shown.
    fn answer(&mut self, asked: &Value, decision: &str) -> Value {
        let answered = self.server.ask("bb/approvePermission", answer_to(&self.session, asked, decision));
        assert_eq!(answered["outcome"], "recorded", "{answered}");
        answered
    }

    fn blocks(&mut self) -> Vec<Value> {
        let selected = self.server.ask("bb/selectSession", json!({ "sessionId": self.session }));
        selected["view"]["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone()
    }

    fn block(&mut self, kind: &str) -> Value {
        let found = self.blocks().into_iter().rev().find(|block| block["kind"] == kind);
        found.unwrap_or_else(|| panic!("there is no {kind}"))
    }

    /// What `bb/listSessions` says of the session.
    fn status(&mut self) -> Value {
        self.server.ask("bb/listSessions", json!({}))["sessions"][0]["status"].clone()
    }

    /// That status once another process took the session up, when all that the killed one started is gone.
    fn taken_up(&mut self) -> Value {
        let began = Instant::now();
        loop {
            let status = self.status();
            if status != "running" {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "nobody takes the session up");
        }
    }
}

/// A window that shows the session.
fn opened(mut server: Server, session: &str) -> Server {
    server.shake_hands();
    server.ask("bb/init", json!({}));
    server.ask("bb/selectSession", json!({ "sessionId": session }));
    server
}

fn waiting(server: &mut Server) -> Value {
    let listed = server.ask("bb/permission/list", json!({}));
    let pending = listed["pending"].as_array().expect("a list");
    assert_eq!(pending.len(), 1, "{listed:#}");
    pending[0]["permission"].clone()
}

fn answer_to(session: &str, asked: &Value, decision: &str) -> Value {
    json!({ "sessionId": session, "requestId": asked["requestId"], "decision": decision,
            "digest": asked["digest"] })
}

/// Contents of the messages that a model was asked with, in order.
fn messages(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().expect("messages");
    let of = |message: &Value| {
        let role = message["role"].as_str().expect("a role").to_owned();
        let calls: Vec<&str> = message["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| call["function"]["name"].as_str().expect("a name"))
            .collect();
        (role, format!("{}{}", message["content"].as_str().unwrap_or_default(), calls.join(",")))
    };
    messages.iter().skip(1).map(of).collect()
}

#[test]
fn r001_60_68_an_edit_that_waits_outlives_a_kill_and_its_answer_continues_the_turn() {
    // Given an edit that waits for its answer
    let story = Story::begin(looks_then_patches());
    let ask = story.server.wait_ask(&story.session);
    // When the process is killed and another one starts
    let mut story = story.killed();
    // Then the same request waits, whole, and the session with it
    let whole = json!({ "sessionId": story.session, "requestId": ask["permission"]["requestId"] });
    assert_eq!(story.waiting(), ask["permission"]);
    assert_eq!(story.server.ask("bb/permission/get", whole)["permission"], ask["permission"]);
    assert_eq!(story.block("permission")["status"], "pending");
    assert_eq!(story.status(), "waiting");
    assert_eq!(story.server.read("a.txt"), "one\ntwo\n");
    // And when it is allowed, it is written once, and the model goes on with everything that was said before
    story.model.asked();
    let asked = story.waiting();
    story.answer(&asked, "allow_once");
    let end = story.server.wait_end(&story.session);
    assert_eq!(story.server.read("a.txt"), "one\n2\n");
    let body = story.model.asked().body;
    let said = messages(&body);
    let roles: Vec<&str> = said.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"], "{said:#?}");
    assert_eq!(said[0].1, "make it shorter");
    assert_eq!(said[1].1, "Let me look.read_file,propose_patch");
    assert!(said[2].1.starts_with("a.txt: lines 1-2 of 2\none\ntwo"), "{said:#?}");
    assert!(said[3].1.starts_with("Applied to a.txt: 1 line added, 1 removed."), "{said:#?}");
    // And the turn is the one that it was: one number, one end, one answer
    assert_eq!(end["turn"], 1);
    assert_eq!(end["payload"]["message"], "Let me look.\n\nAll done.");
    assert_eq!(end["payload"]["metadata"]["files_modified"], 1);
    assert_eq!(end["payload"]["metadata"]["tools_used"], json!(["read_file", "propose_patch"]));
    let kinds: Vec<Value> = story.blocks().into_iter().map(|block| block["kind"].clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "tool").count(), 2, "{kinds:?}");
    assert_eq!(story.block("tool")["status"], "ok");
    assert_eq!(story.block("permission")["status"], "allowed");
    assert_eq!(story.status(), "idle");
    // And the next turn is a turn as any other
    story.model.then(says("You are welcome."));
    assert_eq!(story.server.turn(&story.session, "thanks")["payload"]["message"], "You are welcome.");
}

#[test]
fn r001_60_68_what_waits_is_denied_after_a_kill_and_the_model_hears_it() {
    for reply in [looks_then_patches().remove(0), command("touch b")] {
        let story = Story::begin(vec![reply, says("As you like.")]);
        story.server.wait_ask(&story.session);
        let mut story = story.killed();
        story.model.asked();
        let asked = story.waiting();
        assert_eq!(story.answer(&asked, "deny")["resolution"], "denied");
        let end = story.server.wait_end(&story.session);
        assert!(story.model.asked().tool_result().starts_with("Error (denied)"));
        assert!(end["payload"]["message"].as_str().unwrap().ends_with("As you like."), "{end}");
        assert_eq!(story.server.read("a.txt"), "one\ntwo\n");
        assert!(!story.server.workspace.path().join("b").exists());
        assert_eq!(story.block("permission")["status"], "denied");
    }
}

#[test]
fn r001_60_68_a_command_that_waits_outlives_two_kills_and_runs_once() {
    // Given a command that ran, and another one that waits
    let story = Story::begin(vec![command("printf x >> log"), command("printf y >> log"), says("Ran.")]);
    let first = story.server.wait_ask(&story.session);
    let mut story = story.killed();
    assert_eq!(story.waiting(), first["permission"]);
    let asked = story.waiting();
    story.answer(&asked, "allow_once");
    let second = story.server.wait_event(&story.session, "the second command", |event| {
        event["class"] == "permission.request" && event["payload"]["command"] == "printf y >> log"
    });
    // When the process is killed twice more
    let mut story = story.killed();
    assert_eq!(story.waiting(), second["permission"]);
    let mut story = story.killed();
    // Then the second one waits still, and runs once it is allowed
    let asked = story.waiting();
    assert_eq!(asked, second["permission"]);
    assert_eq!(story.server.read("log"), "x");
    story.answer(&asked, "allow_once");
    story.server.wait_end(&story.session);
    assert_eq!(story.server.read("log"), "xy");
    for _ in 0..2 {
        story.model.asked();
    }
    let said = messages(&story.model.asked().body);
    let told: Vec<&str> =
        said.iter().filter(|(role, _)| role == "tool").map(|(_, text)| &text[..37]).collect();
    assert_eq!(told, ["The command ended with exit code 0.\ns"; 2]);
    // And a second answer changes nothing
    let again = story.server.ask("bb/approvePermission", answer_to(&story.session, &asked, "allow_once"));
    assert_eq!((&again["outcome"], &again["resolution"]), (&json!("already_resolved"), &json!("allowed")));
    assert_eq!(story.server.read("log"), "xy");
}

#[test]
fn r001_68_a_file_that_changed_while_nobody_was_there_is_a_conflict() {
    let story = Story::begin(looks_then_patches());
    story.server.wait_ask(&story.session);
    story.server.write("a.txt", "one\ntwo and more\n");
    let mut story = story.killed();
    story.model.asked();
    let asked = story.waiting();
    story.answer(&asked, "allow_once");
    story.server.wait_end(&story.session);
    let told = story.model.asked().tool_result();
    assert!(told.starts_with("Error (conflict): `a.txt` is not what it was"), "{told}");
    assert_eq!(story.server.read("a.txt"), "one\ntwo and more\n");
    assert_eq!(story.block("tool")["status"], "failed");
}

#[test]
fn r001_68_after_a_restart_without_trust_nothing_is_allowed_and_what_waits_can_be_denied() {
    // Given an edit that waits, and a restart in which the workspace is not trusted
    let story = Story::begin(looks_then_patches());
    story.server.wait_ask(&story.session);
    let mut story = story.killed_and(|model| model.chosen(false));
    story.model.asked();
    let asked = story.waiting();
    // When it is allowed
    let refused =
        story.server.refused("bb/approvePermission", answer_to(&story.session, &asked, "allow_once"));
    // Then that is refused with the reason, and it waits on
    assert_eq!(refused["data"]["code"], "untrusted_workspace", "{refused}");
    assert_eq!(story.waiting(), asked);
    assert_eq!(story.server.read("a.txt"), "one\ntwo\n");
    // And with trust it is taken
    story.server.notify("bb/workspaceTrust", json!({ "trusted": true }));
    story.answer(&asked, "allow_once");
    story.server.wait_end(&story.session);
    assert_eq!(story.server.read("a.txt"), "one\n2\n");
}

#[test]
fn r001_68_of_two_windows_one_continues_the_turn() {
    // Given a command that waits after a kill, shown in two windows
    let story = Story::begin(vec![command("printf x >> log"), says("Ran.")]);
    story.server.wait_ask(&story.session);
    let mut story = story.killed();
    let mut other = story.window();
    let asked = story.waiting();
    assert_eq!(waiting(&mut other), asked);
    // When both answer at once
    let params = answer_to(&story.session, &asked, "allow_once");
    let ids = [
        story.server.request("bb/approvePermission", params.clone()),
        other.request("bb/approvePermission", params),
    ];
    let answers = [story.server.wait_response(&ids[0]), other.wait_response(&ids[1])];
    // Then one of them continues the turn, and the other hears that it did not
    let recorded = answers.iter().filter(|answer| answer["result"]["outcome"] == "recorded").count();
    let late = answers.iter().filter(|answer| {
        answer["result"]["outcome"] == "already_resolved" || answer["error"]["data"]["code"] == "conflict"
    });
    assert_eq!((recorded, late.count()), (1, 1), "{answers:#?}");
    // And it ran once
    let winner = if answers[0]["result"]["outcome"] == "recorded" { &story.server } else { &other };
    winner.wait_end(&story.session);
    assert_eq!(story.server.read("log"), "x");
    story.model.asked();
    story.model.asked();
}

#[test]
fn r001_68_a_command_that_had_begun_is_not_repeated_and_may_have_been_done() {
    // Given a command that runs when the process is killed
    let mut story = Story::begin(vec![command("printf x >> log; cat fifo"), says("I see.")]);
    let fifo = story.server.workspace.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let ask = story.server.wait_ask(&story.session);
    story.server.decide(&story.session, &ask, "allow_once");
    // It has the fifo open once somebody can write to it.
    let writer = std::fs::OpenOptions::new().write(true).open(&fifo).expect("the command reads");
    let mut story = story.killed();
    drop(writer);
    // Then nothing waits, and the person reads what is not known
    story.taken_up();
    let sentence = "breadboard-ls ended while it was to run `printf x >> log; cat fifo`, so that may have been done; look before it is done again.";
    assert_eq!(story.server.ask("bb/permission/list", json!({}))["pending"], json!([]));
    assert_eq!(story.block("notice")["text"], sentence);
    assert_eq!(story.status(), "idle");
    assert_eq!(story.server.read("log"), "x");
    // And the model with the next prompt, once
    story.model.asked();
    story.server.turn(&story.session, "and?");
    let said = messages(&story.model.asked().body);
    assert!(said.contains(&("assistant".to_owned(), sentence.to_owned())), "{said:#?}");
    assert_eq!(story.server.read("log"), "x");
    story.model.then(says("Yes."));
    story.server.turn(&story.session, "and now?");
    let said = messages(&story.model.asked().body);
    assert!(!said.iter().any(|(_, text)| text.contains("may have been done")), "{said:#?}");
}

#[test]
fn r001_68_whenever_a_process_is_killed_nothing_is_done_twice_and_what_is_not_known_is_said() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("BREADBOARD_SEED").unwrap_or(1);
    for seed in first..first + number("BREADBOARD_SEEDS").unwrap_or(6) {
        // A step of splitmix64: any spread will do, as long as a seed gives the same instant again.
        let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^= mixed >> 27;
        killed_behind_the_answer(seed, Duration::from_micros(mixed % 40_000));
    }
}

/// A command is allowed, and the process is killed so long after.
fn killed_behind_the_answer(seed: u64, after: Duration) {
    let told = format!("seed {seed} (BREADBOARD_SEED), killed {after:?} behind the answer");
    let mut story = Story::begin(vec![command("printf x >> log"), says("Ran.")]);
    let ask = story.server.wait_ask(&story.session);
    story.server.request("bb/approvePermission", answer_to(&story.session, &ask["permission"], "allow_once"));
    let until = Instant::now() + after;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    let mut story = story.killed();
    let status = story.taken_up();
    let log = story.server.workspace.path().join("log");
    let written = || std::fs::read_to_string(&log).unwrap_or_default();
    if status == "waiting" {
        // The answer did not arrive.
        assert_eq!(written(), "", "{told}");
        let asked = story.waiting();
        story.answer(&asked, "allow_once");
        story.server.wait_end(&story.session);
        assert_eq!(written(), "x", "{told}");
        return;
    }
    let notices: Vec<Value> = story
        .blocks()
        .into_iter()
        .filter(|block| block["kind"] == "notice")
        .map(|block| block["text"].clone())
        .collect();
    let says = |part: &str| notices.iter().any(|text| text.as_str().is_some_and(|text| text.contains(part)));
    let (unknown, undone) = (says("so that may have been done"), says("so that was not done"));
    match written().as_str() {
        "" => assert!(unknown || undone, "{told}: {notices:?}"),
        "x" => assert!(!undone && (unknown || story.block("tool")["status"] == "ok"), "{told}: {notices:?}"),
        twice => panic!("{told}: it ran more than once: {twice}"),
    }
}

#[test]
fn r001_68_a_turn_that_waits_can_be_stopped_after_a_kill_and_asks_the_model_nothing() {
    let story = Story::begin(looks_then_patches());
    story.server.wait_ask(&story.session);
    let mut story = story.killed();
    story.model.asked();
    assert_eq!(story.server.ask("bb/stop", json!({ "sessionId": story.session }))["stopping"], true);
    assert_eq!(story.status(), "idle");
    assert_eq!(story.block("permission")["status"], "cancelled");
    assert_eq!(story.server.read("a.txt"), "one\ntwo\n");
    // The next question to the model is that of the next prompt
    story.server.turn(&story.session, "and now?");
    let said = messages(&story.model.asked().body);
    assert_eq!(said.last(), Some(&("user".to_owned(), "and now?".to_owned())));
}

#[test]
fn r001_68_a_prompt_behind_a_turn_that_waits_is_sent_when_the_turn_is_over() {
    let story = Story::begin(looks_then_patches());
    story.server.wait_ask(&story.session);
    let mut story = story.killed();
    let sent = story.server.prompt(&story.session, "and then?");
    assert_eq!(sent["disposition"], "queued");
    let asked = story.waiting();
    story.model.then(says("Then nothing."));
    story.answer(&asked, "allow_once");
    story.server.wait_end(&story.session);
    let end = story.server.wait_end(&story.session);
    assert_eq!((&end["turn"], &end["payload"]["message"]), (&json!(2), &json!("Then nothing.")));
}

#[test]
fn r001_68_a_turn_that_was_cut_while_the_model_spoke_is_said_and_not_continued() {
    let gate = Gate::default();
    let story = Story::begin(vec![says_and_waits("Half", &gate, " more")]);
    story.server.wait_event(&story.session, "a word", |event| event["payload"]["token"] == "Half");
    let mut story = story.killed();
    assert_eq!(story.status(), "idle");
    assert_eq!(story.server.ask("bb/permission/list", json!({}))["pending"], json!([]));
    assert_eq!(story.block("assistant")["text"], "Half");
}

#[test]
fn r001_68_a_replacement_without_a_model_waits_and_goes_on_too() {
    // Given the agent without a model, which asks to replace a word
    let mut server =
        Server::ready(Options { options: json!({ "workspaceTrusted": true }), ..Options::default() });
    server.write("a.txt", "one\ntwo\n");
    let session = server.session();
    server.prompt(&session, "replace two with 2 in a.txt");
    let ask = server.wait_ask(&session);
    server.kill();
    // When another process is asked to go on
    let options = Options { options: json!({ "workspaceTrusted": true }), ..Options::default() };
    let next = Server::start_in(Arc::clone(&server.workspace), Arc::clone(&server.state), options);
    let mut next = opened(next, &session);
    assert_eq!(waiting(&mut next), ask["permission"]);
    next.ask("bb/approvePermission", answer_to(&session, &ask["permission"], "allow_once"));
    // Then it does, and its answer is one
    let end = next.wait_end(&session);
    let text = end["payload"]["message"].as_str().expect("a text");
    assert_eq!(text.matches("Replaced with `2`").count(), 1, "{text}");
    assert_eq!(text.matches("No model is configured").count(), 1, "{text}");
    assert_eq!(next.read("a.txt"), "one\n2\n");
}

#[test]
fn r001_68_no_secret_of_a_turn_stands_in_the_steps_of_the_journal() {
    // Given a secret of the environment in what a model is told, and a request that waits
    let secret = "hidden-in-the-steps-1";
    let read = calls("read_file", json!({ "path": "a.txt" }));
    let model = Model::start(vec![read, command(&format!("echo {secret}")), says("done")]);
    let mut server = Server::ready(model.chosen(true).env("BREADBOARD_MODEL_TOKEN", secret));
    server.write("a.txt", &format!("{secret}\n"));
    let session = server.session();
    server.prompt(&session, &format!("what is {secret}?"));
    server.wait_ask(&session);
    server.kill();
    // Then no file of the state directory has it
    let mut files = vec![server.state.path().to_owned()];
    let mut looked = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()),
            );
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            looked += bytes.len();
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "the secret is in {}", path.display());
        }
    }
    assert!(looked > 0);
    // And what cannot be made again as it was is not run
    let again = Options { options: model.options(true), ..Options::default() }
        .env("NO_PROXY", "127.0.0.1")
        .env("BREADBOARD_MODEL_TOKEN", secret);
    let next = Server::start_in(Arc::clone(&server.workspace), Arc::clone(&server.state), again);
    let mut next = opened(next, &session);
    let asked = waiting(&mut next);
    for _ in 0..2 {
        model.asked();
    }
    next.ask("bb/approvePermission", answer_to(&session, &asked, "allow_once"));
    next.wait_end(&session);
    let told = model.asked().tool_result();
    assert!(told.starts_with("Error (conflict): The command cannot be made again"), "{told}");
}

#[test]
fn r001_68_a_request_whose_time_is_over_ends_its_turn_and_asks_the_model_nothing() {
    let story = Story::begin(vec![says("unused")]);
    story.server.wait_end(&story.session);
    story.model.asked();
    let expiring = |model: &Model| {
        let mut options = model.chosen(true);
        options.options["approvals"] = json!({ "expireAfterSeconds": 3 });
        options
    };
    // Given a request that a killed process asked, with some seconds of its time left
    let mut story = story.killed_and(expiring);
    story.model.then(looks_then_patches().remove(0));
    story.server.prompt(&story.session, "make it shorter");
    story.server.wait_ask(&story.session);
    let mut story = story.killed_and(expiring);
    story.model.asked();
    // When they are over
    story.server.wait_end(&story.session);
    // Then it counts as expired, and nothing was done
    assert_eq!(story.block("permission")["status"], "expired");
    assert_eq!((story.status(), story.server.read("a.txt")), (json!("idle"), "one\ntwo\n".to_owned()));
    story.model.then(says("Yes?"));
    story.server.turn(&story.session, "and now?");
    let said = messages(&story.model.asked().body);
    assert_eq!(said.last(), Some(&("user".to_owned(), "and now?".to_owned())));
}
