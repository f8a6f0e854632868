//! A session that begins with the conversation of another one: before a prompt that is changed, or all of it with another engine; and
//! sessions that are pinned. Over a restart, a kill, and in another window (decision 0047).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::breadboard_desk::{self, Desk};
use crate::harness::{Options, Server};
use crate::model::{Model, Reply, calls, says};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// Role and content of the messages that a model was asked with, without the rules.
fn messages(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().expect("messages");
    let of = |message: &Value| {
        let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
        (text("role"), text("content"))
    };
    messages.iter().skip(1).map(of).collect()
}

fn reads(path: &str) -> Reply {
    calls("read_file", json!({ "path": path }))
}

fn blocks(server: &mut Server, session: &str) -> Vec<Value> {
    let selected = server.ask("bb/selectSession", json!({ "sessionId": session }));
    selected["view"]["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone()
}

/// Kind and text of the prompts, answers and sentences.
fn said(blocks: &[Value]) -> Vec<(String, String)> {
    let shown = ["user", "assistant", "notice"];
    let text = |block: &Value, name: &str| block[name].as_str().unwrap_or_default().to_owned();
    let shown = blocks.iter().filter(|block| shown.iter().any(|kind| block["kind"] == *kind));
    shown.map(|block| (text(block, "kind"), text(block, "text"))).collect()
}

fn prompt_block(blocks: &[Value], text: &str) -> String {
    let found = blocks.iter().find(|block| block["kind"] == "user" && block["text"] == text);
    found.expect("the prompt")["id"].as_str().expect("an id").to_owned()
}

fn summary(server: &mut Server, session: &str) -> Value {
    let listed = server.ask("bb/listSessions", json!({}));
    let all = listed["sessions"].as_array().expect("sessions");
    all.iter().find(|one| one["sessionId"] == session).expect("it is listed").clone()
}

fn order(server: &mut Server) -> Vec<String> {
    let listed = server.ask("bb/listSessions", json!({}));
    let all = listed["sessions"].as_array().expect("sessions");
    all.iter().map(|one| one["sessionId"].as_str().expect("an id").to_owned()).collect()
}

fn id(answer: &Value) -> String {
    answer["sessionId"].as_str().expect("an id").to_owned()
}

/// A window of the same workspace.
fn window(of: &Server, options: Options) -> Server {
    let mut server = Server::start_in(Arc::clone(&of.workspace), Arc::clone(&of.state), options);
    server.shake_hands();
    server.ask("bb/init", json!({}));
    server
}

/// The same after `kill -9`.
fn killed(mut server: Server, options: Options) -> Server {
    server.kill();
    window(&server, options)
}

/// Options with an agent that says back what it is asked.
fn with_agent(mut options: Options) -> Options {
    let script = json!({ "prompts": [{ "when": "", "steps": [{ "say": "I read: ${prompt}" }] }] });
    let agent = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    options.options["agents"] = json!({ "echo": agent });
    options.options["workspaceTrusted"] = true.into();
    options
}

/// A session of the built-in agent with two turns, in the first of which a file was read.
fn two_turns(replies: Vec<Reply>) -> (Model, Server, String) {
    let mut all = vec![reads("a.txt"), says("Two words."), says("As I said.")];
    all.extend(replies);
    let model = Model::start(all);
    let mut server = Server::ready(with_agent(model.chosen(true)));
    server.write("a.txt", "one\ntwo\n");
    let session = server.session();
    server.turn(&session, "what is there?");
    server.turn(&session, "how many?");
    (model, server, session)
}

#[test]
fn a_changed_prompt_begins_a_branch_whose_model_has_the_history_before_it_also_after_a_kill() {
    let (model, mut server, session) = two_turns(vec![says("Three."), says("Four.")]);
    let (before, events) = (blocks(&mut server, &session), server.events(&session));
    let changed = prompt_block(&before, "how many?");
    // When the second prompt is changed
    let made = server.ask("bb/session/branch", json!({ "sessionId": session, "before": changed }));
    let branch = id(&made);
    assert_eq!(made["knows"], "all");
    let text = made["text"].as_str().expect("sentences");
    assert!(
        text.starts_with("This session is a branch of “what is there?”, from before the prompt “how many?”."),
        "{text}"
    );
    assert!(text.contains("Files are not turned back"), "{text}");
    // Then the branch shows what was said before it, and where it comes from
    let of = |kind: &str, text: &str| (kind.to_owned(), text.to_owned());
    let begins = [of("user", "what is there?"), of("assistant", "Two words."), of("notice", text)];
    let shown = blocks(&mut server, &branch);
    assert_eq!(said(&shown), begins);
    assert!(shown.iter().any(|block| block["kind"] == "tool" && block["name"] == "read_file"), "{shown:#?}");
    // And it survives a kill before its first prompt
    let mut server = killed(server, with_agent(model.chosen(true)));
    assert_eq!(said(&blocks(&mut server, &branch)), begins);
    server.turn(&branch, "how many lines?");
    for _ in 0..3 {
        model.asked();
    }
    let asked = model.asked().body;
    let told = "a.txt: lines 1-2 of 2\none\ntwo\n";
    let words: Vec<String> = messages(&asked).into_iter().map(|(_, text)| text).collect();
    assert_eq!(words, ["what is there?", "", told, "Two words.", "how many lines?"].map(str::to_owned));
    // And again: what was taken along stands in the journal, not in the other session
    server.ask("bb/deleteSession", json!({ "sessionId": session }));
    server.turn(&branch, "sure?");
    let words: Vec<String> = messages(&model.asked().body).into_iter().map(|(_, text)| text).collect();
    assert_eq!(words[..4], ["what is there?", "", told, "Two words."].map(str::to_owned));
    assert_eq!(words[4..], ["how many lines?", "Three.", "sure?"].map(str::to_owned));
    // The list says which is which
    let summary = summary(&mut server, &branch);
    assert_eq!(summary["title"], "Branch: how many lines?");
    assert_eq!(
        summary["branchedFrom"],
        json!({ "sessionId": session, "title": "what is there?", "before": changed })
    );
    assert!(!events.is_empty());
}

#[test]
fn the_session_that_is_branched_stays_as_it_was_and_another_window_sees_both() {
    let (model, mut server, session) = two_turns(vec![says("Three.")]);
    let mut other = window(&server, model.chosen(true));
    let (before, events) = (blocks(&mut server, &session), server.events(&session));
    let listed = summary(&mut server, &session);
    let changed = prompt_block(&before, "how many?");
    let branch = id(&server.ask("bb/session/branch", json!({ "sessionId": session, "before": changed })));
    server.turn(&branch, "how many lines?");
    assert_eq!((blocks(&mut server, &session), server.events(&session)), (before.clone(), events));
    assert_eq!(summary(&mut server, &session), listed);
    // Another window hears of it, and reads both
    other.wait_notification("bb/state", |params| params.to_string().contains("Branch: how many lines?"));
    assert_eq!(blocks(&mut other, &session), before);
    let shown = said(&blocks(&mut other, &branch));
    assert_eq!(shown.last(), Some(&("assistant".to_owned(), "Three.".to_owned())));
    // And makes a branch of the branch, where a prompt is named that was taken along
    let taken = prompt_block(&blocks(&mut other, &branch), "what is there?");
    let made = other.ask("bb/session/branch", json!({ "sessionId": branch, "before": taken }));
    assert_eq!(made["knows"], "nothing");
    assert_eq!(said(&blocks(&mut other, &id(&made))).len(), 1, "nothing but where it comes from");
}

#[test]
fn a_session_of_the_built_in_agent_goes_on_with_an_agent_which_is_given_our_record_once() {
    let (_model, mut server, session) = two_turns(Vec::new());
    let made = server.ask("bb/session/branch", json!({ "sessionId": session, "agent": "echo" }));
    let goes_on = id(&made);
    assert_eq!(made["knows"], "record");
    let text = made["text"].as_str().expect("sentences");
    assert!(text.contains("continues “what is there?” with echo") && text.contains("all 2 turns"), "{text}");
    assert_eq!(summary(&mut server, &goes_on)["title"], "Continued: what is there?");
    assert_eq!(summary(&mut server, &goes_on)["agent"], "echo");
    // When it is prompted behind a kill
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.kill();
    let options = Options { options: json!({}), ..Options::default() };
    let mut server = Server::start_in(workspace, state, with_agent(options));
    server.shake_hands();
    server.ask("bb/init", json!({}));
    server.turn(&goes_on, "and then?");
    // Then it reads the prompt and behind it what was said and done, and the user sees what he typed
    let shown = blocks(&mut server, &goes_on);
    let answers: Vec<String> = said(&shown)
        .into_iter()
        .filter(|(kind, text)| kind == "assistant" && text.starts_with("I read: "))
        .map(|(_, text)| text)
        .collect();
    let [heard] = answers.as_slice() else { panic!("{shown:#?}") };
    assert!(heard.starts_with("I read: and then?\n\n<earlier_conversation>"), "{heard}");
    for piece in ["User: what is there?", "Agent: Two words.", "User: how many?", "Agent: As I said."] {
        assert!(heard.contains(piece), "{piece} in {heard}");
    }
    assert!(shown.iter().any(|block| block["kind"] == "user" && block["text"] == "and then?"), "{shown:#?}");
    // And once only
    server.turn(&goes_on, "more");
    let shown = said(&blocks(&mut server, &goes_on));
    assert_eq!(shown.last(), Some(&("assistant".to_owned(), "I read: more".to_owned())));
}

#[test]
fn a_session_of_an_agent_goes_on_with_the_built_in_agent_which_knows_its_words() {
    let model = Model::start(vec![says("I know."), says("Still.")]);
    let mut server = Server::ready(with_agent(model.chosen(true)));
    let session = id(&server.ask("bb/createSession", json!({ "agent": "echo" })));
    server.turn(&session, "remember the harbour");
    let made = server.ask("bb/session/branch", json!({ "sessionId": session, "engine": "current" }));
    assert_eq!(made["knows"], "words");
    let goes_on = id(&made);
    let mut server = killed(server, with_agent(model.chosen(true)));
    server.turn(&goes_on, "what was it?");
    server.turn(&goes_on, "sure?");
    let words = |body: &Value| messages(body).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    let history = ["remember the harbour", "I read: remember the harbour", "what was it?"].map(str::to_owned);
    assert_eq!(words(&model.asked().body), history);
    assert_eq!(words(&model.asked().body)[..4], [&history[..], &["I know.".to_owned()]].concat());
    assert_eq!(summary(&mut server, &goes_on)["engine"], "embedded");
}

#[test]
fn what_cannot_be_branched_is_refused_and_leaves_nothing_behind() {
    let (_model, mut server, session) = two_turns(Vec::new());
    let asked = blocks(&mut server, &session);
    let answer = asked.iter().find(|block| block["kind"] == "assistant").expect("an answer")["id"].clone();
    let sessions = order(&mut server);
    for (params, code) in [
        (json!({ "sessionId": "nobody" }), "unknown_session"),
        (json!({ "sessionId": session, "before": answer }), "not_found"),
        (json!({ "sessionId": session, "before": "u-999" }), "not_found"),
        (json!({ "sessionId": session, "agent": "nobody" }), "not_found"),
        (json!({ "sessionId": session, "engine": "other" }), "invalid_params"),
    ] {
        assert_eq!(server.refused("bb/session/branch", params.clone())["data"]["code"], code, "{params}");
    }
    assert_eq!(order(&mut server), sessions);
    // And while its turn runs
    let model = Model::start(vec![calls("run_command", json!({ "command": "true", "reason": "to see" }))]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    server.prompt(&session, "go");
    server.wait_ask(&session);
    let refused = server.refused("bb/session/branch", json!({ "sessionId": session }));
    assert_eq!(refused["data"]["code"], "conflict");
    // But a branch from before its prompt is free
    let prompt = prompt_block(&blocks(&mut server, &session), "go");
    let made = server.ask("bb/session/branch", json!({ "sessionId": session, "before": prompt }));
    assert_eq!(made["knows"], "nothing");
}

#[test]
fn a_pinned_session_stands_first_in_every_window_and_over_a_kill() {
    let mut server = Server::ready(Options::default());
    let sessions: Vec<String> = (0..3).map(|_| server.session()).collect();
    for session in &sessions {
        server.turn(session, "where is main?");
    }
    let other = window(&server, Options::default());
    let first = sessions[0].clone();
    let pinned = server.ask("bb/session/pin", json!({ "sessionId": first, "pinned": true }));
    assert_eq!(pinned, json!({ "sessionId": first, "pinned": true }));
    assert_eq!(order(&mut server)[0], first);
    let heard = |params: &Value| {
        params["sessions"][0]["sessionId"] == first.as_str() && params["sessions"][0]["pinned"] == true
    };
    other.wait_notification("bb/state", heard);
    // The newest of the others does not pass it, whoever prompts it, and a kill changes nothing
    server.turn(&sessions[1], "again");
    assert_eq!(order(&mut server)[..2], [first.clone(), sessions[1].clone()]);
    let mut server = killed(server, Options::default());
    assert_eq!(order(&mut server)[..2], [first.clone(), sessions[1].clone()]);
    assert_eq!(summary(&mut server, &first)["pinned"], true);
    // And back
    server.ask("bb/session/pin", json!({ "sessionId": first, "pinned": false }));
    assert_eq!(order(&mut server).last(), Some(&first));
    assert_eq!(summary(&mut server, &first).get("pinned"), None);
    let refused = server.refused("bb/session/pin", json!({ "sessionId": "nobody", "pinned": true }));
    assert_eq!(refused["data"]["code"], "unknown_session");
}

#[test]
fn an_engine_that_keeps_its_sessions_goes_on_with_a_session_of_another_engine() {
    // Given a session of the built-in agent, whose window is gone
    let (_model, server, session) = two_turns(Vec::new());
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    server.shut_down();
    // When the window has another engine
    let desk = Desk::scripted(&json!([[breadboard_desk::says("Well.")], [breadboard_desk::says("Again.")]]));
    let mut server = Server::start_in(workspace, state, desk.chosen(true));
    server.shake_hands();
    server.ask("bb/init", json!({}));
    breadboard_desk::connected(&server);
    // Then a prompt there is refused, and a session that goes on with it takes one
    let refused = server.refused("bb/sendMessage", json!({ "sessionId": session, "text": "and then?" }));
    assert_eq!(refused["data"]["code"], "unsupported");
    let made = server.ask("bb/session/branch", json!({ "sessionId": session, "engine": "current" }));
    assert_eq!(made["knows"], "record");
    let goes_on = id(&made);
    server.prompt(&goes_on, "and then?");
    breadboard_desk::ran(&server, &goes_on);
    let inputs = desk.inputs(&goes_on);
    let content = inputs[0]["content"].as_str().expect("text");
    assert!(content.starts_with("and then?\n\n<earlier_conversation>"), "{content}");
    assert!(content.contains("Agent: Two words."), "{content}");
    // And the echo of the engine is the prompt, which nobody is told was changed
    let shown = said(&blocks(&mut server, &goes_on));
    let of = |kind: &str| {
        shown.iter().filter(|(one, _)| one == kind).map(|(_, text)| text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of("user"), ["what is there?", "how many?", "and then?"]);
    assert_eq!(of("assistant"), ["Two words.", "As I said.", "Well."]);
    assert!(of("notice").iter().all(|text| !text.contains("changed the prompt")), "{shown:#?}");
    server.prompt(&goes_on, "more");
    breadboard_desk::ran(&server, &goes_on);
    assert_eq!(desk.inputs(&goes_on)[1]["content"], "more");
}

/// Runs the command line in one workspace; what it says on both streams.
pub(crate) fn run(place: &std::path::Path, arguments: &[&str]) -> (String, String, Option<i32>) {
    let mut command = std::process::Command::new(PROGRAM);
    command
        .args(arguments)
        .arg("--workspace")
        .arg(place.join("w"))
        .arg("--state-dir")
        .arg(place.join("state"));
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN"] {
        command.env_remove(name);
    }
    let output = command.stdin(std::process::Stdio::null()).output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[test]
fn in_a_terminal_a_session_goes_on_with_another_engine_is_branched_and_pinned() {
    // Given a session of the built-in agent
    let place = tempfile::tempdir().expect("a directory");
    let place = place.path();
    std::fs::create_dir(place.join("w")).expect("a workspace");
    std::fs::write(place.join("w/main.rs"), "fn main() {}\n").expect("a file");
    let listed = |place: &std::path::Path| -> Vec<Value> {
        let (out, err, code) = run(place, &["sessions", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        serde_json::from_str(&out).expect("a list")
    };
    let (_, err, _) = run(place, &["ask", "where is main?"]);
    let first = id(listed(place).first().unwrap_or_else(|| panic!("{err}")));
    // When an agent is named for it
    let script = place.join("script.json");
    std::fs::write(
        &script,
        json!({ "prompts": [{ "when": "", "steps": [{ "say": "I read: ${prompt}" }] }] }).to_string(),
    )
    .expect("a script");
    let engine = format!("--engine=acp:'{PROGRAM}' simulate acp --script \"{}\"", script.display());
    let (out, err, code) = run(place, &["ask", "and then?", "--session", &first, &engine, "--trust"]);
    // Then it goes on in a session of its own, is told what was said, and the user is told so
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("I read: and then?") && out.contains("User: where is main?"), "{out}");
    assert!(err.contains("This session continues “where is main?” with"), "{err}");
    let sessions = listed(place);
    assert_eq!(sessions.len(), 2, "{sessions:#?}");
    assert_eq!(sessions[0]["title"], "Continued: where is main?");
    // A branch with its own engine
    let (_, err, _) = run(place, &["ask", "once more?", "--session", &first, "--branch"]);
    assert!(err.contains("This session continues “where is main?” with the built-in agent."), "{err}");
    assert_eq!(listed(place).len(), 3);
    // A pin, which the next `--continue` does not take for the newest
    let (out, err, code) = run(place, &["sessions", "--pin", &first]);
    assert_eq!(code, Some(0), "{err}");
    let line = out.lines().next().expect("a line");
    assert!(line.starts_with(&first) && line.ends_with("where is main?  (pinned)"), "{out}");
    run(place, &["ask", "newest?", "--continue"]);
    let newest = listed(place).into_iter().max_by_key(|one| one["updatedAt"].as_i64()).expect("one");
    assert_ne!(newest["sessionId"], first.as_str());
    let (out, _, _) = run(place, &["sessions", "--unpin", &first]);
    assert!(!out.contains("(pinned)"), "{out}");
    let (_, err, code) = run(place, &["sessions", "--pin", "nobody"]);
    assert_eq!(code, Some(1), "{err}");
}
