//! Editors that open, change and close more and faster than the loop works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Options, Server, frame};
use crate::limits::{self, Random, attempts};

/// Longest that one write of everything may take; a server that reads no more would hold it for ever.
const WRITTEN: Duration = Duration::from_secs(120);

fn name(at: usize) -> String {
    format!("f{at}.txt")
}

fn open(server: &Server, at: usize) -> String {
    let document = json!({ "uri": server.file(&name(at)), "languageId": "plaintext", "version": 1, "text": format!("buffer {at}") });
    notification("textDocument/didOpen", &json!({ "textDocument": document }))
}

fn notification(method: &str, params: &Value) -> String {
    frame(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string())
}

/// Writes everything, or fails when the server does not read it.
fn write_all(server: &mut Server, bytes: &[u8]) {
    let written = Arc::new(AtomicBool::new(false));
    let (is_written, pid) = (Arc::clone(&written), server.pid());
    std::thread::spawn(move || {
        let until = Instant::now() + WRITTEN;
        while !is_written.load(Ordering::Acquire) {
            if Instant::now() > until {
                // The write below then fails.
                let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
                return;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    });
    server.raw(bytes);
    written.store(true, Ordering::Release);
}

/// Asserts that each of these files is read from its buffer, and gives how long the questions took.
fn assert_buffers(
    server: &mut Server,
    session: &str,
    files: impl Iterator<Item = usize>,
    said: impl Fn(usize) -> String,
) {
    let files: Vec<usize> = files.collect();
    for some in files.chunks(100) {
        let ids: Vec<Value> = some
            .iter()
            .map(|at| {
                server.request("bb/readFileSnippet", json!({ "sessionId": session, "path": name(*at) }))
            })
            .collect();
        for (at, id) in some.iter().zip(&ids) {
            let answer = server.wait_response(id);
            let read = &answer["result"];
            assert_eq!(
                (&read["source"], &read["content"]),
                (&json!("buffer"), &json!(said(*at))),
                "{at}: {answer}"
            );
        }
    }
}

fn assert_nothing_given_up(server: &Server) {
    let messages = server.received();
    let said: Vec<&Value> =
        messages.iter().filter(|message| message["method"] == "window/showMessage").collect();
    assert!(said.is_empty(), "{said:#?}");
}

#[test]
fn a_burst_of_opened_files_leaves_every_buffer_known() {
    for count in [8_000, 20_000] {
        let mut server = Server::ready(Options::default());
        let session = server.session();
        for at in 0..=count {
            server.write(&name(at), "disk");
        }
        // Given a buffer from before the burst
        let before = open(&server, count);
        server.raw(before.as_bytes());
        // When all of them are opened in one write
        let burst: String = (0..count).map(|at| open(&server, at)).collect();
        let begun = Instant::now();
        write_all(&mut server, burst.as_bytes());
        // A request that came too soon is refused in words, and then taken.
        loop {
            let id = server.request("bb/listSessions", json!({}));
            let answer = server.wait_response(&id);
            if answer.get("result").is_some() {
                break;
            }
            assert_eq!(answer["error"]["data"]["code"], "overloaded", "{answer}");
        }
        println!("{count} files opened in {:?}", begun.elapsed());
        // Then every one is known, also that from before
        let step = count / attempts(count);
        assert_buffers(&mut server, &session, (0..count).step_by(step).chain([count]), |at| {
            format!("buffer {at}")
        });
        assert_nothing_given_up(&server);
        limits::assert_answers(&mut server, "a burst of opened files");
        #[cfg(target_os = "linux")]
        limits::assert_memory(&server, "a burst of opened files");
        assert!(server.shut_down().success());
    }
}

#[test]
fn an_editor_that_writes_and_does_not_read_blocks_nobody_and_loses_no_buffer() {
    const COUNT: usize = 20_000;
    let mut server = Server::start(Options { hold_stdout: true, ..Options::default() });
    for at in 0..COUNT {
        server.write(&name(at), "disk");
    }
    // Given an editor that reads nothing
    let params = server.initialize_params();
    let initialized = server.request("initialize", params);
    server.notify("initialized", json!({}));
    // When it opens and changes more than any queue holds, and asks in between
    let mut burst = String::new();
    for at in 0..COUNT {
        burst += &open(&server, at);
        burst += &notification(
            "textDocument/didChange",
            &json!({ "textDocument": { "uri": server.file(&name(at)), "version": 2 }, "contentChanges": [
                { "range": { "start": { "line": 0, "character": 7 }, "end": { "line": 0, "character": 99 } }, "text": "changed" }] }),
        );
        if at % 100 == 0 {
            burst += &frame(
                &json!({ "jsonrpc": "2.0", "id": format!("n{at}"), "method": "bb/nothing" }).to_string(),
            );
            burst += &notification("$/cancelRequest", &json!({ "id": format!("n{at}") }));
        }
    }
    write_all(&mut server, burst.as_bytes());
    // Then it is all taken, and once it reads, everything is there
    server.read_on();
    assert!(server.wait_response(&initialized).get("result").is_some());
    for at in (0..COUNT).step_by(100) {
        let answer = server.wait_response(&json!(format!("n{at}")));
        assert_eq!(answer["error"]["data"]["code"], "unknown_method");
    }
    let session = loop {
        let id = server.request("bb/createSession", json!({}));
        let answer = server.wait_response(&id);
        match answer["result"]["sessionId"].as_str() {
            Some(session) => break session.to_owned(),
            None => assert_eq!(answer["error"]["data"]["code"], "overloaded", "{answer}"),
        }
    };
    let step = COUNT / attempts(COUNT);
    assert_buffers(&mut server, &session, (0..COUNT).step_by(step), |_| "buffer changed".to_owned());
    assert_nothing_given_up(&server);
    #[cfg(target_os = "linux")]
    limits::assert_memory(&server, "an editor that does not read");
    assert!(server.shut_down().success());
}

#[test]
fn an_exit_behind_a_burst_of_an_editor_that_does_not_read_ends_the_server() {
    let mut server = Server::start(Options { hold_stdout: true, ..Options::default() });
    let params = server.initialize_params();
    server.request("initialize", params);
    server.notify("initialized", json!({}));
    let burst: String = (0..20_000).map(|at| open(&server, at)).collect();
    write_all(&mut server, burst.as_bytes());
    server.notify("exit", Value::Null);
    let (status, took) = server.wait_exit_timed();
    assert_eq!(status.code(), Some(1));
    // What was written before has to be read first; a debug build takes a while for it.
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// A document as LSP 3.17 defines its positions, on plain UTF-16 units.
struct Reference(Vec<u16>);

impl Reference {
    const RETURN: u16 = 13;
    const FEED: u16 = 10;

    /// Where each line begins.
    fn lines(&self) -> Vec<usize> {
        let mut lines = vec![0];
        for at in 0..self.0.len() {
            let next = self.0.get(at + 1);
            if self.0[at] == Self::FEED || (self.0[at] == Self::RETURN && next != Some(&Self::FEED)) {
                lines.push(at + 1);
            }
        }
        lines
    }

    /// The place of a position: the end of its line when it is past that, the start of a pair when it is inside.
    fn place(&self, lines: &[usize], line: usize, character: usize) -> usize {
        let begin = lines[line];
        let mut end = lines.get(line + 1).copied().unwrap_or(self.0.len());
        while end > begin && matches!(self.0[end - 1], Self::RETURN | Self::FEED) {
            end -= 1;
        }
        let at = (begin + character).min(end);
        let inside = at > begin && at < end && (0xdc00..0xe000).contains(&self.0[at]);
        if inside { at - 1 } else { at }
    }

    fn replace(&mut self, from: usize, to: usize, text: &str) {
        self.0.splice(from..to, text.encode_utf16());
    }

    fn text(&self) -> String {
        String::from_utf16(&self.0).expect("whole characters")
    }
}

#[test]
fn every_edit_lands_where_the_standard_says() {
    const PIECES: [&str; 12] =
        ["a", "word ", "é", "漢字", "😀", "\n", "\r\n", "\r", "", "\t", "𝒳y", "end\r\n\n"];
    let mut random = Random(limits::seed("edits"));
    let mut server = Server::ready(Options::default());
    let session = server.session();
    let (mut reference, mut version) = (Reference("one\r\ntwo 😀\nthree".encode_utf16().collect()), 1);
    server.write("e.txt", "disk");
    server.open("e.txt", &reference.text());
    let uri = server.file("e.txt");
    let tries = attempts(100_000);
    let (mut edits, mut compared) = (0, 0);
    while edits < tries {
        let mut changes = Vec::new();
        for _ in 0..=random.below(6) {
            let lines = reference.lines();
            let mut ends = [(); 2].map(|()| {
                let line = random.below(lines.len());
                (line, random.below(30))
            });
            if ends[1].0 > ends[0].0 + 2 && random.below(4) > 0 {
                ends[1] = (ends[0].0, ends[0].1 + random.below(5));
            }
            let mut places = ends.map(|(line, character)| reference.place(&lines, line, character));
            if places[0] > places[1] {
                places.swap(0, 1);
                ends.swap(0, 1);
            }
            let text: String = (0..random.below(4)).map(|_| PIECES[random.below(PIECES.len())]).collect();
            let position = |(line, character)| json!({ "line": line, "character": character });
            changes.push(if random.below(400) == 0 {
                reference = Reference(text.encode_utf16().collect());
                json!({ "text": text })
            } else {
                reference.replace(places[0], places[1], &text);
                json!({ "range": { "start": position(ends[0]), "end": position(ends[1]) }, "text": text })
            });
            edits += 1;
        }
        version += 1;
        server.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": changes }),
        );
        if version % 40 == 0 || edits >= tries {
            let read = server.ask(
                "bb/readFileSnippet",
                json!({ "sessionId": session, "path": "e.txt", "maxBytes": 1 << 20 }),
            );
            let (content, expected) = (read["content"].as_str().unwrap_or_default(), reference.text());
            assert!(
                content == expected && read["source"] == "buffer",
                "after {edits}: {content:?} is not {expected:?}"
            );
            compared += 1;
        }
    }
    println!("edits: {edits} made, {compared} times compared");
    assert_nothing_given_up(&server);
}

#[test]
fn a_buffer_that_is_given_up_is_named_once_and_no_other_is_given_up_with_it() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    for file in ["a.txt", "b.txt"] {
        server.write(file, "disk");
        server.open(file, "buffer\n");
    }
    // When a change begins behind the end of the text, and further ones come
    for version in 2..5 {
        let uri = server.file("a.txt");
        let at = json!({ "line": 9, "character": 0 });
        server.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "range": { "start": at, "end": at }, "text": "x" }] }),
        );
    }
    // Then that file is named once, with what to do, and is read from the disk; the other is not
    let said = server.wait_notification("window/showMessage", |_| true);
    let text = said["params"]["message"].as_str().unwrap().to_owned();
    assert!(text.contains("/a.txt") && text.contains("open it again"), "{text}");
    let source = |server: &mut Server, path: &str| {
        server.ask("bb/readFileSnippet", json!({ "sessionId": session, "path": path }))["source"].clone()
    };
    assert_eq!(
        (source(&mut server, "a.txt"), source(&mut server, "b.txt")),
        (json!("disk"), json!("buffer"))
    );
    let all = server.received();
    assert_eq!(all.iter().filter(|message| message["method"] == "window/showMessage").count(), 1);
    // And opened again it is known again
    server.open("a.txt", "again\n");
    assert_eq!(source(&mut server, "a.txt"), json!("buffer"));
}

/// One character in front of a file, under this version.
fn in_front(server: &mut Server, path: &str, version: i64, text: &str) {
    let uri = server.file(path);
    let at = json!({ "line": 0, "character": 0 });
    let change = json!({ "range": { "start": at, "end": at }, "text": text });
    server.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] }),
    );
}

#[test]
fn changes_in_the_wrong_order_are_said_once_and_the_text_is_not_believed_until_it_comes_whole() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    server.write("a.txt", "disk");
    server.open("a.txt", "buffer\n");
    let read = |server: &mut Server| {
        let read = server.ask("bb/readFileSnippet", json!({ "sessionId": session, "path": "a.txt" }));
        (read["source"].clone(), read["content"].clone())
    };
    // Given changes that came as an editor with several threads sends them
    for (version, text) in [(3, "b"), (2, "a"), (5, "d"), (4, "c")] {
        in_front(&mut server, "a.txt", version, text);
    }
    // Then the file is read from the disk, and the user hears why and what to do, once
    assert_eq!(read(&mut server).0, "disk");
    let said = server.wait_notification("window/showMessage", |_| true);
    let uri = server.file("a.txt");
    assert_eq!(
        said["params"]["message"],
        format!(
            "The saved file is used for {uri} instead of what is open, because the editor sent its changes in the wrong order; save it, or close and open it again."
        )
    );
    // And with its whole text it is known again, and follows
    server.change("a.txt", 6, "whole\n");
    in_front(&mut server, "a.txt", 7, "> ");
    assert_eq!(read(&mut server), (json!("buffer"), json!("> whole\n")));
    let all = server.received();
    assert_eq!(all.iter().filter(|message| message["method"] == "window/showMessage").count(), 1);
}

#[test]
fn buffers_beyond_the_bound_are_given_up_one_by_one_and_named() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    let text = "x".repeat(8 << 20);
    for at in 0..10 {
        server.write(&name(at), "disk");
        let path = name(at);
        server.open(&path, &text);
    }
    for at in 8..10 {
        let said = server.wait_notification("window/showMessage", |params| {
            params["message"].as_str().is_some_and(|text| text.contains(&name(at)))
        });
        assert!(said["params"]["message"].as_str().unwrap().contains("64 MiB"), "{said}");
    }
    for (at, source) in [(0, "buffer"), (7, "buffer"), (8, "disk"), (9, "disk")] {
        let read = server
            .ask("bb/readFileSnippet", json!({ "sessionId": session, "path": name(at), "maxBytes": 10 }));
        assert_eq!(read["source"], source, "{at}");
    }
    #[cfg(target_os = "linux")]
    limits::assert_memory(&server, "buffers beyond the bound");
}
