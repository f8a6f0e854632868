//! The contract on disk: `schemas/` is what the code says, and schema and decoder agree on every example.
//!
//! `BREADBOARD_UPDATE=1` rewrites `schemas/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::domain::dialect::breadboard::schema::{Field, Holds, SHAPES, SentBy};
use breadboard_ls::testing::domain::dialect::{Dialect, fact, normalize};
use breadboard_ls::testing::domain::event::EngineEvent;
use breadboard_ls::testing::domain::view::ViewState;
use breadboard_ls::testing::protocol::envelope::{self, Opened};
use breadboard_ls::testing::protocol::error::number;
use breadboard_ls::testing::protocol::method::{REQUESTS, announced_methods};
use breadboard_ls::testing::protocol::server_message::NOTIFICATIONS;
use breadboard_ls::testing::protocol::{Request, document, schema};
use jsonschema::Validator;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

fn on_disk(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            on_disk(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name);
        }
    }
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap();
    text.push('\n');
    text
}

#[test]
fn the_schemas_on_disk_are_what_the_code_says() {
    let files = schema::files();
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        let _ = fs::remove_dir_all(folder());
        for (name, file) in &files {
            let path = folder().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, pretty(file)).unwrap();
        }
        return;
    }
    let mut stale: Vec<String> = Vec::new();
    for (name, file) in &files {
        match fs::read_to_string(folder().join(name)) {
            Ok(text) if text == pretty(file) => {}
            Ok(_) => stale.push(format!("{name}: differs")),
            Err(_) => stale.push(format!("{name}: is missing")),
        }
    }
    let mut found = BTreeSet::new();
    on_disk(&folder(), "", &mut found);
    stale.extend(
        found.iter().filter(|name| !files.contains_key(*name)).map(|name| format!("{name}: is left over")),
    );
    assert!(
        stale.is_empty(),
        "schemas/ is not what src/core/protocol says. If the change is meant, run\n  BREADBOARD_UPDATE=1 cargo test --test schemas\n\
         and read the difference.\n{}",
        stale.join("\n")
    );
}

#[test]
fn protocol_md_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("PROTOCOL.md");
    let text = document::document();
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let differs = text.lines().zip(found.lines()).position(|(wanted, found)| wanted != found);
    assert!(
        found == text,
        "PROTOCOL.md is not what src/core/protocol says (first at line {:?}). If the change is meant, run\n  \
         BREADBOARD_UPDATE=1 cargo test --test schemas\nand read the difference.",
        differs.map(|at| at + 1)
    );
}

#[test]
fn protocol_md_names_every_method_error_and_link() {
    let text = document::document();
    for method in announced_methods().iter().chain(NOTIFICATIONS).chain(&["bb/terminal/run"]) {
        assert!(text.contains(&format!("\n### `{method}`\n")), "{method}");
    }
    for command in ["set_mode", "set_model", "set_config_option", "authenticate", "logout"] {
        assert!(text.contains(&format!("\n| `{command}` | ")), "{command}");
    }
    for bound in ["at most 256 messages or 1 MiB", "At most 128 tabs"] {
        assert!(text.contains(bound), "{bound}");
    }
    assert!(!text.contains("{commands}") && !text.contains("{tabs}"), "each place has its words");
    let headings: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(|heading| heading.to_lowercase())
        .collect();
    for link in text.split("](#").skip(1) {
        let target = link.split(')').next().unwrap();
        assert!(target == "types" || headings.contains(target), "a link to #{target} leads nowhere");
    }
    assert!(text.contains("| `untrusted_workspace` | -32803 | The workspace must be trusted first. |"));
}

/// A validator of what stands at `at` in a schema file.
fn validator(file: &Value, at: &str) -> Validator {
    let mut part = file.pointer(at).unwrap_or_else(|| panic!("no {at} in {}", file["title"])).clone();
    part["$schema"] = file["$schema"].clone();
    if let Some(definitions) = file.get("$defs") {
        part["$defs"] = definitions.clone();
    }
    jsonschema::validator_for(&part).unwrap()
}

fn validator_of(name: &str) -> Validator {
    jsonschema::validator_for(&schema::files()[name]).unwrap()
}

#[test]
fn a_request_of_the_server_has_a_schema_of_what_it_sends_and_of_the_answer() {
    let file = &schema::files()["bb.terminal.run.json"];
    assert_eq!(file["direction"], "request, server to editor");
    let (params, result) = (validator(file, "/properties/params"), validator(file, "/properties/result"));
    assert!(params.is_valid(&json!({ "command": "make \"a b\" && ls", "args": [], "cwd": "src" })));
    let ran = json!({ "exitCode": 7, "stdout": "out", "stderr": "", "durationMs": 5.5 });
    assert!(result.is_valid(&ran));
    for field in ["exitCode", "stdout", "stderr", "durationMs"] {
        let mut fewer = ran.clone();
        fewer.as_object_mut().unwrap().remove(field);
        assert!(!result.is_valid(&fewer), "{field}");
    }
    assert!(!result.is_valid(&json!({ "exitCode": 7, "stdout": "", "stderr": "", "durationMs": -1 })));
    assert!(!params.is_valid(&json!({ "command": "make", "cwd": "." })));
}

/// Examples of the params of every request: those that fit, then those that do not.
fn requests() -> BTreeMap<&'static str, (Vec<Value>, Vec<Value>)> {
    let session_only = || {
        (
            vec![
                json!({"sessionId": "s"}),
                json!({"sessionId": "s", "extra": [1]}),
                json!({"sessionId": ""}),
            ],
            vec![
                json!({}),
                json!({"sessionId": 1}),
                json!({"sessionId": null}),
                json!({"session_id": "s"}),
                json!(["s"]),
                json!("s"),
            ],
        )
    };
    let tab_only = || {
        (
            vec![json!({"tabId": "t"}), json!({"tabId": "t", "extra": 1})],
            vec![json!({}), json!({"tabId": 1}), json!({"tabId": null}), json!(["t"])],
        )
    };
    let none = || (vec![json!({}), json!({"extra": 1})], vec![json!([]), json!("x"), json!(1)]);
    let queue = || {
        (
            vec![
                json!({"sessionId": "s"}),
                json!({"sessionId": "s", "messageId": "m", "text": "t", "before": "b"}),
                json!({"sessionId": "s", "messageId": null, "before": null}),
                json!({"tabId": "t"}),
                json!({"tabId": "t", "sessionId": null}),
            ],
            vec![
                json!({}),
                json!({"tabId": null}),
                json!({"tabId": 1}),
                json!({"sessionId": "s", "messageId": 1}),
                json!({"sessionId": "s", "text": {}}),
            ],
        )
    };
    BTreeMap::from([
        (
            "bb/init",
            (
                vec![
                    json!({}),
                    json!({"subscribe": {"events": true, "view": false, "tabs": null, "maxLatencyMs": 0}}),
                    json!({"lastSeen": {"epoch": "e", "sessions": {"s": 12}}}),
                    json!({"lastSeen": {"epoch": "e"}, "subscribe": null}),
                ],
                vec![
                    json!({"subscribe": true}),
                    json!({"subscribe": [true]}),
                    json!({"subscribe": {"events": "yes"}}),
                    json!({"lastSeen": {}}),
                    json!({"lastSeen": {"epoch": "e", "sessions": {"s": -1}}}),
                    json!({"lastSeen": ["e"]}),
                    json!({"subscribe": {"maxLatencyMs": 1.5}}),
                ],
            ),
        ),
        (
            "bb/createSession",
            (
                vec![
                    json!({}),
                    json!({"configPath": "c", "task": "t", "model": "m", "permissionMode": "p", "more": {}}),
                    json!({"task": null}),
                ],
                vec![json!({"task": 1}), json!({"configPath": ["c"]}), json!({"model": {}}), json!([])],
            ),
        ),
        ("bb/listSessions", none()),
        ("bb/selectSession", session_only()),
        ("bb/deleteSession", session_only()),
        (
            "bb/sendMessage",
            (
                vec![
                    json!({"sessionId": "s", "text": "t"}),
                    json!({"sessionId": "s", "text": "t", "attachmentIds": ["a"], "messageId": "m"}),
                    json!({"sessionId": "s", "text": "t", "attachmentIds": []}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"text": "t"}),
                    json!({"sessionId": "s", "text": 1}),
                    json!({"sessionId": "s", "text": "t", "attachmentIds": "a"}),
                    json!({"sessionId": "s", "text": "t", "attachmentIds": [1]}),
                    json!({"sessionId": "s", "text": "t", "messageId": 7}),
                ],
            ),
        ),
        ("bb/stop", session_only()),
        ("bb/rebuild", session_only()),
        ("bb/createSpec/ready", none()),
        ("bb/createSpec/discard", none()),
        (
            "bb/createSpec/autosave",
            (
                vec![json!({"description": "d"}), json!({"description": "", "more": 1})],
                vec![json!({}), json!({"description": null}), json!({"description": 1}), json!("d")],
            ),
        ),
        (
            "bb/createSpec/submit",
            (
                vec![
                    json!({"description": "d", "imageUris": []}),
                    json!({"description": "d", "imageUris": ["file:///a.png"], "sessionId": "s", "messageId": "m"}),
                    json!({"description": "d", "imageUris": [], "tabId": "t", "sessionId": null}),
                ],
                vec![
                    json!({"description": "d"}),
                    json!({"imageUris": []}),
                    json!({"description": "d", "imageUris": "file:///a.png"}),
                    json!({"description": "d", "imageUris": [1]}),
                    json!({"description": "d", "imageUris": [], "sessionId": 1}),
                ],
            ),
        ),
        (
            "bb/createSpec/closeAttempt",
            (
                vec![json!({"hasDirtyChanges": true}), json!({"hasDirtyChanges": false, "description": "d"})],
                vec![
                    json!({}),
                    json!({"hasDirtyChanges": "no"}),
                    json!({"hasDirtyChanges": true, "description": 1}),
                ],
            ),
        ),
        (
            "bb/createSpec/importMarkdown",
            (
                vec![json!({"uri": "file:///a.md"})],
                vec![json!({}), json!({"uri": null}), json!({"uri": ["a"]})],
            ),
        ),
        (
            "bb/createSpec/attachImages",
            (
                vec![
                    json!({"uris": ["file:///a.png"], "currentCount": 0}),
                    json!({"uris": [], "currentCount": 6, "currentUris": ["file:///a.png"]}),
                    json!({"uris": [], "currentCount": 5.0, "currentUris": null}),
                ],
                vec![
                    json!({"uris": []}),
                    json!({"currentCount": 0}),
                    json!({"uris": [], "currentCount": -1}),
                    json!({"uris": [], "currentCount": 1.5}),
                    json!({"uris": "file:///a.png", "currentCount": 0}),
                    json!({"uris": [], "currentCount": 0, "currentUris": "file:///a.png"}),
                ],
            ),
        ),
        (
            "bb/permission/list",
            (
                vec![json!({}), json!({"sessionId": "s"}), json!({"tabId": "t", "more": 1})],
                vec![json!({"sessionId": 1}), json!({"tabId": ["t"]})],
            ),
        ),
        (
            "bb/permission/get",
            (
                vec![json!({"sessionId": "s", "requestId": "r"}), json!({"tabId": "t", "requestId": "r"})],
                vec![
                    json!({"requestId": "r"}),
                    json!({"sessionId": null, "tabId": null, "requestId": "r"}),
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "requestId": 1}),
                ],
            ),
        ),
        (
            "bb/permission/revoke",
            (
                vec![json!({"ruleId": "rule-1"})],
                vec![json!({}), json!({"ruleId": 1}), json!({"ruleId": null})],
            ),
        ),
        (
            "bb/command",
            (
                vec![
                    json!({"sessionId": "s", "command": "list_checkpoints"}),
                    json!({"sessionId": "s", "command": "set_model", "args": {"model": "m", "more": [1]}}),
                    json!({"sessionId": "s", "command": "stop", "args": null}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"command": "stop"}),
                    json!({"sessionId": "s", "command": 1}),
                    json!({"sessionId": "s", "command": "stop", "args": ["m"]}),
                    json!({"sessionId": "s", "command": "stop", "args": "m"}),
                ],
            ),
        ),
        (
            "bb/context/preview",
            (
                vec![
                    json!({}),
                    json!({"sessionId": "s", "text": "@a", "context": {"exclude": ["git"], "include": ["diff"]}}),
                ],
                vec![json!({"text": 1}), json!({"context": {"exclude": "git"}})],
            ),
        ),
        (
            "bb/patch/list",
            (
                vec![json!({"sessionId": "s"}), json!({"tabId": "t"})],
                vec![json!({}), json!({"sessionId": null}), json!({"sessionId": 1})],
            ),
        ),
        (
            "bb/patch/get",
            (
                vec![json!({"patchId": "p"}), json!({"patchId": "p", "sessionId": "s", "tabId": null})],
                vec![json!({}), json!({"patchId": 1}), json!({"patchId": "p", "sessionId": 1})],
            ),
        ),
        (
            "bb/patch/decide",
            (
                vec![
                    json!({"patchId": "p", "scope": "all"}),
                    json!({"patchId": "p", "scope": "file", "filePath": "a", "root": "w", "accepted": false}),
                    json!({"patchId": "p", "scope": "hunk", "digest": "d",
                        "hunks": [{"id": "h", "accepted": true}, {"id": "i", "accepted": false, "reason": "r"}]}),
                ],
                vec![
                    json!({"patchId": "p"}),
                    json!({"scope": "all"}),
                    json!({"patchId": "p", "scope": "some"}),
                    json!({"patchId": "p", "scope": "hunk", "hunks": [{"id": "h"}]}),
                    json!({"patchId": "p", "scope": "all", "accepted": "yes"}),
                ],
            ),
        ),
        (
            "bb/patch/revert",
            (
                vec![
                    json!({"patchId": "p"}),
                    json!({"patchId": "p", "sessionId": "s", "filePath": "a", "root": "w"}),
                ],
                vec![json!({}), json!({"patchId": "p", "filePath": 1})],
            ),
        ),
        (
            "bb/turn/list",
            (
                vec![json!({"sessionId": "s"}), json!({"tabId": "t", "limit": 5})],
                vec![json!({}), json!({"sessionId": 1}), json!({"sessionId": "s", "limit": -1})],
            ),
        ),
        (
            "bb/turn/changes",
            (
                vec![
                    json!({"sessionId": "s"}),
                    json!({"tabId": "t", "turn": 3, "filePath": "a", "root": "w"}),
                ],
                vec![
                    json!({}),
                    json!({"sessionId": "s", "turn": "3"}),
                    json!({"sessionId": "s", "filePath": 1}),
                ],
            ),
        ),
        (
            "bb/turn/revert",
            (
                vec![
                    json!({"sessionId": "s", "turn": 3}),
                    json!({"tabId": "t", "turn": 3, "filePath": "a", "root": "w", "hunks": ["h"], "preview": true}),
                ],
                vec![
                    json!({"turn": 3}),
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "turn": 3, "hunks": "h"}),
                    json!({"sessionId": "s", "turn": 3, "preview": "yes"}),
                ],
            ),
        ),
        (
            "bb/turn/review",
            (
                vec![
                    json!({"sessionId": "s", "turn": 3, "mark": "kept"}),
                    json!({"tabId": "t", "turn": 3, "filePath": "a", "hunks": ["h"], "mark": "reviewed"}),
                ],
                vec![
                    json!({"sessionId": "s", "turn": 3}),
                    json!({"sessionId": "s", "turn": 3, "mark": "liked"}),
                ],
            ),
        ),
        ("bb/queue/list", queue()),
        ("bb/queue/edit", queue()),
        ("bb/queue/move", queue()),
        ("bb/queue/remove", queue()),
        ("bb/queue/resume", queue()),
        (
            "bb/approvePermission",
            (
                vec![
                    json!({"sessionId": "s", "requestId": "r", "decision": "allow_once"}),
                    json!({"tabId": "t", "requestId": "r", "decision": "deny", "optionId": "o", "digest": "d"}),
                    json!({"sessionId": "s", "requestId": "r", "decision": "allow_rule",
                        "ruleUpdate": {"pattern": "p", "scope": "workspace"}}),
                    json!({"sessionId": "s", "tabId": null, "requestId": "r", "decision": "allow_rule", "ruleUpdate": {"any": 1}}),
                ],
                vec![
                    json!({"requestId": "r", "decision": "deny"}),
                    json!({"sessionId": null, "requestId": "r", "decision": "deny"}),
                    json!({"sessionId": "s", "decision": "deny"}),
                    json!({"sessionId": "s", "requestId": "r"}),
                    json!({"sessionId": "s", "requestId": "r", "decision": "allow"}),
                    json!({"sessionId": "s", "requestId": "r", "decision": "ALLOW_ONCE"}),
                    json!({"sessionId": "s", "requestId": "r", "decision": null}),
                    json!({"sessionId": "s", "requestId": "r", "decision": {"deny": null}}),
                    json!({"sessionId": "s", "requestId": "r", "decision": "deny", "ruleUpdate": {"scope": "world"}}),
                    json!({"sessionId": "s", "requestId": "r", "decision": "deny", "ruleUpdate": ["p", "session"]}),
                ],
            ),
        ),
        (
            "bb/findFiles",
            (
                vec![json!({"query": ""}), json!({"query": "lib", "limit": 9})],
                vec![json!({}), json!({"query": 1}), json!({"query": "a", "limit": -1})],
            ),
        ),
        (
            "bb/listFiles",
            (
                vec![
                    json!({"sessionId": "s", "path": ""}),
                    json!({"sessionId": "s", "path": "src", "root": "r", "gitignore": true}),
                    json!({"tabId": "t", "path": "src"}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"path": "src"}),
                    json!({"sessionId": "s", "path": null}),
                    json!({"sessionId": "s", "path": "src", "gitignore": "yes"}),
                ],
            ),
        ),
        (
            "bb/openDiff",
            (
                vec![
                    json!({"sessionId": "s", "filePath": "a"}),
                    json!({"sessionId": "s", "filePath": "a", "root": "r", "beforeRef": "git:HEAD", "afterRef": "patch:p"}),
                    json!({"sessionId": "s", "filePath": "a", "root": null, "beforeRef": null, "afterRef": null}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"filePath": "a"}),
                    json!({"sessionId": "s", "filePath": 1}),
                    json!({"sessionId": "s", "filePath": "a", "beforeRef": 1}),
                    json!({"sessionId": "s", "filePath": "a", "afterRef": ["disk"]}),
                ],
            ),
        ),
        (
            "bb/textDocument",
            (
                vec![json!({"uri": "bb-diff:/s/~/disk/a"}), json!({"uri": "", "more": 1})],
                vec![json!({}), json!({"uri": null}), json!({"uri": 1}), json!(["bb-diff:"])],
            ),
        ),
        (
            "bb/downloadArtifact",
            (
                vec![
                    json!({"sessionId": "s", "artifactPath": "a"}),
                    json!({"sessionId": "s", "artifactPath": "a", "workDoneToken": "t"}),
                    json!({"sessionId": "s", "artifactPath": "a", "workDoneToken": 7}),
                    json!({"sessionId": "s", "artifactPath": "a", "workDoneToken": null}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"artifactPath": "a"}),
                    json!({"sessionId": "s", "artifactPath": ["a"]}),
                    json!({"sessionId": 1, "artifactPath": "a"}),
                ],
            ),
        ),
        (
            "bb/readFileSnippet",
            (
                vec![
                    json!({"sessionId": "s", "path": "a"}),
                    json!({"sessionId": "s", "path": "a", "maxBytes": 10, "headLines": 0, "tailLines": 5}),
                    json!({"sessionId": "s", "path": "a", "maxBytes": 4096.0}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "path": "a", "maxBytes": -1}),
                    json!({"sessionId": "s", "path": "a", "maxBytes": "10"}),
                    json!({"sessionId": "s", "path": "a", "headLines": 1.5}),
                    json!({"sessionId": "s", "path": "a", "tailLines": [1]}),
                ],
            ),
        ),
        (
            "bb/events/read",
            (
                vec![
                    json!({"sessionId": "s", "fromSeq": 1}),
                    json!({"sessionId": "s", "fromSeq": 0, "limit": 10}),
                    json!({"sessionId": "s", "fromSeq": 1e16, "limit": u64::MAX}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "fromSeq": "1"}),
                    json!({"sessionId": "s", "fromSeq": -1}),
                    json!({"sessionId": "s", "fromSeq": 1e30}),
                    json!({"fromSeq": 1}),
                    json!({"sessionId": "s", "fromSeq": 1, "limit": true}),
                ],
            ),
        ),
        (
            "bb/eventBody",
            (vec![json!({"sessionId": "s", "seq": 3})], vec![json!({"sessionId": "s"}), json!({"seq": 3})]),
        ),
        (
            "bb/view/page",
            (
                vec![
                    json!({"sessionId": "s", "lane": "chat"}),
                    json!({"sessionId": "s", "lane": "debug", "before": "a-1-0", "limit": 20}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "lane": "files"}),
                    json!({"sessionId": "s", "lane": {"chat": null}}),
                    json!({"sessionId": "s", "lane": "chat", "before": 4}),
                ],
            ),
        ),
        (
            "bb/attachment/put",
            (
                vec![
                    json!({"sessionId": "s", "name": "n", "uri": "file:///a"}),
                    json!({"sessionId": "s", "name": "n", "base64": "YQ==", "mime": "text/plain"}),
                ],
                vec![
                    json!({"sessionId": "s", "uri": "file:///a"}),
                    json!({"name": "n"}),
                    json!({"sessionId": "s", "name": "n", "base64": [1]}),
                ],
            ),
        ),
        (
            "bb/tab/open",
            (
                vec![
                    json!({"tabId": "t"}),
                    json!({"tabId": "t", "agent": "a", "sessionId": null}),
                    json!({"tabId": "t", "sessionId": "s", "more": 1}),
                ],
                vec![json!({}), json!({"tabId": 1}), json!({"tabId": "t", "agent": 1}), json!(["t"])],
            ),
        ),
        (
            "bb/tab/prompt",
            (
                vec![
                    json!({"tabId": "t", "messageId": "m", "text": "x"}),
                    json!({"tabId": "t", "messageId": "m", "text": "x", "attachmentIds": ["a"]}),
                ],
                vec![
                    json!({"tabId": "t", "text": "x"}),
                    json!({"messageId": "m", "text": "x"}),
                    json!({"tabId": "t", "messageId": "m"}),
                    json!({"tabId": "t", "messageId": "m", "text": "x", "attachmentIds": "a"}),
                ],
            ),
        ),
        ("bb/tab/stop", tab_only()),
        ("bb/tab/close", tab_only()),
        (
            "bb/tab/visibility",
            (
                vec![json!({"tabId": "t", "visible": true})],
                vec![
                    json!({"tabId": "t"}),
                    json!({"tabId": "t", "visible": "yes"}),
                    json!({"visible": true}),
                ],
            ),
        ),
        (
            "bb/tab/detach",
            (
                vec![json!({"tabIds": []}), json!({"tabIds": ["t"]})],
                vec![json!({}), json!({"tabIds": "t"}), json!({"tabIds": [1]})],
            ),
        ),
        (
            "bb/tab/attach",
            (
                vec![
                    json!({"tabs": []}),
                    json!({"tabs": [{"tabId": "t"}, {"tabId": "u", "epoch": "e", "lastSeenIndex": 0}]}),
                    json!({"tabs": [{"tabId": "t", "epoch": null, "lastSeenIndex": null}]}),
                ],
                vec![
                    json!({}),
                    json!({"tabs": [{}]}),
                    json!({"tabs": [{"tabId": "t", "lastSeenIndex": -1}]}),
                    json!({"tabs": [{"tabId": "t", "epoch": 1}]}),
                ],
            ),
        ),
        (
            "bb/tab/ack",
            (
                vec![json!({"tabId": "t", "index": 0})],
                vec![json!({"tabId": "t"}), json!({"index": 1}), json!({"tabId": "t", "index": "1"})],
            ),
        ),
        (
            "bb/agent/restart",
            (
                vec![json!({}), json!({"agent": "a"}), json!({"agent": null})],
                vec![json!({"agent": 1}), json!(["a"])],
            ),
        ),
        (
            "bb/session/info",
            (
                vec![json!({"sessionId": "s"}), json!({"tabId": "t"})],
                vec![json!({}), json!({"tabId": 1}), json!({"sessionId": null})],
            ),
        ),
        (
            "bb/approvals/set",
            (
                vec![json!({}), json!({"mode": "reads"}), json!({"runner": "server_runner", "mode": null})],
                vec![json!({"mode": "all"}), json!({"runner": "docker"}), json!({"mode": 1})],
            ),
        ),
        ("bb/models/list", none()),
        (
            "bb/models/set",
            (
                vec![
                    json!({"name": "m"}),
                    json!({"name": "m", "provider": "openai", "url": "http://localhost:1"}),
                ],
                vec![json!({}), json!({"name": null}), json!({"name": "m", "provider": 1})],
            ),
        ),
        (
            "bb/session/rename",
            (
                vec![json!({"sessionId": "s", "title": "t"})],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"title": "t"}),
                    json!({"sessionId": "s", "title": null}),
                ],
            ),
        ),
        (
            "bb/session/pin",
            (
                vec![json!({"sessionId": "s", "pinned": true})],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"pinned": true}),
                    json!({"sessionId": "s", "pinned": "yes"}),
                ],
            ),
        ),
        (
            "bb/session/branch",
            (
                vec![
                    json!({"sessionId": "s"}),
                    json!({"sessionId": "s", "before": "u-1", "engine": "current", "agent": null}),
                ],
                vec![
                    json!({}),
                    json!({"sessionId": "s", "engine": "other"}),
                    json!({"sessionId": "s", "before": 1}),
                ],
            ),
        ),
        ("bb/models/providers", none()),
        (
            "bb/models/check",
            (
                vec![
                    json!({"provider": "ollama"}),
                    json!({"provider": "openai", "name": "m", "url": "http://localhost:1", "token": "t"}),
                ],
                vec![json!({}), json!({"provider": null}), json!({"provider": "openai", "token": 1})],
            ),
        ),
        (
            "bb/mcp/list",
            (
                vec![json!({}), json!({"sessionId": "s"}), json!({"sessionId": null})],
                vec![json!({"sessionId": 1})],
            ),
        ),
        (
            "bb/mcp/restart",
            (
                vec![json!({"server": "docs"}), json!({"server": "docs", "sessionId": "s"})],
                vec![json!({}), json!({"server": null}), json!({"server": "docs", "sessionId": 1})],
            ),
        ),
        (
            "bb/mcp/set",
            (
                vec![
                    json!({"sessionId": "s", "mcpServers": {}}),
                    json!({"sessionId": "s", "mcpServers": {"docs": {"command": "docs", "args": ["-x"], "env": {"A": "b"}},
                        "web": {"type": "http", "url": "https://h", "headers": {"A": "b"}, "disabled": true}}}),
                ],
                vec![
                    json!({"sessionId": "s"}),
                    json!({"mcpServers": {}}),
                    json!({"sessionId": "s", "mcpServers": {"docs": {"command": 1}}}),
                ],
            ),
        ),
        (
            "bb/mcp/allow",
            (
                vec![json!({"server": "docs", "digest": "sha256:0"})],
                vec![json!({"server": "docs"}), json!({"digest": "sha256:0"})],
            ),
        ),
        (
            "bb/setCredentials",
            (
                vec![
                    json!({"scope": "engine", "token": "t-123456"}),
                    json!({"scope": "model", "token": null}),
                    json!({"scope": "model"}),
                ],
                vec![
                    json!({"token": "t"}),
                    json!({"scope": "all", "token": "t"}),
                    json!({"scope": "engine", "token": 1}),
                ],
            ),
        ),
    ])
}

#[test]
fn r000_04_20_to_26_28_to_31_34_35_59_69_74_schema_and_decoder_agree_on_every_example_of_every_request() {
    let files = schema::files();
    let examples = requests();
    for method in REQUESTS {
        let (good, bad) =
            examples.get(method).unwrap_or_else(|| panic!("give {method} examples, good and bad"));
        let validator = validator(&files[&schema::file_name(method)], "/properties/params");
        for params in good {
            assert!(validator.is_valid(params), "{method}: the schema refuses {params}");
            let read = Request::parse(method, params.clone());
            assert_eq!(
                read.as_ref().map(Request::method),
                Ok(*method),
                "{method}: the decoder refuses {params}"
            );
        }
        for params in bad {
            assert!(!validator.is_valid(params), "{method}: the schema takes {params}");
            let refused =
                Request::parse(method, params.clone()).expect_err(&format!("{method} takes {params}"));
            assert_eq!(refused.code, ErrorCode::InvalidParams, "{method} {params}");
            assert!(refused.message.contains(method), "{}", refused.message);
        }
    }
    let unknown: Vec<_> = examples.keys().filter(|method| !REQUESTS.contains(method)).collect();
    assert!(unknown.is_empty(), "examples of methods that are gone: {unknown:?}");
}

#[test]
fn r000_21_absent_params_are_an_empty_object() {
    assert!(matches!(Request::parse("bb/createSession", Value::Null), Ok(Request::CreateSession(_))));
    assert!(matches!(Request::parse("bb/init", Value::Null), Ok(Request::Init(_))));
    let refused = Request::parse("bb/stop", Value::Null).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidParams);
}

#[test]
fn r000_75_an_unknown_method_is_refused_by_name() {
    for method in ["bb/nope", "bb.init", "bb/init/", "", "BB/INIT"] {
        let refused = Request::parse(method, json!({})).unwrap_err();
        assert_eq!((refused.code, number(refused.code)), (ErrorCode::UnknownMethod, -32601), "{method}");
    }
}

/// Wrong in one way each; those without a usable id come last.
fn bad_envelopes() -> Vec<Value> {
    vec![
        json!({"v": 2, "kind": "req", "id": "1", "method": "bb.init"}),
        json!({"v": "1", "kind": "req", "id": "1", "method": "bb.init"}),
        json!({"kind": "req", "id": "1", "method": "bb.init"}),
        json!({"v": 1, "kind": "res", "id": "1", "method": "bb.init"}),
        json!({"v": 1, "id": "1", "method": "bb.init"}),
        json!({"v": 1, "kind": "req", "id": "1"}),
        json!({"v": 1, "kind": "req", "id": "1", "method": 5}),
        json!({"v": 1, "kind": "req", "id": 1, "method": "bb.init"}),
        json!({"v": 1, "kind": "req", "method": "bb.init"}),
        json!({"v": 1, "kind": "req", "id": null, "method": "bb.init"}),
        json!([1, "req", "1", "bb.init"]),
        json!("bb.init"),
    ]
}

#[test]
fn r000_09_14_19_envelope_requests_are_read_as_their_schema_says() {
    let validator = validator_of("RpcReq.json");
    for envelope in [
        json!({"v": 1, "kind": "req", "id": "1", "method": "bb.init"}),
        json!({"v": 1.0, "kind": "req", "id": "", "method": "bb.queue.list", "params": {"sessionId": "s"}, "more": 1}),
        json!({"v": 1, "kind": "req", "id": "1", "method": "bb.init", "params": null}),
    ] {
        assert!(validator.is_valid(&envelope), "{envelope}");
        let opened = envelope::open(&envelope);
        let Opened::Request { id, method, params } = opened else { panic!("{envelope} is {opened:?}") };
        assert_eq!(Some(id.as_str()), envelope["id"].as_str());
        assert_eq!(method.replace('/', "."), envelope["method"].as_str().unwrap());
        assert!(params.is_object());
    }
    let responses = validator_of("RpcRes.json");
    for envelope in bad_envelopes() {
        assert!(!validator.is_valid(&envelope), "{envelope}");
        match envelope::open(&envelope) {
            Opened::Violation(answer) => {
                assert!(envelope["id"].is_string(), "{envelope}");
                let answer = serde_json::to_value(answer).unwrap();
                assert!(responses.is_valid(&answer), "{answer}");
                assert_eq!(answer["error"]["code"], "invalid_params");
                assert_eq!(answer["id"], envelope["id"]);
            }
            Opened::Unanswerable(refused) => {
                assert!(!envelope["id"].is_string(), "{envelope}");
                assert_eq!(number(refused.code), -32602);
            }
            Opened::Request { .. } => panic!("{envelope} went through"),
        }
    }
}

#[test]
fn r000_10_11_17_60_answers_fit_their_schema_and_no_answer_is_both() {
    let validator = validator_of("RpcRes.json");
    let refused = CodedError::new(ErrorCode::NotFound, "gone").with_details(json!({"path": "a"}));
    for good in [
        serde_json::to_value(envelope::succeeded("1".into(), json!({"any": 1}))).unwrap(),
        serde_json::to_value(envelope::failed("1".into(), &refused)).unwrap(),
        json!({"v": 1, "kind": "res", "id": "1", "ok": true}),
    ] {
        assert!(validator.is_valid(&good), "{good}");
    }
    for bad in [
        json!({"v": 1, "kind": "res", "id": "1", "ok": false}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": false, "error": {"code": "x"}}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": false, "error": {"code": "x", "message": 1}}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": false, "result": 1, "error": {"code": "x", "message": "m"}}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": true, "result": 1, "error": {"code": "x", "message": "m"}}),
        json!({"v": 1, "kind": "res", "id": 1, "ok": true}),
        json!({"v": 1, "kind": "res", "id": "1"}),
        json!({"v": 2, "kind": "res", "id": "1", "ok": true}),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}

#[test]
fn r000_01_08_12_13_an_envelope_is_exactly_one_of_three_and_topics_are_closed() {
    let kinds = ["RpcReq.json", "RpcRes.json", "RpcEvt.json"].map(validator_of);
    let fitting = |message: &Value| kinds.iter().filter(|kind| kind.is_valid(message)).count();
    for good in [
        json!({"v": 1, "kind": "req", "id": "1", "method": "bb.init"}),
        json!({"v": 1, "kind": "res", "id": "1", "ok": true, "result": {}}),
        json!({"v": 1, "kind": "evt", "topic": "bb/events", "payload": {}}),
        json!({"v": 1, "kind": "evt", "topic": "bb/view", "payload": {"extra": 1}}),
    ] {
        assert_eq!(fitting(&good), 1, "{good}");
    }
    for bad in [
        json!({"v": 1, "kind": "evt", "topic": "bb/other", "payload": {}}),
        json!({"v": 1, "kind": "evt", "topic": "bb/events"}),
        json!({"v": 1, "kind": "evt", "payload": {}}),
        json!({"kind": "evt", "topic": "bb/events", "payload": {}}),
    ] {
        assert_eq!(fitting(&bad), 0, "{bad}");
    }
    for topic in NOTIFICATIONS {
        assert_eq!(fitting(&json!({"v": 1, "kind": "evt", "topic": topic, "payload": {}})), 1, "{topic}");
    }
}

#[test]
fn r000_01_what_never_varies_is_pinned_in_the_schemas_of_answers() {
    for (file, good, bad) in [
        ("bb.init.json", "v", json!({"v": 2})),
        ("bb.deleteSession.json", "deleted", json!({"sessionId": "s", "deleted": false})),
    ] {
        let method = file.trim_end_matches(".json").replace("bb.", "bb/");
        let (_, answer, _) = results().into_iter().find(|(name, ..)| *name == method).unwrap();
        let validator = validator(&schema::files()[file], "/properties/result");
        assert!(validator.is_valid(&answer), "{answer}");
        let mut wrong = answer;
        wrong[good] = bad[good].clone();
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

fn view() -> Value {
    let lane = json!({"blocks": [{"id": "u-1", "kind": "user", "seq": 1, "text": "hi"}], "hasMore": false});
    json!({"epoch": "e", "seq": 1, "lanes": {"chat": lane, "tasks": lane, "run": lane, "debug": lane}})
}

fn event() -> Value {
    json!({"id": "", "type": "local.prompt", "payload": {"text": "hi"}, "seq": 1, "class": "transcript.user_message",
        "pane": ["chat"], "origin": "local"})
}

/// For each method an answer as we send it, and one that lacks something.
fn results() -> Vec<(&'static str, Value, Value)> {
    let session = json!({"sessionId": "s", "title": "t", "status": "idle", "updatedAt": 1});
    let queue = json!({"items": [{"messageId": "m", "text": "t"}], "paused": false});
    vec![
        (
            "bb/init",
            json!({"v": 1, "server": {"name": "breadboard-ls", "version": "0"}, "epoch": "e", "sessions": [session],
                "engine": {"kind": "embedded", "status": "connected", "capabilities": []}, "workspaceTrusted": false}),
            json!({"v": 1}),
        ),
        ("bb/createSession", json!({"sessionId": "s"}), json!({})),
        ("bb/listSessions", json!({"sessions": [session]}), json!({"sessions": [{}]})),
        (
            "bb/selectSession",
            json!({"sessionId": "s", "seq": 1, "view": view(), "resume": {"verdict": "complete"}}),
            json!({"sessionId": "s", "seq": 1, "view": view(), "resume": {"verdict": "maybe"}}),
        ),
        ("bb/deleteSession", json!({"sessionId": "s", "deleted": true}), json!({"sessionId": "s"})),
        (
            "bb/sendMessage",
            json!({"sessionId": "s", "messageId": "m", "disposition": "started"}),
            json!({"sessionId": "s", "messageId": "m", "disposition": "lost"}),
        ),
        (
            "bb/stop",
            json!({"sessionId": "s", "stopping": true}),
            json!({"sessionId": "s", "stopping": "yes"}),
        ),
        (
            "bb/rebuild",
            json!({"resume": {"verdict": "lost", "events": 2, "from": 4, "to": 9, "reason": "they are gone"}}),
            json!({"resume": {"verdict": "perhaps"}}),
        ),
        (
            "bb/createSpec/ready",
            json!({"draft": {"formData": {"description": "d"}, "lastUpdated": 1}, "shouldFocusPrimaryField": true}),
            json!({"draft": {"description": "d"}, "shouldFocusPrimaryField": true}),
        ),
        ("bb/createSpec/autosave", json!({"lastUpdated": 1}), json!({"lastUpdated": "now"})),
        (
            "bb/createSpec/submit",
            json!({"sessionId": "s", "messageId": "m", "disposition": "queued"}),
            json!({"sessionId": "s"}),
        ),
        ("bb/createSpec/closeAttempt", json!({"shouldClose": false}), json!({})),
        ("bb/createSpec/discard", json!({}), json!([])),
        (
            "bb/createSpec/importMarkdown",
            json!({"content": "", "warning": "The selected file is empty."}),
            json!({"warning": "The selected file is empty."}),
        ),
        (
            "bb/createSpec/attachImages",
            json!({"images": [{"id": "i", "uri": "file:///a.png", "name": "a.png", "dataUrl": "data:image/png;base64,AA=="}],
                "capped": true, "duplicates": 1}),
            json!({"images": [{"id": "i", "uri": "file:///a.png"}]}),
        ),
        (
            "bb/permission/list",
            json!({
                "pending": [{
                    "sessionId": "s", "source": "opencode", "generation": 2, "askedAt": 5,
                    "permission": {"requestId": "r", "digest": "d", "title": "t", "options": [], "expiresAt": 9,
                        "subject": {"kind": "command", "command": "ls", "cwd": ".", "env": {"A": "b"}, "reason": "why"}}
                }],
                "rules": [{"ruleId": "rule-1", "pattern": "run: ls", "scope": "session", "holder": "server",
                    "revocable": true, "sessionId": "s"}],
                "approvals": {"mode": "ask", "classes": {}, "patterns": [], "runner": "local_terminal"}
            }),
            json!({"pending": [], "rules": [{"ruleId": "rule-1", "pattern": "run: ls", "scope": "world",
                "holder": "server", "revocable": true}]}),
        ),
        (
            "bb/permission/get",
            json!({"status": "allowed", "resolvedBy": "user", "permission": {
                "requestId": "r", "digest": "d", "title": "t", "toolCallId": "c", "patchId": "p",
                "options": [{"optionId": "o", "label": "O", "kind": "allow_rule",
                    "rule": {"pattern": "Always", "holder": "agent"}}],
                "subject": {"kind": "edit", "unknown": true, "truncated": true, "files": [
                    {"filePath": "a", "root": "w", "change": "rename", "oldPath": "b", "added": 1, "removed": 0,
                        "diff": "@@", "truncated": true}]}}}),
            json!({"status": "pending", "permission": {"requestId": "r", "digest": "d", "title": "t", "options": [],
                "subject": {"kind": "edit"}}}),
        ),
        (
            "bb/permission/revoke",
            json!({"ruleId": "rule-1", "revoked": true}),
            json!({"ruleId": "rule-1", "revoked": "yes"}),
        ),
        (
            "bb/command",
            json!({"sessionId": "s", "status": "accepted", "detail": {"count": 2}}),
            json!({"sessionId": "s"}),
        ),
        (
            "bb/context/preview",
            json!({"items": [{"id": "selection", "kind": "selection", "label": "a:1-2", "bytes": 3}], "notes": [], "context": {
                "active_editor": {"file_path": "a", "language": "rust", "content_hash": "sha256:00"}}}),
            json!({"items": [{"id": "x", "kind": "other", "label": "a", "bytes": 3}], "notes": [], "context": {}}),
        ),
        (
            "bb/patch/list",
            json!({"patches": [{"patchId": "p", "requestId": "r", "status": "partly", "files": [
                {"filePath": "a", "root": "w", "added": 1, "removed": 0, "outcome": "partly"}]}]}),
            json!({"patches": [{"patchId": "p", "requestId": "r", "status": "some", "files": []}]}),
        ),
        (
            "bb/patch/get",
            json!({"patch": {"patchId": "p", "sessionId": "s", "requestId": "r", "digest": "d", "status": "conflict",
                "rationale": "why", "acceptanceCriteria": ["c"], "files": [{"filePath": "a", "root": "w", "change": "rename",
                    "oldPath": "b", "baseHash": "sha256:0", "outcome": "conflict", "message": "m",
                    "conflict": {"hunkId": "h", "line": 1, "there": "x", "wanted": "y"}, "hunks": [
                    {"id": "f", "part": "file", "label": "Rename", "oldStart": 0, "oldLines": 0, "newStart": 0, "newLines": 0,
                        "content": "", "state": "applied"},
                    {"id": "h", "oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "content": "-a\n+b\n",
                        "state": "rejected", "reason": "r"}]}]}}),
            json!({"patch": {"patchId": "p", "sessionId": "s", "requestId": "r", "digest": "d", "status": "pending",
                "files": [{"filePath": "a", "outcome": "pending", "hunks": [{"id": "h", "state": "proposed"}]}]}}),
        ),
        (
            "bb/patch/decide",
            json!({"patchId": "p", "files": [
                {"filePath": "a", "root": "w", "outcome": "partly", "appliedHash": "sha256:0", "message": "m"}]}),
            json!({"patchId": "p", "files": [{"filePath": "a"}]}),
        ),
        (
            "bb/patch/revert",
            json!({"patchId": "p", "files": [{"filePath": "a", "outcome": "reverted"}]}),
            json!({"files": []}),
        ),
        (
            "bb/turn/list",
            json!({"turns": [{"turn": 3, "kind": "revert", "of": 1, "at": 0, "text": "t", "files": 1, "added": 2, "removed": 0,
                "running": false}]}),
            json!({"turns": [{"turn": 3}]}),
        ),
        (
            "bb/turn/changes",
            json!({"turn": 3, "kind": "turn", "running": false, "files": [{"filePath": "a", "root": "w", "change": "modify",
                "added": 1, "removed": 1, "diff": "d", "by": "engine", "source": "git", "state": "as_left", "review": "open",
                "canRevert": true, "hunks": [{"id": "h", "oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1,
                    "content": "-a\n+b\n", "state": "as_left", "review": "kept", "at": {"startLine": 1, "endLine": 1}}]}],
                "uncovered": [{"reason": "budget", "files": 2, "message": "m"}],
                "storage": {"bytes": 0, "budgetBytes": 1, "maxAgeMs": 1}}),
            json!({"turn": 3, "kind": "turn", "running": false, "files": [], "uncovered": []}),
        ),
        (
            "bb/turn/revert",
            json!({"turn": 3, "preview": false, "undo": 9, "files": [{"filePath": "a", "outcome": "conflict", "added": 0,
                "removed": 0, "message": "m", "conflicts": [{"id": "h", "line": 1, "yours": "y", "theirs": "t"}]}]}),
            json!({"turn": 3, "preview": false, "files": [{"filePath": "a", "outcome": "undone", "added": 0, "removed": 0}]}),
        ),
        (
            "bb/turn/review",
            json!({"turn": 3, "files": [{"filePath": "a", "review": "open", "hunks": [{"id": "h", "review": "kept"}]}]}),
            json!({"turn": 3, "files": [{"filePath": "a", "hunks": []}]}),
        ),
        ("bb/queue/list", queue.clone(), json!({"items": []})),
        ("bb/queue/edit", queue.clone(), json!({"items": [{}], "paused": true})),
        ("bb/queue/move", queue.clone(), json!({"paused": true})),
        ("bb/queue/remove", queue.clone(), json!([])),
        ("bb/queue/resume", queue, json!({})),
        (
            "bb/approvePermission",
            json!({"requestId": "r", "outcome": "already_resolved", "resolution": "denied", "resolvedBy": "user"}),
            json!({"requestId": "r", "outcome": "ok"}),
        ),
        (
            "bb/listFiles",
            json!({"path": "", "entries": [{"path": "a", "name": "a", "type": "file", "size": 1}], "truncated": false}),
            json!({"path": "", "entries": [{"path": "a", "name": "a", "type": "socket"}], "truncated": false}),
        ),
        (
            "bb/readFileSnippet",
            json!({"path": "a", "content": "x", "totalBytes": 1, "truncated": false,
                "ranges": [{"startLine": 1, "endLine": 1}], "source": "buffer"}),
            json!({"path": "a", "content": "x"}),
        ),
        (
            "bb/openDiff",
            json!({"title": "t", "left": {"uri": "bb-diff:/s/~/git~3AHEAD/a"}, "right": {"uri": "file:///a"},
                "unified": "", "added": 0, "removed": 0, "truncated": false}),
            json!({"title": "t", "left": "bb-diff:", "right": {"uri": "file:///a"}, "unified": "", "added": 0,
                "removed": 0, "truncated": false}),
        ),
        (
            "bb/textDocument",
            json!({"text": "x", "languageId": "rust", "truncated": true}),
            json!({"languageId": "rust"}),
        ),
        (
            "bb/downloadArtifact",
            json!({"artifactPath": "a", "uri": "file:///a", "bytes": 1, "sha256": "00"}),
            json!({"artifactPath": "a", "uri": "file:///a", "bytes": "1", "sha256": "00"}),
        ),
        (
            "bb/events/read",
            json!({"events": [event()], "hasMore": false}),
            json!({"events": [{}], "hasMore": false}),
        ),
        ("bb/eventBody", json!({"event": event()}), json!({"event": {}})),
        (
            "bb/view/page",
            json!({"blocks": view()["lanes"]["chat"]["blocks"], "hasMore": true}),
            json!({"blocks": [{"id": "x", "seq": 1, "kind": "new"}], "hasMore": true}),
        ),
        (
            "bb/attachment/put",
            json!({"attachmentId": "a", "bytes": 1, "mime": "text/plain"}),
            json!({"bytes": 1}),
        ),
        (
            "bb/models/list",
            json!({"models": [{"id": "m", "name": "M"}], "current": "p/m"}),
            json!({"current": "m"}),
        ),
        (
            "bb/approvals/set",
            json!({"mode": "listed", "classes": {"network": "never"}, "runner": "server_runner",
                "patterns": [{"pattern": "cargo test *", "answer": "always"}]}),
            json!({"mode": "all", "classes": {}, "patterns": [], "runner": "local_terminal"}),
        ),
        ("bb/models/set", json!({"models": []}), json!({"models": [{"id": 1, "name": "M"}]})),
        ("bb/session/rename", json!({"sessionId": "s", "title": "t"}), json!({"sessionId": "s"})),
        ("bb/session/pin", json!({"sessionId": "s", "pinned": true}), json!({"sessionId": "s"})),
        (
            "bb/session/branch",
            json!({"sessionId": "s", "knows": "record", "text": "t"}),
            json!({"sessionId": "s", "knows": "some", "text": "t"}),
        ),
        (
            "bb/models/providers",
            json!({"providers": [{"provider": "openai", "label": "OpenAI", "needsKey": true, "keyVariable": "K", "keyIsSet": true,
                "defaultUrl": "https://h/"}]}),
            json!({"providers": [{"provider": "openai"}]}),
        ),
        ("bb/models/check", json!({"ok": false, "models": ["m"], "problem": "p"}), json!({"models": ["m"]})),
        ("bb/findFiles", json!({"paths": ["src/", "src/lib.rs"]}), json!({"paths": [{"path": "a"}]})),
        (
            "bb/mcp/list",
            json!({"servers": [{"name": "docs", "source": "settings", "transport": "stdio", "definition": "docs -x",
                "status": "ready", "tools": [{"name": "t", "title": "T", "description": "d"}],
                "commands": [{"name": "docs:p", "description": "d", "hint": "who"}],
                "resources": [{"mention": "docs:memo://1", "name": "n", "description": "d", "mimeType": "text/plain"}]}]}),
            json!({"servers": [{"name": "docs", "source": "settings", "status": "fine"}]}),
        ),
        (
            "bb/mcp/restart",
            json!({"servers": [{"name": "docs", "source": "session", "status": "failed", "message": "m"}]}),
            json!({"servers": [{"name": "docs", "status": "failed"}]}),
        ),
        ("bb/mcp/set", json!({"servers": []}), json!({})),
        (
            "bb/mcp/allow",
            json!({"servers": [{"name": "docs", "source": "workspace", "status": "unasked", "digest": "sha256:0"}]}),
            json!({"servers": [{"name": "docs", "source": "nobody", "status": "unasked"}]}),
        ),
        ("bb/setCredentials", json!({}), json!([])),
        ("bb/tab/open", json!({"tabId": "t", "epoch": "e", "index": 0}), json!({"tabId": "t", "epoch": "e"})),
        (
            "bb/tab/prompt",
            json!({"tabId": "t", "messageId": "m", "disposition": "queued"}),
            json!({"tabId": "t", "messageId": "m", "disposition": "lost"}),
        ),
        ("bb/tab/stop", json!({"tabId": "t"}), json!({})),
        ("bb/tab/close", json!({"tabId": "t"}), json!({"tabId": 1})),
        ("bb/tab/visibility", json!({"tabId": "t", "index": 3}), json!({"tabId": "t"})),
        ("bb/tab/detach", json!({}), json!([])),
        (
            "bb/tab/attach",
            json!({"tabs": [{"tabId": "t", "index": 1, "mode": "snapshot", "epoch": "e"},
                {"tabId": "u", "index": 0, "mode": "unknown"}]}),
            json!({"tabs": [{"tabId": "t", "index": 1, "mode": "lost"}]}),
        ),
        ("bb/tab/ack", json!({}), json!("ok")),
        ("bb/agent/restart", json!({"generation": 2}), json!({"generation": "2"})),
        ("bb/session/info", json!({}), json!({"agent": "a"})),
        (
            "bb/rpc",
            json!({"v": 1, "kind": "res", "id": "1", "ok": true}),
            json!({"v": 1, "kind": "res", "id": "1"}),
        ),
    ]
}

#[test]
fn r000_60_results_fit_their_schema_and_broken_ones_do_not() {
    let files = schema::files();
    let examples = results();
    for (method, good, bad) in &examples {
        let validator = validator(&files[&schema::file_name(method)], "/properties/result");
        assert!(validator.is_valid(good), "{method}: {good}");
        assert!(!validator.is_valid(bad), "{method}: {bad}");
    }
    let missing: Vec<_> =
        REQUESTS.iter().filter(|method| !examples.iter().any(|example| example.0 == **method)).collect();
    assert!(missing.is_empty(), "give these results an example: {missing:?}");
}

#[test]
fn r004_06_12_14_23_31_40_41_46_50_the_payloads_of_seed_004_fit_word_for_word() {
    let files = schema::files();
    let image =
        json!({"id": "1", "uri": "file:///a.png", "name": "a.png", "dataUrl": "data:image/png;base64,AA=="});
    for (method, side, payload) in [
        ("submit", "params", json!({"description": "d", "imageUris": ["file:///a.png"]})),
        ("autosave", "params", json!({"description": "d"})),
        ("closeAttempt", "params", json!({"hasDirtyChanges": true})),
        ("ready", "result", json!({"shouldFocusPrimaryField": true})),
        (
            "ready",
            "result",
            json!({"draft": {"formData": {"description": "d"}, "lastUpdated": 1}, "shouldFocusPrimaryField": false}),
        ),
        ("closeAttempt", "result", json!({"shouldClose": false})),
        ("importMarkdown", "result", json!({"content": "c"})),
        ("importMarkdown", "result", json!({"content": "", "warning": "The selected file is empty."})),
        ("importMarkdown", "result", json!({"error": "File exceeds the 512 KB limit."})),
        ("attachImages", "result", json!({"images": [image]})),
        ("attachImages", "result", json!({"images": [], "capped": true})),
        ("attachImages", "result", json!({"error": "One or more files exceed the 10 MB size limit."})),
    ] {
        let name = schema::file_name(&format!("bb/createSpec/{method}"));
        let validator = validator(&files[&name], &format!("/properties/{side}"));
        assert!(validator.is_valid(&payload), "{method}: {payload}");
    }
    // The picker's files come with the call, so its count has company.
    let name = schema::file_name("bb/createSpec/attachImages");
    let params = validator(&files[&name], "/properties/params");
    assert!(
        params.is_valid(&json!({"currentCount": 2, "uris": []})) && !params.is_valid(&json!({"uris": []}))
    );
}

#[test]
fn r000_37_to_50_notifications_fit_their_schema_and_broken_ones_do_not() {
    let files = schema::files();
    let block = json!({"id": "a", "kind": "assistant", "seq": 1, "text": "", "streaming": true});
    for (method, good, bad) in [
        (
            "bb/connection",
            json!({"status": "error", "retryCount": 2, "lastError": "m", "gapDetected": true, "extra": 1}),
            json!({"status": "down"}),
        ),
        ("bb/state", json!({"sessions": [], "running": true}), json!({"running": true})),
        (
            "bb/events",
            json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1, "events": [event()]}),
            json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1, "events": [{"seq": 1}]}),
        ),
        (
            "bb/view",
            json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1,
                "changes": [{"lane": "chat", "op": "put", "id": "a", "block": block}], "snapshot": view()}),
            json!({"sessionId": "s", "epoch": "e", "fromSeq": 1, "toSeq": 1, "changes": [{"lane": "chat", "op": "push", "id": "a"}]}),
        ),
        (
            "bb/tab",
            json!({"tabId": "t", "index": 1, "epoch": "e", "messageId": "m", "kind": "response-chunk", "text": "x"}),
            json!({"tabId": "t", "index": 1, "epoch": "e", "kind": "chunk", "text": "x"}),
        ),
        (
            "bb/tab",
            json!({"tabId": "t", "index": 2, "epoch": "e", "kind": "response-chunk", "blocks": [block]}),
            json!({"tabId": "t", "epoch": "e", "kind": "response-chunk", "blocks": [block]}),
        ),
        (
            "bb/tab",
            json!({"tabId": "t", "index": 3, "epoch": "e", "kind": "snapshot", "view": view(),
                "messages": [{"messageId": "m", "turn": 1, "status": "running"}]}),
            json!({"tabId": "t", "index": 3, "epoch": "e", "kind": "snapshot", "view": view()}),
        ),
        (
            "bb/tab",
            json!({"tabId": "t", "index": 4, "epoch": "e", "kind": "agent-exited", "generation": 1, "code": 1}),
            json!({"tabId": "t", "index": 4, "epoch": "e", "kind": "error", "code": "lost", "message": "m"}),
        ),
        ("bb/workspaceTrust", json!({"trusted": true}), json!({"trusted": "yes"})),
        (
            "initializationOptions",
            json!({"engine": {"kind": "embedded"}, "delivery": {"maxLatencyMs": 0}, "unknown": 1}),
            json!({"engine": {"kind": "magic"}}),
        ),
        (
            "workspaceConfiguration",
            json!({"delivery": {"maxEvents": 1}, "engine": 1}),
            json!({"delivery": 1}),
        ),
    ] {
        let validator = validator(&files[&schema::file_name(method)], "/properties/params");
        assert!(validator.is_valid(&good), "{method}: {good}");
        assert!(!validator.is_valid(&bad), "{method}: {bad}");
    }
}

#[test]
fn every_announced_method_has_a_file_and_a_line_in_meta() {
    let files = schema::files();
    let listed: Vec<&str> = files["meta.json"]["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["method"].as_str().unwrap())
        .collect();
    for method in announced_methods().iter().chain(NOTIFICATIONS) {
        assert!(listed.contains(method), "{method} is not in meta.json");
        assert!(files.contains_key(&schema::file_name(method)), "{method} has no file");
    }
}

#[test]
fn every_event_and_block_of_the_fixtures_fits_its_schema() {
    let (events, blocks) = (validator_of("Event.json"), validator_of("Block.json"));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reducers");
    let desktop: BTreeMap<String, Validator> = schema::files()
        .iter()
        .filter_map(|(name, file)| {
            let kind = name.strip_prefix("desktop/")?.strip_suffix(".json")?;
            // Those of the host stand in a folder of their own: they say more than the embedded engine does.
            if kind.starts_with("host/") {
                return None;
            }
            Some((kind.to_owned(), jsonschema::validator_for(file).unwrap()))
        })
        .collect();
    assert_eq!(desktop.len(), 12, "one file a message of the dialect");
    let mut messages = 0;
    for entry in fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        let fixture: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        // Another host's words, which we read and never send.
        let foreign =
            path.file_stem().unwrap().to_str().unwrap().contains("_the_words_of_the_public_source_");
        for event in fixture["events"].as_array().unwrap() {
            assert!(events.is_valid(event), "{event}");
            let kind = event["type"].as_str().unwrap();
            // A tool message without the additive `call_id` is the seed's own; our schema describes what we send.
            let ours = !foreign && (kind != "tool.execute" || event["payload"].get("call_id").is_some());
            if let Some(validator) = desktop.get(kind).filter(|_| ours) {
                let mut message = event["payload"].clone();
                message["type"] = event["type"].clone();
                let errors: Vec<String> =
                    validator.iter_errors(&message).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{message}: {errors:?}");
                messages += 1;
            }
        }
        for lane in ["chat", "tasks", "run", "debug"] {
            for block in fixture["expected"][lane]["blocks"].as_array().unwrap() {
                assert!(blocks.is_valid(block), "{block}");
            }
        }
    }
    assert!(messages > 30, "only {messages} messages were checked");
}

// ---------------------------------------------------------------- the BreadBoard engine's events

/// The engine's own list of types.
const ENGINE_TYPES: [&str; 35] = [
    "turn_start",
    "user_message",
    "assistant_message",
    "assistant.message.start",
    "assistant.message.delta",
    "assistant.message.end",
    "assistant.reasoning.delta",
    "assistant.thought_summary.delta",
    "assistant_delta",
    "tool_call",
    "tool.exec.start",
    "tool.exec.stdout.delta",
    "tool.exec.stderr.delta",
    "tool.exec.end",
    "tool_result",
    "tool.result",
    "permission_request",
    "permission_response",
    "checkpoint_list",
    "checkpoint_restored",
    "skills_catalog",
    "skills_selection",
    "ctree_node",
    "ctree_snapshot",
    "task_event",
    "limits_update",
    "warning",
    "conversation.compaction.start",
    "conversation.compaction.end",
    "stream.gap",
    "reward_update",
    "completion",
    "log_link",
    "error",
    "run_finished",
];

fn payload_validators() -> BTreeMap<String, Validator> {
    let files = schema::files();
    let payloads = files.iter().filter_map(|(name, file)| {
        let kind = name.strip_prefix("breadboard/")?.strip_suffix(".json")?;
        Some((kind.to_owned(), jsonschema::validator_for(file).unwrap()))
    });
    payloads.filter(|(kind, _)| kind != "envelope").collect()
}

/// Something that fits, and something that does not where anything can fail to.
fn samples(holds: Holds) -> (Value, Option<Value>) {
    match holds {
        // A word that is also the role of a message that is shown.
        Holds::Text => (json!("assistant"), Some(json!(7))),
        Holds::Count => (json!(7), Some(json!("7"))),
        Holds::Number => (json!(1.5), Some(json!("1.5"))),
        Holds::Flag => (json!(true), Some(json!("true"))),
        Holds::Words => (json!({"text": "words"}), Some(json!(true))),
        Holds::Command => (json!(["ls", "-l"]), Some(json!([1]))),
        Holds::FlagOrText => (json!("why"), Some(json!({}))),
        Holds::Fields(fields) => (Value::Object(sample(fields)), Some(json!("fields"))),
        Holds::List(fields) => (json!([sample(fields)]), Some(json!([7]))),
        Holds::Map => (json!({"any": 1}), Some(json!([]))),
        Holds::Anything => (json!("anything"), None),
    }
}

fn sample(fields: &[Field]) -> serde_json::Map<String, Value> {
    fields.iter().map(|field| (field.name.to_owned(), samples(field.holds).0)).collect()
}

#[test]
fn r003_01_the_envelope_takes_what_engines_send_and_nothing_broken() {
    let envelope = validator_of("breadboard/envelope.json");
    for good in [
        json!({"id": "e1", "seq": 8, "type": "warning", "session_id": "s", "turn": 1, "timestamp": 1, "timestamp_ms": 1,
            "protocol_version": "1.0", "payload": {}, "classification": "canonical", "actor": {"kind": "human"}}),
        json!({"seq": null, "type": "tool_result", "turn": null, "payload": {"todo": {}}, "of_tomorrow": [1]}),
        json!({"type": "stream.open", "payload": {}, "stable_cursor": 7, "input_id": "i", "turn_id": "t"}),
    ] {
        let errors: Vec<String> = envelope.iter_errors(&good).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{good}");
    }
    for bad in [
        json!([]),
        json!({"seq": 8, "payload": {}}),
        json!({"type": "", "payload": {}}),
        json!({"type": 7, "payload": {}}),
        json!({"type": "warning"}),
        json!({"type": "warning", "payload": "text"}),
        json!({"type": "warning", "payload": {}, "seq": "8"}),
        json!({"type": "warning", "payload": {}, "seq": 1.5}),
        json!({"type": "warning", "payload": {}, "turn": "one"}),
        json!({"type": "warning", "payload": {}, "session_id": 1}),
    ] {
        assert!(!envelope.is_valid(&bad), "{bad}");
    }
}

#[test]
fn r003_02_r003_03_every_type_of_the_engine_has_a_payload_that_a_broken_one_does_not_fit() {
    let listed: Vec<&str> =
        SHAPES.iter().filter(|shape| shape.from == SentBy::Engine).map(|shape| shape.kind).collect();
    assert_eq!(listed, ENGINE_TYPES);
    let validators = payload_validators();
    assert_eq!(validators.len(), SHAPES.len(), "one file a type");
    for shape in SHAPES {
        let validator = &validators[shape.kind];
        let whole = sample(shape.fields);
        let fits =
            |payload: &serde_json::Map<String, Value>| validator.is_valid(&Value::Object(payload.clone()));
        assert!(fits(&whole), "{}: {whole:?}", shape.kind);
        assert_eq!(fits(&serde_json::Map::new()), shape.one_of.is_empty(), "{}: empty", shape.kind);
        let mut more = whole.clone();
        more.insert("of_tomorrow".to_owned(), json!([1]));
        assert!(fits(&more), "{}: what an engine adds is no fault", shape.kind);
        for field in shape.fields {
            let mut nothing = whole.clone();
            nothing.insert(field.name.to_owned(), Value::Null);
            let needed = shape.one_of == [field.name];
            assert_eq!(fits(&nothing), !needed, "{}: no {}", shape.kind, field.name);
            let Some(wrong) = samples(field.holds).1 else { continue };
            let mut broken = whole.clone();
            broken.insert(field.name.to_owned(), wrong);
            assert!(!fits(&broken), "{}: {broken:?}", shape.kind);
        }
        assert!(shape.one_of.iter().all(|name| shape.fields.iter().any(|field| field.name == *name)));
    }
}

#[test]
fn r003_02_payloads_of_the_fixtures_fit_their_schemas() {
    let validators = payload_validators();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reducers");
    let (mut checked, mut broken) = (0, BTreeSet::new());
    for entry in fs::read_dir(fixtures).unwrap() {
        let fixture: Value = serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap();
        if fixture["dialect"] != "breadboard" {
            continue;
        }
        for event in fixture["events"].as_array().unwrap().iter().filter(|event| event["origin"] == "engine")
        {
            let kind = event["type"].as_str().unwrap();
            let Some(validator) = validators.get(kind) else { continue };
            checked += 1;
            if !validator.is_valid(&event["payload"]) {
                broken.insert(format!("{kind} {}", event["payload"]));
            }
        }
    }
    assert!(checked > 200, "only {checked} payloads");
    // Events that are broken on purpose, to see that the view takes them.
    let meant = BROKEN.iter().map(|event| (*event).to_owned()).collect();
    assert_eq!(broken, meant);
}

const BROKEN: &[&str] = &[
    r#"assistant.message.delta {"delta":7}"#,
    r#"assistant.message.delta {"item_id":"m"}"#,
    r#"checkpoint_list {"checkpoints":"none"}"#,
    r#"checkpoint_restored {"mode":"code"}"#,
    "error {}",
    "log_link {}",
];

#[test]
fn r003_04_this_server_makes_every_event_of_the_engine_into_blocks_that_keep_the_contract() {
    let (events, changes) = (validator_of("Event.json"), validator_of("Change.json"));
    let mut silent = Vec::new();
    for shape in SHAPES {
        let event = EngineEvent {
            id: "1".to_owned(),
            kind: shape.kind.to_owned(),
            turn: Some(1),
            ts: Some(1),
            payload: sample(shape.fields).into(),
            repaired: false,
        };
        let event = normalize(Dialect::Breadboard, event).event.sequenced(1);
        assert!(events.is_valid(&json!(event)), "{}", shape.kind);
        let made = ViewState::default().speaking(Dialect::Breadboard).apply(&event);
        assert_eq!(
            made,
            ViewState::default().speaking(Dialect::Breadboard).apply(&event),
            "{}: not the same twice",
            shape.kind
        );
        for change in &made {
            assert!(changes.is_valid(&json!(change)), "{}: {}", shape.kind, json!(change));
        }
        if made.is_empty() {
            silent.push(shape.kind);
        }
    }
    assert_eq!(silent, SILENT, "types of which the view shows nothing alone");
}

/// Types that are about a block which another event makes, or that begin something.
const SILENT: &[&str] = &[
    "assistant.message.start",
    "assistant.message.end",
    // Their cards are made and settled with the loop's own ids.
    "permission_request",
    "permission_response",
];

/// Every field of every message with its types, and whether it must be there: `bb/stop result.stopping` -> `boolean!`.
fn shapes() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, file) in schema::files() {
        // The engines' own words are theirs to change.
        if name.contains('/') || file.pointer("/properties/params").is_none() {
            continue;
        }
        for side in ["params", "result"] {
            if let Some(schema) = file.pointer(&format!("/properties/{side}")) {
                let place = format!("{} {side}", file["title"].as_str().unwrap());
                fields(&file, schema, &place, 0, &mut found);
            }
        }
    }
    found
}

fn fields(file: &Value, schema: &Value, place: &str, depth: usize, found: &mut BTreeMap<String, String>) {
    if let Some(target) = schema["$ref"].as_str() {
        let target = file.pointer(target.trim_start_matches('#')).unwrap();
        return fields(file, target, place, depth, found);
    }
    // Blocks, events and views hold one another; what is that deep is a noun with a schema of its own.
    if depth > 4 {
        return;
    }
    for options in ["anyOf", "oneOf", "allOf"] {
        for option in schema[options].as_array().into_iter().flatten() {
            fields(file, option, place, depth, found);
        }
    }
    if schema["items"].is_object() {
        fields(file, &schema["items"], &format!("{place}[]"), depth + 1, found);
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        let must = if required.contains(&name.as_str()) { "!" } else { "" };
        found.entry(place.clone()).or_insert(format!("{}{must}", types(file, field)));
        fields(file, field, &place, depth + 1, found);
    }
}

fn types(file: &Value, schema: &Value) -> String {
    if let Some(target) = schema["$ref"].as_str() {
        return types(file, file.pointer(target.trim_start_matches('#')).unwrap());
    }
    let named: BTreeSet<String> = match &schema["type"] {
        Value::String(one) => BTreeSet::from([one.clone()]),
        Value::Array(many) => many.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => ["anyOf", "oneOf"]
            .iter()
            .flat_map(|options| schema[*options].as_array().into_iter().flatten())
            .map(|option| types(file, option))
            .collect(),
    };
    named.into_iter().collect::<Vec<_>>().join("|")
}

#[test]
fn r000_70_71_73_no_field_of_this_version_may_go_or_change_without_a_new_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire_v1.json");
    let now = shapes();
    let version = u64::from(breadboard_ls::testing::protocol::version::WIRE_VERSION);
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        fs::write(&path, pretty(&json!({ "v": version, "fields": now }))).unwrap();
        return;
    }
    let kept: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(kept["v"], version, "a new version begins a new list: run with BREADBOARD_UPDATE=1");
    assert!(
        document::document().contains(&format!("version {version}")),
        "PROTOCOL.md names another version"
    );
    let kept: BTreeMap<String, String> = serde_json::from_value(kept["fields"].clone()).unwrap();
    let mut broken: Vec<String> = kept
        .iter()
        .filter(|(place, was)| now.get(*place) != Some(was))
        .map(|(place, was)| format!("{place}: {was} -> {}", now.get(place).map_or("gone", String::as_str)))
        .collect();
    // A new field that a client must send breaks every client there is.
    broken.extend(
        now.iter()
            .filter(|(place, shape)| {
                let parent = place.rsplit_once('.').map_or("", |(parent, _)| parent);
                let known = parent.ends_with("params") || kept.contains_key(parent);
                place.contains(" params") && shape.ends_with('!') && known && !kept.contains_key(*place)
            })
            .filter(|(place, _)| kept.keys().any(|old| old.split(' ').next() == place.split(' ').next()))
            .map(|(place, _)| format!("{place}: newly required")),
    );
    assert_eq!(
        broken,
        Vec::<String>::new(),
        "breaking changes need a new `v`; added fields only need BREADBOARD_UPDATE=1"
    );
}

/// What is read of these payloads of a type, one event after the other: the requests for permission in them, and all of the
/// view but the lane that keeps raw events.
fn read_of(kind: &str, payloads: [&Value; 2]) -> String {
    let mut view = ViewState::default().speaking(Dialect::Breadboard);
    let mut read = String::new();
    for (payload, seq) in payloads.into_iter().zip(1..) {
        let raw = EngineEvent {
            id: String::new(),
            kind: kind.to_owned(),
            turn: Some(1),
            ts: Some(0),
            payload: payload.as_object().cloned().unwrap().into(),
            repaired: false,
        };
        let normalized = normalize(Dialect::Breadboard, raw);
        read.push_str(&format!("{:?}", normalized.ask));
        let event = normalized.event.sequenced(seq);
        read.push_str(&format!("{:?}", fact(Dialect::Breadboard, &event)));
        let changes = view.apply(&event);
        let changes = changes.iter().map(|change| serde_json::to_value(change).unwrap());
        let shown: Vec<Value> = changes.filter(|change| change["lane"] != "debug").collect();
        read.push_str(&json!(shown).to_string());
    }
    read
}

/// Values of which a reader tells at least one from an absent field.
fn telling(name: &str, holds: Holds) -> Vec<Value> {
    match (name, holds) {
        ("catalog", _) => vec![json!({"skills": ["one"]})],
        ("selection", _) => vec![json!({"allowlist": ["one"]})],
        ("responses", _) => vec![json!({"default": "once"})],
        ("payload", _) => {
            vec![json!({"request_id": "r", "response": "once"})]
        }
        ("mode", _) => vec![json!("both")],
        (_, Holds::Text) => ["assistant", "other", "completed", "failed", "deny"].map(Value::from).into(),
        (_, Holds::Words) => vec![json!({"text": "words"}), json!("more words")],
        (_, Holds::Flag) => vec![json!(true), json!(false)],
        (_, other) => vec![samples(other).0],
    }
}

#[test]
fn r003_02_every_field_of_a_payload_schema_is_one_that_changes_what_is_read() {
    let with = |payload: &Value, name: &str, value: Option<&Value>| {
        let mut payload = payload.clone();
        let fields = payload.as_object_mut().unwrap();
        match value {
            Some(value) => drop(fields.insert(name.to_owned(), value.clone())),
            None => drop(fields.remove(name)),
        }
        payload
    };
    let mut unread = Vec::new();
    for shape in SHAPES {
        let whole = Value::Object(sample(shape.fields));
        // A task carries the answer of a request, too.
        let answer = with(&json!({}), "kind", Some(&json!("permission_response")));
        let mut bases = vec![whole.clone(), answer, json!({})];
        bases.extend(shape.one_of.iter().map(|name| with(&json!({}), name, Some(&whole[*name]))));
        for field in shape.fields {
            let values = telling(field.name, field.holds);
            let read = bases.iter().any(|base| {
                let without = with(base, field.name, None);
                let readings =
                    values.iter().map(|value| with(base, field.name, Some(value))).flat_map(|payload| {
                        [
                            read_of(shape.kind, [&payload, &payload]),
                            read_of(shape.kind, [&without, &payload]),
                            read_of(shape.kind, [&whole, &payload]),
                        ]
                    });
                let nothing =
                    [read_of(shape.kind, [&without, &without]), read_of(shape.kind, [&whole, &without])];
                let readings: BTreeSet<String> = readings.collect();
                readings.iter().any(|reading| !nothing.contains(reading))
            });
            if !read {
                unread.push(format!("{}.{}", shape.kind, field.name));
            }
        }
    }
    assert_eq!(unread, Vec::<String>::new());
}
