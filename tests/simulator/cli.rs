//! The subcommand: its first line, its script, its token, its refusals.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Once;

use serde_json::{Value, json};

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It deletes its workspaces when it is asked to end.
        #[cfg(unix)]
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            let id = rustix::process::Pid::from_child(&self.0);
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        #[cfg(not(unix))]
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    command.args(["simulate", "breadboard"]).args(args);
    command.env_remove("BREADBOARD_API_TOKEN").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(mut command: Command) -> (Process, String) {
    let mut process = Process(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(process.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).trim_end().to_owned();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    (process, url)
}

fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder().no_proxy().build().unwrap()
}

#[tokio::test]
async fn the_first_line_names_the_address_and_the_script_is_played() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("s.jsonl");
    std::fs::write(&script, "{\"type\":\"warning\",\"payload\":{\"message\":\"scripted\"}}\n").unwrap();
    let (mut process, url) = start(command(&["--script", script.to_str().unwrap()]));
    let body = json!({"config_path": "agent_configs/c.yaml", "task": "go", "metadata": {"cli_session_kind": "oneshot"}});
    let created: Value = client()
        .post(format!("{url}/v1/sessions"))
        .body(body.to_string())
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let id = created["session_id"].as_str().unwrap();
    // Opened before or after the end, it says everything; a stream opened after it does not end by itself.
    let mut response =
        client().get(format!("{url}/v1/sessions/{id}/events?replay=true")).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("run_finished") {
        text += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
    }
    assert!(text.contains("scripted"), "{text}");
    assert!(process.0.try_wait().unwrap().is_none());
}

#[tokio::test]
async fn the_token_comes_from_the_environment_and_from_nowhere_else() {
    let mut with_token = command(&[]);
    with_token.env("BREADBOARD_API_TOKEN", "t0ken");
    let (_process, url) = start(with_token);
    let get = |token: Option<&str>| {
        let request = client().get(format!("{url}/health"));
        let request = token.map_or(request.try_clone().unwrap(), |token| request.bearer_auth(token));
        async { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!((get(None).await, get(Some("t0ken")).await), (401, 200));
    let flag = command(&["--token", "t0ken"]).output().unwrap();
    assert_eq!(flag.status.code(), Some(2));
}

#[test]
fn wrong_options_are_one_sentence_and_code_2() {
    for (args, words) in [
        (&["--faults", "typo=1"][..], "`typo` is no fault"),
        (&["--script", "/no/such/file"], "cannot be read"),
        (&["--port", "x"], "invalid value"),
    ] {
        let output = command(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_and_its_workspaces_go() {
    let (mut process, url) = start(command(&[]));
    let port = url.rsplit(':').next().unwrap();
    let root = std::env::temp_dir().join(format!("breadboard-simulator-{}-{port}", process.0.id()));
    assert!(root.is_dir());
    let id = rustix::process::Pid::from_child(&process.0);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(process.0.wait().unwrap().code(), Some(0));
    assert!(!root.exists());
}
