//! `breadboard-ls doctor` on the real binary and its real server, where something is wrong.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The report, and the exit code.
fn report(workspace: &Path, state: &Path, flags: &[&str]) -> (Value, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
    command
        .args(["doctor", "--json", "--workspace"])
        .arg(workspace)
        .arg("--state-dir")
        .arg(state)
        .args(flags);
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN"] {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).output().expect("the binary runs");
    (serde_json::from_slice(&output.stdout).expect("the report is JSON"), output.status.code())
}

/// Mark, sentence and advice of each check with this id.
fn of(report: &Value, id: &str) -> Vec<(String, String, String)> {
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let checks = report["checks"].as_array().expect("checks are a list").iter();
    checks
        .filter(|check| check["id"] == id)
        .map(|check| (text(check, "mark"), text(check, "found"), text(check, "do")))
        .collect()
}

fn two() -> (tempfile::TempDir, tempfile::TempDir) {
    (tempfile::tempdir().expect("a workspace"), tempfile::tempdir().expect("a place for state"))
}

#[test]
fn an_address_of_a_host_that_is_none_is_said_to_be_so() {
    let (workspace, state) = two();
    let (report, code) = report(workspace.path(), &state.path().join("s"), &["--engine", "desktop:ftp://h"]);
    assert_eq!(code, Some(1), "{report}");
    let engine = of(&report, "engine");
    assert_eq!((engine.len(), engine[0].0.as_str()), (1, "fail"), "{report}");
    assert!(engine[0].1.contains("must be an http or https URL"), "{report}");
    assert!(engine[0].2.contains("--engine embedded"), "{report}");
}

#[test]
fn a_state_directory_that_cannot_be_fails_and_the_server_works_on_in_memory() {
    let (workspace, state) = two();
    let file = state.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let (report, code) = report(workspace.path(), &file, &[]);
    assert_eq!(code, Some(1), "{report}");
    assert_eq!((of(&report, "server")[0].0.as_str(), of(&report, "state")[0].0.as_str()), ("ok", "fail"));
    let journal = of(&report, "journal");
    assert_eq!(journal.len(), 1, "{report}");
    assert!(journal[0].1.contains("will not be kept"), "{report}");
}

#[test]
fn a_damaged_journal_is_told_once_with_the_place_where_it_is_kept() {
    let (workspace, state) = two();
    assert_eq!(report(workspace.path(), state.path(), &[]).1, Some(0));
    // A log that stayed behind would heal the file.
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(state.path().join(format!("sessions.sqlite3{end}")));
    }
    std::fs::write(state.path().join("sessions.sqlite3"), "no database".repeat(500)).expect("the journal");
    let (report, code) = report(workspace.path(), state.path(), &[]);
    assert_eq!(code, Some(0), "{report}");
    let journal = of(&report, "journal");
    assert_eq!((journal.len(), journal[0].0.as_str()), (1, "warn"), "{report}");
    assert!(journal[0].1.contains("it was kept as") && journal[0].1.contains(".damaged-"), "{report}");
}

#[test]
fn a_model_that_takes_no_connection_fails_with_its_origin() {
    let (workspace, state) = two();
    // Bound and closed again: nobody listens there.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port").port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let flags = ["--model", "m", "--model-provider", "openai", "--model-url", &url];
    let (report, code) = report(workspace.path(), state.path(), &flags);
    assert_eq!(code, Some(1), "{report}");
    let reach = of(&report, "model-url");
    assert_eq!((reach.len(), reach[0].0.as_str()), (1, "fail"), "{report}");
    assert!(reach[0].1.contains(&format!("127.0.0.1:{port} cannot be reached")), "{report}");
}

#[test]
fn a_model_that_would_not_answer_is_found_without_a_prompt() {
    let (workspace, state) = two();
    let said = |status: &str, body: &str| {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        format!("{head}connection: close\r\n\r\n{body}").into_bytes()
    };
    let list = r#"{"object":"list","data":[{"id":"other"},{"id":"m"}]}"#;
    let rows = [
        (said("401 Unauthorized", "{}"), "m", "fail", "wants a key (HTTP 401)"),
        (said("200 OK", list), "nope", "fail", "There is no model `nope` at "),
        (said("404 Not Found", "{}"), "m", "warn", "There is no list of models below "),
        (said("200 OK", list), "m", "ok", "has this model"),
    ];
    for (answer, name, mark, sentence) in rows {
        // Given an endpoint that takes connections, and says this of its models
        let url = format!("http://127.0.0.1:{}/v1", super::errors::peer(answer));
        let flags = ["--model", name, "--model-provider", "openai", "--model-url", &url];
        let (report, code) = report(workspace.path(), state.path(), &flags);
        // Then the doctor says whether a question would be answered
        let answer = of(&report, "endpoint");
        assert_eq!((answer.len(), answer[0].0.as_str()), (1, mark), "{report}");
        assert!(answer[0].1.contains(sentence), "{sentence}: {report}");
        assert_eq!(code, Some(i32::from(mark == "fail")), "{report}");
    }
}

/// A peer that takes connections; on each it does `speak`, until the test is over.
fn peer(speak: fn(std::net::TcpStream)) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("has an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || speak(stream));
        }
    });
    url
}

#[test]
fn an_engine_that_takes_connections_and_never_answers_is_given_up_in_time() {
    // Given a peer that reads and says nothing, and one that drips an endless head, a byte a second
    let silent = |mut stream: std::net::TcpStream| {
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    };
    let dripping = |mut stream: std::net::TcpStream| {
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        // Who speaks before it was asked is no HTTP peer, and is told as one that broke the connection.
        let _ = std::io::Read::read(&mut stream, &mut [0; 4_096]);
        for byte in b"HTTP/1.1 200 OK\r\nx: ".iter().chain(std::iter::repeat(&b'x')) {
            if std::io::Write::write_all(&mut stream, &[*byte]).is_err() {
                return;
            }
            let _ = never.recv_timeout(std::time::Duration::from_secs(1));
        }
    };
    for peer in [peer(silent), peer(dripping)] {
        let (workspace, state) = two();
        // When it is checked
        let began = std::time::Instant::now();
        let (report, code) =
            report(workspace.path(), state.path(), &["--engine", "breadboard", "--engine-url", &peer]);
        // Then that ends, and one sentence says what is wrong: 5 s for the engine, 3 s for the end, and a machine that does
        // something else in between. Who asked such an engine for a session would wait for 120 s.
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}: {report}", began.elapsed());
        assert_eq!(code, Some(1), "{report}");
        let engine = of(&report, "engine");
        let wanted = ("fail", "breadboard does not answer", "check that it runs and what --engine-url names");
        let got: Vec<_> = engine
            .iter()
            .map(|(mark, found, advice)| (mark.as_str(), found.as_str(), advice.as_str()))
            .collect();
        assert_eq!(got, [wanted], "{report}");
        assert_eq!(of(&report, "engine-url")[0].0, "ok", "{report}");
    }
}

/// An engine, or what stands before it, that gives this answer to every request.
fn answering(status: &'static str, body: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("has an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // The request is small and comes at once; whoever goes away needs no answer.
            let _ = std::io::Read::read(&mut stream, &mut [0; 4_096]);
            let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}", body.len());
            let _ = std::io::Write::write_all(&mut stream, format!("{head}\r\n\r\n{body}").as_bytes());
        }
    });
    url
}

#[test]
fn the_advice_about_an_engine_is_that_for_its_cause_whatever_numbers_its_address_has() {
    let token = r#"{"error":"unauthorized","detail":"unauthorized","path":null}"#;
    let elsewhere = "sends us elsewhere (HTTP 302), and a token does not travel; give the address at which the engine itself \
        answers.";
    let rows = [
        (
            "401 Unauthorized",
            token,
            "The BreadBoard engine at {url} wants a token; set the engine's token in your editor, or in the environment variable \
             BREADBOARD_API_TOKEN."
                .to_owned(),
            "set BREADBOARD_API_TOKEN to a token that it takes",
        ),
        (
            "429 Too Many Requests\r\nRetry-After: 30",
            "",
            "The engine at {url} is busy; try again in 30 seconds.".to_owned(),
            "try again later",
        ),
        (
            "503 Service Unavailable",
            "<html>401 config</html>",
            "The engine at {url} is busy; try again in a moment.".to_owned(),
            "try again later",
        ),
        (
            "302 Found\r\nLocation: http://127.0.0.1:1/health",
            "",
            format!("What answers at {{url}} {elsewhere}"),
            "correct --engine-url",
        ),
        (
            "403 Forbidden",
            "<html>no</html>",
            "What stands before the engine at {url} does not let us through (HTTP 403); ask whoever runs it, or correct the \
             engine's address."
                .to_owned(),
            "correct --engine-url",
        ),
        (
            "407 Proxy Authentication Required",
            "<html>no</html>",
            "The proxy before the engine at {url} wants a login (HTTP 407); put it into the proxy's address in the environment, \
             or name the engine's host in NO_PROXY."
                .to_owned(),
            "correct the proxy in the environment, or name the engine's host in NO_PROXY",
        ),
        (
            "504 Gateway Timeout",
            "<html>no</html>",
            "The engine at {url} did not answer what stands before it (HTTP 504); see whether it runs and try again.".to_owned(),
            "try again later",
        ),
    ];
    for (status, body, found, advice) in rows {
        let url = answering(status, body);
        let (workspace, state) = two();
        let flags = ["--engine", "breadboard", "--engine-url", &url];
        let (report, code) = report(workspace.path(), state.path(), &flags);
        assert_eq!(code, Some(1), "{report}");
        let wanted = ("fail".to_owned(), found.replace("{url}", &url), advice.to_owned());
        assert_eq!(of(&report, "engine"), [wanted], "{status}");
    }
    let nobody = "http://127.0.0.1:1";
    let (workspace, state) = two();
    let (report, _) = report(workspace.path(), state.path(), &["--engine-url", nobody]);
    let [(_, found, advice)] = &of(&report, "engine")[..] else { panic!("{report}") };
    let wanted = "cannot be reached: nothing listens there; start it, or correct its address.";
    assert_eq!(*found, format!("The BreadBoard engine at {nobody} {wanted}"));
    assert_eq!(advice, "start it, or correct --engine-url; `--engine embedded` needs nothing else");
}

#[test]
fn trust_is_told_as_it_is_given() {
    let (workspace, state) = two();
    let said = |flags: &[&str]| of(&report(workspace.path(), state.path(), flags).0, "trust")[0].1.clone();
    assert!(said(&[]).starts_with("not given"));
    assert!(said(&["--trust"]).starts_with("given"));
}

#[cfg(unix)]
#[test]
fn an_agent_that_is_not_there_or_does_not_start_fails() {
    let (workspace, state) = two();
    let tried = |flags: &[&str]| {
        let (report, code) = report(workspace.path(), &state.path().join("s"), flags);
        let engine = of(&report, "engine");
        assert_eq!(engine.len(), 1, "{report}");
        (engine[0].clone(), code)
    };
    let ((mark, found, advice), code) = tried(&["--engine=acp:/nowhere/agent", "--trust"]);
    assert_eq!((mark.as_str(), code), ("fail", Some(1)), "{found}");
    assert!(found.contains("/nowhere/agent") && advice.contains("--engine acp:"), "{found} {advice}");
    let ((mark, found, _), code) = tried(&["--engine=acp:false", "--trust"]);
    assert_eq!((mark.as_str(), code), ("fail", Some(1)), "{found}");
    let program = env!("CARGO_BIN_EXE_breadboard-ls");
    let ((mark, found, advice), code) = tried(&[&format!("--engine=acp:{program} simulate acp")]);
    assert_eq!((mark.as_str(), code), ("warn", Some(0)), "{found}");
    assert!(found.contains("not started") && advice.contains("--trust"), "{found} {advice}");
}

/// D11: a PATH without the agent is a failure with and without trust, and says what installs it.
#[test]
fn an_agent_that_is_not_on_path_fails_and_is_not_tried() {
    let (workspace, state) = two();
    let report = |flags: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
            .args(["doctor", "--json", "--workspace"])
            .arg(workspace.path())
            .arg("--state-dir")
            .arg(state.path().join("s"))
            .args(flags)
            .env("PATH", workspace.path())
            .env_remove("BREADBOARD_API_URL")
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs");
        let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
        (of(&report, "engine"), output.status.code())
    };
    let wanted =
        |found: &str, advice: &str| (vec![("fail".to_owned(), found.to_owned(), advice.to_owned())], Some(1));
    let found = "the program of the agent `opencode`, opencode, is not on PATH";
    let install = "install it: npm install -g opencode-ai";
    assert_eq!(report(&["--agent=opencode"]), wanted(found, install));
    assert_eq!(report(&["--agent=opencode", "--trust"]), wanted(found, install));
    let other = "install it, or give another --agent or --engine acp:\"<command line>\"";
    assert_eq!(
        report(&["--engine=acp:/nowhere/agent x"]),
        wanted("the program of the agent `agent`, /nowhere/agent, is not there or may not be run", other)
    );
    let (unknown, code) = report(&["--agent=nobody"]);
    assert_eq!((unknown.len(), unknown[0].0.as_str(), code), (1, "fail", Some(1)));
    assert!(unknown[0].1.starts_with("There is no agent `nobody`"), "{}", unknown[0].1);
}

#[test]
fn an_agent_that_starts_is_fine_and_the_suggestion_repeats_the_options() {
    let (workspace, state) = two();
    let program = env!("CARGO_BIN_EXE_breadboard-ls");
    let engine = format!("--engine=acp:'{program}' simulate acp");
    let mut command = Command::new(program);
    command.args(["doctor", "--trust", &engine, "--workspace"]).arg(workspace.path()).arg("--state-dir");
    command.arg(state.path().join("s")).stdin(Stdio::null());
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN"] {
        command.env_remove(name);
    }
    let output = command.output().expect("the binary runs");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.contains("acp is connected"), "{out}");
    let last = out.lines().last().expect("a last line");
    let words =
        shlex::split(last.strip_prefix("Nothing failed. Try: ").expect("a suggestion")).expect("words");
    let state = format!("--state-dir={}", state.path().join("s").display());
    let workspace = format!("--workspace={}", workspace.path().display());
    let wanted =
        ["breadboard-ls", "ask", &engine, &state, "--trust", &workspace, "What does this project do?"];
    assert_eq!(words, wanted);
}
