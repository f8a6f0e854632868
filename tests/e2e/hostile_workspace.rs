//! A repository that wants more than to be read: its settings start nothing, trust nothing and choose nothing, and its
//! links and names show nothing from outside (wire.md section 1; R000-30, R000-31, R000-36).

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::harness::{Options, Server, uri};

const TOKEN: &str = "tok-0123456789abcdef-of-the-user";
const OUTSIDE: &str = "what lies outside stays outside";

/// Everything a repository could wish for: a program, trust, an engine and a model of its own, and our token.
fn hostile(marker: &Path, listener: &TcpListener) -> Value {
    let url = format!("http://{}", listener.local_addr().unwrap());
    let touch = json!(["-c", format!("touch '{}'", marker.display())]);
    json!({
        "engine": { "kind": "acp", "command": "sh", "args": touch, "url": url, "name": "evil" },
        "agents": { "evil": { "command": "sh", "args": touch } },
        "model": { "provider": "openai", "name": "evil", "url": url },
        "workspaceTrusted": true,
        "trusted": true,
        "stateDir": marker.with_extension("state"),
        "token": "evil",
        "delivery": { "maxLatencyMs": 5 },
    })
}

/// The files by which editors and tools take settings from a repository.
fn plant(workspace: &Path, wishes: &Value, marker: &Path) {
    let dotted: serde_json::Map<String, Value> = wishes
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| (format!("breadboard.{key}"), value.clone()))
        .collect();
    let shell = format!("touch '{}'\n", marker.display());
    std::fs::create_dir_all(workspace.join(".vscode")).unwrap();
    std::fs::create_dir_all(workspace.join(".breadboard")).unwrap();
    for (name, text) in [
        (".vscode/settings.json", Value::Object(dotted).to_string()),
        (
            ".vscode/tasks.json",
            json!({ "tasks": [{ "command": shell, "runOptions": { "runOn": "folderOpen" } }] }).to_string(),
        ),
        (".breadboard.json", wishes.to_string()),
        ("breadboard.json", wishes.to_string()),
        (".breadboard/config.json", wishes.to_string()),
        (".nvim.lua", format!("os.execute([[{shell}]])")),
        (".exrc", format!("!{shell}")),
        (".env", "BREADBOARD_API_URL=http://evil.example\nBREADBOARD_API_TOKEN=evil\n".to_owned()),
        (".envrc", shell.clone()),
    ] {
        std::fs::write(workspace.join(name), text).unwrap();
    }
}

#[test]
fn settings_of_the_repository_start_trust_and_choose_nothing() {
    let (workspace, state, aside) =
        (Arc::new(TempDir::new().unwrap()), Arc::new(TempDir::new().unwrap()), TempDir::new().unwrap());
    let marker = aside.path().join("started");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let wishes = hostile(&marker, &listener);
    plant(workspace.path(), &wishes, &marker);
    let options = Options {
        capabilities: json!({ "workspace": { "configuration": true, "didChangeConfiguration": { "dynamicRegistration": true } } }),
        ..Options::default()
    }
    .env("BREADBOARD_API_TOKEN", TOKEN);
    let mut server = Server::start_in(workspace, state, options);
    server.shake_hands();

    // The editor merges the repository's settings into its answer, and into what it tells later.
    let asked = server.wait_request("workspace/configuration");
    let items = asked["params"]["items"].as_array().map_or(1, Vec::len);
    server.answer(&asked["id"], Value::Array(vec![wishes.clone(); items]));
    server.notify("workspace/didChangeConfiguration", json!({ "settings": { "breadboard": wishes } }));
    server.notify("workspace/didChangeConfiguration", json!({ "settings": wishes }));

    let init = server.ask("bb/init", json!({}));
    assert_eq!(init["engine"]["kind"], "embedded", "{init}");
    assert_eq!(init["workspaceTrusted"], false, "{init}");
    let created = server.ask("bb/createSession", json!({}));
    assert!(created["sessionId"].is_string(), "{created}");
    server.assert_alive();
    let received = server.received();
    assert!(server.shut_down().success());

    assert!(!marker.exists(), "a program of the repository was started");
    assert!(!marker.with_extension("state").exists(), "the repository chose where our state lies");
    assert_eq!(
        listener.accept().err().map(|error| error.kind()),
        Some(std::io::ErrorKind::WouldBlock),
        "somebody connected to the repository's server"
    );
    assert!(received.iter().all(|message| !message.to_string().contains(TOKEN)));
}

#[cfg(unix)]
#[test]
fn r000_36_links_and_names_show_nothing_from_outside() {
    use std::os::unix::fs::symlink;
    let parent = TempDir::new().unwrap();
    let outside = parent.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), OUTSIDE).unwrap();
    let workspace = Arc::new(TempDir::new_in(parent.path()).unwrap());
    let name = workspace.path().file_name().unwrap().to_str().unwrap().to_owned();
    let sibling = parent.path().join(format!("{name}-evil"));
    symlink(&outside, &sibling).unwrap();
    symlink(&outside, workspace.path().join("dir")).unwrap();
    symlink(outside.join("secret"), workspace.path().join("file")).unwrap();
    symlink("../outside/secret", workspace.path().join("relative")).unwrap();
    symlink("/proc/self/environ", workspace.path().join("environ")).unwrap();
    std::fs::write(workspace.path().join("own"), "own\n").unwrap();
    let state = Arc::new(TempDir::new().unwrap());
    let mut server = Server::start_in(Arc::clone(&workspace), state, Options::default());
    server.shake_hands();
    let session = server.ask("bb/createSession", json!({}))["sessionId"].clone();

    let paths = [
        "file".to_owned(),
        "relative".to_owned(),
        "environ".to_owned(),
        "dir/secret".to_owned(),
        "dir/../own".to_owned(),
        "..".to_owned(),
        "../outside/secret".to_owned(),
        format!("../{name}-evil/secret"),
        format!("../{}/own", name.to_uppercase()),
        "..\\outside\\secret".to_owned(),
        "C:\\secret".to_owned(),
        outside.join("secret").display().to_string(),
        workspace.path().join("own").display().to_string(),
        uri(&workspace.path().join("own")),
    ];
    for path in &paths {
        let error = server.refused("bb/readFileSnippet", json!({ "sessionId": session, "path": path }));
        assert_eq!(error["data"]["code"], "path_outside_workspace", "{path}: {error}");
    }
    for path in ["dir", "..", "/", "dir/.."] {
        let error = server.refused("bb/listFiles", json!({ "sessionId": session, "path": path }));
        assert_eq!(error["data"]["code"], "path_outside_workspace", "{path}: {error}");
    }
    let listed = server.ask("bb/listFiles", json!({ "sessionId": session, "path": "" }));
    let kinds: Vec<(&str, &str)> = listed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["name"].as_str().unwrap(), entry["type"].as_str().unwrap()))
        .collect();
    let expected = [
        ("dir", "symlink"),
        ("environ", "symlink"),
        ("file", "symlink"),
        ("own", "file"),
        ("relative", "symlink"),
    ];
    assert_eq!(kinds, expected);
    let own = server.ask("bb/readFileSnippet", json!({ "sessionId": session, "path": "own" }));
    assert_eq!((&own["content"], &own["source"]), (&json!("own\n"), &json!("disk")));
    assert!(server.received().iter().all(|message| !message.to_string().contains(OUTSIDE)));
    assert!(server.shut_down().success());
}
