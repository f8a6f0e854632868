//! Whole turns: a chat document, places in code, comments, words, proposals.

use std::time::Instant;

use serde_json::{Value, json};

use super::editor::{Editor, Manner};

/// Two places that an edit changes, far enough apart to be two changes.
fn two_places() -> String {
    (1..=30)
        .map(|n| if n == 3 || n == 25 { format!("retries {n}\n") } else { format!("line {n}\n") })
        .collect()
}

pub const REPLACE: &str = "replace `retries` with `attempts` in a.txt";

/// A chat whose agent asks for two changes in `a.txt`.
pub fn proposed(editor: &mut Editor) -> (String, String) {
    editor.server.write("a.txt", &two_places());
    let file = editor.open("a.txt", &two_places());
    let chat = editor.open("x.bb.md", REPLACE);
    editor.runs(&chat, "", "Send to the agent");
    editor.sees(&chat, "> **Asks:** Write a.txt");
    (file, chat)
}

#[test]
fn what_is_typed_in_a_chat_document_is_sent_by_a_command_and_the_answer_stands_below_it() {
    // Given a file that the user made, and typed into
    let mut editor = Editor::start(Manner::helix());
    editor.server.write("lib.py", "def retries():\n    return 3\n");
    let chat = editor.open("notes.bb.md", "");
    assert_eq!(editor.titles(&chat, ""), Vec::<String>::new());
    editor.types(&chat, "where is retries defined?\n");
    // Then nothing happens by that alone
    assert_eq!(editor.titles(&chat, ""), ["Send to the agent"]);
    assert_eq!(editor.ask("bb/listSessions", json!({}))["sessions"], json!([]), "nothing was begun");
}

#[test]
fn the_answer_streams_into_the_document_and_the_next_prompt_follows() {
    let mut editor = Editor::start(Manner::helix());
    editor.server.write("lib.py", "def retries():\n    return 3\n");
    let chat = editor.open("notes.bb.md", "where is retries defined?\n");
    // When it is sent
    let answer = editor.runs(&chat, "", "Send to the agent");
    assert_eq!(answer["result"], Value::Null, "{answer}");
    // Then the answer comes, and below it is room for the next prompt
    editor.sees(&chat, "lib.py:1");
    editor.until("the end", |editor| {
        (!editor.titles(&chat, "").contains(&"Stop the agent".to_owned())).then_some(())
    });
    let text = editor.text(&chat).to_owned();
    assert!(text.starts_with("where is retries defined?\n\n## Agent\n\n"), "{text}");
    assert!(text.ends_with("\n\n## You\n\n"), "{text}");
    // And the next one goes to the same session
    editor.types(&chat, &format!("{text}and where is it used?\n"));
    editor.runs(&chat, "", "Send to the agent");
    editor.until("a second answer", |editor| {
        (editor.text(&chat).lines().filter(|line| *line == "## Agent").count() == 2).then_some(())
    });
    editor.until("the end", |editor| {
        (!editor.titles(&chat, "").contains(&"Stop the agent".to_owned())).then_some(())
    });
    assert!(!editor.others.iter().any(|method| method.starts_with("bb/")), "{:?}", editor.others);
    // And with the first request of the contract nothing of all that is offered any more
    let sessions = editor.ask("bb/listSessions", json!({}))["sessions"].clone();
    assert_eq!(sessions.as_array().map(Vec::len), Some(1));
    assert_eq!(editor.titles(&chat, ""), Vec::<String>::new());
}

#[test]
fn r002_45_of_a_proposal_one_change_is_accepted_and_one_rejected_by_code_actions_alone() {
    // Given
    let mut editor = Editor::start(Manner::helix());
    let (file, chat) = proposed(&mut editor);
    let question = editor.until("a question", |editor| editor.questions.first().cloned());
    assert_eq!(question["params"]["actions"][0], json!({ "title": "Deny" }));
    // Then both changes are marked where they would be made, by a source of their own
    let marks =
        editor.until("marks", |editor| editor.marks.get(&file).filter(|marks| marks.len() == 2).cloned());
    let places: Vec<Value> =
        marks.iter().map(|mark| json!([mark["range"]["start"]["line"], mark["source"]])).collect();
    assert_eq!(places, [json!([2, "breadboard"]), json!([24, "breadboard"])]);
    assert!(marks[0]["message"].as_str().unwrap().contains("-retries 3\n+attempts 3"), "{}", marks[0]);
    // And offered there, and in the chat, as lenses and as actions
    let first = ["Accept change 1 of 2 in a.txt", "Reject change 1 of 2 in a.txt"];
    let titles = editor.titles(&file, "retries 3");
    assert!(first.iter().all(|title| titles.contains(&(*title).to_owned())), "{titles:#?}");
    assert!(!titles.iter().any(|title| title.contains("change 2")), "{titles:#?}");
    for uri in [&file, &chat] {
        let lenses = editor.ask("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
        for title in first {
            let title = json!(format!("BreadBoard: {title}"));
            assert!(
                lenses.as_array().unwrap().iter().any(|lens| lens["command"]["title"] == title),
                "{lenses:#}"
            );
        }
    }
    // When
    assert_eq!(editor.runs(&file, "retries 3", "Reject change 1")["error"], Value::Null);
    assert_eq!(editor.runs(&chat, "-retries 25", "Accept change 2")["error"], Value::Null);
    // Then the document holds exactly what was accepted, and nothing is marked any more
    editor.sees(&file, "attempts 25");
    assert_eq!(editor.text(&file), two_places().replace("retries 25", "attempts 25"));
    editor.sees(&chat, "> Allowed (Accept 1 of 2 changes): Write a.txt");
    editor.until("no marks", |editor| editor.marks.values().all(Vec::is_empty).then_some(()));
}

#[test]
fn r002_49_a_turn_is_undone_by_code_actions_and_by_a_question_once_what_that_does_was_told() {
    // Given a turn that changed a file, and a question of it that the editor never answered
    let mut editor = Editor::start(Manner::helix());
    editor.server.write("a.txt", "retries\n");
    let chat = editor.open("x.bb.md", REPLACE);
    editor.runs(&chat, "", "Send to the agent");
    editor.sees(&chat, "> **Asks:** Write a.txt");
    let first = editor.until("a question", |editor| editor.questions.first().cloned());
    editor.until("the answers", |editor| {
        editor.titles(&chat, "").contains(&"Allow once: Write a.txt".to_owned()).then_some(())
    });
    editor.runs(&chat, "", "Allow once");
    let file = editor.server.file("a.txt");
    let offered = |editor: &mut Editor, title: &str| {
        editor.until(title, |editor| editor.titles(&chat, "").contains(&title.to_owned()).then_some(()));
    };
    offered(&mut editor, "Undo the changes of this turn…");
    // When it is to be undone
    assert_eq!(editor.runs(&chat, "", "Undo the changes")["error"], Value::Null);
    // Then it is told what that does, and nothing is done
    let told = "Undo what the turn changed?\na.txt +1 −1, in the open editor";
    editor
        .until("what it does", |editor| editor.said.iter().any(|said| said.starts_with(told)).then_some(()));
    assert_eq!(editor.text(&file), "attempts\n");
    // And it is done by an action that says so
    offered(&mut editor, "Yes, undo: a.txt +1 −1, in the open editor");
    editor.runs(&chat, "", "Yes, undo");
    let is_back =
        |editor: &mut Editor| editor.said.iter().any(|said| said == "1 file was taken back.").then_some(());
    editor.until("its end", is_back);
    assert_eq!(editor.text(&file), "retries\n");
    // When no question is in front any more, and the undo is to be undone
    editor.server.answer(&first["id"], json!(null));
    offered(&mut editor, "Undo the undo…");
    editor.runs(&chat, "", "Undo the undo");
    let question = editor.until("a question", |editor| {
        editor.questions.iter().find(|question| question["params"]["message"] == told).cloned()
    });
    // Then the first answer changes nothing
    assert_eq!(question["params"]["actions"], json!([{ "title": "Leave it" }, { "title": "Undo" }]));
    editor.said.clear();
    editor.server.answer(&question["id"], json!({ "title": "Undo" }));
    editor.until("its end", is_back);
    assert_eq!(editor.text(&file), "attempts\n");
}

#[test]
fn a_comment_and_a_place_in_code_are_asked_about_in_a_chat_that_the_editor_opens() {
    // Given a file with a prompt in a comment
    let mut editor = Editor::start(Manner::helix());
    let text = "def retries():\n    return 3  # bb: where is retries defined?\n";
    editor.server.write("lib.py", text);
    let file = editor.open("lib.py", text);
    let lenses = editor.ask("textDocument/codeLens", json!({ "textDocument": { "uri": file } }));
    assert_eq!(lenses[0]["command"]["title"], "BreadBoard: Send this comment to the agent");
    // When it is sent
    editor.runs(&file, "bb:", "Send this comment");
    // Then the chat is opened, asks it, and answers
    let chat = editor.server.file("chat.bb.md");
    editor.sees(
        &chat,
        "## You\n\nwhere is retries defined?\n\nThis was asked in a comment in `lib.py`, line 2;",
    );
    editor.sees(&chat, "lib.py:1");
    editor.until("the end", |editor| {
        (!editor.titles(&chat, "").contains(&"Stop the agent".to_owned())).then_some(())
    });
    // And what is asked about a place names it and what stands there
    editor.runs(&file, "return", "explain");
    editor.sees(&chat, "## You\n\nExplain `lib.py`, line 2\n\n## Agent");
    // And a prompt that is yet to be typed is not sent
    editor.until("the end", |editor| {
        (!editor.titles(&chat, "").contains(&"Stop the agent".to_owned())).then_some(())
    });
    editor.runs(&file, "return", "Ask the agent about this");
    editor.sees(&chat, "## You\n\n`lib.py`, line 2\n\n");
    assert_eq!(editor.text(&chat).lines().filter(|line| *line == "## Agent").count(), 2);
}

#[test]
fn where_no_document_can_be_shown_the_answer_comes_as_a_message() {
    let mut editor = Editor::start(Manner { shows: false, ..Manner::kakoune() });
    editor.server.write("lib.py", "def retries():\n    return 3\n");
    let ask = json!({ "command": "breadboard.ask", "arguments": ["where is retries defined?"] });
    assert_eq!(editor.command(&ask)["error"], Value::Null);
    let said = editor
        .until("an answer", |editor| editor.said.iter().find(|said| said.contains("lib.py:1")).cloned());
    assert!(said.contains("retries"), "{said}");
    // And what it wants to do can only be denied there
    let ask = json!({ "command": "breadboard.ask", "arguments": [{ "text": "replace `retries` with `attempts` in lib.py" }] });
    editor.command(&ask);
    let question = editor.until("a question", |editor| editor.questions.first().cloned());
    assert_eq!(question["params"]["actions"], json!([{ "title": "Deny" }]));
}

#[test]
fn paths_are_offered_behind_an_at_sign_within_a_keystroke() {
    // Given a workspace of ten thousand files
    let mut editor = Editor::start(Manner::helix());
    for n in 0..10_000 {
        editor.server.write(&format!("d{}/file_{n}.rs", n % 100), "");
    }
    let chat = editor.open("x.bb.md", "see @fi");
    let words = |editor: &mut Editor, character: u64| {
        let at = json!({ "line": 0, "character": character });
        editor.ask("textDocument/completion", json!({ "textDocument": { "uri": chat }, "position": at }))
    };
    let first = words(&mut editor, 7);
    assert_eq!(first["isIncomplete"], true);
    // When the user types on
    let mut slowest = 0.0_f64;
    for (length, typed) in
        ["see @fil", "see @file_7", "see @file_77", "see @file_7777"].into_iter().enumerate()
    {
        editor.types(&chat, typed);
        let begun = Instant::now();
        let words = words(&mut editor, typed.len() as u64);
        slowest = slowest.max(begun.elapsed().as_secs_f64() * 1e3);
        assert!(length < 3 || words["items"][0]["label"] == "@d77/file_7777.rs", "{words:#}");
    }
    println!("keystroke to completion in a chat document, 10,000 files: {slowest:.1} ms at most");
    let items = words(&mut editor, 14)["items"].clone();
    assert_eq!(
        items[0]["textEdit"],
        json!({ "newText": "@d77/file_7777.rs", "range": { "start": { "line": 0, "character": 4 }, "end": { "line": 0, "character": 14 } } })
    );
    // And nothing behind other signs, nor in another document
    editor.types(&chat, "mail a@b");
    assert_eq!(words(&mut editor, 8)["items"], json!([]));
}

#[test]
fn r002_40_definitions_are_offered_behind_an_at_sign_and_go_with_the_prompt_that_names_them() {
    // Given a definition, on disk and in a buffer that was not saved
    let mut editor = Editor::start(Manner::helix());
    editor.server.write("door.rs", "pub struct Door;\nimpl Door {\n    fn open_it(&self) {}\n}\n");
    editor.open("lock.rs", "fn open_lock() {}\n");
    let chat = editor.open("x.bb.md", "why does @open");
    let words = |editor: &mut Editor, typed: &str| -> Vec<Value> {
        editor.types(&chat, typed);
        let at = json!({ "line": 0, "character": typed.len() });
        let answer =
            editor.ask("textDocument/completion", json!({ "textDocument": { "uri": chat }, "position": at }));
        answer["items"]
            .as_array()
            .expect("words")
            .iter()
            .map(|word| json!([word["label"], word["kind"], word["detail"]]))
            .collect()
    };
    // When a part of its name is typed
    let found = words(&mut editor, "why does @open");
    // Then it is offered, with where it is, behind its type
    assert!(found.contains(&json!(["@symbol:Door::open_it", 18, "method in door.rs:3"])), "{found:#?}");
    assert!(found.contains(&json!(["@symbol:open_lock", 18, "function in lock.rs:1"])), "{found:#?}");
    assert_eq!(
        words(&mut editor, "why does @symbol:open_l"),
        [json!(["@symbol:open_lock", 18, "function in lock.rs:1"])]
    );
    // And a path is not taken for a name, nor is one letter
    assert!(words(&mut editor, "why does @door.rs").iter().all(|word| word[1] != 18));
    assert!(words(&mut editor, "why does @o").iter().all(|word| word[1] != 18));
    // When the prompt that names it is sent, then its lines go along
    editor.types(&chat, "why does @symbol:Door::open_it do nothing?\n");
    editor.runs(&chat, "", "Send to the agent");
    editor.until("the end", |editor| {
        (!editor.titles(&chat, "").contains(&"Stop the agent".to_owned())).then_some(())
    });
    let sessions = editor.ask("bb/listSessions", json!({}));
    let session = sessions["sessions"][0]["sessionId"].as_str().expect("a session").to_owned();
    let events = editor.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": 1 }));
    let context = events["events"]
        .as_array()
        .expect("events")
        .iter()
        .find(|event| event["type"] == "local.context")
        .cloned();
    let context = context.unwrap_or_else(|| panic!("no context: {events:#}"));
    assert!(context.to_string().contains("fn open_it(&self)"), "{context:#}");
}
