//! What a client reads of the workspace, and what it attaches to a prompt.

use serde_json::{Value, json};

use crate::harness::{Options, Server, frame};
use crate::model::{Model, says};

#[test]
fn r000_30_a_folder_is_listed_with_and_without_what_git_ignores() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    server.write("src/a.rs", "fn a() {}\n");
    server.write("notes.log", "1234");
    server.write(".gitignore", "*.log\n");
    let mut names = |path: &str, gitignore: bool| {
        let params = json!({ "sessionId": session, "path": path, "gitignore": gitignore });
        let listed = server.ask("bb/listFiles", params);
        assert_eq!((&listed["path"], &listed["truncated"]), (&json!(path), &json!(false)));
        let entries = listed["entries"].as_array().expect("entries").clone();
        entries
            .into_iter()
            .map(|entry| entry["path"].as_str().expect("a path").to_owned())
            .collect::<Vec<_>>()
    };
    let mut all = names("", false);
    all.sort();
    assert_eq!(all, [".gitignore", "notes.log", "src"]);
    assert!(!names("", true).contains(&"notes.log".to_owned()));
    assert_eq!(names("src", false), ["src/a.rs"]);
}

#[test]
fn r000_31_34_a_snippet_is_bounded_named_and_from_the_buffer_where_there_is_one() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    server.write("a.txt", &text);
    let mut read = |more: Value| {
        let mut params = more;
        params["sessionId"] = json!(session);
        params["path"] = json!("a.txt");
        server.ask("bb/readFileSnippet", params)
    };
    assert_eq!(
        read(json!({})),
        json!({ "path": "a.txt", "content": text, "totalBytes": text.len(), "truncated": false,
                "ranges": [{ "startLine": 1, "endLine": 100 }], "source": "disk" })
    );
    assert_eq!(
        read(json!({ "headLines": 2, "tailLines": 1 })),
        json!({ "path": "a.txt", "content": "line 1\nline 2\n⋯\nline 100\n", "totalBytes": text.len(), "truncated": true,
                "ranges": [{ "startLine": 1, "endLine": 2 }, { "startLine": 100, "endLine": 100 }], "source": "disk" })
    );
    let cut = read(json!({ "maxBytes": 20 }));
    assert!(cut["content"].as_str().is_some_and(|text| !text.is_empty() && text.len() <= 20), "{cut}");
    assert_eq!(cut["truncated"], true);
    server.open("a.txt", "not saved\n");
    let params = json!({ "sessionId": session, "path": "a.txt" });
    let unsaved = server.ask("bb/readFileSnippet", params.clone());
    assert_eq!((&unsaved["content"], &unsaved["source"]), (&json!("not saved\n"), &json!("buffer")));
    let uri = server.file("a.txt");
    server.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(server.ask("bb/readFileSnippet", params)["source"], "disk");
}

#[test]
fn r000_25_an_attachment_goes_with_its_prompt_to_the_model() {
    let model = Model::start(vec![says("seen")]);
    let mut server = Server::ready(model.chosen(false));
    let session = server.session();
    server.write("notes.md", "# From the workspace\n");
    let uri = server.file("notes.md");
    // "from the clipboard"
    let inline = json!({ "sessionId": session, "name": "clip.txt", "base64": "ZnJvbSB0aGUgY2xpcGJvYXJk" });
    let inline = server.ask("bb/attachment/put", inline);
    assert_eq!(inline["bytes"], 18);
    let file =
        server.ask("bb/attachment/put", json!({ "sessionId": session, "name": "notes.md", "uri": uri }));
    for wrong in [json!({ "uri": uri, "base64": "" }), json!({}), json!({ "base64": "no base64!" })] {
        let mut params = wrong;
        params["sessionId"] = json!(session);
        params["name"] = json!("a");
        assert_eq!(
            server.refused("bb/attachment/put", params.clone())["data"]["code"],
            "invalid_params",
            "{params}"
        );
    }
    let ids = json!([inline["attachmentId"], file["attachmentId"]]);
    server.ask("bb/sendMessage", json!({ "sessionId": session, "text": "look", "attachmentIds": ids }));
    let asked = model.asked().body["messages"].to_string();
    assert!(asked.contains("from the clipboard") && asked.contains("# From the workspace"), "{asked}");
    server.wait_end(&session);
    let prompt =
        server.events(&session).into_iter().find(|event| event["type"] == "local.prompt").expect("a prompt");
    assert_eq!(prompt["payload"]["attachmentIds"], ids);
}

#[test]
fn hundreds_of_files_asked_for_in_one_write_are_all_shown() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    server.write("a.txt", "one\n");
    let params = json!({ "sessionId": session, "path": "a.txt" });
    let ids: Vec<_> = (1_000..1_500).map(|id| json!(id)).collect();
    let burst: String = ids
        .iter()
        .map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "bb/readFileSnippet", "params": params }))
        .map(|request| frame(&request.to_string()))
        .collect();
    server.raw(burst.as_bytes());
    for id in &ids {
        assert_eq!(server.wait_response(id)["result"]["content"], "one\n");
    }
}
