//! Pairing: the code in the host's terminal, traded for its token by the real program.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use serde_json::json;

use super::Host;
use crate::breadboard_desk::until;
use crate::model::Model;

/// A host that shows its code, and the code.
fn host() -> (Host, String) {
    let place = || Arc::new(tempfile::tempdir().expect("a folder"));
    let host = Host::with(place(), place(), &["--pair".to_owned()]);
    let code = until("a code", || {
        let said = host.said.lock().expect("what it says");
        let line = said
            .iter()
            .find_map(|line| line.split_once("Pairing code: ").map(|(_, rest)| rest.to_owned()))?;
        line.split_once(' ').map(|(code, _)| code.to_owned())
    });
    (host, code)
}

fn pair(host: &Host, words: &[&str], code: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
        .arg("pair")
        .args(words)
        .arg(&host.url)
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(format!("{code}\n").as_bytes()).expect("is typed");
    drop(stdin);
    child.wait_with_output().expect("ends")
}

#[test]
fn i14_7_a_code_is_traded_once_for_the_token_which_is_printed_or_kept_for_its_owner_alone() {
    let (host, code) = host();
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("kept").join("token");
    let wrong = pair(&host, &[], "AAAA-AAAA");
    assert_eq!(wrong.status.code(), Some(1));
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("does not take this code"), "{said}");
    let kept = pair(&host, &["--token-file", file.to_str().expect("text")], &code.to_lowercase());
    assert!(kept.status.success(), "{}", String::from_utf8_lossy(&kept.stderr));
    assert_eq!(String::from_utf8_lossy(&kept.stdout), "");
    assert_eq!(std::fs::read_to_string(&file).expect("a token").trim(), host.token);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(std::fs::metadata(&file).expect("a file").mode() & 0o777, 0o600);
    }
    assert!(!pair(&host, &[], &code).status.success(), "a second time");
    // Whoever sits at the host reads that it was used, and what the host does: this one was started without a word.
    for line in ["A client typed the pairing code", "No workspace is trusted", "No model is chosen"] {
        until(line, || {
            let said = host.said.lock().expect("what it says");
            said.iter().any(|said| said.contains(line)).then_some(())
        });
    }
}

#[test]
fn a_host_with_a_model_and_trust_says_neither_that_one_is_missing() {
    let model = Model::start(vec![]);
    let host = Host::of(&model);
    // Behind everything that it says at its start.
    host.get("/v1/workspaces");
    let said = until("that it is trusted", || {
        let said = host.said.lock().expect("what it says").clone();
        said.iter().any(|line| line.contains("Every workspace is trusted")).then_some(said)
    });
    assert!(said.iter().all(|line| !line.contains("No model") && !line.contains("No workspace")), "{said:?}");
}

#[test]
fn i14_7_no_page_and_nobody_who_guesses_is_paired() {
    let (host, code) = host();
    let body = json!({ "code": code }).to_string();
    let (status, _) =
        host.ask_with("post", "/v1/pair", Some(body.clone()), &[("origin", "https://evil.example")]);
    assert_eq!(status, 403);
    for guess in ["{}", "no JSON", r#"{"code":""}"#, r#"{"code":"AAAA-AAAA"}"#] {
        let (status, answer) = host.ask_with("post", "/v1/pair", Some(guess.to_owned()), &[]);
        assert_eq!((status, &answer["error"]["code"]), (401, &json!("UNAUTHORIZED")), "{guess}");
    }
    let (status, paired) = host.ask_with("post", "/v1/pair", Some(body), &[]);
    assert_eq!((status, &paired["token"]), (200, &json!(host.token)));
    let (status, _) = host.ask_with("post", "/v1/pair", Some("{}".to_owned()), &[]);
    assert_eq!(status, 429);
}
