//! Permissions answered wrongly, late, twice, from elsewhere, or for another folder than the one that was shown.
//!
//! Every command that the model asks for leaves a line in a file of its own; none may be there that was not allowed in the
//! folder that was shown.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Server, uri};
use crate::limits::{Random, attempts, seed};
use crate::model::{Model, calls, says};

const COMMAND: &str = "echo x >> ran";

struct Bench {
    model: Model,
    server: Server,
    session: String,
    tries: usize,
}

impl Bench {
    fn new() -> Self {
        let model = Model::start(Vec::new());
        let mut server = Server::ready(model.chosen(true));
        let session = server.session();
        Self { model, server, session, tries: 0 }
    }

    /// The model wants to run a command, with what it says when that is over.
    fn wants(&mut self, command: &str) {
        self.model.then(calls("run_command", json!({ "command": command, "reason": "why" })));
        self.model.then(says("done"));
        let session = self.session.clone();
        self.server.prompt(&session, "go");
    }

    fn asked(&mut self, command: &str) -> Value {
        self.wants(command);
        self.server.wait_ask(&self.session)
    }

    fn params(&self, ask: &Value, decision: &str) -> Value {
        Server::decision(&self.session, ask, decision)
    }

    fn refused(&mut self, params: Value, code: &str) {
        self.tries += 1;
        let error = self.server.refused("bb/approvePermission", params.clone());
        assert_eq!(error["data"]["code"], code, "{params}: {error}");
    }

    fn deny(&mut self, ask: &Value) {
        let params = self.params(ask, "deny");
        let denied = self.server.ask("bb/approvePermission", params);
        assert_eq!(denied["outcome"], "recorded");
        self.server.wait_end(&self.session);
    }

    fn allow(&mut self, ask: &Value, option: &str) {
        let mut params = self.params(ask, "allow_rule");
        params["optionId"] = json!(option);
        assert_eq!(self.server.ask("bb/approvePermission", params)["outcome"], "recorded");
        self.server.wait_end(&self.session);
    }

    fn folders(&mut self, added: &[&Path], removed: &[&Path]) {
        let folder = |path: &&Path| json!({ "uri": uri(path), "name": path.file_name().unwrap().to_str() });
        let event = json!({
            "added": added.iter().map(folder).collect::<Vec<_>>(),
            "removed": removed.iter().map(folder).collect::<Vec<_>>(),
        });
        self.server.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
        self.server.assert_alive();
    }

    fn ran(&self, folder: &Path) -> usize {
        std::fs::read_to_string(folder.join("ran")).map_or(0, |text| text.lines().count())
    }
}

#[test]
fn a_wrong_answer_runs_nothing() {
    let mut bench = Bench::new();
    let mut random = Random(seed("approvals"));
    let workspace = bench.server.workspace.path().to_owned();
    let ask = bench.asked(COMMAND);
    let right = ask["permission"]["digest"].as_str().unwrap().to_owned();
    for _ in 0..attempts(20) {
        let mut bytes = right.clone().into_bytes();
        let at = 7 + random.below(bytes.len() - 7);
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        let mut params = bench.params(&ask, "allow_once");
        params["digest"] = json!(String::from_utf8(bytes).unwrap());
        bench.refused(params, "conflict");
    }
    for option in ["", "allow", "ALLOW_ONCE", "allow_once ", "allow_always", "allow_rule_everywhere"] {
        let mut params = bench.params(&ask, "allow_once");
        params["optionId"] = json!(option);
        bench.refused(params, "invalid_params");
    }
    for pattern in [
        "*",
        "run: *",
        "run: echo",
        "run: echo x >> ran",
        "",
        "run: echo x >> ran (in .) ",
        "run: echo x >> ran (in *)",
        "⟨1 space⟩",
    ] {
        let mut params = bench.params(&ask, "allow_rule");
        params["ruleUpdate"] = json!({ "pattern": pattern });
        bench.refused(params, "invalid_params");
    }
    // Another session, and a session that there is not.
    let other = bench.server.session();
    for (session, code) in [(other.as_str(), "unknown_request"), ("none", "unknown_session")] {
        let params = Server::decision(session, &ask, "allow_once");
        bench.refused(params, code);
    }
    // Another window on the same folder.
    let (place, state) = (Arc::clone(&bench.server.workspace), Arc::clone(&bench.server.state));
    let mut window = Server::start_in(place, state, bench.model.chosen(true));
    window.shake_hands();
    let error = window.refused("bb/approvePermission", bench.params(&ask, "allow_once"));
    assert!(
        matches!(error["data"]["code"].as_str(), Some("unknown_session" | "unknown_request" | "conflict")),
        "{error}"
    );
    bench.tries += 1;
    drop(window);
    // Trust is taken back while it is asked.
    bench.server.notify("bb/workspaceTrust", json!({ "trusted": false }));
    let params = bench.params(&ask, "allow_once");
    bench.refused(params, "untrusted_workspace");
    bench.server.notify("bb/workspaceTrust", json!({ "trusted": true }));
    bench.deny(&ask);
    // Again, now that it is settled.
    for decision in ["allow_once", "allow_rule", "deny"] {
        let params = bench.params(&ask, decision);
        let answer = bench.server.ask("bb/approvePermission", params);
        assert_eq!(
            (&answer["outcome"], &answer["resolution"]),
            (&json!("already_resolved"), &json!("denied"))
        );
        bench.tries += 1;
    }
    assert_eq!(bench.ran(&workspace), 0);
    println!("approvals: {} wrong answers, nothing ran", bench.tries);
}

#[test]
fn of_fifty_answers_at_once_one_counts() {
    let mut bench = Bench::new();
    let workspace = bench.server.workspace.path().to_owned();
    let ask = bench.asked(COMMAND);
    let ids: Vec<Value> = (0..50)
        .map(|at| {
            let params = bench.params(&ask, if at % 2 == 0 { "allow_once" } else { "deny" });
            bench.server.request("bb/approvePermission", params)
        })
        .collect();
    let outcomes: Vec<Value> =
        ids.iter().map(|id| bench.server.wait_response(id)["result"]["outcome"].clone()).collect();
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "recorded").count(), 1, "{outcomes:?}");
    bench.server.wait_end(&bench.session);
    assert_eq!(bench.ran(&workspace), 1, "the first of them allowed it, once");
}

#[test]
fn a_rule_covers_no_command_that_is_nearly_the_same() {
    let mut bench = Bench::new();
    let workspace = bench.server.workspace.path().to_owned();
    let ask = bench.asked(COMMAND);
    bench.allow(&ask, "allow_rule");
    assert_eq!(bench.ran(&workspace), 1);
    for command in [
        "echo x >> ran ",
        " echo x >> ran",
        "echo  x >> ran",
        "echo x >> ran;",
        "echo x >> ran # ",
        "echo x >>ran",
        "echo x >> ra\u{200b}n",
        "Echo x >> ran",
        "echo x >> ran\n",
        "echo x >> ran (in .)",
        "еcho x >> ran",
        "echo x >> ran && touch more",
    ] {
        let ask = bench.asked(command);
        bench.deny(&ask);
    }
    assert_eq!(bench.ran(&workspace), 1);
    bench.wants(COMMAND);
    bench.server.wait_end(&bench.session);
    assert_eq!(bench.ran(&workspace), 2, "the rule itself holds");
}

#[test]
fn an_answer_that_comes_after_its_time_runs_nothing_and_one_after_a_restart_runs_it_once() {
    let model = Model::start(Vec::new());
    let mut options = model.chosen(true);
    options.options["approvals"] = json!({ "expireAfterSeconds": 1 });
    let mut server = Server::ready(options);
    let session = server.session();
    let mut bench = Bench { model, server, session, tries: 0 };
    let workspace = bench.server.workspace.path().to_owned();
    let ask = bench.asked(COMMAND);
    bench.server.wait_end(&bench.session);
    let params = bench.params(&ask, "allow_once");
    let late = bench.server.ask("bb/approvePermission", params);
    assert_eq!((&late["outcome"], &late["resolution"]), (&json!("already_resolved"), &json!("expired")));

    let (place, state) = (Arc::clone(&bench.server.workspace), Arc::clone(&bench.server.state));
    drop(bench);
    let mut first = Bench::new_in(place, state);
    let ask = first.asked(COMMAND);
    let (place, state) = (Arc::clone(&first.server.workspace), Arc::clone(&first.server.state));
    first.server.kill();
    let mut again = Server::start_in(place, state, first.model.chosen(true));
    again.shake_hands();
    again.ask("bb/init", json!({}));
    again.ask("bb/selectSession", json!({ "sessionId": first.session }));
    assert_eq!(first.ran(&workspace), 0, "nothing runs before the answer");
    let answer = Server::decision(&first.session, &ask, "allow_once");
    assert_eq!(again.ask("bb/approvePermission", answer.clone())["outcome"], "recorded");
    again.wait_end(&first.session);
    let late = again.ask("bb/approvePermission", answer);
    assert_eq!((&late["outcome"], &late["resolution"]), (&json!("already_resolved"), &json!("allowed")));
    assert_eq!(first.ran(&workspace), 1, "and once with it");
}

impl Bench {
    /// A server in these directories, with a model of its own.
    fn new_in(place: Arc<tempfile::TempDir>, state: Arc<tempfile::TempDir>) -> Self {
        let model = Model::start(Vec::new());
        let mut server = Server::start_in(place, state, model.chosen(true));
        server.shake_hands();
        let session = server.session();
        Self { model, server, session, tries: 0 }
    }
}

#[test]
fn an_answer_holds_for_the_folder_that_was_shown() {
    let mut bench = Bench::new();
    let here = bench.server.workspace.path().to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    let there = elsewhere.path().join("there");
    std::fs::create_dir(&there).unwrap();

    // Another folder in its place.
    let ask = bench.asked(COMMAND);
    bench.folders(&[&there], &[&here]);
    for decision in ["allow_once", "allow_rule"] {
        let params = bench.params(&ask, decision);
        bench.refused(params, "conflict");
    }
    bench.deny(&ask);

    // None at all.
    let ask = bench.asked(COMMAND);
    bench.folders(&[], &[&there]);
    let params = bench.params(&ask, "allow_once");
    bench.refused(params, "conflict");
    bench.deny(&ask);

    // Another folder under the same path.
    bench.folders(&[&there], &[]);
    let ask = bench.asked(COMMAND);
    std::fs::rename(&there, elsewhere.path().join("old")).unwrap();
    std::fs::create_dir(&there).unwrap();
    let params = bench.params(&ask, "allow_once");
    bench.refused(params, "conflict");
    bench.deny(&ask);

    // A link to another folder under the same path.
    #[cfg(unix)]
    {
        bench.folders(&[&there], &[&there]);
        let ask = bench.asked(COMMAND);
        std::fs::remove_dir(&there).unwrap();
        std::os::unix::fs::symlink(&here, &there).unwrap();
        let params = bench.params(&ask, "allow_once");
        bench.refused(params, "conflict");
        bench.deny(&ask);
    }
    for folder in [here.as_path(), there.as_path(), &elsewhere.path().join("old")] {
        assert_eq!(bench.ran(folder), 0, "{}", folder.display());
    }
}

#[test]
fn a_rule_holds_in_the_folder_that_it_was_given_for() {
    for option in ["allow_rule", "allow_rule_workspace"] {
        let mut bench = Bench::new();
        let here = bench.server.workspace.path().to_owned();
        let elsewhere = tempfile::tempdir().unwrap();
        let (one, two) = (elsewhere.path().join("a/app"), elsewhere.path().join("b/app"));
        std::fs::create_dir_all(&one).unwrap();
        std::fs::create_dir_all(&two).unwrap();
        let ask = bench.asked(COMMAND);
        bench.allow(&ask, option);
        assert_eq!(bench.ran(&here), 1);
        let rules = bench.server.ask("bb/permission/list", json!({}))["rules"].clone();
        let real = here.canonicalize().unwrap();
        assert_eq!(rules[0]["folder"], real.to_str().unwrap(), "{rules}");

        // Asked anew in another folder, and in another one of the same name.
        bench.folders(&[&one], &[&here]);
        let ask = bench.asked(COMMAND);
        bench.allow(&ask, option);
        assert_eq!(bench.ran(&one), 1);
        bench.folders(&[&two], &[]);
        bench.folders(&[], &[&one]);
        let ask = bench.asked(COMMAND);
        bench.deny(&ask);
        assert_eq!(bench.ran(&two), 0);

        // It holds again where it was given.
        bench.folders(&[&here], &[&two]);
        bench.wants(COMMAND);
        bench.server.wait_end(&bench.session);
        assert_eq!((bench.ran(&here), bench.ran(&one), bench.ran(&two)), (2, 1, 0));
    }
}

#[test]
fn a_rule_does_not_follow_a_folder_that_was_made_anew() {
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let mut bench = Bench::new();
    let here = bench.server.workspace.path().to_owned();
    bench.folders(&[&folder], &[&here]);
    let ask = bench.asked(COMMAND);
    bench.allow(&ask, "allow_rule_workspace");
    assert_eq!(bench.ran(&folder), 1);
    std::fs::rename(&folder, elsewhere.path().join("old")).unwrap();
    std::fs::create_dir(&folder).unwrap();
    bench.folders(&[&folder], &[&folder]);
    let ask = bench.asked(COMMAND);
    bench.deny(&ask);
    assert_eq!(bench.ran(&folder), 0);
}
