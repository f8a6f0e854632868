//! "Save and run" with an editor that answers late, wrongly or never: the answer is taken at once, the card says how it stands,
//! and nothing runs on text that was not saved.

use breadboard_ls::testing::app::inbox::{EditorAbilities, StartUp};
use serde_json::{Value, json};

use crate::clients::{ABLE, answered, open};
use crate::desk::{Desk, Setup, Window, types};

const SAVES: EditorAbilities = EditorAbilities { document_save: true, ..ABLE };

/// A turn that asks to run a command while an edit of it stands unsaved beside what the user typed; its session.
async fn unsaved(desk: &Desk, window: &Window) -> String {
    let session = desk.session().await;
    open(window, "a.txt", 7, "typed\n");
    window.prompt(&session, "one").await;
    let edit = desk.wants_text(&session, "a.txt", "typed\n", "typed\nmore\n").await;
    desk.disk_has("old\n").await;
    let (id, _) = window.asked("workspace/applyEdit").pop().unwrap();
    answered(window, &id, Ok(json!({"applied": true})));
    desk.disk_has("old\n").await;
    assert!(!edit.await.unwrap().unwrap().saved);
    desk.ask_to_run(&session, "r1", "make").await;
    desk.caught_up().await;
    session
}

/// The card of the request, as a client that comes now sees it.
async fn card(desk: &Desk, session: &str) -> Value {
    let selected = desk.ask("bb/selectSession", json!({"sessionId": session})).await.unwrap();
    let blocks = selected["view"]["lanes"]["chat"]["blocks"].as_array().unwrap().clone();
    blocks.into_iter().find(|block| block["kind"] == "permission").unwrap()
}

/// How that stands, and why it waits again.
async fn standing(desk: &Desk, session: &str) -> (Value, Value) {
    let card = card(desk, session).await;
    (card["status"].clone(), card["problem"].clone())
}

async fn answer(desk: &Desk, session: &str, option: &str) -> Value {
    let permission = card(desk, session).await["permission"].clone();
    let params = json!({"sessionId": session, "requestId": permission["requestId"], "decision": "allow_once",
        "optionId": option, "digest": permission["digest"]});
    let mut taken = desk.ask("bb/approvePermission", params).await.unwrap();
    taken.as_object_mut().unwrap().remove("requestId");
    taken
}

const FAILED: &str =
    "The editor did not save `a.txt`, so the command did not run; save it there, or choose \"Run anyway\".";

#[tokio::test]
async fn g3_save_and_run_is_taken_at_once_and_a_peer_that_never_saves_holds_up_nothing() {
    for (option, settled, heard) in
        [("deny", "denied", "answer r1 false"), ("allow_once", "allowed", "answer r1 true")]
    {
        // Given a command beside an unsaved edit, in an editor that never answers a save
        let dir = tempfile::tempdir().unwrap();
        let desk = Desk::at(dir.path(), Setup { abilities: SAVES, ..Setup::default() });
        let session = unsaved(&desk, &desk.window).await;
        assert_eq!(standing(&desk, &session).await, (json!("pending"), Value::Null));
        // When the user saves and runs, twice
        let taken = json!({"outcome": "recorded"});
        assert_eq!(answer(&desk, &session, "save_and_run").await, taken);
        assert_eq!(answer(&desk, &session, "save_and_run").await, taken);
        // Then the editor is asked once, the card says so, and nothing runs
        let [(id, params)] = <[_; 1]>::try_from(desk.window.asked("bb/document/save")).unwrap();
        assert_eq!(params, json!({"uri": "file:///w/a.txt", "version": 7}));
        assert_eq!(standing(&desk, &session).await, (json!("saving"), Value::Null));
        assert_eq!(desk.engine_heard(), ["start 1 one"]);
        // When the user answers otherwise, then that counts
        assert_eq!(answer(&desk, &session, option).await["resolution"], settled);
        assert_eq!(standing(&desk, &session).await, (json!(settled), Value::Null));
        // And a save that comes after it changes nothing
        answered(&desk.window, &id, Ok(json!({"saved": true})));
        desk.caught_up().await;
        assert_eq!(desk.engine_heard(), ["start 1 one", heard]);
        let events = desk.events(&session).await;
        let answers: Vec<&str> =
            types(&events).into_iter().filter(|kind| kind.contains("permission")).collect();
        assert_eq!(answers, ["local.permission_saving", "local.permission_settled"]);
    }
}

#[tokio::test]
async fn g3_a_save_that_failed_opens_the_request_again_and_one_that_did_not_runs_the_command() {
    // Given a command that waits for a save
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup { abilities: SAVES, ..Setup::default() });
    let session = unsaved(&desk, &desk.window).await;
    answer(&desk, &session, "save_and_run").await;
    // When the editor did not save
    let (id, _) = desk.window.asked("bb/document/save").pop().unwrap();
    answered(&desk.window, &id, Ok(json!({"saved": false})));
    desk.caught_up().await;
    // Then the request waits again and says why
    assert_eq!(standing(&desk, &session).await, (json!("pending"), json!(FAILED)));
    assert_eq!(desk.engine_heard(), ["start 1 one"]);
    // When it does on the second try
    answer(&desk, &session, "save_and_run").await;
    let (id, _) = desk.window.asked("bb/document/save").pop().unwrap();
    answered(&desk.window, &id, Ok(json!({"saved": true})));
    desk.caught_up().await;
    // Then the command runs, and the card says what was chosen
    let settled = card(&desk, &session).await;
    assert_eq!(
        (&settled["status"], settled.get("problem"), &settled["chosen"]),
        (&json!("allowed"), None, &json!({"optionId": "save_and_run", "label": "Save and run"}))
    );
    assert_eq!(desk.engine_heard(), ["start 1 one", "answer r1 true"]);
}

#[tokio::test]
async fn g3_an_editor_that_leaves_before_it_saved_opens_the_request_again_for_the_others() {
    // Given a command that waits for a save in a window
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let window = desk.connect(true, StartUp { editor: SAVES, ..StartUp::default() });
    let session = unsaved(&desk, &window).await;
    answer(&desk, &session, "save_and_run").await;
    assert_eq!(standing(&desk, &session).await, (json!("saving"), Value::Null));
    // When that window closes
    window.leave();
    desk.caught_up().await;
    // Then the request waits again
    assert_eq!(standing(&desk, &session).await, (json!("pending"), json!(FAILED)));
    assert_eq!(desk.engine_heard(), ["start 1 one"]);
}
