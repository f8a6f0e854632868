//! What a person is shown of an agent's request, in the shapes of the agents that there are.

use serde_json::json;

use super::*;

fn subject(call: Value) -> Value {
    serde_json::to_value(of_call(call.as_object().unwrap())).unwrap()
}

fn modified(path: &str) -> Value {
    json!({"filePath": path, "change": "modify", "added": 1, "removed": 1, "diff": "@@ -1,1 +1,1 @@\n-x\n+y\n"})
}

#[test]
fn a_change_is_found_wherever_an_agent_puts_it() {
    for (who, call) in [
        (
            "a difference",
            json!({"kind": "edit", "content": [{"type": "diff", "path": "a", "oldText": "x\n", "newText": "y\n"}]}),
        ),
        (
            "before and after",
            json!({"kind": "edit", "rawInput": {"file_path": "a", "old_string": "x\n", "new_string": "y\n"}}),
        ),
        (
            "a diff",
            json!({"kind": "edit", "rawInput": {"filepath": "a", "diff": "@@ -1,1 +1,1 @@\n-x\n+y\n"}}),
        ),
        (
            "by path",
            json!({"rawInput": {"changes": {"a": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n"}}}}),
        ),
        (
            "by path, wrapped",
            json!({"rawInput": {"changes": {"a": {"update": {"unified_diff": "@@ -1 +1 @@\n-x\n+y\n"}}}}}),
        ),
    ] {
        assert_eq!(subject(call), json!({"kind": "edit", "files": [modified("a")]}), "{who}");
    }
    assert_eq!(
        subject(
            json!({"kind": "edit", "content": [{"type": "diff", "path": "n", "oldText": "", "newText": "y\n"}]})
        ),
        json!({"kind": "edit", "files": [{"filePath": "n", "change": "create", "added": 1, "removed": 0, "diff": "@@ -0,0 +1,1 @@\n+y\n"}]})
    );
    assert_eq!(
        subject(json!({"kind": "delete", "locations": [{"path": "d"}]})),
        json!({"kind": "edit", "files": [{"filePath": "d", "change": "delete"}]})
    );
    assert_eq!(
        subject(json!({"kind": "move", "rawInput": {"source": "s", "destination": "t"}})),
        json!({"kind": "edit", "files": [{"filePath": "t", "change": "rename", "oldPath": "s"}]})
    );
}

#[test]
fn a_part_of_a_file_says_nothing_of_how_the_file_ends_and_a_new_file_does() {
    let diff =
        |content: Value| subject(json!({"kind": "edit", "content": [content]}))["files"][0]["diff"].clone();
    assert_eq!(
        diff(json!({"type": "diff", "path": "a", "oldText": "x", "newText": "y"})),
        "@@ -1,1 +1,1 @@\n-x\n+y\n"
    );
    assert_eq!(
        diff(json!({"type": "diff", "path": "n", "oldText": null, "newText": "y"})),
        "@@ -0,0 +1,1 @@\n+y\n\\ No newline at end of file\n"
    );
}

#[test]
fn a_command_is_told_with_its_directory_and_the_agents_reason() {
    assert_eq!(
        subject(
            json!({"kind": "execute", "title": "ls", "rawInput": {"command": "rm -r x", "description": "clean"}})
        ),
        json!({"kind": "command", "command": "rm -r x", "cwd": ".", "reason": "clean"})
    );
    let terminal =
        json!({"command": "make", "args": ["a b"], "cwd": "/w", "env": [{"name": "A", "value": "1"}]});
    assert_eq!(
        serde_json::to_value(of_terminal(terminal.as_object().unwrap())).unwrap(),
        json!({"kind": "command", "command": "make 'a b'", "cwd": "/w", "env": {"A": "1"}})
    );
}

#[test]
fn what_was_not_told_is_unknown_and_a_tool_with_arguments_is_not() {
    for (unknown, call) in [
        (true, json!({"toolCallId": "t"})),
        (true, json!({"title": "edit", "kind": "edit", "locations": [{"path": "a"}]})),
        (true, json!({"kind": "execute", "title": "ls"})),
        (true, json!({"rawInput": {"changes": {"a": {"type": "update"}}}})),
        (false, json!({"title": "search", "kind": "search", "rawInput": {"query": "x"}})),
        (false, json!({"title": "server: launch", "kind": "other", "rawInput": {"to": "moon"}})),
        (false, json!({"title": "edit", "kind": "edit", "rawInput": {"path": "a", "operation": "sort"}})),
    ] {
        let told = subject(call.clone());
        assert_eq!(told["unknown"].as_bool().unwrap_or(false), unknown, "{call}: {told}");
    }
}

#[test]
fn a_change_and_a_command_in_one_call_hide_neither() {
    let call = json!({"title": "both", "rawInput": {"command": "rm -r /"},
        "content": [{"type": "diff", "path": "a", "oldText": "x", "newText": "y"}]});
    let told = subject(call);
    assert_eq!((told["kind"].as_str(), told["input"]["command"].as_str()), (Some("tool"), Some("rm -r /")));
    assert_eq!(told["input"]["content"][0]["newText"], "y");
}

#[test]
fn a_write_through_us_is_compared_with_what_is_there() {
    let told = |params: Value| serde_json::to_value(of_write(params.as_object().unwrap())).unwrap();
    assert_eq!(told(json!({"path": "a", "content": "y\n", "oldText": "x\n"}))["files"][0], modified("a"));
    assert_eq!(told(json!({"path": "a", "content": "y\n", "oldText": null}))["files"][0]["change"], "create");
}
