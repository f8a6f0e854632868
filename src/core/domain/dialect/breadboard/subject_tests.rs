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
    // A tool that is called "create" writes over what is there
    let written =
        json!({"filePath": "sort.py", "change": "modify", "added": 2, "diff": "@@ -0,0 +1,2 @@\n+a\n+b\n"});
    let unseen = "`sort.py` gets this text as a whole; what it holds now, if it is there, is not shown and is replaced.";
    assert_eq!(
        subject(json!([edit("sort.py", "create_file_from_block")]), &calls),
        (json!({"kind": "edit", "files": [written], "reason": unseen}), Some("c2".to_owned()))
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
fn a_patch_of_several_files_is_shown_once_however_many_items_it_is_asked_in() {
    // Given a patch of two files, and an item for each without a path
    let patch = "--- a/x1\n+++ b/x1\n@@ -1,1 +1,1 @@\n-a\n+b\n--- a/x2\n+++ b/x2\n@@ -1,1 +1,1 @@\n-c\n+d\n";
    let item = || edit("", "apply_unified_patch");
    let calls = [call("c", "apply_unified_patch", json!({ "patch": patch }))];
    // When
    let (subject, call) = subject(json!([item(), item()]), &calls);
    // Then
    let files: Vec<&Value> =
        subject["files"].as_array().unwrap().iter().map(|file| &file["filePath"]).collect();
    assert_eq!((files, call.as_deref()), (vec![&json!("x1"), &json!("x2")], Some("c")));
}

#[test]
fn an_edit_whose_tool_was_called_by_another_name_shows_what_the_only_call_that_fits_would_write() {
    let write =
        |id: &str, path: &str, text: &str| call(id, "write", json!({ "path": path, "content": text }));
    let asked = |calls: &[WholeCall]| {
        let (subject, call) = subject(json!([edit("w.txt", "create_file_from_block")]), calls);
        (subject["files"][0]["diff"].as_str().map(str::to_owned), call)
    };
    let diff = Some("@@ -0,0 +1,1 @@\n+one\n".to_owned());
    assert_eq!(asked(&[write("c1", "w.txt", "one\n")]), (diff.clone(), Some("c1".to_owned())));
    assert_eq!(asked(&[write("c1", "w.txt", "one\n"), write("c2", "v.txt", "two\n")]).0, diff);
    // Of two that fit none is, nor is one of another path or one that writes nothing
    assert_eq!(asked(&[write("c1", "w.txt", "one\n"), write("c2", "w.txt", "two\n")]), (None, None));
    assert_eq!(asked(&[write("c1", "v.txt", "one\n")]), (None, None));
    assert_eq!(asked(&[call("c1", "read", json!({ "path": "w.txt" }))]), (None, None));
    // A patch names no path in the request
    let patch = json!({ "patch": "--- a/p\n+++ b/p\n@@ -1,1 +1,1 @@\n-o\n+n\n" });
    let (subject, id) = subject(json!([edit("", "apply_unified_patch")]), &[call("c1", "patch", patch)]);
    assert_eq!((&subject["files"][0]["filePath"], id.as_deref()), (&json!("p"), Some("c1")));
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
