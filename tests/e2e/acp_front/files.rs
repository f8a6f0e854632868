//! Files as the client's editor has them.

use serde_json::{Value, json};

use super::client::AcpPeer;
use super::{change_of, ready};
use crate::model::{Model, calls, says};

fn editor() -> Value {
    json!({ "fs": { "readTextFile": true, "writeTextFile": true } })
}

/// Gives the file as the editor has it, once.
fn give(peer: &mut AcpPeer, name: &str, text: &str) {
    let wanted = peer.wait_request("fs/read_text_file");
    assert_eq!(wanted["params"]["path"], json!(peer.path(name)));
    peer.answer(&wanted, json!({ "content": text }));
}

#[test]
fn i14_6_an_edit_is_of_the_text_in_the_editor_and_is_written_through_it() {
    let model =
        Model::start(vec![calls("propose_patch", change_of("a.txt", "typed", "mended")), says("Done.")]);
    let (mut peer, session) = ready(&model, true, editor());
    peer.write("a.txt", "saved\n");
    let link = format!("file://{}", peer.path("a.txt"));
    let blocks = json!([{ "type": "text", "text": "Mend" }, { "type": "resource_link", "name": "a.txt", "uri": link }]);
    // Given a file that is not saved
    let id = peer.request("session/prompt", json!({ "sessionId": session, "prompt": blocks }));
    give(&mut peer, "a.txt", "typed\n");
    // When an edit of what was typed is allowed
    let ask = peer.wait_request("session/request_permission");
    let diff =
        json!({ "type": "diff", "path": peer.path("a.txt"), "oldText": "typed\n", "newText": "mended\n" });
    assert!(ask["params"]["toolCall"]["content"].as_array().expect("content").contains(&diff), "{ask}");
    peer.choose(&ask, "allow_once");
    give(&mut peer, "a.txt", "typed\n");
    // Then the editor writes it, and nobody else
    let written = peer.wait_request("fs/write_text_file");
    assert_eq!(
        written["params"],
        json!({ "sessionId": session, "path": peer.path("a.txt"), "content": "mended\n" })
    );
    assert_eq!(peer.read("a.txt"), "saved\n");
    peer.write("a.txt", "mended\n");
    peer.answer(&written, json!({}));
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    assert_eq!(peer.read("a.txt"), "mended\n");
}

#[test]
fn i14_6_what_the_user_typed_behind_the_question_is_not_overwritten() {
    let model =
        Model::start(vec![calls("propose_patch", change_of("a.txt", "saved", "mended")), says("Not done.")]);
    let (mut peer, session) = ready(&model, true, editor());
    peer.write("a.txt", "saved\n");
    let id = peer.prompt(&session, "mend a.txt");
    let ask = peer.wait_request("session/request_permission");
    peer.choose(&ask, "allow_once");
    // When the editor has another text than the one that the edit was made from
    give(&mut peer, "a.txt", "saved\nand typed\n");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    // Then nothing was written, by nobody
    let wrote = peer.heard.iter().any(|message| message["method"] == "fs/write_text_file");
    assert!(!wrote, "{:#?}", peer.heard);
    assert_eq!(peer.read("a.txt"), "saved\n");
}

#[test]
fn i14_6_a_client_without_files_gets_them_written_to_disk() {
    let model =
        Model::start(vec![calls("propose_patch", change_of("a.txt", "saved", "mended")), says("Done.")]);
    let (mut peer, session) =
        ready(&model, true, json!({ "fs": { "readTextFile": true, "writeTextFile": false } }));
    peer.write("a.txt", "saved\n");
    let id = peer.prompt(&session, "mend it");
    let ask = peer.wait_request("session/request_permission");
    peer.choose(&ask, "allow_once");
    assert_eq!(peer.answer_to(&id)["result"]["stopReason"], "end_turn");
    assert_eq!(peer.read("a.txt"), "mended\n");
}
