//! What a person waits for around an edit: the answer that lets it be made, the context of a prompt, a word in a chat document.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::client::{Program, Server, options};
use super::length::Length;
use super::table::{Figure, Table, Target, median};

/// Files of the workspace in which context and words are looked for.
const FILES: usize = 10_000;

/// All three; none has a peer.
pub fn edits(table: &mut Table, length: Length) {
    let root = tempfile::tempdir().expect("a directory");
    for folder in 0..100 {
        fs::create_dir(root.path().join(format!("d{folder}"))).expect("a folder");
    }
    for file in 0..FILES {
        let text = format!("pub fn name_{file}() {{\n    name_{}();\n}}\n", file / 2);
        fs::write(root.path().join(format!("d{}/file_{file}.rs", file % 100)), text).expect("a file");
    }
    approval(table, length);
    context(table, root.path(), length);
    words(table, root.path(), length);
}

fn add(table: &mut Table, what: &str, took: Vec<f64>, most: f64) {
    let ours = median(took);
    let targets = vec![Target::at_most(format!("at most {most} ms"), ours, Some(most))];
    table.add(Figure { what: what.to_owned(), ours, peer: None, floor: None, targets });
}

fn milliseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// From the decision on a waiting edit of our own agent to the answer, which comes once the file is written.
fn approval(table: &mut Table, length: Length) {
    let (state, root) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let mut server = Server::start(&Program::ours());
    server.initialize(root.path(), options(state.path()));
    server.greet();
    let session = server.request("bb/createSession", json!({}))["sessionId"].clone();
    let file = root.path().join("a.txt");
    let text = |word: &str| format!("{word}\n{}", "a line that stays\n".repeat(1_000));
    let mut took = Vec::new();
    for round in 0..length.pick(60, 20) {
        let (from, to) = (format!("word{round}"), format!("other{round}"));
        fs::write(&file, text(&from)).expect("a file");
        let prompt =
            json!({ "sessionId": session, "text": format!("replace `{from}` with `{to}` in a.txt") });
        server.ask("bb/sendMessage", prompt);
        let asked = wait(&mut server, |event| !event["permission"].is_null());
        let patch = asked["permission"]["patchId"].clone();
        let begun = Instant::now();
        let decide = json!({ "sessionId": session, "patchId": patch, "scope": "all", "accepted": true });
        let answer = server.ask("bb/patch/decide", decide);
        let decided = server.answer(answer);
        took.push(milliseconds(begun));
        assert_eq!(decided["files"][0]["outcome"], "applied", "{decided}");
        assert_eq!(fs::read_to_string(&file).expect("the file"), text(&to));
    }
    server.stop();
    add(table, "approval to the written edit, over the wire, ms", took, 20.0);
}

/// The next event that fits.
fn wait(server: &mut Server, fits: impl Fn(&Value) -> bool) -> Value {
    loop {
        let body = server.frames.next().expect("a frame").expect("the server lives");
        let message: Value = serde_json::from_slice(body).expect("JSON");
        let events = message["params"]["events"].as_array().cloned().unwrap_or_default();
        if let Some(event) = events.into_iter().find(|event| fits(event)) {
            return event;
        }
    }
}

/// What a prompt would bring along that names a file, a definition and a command with a set of its own.
fn context(table: &mut Table, root: &Path, length: Length) {
    let state = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(&Program::ours());
    server.initialize(root, options(state.path()));
    server.greet();
    let took = (0..length.pick(20, 5))
        .map(|round| {
            let text = format!("/test @d7/file_{}.rs and @symbol:name_{}", 7 + round * 100, 4_200 + round);
            let begun = Instant::now();
            let found = server.request("bb/context/preview", json!({ "text": text }));
            let took = milliseconds(begun);
            assert!(found["items"].as_array().is_some_and(|items| !items.is_empty()), "{found}");
            took
        })
        .collect();
    server.stop();
    add(table, "context of a prompt in 10,000 files, ms", took, 1_000.0);
}

/// From a letter behind `@` in a chat document to the words that are offered, of an editor without our plugin.
fn words(table: &mut Table, root: &Path, length: Length) {
    let state = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(&Program::ours());
    // As an editor without our plugin has them.
    let literals = json!({ "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["quickfix"] } } });
    let capabilities =
        json!({ "workspace": { "applyEdit": true }, "textDocument": { "codeAction": literals } });
    server.initialize_as(root, options(state.path()), capabilities);
    server.notify("initialized", json!({}));
    let uri = format!("file://{}/x.bb.md", root.display());
    let document = json!({ "uri": uri, "languageId": "markdown", "version": 1, "text": "" });
    server.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let mut version = 1;
    let mut typed = |server: &mut Server, text: &str| {
        version += 1;
        let document = json!({ "uri": uri, "version": version });
        server.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
        );
        let at = json!({ "line": 0, "character": text.len() });
        let begun = Instant::now();
        let found = server
            .request("textDocument/completion", json!({ "textDocument": { "uri": uri }, "position": at }));
        (milliseconds(begun), found["items"].as_array().map_or(0, Vec::len))
    };
    // The list of paths is made once; a person sees it with the first letter.
    typed(&mut server, "see @f");
    let (mut files, mut names) = (Vec::new(), Vec::new());
    for round in 0..length.pick(40, 10) {
        let (took, found) = typed(&mut server, &format!("see @d{}/file_{round}", round % 100));
        assert!(found > 0);
        files.push(took);
        // What is not found in the time that a keystroke has is not offered.
        let (took, _) = typed(&mut server, &format!("see @name_{round}"));
        names.push(took);
    }
    server.stop();
    add(table, "keystroke to the files behind `@`, 10,000 files, ms", files, 50.0);
    add(table, "keystroke to the definitions behind `@`, 10,000 files, ms", names, 300.0);
}
