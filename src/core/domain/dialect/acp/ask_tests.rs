//! What an agent asks: titles, options and forms, and that nothing in them can mislead.

use serde_json::json;

use super::*;
use crate::domain::dialect::acp::decode::{RpcId, ask_event};
use crate::domain::dialect::{Dialect, normalize};
use crate::domain::event::EventClass;

fn asked(method: &str, params: Value) -> PermissionAsk {
    let payload = params.as_object().cloned().unwrap();
    let normalized = normalize(Dialect::Acp, ask_event(method, payload.into(), 2, &RpcId::number(0)));
    assert_eq!((normalized.event.id.as_str(), normalized.event.class), ("", EventClass::PermissionRequest));
    let ask = normalized.ask.unwrap();
    assert_eq!((ask.engine_request_id.as_str(), &ask.payload), ("2:0", &params));
    ask
}

fn always(id: &str, name: &str) -> PermissionOption {
    let rule =
        OfferedRule { pattern: name.to_owned(), scope: None, holder: RuleHolder::Agent, kept_in: None };
    PermissionOption::ruling(id, name, rule)
}

fn title(call: Value) -> String {
    asked("session/request_permission", json!({"sessionId": "s", "toolCall": call, "options": []})).title
}

#[test]
fn options_are_the_agents_own_and_stand_narrowest_first() {
    let ask = asked(
        "session/request_permission",
        json!({"sessionId": "s", "toolCall": {"toolCallId": "t", "title": "x"}, "options": [
            {"optionId": "never", "name": "Never", "kind": "reject_always"},
            {"optionId": "proj", "name": "Always in <b>project</b>", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
            {"optionId": "user", "name": "Always", "kind": "allow_always"},
            {"optionId": "odd", "name": "Perhaps", "kind": "teleport"},
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"name": "no id", "kind": "allow_once"},
        ]}),
    );
    assert_eq!(
        ask.options,
        vec![
            PermissionOption::plain("yes", "Yes", PermissionOptionKind::AllowOnce),
            always("proj", "Always in <b>project</b>"),
            always("user", "Always"),
            always("odd", "Perhaps"),
            PermissionOption::plain("no", "No", PermissionOptionKind::Deny),
            PermissionOption::plain("never", "Never", PermissionOptionKind::Deny),
        ]
    );
}

#[test]
fn a_title_says_what_is_done_and_not_what_the_agent_calls_it() {
    for (call, expected) in [
        (json!({"title": "ls", "kind": "execute", "rawInput": {"command": "rm -rf /"}}), "Run rm -rf /"),
        (
            json!({"title": "x", "rawInput": {"command": ["bash", "-lc", "echo 'a b'"], "cwd": "/w"}}),
            "Run bash -lc 'echo '\\''a b'\\''' in /w",
        ),
        (
            json!({"title": "look", "kind": "edit", "content": [
                {"type": "diff", "path": "/w/a", "oldText": "x", "newText": "y"},
                {"type": "diff", "path": "/w/b", "oldText": null, "newText": "y"}]}),
            "Edit /w/a, Create /w/b",
        ),
        (
            json!({"title": "look", "rawInput": {"command": "patch"}, "content": [
                {"type": "diff", "path": "a", "oldText": "x", "newText": "y"}]}),
            "Run patch; Edit a",
        ),
        (
            json!({"title": "t", "kind": "read", "rawInput": {"filePath": "/etc/passwd"}, "locations": [{"path": "/w/a"}]}),
            "Read /etc/passwd, /w/a",
        ),
        (json!({"title": "t", "kind": "fetch", "rawInput": {"url": "https://x.y/z"}}), "Fetch https://x.y/z"),
        (json!({"title": "Mystery", "kind": "other", "rawInput": {"a": 1}}), "Mystery {\"a\":1}"),
        (json!({"title": "Mystery"}), "Mystery"),
        (json!({"rawInput": {"a": 1}}), "A tool without a name {\"a\":1}"),
        (json!({}), "The agent does not say what it wants to do."),
    ] {
        assert_eq!(title(call.clone()), expected, "{call}");
    }
    let ask = asked("session/request_permission", json!({"sessionId": "s"}));
    assert_eq!((ask.title.as_str(), ask.options.len()), ("The agent does not say what it wants to do.", 0));
}

#[test]
fn a_title_is_one_line_that_hides_nothing_and_says_when_it_is_cut() {
    assert_eq!(
        title(json!({"rawInput": {"command": "echo a\nrm b\u{202e}\u{7}"}})),
        "Run echo a⏎rm b⟨U+202E U+0007⟩"
    );
    let long = title(json!({"rawInput": {"command": "x".repeat(5_000)}}));
    let cut = format!("Run {}⟨… 904 more characters, sha256 ", "x".repeat(4096));
    assert!(long.starts_with(&cut), "{long}");
    let other = title(json!({"rawInput": {"command": format!("{}y", "x".repeat(4_999))}}));
    assert!(other.starts_with(&cut) && other != long, "two commands that differ behind the cut: {other}");
    let many: Vec<Value> = (0..20).map(|at| json!({"path": format!("f{at}")})).collect();
    let title = title(json!({"kind": "delete", "locations": many}));
    assert!(title.starts_with("Delete f0, f1, ") && title.ends_with("f11 and 8 more"), "{title}");
}

#[test]
fn a_command_and_a_write_of_the_agent_say_everything_that_they_do() {
    let ask = asked(
        "terminal/create",
        json!({"sessionId": "s", "command": "git", "args": ["commit", "-m", "a b"], "cwd": "/w",
            "env": [{"name": "GIT_DIR", "value": "/x y"}]}),
    );
    assert_eq!(ask.title, "Run git commit -m 'a b' in /w with GIT_DIR='/x y'");
    assert_eq!(ask.options, once_or_not());
    let ask = asked("fs/write_text_file", json!({"sessionId": "s", "path": "/w/a", "content": "é"}));
    assert_eq!(ask.title, "Write /w/a (2 bytes)");
    let told = serde_json::to_value(&ask.options).unwrap();
    assert_eq!(
        told,
        json!([
            {"optionId": "allow_once", "label": "Allow once", "kind": "allow_once"},
            {"optionId": "allow_session", "label": "Allow all edits of this session", "kind": "allow_rule",
             "rule": {"pattern": "write any file in the open folders", "scope": "session", "holder": "server"}},
            {"optionId": "deny", "label": "Deny", "kind": "deny"},
        ])
    );
}

#[test]
fn an_elicitation_is_an_ask_with_a_form_or_a_page() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let ask = asked(
        "elicitation/create",
        json!({"sessionId": "s", "mode": "form", "message": "Who\nare you?", "requestedSchema": schema}),
    );
    assert_eq!(ask.title, "Who⏎are you?");
    assert_eq!(
        ask.subject.form().cloned(),
        Some(InputForm { message: "Who\nare you?".to_owned(), schema: Some(schema), url: None })
    );
    assert_eq!(
        ask.options.iter().map(|option| option.option_id.as_str()).collect::<Vec<_>>(),
        ["accept", "decline"]
    );
    let ask = asked(
        "elicitation/create",
        json!({"mode": "url", "message": "Log in", "url": "https://a.b/c", "elicitationId": "e"}),
    );
    assert_eq!(ask.title, "Visit https://a.b/c: Log in");
    assert_eq!(
        ask.subject.form().cloned(),
        Some(InputForm { message: "Log in".to_owned(), schema: None, url: Some("https://a.b/c".to_owned()) })
    );
}
