//! `simulate acp`, driven over stdin and stdout as a host drives an agent.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest wait for anything; generous, machines are busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running agent.
struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    next_id: u64,
    /// What came while something else was waited for.
    aside: Vec<Value>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Agent {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
            .args(["simulate", "acp"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                if stdout.read_until(b'\n', &mut line).unwrap_or(0) == 0 || sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines, next_id: 0, aside: Vec::new() }
    }

    fn scripted(script: &Value) -> Self {
        Self::start(&["--script", &script.to_string()])
    }

    /// One prompt with these steps, in a session of its own.
    fn prompted(steps: Value) -> (Self, Value) {
        let mut agent = Self::scripted(&steps);
        agent.session("/w");
        let id = agent.prompt("sim-1", "go");
        (agent, id)
    }

    fn write(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next_id);
        self.next_id += 1;
        self.write(&format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})));
        id
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.write(&format!("{}\n", json!({"jsonrpc": "2.0", "method": method, "params": params})));
    }

    fn respond(&mut self, id: &Value, result: Value) {
        self.write(&format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "result": result})));
    }

    /// What becomes of the main thread once it stops running: `S` where it sleeps, `Z` where the process has ended.
    #[cfg(target_os = "linux")]
    fn rests(&self) -> char {
        let until = Instant::now() + PATIENCE;
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
            let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap();
            if state != 'R' {
                return state;
            }
            assert!(Instant::now() < until, "it never rests");
            std::thread::yield_now();
        }
    }

    /// The next line, with its newline if it has one.
    fn line(&self) -> Vec<u8> {
        self.lines.recv_timeout(PATIENCE).expect("a line comes")
    }

    fn message(&self) -> Value {
        let line = self.line();
        serde_json::from_slice(&line).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&line)))
    }

    /// The answer to a request; what comes before it goes aside.
    fn answer(&mut self, id: &Value) -> Value {
        loop {
            let message = self.message();
            if message.get("method").is_none() && message.get("id") == Some(id) {
                return message;
            }
            self.aside.push(message);
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(&id)
    }

    fn session(&mut self, cwd: &str) -> Value {
        self.call("initialize", json!({"protocolVersion": 1}));
        self.call("session/new", json!({"cwd": cwd, "mcpServers": []}))["result"].clone()
    }

    fn prompt(&mut self, session: &str, text: &str) -> Value {
        let prompt = json!([{"type": "text", "text": text}]);
        self.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// The updates that went aside, without their session.
    fn updates(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.aside)
            .into_iter()
            .filter(|message| message["method"] == "session/update")
            .map(|message| message["params"]["update"].clone())
            .collect()
    }

    fn hang_up(&mut self) {
        self.stdin = None;
    }

    fn end(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "it did not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

fn chunk(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn done(id: &Value, reason: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": reason}})
}

fn text_of(updates: &[Value], kind: &str) -> String {
    updates
        .iter()
        .filter(|update| update["sessionUpdate"] == kind)
        .filter_map(|update| update["content"]["text"].as_str())
        .collect()
}

#[test]
fn the_built_in_conversation_streams_and_asks_once_before_an_edit() {
    for (choice, last) in
        [("allow_once", "written the file now."), ("reject_once", "the file stays as it is.")]
    {
        let mut agent = Agent::start(&["--rate", "0"]);
        agent.session("/w");
        let id = agent.prompt("sim-1", "hello");
        let ask = loop {
            let message = agent.message();
            if message["method"] == "session/request_permission" {
                break message;
            }
            agent.aside.push(message);
        };
        assert_eq!(ask["params"]["toolCall"]["kind"], "edit");
        assert_eq!(ask["params"]["toolCall"]["content"][0]["path"], "/w/notes.md");
        agent.respond(&ask["id"], json!({"outcome": {"outcome": "selected", "optionId": choice}}));
        assert_eq!(agent.answer(&id), done(&id, "end_turn"));
        let updates = agent.updates();
        let said = text_of(&updates, "agent_message_chunk");
        assert!(said.contains("You said: “hello”") && said.ends_with(last), "{said}");
        assert!(!text_of(&updates, "agent_thought_chunk").is_empty());
    }
}

#[test]
fn the_first_answers_say_who_it_is_and_what_it_can_do() {
    let mut agent = Agent::scripted(&json!({"agent": {
        "protocolVersion": "echo", "capabilities": {"loadSession": false}, "info": {"name": "x", "version": "1"},
        "authMethods": [{"id": "m", "name": "M"}], "authRequired": true, "idPrefix": "ses_",
        "modes": {"currentModeId": "a", "availableModes": []}, "commands": [{"name": "c", "description": "d"}],
    }}));
    assert_eq!(
        agent.call("initialize", json!({"protocolVersion": 7}))["result"],
        json!({
            "protocolVersion": 7, "agentCapabilities": {"loadSession": false},
            "authMethods": [{"id": "m", "name": "M"}], "agentInfo": {"name": "x", "version": "1"},
        })
    );
    let new = json!({"cwd": "/w", "mcpServers": []});
    assert_eq!(agent.call("session/new", new.clone())["error"]["code"], -32000);
    assert_eq!(agent.call("authenticate", json!({"methodId": "m"}))["result"], json!({}));
    assert_eq!(
        agent.call("session/new", new)["result"],
        json!({"sessionId": "ses_1", "modes": {"currentModeId": "a", "availableModes": []}})
    );
    assert_eq!(
        agent.message()["params"],
        json!({"sessionId": "ses_1", "update": {
            "sessionUpdate": "available_commands_update", "availableCommands": [{"name": "c", "description": "d"}],
        }})
    );
    assert_eq!(agent.call("session/load", json!({"sessionId": "ses_1"}))["error"]["code"], -32601);
    assert_eq!(agent.call("session/prompt", json!({"sessionId": "no"}))["error"]["code"], -32002);
}

#[test]
fn the_answer_to_a_request_decides_what_follows() {
    let steps = json!([
        {"ask": {"toolCall": {"toolCallId": "c"}}, "on": {"allow_once": [{"chunk": "yes"}], "else": [{"chunk": "no"}]}},
        {"request": "elicitation/create", "params": {"mode": "form", "message": "?"},
         "on": {"accept": [{"chunk": "$answer.content.name"}]}},
        {"request": "terminal/create", "params": {"command": "true"}, "as": "terminal", "id": "t", "on": {"error": [{"exit": 9}]}},
        {"request": "terminal/output", "params": {"terminalId": "$terminal.terminalId"}, "wait": false},
        {"notify": "$/cancel_request", "params": {"requestId": "$request"}},
        {"notify": "elicitation/complete", "params": {"elicitationId": "e", "sessionId": null}},
        {"request": "_vendor/ask", "on": {"error": [{"notify": "_vendor/told", "params": {"code": "$answer.code"}}]}},
    ]);
    let (mut agent, id) = Agent::prompted(steps);
    let ask = agent.message();
    assert_eq!(ask["id"], 0);
    assert_eq!(ask["params"]["options"].as_array().map(Vec::len), Some(3));
    assert_eq!(ask["params"]["sessionId"], "sim-1");
    agent.respond(&ask["id"], json!({"outcome": {"outcome": "selected", "optionId": "reject_once"}}));
    assert_eq!(agent.message()["params"]["update"], chunk("no"));
    let form = agent.message();
    agent.respond(&form["id"], json!({"action": "accept", "content": {"name": "Ada"}}));
    assert_eq!(agent.message()["params"]["update"], chunk("Ada"));
    let terminal = agent.message();
    assert_eq!((&terminal["method"], &terminal["id"]), (&json!("terminal/create"), &json!("t")));
    agent.respond(&terminal["id"], json!({"terminalId": "t-9"}));
    let output = agent.message();
    assert_eq!(output["params"], json!({"sessionId": "sim-1", "terminalId": "t-9"}));
    assert_eq!(agent.message()["params"], json!({"requestId": output["id"]}));
    assert_eq!(agent.message()["params"], json!({"elicitationId": "e"}));
    let vendor = agent.message();
    agent.write(&format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": vendor["id"], "error": {"code": -32601, "message": "no"}})
    ));
    assert_eq!(
        agent.message(),
        json!({"jsonrpc": "2.0", "method": "_vendor/told", "params": {"sessionId": "sim-1", "code": -32601}})
    );
    assert_eq!(agent.message(), done(&id, "end_turn"));
}

#[test]
fn a_cancel_ends_the_steps_and_frees_what_waits() {
    for waits in [
        json!([{"wait": "cancel"}, {"exit": 9}]),
        json!([{"sleep_ms": 600_000}, {"exit": 9}]),
        json!([{"ask": {"toolCall": {}}, "on": {"else": [{"exit": 9}]}}]),
        json!([{"wait": {"file": "/nowhere/at/all"}}, {"exit": 9}]),
    ] {
        let script = json!({"prompts": [{"when": "", "steps": waits, "on_cancel": [{"chunk": "stopping"}]}]});
        let mut agent = Agent::scripted(&script);
        agent.session("/w");
        let id = agent.prompt("sim-1", "go");
        agent.tell("session/cancel", json!({"sessionId": "sim-1"}));
        assert_eq!(agent.answer(&id), done(&id, "cancelled"));
        assert_eq!(agent.updates(), [chunk("stopping")]);
        // The session is free again.
        let again = agent.prompt("sim-1", "go");
        agent.tell("session/cancel", json!({"sessionId": "sim-1"}));
        assert_eq!(agent.answer(&again), done(&again, "cancelled"));
    }
}

#[test]
fn a_deaf_prompt_goes_on_after_a_cancel() {
    let steps = json!([{"wait": "cancel"}, {"chunk": "late"}]);
    let mut agent = Agent::scripted(&json!({"prompts": [{"deaf": true, "steps": steps}]}));
    agent.session("/w");
    let id = agent.prompt("sim-1", "go");
    agent.tell("session/cancel", json!({"sessionId": "sim-1"}));
    assert_eq!(agent.message()["params"]["update"], chunk("late"));
    assert_eq!(agent.message(), done(&id, "end_turn"));
}

#[test]
fn answers_may_be_wrong_late_and_twice() {
    let (agent, id) = Agent::prompted(json!([
        {"answer": "refusal", "id": 4242}, {"chunk": "between"}, {"answer": "max_tokens"}, {"error": "twice"}, {"chunk": "after"},
    ]));
    assert_eq!(agent.message(), done(&json!(4242), "refusal"));
    assert_eq!(agent.message()["params"]["update"], chunk("between"));
    assert_eq!(agent.message(), done(&id, "max_tokens"));
    assert_eq!(agent.message()["error"], json!({"code": -32603, "message": "twice"}));
    assert_eq!(agent.message()["params"]["update"], chunk("after"));
}

#[test]
fn lines_may_be_no_lines() {
    let (mut agent, id) = Agent::prompted(json!([
        {"line": "junk ${session}"}, {"line": {"jsonrpc": "2.0"}}, {"bytes": [255, 10]}, {"mib": 2}, {"mib": 1, "junk": true},
        {"chunk": "x", "session": "nobody"}, {"half": "{\"jsonrpc\":"}, {"exit": 3},
    ]));
    assert_eq!(agent.line(), b"junk sim-1\n");
    assert_eq!(agent.line(), b"{\"jsonrpc\":\"2.0\"}\n");
    assert_eq!(agent.line(), [255, 10]);
    let large = agent.message()["params"]["update"]["content"]["text"].as_str().map(str::len);
    assert_eq!(large, Some(2 * 1024 * 1024));
    assert_eq!(agent.line().len(), 1024 * 1024 + 1);
    assert_eq!(agent.message()["params"], json!({"sessionId": "nobody", "update": chunk("x")}));
    assert_eq!(agent.line(), b"{\"jsonrpc\":");
    assert_eq!(agent.end().code(), Some(3));
    assert_eq!(
        agent.lines.recv_timeout(PATIENCE),
        Err(RecvTimeoutError::Disconnected),
        "{id} is not answered"
    );
}

#[test]
fn steps_stand_around_any_message() {
    let mut agent = Agent::scripted(&json!({"on": {
        "start": [{"line": "hello"}, {"stderr": "up ${pid}", "times": 2}],
        "session/new": [{"chunk": "early"}, {"answer": "default"}, {"chunk": "late"}],
        "session/list": [{"error": {"code": 1001, "message": "busy"}}],
        "session/cancel": [{"notify": "_seen"}],
        "eof": [{"exit": 4}],
    }}));
    assert_eq!(agent.line(), b"hello\n");
    let new = agent.ask("session/new", json!({"cwd": "/w", "mcpServers": []}));
    assert_eq!(agent.message()["params"], json!({"sessionId": "sim-1", "update": chunk("early")}));
    assert_eq!(agent.message(), json!({"jsonrpc": "2.0", "id": new, "result": {"sessionId": "sim-1"}}));
    assert_eq!(agent.message()["params"], json!({"sessionId": "sim-1", "update": chunk("late")}));
    assert_eq!(agent.call("session/list", json!({}))["error"], json!({"code": 1001, "message": "busy"}));
    agent.tell("session/cancel", json!({"sessionId": "sim-1"}));
    assert_eq!(agent.message()["method"], "_seen");
    agent.hang_up();
    assert_eq!(agent.end().code(), Some(4));
    let said = format!("up {}\n", agent.child.id());
    assert_eq!(agent.stderr(), said.repeat(2));
}

#[test]
fn a_process_that_died_in_a_turn_has_kept_the_prompt_and_lost_the_rest() {
    let place = tempfile::tempdir().unwrap();
    let (sessions, log) = (place.path().join("sessions.json"), place.path().join("log.jsonl"));
    let script = json!({"prompts": [
        {"when": "first", "steps": [{"say": "one two", "message": "m1"}]},
        {"when": "second", "steps": [{"chunk": "half"}, {"exit": 1}]},
    ]})
    .to_string();
    let args = [
        "--script",
        script.as_str(),
        "--sessions",
        sessions.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
    ];
    let mut before = Agent::start(&args);
    before.session("/w");
    let id = before.prompt("sim-1", "the first");
    before.answer(&id);
    before.prompt("sim-1", "the second");
    assert_eq!(before.end().code(), Some(1));

    let mut after = Agent::start(&args);
    after.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(
        after.call("session/list", json!({}))["result"]["sessions"],
        json!([{"sessionId": "sim-1", "cwd": "/w", "title": "the first"}])
    );
    let load = json!({"sessionId": "sim-1", "cwd": "/w", "mcpServers": []});
    assert_eq!(after.call("session/load", load.clone())["result"], json!({}));
    let user = |text: &str| json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}});
    let mut answer = chunk("one two");
    answer["messageId"] = json!("m1");
    assert_eq!(after.updates(), [user("the first"), answer, user("the second")]);
    assert_eq!(after.call("session/resume", load)["result"], json!({}));
    assert_eq!(after.updates(), [] as [Value; 0]);

    // What was logged is a recording: it plays again.
    let mut again = Agent::start(&["--replay", log.to_str().unwrap()]);
    assert_eq!(again.session("/w"), json!({"sessionId": "sim-1"}));
    let id = again.prompt("sim-1", "the first");
    assert_eq!(again.answer(&id), done(&id, "end_turn"));
    assert_eq!(text_of(&again.updates(), "agent_message_chunk"), "one two");
}

#[cfg(unix)]
#[test]
fn processes_are_hard_to_end_where_the_script_wants_it() {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::{Pid, Signal, kill_process, test_kill_process};

    let (mut agent, _) = Agent::prompted(json!([
        {"spawn": {"ignores_term": true, "own_group": true}}, {"chunk": "${child}"}, {"wait": "cancel"},
    ]));
    let child: i32 =
        agent.message()["params"]["update"]["content"]["text"].as_str().unwrap().parse().unwrap();
    let child = Pid::from_raw(child).unwrap();
    agent.hang_up();
    assert_eq!(agent.end().code(), Some(0));
    assert_eq!(test_kill_process(child), Ok(()), "the child outlives the agent");
    kill_process(child, Signal::KILL).unwrap();

    let mut stubborn = Agent::scripted(&json!({
        "agent": {"ignores": ["eof", "term"]}, "on": {"eof": [{"line": {"at": "the end of stdin"}}]},
    }));
    stubborn.session("/w");
    let id = Pid::from_child(&stubborn.child);
    kill_process(id, Signal::TERM).unwrap();
    // A signal that ends a process does so before the process reads on.
    stubborn.call("session/list", json!({}));
    stubborn.hang_up();
    assert_eq!(stubborn.message(), json!({"at": "the end of stdin"}));
    #[cfg(target_os = "linux")]
    assert_eq!(stubborn.rests(), 'S', "it sleeps, and is not on its way out");
    kill_process(id, Signal::KILL).unwrap();
    assert_eq!(stubborn.end().signal(), Some(9), "nothing else ended it");

    let (mut dying, _) = Agent::prompted(json!([{"signal": 6}]));
    assert_eq!(dying.end().signal(), Some(6));

    let (mut silent, _) = Agent::prompted(json!([{"close_stdout": true}, {"wait": "for_ever"}]));
    assert_eq!(silent.lines.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
    assert_eq!(silent.child.try_wait().unwrap(), None);
}

#[test]
fn every_recording_plays_to_its_end() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/acp");
    let mut played = 0;
    for entry in std::fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let processes = records.chunk_by(|_, next| next["msg"].get("cmd").is_none());
        for (number, records) in processes.enumerate() {
            play(&path, number + 1, records);
            played += 1;
        }
    }
    // 19 files at least, two processes in one of them.
    assert!(played >= 20, "{played}");
}

/// The client's side of one process, line by line: its own is written, the agent's is read.
fn play(path: &Path, number: usize, records: &[Value]) {
    let number = number.to_string();
    let mut agent = Agent::start(&["--replay", path.to_str().unwrap(), "--process", &number]);
    for record in records {
        match (record["dir"].as_str(), &record["raw"]) {
            (Some("c2a"), Value::Null) => {
                // An agent that is gone does not hear what was recorded on a broken pipe.
                let _ = agent.stdin.as_mut().unwrap().write_all(format!("{}\n", record["msg"]).as_bytes());
            }
            (Some("a2c"), _) => assert_eq!(agent.message(), record["msg"], "{}", path.display()),
            _ => {}
        }
    }
    agent.hang_up();
    if records.iter().any(|record| record["msg"].get("did_not_exit_on_stdin_eof_after_s").is_some()) {
        return;
    }
    let status = agent.end();
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        let ended = status.code().or(status.signal().map(|signal| -signal));
        let code = records.iter().rev().find_map(|record| record["msg"]["exit_code"].as_i64());
        assert_eq!(ended.map(i64::from), code, "{}", path.display());
    }
    #[cfg(not(unix))]
    let _ = status;
}

#[test]
fn options_that_cannot_be_used_are_one_sentence() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("r.jsonl");
    std::fs::write(&path, "{}").unwrap();
    let path = path.to_str().unwrap();
    for (args, sentence) in [
        (
            ["--script", "[7]"],
            "`[0]` of the script cannot be read: invalid type: integer `7`, expected an object.",
        ),
        (["--script", "/nowhere"], "/nowhere cannot be read: "),
        (["--replay", path], "Line 1 has no direction; `dir` is a2c or c2a."),
        (["--sessions", path], "holds no sessions: "),
    ] {
        let mut agent = Agent::start(&args);
        assert!(!agent.end().success(), "{args:?}");
        let said = agent.stderr();
        assert!(said.starts_with("breadboard-ls: ") && said.contains(sentence), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
