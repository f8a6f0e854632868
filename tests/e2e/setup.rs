//! `breadboard-ls setup`: as somebody would who has read nothing, on a terminal, and line by line from a script; and what the file
//! that it leaves counts for.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

#[cfg(unix)]
use crate::ask_terminal::Session;
use crate::harness::{Options, Server};
use crate::model::{Model, Reply, says};

/// What a new user may take from the program to the first answer of a model.
const TWO_MINUTES: Duration = Duration::from_secs(120);

const KEY: &str = "sk-setup-5d0c7b";

/// A home of its own: nothing of this machine's settings, keys or agents takes part.
fn at_home(command: &mut Command, home: &Path) {
    for name in [
        "BREADBOARD_API_URL",
        "BREADBOARD_API_TOKEN",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
    ] {
        command.env_remove(name);
    }
    command.env("HOME", home).env("XDG_CONFIG_HOME", home.join("config"));
    command.env("XDG_STATE_HOME", home.join("state")).env("NO_PROXY", "127.0.0.1");
    command.env("BREADBOARD_MODEL_TOKEN", KEY);
}

fn binary(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    at_home(&mut command, home);
    command
}

/// Has it read these lines.
fn typed(home: &Path, workspace: &Path, lines: &str) -> Output {
    let mut command = binary(home);
    command.args(["setup", "--workspace"]).arg(workspace);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    child.stdin.take().expect("a stdin").write_all(lines.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// The number under which something stands in the list that was shown.
fn number(shown: &str, name: &str) -> String {
    let line = shown.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name} in {shown}"));
    line.split_whitespace().next().expect("a number").to_owned()
}

fn kept(home: &Path) -> Option<Value> {
    let file = home.join("config").join("breadboard-ls").join("settings.json");
    std::fs::read_to_string(file).ok().map(|text| serde_json::from_str(&text).expect("JSON"))
}

fn models() -> Reply {
    Reply::Status(200, json!({ "data": [{ "id": "small" }, { "id": "story" }] }).to_string())
}

#[test]
#[cfg(unix)]
fn from_the_bare_program_to_the_first_answer_of_a_model_on_a_terminal_in_under_two_minutes() {
    // Given a home in which nothing was ever set up, and an endpoint with two models
    let home = tempfile::tempdir().expect("a home");
    let model = Model::start(vec![models(), models(), says("It counts how often an upload is tried.")]);
    let url = model.options(true)["model"]["url"].as_str().expect("an address").to_owned();
    let on_terminal = |words: &[&str]| {
        // The terminal of the stories takes the variables of tokens away.
        let mut command = Command::new("env");
        at_home(&mut command, home.path());
        command.arg(format!("BREADBOARD_MODEL_TOKEN={KEY}")).arg(env!("CARGO_BIN_EXE_breadboard-ls"));
        command.args(words).current_dir(home.path());
        let folder = || tempfile::tempdir().expect("a folder");
        Session::of(command, 100, folder(), folder())
    };
    let begun = Instant::now();
    // When somebody starts the program without a word
    let mut bare = on_terminal(&[]);
    bare.end();
    // Then it names the command that sets it up
    assert!(bare.shown.contains("breadboard-ls setup     choose who answers"), "{}", bare.shown);
    // When its questions are answered as they come
    let mut setup = on_terminal(&["setup"]);
    setup.wait_for("A number, or Enter to change nothing: ");
    let address = number(&setup.shown, "An address of yours");
    setup.type_line(&address);
    setup.wait_for("Base URL");
    setup.type_line(&url);
    setup.wait_for("Which model, by number or name: ");
    assert!(setup.shown.contains(" 2  story"), "{}", setup.shown);
    setup.type_line("2");
    // Then the model was tried with the key of the environment, and is kept without it
    assert_eq!(setup.end(), Some(0), "{}", setup.shown);
    let first = model.asked();
    assert_eq!(first.authorization.as_deref(), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(
        kept(home.path()),
        Some(json!({ "model": { "provider": "openai", "name": "story", "url": url } }))
    );
    assert!(!setup.shown.contains(KEY), "{}", setup.shown);
    // When the command that it names is typed
    assert!(setup.shown.contains("breadboard-ls ask \"What does this project do?\""), "{}", setup.shown);
    let mut asked = on_terminal(&["ask", "What does this project do?"]);
    // Then the model answers
    assert_eq!(asked.end(), Some(0), "{}", asked.shown);
    assert!(asked.shown.contains("It counts how often an upload is tried."), "{}", asked.shown);
    assert!(begun.elapsed() < TWO_MINUTES, "{:?}", begun.elapsed());
}

#[test]
fn what_does_not_work_is_said_and_not_kept_and_the_next_choice_is_asked_for() {
    let home = tempfile::tempdir().expect("a home");
    let workspace = tempfile::tempdir().expect("a workspace");
    let shown = typed(home.path(), workspace.path(), "\n");
    assert_eq!(shown.status.code(), Some(4), "Enter leaves it as it is");
    let menu = String::from_utf8(shown.stdout).expect("UTF-8");
    let [openai, address, breadboard, search] =
        ["OpenAI", "An address of yours", "BreadBoard", "Search only"].map(|name| number(&menu, name));
    assert!(menu.contains("OPENAI_API_KEY is not set"), "{menu}");
    // A key that is not there, an address that nobody answers at, a number that is none, and then a choice that works.
    let lines =
        format!("{openai}\n{address}\nhttp://127.0.0.1:9\n{breadboard}\nhttp://127.0.0.1:9\n99\n{search}\n");
    let output = typed(home.path(), workspace.path(), &lines);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{said} {}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "Set OPENAI_API_KEY to yours",
        "The key is read from BREADBOARD_MODEL_TOKEN",
        "BREADBOARD_API_TOKEN",
        "Type a number from 1 to",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(kept(home.path()), Some(json!({ "engine": { "kind": "embedded" } })));
    // And the input's end keeps what is there.
    assert_eq!(typed(home.path(), workspace.path(), &format!("{address}\n")).status.code(), Some(4));
    assert_eq!(kept(home.path()), Some(json!({ "engine": { "kind": "embedded" } })));
}

#[test]
fn an_editor_that_names_nothing_gets_what_was_chosen_and_one_that_names_a_model_gets_that() {
    let model = Model::start(Vec::new());
    let chosen = model.options(false)["model"].clone();
    let state = tempfile::tempdir().expect("a state directory");
    let place = state.path().join("config").join("breadboard-ls");
    std::fs::create_dir_all(&place).expect("a place for settings");
    std::fs::write(place.join("settings.json"), json!({ "model": chosen }).to_string()).expect("a file");
    let state = Arc::new(state);
    let used = |options: Value| {
        let workspace = Arc::new(TempDir::new().expect("a workspace"));
        let mut server =
            Server::start_in(workspace, Arc::clone(&state), Options { options, ..Options::default() });
        server.shake_hands();
        let hello = server.ask("bb/init", json!({}));
        (hello["engine"]["kind"].clone(), hello["engine"]["model"].clone(), server)
    };
    let (kind, model, _) = used(json!({}));
    assert_eq!((kind, model), (json!("embedded"), json!("openai/story")));
    let (_, model, _) = used(json!({ "model": { "provider": "ollama", "name": "qwen3" } }));
    assert_eq!(model, json!("ollama/qwen3"));
    let (_, model, _) = used(json!({ "engine": { "kind": "embedded" } }));
    assert_eq!(model, Value::Null, "an editor that names an engine means it");
    // And a file that is no JSON is said, and nothing of it counts.
    std::fs::write(place.join("settings.json"), "{").expect("a file");
    let (_, model, server) = used(json!({}));
    assert_eq!(model, Value::Null);
    let warned = server.wait_notification("window/showMessage", |params| {
        params["message"].as_str().is_some_and(|text| text.contains("settings.json"))
    });
    assert!(
        warned["params"]["message"].as_str().is_some_and(|text| text.contains("run `breadboard-ls setup`"))
    );
}
