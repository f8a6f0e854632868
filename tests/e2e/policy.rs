//! What is done without asking: by which setting, for which engine, in which workspace, and that each card says why.

use std::process::Command;

use serde_json::{Value, json};

use crate::breadboard_desk::{Desk, asks, connected};
use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

fn with(mut options: Options, approvals: &Value) -> Options {
    options.options["approvals"] = approvals.clone();
    options
}

fn runs(command: &str) -> crate::model::Reply {
    calls("run_command", json!({ "command": command, "reason": "r" }))
}

fn edits(path: &str) -> crate::model::Reply {
    calls(
        "propose_patch",
        json!({ "file_path": path, "rationale": "r", "edits": [{ "old_text": "text", "new_text": "new" }] }),
    )
}

/// Every request of a session with how it was settled: title, answer of the policy, reason, status, by whom.
fn settled(server: &mut Server, session: &str) -> Vec<Value> {
    let events = server.events(session);
    let ends: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "local.permission_settled").collect();
    let requests = events.iter().filter_map(|event| event.get("permission"));
    requests
        .map(|permission| {
            let end = ends.iter().find(|end| end["payload"]["requestId"] == permission["requestId"]);
            let end = end.map(|end| end["payload"].clone()).unwrap_or_default();
            let policy = &permission["policy"];
            json!([policy["answer"], policy["reason"], end["status"], end["resolvedBy"]])
        })
        .collect()
}

#[test]
fn r002_93_reads_and_edits_are_done_without_asking_and_the_rest_is_asked_or_denied_with_the_reason() {
    // Given the built-in agent in a trusted workspace, with a mode and a list
    let model = Model::start(vec![
        runs("cat a.txt"),
        edits("a.txt"),
        runs("git push origin main"),
        runs("cat .env"),
        says("done"),
    ]);
    let approvals = json!({ "mode": "edits", "patterns": [{ "pattern": "git push", "answer": "never" }] });
    let mut server = Server::ready(with(model.chosen(true), &approvals));
    server.write("a.txt", "text\n");
    server.write(".env", "KEY=1\n");
    let session = server.session();
    // When it reads, edits, pushes, and looks at a secret
    server.prompt(&session, "go");
    let ask = server.wait_event(&session, "the question about the secret", |event| {
        event["permission"]["policy"]["answer"] == "prompt"
    });
    // Then only the secret waits for a person, and no rule is offered for it
    let kinds: Vec<&Value> =
        ask["permission"]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "deny"]);
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    let guarded = "Asked because it names `.env`, which may hold secrets or belongs to version control.";
    assert_eq!(
        settled(&mut server, &session),
        [
            json!(["always", "Allowed by your setting: edits in the workspace.", "allowed", "setting"]),
            json!(["always", "Allowed by your setting: edits in the workspace.", "allowed", "setting"]),
            json!(["never", "Denied by your list: `git push`.", "denied", "setting"]),
            json!(["prompt", guarded, "denied", "user"]),
        ]
    );
    // And what was allowed was done, and the model heard what was not
    assert_eq!(server.read("a.txt"), "new\n");
    model.asked();
    assert!(model.asked().tool_result().contains("text\n"));
    model.asked();
    assert!(model.asked().tool_result().contains("denied"));
}

#[test]
fn r002_94_without_a_setting_nothing_is_automatic_and_without_trust_nothing_is_in_spite_of_one() {
    for approvals in
        [json!({}), json!({ "mode": "ask", "patterns": [{ "pattern": "cat *", "answer": "always" }] })]
    {
        let model = Model::start(vec![runs("cat a.txt"), says("done")]);
        let mut server = Server::ready(with(model.chosen(true), &approvals));
        let session = server.session();
        server.prompt(&session, "go");
        let ask = server.wait_ask(&session);
        assert_eq!(ask["permission"]["policy"]["answer"], "prompt", "{approvals}");
        assert_eq!(
            ask["permission"]["policy"]["reason"],
            "Asked because your setting asks for everything; it only reads (`cat`)."
        );
        server.decide(&session, &ask, "deny");
        server.wait_end(&session);
    }
    // Given an engine that works on while trust is taken away, which a person had given, and a setting that allows what it wants next
    let desk = Desk::scripted(&json!([[
        asks("git push", "was pushed", "was not pushed"),
        asks("cat a", "was read", "was not read"),
    ]]));
    let mut server = Server::ready(with(desk.chosen(true), &json!({ "mode": "reads" })));
    connected(&server);
    server.write("a", "x");
    let session = server.session();
    server.prompt(&session, "go");
    let push = server.wait_ask(&session);
    // When
    server.notify("bb/workspaceTrust", json!({ "trusted": false }));
    server.decide(&session, &push, "deny");
    // Then what would have been allowed waits for a person, and says why
    let read = server.wait_ask(&session);
    assert_eq!(read["permission"]["subject"]["command"], "cat a");
    assert_eq!(read["permission"]["policy"]["answer"], "prompt");
    assert_eq!(read["permission"]["policy"]["reason"], "Asked because this workspace is not trusted.");
    server.decide(&session, &read, "deny");
    server.wait_event(&session, "the end", |event| event["payload"]["text"] == "was not read");
}

#[test]
fn r002_93_a_repository_cannot_set_what_is_done_without_asking() {
    // Given a workspace whose settings files and whose answer to workspace/configuration ask for everything
    let hostile = json!({ "approvals": { "mode": "edits", "patterns": [{ "pattern": "cat *", "answer": "always" }] },
        "commands": { "runner": "server_runner" }, "delivery": { "maxLatencyMs": 5 } });
    let model = Model::start(vec![runs("cat a.txt"), says("done")]);
    let capabilities = json!({ "workspace": { "configuration": true } });
    let mut server = Server::start(Options { capabilities, ..model.chosen(true) });
    for path in
        [".vscode/settings.json", ".breadboard/settings.json", ".breadboard-ls.json", "breadboard.json"]
    {
        server.write(path, &hostile.to_string());
    }
    server.shake_hands();
    let asked = server.wait_request("workspace/configuration");
    server.answer(&asked["id"], json!([hostile]));
    let session = server.session();
    // When the agent wants to run what that list allows
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    // Then a person is asked, and the list and the mode are what they were
    assert_eq!(ask["permission"]["policy"]["answer"], "prompt");
    let listed = server.ask("bb/permission/list", json!({}));
    assert_eq!(
        listed["approvals"],
        json!({ "mode": "ask", "classes": {}, "patterns": [], "runner": "local_terminal",
                "files": { "read": ["**/*"], "change": ["**/*"], "never": [] } })
    );
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
}

#[test]
fn r002_93_the_mode_is_changed_on_the_users_word_and_counts_at_once() {
    let model = Model::start(vec![runs("cat a.txt"), runs("cat a.txt"), says("done")]);
    let mut server = Server::ready(model.chosen(true));
    server.write("a.txt", "text\n");
    let session = server.session();
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    let set = server.ask("bb/approvals/set", json!({ "mode": "reads" }));
    assert_eq!((&set["mode"], &set["runner"]), (&json!("reads"), &json!("local_terminal")));
    // The one that waits still waits; the next one does not.
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    let ends: Vec<Value> = settled(&mut server, &session).iter().map(|row| row[3].clone()).collect();
    assert_eq!(ends, ["user", "setting"]);
    assert_eq!(
        server.refused("bb/approvals/set", json!({ "mode": "all" }))["data"]["code"],
        "invalid_params"
    );
}

fn agent(script: &Value, approvals: &Value) -> Options {
    let agent = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()],
        "fileSystem": true, "terminals": true });
    with(
        Options {
            options: json!({ "workspaceTrusted": true, "agents": { "sim": agent } }),
            ..Options::default()
        },
        approvals,
    )
}

#[test]
fn r002_93_an_agent_that_asks_is_answered_by_the_policy_and_so_are_its_terminals() {
    let ask = |id: &str, command: &str| {
        json!({ "ask": { "toolCall": { "toolCallId": id, "kind": "execute", "title": command, "rawInput": { "command": command } },
            "options": [{ "optionId": "always", "kind": "allow_always", "name": "Always" },
                { "optionId": "once", "kind": "allow_once", "name": "Yes" },
                { "optionId": "no", "kind": "reject_once", "name": "No" }] } })
    };
    // Given an agent that asks for a read, a push and an unread line, and wants two terminals
    let script = json!([
        ask("a", "bash -lc 'cat a.txt'"),
        ask("b", "git push"),
        { "request": "terminal/create", "params": { "command": "cat", "args": ["a.txt"] }, "id": 5, "as": "t" },
        ask("c", "cat $(id)"),
        { "update": { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "over" } } },
    ]);
    let approvals = json!({ "mode": "reads", "patterns": [{ "pattern": "git push", "answer": "never" }] });
    let mut server = Server::ready(agent(&script, &approvals));
    server.write("a.txt", "text\n");
    let session =
        server.ask("bb/createSession", json!({ "agent": "sim" }))["sessionId"].as_str().unwrap().to_owned();
    server.prompt(&session, "go");
    let ask = server
        .wait_event(&session, "the question", |event| event["permission"]["policy"]["answer"] == "prompt");
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    let rows = settled(&mut server, &session);
    assert_eq!(
        rows,
        [
            json!(["always", "Allowed by your setting: reads.", "allowed", "setting"]),
            json!(["never", "Denied by your list: `git push`.", "denied", "setting"]),
            json!(["always", "Allowed by your setting: reads.", "allowed", "setting"]),
            json!(["prompt", "Asked because it has a command inside of another.", "denied", "user"]),
        ]
    );
    // And the automatic answer took the option that allows once, never the one that the agent would keep.
    let first = server
        .events(&session)
        .into_iter()
        .find(|event| event["type"] == "local.permission_settled")
        .unwrap();
    assert_eq!(first["payload"]["optionId"], "once");
}

#[test]
fn r002_93_a_breadboard_engine_is_answered_and_its_confirmation_settles_it() {
    let desk = Desk::scripted(&json!([[
        asks("cat a", "was read", "was not"),
        asks("git push", "was pushed", "was not pushed"),
    ]]));
    let approvals = json!({ "mode": "reads", "patterns": [{ "pattern": "git push", "answer": "never" }] });
    let mut server = Server::ready(with(desk.chosen(true), &approvals));
    connected(&server);
    server.write("a", "x");
    let session = server.session();
    server.prompt(&session, "go");
    server.wait_event(&session, "the end", |event| event["payload"]["text"] == "was not pushed");
    let rows = settled(&mut server, &session);
    assert_eq!(
        rows,
        [
            json!(["always", "Allowed by your setting: reads.", "allowed", "setting"]),
            json!(["never", "Denied by your list: `git push`.", "denied", "setting"]),
        ]
    );
    let sent: Vec<Value> = desk
        .commands(&session)
        .into_iter()
        .filter(|body| body["command"] == "permission_decision")
        .map(|body| body["payload"]["decision"].clone())
        .collect();
    assert_eq!(sent, ["allow-once", "deny-once"]);
}

#[test]
fn r002_85_a_command_runs_in_the_editors_terminal_by_default_and_by_the_server_where_that_is_set() {
    for (runner, by_editor) in [(None, true), (Some("server_runner"), false)] {
        let model =
            Model::start(vec![runs("echo out; echo err >&2; test -z \"$BREADBOARD_X\""), says("done")]);
        let capabilities = json!({ "experimental": { "breadboard": { "terminalRun": true } } });
        let mut options = Options { capabilities, ..model.chosen(true) }.env("BREADBOARD_X", "1");
        if let Some(runner) = runner {
            options.options["commands"] = json!({ "runner": runner });
        }
        let mut server = Server::ready(options);
        let session = server.session();
        server.prompt(&session, "go");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        if by_editor {
            // R002-86 to -88: the editor is asked, and what it captured goes to the model.
            let asked = server.wait_request("bb/terminal/run");
            assert_eq!(asked["params"]["cwd"], ".");
            server.answer(
                &asked["id"],
                json!({ "exitCode": 0, "stdout": "from the terminal\n", "stderr": "", "durationMs": 1 }),
            );
        }
        server.wait_end(&session);
        model.asked();
        let told = model.asked().tool_result();
        let events = server.events(&session);
        let printed: Vec<&Value> =
            events.iter().filter(|event| event["type"] == "local.command_output").collect();
        if by_editor {
            assert!(told.contains("from the terminal") && printed.is_empty(), "{told}");
        } else {
            // R002-90, R002-91: our own process, its lines told while it ran, before the end of its call.
            assert!(
                told.contains("exit code 0") && told.contains("stdout:\nout\n") && told.contains("err"),
                "{told}"
            );
            let mut lines: Vec<Value> = printed
                .iter()
                .map(|event| json!([event["payload"]["stream"], event["payload"]["text"]]))
                .collect();
            lines.sort_by_key(Value::to_string);
            assert_eq!(lines, [json!(["stderr", "err\n"]), json!(["stdout", "out\n"])]);
            let end = events.iter().rfind(|event| event["type"] == "tool.execute").unwrap();
            assert!(printed.iter().all(|event| event["seq"].as_u64() < end["seq"].as_u64()));
        }
    }
}

#[test]
fn r002_92_a_command_of_the_server_ends_with_its_time() {
    let model = Model::start(vec![runs("echo begun; sleep 600"), says("done")]);
    let mut options = model.chosen(true);
    options.options["commands"] = json!({ "runner": "server_runner", "timeoutSeconds": 1 });
    let mut server = Server::ready(options);
    let session = server.session();
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    server.decide(&session, &ask, "allow_once");
    server.wait_end(&session);
    model.asked();
    let told = model.asked().tool_result();
    assert!(told.contains("begun") && told.contains("exit code 143"), "{told}");
}

#[test]
fn r002_94_the_command_line_explains_what_would_happen_and_why() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "").unwrap();
    let said = |words: &[&str]| {
        let output = Command::new(PROGRAM)
            .arg("policy")
            .args(words)
            .args(["--workspace", folder.path().to_str().unwrap()])
            .env_remove("BREADBOARD_APPROVALS")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        said(&["cat a | wc -l && git push", "--allow", "reads"]),
        "answer  a person is asked\n\
         why     Asked because it speaks with other machines (`git push`).\n\
         class   network: it speaks with other machines (`git push`)\n\
         mode    reads\n\
         \x20 read        cat a\n\
         \x20 read        wc -l\n\
         \x20 network     git push\n"
    );
    let json: Value =
        serde_json::from_str(&said(&["cargo test -q", "--allow", "cargo test *", "--json"])).unwrap();
    assert_eq!(
        json,
        json!({ "policy": { "class": "build", "answer": "always", "reason": "Allowed by your list: `cargo test *`." },
            "commands": [{ "words": ["cargo", "test", "-q"], "class": "build" }] })
    );
}
