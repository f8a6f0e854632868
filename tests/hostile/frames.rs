//! Frames that are malformed, oversized, nested or interleaved.

use serde_json::{Value, json};

use crate::harness::{Options, Server, frame};
use crate::limits::{self, Random, attempts};

/// Tries between two questions whether the server lives.
const BETWEEN: usize = 50;

/// Bytes that are no message. Each ends where a next frame may begin, so that an honest request behind it has to be heard.
fn malformed(random: &mut Random) -> Vec<u8> {
    let noise: Vec<u8> = (0..random.below(200)).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
    let word = ["", "{", "}", "null", "\"\\ud800\"", "[[[[", "{\"a\":}", "nan", "{\"jsonrpc\":\"2.0\"}"]
        [random.below(9)];
    let odd = [json!(null), json!(1.5), json!([]), json!({}), json!("x"), json!(-1), json!(true)];
    let any = |random: &mut Random| odd[random.below(odd.len())].clone();
    match random.below(14) {
        0 => framed(&noise),
        1 => framed(word.as_bytes()),
        2 => framed("[".repeat(1 + random.below(30_000)).as_bytes()),
        3 => framed(format!("{}1{}", "{\"a\":".repeat(500), "}".repeat(500)).as_bytes()),
        4 => {
            let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": "bb/listSessions", "params": {} });
            for key in ["jsonrpc", "id", "method", "params"] {
                if random.below(2) == 0 {
                    message[key] = any(random);
                }
            }
            // An answer of a request that was taken after all has an id that nobody waits for.
            if message["method"].is_string() && !message["id"].is_null() {
                message["id"] = json!(format!("odd-{}", random.next()));
            }
            framed(message.to_string().as_bytes())
        }
        5 => {
            let batch = Value::Array((0..random.below(20)).map(|_| any(random)).collect());
            framed(batch.to_string().as_bytes())
        }
        6 => format!(
            "Content-Length: {}\r\n\r\n",
            ["-1", "many", "", "1e3", "0x10", "99999999999999999999"][random.below(6)]
        )
        .into_bytes(),
        7 => b"Content-Type: application/vscode-jsonrpc; charset=utf-9\r\n\r\n{}".to_vec(),
        8 => [
            b"Debugger attached ".as_slice(),
            &noise.iter().map(|byte| byte % 94 + 33).collect::<Vec<u8>>(),
            b"\n",
        ]
        .concat(),
        9 => format!("X-{}: {}\r\n\r\n", random.below(9), "y".repeat(random.below(20_000))).into_bytes(),
        // A body that is longer, or shorter, than its length says.
        10 => [framed(b"{}"), b"{\"left\": \"over\"}\n".to_vec()].concat(),
        11 => {
            let missing = random.below(100);
            [format!("Content-Length: {}\r\n\r\n{{", missing + 1).into_bytes(), vec![b' '; missing]].concat()
        }
        12 => framed("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}".as_bytes()),
        _ => {
            // A whole message with some bytes changed. Its length stays true.
            let mut body =
                json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": { "textDocument": {
                "uri": "file:///none" , "version": 1 }, "contentChanges": [] } })
                .to_string()
                .into_bytes();
            for _ in 0..=random.below(4) {
                let at = random.below(body.len());
                body[at] = u8::try_from(random.below(256)).unwrap();
            }
            framed(&body)
        }
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

#[test]
fn no_malformed_frame_ends_the_server_or_hides_the_request_behind_it() {
    let mut random = Random(limits::seed("malformed frames"));
    let mut server = Server::ready(Options::default());
    let tries = attempts(10_000);
    let mut last = Vec::new();
    for at in 1..=tries {
        let bytes = malformed(&mut random);
        assert!(server.try_raw(&bytes).is_ok(), "it ended after {:?}", String::from_utf8_lossy(&last));
        last = bytes;
        if at % BETWEEN == 0 {
            server.assert_alive();
            limits::assert_answers(&mut server, "malformed frames");
        }
    }
    #[cfg(target_os = "linux")]
    limits::assert_memory(&server, "malformed frames");
    println!("malformed frames: {tries} tried");
    assert!(server.shut_down().success());
}

#[test]
fn a_gibibyte_that_is_announced_and_never_comes_holds_no_memory_and_no_exit() {
    let mut server = Server::ready(Options::default());
    server.raw(format!("Content-Length: {}\r\n\r\n{{", (1 << 30) - 1).as_bytes());
    for _ in 0..40 {
        server.raw(&vec![b' '; 1 << 20]);
    }
    #[cfg(target_os = "linux")]
    limits::assert_memory(&server, "an endless frame");
    server.close_stdin();
    assert_eq!(server.wait_exit().code(), Some(1));
}

#[test]
fn requests_between_malformed_frames_are_answered_once_each() {
    let mut random = Random(limits::seed("interleaved frames"));
    let mut server = Server::ready(Options::default());
    for round in 0..attempts(500) {
        let id = json!(format!("r{round}"));
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": "bb/no-such-method", "params": {} }).to_string();
        let bytes = [malformed(&mut random), frame(&request).into_bytes(), malformed(&mut random)].concat();
        for piece in bytes.chunks(1 + random.below(bytes.len())) {
            server.raw(piece);
        }
        assert_eq!(server.wait_response(&id)["error"]["data"]["code"], "unknown_method", "round {round}");
    }
    let answered = server.received();
    let mut ids: Vec<&str> = answered
        .iter()
        .filter_map(|message| message["id"].as_str())
        .filter(|id| id.starts_with('r'))
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an answer came twice");
}
