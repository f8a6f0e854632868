//! What a person is shown of an ask of the BreadBoard engine, whose edits stand in the call before.

use serde_json::json;

use super::*;

fn call(id: &str, name: &str, arguments: Value) -> WholeCall {
    let arguments = arguments.as_object().cloned();
    WholeCall { id: Some(id.to_owned()), name: name.to_owned(), arguments, diff: None }
}

fn subject(items: Value, calls: &[WholeCall]) -> (Value, Option<String>) {
    let request = json!({"request_id": "r", "items": items});
    let request = request.as_object().unwrap();
    let items: Vec<_> = request["items"].as_array().unwrap().iter().filter_map(Value::as_object).collect();
    let (subject, call) = of(request, &items, calls);
    (serde_json::to_value(subject).unwrap(), call)
}

fn edit(path: &str, function: &str) -> Value {
    json!({"category": "edit", "pattern": path, "metadata": {"path": path, "function": function}})
}

#[test]
fn r003_20_an_edit_shows_what_its_call_would_write() {
    // Given the call that stands before the ask, and one of another file
    let calls = [
        call("c1", "create_file_from_block", json!({"file_name": "other.py", "content": "no\n"})),
        call("c2", "create_file_from_block", json!({"file_name": "sort.py", "content": "a\nb\n"})),
        call("c3", "apply_search_replace", json!({"file_name": "m.py", "search": "x\n", "replace": "y\n"})),
        call("c4", "patch_it", json!({"patch": "--- a/p\n+++ b/p\n@@ -1,1 +1,1 @@\n-o\n+n\n"})),
    ];
    // When and then
    let created = json!({"filePath": "sort.py", "change": "create", "added": 2, "removed": 0,
        "diff": "@@ -0,0 +1,2 @@\n+a\n+b\n"});
    assert_eq!(
        subject(json!([edit("sort.py", "create_file_from_block")]), &calls),
        (json!({"kind": "edit", "files": [created]}), Some("c2".to_owned()))
    );
    let replaced = json!({"filePath": "m.py", "change": "modify", "added": 1, "removed": 1,
        "diff": "@@ -1,1 +1,1 @@\n-x\n+y\n"});
    assert_eq!(
        subject(json!([edit("m.py", "apply_search_replace")]), &calls),
        (json!({"kind": "edit", "files": [replaced.clone()]}), Some("c3".to_owned()))
    );
    let patched = json!({"filePath": "p", "change": "modify", "added": 1, "removed": 1,
        "diff": "@@ -1,1 +1,1 @@\n-o\n+n\n"});
    assert_eq!(
        subject(json!([edit("", "patch_it"), edit("m.py", "apply_search_replace")]), &calls),
        (json!({"kind": "edit", "files": [patched, replaced]}), None)
    );
}

#[test]
fn a_part_of_a_file_says_nothing_of_how_the_file_ends_and_a_whole_one_does() {
    let diff = |arguments: Value| {
        let subject = subject(json!([edit("a", "write")]), &[call("c", "write", arguments)]).0;
        subject["files"][0]["diff"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        diff(json!({"path": "a", "search": "x\ny", "replace": "x\nz"})),
        "@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    );
    assert_eq!(diff(json!({"path": "a", "search": "x", "replace": ""})), "@@ -1,1 +0,0 @@\n-x\n");
    assert_eq!(
        diff(json!({"path": "a", "search": "x", "replace": "x\n"})),
        "@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+x\n",
        "a line end that is added is a change"
    );
    assert_eq!(
        diff(json!({"path": "a", "content": "x"})),
        "@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n",
        "a whole text is the file"
    );
}

#[test]
fn an_edit_whose_call_is_not_known_or_not_one_is_unknown() {
    let untold = json!({"kind": "edit", "files": [{"filePath": "a", "change": "modify"}], "unknown": true});
    let asked = || json!([edit("a", "write")]);
    assert_eq!(subject(asked(), &[]), (untold.clone(), None));
    let one = |content: &str| call("c", "write", json!({"path": "a", "content": content}));
    assert_eq!(subject(asked(), &[one("x"), one("y")]), (untold, None));
    let twice = subject(asked(), &[one("x"), one("x")]).0;
    assert_eq!(twice["files"][0]["diff"], "@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n");
    assert_eq!(twice["files"][0].get("removed"), None, "what stands there now nobody told");
}

#[test]
fn commands_other_tools_and_several_of_them_are_told_whole() {
    let shell = json!({"category": "shell", "pattern": "ls *", "metadata": {"command": "ls -a", "function": "run_shell"}});
    let fetch = json!({"category": "webfetch", "metadata": {"url": "https://e.org", "function": "fetch"}});
    assert_eq!(subject(json!([shell]), &[]).0, json!({"kind": "command", "command": "ls -a", "cwd": "."}));
    assert_eq!(
        subject(json!([fetch]), &[]).0,
        json!({"kind": "tool", "name": "fetch", "input": {"url": "https://e.org", "function": "fetch"}})
    );
    assert_eq!(
        subject(json!([shell, fetch]), &[]).0,
        json!({"kind": "tool", "name": "2 actions", "input": [shell, fetch]})
    );
    assert_eq!(
        subject(json!([{"category": "mcp"}]), &[]).0,
        json!({"kind": "tool", "name": "mcp", "unknown": true})
    );
}
