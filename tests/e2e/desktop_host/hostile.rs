//! What the public source of the protocol lets through, and pages and names that were made to lead here.

use serde_json::{Value, json};

use super::{Host, hello, prompt};
use crate::model::{Model, calls, says};

#[test]
fn a_web_page_and_a_name_that_was_made_to_point_here_reach_neither_route_nor_socket() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let session = host.session();
    let bearer = host.bearer();
    for (name, value) in
        [("origin", "https://evil.example"), ("origin", "null"), ("host", "evil.example:3199")]
    {
        let headers = [("authorization", bearer.as_str()), (name, value)];
        let (status, body) = host.ask_with("get", "/v1/workspaces", None, &headers);
        assert_eq!((status, &body["error"]["code"]), (403, &json!("FORBIDDEN_ORIGIN")), "{name}: {value}");
        assert_eq!(host.connect(&session, &headers).err(), Some(403), "{name}: {value}");
    }
}

#[test]
fn a_body_that_is_too_large_or_no_json_is_refused_and_the_host_goes_on() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let bearer = host.bearer();
    let headers = [("authorization", bearer.as_str())];
    let post = |body: String| host.ask_with("post", "/v1/sessions", Some(body), &headers);
    let (status, refused) = post("x".repeat((1 << 20) + 1));
    assert_eq!((status, &refused["error"]["code"]), (413, &json!("TOO_LARGE")));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for bad in ["", "{", "null", "[]", "\u{0}", r#"{"workspace_id":5}"#, &deep] {
        let (status, refused) = post(bad.to_owned());
        assert_eq!((status, &refused["error"]["code"]), (422, &json!("BAD_MESSAGE")), "{:.20}", bad);
    }
    let (status, refused) = host.ask("patch", "/v1/sessions", None);
    assert_eq!((status, &refused["error"]["code"]), (405, &json!("METHOD_NOT_ALLOWED")));
    let (status, refused) = host.ask("get", "/v1/sessions/%ff/messages", None);
    assert_eq!((status, &refused["error"]["code"]), (404, &json!("NOT_FOUND")));
    let (status, refused) = host.ask("get", "/v1/sessions/x/messages?limit=many", None);
    assert_eq!((status, &refused["error"]["code"]), (422, &json!("BAD_MESSAGE")));
    assert_eq!(host.get("/v1/health")["status"], "healthy");
}

/// The holes of the public source that were proved: a folder beside the workspace by a common beginning of its name, `..`, `.git`
/// behind a dot that is stripped, a link. Here the agent itself asks, as it does there.
#[test]
fn no_path_leads_out_of_the_workspace_by_a_prefix_dots_or_a_link() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let own = host.workspace.path().to_str().expect("text").to_owned();
    let beside = format!("{own}-evil");
    std::fs::create_dir(&beside).expect("a folder");
    std::fs::write(format!("{beside}/secret.txt"), "the secret of another").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&beside, format!("{own}/link")).expect("a link");
    let name = std::path::Path::new(&beside).file_name().expect("a name").to_str().expect("text").to_owned();
    let session = host.session();
    let mut client = host.client(&session, "one");
    for path in
        [format!("../{name}/secret.txt"), format!("{beside}/secret.txt"), "link/secret.txt".to_owned()]
    {
        model.then(calls("read_file", json!({ "file_path": path, "path": path })));
        model.then(says("Read."));
        client.say(&prompt("read it"));
        client.wait("assistant.message_final");
    }
    let all = Value::from(client.heard.clone()).to_string();
    assert!(!all.contains("the secret of another"), "{all}");
    std::fs::remove_dir_all(beside).expect("is removed");
}

#[test]
fn the_token_never_leaves_the_host() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    model.then(says(&format!("I found {} in a file.", host.token)));
    let session = host.session();
    let mut client = host.connect(&session, &[("authorization", &host.bearer())]).expect("connects");
    client.say(&hello("one"));
    client.say(&prompt("what is the token"));
    client.wait("assistant.message_final");
    let all = Value::from(client.heard.clone()).to_string();
    let history = host.get(&format!("/v1/sessions/{session}/messages")).to_string();
    assert!(!all.contains(&host.token) && !history.contains(&host.token), "the token was told");
}
