//! What proxies, providers, engines and agents answer, and the whole sentence that a person gets for it, on the real binary.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// A peer that answers everything with the same bytes and hangs up. It lives as long as this process.
pub fn peer(answer: Vec<u8>) -> u16 {
    peer_in_order(vec![answer]).0
}

/// One that has an answer for each request, the last one for all that follow; and how often it was asked.
pub fn peer_in_order(answers: Vec<Vec<u8>>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("has an address").port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let answer = answers[number.min(answers.len() - 1)].clone();
            std::thread::spawn(move || answer_to(stream, &answer));
        }
    });
    (port, asked)
}

/// Whoever hangs up before the question is read whole may take its answer with it.
fn answer_to(mut stream: TcpStream, answer: &[u8]) {
    let mut heard = Vec::new();
    let mut piece = [0; 4096];
    while !is_whole(&heard) {
        match stream.read(&mut piece) {
            Ok(read @ 1..) => heard.extend_from_slice(&piece[..read]),
            Ok(0) | Err(_) => break,
        }
    }
    let _ = stream.write_all(answer);
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read(&mut piece);
}

/// A request that is here to its end; a greeting of TLS is one with its first bytes.
fn is_whole(heard: &[u8]) -> bool {
    if heard.first() == Some(&0x16) {
        return true;
    }
    let text = String::from_utf8_lossy(heard);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}

pub fn ask(flags: &[&str]) -> (String, String, Option<i32>) {
    let place = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(PROGRAM);
    command.args(["ask", "go", "--timeout=20"]).args(flags).arg("--workspace").arg(place.path());
    command.arg("--state-dir").arg(place.path().join("state")).stdin(Stdio::null());
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN", "OPENAI_API_KEY"] {
        command.env_remove(name);
    }
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name);
    }
    let output = command.output().expect("the binary runs");
    let text =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*place.path().to_string_lossy(), "PLACE");
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// An answer with this head and this body.
pub fn answer(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

pub const HTML: &str = "<html>no</html>";
const REDIRECT: &str = "302 Found\r\nLocation: https://login.example/";

#[test]
fn what_stands_at_the_address_of_a_model_is_told_with_the_remedy() {
    let said = |message: &str| json!({ "error": { "message": message } }).to_string();
    let cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 900\r\n\r\ndata: {\"choices\":\
        [{\"delta\":{\"content\":\"Hal\"}}]}\n\n";
    let broke = "The connection to the model at PEER broke; ask again.";
    let rows: Vec<(Vec<u8>, &str, &str)> = vec![
        (
            answer("401 Unauthorized", "{}"),
            "",
            "The model at PEER wants a key (HTTP 401) and there is none for it; set the key of the model in your editor, or \
             in the environment variable BREADBOARD_MODEL_TOKEN.",
        ),
        (
            answer("403 Forbidden", HTML),
            "",
            "What stands before the model at PEER does not let us through (HTTP 403); ask whoever runs it, or correct the \
             model's address.",
        ),
        (
            answer("404 Not Found", &said("no such model.")),
            "",
            "There is no model `m` at PEER/v1/ (HTTP 404): no such model; check the model's name and address.",
        ),
        (
            answer("407 Proxy Authentication Required", ""),
            "",
            "The proxy before the model at PEER wants a login (HTTP 407); put it into the proxy's address in the \
             environment, or name the model's host in NO_PROXY.",
        ),
        (
            answer("408 Request Timeout", ""),
            "",
            "The model at PEER did not answer what stands before it in time (HTTP 408); ask again.",
        ),
        (
            answer("413 Content Too Large", HTML),
            "",
            "What was sent is too large for the model at PEER or for what stands before it (HTTP 413); ask for less at a \
             time, or begin a new session.",
        ),
        (
            answer("429 Too Many Requests\r\nRetry-After: 30", &said("slow down.")),
            "",
            "The model at PEER takes no more requests now (HTTP 429): slow down; wait 30 seconds and ask again.",
        ),
        (answer("500 Oops", ""), "", "The model at PEER failed (HTTP 500); ask again."),
        (
            answer("503 Busy", HTML),
            "",
            "The model at PEER takes no more requests now (HTTP 503); wait and ask again.",
        ),
        (
            answer("504 Gateway Timeout", HTML),
            "",
            "The model at PEER did not answer what stands before it in time (HTTP 504); ask again.",
        ),
        (
            answer(REDIRECT, ""),
            "",
            "The model at PEER answered with a redirect (HTTP 302), which is never followed, because a token must not \
             travel; give the model's final address.",
        ),
        (
            answer("200 OK\r\nContent-Type: text/html", HTML),
            "",
            "The answer of the model at PEER could not be read; check that the model's provider fits its address.",
        ),
        (cut.to_vec(), "Hal\n", broke),
        (Vec::new(), "", broke),
        (
            b"SSH-2.0-OpenSSH_9\r\n".to_vec(),
            "",
            "What answers at PEER speaks no HTTP, so it is no model; correct the model's address, which begins with https where \
             it has TLS.",
        ),
    ];
    for (answer, text, sentence) in rows {
        let origin = format!("http://127.0.0.1:{}", peer(answer.clone()));
        let url = format!("--model-url={origin}/v1");
        let (out, err, code) = ask(&["--model=m", "--model-provider=openai", &url]);
        let wanted = (text, format!("error: {sentence}\n"), Some(1));
        assert_eq!((out.as_str(), err.replace(&origin, "PEER"), code), wanted, "{answer:?}");
    }
    let origin = format!("https://127.0.0.1:{}", peer(answer("400 Bad", "")));
    let url = format!("--model-url={origin}/v1");
    let (_, err, _) = ask(&["--model=m", "--model-provider=openai", &url]);
    let sentence = "error: The model at PEER was sent nothing, because what answers there speaks no TLS; check its address: the \
        port, and http in place of https where it has no TLS.\n";
    assert_eq!(err.replace(&origin, "PEER"), sentence);
}

#[test]
fn what_stands_at_the_address_of_an_engine_is_told_with_the_remedy() {
    let cut = "The connection to the BreadBoard engine at PEER broke: the connection was cut before the answer was whole; try \
        again.";
    let rows: Vec<(Vec<u8>, &str)> = vec![
        (
            answer("401 Unauthorized", "{}"),
            "The BreadBoard engine at PEER wants a token; set the engine's token in your editor, or in the environment \
             variable BREADBOARD_API_TOKEN.",
        ),
        (
            answer("403 Forbidden", HTML),
            "What stands before the engine at PEER does not let us through (HTTP 403); ask whoever runs it, or correct the \
             engine's address.",
        ),
        (
            answer("404 Not Found", HTML),
            "What answers at PEER is not a BreadBoard engine: it has no such page (HTTP 404); correct the engine's address.",
        ),
        (
            answer("407 Proxy Authentication Required", ""),
            "The proxy before the engine at PEER wants a login (HTTP 407); put it into the proxy's address in the \
             environment, or name the engine's host in NO_PROXY.",
        ),
        (
            answer("408 Request Timeout", ""),
            "The engine at PEER did not answer what stands before it (HTTP 408); see whether it runs and try again.",
        ),
        (
            answer("413 Content Too Large", ""),
            "What was sent is too large for the engine at PEER or for what stands before it (HTTP 413); send less at a time.",
        ),
        (
            answer("429 Too Many Requests\r\nRetry-After: 30", ""),
            "The engine at PEER is busy; try again in 30 seconds.",
        ),
        (
            answer("500 Oops", ""),
            "The BreadBoard engine at PEER failed inside: it answered 500 without saying why; look into its log and try \
             again.",
        ),
        (answer("503 Busy", HTML), "The engine at PEER is busy; try again in a moment."),
        (
            answer("504 Gateway Timeout", HTML),
            "The engine at PEER did not answer what stands before it (HTTP 504); see whether it runs and try again.",
        ),
        (
            answer(REDIRECT, ""),
            "What answers at PEER sends us elsewhere (HTTP 302), and a token does not travel; give the address at which the \
             engine itself answers.",
        ),
        (
            answer("200 OK\r\nContent-Type: text/html", HTML),
            "What answers at PEER is not a BreadBoard engine: its answer is not the JSON that belongs there; correct the \
             engine's address.",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n".to_vec(), cut),
        (Vec::new(), cut),
        (
            b"SSH-2.0-OpenSSH_9\r\n".to_vec(),
            "What answers at PEER is not a BreadBoard engine: it speaks no HTTP; correct the engine's address, which begins with \
             https where it has TLS.",
        ),
    ];
    for (answer, sentence) in rows {
        let origin = format!("http://127.0.0.1:{}", peer(answer.clone()));
        let (out, err, code) = ask(&["--trust", &format!("--engine-url={origin}")]);
        let wanted = ("", format!("breadboard-ls: {sentence}\n"), Some(1));
        assert_eq!((out.as_str(), err.replace(&origin, "PEER"), code), wanted, "{answer:?}");
    }
    let origin = format!("https://127.0.0.1:{}", peer(answer("400 Bad", "")));
    let (_, err, _) = ask(&["--trust", &format!("--engine-url={origin}")]);
    let sentence = "breadboard-ls: The BreadBoard engine at PEER was sent nothing, because what answers there speaks no TLS; check \
        its address: the port, and http in place of https where it has no TLS.\n";
    assert_eq!(err.replace(&origin, "PEER"), sentence);
}

/// D9 and D10: what an agent says besides its message, the place of its log, and what logs in.
#[cfg(unix)]
#[test]
fn what_an_agent_answers_is_told_with_the_remedy() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("script.json");
    let error = |message: &str, data: Value| json!({ "code": -32603, "message": message, "data": data });
    let failed = |said: &str| {
        format!(
            "error: The agent `breadboard-ls` failed in this turn ({said}, code -32603); try again, or look into its log, \
             PLACE/state/agents/breadboard-ls.log.\n"
        )
    };
    let rows = [
        (
            error("Internal error", json!({ "details": "401 of the provider" })),
            failed("Internal error: 401 of the provider"),
        ),
        (error("Internal error.", json!({ "message": "no quota." })), failed("Internal error: no quota")),
        (error("Internal error", json!("out of memory")), failed("Internal error: out of memory")),
        (error("no quota", json!({ "details": "no quota" })), failed("no quota")),
        (error("no quota", json!({ "other": 1 })), failed("no quota")),
        (
            json!({ "code": -32000, "message": "Authentication required" }),
            "error: The agent `breadboard-ls` wants a login first; it says: Authentication required.\n"
                .to_owned(),
        ),
    ];
    let engine = format!("--engine=acp:'{PROGRAM}' simulate acp --script '{}'", file.display());
    for (error, sentence) in rows {
        std::fs::write(&file, json!([{ "chunk": "Hal" }, { "error": error }]).to_string()).expect("a script");
        let (out, err, code) = ask(&["--trust", &engine]);
        // What is said of an agent before its first turn is no error.
        let (_, err) = err.split_once("is up to its own settings.\n").expect("how it asks is said");
        assert_eq!((out.as_str(), err, code), ("Hal\n", &*sentence, Some(1)), "{error}");
    }
    // A program that is called as a known agent is one.
    let codex = place.path().join("codex-acp");
    std::os::unix::fs::symlink(PROGRAM, &codex).expect("a link");
    std::fs::write(&file, json!({ "agent": { "authRequired": true } }).to_string()).expect("a script");
    let engine = format!("--engine=acp:'{}' simulate acp --script '{}'", codex.display(), file.display());
    let sentence = "breadboard-ls: The agent `codex-acp` wants a login first; log in with `codex login` in a shell, or set \
        OPENAI_API_KEY in the environment.\n";
    assert_eq!(ask(&["--trust", &engine]), (String::new(), sentence.to_owned(), Some(1)));
}
