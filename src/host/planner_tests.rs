//! The answer without a model, on a real folder.

use super::budget::TurnBudget;
use super::fake_port::{FakePort, User};
use super::planner;
use super::request::{NoModel, PastModel, PastTurn, TurnRequest};
use super::turn;
use crate::domain::agent_mode::AgentMode;
use crate::domain::context::item::PromptContext;
use crate::domain::dialect::desktop::message::{FinalMetadata, ServerMessage};
use crate::domain::edits::text::content_hash;
use crate::domain::steps::TurnPast;

const LIB: &str = "//! Opens the journal.\n\n/// Opens the journal file.\npub fn open_journal(path: &str) -> bool {\n    \
                   path.ends_with(\".sqlite\")\n}\n\npub struct Keeper;\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), LIB).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "red\r\nred and blue\r\n").unwrap();
    folder
}

fn asking(text: &str) -> TurnRequest {
    TurnRequest {
        text: text.to_owned(),
        earlier: Vec::new(),
        budget: TurnBudget::default(),
        mode: AgentMode::default(),
        attachments: vec![],
        context: PromptContext::default(),
        model: None,
        no_model: NoModel::Unsaid,
        goes_on: None,
    }
}

async fn ask(port: &FakePort, text: &str) -> FinalMetadata {
    turn::run(port, asking(text)).await;
    let thought = |kind: &String| kind == "assistant.thinking";
    assert!(
        !port.kinds().iter().any(thought),
        "what it does stands on the cards of its tools: {:?}",
        port.said()
    );
    match port.said().last().unwrap() {
        ServerMessage::MessageFinal { message, metadata } => {
            assert_eq!(*message, port.text());
            assert!(message.starts_with("No model is configured"), "{message}");
            assert!(metadata.cancelled || message.ends_with(planner::CHOOSE_MODEL));
            metadata.clone()
        }
        other => panic!("the turn ended with {other:#?}"),
    }
}

#[tokio::test]
async fn a_question_is_answered_with_places_and_their_lines() {
    let folder = folder();
    let port = FakePort::new(folder.path(), false, User::Denies);
    let metadata = ask(&port, "where is the journal opened?").await;
    let text = port.text();
    assert!(text.contains("1. `src/lib.rs:4` — function `open_journal`"), "{text}");
    assert!(text.contains("\npub fn open_journal"), "{text}");
    assert!(metadata.success);
    let kinds = port.kinds();
    assert!(
        kinds.contains(&"agent.retrieve.status".to_owned())
            && kinds.contains(&"tool.execute:completed".to_owned())
    );
}

#[tokio::test]
async fn that_there_is_no_model_is_said_once_in_a_session_and_in_words_of_no_client() {
    let folder = folder();
    let first = FakePort::new(folder.path(), false, User::Denies);
    ask(&first, "list files").await;
    // Given a session that was told so, in this process or in an earlier one
    let told = TurnRequest { no_model: NoModel::Said, ..asking("list files") };
    let past = |text: &str, said: String| PastTurn {
        text: text.to_owned(),
        attachments: Vec::new(),
        context: PromptContext::default(),
        past: TurnPast::answered(said),
        model: PastModel::Other,
    };
    let earlier = vec![past("list files", first.text()), past("more", "plain".to_owned())];
    let before = TurnRequest { earlier, ..asking("list files") };
    for request in [told, before] {
        // When it asks again, then the answer is plain
        let port = FakePort::new(folder.path(), false, User::Denies);
        turn::run(&port, request).await;
        assert_eq!(port.text(), "2 names in the workspace:\n\n- `src/`\n- `notes.txt`\n");
    }
    // And what helps is said without the commands and flags of one client
    for word in ["editor", "command", "--", "`", "setting"] {
        assert!(!planner::CHOOSE_MODEL.contains(word), "{word}");
    }
}

#[tokio::test]
async fn nothing_found_is_said_and_nothing_is_invented() {
    let folder = folder();
    let port = FakePort::new(folder.path(), false, User::Denies);
    let metadata = ask(&port, "zyzzyva quux plugh?").await;
    assert!(port.text().contains("Nothing was found in 2 files: no definition"), "{}", port.text());
    // And the turn did not fail: it was searched
    assert!(metadata.success);
}

#[tokio::test]
async fn explain_shows_a_symbol_with_its_doc_lines_and_a_file_with_its_outline() {
    let folder = folder();
    let port = FakePort::new(folder.path(), false, User::Denies);
    ask(&port, "explain open_journal").await;
    let text = port.text();
    assert!(text.contains("`src/lib.rs:4` — function `open_journal`"), "{text}");
    assert!(text.contains("/// Opens the journal file.\npub fn open_journal"), "{text}");

    let port = FakePort::new(folder.path(), false, User::Denies);
    ask(&port, "explain src/lib.rs").await;
    let text = port.text();
    assert!(
        text.contains("`src/lib.rs` has 8 lines and 2 definitions.")
            && text.contains("//! Opens the journal."),
        "{text}"
    );
    assert!(text.contains("- `src/lib.rs:8` struct `pub struct Keeper;`"), "{text}");
}

#[tokio::test]
async fn files_are_listed() {
    let folder = folder();
    let port = FakePort::new(folder.path(), false, User::Denies);
    ask(&port, "list files").await;
    assert!(
        port.text().contains("\n2 names in the workspace:\n\n- `src/`\n- `notes.txt`\n\nTo get answers"),
        "{}",
        port.text()
    );
}

#[tokio::test]
async fn an_allowed_replacement_is_a_real_patch() {
    let folder = folder();
    let port = FakePort::new(folder.path(), true, User::Allows);
    let metadata = ask(&port, "replace \"red\" with `green` in notes.txt").await;
    assert_eq!(
        *port.writes.lock().unwrap(),
        vec![(
            None,
            "notes.txt".to_owned(),
            Some(content_hash(b"red\r\nred and blue\r\n")),
            "green\r\ngreen and blue\r\n".to_owned()
        )]
    );
    assert!(port.text().contains("`red` occurs 2 times in `notes.txt` (lines 1, 2)."), "{}", port.text());
    assert_eq!((metadata.files_modified, metadata.success), (1, true));
    assert!(port.kinds().contains(&"patch.proposed".to_owned()));
}

#[tokio::test]
async fn a_replacement_that_cannot_be_is_a_plain_sentence() {
    let folder = folder();
    for (trusted, user, question, part) in [
        (true, User::Allows, "replace pink with x in notes.txt", "`pink` does not occur in `notes.txt`"),
        (true, User::Allows, "replace red with x in gone.txt", "There is no `gone.txt` in the workspace"),
        (true, User::Allows, "replace red with x in ../notes.txt", "leads out of the workspace"),
        (
            true,
            User::Denies,
            "replace red with x in notes.txt",
            "The change was not allowed, so nothing was written",
        ),
        (true, User::Distrusts, "replace red with x in notes.txt", "not trusted"),
        (false, User::Allows, "replace red with x in notes.txt", "The workspace is not trusted"),
    ] {
        let port = FakePort::new(folder.path(), trusted, user);
        let metadata = ask(&port, question).await;
        assert!(port.text().contains(part), "{question}: {}", port.text());
        assert_eq!(*port.writes.lock().unwrap(), vec![]);
        assert!(!metadata.success);
    }
}

#[tokio::test]
async fn a_stop_in_a_local_answer_keeps_what_was_said() {
    let folder = folder();
    let port = FakePort::new(folder.path(), true, User::Stops);
    let metadata = ask(&port, "replace red with x in notes.txt").await;
    assert!(metadata.cancelled && port.text().contains("`red` occurs 2 times"));
    assert_eq!(*port.writes.lock().unwrap(), vec![]);
}

#[tokio::test]
async fn a_wish_for_a_change_that_takes_a_model_is_refused_in_words() {
    let folder = folder();
    let port = FakePort::new(folder.path(), true, User::Allows);
    let metadata = ask(&port, "delete src/lib.rs").await;
    let text = port.text();
    assert!(text.contains("Nothing was changed or run") && text.contains("`src/lib.rs:"), "{text}");
    assert_eq!((metadata.success, metadata.files_modified), (false, 0));
}

#[tokio::test]
async fn explain_knows_folders_containers_and_modules_in_files_of_their_own() {
    let folder = folder();
    std::fs::write(folder.path().join("src/main.rs"), "mod red;\nstruct A;\nstruct B;\nfn go() {}\n")
        .unwrap();
    std::fs::write(folder.path().join("src/red.rs"), "//! All red.\nimpl A {\n    fn go() {}\n}\n").unwrap();
    for (question, part) in [
        ("explain src", "3 names in `src`"),
        ("explain src/", "- `src/red.rs`"),
        ("explain A::go", "`src/red.rs:3` — method `go` in `A`"),
        ("what is the red?", "`src/red.rs` has 4 lines and 1 definition."),
    ] {
        let port = FakePort::new(folder.path(), false, User::Denies);
        ask(&port, question).await;
        assert!(port.text().contains(part), "{question}: {}", port.text());
    }
}

#[tokio::test]
async fn an_empty_folder_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let port = FakePort::new(folder.path(), false, User::Denies);
    assert!(ask(&port, "where is it?").await.success);
    assert!(port.text().contains("There is no file to search here"), "{}", port.text());
}

#[tokio::test]
async fn what_the_project_is_is_told_by_its_read_me() {
    let folder = folder();
    std::fs::write(folder.path().join("README.md"), "# Red\n\nAll about red.\n").unwrap();
    let port = FakePort::new(folder.path(), false, User::Denies);
    assert!(ask(&port, "What does this project do?").await.success);
    let text = port.text();
    assert!(text.contains("`README.md:1` says of it (3 of 3 lines):\n\n```md\n# Red\n"), "{text}");
    assert!(text.contains("3 names in the workspace:"), "{text}");
}
