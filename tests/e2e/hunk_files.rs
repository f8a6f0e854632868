//! Edits over several files that are decided part by part (R002-44 to -49, -80 to -83; ARCHITECTURE.md, invariant 35): files that go,
//! move and come are parts of their own, a file that changed loses nothing, and the engine hears exactly what stands there.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::{Options, Server};
use crate::model::{Model, calls, says};

const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// As the wire writes it.
pub(crate) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Twenty lines.
fn lines() -> String {
    (1..=20).map(|line| format!("{line}\n")).collect()
}

/// An agent that asks for this call, says how it was answered, and what it is told next.
fn agent(call: &Value) -> Options {
    let ask = json!({ "toolCall": call, "options": [
        { "optionId": "once", "kind": "allow_once", "name": "Yes" },
        { "optionId": "no", "kind": "reject_once", "name": "No" },
    ] });
    let answered = json!({ "once": [{ "say": "allowed" }], "no": [{ "say": "refused" }], "else": [{ "say": "cancelled" }] });
    let script = json!({ "prompts": [
        { "steps": [{ "ask": ask, "on": answered }] },
        { "steps": [{ "say": "${prompt}" }] },
    ] });
    let sim = json!({ "command": PROGRAM, "args": ["simulate", "acp", "--script", script.to_string()] });
    let options = json!({ "workspaceTrusted": true, "agents": { "sim": sim } });
    Options { options, ..Options::default() }
}

/// Changes by path, as Codex tells them: two hunks of one file, one file that goes, and one that moves with another text.
fn codex_call() -> Value {
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n@@ -14,7 +14,7 @@\n 14\n 15\n 16\n-17\n\
                +seventeen\n 18\n 19\n 20\n";
    let changes = json!({
        "a.txt": { "type": "update", "unified_diff": diff },
        "gone.txt": { "type": "delete", "content": "g\n" },
        "old.txt": { "type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n", "move_path": "sub/new.txt" },
    });
    json!({ "toolCallId": "c", "title": "Edit", "kind": "edit", "rawInput": { "changes": changes, "reason": "tidy up" } })
}

fn proposed(server: &mut Server) -> (String, Value) {
    let made = server.ask("bb/createSession", json!({ "agent": "sim" }));
    let session = made["sessionId"].as_str().expect("an id").to_owned();
    server.prompt(&session, "change the files");
    let ask = server.wait_ask(&session)["permission"].clone();
    (session, patch(server, &ask["patchId"]))
}

fn patch(server: &mut Server, id: &Value) -> Value {
    server.ask("bb/patch/get", json!({ "patchId": id }))["patch"].clone()
}

/// The patch once its files were read: `baseHash` comes with that.
fn with_bases(server: &mut Server, id: &Value) -> Value {
    loop {
        let patch = patch(server, id);
        let files = patch["files"].as_array().expect("files");
        if files.iter().all(|file| file["change"] == "create" || file["baseHash"].is_string()) {
            return patch;
        }
    }
}

fn decide(patch: &Value, more: Value) -> Value {
    let mut params = json!({ "patchId": patch["patchId"], "digest": patch["digest"] });
    for (name, value) in more.as_object().expect("an object") {
        params[name] = value.clone();
    }
    params
}

fn outcomes(result: &Value) -> Value {
    let files = result["files"].as_array().expect("files").iter();
    files.map(|file| json!([file["filePath"], file["outcome"], file["appliedHash"]])).collect()
}

fn said(server: &mut Server, session: &str) -> String {
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
    let newest = blocks.iter().rev().find(|block| block["kind"] == "assistant").expect("an answer");
    newest["text"].as_str().expect("a text").to_owned()
}

fn given(server: &Server) {
    server.write("a.txt", &lines());
    server.write("gone.txt", "g\n");
    server.write("old.txt", "x\n");
}

#[test]
fn r002_44_to_49_of_several_files_exactly_what_was_accepted_is_done_and_the_agent_hears_the_hashes() {
    // Given an edit of two hunks, a deletion, and a rename with another text
    let mut server = Server::ready(agent(&codex_call()));
    given(&server);
    let (session, patch) = proposed(&mut server);
    let patch = with_bases(&mut server, &patch["patchId"]);
    // Then each is a part that says what it does and what it was made from
    let parts: Vec<Value> = patch["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| {
            let hunks = file["hunks"].as_array().expect("hunks").iter();
            let parts: Vec<Value> = hunks.map(|hunk| json!([hunk["part"], hunk["label"]])).collect();
            json!([file["filePath"], file["change"], file["oldPath"], file["baseHash"], parts])
        })
        .collect();
    assert_eq!(
        json!(parts),
        json!([
            ["a.txt", "modify", null, hash(&lines()), [["lines", null], ["lines", null]]],
            ["gone.txt", "delete", null, hash("g\n"), [["file", "Delete `gone.txt`"]]],
            [
                "sub/new.txt",
                "rename",
                "old.txt",
                hash("x\n"),
                [["file", "Rename `old.txt` to `sub/new.txt`"], ["lines", null]]
            ],
        ])
    );
    assert_eq!(patch["rationale"], "tidy up");
    // When one hunk and the rename are accepted, and the other hunk and the deletion rejected
    let id = |file: usize, hunk: usize| patch["files"][file]["hunks"][hunk]["id"].clone();
    let one = json!([{ "id": id(0, 0), "accepted": false, "reason": "keep the digit" }, { "id": id(0, 1), "accepted": true }]);
    server.ask("bb/patch/decide", decide(&patch, json!({ "scope": "hunk", "hunks": one })));
    let file = json!({ "scope": "file", "filePath": "gone.txt", "accepted": false });
    server.ask("bb/patch/decide", decide(&patch, file));
    assert_eq!(server.read("a.txt"), lines(), "nothing is written before all is decided");
    let rest = json!({ "scope": "file", "filePath": "sub/new.txt" });
    let decided = server.ask("bb/patch/decide", decide(&patch, rest));
    // Then the disk has exactly that
    let after = lines().replace("17", "seventeen");
    assert_eq!(
        outcomes(&decided),
        json!([
            ["a.txt", "partly", hash(&after)],
            ["gone.txt", "rejected", null],
            ["sub/new.txt", "applied", hash("y\n")],
        ])
    );
    let there = ["a.txt", "gone.txt", "sub/new.txt"].map(|path| server.read(path));
    assert_eq!(there, [after.clone(), "g\n".to_owned(), "y\n".to_owned()]);
    assert!(!server.workspace.path().join("old.txt").exists());
    // And the agent heard no, and is told with its next prompt what stands where, by hash, and what does not, and why
    server.wait_end(&session);
    assert_eq!(said(&mut server, &session), "refused");
    server.turn(&session, "and now?");
    let told = format!(
        "The user decided on this edit change by change. `a.txt` has 1 of its 2 changes and is now {}, so do not make those \
         again, and leave the others out. `gone.txt` was left as it is. `old.txt` was renamed to `sub/new.txt`. `sub/new.txt` \
         has all of its 1 changes and is now {}, so do not make them again. Rejected changes:\n`a.txt` (keep the digit):\n\
         @@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\nDelete `gone.txt`.\n\n\nand now?",
        hash(&after),
        hash("y\n")
    );
    assert_eq!(said(&mut server, &session), told);
    // And all of it can be taken back
    let reverted = server.ask("bb/patch/revert", json!({ "patchId": patch["patchId"] }));
    assert_eq!(reverted["files"][2]["outcome"], "reverted", "{reverted}");
    assert_eq!([server.read("a.txt"), server.read("old.txt")], [lines(), "x\n".to_owned()]);
    assert!(!server.workspace.path().join("sub/new.txt").exists());
}

#[test]
fn r002_48_a_base_that_moved_is_a_conflict_with_both_sides_and_the_other_files_are_done() {
    // Given an edit that was shown, and two files that changed since
    let mut server = Server::ready(agent(&codex_call()));
    given(&server);
    let (_, patch) = proposed(&mut server);
    let patch = with_bases(&mut server, &patch["patchId"]);
    let typed = format!("typed\n{}", lines().replace("17", "XVII"));
    server.write("a.txt", &typed);
    server.write("gone.txt", "not what was shown\n");
    // When all of it is accepted, which the agent would write over
    let decided = server.ask("bb/patch/decide", decide(&patch, json!({ "scope": "all" })));
    // Then what fits is done here, and what does not is left, with both sides
    let seen: Vec<Value> =
        decided["files"].as_array().expect("files").iter().map(|file| file["outcome"].clone()).collect();
    assert_eq!(json!(seen), json!(["conflict", "conflict", "applied"]));
    let hunk = &patch["files"][0]["hunks"][1];
    assert_eq!(
        decided["files"][0]["conflict"],
        json!({ "hunkId": hunk["id"], "line": 14, "there": "13\n14\n15\n16\nXVII\n18\n19\n",
                "wanted": "@@ -14,7 +14,7 @@\n 14\n 15\n 16\n-17\n+seventeen\n 18\n 19\n 20\n" })
    );
    assert_eq!(decided["files"][1]["conflict"]["there"], "not what was shown\n");
    assert_eq!([server.read("a.txt"), server.read("gone.txt")], [typed, "not what was shown\n".to_owned()]);
    assert_eq!(server.read("sub/new.txt"), "y\n");
}

#[test]
fn all_of_an_edit_whose_file_changed_elsewhere_is_made_here_so_that_nothing_typed_is_lost() {
    // Given one change of a file, which got a line above since
    let content = json!([{ "type": "diff", "path": "${cwd}/a.txt", "oldText": lines(), "newText": lines().replace("17", "seventeen") }]);
    let call = json!({ "toolCallId": "c", "title": "Write", "kind": "edit", "content": content });
    let mut server = Server::ready(agent(&call));
    server.write("a.txt", &lines());
    let (session, patch) = proposed(&mut server);
    let patch = with_bases(&mut server, &patch["patchId"]);
    server.write("a.txt", &format!("typed\n{}", lines()));
    // When it is accepted
    let decided = server.ask("bb/patch/decide", decide(&patch, json!({ "scope": "all" })));
    // Then the file has both, and the agent, which knows only the old text, does not write it
    let both = format!("typed\n{}", lines().replace("17", "seventeen"));
    assert_eq!(outcomes(&decided), json!([["a.txt", "applied", hash(&both)]]));
    assert_eq!(server.read("a.txt"), both);
    server.wait_end(&session);
    assert_eq!(said(&mut server, &session), "refused");
    server.turn(&session, "go on");
    let told = said(&mut server, &session);
    assert!(told.contains("`a.txt` has all of its 1 changes and is now sha256:"), "{told}");
}

#[test]
fn a_plain_yes_to_an_edit_whose_file_changed_since_is_a_conflict_and_nothing_is_written() {
    // Given an edit of an agent that was shown, and a file of it that changed since
    let mut server = Server::ready(agent(&codex_call()));
    given(&server);
    let (session, patch) = proposed(&mut server);
    let patch = with_bases(&mut server, &patch["patchId"]);
    server.write("gone.txt", "not what was shown\n");
    let answer = json!({ "sessionId": session, "requestId": patch["requestId"], "decision": "allow_once" });
    // When it is allowed as a whole
    let refused = server.refused("bb/approvePermission", answer.clone());
    // Then that is refused, with what to do, the request waits, and the files are as they were
    assert_eq!(refused["data"]["code"], "conflict");
    assert_eq!(
        refused["message"],
        "`gone.txt` changed since this edit was shown, so it was not allowed and nothing was written; decide on its changes one by one, or deny it, so that it is made anew."
    );
    let now = server.ask("bb/patch/get", json!({ "patchId": patch["patchId"] }))["patch"].clone();
    assert_eq!(now["status"], "pending");
    assert_eq!([server.read("a.txt"), server.read("gone.txt")], [lines(), "not what was shown\n".to_owned()]);
    // And once the file is what was shown again, the same answer is taken
    server.write("gone.txt", "g\n");
    assert_eq!(server.ask("bb/approvePermission", answer)["outcome"], "recorded");
    server.wait_end(&session);
    assert_eq!(said(&mut server, &session), "allowed");
}

#[test]
fn why_all_of_an_edit_was_rejected_is_told_with_the_next_prompt() {
    let mut server = Server::ready(agent(&codex_call()));
    given(&server);
    let (session, patch) = proposed(&mut server);
    let hunks: Vec<Value> = patch["files"]
        .as_array()
        .expect("files")
        .iter()
        .flat_map(|file| file["hunks"].as_array().expect("hunks"))
        .map(|hunk| json!({ "id": hunk["id"], "accepted": false, "reason": "not now" }))
        .collect();
    server.ask("bb/patch/decide", decide(&patch, json!({ "scope": "hunk", "hunks": hunks })));
    server.wait_end(&session);
    assert_eq!(said(&mut server, &session), "refused");
    server.turn(&session, "go on");
    let told = said(&mut server, &session);
    assert!(
        told.starts_with("The user rejected this edit, and no file was changed. Rejected changes:\n"),
        "{told}"
    );
    assert!(told.contains("Delete `gone.txt` (not now).\n"), "{told}");
}

#[test]
fn a_file_with_unsaved_text_is_not_deleted() {
    // Given a file that is to go and that somebody types in
    let mut server = Server::ready(agent(&codex_call()));
    given(&server);
    server.open("gone.txt", "typed\n");
    let (_, patch) = proposed(&mut server);
    // When the deletion alone is accepted
    for path in ["a.txt", "sub/new.txt"] {
        let no = json!({ "scope": "file", "filePath": path, "accepted": false });
        server.ask("bb/patch/decide", decide(&patch, no));
    }
    let yes = json!({ "scope": "file", "filePath": "gone.txt" });
    let decided = server.ask("bb/patch/decide", decide(&patch, yes));
    // Then it stays
    let file = &decided["files"][1];
    assert_eq!(file["outcome"], "conflict");
    assert!(file["message"].as_str().expect("words").contains("unsaved changes"), "{file}");
    assert_eq!(server.read("gone.txt"), "g\n");
}

#[test]
fn r002_82_83_our_own_agents_files_are_one_edit_with_reasons_that_is_done_and_taken_back() {
    // Given our own agent, whose model changes a file, deletes one and makes one
    let wish = json!({ "rationale": "tidy up", "acceptance_criteria": ["The tests pass."], "files": [
        { "file_path": "a.txt", "edits": [{ "old_text": "17", "new_text": "seventeen" }] },
        { "file_path": "gone.txt", "delete": true },
        { "file_path": "made.txt", "new_content": "new\n" },
    ] });
    let model = Model::start(vec![calls("propose_patch", wish), says("Understood.")]);
    let mut server = Server::ready(model.chosen(true));
    server.write("a.txt", &lines());
    server.write("gone.txt", "g\n");
    let session = server.session();
    server.prompt(&session, "tidy up");
    let ask = server.wait_ask(&session)["permission"].clone();
    let patch = patch(&mut server, &ask["patchId"]);
    assert_eq!(
        json!([patch["rationale"], patch["acceptanceCriteria"]]),
        json!(["tidy up", ["The tests pass."]])
    );
    assert_eq!(ask["title"], "Write a.txt, delete gone.txt, create made.txt");
    let rules =
        ask["options"].as_array().expect("options").iter().filter(|option| option["kind"] == "allow_rule");
    assert_eq!(rules.count(), 0, "no rule covers several files");
    // When all of it is accepted
    let decided = server.ask("bb/patch/decide", decide(&patch, json!({ "scope": "all" })));
    assert_eq!(decided["files"][1]["outcome"], "applied");
    server.wait_end(&session);
    // Then it is done, and the model heard what
    let after = lines().replace("17", "seventeen");
    assert_eq!([server.read("a.txt"), server.read("made.txt")], [after.clone(), "new\n".to_owned()]);
    assert!(!server.workspace.path().join("gone.txt").exists());
    let _first = model.asked();
    let told = model.asked().tool_result();
    assert!(
        told.contains(&format!("Its content is now {}", hash(&after))) && told.contains("Deleted gone.txt."),
        "{told}"
    );
    // And it comes back, the file that went and the one that came included
    let reverted = server.ask("bb/patch/revert", json!({ "patchId": patch["patchId"] }));
    assert_eq!(reverted["files"].as_array().map(Vec::len), Some(3));
    assert_eq!([server.read("a.txt"), server.read("gone.txt")], [lines(), "g\n".to_owned()]);
    assert!(!server.workspace.path().join("made.txt").exists());
}

#[test]
fn a_change_of_several_files_of_which_one_cannot_be_written_is_made_in_none() {
    // Given a change of five files that is allowed, and a folder of one of them in whose place a file came meanwhile
    let wish = json!({ "rationale": "tidy up", "files": [
        { "file_path": "a.txt", "edits": [{ "old_text": "17", "new_text": "seventeen" }] },
        { "file_path": "gone.txt", "delete": true },
        { "file_path": "old.txt", "rename_to": "new.txt", "edits": [{ "old_text": "x", "new_text": "y" }] },
        { "file_path": "made.txt", "new_content": "new\n" },
        { "file_path": "folder/b.txt", "new_content": "new\n" },
    ] });
    let model = Model::start(vec![calls("propose_patch", wish), says("Understood.")]);
    let mut server = Server::ready(model.chosen(true));
    let before = lines().replace('\n', "\r\n");
    server.write("a.txt", &before);
    server.write("gone.txt", "g\n");
    server.write("old.txt", "x\r\n");
    let session = server.session();
    server.prompt(&session, "tidy up");
    let ask = server.wait_ask(&session);
    server.write("folder", "a file\n");
    // When
    server.decide(&session, &ask, "allow_once");
    let end = server.wait_end(&session);
    // Then every file holds what it held, to the byte
    let names = |server: &Server| {
        let entries = std::fs::read_dir(server.workspace.path()).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&server), ["a.txt", "folder", "gone.txt", "old.txt"]);
    assert_eq!(
        [server.read("a.txt"), server.read("gone.txt"), server.read("old.txt")],
        [before, "g\n".to_owned(), "x\r\n".to_owned()]
    );
    // And the model, and whoever looks at the turn, hear that nothing was changed
    model.asked();
    let told = model.asked().tool_result();
    assert!(told.contains("folder/b.txt could not be changed, so no file of this change was."), "{told}");
    assert!(told.contains("What was written before it was taken back: a.txt, old.txt, made.txt."), "{told}");
    assert_eq!(end["payload"]["metadata"]["files_modified"], 0);
    let refused = server.refused("bb/turn/changes", json!({ "sessionId": session }));
    assert_eq!(refused["data"]["code"], "not_found", "{refused}");
}
